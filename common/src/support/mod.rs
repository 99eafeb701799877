//! How far each edge can be trusted: the same search on resampled tables (a bootstrap), counted
//! pair by pair.
//!
//! A *replicate* is a table resampled from the one at hand and the best network that was found on
//! it. Of each replicate the equivalence class is counted, never the network itself: a reversible
//! edge points one way or the other by accident. For each pair of variables there are four shares,
//! `->`, `<-`, `--` and none; *support*, or strength, is the share of replicates with an edge
//! between the two. It is stability under resampling, not the probability that an edge is real.

mod alternatives;
mod pair;
mod resample;
mod support_table;
mod tally;
mod threshold;

pub use alternatives::{Alternative, MOST_COMPARED, alternatives};
pub use pair::PairSupport;
pub use resample::{Draw, ReplicateSeeds, Resampling};
pub use support_table::SupportTable;
pub use tally::{Marks, Tally};
pub use threshold::inclusion_threshold;
