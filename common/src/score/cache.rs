//! A memo with a hard memory bound in front of pure functions. What it holds or evicts changes
//! speed, never a result.
//!
//! Eviction is second chance: when the bound is reached, entries that nobody asked for since the
//! last sweep go; if that does not halve the content, further ones go in map order.

use dashmap::DashMap;
use rustc_hash::FxBuildHasher;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A bounded concurrent map from keys to cheaply cloned values.
#[derive(Debug)]
pub(crate) struct BoundedCache<K: Eq + Hash, V> {
    entries: DashMap<K, Entry<V>, FxBuildHasher>,
    bytes: AtomicUsize,
    limit: usize,
    sweep: Mutex<()>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    bytes: usize,
    used: AtomicBool,
}

/// How a cache did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Questions answered from memory.
    pub hits: u64,
    /// Questions that had to be computed.
    pub misses: u64,
    /// Bytes held now.
    pub bytes: usize,
    /// Bytes that may be held.
    pub limit: usize,
}

impl<K: Eq + Hash + Copy, V: Clone> BoundedCache<K, V> {
    /// What an entry costs in the map itself, at the worst load factor.
    const OVERHEAD: usize = 2 * size_of::<(K, Entry<V>)>() + 16;

    pub(crate) fn new(limit: usize) -> Self {
        Self {
            entries: DashMap::with_hasher(FxBuildHasher),
            bytes: AtomicUsize::new(0),
            limit,
            sweep: Mutex::new(()),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let found = self.entries.get(key).map(|entry| {
            if !entry.used.load(Relaxed) {
                entry.used.store(true, Relaxed);
            }
            entry.value.clone()
        });
        let counter = if found.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        counter.fetch_add(1, Relaxed);
        found
    }

    /// Remembers a value that holds `content` bytes of its own.
    pub(crate) fn insert(&self, key: K, value: V, content: usize) {
        let bytes = content + Self::OVERHEAD;
        if bytes > self.limit {
            return;
        }
        if self.bytes.load(Relaxed) + bytes > self.limit {
            self.make_room(bytes);
        }
        let entry = Entry {
            value,
            bytes,
            used: AtomicBool::new(false),
        };
        self.bytes.fetch_add(bytes, Relaxed);
        if let Some(old) = self.entries.insert(key, entry) {
            self.bytes.fetch_sub(old.bytes, Relaxed);
        }
    }

    fn make_room(&self, needed: usize) {
        let _one_at_a_time = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bytes.load(Relaxed) + needed <= self.limit {
            return;
        }
        let drop_entry = |entry: &Entry<V>| {
            self.bytes.fetch_sub(entry.bytes, Relaxed);
            false
        };
        self.entries
            .retain(|_, entry| entry.used.swap(false, Relaxed) || drop_entry(entry));
        if self.bytes.load(Relaxed) > self.limit / 2 {
            self.entries
                .retain(|_, entry| self.bytes.load(Relaxed) <= self.limit / 2 || drop_entry(entry));
        }
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        CacheStatistics {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            limit: self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_inserts_stay_within_the_bound_and_answers_stay_right() {
        let cache: BoundedCache<u64, u64> = BoundedCache::new(100_000);
        for key in 0..1_000_000u64 {
            cache.insert(key, key * 3, 0);
            assert!(cache.statistics().bytes <= 100_000);
            if let Some(value) = cache.get(&(key / 2)) {
                assert_eq!(value, key / 2 * 3);
            }
        }
        assert!(cache.get(&999_999).is_some());
    }

    #[test]
    fn several_threads_overshoot_by_at_most_one_entry_each() {
        let cache: BoundedCache<u64, u64> = BoundedCache::new(50_000);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let cache = &cache;
                scope.spawn(move || {
                    for key in 0..100_000 {
                        cache.insert(key * 4 + thread, key, 100);
                        assert!(cache.statistics().bytes <= 50_000 + 4 * 400);
                    }
                });
            }
        });
    }

    #[test]
    fn an_entry_larger_than_the_bound_is_not_kept() {
        let cache: BoundedCache<u8, u8> = BoundedCache::new(200);
        cache.insert(1, 1, 1000);
        assert_eq!(cache.get(&1), None);
    }
}
