//! What a chain that asks for rows of others gets from the pool: theta-transfer across chains and machines. All draws
//! come from the search's seed; the chain itself makes something new of the rows.

use super::pool::Pool;
use super::row::EliteRow;
use crate::ids::{ChainId, Seed};
use crate::search::{Random, Seeds};

/// Chooses rows for a chain: the pool's best, unless it is the chain's own, and last a mate. The mate
/// is drawn among what each of the other chains found best and stalled on, not among the best rows
/// over all: those are mostly near copies of one another, and a mate that differs is what brings
/// something new. None while no other chain has found anything: a chain's own rows are in its table.
///
/// `draw` is mixed from the search's seed, the chain and how often it was reseeded, never from a
/// worker or the time.
#[must_use]
pub fn reseed(pool: &Pool, chain: ChainId, draw: Seed) -> Option<Seeds> {
    let best = pool.best()?;
    let mut random = Random::new(draw.mix(u64::from(chain.0)));
    let of_others: Vec<&EliteRow> = pool
        .rows_by_chain()
        .filter(|(finder, _, _)| *finder != chain)
        .map(|(_, _, row)| row)
        .collect();
    let mate = *random.pick(&of_others)?;
    let best = (pool.best_of(chain) != Some(best)).then_some(best);
    Some(Seeds {
        rows: best.into_iter().chain([mate]).cloned().collect(),
        draw: Seed(random.bits()),
    })
}
