//! Scores of structures: sums of local scores, higher is better.

pub mod by_definition;
mod cache;
mod family_key;
mod local;
mod log_score;
mod spec;
mod terms;

pub(crate) use cache::BoundedCache;
pub use cache::CacheStatistics;
pub(crate) use family_key::{FamilyKey, FamilyPacker};
pub use local::{Additions, Scorer};
pub use log_score::LogScore;
pub use spec::{ScoreName, ScoreSpec, ScoreSpecError};
