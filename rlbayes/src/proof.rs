//! Proves that a network is the best one, or how far it is from the best at most: what is asked, and
//! what was proven. `work` does it.

mod folder;
mod work;

use crate::network::Network;
use crate::progress::StopHandle;
use crate::request::{RequestError, SearchRequest};
use crate::table::Table;
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::proof::{
    CertificateError, Checked, Claim, Coverage, Family, ProofNode, Prover, check_certificate,
    read_subject, write_certificate,
};
use rlbayes_common::score::{LogScore, ScoreName, ScoreSpec};
use rlbayes_common::search::Constraints;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;
use work::Work;

use folder::ProofFolder;
pub use folder::ProofFolderError;

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
    let dag = placed(request, network)?;
    let latest = || dag.clone();
    Ok(prove_latest(request, &latest, limits, LISTING, stop, watch))
}

/// The share of the time that parent sets may be listed for; what is left closes the gap.
pub(crate) const LISTING: f64 = 0.6;

fn placed(request: &SearchRequest, network: &Network) -> Result<Dag, RequestError> {
    let dag = network
        .placed_on(request.table())
        .map_err(RequestError::UnknownStartNode)?;
    request.keeping_constraints(&dag)
}

/// Why a proof that is kept could not be begun.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeptProofError {
    /// The network does not fit.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The folder can't be used.
    #[error(transparent)]
    Folder(#[from] ProofFolderError),
}

/// Proves as [`prove`] does, and keeps the proof in a folder while the gap is closed: after any end,
/// a kill included, the same call continues with the parent sets and the tree that are there. `warn`
/// is told of a file that cannot be read and was set aside.
///
/// # Errors
/// If the network does not fit, the folder can't be used, or it holds a proof about something else.
pub fn prove_kept(
    request: &SearchRequest,
    network: &Network,
    folder: &Path,
    limits: ProofLimits,
    stop: &StopHandle,
    watch: &mut (dyn FnMut(&ProofProgress) + Send),
    warn: &mut dyn FnMut(String),
) -> Result<Proof, KeptProofError> {
    let dag = placed(request, network)?;
    let mut work = Work::new(request, limits, LISTING, stop);
    let (kept, stored) = ProofFolder::open(folder, request, &work.prover, warn)?;
    work.folder = Some(&kept);
    let units = |dag: &Dag| work.prover.units_of(dag).iter().sum::<i64>();
    let mut proof = work.start(request, &dag);
    match stored {
        None => work.run(&mut proof, &|| dag.clone(), watch),
        Some(stored) => {
            if units(&stored.network) > units(&dag) {
                proof = work.start(request, &stored.network);
                proof.improved = true;
            }
            work.resume(&mut proof, stored, watch);
        }
    }
    proof.elapsed = work.began.elapsed();
    Ok(proof)
}

/// Returns how much higher than `score` a network could score at most, given a score that none
/// exceeds. What is less than a millionth of a nat is nothing.
#[doc(hidden)]
#[must_use]
pub fn gap_below(bound: f64, score: f64) -> Option<f64> {
    let gap = bound - score;
    gap.is_finite()
        .then_some(if gap <= 1.1 * TOLERANCE { 0.0 } else { gap })
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
    let work = Work::new(request, limits, listing, stop);
    let mut proof = work.start(request, &latest());
    work.run(&mut proof, latest, watch);
    proof.elapsed = work.began.elapsed();
    proof
}
