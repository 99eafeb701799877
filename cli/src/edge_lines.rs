//! The edges of a network as lines for people, at most 80 columns wide: strongest first, `->` where
//! the direction is compelled, `--` where it is free.

use rlbayes::FoundEdge;
use std::fmt::Write;

/// How many edges a report shows at most where a file has all of them.
pub(crate) const EDGES_SHOWN: usize = 60;

/// How wide a line is at most.
const COLUMNS: usize = 80;
/// How wide the column of gains is, with the space on both of its sides.
const GAIN: usize = 14;
/// How wide the column of support is, with the space behind it.
const SUPPORT: usize = 9;

/// Returns one line an edge under a heading, and what the arrows mean; with `support`, a column of it.
pub(crate) fn edge_lines(
    edges: &[FoundEdge<'_>],
    support: Option<&dyn Fn(&FoundEdge<'_>) -> f64>,
    most: usize,
) -> String {
    if edges.is_empty() {
        return "no edges: no variable tells enough about another on this table\n\n".into();
    }
    let mut ordered: Vec<&FoundEdge<'_>> = edges.iter().collect();
    ordered.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    let count = match edges.len() {
        1 => "1 edge".to_owned(),
        count => format!("{count} edges"),
    };
    let mut text = format!("{count}, strongest first\n{:>12}", "nats lost");
    text += match support {
        Some(_) => "  support\n",
        None => "\n",
    };
    for edge in ordered.iter().take(most) {
        let _ = match support {
            Some(support) => {
                let ends = ends(edge, GAIN + SUPPORT);
                writeln!(text, "{:>12.3}  {:>7.2}  {ends}", edge.gain, support(edge))
            }
            None => writeln!(text, "{:>12.3}  {}", edge.gain, ends(edge, GAIN)),
        };
    }
    if edges.len() > most {
        let _ = writeln!(text, "{:>12}  and {} more", "...", edges.len() - most);
    }
    let free = edges.iter().filter(|edge| !edge.is_compelled).count();
    text += match free {
        0 => "  No network with other directions (->) fits the data as well.\n",
        _ => "  Equivalent networks fit the data alike: they share every -> and may turn a --.\n",
    };
    text += "\n";
    text
}

/// Returns the two names with what joins them; a free edge in the order of names. Names that are too
/// long lose their middle.
fn ends(edge: &FoundEdge<'_>, columns_before: usize) -> String {
    let (from, arrow, to) = match edge.is_compelled {
        true => (edge.from, "->", edge.to),
        false => (edge.from.min(edge.to), "--", edge.from.max(edge.to)),
    };
    let room = COLUMNS - columns_before - " -> ".len();
    let (from_width, to_width) = (from.chars().count(), to.chars().count());
    let half = room / 2;
    // What the shorter name leaves, the longer one gets.
    let from_room = half.max(room - to_width.min(half));
    let to_room = room - from_width.min(from_room);
    format!(
        "{} {arrow} {}",
        shortened(from, from_room),
        shortened(to, to_room)
    )
}

/// Leaves out the middle of a name that is too wide; control characters become spaces.
fn shortened(name: &str, room: usize) -> String {
    let plain = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    let characters: Vec<char> = name.chars().map(plain).collect();
    if characters.len() <= room {
        return characters.into_iter().collect();
    }
    let kept = room - 1;
    let (start, end) = (kept.div_ceil(2), kept / 2);
    let start = &characters[..start];
    let end = &characters[characters.len() - end..];
    start.iter().chain(&['…']).chain(end).collect()
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
        let text = edge_lines(&edges, None, 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "3 edges, strongest first");
        assert_eq!(lines[2], "     120.500  c -> d");
        assert_eq!(lines[3], "       3.000  a -- b");
        assert_eq!(lines[4], "         ...  and 1 more");
        assert!(lines[5].contains("may turn a --"));
        let all = edge_lines(&edges, None, usize::MAX);
        assert!(all.contains("-2.000  x -> y") && !all.contains("more"));
    }

    #[test]
    fn support_is_a_column() {
        let edges = [edge("b", "a", false, 3.0), edge("c", "d", true, 120.5)];
        let support = |edge: &FoundEdge<'_>| if edge.from == "b" { 0.25 } else { 1.0 };
        let text = edge_lines(&edges, Some(&support), 60);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "   nats lost  support");
        assert_eq!(lines[2], "     120.500     1.00  c -> d");
        assert_eq!(lines[3], "       3.000     0.25  a -- b");
    }

    #[test]
    fn no_line_is_wider_than_80_columns() {
        let long =
            "To what extent do you agree that the weather was fine in the year of ".repeat(3);
        let (one, two) = (format!("{long}1"), format!("{long}2"));
        let names = [one.as_str(), two.as_str(), "a", "größe\nq"];
        for from in names {
            for to in names {
                for is_compelled in [true, false] {
                    let edges = [edge(from, to, is_compelled, -123_456.789)];
                    for support in [None, Some(&(|_: &FoundEdge<'_>| 1.0) as _)] {
                        let text = edge_lines(&edges, support, 60);
                        for line in text.lines() {
                            assert!(line.chars().count() <= COLUMNS, "{line}");
                        }
                    }
                }
            }
        }
        let text = edge_lines(&[edge(&one, &two, true, 1.0)], None, 60);
        assert!(
            text.contains("of 1 ->") && text.contains("of 2\n"),
            "{text}"
        );
    }
}
