//! A chain's state for storing: what every chain has, and what its search keeps besides, as lists of
//! values by name. A state says which search has written it, and in which version of that search's
//! own fields, so that nothing is ever read as something else.

use super::chain::SeedCounts;
use crate::elite::EliteRow;
use std::borrow::Cow;
use std::collections::BTreeMap;
use thiserror::Error;

/// A name as it is written in the program, or as it was read.
pub type Name = Cow<'static, str>;

/// Which search a state belongs to, and the version of the fields that the search stores. The
/// version goes up whenever a field's meaning changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateKind {
    /// The search's name.
    pub search: &'static str,
    /// The version of its fields.
    pub version: u32,
}

/// A chain's state for storing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedChain {
    /// The search that has written it.
    pub search: Name,
    /// The version of that search's fields.
    pub version: u32,
    /// State of the generator.
    pub random: [u64; 4],
    /// Steps made.
    pub iterations: u64,
    /// Evaluations asked for.
    pub evaluations: u64,
    /// Evaluations counted from the data.
    pub computed: u64,
    /// What became of seeds.
    pub seeds: SeedCounts,
    /// The best row.
    pub best: Option<EliteRow>,
    /// What the search keeps besides.
    pub own: Fields,
}

/// Lists of values by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    pub(crate) integers: Lists<u64>,
    pub(crate) numbers: Lists<f64>,
    pub(crate) rows: Lists<EliteRow>,
}

pub(crate) type Lists<T> = BTreeMap<Name, Vec<T>>;

/// Why a chain can't be resumed from a stored state.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnfitState {
    /// Another search has written it.
    #[error("the stored chain is one of the search {found}, not of {expected}")]
    AnotherSearch {
        /// The search that should resume it.
        expected: &'static str,
        /// The search that has written it.
        found: String,
    },
    /// Its fields are those of an earlier program.
    #[error(
        "the stored chain was written by an earlier version of rlbayes (version {found} of the \
         state of {}, this one has {})",
        expected.search,
        expected.version
    )]
    Earlier {
        /// What this program writes.
        expected: StateKind,
        /// The version found.
        found: u32,
    },
    /// Its fields are those of a newer program.
    #[error(
        "the stored chain was written by a newer version of rlbayes (version {found} of the \
         state of {}, this one has {})",
        expected.search,
        expected.version
    )]
    Newer {
        /// What this program writes.
        expected: StateKind,
        /// The version found.
        found: u32,
    },
    /// A field is not there.
    #[error("the stored chain lacks its field \"{0}\"")]
    Missing(&'static str),
    /// A field holds what it can't hold in this search.
    #[error("the field \"{0}\" of the stored chain does not fit this search")]
    Field(&'static str),
}

impl SavedChain {
    /// Checks that the state was written by this search in this version.
    ///
    /// # Errors
    /// If it was not.
    pub fn check(&self, expected: StateKind) -> Result<(), UnfitState> {
        let found = self.version;
        if self.search != expected.search {
            return Err(UnfitState::AnotherSearch {
                expected: expected.search,
                found: self.search.clone().into_owned(),
            });
        }
        match found.cmp(&expected.version) {
            std::cmp::Ordering::Less => Err(UnfitState::Earlier { expected, found }),
            std::cmp::Ordering::Greater => Err(UnfitState::Newer { expected, found }),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }
}

impl Fields {
    /// Adds a whole number.
    #[must_use]
    pub fn with_integer(self, name: &'static str, value: u64) -> Self {
        self.with_integers(name, [value])
    }

    /// Adds a list of whole numbers.
    #[must_use]
    pub fn with_integers(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = u64>,
    ) -> Self {
        self.integers
            .insert(name.into(), values.into_iter().collect());
        self
    }

    /// Adds a list of places or sizes.
    #[must_use]
    pub fn with_sizes(self, name: &'static str, values: impl IntoIterator<Item = usize>) -> Self {
        self.with_integers(name, values.into_iter().map(|value| value as u64))
    }

    /// Adds a number.
    #[must_use]
    pub fn with_number(self, name: &'static str, value: f64) -> Self {
        self.with_numbers(name, [value])
    }

    /// Adds a list of numbers.
    #[must_use]
    pub fn with_numbers(
        mut self,
        name: &'static str,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        self.numbers
            .insert(name.into(), values.into_iter().collect());
        self
    }

    /// Adds a list of rows; none or one where a row may be missing.
    #[must_use]
    pub fn with_rows(
        mut self,
        name: &'static str,
        rows: impl IntoIterator<Item = EliteRow>,
    ) -> Self {
        self.rows.insert(name.into(), rows.into_iter().collect());
        self
    }

    /// Returns a list of whole numbers.
    ///
    /// # Errors
    /// If it is not there.
    pub fn integers(&self, name: &'static str) -> Result<&[u64], UnfitState> {
        list(&self.integers, name)
    }

    /// Returns a whole number.
    ///
    /// # Errors
    /// If it is not there, or not one.
    pub fn integer(&self, name: &'static str) -> Result<u64, UnfitState> {
        one(self.integers(name)?, name)
    }

    /// Returns a list of places or sizes.
    ///
    /// # Errors
    /// If it is not there, or one is beyond what this machine counts.
    pub fn sizes(&self, name: &'static str) -> Result<Vec<usize>, UnfitState> {
        self.integers(name)?
            .iter()
            .map(|&value| usize::try_from(value).map_err(|_| UnfitState::Field(name)))
            .collect()
    }

    /// Returns a place or size.
    ///
    /// # Errors
    /// If it is not there, or beyond what this machine counts.
    pub fn size(&self, name: &'static str) -> Result<usize, UnfitState> {
        one(&self.sizes(name)?, name)
    }

    /// Returns a list of numbers, none of which is NaN.
    ///
    /// # Errors
    /// If it is not there.
    pub fn numbers(&self, name: &'static str) -> Result<&[f64], UnfitState> {
        let numbers = list(&self.numbers, name)?;
        if numbers.iter().any(|number| number.is_nan()) {
            return Err(UnfitState::Field(name));
        }
        Ok(numbers)
    }

    /// Returns a number, which is not NaN.
    ///
    /// # Errors
    /// If it is not there, or not one.
    pub fn number(&self, name: &'static str) -> Result<f64, UnfitState> {
        one(self.numbers(name)?, name)
    }

    /// Returns a list of rows.
    ///
    /// # Errors
    /// If it is not there.
    pub fn rows(&self, name: &'static str) -> Result<&[EliteRow], UnfitState> {
        list(&self.rows, name)
    }

    /// Returns a row that may be missing.
    ///
    /// # Errors
    /// If there is no such field, or there are several rows.
    pub fn row(&self, name: &'static str) -> Result<Option<&EliteRow>, UnfitState> {
        match self.rows(name)? {
            [] => Ok(None),
            [row] => Ok(Some(row)),
            _ => Err(UnfitState::Field(name)),
        }
    }
}

fn list<'a, T>(lists: &'a Lists<T>, name: &'static str) -> Result<&'a [T], UnfitState> {
    let list = lists.get(name).ok_or(UnfitState::Missing(name))?;
    Ok(list)
}

fn one<T: Copy>(values: &[T], name: &'static str) -> Result<T, UnfitState> {
    match values {
        &[value] => Ok(value),
        _ => Err(UnfitState::Field(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: StateKind = StateKind {
        search: "hc",
        version: 2,
    };

    #[test]
    fn a_state_of_another_search_or_version_is_refused_with_its_reason() {
        let saved = |search: &'static str, version| SavedChain {
            search: search.into(),
            version,
            ..SavedChain::default()
        };
        assert_eq!(saved("hc", 2).check(KIND), Ok(()));
        for (unfit, reason) in [
            (saved("tabu", 2), "one of the search tabu, not of hc"),
            (saved("hc", 1), "by an earlier version of rlbayes"),
            (saved("hc", 3), "by a newer version of rlbayes"),
        ] {
            let message = unfit.check(KIND).unwrap_err().to_string();
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn fields_are_found_by_name_and_kind() {
        let fields = Fields::default()
            .with_integer("turn", 3)
            .with_numbers("scores", [1.5, f64::NAN])
            .with_rows("current", []);
        assert_eq!(fields.integer("turn"), Ok(3));
        assert_eq!(fields.size("turn"), Ok(3));
        assert_eq!(fields.row("current"), Ok(None));
        assert_eq!(fields.number("turn"), Err(UnfitState::Missing("turn")));
        assert_eq!(
            fields.numbers("scores"),
            Err(UnfitState::Field("scores")),
            "NaN"
        );
        let several = Fields::default().with_integers("turn", [1, 2]);
        assert_eq!(several.integer("turn"), Err(UnfitState::Field("turn")));
    }
}
