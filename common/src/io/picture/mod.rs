//! A layered drawing of a network, as SVG, PNG or PDF; written only.
//!
//! `part.rs` chooses what is drawn, [`crate::layout`] places it, this file makes shapes of it, and
//! [`crate::canvas`] writes them.

mod part;
mod support;

use super::error::WriteError;
use crate::canvas::{Anchor, Canvas, Colour, Line, Point, Rect, Shape, Step, Text};
use crate::graph::Cpdag;
use crate::layout::{self, Drawing, FONT_SIZE, LINE_HEIGHT, Label, Piece, Place, Route, Size};
use crate::network::NamedDag;
use part::{Part, Verdict};

pub use part::{Around, MAX_DRAWN_NODES};
pub use support::draw_support;

/// Draws a network, or the part of it around a node; with a truth, edges are coloured by it; with a
/// class, edges that may point either way have no head.
pub(super) fn draw(
    network: &NamedDag,
    around: Option<Around<'_>>,
    truth: Option<&NamedDag>,
    class: Option<&Cpdag>,
) -> Result<Canvas, WriteError> {
    let part = Part::of(network, around, truth, class)?;
    let sizes: Vec<Size> = part.labels.iter().map(|label| label.size).collect();
    let drawing = layout::place(&sizes, &part.edges);
    let centre = around.and_then(|around| part.names.iter().position(|name| name == around.node));
    Ok(shapes(&part, &drawing, centre, truth.is_some()))
}

const MARGIN: f64 = 24.0;
const LEGEND_LINE: f64 = 22.0;
const BOX: Colour = Colour(0xee, 0xf3, 0xfa);
const CENTRE: Colour = Colour(0xff, 0xe9, 0xa8);
const BORDER: Colour = Colour(0x33, 0x48, 0x5f);

impl Verdict {
    const ALL: [Self; 4] = [Self::Common, Self::Extra, Self::Missing, Self::Turned];

    /// Colours that differ without red and green, too (Okabe and Ito 2008).
    fn colour(self) -> Colour {
        match self {
            Self::Common => Colour(0x33, 0x33, 0x33),
            Self::Extra => Colour(0xd5, 0x5e, 0x00),
            Self::Missing => Colour(0x00, 0x72, 0xb2),
            Self::Turned => Colour(0xaa, 0x44, 0x99),
        }
    }

    fn dashes(self) -> &'static [f64] {
        match self {
            Self::Common | Self::Extra => &[],
            Self::Missing => &[7.0, 4.0],
            Self::Turned => &[2.0, 3.0],
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

    fn line(self, (start, steps): (Point, Vec<Step>), head: bool) -> Shape {
        Shape::Line(Line {
            start,
            steps,
            colour: self.colour(),
            width: 1.4,
            dashes: self.dashes(),
            head,
        })
    }
}

fn shapes(part: &Part, drawing: &Drawing, centre: Option<usize>, legend: bool) -> Canvas {
    let mut notes: Vec<String> = Vec::new();
    if part.left_out > 0 {
        notes.push(format!(
            "{} more nodes in this neighbourhood are not shown",
            part.left_out
        ));
    }
    let shown: &[Verdict] = if legend { &Verdict::ALL } else { &[] };
    let lines = shown.len() + notes.len();
    let (legend_width, legend_height) = match lines {
        0 => (0.0, 0.0),
        lines => (460.0, lines_height(lines) + 12.0),
    };
    let mut made = Vec::new();
    let drawn = part.verdicts.iter().zip(&part.heads);
    for (route, (&verdict, &has_head)) in drawing.routes.iter().zip(drawn) {
        made.push(verdict.line(way(route), has_head));
    }
    for (at, place) in drawing.boxes.iter().enumerate() {
        let fill = if centre == Some(at) { CENTRE } else { BOX };
        made.push(node(&part.names[at], &part.labels[at], place, fill));
    }
    let mut y = MARGIN + f64::from(drawing.size.height) + 24.0;
    for &verdict in shown {
        let sample = ((MARGIN, y), vec![Step::Line((MARGIN + 44.0, y))]);
        made.push(verdict.line(sample, true));
        made.push(note(MARGIN + 56.0, y, verdict.label()));
        y += LEGEND_LINE;
    }
    for line in &notes {
        made.push(note(MARGIN, y, line));
        y += LEGEND_LINE;
    }
    Canvas {
        width: f64::from(drawing.size.width).max(legend_width) + 2.0 * MARGIN,
        height: f64::from(drawing.size.height) + legend_height + 2.0 * MARGIN,
        shapes: made,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of lines")]
fn lines_height(lines: usize) -> f64 {
    lines as f64 * LEGEND_LINE
}

/// Returns the point of a drawing on the page.
fn on_page((x, y): (i32, i32)) -> Point {
    (f64::from(x) + MARGIN, f64::from(y) + MARGIN)
}

/// Returns the way of an edge on the page.
fn way(route: &Route) -> (Point, Vec<Step>) {
    let steps = route.pieces.iter().map(|piece| match *piece {
        Piece::Line(end) => Step::Line(on_page(end)),
        Piece::Curve(a, b, end) => Step::Curve(on_page(a), on_page(b), on_page(end)),
    });
    (on_page(route.start), steps.collect())
}

/// Draws a node: its box, its name in lines, and the whole name for who points at it.
fn node(name: &str, label: &Label, place: &Place, fill: Colour) -> Shape {
    let at = on_page((place.x, place.y));
    let mut shapes = vec![Shape::Rect(Rect {
        at,
        width: f64::from(place.width),
        height: f64::from(place.height),
        corner: 6.0,
        fill: Some(fill),
        border: Some(BORDER),
    })];
    let mut y = place.y + place.height / 2 + 5;
    for _ in 1..label.lines.len() {
        y -= LINE_HEIGHT / 2;
    }
    for line in &label.lines {
        shapes.push(Shape::Text(Text {
            at: on_page((place.x + place.width / 2, y)),
            anchor: Anchor::Middle,
            text: line.clone(),
            size: f64::from(FONT_SIZE),
        }));
        y += LINE_HEIGHT;
    }
    Shape::Named {
        name: name.to_owned(),
        shapes,
    }
}

/// Draws a remark whose middle is at a height.
fn note(x: f64, y: f64, text: &str) -> Shape {
    Shape::Text(Text {
        at: (x, y + 5.0),
        anchor: Anchor::Start,
        text: text.to_owned(),
        size: f64::from(FONT_SIZE),
    })
}

#[cfg(test)]
mod tests;
