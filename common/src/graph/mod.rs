//! Graphs: acyclic by construction, and their equivalence classes.

mod dag;

pub use dag::{Dag, EdgeError, Reach};
