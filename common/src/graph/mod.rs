//! Graphs: acyclic by construction, and their equivalence classes.

mod dag;
mod equivalence;

pub use dag::{Dag, EdgeError, Reach};
pub use equivalence::{Cpdag, Joined, StructureKey};
