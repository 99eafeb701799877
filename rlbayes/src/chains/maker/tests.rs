//! States that fit, and those that do not.

use super::*;
use rlbayes_common::data::{Schema, Table, Variable};
use rlbayes_common::graph::Dag;
use rlbayes_common::score::{LogScore, ScoreSpec, Scorer};
use rlbayes_common::search::{Constraints, NamedConstraints};
use rlbayes_common::snapshot::encode_chain;

const CHAIN: ChainId = ChainId(0);

/// Makes chains on a table of four variables whose third column is given.
fn maker(spec: SearchSpec, third: [u8; 8]) -> ChainMaker {
    let variable = |name: &str| Variable::new(name, vec!["0".into(), "1".into()]).unwrap();
    let schema = Schema::new(["a", "b", "c", "d"].map(variable).to_vec()).unwrap();
    let columns = vec![
        vec![0, 1, 0, 1, 0, 1, 0, 1],
        vec![0, 1, 0, 1, 1, 1, 0, 1],
        third.to_vec(),
        vec![1, 1, 0, 0, 1, 1, 0, 0],
    ];
    let table = Arc::new(Table::new(schema, columns).unwrap());
    let constraints = Constraints::new(&table, &NamedConstraints::default()).unwrap();
    let scorer = Scorer::new(table, ScoreSpec::BIC);
    let problem = Problem::new(scorer, constraints, Dag::empty(4), 1 << 20);
    ChainMaker {
        problem: Arc::new(problem),
        spec,
        seed: Seed(1),
        ladder: 1,
    }
}

const THIRD: [u8; 8] = [1, 1, 0, 0, 1, 0, 0, 0];
const OTHER: [u8; 8] = [0, 1, 1, 1, 0, 0, 1, 0];

/// The state of a chain after some steps.
fn saved(maker: &ChainMaker) -> SavedChain {
    let mut chain = maker.start(CHAIN, None);
    for _ in 0..5 {
        let _ = chain.try_step();
    }
    chain.save()
}

fn all() -> Vec<SearchSpec> {
    SearchSpec::defaults().to_vec()
}

#[test]
fn a_state_fits_the_search_that_it_comes_from_and_no_other() {
    for spec in all() {
        let state = encode_chain(&saved(&maker(spec, THIRD)));
        for other in all() {
            let fits = maker(other, THIRD).fits(CHAIN, &state);
            let is_same = spec.name() == other.name();
            assert_eq!(fits.is_ok(), is_same, "{} {}", spec.name(), other.name());
        }
    }
}

#[test]
fn a_state_of_another_table_of_the_same_size_does_not_fit() {
    for spec in all() {
        let state = saved(&maker(spec, THIRD));
        assert!(state.best.is_some(), "{}", spec.name());
        let fits = maker(spec, OTHER).fits(CHAIN, &encode_chain(&state));
        assert!(matches!(fits, Err(WhyNot::Unfit(_))), "{}", spec.name());
    }
}

#[test]
fn what_is_not_the_state_of_a_chain_does_not_fit() {
    let spec = all()[0];
    let maker = maker(spec, THIRD);
    let whole = saved(&maker);
    let bytes = encode_chain(&whole);
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let fits = maker.fits(CHAIN, &damaged);
        assert!(matches!(fits, Err(WhyNot::Unreadable(_))), "byte {at}");
        assert!(maker.fits(CHAIN, &bytes[..at]).is_err());
    }
    let mut boasts = whole.clone();
    let best = boasts.best.as_mut().unwrap();
    best.score = LogScore::new(best.score.value() + 1.0);
    let mut bare = whole.clone();
    bare.own = Default::default();
    let mut newer = whole;
    newer.version += 1;
    for wrong in [boasts, bare, newer] {
        let fits = maker.fits(CHAIN, &encode_chain(&wrong));
        assert!(matches!(fits, Err(WhyNot::Unfit(_))), "{wrong:?}");
    }
}
