//! Searches for the network with the highest score.

mod benefits;
pub mod chain;
mod constraints;
mod explore;
mod position;
mod problem;
mod random;
mod recombine;

pub use benefits::{Benefits, MIN_GAIN};
pub use constraints::{ConstraintError, Constraints, NamedConstraints};
pub use explore::{BurstKind, Explorer, walk_in_class};
pub use position::{Operation, Position};
pub use problem::{Evaluator, OutOfBudget, Problem};
pub use random::Random;
pub use recombine::recombine;
