//! The prover's parts against their definitions.

use super::candidates::candidates;
use super::*;
use crate::data::Table;
use crate::ids::{NodeIdx, Seed};
use crate::random::Random;
use crate::score::{FamilyTerms, LocalScore, ScoreName, ScoreSpec, Scorer, Scratch};
use crate::search::Problem;
use crate::search::test_tables::exhaustive_optimum;
use crate::search::test_tables::{dependent_table, random_constraints};
use crate::search::{Constraints, NamedConstraints};
use std::sync::Arc;

pub(super) const ENOUGH: Effort = Effort::ANY;

/// Every allowed parent set that no allowed subset of it equals or beats, by trying all.
fn candidates_by_definition(
    table: &Arc<Table>,
    spec: ScoreSpec,
    constraints: &Constraints,
    child: NodeIdx,
) -> Vec<Family> {
    let scorer = Scorer::new(Arc::clone(table), spec);
    let terms = FamilyTerms::new(table, &spec);
    let mut scratch = Scratch::default();
    let required = constraints.required().parents(child);
    let mut sets: Vec<(usize, Family)> = Vec::new();
    for bits in 0..1_usize << table.nodes() {
        let parents: Vec<NodeIdx> = NodeIdx::all(table.nodes())
            .filter(|node| bits >> node.index() & 1 == 1)
            .collect();
        let allowed = parents.len() <= constraints.max_parents()
            && parents
                .iter()
                .all(|&from| constraints.is_allowed(from, child))
            && required.iter().all(|parent| parents.contains(parent));
        if allowed {
            let score = scorer.local(child, &parents, &mut scratch).value();
            let units = terms.units(score);
            assert_eq!(
                terms.nats(units).to_bits(),
                score.to_bits(),
                "units are exact"
            );
            sets.push((bits, Family { parents, units }));
        }
    }
    let mut kept: Vec<Family> = sets
        .iter()
        .filter(|(bits, family)| {
            !sets.iter().any(|(other, smaller)| {
                other != bits && other & bits == *other && smaller.units >= family.units
            })
        })
        .map(|(_, family)| family.clone())
        .collect();
    kept.sort_by(|a, b| a.parents.cmp(&b.parents));
    kept
}

pub(super) fn specs() -> Vec<ScoreSpec> {
    let mut specs: Vec<ScoreSpec> = [
        ScoreName::Bic,
        ScoreName::Aic,
        ScoreName::LogLik,
        ScoreName::Bdeu,
        ScoreName::K2,
    ]
    .into_iter()
    .map(ScoreSpec::usual)
    .collect();
    specs.push(ScoreSpec::new(ScoreName::Bdeu, 10.0, 1.0).unwrap());
    specs.push(ScoreSpec::new(ScoreName::Bic, 1.0, 0.3).unwrap());
    specs
}

#[test]
fn candidates_are_the_sets_that_no_subset_beats() {
    let mut random = Random::new(Seed(5));
    for case in 0..60 {
        let nodes = 4 + case % 4;
        let rows = [5, 30, 100, 400, 2000][case % 5];
        let table = dependent_table(nodes, rows, case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let terms = FamilyTerms::new(&table, &spec);
            for child in NodeIdx::all(nodes) {
                let found = candidates(&table, &terms, &constraints, child, ENOUGH, &|| true);
                assert_eq!(found.coverage, Coverage::All);
                let mut families = found.families;
                families.sort_by(|a, b| a.parents.cmp(&b.parents));
                let expected = candidates_by_definition(&table, spec, &constraints, child);
                assert_eq!(families, expected, "case {case}, {spec:?}, child {child:?}");
            }
        }
    }
}

/// Does pieces of work one after the other.
pub(super) fn forwards(number: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..number).for_each(work);
}

/// Does pieces of work from the last to the first.
fn backwards(number: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..number).rev().for_each(work);
}

#[test]
fn listing_all_variables_at_once_finds_the_same_sets() {
    let mut random = Random::new(Seed(9));
    let mut ends = [0; 2];
    for case in 0..60 {
        let nodes = 4 + case % 4;
        let rows = [1, 30, 100, 400, 2000][case % 5];
        let table = dependent_table(nodes, rows, 500 + case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let prover = Prover::new(&table, spec, &constraints);
            let Some(mut listing) = prover.listing(&|| true) else {
                continue;
            };
            // With little room the variables are taken in groups, and with less it ends early.
            let bytes = [usize::MAX, 30_000, 5_000][case % 3];
            while !listing.is_complete() && listing.next_size(bytes, &backwards, &|| true) {}
            assert!(listing.is_complete() || bytes < usize::MAX);
            ends[usize::from(listing.is_complete())] += 1;
            for (child, list) in NodeIdx::all(nodes).zip(listing.into_candidates()) {
                let mut families = list.families;
                families.sort_by(|a, b| a.parents.cmp(&b.parents));
                let mut expected = candidates_by_definition(&table, spec, &constraints, child);
                if let Coverage::UpTo(most) = list.coverage {
                    expected.retain(|family| family.parents.len() <= most);
                }
                assert_eq!(families, expected, "case {case}, {spec:?}, child {child:?}");
            }
        }
    }
    assert!(ends[0] > 5 && ends[1] > 100, "{ends:?}");
}

/// Closes the tree; the best cost.
fn close(tree: &mut Tree<'_>) -> i64 {
    loop {
        let wave = tree.wave();
        if wave.is_empty() {
            return tree.best_cost();
        }
        assert!(tree.nodes() < 5000, "the tree does not end");
        let processed = wave
            .into_iter()
            .map(|node| tree.process(node, &|| true))
            .collect();
        tree.settle(processed);
    }
}

#[test]
fn the_tree_ends_at_the_optimum_of_all_networks_whatever_it_starts_from() {
    // RLBAYES_PROOF_TABLES=200 takes about a minute.
    let tables = std::env::var("RLBAYES_PROOF_TABLES").map_or(40, |tables| tables.parse().unwrap());
    let mut random = Random::new(Seed(6));
    for case in 0..tables {
        let nodes = 4 + case % 2;
        let rows = [5, 30, 100, 400, 2000][case % 5];
        let table = dependent_table(nodes, rows, 100 + case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let terms = FamilyTerms::new(&table, &spec);
            let prover = Prover::new(&table, spec, &constraints);
            let lists: Vec<Candidates> = match prover.listing(&|| true) {
                Some(mut listing) => {
                    while !listing.is_complete() {
                        assert!(listing.next_size(usize::MAX, &forwards, &|| true));
                    }
                    listing.into_candidates()
                }
                None => NodeIdx::all(nodes)
                    .map(|child| prover.candidates(child, ENOUGH, &|| true))
                    .collect(),
            };
            assert!(lists.iter().all(|list| list.coverage == Coverage::All));
            let model = Model::new(lists.iter().map(|list| &list.families[..]));
            let scorer = Scorer::new(Arc::clone(&table), spec);
            let start = constraints.required().clone();
            let problem = Problem::new(scorer, constraints.clone(), start, 1 << 20);
            let optimum = terms.units(exhaustive_optimum(&problem).value());
            let units_per_nat = 1.0 / terms.nats(1);
            let tolerance = terms.units(1e-6);
            for known in [i64::MAX / 4, -optimum, -optimum + 2 * tolerance] {
                let mut tree = Tree::new(&model, units_per_nat, known, tolerance);
                let found = close(&mut tree);
                assert!(
                    found <= -optimum + tolerance,
                    "case {case}, {spec:?}, from {known}"
                );
                assert!(found >= -optimum, "case {case}, {spec:?}, from {known}");
            }
        }
    }
}

#[test]
fn all_sets_of_a_few_variables_give_the_optimum_of_all_networks() {
    let mut random = Random::new(Seed(7));
    for case in 0..30 {
        let nodes = 2 + case % 4;
        let table = dependent_table(nodes, [5, 30, 100, 400][case % 4], 200 + case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        for spec in specs() {
            let prover = Prover::new(&table, spec, &constraints);
            let scorer = Scorer::new(Arc::clone(&table), spec);
            let start = constraints.required().clone();
            let problem = Problem::new(scorer, constraints.clone(), start, 1 << 20);
            let optimum = exhaustive_optimum(&problem);
            let best = prover.best_of_all(&|| true).unwrap();
            assert_eq!(prover.score(best.units), optimum, "case {case}, {spec:?}");
            let edges = NodeIdx::all(nodes)
                .zip(&best.parents)
                .flat_map(|(to, parents)| parents.iter().map(move |&from| (from, to)));
            let dag = crate::graph::Dag::from_edges(nodes, edges).unwrap();
            assert!(constraints.hold_for(&dag));
            assert_eq!(prover.units_of(&dag).iter().sum::<i64>(), best.units);
        }
    }
}

#[test]
fn ascent_never_claims_more_than_the_optimum() {
    for case in 0..20 {
        let nodes = 5;
        let table = dependent_table(nodes, [30, 100, 400, 2000][case % 4], 300 + case as u64);
        let constraints = Constraints::none(nodes);
        let prover = Prover::new(&table, ScoreSpec::BIC, &constraints);
        let lists: Vec<Candidates> = NodeIdx::all(nodes)
            .map(|child| prover.candidates(child, ENOUGH, &|| true))
            .collect();
        let model = Model::new(lists.iter().map(|list| &list.families[..]));
        let optimum = -prover.best_of_all(&|| true).unwrap().units;
        let (_, cost) = ascend(&model, i64::MAX, &|| true);
        assert!(cost <= optimum, "case {case}: {cost} {optimum}");
    }
}

/// A proof over all candidates, as a certificate.
fn certificate(prover: &Prover, named: &NamedConstraints) -> String {
    let lists: Vec<Candidates> = NodeIdx::all(prover.table().nodes())
        .map(|child| prover.candidates(child, ENOUGH, &|| true))
        .collect();
    certificate_of(prover, named, &lists, 0).0
}

/// A proof over these candidates that the best network is the best, by a tree that takes networks
/// for no better that are, by up to `wrong_tolerance`; and whether it claims to be one.
pub(super) fn certificate_of(
    prover: &Prover,
    named: &NamedConstraints,
    lists: &[Candidates],
    wrong_tolerance: i64,
) -> (String, bool) {
    let nodes = prover.table().nodes();
    let families: Vec<Vec<Family>> = lists.iter().map(|list| list.families.clone()).collect();
    let coverage: Vec<Coverage> = lists.iter().map(|list| list.coverage).collect();
    let model = Model::new(families.iter().map(|families| &families[..]));
    let best = prover.best_of_all(&|| true).unwrap();
    let edges = NodeIdx::all(nodes)
        .zip(&best.parents)
        .flat_map(|(to, parents)| parents.iter().map(move |&from| (from, to)));
    let network = crate::graph::Dag::from_edges(nodes, edges).unwrap();
    let tolerance = 1000;
    let allowed = tolerance + wrong_tolerance;
    let mut tree = Tree::new(&model, prover.units_per_nat(), -best.units, allowed);
    close(&mut tree);
    let bound_units = -tree.bound() - wrong_tolerance;
    let claims_all = bound_units <= best.units + tolerance;
    let nodes = tree.proof_nodes();
    let text = write_certificate(&Claim {
        prover,
        constraints: named,
        network: &network,
        units: best.units,
        bound_units,
        tolerance,
        coverage: &coverage,
        tree: Some((&families, &nodes)),
    });
    (text, claims_all)
}

/// The same text with a checksum that fits.
fn sealed(text: &str) -> String {
    use sha2::Digest;
    let (before, _) = text.trim_end().rsplit_once('\n').unwrap();
    let digest = crate::hex::encode(&sha2::Sha256::digest(format!("{before}\n").as_bytes()));
    format!("{before}\n{{\"sha256\":\"{digest}\"}}\n")
}

#[test]
fn certificates_hold_and_tampered_ones_do_not() {
    let mut random = Random::new(Seed(8));
    let mut tampered = 0;
    for case in 0..24 {
        let table = dependent_table(5, [100, 400, 2000][case % 3], 400 + case as u64);
        let named = match case % 2 {
            0 => NamedConstraints::default(),
            _ => random_constraints(&table, &mut random),
        };
        let constraints = Constraints::new(&table, &named).unwrap();
        let specs = specs();
        let prover = Prover::new(&table, specs[case % specs.len()], &constraints);
        let text = certificate(&prover, &named);
        let check = |text: &str| check_certificate(text, &prover, &|| true);
        let checked = check(&text).unwrap_or_else(|error| panic!("case {case}: {error}\n{text}"));
        assert!(checked.is_proven, "case {case}");
        assert_eq!(read_subject(&text).unwrap().constraints, named);
        assert_eq!(
            sealed(&text),
            text,
            "the checksum is the one of the definition"
        );
        // Any other byte breaks the checksum.
        for _ in 0..10 {
            let mut bytes = text.clone().into_bytes();
            let at = random.below(bytes.len() - 80);
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8_lossy(&bytes);
            assert!(check(&changed).is_err(), "case {case}, byte {at}");
            tampered += 1;
        }
        // With the checksum mended, what it says must still hold.
        let lines: Vec<&str> = text.lines().collect();
        let with_line = |at: usize, line: &str| {
            let mut lines = lines.clone();
            lines[at] = line;
            sealed(&(lines.join("\n") + "\n"))
        };
        let line_3: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
        let mut lower = line_3.clone();
        lower["bound_units"] = (line_3["bound_units"].as_i64().unwrap() - 1_000_000).into();
        assert!(
            check(&with_line(2, &lower.to_string())).is_err(),
            "case {case}: bound"
        );
        let mut tolerant = line_3;
        tolerant["tolerance_units"] = i64::MAX.into();
        assert!(
            check(&with_line(2, &tolerant.to_string())).is_err(),
            "case {case}: tolerance"
        );
        for child in 0..5 {
            let line: serde_json::Value = serde_json::from_str(lines[3 + child]).unwrap();
            let sets = line["sets"].as_array().unwrap().len();
            let mut fewer = line.clone();
            fewer["sets"]
                .as_array_mut()
                .unwrap()
                .remove(random.below(sets));
            assert!(
                check(&with_line(3 + child, &fewer.to_string())).is_err(),
                "case {case}: set"
            );
            let mut raised = line;
            let at = random.below(sets);
            let units = raised["sets"][at][0].as_i64().unwrap();
            raised["sets"][at][0] = (units + 1).into();
            assert!(
                check(&with_line(3 + child, &raised.to_string())).is_err(),
                "case {case}: score"
            );
            tampered += 2;
        }
        assert!(
            check(&with_line(lines.len() - 2, "{\"branch\":[0,1]}")).is_err(),
            "case {case}"
        );
        tampered += 3;
    }
    assert!(tampered > 100);
}

#[test]
fn a_tree_continues_from_a_certificate_of_any_moment() {
    let mut continued = 0;
    for case in 0..12 {
        let table = dependent_table(7, [400, 2000][case % 2], 800 + case as u64);
        let constraints = Constraints::none(7);
        let prover = Prover::new(&table, ScoreSpec::BIC, &constraints);
        let lists: Vec<Candidates> = NodeIdx::all(7)
            .map(|child| prover.candidates(child, ENOUGH, &|| true))
            .collect();
        let families: Vec<Vec<Family>> = lists.iter().map(|list| list.families.clone()).collect();
        let coverage: Vec<Coverage> = lists.iter().map(|list| list.coverage).collect();
        let model = Model::new(families.iter().map(|families| &families[..]));
        let optimum = prover.best_of_all(&|| true).unwrap().units;
        let network = crate::graph::Dag::empty(7);
        let units: i64 = prover.units_of(&network).iter().sum();
        let text_of = |bound_units: i64, nodes: &[ProofNode]| {
            write_certificate(&Claim {
                prover: &prover,
                constraints: &NamedConstraints::default(),
                network: &network,
                units,
                bound_units,
                tolerance: 1000,
                coverage: &coverage,
                tree: Some((&families, nodes)),
            })
        };
        for waves in 0..4 {
            let mut tree = Tree::new(&model, prover.units_per_nat(), -units, 1000);
            for _ in 0..waves {
                let wave = tree.wave().into_iter();
                let wave = wave.map(|node| tree.process(node, &|| true)).collect();
                tree.settle(wave);
            }
            let text = text_of(-tree.bound(), &tree.proof_nodes());
            // What is stored is a proof of its own, as far as the network in it goes.
            let stored = read_stored(&text, &prover).unwrap().unwrap();
            assert_eq!((&stored.families, &stored.coverage), (&families, &coverage));
            assert_eq!(stored.network, network);
            let units_per_nat = prover.units_per_nat();
            let mut tree = Tree::resumed(&model, units_per_nat, -units, 1000, stored.nodes);
            continued += usize::from(waves > 0 && tree.nodes() > 1);
            let found = close(&mut tree);
            assert!(found <= -optimum + 1000 && found >= -optimum, "case {case}");
            assert!(read_stored(&text.replace("\"format\":1", "\"format\":1 "), &prover).is_err());
        }
    }
    assert!(continued > 3, "{continued}");
}
