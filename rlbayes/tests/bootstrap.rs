//! Support by resampling as a person uses it, and the traps on the way: each has a test that fails
//! when it is stepped into.

#![expect(clippy::unwrap_used, reason = "tests and their helpers")]

use rlbayes::{
    Bootstrap, BootstrapError, BootstrapRequestError, BootstrapSettings, Draw, Network,
    RowsPerReplicate, RunError, Score, Search, SearchSettings, StateFolderError, StopHandle,
    Support, Table,
};
use std::collections::BTreeMap;
use std::path::Path;

fn read(name: &str) -> Table {
    Table::read(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../data")
            .join(name),
    )
    .unwrap()
}

fn asia() -> Table {
    read("asia_n1000_s1.csv.gz")
}

fn parse(header: &str, rows: impl Iterator<Item = String>) -> Table {
    let lines: Vec<String> = std::iter::once(header.to_owned()).chain(rows).collect();
    Table::parse("t", lines.join("\n").as_bytes(), &Default::default()).unwrap()
}

/// Everything that a bootstrap found, replicate by replicate.
fn found(support: &Support) -> Vec<(u32, u64, Network)> {
    let networks = support.networks().into_iter();
    networks
        .map(|(number, score, network)| (number, score.to_bits(), network))
        .collect()
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let table = asia();
    let run = |threads| {
        let bootstrap = Bootstrap::on(&table)
            .replicates(17)
            .threads(threads)
            .seed(3);
        bootstrap.run().unwrap()
    };
    let one = run(1);
    assert_eq!(one.replicates(), 17);
    for threads in [2, 3, 20] {
        let other = run(threads);
        assert_eq!(found(&one), found(&other), "{threads} threads");
        assert_eq!(one.table(), other.table());
    }
    let other_seed = Bootstrap::on(&table).replicates(17).seed(4).run().unwrap();
    assert_ne!(found(&one), found(&other_seed));
}

#[test]
fn more_replicates_keep_those_that_are_done_and_another_bootstrap_is_refused() {
    let table = asia();
    let folder = tempfile::tempdir().unwrap();
    let first = Bootstrap::on(&table).replicates(5).state(folder.path());
    let first = first.run().unwrap();
    let mut begun_with = None;
    let more = Bootstrap::on(&table)
        .replicates(9)
        .threads(2)
        .state(folder.path())
        .on_progress(|progress| {
            begun_with.get_or_insert(progress.done);
            assert_eq!(progress.of, 9);
        })
        .run()
        .unwrap();
    assert_eq!(begun_with, Some(5));
    assert_eq!(found(&more)[..5], found(&first)[..]);
    let fresh = Bootstrap::on(&table).replicates(9).run().unwrap();
    assert_eq!(found(&more), found(&fresh));
    // Fewer are a part of them, and leave the rest where it is.
    let fewer = Bootstrap::on(&table).replicates(3).state(folder.path());
    assert_eq!(found(&fewer.run().unwrap())[..], found(&first)[..3]);
    let settings = BootstrapSettings {
        rows: RowsPerReplicate::Share(0.5),
        ..BootstrapSettings::default()
    };
    for other in [
        Bootstrap::on(&table).seed(2),
        Bootstrap::on(&table).evaluations(70_000),
        Bootstrap::with(&table, settings),
    ] {
        let refused = other.state(folder.path()).run().unwrap_err();
        assert!(
            matches!(
                refused,
                BootstrapError::Run(RunError::StateFolder(
                    StateFolderError::AnotherSearch { .. }
                ))
            ),
            "{refused}"
        );
    }
}

#[test]
fn a_stop_leaves_what_there_is_and_the_rest_follows() {
    let table = asia();
    let folder = tempfile::tempdir().unwrap();
    let stop = StopHandle::default();
    let watched = stop.clone();
    let part = Bootstrap::on(&table)
        .replicates(40)
        .threads(1)
        .state(folder.path())
        .stop_with(&stop)
        .on_progress(|progress| {
            if progress.done >= 3 {
                watched.stop();
            }
        })
        .run()
        .unwrap();
    assert!(
        (3..40).contains(&part.replicates()),
        "{}",
        part.replicates()
    );
    let whole = Bootstrap::on(&table).replicates(40).state(folder.path());
    let whole = whole.run().unwrap();
    let fresh = Bootstrap::on(&table).replicates(40).run().unwrap();
    assert_eq!(found(&whole), found(&fresh));
    let nothing = Bootstrap::on(&table).stop_with(&stop).run().unwrap_err();
    assert!(matches!(nothing, BootstrapError::Nothing));
}

#[test]
fn settings_out_of_range_are_refused_before_the_work() {
    let table = asia();
    let refused = |change: &dyn Fn(&mut BootstrapSettings)| {
        let mut settings = BootstrapSettings::default();
        change(&mut settings);
        Bootstrap::with(&table, settings).request().unwrap_err()
    };
    let none = refused(&|settings| settings.replicates = 0);
    assert_eq!(none, BootstrapRequestError::Replicates(0));
    for rows in [
        RowsPerReplicate::Share(0.0),
        RowsPerReplicate::Share(1.5),
        RowsPerReplicate::Share(f64::NAN),
        RowsPerReplicate::Count(0),
        RowsPerReplicate::Count(1001),
    ] {
        let error = refused(&|settings| settings.rows = rows);
        assert!(
            matches!(error, BootstrapRequestError::Rows { .. }),
            "{error}"
        );
    }
    for threshold in [-0.1, 1.1, f64::NAN] {
        let error = refused(&|settings| settings.threshold = threshold);
        assert!(
            matches!(error, BootstrapRequestError::Threshold(_)),
            "{error}"
        );
    }
    refused(&|settings| settings.evaluations = Some(0));
    refused(&|settings| settings.search.threads = Some(0));
    refused(&|settings| settings.search.memory = Some(1 << 20));
    refused(&|settings| settings.search.score = Score::Bdeu { ess: -1.0 });
}

#[test]
fn threads_that_do_not_fit_into_the_memory_are_not_started() {
    let mut settings = BootstrapSettings::default();
    settings.search.threads = Some(64);
    settings.search.memory = Some(200 << 20);
    let table = asia();
    let tight = Bootstrap::with(&table, settings.clone()).request().unwrap();
    assert!((1..=8).contains(&tight.threads()), "{}", tight.threads());
    settings.search.memory = Some(64 << 30);
    let roomy = Bootstrap::with(&table, settings).request().unwrap();
    assert_eq!(roomy.threads(), 64);
}

/// Trap 1: evaluations that do not suffice for the first climb would give networks without edges, and
/// support 0 everywhere.
#[test]
fn a_replicate_finishes_a_climb_whatever_its_evaluations() {
    let table = read("hailfinder_n1000_s1.csv.gz");
    let few = Bootstrap::on(&table).replicates(2).evaluations(30_000);
    let few = few.run().unwrap();
    assert_eq!(few.replicates_unfinished(), 2);
    for (_, _, network) in few.networks() {
        assert!(network.edges().len() > 30, "{}", network.edges().len());
    }
    // The full table's search, of which nobody finishes a climb, is not made as short as they are.
    let short = Bootstrap::on(&table).replicates(2).evaluations(2_000);
    let mut settings = SearchSettings {
        threads: Some(1),
        round_evaluations: 20_000,
        ..SearchSettings::default()
    };
    settings.budget = short.request().unwrap().full_table_budget();
    let best = Search::with(&table, settings).run().unwrap();
    assert!(
        best.structure().edges().len() > 30,
        "{:?}",
        best.structure()
    );
    let enough = Bootstrap::on(&asia()).replicates(2).run().unwrap();
    assert_eq!(enough.replicates_unfinished(), 0);
    // Hill climbing as well.
    let mut settings = BootstrapSettings {
        replicates: 1,
        evaluations: Some(10),
        ..BootstrapSettings::default()
    };
    settings.search.algorithm =
        rlbayes::Algorithm::HillClimbing(rlbayes::algorithms::HillClimbingParams::default());
    let climbed = Bootstrap::with(&asia(), settings).run().unwrap();
    assert_eq!(climbed.replicates_unfinished(), 1);
    assert!(climbed.networks()[0].2.edges().len() > 4);
}

/// Trap 2: a replicate has the states of the full table, and columns that are constant in it stay.
#[test]
fn replicates_have_the_states_of_the_full_table() {
    // The state "rare" is in one row of sixty: about a third of the replicates lack it.
    let rows = (0..60).map(|row| {
        let rare = if row == 7 {
            "rare"
        } else {
            ["x", "y"][row % 2]
        };
        let flag = if row == 11 { "on" } else { "off" };
        format!("{},{rare},{flag}", ["p", "q"][(row / 2) % 2])
    });
    let table = parse("a,b,flag", rows);
    let mut settings = BootstrapSettings {
        replicates: 40,
        ..BootstrapSettings::default()
    };
    settings.search.constraints.max_parents = Some(0);
    let support = Bootstrap::with(&table, settings).run().unwrap();
    let penalty = 60f64.ln() / 2.0;
    let mut without = (0, 0);
    for (number, score, _) in support.networks() {
        let resampled = resampled(&table, number);
        let mut expected = 0.0;
        for (name, parameters) in [("a", 1.0), ("b", 2.0), ("flag", 1.0)] {
            let cells: Vec<&str> = resampled.iter().map(|row| row[name]).collect();
            for state in table.states(name).unwrap() {
                let count = cells.iter().filter(|&cell| cell == state).count();
                if count > 0 {
                    expected += count as f64 * (count as f64 / 60.0).ln();
                }
                without.0 += usize::from(name == "b" && state == "rare" && count == 0);
                without.1 += usize::from(name == "flag" && state == "on" && count == 0);
            }
            expected -= penalty * parameters;
        }
        assert!(
            (score - expected).abs() < 1e-6,
            "replicate {number}: {score} {expected}"
        );
    }
    assert!(
        without.0 > 3 && without.1 > 3,
        "{without:?}: the test tells nothing"
    );
    // A required edge at a column that is constant in some replicates is there in all of them, and
    // with BDeu, too, a constant column gets no other edge.
    let support = Bootstrap::on(&table)
        .replicates(40)
        .score(Score::Bdeu { ess: 1.0 })
        .require("a", "flag")
        .run()
        .unwrap();
    assert_eq!(support.replicates(), 40);
    assert_eq!(support.strength("flag", "a"), Some(1.0));
    for (number, _, network) in support.networks() {
        if resampled(&table, number)
            .iter()
            .all(|row| row["flag"] == "off")
        {
            let at_flag = network
                .edges()
                .into_iter()
                .filter(|&(a, b)| a == "flag" || b == "flag");
            assert_eq!(
                at_flag.collect::<Vec<_>>(),
                [("a", "flag")],
                "replicate {number}"
            );
        }
    }
}

/// The rows of a replicate by the documented rule, seed 1.
fn resampled(table: &Table, number: u32) -> Vec<BTreeMap<&str, &str>> {
    use rlbayes_common::ids::Seed;
    use rlbayes_common::support::{ReplicateSeeds, Resampling};
    let usual = Resampling {
        rows: table.rows(),
        draw: Draw::WithReplacement,
    };
    let rows = usual.draw(table.rows(), ReplicateSeeds::of(Seed(1), number).rows);
    let data = table.data();
    let schema = data.schema();
    rows.into_iter()
        .map(|row| {
            let nodes = rlbayes_common::ids::NodeIdx::all(data.nodes());
            nodes
                .map(|node| {
                    let variable = schema.variable(node);
                    let state = usize::from(data.column(node)[row]);
                    (variable.name(), variable.states()[state].as_str())
                })
                .collect()
        })
        .collect()
}

/// A table where b and its copy explain a equally well, whatever the rows.
fn with_a_copy() -> Table {
    parse(
        "a,b,copy,noise",
        (0..300).map(|row| {
            let b = row % 2;
            let a = if row % 10 < 7 { b } else { 1 - b };
            format!("{a},{b},{b},{}", (row / 2) % 2)
        }),
    )
}

/// Trap 3: exact ties are broken anew in every replicate. Trap 6: both alternatives may stay below
/// 0.5, and are named.
#[test]
fn equal_alternatives_share_the_support_and_are_named() {
    let settings = BootstrapSettings {
        replicates: 60,
        threshold: 0.8,
        ..BootstrapSettings::default()
    };
    let support = Bootstrap::with(&with_a_copy(), settings).run().unwrap();
    let (one, other) = (
        support.strength("a", "b").unwrap(),
        support.strength("a", "copy").unwrap(),
    );
    for strength in [one, other] {
        assert!((0.25..=0.75).contains(&strength), "{one} {other}");
    }
    assert!((one + other - 1.0).abs() < 0.1, "{one} {other}");
    assert_eq!(support.strength("b", "copy"), Some(1.0));
    let named: Vec<(String, String)> = support
        .alternatives()
        .iter()
        .map(|found| {
            let table = support.table();
            let ends = |pair: &rlbayes::PairSupport| {
                format!("{}-{}", table.name(pair.from), table.name(pair.to))
            };
            let mut names = [ends(&found.one), ends(&found.other)];
            names.sort();
            let [one, other] = names;
            (one, other)
        })
        .collect();
    assert_eq!(named, [("a-b".to_owned(), "a-copy".to_owned())]);
    // No threshold drops what is there: at 0.5 one of them at least is not in the consensus.
    let drawn = support.table().consensus();
    assert!(drawn.len() <= 2, "{drawn:?}");
    // The L1 threshold is information and decides nothing: one of the alternatives at least is not below it.
    let l1 = support.table().l1_threshold();
    assert!(l1 <= one.max(other) && one.max(other) < 0.8, "{l1}");
    let kept = support.relearn(&StopHandle::default()).unwrap();
    assert_eq!(kept.edges().len(), 1, "{:?}", kept.edges());
}

/// Trap 4: classes are counted, not networks; constraints direct what they direct; required edges are
/// marked and stay out of the L1 threshold.
#[test]
fn directions_are_those_of_the_class_under_the_constraints() {
    let rows = (0..200).map(|row| {
        let b = if row % 10 < 8 { row % 2 } else { 1 - row % 2 };
        let c = if row % 7 < 5 { b } else { 1 - b };
        format!("{},{b},{c}", row % 2)
    });
    let table = parse("a,b,c", rows);
    let free = Bootstrap::on(&table).replicates(30).run().unwrap();
    let pair = free.pair("a", "b").unwrap();
    assert_eq!(pair.marks.joined(), 30);
    assert_eq!(
        pair.marks.undirected, 30,
        "{pair:?}: nothing tells the direction"
    );
    let mut settings = BootstrapSettings {
        replicates: 30,
        ..BootstrapSettings::default()
    };
    let tiers = [vec!["a".to_owned()], vec!["b".to_owned()]];
    settings.search.constraints.tiers = tiers.to_vec();
    let tiered = Bootstrap::with(&table, settings).run().unwrap();
    assert_eq!(tiered.pair("a", "b").unwrap().marks.forward, 30);
    // a -> b with b - c, and a not next to c: b -> c follows.
    let follows = tiered.pair("b", "c").unwrap();
    assert_eq!(follows.marks.forward, follows.marks.joined(), "{follows:?}");
    let required = Bootstrap::on(&table)
        .replicates(30)
        .require("c", "b")
        .run()
        .unwrap();
    let pair = required.pair("c", "b").unwrap();
    assert_eq!(pair.marks.forward, 30);
    assert!(required.table().is_required(&pair));
    let without = Bootstrap::on(&table)
        .replicates(30)
        .forbid("a", "b")
        .forbid("b", "a");
    assert_eq!(without.run().unwrap().strength("a", "b"), Some(0.0));
}

/// Trap 5: a network for inference is searched for among the pairs over the threshold; it is never put
/// together from the directions of single pairs.
#[test]
fn a_network_for_inference_is_the_best_among_supported_pairs() {
    let table = read("sachs_n1000_s1.csv.gz");
    let settings = BootstrapSettings {
        replicates: 30,
        threshold: 0.6,
        ..BootstrapSettings::default()
    };
    let support = Bootstrap::with(&table, settings).require("PKA", "Akt");
    let support = support.run().unwrap();
    let relearned = support.relearn(&StopHandle::default()).unwrap();
    let edges = relearned.edges();
    assert!(edges.contains(&("PKA", "Akt")), "{edges:?}");
    for (from, to) in &edges {
        assert!(support.strength(from, to).unwrap() >= 0.6, "{from} {to}");
    }
    // The same by naming every other pair as forbidden.
    let mut settings = SearchSettings {
        threads: Some(1),
        ..SearchSettings::default()
    };
    settings.budget.evaluations = Some(1_000_000);
    let constraints = &mut settings.constraints;
    constraints.required.push(("PKA".into(), "Akt".into()));
    for from in table.variables() {
        for to in table.variables() {
            let weak = support
                .strength(from, to)
                .is_none_or(|strength| strength < 0.6);
            if from != to && weak {
                constraints.forbidden.push((from.into(), to.into()));
            }
        }
    }
    let expected = Search::with(&table, settings).run().unwrap();
    let parts = relearned.score_by_node(&table, Score::Bic).unwrap();
    let score: f64 = parts.iter().map(|(_, part)| part).sum();
    assert!(
        (score - expected.score()).abs() < 1e-6,
        "{score} {}",
        expected.score()
    );
    // A chain a - z - b whose edges point either way in every replicate: directions that are taken pair
    // by pair, ties by name, make a collider of it.
    let rows = (0..400).map(|row| {
        let z = row % 2;
        let turned = |odd| if row % odd == 0 { 1 - z } else { z };
        format!("{},{},{z}", turned(5), turned(7))
    });
    let chain = parse("a,b,z", rows);
    let support = Bootstrap::on(&chain).replicates(20).run().unwrap();
    for end in ["a", "b"] {
        let pair = support.pair(end, "z").unwrap();
        assert_eq!(pair.marks.undirected, 20, "{pair:?}");
    }
    let edges = |network: &Network| network.edges().len();
    let relearned = support.relearn(&StopHandle::default()).unwrap();
    let into_z = relearned.edges().into_iter().filter(|&(_, to)| to == "z");
    assert!(
        into_z.count() < 2 && edges(&relearned) == 2,
        "{relearned:?}"
    );
}

/// Trap 7: a replicate starts without edges, whatever the search of the full table starts from.
#[test]
fn replicates_start_cold() {
    let table = asia();
    let usual = Bootstrap::on(&table).replicates(4).run().unwrap();
    let mut settings = BootstrapSettings {
        replicates: 4,
        ..BootstrapSettings::default()
    };
    settings.search.start = Some(
        Search::on(&table)
            .evaluations(50_000)
            .run()
            .unwrap()
            .structure(),
    );
    let warm = Bootstrap::with(&table, settings).run().unwrap();
    assert_eq!(found(&usual), found(&warm));
}
