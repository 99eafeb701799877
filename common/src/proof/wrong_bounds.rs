//! Provers that are wrong on purpose: with each bound tighter than it may be, the certificate that
//! comes out is refused whenever anything was lost by it.

use super::candidates::candidates_with_wrong_bound;
use super::tests::{ENOUGH, certificate_of, forwards, specs};
use super::*;
use crate::ids::NodeIdx;
use crate::score::{FamilyTerms, ScoreSpec};
use crate::search::test_tables::dependent_table;
use crate::search::{Constraints, NamedConstraints};

/// Runs a prover that is wrong by so many nats over tables; returns how many certificates it made
/// that say less than the right one, after seeing that each of them is refused.
fn refused(
    specs: &[ScoreSpec],
    lists: &dyn Fn(&Prover, &FamilyTerms) -> Vec<Candidates>,
    wrong_tolerance: i64,
) -> usize {
    let mut refused = 0;
    for case in 0..30 {
        let table = dependent_table(5, [100, 400, 2000][case % 3], 700 + case as u64);
        let constraints = Constraints::none(5);
        for &spec in specs {
            let prover = Prover::new(&table, spec, &constraints);
            let terms = FamilyTerms::new(&table, &spec);
            let wrong = lists(&prover, &terms);
            let right: Vec<Candidates> = NodeIdx::all(5)
                .map(|child| prover.candidates(child, ENOUGH, &|| true))
                .collect();
            let sets = |lists: &[Candidates]| {
                let mut sets: Vec<Vec<Family>> =
                    lists.iter().map(|list| list.families.clone()).collect();
                for sets in &mut sets {
                    sets.sort_by(|a, b| a.parents.cmp(&b.parents));
                }
                sets
            };
            let lost_sets = sets(&wrong) != sets(&right);
            let named = NamedConstraints::default();
            let (text, claims_all) = certificate_of(&prover, &named, &wrong, wrong_tolerance);
            let checked = check_certificate(&text, &prover, &|| true);
            if lost_sets {
                assert!(checked.is_err(), "case {case}, {spec:?}: a set is missing");
            }
            match checked {
                // What holds in spite of the wrong bound is as good as proven: by the right one too.
                Ok(checked) => assert!(checked.is_proven, "case {case}, {spec:?}"),
                Err(_) => refused += usize::from(claims_all),
            }
        }
    }
    refused
}

/// Lists all variables at once with bounds that are too tight by so many nats.
fn listed(prover: &Prover, terms: &FamilyTerms, fit: f64, gain: f64) -> Vec<Candidates> {
    let mut listing = prover.listing(&|| true).unwrap();
    listing.tighten(terms.units(fit), terms.units(gain));
    while !listing.is_complete() && listing.next_size(usize::MAX, &forwards, &|| true) {}
    listing.into_candidates()
}

fn likelihoods() -> Vec<ScoreSpec> {
    let mut specs = specs();
    specs.retain(|spec| FamilyTerms::new(&dependent_table(2, 10, 1), spec).is_likelihood());
    specs
}

#[test]
fn a_wrong_best_fit_is_refused() {
    let specs = likelihoods();
    assert_eq!(refused(&specs, &|p, t| listed(p, t, 0.0, 0.0), 0), 0);
    assert!(refused(&specs, &|p, t| listed(p, t, 50.0, 0.0), 0) > 20);
}

#[test]
fn a_wrong_gain_is_refused() {
    assert!(refused(&likelihoods(), &|p, t| listed(p, t, 0.0, 50.0), 0) > 20);
}

#[test]
fn a_wrong_bound_of_each_score_is_refused() {
    for spec in specs() {
        let lists = |prover: &Prover, terms: &FamilyTerms| {
            let by = terms.units(60.0);
            let of = |child| candidates_with_wrong_bound(prover, child, by);
            NodeIdx::all(5).map(of).collect()
        };
        assert!(refused(&[spec], &lists, 0) > 3, "{spec:?}");
    }
}

#[test]
fn a_tree_that_prunes_and_fixes_too_early_is_refused() {
    let right = |prover: &Prover, _: &FamilyTerms| {
        let of = |child| prover.candidates(child, ENOUGH, &|| true);
        NodeIdx::all(5).map(of).collect::<Vec<_>>()
    };
    let terms = FamilyTerms::new(&dependent_table(5, 400, 1), &ScoreSpec::BIC);
    assert_eq!(refused(&specs(), &right, 0), 0);
    assert!(refused(&specs(), &right, terms.units(5.0)) > 20);
}
