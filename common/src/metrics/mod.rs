//! Figures that compare networks.

mod structure;

pub use structure::{ClassDifference, StructureMetrics, class_differences, compare};
