//! One simulated run: brings the hosts up, lets faults happen, waits for the end, and lets the
//! coordinator crash once more to see that the end is kept.

use crate::cluster::{COORDINATOR, WorkerHost, coordinator, person};
use crate::disk::Disk;
use crate::faults::{self, Change, Fault, Place, TROUBLED};
use crate::greedy::{Greed, Peer};
use crate::laws::{Burden, Outcome, Witness};
use crate::search::Search;
use rlbayes_common::ids::Seed;
use rlbayes_tests::history::{Budgets, check};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use turmoil::{Builder, Sim};

/// Hosts that workers are packed on.
const WORKER_HOSTS: usize = 5;
/// How long workers are away that crash when the search ends.
const LONGER_THAN_A_LEASE: Duration = Duration::from_secs(20);
/// What the draw is mixed with that says who crashes then.
const AT_STOP: u64 = 0x5709;
/// What the draws of a greedy peer are mixed with.
const GREEDY: u64 = 0x62EED;
const TICK: Duration = Duration::from_millis(10);
const LATENCY: Duration = Duration::from_millis(50);
const SLOW: Duration = Duration::from_secs(2);
/// A multiple of the number of shards that a tokio runtime keeps its tasks in.
const SHARDS: u64 = 64;
/// How long a run may take before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(300);

/// A cluster that is to be simulated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cluster {
    pub(crate) seed: Seed,
    pub(crate) workers: usize,
    pub(crate) faults: bool,
    /// A peer that takes part besides.
    pub(crate) greed: Option<Greed>,
}

/// What became of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) broken: Vec<String>,
    pub(crate) trace: Vec<String>,
    pub(crate) burden: Burden,
    lasted: Duration,
    incarnations: u32,
    /// Questions and answers of its history.
    history: (usize, usize),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} s, {} events, {} of {} questions answered, {} incarnations of the coordinator, round {}",
            self.lasted.as_secs_f64(),
            self.trace.len(),
            self.history.1,
            self.history.0,
            self.incarnations,
            self.outcome.round
        )
    }
}

fn workers_host(host: usize) -> String {
    format!("workers-{host}")
}

impl Cluster {
    /// Simulates it until the search is over.
    pub(crate) fn run(&self, search: &Search) -> Run {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        align_task_numbers();
        let witness = Witness::default();
        let disk = Disk::default();
        let search = Rc::new(search.clone());
        let mut sim = Builder::new()
            .rng_seed(self.seed.0)
            .tick_duration(TICK)
            .simulation_duration(2 * PATIENCE)
            .max_message_latency(LATENCY)
            .tcp_capacity(1 << 12)
            .build();
        {
            let (search, disk, witness) = (Rc::clone(&search), disk.clone(), witness.clone());
            sim.host(COORDINATOR, move || {
                coordinator(Rc::clone(&search), disk.clone(), witness.clone())
            });
        }
        for host in 0..WORKER_HOSTS {
            let workers = (host..self.workers).step_by(WORKER_HOSTS);
            let seed = self.seed.mix(host as u64);
            let workers = Rc::new(WorkerHost::new(workers, seed, witness.clone()));
            sim.host(workers_host(host), move || Rc::clone(&workers).run());
        }
        {
            let witness = witness.clone();
            let stop_at = search.ends.stopped_at();
            sim.host("person", move || {
                person(Duration::from_secs(1), stop_at, witness.clone())
            });
        }
        {
            let witness = witness.clone();
            sim.host("watcher", move || {
                person(Duration::from_millis(130), None, witness.clone())
            });
        }
        if let Some(greed) = self.greed {
            let peer = Rc::new(Peer {
                greed,
                search: Rc::clone(&search),
                seed: self.seed.mix(GREEDY),
            });
            sim.host("greedy", move || Rc::clone(&peer).run());
        }
        let memory = own_memory();
        let mut world = World {
            sim,
            disk,
            seed: self.seed,
            crashes: 0,
            coordinator_up_at: None,
        };
        let mut changes: VecDeque<Change> = match self.faults {
            true => faults::draw(self.seed, WORKER_HOSTS).into(),
            false => VecDeque::new(),
        };
        // The moment between the end of the search and the end of its workers; in lockstep a round
        // may be under way, and then it is workers that are lost half of the time.
        let mut crash_at_stop = self.faults;
        let in_round = search.ends.is_lockstep() && !search.ends.is_counted();
        let mut workers_up_at = None;
        loop {
            let now = world.sim.elapsed();
            while changes.front().is_some_and(|change| change.at <= now) {
                changes.pop_front().iter().for_each(|c| world.change(c));
            }
            if crash_at_stop && witness.is_stopped() {
                crash_at_stop = false;
                if in_round && self.seed.mix(AT_STOP).0.is_multiple_of(2) {
                    world.sim.crash(workers_host(0));
                    workers_up_at = Some(now + LONGER_THAN_A_LEASE);
                } else {
                    world.crash_coordinator(now + Duration::from_secs(1));
                }
            }
            if workers_up_at.is_some_and(|at| at <= now) {
                workers_up_at = None;
                world.sim.bounce(workers_host(0));
            }
            world.step();
            let (journal, grown) = (world.disk.bytes(), own_memory().saturating_sub(memory));
            witness.weigh(|burden| {
                burden.journal_bytes = burden.journal_bytes.max(journal);
                burden.grown_bytes = burden.grown_bytes.max(grown);
            });
            let is_over = witness.has_outcome() && witness.sessions_ended() == self.workers;
            if is_over && changes.is_empty() {
                break;
            }
            if now >= PATIENCE || !witness.all_broken().is_empty() {
                witness.broken(format!(
                    "after {now:?} {} of {} workers have ended, search finished: {}",
                    witness.sessions_ended(),
                    self.workers,
                    witness.has_outcome()
                ));
                break;
            }
        }
        let lasted = world.sim.elapsed();
        let outcome = witness.take_outcome();
        if let Some(outcome) = &outcome {
            world.crash_coordinator(lasted + TICK);
            while world.sim.elapsed() < lasted + Duration::from_secs(1) {
                world.step();
            }
            let after = witness.take_outcome();
            if !after.is_some_and(|after| outcome.is_kept_in(&after)) {
                witness.broken("the end was not kept");
            }
        }
        let history = witness.history();
        let budget = search.plan.budget;
        let budgets = Budgets {
            evaluations: budget.evaluations,
            time: budget.time,
        };
        for law in check(&history, budgets) {
            witness.broken(law);
        }
        Run {
            broken: witness.all_broken(),
            outcome: outcome.unwrap_or_else(|| panic!("{:?}: {:?}", self, witness.all_broken())),
            trace: witness.trace(),
            burden: witness.burden(),
            lasted,
            incarnations: witness.coordinator_incarnations(),
            history: history.counts(),
        }
    }
}

/// Returns how many bytes of memory this process holds.
fn own_memory() -> u64 {
    rlbayes::machine::resident_bytes_of(std::process::id())
}

/// Makes the next task's number a multiple of [`SHARDS`]. When a host crashes, tokio drops its tasks
/// shard by shard, and so closes its connections in an order that depends on their numbers, which
/// the whole process counts. (That is also why runs do not overlap.)
fn align_task_numbers() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime without drivers");
    runtime.block_on(async {
        loop {
            let number = tokio::spawn(async {}).id().to_string();
            let number: u64 = number.parse().expect("task ids are numbers");
            if (number + 1).is_multiple_of(SHARDS) {
                break;
            }
        }
    });
}

/// The simulation and what is broken in it.
struct World {
    sim: Sim<'static>,
    disk: Disk,
    seed: Seed,
    crashes: u64,
    /// When the coordinator's machine is up again.
    coordinator_up_at: Option<Duration>,
}

impl World {
    fn step(&mut self) {
        let now = self.sim.elapsed();
        if self.disk.is_dead() {
            self.crash_coordinator(now + Duration::from_millis(300));
        }
        if self.coordinator_up_at.is_some_and(|at| at <= now) {
            self.coordinator_up_at = None;
            self.sim.bounce(COORDINATOR);
        }
        self.sim.step().expect("no host fails");
    }

    /// Crashes the coordinator's machine; it is up again at a time.
    fn crash_coordinator(&mut self, until: Duration) {
        self.crashes += 1;
        self.disk.crash(self.seed.mix(self.crashes));
        self.sim.crash(COORDINATOR);
        self.coordinator_up_at = self.coordinator_up_at.max(Some(until));
    }

    fn change(&mut self, change: &Change) {
        let (begins, name) = (change.begins, workers_host);
        match change.fault {
            // Its end is known when it begins.
            Fault::Crash(Place::Coordinator) if begins => self.crash_coordinator(TROUBLED),
            Fault::Crash(Place::Coordinator) => self.coordinator_up_at = Some(change.at),
            Fault::Crash(Place::Workers(host)) if begins => self.sim.crash(name(host)),
            Fault::Crash(Place::Workers(host)) => self.sim.bounce(name(host)),
            Fault::Cut(host) if begins => self.sim.partition(name(host), COORDINATOR),
            Fault::CutTo(host) if begins => self.sim.partition_oneway(name(host), COORDINATOR),
            Fault::CutFrom(host) if begins => self.sim.partition_oneway(COORDINATOR, name(host)),
            Fault::Cut(host) | Fault::CutTo(host) | Fault::CutFrom(host) => {
                self.sim.repair(name(host), COORDINATOR);
            }
            Fault::Hold(host) if begins => self.sim.hold(name(host), COORDINATOR),
            Fault::Hold(host) => self.sim.release(name(host), COORDINATOR),
            Fault::Slow(host) => {
                let latency = if begins { SLOW } else { LATENCY };
                let sim = &self.sim;
                sim.set_link_max_message_latency(name(host), COORDINATOR, latency);
            }
            Fault::PowerFails(operations) if begins => self.disk.die_after(operations),
            // Power that has not failed by now will, with the next writes.
            Fault::PowerFails(_) => {}
            Fault::DiskFull => self.disk.refuse(begins),
        }
    }
}
