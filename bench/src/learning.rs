//! `learning`: the same chains with and without the learning rule, at equal evaluations.

use crate::failure::Failure;
use crate::reference_scores::{ChosenTable, Known, TableChoice};
use crate::report_table::{Grid, OutFolder, heading, nats};
use crate::runs::{at_least_one, in_parallel};
use crate::statistics::{median, sign_test};
use crate::terminal::{bar_over, print};
use crate::tiles::{read_pattern, tile};
use crate::virtual_time::{self, Outcome, VirtualRun};
use clap::Args;
use rlbayes::coordination::Cooperation;
use rlbayes::units::show_count;
use rlbayes::{SearchRequest, SearchSettings, Table};
use rlbayes_common::data::sample;
use rlbayes_common::ids::Seed;
use rlbayes_common::search::SearchSpec;
use rlbayes_common::search::rlbayes::{Learning, RlBayesParams};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Compares the default search with itself without its learning rule.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LearningArgs {
    #[command(flatten)]
    choice: TableChoice,
    /// Runs of each kind, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 11)]
    seeds: u64,
    /// Local scores asked for in each run, over all its chains
    #[arg(long, value_name = "N", default_value_t = 60_000_000)]
    evaluations: u64,
    /// Chains of a run, one episode each in turn
    #[arg(long, value_name = "C", default_value_t = 1, value_parser = at_least_one())]
    chains: u32,
    /// Lets the chains exchange rows, as they do in a search
    #[arg(long)]
    together: bool,
    /// Without FILES: variables of the networks that are sampled, at least
    #[arg(long, value_name = "N", default_value_t = 200)]
    variables: usize,
    /// Without FILES: rows that are sampled from each network
    #[arg(long, value_name = "N", default_value_t = 500)]
    rows: usize,
    /// Runs at once; the results do not depend on it
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: u32,
    /// Folder for runs.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
With the rule, the return of a run is credited to the groups of families that earned it; without it,
the better of two networks is kept as a whole. A pair of runs with one seed is won by the higher
score (by more than 0.001 nats); of pairs with equal scores the one that found it with fewer
evaluations is the sooner.

Without FILES tables are sampled from the bundled networks (all but link, which takes too long);
small ones are laid side by side until there are --variables variables, half of the roots of a copy
depending on an earlier one. A small network is solved in its first run, with or without the rule.

Examples:
  cargo run --release -p rlbayes-bench -- learning --threads 2
  cargo run --release -p rlbayes-bench -- learning --threads 2 --chains 8 --together
  cargo run --release -p rlbayes-bench -- learning --seeds 5 --evaluations 150000000 data/andes_n1000_s1.csv.gz";

/// The networks that are sampled.
const NETWORKS: [&str; 9] = [
    "asia",
    "sachs",
    "child",
    "insurance",
    "alarm",
    "hailfinder",
    "win95pts",
    "andes",
    "pigs",
];
/// What rows and connections are drawn from: not the seed of the bundled tables.
const SAMPLED_WITH: Seed = Seed(100);

/// What the runs are made on.
struct Subject {
    name: String,
    table: Table,
    known: Option<Known>,
}

impl Subject {
    fn read(mut chosen: ChosenTable) -> Result<Self, Failure> {
        let table = Table::read(&chosen.path).map_err(Failure::input)?;
        chosen.check(&table);
        Ok(Self {
            name: chosen.name,
            table,
            known: chosen.known,
        })
    }

    fn sampled(args: &LearningArgs, name: &str) -> Result<Self, Failure> {
        let folder = args.choice.data.join("networks");
        let pattern = read_pattern(&folder.join(name).with_extension("bif"))?;
        let variables = pattern.dag().nodes().max(args.variables);
        let network = tile(&pattern, variables, SAMPLED_WITH)?;
        let table = sample(&network, args.rows, SAMPLED_WITH).map_err(Failure::input)?;
        Ok(Self {
            name: format!("{name}, {variables} variables"),
            table: Table::from_data(name, table),
            known: None,
        })
    }

    fn all(args: &LearningArgs) -> Result<Vec<Self>, Failure> {
        if args.choice.files.is_empty() {
            let names = NETWORKS.iter();
            return names.map(|name| Self::sampled(args, name)).collect();
        }
        let tables = args.choice.tables(|_| false)?;
        tables.into_iter().map(Self::read).collect()
    }
}

struct Measured {
    name: String,
    best: f64,
    /// With the rule and without it, seed by seed.
    pairs: Vec<(u64, Outcome, Outcome)>,
}

/// Who won how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    wins: u32,
    losses: u32,
    ties: u32,
}

/// Runs the command.
pub(crate) fn run(args: &LearningArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let subjects = Subject::all(args)?;
    let out = OutFolder::new(args.out.as_deref())?;
    let jobs: Vec<(u64, Learning)> = (1..=args.seeds)
        .flat_map(|seed| [(seed, Learning::On), (seed, Learning::Off)])
        .collect();
    let bar = bar_over(subjects.len() * jobs.len());
    let mut measured = Vec::new();
    for subject in &subjects {
        if interrupt.load(Relaxed) {
            break;
        }
        bar.set_message(subject.name.clone());
        measured.push(measure(args, subject, &jobs, interrupt, &bar)?);
    }
    bar.finish_and_clear();
    let (summary, verdict) = summary(&measured);
    let text = format!("{}\n{verdict}\n", summary.markdown());
    print(&text)?;
    let mut report = heading("The learning rule against the same chain without it");
    report += &text;
    report += NOTES;
    out.write("report.md", &report)?;
    out.write("runs.csv", &csv_of_runs(&measured).csv())?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

const NOTES: &str = "
Gaps are nats below the best score known, or of these runs. Better, worse, equal: pairs of runs with
one seed, by score. Sooner, later: of pairs with equal scores, by evaluations to the last record. p:
two-sided sign test.
";

fn measure(
    args: &LearningArgs,
    subject: &Subject,
    jobs: &[(u64, Learning)],
    interrupt: &AtomicBool,
    bar: &indicatif::ProgressBar,
) -> Result<Measured, Failure> {
    let settings = SearchSettings {
        threads: Some(1),
        ..SearchSettings::default()
    };
    let request = SearchRequest::new(&subject.table, &settings).map_err(Failure::input)?;
    let problem = request.problem();
    let known = subject.known.as_ref();
    let optimum = known
        .filter(|known| known.proven)
        .map(|known| known.score - known.tolerance);
    let cooperation = match args.together {
        true => Cooperation::On,
        false => Cooperation::Off,
    };
    let outcomes = in_parallel(jobs, args.threads, interrupt, bar, |&(seed, learning)| {
        let run = VirtualRun {
            problem: Arc::clone(&problem),
            spec: SearchSpec::RlBayes(RlBayesParams {
                learning,
                ..RlBayesParams::default()
            }),
            chains: args.chains,
            seed,
            cooperation,
            episodes: None,
            evaluations: Some(args.evaluations / u64::from(args.chains)),
            target: optimum,
        };
        virtual_time::run(&run, interrupt)
    });
    let mut outcomes = outcomes.into_iter();
    let mut pairs = Vec::new();
    for seed in 1..=args.seeds {
        if let (Some(Some(with)), Some(Some(without))) = (outcomes.next(), outcomes.next()) {
            pairs.push((seed, with, without));
        }
    }
    let found = pairs
        .iter()
        .map(|(_, with, without)| with.score.max(without.score))
        .fold(f64::NEG_INFINITY, f64::max);
    Ok(Measured {
        name: subject.name.clone(),
        best: known.map_or(found, |known| known.score),
        pairs,
    })
}

impl Tally {
    fn add(&mut self, order: std::cmp::Ordering) {
        match order {
            std::cmp::Ordering::Greater => self.wins += 1,
            std::cmp::Ordering::Less => self.losses += 1,
            std::cmp::Ordering::Equal => self.ties += 1,
        }
    }
}

/// Compares the scores of the runs with the rule with those without it.
fn by_score(with: &Outcome, without: &Outcome) -> std::cmp::Ordering {
    if (with.score - without.score).abs() <= 0.001 {
        std::cmp::Ordering::Equal
    } else {
        with.score.total_cmp(&without.score)
    }
}

fn summary(measured: &[Measured]) -> (Grid, String) {
    let mut grid = Grid::new(&[
        "table",
        "median gap, learning",
        "without",
        "better",
        "worse",
        "equal",
        "evaluations to it, learning",
        "without",
        "sooner",
        "later",
    ]);
    let (mut scores, mut times) = (Tally::default(), Tally::default());
    for table in measured {
        let (mut score, mut time) = (Tally::default(), Tally::default());
        for (_, with, without) in &table.pairs {
            let order = by_score(with, without);
            score.add(order);
            scores.add(order);
            if order.is_eq() {
                let sooner = without.best_at.cmp(&with.best_at);
                time.add(sooner);
                times.add(sooner);
            }
        }
        let middle =
            |of: &dyn Fn(&(u64, Outcome, Outcome)) -> f64| median(table.pairs.iter().map(of));
        let gap = |value: Option<f64>| value.map_or("-".to_owned(), nats);
        let count = |value: Option<f64>| value.map_or("-".to_owned(), show_count);
        grid.row([
            table.name.clone(),
            gap(middle(&|pair| table.best - pair.1.score)),
            gap(middle(&|pair| table.best - pair.2.score)),
            score.wins.to_string(),
            score.losses.to_string(),
            score.ties.to_string(),
            count(middle(&|pair| pair.1.best_at as f64)),
            count(middle(&|pair| pair.2.best_at as f64)),
            time.wins.to_string(),
            time.losses.to_string(),
        ]);
    }
    let verdict = format!(
        "Over all: learning is better in {} pairs of runs, worse in {}, equal in {} (p = {:.3}); of \
         the equal ones sooner in {}, later in {} (p = {:.3}). Better or sooner in {}, worse or \
         later in {} (p = {:.4}).",
        scores.wins,
        scores.losses,
        scores.ties,
        sign_test(scores.wins, scores.losses),
        times.wins,
        times.losses,
        sign_test(times.wins, times.losses),
        scores.wins + times.wins,
        scores.losses + times.losses,
        sign_test(scores.wins + times.wins, scores.losses + times.losses),
    );
    (grid, verdict)
}

fn csv_of_runs(measured: &[Measured]) -> Grid {
    let mut grid = Grid::new(&[
        "table",
        "seed",
        "learning",
        "score",
        "evaluations_to_best",
        "evaluations",
    ]);
    for table in measured {
        for (seed, with, without) in &table.pairs {
            for (learning, outcome) in [("on", with), ("off", without)] {
                grid.row([
                    table.name.clone(),
                    seed.to_string(),
                    learning.to_owned(),
                    outcome.score.to_string(),
                    outcome.best_at.to_string(),
                    outcome.evaluations.to_string(),
                ]);
            }
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(score: f64, best_at: u64) -> Outcome {
        Outcome {
            score,
            reached: None,
            best_at,
            evaluations: 100,
            episodes: 10,
        }
    }

    #[test]
    fn equal_scores_are_decided_by_evaluations() {
        let measured = [Measured {
            name: "a".into(),
            best: -10.0,
            pairs: vec![
                (1, outcome(-10.0, 50), outcome(-12.0, 20)),
                (2, outcome(-10.0, 50), outcome(-10.0005, 60)),
                (3, outcome(-11.0, 50), outcome(-10.0, 60)),
            ],
        }];
        let (grid, verdict) = summary(&measured);
        let row = grid.csv().lines().nth(1).unwrap().to_owned();
        assert_eq!(row, "a,0.000,0.001,1,1,1,50,60,1,0");
        assert!(verdict.contains("better in 1 pairs of runs, worse in 1, equal in 1"));
    }
}
