//! BIF, the Bayesian interchange format: a liberal reader and a strict writer.

mod lexer;
mod portable;
mod read;
mod write;

pub use portable::{PortabilityWarning, portability_warnings};
pub(super) use read::read;
pub(super) use write::write;

#[cfg(test)]
mod tests;
