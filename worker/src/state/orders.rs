//! The chains that a coordinator orders: each is run once, from its checkpoint, from a stored state
//! that is fetched first, or from the start.

use super::action::{Action, Begin, LogEvent};
use super::settings::SessionError;
use super::working::{Call, Run, Working};
use crate::link::LinkError;
use rlbayes_common::exchange::{ChainOrder, Origin, Pace, RunSequence, Snapshot};
use rlbayes_common::ids::ChainId;
use rlbayes_common::search::Seeds;
use rlbayes_common::snapshot::decode_chain;

impl Working {
    /// Runs chains as ordered.
    pub(super) fn take_orders(&mut self, orders: Vec<ChainOrder>, actions: &mut Vec<Action>) {
        self.orders.extend(orders);
        self.run_next(actions);
    }

    /// Runs the chains that are ordered, up to the first whose state must be fetched.
    fn run_next(&mut self, actions: &mut Vec<Action>) {
        while let Some(order) = self.orders.pop_front() {
            if self.runs_already(&order) {
                continue;
            }
            let begin = match &order.origin {
                &Origin::Stored { digest, .. } => {
                    actions.push(Action::FetchChain(order.chain, digest));
                    self.call = Some(Call::FetchChain(order));
                    return;
                }
                Origin::Start => self.resume_or_start(order.chain, None, actions),
                Origin::Pool(seeds) => {
                    let seeds = Some(seeds.clone());
                    self.resume_or_start(order.chain, seeds, actions)
                }
            };
            self.run(order, begin, actions);
        }
    }

    /// Returns whether an order repeats one. A chain that was told to stop is begun anew: the
    /// coordinator has forgotten its end.
    fn runs_already(&self, order: &ChainOrder) -> bool {
        self.running.get(&order.chain).is_some_and(|run| {
            !run.stopped && (self.pace == Pace::Free || run.round == order.sequence)
        })
    }

    /// Begins a chain at its checkpoint, if there is one.
    fn resume_or_start(
        &mut self,
        chain: ChainId,
        seeds: Option<Seeds>,
        actions: &mut Vec<Action>,
    ) -> Begin {
        match self.checkpoints.remove(&chain) {
            Some(saved) => {
                actions.push(Action::Log(LogEvent::ResumedFromCheckpoint(chain)));
                Begin::Resume(Box::new(saved), None)
            }
            None => Begin::Start(seeds),
        }
    }

    /// Runs a chain whose state was fetched, and those that are ordered after it. If it could not
    /// be fetched, the order comes again with the next reply.
    ///
    /// # Errors
    /// If it can't be read: it is what the coordinator has stored, and would be no other next time.
    pub(super) fn take_state(
        &mut self,
        order: ChainOrder,
        fetched: Result<Snapshot, LinkError>,
        actions: &mut Vec<Action>,
    ) -> Result<(), SessionError> {
        match fetched.map(|snapshot| decode_chain(snapshot.bytes(), self.nodes)) {
            Ok(Ok(saved)) => {
                let seeds = match &order.origin {
                    Origin::Stored { seeds, .. } => seeds.clone(),
                    Origin::Start | Origin::Pool(_) => None,
                };
                self.run(order, Begin::Resume(Box::new(saved), seeds), actions);
            }
            Ok(Err(error)) => {
                return Err(SessionError::State(order.chain, error.to_string()));
            }
            Err(error) => {
                actions.push(Action::Log(LogEvent::StateNotFetched(order.chain, error)));
            }
        }
        self.run_next(actions);
        Ok(())
    }

    fn run(&mut self, mut order: ChainOrder, begin: Begin, actions: &mut Vec<Action>) {
        match self.pace {
            Pace::Lockstep => self.outbox.drop_chain(order.chain),
            Pace::Free => {
                let runs = self.runs.entry(order.chain).or_default();
                order.sequence = RunSequence::first(*runs);
                *runs += 1;
            }
        }
        let run = Run {
            round: order.sequence,
            stopped: false,
        };
        self.running.insert(order.chain, run);
        actions.push(Action::Run(order, begin));
    }
}
