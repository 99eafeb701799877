//! How a proof is worked on: parent sets are listed in turns, on threads, then the gap is closed.

use super::folder::{KEEP_EVERY, ProofFolder};
use super::{Evidence, Proof, ProofLimits, ProofProgress, TOLERANCE};
use crate::machine;
use crate::progress::StopHandle;
use crate::request::SearchRequest;
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::proof::{
    Candidates, Coverage, Effort, Family, Listing, Model, ProofNode, Prover, StoredProof, Tree,
    ascend,
};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The work on one proof.
pub(super) struct Work<'a> {
    pub(super) prover: Prover,
    pub(super) threads: usize,
    pub(super) memory: usize,
    pub(super) began: Instant,
    pub(super) time: Option<Duration>,
    /// The share of the time that listing may take.
    pub(super) listing: f64,
    pub(super) stop: &'a StopHandle,
    /// Where the proof is kept.
    pub(super) folder: Option<&'a ProofFolder>,
}

/// Parent sets that are scored of a variable before the next one has its turn; each later turn is
/// larger by a factor.
const FIRST_TURN: u64 = 5_000;
const NEXT_TURN: u64 = 60;
/// Families from which on few variables are better proven by scoring every family.
const MANY_FAMILIES: usize = 2_000;
/// Rows that may be looked at for that: half a minute.
const MOST_ROWS_LOOKED_AT: u64 = 2_000_000_000;

impl<'a> Work<'a> {
    pub(super) fn new(
        request: &SearchRequest,
        limits: ProofLimits,
        listing: f64,
        stop: &'a StopHandle,
    ) -> Self {
        Self {
            began: Instant::now(),
            prover: request.prover(),
            threads: limits.threads.unwrap_or_else(machine::cores).max(1) as usize,
            memory: limits.memory.unwrap_or_else(|| machine::memory() / 4),
            time: limits.time,
            listing,
            stop,
            folder: None,
        }
    }

    /// Begins with nothing shown about a network.
    pub(super) fn start(&self, request: &SearchRequest, dag: &Dag) -> Proof {
        let units = self.prover.units_of(dag).iter().sum();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a millionth of a nat in units"
        )]
        let tolerance = (TOLERANCE * self.prover.units_per_nat()).ceil() as i64;
        Proof {
            request: request.clone(),
            network: dag.clone(),
            improved: false,
            units,
            bound_units: i64::MAX,
            tolerance,
            score: self.prover.score(units).value(),
            bound: f64::INFINITY,
            coverage: vec![Coverage::UpTo(0); dag.nodes()],
            families: 0,
            evaluations: 0,
            nodes: 0,
            root_gap: f64::INFINITY,
            elapsed: Duration::ZERO,
            evidence: Evidence::Nothing,
        }
    }

    /// Returns whether this share of the time is not over yet.
    fn goes_on(&self, share: f64) -> bool {
        let over = self
            .time
            .is_some_and(|time| self.began.elapsed() >= time.mul_f64(share));
        !over && !self.stop.is_stopped()
    }

    /// Lists the parent sets, then bounds the networks over them.
    pub(super) fn run(
        &self,
        proof: &mut Proof,
        latest: &dyn Fn() -> Dag,
        watch: &mut (dyn FnMut(&ProofProgress) + Send),
    ) {
        let watch = Mutex::new(watch);
        let show = |progress: &ProofProgress| {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch(progress);
        };
        let listed = match self.prover.listing(&|| self.goes_on(self.listing)) {
            Some(listing) => self.list_together(proof, listing, &show),
            None => self.list_each(proof, &show),
        };
        let Some(lists) = listed else { return };
        let families: usize = lists.iter().map(|list| list.families.len()).sum();
        if families > MANY_FAMILIES && self.few_enough_for_all() && self.by_subsets(proof) {
            return;
        }
        proof.coverage = lists.iter().map(|list| list.coverage).collect();
        proof.network = latest();
        proof.units = self.prover.units_of(&proof.network).iter().sum();
        proof.score = self.prover.score(proof.units).value();
        let families = self.with_own_families(proof, lists);
        proof.families = families.iter().map(Vec::len).sum();
        self.close(proof, families, None, &show);
    }

    /// Continues a proof whose parent sets are listed, from its tree.
    pub(super) fn resume(
        &self,
        proof: &mut Proof,
        stored: StoredProof,
        watch: &mut (dyn FnMut(&ProofProgress) + Send),
    ) {
        let watch = Mutex::new(watch);
        let show = |progress: &ProofProgress| {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch(progress);
        };
        let lists = stored.families.into_iter().zip(stored.coverage);
        let lists = lists.map(|(families, coverage)| Candidates {
            families,
            coverage,
            evaluations: 0,
        });
        let lists: Vec<Candidates> = lists.collect();
        proof.coverage = lists.iter().map(|list| list.coverage).collect();
        let families = self.with_own_families(proof, lists);
        proof.families = families.iter().map(Vec::len).sum();
        self.close(proof, families, Some(stored.nodes), &show);
    }

    /// Lists the parent sets of all variables together; none if the proof is done by other means.
    fn list_together(
        &self,
        proof: &mut Proof,
        mut listing: Listing<'_>,
        show: &(dyn Fn(&ProofProgress) + Sync),
    ) -> Option<Vec<Candidates>> {
        let goes_on = || self.goes_on(self.listing);
        let do_pieces = |number: usize, work: &(dyn Fn(usize) + Sync)| {
            in_parallel(self.threads, (0..number).collect(), work);
        };
        let (mut took, mut scored) = (Duration::ZERO, [0, 0, listing.evaluations()]);
        while !listing.is_complete() && self.is_in_reach(took, scored) {
            let began = Instant::now();
            if !listing.next_size(self.memory / 4, &do_pieces, &goes_on) {
                break;
            }
            took = began.elapsed();
            scored = [scored[1], scored[2], listing.evaluations()];
            show(&ProofProgress::Listing {
                variables: listing.listed(),
                evaluations: listing.evaluations(),
            });
            if listing.evaluations() > self.many_of_all()
                && self.few_enough_for_all()
                && self.by_subsets(proof)
            {
                return None;
            }
        }
        proof.evaluations += listing.evaluations();
        Some(listing.into_candidates())
    }

    /// Tells whether the next size can be listed in the time left, from how long the last one took
    /// and how many sets were scored up to each of the last three. Sizes grow by less each time, so
    /// this errs on the long side.
    fn is_in_reach(&self, took: Duration, scored: [u64; 3]) -> bool {
        const DOUBT: f64 = 2.0;
        let Some(time) = self.time else { return true };
        let left = time
            .mul_f64(self.listing)
            .saturating_sub(self.began.elapsed());
        let (before, last) = (scored[1] - scored[0], scored[2] - scored[1]);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let growth = last as f64 / before.max(1) as f64;
        took.as_secs_f64() * growth <= DOUBT * left.as_secs_f64()
    }

    /// Lists the parent sets of each variable by itself; none if the proof is done by other means.
    fn list_each(
        &self,
        proof: &mut Proof,
        show: &(dyn Fn(&ProofProgress) + Sync),
    ) -> Option<Vec<Candidates>> {
        let nodes = self.prover.table().nodes();
        let mut lists: Vec<Candidates> = Vec::new();
        let mut turn = FIRST_TURN;
        loop {
            let open: Vec<NodeIdx> = NodeIdx::all(nodes)
                .filter(|child| {
                    let list = lists.get(child.index());
                    list.is_none_or(|list| list.coverage != Coverage::All)
                })
                .collect();
            let done = Mutex::new((
                nodes - open.len(),
                lists.iter().map(|list| list.evaluations).sum::<u64>(),
            ));
            let effort = Effort {
                evaluations: turn,
                bytes: self.memory / 4 / self.threads,
            };
            let found = in_parallel(self.threads, open.clone(), |child| {
                let list = self
                    .prover
                    .candidates(child, effort, &|| self.goes_on(self.listing));
                let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                done.0 += usize::from(list.coverage == Coverage::All);
                done.1 += list.evaluations;
                show(&ProofProgress::Listing {
                    variables: done.0,
                    evaluations: done.1,
                });
                list
            });
            for (child, list) in open.into_iter().zip(found) {
                proof.evaluations += list.evaluations;
                match lists.get_mut(child.index()) {
                    None => lists.push(list),
                    Some(known) if list.coverage > known.coverage => *known = list,
                    Some(_) => {}
                }
            }
            let is_complete = lists.iter().all(|list| list.coverage == Coverage::All);
            if is_complete || !self.goes_on(self.listing) {
                break;
            }
            if turn > FIRST_TURN && self.few_enough_for_all() && self.by_subsets(proof) {
                return None;
            }
            if turn > u64::MAX / NEXT_TURN {
                break;
            }
            turn *= NEXT_TURN;
        }
        Some(lists)
    }

    /// Returns how many of all families are so many that the rules rule out little.
    fn many_of_all(&self) -> u64 {
        let nodes = self.prover.table().nodes();
        let others = u32::try_from(nodes.saturating_sub(1)).unwrap_or(u32::MAX);
        let all = 1_u64.checked_shl(others).unwrap_or(u64::MAX);
        all.saturating_mul(nodes as u64) / 8
    }

    /// Returns whether scoring every family is within reach.
    fn few_enough_for_all(&self) -> bool {
        let bytes = self.prover.bytes_for_all();
        let rows = self.prover.work_for_all();
        bytes.is_some_and(|bytes| bytes <= self.memory / 2)
            && rows.is_some_and(|rows| rows <= MOST_ROWS_LOOKED_AT)
    }

    /// Scores every family of a table with few variables.
    fn by_subsets(&self, proof: &mut Proof) -> bool {
        let Some(best) = self.prover.best_of_all(&|| self.goes_on(1.0)) else {
            return false;
        };
        let nodes = self.prover.table().nodes();
        proof.coverage = vec![Coverage::All; nodes];
        proof.evaluations += best.families;
        proof.families = usize::try_from(best.families).unwrap_or(usize::MAX);
        proof.bound_units = best.units;
        proof.bound = self.prover.score(best.units).value();
        proof.root_gap = 0.0;
        proof.evidence = Evidence::Subsets;
        if best.units > proof.units {
            let parents = NodeIdx::all(nodes).zip(best.parents).collect();
            self.take_better(proof, best.units, parents);
        }
        true
    }

    /// Adds the network's own families where they are larger than what was covered, so that the
    /// network is one of those that the bound is about.
    fn with_own_families(&self, proof: &Proof, lists: Vec<Candidates>) -> Vec<Vec<Family>> {
        let units = self.prover.units_of(&proof.network);
        let mut families: Vec<Vec<Family>> = Vec::new();
        for (child, list) in NodeIdx::all(lists.len()).zip(lists) {
            let mut of_child = list.families;
            let parents = proof.network.parents(child);
            if let Coverage::UpTo(most) = list.coverage
                && parents.len() > most
                && !of_child.iter().any(|family| family.parents == parents)
            {
                of_child.push(Family {
                    parents: parents.to_vec(),
                    units: units[child.index()],
                });
            }
            families.push(of_child);
        }
        families
    }

    fn take_better(&self, proof: &mut Proof, units: i64, families: Vec<(NodeIdx, Vec<NodeIdx>)>) {
        let edges = families
            .iter()
            .flat_map(|(to, parents)| parents.iter().map(|from| (*from, *to)));
        if let Ok(dag) = Dag::from_edges(proof.network.nodes(), edges) {
            proof.network = dag;
            proof.improved = true;
            proof.units = units;
            proof.score = self.prover.score(units).value();
        }
    }

    /// Bounds the networks over the families, and branches until the gap is closed.
    fn close(
        &self,
        proof: &mut Proof,
        families: Vec<Vec<Family>>,
        begun: Option<Vec<ProofNode>>,
        show: &(dyn Fn(&ProofProgress) + Sync),
    ) {
        let model = Model::new(families.iter().map(|families| &families[..]));
        let goes_on = || self.goes_on(1.0);
        // A dictionary has a row for each variable and cut, of which there are a few for each variable.
        let dictionary = (6 * model.nodes() + 60)
            .saturating_mul(model.len())
            .saturating_mul(8);
        if dictionary > self.memory / 16 {
            let (multipliers, cost) = ascend(&model, -proof.units - proof.tolerance, &goes_on);
            self.bounded(proof, -cost);
            proof.root_gap = proof.gap();
            proof.nodes = 1;
            proof.evidence = Evidence::Tree {
                families,
                nodes: vec![ProofNode::bounded(multipliers)],
            };
            return;
        }
        let (scale, cost) = (self.prover.units_per_nat(), -proof.units);
        let mut tree = match begun {
            Some(nodes) => Tree::resumed(&model, scale, cost, proof.tolerance, nodes),
            None => Tree::new(&model, scale, cost, proof.tolerance),
        };
        let keep = |proof: &mut Proof, tree: &Tree<'_>| {
            let Some(folder) = self.folder else { return };
            self.bounded(proof, -tree.bound());
            if let Some(better) = tree.better() {
                self.take_better(proof, -tree.best_cost(), better);
            }
            proof.evidence = Evidence::Tree {
                families: families.clone(),
                nodes: tree.proof_nodes(),
            };
            folder.keep(proof);
        };
        keep(proof, &tree);
        let mut kept_at = Instant::now();
        let mut is_root = true;
        while goes_on() && tree.size().saturating_mul(8) < self.memory / 2 {
            let wave = tree.wave();
            if wave.is_empty() {
                break;
            }
            let processed = in_parallel(self.threads, wave, |node| tree.process(node, &goes_on));
            tree.settle(processed);
            self.bounded(proof, -tree.bound());
            if std::mem::replace(&mut is_root, false) {
                proof.root_gap = proof.bound - self.prover.score(-tree.best_cost()).value();
            }
            show(&ProofProgress::Closing {
                score: self.prover.score(-tree.best_cost()).value(),
                bound: proof.bound,
                nodes: tree.nodes(),
            });
            if kept_at.elapsed() >= KEEP_EVERY {
                keep(proof, &tree);
                kept_at = Instant::now();
            }
        }
        keep(proof, &tree);
        if let Some(better) = tree.better() {
            self.take_better(proof, -tree.best_cost(), better);
        }
        self.bounded(proof, -tree.bound());
        proof.nodes = tree.nodes();
        let nodes = tree.proof_nodes();
        proof.evidence = Evidence::Tree { families, nodes };
    }

    fn bounded(&self, proof: &mut Proof, units: i64) {
        proof.bound_units = units;
        proof.bound = self.prover.score(units).value();
    }
}

/// Applies a function to all items on some threads; the results are in the items' order.
fn in_parallel<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if threads == 1 || items.len() < 2 {
        return items.into_iter().map(work).collect();
    }
    let threads = threads.min(items.len());
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            while let Some((at, item)) = next() {
                done.push((at, work(item)));
            }
            done
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let mut results = worker();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
