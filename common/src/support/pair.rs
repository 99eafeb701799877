//! What the counts of one pair say.

use super::tally::Marks;
use crate::graph::Joined;
use crate::ids::NodeIdx;

/// How two variables are joined over all networks that were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairSupport {
    /// The one that the marks start from.
    pub from: NodeIdx,
    /// The other.
    pub to: NodeIdx,
    /// The counts.
    pub marks: Marks,
    /// How many networks there are.
    pub networks: u32,
}

impl PairSupport {
    /// Returns the share of networks with an edge between the two, whichever way it points:
    /// bnlearn's `strength`.
    #[must_use]
    pub fn strength(&self) -> f64 {
        self.share(self.marks.joined())
    }

    /// Returns, of the networks with an edge, the share in which it points from the first to the
    /// second; one without direction counts half. 0 where there is no edge. bnlearn's `direction`.
    #[must_use]
    pub fn direction(&self) -> f64 {
        let joined = self.marks.joined();
        if joined == 0 {
            return 0.0;
        }
        (f64::from(self.marks.forward) + 0.5 * f64::from(self.marks.undirected)) / f64::from(joined)
    }

    /// Returns the standard error of the strength: what other replicates would change.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let strength = self.strength();
        (strength * (1.0 - strength) / f64::from(self.networks.max(1))).sqrt()
    }

    /// Returns the commonest of the four marks. No edge wins a tie against an edge, and an edge
    /// without direction wins one between directions: names decide nothing.
    #[must_use]
    pub fn commonest(&self) -> Joined {
        let Marks {
            forward,
            backward,
            undirected,
        } = self.marks;
        let none = self.networks - self.marks.joined();
        let most = none.max(forward).max(backward).max(undirected);
        if none == most {
            Joined::No
        } else if undirected == most || forward == backward {
            Joined::Undirected
        } else if forward == most {
            Joined::Forward
        } else {
            Joined::Backward
        }
    }

    /// Returns the same pair from its other end.
    #[must_use]
    pub fn turned(&self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            marks: Marks {
                forward: self.marks.backward,
                backward: self.marks.forward,
                undirected: self.marks.undirected,
            },
            networks: self.networks,
        }
    }

    /// Returns the share of a count.
    #[must_use]
    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.networks.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(forward: u32, backward: u32, undirected: u32, networks: u32) -> PairSupport {
        PairSupport {
            from: NodeIdx::new(0),
            to: NodeIdx::new(1),
            marks: Marks {
                forward,
                backward,
                undirected,
            },
            networks,
        }
    }

    #[test]
    fn strength_and_direction_are_bnlearns() {
        let pair = pair(62, 4, 110, 200);
        assert!((pair.strength() - 0.88).abs() < 1e-12);
        assert!((pair.direction() - (62.0 + 55.0) / 176.0).abs() < 1e-12);
        assert!((pair.turned().direction() + pair.direction() - 1.0).abs() < 1e-12);
        assert!((pair.standard_error() - 0.022_978).abs() < 1e-6);
        assert!(
            super::PairSupport {
                networks: 0,
                ..pair
            }
            .share(0)
            .abs()
                < 1e-12
        );
    }

    #[test]
    fn the_commonest_mark_is_not_chosen_by_name() {
        assert_eq!(pair(3, 2, 1, 10).commonest(), Joined::No);
        assert_eq!(pair(5, 1, 2, 10).commonest(), Joined::Forward);
        assert_eq!(pair(5, 1, 2, 10).turned().commonest(), Joined::Backward);
        assert_eq!(pair(1, 1, 5, 10).commonest(), Joined::Undirected);
        assert_eq!(pair(4, 4, 0, 10).commonest(), Joined::Undirected);
        assert_eq!(pair(4, 0, 4, 10).commonest(), Joined::Undirected);
        assert_eq!(pair(5, 0, 0, 10).commonest(), Joined::No);
    }
}
