//! Changes inputs, has them read, keeps those that reached something new, and writes down those on
//! which a reader panicked, broke a law or took too long.

use crate::coverage::Reached;
use crate::mutate::Mutator;
use crate::targets::Target;
use crate::{corpus, seeds};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a reader may take over one input.
pub const TOO_LONG: Duration = Duration::from_secs(10);
/// Inputs that are kept of a target.
const MOST_KEPT: usize = 4000;

/// Reads one input.
///
/// # Errors
/// What went wrong, if it panicked, broke a law or took too long.
pub fn read_one(target: &Target, input: &[u8]) -> Result<String, String> {
    let begun = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(input)));
    let took = begun.elapsed();
    match outcome {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Err(format!("a panic: {}", text.unwrap_or_default()))
        }
        Ok(Err(broken)) => Err(format!("a law is broken: {broken}")),
        Ok(Ok(_)) if took > TOO_LONG => Err(format!("it took {took:?}")),
        Ok(Ok(outcome)) => Ok(outcome),
    }
}

/// The inputs of a target that are worth changing.
#[derive(Debug)]
pub struct Pool {
    /// Which target.
    pub target: Target,
    inputs: Vec<Vec<u8>>,
    reached: Reached,
    /// How many inputs were read.
    pub done: u64,
    /// Those with which something went wrong, and what.
    pub findings: Vec<(Vec<u8>, String)>,
}

impl Pool {
    /// Begins with the inputs of the repository and with those that are right.
    #[must_use]
    pub fn new(target: Target, folder: &Path) -> Self {
        let stored = corpus::read(folder, target.name).into_iter();
        let inputs = seeds::of(target.name)
            .into_iter()
            .chain(stored.map(|(_, bytes)| bytes));
        let mut pool = Self {
            target,
            inputs: Vec::new(),
            reached: Reached::default(),
            done: 0,
            findings: Vec::new(),
        };
        for input in inputs {
            pool.take(input);
        }
        pool
    }

    /// Reads some changed inputs.
    pub fn run(&mut self, inputs: u64, mutator: &mut Mutator) {
        for _ in 0..inputs {
            let (a, b) = (
                mutator.below(self.inputs.len()),
                mutator.below(self.inputs.len()),
            );
            let empty = Vec::new();
            let get = |at: usize| self.inputs.get(at).unwrap_or(&empty);
            let input = mutator.change(get(a), get(b));
            self.take(input);
        }
    }

    fn take(&mut self, input: Vec<u8>) {
        self.done += 1;
        match read_one(&self.target, &input) {
            Ok(outcome) => {
                let is_new = self.reached.note(&outcome);
                if is_new && self.inputs.len() < MOST_KEPT {
                    self.inputs.push(input);
                }
            }
            Err(problem) if self.findings.len() < 20 => self.findings.push((input, problem)),
            Err(_) => {}
        }
    }

    /// Returns the inputs that reached something new, in the order in which they did.
    #[must_use]
    pub fn inputs(&self) -> &[Vec<u8>] {
        &self.inputs
    }

    /// Returns how much was reached.
    #[must_use]
    pub fn reached(&self) -> usize {
        self.reached.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets;

    #[test]
    fn every_input_of_the_corpus_is_read_without_a_finding() {
        let folder = corpus::folder();
        for target in targets::all() {
            let inputs = corpus::read(&folder, target.name);
            // A journal is larger than what the corpus keeps; it begins with one that is made.
            let is_kept = !inputs.is_empty() || target.name == "journal";
            assert!(is_kept, "{} has no corpus", target.name);
            for (path, input) in inputs {
                let read = read_one(&target, &input);
                assert!(read.is_ok(), "{}: {read:?}", path.display());
            }
        }
    }

    #[test]
    fn what_is_right_is_read_by_every_target() {
        for target in targets::all() {
            let seeds = seeds::of(target.name);
            let outcomes = seeds.iter().map(|seed| read_one(&target, seed).unwrap());
            let read = outcomes.filter(|outcome| outcome == targets::READ).count();
            assert!(read > 0, "{}: no seed is read", target.name);
        }
    }

    #[test]
    fn a_reader_that_panics_or_breaks_a_law_is_found() {
        let panics = Target {
            name: "panics",
            weight: 1,
            read: |input| {
                assert!(!input.contains(&b'x'), "an x");
                match input.contains(&b'y') {
                    true => Err("a y".into()),
                    false => Ok(targets::READ.into()),
                }
            },
        };
        assert!(read_one(&panics, b"x").unwrap_err().contains("an x"));
        assert!(read_one(&panics, b"y").unwrap_err().contains("a y"));
        let mut pool = Pool::new(panics, Path::new("nowhere"));
        pool.run(100_000, &mut Mutator::new(1));
        assert!(!pool.findings.is_empty());
    }
}
