//! What tests of this crate tell a worker about itself and its search.

use crate::session::SessionSettings;
use rlbayes_common::exchange::{Pace, SearchDescription};
use rlbayes_common::ids::{Incarnation, SearchId, Seed};
use rlbayes_common::score::ScoreSpec;
use rlbayes_common::search::SearchSpec;
use std::time::Duration;

/// Returns the settings of a worker that never gives up.
pub(crate) fn settings() -> SessionSettings {
    SessionSettings {
        incarnation: Incarnation(1),
        replaces: None,
        host: "here".into(),
        threads: 1,
        memory: None,
        program_version: "1".into(),
        give_up_after: None,
        checkpoint_every: Duration::from_secs(10),
    }
}

/// Returns a free-running search that no chain is ever run for.
pub(crate) fn description() -> SearchDescription {
    SearchDescription {
        id: SearchId([0; 16]),
        data_fingerprint: [0; 32],
        data_hash: [0; 32],
        data_bytes: 0,
        nodes: 2,
        score: ScoreSpec::BIC,
        constraints: Default::default(),
        start: Vec::new(),
        spec: SearchSpec::defaults()[0],
        seed: Seed(1),
        ladder: 1,
        pace: Pace::Free,
        round_evaluations: 1,
        target: None,
        exchange_every: Duration::from_secs(2),
        replicates: None,
    }
}
