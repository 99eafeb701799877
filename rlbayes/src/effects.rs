//! What the state machine's commands ask for, gathered: one batch for the journal, new bests to
//! announce, and whether chains should end. Whoever drives the state machine stores the batch before
//! it answers anybody.

use crate::coordination::{Command, State, WorkerChange};
use crate::journal::Batch;
use rlbayes_common::elite::EliteRow;
use std::sync::Arc;
use std::time::Duration;

/// What commands ask for.
#[derive(Debug, Default)]
pub struct Effects {
    /// What is to be stored.
    pub batch: Batch,
    /// New bests, to be announced once they are stored.
    pub records: Vec<EliteRow>,
    /// Whether slices under way should end at their next step.
    pub halt: bool,
}

impl Effects {
    /// Gathers what commands ask for, and logs what is only to be logged.
    #[must_use]
    pub fn of(state: &State, now: Duration, commands: Vec<Command>) -> Self {
        let mut effects = Self::default();
        for command in commands {
            match command {
                Command::StoreRows(rows) => effects.batch.rows.extend(rows),
                Command::StoreOverall(rows) => effects.batch.overall.extend(rows),
                Command::StoreChain(chain, stored) => effects.batch.chains.push((chain, stored)),
                Command::StoreReplicate(number, replicate) => {
                    effects.batch.replicates.push((number, replicate));
                }
                Command::StoreProgress => effects.batch.progress = Some(state.progress(now)),
                Command::Record(row) => effects.records.push(row),
                Command::Worker(worker, change) => match change {
                    WorkerChange::Joined => tracing::info!(%worker, "a worker joined"),
                    WorkerChange::Returned => tracing::info!(%worker, "a worker rejoined"),
                    WorkerChange::Left => tracing::info!(%worker, "a worker left"),
                    WorkerChange::Lost => tracing::warn!(%worker, "a worker was lost"),
                    WorkerChange::Displaced => {
                        tracing::warn!(%worker, "a worker that never reported gave its place to another");
                    }
                    WorkerChange::Replaced => {
                        tracing::info!(%worker, "a worker was restarted");
                    }
                },
                Command::Halt => effects.halt = true,
                Command::Replicates(reason) => {
                    let done = state.replicates().len();
                    let of = state.plan().replicates;
                    tracing::info!(reason = reason.as_str(), done, of, "the replicates begin");
                }
                Command::Finished(reason) => {
                    tracing::info!(reason = reason.as_str(), "the search is finished");
                }
            }
        }
        effects
    }
}

/// Logs a new best, once it is stored.
pub fn log_record(state: &State, now: Duration, row: &EliteRow) {
    let score = row.score.value();
    let at = state.elapsed(now).as_secs_f64();
    tracing::info!(score, at, "record");
}

/// Returns everything there is to store: what is written after a failed write.
#[must_use]
pub fn everything(state: &State, now: Duration) -> Batch {
    let pool = state.pool();
    let of_chains = pool
        .rows_by_chain()
        .map(|(chain, found, row)| (chain, found, row.clone()));
    Batch {
        rows: of_chains.collect(),
        overall: pool.overall().cloned().collect(),
        chains: state.stored_chains().collect(),
        progress: Some(state.progress(now)),
        replicates: state
            .replicates()
            .iter()
            .map(|(&number, it)| (number, Arc::clone(it)))
            .collect(),
        keep_only: None,
    }
}

/// Has a batch drop the stored rows that the pool has dropped.
pub fn drop_stale_rows(state: &State, batch: &mut Batch) {
    let pool = state.pool();
    let keying = pool.keying();
    batch.keep_only = Some(pool.rows().into_iter().map(|row| keying.key(row)).collect());
}
