//! Each law is broken once, and the checker says so; a history that keeps them all passes.

use super::*;
use rlbayes_common::elite::{Keying, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::score::LogScore;
use rlbayes_proto::v1;
use std::time::Duration;

const FREE: Pace = Pace::Free;

fn status(change: impl FnOnce(&mut v1::StatusReply)) -> Outcome {
    let mut status = v1::StatusReply {
        best_score: Some(-10.0),
        iterations: 10,
        evaluations: 100,
        computed: 50,
        seeds_received: 4,
        seeds_entered: 3,
        seeds_made_current: 2,
        seeds_sent: 5,
        elapsed_seconds: 7.5,
        replicates_done: 1,
        round: 3,
        exchanges: 8,
        refused_rows: 9,
        ..Default::default()
    };
    change(&mut status);
    Outcome::Shown(Box::new(Figures::of_status(&status)))
}

fn row(edges: &[(usize, usize)], score: f64) -> EliteRow {
    let edges = edges
        .iter()
        .map(|&(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
    EliteRow {
        structure: Structure::of(&Dag::from_edges(6, edges).unwrap()),
        score: LogScore::new(score),
    }
}

fn work(run: Run, evaluations: u64, finds: Vec<(Found, EliteRow)>) -> Work {
    Work {
        run,
        counters: Some(ChainCounters {
            evaluations,
            ..Default::default()
        }),
        finds,
    }
}

fn of_process(chain: u32, process: u64, evaluations: u64) -> Work {
    work(
        Run::OfProcess(ChainId(chain), process),
        evaluations,
        Vec::new(),
    )
}

fn acknowledged(history: &History, work: Work) {
    let asked = history.send("a worker", vec![work.clone()]);
    asked.answered(Outcome::Acknowledged(vec![work]));
}

fn held(pool: Pool, replicates: &[(u32, &EliteRow)]) -> Outcome {
    let key = |(number, row): &(u32, &EliteRow)| (*number, row.structure.own_key());
    Outcome::Held(Box::new(Held {
        figures: Figures::default(),
        pool,
        replicates: replicates.iter().map(key).collect(),
    }))
}

fn pool(rows: &[(u32, Found, &EliteRow)]) -> Pool {
    let mut pool = Pool::new(Keying::ByClass);
    for (chain, found, row) in rows {
        pool.merge(ChainId(*chain), *found, row);
    }
    pool
}

fn laws(history: &History) -> Vec<String> {
    check(history, Budgets::default())
}

/// Expects that exactly one law is broken, in these words.
fn refused(history: &History, budgets: Budgets, words: &str) {
    let broken = check(history, budgets);
    assert!(
        broken.len() == 1 && broken[0].contains(words),
        "{broken:?}, not {words:?}"
    );
}

#[test]
fn a_history_that_keeps_its_promises_passes() {
    let history = History::default();
    let best = row(&[(0, 1)], -9.0);
    history.note("a status", status(|_| {}));
    let slow = history.ask("a slow status");
    acknowledged(
        &history,
        work(
            Run::OfProcess(ChainId(0), 1),
            60,
            vec![(Found::Best, best.clone())],
        ),
    );
    // It was asked for before the work was acknowledged.
    slow.answered(status(|_| {}));
    acknowledged(&history, of_process(0, 2, 60));
    history.note(
        "a later status",
        status(|status| {
            status.best_score = Some(-9.0);
            status.evaluations = 120;
        }),
    );
    history.note("a pool", held(pool(&[(0, Found::Best, &best)]), &[]));
    // What nobody has answered is not certain.
    let _lost = history.send("a worker", vec![of_process(0, 3, 1_000)]);
    history.note(
        "the end",
        status(|status| {
            status.best_score = Some(-9.0);
            status.evaluations = 120;
            status.stopped_by = "time".to_owned();
            status.state = "finished".to_owned();
        }),
    );
    let budgets = Budgets {
        evaluations: Some(100),
        time: Some(Duration::from_secs(8)),
    };
    assert_eq!(laws(&history), [""; 0]);
    let within = Budgets {
        evaluations: Some(120),
        ..budgets
    };
    assert_eq!(check(&history, within), [""; 0]);
    assert_eq!(history.counts(), (8, 7));
}

/// A figure of a status that is taken back.
fn taken_back(words: &str, change: impl FnOnce(&mut v1::StatusReply)) {
    let history = History::default();
    let all_set = |status: &mut v1::StatusReply| {
        status.stopped_by = "stop".to_owned();
        status.state = "finished".to_owned();
    };
    history.note("one", status(all_set));
    let later = status(|status| {
        all_set(status);
        change(status);
    });
    history.note("another", later);
    refused(&history, Budgets::default(), words);
}

#[test]
fn every_figure_that_is_taken_back_is_refused() {
    taken_back("best score -10.5 after -10", |it| {
        it.best_score = Some(-10.5)
    });
    taken_back("best score -inf after -10", |it| it.best_score = None);
    taken_back("iterations 9 after 10", |it| it.iterations = 9);
    taken_back("evaluations 99 after 100", |it| it.evaluations = 99);
    taken_back("computed 49 after 50", |it| it.computed = 49);
    taken_back("seeds received 3 after 4", |it| it.seeds_received = 3);
    taken_back("seeds entered 2 after 3", |it| it.seeds_entered = 2);
    taken_back("seeds made current 1 after 2", |it| {
        it.seeds_made_current = 1
    });
    taken_back("seeds sent 4 after 5", |it| it.seeds_sent = 4);
    taken_back("elapsed seconds 7.4 after 7.5", |it| {
        it.elapsed_seconds = 7.4
    });
    taken_back("replicates 0 after 1", |it| it.replicates_done = 0);
    taken_back("round 2 after 3", |it| it.round = 2);
    taken_back("end of the search 0 after 1", |it| it.stopped_by.clear());
    taken_back("finished 0 after 1", |it| it.state = "running".to_owned());
    taken_back("exchanges 7 after 8", |it| it.exchanges = 7);
    taken_back("refused rows 0 after 9", |it| it.refused_rows = 0);
}

#[test]
fn a_status_after_an_acknowledgement_that_shows_less_is_refused() {
    let history = History::default();
    acknowledged(&history, of_process(0, 1, 70));
    acknowledged(&history, of_process(0, 2, 20));
    acknowledged(&history, of_process(1, 2, 20));
    // Late and repeated.
    acknowledged(&history, of_process(0, 1, 60));
    history.note("a status", status(|status| status.evaluations = 109));
    refused(&history, Budgets::default(), "evaluations 109 after 110");
}

#[test]
fn a_status_without_the_best_that_was_acknowledged_is_refused() {
    let history = History::default();
    let find = vec![(Found::Best, row(&[], -9.5))];
    acknowledged(&history, work(Run::OfChain(ChainId(0)), 1, find));
    history.note("a status", status(|_| {}));
    refused(&history, Budgets::default(), "best score -10 after -9.5");
}

#[test]
fn a_search_that_continues_after_it_was_stopped_is_refused() {
    let history = History::default();
    history.note("a person", Outcome::Stopped);
    history.note("a status", status(|_| {}));
    refused(&history, Budgets::default(), "end of the search 0 after 1");
}

#[test]
fn a_result_that_is_older_than_a_status_is_refused() {
    let history = History::default();
    history.note("a status", status(|_| {}));
    let result = serde_json::json!({"score": -10.25, "evaluations": 100, "seconds": 7.5});
    history.note(
        "a result",
        Outcome::Shown(Box::new(Figures::of_result(&result))),
    );
    refused(
        &history,
        Budgets::default(),
        "a result (at 3): best score -10.25",
    );
}

#[test]
fn metrics_that_are_older_than_a_status_are_refused() {
    let history = History::default();
    history.note("a status", status(|_| {}));
    let text = "# HELP x\nrlbayes_best_score -10\nrlbayes_evaluations_total 42\n# EOF\n";
    history.note(
        "metrics",
        Outcome::Shown(Box::new(Figures::of_metrics(text))),
    );
    refused(&history, Budgets::default(), "evaluations 42 after 100");
}

#[test]
fn a_page_that_is_older_than_a_status_is_refused() {
    let history = History::default();
    history.note("a status", status(|_| {}));
    let page = serde_json::json!({
        "best_score": -10.0, "iterations": 10, "evaluations": 100, "computed": 50, "round": 3,
        "seeds": {"sent": 5, "received": 4, "entered": 3, "made_current": 1},
        "elapsed_seconds": 7.5, "replicates": {"done": 1, "of": 2}, "state": "running",
        "exchanges": 8, "refused_rows": 9,
    });
    history.note("a page", Outcome::Shown(Box::new(Figures::of_json(&page))));
    refused(&history, Budgets::default(), "seeds made current 1 after 2");
}

#[test]
fn an_acknowledged_row_that_is_gone_is_refused() {
    let history = History::default();
    let (lost, other) = (row(&[(0, 1)], -9.0), row(&[(1, 2)], -8.0));
    // Only its row was taken: no chain need have it.
    let mut taken = work(Run::OfProcess(ChainId(0), 1), 1, vec![(Found::Best, lost)]);
    taken.counters = None;
    acknowledged(&history, taken);
    history.note("a restart", held(pool(&[(1, Found::Best, &other)]), &[]));
    refused(
        &history,
        Budgets::default(),
        "1 acknowledged rows are missing",
    );
}

#[test]
fn a_chain_that_has_lost_its_row_is_refused_though_another_has_it() {
    let history = History::default();
    let (own, other) = (row(&[(0, 1)], -9.0), row(&[(1, 2)], -9.5));
    let finds = vec![(Found::Stalled, own.clone())];
    acknowledged(&history, work(Run::OfProcess(ChainId(0), 1), 1, finds));
    let rows = [(0, Found::Best, &other), (1, Found::Stalled, &own)];
    history.note("a restart", held(pool(&rows), &[]));
    let broken = laws(&history);
    assert_eq!(broken.len(), 2, "its best and its stalled row: {broken:?}");
    assert!(broken.iter().all(|law| law.contains("chain 0 has lost")));
}

#[test]
fn a_row_that_better_ones_have_displaced_is_not_missed() {
    let history = History::default();
    let old = row(&[(0, 1)], -9.0);
    let finds = vec![(Found::Best, old)];
    acknowledged(&history, work(Run::OfProcess(ChainId(0), 1), 1, finds));
    let edges = (0..6).flat_map(|to| (0..to).map(move |from| (from, to)));
    let pairs = edges
        .clone()
        .flat_map(|one| edges.clone().map(move |two| [one, two]));
    let better: Vec<EliteRow> = pairs
        .filter(|pair| pair[0] < pair[1])
        .zip(1u32..)
        .map(|(pair, number)| row(&pair, -8.0 + f64::from(number) / 1000.0))
        .collect();
    let rows: Vec<_> = better.iter().map(|row| (0, Found::Best, row)).collect();
    let full = pool(&rows);
    assert_eq!(full.overall().count(), Pool::OVERALL);
    history.note("a restart", held(full, &[]));
    assert_eq!(laws(&history), [""; 0]);
}

#[test]
fn a_replicate_that_is_gone_or_another_is_refused() {
    for found in [None, Some(row(&[(1, 2)], -9.0))] {
        let history = History::default();
        let finds = vec![(Found::Best, row(&[(0, 1)], -9.0))];
        acknowledged(&history, work(Run::Replicate(3), 10, finds));
        let replicates: Vec<_> = found.iter().map(|row| (3, row)).collect();
        history.note("a restart", held(pool(&[]), &replicates));
        refused(
            &history,
            Budgets::default(),
            "replicate 3 is missing or another",
        );
    }
}

#[test]
fn a_search_that_continues_beyond_its_budget_is_refused() {
    let history = History::default();
    history.note("a status", status(|_| {}));
    let evaluations = Budgets {
        evaluations: Some(99),
        time: None,
    };
    refused(&history, evaluations, "continues with evaluations 100");
    let time = Budgets {
        evaluations: None,
        time: Some(Duration::from_millis(6_900)),
    };
    refused(&history, time, "continues with elapsed seconds 7.5");
}

#[test]
fn evaluations_that_were_forgotten_and_spent_again_are_refused() {
    let history = History::default();
    // Two processes that report 100 at a time: each may be two reports late.
    for process in [1, 2] {
        for evaluations in [100, 200, 300, 400] {
            acknowledged(&history, of_process(0, process, evaluations));
        }
    }
    let with = |evaluations| Budgets {
        evaluations: Some(evaluations),
        time: None,
    };
    assert_eq!(check(&history, with(400)), [""; 0]);
    refused(&history, with(399), "800 evaluations were acknowledged");
}

#[test]
fn an_answer_acknowledges_all_or_the_rows_or_nothing() {
    let sent = of_process(0, 1, 10);
    let stop = Some(&Answer::Stop);
    let all = sent.clone().acknowledged_by(stop, FREE).unwrap();
    assert!(all.counters.is_some());
    for answer in [None, Some(&Answer::Revoke)] {
        let rows = sent.clone().acknowledged_by(answer, FREE).unwrap();
        assert!(rows.counters.is_none());
        let nothing = sent.clone().acknowledged_by(answer, Pace::Lockstep);
        assert!(nothing.is_none());
    }
}
