//! Where a network comes from: the table, its fingerprint, the score, the program. Short facts by
//! name; formats keep them and give them back.

use std::collections::BTreeMap;

/// Facts about how a network was made, as pairs of a name (letters, digits and `_`) and a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance(BTreeMap<String, String>);

impl Provenance {
    /// The most facts that are kept.
    pub const MOST_FACTS: usize = 64;
    /// The longest name or text, in bytes.
    pub const LONGEST: usize = 4096;

    /// Adds a fact; one with a name that is no plain word, that is too long, or beyond the limit is
    /// left out.
    pub fn add(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let fits = !name.is_empty()
            && name.bytes().all(is_plain)
            && name.len().max(text.len()) <= Self::LONGEST
            && self.0.len() < Self::MOST_FACTS;
        if fits {
            self.0.insert(name.to_owned(), text);
        }
    }

    /// Returns the facts, ordered by name.
    pub fn facts(&self) -> impl Iterator<Item = (&str, &str)> + '_ {
        self.0
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Returns a fact.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
