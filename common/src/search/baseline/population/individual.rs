//! A member of a population: a network with the local score of each node, so that a child inherits
//! the scores of the families that it copies and only new families are asked for. Also the random
//! start of a population, and how members are stored.

use crate::elite::{EliteRow, Structure};
use crate::graph::{Dag, ReachScratch, edges_of};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use crate::search::UnfitState;
use crate::search::{Constraints, Evaluator, Fields, Operation, OutOfBudget, Random};
use std::sync::Arc;

/// A network and what is known of its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Individual {
    families: Vec<Arc<[NodeIdx]>>,
    /// By node: the local score, or [`UNKNOWN`].
    locals: Vec<f64>,
    /// The sum of the local scores in node order; impossible while one is unknown.
    score: LogScore,
}

/// Stands for a local score that was not asked for yet; no score is plus infinity.
pub(in crate::search::baseline) const UNKNOWN: f64 = f64::INFINITY;

impl Individual {
    /// Returns how many bytes one takes at most, with its share of the rest.
    pub(in crate::search::baseline) fn bytes_for(nodes: usize) -> usize {
        nodes * 96
    }

    /// Takes over a network of which no score is known.
    pub(in crate::search::baseline) fn of(dag: &Dag) -> Self {
        let families = NodeIdx::all(dag.nodes())
            .map(|node| dag.parents(node).into())
            .collect();
        Self::from_families(families, &[])
    }

    /// Takes over families, which must be in order and acyclic unless a repair follows, with the
    /// scores of those that a donor has as well.
    pub(in crate::search::baseline) fn from_families<'a>(
        mut families: Vec<Arc<[NodeIdx]>>,
        donors: impl IntoIterator<Item = &'a Self> + Clone,
    ) -> Self {
        let mut locals = vec![UNKNOWN; families.len()];
        for (node, (family, local)) in families.iter_mut().zip(&mut locals).enumerate() {
            let mut donors = donors.clone().into_iter();
            if let Some(donor) = donors.find(|donor| donor.families[node] == *family) {
                *family = Arc::clone(&donor.families[node]);
                *local = donor.locals[node];
            }
        }
        let mut individual = Self {
            families,
            locals,
            score: LogScore::IMPOSSIBLE,
        };
        individual.add_up();
        individual
    }

    /// Returns `start` after a random number of random legal operations, at most one per node: the
    /// start of a population.
    pub(in crate::search::baseline) fn scattered(
        start: &Self,
        constraints: &Constraints,
        random: &mut Random,
    ) -> Self {
        let times = 1 + random.below(start.nodes().max(1));
        start.after_operations(times, constraints, random)
    }

    /// Returns the network after some uniformly drawn legal operations: `mutate`, repeated.
    pub(in crate::search::baseline) fn after_operations(
        &self,
        times: usize,
        constraints: &Constraints,
        random: &mut Random,
    ) -> Self {
        let mut reach = ReachScratch::default();
        let mut dag = self.to_dag();
        for _ in 0..times {
            let Some(operation) = Operation::draw_legal(&dag, constraints, random, &mut reach)
            else {
                break;
            };
            operation.apply(&mut dag, &mut reach);
        }
        self.changed_to(&dag)
    }

    /// Returns the individual whose network is `dag`, with the scores of the unchanged families.
    pub(in crate::search::baseline) fn changed_to(&self, dag: &Dag) -> Self {
        let mut changed = self.clone();
        for node in NodeIdx::all(self.nodes()) {
            if *self.families[node.index()] != *dag.parents(node) {
                changed.set_family(node, dag.parents(node).into());
            }
        }
        changed
    }

    /// Gives a node new parents, whose score is not known.
    pub(in crate::search::baseline) fn set_family(
        &mut self,
        node: NodeIdx,
        parents: Arc<[NodeIdx]>,
    ) {
        self.families[node.index()] = parents;
        self.locals[node.index()] = UNKNOWN;
        self.score = LogScore::IMPOSSIBLE;
    }

    /// Copies the family of a node with its local score; the sum waits for
    /// [`Self::add_up`] or [`Self::ask`].
    pub(in crate::search::baseline) fn copy_family(&mut self, node: NodeIdx, donor: &Self) {
        self.families[node.index()] = Arc::clone(&donor.families[node.index()]);
        self.locals[node.index()] = donor.locals[node.index()];
        self.score = LogScore::IMPOSSIBLE;
    }

    /// Asks for the local scores that are not known, in node order.
    ///
    /// # Errors
    /// If the budget is used up; what was answered until then is kept.
    pub(in crate::search::baseline) fn ask(
        &mut self,
        evaluator: &mut Evaluator,
    ) -> Result<(), OutOfBudget> {
        for node in NodeIdx::all(self.nodes()) {
            if self.locals[node.index()] == UNKNOWN {
                let parents = &self.families[node.index()];
                self.locals[node.index()] = evaluator.local(node, parents)?;
            }
        }
        self.add_up();
        Ok(())
    }

    /// Returns whether all local scores are known.
    pub(in crate::search::baseline) fn is_scored(&self) -> bool {
        !self.locals.contains(&UNKNOWN)
    }

    /// Returns the score; impossible while a local score is unknown.
    pub(in crate::search::baseline) fn score(&self) -> LogScore {
        self.score
    }

    /// Returns a node's parents in order.
    pub(in crate::search::baseline) fn parents(&self, node: NodeIdx) -> &[NodeIdx] {
        &self.families[node.index()]
    }

    /// Returns the number of nodes.
    pub(in crate::search::baseline) fn nodes(&self) -> usize {
        self.families.len()
    }

    /// Returns whether the edge is there.
    pub(in crate::search::baseline) fn has_edge(&self, from: NodeIdx, to: NodeIdx) -> bool {
        self.parents(to).binary_search(&from).is_ok()
    }

    /// Returns the edges, ordered by child, then parent.
    pub(in crate::search::baseline) fn edges(
        &self,
    ) -> impl Iterator<Item = (NodeIdx, NodeIdx)> + '_ {
        edges_of(&self.families)
    }

    /// Returns whether a directed path leads from `start` to `goal` (a node reaches itself): a walk
    /// over the goal's ancestors, cheaper than building the graph for a few questions.
    pub(in crate::search::baseline) fn reaches(&self, start: NodeIdx, goal: NodeIdx) -> bool {
        let mut seen = vec![false; self.nodes()];
        let mut stack = vec![goal];
        while let Some(node) = stack.pop() {
            if node == start {
                return true;
            }
            if !std::mem::replace(&mut seen[node.index()], true) {
                stack.extend(self.parents(node));
            }
        }
        false
    }

    /// Returns the network as a graph.
    pub(in crate::search::baseline) fn to_dag(&self) -> Dag {
        let mut reach = ReachScratch::default();
        let mut dag = Dag::empty(self.nodes());
        for (from, to) in self.edges() {
            let added = dag.add_edge_with(from, to, &mut reach);
            debug_assert!(added.is_ok(), "an individual is acyclic");
        }
        dag
    }

    /// Returns the network as a row.
    pub(in crate::search::baseline) fn row(&self) -> EliteRow {
        let structure = Structure::from_families(self.families.clone());
        EliteRow {
            structure,
            score: self.score,
        }
    }

    /// Sums up the local scores if all are known.
    pub(in crate::search::baseline) fn add_up(&mut self) {
        let known = self.is_scored();
        self.score = if known {
            LogScore::new(self.locals.iter().sum())
        } else {
            LogScore::IMPOSSIBLE
        };
    }
}

/// Returns the place of the best; the first of equals.
pub(in crate::search::baseline) fn best_of<'a>(
    individuals: impl IntoIterator<Item = &'a Individual>,
) -> usize {
    let mut best = (0, LogScore::IMPOSSIBLE);
    for (place, individual) in individuals.into_iter().enumerate() {
        if individual.score() > best.1 {
            best = (place, individual.score());
        }
    }
    best.0
}

/// Returns whether the constraints leave the network as it is: there is no legal operation. Nothing
/// can then be searched, since required edges stay and no other can ever come.
pub(in crate::search::baseline) fn is_frozen(dag: &Dag, constraints: &Constraints) -> bool {
    let n = dag.nodes();
    let mut reach = ReachScratch::default();
    !(0..Operation::count(n))
        .any(|number| Operation::from_number(number, n).is_legal(dag, constraints, &mut reach))
}

/// Adds individuals to what is stored: their networks as rows, and under the same name the local
/// scores of each.
pub(in crate::search::baseline) fn save_all<'a>(
    own: Fields,
    name: &'static str,
    individuals: impl IntoIterator<Item = &'a Individual> + Clone,
) -> Fields {
    let rows = individuals.clone().into_iter().map(Individual::row);
    let locals = individuals.into_iter().flat_map(|it| &it.locals).copied();
    own.with_rows(name, rows).with_numbers(name, locals)
}

/// Reads stored individuals, scored or not.
///
/// # Errors
/// If they are not there, or a network is cyclic, breaks a constraint, or has no score for each node.
pub(in crate::search::baseline) fn load_any(
    own: &Fields,
    name: &'static str,
    constraints: &Constraints,
) -> Result<Vec<Individual>, UnfitState> {
    let (rows, locals) = (own.rows(name)?, own.numbers(name)?);
    let unfit = || UnfitState::Field(name);
    if locals.len() != rows.len() * constraints.nodes() {
        return Err(unfit());
    }
    let mut individuals = Vec::with_capacity(rows.len());
    for (row, locals) in rows.iter().zip(locals.chunks_exact(constraints.nodes())) {
        let dag = row.structure.to_dag().map_err(|_| unfit())?;
        if !constraints.hold_for(&dag) {
            return Err(unfit());
        }
        let mut individual = Individual {
            families: row.structure.families().to_vec(),
            locals: locals.to_vec(),
            score: LogScore::IMPOSSIBLE,
        };
        individual.add_up();
        individuals.push(individual);
    }
    Ok(individuals)
}

/// Reads stored individuals, all of which must be scored.
///
/// # Errors
/// As [`load_any`], or if one is not scored.
pub(in crate::search::baseline) fn load_scored(
    own: &Fields,
    name: &'static str,
    constraints: &Constraints,
) -> Result<Vec<Individual>, UnfitState> {
    let individuals = load_any(own, name, constraints)?;
    if individuals.iter().all(Individual::is_scored) {
        Ok(individuals)
    } else {
        Err(UnfitState::Field(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Seed;
    use crate::search::baseline::testing::{dag, evaluator, strong_table};

    #[test]
    fn only_changed_families_are_asked_for() {
        let mut evaluator = evaluator(&strong_table());
        let mut start = Individual::of(&dag(4, &[(0, 1), (1, 2)]));
        assert_eq!(start.score(), LogScore::IMPOSSIBLE);
        start.ask(&mut evaluator).unwrap();
        assert_eq!(evaluator.evaluations(), 4);
        let graph = dag(4, &[(0, 1), (2, 1), (2, 3)]);
        let mut changed = start.changed_to(&graph);
        assert!(!changed.is_scored());
        changed.ask(&mut evaluator).unwrap();
        assert_eq!(
            evaluator.evaluations(),
            4 + 3,
            "the families of 1, 2 and 3 are new"
        );
        assert_eq!(changed.score(), evaluator.structure(&graph).unwrap());
        let inherited = Individual::from_families(changed.families.clone(), [&start, &changed]);
        assert_eq!(inherited, changed);
    }

    #[test]
    fn a_budget_that_ends_in_the_middle_keeps_what_was_answered() {
        let mut evaluator = evaluator(&strong_table());
        evaluator.set_limit(3);
        let mut individual = Individual::of(&dag(4, &[(0, 1)]));
        assert_eq!(individual.ask(&mut evaluator), Err(OutOfBudget));
        assert_eq!(evaluator.evaluations(), 3);
        evaluator.set_limit(4);
        assert_eq!(individual.ask(&mut evaluator), Ok(()));
        assert!(individual.is_scored());
    }

    #[test]
    fn stored_individuals_come_back_as_they_were() {
        let mut evaluator = evaluator(&strong_table());
        let mut known = Individual::of(&dag(4, &[(0, 1), (1, 2)]));
        known.ask(&mut evaluator).unwrap();
        let open = known.after_operations(2, evaluator.constraints(), &mut Random::new(Seed(1)));
        let saved = save_all(Fields::default(), "some", [&known, &open]);
        let constraints = evaluator.constraints();
        let loaded = load_any(&saved, "some", constraints).unwrap();
        assert_eq!(loaded, [known, open]);
        let unfit = Err(UnfitState::Field("some"));
        assert_eq!(load_scored(&saved, "some", constraints), unfit);
        let fewer = saved.numbers("some").unwrap()[..6].to_vec();
        let fewer = saved.with_numbers("some", fewer);
        assert_eq!(load_any(&fewer, "some", constraints), unfit);
    }

    #[test]
    fn reaching_agrees_with_the_graph() {
        let constraints = Constraints::none(7);
        let mut random = Random::new(Seed(2));
        let mut reach = ReachScratch::default();
        for _ in 0..50 {
            let start = Individual::of(&Dag::empty(7));
            let individual = Individual::scattered(&start, &constraints, &mut random);
            let graph = individual.to_dag();
            for (a, b) in NodeIdx::all(7).flat_map(|a| NodeIdx::all(7).map(move |b| (a, b))) {
                assert_eq!(individual.reaches(a, b), graph.reaches(a, b, &mut reach));
            }
        }
    }

    #[test]
    fn a_network_is_frozen_only_if_nothing_may_change() {
        let none = Constraints::none(1);
        assert!(is_frozen(&Dag::empty(1), &none));
        assert!(!is_frozen(&Dag::empty(2), &Constraints::none(2)));
    }
}
