//! Turns a column of numbers into a few states: `quantile:K` or `width:K`.
//!
//! Which columns are binned is decided in `variables`.
//!
//! A binning is a list of increasing cut points c1 < c2 < …; bin 1 holds the values up to and
//! including c1, bin 2 those above c1 up to and including c2, the last bin those above the last
//! cut. Quantile cuts are values of the column, so that no bin is empty; where values repeat there
//! may be fewer than K bins. Width cuts split the range from the least to the greatest value into
//! K equal parts; a part without values is joined to the next above it.

use crate::data::CutPoints;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// How numbers are put into bins, and into how many at most.
///
/// ```
/// use rlbayes_common::data::Bins;
/// let bins: Bins = "quantile:4".parse().unwrap();
/// assert_eq!(bins.to_string(), "quantile:4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    method: BinMethod,
    count: u8,
}

/// What the bins have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinMethod {
    /// About the same number of rows in each.
    Quantile,
    /// The same width.
    Width,
}

/// Why text or numbers do not make a [`Bins`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BinsError {
    /// The text has another form.
    #[error("cannot parse the bins \"{}\": expected quantile:K or width:K", .0.escape_debug())]
    Form(String),
    /// The number is missing, not a number or out of range.
    #[error(
        "cannot parse the bins: the number of bins is \"{}\"; expected {min} to {max}",
        .0.escape_debug(), min = Bins::MIN, max = Bins::MAX
    )]
    Count(String),
}

impl Bins {
    /// Least number of bins: one bin holds no information.
    pub const MIN: u8 = 2;
    /// Largest number of bins: counts grow with the product of the states of a family.
    pub const MAX: u8 = 64;

    /// Makes a binning rule.
    ///
    /// # Errors
    /// If `count` is not between [`Self::MIN`] and [`Self::MAX`].
    pub fn new(method: BinMethod, count: u8) -> Result<Self, BinsError> {
        if (Self::MIN..=Self::MAX).contains(&count) {
            Ok(Self { method, count })
        } else {
            Err(BinsError::Count(count.to_string()))
        }
    }

    /// Returns what the bins have in common.
    #[must_use]
    pub fn method(self) -> BinMethod {
        self.method
    }

    /// Returns the largest number of bins.
    #[must_use]
    pub fn count(self) -> usize {
        usize::from(self.count)
    }

    /// Returns the cut points for finite values, and a label for each bin.
    pub(crate) fn cut(self, values: &[f64]) -> (CutPoints, Vec<String>) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else {
            return (CutPoints::default(), Vec::new());
        };
        let mut cuts = match self.method {
            BinMethod::Quantile => quantile_cuts(&sorted, self.count()),
            BinMethod::Width => width_cuts(least, greatest, self.count()),
        };
        // A cut with no value between it and the one before makes an empty bin.
        let mut below = 0;
        cuts.retain_mut(|cut| {
            let up_to = sorted.partition_point(|value| value <= cut);
            let kept = up_to > below && up_to < sorted.len();
            if kept {
                *cut = short_cut(*cut, sorted[up_to - 1], sorted[up_to]);
                below = up_to;
            }
            kept
        });
        let exact = cuts.iter().map(|&cut| exact_number(cut));
        let edges: Vec<String> = [short_number(least)]
            .into_iter()
            .chain(exact)
            .chain([short_number(greatest)])
            .collect();
        let labels = edges
            .windows(2)
            .enumerate()
            .map(|(bin, edge)| label(bin + 1, &edge[0], &edge[1]))
            .collect();
        (CutPoints::new(cuts).unwrap_or_default(), labels)
    }
}

/// How the columns of a table are put into bins.
///
/// ```
/// use rlbayes_common::data::BinRules;
/// let rules: BinRules = "age=quantile:4,income=width:5".parse().unwrap();
/// assert!(rules.of("age").is_some());
/// assert!(rules.of("height").is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BinRules {
    /// The rule for columns of numbers that would otherwise have too many states.
    pub others: Option<Bins>,
    /// The rule for columns by name.
    pub by_name: BTreeMap<String, Bins>,
}

impl BinRules {
    /// Returns the rule that names a column.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Bins> {
        self.by_name.get(name).copied()
    }

    /// Adds the rules of another text.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.others = more.others.or(self.others);
        self.by_name.extend(more.by_name);
        self
    }
}

impl From<Bins> for BinRules {
    fn from(bins: Bins) -> Self {
        Self {
            others: Some(bins),
            by_name: BTreeMap::new(),
        }
    }
}

impl FromStr for BinRules {
    type Err = BinsError;

    /// Reads `quantile:4`, `age=quantile:4` or several of these, separated by commas.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut rules = Self::default();
        for rule in text.split(',') {
            match rule.rsplit_once('=') {
                Some((name, bins)) => {
                    rules.by_name.insert(name.to_string(), bins.parse()?);
                }
                None => rules.others = Some(rule.parse()?),
            }
        }
        Ok(rules)
    }
}

impl FromStr for Bins {
    type Err = BinsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || BinsError::Form(text.to_string());
        let (method, count) = text.split_once(':').ok_or_else(form)?;
        let method = match method {
            "quantile" => BinMethod::Quantile,
            "width" => BinMethod::Width,
            _ => return Err(form()),
        };
        let number = count
            .parse()
            .map_err(|_| BinsError::Count(count.to_string()))?;
        Self::new(method, number)
    }
}

impl fmt::Display for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self.method {
            BinMethod::Quantile => "quantile",
            BinMethod::Width => "width",
        };
        write!(f, "{method}:{}", self.count)
    }
}

/// Returns the values at 1/K, 2/K, … of the sorted rows. A cut at the greatest value would leave
/// the last bin empty; there the greatest value below it is taken.
fn quantile_cuts(sorted: &[f64], count: usize) -> Vec<f64> {
    let Some(&greatest) = sorted.last() else {
        return Vec::new();
    };
    let below = &sorted[..sorted.partition_point(|&value| value < greatest)];
    let Some(&highest_cut) = below.last() else {
        return Vec::new();
    };
    (1..count)
        .map(|part| {
            let rows_up_to_cut = (part * sorted.len()).div_ceil(count).max(1);
            sorted[rows_up_to_cut - 1].min(highest_cut)
        })
        .collect()
}

/// Returns the inner borders of K equal parts, in a form that cannot overflow.
fn width_cuts(least: f64, greatest: f64, count: usize) -> Vec<f64> {
    (1..count)
        .map(|part| {
            let share = part as f64 / count as f64;
            least * (1.0 - share) + greatest * share
        })
        .filter(|&cut| least <= cut && cut < greatest)
        .collect()
}

/// Returns `b03_-2.5_to_3.1`: the number comes first and has two digits, so that labels sort like
/// bins and none reads as a number. The cut points stand in the labels exactly, so that a network
/// file, which has the labels for states, carries them too ([`CutPoints::of_states`]).
fn label(bin: usize, low: &str, high: &str) -> String {
    format!("b{bin:02}_{low}_to_{high}")
}

impl CutPoints {
    /// Returns the cut points that the labels of bins name; `None` for other states.
    ///
    /// ```
    /// use rlbayes_common::data::CutPoints;
    /// let states = ["b01_0_to_2.5", "b02_2.5_to_9"].map(String::from);
    /// assert_eq!(CutPoints::of_states(&states).unwrap().as_slice(), [2.5]);
    /// assert!(CutPoints::of_states(&["low", "high"].map(String::from)).is_none());
    /// ```
    #[must_use]
    pub fn of_states(states: &[String]) -> Option<Self> {
        let mut limits = Vec::with_capacity(states.len());
        for (bin, state) in states.iter().enumerate() {
            let rest = state.strip_prefix(&format!("b{:02}_", bin + 1))?;
            limits.push(rest.split_once("_to_")?);
        }
        let meet = limits.windows(2).all(|pair| pair[0].1 == pair[1].0);
        let (_, inner) = limits.split_last()?;
        let cuts: Option<Vec<f64>> = inner.iter().map(|(_, high)| high.parse().ok()).collect();
        Self::new(cuts?).filter(|_| meet && states.len() > 1)
    }
}

/// Longest cut point that is taken as it is.
const SHORT_CUT: usize = 8;

/// Returns a cut near to a given one that separates the same two values, with few digits.
fn short_cut(cut: f64, below: f64, above: f64) -> f64 {
    if exact_number(cut).len() <= SHORT_CUT {
        return cut;
    }
    let fits = |candidate: &f64| (below..above).contains(candidate);
    for digits in 0..16 {
        let rounded: f64 = format!("{cut:.digits$e}").parse().unwrap_or(cut);
        // Rounding may have gone down below the lower value: one unit of the last digit up.
        let unit = 10f64.powf(cut.abs().log10().floor() - digits as f64);
        let up: f64 = format!("{:.digits$e}", cut + unit).parse().unwrap_or(cut);
        if let Some(candidate) = [rounded, up].into_iter().find(fits) {
            return candidate;
        }
    }
    cut
}

/// Returns a number in the shortest form that reads back as the same.
fn exact_number(value: f64) -> String {
    if value == 0.0 {
        "0".to_string()
    } else if (1e-4..1e9).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Returns a number in at most about a dozen characters of `[0-9.e-]`, for the ends of the range.
fn short_number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_string();
    }
    if !(1e-4..1e9).contains(&size) {
        let exact = format!("{value:e}");
        return if exact.len() <= 10 {
            exact
        } else {
            format!("{value:.5e}")
        };
    }
    let exact = value.to_string();
    if exact.len() <= 10 {
        return exact;
    }
    let digits_before_point = if size < 1.0 {
        0
    } else {
        size.trunc().to_string().len()
    };
    let rounded = format!(
        "{value:.*}",
        6usize.saturating_sub(digits_before_point).max(1)
    );
    let rounded = rounded.trim_end_matches('0').trim_end_matches('.');
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values in bins.
    struct Binned {
        cuts: Vec<f64>,
        labels: Vec<String>,
        codes: Vec<usize>,
    }

    fn apply(bins: Bins, values: &[f64]) -> Binned {
        let (cuts, labels) = bins.cut(values);
        Binned {
            codes: values.iter().map(|&value| cuts.interval(value)).collect(),
            cuts: cuts.as_slice().to_vec(),
            labels,
        }
    }

    fn binned(rule: &str, values: &[f64]) -> Binned {
        apply(rule.parse().unwrap(), values)
    }

    fn counts(binned: &Binned) -> Vec<usize> {
        let mut counts = vec![0; binned.labels.len()];
        for &code in &binned.codes {
            counts[code] += 1;
        }
        counts
    }

    #[test]
    fn rules_parse_with_clear_errors() {
        assert_eq!("width:64".parse::<Bins>().unwrap().count(), 64);
        let error = |text: &str| text.parse::<Bins>().unwrap_err().to_string();
        let form = "expected quantile:K or width:K";
        assert_eq!(
            error("equal:3"),
            format!("cannot parse the bins \"equal:3\": {form}")
        );
        assert_eq!(error("4"), format!("cannot parse the bins \"4\": {form}"));
        for count in ["1", "65", "", "x", "-3", "300"] {
            assert_eq!(
                error(&format!("width:{count}")),
                format!(
                    "cannot parse the bins: the number of bins is \"{count}\"; expected 2 to 64"
                )
            );
        }
    }

    #[test]
    fn quantile_bins_share_the_rows() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let binned = binned("quantile:4", &values);
        assert_eq!(counts(&binned), [25; 4]);
        assert_eq!(binned.cuts, [24.0, 49.0, 74.0]);
        assert_eq!(
            binned.labels,
            [
                "b01_0_to_24",
                "b02_24_to_49",
                "b03_49_to_74",
                "b04_74_to_99"
            ]
        );
    }

    #[test]
    fn repeated_values_give_fewer_quantile_bins_and_at_least_two() {
        let low = [vec![0.0; 90], (1..=10).map(f64::from).collect()].concat();
        assert_eq!(counts(&binned("quantile:4", &low)), [90, 10]);
        let high = [(1..=10).map(f64::from).collect(), vec![11.0; 90]].concat();
        assert_eq!(counts(&binned("quantile:4", &high)), [10, 90]);
    }

    #[test]
    fn a_part_without_values_is_joined_to_the_next() {
        let binned = binned("width:4", &[-2.0, -1.5, 0.25, 2.0, 1.75]);
        assert_eq!(binned.cuts, [-1.0, 1.0]);
        assert_eq!(counts(&binned), [2, 1, 2]);
        assert_eq!(binned.labels, ["b01_-2_to_-1", "b02_-1_to_1", "b03_1_to_2"]);
    }

    #[test]
    fn rules_name_columns() {
        let rules: BinRules = "width:3,a=b=quantile:4".parse().unwrap();
        assert_eq!(rules.others, Some("width:3".parse().unwrap()));
        assert_eq!(rules.of("a=b"), Some("quantile:4".parse().unwrap()));
        assert!("a=".parse::<BinRules>().is_err());
    }

    #[test]
    fn cut_points_with_many_digits_are_shortened_where_they_separate_the_same_values() {
        let values: Vec<f64> = (0..100).map(|n| f64::from(n) / 7.0).collect();
        let binned = binned("quantile:4", &values);
        assert_eq!(counts(&binned), [25; 4]);
        assert_eq!(binned.cuts, [3.5, 7.0, 10.6]);
        assert!(
            binned.labels.iter().all(|label| label.len() < 20),
            "{:?}",
            binned.labels
        );
    }

    #[test]
    fn numbers_in_labels_are_short() {
        let short = [
            0.0,
            -0.0,
            2.5,
            -12.0,
            1e-9,
            -1.5e300,
            1.0 / 3.0,
            123_456.789_012,
            1e22,
        ];
        assert_eq!(
            short.map(short_number),
            [
                "0", "0", "2.5", "-12", "1e-9", "-1.5e300", "0.333333", "123456.8", "1e22"
            ]
        );
        assert_eq!(short_number(1e-9 / 3.0), "3.33333e-10");
        assert_eq!(short_number(99_999.999_999_9), "100000");
        assert_eq!(short_number(123_456_789.123), "123456789.1");
    }

    #[test]
    fn extreme_ranges_do_not_overflow() {
        let binned = binned("width:4", &[f64::MIN, 0.0, f64::MAX]);
        assert!(binned.cuts.iter().all(|cut| cut.is_finite()));
        assert_eq!(counts(&binned).iter().sum::<usize>(), 3);
    }

    proptest! {
        #[test]
        fn bins_keep_the_order_and_labels_sort_like_them(
            values in prop::collection::vec(
                prop_oneof![-1e3..1e3, any::<f64>().prop_filter("finite", |v| v.is_finite())],
                2..60,
            ),
            count in 2u8..=64,
            quantile: bool,
        ) {
            let method = if quantile { BinMethod::Quantile } else { BinMethod::Width };
            let binned = apply(Bins::new(method, count).unwrap(), &values);
            prop_assert!(binned.labels.len() <= usize::from(count));
            prop_assert!(binned.labels.is_sorted());
            for label in &binned.labels {
                let portable = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
                prop_assert!(label.chars().all(portable), "{}", label);
                prop_assert!(label.parse::<f64>().is_err());
            }
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate() {
                    prop_assert!(a > b || binned.codes[i] <= binned.codes[j]);
                }
            }
            prop_assert!(counts(&binned).iter().all(|&rows| rows > 0));
            if binned.labels.len() > 1 {
                let named = CutPoints::of_states(&binned.labels).unwrap();
                prop_assert_eq!(named.as_slice(), &binned.cuts);
            }
        }
    }
}
