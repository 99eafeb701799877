//! Replies to workers: which chains they run, and how these continue.

use super::chains::{ChainState, Held};
use super::plan::ChainCount;
use super::{Refusal, State};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainStatus, Exchange, Origin, Pace, Reply, Welcome,
};
use rlbayes_common::ids::{ChainId, Incarnation, WorkerId};

/// Sent to a worker that joins after the end and does not become a member; numbers of members begin
/// at 1. Workers check first whether the search is over.
const NO_MEMBER: WorkerId = WorkerId(0);

impl State {
    /// Returns the reply to a worker that has just joined.
    ///
    /// # Errors
    /// If it could not join.
    pub fn welcome(&self, incarnation: Incarnation) -> Result<Welcome, Refusal> {
        let worker = match self.members.find(incarnation) {
            Some(worker) => worker,
            None if !self.is_running() => NO_MEMBER,
            None => return Err(Refusal::TooManyWorkers),
        };
        Ok(Welcome {
            worker,
            lease: self.plan.lease,
            orders: self.orders(self.held_by(worker)),
            stopped_by: self.stopped_by(),
            work: self.doing.work(),
            more_work: self.more_work(),
        })
    }

    /// Returns whether reports can be taken at all.
    ///
    /// # Errors
    /// If they name a chain that can't be.
    pub fn check(&self, exchange: &Exchange) -> Result<(), Refusal> {
        if exchange.work != self.doing.work() {
            return Ok(());
        }
        match exchange
            .reports
            .iter()
            .find(|report| self.refuses_chain(report.chain))
        {
            Some(report) => Err(Refusal::UnknownChain(report.chain)),
            None => Ok(()),
        }
    }

    /// Returns whether a worker runs a chain.
    ///
    /// # Errors
    /// If it is not a member, there is no such chain, or another worker runs it.
    pub fn check_holder(
        &self,
        worker: WorkerId,
        incarnation: Incarnation,
        chain: ChainId,
    ) -> Result<(), Refusal> {
        if !self.members.has(worker, incarnation) {
            return Err(Refusal::UnknownWorker);
        }
        match self.chains.get(&chain) {
            None => Err(Refusal::UnknownChain(chain)),
            Some(state) if state.is_held_by(worker) => Ok(()),
            Some(_) => Err(Refusal::NotItsChain(chain)),
        }
    }

    /// Returns the reply to an exchange that was applied, with the answers that are there.
    ///
    /// # Errors
    /// If the worker is not a member.
    pub fn reply(
        &self,
        worker: WorkerId,
        incarnation: Incarnation,
        asked: &[(ChainId, u64)],
    ) -> Result<Reply, Refusal> {
        if !self.members.has(worker, incarnation) {
            return Err(Refusal::UnknownWorker);
        }
        let answers = asked
            .iter()
            .filter_map(|&(id, sequence)| {
                self.answer(worker, Some(incarnation), id, sequence)
                    .map(|answer| (id, sequence, answer))
            })
            .collect();
        Ok(Reply {
            answers,
            orders: self.orders(self.pending_for(worker)),
            lease: self.plan.lease,
            // A round that the end came in is finished first, and whoever has no chain of it may be
            // needed for one that is lost.
            stopped_by: self.stopped_by().filter(|_| !self.has_work()),
            more_work: self.more_work(),
        })
    }

    /// Returns the answer to a report; in lockstep it is the same for any process of the worker.
    fn answer(
        &self,
        worker: WorkerId,
        incarnation: Option<Incarnation>,
        id: ChainId,
        sequence: u64,
    ) -> Option<Answer> {
        let Some(chain) = self.chains.get(&id) else {
            return Some(Answer::Revoke);
        };
        let given = chain.answered.as_ref().filter(|last| {
            last.sequence == sequence
                && (self.plan.pace == Pace::Lockstep || last.incarnation == incarnation)
        });
        match given {
            // In lockstep the answer belongs to the chain, and the chain to its holder.
            Some(last) if last.answer == Answer::Stop || chain.is_held_by(worker) => {
                Some(last.answer.clone())
            }
            Some(last) if self.plan.pace == Pace::Free => Some(last.answer.clone()),
            Some(_) => Some(Answer::Revoke),
            None => {
                // A chain that is done reports in no round any more.
                let wrong_round = self.plan.pace == Pace::Lockstep
                    && (sequence != self.rounds.round().0 || chain.status != ChainStatus::Running);
                let reassigned = !chain.is_held_by(worker);
                let is_over = self.plan.pace == Pace::Free && !self.is_running();
                (wrong_round || reassigned).then_some(match is_over {
                    true => Answer::Stop,
                    false => Answer::Revoke,
                })
            }
        }
    }

    /// Returns whether the reply to an exchange has all its answers; in lockstep it may have to wait
    /// for the round's end. It does not wait while the worker itself has yet to report.
    #[must_use]
    pub fn is_answered(&self, worker: WorkerId, asked: &[(ChainId, u64)]) -> bool {
        self.plan.pace == Pace::Free
            || asked
                .iter()
                .all(|&(id, sequence)| self.answer(worker, None, id, sequence).is_some())
            || self.owes_a_report(worker)
    }

    /// Returns whether a worker runs a lockstep chain whose report of this round is not here.
    fn owes_a_report(&self, worker: WorkerId) -> bool {
        self.chains.iter().any(|(&id, chain)| {
            chain.is_held_by(worker)
                && chain.status == ChainStatus::Running
                && !self.rounds.has(id)
                && !self.pending_orders.contains(&(worker, id))
        })
    }

    /// Returns the chains that a worker runs, without those that are done.
    fn held_by(&self, worker: WorkerId) -> Vec<ChainId> {
        let held = self.chains.iter();
        held.filter(|(_, chain)| chain.is_held_by(worker) && chain.status == ChainStatus::Running)
            .map(|(&id, _)| id)
            .collect()
    }

    /// Returns the chains that were assigned to a worker and that it has not reported on yet.
    fn pending_for(&self, worker: WorkerId) -> Vec<ChainId> {
        let all = (worker, ChainId(0))..=(worker, ChainId(u32::MAX));
        self.pending_orders
            .range(all)
            .map(|&(_, chain)| chain)
            .collect()
    }

    fn orders(&self, chains: Vec<ChainId>) -> Vec<ChainOrder> {
        if !self.has_work() {
            return Vec::new();
        }
        let held = chains.into_iter().filter_map(|id| {
            let held = self.chains.get(&id)?.held.as_ref()?;
            Some((id, held))
        });
        held.map(|(chain, held)| ChainOrder {
            chain,
            sequence: match self.plan.pace {
                Pace::Lockstep => self.rounds.round().0,
                Pace::Free => 0,
            },
            evaluations: self.left(chain, self.plan.budget.evaluations, |c| c.evaluations),
            iterations: self.left(chain, self.plan.budget.iterations, |c| c.iterations),
            origin: self.origin_now(chain, held),
        })
        .collect()
    }

    /// Returns where a chain begins. In lockstep that is the last barrier of today, not the one at
    /// which the chain was given away: a round may have ended before the order was taken up.
    fn origin_now(&self, chain: ChainId, held: &Held) -> Origin {
        let barrier = match self.plan.pace {
            Pace::Lockstep => self.chains.get(&chain).and_then(ChainState::barrier),
            Pace::Free => None,
        };
        barrier.unwrap_or_else(|| held.origin.clone())
    }

    /// Returns how much of a budget is left for a chain, so that all together keep it; none where
    /// nothing is limited.
    pub(super) fn left(
        &self,
        chain: ChainId,
        budget: Option<u64>,
        figure: impl Fn(&ChainCounters) -> u64,
    ) -> Option<u64> {
        let share = self.share_of(chain, budget, &figure)?;
        let claimed = self.chains.get(&chain).map(|chain| chain.counted.sum());
        let used = claimed.map(|claimed| claimed.since(self.credits.waiting_of(chain)));
        Some(share.saturating_sub(used.as_ref().map_or(0, figure)))
    }

    /// Returns how much of a budget a chain may use in all; none where nothing is limited.
    pub(super) fn share_of(
        &self,
        chain: ChainId,
        budget: Option<u64>,
        figure: impl Fn(&ChainCounters) -> u64,
    ) -> Option<u64> {
        let (Some(budget), ChainCount::Fixed(chains)) = (budget, self.plan.chains) else {
            return None;
        };
        let left = budget.saturating_sub(figure(&self.before));
        Some(share(left, chains, chain))
    }
}

/// Divides a budget among chains; the first ones get what does not divide evenly.
fn share(budget: u64, chains: u32, chain: ChainId) -> u64 {
    let chains = u64::from(chains.max(1));
    budget / chains + u64::from(u64::from(chain.0) < budget % chains)
}
