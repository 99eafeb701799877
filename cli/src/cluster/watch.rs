//! `rlbayes watch`: the status as a live view with a curve of the best score.

use super::block_on;
use super::client::{StatusArgs, for_people};
use super::connect::{answered, failed};
use crate::failure::Failure;
use crate::terminal::print;
use rlbayes_coordinator::status::to_json;
use rlbayes_proto::v1;
use std::io::IsTerminal;

/// Runs `rlbayes watch`: until the search is finished or Ctrl-C.
pub(crate) fn watch(args: &StatusArgs) -> Result<(), Failure> {
    let (url, connect) = (&args.ask().url, &args.ask().connect);
    block_on(1, async {
        let mut client = connect.client(url)?;
        let stream = client.watch(v1::StatusRequest {}).await;
        let mut stream = answered(url, stream).await?;
        let live = std::io::stdout().is_terminal() && !args.is_json();
        let mut height = 0;
        loop {
            let status = match stream.message().await {
                Ok(Some(status)) => status,
                Ok(None) => break,
                Err(status) => return Err(failed(url, &status).await),
            };
            if args.is_json() {
                print(&format!("{}\n", to_json(&status)))?;
            } else {
                let text = format!("{}{}", for_people(&status), curve(&status, 72, 10));
                if live && height > 0 {
                    // Up to where the last one began, and away with it.
                    print(&format!("\x1b[{height}A\x1b[J"))?;
                }
                height = text.lines().count();
                print(&text)?;
                if !live {
                    print("\n")?;
                }
            }
            if status.state == "finished" {
                break;
            }
        }
        Ok(())
    })
}

/// Draws the best score over time with dots, two by four in a character.
pub(crate) fn curve(status: &v1::StatusReply, width: usize, height: usize) -> String {
    let points = &status.curve;
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return String::new();
    };
    let (low, high) = (first.score, last.score);
    let end = status.elapsed_seconds.max(last.seconds).max(1e-9);
    let (columns, rows) = (2 * width, 4 * height);
    let mut dots = vec![vec![0u8; width]; height];
    let span = (high - low).max(1e-9);
    let mut next = 0;
    let mut score = low;
    for column in 0..columns {
        #[expect(clippy::cast_precision_loss, reason = "a few hundred columns")]
        let until = end * (column as f64 + 1.0) / columns as f64;
        while next < points.len() && points[next].seconds <= until {
            score = points[next].score;
            next += 1;
        }
        if next == 0 {
            continue;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "between 0 and the number of rows"
        )]
        let row = ((high - score) / span * (rows as f64 - 1.0)).round() as usize;
        let row = row.min(rows - 1);
        // Braille: bits 0-2 and 6 are the left column from the top, 3-5 and 7 the right one.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        dots[row / 4][column / 2] |= BITS[column % 2][row % 4];
    }
    let mut text = format!("\n  {high:.3}\n");
    for line in dots {
        text.push_str("  ");
        text.extend(
            line.into_iter()
                .map(|bits| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')),
        );
        text.push('\n');
    }
    text.push_str(&format!("  {low:.3}, from 0 to {end:.0} s\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_from_the_lower_left_to_the_upper_right() {
        let point = |seconds, score| v1::CurvePoint {
            seconds,
            score,
            evaluations: None,
        };
        let status = v1::StatusReply {
            elapsed_seconds: 10.0,
            curve: vec![point(0.0, -100.0), point(5.0, -50.0), point(9.9, -10.0)],
            ..Default::default()
        };
        let drawn = curve(&status, 10, 4);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 7, "{drawn}");
        let empty = '\u{2800}';
        let at = |row: usize, column: usize| lines[2 + row].chars().nth(2 + column).unwrap();
        assert_ne!(at(3, 0), empty);
        assert_eq!(at(0, 0), empty);
        assert_ne!(at(0, 9), empty);
        assert_eq!(curve(&v1::StatusReply::default(), 10, 4), "");
    }
}
