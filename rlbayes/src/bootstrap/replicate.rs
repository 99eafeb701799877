//! One search from beginning to end on the calling thread: the chains take turns, in rounds, with
//! the coordination's own state machine between them. It finds what `learn --threads 1` finds, but for
//! exact ties: which of several best classes it takes is drawn.

use crate::chains::RunningChain;
use crate::coordination::{Event, State};
use crate::progress::StopHandle;
use crate::request::SearchRequest;
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::exchange::{ChainCounters, Exchange, Hello, Work, WorkerStatistics};
use rlbayes_common::ids::{Incarnation, Seed, WorkerId};
use rlbayes_common::random::Random;
use rlbayes_common::score::LogScore;
use std::sync::Arc;
use std::time::Duration;

/// The best network that was found on one resampled table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicate {
    /// The network.
    pub structure: Structure,
    /// Its score on the resampled table.
    pub score: LogScore,
    /// Whether its evaluations sufficed for the first climb. If not, the climb was finished all the
    /// same.
    pub finished: bool,
}

const INCARNATION: Incarnation = Incarnation(1);
/// No clock reaches a replicate: its limits are counted.
const NOW: Duration = Duration::ZERO;

/// Searches, and counts what it took; none if it was stopped.
pub(super) fn search(
    request: &SearchRequest,
    stop: &StopHandle,
) -> Option<(Replicate, ChainCounters)> {
    let problem = request.problem();
    let maker = request.chain_maker(Arc::clone(&problem));
    let mut state = State::new(request.plan(false));
    let orders = join(&mut state);
    let worker = orders.0;
    let mut chains: Vec<RunningChain> = orders
        .1
        .iter()
        .map(|order| RunningChain::new(maker.start(order.chain, None), order, request.slices()))
        .map(|chain| chain.cut_by(Arc::clone(stop.flag())))
        .collect();
    while chains.iter().any(|chain| !chain.is_stopped()) {
        let mut reports = Vec::new();
        for chain in chains.iter_mut().filter(|chain| !chain.is_stopped()) {
            if stop.is_stopped() {
                return None;
            }
            if chain.is_ready() {
                chain.run_slice(stop.flag(), || false);
            }
            reports.push(chain.report(NOW));
        }
        let answered: Vec<_> = reports
            .iter()
            .map(|report| (report.chain, report.sequence))
            .collect();
        state.apply(NOW, Event::Tick);
        let exchange = Exchange {
            worker,
            incarnation: INCARNATION,
            work: Work::Search,
            reports,
            statistics: WorkerStatistics::default(),
        };
        state.apply(NOW, Event::Exchange(exchange));
        let Ok(reply) = state.reply(worker, INCARNATION, &answered) else {
            break;
        };
        if reply.answers.is_empty() {
            debug_assert!(false, "every chain that reports is answered");
            break;
        }
        for (id, _, answer) in reply.answers {
            if let Some(chain) = chains.iter_mut().find(|chain| chain.id() == id) {
                chain.take(answer);
            }
        }
    }
    if stop.is_stopped() {
        return None;
    }
    // Reports of a round that was the last one hold all that was found.
    let found = draw_best(&state, request);
    let finished = chains.iter().any(RunningChain::has_climbed);
    let counters = state.counters();
    if finished && let Some(row) = found {
        let replicate = Replicate {
            structure: row.structure,
            score: row.score,
            finished,
        };
        return Some((replicate, counters));
    }
    // Too few evaluations for one climb: without this the network would be empty, or nearly so.
    let row = chains.into_iter().next().map(RunningChain::finish_climb);
    if stop.is_stopped() {
        return None;
    }
    let row = row.flatten().unwrap_or_else(|| request.start_row(&problem));
    let replicate = Replicate {
        structure: row.structure,
        score: row.score,
        finished: false,
    };
    Some((replicate, counters))
}

/// Returns one of the best networks. The pool orders equal scores by a hash of the class, the same in
/// every replicate: taking the first would turn a coin toss between classes into support 1.
fn draw_best(state: &State, request: &SearchRequest) -> Option<EliteRow> {
    /// Keeps the draw apart from those of chains.
    const TIE: u64 = 0x7469_6521;
    let best = state.best()?.score;
    let equal: Vec<&EliteRow> = state
        .pool()
        .overall()
        .filter(|row| row.score == best)
        .collect();
    let mut random = Random::new(Seed(request.seed()).mix(TIE));
    random.pick(&equal).map(|&row| row.clone())
}

/// Enters the calling thread as the one worker.
fn join(state: &mut State) -> (WorkerId, Vec<rlbayes_common::exchange::ChainOrder>) {
    let hello = Hello {
        incarnation: INCARNATION,
        replaces: None,
        host: String::new(),
        threads: 1,
        memory: None,
        program_version: String::new(),
        chains: Vec::new(),
        search: None,
        work: Work::Search,
        peer: None,
    };
    state.apply(NOW, Event::Join(hello));
    let welcome = state.welcome(INCARNATION);
    welcome.map_or((WorkerId(0), Vec::new()), |welcome| {
        (welcome.worker, welcome.orders)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Search, SearchSettings, Table};
    use rlbayes_common::search::Budget;

    #[test]
    fn it_finds_what_a_search_with_one_thread_finds() {
        for (table, evaluations) in [("asia", 60_000), ("child", 240_000), ("insurance", 500_000)] {
            let path = format!(
                "{}/../data/{table}_n1000_s1.csv.gz",
                env!("CARGO_MANIFEST_DIR")
            );
            let table = Table::read(path).unwrap();
            for seed in 1..3 {
                let settings = SearchSettings {
                    seed,
                    threads: Some(1),
                    deterministic: true,
                    memory: Some(256 << 20),
                    round_evaluations: 20_000,
                    budget: Budget {
                        evaluations: Some(evaluations),
                        ..Budget::default()
                    },
                    ..SearchSettings::default()
                };
                let expected = Search::with(&table, settings.clone()).run().unwrap();
                let request = SearchRequest::new(&table, &settings).unwrap();
                let (found, _) = search(&request, &StopHandle::default()).unwrap();
                assert_eq!(found.score, expected.found().best.score);
                assert_eq!(
                    found.structure.class_key(),
                    expected.found().best.structure.class_key()
                );
                assert!(found.finished);
            }
        }
    }
}
