//! Proves that a network is the best one, or how far it is from the best at most: runs the engine's
//! prover on threads, within a time and a memory.

use crate::machine;
use crate::network::Network;
use crate::progress::StopHandle;
use crate::request::{RequestError, SearchRequest};
use crate::table::Table;
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::proof::{
    Candidates, CertificateError, Checked, Claim, Coverage, Effort, Family, Model, ProofNode,
    Prover, Tree, ascend, check_certificate, read_subject, write_certificate,
};
use rlbayes_common::score::{LogScore, ScoreName, ScoreSpec};
use rlbayes_common::search::Constraints;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How much a proof may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProofLimits {
    /// How long it may take; none: until it is done.
    pub time: Option<Duration>,
    /// Bytes that it may hold; none: a quarter of the machine's memory.
    pub memory: Option<usize>,
    /// Threads; none: all cores.
    pub threads: Option<u32>,
}

/// How a proof is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProofProgress {
    /// Parent sets are being listed.
    Listing {
        /// Variables whose parent sets are all listed.
        variables: usize,
        /// Parent sets scored.
        evaluations: u64,
    },
    /// The bound is being closed.
    Closing {
        /// The score of the best network known.
        score: f64,
        /// No network scores higher.
        bound: f64,
        /// Nodes of the tree so far.
        nodes: usize,
    },
}

/// What was proven.
#[derive(Clone, Debug)]
pub struct Proof {
    request: SearchRequest,
    network: Dag,
    improved: bool,
    units: i64,
    bound_units: i64,
    tolerance: i64,
    score: f64,
    bound: f64,
    coverage: Vec<Coverage>,
    families: usize,
    evaluations: u64,
    nodes: usize,
    root_gap: f64,
    elapsed: Duration,
    evidence: Evidence,
}

/// What a proof consists of.
#[derive(Clone, Debug)]
enum Evidence {
    /// Every family was scored, and the best order of the variables found.
    Subsets,
    /// The families, and a tree over them.
    Tree {
        families: Vec<Vec<Family>>,
        nodes: Vec<ProofNode>,
    },
    /// Nothing: it was ended before there was a bound.
    Nothing,
}

/// A network counts as better if it scores higher by more than this many nats.
const TOLERANCE: f64 = 1e-6;

impl Proof {
    /// Returns whether no network that the constraints allow scores higher, by more than a
    /// millionth of a nat.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.covers_all() && self.is_closed()
    }

    /// Returns whether no network among those that the proof covers scores higher.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.bound_units <= self.units + self.tolerance
    }

    /// Returns whether every network that the constraints allow is covered.
    #[must_use]
    pub fn covers_all(&self) -> bool {
        self.coverage
            .iter()
            .all(|&coverage| coverage == Coverage::All)
    }

    /// Returns, for each variable, up to how many parents the proof covers; none: any number.
    #[must_use]
    pub fn covered_parents(&self) -> Vec<Option<usize>> {
        let most = |coverage: &Coverage| match coverage {
            Coverage::All => None,
            Coverage::UpTo(parents) => Some(*parents),
        };
        self.coverage.iter().map(most).collect()
    }

    /// Says which networks the proof covers, in words: `all networks`, or `networks with up to 4
    /// parents for 12 of 70 variables`.
    #[must_use]
    pub fn covers(&self) -> String {
        let mut limits: Vec<usize> = self.covered_parents().into_iter().flatten().collect();
        if limits.is_empty() {
            return "all networks".to_owned();
        }
        limits.sort_unstable();
        let all = self.coverage.len();
        let parts: Vec<String> = limits
            .chunk_by(|a, b| a == b)
            .map(|same| {
                let parents = if same[0] == 1 { "parent" } else { "parents" };
                format!("up to {} {parents} for {}", same[0], same.len())
            })
            .collect();
        format!("networks with {} of {all} variables", parts.join(", "))
    }

    /// Returns the score of the best network known.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.score
    }

    /// Returns a score that no network covered exceeds.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns how much higher a network covered could score at most, in nats; infinite if nothing
    /// was shown.
    #[must_use]
    pub fn gap(&self) -> f64 {
        if self.is_closed() {
            0.0
        } else {
            self.bound - self.score
        }
    }

    /// Returns the best network known.
    #[must_use]
    pub fn network(&self) -> Network {
        Network::of(self.request.table(), self.network.clone())
    }

    /// Returns whether that network is better than the one that was to be proven.
    #[must_use]
    pub fn has_improved(&self) -> bool {
        self.improved
    }

    /// Returns how many candidate parent sets there are over all variables.
    #[must_use]
    pub fn families(&self) -> usize {
        self.families
    }

    /// Returns how many parent sets were scored.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Returns how many nodes the tree has.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns the gap before the first branch, in nats.
    #[must_use]
    pub fn root_gap(&self) -> f64 {
        self.root_gap
    }

    /// Returns how long it took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns the search whose table, score and constraints the proof is about.
    #[must_use]
    pub fn request(&self) -> &SearchRequest {
        &self.request
    }

    /// Returns the network as a row of the elite pool, if it is better than the one given.
    pub(crate) fn better_row(&self) -> Option<EliteRow> {
        self.improved.then(|| EliteRow {
            structure: Structure::of(&self.network),
            score: LogScore::new(self.score),
        })
    }

    /// Returns the proof as a text that others can check; none if it was ended before there was a
    /// bound. docs/proofs.md describes it.
    #[must_use]
    pub fn certificate(&self) -> Option<String> {
        let tree = match &self.evidence {
            Evidence::Nothing => return None,
            Evidence::Subsets => None,
            Evidence::Tree { families, nodes } => Some((&families[..], &nodes[..])),
        };
        Some(write_certificate(&Claim {
            prover: &self.request.prover(),
            constraints: self.request.named_constraints(),
            network: &self.network,
            units: self.units,
            bound_units: self.bound_units,
            tolerance: self.tolerance,
            coverage: &self.coverage,
            tree,
        }))
    }

    #[doc(hidden)]
    #[must_use]
    pub fn dag(&self) -> &Dag {
        &self.network
    }
}

/// Proves that no network scores higher than `network` on the table, under the score and the
/// constraints of a search, as far as that can be had within the limits.
///
/// # Errors
/// If the network has a node that the table lacks, or does not keep the constraints.
pub fn prove(
    request: &SearchRequest,
    network: &Network,
    limits: ProofLimits,
    stop: &StopHandle,
    watch: &mut (dyn FnMut(&ProofProgress) + Send),
) -> Result<Proof, RequestError> {
    let dag = network
        .placed_on(request.table())
        .map_err(RequestError::UnknownStartNode)?;
    let dag = request.keeping_constraints(&dag)?;
    /// What is left of the time closes the gap.
    const LISTING: f64 = 0.6;
    let latest = || dag.clone();
    Ok(prove_latest(request, &latest, limits, LISTING, stop, watch))
}

/// Checks the certificate of a proof ([`Proof::certificate`]) against a table: every score is counted
/// again, the parent sets are listed again, and the proof is replayed in exact numbers.
///
/// # Errors
/// If it is damaged, is about another table, or does not hold.
pub fn check_proof(table: &Table, text: &str) -> Result<Checked, CertificateError> {
    let subject = read_subject(text)?;
    let about =
        |error: &dyn std::fmt::Display| CertificateError::AboutSomethingElse(error.to_string());
    let (name, ess, penalty_scale) = &subject.score;
    let name: ScoreName = name.parse().map_err(|error| about(&error))?;
    let spec = ScoreSpec::new(name, *ess, *penalty_scale).map_err(|error| about(&error))?;
    let constraints = Constraints::new(table.data(), &subject.constraints);
    let constraints = constraints.map_err(|error| about(&error))?;
    let prover = Prover::new(table.data(), spec, &constraints);
    check_certificate(text, &prover, &|| true)
}

/// See [`prove`]; the network is asked for when the parent sets are listed, which may take a share
/// `listing` of the time, and keeps the constraints.
pub(crate) fn prove_latest(
    request: &SearchRequest,
    latest: &dyn Fn() -> Dag,
    limits: ProofLimits,
    listing: f64,
    stop: &StopHandle,
    watch: &mut (dyn FnMut(&ProofProgress) + Send),
) -> Proof {
    let began = Instant::now();
    let work = Work {
        prover: request.prover(),
        threads: limits.threads.unwrap_or_else(machine::cores).max(1) as usize,
        memory: limits.memory.unwrap_or_else(|| machine::memory() / 4),
        began,
        time: limits.time,
        listing,
        stop,
    };
    let mut proof = work.start(request, &latest());
    work.run(&mut proof, latest, watch);
    proof.elapsed = began.elapsed();
    proof
}

struct Work<'a> {
    prover: Prover,
    threads: usize,
    memory: usize,
    began: Instant,
    time: Option<Duration>,
    /// The share of the time that listing may take.
    listing: f64,
    stop: &'a StopHandle,
}

/// Parent sets that are scored of a variable before the next one has its turn; each later turn is
/// larger by a factor.
const FIRST_TURN: u64 = 5_000;
const NEXT_TURN: u64 = 60;
/// Families from which on few variables are better proven by scoring every family.
const MANY_FAMILIES: usize = 2_000;
/// Rows that may be looked at for that: half a minute.
const MOST_ROWS_LOOKED_AT: u64 = 2_000_000_000;

impl Work<'_> {
    fn start(&self, request: &SearchRequest, dag: &Dag) -> Proof {
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

    fn run(
        &self,
        proof: &mut Proof,
        latest: &dyn Fn() -> Dag,
        watch: &mut (dyn FnMut(&ProofProgress) + Send),
    ) {
        let nodes = self.prover.table().nodes();
        let mut lists: Vec<Candidates> = Vec::new();
        let mut turn = FIRST_TURN;
        let watch = Mutex::new(watch);
        let show = |progress: &ProofProgress| {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch(progress);
        };
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
                return;
            }
            if turn > u64::MAX / NEXT_TURN {
                break;
            }
            turn *= NEXT_TURN;
        }
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
        self.close(proof, families, &show);
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
        let mut tree = Tree::new(
            &model,
            self.prover.units_per_nat(),
            -proof.units,
            proof.tolerance,
        );
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
        }
        if let Some(better) = tree.better() {
            self.take_better(proof, -tree.best_cost(), better);
        }
        self.bounded(proof, -tree.bound());
        proof.nodes = tree.nodes();
        let nodes = tree.into_nodes();
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
