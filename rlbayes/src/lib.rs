//! Learns the structure of Bayesian networks from tables of discrete data: given a table, it finds
//! the network with the highest score that it can, on all cores, for as long as you let it.
//!
//! ```no_run
//! use rlbayes::{Fit, Score, Search, Table};
//! use std::time::Duration;
//!
//! let table = Table::read("alarm.csv")?;
//! let found = Search::on(&table)
//!     .score(Score::Bic)
//!     .threads(8)
//!     .time(Duration::from_secs(10))
//!     .run()?;
//! println!("{} {:?}", found.score(), found.edges());
//! found.network(Fit::Smoothed(1.0))?.write("alarm.bif")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The same without files, with what is known beforehand and a look at how it goes:
//!
//! ```
//! use rlbayes::{Fit, LoadOptions, Search, Table};
//!
//! let text = "age,smokes,coughs\n".to_owned()
//!     + &"old,yes,yes\nold,no,no\nyoung,yes,yes\nyoung,no,no\n".repeat(20);
//! let table = Table::parse("survey", text.as_bytes(), &LoadOptions::default())?;
//! let mut scores = Vec::new();
//! let found = Search::on(&table)
//!     .forbid("coughs", "smokes")
//!     .threads(1)
//!     .evaluations(1000)
//!     .on_progress(|progress| scores.extend(progress.best_score))
//!     .run()?;
//! assert_eq!(found.edges(), [("smokes", "coughs")]);
//! assert!(found.network(Fit::MaximumLikelihood)?.is_fitted());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is where
//!
//! - [`Table`]: the data; read from CSV or TSV, variables and states ordered by name.
//!   [`LoadOptions`]: declared states, bins for numbers, missing cells.
//! - [`Search`]: score, constraints, budget, threads, a folder to resume from; [`Search::run`].
//!   [`SearchSettings`] are the same as one plain value, and [`SearchRequest`] is the search after
//!   they were checked.
//! - [`Bootstrap`]: how far each edge can be trusted, by the same search on resampled tables;
//!   [`Support`]: what came of it.
//! - [`Outcome`]: the best network, its score, how it was found, and what else was found.
//! - [`Network`]: read, write, fit, sample, score by node, compare; log-likelihood of new rows, query
//!   and predict.
//! - [`cross_validate`]: which score to learn with.
//! - [`Progress`] and [`StopHandle`]: watch a search and stop it from another thread.
//! - [`Algorithm`]: the default search and those it is compared with; their parameters are in
//!   [`algorithms`].
//!
//! # What the arrows mean
//!
//! Several networks can describe the same dependences; they form an equivalence class. With all
//! scores but [`Score::K2`] they have equal scores, so the data cannot tell them apart: some edges
//! of a result could as well point the other way ([`FoundEdge::is_compelled`]). Nor is an edge a
//! cause by itself.
//!
//! # The same result again
//!
//! With one thread, or [`Search::deterministic`] and any number, a result depends on the table, the
//! settings and the seed alone (a time limit ends it wherever it is; limit
//! [evaluations](Search::evaluations) instead). Free-running threads trade this for speed.
//!
//! # Beside this crate
//!
//! `rlbayes-cli` is the command line, which also coordinates searches over several machines.
//! What is hidden in this documentation is shared with it and with the crates of the cluster, and
//! may change at any time.

pub mod algorithms;
mod bootstrap;
mod cross_validation;
mod folds;
mod found;
mod inference;
mod likelihood;
mod mapping;
mod network;
mod outcome;
mod progress;
mod proof;
mod request;
mod result_file;
mod run;
mod score;
mod search;
mod search_note;
mod settings;
mod side_proof;
mod smoothing;
mod table;

#[doc(hidden)]
pub mod chains;
#[doc(hidden)]
pub mod coordination;
#[doc(hidden)]
pub mod effects;
#[doc(hidden)]
pub mod identity;
#[doc(hidden)]
pub mod journal;
#[doc(hidden)]
pub mod machine;
#[doc(hidden)]
pub mod memory_layout;
#[doc(hidden)]
pub mod provenance;
#[doc(hidden)]
pub mod state_folder;
#[doc(hidden)]
pub mod units;

pub use bootstrap::{
    Bootstrap, BootstrapError, BootstrapProgress, BootstrapRequest, BootstrapRequestError,
    BootstrapSettings, MAX_REPLICATES, Replicate, RowsPerReplicate, Support,
};
pub use coordination::Cooperation;
pub use cross_validation::{
    Candidate, CandidateFigures, CrossValidation, CrossValidationError, cross_validate,
    simplest_within_one_standard_error,
};
#[doc(hidden)]
pub use found::Found;
pub use found::FoundEdge;
pub use inference::{Answer, Predictions};
pub use likelihood::LogLikelihood;
pub use mapping::MappingError;
pub use network::{Fit, Network, NetworkUseError};
pub use outcome::{Outcome, TracePoint};
pub use progress::{Progress, StopHandle};
#[doc(hidden)]
pub use proof::gap_below;
pub use proof::{
    KeptProofError, Proof, ProofFolderError, ProofLimits, ProofProgress, check_proof, prove,
    prove_kept,
};
pub use request::{Field, RequestError, SearchRequest};
#[doc(hidden)]
pub use result_file::write_packed;
pub use rlbayes_common::data::{
    BinRules, Bins, ColumnKind, ColumnReport, ColumnUse, CutPoints, DecimalMark, DeclaredSchema,
    Delimiter, Encoding, LeftOut, LoadError, LoadOptions, LoadReport, MissingPolicy, TableCheck,
    TableFormat, TablePurpose,
};
pub use rlbayes_common::inference::InferenceError;
pub use rlbayes_common::metrics::StructureMetrics;
pub use rlbayes_common::proof::{CertificateError, Checked as CheckedProof};
pub use rlbayes_common::score::LogScore;
pub use rlbayes_common::search::{
    Budget, NamedConstraints, SearchSpec as Algorithm, Stagnation, StoppedBy,
};
pub use rlbayes_common::support::{Alternative, Draw, PairSupport, SupportTable};
pub use run::RunError;
pub use score::Score;
pub use search::{Search, SearchError};
#[doc(hidden)]
pub use settings::Runners;
pub use settings::{Proving, SearchSettings};
#[doc(hidden)]
pub use side_proof::SideProof;
pub use smoothing::ALPHAS;
pub use state_folder::StateFolderError;
pub use table::{Table, TableError};
