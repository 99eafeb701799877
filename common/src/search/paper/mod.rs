//! RLBayes as the paper prints it, exact and reproducible: a walk over networks, each a row of a
//! Q-table whose cells are benefits of operations. Sparse rows: only tried cells are stored.
//!
//! What the paper leaves open is settled in the options of [`PaperParams`] and explained beside the
//! code that does it.

mod params;
mod row;
mod table;
mod walk;

pub use params::{Evict, Explore, PaperParams};
pub use walk::PaperWalk;
