//! The support of all pairs, with what is needed to read it.

use super::pair::PairSupport;
use super::tally::Tally;
use super::threshold::inclusion_threshold;
use crate::graph::{Cpdag, Dag, Joined};
use crate::ids::NodeIdx;

/// The support of every pair of variables that some network joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportTable {
    names: Vec<String>,
    tally: Tally,
    best: Option<Dag>,
    required: Dag,
}

impl SupportTable {
    /// Puts counts and the variables' names together.
    #[must_use]
    pub fn new(names: Vec<String>, tally: Tally) -> Self {
        debug_assert_eq!(names.len(), tally.nodes(), "one name for each node");
        let required = Dag::empty(names.len());
        Self {
            names,
            tally,
            best: None,
            required,
        }
    }

    /// Counts classes of networks over the same variables.
    #[must_use]
    pub fn of<'a>(names: Vec<String>, classes: impl IntoIterator<Item = &'a Cpdag>) -> Self {
        let mut tally = Tally::new(names.len());
        for class in classes {
            tally.add(class);
        }
        Self::new(names, tally)
    }

    /// Marks the edges of the best network on the full table.
    #[must_use]
    pub fn with_best(mut self, best: Option<Dag>) -> Self {
        self.best = best;
        self
    }

    /// Marks the edges that every network has because they are required.
    #[must_use]
    pub fn with_required(mut self, required: &Dag) -> Self {
        self.required = required.clone();
        self
    }

    /// Returns the edges that every network has because they are required.
    #[must_use]
    pub fn required(&self) -> &Dag {
        &self.required
    }

    /// Returns the names of the variables.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns a variable's name.
    #[must_use]
    pub fn name(&self, node: NodeIdx) -> &str {
        &self.names[node.index()]
    }

    /// Returns the counts.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the best network on the full table, if one was given.
    #[must_use]
    pub fn best(&self) -> Option<&Dag> {
        self.best.as_ref()
    }

    /// Returns the pairs that some network joins, the most supported first, then in the order of
    /// the variables.
    #[must_use]
    pub fn pairs(&self) -> Vec<PairSupport> {
        let mut pairs: Vec<PairSupport> = self
            .tally
            .pairs()
            .map(|((from, to), _)| self.pair(from, to))
            .collect();
        pairs.sort_by_key(|pair| {
            let count = std::cmp::Reverse(pair.marks.joined());
            (count, pair.from, pair.to)
        });
        pairs
    }

    /// Returns the support of a pair, as seen from its first variable.
    #[must_use]
    pub fn pair(&self, from: NodeIdx, to: NodeIdx) -> PairSupport {
        let pair = PairSupport {
            from: from.min(to),
            to: from.max(to),
            marks: self.tally.marks(from, to),
            networks: self.tally.networks(),
        };
        if from <= to { pair } else { pair.turned() }
    }

    /// Returns the pair as people read it: from the end that an arrow would start at, by the
    /// commoner direction, else as in the best network, else by name.
    #[must_use]
    pub fn read_forward(&self, pair: PairSupport) -> PairSupport {
        let turns = match pair.marks.forward.cmp(&pair.marks.backward) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => {
                let best = self.best.as_ref();
                best.is_some_and(|best| best.has_edge(pair.to, pair.from))
            }
        };
        if turns { pair.turned() } else { pair }
    }

    /// Returns whether the best network joins the two.
    #[must_use]
    pub fn is_in_best(&self, pair: &PairSupport) -> bool {
        let best = self.best.as_ref();
        best.is_some_and(|best| {
            best.has_edge(pair.from, pair.to) || best.has_edge(pair.to, pair.from)
        })
    }

    /// Returns whether an edge between the two is required, so that its support is 1 by
    /// construction.
    #[must_use]
    pub fn is_required(&self, pair: &PairSupport) -> bool {
        self.required.has_edge(pair.from, pair.to) || self.required.has_edge(pair.to, pair.from)
    }

    /// Returns what is written beside an edge: its support with two digits, and whether that is 1 by
    /// construction.
    #[must_use]
    pub fn label(&self, pair: &PairSupport) -> String {
        let required = match self.is_required(pair) {
            true => " required",
            false => "",
        };
        format!("{:.2}{required}", pair.strength())
    }

    /// Returns the threshold of bnlearn's `inclusion.threshold`, over all pairs but those with a
    /// required edge.
    #[must_use]
    pub fn l1_threshold(&self) -> f64 {
        let nodes = self.names.len();
        let all = nodes * nodes.saturating_sub(1) / 2;
        let pairs = self.pairs();
        let absent = all.saturating_sub(pairs.len());
        let free = pairs.iter().filter(|pair| !self.is_required(pair));
        inclusion_threshold(free.map(PairSupport::strength), absent)
    }

    /// Returns the consensus: the pairs whose commonest mark is an edge, seen from where an arrow
    /// starts. It is for reading: not every consensus is the class of a network.
    #[must_use]
    pub fn consensus(&self) -> Vec<(PairSupport, Joined)> {
        let pairs = self.pairs().into_iter().map(|pair| self.read_forward(pair));
        pairs
            .map(|pair| (pair, pair.commonest()))
            .filter(|(_, mark)| *mark != Joined::No)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(edges: &[(usize, usize)]) -> Cpdag {
        Cpdag::of(&dag(edges))
    }

    fn dag(edges: &[(usize, usize)]) -> Dag {
        let edges = edges
            .iter()
            .map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
        Dag::from_edges(4, edges).unwrap()
    }

    fn names() -> Vec<String> {
        ["a", "b", "c", "d"].map(str::to_owned).to_vec()
    }

    #[test]
    fn pairs_come_by_support_and_then_by_name() {
        let classes = [
            class(&[(0, 2), (1, 2)]),
            class(&[(0, 2), (1, 2), (2, 3)]),
            class(&[(2, 3)]),
        ];
        let table = SupportTable::of(names(), &classes).with_best(Some(dag(&[(3, 2)])));
        let pairs: Vec<(usize, usize, u32)> = table
            .pairs()
            .iter()
            .map(|pair| (pair.from.index(), pair.to.index(), pair.marks.joined()))
            .collect();
        assert_eq!(pairs, [(0, 2, 2), (1, 2, 2), (2, 3, 2)]);
        let consensus: Vec<(usize, usize, Joined)> = table
            .consensus()
            .iter()
            .map(|(pair, mark)| (pair.from.index(), pair.to.index(), *mark))
            .collect();
        // 2 - 3 is directed once, undirected once, absent once.
        assert_eq!(
            consensus,
            [(0, 2, Joined::Forward), (1, 2, Joined::Forward)]
        );
        assert!(table.is_in_best(&table.pair(NodeIdx::new(2), NodeIdx::new(3))));
    }

    #[test]
    fn required_edges_stay_out_of_the_threshold() {
        let classes = vec![class(&[(0, 1), (2, 3)]); 4];
        let table = SupportTable::of(names(), &classes);
        // R's search ends just above the share of absent pairs.
        assert!((table.l1_threshold() - 1.0).abs() < 1e-12);
        // With both edges required no free pair has any support.
        let marked = table.with_required(&dag(&[(0, 1), (2, 3)]));
        assert!(marked.is_required(&marked.pair(NodeIdx::new(1), NodeIdx::new(0))));
        assert!(marked.l1_threshold().abs() < 1e-12);
    }
}
