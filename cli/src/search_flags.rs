//! The flags that describe a search, shared by `learn` and `coordinator`: they become the library's
//! settings, and what the library refuses is reported by flag and file.

use crate::args::{BudgetArgs, ResourceArgs, ScoreArgs, SearchArgs};
use crate::constraint_args::{ConstraintArgs, ConstraintFiles};
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::units::{counted, show_bytes};
use clap::Args;
use rlbayes::coordination::Cooperation;
use rlbayes::{Field, RequestError, Runners, SearchRequest, SearchSettings, Table};

/// What is searched, how, and for how long.
#[derive(Args, Clone, Debug)]
pub(crate) struct SearchFlags {
    #[command(flatten)]
    score: ScoreArgs,
    #[command(flatten)]
    constraints: ConstraintArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

impl SearchFlags {
    /// Adds the files that are read.
    pub(crate) fn reads(&self, roles: FileRoles) -> FileRoles {
        self.constraints.reads(roles)
    }

    /// Checks the flags against a table. Constraint files are read here, once.
    pub(crate) fn request(
        &self,
        table: &Table,
        runners: Runners,
        cooperation: Cooperation,
    ) -> Result<(SearchSettings, SearchRequest), Failure> {
        let files = self.constraints.read()?;
        let settings = SearchSettings {
            score: self.score.score(),
            penalty_scale: self.score.penalty_scale,
            constraints: files.named.clone(),
            start: files.start(),
            algorithm: self.search.algorithm(),
            seed: self.search.seed,
            budget: self.budget.budget()?,
            runners,
            threads: self.resources.threads,
            chains: self.resources.chains,
            memory: self.resources.memory,
            deterministic: self.resources.deterministic,
            round_evaluations: self.resources.round_evaluations,
            cooperation,
            ..SearchSettings::default()
        };
        let request =
            SearchRequest::new(table, &settings).map_err(|error| refused(&error, &files))?;
        Ok((settings, request))
    }
}

/// Says what is wrong, naming the flag or the file.
pub(crate) fn refused(error: &RequestError, files: &ConstraintFiles) -> Failure {
    match error {
        RequestError::Zero(field) => {
            let flag = match field {
                Field::Threads => "--threads",
                Field::Chains => "--chains",
                Field::RoundEvaluations => "--round-evaluations",
                other => return Failure::input(format!("{other} must be at least 1")),
            };
            Failure::input(format!("{flag} must be at least 1"))
        }
        RequestError::Constraint(error) => files.refused(error),
        RequestError::UnknownStartNode(name) => {
            let what = format!("the node \"{name}\" is not a column of the table");
            match files.start_path() {
                Some(path) => Failure::file(path, what),
                None => Failure::input(what),
            }
        }
        RequestError::MemoryForChains {
            chains,
            needed,
            memory,
        } => Failure::input(format!(
            "{} on this table need {} (--memory is {})",
            counted(*chains, "chain"),
            show_bytes(*needed),
            show_bytes(*memory)
        )),
        RequestError::CpuTimeOfWorkers => Failure::input(
            "--cpu-time is for a search in one process; on a cluster use --time or --evaluations",
        ),
        RequestError::NoCpuTime => Failure::input(
            "--cpu-time: this system does not report processor time; use --time or --evaluations",
        ),
        RequestError::Memory { needed, memory } => Failure::input(format!(
            "a search on this table needs at least {} (--memory is {})",
            show_bytes(*needed),
            show_bytes(*memory)
        )),
        other => Failure::input(other),
    }
}
