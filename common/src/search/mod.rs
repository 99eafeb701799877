//! Searches for the network with the highest score.

mod benefits;
mod constraints;
mod position;
mod problem;
mod random;

pub use benefits::{Benefits, MIN_GAIN};
pub use constraints::{ConstraintError, Constraints, NamedConstraints};
pub use position::{Operation, Position};
pub use problem::{Evaluator, OutOfBudget, Problem};
pub use random::Random;
