//! The flags of replicates, shared by `bootstrap` and `learn`.

use crate::constraint_args::ConstraintFiles;
use crate::failure::Failure;
use crate::search_flags::refused;
use clap::Args;
use rlbayes::{
    BootstrapRequest, BootstrapRequestError, BootstrapSettings, Draw, RowsPerReplicate,
    SearchSettings, Table,
};

/// How the table is resampled.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Support of edges by resampling")]
pub(crate) struct ReplicateArgs {
    /// Resampled tables that are searched, to see how many of them have each edge [default: 200 of
    /// bootstrap, none of learn]
    #[arg(long, value_name = "R")]
    pub(crate) replicates: Option<u32>,
    /// Rows of a resampled table: a share such as 0.5, or a number such as 2000 [default: as many as
    /// the table has]
    #[arg(long, value_name = "SHARE|N", value_parser = parse_rows)]
    pub(crate) rows_per_replicate: Option<RowsPerReplicate>,
    /// Draws each row once at most
    #[arg(long)]
    pub(crate) without_replacement: bool,
    /// Evaluations of the search on one resampled table; at least one climb is finished [default: 600
    /// for each pair and direction, at least 50000]
    #[arg(long, value_name = "N")]
    pub(crate) replicate_evaluations: Option<u64>,
    /// Support from which on edges are drawn, and kept where a network is written
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(crate) threshold: f64,
    /// JSON: lists the networks of all resampled tables
    #[arg(long)]
    pub(crate) keep_networks: bool,
}

impl ReplicateArgs {
    /// Returns the settings for a search and a number of replicates.
    pub(crate) fn settings(&self, search: SearchSettings, replicates: u32) -> BootstrapSettings {
        BootstrapSettings {
            search,
            replicates,
            rows: self.rows_per_replicate.unwrap_or_default(),
            draw: match self.without_replacement {
                true => Draw::WithoutReplacement,
                false => Draw::WithReplacement,
            },
            evaluations: self.replicate_evaluations,
            threshold: self.threshold,
        }
    }

    /// Checks the flags against a table, before any work.
    pub(crate) fn check(
        table: &Table,
        settings: &BootstrapSettings,
    ) -> Result<BootstrapRequest, Failure> {
        BootstrapRequest::new(table, settings).map_err(|error| match &error {
            BootstrapRequestError::Replicates(_) => {
                Failure::input(format!("--replicates: {error}"))
            }
            BootstrapRequestError::Rows { .. } => {
                Failure::input(format!("--rows-per-replicate: {error}"))
            }
            BootstrapRequestError::WholeTable(_) => Failure::input(format!(
                "--without-replacement: {error}, by --rows-per-replicate"
            )),
            BootstrapRequestError::Evaluations => {
                Failure::input("--replicate-evaluations must be at least 1")
            }
            BootstrapRequestError::Threshold(_) => Failure::input(format!("--threshold: {error}")),
            BootstrapRequestError::Search(error) => refused(error, &ConstraintFiles::default()),
            error => Failure::input(error),
        })
    }
}

/// A share has a decimal point or is 1; other numbers count rows.
fn parse_rows(text: &str) -> Result<RowsPerReplicate, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "expected a share such as 0.5 or a number of rows".to_owned())?;
    if let Ok(rows) = text.parse::<usize>()
        && rows != 1
    {
        return Ok(RowsPerReplicate::Count(rows));
    }
    Ok(RowsPerReplicate::Share(number))
}
