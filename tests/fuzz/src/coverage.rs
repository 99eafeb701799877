//! Which change reached something new. Built with coverage (see the help of the command), every edge
//! of the program's flow has a counter, and an input is new if it made one count that never did, or
//! in another order of magnitude. Built without, the outcome alone tells: the sentence of a refusal,
//! numbers and names left out.

use std::collections::BTreeSet;
use std::sync::Mutex;

/// The counters of the program: where they begin, and how many there are.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Counters that are looked at together.
const PART: usize = 128;

/// Called by each instrumented part of the program when it is loaded.
#[unsafe(no_mangle)]
#[expect(
    unsafe_code,
    reason = "the name by which the compiler's instrumentation calls it"
)]
pub extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    if let Ok(mut counters) = COUNTERS.lock() {
        let range = (start as usize, stop as usize - start as usize);
        // Every part calls with the range of the whole program.
        if !counters.contains(&range) {
            counters.push(range);
        }
    }
}

/// Called beside the counters, with a table that is of no use here.
#[unsafe(no_mangle)]
#[expect(
    unsafe_code,
    reason = "the name by which the compiler's instrumentation calls it"
)]
pub extern "C" fn __sanitizer_cov_pcs_init(_start: *const usize, _stop: *const usize) {}

/// What has been reached so far.
#[derive(Debug, Default)]
pub struct Reached {
    /// For each counter, the orders of magnitude that it had.
    edges: Vec<u8>,
    outcomes: BTreeSet<u64>,
}

impl Reached {
    /// Returns whether the program was built with coverage.
    #[must_use]
    pub fn is_by_edges() -> bool {
        COUNTERS.lock().is_ok_and(|counters| !counters.is_empty())
    }

    /// Returns how many edges or outcomes were reached.
    #[must_use]
    pub fn count(&self) -> usize {
        let edges = self.edges.iter().filter(|&&seen| seen != 0).count();
        edges + self.outcomes.len()
    }

    /// Notes what an input has reached since the last call; returns whether something of it is new.
    pub fn note(&mut self, outcome: &str) -> bool {
        let mut is_new = self.outcomes.insert(shape(outcome));
        let counters = COUNTERS.lock().map(|counters| counters.clone());
        let mut at = 0;
        for (start, length) in counters.unwrap_or_default() {
            self.edges.resize(self.edges.len().max(at + length), 0);
            #[expect(
                unsafe_code,
                reason = "the counters are memory that the compiler laid out"
            )]
            // SAFETY: the instrumentation gave this range, which lives as long as the program. Other
            // threads of the program may count at the same time: a count is then lost, and no more.
            let counters = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, length) };
            for (counts, seen) in counters
                .chunks_mut(PART)
                .zip(self.edges[at..].chunks_mut(PART))
            {
                // Nearly all are zero, nearly always.
                if *counts == [0; PART][..counts.len()] {
                    continue;
                }
                for (count, seen) in counts.iter_mut().zip(seen) {
                    let magnitude = magnitude(std::mem::take(count));
                    is_new |= magnitude & !*seen != 0;
                    *seen |= magnitude;
                }
            }
            at += length;
        }
        is_new
    }
}

/// One bit for an order of magnitude.
fn magnitude(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..8 => 8,
        8..16 => 16,
        16..32 => 32,
        32..128 => 64,
        _ => 128,
    }
}

/// Returns what kind of sentence an outcome is: letters outside of quotation marks.
fn shape(outcome: &str) -> u64 {
    let mut is_quoted = false;
    let kept = outcome.bytes().filter(|&byte| {
        is_quoted ^= byte == b'"';
        !is_quoted && byte.is_ascii_alphabetic()
    });
    // FNV-1a.
    kept.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
