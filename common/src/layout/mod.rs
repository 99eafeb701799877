//! Where the boxes and lines of a picture go: a layered drawing (Sugiyama, Tagawa and Toda 1981) in
//! whole pixels, the same on every machine.
//!
//! `components` splits the graph and packs the parts on a page; `ranks` chooses layers, `layers` adds
//! the points where long edges pass one, `crossings` orders each layer. `coordinates` moves its points
//! beside each other such that long edges are straight, `relaxed` such that edges are short; `routes`
//! draws the edges. Boxes stand in bands, one per layer. A line goes straight through a band where no
//! box is, and bends between two bands only: it never runs behind a box. Graphs that are too dense for
//! layers are drawn by `columns`.

mod columns;
mod components;
mod coordinates;
mod crossings;
mod labels;
mod layers;
mod ranks;
mod relaxed;
mod routes;

pub use components::place;
pub use labels::{FONT_SIZE, LINE_HEIGHT, Label, labels, text_width};
pub use routes::{Piece, Route};

/// A width and a height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: i32,
    /// From top to bottom.
    pub height: i32,
}

/// A node's box, by its upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its left side.
    pub x: i32,
    /// Its upper side.
    pub y: i32,
    /// How wide it is.
    pub width: i32,
    /// How high it is.
    pub height: i32,
}

/// Boxes of the nodes, routes of the edges, and the size of it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// In the order of the nodes.
    pub boxes: Vec<Place>,
    /// In the order of the edges.
    pub routes: Vec<Route>,
    /// Everything lies between 0 and this.
    pub size: Size,
}

/// Counts as lengths: a picture has far fewer than two billion of anything.
fn length(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / 4)
}

#[cfg(test)]
mod tests;
