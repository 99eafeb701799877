//! The text of a value that a file holds as a number, a truth value or a point in time.
//!
//! Integers in decimal, `True` and `False`, floating point as Python's `repr` (the shortest text
//! that reads back as the same value, always with a point or an exponent), dates and times as in
//! ISO 8601. So a table read by Python and written as CSV has the same texts.

use half::f16;
use std::io::Write;

/// Writes to memory, which does not fail.
macro_rules! write_text {
    ($out:expr, $($format:tt)*) => {{
        let written = write!($out, $($format)*);
        debug_assert!(written.is_ok());
    }};
}

pub(crate) const TRUE: &[u8] = b"True";
pub(crate) const FALSE: &[u8] = b"False";

/// Writes an integer.
pub(crate) fn integer(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    write_text!(out, "{value}");
}

/// Writes a number of 64 bits.
pub(crate) fn float64(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
        return;
    }
    let start = out.len();
    write_text!(out, "{value:?}");
    exponent_as_in_python(out, start);
}

/// Writes a number of 32 bits.
pub(crate) fn float32(value: f32, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
        return;
    }
    let start = out.len();
    write_text!(out, "{value:?}");
    exponent_as_in_python(out, start);
}

/// Writes a number of 16 bits.
pub(crate) fn float16(value: f16, out: &mut Vec<u8>) {
    // Five digits tell all of them apart.
    let shortest = (0..5)
        .filter_map(|digits| format!("{:.digits$e}", value.to_f32()).parse::<f32>().ok())
        .find(|&candidate| f16::from_f32(candidate) == value);
    float32(shortest.unwrap_or(value.to_f32()), out);
}

/// Rust writes `1e16` and `1e-5`, Python `1e+16` and `1e-05`; both from the same sizes on.
fn exponent_as_in_python(out: &mut Vec<u8>, start: usize) {
    let Some(at) = out[start..].iter().position(|&byte| byte == b'e') else {
        return;
    };
    let exponent = out.split_off(start + at + 1);
    let (sign, digits) = match exponent.strip_prefix(b"-") {
        Some(digits) => (b'-', digits),
        None => (b'+', exponent.as_slice()),
    };
    out.push(sign);
    if digits.len() < 2 {
        out.push(b'0');
    }
    out.extend_from_slice(digits);
}

/// Parts of a second that a count has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fraction {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Fraction {
    fn per_second(self) -> i64 {
        match self {
            Self::Seconds => 1,
            Self::Milliseconds => 1_000,
            Self::Microseconds => 1_000_000,
            Self::Nanoseconds => 1_000_000_000,
        }
    }
}

const SECONDS_PER_DAY: i64 = 86_400;

/// Writes the date that is so many days after 1970-01-01.
pub(crate) fn date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(days);
    write_text!(out, "{year:04}-{month:02}-{day:02}");
}

/// Writes the time that is so much after 1970-01-01, without a zone.
pub(crate) fn timestamp(count: i64, fraction: Fraction, out: &mut Vec<u8>) {
    let per_day = SECONDS_PER_DAY * fraction.per_second();
    date(count.div_euclid(per_day), out);
    out.push(b'T');
    time(count.rem_euclid(per_day), fraction, out);
}

/// Writes a time of day.
pub(crate) fn time(count: i64, fraction: Fraction, out: &mut Vec<u8>) {
    let seconds = count.div_euclid(fraction.per_second());
    let (hours, minutes) = (
        seconds.div_euclid(3600),
        seconds.div_euclid(60).rem_euclid(60),
    );
    write_text!(out, "{hours:02}:{minutes:02}:{:02}", seconds.rem_euclid(60));
    part_of_second(count.rem_euclid(fraction.per_second()), fraction, out);
}

/// Writes a span of time in seconds.
pub(crate) fn duration(count: i64, fraction: Fraction, out: &mut Vec<u8>) {
    if count < 0 {
        out.push(b'-');
    }
    let size = count.unsigned_abs();
    let per_second = fraction.per_second().unsigned_abs();
    write_text!(out, "{}", size / per_second);
    // Below a second's parts, which are far fewer than an i64 holds.
    let rest = i64::try_from(size % per_second).unwrap_or(0);
    part_of_second(rest, fraction, out);
}

/// Writes the part of a second behind a point, in groups of three digits, if there is one.
fn part_of_second(part: i64, fraction: Fraction, out: &mut Vec<u8>) {
    if part == 0 {
        return;
    }
    let nanoseconds = part * (1_000_000_000 / fraction.per_second());
    if nanoseconds % 1_000_000 == 0 {
        write_text!(out, ".{:03}", nanoseconds / 1_000_000);
    } else if nanoseconds % 1_000 == 0 {
        write_text!(out, ".{:06}", nanoseconds / 1_000);
    } else {
        write_text!(out, ".{nanoseconds:09}");
    }
}

/// Returns year, month and day of the Gregorian calendar so many days after 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that begin with March, so that the leap day is the last; 400 of them have the same
    // number of days always.
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(DAYS_OF_400_YEARS);
    let day_of_era = days.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before ".to_vec();
        write(&mut out);
        String::from_utf8(out.split_off(7)).unwrap()
    }

    #[test]
    fn numbers_are_written_as_in_python() {
        for (value, expected) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (2.5e-10, "2.5e-10"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(text(|out| float64(value, out)), expected);
        }
        assert_eq!(text(|out| float32(0.1, out)), "0.1");
        assert_eq!(text(|out| float16(f16::from_f32(0.1), out)), "0.1");
        assert_eq!(text(|out| float16(f16::MAX, out)), "65500.0");
        assert_eq!(text(|out| float16(f16::INFINITY, out)), "inf");
    }

    #[test]
    fn points_in_time_are_written_as_in_iso_8601() {
        assert_eq!(text(|out| date(0, out)), "1970-01-01");
        assert_eq!(text(|out| date(19_753, out)), "2024-01-31");
        assert_eq!(text(|out| date(-25_567, out)), "1900-01-01");
        assert_eq!(text(|out| date(11_016, out)), "2000-02-29");
        let at = |count, fraction| text(|out| timestamp(count, fraction, out));
        assert_eq!(at(1_706_704_200, Fraction::Seconds), "2024-01-31T12:30:00");
        assert_eq!(at(-1, Fraction::Milliseconds), "1969-12-31T23:59:59.999");
        assert_eq!(
            at(1_500, Fraction::Nanoseconds),
            "1970-01-01T00:00:00.000001500"
        );
        assert_eq!(
            at(1_500, Fraction::Microseconds),
            "1970-01-01T00:00:00.001500"
        );
        assert_eq!(text(|out| time(45_000, Fraction::Seconds, out)), "12:30:00");
        assert_eq!(
            text(|out| duration(-1_500, Fraction::Milliseconds, out)),
            "-1.500"
        );
        assert_eq!(text(|out| duration(90, Fraction::Seconds, out)), "90");
    }

    proptest! {
        #[test]
        fn numbers_read_back(bits in any::<u64>(), small in any::<u16>()) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            let back: f64 = text(|out| float64(value, out)).parse().unwrap();
            prop_assert_eq!(back.to_bits(), value.to_bits());
            let value = f16::from_bits(small);
            prop_assume!(!value.is_nan());
            let back: f32 = text(|out| float16(value, out)).parse().unwrap();
            prop_assert_eq!(f16::from_f32(back).to_bits(), value.to_bits());
        }

        #[test]
        fn dates_and_times_never_panic_and_days_follow_each_other(
            count in any::<i64>(), days in -1_000_000i64..1_000_000,
        ) {
            for fraction in [Fraction::Seconds, Fraction::Milliseconds, Fraction::Nanoseconds] {
                text(|out| timestamp(count, fraction, out));
                text(|out| time(count, fraction, out));
                text(|out| duration(count, fraction, out));
            }
            text(|out| date(count, out));
            let (today, tomorrow) = (civil(days), civil(days + 1));
            prop_assert!(today < tomorrow);
            prop_assert!(tomorrow.2 == today.2 + 1 || tomorrow.2 == 1);
        }
    }
}
