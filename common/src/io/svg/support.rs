//! The network by support, and beside it the distribution of strengths.

use super::layout::{self, FONT_SIZE};
use super::part::{MAX_DRAWN_NODES, shortened};
use super::{MARGIN, note, visible};
use crate::io::error::WriteError;
use crate::io::support::SupportPicture;
use crate::support::SupportTable;

/// Draws the pairs of a picture: width and opacity by support, dashed below the threshold, a head
/// only where that direction is the commonest mark; below, the share of pairs with at most some
/// support, with the thresholds.
///
/// # Errors
/// If there are too many nodes.
pub fn draw_support(picture: &SupportPicture<'_>) -> Result<String, WriteError> {
    let table = picture.table;
    let nodes = table.names().len();
    if nodes > MAX_DRAWN_NODES {
        return Err(WriteError::TooLarge { nodes });
    }
    let pairs = picture.pairs();
    let labels: Vec<String> = table.names().iter().map(|name| shortened(name)).collect();
    let edges: Vec<(usize, usize)> = pairs
        .iter()
        .map(|pair| (pair.from.index(), pair.to.index()))
        .collect();
    let drawing = layout::place(&labels, &edges);
    let width = drawing.width.max(PLOT_WIDTH + 60.0) + 2.0 * MARGIN;
    let plot_top = drawing.height + 40.0;
    let height = plot_top + PLOT_HEIGHT + 90.0 + 2.0 * MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" font-size=\"{FONT_SIZE}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<defs>\n"
    );
    for (name, colour) in [("plain", PLAIN), ("wrong", WRONG)] {
        text += &format!(
            "<marker id=\"{name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1 L10 5 L0 9 z\" fill=\"{colour}\"/></marker>\n"
        );
    }
    text += &format!("</defs>\n<g transform=\"translate({MARGIN} {MARGIN})\">\n");
    for (pair, path) in pairs.iter().zip(&drawing.paths) {
        let strength = pair.strength();
        let is_true = picture.truth.is_none_or(|truth| {
            truth.has_edge(pair.from, pair.to) || truth.has_edge(pair.to, pair.from)
        });
        let (colour, head) = if is_true {
            (PLAIN, "plain")
        } else {
            (WRONG, "wrong")
        };
        let dashes = if picture.is_weak(pair) {
            " stroke-dasharray=\"6 4\""
        } else {
            ""
        };
        let head = match SupportPicture::has_head(pair) {
            true => format!(" marker-end=\"url(#{head})\""),
            false => String::new(),
        };
        text += &format!(
            "<path class=\"edge\" d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{:.2}\" opacity=\"{:.2}\"{dashes}{head}/>\n",
            0.8 + 2.4 * strength,
            0.3 + 0.7 * strength,
        );
    }
    for (place, (name, label)) in drawing.boxes.iter().zip(table.names().iter().zip(&labels)) {
        text += &format!(
            "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\" fill=\"#eef3fa\" stroke=\"#33485f\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#111111\" xml:space=\"preserve\">{}</text></g>\n",
            visible(name),
            place.x,
            place.y,
            place.width,
            place.height,
            place.x + place.width / 2.0,
            place.y + place.height / 2.0 + FONT_SIZE * 0.35,
            visible(label),
        );
    }
    for (pair, path) in pairs.iter().zip(&drawing.paths) {
        if let Some((x, y)) = middle(path) {
            // Not every program knows `paint-order`: what keeps the line away is drawn first.
            for look in [
                "fill=\"white\" stroke=\"white\" stroke-width=\"3\"",
                "fill=\"#111111\"",
            ] {
                text += &format!(
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\" {look}>{:.2}</text>\n",
                    y + 3.5,
                    pair.strength()
                );
            }
        }
    }
    text += &distribution(table, picture.threshold, plot_top);
    text += "</g>\n</svg>\n";
    Ok(text)
}

const PLAIN: &str = "#333333";
/// Not in the true network.
const WRONG: &str = "#d55e00";
const PLOT_WIDTH: f64 = 420.0;
const PLOT_HEIGHT: f64 = 180.0;

/// Draws the share of pairs whose support is at most x, and the thresholds.
fn distribution(table: &SupportTable, threshold: f64, top: f64) -> String {
    const LEFT: f64 = 46.0;
    let nodes = table.names().len();
    let all = (nodes * nodes.saturating_sub(1) / 2).max(1);
    let mut strengths: Vec<f64> = table.pairs().iter().map(|pair| pair.strength()).collect();
    strengths.sort_by(f64::total_cmp);
    let x = |strength: f64| LEFT + PLOT_WIDTH * strength;
    let y = |share: f64| top + PLOT_HEIGHT * (1.0 - share);
    #[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
    let share = |pairs: usize| pairs as f64 / all as f64;
    let absent = all.saturating_sub(strengths.len());
    let mut path = format!("M{:.1} {:.1} V{:.1}", x(0.0), y(0.0), y(share(absent)));
    for (at, &strength) in strengths.iter().enumerate() {
        path += &format!(" H{:.1} V{:.1}", x(strength), y(share(absent + at + 1)));
    }
    path += &format!(" H{:.1}", x(1.0));
    let mut text = format!(
        "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{PLOT_WIDTH}\" height=\"{PLOT_HEIGHT}\" fill=\"none\" stroke=\"#999999\"/>\n<path class=\"distribution\" d=\"{path}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"1.8\"/>\n"
    );
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        text += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{tick}</text>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" font-size=\"11\">{tick}</text>\n",
            x(tick),
            top + PLOT_HEIGHT + 15.0,
            LEFT - 5.0,
            y(tick) + 4.0,
        );
    }
    let l1 = table.l1_threshold();
    let lines = [
        (
            threshold,
            "6 4",
            format!("{threshold:.2}: threshold of what is drawn"),
        ),
        (
            l1,
            "2 3",
            format!("{l1:.2}: L1 threshold of bnlearn, for information"),
        ),
    ];
    let mut at = top + PLOT_HEIGHT + 52.0;
    text += &note(
        LEFT,
        at - 22.0,
        "share of pairs (up) whose support is at most (right)",
    );
    for (value, dashes, label) in lines {
        text += &format!(
            "<path d=\"M{0:.1} {1:.1} V{2:.1} M{3} {4:.1} h36\" stroke=\"#aa4499\" stroke-dasharray=\"{dashes}\" fill=\"none\"/>\n",
            x(value),
            y(0.0),
            y(1.0),
            LEFT,
            at,
        );
        text += &note(LEFT + 46.0, at, &label);
        at += 22.0;
    }
    text
}

/// Returns the middle of a path's middle curve, where no box is: paths are straight through boxes'
/// layers and bend between them (`lines::curve`).
fn middle(path: &str) -> Option<(f64, f64)> {
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace()
            .filter_map(|number| number.parse().ok())
            .collect()
    };
    let mut curves = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (at, command) in path
        .char_indices()
        .filter(|(_, letter)| "MLC".contains(*letter))
    {
        let rest = &path[at + 1..];
        let end = rest.find(['M', 'L', 'C']).unwrap_or(rest.len());
        let points = numbers(&rest[..end]);
        if command == 'C'
            && let (Some((x0, y0)), &[x1, y1, x2, y2, x3, y3]) = (before, &points[..])
        {
            curves.push((
                (x0 + 3.0 * x1 + 3.0 * x2 + x3) / 8.0,
                (y0 + 3.0 * y1 + 3.0 * y2 + y3) / 8.0,
            ));
        }
        if let [.., x, y] = points[..] {
            before = Some((x, y));
        }
    }
    curves.get(curves.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_path_lies_on_its_middle_curve() {
        let path = "M0.0 0.0 L0.0 10.0 C0.0 20.0 8.0 20.0 8.0 30.0 L8.0 40.0";
        assert_eq!(middle(path), Some((4.0, 20.0)));
        assert_eq!(middle("M0 0 L1 1"), None);
    }
}
