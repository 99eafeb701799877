//! A search by its settings' names: how it is stored and compared. See [`crate::identity`].

use super::SearchRequest;
use crate::coordination::{ChainCount, Cooperation, Pace};
use crate::identity::{ABOUT_TABLE, FORMAT, FORMAT_ENTRY, Settings, search_id};
use crate::settings::Runners;
use rlbayes_common::hex;
use rlbayes_common::ids::SearchId;
use rlbayes_common::score::{ScoreName, ScoreSpec};
use rlbayes_common::search::{NamedConstraints, SearchSpec};

impl SearchRequest {
    /// Returns the name of the search: the same for the same settings on every machine.
    #[doc(hidden)]
    #[must_use]
    pub fn id(&self) -> SearchId {
        search_id(&self.settings())
    }

    /// Returns what makes two runs the same search, by name; see [`crate::identity`].
    #[doc(hidden)]
    #[must_use]
    pub fn settings(&self) -> Settings {
        let mut settings = vec![
            (FORMAT_ENTRY.to_owned(), FORMAT.to_string()),
            (ABOUT_TABLE.to_owned(), one_line(self.table.name())),
            (
                "data".to_owned(),
                hex::encode(&self.table.data().fingerprint()[..16]),
            ),
            ("score".to_owned(), score_text(&self.score)),
            ("search".to_owned(), self.algorithm.name().to_owned()),
            ("seed".to_owned(), self.seed.to_string()),
            (
                "chains".to_owned(),
                match self.chains {
                    ChainCount::Fixed(chains) => chains.to_string(),
                    ChainCount::PerThread(chains) => format!("{chains} per thread"),
                },
            ),
        ];
        let defaults = SearchSpec::defaults();
        let usual = defaults
            .iter()
            .find(|spec| spec.name() == self.algorithm.name())
            .map(SearchSpec::settings)
            .unwrap_or_default();
        for (name, value) in self.algorithm.settings() {
            if !usual.contains(&(name, value)) {
                settings.push((format!("search.{name}"), value.to_string()));
            }
        }
        if self.named != NamedConstraints::default() {
            settings.push((
                "constraints".to_owned(),
                digest(&constraint_texts(&self.named)),
            ));
        }
        if self.start.edge_count() > 0 {
            let edges = self.start.edges();
            let texts: Vec<String> = edges.map(|(from, to)| format!("{from} {to}")).collect();
            settings.push(("start".to_owned(), digest(&texts)));
        }
        if let Runners::Workers { .. } = self.runners {
            if self.pace == Pace::Lockstep {
                settings.push(("rounds".to_owned(), "deterministic".to_owned()));
            }
            if self.cooperation == Cooperation::Off && self.algorithm.takes_seeds() {
                settings.push(("cooperation".to_owned(), "off".to_owned()));
            }
        }
        settings.extend(self.followed_by.iter().cloned());
        settings.sort();
        settings
    }
}

/// Writes a score with the parameters that matter to it: `bic`, `bic*2`, `bdeu:10`.
fn score_text(score: &ScoreSpec) -> String {
    let mut text = score.name().as_str().to_owned();
    match score.name() {
        ScoreName::Bdeu => text = format!("{text}:{}", score.ess()),
        ScoreName::Bic | ScoreName::Aic if score.penalty_scale().total_cmp(&1.0).is_ne() => {
            text = format!("{text}*{}", score.penalty_scale());
        }
        _ => {}
    }
    text
}

/// Writes constraints down in an order that does not depend on how they were listed.
fn constraint_texts(named: &NamedConstraints) -> Vec<String> {
    let edges = |kind: &str, edges: &[(String, String)]| -> Vec<String> {
        let mut texts: Vec<String> = edges
            .iter()
            .map(|(from, to)| format!("{kind}\0{from}\0{to}"))
            .collect();
        texts.sort();
        texts.dedup();
        texts
    };
    let mut texts = edges("required", &named.required);
    texts.extend(edges("forbidden", &named.forbidden));
    texts.extend(named.tiers.iter().map(|tier| {
        let mut names = tier.clone();
        names.sort();
        format!("tier\0{}", names.join("\0"))
    }));
    texts.extend(named.max_parents.map(|most| format!("max parents\0{most}")));
    texts
}

fn digest(texts: &[String]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hex::encode(&hasher.finalize().as_bytes()[..16])
}

/// A name as one line of a settings file.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|character| {
            if character.is_control() {
                '?'
            } else {
                character
            }
        })
        .collect()
}
