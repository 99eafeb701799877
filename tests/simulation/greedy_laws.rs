//! What greedy peers may cost: a search beside one ends as without it, honest workers are answered
//! soon and keep their leases, and the coordinator holds little for it.
//!
//! ```text
//! RLBAYES_SIM_SEEDS=500 cargo test --workspace --test simulation -- greedy
//! ```

use crate::greedy::Greed;
use crate::run::{Cluster, Run};
use crate::search::{Ends, Search};
use crate::{setting, table_of};
use rlbayes_common::ids::Seed;
use std::time::Duration;

const WORKERS: usize = 6;
/// How long an honest worker may wait for an answer: a lockstep exchange waits for its round up to two
/// seconds by itself.
const ANSWER: Duration = Duration::from_secs(4);
/// Chains that there may be beyond those of honest workers.
const CHAINS: usize = 256;
/// Bytes that the journal and the memory may take beyond those of a run without the peer.
const JOURNAL_BYTES: usize = 4 << 20;
const MEMORY_BYTES: u64 = 64 << 20;

/// The searches that greedy peers are let loose on: they end by what they have done.
const ENDS: [Ends; 3] = [
    Ends::FreeByTime,
    Ends::LockstepByEvaluations,
    Ends::LockstepByTarget,
];

fn cluster(seed: u64, greed: Option<Greed>) -> Cluster {
    Cluster {
        seed: Seed(seed),
        workers: WORKERS,
        faults: false,
        greed,
    }
}

/// Returns what a greedy peer has cost that it must not.
fn costs(ends: Ends, alone: &Run, beside: &Run) -> Vec<String> {
    let mut costs = beside.broken.clone();
    let (without, with) = (alone.burden, beside.burden);
    let mut law = |holds: bool, what: String| {
        if !holds {
            costs.push(what);
        }
    };
    law(
        with.slowest <= ANSWER,
        format!("an honest worker waited for {:?}", with.slowest),
    );
    // Some comes and goes by itself.
    law(
        with.leases_lost <= without.leases_lost,
        format!(
            "honest workers lost their leases {} times",
            with.leases_lost
        ),
    );
    law(
        with.chains <= without.chains + CHAINS,
        format!("there were {} chains, not {}", with.chains, without.chains),
    );
    law(
        with.journal_bytes <= without.journal_bytes + JOURNAL_BYTES,
        format!("the journal took {} bytes", with.journal_bytes),
    );
    law(
        with.grown_bytes <= without.grown_bytes + MEMORY_BYTES,
        format!("memory grew by {} bytes", with.grown_bytes),
    );
    let (one, other) = (&alone.outcome, &beside.outcome);
    law(
        one.stopped_by == other.stopped_by,
        format!(
            "it ended by {}, not by {}",
            other.stopped_by, one.stopped_by
        ),
    );
    if ends.is_counted() {
        let difference = one.difference(other);
        law(difference.is_none(), format!("other bits: {difference:?}"));
    } else {
        law(other.best() >= one.best(), "a worse network".to_owned());
    }
    costs
}

fn a_greedy_peer_costs_nothing(greed: Greed) {
    let first = setting("RLBAYES_SIM_FIRST", 0);
    let seeds = setting("RLBAYES_SIM_SEEDS", 2).div_ceil(2);
    for seed in first..first + seeds {
        let ends = ENDS[usize::try_from(seed).unwrap() % ENDS.len()];
        let search = Search::new(ends, Seed(table_of(seed)));
        let alone = cluster(seed, None).run(&search);
        let beside = cluster(seed, Some(greed)).run(&search);
        let costs = costs(ends, &alone, &beside);
        let burden = &beside.burden;
        assert_eq!(
            costs, [""; 0],
            "{greed:?} beside {ends:?}, seed {seed}: {beside} {burden:?}"
        );
    }
}

macro_rules! greedy_peers {
    ($($name:ident: $greed:ident,)*) => {$(
        #[test]
        fn $name() {
            a_greedy_peer_costs_nothing(Greed::$greed);
        }
    )*};
}

greedy_peers! {
    a_greedy_peer_that_joins_and_joins_costs_nothing: Joins,
    a_greedy_peer_with_thousands_of_threads_costs_nothing: Threads,
    a_greedy_peer_with_floods_of_rows_costs_nothing: Rows,
    a_greedy_peer_that_forges_reports_costs_nothing: Forgery,
    a_greedy_peer_that_reports_chains_of_others_costs_nothing: ChainsOfOthers,
    a_peer_that_lies_about_its_own_work_costs_nothing: Lies,
    a_greedy_peer_whose_uploads_stall_costs_nothing: Uploads,
    a_greedy_peer_that_watches_and_never_reads_costs_nothing: Watching,
}
