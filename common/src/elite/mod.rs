//! What chains share: rows, the pool that merges them, and what a stalled chain gets from it.

mod pool;
mod reseed;
mod row;

pub use pool::{Found, Keying, Pool};
pub use reseed::{reseed, reseed_lost};
pub use row::{EliteRow, Structure};

/// Returns a row over nine variables with one edge, from the first.
#[cfg(test)]
pub(crate) fn test_row(to: usize, score: f64) -> EliteRow {
    let edge = (crate::ids::NodeIdx::new(0), crate::ids::NodeIdx::new(to));
    EliteRow {
        structure: Structure::from_edges(9, [edge]).unwrap(),
        score: crate::score::LogScore::new(score),
    }
}
