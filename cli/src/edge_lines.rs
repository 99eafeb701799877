//! The edges of a network as lines for people, at most 80 columns wide: strongest first, `->` where
//! the direction is compelled, `--` where it is free.

use crate::directions::Directions;
use rlbayes::FoundEdge;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many edges a report shows at most where a file has all of them.
pub(crate) const EDGES_SHOWN: usize = 60;

/// How wide a line is at most.
const COLUMNS: usize = 80;
/// How wide the column of gains is, with the space on both of its sides.
const GAIN: usize = 14;
/// How wide the column of support is, with the space behind it.
const SUPPORT: usize = 10;

/// The support of an edge; none for a required one.
pub(crate) type SupportOf<'a> = dyn Fn(&FoundEdge<'_>) -> Option<f64> + 'a;

/// Returns one line an edge under a heading, and what the arrows mean; with `support`, a column of it,
/// which has the word for required edges: these have none of their own.
pub(crate) fn edge_lines(
    edges: &[FoundEdge<'_>],
    directions: Directions,
    support: Option<&SupportOf<'_>>,
    most: usize,
) -> String {
    if edges.is_empty() {
        return "no edges: the best network that was found has none\n\n".into();
    }
    let mut ordered: Vec<&FoundEdge<'_>> = edges.iter().collect();
    ordered.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let count = match edges.len() {
        1 => "1 edge".to_owned(),
        count => format!("{count} edges"),
    };
    let mut text = format!("{count}, strongest first\n{:>12}", "nats lost");
    text += match support {
        Some(_) => "   support\n",
        None => "\n",
    };
    for edge in ordered.iter().take(most) {
        let _ = match support {
            Some(support) => {
                let ends = ends(edge, GAIN + SUPPORT);
                let support =
                    support(edge).map_or("required".to_owned(), |share| format!("{share:.2}"));
                writeln!(text, "{:>12.3}  {support:>8}  {ends}", edge.gain)
            }
            None => writeln!(text, "{:>12.3}  {}", edge.gain, ends(edge, GAIN)),
        };
    }
    if edges.len() > most {
        let _ = writeln!(text, "{:>12}  and {} more", "...", edges.len() - most);
    }
    let some_free = edges.iter().any(|edge| !edge.is_compelled);
    text + "  " + directions.in_text(some_free) + "\n\n"
}

/// Returns the two names with what joins them; a free edge in the order of names. Names that are too
/// long lose their middle.
fn ends(edge: &FoundEdge<'_>, columns_before: usize) -> String {
    let (from, arrow, to) = match edge.is_compelled {
        true => (edge.from, "->", edge.to),
        false => (edge.from.min(edge.to), "--", edge.from.max(edge.to)),
    };
    let room = COLUMNS - columns_before - " -> ".len();
    let (from, to) = (plain(from), plain(to));
    let (from_width, to_width) = (from.width(), to.width());
    let half = room / 2;
    // What the shorter name leaves, the longer one gets.
    let from_room = half.max(room - to_width.min(half));
    let to_room = room - from_width.min(from_room);
    format!(
        "{} {arrow} {}",
        shortened(&from, from_room),
        shortened(&to, to_room)
    )
}

/// Replaces control characters by spaces.
fn plain(name: &str) -> String {
    let letters = name.chars();
    letters
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// Leaves out the middle of a name that takes too many columns.
fn shortened(name: &str, room: usize) -> String {
    if name.width() <= room {
        return name.to_owned();
    }
    let kept = room - 1;
    let start = fitting(name.chars(), kept.div_ceil(2));
    let mut end = fitting(name.chars().rev(), kept / 2);
    end.reverse();
    start.iter().chain(&['…']).chain(&end).collect()
}

/// Takes the first letters that fit into some columns.
fn fitting(letters: impl Iterator<Item = char>, mut room: usize) -> Vec<char> {
    letters
        .map_while(|letter| {
            room = room.checked_sub(letter.width().unwrap_or(0))?;
            Some(letter)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge<'a>(from: &'a str, to: &'a str, is_compelled: bool, gain: f64) -> FoundEdge<'a> {
        FoundEdge {
            from,
            to,
            is_compelled,
            gain,
        }
    }

    #[test]
    fn edges_are_shown_strongest_first_and_free_ones_by_name() {
        let edges = [
            edge("b", "a", false, 3.0),
            edge("c", "d", true, 120.5),
            edge("x", "y", true, -2.0),
        ];
        let text = edge_lines(&edges, Directions::Class, None, 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "3 edges, strongest first");
        assert_eq!(lines[2], "     120.500  c -> d");
        assert_eq!(lines[3], "       3.000  a -- b");
        assert_eq!(lines[4], "         ...  and 1 more");
        assert!(lines[5].contains("may turn a --"));
        let all = edge_lines(&edges, Directions::Class, None, usize::MAX);
        assert!(all.contains("-2.000  x -> y") && !all.contains("more"));
    }

    #[test]
    fn support_is_a_column() {
        let edges = [edge("b", "a", false, 3.0), edge("c", "d", true, 120.5)];
        let support = |edge: &FoundEdge<'_>| (edge.from == "b").then_some(0.25);
        let text = edge_lines(&edges, Directions::Class, Some(&support), 60);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "   nats lost   support");
        assert_eq!(lines[2], "     120.500  required  c -> d");
        assert_eq!(lines[3], "       3.000      0.25  a -- b");
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let long =
            "To what extent do you agree that the weather was fine in the year of ".repeat(3);
        let (one, two) = (format!("{long}1"), format!("{long}2"));
        let wide = "您对图书馆平日的开放时间满意吗请选择最符合的答案".repeat(2);
        let names = [
            one.as_str(),
            two.as_str(),
            "a",
            "größe\nq",
            wide.as_str(),
            "年龄",
        ];
        for from in names {
            for to in names {
                for is_compelled in [true, false] {
                    let edges = [edge(from, to, is_compelled, -123_456.789)];
                    for support in [None, Some(&(|_: &FoundEdge<'_>| Some(1.0)) as _)] {
                        let text = edge_lines(&edges, Directions::Class, support, 60);
                        for line in text.lines() {
                            assert!(line.width() <= COLUMNS, "{line}");
                        }
                    }
                }
            }
        }
        let text = edge_lines(&[edge(&one, &two, true, 1.0)], Directions::Class, None, 60);
        assert!(
            text.contains("of 1 ->") && text.contains("of 2\n"),
            "{text}"
        );
    }
}
