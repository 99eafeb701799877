//! The bundled tables and what is known about their best networks: `data/targets.json`.

use crate::failure::Failure;
use clap::Args;
use rlbayes::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which tables a benchmark runs on.
#[derive(Args, Clone, Debug)]
pub(crate) struct TableChoice {
    /// Tables [default: those that the benchmark is meant for, see below]
    #[arg(value_name = "FILES")]
    pub(crate) files: Vec<PathBuf>,
    /// Folder of the bundled tables
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) data: PathBuf,
}

/// What is known about the best network of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    file: String,
    rows: u64,
    variables: u64,
    /// The best score known.
    pub(crate) score: f64,
    /// Whether no network scores higher.
    pub(crate) proven: bool,
    /// How far below the score counts as reached: 0.001, or half of the last digit that is known.
    pub(crate) tolerance: f64,
    /// Scores of other programs, by name.
    other_tools: BTreeMap<String, f64>,
}

/// A table to run on.
#[derive(Clone, Debug)]
pub(crate) struct ChosenTable {
    /// The file.
    pub(crate) path: PathBuf,
    /// The file's name without its endings.
    pub(crate) name: String,
    /// What is known about it.
    pub(crate) known: Option<Known>,
}

const TARGETS: &str = include_str!("../../data/targets.json");

/// The tolerance of proven optima, in nats.
const TOLERANCE: f64 = 0.001;

impl TableChoice {
    /// Returns the files given, else the bundled tables that `wanted` takes.
    pub(crate) fn tables(
        &self,
        wanted: impl Fn(&Known) -> bool,
    ) -> Result<Vec<ChosenTable>, Failure> {
        let known = parse(TARGETS)
            .ok_or_else(|| Failure::Bug("the embedded targets.json can't be read".into()))?;
        let files = if self.files.is_empty() {
            let bundled = known.iter().filter(|known| wanted(known));
            bundled.map(|known| self.data.join(&known.file)).collect()
        } else {
            self.files.clone()
        };
        files
            .into_iter()
            .map(|path| {
                if !path.is_file() {
                    return Err(Failure::file(
                        &path,
                        "there is no such table (is --data right?)",
                    ));
                }
                let file = file_name(&path);
                Ok(ChosenTable {
                    known: known.iter().find(|known| known.file == file).cloned(),
                    name: file.split('.').next().unwrap_or(&file).to_owned(),
                    path,
                })
            })
            .collect()
    }
}

impl Known {
    /// Returns how many variables the table has.
    pub(crate) fn variables(&self) -> u64 {
        self.variables
    }

    /// Returns how many rows the table has.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the score that another program found, rounded to one decimal.
    pub(crate) fn of_tool(&self, name: &str) -> Option<f64> {
        self.other_tools.get(name).copied()
    }
}

impl ChosenTable {
    /// Drops what is known if the table only has the name of a bundled one.
    pub(crate) fn check(&mut self, table: &Table) {
        let size = (table.rows() as u64, table.variables().len() as u64);
        self.known = self
            .known
            .take()
            .filter(|known| (known.rows, known.variables) == size);
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn parse(text: &str) -> Option<Vec<Known>> {
    let targets: Value = serde_json::from_str(text).ok()?;
    targets["tables"]
        .as_array()?
        .iter()
        .map(|table| {
            let proven = table["proven"].as_bool()?;
            let score = &table[if proven { "optimum" } else { "best_known" }];
            let tolerance = if proven {
                TOLERANCE
            } else {
                half_of_last_digit(&score.to_string()).max(TOLERANCE)
            };
            Some(Known {
                file: table["file"].as_str()?.to_owned(),
                rows: table["rows"].as_u64()?,
                variables: table["variables"].as_u64()?,
                score: score.as_f64()?,
                proven,
                tolerance,
                other_tools: table["other_tools"]
                    .as_object()?
                    .iter()
                    .map(|(name, score)| Some((name.clone(), score.as_f64()?)))
                    .collect::<Option<_>>()?,
            })
        })
        .collect()
}

fn half_of_last_digit(number: &str) -> f64 {
    let digits = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    0.5 * 0.1f64.powi(i32::try_from(digits).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_targets_are_read() {
        let known = parse(TARGETS).unwrap();
        assert_eq!(known.len(), 15);
        let alarm = &known[4];
        assert_eq!(alarm.file, "alarm_n1000_s1.csv.gz");
        assert!(alarm.proven && alarm.tolerance <= 0.001);
        assert_eq!(alarm.of_tool("Tetrad BOSS"), Some(-11765.5));
        assert_eq!(alarm.of_tool("Tetrad"), None);
        let win95pts = &known[6];
        assert!(!win95pts.proven && (win95pts.tolerance - 0.005).abs() < 1e-12);
    }

    #[test]
    fn a_table_with_the_name_of_a_bundled_one_but_another_size_is_unknown() {
        let choice = TableChoice {
            files: vec![
                concat!(env!("CARGO_MANIFEST_DIR"), "/../data/asia_n1000_s1.csv.gz").into(),
            ],
            data: "nowhere".into(),
        };
        let mut table = choice.tables(|_| true).unwrap().remove(0);
        assert_eq!(table.name, "asia_n1000_s1");
        assert!(table.known.is_some());
        let other = Table::parse("other", "a,b\nn,y\ny,n\n".as_bytes(), &Default::default());
        table.check(&other.unwrap());
        assert_eq!(table.known, None);
    }
}
