//! The library as a person uses it: run, watch, stop, continue, constrain, compare.

#![expect(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "tests and their helpers; equal scores have equal bits"
)]

use rlbayes::{
    Algorithm, Fit, LogScore, Network, Proving, RequestError, RunError, Score, Search, SearchError,
    SearchSettings, StateFolderError, StopHandle, StoppedBy, Table,
};
use rlbayes_common::data::{Schema, Table as Data, Variable};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../data")
        .join(name)
}

fn asia() -> Table {
    Table::read(data("asia_n1000_s1.csv.gz")).unwrap()
}

fn alarm() -> Table {
    Table::read(data("alarm.csv")).unwrap()
}

#[test]
fn a_table_becomes_a_fitted_network_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let found = Search::on(&asia())
        .score(Score::Bic)
        .threads(2)
        .evaluations(100_000)
        .run()
        .unwrap();
    assert!(
        (found.score() + 2281.253).abs() < 0.001,
        "{}",
        found.score()
    );
    for name in [
        "asia.bif",
        "asia.bif.gz",
        "asia.xml",
        "asia.json",
        "asia.svg",
        "asia.csv",
    ] {
        let path = folder.path().join(name);
        found
            .network(Fit::Smoothed(1.0))
            .unwrap()
            .write(&path)
            .unwrap();
        if !name.ends_with("svg") {
            let read = Network::read(&path).unwrap();
            assert_eq!(read.edges(), found.edges(), "{name}");
        }
    }
    let parts = found
        .structure()
        .score_by_node(&asia(), Score::Bic)
        .unwrap();
    let total: f64 = parts.iter().map(|(_, part)| part).sum();
    assert_eq!(total, found.score());
    let (best, network) = &found.pool()[0];
    assert_eq!((*best, network.edges()), (found.score(), found.edges()));
    assert!(
        found
            .structure()
            .write(folder.path().join("asia.bif"))
            .is_err()
    );
    assert!(
        found
            .structure()
            .write(folder.path().join("asia.doc"))
            .is_err()
    );
}

#[test]
fn progress_is_shown_and_the_trace_rises() {
    let mut scores = Vec::new();
    let found = Search::on(&alarm())
        .threads(2)
        .evaluations(3_000_000)
        .on_progress(|progress| scores.extend(progress.best_score))
        .run()
        .unwrap();
    assert!(scores.is_sorted(), "{scores:?}");
    assert_eq!(scores.last().copied(), Some(found.score()));
    let trace = found.trace();
    assert!(trace.is_sorted_by(|a, b| a.score < b.score && a.evaluations <= b.evaluations));
    assert_eq!(trace.last().map(|point| point.score), Some(found.score()));
    assert_eq!(found.stopped_by(), StoppedBy::Evaluations);
    assert!(found.evaluations() <= 3_000_000 && found.computed() <= found.evaluations());
}

#[test]
fn a_search_is_stopped_from_another_thread_with_one_thread_and_with_two() {
    for threads in [1, 2] {
        let stop = StopHandle::default();
        let elsewhere = stop.clone();
        let begun = Instant::now();
        let timer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            elsewhere.stop();
        });
        let found = Search::on(&alarm())
            .threads(threads)
            .time(Duration::from_secs(600))
            .stop_with(&stop)
            .run()
            .unwrap();
        timer.join().unwrap();
        assert_eq!(found.stopped_by(), StoppedBy::Interrupt);
        assert!(begun.elapsed() < Duration::from_secs(120));
    }
}

/// Makes a table so tall that a round takes a minute or more.
fn tall() -> Table {
    const COLUMNS: u64 = 24;
    let column = |column: u64| {
        let cell = |row: u64| {
            // Neighbours depend on each other: they differ in what their own draw adds.
            let shared = (row / 3).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (column / 2));
            let own = (row ^ (column << 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            u8::from((shared >> 40) % 5 < 2) ^ u8::from((own >> 40).is_multiple_of(7))
        };
        (0..400_000).map(cell).collect::<Vec<u8>>()
    };
    let variables = (0..COLUMNS)
        .map(|column| Variable::new(format!("v{column}"), vec!["0".into(), "1".into()]).unwrap())
        .collect();
    let columns = (0..COLUMNS).map(column).collect();
    let data = Data::new(Schema::new(variables).unwrap(), columns).unwrap();
    Table::from_data("tall", data)
}

#[test]
fn an_interrupt_does_not_wait_for_the_round_of_a_tall_table() {
    const ROUND: u64 = 200_000;
    let table = tall();
    for (threads, is_kept) in [(1, false), (1, true), (2, false), (2, true)] {
        let folder = tempfile::tempdir().unwrap();
        let stop = StopHandle::default();
        let mut search = Search::on(&table)
            .threads(threads)
            .time(Duration::from_secs(3600))
            .stop_with(&stop)
            .on_progress(|_| stop.stop());
        if is_kept {
            search = search.state(folder.path());
        }
        let found = search.run().unwrap();
        assert_eq!(found.stopped_by(), StoppedBy::Interrupt);
        let done = found.evaluations();
        assert!(done < ROUND, "{done} with {threads} threads, {is_kept}");
    }
}

#[test]
fn a_search_in_pieces_is_the_search_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let search = |evaluations| {
        Search::on(&alarm())
            .threads(1)
            .seed(3)
            .evaluations(evaluations)
    };
    let whole = search(6_000_000).run().unwrap();
    let mut pieces = None;
    for evaluations in [2_000_000, 4_000_000, 6_000_000] {
        pieces = Some(search(evaluations).state(folder.path()).run().unwrap());
    }
    let pieces = pieces.unwrap();
    assert!(!pieces.had_ended_before());
    assert_eq!(pieces.score(), whole.score());
    assert!(pieces.evaluations() <= 6_000_000 && pieces.evaluations() > 4_000_000);
    let again = search(6_000_000).state(folder.path()).run().unwrap();
    assert!(again.had_ended_before());
    assert_eq!(again.edges(), pieces.edges());
}

#[test]
fn a_round_that_an_interrupt_cuts_is_replayed_when_the_search_is_resumed() {
    const CHAINS: u32 = 2;
    // Seconds on any machine: a short round is finished rather than cut.
    const ROUND: u64 = 8_000_000;
    let folder = tempfile::tempdir().unwrap();
    let table = alarm();
    let search = || {
        let settings = SearchSettings {
            chains: Some(CHAINS),
            threads: Some(1),
            seed: 3,
            round_evaluations: ROUND,
            ..SearchSettings::default()
        };
        Search::with(&table, settings).evaluations(3 * ROUND * u64::from(CHAINS))
    };
    let whole = search().run().unwrap();
    let mut interrupts = 0;
    let pieces = loop {
        let stop = StopHandle::default();
        // The first time in the first round, and then in the round after the one that is replayed.
        let mut at_start = None;
        let found = search()
            .state(folder.path())
            .stop_with(&stop)
            .on_progress(|progress| {
                let at_start = *at_start.get_or_insert(progress.evaluations);
                if interrupts == 0 || progress.evaluations > at_start {
                    stop.stop();
                }
            })
            .run()
            .unwrap();
        if found.stopped_by() != StoppedBy::Interrupt {
            break found;
        }
        if interrupts == 0 {
            let done = found.evaluations();
            assert!(done < ROUND * u64::from(CHAINS), "not cut: {done}");
        }
        interrupts += 1;
    };
    assert!((1..=3).contains(&interrupts), "{interrupts}");
    assert_eq!(pieces.score(), whole.score());
    assert_eq!(pieces.edges(), whole.edges());
    assert_eq!(pieces.evaluations(), whole.evaluations());
    assert_eq!(pieces.iterations(), whole.iterations());
}

#[test]
fn another_search_in_the_folder_is_refused_in_peoples_words() {
    let folder = tempfile::tempdir().unwrap();
    let asia = asia();
    let on = |table: &Table| {
        Search::on(table)
            .threads(1)
            .evaluations(1000)
            .state(folder.path())
    };
    on(&asia).run().unwrap();
    let message = |search: Search<'_>| search.run().unwrap_err().to_string();
    let here = folder.path().display();
    assert_eq!(
        message(on(&asia).score(Score::Bdeu { ess: 10.0 })),
        format!("{here} holds a search of asia_n1000_s1 with score bic; this one has bdeu:10")
    );
    assert_eq!(
        message(on(&alarm())),
        format!("{here} holds a search of asia_n1000_s1; this one is of alarm")
    );
    let required = message(on(&asia).require("smoke", "lung"));
    assert!(required.ends_with("with other constraints"), "{required}");
    // A setting at its default is not a difference, however it came there.
    on(&asia)
        .algorithm(Algorithm::RlBayes(Default::default()))
        .run()
        .unwrap();
}

/// A journal that the program wrote before there was a library.
#[test]
fn a_folder_of_an_earlier_version_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    let packed = include_bytes!("fixtures/journal-of-54ed34a.redb.gz");
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_end(&mut bytes)
        .unwrap();
    let journal = folder.path().join("journal.redb");
    std::fs::write(&journal, &bytes).unwrap();
    let search = Search::on(&asia())
        .threads(1)
        .evaluations(20_000)
        .state(folder.path());
    let error = search.run().unwrap_err();
    assert!(
        matches!(
            error,
            SearchError::Run(RunError::StateFolder(
                StateFolderError::AnotherSearch { .. }
            ))
        ),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.contains("an earlier version of rlbayes"),
        "{message}"
    );
    assert!(journal.exists());
}

#[test]
fn constraints_hold_and_contradictions_are_named() {
    let found = Search::on(&asia())
        .require("asia", "smoke")
        .forbid("smoke", "lung")
        .tier(["asia", "smoke"])
        .tier(["dysp"])
        .max_parents(1)
        .threads(1)
        .evaluations(50_000)
        .run()
        .unwrap();
    assert!(found.edges().contains(&("asia", "smoke")));
    assert!(!found.edges().contains(&("smoke", "lung")));
    assert!(!found.edges().contains(&("dysp", "smoke")));
    for node in found.structure().nodes() {
        let parents = found.edges().iter().filter(|(_, to)| *to == node).count();
        assert!(parents <= 1, "{node}");
    }
    let refused = |search: Search<'_>| search.request().unwrap_err();
    let both = refused(
        Search::on(&asia())
            .require("asia", "smoke")
            .forbid("asia", "smoke"),
    );
    assert!(matches!(both, RequestError::Constraint(_)), "{both}");
    let unknown = refused(Search::on(&asia()).require("asia", "nobody"));
    assert!(unknown.to_string().contains("nobody"), "{unknown}");
    let memory = refused(Search::on(&asia()).memory(1 << 20));
    assert!(matches!(memory, RequestError::Memory { .. }), "{memory}");
    let threads = refused(Search::on(&asia()).threads(0));
    assert_eq!(threads.to_string(), "threads must be at least 1");
    let other = Network::from_edges(["asia", "elsewhere"], [("asia", "elsewhere")]).unwrap();
    let start = refused(Search::on(&asia()).start(&other));
    assert!(start.to_string().contains("elsewhere"), "{start}");
}

#[test]
fn a_first_result_of_a_small_table_is_there_at_once() {
    let text = "a,b,c,d\n0,0,1,1\n1,1,0,0\n0,0,0,1\n1,1,1,0\n0,0,1,1\n1,1,0,0\n";
    let table = Table::parse("small", text.as_bytes(), &Default::default()).unwrap();
    let mut first = None;
    let stop = StopHandle::default();
    let begun = Instant::now();
    Search::on(&table)
        .threads(2)
        .stop_with(&stop)
        .on_progress(|progress| {
            if progress.best_score.is_some() && first.is_none() {
                first = Some(begun.elapsed());
                stop.stop();
            }
        })
        .run()
        .unwrap();
    // An idle machine needs a few milliseconds; see the closing check of `.ci/run`.
    assert!(first.unwrap() < Duration::from_secs(10), "{first:?}");
}

#[test]
fn settings_as_one_value_are_the_same_search() {
    let settings = SearchSettings {
        score: Score::K2,
        threads: Some(1),
        seed: 5,
        ..Default::default()
    };
    let asia = asia();
    let one = Search::with(&asia, settings)
        .evaluations(20_000)
        .run()
        .unwrap();
    let other = Search::on(&asia)
        .score(Score::K2)
        .threads(1)
        .seed(5)
        .evaluations(20_000)
        .run();
    assert_eq!(one.edges(), other.unwrap().edges());
}

#[test]
fn a_learned_network_is_sampled_and_compared() {
    let truth = Network::read(data("networks/asia.bif")).unwrap();
    let table = truth.sample(5000, 1).unwrap();
    let found = Search::on(&table)
        .threads(1)
        .evaluations(100_000)
        .run()
        .unwrap();
    assert!(truth.compare(&found.structure()).f1_skeleton > 0.8);
    assert!(
        found.structure().sample(10, 1).is_err(),
        "it has no probabilities"
    );
}

/// Tables on which there is nothing to search end at once, whatever the algorithm and the budget.
#[test]
fn tables_of_nothing_end_by_themselves() {
    let table = |text: &str| Table::parse("small", text.as_bytes(), &Default::default()).unwrap();
    let one = table("a,b\n0,x\n1,x\n0,x\n1,x\n");
    let constant = table("a,b\n0,1\n0,1\n0,1\n");
    let alone = Table::parse("one", "a\n0\n1\n0\n1\n".as_bytes(), &Default::default());
    assert!(alone.unwrap_err().to_string().contains("one column"));
    let two = table("a,b\n0,1\n1,0\n0,0\n1,1\n");
    for algorithm in Algorithm::defaults() {
        for (table, forbid) in [(&one, false), (&constant, false), (&two, true)] {
            for budget in 0..3 {
                let mut search = Search::on(table).algorithm(algorithm).threads(1);
                if forbid {
                    search = search.forbid("a", "b").forbid("b", "a");
                }
                search = match budget {
                    0 => search.evaluations(500),
                    1 => search.time(Duration::from_secs(20)),
                    _ => search,
                };
                let begun = Instant::now();
                let found = search.run().unwrap();
                assert!(found.edges().is_empty());
                assert!(begun.elapsed() < Duration::from_secs(15), "{algorithm:?}");
            }
        }
    }
}

#[test]
fn a_target_out_of_reach_does_not_keep_a_search_going() {
    let text = "a,b\n0,0\n0,1\n1,0\n1,1\n";
    let table = Table::parse("independent", text.as_bytes(), &Default::default()).unwrap();
    for algorithm in Algorithm::defaults() {
        for threads in [1, 2] {
            let mut settings = SearchSettings {
                algorithm,
                threads: Some(threads),
                prove: Proving::Auto,
                ..SearchSettings::default()
            };
            settings.budget.target = LogScore::checked(0.0);
            // Stopped after a minute, so that a failure is not a test that hangs.
            let stop = StopHandle::default();
            let begun = Instant::now();
            let found = Search::with(&table, settings)
                .stop_with(&stop)
                .on_progress(|_| {
                    if begun.elapsed() > Duration::from_secs(60) {
                        stop.stop();
                    }
                })
                .run()
                .unwrap();
            assert_ne!(found.stopped_by(), StoppedBy::Interrupt, "{algorithm:?}");
            assert!(found.structure().edges().is_empty(), "{algorithm:?}");
        }
    }
}

#[test]
fn a_proof_is_the_same_on_any_number_of_threads_and_its_certificate_holds() {
    let table = Table::read(data("insurance_n1000_s1.csv.gz")).unwrap();
    let search = Search::on(&table).threads(1).evaluations(2_000_000);
    let request = search.request().unwrap();
    let found = search.run().unwrap();
    let certificates: Vec<String> = [1, 2, 3]
        .into_iter()
        .map(|threads| {
            let limits = rlbayes::ProofLimits {
                threads: Some(threads),
                ..Default::default()
            };
            let stop = StopHandle::default();
            let network = found.structure();
            let proof = rlbayes::prove(&request, &network, limits, &stop, &mut |_| {}).unwrap();
            assert!(proof.is_proven());
            proof.certificate().unwrap()
        })
        .collect();
    assert!(
        certificates
            .iter()
            .all(|certificate| *certificate == certificates[0])
    );
    assert!(
        rlbayes::check_proof(&table, &certificates[0])
            .unwrap()
            .is_proven
    );
}

#[test]
fn what_is_called_proven_is_the_best_network_also_where_chains_have_found_less() {
    let table = asia();
    let optimum = -2281.253;
    // Rounds so short, and a target so low, that the prover is done before the chains have begun.
    for (threads, is_deterministic, target) in [
        (1, true, None),
        (2, true, None),
        (2, false, None),
        (1, true, Some(-1e9)),
        (2, true, Some(-1e9)),
        (2, false, Some(-1e9)),
    ] {
        for seed in 0..8 {
            let mut settings = SearchSettings {
                seed,
                threads: Some(threads),
                deterministic: is_deterministic,
                round_evaluations: 5,
                prove: Proving::Auto,
                ..SearchSettings::default()
            };
            settings.budget.target = target.and_then(LogScore::checked);
            settings.budget.time = target.is_none().then_some(Duration::from_secs(60));
            let found = Search::with(&table, settings).run().unwrap();
            let what = format!(
                "{threads} threads, {target:?}, seed {seed}: {}",
                found.score()
            );
            let is_best = (found.score() - optimum).abs() < 1e-3;
            assert!(is_best || !found.is_proven(), "{what}");
            assert!(is_best || found.gap() != Some(0.0), "{what}");
            match target {
                None => assert_eq!(found.stopped_by(), StoppedBy::Proven, "{what}"),
                Some(target) => assert!(found.score() >= target, "{what}"),
            }
        }
    }
}
