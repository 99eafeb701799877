//! Small numbers that must not be mixed up: nodes, chains, workers, rounds, seeds.

use crate::hex;
use std::fmt;

/// Position of a variable in the schema's order (by name, bytewise).
///
/// ```
/// use rlbayes_common::ids::NodeIdx;
/// assert_eq!(NodeIdx::new(3).index(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIdx(u16);

impl NodeIdx {
    /// Largest number of variables that a table or a graph may have.
    pub const MAX_NODES: usize = 16_384;

    /// Wraps a position.
    ///
    /// # Panics
    /// If `index` is not below [`Self::MAX_NODES`]; whatever reads outside data checks that first.
    #[must_use]
    pub fn new(index: usize) -> Self {
        assert!(
            index < Self::MAX_NODES,
            "node index {index} is out of range"
        );
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked against MAX_NODES above"
        )]
        Self(index as u16)
    }

    /// Returns the position as an index into per-node vectors.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns all nodes of a graph with `n` nodes in order.
    pub fn all(n: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
        (0..n).map(Self::new)
    }
}

impl fmt::Display for NodeIdx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number!(
    /// A worker process, as the coordinator numbers it.
    WorkerId(u64)
);
number!(
    /// A chain of the search: chains belong to the search, never to a worker.
    ChainId(u32)
);
number!(
    /// One life of a worker process, drawn afresh at each start.
    Incarnation(u64)
);
number!(
    /// Who stands behind a worker, by what it cannot choose, as its coordinator numbers it.
    PeerId(u64)
);
number!(
    /// A lockstep round, counted from 0.
    Round(u64)
);
number!(
    /// What a random generator starts from.
    Seed(u64)
);

impl Seed {
    /// Mixes a number into the seed (SplitMix64), so that each chain and round has its own.
    ///
    /// ```
    /// use rlbayes_common::ids::Seed;
    /// assert_ne!(Seed(1).mix(0), Seed(1).mix(1));
    /// ```
    #[must_use]
    pub const fn mix(self, with: u64) -> Self {
        let mut z = self.0 ^ with.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self(z ^ (z >> 31))
    }
}

/// A search, told apart from every other by its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SearchId(pub [u8; 16]);

impl fmt::Display for SearchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl std::str::FromStr for SearchId {
    type Err = NotASearchId;

    fn from_str(text: &str) -> Result<Self, NotASearchId> {
        hex::decode(text).map(Self).ok_or(NotASearchId)
    }
}

/// A text is not the name of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 hexadecimal digits")]
pub struct NotASearchId;
