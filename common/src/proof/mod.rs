//! Proof that no network scores higher, or how much higher one could score at most.
//!
//! Candidate parent sets (`candidates`) that no better network can do without are listed for every
//! variable; what no network over them can exceed is bounded (`cuts`, `relaxation`, `separation`) and
//! the gap is closed by branching (`tree`). Everything that is claimed is computed in whole units of
//! the fixed-point scores; floating point only proposes.

mod ascent;
mod candidates;
mod certificate;
mod cuts;
mod listing;
mod model;
mod partition;
mod prover;
mod relaxation;
mod separation;
mod set_sums;
mod stored;
mod subsets;
mod tree;

pub use ascent::ascend;
pub use candidates::{Candidates, Coverage, Effort, Family};
pub use certificate::{
    CertificateError, Checked, Claim, Subject, check_certificate, read_subject, write_certificate,
};
pub use cuts::{Cut, CutKind, Multipliers};
pub use listing::{DoPieces, Listing};
pub use model::Model;
pub use prover::Prover;
pub use stored::{StoredProof, read_stored};
pub use subsets::BestOfAll;
pub use tree::{End, OpenNode, Processed, ProofNode, Tree};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wrong_bounds;
