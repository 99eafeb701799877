//! Replicates follow a search, whatever is lost, repeated or killed on the way: each is done once, what
//! was acknowledged stays, and the end is that of calm times.

use crate::op;
use crate::world::World;
use proptest::prelude::*;
use rlbayes::coordination::Pace;
use rlbayes_common::search::StoppedBy;

/// More than workers are given ahead.
const REPLICATES: u32 = 70;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn replicates_are_all_done_and_none_is_lost(ops in prop::collection::vec(op(), 1..400)) {
        // That each holds what its number stands for, and that none is lost, is checked throughout.
        let mut world = World::with_replicates(Pace::Free, REPLICATES);
        for op in ops {
            world.run(op);
        }
        world.calm_down();
        let mut turns = 0;
        while !world.state.is_finished() {
            prop_assert!(turns < 100, "{} are done", world.state.replicates().len());
            turns += 1;
            world.calm_turn();
        }
        prop_assert_eq!(world.state.replicates().len(), REPLICATES as usize);
        prop_assert_eq!(world.state.stopped_by(), Some(StoppedBy::Evaluations));
    }
}
