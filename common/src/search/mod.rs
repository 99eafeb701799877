//! Searches for the network with the highest score.

pub mod baseline;
mod benefits;
mod budget;
mod chain;
mod constraints;
mod operation;
mod pairs;
pub mod paper;
mod params;
mod position;
mod problem;
pub mod rlbayes;
mod saved;
mod settings;

pub use crate::random::Random;
pub(crate) use benefits::family_hash;
pub use benefits::{Benefits, GainingToggles};
pub use budget::{Budget, Spent, Stagnation, StoppedBy};
pub(crate) use chain::save_position;
pub use chain::{Chain, ChainCore, SeedCounts, Seeds, StepOutcome};
pub use constraints::{ConstraintError, ConstraintList, Constraints, NamedConstraints};
pub use operation::Operation;
pub(crate) use pairs::{PairBlocks, Partners};
pub(crate) use params::SearchParams;
pub use params::{ParamError, SearchSpec};
pub use position::Position;
pub use problem::{Evaluator, OutOfBudget, Problem};
pub(crate) use saved::Lists;
pub use saved::{Fields, Name, SavedChain, StateKind, UnfitState};
pub use settings::SettingsError;
pub(crate) use settings::Visitor;

#[cfg(test)]
pub(crate) mod test_tables;
#[cfg(test)]
mod tests;
