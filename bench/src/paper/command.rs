//! `paper`: from flags to tables, runs and results.

use super::budget_rule::{BudgetRule, Limits};
use super::contender::Contender;
use super::dataset::{Dataset, Origin};
use super::journal::{Conditions, Journal};
use super::results::Results;
use super::trial::{self, Trial, TrialKey};
use super::{files, pictures, printed, report};
use crate::failure::Failure;
use crate::report_table::{OutFolder, heading};
use crate::runs::in_parallel;
use crate::terminal::{bar_over, print, remark};
use clap::Args;
use indicatif::ProgressBar;
use rlbayes::machine;
use rlbayes::units::show_bytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Repeats the experiments of the RLBayes paper and puts its printed values beside ours.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct PaperArgs {
    /// Rows drawn from each network
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rows: usize,
    /// Runs of each search on each table, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,
    /// Networks of the folder --data/networks, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = printed::NETWORKS)]
    networks: Vec<String>,
    /// Searches, separated by commas
    #[arg(long, value_name = "NAMES", value_enum, value_delimiter = ',',
          default_values_t = Contender::USUAL)]
    searches: Vec<Contender>,
    /// What each search may do: walk:ITERATIONS (as many local scores as the printed walk asks for
    /// in so many iterations), evaluations:N or time:T (of a processor)
    #[arg(long, value_name = "RULE", default_value = "walk:500000")]
    budget: BudgetRule,
    /// Seed of the rows and of the order of columns
    #[arg(long, value_name = "S", default_value_t = 1)]
    data_seed: u64,
    /// Takes the bundled tables of 1000 rows, whose optima are mostly proven, and draws only the
    /// order of columns
    #[arg(long, conflicts_with = "rows")]
    bundled: bool,
    /// Folder of the bundled networks and tables
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Runs at once [default: all cores]; only times depend on it
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
    /// Folder for report.md, runs.csv, timings.csv, curves.csv, pictures and finished.jsonl
    #[arg(long, value_name = "DIR", default_value = "bench-paper")]
    out: PathBuf,
}

const EXAMPLES: &str = "\
Every search maximises BIC on the same table, its columns in random order. runs.csv has no clock in
it: the same flags give the same bytes, unless the budget is time. Where the printed walk is among
the searches it also runs with shorter tables, for the paper's figure. Ctrl-C writes what there is;
the same command continues, and takes over what finished.jsonl in --out holds.

Examples:
  cargo run --release -p rlbayes-bench -- paper --networks asia,child --seeds 3 --budget evaluations:20000
  cargo run --release -p rlbayes-bench -- paper --out data/results/paper                     (about an hour on one core)
  cargo run --release -p rlbayes-bench -- paper --bundled --searches paper,hc,rlbayes --budget time:5s --out equal-time";

/// Runs the command.
pub(crate) fn run(args: &PaperArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let out = OutFolder::new(Some(&args.out))?;
    let origin = if args.bundled {
        Origin::Bundled {
            seed: args.data_seed,
        }
    } else {
        Origin::Sampled {
            seed: args.data_seed,
            rows: args.rows,
        }
    };
    let mut datasets = Vec::new();
    for name in without_repeats(&args.networks) {
        datasets.push(Dataset::new(&name, &args.data, origin)?);
    }
    let searches = without_repeats(&args.searches);
    let conditions = Conditions {
        origin,
        budget: args.budget,
    };
    let (journal, kept) = Journal::open(&args.out, &conditions)?;
    let keys = wanted(&datasets, &searches, args);
    let mut results = Results {
        trials: kept
            .into_iter()
            .filter(|(key, _)| keys.contains(key))
            .collect(),
        datasets,
        searches,
        wanted: keys.len(),
    };
    let threads = args.threads.unwrap_or_else(machine::cores).max(1);
    let bar = bar_over(keys.len());
    bar.inc(results.trials.len() as u64);
    let experiment = Experiment {
        budget: args.budget,
        memory: machine::memory() / 4 / threads as usize,
        threads,
        journal,
        interrupt,
        bar: &bar,
    };
    // The walks come first: under the default rule they are the measure of all others.
    let (walks, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| key.search.is_walk());
    for stage in [walks, others] {
        experiment.run_missing(stage, &mut results)?;
    }
    bar.finish_and_clear();
    write(args, &out, &results)?;
    if interrupt.load(Relaxed) {
        remark(&format!(
            "{} of {} runs have ended; the same command continues",
            results.trials.len(),
            results.wanted
        ));
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// Lists what is to be run. The printed walk has to run under the rule that it is the measure of;
/// its shorter tables run on the networks of the paper's figure.
fn wanted(datasets: &[Dataset], searches: &[Contender], args: &PaperArgs) -> Vec<TrialKey> {
    let mut keys = Vec::new();
    for dataset in datasets {
        let in_figure = printed::FIGURE_NETWORKS.contains(&dataset.network.as_str());
        let mut all = searches.to_vec();
        if searches.contains(&Contender::Paper) && in_figure {
            all.extend(Contender::WALKS);
        }
        if matches!(args.budget, BudgetRule::Walk(_)) {
            all.push(Contender::Paper);
        }
        for search in without_repeats(&all) {
            keys.extend((1..=args.seeds).map(|seed| TrialKey {
                network: dataset.network.clone(),
                search,
                seed,
            }));
        }
    }
    keys
}

fn without_repeats<T: Clone + PartialEq>(items: &[T]) -> Vec<T> {
    let mut once: Vec<T> = Vec::new();
    for item in items {
        if !once.contains(item) {
            once.push(item.clone());
        }
    }
    once
}

/// What all runs share.
struct Experiment<'a> {
    budget: BudgetRule,
    memory: usize,
    threads: u32,
    journal: Journal,
    interrupt: &'a AtomicBool,
    bar: &'a ProgressBar,
}

impl Experiment<'_> {
    /// Makes the runs that are not there yet, and keeps each as it ends.
    fn run_missing(&self, keys: Vec<TrialKey>, results: &mut Results) -> Result<(), Failure> {
        let open: Vec<TrialKey> = keys
            .into_iter()
            .filter(|key| !results.trials.contains_key(key))
            .collect();
        let failure = Mutex::new(None);
        let stop = AtomicBool::new(false);
        let ended = in_parallel(&open, self.threads, self.interrupt, self.bar, |key| {
            if stop.load(Relaxed) {
                return None;
            }
            self.bar.set_message(format!(
                "{}, {}, seed {}",
                key.network,
                key.search.name(),
                key.seed
            ));
            self.run_one(key, results).unwrap_or_else(|error| {
                stop.store(true, Relaxed);
                if let Ok(mut first) = failure.lock() {
                    first.get_or_insert(error);
                }
                None
            })
        });
        if let Ok(Some(failure)) = failure.into_inner() {
            return Err(failure);
        }
        results.trials.extend(
            ended
                .into_iter()
                .flatten()
                .map(|trial| (trial.key.clone(), trial)),
        );
        Ok(())
    }

    fn run_one(&self, key: &TrialKey, results: &Results) -> Result<Option<Trial>, Failure> {
        let dataset = results.datasets.iter().find(|it| it.network == key.network);
        let Some((dataset, limits)) = dataset.zip(self.limits(key, &results.trials)) else {
            return Ok(None);
        };
        let trial = trial::run(key, dataset, limits, self.memory, self.interrupt)?;
        if let Some(trial) = &trial {
            self.journal.keep(trial)?;
        }
        Ok(trial)
    }

    /// Returns what a run may do; none while the walk that is its measure has not been run.
    fn limits(&self, key: &TrialKey, trials: &BTreeMap<TrialKey, Trial>) -> Option<Limits> {
        let none = Limits::default();
        Some(match self.budget {
            BudgetRule::Walk(iterations) if key.search.is_walk() => Limits {
                iterations: Some(iterations),
                ..none
            },
            BudgetRule::Walk(_) => {
                let walk = TrialKey {
                    search: Contender::Paper,
                    ..key.clone()
                };
                Limits {
                    evaluations: Some(trials.get(&walk)?.evaluations),
                    ..none
                }
            }
            BudgetRule::Evaluations(count) => Limits {
                evaluations: Some(count),
                ..none
            },
            BudgetRule::Time(time) => Limits {
                time: Some(time),
                ..none
            },
        })
    }
}

fn write(args: &PaperArgs, out: &OutFolder, results: &Results) -> Result<(), Failure> {
    let pictures = pictures::draw(results)?;
    let named: Vec<(&str, &str)> = pictures.all.iter().map(|it| (it.file, it.title)).collect();
    let body = report::body(results, &named);
    let mut text = heading("The paper's experiments, repeated");
    text += &format!(
        "Seeds 1 to {} of each search; {}; memory {}. Budget: {}. ",
        args.seeds,
        match results.datasets.first().map(|dataset| dataset.origin) {
            Some(Origin::Sampled { seed, rows }) =>
                format!("{rows} rows and the order of columns drawn by data seed {seed}"),
            _ => format!(
                "bundled rows, the order of columns drawn by data seed {}",
                args.data_seed
            ),
        },
        show_bytes(machine::memory()),
        args.budget.sentence()
    );
    text += "`hc` is one climb and ends by itself; `hc-restarts` uses the budget up; `paper` is \
             RLBayes as printed, `rlbayes` the default search of this program.\n\n";
    text += &body;
    print(&body)?;
    out.write("runs.csv", &files::runs(results).csv())?;
    out.write("timings.csv", &files::timings(results).csv())?;
    out.write("curves.csv", &pictures.curves().csv())?;
    for picture in &pictures.all {
        out.write(picture.file, &picture.svg)?;
    }
    out.write("report.md", &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn args(flags: &[&str]) -> PaperArgs {
        let command = PaperArgs::augment_args(clap::Command::new("paper"));
        let words = std::iter::once(&"paper").chain(flags);
        PaperArgs::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    fn datasets(names: &[&str]) -> Vec<Dataset> {
        let data = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"));
        let origin = Origin::Sampled { seed: 1, rows: 50 };
        let new = |name: &&str| Dataset::new(name, data, origin).unwrap();
        names.iter().map(new).collect()
    }

    #[test]
    fn the_defaults_are_the_papers_experiment() {
        let args = args(&[]);
        assert_eq!((args.rows, args.seeds), (1000, 10));
        assert_eq!(args.networks, printed::NETWORKS);
        assert_eq!(args.searches, Contender::USUAL);
        assert_eq!(args.budget, BudgetRule::Walk(500_000));
    }

    #[test]
    fn shorter_tables_run_where_the_figure_shows_them() {
        let args = args(&["--seeds", "2", "--budget", "evaluations:10"]);
        let of = |searches: &[Contender]| {
            wanted(&datasets(&["asia", "sachs"]), searches, &args)
                .into_iter()
                .filter(|key| key.seed == 2)
                .map(|key| (key.network, key.search.name()))
                .collect::<Vec<_>>()
        };
        let (asia, sachs) = ("asia".to_owned(), "sachs".to_owned());
        assert_eq!(
            of(&[Contender::Hc]),
            [(asia.clone(), "hc"), (sachs.clone(), "hc")]
        );
        let with_walk = of(&[Contender::Paper]);
        assert_eq!(with_walk.len(), 4);
        assert!(with_walk.contains(&(asia, "paper-100")));
        assert!(!with_walk.contains(&(sachs, "paper-100")));
    }

    #[test]
    fn the_walk_runs_where_it_is_the_measure() {
        let args = args(&["--seeds", "1", "--budget", "walk:100"]);
        let keys = wanted(&datasets(&["sachs"]), &[Contender::Hc], &args);
        let names: Vec<_> = keys.iter().map(|key| key.search).collect();
        assert_eq!(names, [Contender::Hc, Contender::Paper]);
    }
}
