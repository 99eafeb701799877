//! The open connections of a port. A new connection always gets a place: while all are taken, another
//! one is closed for it. *Strangers*, which have not made a call that was admitted, have few places in
//! all and for each address, and go first; those of the most crowded address go before others. So
//! nobody can keep a worker out by holding connections.

use crate::peer::known_by;
use rlbayes_common::ids::{Incarnation, WorkerId};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All connections.
    pub places: usize,
    /// Connections of strangers.
    pub strangers: usize,
    /// Connections of strangers from one address.
    pub strangers_of_address: usize,
}

impl Limits {
    /// Returns limits for a number of places: strangers may have a quarter, an address half of that.
    #[must_use]
    pub fn of(places: usize) -> Self {
        let strangers = (places / 4).clamp(1, 1024);
        Self {
            places: places.max(2),
            strangers,
            strangers_of_address: (strangers / 2).max(1),
        }
    }
}

/// The open connections.
#[derive(Debug)]
pub struct Connections {
    limits: Limits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// By number, so oldest first.
    strangers: BTreeMap<u64, Arc<Shared>>,
    /// By the number of their last call: the one that was silent longest first.
    proven: BTreeMap<u64, Arc<Shared>>,
    last_number: u64,
}

/// What a connection and the table of all know of each other.
#[derive(Debug)]
struct Shared {
    address: Option<IpAddr>,
    is_proven: AtomicBool,
    is_closed: AtomicBool,
    /// The task that reads the connection.
    reader: Mutex<Option<Waker>>,
    /// Where it stands in the table.
    number: Mutex<u64>,
    /// The member that calls by it.
    member: Mutex<Option<(WorkerId, Incarnation)>>,
}

/// A connection's place; it is free again when the last copy of it is dropped.
#[derive(Clone, Debug)]
pub struct Place(Arc<Held>);

/// A place that may be free again: it does not keep it.
#[derive(Clone, Debug)]
pub(crate) struct WeakPlace(Weak<Held>);

#[derive(Debug)]
struct Held {
    shared: Arc<Shared>,
    connections: Arc<Connections>,
}

impl Connections {
    /// Makes the table of a port.
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        let open = Mutex::default();
        Arc::new(Self { limits, open })
    }

    /// Gives a new connection a place, and closes others if it has to.
    #[must_use]
    pub fn enter(self: &Arc<Self>, address: Option<IpAddr>) -> Place {
        let address = address.map(known_by);
        let mut open = lock(&self.open);
        let number = open.next_number();
        let shared = Arc::new(Shared {
            address,
            is_proven: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            reader: Mutex::default(),
            number: Mutex::new(number),
            member: Mutex::default(),
        });
        // Room is made before it comes in, so that it is never the one to go.
        let of_address = open
            .strangers
            .values()
            .filter(|other| other.address == address);
        if of_address.count() >= self.limits.strangers_of_address {
            close_oldest(&mut open.strangers, address);
        }
        if open.strangers.len() >= self.limits.strangers {
            close_crowding(&mut open.strangers);
        }
        if open.strangers.len() + open.proven.len() >= self.limits.places {
            if open.strangers.is_empty() {
                close_crowding(&mut open.proven);
            } else {
                close_crowding(&mut open.strangers);
            }
        }
        open.strangers.insert(number, Arc::clone(&shared));
        drop(open);
        Place(Arc::new(Held {
            shared,
            connections: Arc::clone(self),
        }))
    }

    /// Returns how many connections are open: strangers', and those of callers that were admitted.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let open = lock(&self.open);
        (open.strangers.len(), open.proven.len())
    }
}

impl Open {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// Closes the first connection of the address that has the most, or of those that do.
fn close_crowding(connections: &mut BTreeMap<u64, Arc<Shared>>) {
    let mut counts: BTreeMap<Option<IpAddr>, usize> = BTreeMap::new();
    for connection in connections.values() {
        *counts.entry(connection.address).or_default() += 1;
    }
    let most = counts.values().max();
    let first = connections
        .values()
        .find(|connection| counts.get(&connection.address) == most)
        .map(|connection| connection.address);
    if let Some(address) = first {
        close_oldest(connections, address);
    }
}

/// Closes the first connection of an address in a table.
fn close_oldest(connections: &mut BTreeMap<u64, Arc<Shared>>, address: Option<IpAddr>) {
    let oldest = connections
        .iter()
        .find(|(_, connection)| connection.address == address)
        .map(|(&number, _)| number);
    if let Some(connection) = oldest.and_then(|number| connections.remove(&number)) {
        connection.is_closed.store(true, Relaxed);
        connection.wake();
    }
}

impl Shared {
    fn wake(&self) {
        if let Some(reader) = lock(&self.reader).take() {
            reader.wake();
        }
    }
}

impl Place {
    /// Returns the address that the other end is known by, if it has one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.0.shared.address
    }

    /// Returns a number that no other connection has.
    #[must_use]
    pub fn number(&self) -> usize {
        Arc::as_ptr(&self.0.shared).addr()
    }

    /// Notes a call that was admitted: from now on the connection is no stranger's.
    pub fn prove(&self) {
        let Held {
            shared,
            connections,
        } = &*self.0;
        let mut open = lock(&connections.open);
        let mut number = lock(&shared.number);
        let known =
            open.strangers.remove(&number).is_some() || open.proven.remove(&number).is_some();
        if known {
            *number = open.next_number();
            open.proven.insert(*number, Arc::clone(shared));
        }
        drop((number, open));
        if !shared.is_proven.swap(true, Relaxed) {
            shared.wake();
        }
    }

    /// Notes which member calls by this connection.
    pub(crate) fn serve(&self, member: Option<(WorkerId, Incarnation)>) {
        *lock(&self.0.shared.member) = member;
    }

    /// Returns which member called by it last.
    pub(crate) fn member(&self) -> Option<(WorkerId, Incarnation)> {
        *lock(&self.0.shared.member)
    }

    /// Returns whether a call of this connection was admitted.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.0.shared.is_proven.load(Relaxed)
    }

    /// Returns a way to the place that does not keep it.
    pub(crate) fn downgrade(&self) -> WeakPlace {
        WeakPlace(Arc::downgrade(&self.0))
    }

    /// Ends the connection.
    pub fn close(&self) {
        self.0.shared.is_closed.store(true, Relaxed);
        self.0.shared.wake();
    }

    /// Returns whether the place was taken away.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.shared.is_closed.load(Relaxed)
    }

    /// Has a task woken when the place is taken away, or a first call admitted.
    pub(crate) fn wakes(&self, waker: &Waker) {
        let mut reader = lock(&self.0.shared.reader);
        if !reader.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *reader = Some(waker.clone());
        }
    }
}

impl WeakPlace {
    /// Ends the connection, if it is still there.
    pub(crate) fn close(&self) {
        if let Some(held) = self.0.upgrade() {
            Place(held).close();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = lock(&self.connections.open);
        let number = *lock(&self.shared.number);
        open.strangers.remove(&number);
        open.proven.remove(&number);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    fn table(places: usize) -> Arc<Connections> {
        Connections::new(Limits::of(places))
    }

    #[test]
    fn whoever_comes_has_a_place_and_the_strangers_of_the_crowded_address_go() {
        let table = table(64);
        let alone = table.enter(address(2));
        let crowd: Vec<Place> = (0..5000).map(|_| table.enter(address(1))).collect();
        assert_eq!(
            table.count(),
            (9, 0),
            "half of a quarter, and the other one"
        );
        assert!(!alone.is_closed());
        assert!(crowd[0].is_closed() && !crowd[4999].is_closed());
        let many: Vec<Place> = (10..250).map(|last| table.enter(address(last))).collect();
        assert_eq!(table.count(), (16, 0), "a quarter");
        assert!(!many.last().unwrap().is_closed());
    }

    #[test]
    fn a_machine_with_many_addresses_has_the_places_of_one() {
        let table = table(64);
        let at = |text: String| Some(text.parse().unwrap());
        let alone = table.enter(at("2001:db8::1".to_owned()));
        let crowd: Vec<Place> = (0..500)
            .map(|last| table.enter(at(format!("2001:db8:0:7::{last:x}"))))
            .collect();
        assert_eq!(table.count(), (9, 0));
        assert!(!alone.is_closed() && crowd[0].is_closed());
    }

    #[test]
    fn those_that_were_admitted_stay_whatever_strangers_do() {
        let table = table(64);
        let workers: Vec<Place> = (0..50)
            .map(|_| table.enter(address(1)))
            .map(proven)
            .collect();
        let _crowd: Vec<Place> = (0..9999).map(|_| table.enter(address(1))).collect();
        assert!(workers.iter().all(|worker| !worker.is_closed()));
        assert_eq!(table.count().1, 50);
    }

    fn proven(place: Place) -> Place {
        place.prove();
        place
    }

    #[test]
    fn among_admitted_ones_the_silent_of_the_crowded_address_goes() {
        let table = table(8);
        let lone = proven(table.enter(address(2)));
        let crowd: Vec<Place> = (0..7).map(|_| proven(table.enter(address(1)))).collect();
        crowd[0].prove();
        let newcomer = proven(table.enter(address(3)));
        assert!(!lone.is_closed() && !newcomer.is_closed() && !crowd[0].is_closed());
        assert!(crowd[1].is_closed(), "it was silent for longest");
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_is_dropped() {
        let table = table(64);
        let first = table.enter(address(1));
        let copy = first.clone();
        drop(first);
        assert_eq!(table.count(), (1, 0));
        copy.prove();
        assert_eq!(table.count(), (0, 1));
        let weak = copy.downgrade();
        drop(copy);
        assert_eq!(table.count(), (0, 0));
        weak.close();
    }
}
