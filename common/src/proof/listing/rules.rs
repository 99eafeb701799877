//! The two rules that rule out a set with everything above it; `candidates` explains them.

use super::open::Known;
use super::{Child, Listing};

/// A set whose subsets are all open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) key: u128,
    /// The best score of its subsets.
    pub(super) best: i64,
    /// From this sum on, one of its members cannot gain what it costs.
    pub(super) limit: i64,
}

/// Tests whether a set, or one above it, can beat all its subsets with one parent less.
pub(super) struct Test<'l, 'p> {
    listing: &'l Listing<'p>,
    child: &'l Child,
    configurations: f64,
    penalty: i64,
    best: i64,
    limit: i64,
}

impl<'l, 'p> Test<'l, 'p> {
    pub(super) fn new(listing: &'l Listing<'p>, child: &'l Child, configurations: f64) -> Self {
        Self {
            listing,
            child,
            configurations,
            penalty: listing.penalty(child, configurations),
            best: i64::MIN,
            limit: i64::MAX,
        }
    }

    /// Adds what is known of the subset that lacks a member with so many states. Returns false if
    /// that member cannot gain what it costs: at most the uncertainty that the subset leaves in the
    /// child, and at most what it leaves in the member itself (which `limit` is for).
    pub(super) fn add(&mut self, known: &Known, states: f64) -> bool {
        let without = self
            .listing
            .penalty(self.child, self.configurations / states);
        let cost = self.penalty.saturating_sub(without);
        self.best = self.best.max(known.best);
        let slack = self.listing.slack;
        self.limit = self
            .limit
            .min(known.sum.saturating_add(slack).saturating_sub(cost));
        slack.saturating_sub(known.fit) > cost
    }

    /// Returns whether the best fit that there could be pays for the penalty.
    pub(super) fn can_pay(&self) -> bool {
        self.child.most_fit.saturating_sub(self.penalty) > self.best
    }

    pub(super) fn wanted(&self, key: u128) -> Wanted {
        Wanted {
            key,
            best: self.best,
            limit: self.limit,
        }
    }
}
