//! Which texts are dates: `2024-01-31`, `2024/1/31`, `31.01.2024`, `1/31/2024`, each with or without a
//! time of day behind it.

/// Returns whether a text is a date.
pub(crate) fn is_date(text: &str) -> bool {
    let (date, time) = match text.find(['T', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    is_day(date) && time.is_none_or(is_time)
}

fn is_day(text: &str) -> bool {
    let Some(mark) = text.chars().find(|c| ['-', '/', '.'].contains(c)) else {
        return false;
    };
    let parts: Vec<&str> = text.split(mark).collect();
    let [first, middle, last] = parts.as_slice() else {
        return false;
    };
    let number = |part: &str, digits: std::ops::RangeInclusive<usize>, most: u32| {
        digits.contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part
                .parse::<u32>()
                .is_ok_and(|number| (1..=most).contains(&number))
    };
    let year = |part: &str| number(part, 4..=4, 9999);
    let small = |part: &str| number(part, 1..=2, 31);
    (year(first) && number(middle, 1..=2, 12) && small(last))
        || (small(first) && small(middle) && (year(last) || number(last, 2..=2, 99)))
}

fn is_time(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits >= 3
        && text.contains(':')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b":.+-Z APMapm".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_from_other_texts() {
        for text in [
            "2024-01-31",
            "2024/1/31",
            "31.01.2024",
            "1/31/2024",
            "01/02/24",
            "2024-01-31T12:30:00",
            "2024-01-31 12:30:00.5+01:00",
            "1/31/2024 3:15 PM",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "",
            "2024",
            "1.5",
            "1.2.3.4",
            "2024-13-01",
            "0-1-2",
            "a-b-c",
            "555-1234",
            "2024-01-31 x",
            "1.2.3",
        ] {
            assert!(!is_date(text), "{text}");
        }
    }
}
