//! Which rows a replicate consists of: a function of (seed, number of the replicate) alone, simple
//! enough to be repeated elsewhere (`tests/support/twin.py` does).
//!
//! With `mix` as in [`Seed::mix`], and the generator of [`Random`]:
//!
//! 1. s = mix(mix(seed, 0x626F6F74), r), where r counts from 0;
//! 2. the generator of the rows starts from mix(s, 0), the search from mix(s, 1);
//! 3. with replacement, each row is `below(N)`; without, rows 0..N are shuffled from the front:
//!    at place i, the rows at i and i + `below(N - i)` change places, and the first are taken.

use crate::data::Table;
use crate::ids::{NodeIdx, Seed};
use crate::random::Random;
use std::sync::Arc;

/// "boot" in ASCII: keeps the seeds of replicates apart from those of chains.
const STREAM: u64 = 0x626F_6F74;

/// How rows are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// A row may be drawn several times: the usual bootstrap.
    #[default]
    WithReplacement,
    /// Each row is drawn once at most.
    WithoutReplacement,
}

/// How a table is resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampling {
    /// How many rows a replicate has.
    pub rows: usize,
    /// How they are drawn.
    pub draw: Draw,
}

/// What the random choices of one replicate come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicateSeeds {
    /// Where its rows come from.
    pub rows: Seed,
    /// Where its search comes from: each has its own, or all would break exact ties alike.
    pub search: Seed,
}

impl ReplicateSeeds {
    /// Returns the seeds of a replicate.
    #[must_use]
    pub fn of(seed: Seed, replicate: u32) -> Self {
        let own = seed.mix(STREAM).mix(u64::from(replicate));
        Self {
            rows: own.mix(0),
            search: own.mix(1),
        }
    }
}

impl Resampling {
    /// Draws row numbers out of `of` rows; without replacement there are at most so many.
    ///
    /// # Panics
    /// If `of` is 0.
    #[must_use]
    pub fn draw(&self, of: usize, seed: Seed) -> Vec<usize> {
        let mut random = Random::new(seed);
        match self.draw {
            Draw::WithReplacement => (0..self.rows).map(|_| random.below(of)).collect(),
            Draw::WithoutReplacement => {
                let mut rows: Vec<usize> = (0..of).collect();
                let taken = self.rows.min(of);
                for at in 0..taken {
                    rows.swap(at, at + random.below(of - at));
                }
                rows.truncate(taken);
                rows
            }
        }
    }

    /// Makes the resampled table. Its variables have the states of the full table, whether or not
    /// they occur: penalties depend on them.
    #[must_use]
    pub fn table(&self, full: &Table, seed: Seed) -> Table {
        let rows = self.draw(full.rows(), seed);
        let columns = NodeIdx::all(full.nodes())
            .map(|node| {
                let column = full.column(node);
                rows.iter().map(|&row| column[row]).collect()
            })
            .collect();
        #[expect(
            clippy::expect_used,
            reason = "rows of a table, as many as it has at most"
        )]
        Table::new(Arc::clone(full.schema()), columns).expect("rows of a table make a table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Schema, Variable};
    use std::collections::BTreeSet;

    fn numbered(rows: u8) -> Table {
        let states = (0..rows).map(|state| format!("{state:03}")).collect();
        let variable = Variable::new("row", states).unwrap();
        let schema = Schema::new(vec![variable]).unwrap();
        Table::new(schema, vec![(0..rows).collect()]).unwrap()
    }

    #[test]
    fn rows_depend_on_seed_and_number_alone_and_are_those_of_the_twin() {
        let usual = Resampling {
            rows: 8,
            draw: Draw::WithReplacement,
        };
        let rows = |seed, replicate| {
            let seeds = ReplicateSeeds::of(Seed(seed), replicate);
            assert_ne!(seeds.rows, seeds.search);
            usual.draw(10, seeds.rows)
        };
        assert_eq!(rows(1, 0), rows(1, 0));
        // `tests/support/twin.py rows 1 0 8 10` prints these.
        assert_eq!(rows(1, 0), [7, 0, 9, 0, 5, 8, 3, 2]);
        assert_eq!(rows(7, 41), [8, 5, 2, 4, 6, 6, 6, 1]);
        let without = Resampling {
            draw: Draw::WithoutReplacement,
            ..usual
        };
        let seeds = ReplicateSeeds::of(Seed(1), 0);
        assert_eq!(without.draw(10, seeds.rows), [7, 1, 9, 3, 0, 2, 4, 6]);
    }

    #[test]
    fn without_replacement_no_row_comes_twice() {
        let full = numbered(40);
        let half = Resampling {
            rows: 20,
            draw: Draw::WithoutReplacement,
        };
        let mut seen = BTreeSet::new();
        for seed in 0..50 {
            let rows = half.draw(40, Seed(seed));
            let distinct: BTreeSet<usize> = rows.iter().copied().collect();
            assert_eq!((rows.len(), distinct.len()), (20, 20));
            seen.extend(distinct);
            assert_eq!(half.table(&full, Seed(seed)).rows(), 20);
        }
        assert_eq!(seen.len(), 40, "every row has its chance");
        let more = Resampling { rows: 99, ..half };
        assert_eq!(more.draw(40, Seed(1)).len(), 40);
    }

    #[test]
    fn a_resampled_table_has_the_states_of_the_full_one() {
        let full = numbered(30);
        let usual = Resampling {
            rows: 30,
            draw: Draw::WithReplacement,
        };
        let replicate = usual.table(&full, Seed(5));
        let column = replicate.column(NodeIdx::new(0));
        let present: BTreeSet<&u8> = column.iter().collect();
        assert!(present.len() < 30, "some state is missing: {present:?}");
        assert_eq!(replicate.arity(NodeIdx::new(0)), 30);
    }
}
