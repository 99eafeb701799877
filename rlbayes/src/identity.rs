//! What makes two runs the same search: its settings by name, as they are stored in a state folder.
//!
//! Settings at their default are not listed, so that a later version with one more setting still
//! knows the searches of an earlier one. Budgets, threads and memory are not listed either: the same
//! search may run for longer, and on another machine. Entries under `about.` are for people's eyes
//! and are not compared.

use rlbayes_common::ids::SearchId;
use std::collections::BTreeMap;

/// The settings of a search, ordered by name.
pub type Settings = Vec<(String, String)>;

/// The version of the layout of state folders; see [`Difference::Format`].
pub const FORMAT: u32 = 2;

/// The entry that holds [`FORMAT`].
pub(crate) const FORMAT_ENTRY: &str = "format";
/// Entries that tell people about a search and do not belong to its identity.
const ABOUT: &str = "about.";
/// The table's name, for people.
pub(crate) const ABOUT_TABLE: &str = "about.table";

/// Names a search by its settings, the same on every machine and after every restart.
#[must_use]
pub fn search_id(settings: &[(String, String)]) -> SearchId {
    let mut hasher = blake3::Hasher::new();
    for text in compared(settings).flat_map(|(name, value)| [name, value]) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    SearchId(id)
}

/// How a stored search differs from the one at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is stored in the layout of another version of the program.
    Format {
        /// The stored version; an early program did not store one.
        stored: Option<u32>,
    },
    /// It is a search of another table.
    Table {
        /// The stored table's name, where one is stored.
        stored: Option<String>,
        /// The name of the table at hand.
        now: Option<String>,
    },
    /// A setting differs: the first of those that people choose.
    Setting {
        /// The table's name, where one is stored.
        table: Option<String>,
        /// Which setting.
        name: String,
        /// Its stored value; none: its default.
        stored: Option<String>,
        /// Its value now.
        now: Option<String>,
    },
}

impl Difference {
    /// Returns whether a newer version of the program has stored the search.
    pub(crate) fn is_newer(&self) -> bool {
        matches!(self, Self::Format { stored: Some(stored) } if *stored > FORMAT)
    }
}

/// Returns how stored settings differ from those at hand, if they do.
#[must_use]
pub fn difference(stored: &[(String, String)], now: &[(String, String)]) -> Option<Difference> {
    let find = |settings: &[(String, String)], name: &str| {
        let found = settings.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let (format, wanted) = (find(stored, FORMAT_ENTRY), find(now, FORMAT_ENTRY));
    if format != wanted {
        let stored = format.and_then(|format| format.parse().ok());
        return Some(Difference::Format { stored });
    }
    let table = find(stored, ABOUT_TABLE);
    if find(stored, "data") != find(now, "data") {
        return Some(Difference::Table {
            stored: table,
            now: find(now, ABOUT_TABLE),
        });
    }
    let by_name = |settings| -> BTreeMap<String, String> { compared(settings).cloned().collect() };
    let (before, after) = (by_name(stored), by_name(now));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    // What people choose before what follows from it: another search has other chains as well.
    let chosen = ["score", "search", "constraints", "start", "seed"];
    names.sort_by_key(|name| {
        let place = chosen.iter().position(|known| known == name);
        (
            place.unwrap_or(chosen.len()),
            name.as_str() == "chains",
            *name,
        )
    });
    let name = names
        .into_iter()
        .find(|&name| before.get(name) != after.get(name))?;
    Some(Difference::Setting {
        table,
        stored: before.get(name).cloned(),
        now: after.get(name).cloned(),
        name: name.clone(),
    })
}

/// Returns the settings that make the search what it is.
fn compared(settings: &[(String, String)]) -> impl Iterator<Item = &(String, String)> {
    settings.iter().filter(|(name, _)| !name.starts_with(ABOUT))
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let or_default = |value: &Option<String>| value.clone().unwrap_or("the default".into());
        let of = |table: &Option<String>| match table {
            Some(table) => format!("a search of {table}"),
            None => "a search".to_owned(),
        };
        match self {
            Self::Format {
                stored: Some(stored),
            } if self.is_newer() => write!(
                f,
                "holds a search that a newer version of rlbayes has written (format {stored}, this \
                 program knows {FORMAT}), which alone can continue it"
            ),
            Self::Format { .. } => f.write_str(
                "holds a search that an earlier version of rlbayes has written, which alone can \
                 continue it",
            ),
            Self::Table { stored, now } if stored == now => write!(
                f,
                "holds {} with other content than the table has now",
                of(stored)
            ),
            Self::Table { stored, now } => write!(
                f,
                "holds {}; this one is of {}",
                of(stored),
                now.as_deref().unwrap_or("another table")
            ),
            // These are stored as fingerprints, which tell nobody anything.
            Self::Setting { table, name, .. } if name == "constraints" => {
                write!(f, "holds {} with other constraints", of(table))
            }
            Self::Setting { table, name, .. } if name == "start" => {
                write!(f, "holds {} from another start network", of(table))
            }
            Self::Setting {
                table,
                name,
                stored,
                now,
            } => write!(
                f,
                "holds {} with {} {}; this one has {}",
                of(table),
                name.trim_start_matches("search.").replace('_', " "),
                or_default(stored),
                or_default(now)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn a_search_is_named_by_all_of_its_settings_but_those_for_people() {
        let one = settings(&[("score", "bic"), ("seed", "1")]);
        assert_eq!(search_id(&one), search_id(&one.clone()));
        let other = settings(&[("score", "bic"), ("seed", "2")]);
        assert_ne!(search_id(&one), search_id(&other));
        let shifted = settings(&[("", "bic"), ("seed", "1score")]);
        assert_ne!(search_id(&one), search_id(&shifted));
        let named = settings(&[("about.table", "x"), ("score", "bic"), ("seed", "1")]);
        assert_eq!(search_id(&one), search_id(&named));
        assert_eq!(difference(&one, &named), None);
        let text = search_id(&one).to_string();
        assert_eq!(text.parse(), Ok(search_id(&one)));
        assert!("xyz".parse::<SearchId>().is_err());
    }

    #[test]
    fn a_refusal_speaks_peoples_words() {
        let stored = [
            ("about.table", "win95pts"),
            ("data", "aa"),
            ("format", "2"),
            ("score", "bic"),
        ];
        let message = |now: &[(&str, &str)]| {
            let difference = difference(&settings(&stored), &settings(now));
            difference.map_or(String::new(), |difference| difference.to_string())
        };
        let changed = |name: &str, value: &'static str| {
            let mut now = stored;
            for entry in now.iter_mut().filter(|entry| entry.0 == name) {
                entry.1 = value;
            }
            now
        };
        assert_eq!(message(&stored), "");
        assert_eq!(
            message(&changed("score", "bdeu")),
            "holds a search of win95pts with score bic; this one has bdeu"
        );
        assert_eq!(
            message(&stored[..3]),
            "holds a search of win95pts with score bic; this one has the default"
        );
        let mut more = stored.to_vec();
        more.extend([("chains", "1"), ("search.table_rows", "9"), ("seed", "2")]);
        let before = settings(&stored);
        let told =
            |more: &[(&str, &str)]| difference(&before, &settings(more)).unwrap().to_string();
        let expected = "holds a search of win95pts with seed the default; this one has 2";
        assert_eq!(told(&more), expected);
        more.pop();
        let expected = "holds a search of win95pts with table rows the default; this one has 9";
        assert_eq!(told(&more), expected);
        let mut other = changed("data", "bb");
        assert_eq!(
            message(&other),
            "holds a search of win95pts with other content than the table has now"
        );
        other[0].1 = "alarm";
        assert_eq!(
            message(&other),
            "holds a search of win95pts; this one is of alarm"
        );
    }

    #[test]
    fn searches_of_other_versions_are_known_as_such() {
        let now = settings(&[("data", "aa"), ("format", "2")]);
        let early = settings(&[("the data's fingerprint", "aa")]);
        let message = difference(&early, &now).unwrap().to_string();
        assert!(message.contains("an earlier version"), "{message}");
        let newer = settings(&[("data", "aa"), ("format", "3")]);
        let message = difference(&newer, &now).unwrap().to_string();
        assert!(message.contains("a newer version"), "{message}");
    }
}
