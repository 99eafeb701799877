//! Scores of structures: sums of local scores, higher is better.

mod bdeu;
pub mod by_definition;
mod cache;
mod counted;
mod family_key;
mod family_terms;
mod k2;
mod likelihood;
mod local;
mod log_score;
mod scorer;
mod spec;
mod terms;

pub(crate) use cache::BoundedCache;
pub use cache::CacheStatistics;
pub(crate) use family_key::{FamilyKey, FamilyPacker};
pub(crate) use family_terms::{FamilyTerms, TermTables};
pub use local::{LocalScore, Scratch, Toggles};
pub use log_score::LogScore;
pub use scorer::Scorer;
pub use spec::{ScoreName, ScoreSpec, ScoreSpecError};
