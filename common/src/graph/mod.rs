//! Graphs: acyclic by construction, and their equivalence classes.

mod closure;
mod dag;
mod equivalence;

pub use closure::Closure;
pub use dag::{Dag, EdgeError, ReachScratch};
pub use equivalence::{Cpdag, Joined, StructureKey};
