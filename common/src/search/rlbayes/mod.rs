//! RLBayes, the default search: the paper's parts (rows, benefits, explore or exploit, a bounded
//! table, theta-transfer) arranged in episodes and runs.
//!
//! An episode is: a walk inside the equivalence class, a short burst of exploration, exploitation
//! (the climb, best benefit first), and acceptance by the chain's temperature. A run is many
//! episodes: it drops a region of the row that the Q-table has the chain explore, keeps its bursts
//! to that region and to what it changes, and ends when its best optimum has not improved for a
//! while. Its return is then credited to the row, group of families by group of families (see
//! `q_table`), and the next run starts from there.
//!
//! Chains meet often: a child of a chain's row and another's is taken where it is better than both,
//! which brings something new. Every other chain makes its first run alone: chains that meet from
//! the start climb the same hill. A chain whose row has not improved for long transfers: it takes
//! over whatever another's row has that is better; where that is nothing, or where there is no other
//! chain, it goes to the best or to another row of its own table.

mod chain;
mod explore;
mod params;
mod q_table;
mod recombine;
mod regions;

pub use chain::RlBayes;
pub use explore::{BurstKind, Explorer, walk_in_class};
pub use params::{ChainRank, Learning, RlBayesParams};
pub use recombine::recombine;
pub use regions::RegionChain;
