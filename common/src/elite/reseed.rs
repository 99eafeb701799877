//! What a stalled chain gets from the pool: theta-transfer across chains and machines. All draws
//! come from the search's seed; the chain itself makes something new of the rows.

use super::pool::Pool;
use crate::ids::{ChainId, Seed};
use crate::search::{Random, Seeds};

/// Chooses rows for a chain: the pool's best to start from, and another member to recombine with,
/// drawn among all rows so that far ones come as often as near ones. None while the pool is empty.
///
/// `draw` is mixed from the search's seed, the chain and how often it was reseeded, never from a
/// worker or the time.
#[must_use]
pub fn reseed(pool: &Pool, chain: ChainId, draw: Seed) -> Option<Seeds> {
    let rows = pool.rows();
    let best = *rows.first()?;
    let mut random = Random::new(draw.mix(u64::from(chain.0)));
    let mate = rows[random.below(rows.len())];
    Some(Seeds {
        rows: vec![best.clone(), mate.clone()],
        draw: Seed(random.bits()),
    })
}
