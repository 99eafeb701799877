//! The upper tail of the chi-square distribution, by the regularised incomplete gamma function.

/// Returns the probability that a chi-square variable with so many degrees of freedom (at least 1)
/// is at least `x`: Q(a, y) with a = freedom / 2 and y = x / 2.
pub(super) fn upper_tail(x: f64, freedom: usize) -> f64 {
    let (a, y) = (freedom as f64 / 2.0, x / 2.0);
    if y <= 0.0 {
        return 1.0;
    }
    // y^a e^-y / Gamma(a) stands before both expansions.
    let front = (a * y.ln() - y - ln_gamma_of_half(freedom)).exp();
    if y < a + 1.0 {
        1.0 - front * lower_series(a, y)
    } else {
        front * upper_fraction(a, y)
    }
}

/// Returns ln Gamma(k / 2), from Gamma(1/2) = sqrt(pi), Gamma(1) = 1 and Gamma(x + 1) = x Gamma(x).
fn ln_gamma_of_half(k: usize) -> f64 {
    let first = if k % 2 == 1 {
        std::f64::consts::PI.ln() / 2.0
    } else {
        0.0
    };
    let start = if k % 2 == 1 { 1 } else { 2 };
    (start..k)
        .step_by(2)
        .map(|twice| (twice as f64 / 2.0).ln())
        .sum::<f64>()
        + first
}

/// Sums 1/a + y/(a (a+1)) + y^2/(a (a+1) (a+2)) + ...
fn lower_series(a: f64, y: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    let mut next = a;
    while term > sum * f64::EPSILON {
        next += 1.0;
        term *= y / next;
        sum += term;
    }
    sum
}

/// Evaluates the continued fraction of the upper incomplete gamma function by Lentz's method:
/// 1/(y+1-a- 1(1-a)/(y+3-a- 2(2-a)/(y+5-a- ...))).
fn upper_fraction(a: f64, y: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MOST: u32 = 10_000;
    let mut b = y + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for i in 1..MOST {
        let i = f64::from(i);
        let factor = i * (a - i);
        b += 2.0;
        d = 1.0 / not_zero(factor * d + b, TINY);
        c = not_zero(b + factor / c, TINY);
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

fn not_zero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_agree_with_printed_tables() {
        // Quantiles of any statistics table.
        for (freedom, x, tail) in [
            (1, 3.841_458_820_694_124, 0.05),
            (1, 6.634_896_601_021_215, 0.01),
            (2, 5.991_464_547_107_98, 0.05),
            (6, 12.591_587_243_743_977, 0.05),
            (8, 15.507_313_055_865_453, 0.05),
            (8, 2.732_636_793_499_664, 0.95),
            (10, 29.588_298_445_074_42, 0.001),
            (100, 124.342_113_404_004_07, 0.05),
        ] {
            let found = upper_tail(x, freedom);
            assert!((found - tail).abs() < 1e-9, "{freedom} {x}: {found}");
        }
    }

    #[test]
    fn two_degrees_of_freedom_are_an_exponential() {
        for x in [0.1, 1.0, 3.9, 4.1, 20.0, 200.0] {
            let exact = (-x / 2.0f64).exp();
            assert!((upper_tail(x, 2) / exact - 1.0).abs() < 1e-12, "{x}");
        }
        assert!((upper_tail(0.0, 5) - 1.0).abs() < 1e-15);
    }
}
