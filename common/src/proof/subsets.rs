//! The best network of a table with few variables, by dynamic programming over all sets of them
//! (Silander and Myllymaki 2006): every parent set is scored, nothing is pruned.
//!
//! All terms of a score are sums over the counts of a set of variables, so each set is counted once:
//! a family's score is the sum of (child and parents) minus that of the parents minus the penalty.

use crate::data::Table;
use crate::ids::NodeIdx;
use crate::score::{FamilyTerms, TermTables};
use crate::search::Constraints;

/// The most variables: there are 2^n sets.
const MOST_VARIABLES: usize = 20;

/// The score of what is not allowed; sums of a few stay far from overflow.
const IMPOSSIBLE: i64 = i64::MIN / 64;

/// A best network, by variable: its parents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BestOfAll {
    /// Its score in units.
    pub units: i64,
    /// The parents of each variable.
    pub parents: Vec<Vec<NodeIdx>>,
    /// How many families were scored.
    pub families: u64,
}

/// Returns how many rows are looked at in all, about; if it can be done at all.
pub(super) fn work_for(table: &Table) -> Option<u64> {
    bytes_for(table)?;
    let mut sizes: Vec<u64> = NodeIdx::all(table.nodes())
        .map(|node| table.arity(node) as u64)
        .collect();
    sizes.sort_unstable();
    // A set of k variables has at most as many different rows as the k smallest allow, or fewer.
    let (mut work, mut sets, mut most) = (0_u64, 1_u64, 1_u64);
    for (k, size) in (0_u64..).zip(&sizes) {
        work = work.saturating_add(sets.saturating_mul(most.min(table.rows() as u64)));
        sets = sets * (sizes.len() as u64 - k) / (k + 1);
        most = most.saturating_mul(*size);
    }
    Some(work)
}

/// Returns how many bytes it takes, if it can be done at all.
pub(super) fn bytes_for(table: &Table) -> Option<usize> {
    let nodes = table.nodes();
    let bits: u32 = NodeIdx::all(nodes)
        .map(|node| state_bits(table, node))
        .sum();
    (nodes <= MOST_VARIABLES && bits <= 64)
        .then(|| (nodes + 3) * (8 << nodes) + 2 * nodes * table.rows() * 16)
}

/// Finds the best network; `None` if there are too many variables or `go_on` says no.
pub(super) fn best_of_all(
    table: &Table,
    terms: &FamilyTerms,
    constraints: &Constraints,
    go_on: &dyn Fn() -> bool,
) -> Option<BestOfAll> {
    bytes_for(table)?;
    let nodes = table.nodes();
    let sums = SetSums::new(table, terms, go_on)?;
    let mut best_parents: Vec<Vec<i64>> = Vec::with_capacity(nodes);
    let mut families = 0;
    for child in NodeIdx::all(nodes) {
        if !go_on() {
            return None;
        }
        let mut best = vec![IMPOSSIBLE; 1 << nodes];
        for set in (0..1_usize << nodes).filter(|set| set >> child.index() & 1 == 0) {
            let mut most = IMPOSSIBLE;
            if is_allowed(constraints, child, set) {
                most = sums.family(table, terms, child, set);
                families += 1;
            }
            for member in ones(set) {
                most = most.max(best[set & !(1 << member)]);
            }
            best[set] = most;
        }
        best_parents.push(best);
    }
    // best_order[set]: the best network over a set of variables that comes before all others.
    let mut best_order = vec![IMPOSSIBLE; 1 << nodes];
    best_order[0] = 0;
    for set in 1..1_usize << nodes {
        let last = |member: usize| {
            let before = set & !(1 << member);
            (best_order[before] + best_parents[member][before]).max(IMPOSSIBLE)
        };
        best_order[set] = ones(set).map(last).max().unwrap_or(IMPOSSIBLE);
    }
    let units = best_order[(1 << nodes) - 1];
    if units <= IMPOSSIBLE / 2 {
        return None;
    }
    let mut parents = vec![Vec::new(); nodes];
    let mut left = (1 << nodes) - 1;
    while left != 0 {
        let last = ones(left).find(|&member| {
            let before = left & !(1 << member);
            best_order[before] + best_parents[member][before] == best_order[left]
        })?;
        left &= !(1 << last);
        // Down to the smallest set that still has the score.
        let mut set = left;
        while let Some(member) =
            ones(set).find(|&m| best_parents[last][set & !(1 << m)] == best_parents[last][set])
        {
            set &= !(1 << member);
        }
        parents[last] = ones(set).map(NodeIdx::new).collect();
    }
    Some(BestOfAll {
        units,
        parents,
        families,
    })
}

fn is_allowed(constraints: &Constraints, child: NodeIdx, set: usize) -> bool {
    let required = constraints.required().parents(child);
    set.count_ones() as usize <= constraints.max_parents()
        && ones(set).all(|parent| constraints.is_allowed(NodeIdx::new(parent), child))
        && required.iter().all(|parent| set >> parent.index() & 1 == 1)
}

fn ones(set: usize) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let member = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(member)
    })
}

fn state_bits(table: &Table, node: NodeIdx) -> u32 {
    usize::BITS - (table.arity(node) - 1).leading_zeros()
}

/// Sums of terms over the counts of every set of variables.
struct SetSums {
    cells: Vec<i64>,
    /// The same as configurations of a child, by its number of states; one for all where that does
    /// not matter.
    configurations: Vec<Vec<i64>>,
    which: Vec<usize>,
}

impl SetSums {
    fn new(table: &Table, terms: &FamilyTerms, go_on: &dyn Fn() -> bool) -> Option<Self> {
        let nodes = table.nodes();
        let mut arities: Vec<usize> = NodeIdx::all(nodes).map(|node| table.arity(node)).collect();
        let which = match terms.is_k2() {
            true => {
                let by_node = arities.clone();
                arities.sort_unstable();
                arities.dedup();
                let place = |arity: &usize| arities.binary_search(arity).unwrap_or(0);
                by_node.iter().map(place).collect()
            }
            false => {
                arities.truncate(1);
                vec![0; nodes]
            }
        };
        let mut sums = Self {
            cells: vec![0; 1 << nodes],
            configurations: vec![vec![0; 1 << nodes]; arities.len()],
            which,
        };
        let mut shift = 0;
        let mut masks = Vec::new();
        let mut rows = vec![(0_u64, 1_u32); table.rows()];
        for node in NodeIdx::all(nodes) {
            let bits = state_bits(table, node);
            masks.push(if bits == 0 {
                0
            } else {
                (u64::MAX >> (64 - bits)) << shift
            });
            for (row, &state) in rows.iter_mut().zip(table.column(node)) {
                row.0 |= u64::from(state) << shift;
            }
            shift += bits;
        }
        merge(&mut rows);
        let fixed = match terms.depend_on_size() {
            true => Vec::new(),
            false => arities
                .iter()
                .map(|&arity| terms.tables_of_set(arity, 1.0))
                .collect(),
        };
        let walk = Walk {
            table,
            terms,
            fixed,
            arities,
            masks,
            go_on,
        };
        walk.visit((1 << nodes) - 1, nodes, &rows, &mut sums)
            .then_some(sums)
    }

    fn family(&self, table: &Table, terms: &FamilyTerms, child: NodeIdx, set: usize) -> i64 {
        let cells = self.cells[set | 1 << child.index()];
        let configurations = self.configurations[self.which[child.index()]][set];
        let penalty = terms.penalty_of(table.arity(child), size(table, set));
        (cells - configurations)
            .saturating_sub(penalty)
            .max(IMPOSSIBLE)
    }
}

/// How many configurations a set of variables has.
fn size(table: &Table, set: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "at most Variable::MAX_STATES")]
    let arities = ones(set).map(|member| table.arity(NodeIdx::new(member)) as f64);
    arities.product()
}

struct Walk<'a> {
    table: &'a Table,
    terms: &'a FamilyTerms,
    /// The terms by the child's states, where the size of a family does not matter.
    fixed: Vec<TermTables>,
    arities: Vec<usize>,
    masks: Vec<u64>,
    go_on: &'a dyn Fn() -> bool,
}

impl Walk<'_> {
    /// Sums the terms of a set and of all sets that lack further members below `below`.
    fn visit(&self, set: usize, below: usize, rows: &[(u64, u32)], sums: &mut SetSums) -> bool {
        if !(self.go_on)() {
            return false;
        }
        for (at, &arity) in self.arities.iter().enumerate() {
            let sized;
            let tables = match self.fixed.get(at) {
                Some(tables) => tables,
                None => {
                    sized = self.terms.tables_of_set(arity, size(self.table, set));
                    &sized
                }
            };
            let term = |terms: &[i64]| rows.iter().map(|&(_, count)| terms[count as usize]).sum();
            if at == 0 {
                sums.cells[set] = term(&tables.cell);
            }
            sums.configurations[at][set] = term(&tables.configuration);
        }
        let mut fewer = Vec::with_capacity(rows.len());
        for member in ones(set).take_while(|&member| member < below) {
            fewer.clear();
            fewer.extend(
                rows.iter()
                    .map(|&(key, count)| (key & !self.masks[member], count)),
            );
            merge(&mut fewer);
            if !self.visit(set & !(1 << member), member, &fewer, sums) {
                return false;
            }
        }
        true
    }
}

/// Joins equal rows.
fn merge(rows: &mut Vec<(u64, u32)>) {
    rows.sort_unstable();
    rows.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}
