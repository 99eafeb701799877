//! What goes wrong, when, and for how long: drawn from a seed. One thing at a time on each host,
//! all hosts at once.

use rlbayes_common::ids::Seed;
use rlbayes_common::random::Random;
use std::time::Duration;

/// Faults begin and end within this time.
pub(crate) const TROUBLED: Duration = Duration::from_secs(40);

/// Something that goes wrong, or is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The machine of a host goes down.
    Crash(Place),
    /// Nothing gets through between a host of workers and the coordinator.
    Cut(usize),
    /// Nothing gets through to the coordinator.
    CutTo(usize),
    /// Nothing gets through from the coordinator.
    CutFrom(usize),
    /// Messages wait, and come all at once.
    Hold(usize),
    /// Messages take seconds.
    Slow(usize),
    /// The coordinator's power fails after so many operations of its disk.
    PowerFails(u32),
    /// The coordinator's disk takes no writes.
    DiskFull,
}

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Coordinator,
    Workers(usize),
}

/// A fault that begins or is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) at: Duration,
    pub(crate) fault: Fault,
    pub(crate) begins: bool,
}

/// Draws the faults of a run, in the order of time.
pub(crate) fn draw(seed: Seed, worker_hosts: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    let coordinator = |random: &mut Random| match random.below(4) {
        0 | 1 => Fault::Crash(Place::Coordinator),
        2 => Fault::PowerFails(1 + u32::try_from(random.below(30)).unwrap()),
        _ => Fault::DiskFull,
    };
    series(Random::new(seed.mix(0)), 12_000, coordinator, &mut changes);
    for host in 0..worker_hosts {
        let workers = move |random: &mut Random| match random.below(6) {
            0 => Fault::Crash(Place::Workers(host)),
            1 => Fault::Cut(host),
            2 => Fault::CutTo(host),
            3 => Fault::CutFrom(host),
            4 => Fault::Hold(host),
            _ => Fault::Slow(host),
        };
        let random = Random::new(seed.mix(1 + host as u64));
        series(random, 8_000, workers, &mut changes);
    }
    changes.sort_by_key(|change| change.at);
    changes
}

/// Draws one fault after the other, with pauses.
fn series(
    mut random: Random,
    pause_millis: usize,
    mut fault: impl FnMut(&mut Random) -> Fault,
    changes: &mut Vec<Change>,
) {
    let mut at = Duration::ZERO;
    loop {
        at += Duration::from_millis(random.below(pause_millis) as u64);
        // Mostly short; some outlast a lease.
        let longest = if random.chance(0.3) { 10_000 } else { 2_000 };
        let until = at + Duration::from_millis(random.below(longest) as u64);
        if until >= TROUBLED {
            return;
        }
        let fault = fault(&mut random);
        for (at, begins) in [(at, true), (until, false)] {
            changes.push(Change { at, fault, begins });
        }
        at = until;
    }
}
