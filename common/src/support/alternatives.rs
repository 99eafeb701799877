//! Edges that stand in for each other: where two networks score alike, half of the replicates have
//! the one edge and half the other, and a threshold of 0.5 may drop both.

use super::pair::PairSupport;
use crate::graph::{Cpdag, Joined};

/// Two edges of which nearly every replicate has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The edge with more support.
    pub one: PairSupport,
    /// The other; they share a variable.
    pub other: PairSupport,
    /// In how many networks both are.
    pub both: u32,
    /// In how many networks exactly one of them is.
    pub either: u32,
}

/// Strengths between which edges can be alternatives of each other.
const BETWEEN: std::ops::RangeInclusive<f64> = 0.25..=0.75;
/// The least share of networks with exactly one of two alternatives.
const EITHER: f64 = 0.9;
/// The most pairs that are compared with each other; those nearest to 0.5 go first.
pub const MOST_COMPARED: usize = 1000;

/// Finds alternatives among pairs, given the classes that were counted.
#[must_use]
pub fn alternatives<'a>(
    pairs: impl IntoIterator<Item = PairSupport>,
    classes: impl IntoIterator<Item = &'a Cpdag>,
) -> Vec<Alternative> {
    let mut open: Vec<PairSupport> = pairs
        .into_iter()
        .filter(|pair| BETWEEN.contains(&pair.strength()))
        .collect();
    let distance = |pair: &PairSupport| (2 * pair.marks.joined()).abs_diff(pair.networks);
    open.sort_by_key(|pair| (distance(pair), pair.from, pair.to));
    open.truncate(MOST_COMPARED);
    let mut present: Vec<Vec<bool>> = vec![Vec::new(); open.len()];
    for class in classes {
        for (pair, present) in open.iter().zip(&mut present) {
            present.push(class.joined(pair.from, pair.to) != Joined::No);
        }
    }
    let mut found = Vec::new();
    for (at, one) in open.iter().enumerate() {
        for (next, other) in open.iter().enumerate().skip(at + 1) {
            let ends = [one.from, one.to];
            if !ends.contains(&other.from) && !ends.contains(&other.to) {
                continue;
            }
            let together = present[at].iter().zip(&present[next]);
            let (mut both, mut either) = (0u32, 0u32);
            for (&a, &b) in together {
                both += u32::from(a && b);
                either += u32::from(a != b);
            }
            if one.share(either) >= EITHER {
                let (one, other) = match one.marks.joined() >= other.marks.joined() {
                    true => (*one, *other),
                    false => (*other, *one),
                };
                found.push(Alternative {
                    one,
                    other,
                    both,
                    either,
                });
            }
        }
    }
    found.sort_by_key(|found| {
        let place = |pair: &PairSupport| (pair.from, pair.to);
        (
            std::cmp::Reverse(found.either),
            place(&found.one),
            place(&found.other),
        )
    });
    found
}

#[cfg(test)]
mod tests {
    use super::super::SupportTable;
    use super::*;
    use crate::graph::Dag;
    use crate::ids::NodeIdx;

    #[test]
    fn edges_of_which_each_network_has_one_are_named() {
        let class = |edges: &[(usize, usize)]| {
            let edges = edges
                .iter()
                .map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
            Cpdag::of(&Dag::from_edges(5, edges).unwrap())
        };
        // 0 - 1 or 0 - 2, never both; 3 - 4 comes and goes by itself.
        let classes: Vec<Cpdag> = (0..20)
            .map(|at| match at % 4 {
                0 => class(&[(0, 1), (1, 2), (3, 4)]),
                1 => class(&[(0, 2), (1, 2), (3, 4)]),
                2 => class(&[(0, 1), (1, 2)]),
                _ => class(&[(0, 2), (1, 2)]),
            })
            .collect();
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let table = SupportTable::of(names, &classes);
        let found = alternatives(table.pairs(), &classes);
        assert_eq!(found.len(), 1, "{found:?}");
        let pair = |pair: &PairSupport| (pair.from.index(), pair.to.index());
        assert_eq!(
            (pair(&found[0].one), pair(&found[0].other)),
            ((0, 1), (0, 2))
        );
        assert_eq!((found[0].both, found[0].either), (0, 20));
    }
}
