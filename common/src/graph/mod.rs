//! Graphs: acyclic by construction, and their equivalence classes.

mod closure;
mod cpdag;
mod dag;
mod equivalence;

pub use closure::Closure;
pub use cpdag::{Cpdag, Joined};
#[cfg(test)]
pub(crate) use dag::all_dags;
pub(crate) use dag::edges_of;
pub use dag::{Dag, EdgeError, ReachScratch};
pub use equivalence::StructureKey;
