//! What a person should look at in a column that can be used all the same, in one sentence each.

use super::cells::Cells;
use super::dictionary::Dictionary;
use super::kinds::{ColumnKind, Study};
use super::load_error::{list, shown};
use super::load_report::{ColumnUse, LeftOut};
use super::missing::MissingMarkers;
use super::raw_table::RawColumn;
use std::collections::BTreeMap;

/// Finds what is doubtful about a column.
pub(crate) fn of_column(column: &RawColumn, study: &Study, used: &ColumnUse) -> Vec<String> {
    let name = shown(&column.name);
    match used {
        ColumnUse::LeftOut(LeftOut::Identifier) => vec![format!(
            "column {name} is left out: nearly all of its values are different, as in a column of \
             identifiers"
        )],
        ColumnUse::LeftOut(LeftOut::Dates) => vec![format!(
            "column {name} is left out: it holds {} different dates",
            study.distinct
        )],
        ColumnUse::LeftOut(LeftOut::Empty) if !column.name.is_empty() => {
            vec![format!("column {name} is left out: it is empty")]
        }
        ColumnUse::LeftOut(LeftOut::RowNumbers) => {
            vec!["the first column, which has no name, is left out as row numbers".to_string()]
        }
        ColumnUse::States => of_states(column, study, &name),
        _ => Vec::new(),
    }
}

/// Finds states that may be meant as one.
fn of_states(column: &RawColumn, study: &Study, name: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let Cells::Texts { dictionary, .. } = &column.cells else {
        return warnings;
    };
    let texts = states(dictionary, study);
    if study.kind == ColumnKind::Constant {
        return warnings;
    }
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (text, _) in &texts {
        let key = match text.parse::<f64>() {
            Ok(number) if study.is_numeric => (number + 0.0).to_string(),
            _ => text.to_lowercase(),
        };
        alike.entry(key).or_default().push((*text).to_string());
    }
    for (_, mut texts) in alike.into_iter().filter(|(_, texts)| texts.len() > 1) {
        texts.sort_unstable();
        warnings.push(format!(
            "column {name}: {} are different states",
            list(&texts)
        ));
    }
    warnings
}

/// Returns the texts that are states, with how often each stands.
fn states<'d>(dictionary: &'d Dictionary, study: &Study) -> Vec<(&'d str, usize)> {
    dictionary
        .texts()
        .zip(&study.counts)
        .zip(&study.is_marker)
        .filter(|((_, count), is_marker)| **count > 0 && !**is_marker)
        .filter_map(|(((text, _), count), _)| Some((std::str::from_utf8(text).ok()?, *count)))
        .collect()
}

/// States that may be meant as missing: each with the columns in which it stands, and how often.
#[derive(Default)]
pub(crate) struct DoubtfulStates(BTreeMap<String, (usize, Vec<String>)>);

impl DoubtfulStates {
    /// Notes those of a column.
    pub(crate) fn note(&mut self, column: &RawColumn, study: &Study, markers: &MissingMarkers<'_>) {
        let Cells::Texts { dictionary, .. } = &column.cells else {
            return;
        };
        for (text, count) in states(dictionary, study) {
            if markers.is_doubtful(text) {
                let (cells, columns) = self.0.entry(text.to_string()).or_default();
                *cells += count;
                columns.push(column.name.clone());
            }
        }
    }

    /// Returns a sentence for each.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(text, (cells, columns))| {
            format!(
                "{} stands in {cells} {} of {} {} and counts as a state; if it means that the value \
                 is missing, name it as a marker",
                shown(text),
                if *cells == 1 { "cell" } else { "cells" },
                if columns.len() == 1 { "column" } else { "columns" },
                list(columns)
            )
        })
    }
}
