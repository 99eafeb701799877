//! What the directions of a result mean, in one sentence: which other networks fit the data alike.

use rlbayes::Outcome;
use rlbayes_common::graph::Cpdag;

/// Which networks share the directions that a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directions {
    /// All that are equivalent.
    Class,
    /// Those among them that keep the constraints, which direct some edges.
    ConstrainedClass,
    /// None: the score tells equivalent networks apart.
    Structure,
}

impl Directions {
    /// Finds out which for a result.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let found = outcome.found();
        if !outcome.request().is_score_equivalent() {
            return Self::Structure;
        }
        match found.class == Cpdag::of(&found.dag) {
            true => Self::Class,
            false => Self::ConstrainedClass,
        }
    }

    /// Explains `->` and `--` in a line of text; `some_free`: whether there is a `--`.
    pub(crate) fn in_text(self, some_free: bool) -> &'static str {
        match (self, some_free) {
            (Self::Class, true) => {
                "Equivalent networks fit the data alike: they share every -> and may turn a --."
            }
            (Self::Class, false) => {
                "Every network that is equivalent to this one has the same directions (->)."
            }
            (Self::ConstrainedClass, true) => {
                "Equivalent networks that keep the constraints share -> and may turn a --."
            }
            (Self::ConstrainedClass, false) => {
                "No equivalent network that keeps the constraints has other directions (->)."
            }
            (Self::Structure, _) => {
                "This score tells directions apart: edges point (->) as they were found."
            }
        }
    }

    /// Explains heads of edges on a page.
    pub(crate) fn on_page(self) -> &'static str {
        match self {
            Self::Class => {
                "An edge with a head has that direction in every equivalent network, all of which fit the data alike; one without may point either way."
            }
            Self::ConstrainedClass => {
                "An edge with a head has that direction in every equivalent network that keeps the constraints; one without may point either way."
            }
            Self::Structure => "This score tells directions apart: edges point as they were found.",
        }
    }
}

/// What a page says that draws one network of a class with all heads.
pub(crate) const ONE_MEMBER: &str = "All edges are drawn with heads; equivalent networks fit the data alike and may have some of them turned.";

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes::{LoadOptions, Score, Search, Table};

    /// Two columns that go together: their edge may point either way.
    fn found(settings: impl FnOnce(Search<'_>) -> Search<'_>) -> Outcome {
        let rows = (0..200).map(|row| if row % 9 < 4 { "x,x" } else { "y,y" });
        let text: Vec<&str> = std::iter::once("a,b").chain(rows).collect();
        let text = text.join("\n");
        let table = Table::parse("t", text.as_bytes(), &LoadOptions::default()).unwrap();
        settings(Search::on(&table).evaluations(100)).run().unwrap()
    }

    #[test]
    fn constraints_and_scores_that_direct_edges_are_told() {
        let free = found(|search| search);
        assert_eq!(Directions::of(&free), Directions::Class);
        let required = found(|search| search.require("b", "a"));
        assert_eq!(Directions::of(&required), Directions::ConstrainedClass);
        // A constraint that directs nothing changes nothing.
        let limited = found(|search| search.max_parents(1));
        assert_eq!(Directions::of(&limited), Directions::Class);
        let k2 = found(|search| search.score(Score::K2));
        assert_eq!(Directions::of(&k2), Directions::Structure);
    }

    #[test]
    fn every_sentence_fits_a_line() {
        for directions in [
            Directions::Class,
            Directions::ConstrainedClass,
            Directions::Structure,
        ] {
            for some_free in [true, false] {
                let sentence = directions.in_text(some_free);
                assert!(sentence.len() + 2 <= 80, "{sentence}");
                assert_eq!(
                    sentence.contains("--"),
                    some_free && directions != Directions::Structure
                );
            }
        }
    }
}
