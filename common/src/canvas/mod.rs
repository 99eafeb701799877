//! Shapes on a page, and the page as SVG, PNG or PDF.
//!
//! A page is measured in pixels of a screen, from its upper left corner. SVG leaves fonts to the
//! program that shows it; PNG and PDF have letters of their own (`font.ttf`, a part of DejaVu Sans
//! with Latin, Greek and Cyrillic), so that they are the same on every machine, with or without fonts.

mod font;
mod pdf;
mod png;
mod raster;
mod svg;

pub use font::letters_without_glyph;

/// A point: to the right, down.
pub type Point = (f64, f64);

/// What stands on a page; later shapes cover earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Canvas {
    /// How wide the page is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// What stands on it.
    pub shapes: Vec<Shape>,
}

/// Something on a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A line.
    Line(Line),
    /// A box with round corners.
    Rect(Rect),
    /// Letters in one line.
    Text(Text),
    /// Shapes that belong together, and what a browser says of them to who points at them.
    Named {
        /// What they are.
        name: String,
        /// In their order.
        shapes: Vec<Shape>,
    },
}

/// A line with its look.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it begins.
    pub start: Point,
    /// How it goes on.
    pub steps: Vec<Step>,
    /// Its colour.
    pub colour: Colour,
    /// How thick it is.
    pub width: f64,
    /// Lengths that are drawn and left out by turns; empty: all of it is drawn.
    pub dashes: &'static [f64],
    /// Whether it ends in an arrow's head.
    pub head: bool,
}

/// How a line goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Somewhere else, without drawing.
    Move(Point),
    /// Straight to a point.
    Line(Point),
    /// A cubic curve: two control points and its end.
    Curve(Point, Point, Point),
}

impl Step {
    /// Returns where the step ends.
    #[must_use]
    pub fn end(self) -> Point {
        match self {
            Self::Move(end) | Self::Line(end) | Self::Curve(_, _, end) => end,
        }
    }
}

/// A box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Its upper left corner.
    pub at: Point,
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// The radius of its corners.
    pub corner: f64,
    /// What it is filled with; none: what lies below is seen.
    pub fill: Option<Colour>,
    /// The colour of its border; none: it has none.
    pub border: Option<Colour>,
}

/// A line of letters.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// A point on the line that the letters stand on.
    pub at: Point,
    /// Which part of the text is there.
    pub anchor: Anchor,
    /// The letters.
    pub text: String,
    /// Their size.
    pub size: f64,
}

/// Which part of a text is at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// Paper.
    pub const WHITE: Self = Self(255, 255, 255);
    /// Letters.
    pub const INK: Self = Self(17, 17, 17);

    /// Returns the colour mixed with white: the smaller the share, the paler.
    #[must_use]
    pub fn faded(self, share: f64) -> Self {
        let mix = |part: u8| {
            let mixed = 255.0 - share.clamp(0.0, 1.0) * (255.0 - f64::from(part));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and 255"
            )]
            {
                mixed.round() as u8
            }
        };
        Self(mix(self.0), mix(self.1), mix(self.2))
    }
}

/// An arrow's head: its tip lies a little behind the end of the line, so that it touches the box.
struct Head;

impl Head {
    const LENGTH: f64 = 9.0;
    const HALF_WIDTH: f64 = 3.6;
    const BEYOND: f64 = 0.9;

    /// Returns tip and corners of the head of a line that ends at a point, coming from another one.
    fn corners((x0, y0): Point, (x, y): Point) -> [Point; 3] {
        let (dx, dy) = (x - x0, y - y0);
        let length = dx.hypot(dy);
        let (dx, dy) = match length > 0.0 {
            true => (dx / length, dy / length),
            false => (0.0, 1.0),
        };
        let along =
            |ahead: f64, aside: f64| (x + dx * ahead - dy * aside, y + dy * ahead + dx * aside);
        let back = Self::BEYOND - Self::LENGTH;
        [
            along(Self::BEYOND, 0.0),
            along(back, Self::HALF_WIDTH),
            along(back, -Self::HALF_WIDTH),
        ]
    }
}

impl Line {
    /// Returns where the line ends and the point that it comes from there.
    fn last_direction(&self) -> Option<(Point, Point)> {
        let last = *self.steps.last()?;
        let before = self
            .steps
            .iter()
            .rev()
            .nth(1)
            .map_or(self.start, |step| step.end());
        match last {
            Step::Move(_) => None,
            Step::Line(end) => Some((before, end)),
            Step::Curve(_, control, end) if control != end => Some((control, end)),
            Step::Curve(control, _, end) => Some((control, end)),
        }
    }
}

#[cfg(test)]
mod tests;
