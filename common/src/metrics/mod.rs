//! Figures that compare networks.

mod structure;

pub use structure::{StructureMetrics, compare};
