//! How sure is each edge: the same search on resampled tables, on threads of one process.
//!
//! A replicate is a function of the settings and its number alone, so any number of threads, in any
//! order, and any number of interruptions give the same support. What a replicate needs is a table
//! of its own and a search of its own: nothing is shared between them but the full table.

mod builder;
mod replicate;
mod request;
mod run;
mod settings;
mod support;

pub use builder::{Bootstrap, BootstrapError};
pub use replicate::Replicate;
pub use request::{BootstrapRequest, BootstrapRequestError, MAX_REPLICATES};
pub use run::BootstrapProgress;
pub use settings::{BootstrapSettings, RowsPerReplicate};
pub use support::Support;
