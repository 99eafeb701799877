//! What a coordinator has on its disk: what its commands have stored.

use rlbayes::Replicate;
use rlbayes::coordination::{Command, Progress, SearchPlan, State, Stored};
use rlbayes_common::elite::{EliteRow, Found, Pool};
use rlbayes_common::exchange::StoredChain;
use rlbayes_common::graph::StructureKey;
use rlbayes_common::ids::ChainId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Journal {
    rows: BTreeMap<(ChainId, u8, StructureKey), (Found, EliteRow)>,
    chains: BTreeMap<ChainId, StoredChain>,
    progress: Progress,
    /// Rows that came when the search was over.
    late: Vec<EliteRow>,
    replicates: BTreeMap<u32, Arc<Replicate>>,
}

impl Journal {
    /// Stores what is to be stored, as the event loop does.
    pub(crate) fn store(&mut self, now: Duration, state: &State, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::StoreRows(rows) => {
                    for (chain, found, row) in rows {
                        let key = state.pool().keying().key(&row);
                        let key = (chain, u8::from(found == Found::Stalled), key);
                        self.rows.insert(key, (found, row));
                    }
                }
                Command::StoreOverall(rows) => {
                    let follow = state.plan().replicates > 0;
                    assert!(follow, "{rows:?} of a chain that nobody knows");
                    self.late.extend(rows);
                }
                Command::StoreChain(chain, stored) => {
                    self.chains.insert(chain, stored);
                }
                Command::StoreReplicate(number, replicate) => {
                    let before = self.replicates.insert(number, replicate);
                    assert!(before.is_none(), "replicate {number} is done twice");
                }
                Command::StoreProgress
                | Command::Record(_)
                | Command::Worker(..)
                | Command::Halt
                | Command::Replicates(_)
                | Command::Finished(_) => {}
            }
        }
        // Whatever has changed: counters are acknowledged at once.
        self.progress = state.progress(now);
    }

    /// Drops rows that the pool has dropped.
    pub(crate) fn clear(&mut self, pool: &Pool) {
        let rows = pool.rows().into_iter();
        let keys: Vec<StructureKey> = rows.map(|row| pool.keying().key(row)).collect();
        self.rows.retain(|(_, _, key), _| keys.contains(key));
    }

    pub(crate) fn recovered(&self, plan: SearchPlan) -> State {
        let mut pool = Pool::new(plan.keying);
        for (&(chain, ..), (found, row)) in &self.rows {
            pool.merge(chain, *found, row);
        }
        for row in &self.late {
            pool.merge_overall(row);
        }
        let stored = Stored {
            pool,
            progress: self.progress.clone(),
            chains: self.chains.clone(),
            replicates: self.replicates.clone(),
        };
        State::recovered(plan, stored)
    }
}
