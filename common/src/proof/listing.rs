//! Candidate parent sets of all variables at once, for scores that are a likelihood with a penalty.
//! The sets are those of `candidates`, which explains the two rules; there each variable is listed by
//! itself.
//!
//! Both rules ask only for sums over the cells of sets of variables (`set_sums`), and a sum does not
//! depend on whose parents the set is. So all variables are listed together, size by size: the
//! parent sets that any variable asks for are counted once, the gain rule is applied to every member
//! of a set before the set is scored, and only what is left is counted with the child.

mod open;
mod rules;
mod sums;

use super::candidates::{Candidates, Coverage, Family};
use super::set_sums::{Keys, SetSums};
use crate::data::Table;
use crate::ids::NodeIdx;
use crate::score::FamilyTerms;
use crate::search::Constraints;
use open::{BYTES_OPEN, Known, Open};
use rules::{Test, Wanted};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use sums::{BYTES_COUNTED, Sums};

/// Does pieces of work, on threads or one after the other: it calls what it is given once with each
/// number below the first argument.
pub type DoPieces<'a> = &'a (dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Sync);

/// Sets that are counted as one piece of work.
const SETS_A_PIECE: usize = 4096;

/// The candidate parent sets of all variables, as far as they are listed.
#[derive(Debug)]
pub struct Listing<'p> {
    terms: &'p FamilyTerms,
    counter: SetSums<'p>,
    keys: Keys,
    /// The variables by place.
    order: Vec<NodeIdx>,
    slack: i64,
    children: Vec<Child>,
    /// How many parents beyond the required ones the sets listed have.
    members: usize,
    /// The sums of some sets, by their size; those of families are often asked for as parents next.
    known: Vec<Sums>,
    evaluations: u64,
    /// Whether there was no room for the open sets, so that no larger ones can be listed.
    is_last: bool,
}

/// What was listed of one variable.
#[derive(Debug)]
struct Child {
    place: usize,
    states: usize,
    /// Places of the required parents, and of those that may be added.
    required: Vec<usize>,
    addable: Vec<usize>,
    /// No set has a larger fit.
    most_fit: i64,
    most_members: usize,
    open: Open,
    found: Vec<Family>,
    /// Whether there is nothing more to be found.
    is_listed: bool,
}

/// How work is done, and until when.
#[derive(Clone, Copy)]
struct Means<'a> {
    do_pieces: DoPieces<'a>,
    go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Why a size could not be listed.
enum Short {
    OfRoom,
    OfTime,
}

/// The sets of one size of some children.
struct Level {
    children: Vec<OfChild>,
    /// The sums of the families scored.
    sums: Vec<Sums>,
    scored: usize,
}

/// The sets of one size of one child.
struct OfChild {
    open: Open,
    found: Vec<Family>,
    is_listed: bool,
}

impl<'p> Listing<'p> {
    /// Begins with the required parents alone. The score must be a likelihood.
    pub(super) fn new(
        table: &'p Table,
        terms: &'p FamilyTerms,
        constraints: &Constraints,
        go_on: &dyn Fn() -> bool,
    ) -> Self {
        let nodes = table.nodes();
        let mut order: Vec<NodeIdx> = NodeIdx::all(nodes).collect();
        order.sort_by_key(|&node| (table.arity(node), node));
        let mut place_of = vec![0; nodes];
        for (place, node) in order.iter().enumerate() {
            place_of[node.index()] = place;
        }
        let counter = SetSums::new(table, &order, terms.tables(1, 1.0).cell);
        let keys = Keys::new(nodes);
        let places = |nodes: &[NodeIdx]| {
            let mut places: Vec<usize> = nodes.iter().map(|node| place_of[node.index()]).collect();
            places.sort_unstable();
            places
        };
        // A fit is a sum of at most two terms for each row, each rounded by half a unit.
        let slack = 4 * i64::try_from(table.rows()).unwrap_or(i64::MAX / 8) + 8;
        let mut listing = Self {
            terms,
            keys,
            order,
            slack,
            children: Vec::new(),
            members: 0,
            known: Vec::new(),
            evaluations: 0,
            is_last: false,
            counter,
        };
        for node in NodeIdx::all(nodes) {
            let required = constraints.required().parents(node);
            let mut addable = Vec::new();
            constraints.list_addable(node, required, &mut addable);
            let child = Child {
                place: place_of[node.index()],
                states: table.arity(node),
                required: places(required),
                addable: places(&addable),
                most_fit: 0,
                most_members: constraints.max_parents().saturating_sub(required.len()),
                open: Open::default(),
                found: Vec::new(),
                is_listed: true,
            };
            listing.begin(child, go_on());
        }
        listing
    }

    /// Scores the required parents of a child alone.
    fn begin(&mut self, mut child: Child, limit_by_fit: bool) {
        let sum_of = |more: &[usize], with: Option<usize>| {
            let required = child.required.iter().copied();
            self.counter
                .sum_of(required.chain(more.iter().copied()).chain(with))
        };
        let sum = sum_of(&[], None);
        let fit = sum_of(&[], Some(child.place)) - sum;
        child.most_fit = match limit_by_fit {
            true => sum_of(&child.addable, Some(child.place)) - sum_of(&child.addable, None),
            false => 0,
        } + self.slack;
        let units = fit - self.penalty(&child, self.required_configurations(&child));
        child.found.push(Family {
            parents: self.nodes(child.required.iter().copied()),
            units,
        });
        if child.most_members > 0 && !child.addable.is_empty() {
            let known = Known {
                best: units,
                fit,
                sum,
            };
            child.open.sets.push((0, known));
            child.is_listed = false;
        }
        self.evaluations += 1;
        self.children.push(child);
    }

    /// Makes both rules wrong: tighter by so many units than is proven.
    #[cfg(test)]
    pub(super) fn tighten(&mut self, fit: i64, gain: i64) {
        self.slack -= gain;
        for child in &mut self.children {
            child.most_fit -= fit;
        }
    }

    /// Returns whether every candidate of every variable is listed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.listed() == self.children.len()
    }

    /// Returns how many variables are listed whole.
    #[must_use]
    pub fn listed(&self) -> usize {
        self.children.iter().filter(|child| child.is_listed).count()
    }

    /// Returns how many sets were scored.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Returns what was listed, by variable.
    #[must_use]
    pub fn into_candidates(self) -> Vec<Candidates> {
        let members = self.members;
        let of_child = |child: Child| Candidates {
            families: child.found,
            coverage: match child.is_listed {
                true => Coverage::All,
                false => Coverage::UpTo(child.required.len() + members),
            },
            evaluations: 0,
        };
        self.children.into_iter().map(of_child).collect()
    }

    /// Lists the sets with one parent more. Returns false, with nothing changed, if they would take
    /// more than `bytes` or `go_on` says no.
    pub fn next_size(
        &mut self,
        bytes: usize,
        do_pieces: DoPieces<'_>,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        let most = self.keys.most_members();
        let members = self.members + 1;
        let fits = |child: &Child| child.required.len() + members < most;
        if self.is_last || !self.children.iter().all(fits) {
            return false;
        }
        let means = Means { do_pieces, go_on };
        // All variables at once share most; where that takes too much, half of them at a time.
        let all = 0..self.children.len();
        let (mut groups, mut listed) = (vec![all], Vec::new());
        let (mut scored, mut known) = (0, Vec::new());
        let open_before = self.children.iter().map(|child| child.open.sets.len());
        let open_before: usize = open_before.sum();
        let (mut open, mut is_last) = (open_before, false);
        while let Some(group) = groups.pop() {
            let room = bytes.saturating_sub(open * BYTES_OPEN);
            match self.list(group.clone(), members, room, means) {
                Ok(mut level) => {
                    let opened = level
                        .children
                        .iter()
                        .map(|of_child| of_child.open.sets.len());
                    open += opened.sum::<usize>();
                    // No more than half of the room is for what larger sets could be made of.
                    is_last |= open * BYTES_OPEN > bytes / 2;
                    if is_last {
                        let dropped = listed.iter_mut().chain(&mut level.children);
                        dropped.for_each(|of_child: &mut OfChild| of_child.open = Open::default());
                        open = open_before;
                    }
                    listed.extend(level.children);
                    scored += level.scored;
                    known = level.sums;
                }
                Err(Short::OfRoom) if group.len() > 1 => {
                    let half = group.start + group.len() / 2;
                    groups.extend([half..group.end, group.start..half]);
                }
                Err(_) => return false,
            }
        }
        for (child, listed) in self.children.iter_mut().zip(listed) {
            child.found.extend(listed.found);
            child.is_listed = listed.is_listed;
            child.open = listed.open;
        }
        self.is_last = is_last;
        self.known = known;
        self.members = members;
        self.evaluations += scored as u64;
        true
    }

    /// Lists the sets of so many members of some children.
    fn list(
        &self,
        group: Range<usize>,
        members: usize,
        bytes: usize,
        means: Means<'_>,
    ) -> Result<Level, Short> {
        let children = &self.children[group];
        let bytes_wanted = AtomicUsize::new(0);
        let wanted = pieces(means.do_pieces, children.len(), |at| {
            let goes_on = || bytes_wanted.load(Relaxed) <= bytes && (means.go_on)();
            let wanted = self.wanted(&children[at], members, &goes_on, &|more| {
                bytes_wanted.fetch_add(more * size_of::<Wanted>(), Relaxed);
            });
            wanted.unwrap_or_default()
        });
        let room = |wanted: &[Vec<Wanted>], sets: &[Vec<u128>]| {
            let wanted: usize = wanted.iter().map(Vec::len).sum();
            let counted: usize = sets.iter().map(Vec::len).sum();
            let needed = wanted * (size_of::<Wanted>() + BYTES_OPEN) + counted * BYTES_COUNTED;
            if needed > bytes {
                Err(Short::OfRoom)
            } else {
                Ok(())
            }
        };
        if bytes_wanted.into_inner() > bytes {
            return Err(Short::OfRoom);
        }
        if !(means.go_on)() {
            return Err(Short::OfTime);
        }
        // What the parent sets say about their members.
        let mut wanted = wanted;
        let sets = self.sets(children, &wanted, members, false);
        room(&wanted, &sets)?;
        let sums = self.count(&self.known, sets, means)?;
        for (child, wanted) in children.iter().zip(&mut wanted) {
            let sums = &sums[child.required.len() + members];
            let mut at = 0;
            wanted.retain(|set| {
                let parents = self.with_required(child, set.key, members);
                sums.get(parents, &mut at) < set.limit
            });
            wanted.shrink_to_fit();
        }
        // What they say about the child.
        let sets = self.sets(children, &wanted, members, true);
        room(&wanted, &sets)?;
        let with_child = self.count(&sums, sets, means)?;
        let settled = pieces(means.do_pieces, children.len(), |at| {
            self.settle(&children[at], &wanted[at], members, &sums, &with_child)
        });
        Ok(Level {
            children: settled,
            sums: with_child,
            scored: wanted.iter().map(Vec::len).sum(),
        })
    }

    /// Lists the sets of so many members whose subsets are all open, and that could still beat them;
    /// none if `go_on` says no. `note` is told how many more there are now and then.
    fn wanted(
        &self,
        child: &Child,
        members: usize,
        go_on: &dyn Fn() -> bool,
        note: &dyn Fn(usize),
    ) -> Option<Vec<Wanted>> {
        let (keys, open) = (self.keys, &child.open);
        let mut wanted = Vec::new();
        let required = self.required_configurations(child);
        if members == 1 {
            for &(_, base) in &open.sets {
                for &place in &child.addable {
                    let mut test = Test::new(self, child, required * self.states(place));
                    if test.add(&base, self.states(place)) && test.can_pay() {
                        wanted.push(test.wanted(keys.push(0, place)));
                    }
                }
            }
            note(wanted.len());
            return Some(wanted);
        }
        let mut noted = 0;
        let mut places = Vec::new();
        let mut at = 0;
        while at < open.sets.len() {
            let prefix = keys.prefix(open.sets[at].0);
            let siblings = open.sets[at..]
                .iter()
                .take_while(|(key, _)| keys.prefix(*key) == prefix);
            let end = at + siblings.count();
            for first in at..end {
                if first % 64 == 0 {
                    note(wanted.len() - noted);
                    noted = wanted.len();
                    if !go_on() {
                        return None;
                    }
                }
                let (key, known) = open.sets[first];
                places.clear();
                places.extend(keys.members(key, members - 1));
                let states = places.iter().map(|&place| self.states(place));
                let configurations = required * states.product::<f64>();
                let before_last = self.states(places[members - 2]);
                for &(other, with_other) in &open.sets[first + 1..end] {
                    let last = keys.last(other);
                    let with = configurations * self.states(last);
                    let mut test = Test::new(self, child, with);
                    // The cheap questions first, with what is known already.
                    if !test.add(&known, self.states(last))
                        || !test.add(&with_other, before_last)
                        || !test.can_pay()
                    {
                        continue;
                    }
                    let set = keys.push(key, last);
                    let stays = (2..members).all(|after| {
                        let subset = open.get(keys.without(set, after));
                        let left_out = self.states(places[members - 1 - after]);
                        subset.is_some_and(|known| test.add(known, left_out))
                    });
                    if stays && test.can_pay() {
                        wanted.push(test.wanted(set));
                    }
                }
            }
            at = end;
        }
        note(wanted.len() - noted);
        Some(wanted)
    }

    /// Lists the sets to be counted by size, in order: the parents, with the child or without.
    fn sets(
        &self,
        children: &[Child],
        wanted: &[Vec<Wanted>],
        members: usize,
        with_child: bool,
    ) -> Vec<Vec<u128>> {
        let mut sets: Vec<Vec<u128>> = Vec::new();
        let mut merged: Vec<usize> = Vec::new();
        for (child, wanted) in children.iter().zip(wanted) {
            let parents = child.required.len() + members;
            let size = parents + usize::from(with_child);
            if sets.len() <= size {
                sets.resize_with(size + 1, Vec::new);
                merged.resize(size + 1, 0);
            }
            let keys = wanted.iter().map(|set| {
                let key = self.with_required(child, set.key, members);
                match with_child {
                    true => self.keys.with(key, parents, child.place),
                    false => key,
                }
            });
            let (sets, merged) = (&mut sets[size], &mut merged[size]);
            sets.extend(keys);
            // Most of them are asked for by several children: not all have to be held at once.
            if sets.len() > 2 * *merged + SETS_A_PIECE {
                sets.sort_unstable();
                sets.dedup();
                *merged = sets.len();
            }
        }
        for sets in &mut sets {
            sets.sort_unstable();
            sets.dedup();
        }
        sets
    }

    /// Counts sets, by size; what is known already is taken over.
    fn count(
        &self,
        known: &[Sums],
        sets: Vec<Vec<u128>>,
        means: Means<'_>,
    ) -> Result<Vec<Sums>, Short> {
        let mut counted = Vec::new();
        for (size, sets) in sets.into_iter().enumerate() {
            let none = Sums::default();
            let known = known.get(size).unwrap_or(&none);
            let mut at = 0;
            let is_missing = |set: &u128| known.find(*set, &mut at).is_none();
            let missing: Vec<u128> = sets.iter().copied().filter(is_missing).collect();
            let chunks: Vec<&[u128]> = missing.chunks(SETS_A_PIECE).collect();
            let sums = pieces(means.do_pieces, chunks.len(), |piece| {
                self.counter.sums(chunks[piece], size, means.go_on)
            });
            let sums: Option<Vec<Vec<i64>>> = sums.into_iter().collect();
            let missing = Sums {
                sums: sums.ok_or(Short::OfTime)?.concat(),
                sets: missing,
            };
            let (mut at, mut at_missing) = (0, 0);
            let sums = sets.iter().map(|&set| match known.find(set, &mut at) {
                Some(sum) => sum,
                None => missing.get(set, &mut at_missing),
            });
            counted.push(Sums {
                sums: sums.collect(),
                sets,
            });
        }
        Ok(counted)
    }

    /// Scores sets: what stays open, and the candidates among them.
    fn settle(
        &self,
        child: &Child,
        wanted: &[Wanted],
        members: usize,
        sums: &[Sums],
        with_child: &[Sums],
    ) -> OfChild {
        let (mut open, mut found) = (Open::default(), Vec::new());
        let size = child.required.len() + members;
        let required = self.required_configurations(child);
        let states = child.addable.iter().map(|&place| self.states(place));
        let fewest_states = states.fold(f64::INFINITY, f64::min);
        let may_grow = members < child.most_members;
        let (mut at, mut at_with) = (0, 0);
        for set in wanted {
            let parents = self.with_required(child, set.key, members);
            let sum = sums[size].get(parents, &mut at);
            let family = self.keys.with(parents, size, child.place);
            let fit = with_child[size + 1].get(family, &mut at_with) - sum;
            let places = || self.keys.members(set.key, members);
            let configurations =
                required * places().map(|place| self.states(place)).product::<f64>();
            let units = fit - self.penalty(child, configurations);
            if units > set.best {
                found.push(Family {
                    parents: self.nodes(child.required.iter().copied().chain(places())),
                    units,
                });
            }
            let known = Known {
                best: set.best.max(units),
                fit,
                sum,
            };
            // Could any set above it beat it?
            let cheapest = configurations * fewest_states;
            let mut test = Test::new(self, child, cheapest);
            if may_grow && test.add(&known, fewest_states) && test.can_pay() {
                open.sets.push((set.key, known));
            }
        }
        open.index();
        OfChild {
            is_listed: open.sets.is_empty(),
            open,
            found,
        }
    }

    fn with_required(&self, child: &Child, key: u128, members: usize) -> u128 {
        let required = child.required.iter().enumerate();
        required.fold(key, |key, (more, &place)| {
            self.keys.with(key, members + more, place)
        })
    }

    fn required_configurations(&self, child: &Child) -> f64 {
        let states = child.required.iter().map(|&place| self.states(place));
        states.product()
    }

    fn penalty(&self, child: &Child, configurations: f64) -> i64 {
        self.terms.penalty_of(child.states, configurations)
    }

    /// How many states the variable at a place has.
    fn states(&self, place: usize) -> f64 {
        self.counter.states(place)
    }

    fn nodes(&self, places: impl Iterator<Item = usize>) -> Vec<NodeIdx> {
        let mut nodes: Vec<NodeIdx> = places.map(|place| self.order[place]).collect();
        nodes.sort_unstable();
        nodes
    }
}

/// Does pieces of work; the results are in the order of their numbers.
fn pieces<R: Send + Sync>(
    do_pieces: DoPieces<'_>,
    number: usize,
    work: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let results: Vec<OnceLock<R>> = (0..number).map(|_| OnceLock::new()).collect();
    do_pieces(number, &|piece| {
        // A piece that was done already stays as it is.
        let _ = results[piece].set(work(piece));
    });
    results
        .into_iter()
        .filter_map(OnceLock::into_inner)
        .collect()
}
