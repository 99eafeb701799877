//! Graphs: acyclic by construction, and their equivalence classes.

mod closure;
mod dag;
mod equivalence;

pub use closure::Closure;
#[cfg(test)]
pub(crate) use dag::all_dags;
pub(crate) use dag::edges_of;
pub use dag::{Dag, EdgeError, ReachScratch};
pub use equivalence::{Cpdag, Joined, StructureKey};
