//! What has ended, kept as it ends: one line of JSON per run, appended to `finished.jsonl`. The same
//! command takes these runs over and continues with the others; so does one that wants more seeds,
//! networks or searches.

use super::budget_rule::BudgetRule;
use super::contender::Contender;
use super::dataset::Origin;
use super::trial::{Milestone, Trial, TrialKey};
use crate::failure::Failure;
use rlbayes_common::metrics::StructureMetrics;
use rlbayes_common::search::StoppedBy;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What must agree for a kept run to be the one that is wanted, beside its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Conditions {
    /// Where the rows come from.
    pub(super) origin: Origin,
    /// How budgets are made equal.
    pub(super) budget: BudgetRule,
}

/// The file of finished runs.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    conditions: String,
}

impl Journal {
    /// Opens the journal of a folder, and returns what it holds of these conditions. Lines that
    /// can't be read, such as the last one after a crash, count as runs that were never made.
    pub(super) fn open(
        folder: &Path,
        conditions: &Conditions,
    ) -> Result<(Self, BTreeMap<TrialKey, Trial>), Failure> {
        let path = folder.join("finished.jsonl");
        let conditions = conditions.text();
        let kept = match std::fs::read_to_string(&path) {
            Ok(text) => text
                .lines()
                .filter_map(|line| read_line(line, &conditions))
                .map(|trial| (trial.key.clone(), trial))
                .collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(Failure::file(&path, error)),
        };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| Failure::file(&path, error))?;
        // A line that a crash has cut must not swallow the next.
        file.write_all(b"\n")
            .map_err(|error| Failure::file(&path, error))?;
        let journal = Self {
            path,
            file: Mutex::new(file),
            conditions,
        };
        Ok((journal, kept))
    }

    /// Keeps a run.
    pub(super) fn keep(&self, trial: &Trial) -> Result<(), Failure> {
        let line = format!("{}\n", as_json(trial, &self.conditions));
        let mut file = self
            .file
            .lock()
            .map_err(|_| Failure::Bug("a writer of the journal panicked".into()))?;
        file.write_all(line.as_bytes())
            .and_then(|()| file.flush())
            .map_err(|error| Failure::file(&self.path, error))
    }
}

impl Conditions {
    fn text(&self) -> String {
        let origin = match self.origin {
            Origin::Sampled { seed, rows } => format!("{rows} rows sampled by seed {seed}"),
            Origin::Bundled { seed } => format!("bundled rows, columns by seed {seed}"),
        };
        let version = env!("CARGO_PKG_VERSION");
        format!("rlbayes {version}, {origin}, {}", self.budget)
    }
}

/// Numbers are kept as text, in the fewest digits that read back as the same number.
fn as_json(trial: &Trial, conditions: &str) -> Value {
    let StructureMetrics {
        f1_directed,
        auc,
        f1_skeleton,
        shd_cpdag,
    } = trial.metrics;
    let trajectory: Vec<Value> = trial
        .trajectory
        .iter()
        .map(|at| {
            let (score, auc) = (at.score.to_string(), at.auc.to_string());
            json!([at.iterations, at.evaluations, score, auc])
        })
        .collect();
    json!({
        "of": conditions,
        "network": trial.key.network,
        "search": trial.key.search.name(),
        "seed": trial.key.seed,
        "iterations": trial.iterations,
        "evaluations": trial.evaluations,
        "stopped_by": trial.stopped_by.as_str(),
        "score": trial.score.to_string(),
        "edges": trial.edges,
        "f1": f1_directed.to_string(),
        "auc": auc.to_string(),
        "f1_skeleton": f1_skeleton.to_string(),
        "shd": shd_cpdag,
        "seconds": trial.seconds.to_string(),
        "trajectory": trajectory,
    })
}

fn read_line(line: &str, conditions: &str) -> Option<Trial> {
    let value: Value = serde_json::from_str(line).ok()?;
    if value["of"].as_str()? != conditions {
        return None;
    }
    let number = |value: &Value| value.as_str()?.parse::<f64>().ok();
    let count = |name: &str| value[name].as_u64();
    let size = |name: &str| usize::try_from(value[name].as_u64()?).ok();
    let mut trajectory = Vec::new();
    for at in value["trajectory"].as_array()? {
        trajectory.push(Milestone {
            iterations: at[0].as_u64()?,
            evaluations: at[1].as_u64()?,
            score: number(&at[2])?,
            auc: number(&at[3])?,
        });
    }
    let stopped_by = value["stopped_by"].as_str()?;
    Some(Trial {
        key: TrialKey {
            network: value["network"].as_str()?.to_owned(),
            search: Contender::from_name(value["search"].as_str()?)?,
            seed: count("seed")?,
        },
        iterations: count("iterations")?,
        evaluations: count("evaluations")?,
        stopped_by: StoppedBy::ALL
            .into_iter()
            .find(|reason| reason.as_str() == stopped_by)?,
        score: number(&value["score"])?,
        edges: size("edges")?,
        metrics: StructureMetrics {
            f1_directed: number(&value["f1"])?,
            auc: number(&value["auc"])?,
            f1_skeleton: number(&value["f1_skeleton"])?,
            shd_cpdag: size("shd")?,
        },
        seconds: number(&value["seconds"])?,
        trajectory,
    })
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::trial;
    use super::*;

    const HERE: Conditions = Conditions {
        origin: Origin::Sampled { seed: 1, rows: 500 },
        budget: BudgetRule::Evaluations(2000),
    };

    #[test]
    fn kept_runs_come_back_to_the_bit_and_a_cut_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut one = trial("asia", Contender::Ga, 1, -2281.2531946962536);
        one.metrics.auc = 1.0 / 3.0;
        let two = trial("sachs", Contender::Paper100, 2, -0.1);
        let (journal, kept) = Journal::open(folder.path(), &HERE).unwrap();
        assert!(kept.is_empty());
        journal.keep(&one).unwrap();
        journal.keep(&two).unwrap();
        drop(journal);
        let path = folder.path().join("finished.jsonl");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"of\": \"rlbay").unwrap();
        let (journal, kept) = Journal::open(folder.path(), &HERE).unwrap();
        assert_eq!(kept.into_values().collect::<Vec<_>>(), [one, two]);
        let three = trial("asia", Contender::Hc, 9, -7.0);
        journal.keep(&three).unwrap();
        let (_, kept) = Journal::open(folder.path(), &HERE).unwrap();
        assert_eq!(kept.len(), 3);
        assert!(kept.contains_key(&three.key));
    }

    #[test]
    fn runs_of_other_circumstances_are_not_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(folder.path(), &HERE).unwrap();
        journal
            .keep(&trial("asia", Contender::Ga, 1, -1.0))
            .unwrap();
        for other in [
            Conditions {
                budget: BudgetRule::Evaluations(2001),
                ..HERE
            },
            Conditions {
                origin: Origin::Sampled { seed: 2, rows: 500 },
                ..HERE
            },
            Conditions {
                origin: Origin::Bundled { seed: 1 },
                ..HERE
            },
        ] {
            let (_, kept) = Journal::open(folder.path(), &other).unwrap();
            assert!(kept.is_empty());
        }
    }
}
