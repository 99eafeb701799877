//! Times and sizes as people write them: `90s`, `1h30m`, `4GiB`. The command line and the
//! benchmarks read and show them.

use rlbayes_common::search::Stagnation;
use std::time::Duration;

/// Reads a time such as `60s`, `500ms`, `2m`, `1h30m` or `10` (seconds).
///
/// # Errors
/// If the text is not one.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let bad = || format!("\"{text}\" is not a time (expected for example 60s, 500ms, 2m or 1h30m)");
    let mut total = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| bad())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let scale = match &rest[..letters] {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        total += number * scale;
        rest = &rest[letters..];
    }
    Duration::try_from_secs_f64(total).map_err(|_| bad())
}

/// Reads a size such as `4GiB`, `512MiB`, `2GB` or a number of bytes.
///
/// # Errors
/// If the text is not one.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let bad = || format!("\"{text}\" is not a size (expected for example 4GiB, 512MiB or 2GB)");
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let number: f64 = trimmed[..digits].parse().map_err(|_| bad())?;
    let scale = match trimmed[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(bad()),
    };
    let bytes = number * scale;
    if !(1.0..=1e18).contains(&bytes) {
        return Err(bad());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    Ok(bytes as usize)
}

/// Reads a limit of stagnation: a time with its unit, or a number of evaluations.
///
/// # Errors
/// If the text is not one.
pub fn parse_stagnation(text: &str) -> Result<Stagnation, String> {
    if let Ok(evaluations) = text.trim().parse::<u64>() {
        return Ok(Stagnation::Evaluations(evaluations));
    }
    parse_time(text).map(Stagnation::Time).map_err(|_| {
        format!("\"{text}\" is neither a time such as 30s nor a number of evaluations")
    })
}

/// Writes a number of bytes for people.
#[must_use]
pub fn show_bytes(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
    let bytes = bytes as f64;
    let (scale, unit) = match bytes {
        b if b >= 1e9 => (1024.0 * 1024.0 * 1024.0, "GiB"),
        b if b >= 1e6 => (1024.0 * 1024.0, "MiB"),
        _ => (1024.0, "KiB"),
    };
    format!("{:.1} {unit}", bytes / scale)
}

/// Writes a time for people.
#[must_use]
pub fn show_time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60),
        _ => format!(
            "{} h {:02} min",
            time.as_secs() / 3600,
            time.as_secs() / 60 % 60
        ),
    }
}

/// Writes a large number for people: 12.3 M.
#[must_use]
pub fn show_count(count: f64) -> String {
    match count {
        c if c >= 1e9 => format!("{:.1} G", c / 1e9),
        c if c >= 1e6 => format!("{:.1} M", c / 1e6),
        c if c >= 1e4 => format!("{:.0} k", c / 1e3),
        c => format!("{c:.0}"),
    }
}

/// Writes a number of things for people that may be large: 1 step, 12.3 M steps.
#[must_use]
pub fn show_counted(count: u64, thing: &str) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let shown = show_count(count as f64);
    let plural = if count == 1 { "" } else { "s" };
    format!("{shown} {thing}{plural}")
}

/// Writes a number of things for people: 1 chain, 8 chains.
#[must_use]
pub fn counted(count: impl TryInto<u64>, thing: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parse_time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_time("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("10"), Ok(Duration::from_secs(10)));
        for bad in ["", "s", "10x", "-5s", "1e400s", "nan"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_thing_is_not_many() {
        assert_eq!(show_counted(0, "step"), "0 steps");
        assert_eq!(show_counted(1, "step"), "1 step");
        assert_eq!(show_counted(12_345_678, "step"), "12.3 M steps");
        assert_eq!(
            [1, 8].map(|count| counted(count, "chain")),
            ["1 chain", "8 chains"]
        );
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("1.5 MiB"), Ok(3 << 19));
        assert_eq!(parse_size("4096"), Ok(4096));
        for bad in ["", "GiB", "0", "-1GiB", "5 parsecs"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
