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
    let all = letters.len();
    if all <= 2 * LONGEST_END
        && let Some(lines) = filled(&letters.iter().collect::<String>())
        && lines.len() <= MOST_LINES
    {
        return balanced(lines);
    }
    // The longest beginning and end that fit with the gap between them.
    let cut = |kept: usize| -> Option<Vec<String>> {
        let (start, end) = (kept.div_ceil(2), kept / 2);
        let start: String = letters[..start].iter().collect();
        let end: String = letters[all - end..].iter().collect();
        let text = format!("{}{gap}{}", start.trim_end(), end.trim_start());
        filled(&text).filter(|lines| lines.len() <= MOST_LINES)
    };
    let mut shown = None;
    for kept in 2..all.min(2 * LONGEST_END) {
        match cut(kept) {
            Some(lines) => shown = Some(lines),
            // A word that is too long for a line fits no better with more letters.
            None if kept > 40 => break,
            None => {}
        }
    }
    shown.map_or_else(|| vec![gap.to_owned()], balanced)
}

/// Fills lines with words; none if a word is wider than a line.
fn filled(text: &str) -> Option<Vec<String>> {
    filled_to(text, WIDEST)
}

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

/// Makes the lines of a wrapped name about equally wide.
fn balanced(lines: Vec<String>) -> Vec<String> {
    if lines.len() < 2 {
        return lines;
    }
    // Words lost only the spaces at the ends of lines; those behind _ and - had none.
    let mut text = String::new();
    for line in &lines {
        let joins = text.is_empty() || text.ends_with(['_', '-', '/', '.', '…']);
        text += if joins { "" } else { " " };
        text += line;
    }
    let mut best = lines.clone();
    let mut widest = WIDEST;
    while let Some(found) = filled_to(&text, widest) {
        if found.len() > lines.len() {
            break;
        }
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
            letter => letter.is_whitespace() && !following.is_whitespace(),
        };
        if ends {
            words.push(&text[start..next]);
            start = next;
        }
    }
    words.push(&text[start..]);
    words
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
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => 110,
        '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' => 110,
        '\u{1f000}'.. => 140,
        _ => 100,
    }
}
