//! A layered drawing of a network as SVG; written only.
//!
//! `part.rs` chooses what is drawn, `layout.rs` places it,
//! `lines.rs` bends the edges, and this file draws.

mod layout;
mod lines;
mod part;
mod support;

use super::error::WriteError;
use super::xmlbif::escape;
use crate::graph::Cpdag;
use crate::network::NamedDag;
use layout::{Drawing, FONT_SIZE};
use part::{Part, Verdict};

pub use part::{Around, MAX_DRAWN_NODES};
pub use support::draw_support;

/// Draws a network, or the part of it around a node; with a truth, edges are coloured by it; with a
/// class, edges that may point either way have no head.
pub(super) fn write(
    network: &NamedDag,
    around: Option<Around<'_>>,
    truth: Option<&NamedDag>,
    class: Option<&Cpdag>,
) -> Result<String, WriteError> {
    let part = Part::of(network, around, truth, class)?;
    let drawing = layout::place(&part.labels, &part.edges);
    let centre = around.and_then(|around| part.names.iter().position(|name| name == around.node));
    Ok(draw(&part, &drawing, centre, truth.is_some()))
}

const MARGIN: f64 = 24.0;
const LEGEND_LINE: f64 = 22.0;

impl Verdict {
    const ALL: [Self; 4] = [Self::Common, Self::Extra, Self::Missing, Self::Turned];

    /// Colours that differ without red and green, too (Okabe and Ito 2008).
    fn colour(self) -> &'static str {
        match self {
            Self::Common => "#333333",
            Self::Extra => "#d55e00",
            Self::Missing => "#0072b2",
            Self::Turned => "#aa4499",
        }
    }

    fn dashes(self) -> &'static str {
        match self {
            Self::Common | Self::Extra => "",
            Self::Missing => " stroke-dasharray=\"7 4\"",
            Self::Turned => " stroke-dasharray=\"2 3\"",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Common => "in both networks",
            Self::Extra => "extra: not in the true network",
            Self::Missing => "missing: only in the true network",
            Self::Turned => "turned: the true network's class has another direction",
        }
    }

    fn marker(self) -> &'static str {
        match self {
            Self::Common => "common",
            Self::Extra => "extra",
            Self::Missing => "missing",
            Self::Turned => "turned",
        }
    }
}

fn draw(part: &Part, drawing: &Drawing, centre: Option<usize>, legend: bool) -> String {
    let mut notes: Vec<String> = Vec::new();
    if part.left_out > 0 {
        notes.push(format!(
            "{} more nodes in this neighbourhood are not shown",
            part.left_out
        ));
    }
    let shown: &[Verdict] = if legend { &Verdict::ALL } else { &[] };
    let lines = shown.len() + notes.len();
    let legend_height = if lines == 0 {
        0.0
    } else {
        lines_height(lines) + 12.0
    };
    let legend_width = if lines == 0 { 0.0 } else { 460.0 };
    let width = drawing.width.max(legend_width) + 2.0 * MARGIN;
    let height = drawing.height + legend_height + 2.0 * MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" font-size=\"{FONT_SIZE}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<defs>\n"
    );
    for verdict in Verdict::ALL {
        text += &format!(
            "<marker id=\"{}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 1 L10 5 L0 9 z\" fill=\"{}\"/></marker>\n",
            verdict.marker(),
            verdict.colour()
        );
    }
    text += "</defs>\n";
    text += &format!("<g transform=\"translate({MARGIN} {MARGIN})\">\n");
    let drawn = part.verdicts.iter().zip(&part.heads);
    for (path, (&verdict, &has_head)) in drawing.paths.iter().zip(drawn) {
        text += &line(path, verdict, has_head);
    }
    for (at, place) in drawing.boxes.iter().enumerate() {
        let fill = if centre == Some(at) {
            "#ffe9a8"
        } else {
            "#eef3fa"
        };
        let name = visible(&part.names[at]);
        let label = visible(&part.labels[at]);
        text += &format!(
            "<g><title>{name}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\" fill=\"{fill}\" stroke=\"#33485f\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#111111\" xml:space=\"preserve\">{label}</text></g>\n",
            place.x,
            place.y,
            place.width,
            place.height,
            place.x + place.width / 2.0,
            place.y + place.height / 2.0 + FONT_SIZE * 0.35,
        );
    }
    let mut y = drawing.height + 24.0;
    for &verdict in shown {
        text += &line(&format!("M0 {y:.1} L44 {y:.1}"), verdict, true);
        text += &note(56.0, y, verdict.label());
        y += LEGEND_LINE;
    }
    for line in &notes {
        text += &note(0.0, y, line);
        y += LEGEND_LINE;
    }
    text += "</g>\n</svg>\n";
    text
}

#[expect(clippy::cast_precision_loss, reason = "a handful of lines")]
fn lines_height(lines: usize) -> f64 {
    lines as f64 * LEGEND_LINE
}

fn line(path: &str, verdict: Verdict, has_head: bool) -> String {
    let head = match has_head {
        true => format!(" marker-end=\"url(#{})\"", verdict.marker()),
        false => String::new(),
    };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\"{}{head}/>\n",
        verdict.colour(),
        verdict.dashes(),
    )
}

fn note(x: f64, y: f64, text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#111111\">{text}</text>\n",
        y + 5.0
    )
}

/// Escapes a name and shows what XML forbids as a replacement character.
fn visible(name: &str) -> String {
    let shown: String = name
        .chars()
        .map(|letter| {
            if letter.is_control() {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect();
    escape(&shown).unwrap_or_default()
}

#[cfg(test)]
mod tests;
