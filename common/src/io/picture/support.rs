//! The network by support, and beside it the distribution of strengths.

use super::part::MAX_DRAWN_NODES;
use super::{BOX, MARGIN, node, note, on_page, way};
use crate::canvas::{Anchor, Canvas, Colour, Line, Point, Rect, Shape, Step, Text};
use crate::io::error::WriteError;
use crate::io::support::SupportPicture;
use crate::layout::{self, Size};
use crate::support::SupportTable;

/// Draws the pairs of a picture: width and shade by support, dashed below the threshold, a head
/// only where that direction is the commonest mark; below, the share of pairs with at most some
/// support, with the thresholds.
///
/// # Errors
/// If there are too many nodes.
pub fn draw_support(picture: &SupportPicture<'_>) -> Result<Canvas, WriteError> {
    let table = picture.table;
    let nodes = table.names().len();
    if nodes > MAX_DRAWN_NODES {
        return Err(WriteError::TooLarge { nodes });
    }
    let pairs = picture.pairs();
    let labels = layout::labels(table.names());
    let sizes: Vec<Size> = labels.iter().map(|label| label.size).collect();
    let edges: Vec<(usize, usize)> = pairs
        .iter()
        .map(|pair| (pair.from.index(), pair.to.index()))
        .collect();
    let drawing = layout::place(&sizes, &edges);
    let plot_top = MARGIN + f64::from(drawing.size.height) + 40.0;
    let mut shapes = Vec::new();
    for (pair, route) in pairs.iter().zip(&drawing.routes) {
        let strength = pair.strength();
        let is_true = picture.truth.is_none_or(|truth| {
            truth.has_edge(pair.from, pair.to) || truth.has_edge(pair.to, pair.from)
        });
        let colour = if is_true { PLAIN } else { WRONG };
        let (start, steps) = way(route);
        shapes.push(Shape::Line(Line {
            start,
            steps,
            colour: colour.faded(0.3 + 0.7 * strength),
            width: 0.8 + 2.4 * strength,
            dashes: if picture.is_weak(pair) { WEAK } else { &[] },
            head: SupportPicture::has_head(pair),
        }));
    }
    for (place, (name, label)) in drawing.boxes.iter().zip(table.names().iter().zip(&labels)) {
        shapes.push(node(name, label, place, BOX));
    }
    let mut taken: Vec<Written> = Vec::new();
    for (pair, route) in pairs.iter().zip(&drawing.routes) {
        let label = picture.label(pair);
        let places = route.label_places().into_iter();
        let places: Vec<Written> = places.map(|at| Written::new(&label, at)).collect();
        let is_free = |place: &&Written| !taken.iter().any(|other| place.touches(other));
        let place = places.iter().find(is_free).or(places.first());
        let place = place.copied().unwrap_or_default();
        taken.push(place);
        let (x, y) = on_page(place.at);
        let half_width = f64::from(place.half_width);
        // A white ground keeps the line away from its number.
        shapes.push(Shape::Rect(Rect {
            at: (x - half_width, y - 6.0),
            width: 2.0 * half_width,
            height: 12.0,
            corner: 3.0,
            fill: Some(Colour::WHITE),
            border: None,
        }));
        shapes.push(text((x, y + 3.5), Anchor::Middle, label, 10.0));
    }
    distribution(table, picture.threshold, plot_top, &mut shapes);
    Ok(Canvas {
        width: f64::from(drawing.size.width).max(PLOT_WIDTH + 60.0) + 2.0 * MARGIN,
        height: plot_top + PLOT_HEIGHT + 90.0 + MARGIN,
        shapes,
    })
}

/// A label, and the room that it takes.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    at: (i32, i32),
    half_width: i32,
}

impl Written {
    fn new(label: &str, at: (i32, i32)) -> Self {
        // Characters of the labels are at most 7 wide.
        let half_width = i32::try_from(label.len() * 7 / 2).unwrap_or(i32::MAX);
        Self { at, half_width }
    }

    fn touches(&self, other: &Self) -> bool {
        const HEIGHT: u32 = 12;
        let aside = self.at.0.abs_diff(other.at.0);
        let room = self.half_width.saturating_add(other.half_width);
        aside < room.unsigned_abs() && self.at.1.abs_diff(other.at.1) < HEIGHT
    }
}

const PLAIN: Colour = Colour(0x33, 0x33, 0x33);
/// Not in the true network.
const WRONG: Colour = Colour(0xd5, 0x5e, 0x00);
const FRAME: Colour = Colour(0x99, 0x99, 0x99);
const CURVE: Colour = Colour(0x00, 0x72, 0xb2);
const THRESHOLD: Colour = Colour(0xaa, 0x44, 0x99);
/// Below the threshold.
const WEAK: &[f64] = &[6.0, 4.0];
const PLOT_WIDTH: f64 = 420.0;
const PLOT_HEIGHT: f64 = 180.0;

fn text(at: Point, anchor: Anchor, text: String, size: f64) -> Shape {
    Shape::Text(Text {
        at,
        anchor,
        text,
        size,
    })
}

/// Draws the share of pairs whose support is at most x, and the thresholds.
fn distribution(table: &SupportTable, threshold: f64, top: f64, shapes: &mut Vec<Shape>) {
    const LEFT: f64 = MARGIN + 46.0;
    let nodes = table.names().len();
    let all = (nodes * nodes.saturating_sub(1) / 2).max(1);
    let mut strengths: Vec<f64> = table.pairs().iter().map(|pair| pair.strength()).collect();
    strengths.sort_by(f64::total_cmp);
    let x = |strength: f64| LEFT + PLOT_WIDTH * strength;
    let y = |share: f64| top + PLOT_HEIGHT * (1.0 - share);
    #[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
    let share = |pairs: usize| pairs as f64 / all as f64;
    let absent = all.saturating_sub(strengths.len());
    let mut height = y(share(absent));
    let mut steps = vec![Step::Line((x(0.0), height))];
    for (at, &strength) in strengths.iter().enumerate() {
        steps.push(Step::Line((x(strength), height)));
        height = y(share(absent + at + 1));
        steps.push(Step::Line((x(strength), height)));
    }
    steps.push(Step::Line((x(1.0), height)));
    shapes.push(Shape::Rect(Rect {
        at: (LEFT, top),
        width: PLOT_WIDTH,
        height: PLOT_HEIGHT,
        corner: 0.0,
        fill: None,
        border: Some(FRAME),
    }));
    shapes.push(Shape::Line(Line {
        start: (x(0.0), y(0.0)),
        steps,
        colour: CURVE,
        width: 1.8,
        dashes: &[],
        head: false,
    }));
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let below = (x(tick), top + PLOT_HEIGHT + 15.0);
        shapes.push(text(below, Anchor::Middle, tick.to_string(), 11.0));
        let beside = (LEFT - 5.0, y(tick) + 4.0);
        shapes.push(text(beside, Anchor::End, tick.to_string(), 11.0));
    }
    let l1 = table.l1_threshold();
    let lines: [(f64, &'static [f64], String); 2] = [
        (
            threshold,
            WEAK,
            format!("{threshold:.2}: threshold of what is drawn"),
        ),
        (
            l1,
            &[2.0, 3.0],
            format!("{l1:.2}: L1 threshold of bnlearn, for information"),
        ),
    ];
    let mut at = top + PLOT_HEIGHT + 52.0;
    shapes.push(note(
        LEFT,
        at - 22.0,
        "share of pairs (up) whose support is at most (right)",
    ));
    for (value, dashes, label) in lines {
        shapes.push(Shape::Line(Line {
            start: (x(value), y(0.0)),
            steps: vec![
                Step::Line((x(value), y(1.0))),
                Step::Move((LEFT, at)),
                Step::Line((LEFT + 36.0, at)),
            ],
            colour: THRESHOLD,
            width: 1.0,
            dashes,
            head: false,
        }));
        shapes.push(note(LEFT + 46.0, at, &label));
        at += 22.0;
    }
}
