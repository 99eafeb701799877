//! What is stored of a search, and resuming from it.

use super::chains::ChainState;
use super::credit::Credits;
use super::plan::{ChainCount, SearchPlan};
use super::replicates::Doing;
use super::rounds::Rounds;
use super::{CurvePoint, Phase, Progress, RECONNECT_WINDOW, State, Stored};
use rlbayes_common::exchange::{ChainCounters, ChainStatus, Pace, Snapshot, StoredChain};
use rlbayes_common::ids::{ChainId, Incarnation};
use rlbayes_common::search::StoppedBy;
use std::time::Duration;

impl State {
    /// Resumes a search from what was stored of it. A search that had ended stays at its end if the
    /// present budget is used up as well.
    #[must_use]
    pub fn recovered(plan: SearchPlan, stored: Stored) -> Self {
        let Stored {
            pool,
            progress,
            chains,
            replicates,
        } = stored;
        let mut state = Self::new(plan);
        state.replicates = replicates;
        state.rejoin_deadline = RECONNECT_WINDOW;
        state.pool = pool;
        state.record = progress.record;
        state.searched = progress.elapsed;
        state.cpu_time = progress.cpu_time;
        state.rounds = Rounds::at(progress.round);
        state.seeds_sent = progress.seeds_sent;
        state.exchanges = progress.exchanges;
        state.refused_rows = progress.refused_rows;
        if let ChainCount::PerThread(_) = plan.chains {
            let counted = progress.incarnations.iter().map(|&(chain, ..)| chain);
            let with_rows = state.pool.rows_by_chain().map(|(chain, ..)| chain);
            for chain in counted.chain(with_rows) {
                state.chains.entry(chain).or_insert_with(ChainState::new);
            }
        }
        // A free-running chain that was started before continues from the pool.
        for (&id, chain) in &mut state.chains {
            chain.started = state.pool.best_of(id).is_some();
        }
        match plan.pace {
            Pace::Free => {
                for (id, incarnation) in progress.retired {
                    if let Some(chain) = state.chains.get_mut(&id) {
                        chain.counted.retire(incarnation);
                    }
                }
                for (id, incarnation, counters) in progress.incarnations {
                    if let Some(chain) = state.chains.get_mut(&id) {
                        chain.counted.raise(incarnation, counters);
                    }
                }
                state.credits = Credits::waited(progress.waiting);
                state.before = progress.counters.since(state.counted_of_chains());
            }
            Pace::Lockstep => {
                for (id, stored) in chains {
                    if let Some(chain) = state.chains.get_mut(&id) {
                        *chain = ChainState::stored(stored);
                    }
                }
                // What chains have done is theirs, and stored with them; the rest was done by
                // replicates.
                if !state.replicates.is_empty() {
                    state.credits = Credits::waited(progress.waiting);
                    state.before = progress.counters.since(state.counted_of_chains());
                }
            }
        }
        state.total = state.before.plus(state.counted_of_chains());
        if let Some(record) = &mut state.record {
            // A record is stored at once, lockstep chains every few rounds: the work between is
            // repeated.
            record.evaluations = record.evaluations.min(state.total.evaluations);
        }
        if let Some(best) = state.pool.best() {
            let record = state.record.as_ref();
            state.curve.add(CurvePoint {
                at: record.map_or(Duration::ZERO, |record| record.at),
                evaluations: record.map_or(0, |record| record.evaluations),
                score: best.score,
            });
        }
        if let Some(reason) = progress.stopped_by
            && state.is_end(reason)
        {
            if state.owes_replicates(reason) {
                state.begin_replicates(Duration::ZERO, reason, &mut Vec::new());
                return state;
            }
            state.phase = Phase::Finished {
                reason,
                since: Duration::ZERO,
            };
        } else {
            // Limits may have been raised: chains that had used theirs up continue. Others would make
            // the steps that cost nothing and that they would never have come to.
            let [evaluations, iterations] = progress.limits;
            let was_raised = |now: Option<u64>, then: Option<u64>| match (now, then) {
                (Some(now), Some(then)) => now > then,
                _ => true,
            };
            let budget = &state.plan.budget;
            let goes_on = |status| match status {
                ChainStatus::Running => true,
                ChainStatus::Exhausted => false,
                ChainStatus::OutOfEvaluations => was_raised(budget.evaluations, evaluations),
                ChainStatus::OutOfIterations => was_raised(budget.iterations, iterations),
            };
            let none = !state.chains.values().any(|chain| goes_on(chain.status));
            for chain in state.chains.values_mut() {
                if goes_on(chain.status) || none && chain.status != ChainStatus::Exhausted {
                    chain.status = ChainStatus::Running;
                }
            }
        }
        state
    }

    /// Returns what chains have done, as far as it counts.
    fn counted_of_chains(&self) -> ChainCounters {
        let chains = self.chains.iter();
        chains.fold(ChainCounters::default(), |sum, (&id, chain)| {
            let waiting = self.credits.waiting_of(id);
            sum.plus(chain.counted.sum().since(waiting))
        })
    }

    /// Returns whether a stored end still holds under the present budget.
    pub(super) fn is_end(&self, reason: StoppedBy) -> bool {
        let spent = self.spent(Duration::ZERO);
        match reason {
            StoppedBy::Interrupt => false,
            StoppedBy::Stop | StoppedBy::Exhausted | StoppedBy::Proven => true,
            // The last evaluations may not have reached for a step of any chain.
            StoppedBy::Evaluations => {
                let nodes = self.best().map_or(0, |row| row.structure.nodes() as u64);
                let slack = 2 * nodes * (self.chains.len() as u64).max(1);
                let budget = self.plan.budget.evaluations;
                budget.is_some_and(|budget| spent.evaluations.saturating_add(slack) >= budget)
            }
            _ => self.plan.budget.reached(&spent).is_some(),
        }
    }

    /// Returns a lockstep chain's stored state.
    #[must_use]
    pub fn snapshot(&self, chain: ChainId) -> Option<&Snapshot> {
        self.chains.get(&chain)?.snapshot.as_ref()
    }

    /// Returns what is stored of every lockstep chain.
    pub fn stored_chains(&self) -> impl Iterator<Item = (ChainId, StoredChain)> {
        self.chains
            .iter()
            .filter_map(|(&id, chain)| Some((id, chain.to_store()?)))
    }

    fn incarnations(&self) -> Vec<(ChainId, Incarnation, ChainCounters)> {
        let of_chain = |(&id, chain): (&ChainId, &ChainState)| {
            let incarnations = chain.counted.incarnations().to_vec();
            incarnations
                .into_iter()
                .map(move |(incarnation, done)| (id, incarnation, done))
        };
        self.chains.iter().flat_map(of_chain).collect()
    }

    fn retired(&self) -> Vec<(ChainId, Incarnation)> {
        let of_chain = |(&id, chain): (&ChainId, &ChainState)| {
            let retired: Vec<Incarnation> = chain.counted.retired().collect();
            retired
                .into_iter()
                .map(move |incarnation| (id, incarnation))
        };
        self.chains.iter().flat_map(of_chain).collect()
    }

    /// Returns how far the search has come, to be stored.
    #[must_use]
    pub fn progress(&self, now: Duration) -> Progress {
        let (incarnations, retired) = match self.plan.pace {
            // What replicates have done is part of the sum once they are done.
            _ if self.doing != Doing::Search => (Vec::new(), Vec::new()),
            Pace::Free => (self.incarnations(), self.retired()),
            // A chain's counters are its own.
            Pace::Lockstep => (Vec::new(), Vec::new()),
        };
        Progress {
            elapsed: self.elapsed(now),
            cpu_time: self.cpu_time,
            record: self.record.clone(),
            round: self.rounds.round(),
            counters: self.total,
            incarnations,
            retired,
            waiting: self.credits.waiting().into_iter().collect(),
            seeds_sent: self.seeds_sent,
            exchanges: self.exchanges,
            refused_rows: self.refused_rows,
            limits: [self.plan.budget.evaluations, self.plan.budget.iterations],
            stopped_by: self.stopped_by().or(self.doing.search_ended_by()),
        }
    }
}
