//! The settings of a bootstrap as a caller gives them.

use crate::settings::SearchSettings;
use rlbayes_common::support::Draw;

/// The settings of a bootstrap.
///
/// ```
/// let settings = rlbayes::BootstrapSettings::default();
/// assert_eq!((settings.replicates, settings.threshold), (200, 0.5));
/// ```
#[derive(Clone, Debug)]
pub struct BootstrapSettings {
    /// The search that runs on every replicate: its score, constraints, algorithm, chains and seed,
    /// with threads and memory for all replicates together. Its budget and its start network are
    /// not for replicates: a start near the best network of the full table would make its edges
    /// look certain.
    pub search: SearchSettings,
    /// How many replicates there are.
    pub replicates: u32,
    /// How many rows a replicate has.
    pub rows: RowsPerReplicate,
    /// How rows are drawn.
    pub draw: Draw,
    /// Evaluations of one replicate's search; none: 600 for each pair of variables and direction
    /// (600 n^2), at least 50 000. A replicate always finishes one climb.
    pub evaluations: Option<u64>,
    /// The support from which on an edge is drawn.
    pub threshold: f64,
}

/// How many rows a replicate has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RowsPerReplicate {
    /// As many as the table.
    #[default]
    All,
    /// A share of the table's.
    Share(f64),
    /// A number of them.
    Count(usize),
}

impl Default for BootstrapSettings {
    fn default() -> Self {
        Self {
            search: SearchSettings::default(),
            replicates: 200,
            rows: RowsPerReplicate::All,
            draw: Draw::WithReplacement,
            evaluations: None,
            threshold: 0.5,
        }
    }
}
