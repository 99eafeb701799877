//! What makes two runs the same search: its settings by name. Budgets are not among them: the same
//! search may run for longer.

use crate::ids::SearchId;
use std::collections::{BTreeMap, BTreeSet};

/// The settings of a search, ordered by name.
pub type Settings = Vec<(String, String)>;

/// Names a search by its settings, the same on every machine and after every restart.
#[must_use]
pub fn search_id(settings: &[(String, String)]) -> SearchId {
    let mut hasher = blake3::Hasher::new();
    for text in settings.iter().flat_map(|(name, value)| [name, value]) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    SearchId(id)
}

/// Names the first setting that differs.
#[must_use]
pub fn difference(before: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let by_name = |settings: &[(String, String)]| -> BTreeMap<String, String> {
        settings.iter().cloned().collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    names.into_iter().find_map(|name| {
        let (a, b) = (before.get(name), now.get(name));
        (a != b).then(|| {
            let show = |value: Option<&String>| {
                value.map_or("not given", |value| value.as_str()).to_owned()
            };
            format!("{name} was {}, now it is {}", show(a), show(b))
        })
    })
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
    fn a_search_is_named_by_all_of_its_settings() {
        let one = settings(&[("seed", "1"), ("score", "bic")]);
        assert_eq!(search_id(&one), search_id(&one.clone()));
        let other = settings(&[("seed", "2"), ("score", "bic")]);
        assert_ne!(search_id(&one), search_id(&other));
        let shifted = settings(&[("seed", "1score"), ("", "bic")]);
        assert_ne!(search_id(&one), search_id(&shifted));
        let text = search_id(&one).to_string();
        assert_eq!(text.parse(), Ok(search_id(&one)));
        assert!("xyz".parse::<SearchId>().is_err());
    }

    #[test]
    fn the_difference_is_named() {
        let one = settings(&[("seed", "1"), ("score", "bic")]);
        let other = settings(&[("seed", "2"), ("score", "bic")]);
        assert_eq!(difference(&one, &one), None);
        assert_eq!(
            difference(&one, &other).as_deref(),
            Some("seed was 1, now it is 2")
        );
        assert_eq!(
            difference(&one, &one[..1]).as_deref(),
            Some("score was bic, now it is not given")
        );
    }
}
