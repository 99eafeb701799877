//! What stands in the boxes: names wrapped at words, the middle of very long ones left out, and how
//! wide text is.

use super::{Size, length};
use std::collections::BTreeMap;

/// The size of letters.
pub const FONT_SIZE: i32 = 14;
/// From one line of a name to the next.
pub const LINE_HEIGHT: i32 = 17;

/// The widest line and the most lines of a box.
const WIDEST: i32 = 190;
const MOST_LINES: usize = 3;
/// The longest part of a name that is looked at from each end.
const LONGEST_END: usize = 120;

/// A name as its box shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its lines.
    pub lines: Vec<String>,
    /// The size of the box.
    pub size: Size,
}

/// Returns the labels of names. Different names get different labels: where only the middle that
/// was left out differs, it is replaced by the number of the name.
#[must_use]
pub fn labels(names: &[String]) -> Vec<Label> {
    let mut lines: Vec<Vec<String>> = names.iter().map(|name| wrapped(name, "…")).collect();
    let mut seen: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for lines in &lines {
        *seen.entry(lines.clone()).or_default() += 1;
    }
    for (number, (lines, name)) in lines.iter_mut().zip(names).enumerate() {
        if seen.get(lines).is_some_and(|&times| times > 1) {
            *lines = wrapped(name, &format!("…{}…", number + 1));
        }
    }
    lines.into_iter().map(label).collect()
}

fn label(lines: Vec<String>) -> Label {
    const SIDES: i32 = 22;
    const ABOVE_AND_BELOW: i32 = 13;
    let widest = lines.iter().map(|line| text_width(line, FONT_SIZE)).max();
    // Even, so that its middle is a whole pixel.
    let width = (widest.unwrap_or(0) + SIDES + 1) / 2 * 2;
    let height = length(lines.len().max(1)) * LINE_HEIGHT + ABOVE_AND_BELOW;
    Label {
        lines,
        size: Size {
            width: width.max(36),
            height: (height + 1) / 2 * 2,
        },
    }
}

/// Wraps a name; what does not fit loses its middle.
fn wrapped(name: &str, gap: &str) -> Vec<String> {
    let letters: Vec<char> = name
        .chars()
        .map(|letter| match letter.is_control() {
            true => '\u{fffd}',
            false => letter,
        })
        .collect();
    let text: String = letters.iter().collect();
    if letters.len() <= 2 * LONGEST_END && fits(&text) {
        return balanced(&text);
    }
    let by_letters = longest_cut(&letters, gap, |part| part.iter().collect());
    let by_words = longest_cut(&words(&text), gap, |part| part.concat());
    // Whole words are easier to read, unless they leave out much more.
    let length = |text: &String| text.chars().count();
    let best = match (by_words, by_letters) {
        (Some(words), Some(letters)) if 4 * length(&words) >= 3 * length(&letters) => Some(words),
        (_, Some(letters)) => Some(letters),
        (words, None) => words,
    };
    balanced(best.as_deref().unwrap_or(gap))
}

/// Returns the longest beginning and end that fit with the gap between them; the parts that they are
/// made of stay whole.
fn longest_cut<T>(parts: &[T], gap: &str, joined: impl Fn(&[T]) -> String) -> Option<String> {
    let all = parts.len();
    let mut longest = None;
    for kept in 2..all.min(2 * LONGEST_END) {
        let start = joined(&parts[..kept.div_ceil(2)]);
        let end = joined(&parts[all - kept / 2..]);
        let text = format!("{}{gap}{}", start.trim_end(), end.trim_start());
        if fits(&text) {
            longest = Some(text);
        } else if kept > 40 {
            // A word that is too long for a line fits no better with more letters.
            break;
        }
    }
    longest
}

/// Returns whether a text fits into the lines of a box.
fn fits(text: &str) -> bool {
    filled_to(text, WIDEST).is_some_and(|lines| lines.len() <= MOST_LINES)
}

/// Fills lines with words; none if a word is wider than a line.
fn filled_to(text: &str, widest: i32) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let longer = format!("{line}{word}");
        if text_width(longer.trim_end(), FONT_SIZE) <= widest {
            line = longer;
            continue;
        }
        if text_width(word.trim_end(), FONT_SIZE) > widest {
            return None;
        }
        lines.push(line.trim_end().to_owned());
        line = word.to_owned();
    }
    lines.push(line.trim_end().to_owned());
    lines.retain(|line| !line.is_empty());
    Some(lines)
}

/// Wraps a text that fits into lines that are about equally wide.
fn balanced(text: &str) -> Vec<String> {
    let mut best = filled_to(text, WIDEST).unwrap_or_else(|| vec![text.to_owned()]);
    let most = best.len();
    let mut widest = WIDEST;
    while most > 1
        && let Some(found) = filled_to(text, widest)
        && found.len() <= most
    {
        best = found;
        widest -= 6;
    }
    best
}

/// Splits behind spaces and behind the marks that join words.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((_, letter)) = letters.next() {
        let Some(&(next, following)) = letters.peek() else {
            break;
        };
        let ends = match letter {
            '_' | '-' | '/' | '.' | '…' => following.is_alphabetic(),
            letter if letter.is_whitespace() => !following.is_whitespace(),
            // Scripts without spaces are wrapped between any two signs, but marks stay behind them.
            letter => (is_wide(letter) || is_wide(following)) && !is_closing(following),
        };
        if ends {
            words.push(&text[start..next]);
            start = next;
        }
    }
    words.push(&text[start..]);
    words
}

/// Returns whether a letter is one of the square signs of Chinese, Japanese or Korean.
fn is_wide(letter: char) -> bool {
    matches!(letter,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}')
}

/// Returns whether a mark belongs to what stands before it.
fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        '、' | '。'
            | '，'
            | '！'
            | '？'
            | '；'
            | '：'
            | '）'
            | '」'
            | '』'
            | '】'
            | '》'
            | '…'
            | '.'
            | ','
            | '!'
            | '?'
            | ';'
            | ':'
            | ')'
    )
}

/// Returns how wide text is at most, in pixels: by the widths of DejaVu Sans, which is wider than
/// most fonts that a viewer may take instead.
#[must_use]
pub fn text_width(text: &str, font_size: i32) -> i32 {
    let units: i32 = text.chars().map(letter_width).sum();
    (units * font_size + 99) / 100
}

/// The width of a letter in hundredths of the font's size, rounded up.
fn letter_width(letter: char) -> i32 {
    match letter {
        'i' | 'j' | 'l' => 28,
        'I' | 'J' => 30,
        'f' | 't' | 'r' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '/' | '\\' | '-' | '('
        | ')' | '[' | ']' | '!' => 42,
        'a'..='z' => match letter {
            'm' => 98,
            'w' => 82,
            's' | 'z' | 'c' | 'x' | 'k' | 'v' | 'y' => 60,
            _ => 64,
        },
        'A'..='Z' => match letter {
            'M' | 'O' | 'Q' => 87,
            'W' => 99,
            'D' | 'G' | 'H' | 'N' | 'U' => 78,
            _ => 70,
        },
        '0'..='9' | '_' | '?' | '"' | '$' | '*' | '{' | '}' | '`' => 64,
        '@' => 100,
        '%' => 96,
        letter if letter.is_ascii() => 84,
        // Marks over letters take no room, but not every font has them.
        '\u{300}'..='\u{36f}' => 30,
        '\u{80}'..='\u{4ff}' => 88,
        '…' => 100,
        letter if is_wide(letter) => 110,
        '\u{1f000}'.. => 140,
        _ => 100,
    }
}
