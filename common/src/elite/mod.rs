//! What chains share: rows, the pool that merges them, and what a stalled chain gets from it.

mod pool;
mod reseed;
mod row;

pub use pool::{Found, Keying, Pool};
pub use reseed::{reseed, reseed_lost};
pub use row::{EliteRow, Structure};
