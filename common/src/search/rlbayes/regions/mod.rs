//! The default search on networks of many nodes, where an episode on the whole would cost too much.
//!
//! After one climb over candidates (`sparse_position`), nodes that belong together are found in the
//! network so far (`grow`), and each such region is searched for itself by the same search that small
//! networks get, with the rest of the network fixed around it (`region`). What regions gain adds up.
//! Regions are found anew all the time, so they change as the network does.

mod chain;
mod grow;
mod region;
mod sparse_position;

pub use chain::RegionChain;
