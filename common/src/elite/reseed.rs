//! What a chain that asks for rows of others gets from the pool: theta-transfer across chains and
//! machines. All draws come from the search's seed; the chain itself makes something new of the rows.

use super::pool::Pool;
use super::row::EliteRow;
use crate::ids::{ChainId, Seed};
use crate::search::{Random, Seeds};

/// Chooses rows for a chain that runs: the pool's best, unless it is the chain's own, and a
/// mate. The mate is drawn among what each of the other chains found best and stalled on, not among
/// the best rows over all: those are mostly near copies of one another, and a mate that differs is
/// what brings something new. None while no other chain has found anything: a chain's own rows are
/// in its table.
///
/// `draw` is mixed from the search's seed, the chain and how often it was reseeded, never from a
/// worker or the time.
#[must_use]
pub fn reseed(pool: &Pool, chain: ChainId, draw: Seed) -> Option<Seeds> {
    let best = pool
        .best()
        .filter(|&best| pool.best_of(chain) != Some(best));
    let mut random = random(chain, draw);
    let mate = *random.pick(&rows_of_others(pool, chain))?;
    Some(Seeds {
        best: best.cloned(),
        mate: mate.clone(),
    })
}

/// Chooses rows for a chain whose state was lost and that begins anew: the pool's best and a mate,
/// which are its own where no other chain has found anything. None while the pool is empty.
#[must_use]
pub fn reseed_lost(pool: &Pool, chain: ChainId, draw: Seed) -> Option<Seeds> {
    let best = pool.best()?;
    let mut random = random(chain, draw);
    let of_others = rows_of_others(pool, chain);
    let mates = if of_others.is_empty() {
        pool.rows()
    } else {
        of_others
    };
    let mate = *random.pick(&mates)?;
    Some(Seeds {
        best: Some(best.clone()),
        mate: mate.clone(),
    })
}

fn random(chain: ChainId, draw: Seed) -> Random {
    Random::new(draw.mix(u64::from(chain.0)))
}

fn rows_of_others(pool: &Pool, chain: ChainId) -> Vec<&EliteRow> {
    pool.rows_by_chain()
        .filter(|(finder, _, _)| *finder != chain)
        .map(|(_, _, row)| row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elite::test_row as row;
    use crate::elite::{Found, Keying};

    #[test]
    fn a_chain_gets_rows_of_others_and_a_lonely_one_none() {
        let mut pool = Pool::new(Keying::ByClass);
        pool.merge(ChainId(0), Found::Best, &row(1, -5.0));
        assert_eq!(reseed(&pool, ChainId(0), Seed(1)), None);
        let lost = reseed_lost(&pool, ChainId(0), Seed(1)).unwrap();
        let all_that_is_left = Seeds {
            best: Some(row(1, -5.0)),
            mate: row(1, -5.0),
        };
        assert_eq!(lost, all_that_is_left);
        pool.merge(ChainId(1), Found::Best, &row(2, -7.0));
        pool.merge(ChainId(2), Found::Best, &row(3, -9.0));
        let mut mates = [0; 2];
        for draw in 0..100 {
            let to_best = reseed(&pool, ChainId(0), Seed(draw)).unwrap();
            assert_eq!(to_best.best, None, "its own row came back");
            mates[usize::from(to_best.mate == row(3, -9.0))] += 1;
            let to_another = reseed(&pool, ChainId(1), Seed(draw)).unwrap();
            assert_eq!(to_another.best, Some(row(1, -5.0)));
            assert_ne!(to_another.mate, row(2, -7.0));
        }
        assert!(mates.iter().all(|&count| count > 20), "{mates:?}");
    }
}
