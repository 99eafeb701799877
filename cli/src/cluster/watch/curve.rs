//! The curve: how many nats below the best the search was at each time, on a logarithmic scale, drawn
//! with dots, two by four in a character.

use crate::units::show_time;
use rlbayes_proto::v1;
use std::time::Duration;

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Time spent searching.
    pub(super) seconds: f64,
    /// The best score from then on.
    pub(super) score: f64,
}

/// The curve so far. A coordinator that restarts begins its curve anew, with its best: what it sent
/// before that is kept here.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    search: Vec<u8>,
    points: Vec<Point>,
}

/// Points that are kept; a coordinator sends at most 512, so this is a few restarts.
const MOST_POINTS: usize = 4096;

impl History {
    /// Takes over the curve of a status.
    pub(super) fn take(&mut self, status: &v1::StatusReply) {
        if *self.search != *status.search_id {
            self.search = status.search_id.to_vec();
            self.points.clear();
        }
        let Some(first) = status.curve.first() else {
            return;
        };
        // What is older than the first point, and what that does not replace.
        self.points
            .retain(|point| point.seconds < first.seconds && point.score < first.score);
        if self.points.len() > MOST_POINTS {
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.points.extend(status.curve.iter().map(|point| Point {
            seconds: point.seconds,
            score: point.score,
        }));
    }

    /// Returns the points in order.
    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }
}

/// A line of the drawing: its label, and the dots.
pub(super) type DrawnLine = (String, String);

/// Characters of a label.
pub(super) const LABEL_WIDTH: usize = 6;
/// Differences below this are as good as the best.
const SMALLEST: f64 = 1e-3;

/// Draws the points up to `end` seconds into lines of `width` characters. The last line is the best
/// itself, which a logarithmic scale has no place for.
pub(super) fn draw(points: &[Point], end: f64, width: usize, height: usize) -> Vec<DrawnLine> {
    let Some(last) = points.last() else {
        return Vec::new();
    };
    if height < 2 || width == 0 {
        return Vec::new();
    }
    let gap = |point: &Point| last.score - point.score;
    let gaps = points.iter().map(gap).filter(|gap| *gap >= SMALLEST);
    let (low, high) = gaps.fold((f64::INFINITY, 0.0_f64), |(low, high), gap| {
        (low.min(gap), high.max(gap))
    });
    let (bottom, top) = match high > 0.0 {
        true => (low.log10().floor(), high.log10().ceil()),
        false => (-1.0, 0.0),
    };
    let span = (top - bottom).max(1.0);
    let rows = 4 * (height - 1);
    let row_of = |gap: f64| {
        if gap < SMALLEST {
            return 4 * height - 2;
        }
        let share = ((bottom + span - gap.log10()) / span).clamp(0.0, 1.0);
        to_index(share * to_float(rows - 1))
    };
    let mut dots = vec![vec![0u8; width]; height];
    let end = end.max(last.seconds).max(1e-9);
    let columns = 2 * width;
    let mut next = 0;
    let mut before = None;
    for column in 0..columns {
        let until = end * to_float(column + 1) / to_float(columns);
        while points.get(next).is_some_and(|point| point.seconds <= until) {
            next += 1;
        }
        let Some(point) = next.checked_sub(1).map(|at| &points[at]) else {
            continue;
        };
        let row = row_of(gap(point)).min(4 * height - 1);
        let from = before.unwrap_or(row);
        for row in from.min(row)..=from.max(row) {
            // Braille: bits 0-2 and 6 are the left column from the top, 3-5 and 7 the right one.
            const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
            dots[row / 4][column / 2] |= BITS[column % 2][row % 4];
        }
        before = Some(row);
    }
    let mut labels = vec![String::new(); height];
    labels[height - 1] = "0".to_owned();
    let mut decade = bottom;
    while decade <= bottom + span {
        labels[row_of(10_f64.powf(decade)) / 4] = decade_label(decade);
        decade += 1.0;
    }
    let lines = labels.into_iter().zip(dots).map(|(label, line)| {
        let line = line
            .into_iter()
            .map(|bits| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '));
        (format!("{label:>LABEL_WIDTH$}"), line.collect())
    });
    lines.collect()
}

fn decade_label(decade: f64) -> String {
    match decade {
        decade if decade > 5.0 => format!("1e{decade:.0}"),
        decade if decade >= 0.0 => format!("{:.0}", 10_f64.powf(decade)),
        decade => format!("{:.*}", to_index(-decade), 10_f64.powf(decade)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred")]
fn to_float(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a few hundred"
)]
fn to_index(number: f64) -> usize {
    number.round() as usize
}

/// Draws the curve of a status for a file or a pipe.
pub(super) fn plain_curve(status: &v1::StatusReply) -> String {
    const WIDTH: usize = 70;
    const HEIGHT: usize = 10;
    let mut history = History::default();
    history.take(status);
    let drawn = draw(history.points(), status.elapsed_seconds, WIDTH, HEIGHT);
    if drawn.is_empty() {
        return String::new();
    }
    let mut text = "\nnats below the best\n".to_owned();
    for (label, dots) in drawn {
        text.push_str(&format!("{label} {dots}\n"));
    }
    let end = Duration::try_from_secs_f64(status.elapsed_seconds).unwrap_or_default();
    text.push_str(&format!("{:LABEL_WIDTH$} 0 to {}\n", "", show_time(end)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(search: u8, points: &[(f64, f64)]) -> v1::StatusReply {
        let point = |&(seconds, score)| v1::CurvePoint {
            seconds,
            score,
            evaluations: None,
        };
        v1::StatusReply {
            search_id: vec![search; 16].into(),
            elapsed_seconds: 10.0,
            curve: points.iter().map(point).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn a_curve_falls_from_the_upper_left_to_the_best_at_the_lower_right() {
        let mut history = History::default();
        history.take(&status(
            1,
            &[(0.0, -1100.0), (3.0, -110.0), (6.0, -101.0), (9.0, -100.0)],
        ));
        let drawn = draw(history.points(), 10.0, 20, 5);
        let labels: Vec<&str> = drawn.iter().map(|(label, _)| label.trim()).collect();
        assert_eq!(labels, ["1000", "100", "10", "1", "0"]);
        let is_drawn =
            |row: usize, column: usize| drawn[row].1.chars().nth(column).unwrap() != '\u{2800}';
        // Ten times closer is a step of the same height, wherever it is.
        for (row, column) in [(0, 0), (0, 5), (2, 7), (2, 11), (3, 13), (3, 17), (4, 19)] {
            assert!(is_drawn(row, column), "{row} {column}: {drawn:#?}");
        }
        for (row, column) in [(4, 0), (1, 0), (0, 19), (1, 10), (3, 19)] {
            assert!(!is_drawn(row, column), "{row} {column}: {drawn:#?}");
        }
        assert!(draw(&[], 10.0, 20, 5).is_empty());
        let text = plain_curve(&status(1, &[(0.0, -5.0)]));
        assert_eq!(text.lines().count(), 13, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn the_curve_of_before_a_restart_is_kept_and_that_of_another_search_is_not() {
        let mut history = History::default();
        history.take(&status(1, &[(0.0, -50.0), (2.0, -20.0), (4.0, -10.0)]));
        // The coordinator is back: its curve begins with what it had stored.
        history.take(&status(1, &[(4.0, -10.0)]));
        let scores = |history: &History| -> Vec<f64> {
            history.points().iter().map(|point| point.score).collect()
        };
        assert_eq!(scores(&history), [-50.0, -20.0, -10.0]);
        history.take(&status(1, &[(4.0, -10.0), (6.0, -9.0)]));
        assert_eq!(scores(&history), [-50.0, -20.0, -10.0, -9.0]);
        history.take(&status(2, &[(1.0, -70.0)]));
        assert_eq!(scores(&history), [-70.0]);
    }
}
