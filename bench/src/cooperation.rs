//! `cooperation`: what chains gain from each other, in virtual time.

use crate::failure::Failure;
use crate::process_cooperation;
use crate::processes::ProgramArgs;
use crate::reference_scores::{ChosenTable, TableChoice};
use crate::report_table::{Grid, OutFolder, heading, nats};
use crate::runs::{at_least_one, in_parallel};
use crate::statistics::median;
use crate::terminal::{bar_over, print};
use crate::virtual_time::{self, Outcome, VirtualRun};
use clap::Args;
use rlbayes::coordination::Cooperation;
use rlbayes::{SearchRequest, SearchSettings, Table};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Counts the episodes to a target for one chain and for several that cooperate.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CooperationArgs {
    #[command(flatten)]
    choice: TableChoice,
    /// Chains that are compared with one
    #[arg(long, value_name = "C", default_value_t = 4, value_parser = at_least_one())]
    chains: u32,
    /// Cooperating chains that are compared with as many independent ones
    #[arg(long, value_name = "C", default_value_t = 8, value_parser = at_least_one())]
    crowd: u32,
    /// Runs of each kind, with seeds 1, 2, 3, …
    #[arg(long, value_name = "N", default_value_t = 31)]
    seeds: u64,
    /// Episodes of each chain on the way to the target
    #[arg(long, value_name = "EPISODES", default_value_t = 50_000)]
    limit: u64,
    /// Episodes of each chain of the crowd; 0 leaves the crowd out
    #[arg(long, value_name = "EPISODES", default_value_t = 10_000)]
    crowd_limit: u64,
    /// The target [default: the proven optimum; where none is known, the median score of one chain
    /// after half of --limit]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    target: Option<f64>,
    /// With --processes: how far below the best score known the target lies where no optimum is
    /// proven, in nats
    #[arg(long, value_name = "NATS", default_value_t = 5.0)]
    within: f64,
    /// Runs at once; the results do not depend on it
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: u32,
    /// Workers as processes that talk over gRPC, one chain each
    #[arg(long)]
    processes: bool,
    #[command(flatten)]
    program: ProgramArgs,
    /// Folder for runs.csv and report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Chains make one episode each in turn, in one thread and through the coordinator's own merge and
reseed code, so the number of cores does not matter. Where no optimum is proven the target is the
score that half of the single chains have reached after half of --limit. Without FILES: the bundled
tables of up to 250 variables.

Examples:
  cargo run --release -p rlbayes-bench -- cooperation --threads 2 --out cooperation
  cargo run --release -p rlbayes-bench -- cooperation data/win95pts_n1000_s1.csv.gz --target -10019.842
  cargo run --release -p rlbayes-bench -- cooperation --processes --target -10019.842
  cargo run --release -p rlbayes-bench -- cooperation data/andes_n1000_s1.csv.gz --seeds 3 --limit 20000 --crowd-limit 0";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One chain on its way to the target.
    One,
    /// Several that cooperate.
    Several,
    /// A crowd that cooperates, for a fixed number of episodes.
    CrowdTogether,
    /// As many that do not.
    CrowdAlone,
}

impl Kind {
    const ALL: [Self; 4] = [
        Self::One,
        Self::Several,
        Self::CrowdTogether,
        Self::CrowdAlone,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Several => "several",
            Self::CrowdTogether => "crowd together",
            Self::CrowdAlone => "crowd alone",
        }
    }
}

/// What the runs of one table gave.
struct Measured {
    name: String,
    target: Option<f64>,
    runs: Vec<(Kind, u64, Outcome)>,
}

/// Runs the command.
pub(crate) fn run(args: &CooperationArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let mut tables = args.choice.tables(|known| known.variables() <= 250)?;
    let out = OutFolder::new(args.out.as_deref())?;
    if args.processes {
        return across_processes(args, &mut tables, &out, interrupt);
    }
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| args.crowd_limit > 0 || matches!(kind, Kind::One | Kind::Several))
        .collect();
    let jobs: Vec<(Kind, u64)> = kinds
        .iter()
        .flat_map(|&kind| (1..=args.seeds).map(move |seed| (kind, seed)))
        .collect();
    let bar = bar_over(tables.len() * jobs.len());
    let mut measured = Vec::new();
    for chosen in &mut tables {
        if interrupt.load(Relaxed) {
            break;
        }
        bar.set_message(chosen.name.clone());
        measured.push(measure(args, chosen, &jobs, interrupt, &bar)?);
    }
    bar.finish_and_clear();
    let summary = summary(args, &measured).markdown();
    print(&summary)?;
    let title = format!("{} chains that cooperate", args.chains);
    out.write("report.md", &(heading(&title) + &summary + &notes(args)))?;
    out.write("runs.csv", &csv_of_runs(&measured).csv())?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    Ok(())
}

/// Runs workers as processes; without FILES on win95pts alone.
fn across_processes(
    args: &CooperationArgs,
    tables: &mut Vec<ChosenTable>,
    out: &OutFolder,
    interrupt: &AtomicBool,
) -> Result<(), Failure> {
    if args.choice.files.is_empty() {
        tables.retain(|chosen| chosen.name == "win95pts_n1000_s1");
    }
    let program = args.program.program()?;
    let runs = usize::try_from(3 * args.seeds).unwrap_or(usize::MAX);
    let bar = bar_over(tables.len() * runs);
    let mut text = String::new();
    for chosen in tables.iter() {
        let known = chosen.known.as_ref();
        let target = args.target.or(known.map(|known| {
            known.score
                - if known.proven {
                    known.tolerance
                } else {
                    args.within
                }
        }));
        let target = target.ok_or_else(|| {
            Failure::file(&chosen.path, "has no known score; give one by --target")
        })?;
        let plan = process_cooperation::Plan {
            program: program.clone(),
            workers: args.chains,
            seeds: args.seeds,
            limit: args.limit,
            target,
        };
        let measured = process_cooperation::measure(chosen, &plan, &bar, interrupt)?;
        text += &format!("target {target:.3}\n\n{measured}\n");
    }
    bar.finish_and_clear();
    print(&text)?;
    out.write("report.md", &(heading("Workers that cooperate") + &text))
}

fn measure(
    args: &CooperationArgs,
    chosen: &mut ChosenTable,
    jobs: &[(Kind, u64)],
    interrupt: &AtomicBool,
    bar: &indicatif::ProgressBar,
) -> Result<Measured, Failure> {
    let table = Table::read(&chosen.path).map_err(Failure::input)?;
    chosen.check(&table);
    let settings = SearchSettings {
        threads: Some(1),
        ..SearchSettings::default()
    };
    let request = SearchRequest::new(&table, &settings).map_err(Failure::input)?;
    let problem = request.problem();
    let known = chosen.known.as_ref();
    let optimum = known
        .filter(|known| known.proven)
        .map(|known| known.score - known.tolerance);
    let run_of = |chains, cooperation, episodes, target, seed| VirtualRun {
        problem: Arc::clone(&problem),
        spec: *request.algorithm(),
        chains,
        seed,
        cooperation,
        episodes: Some(episodes),
        evaluations: None,
        target,
    };
    // A score that half of the single chains reach, so that there is a median to compare with.
    let halfway = || {
        let seeds: Vec<u64> = (1..=args.seeds).collect();
        let ends = in_parallel(&seeds, args.threads, interrupt, bar, |&seed| {
            bar.inc_length(1);
            let run = run_of(1, Cooperation::On, args.limit / 2, None, seed);
            virtual_time::run(&run, interrupt)
        });
        median(ends.into_iter().flatten().map(|outcome| outcome.score))
    };
    let target = args.target.or(optimum).or_else(halfway);
    let outcomes = in_parallel(jobs, args.threads, interrupt, bar, |&(kind, seed)| {
        let (chains, cooperation, episodes, target) = match kind {
            Kind::One => (1, Cooperation::On, args.limit, target),
            Kind::Several => (args.chains, Cooperation::On, args.limit, target),
            // A crowd that has a proven optimum can't end better.
            Kind::CrowdTogether => (args.crowd, Cooperation::On, args.crowd_limit, optimum),
            Kind::CrowdAlone => (args.crowd, Cooperation::Off, args.crowd_limit, optimum),
        };
        if target.is_none() && matches!(kind, Kind::One | Kind::Several) {
            return None;
        }
        let run = run_of(chains, cooperation, episodes, target, seed);
        virtual_time::run(&run, interrupt)
    });
    let runs = jobs
        .iter()
        .zip(outcomes)
        .filter_map(|(&(kind, seed), outcome)| Some((kind, seed, outcome?)))
        .collect();
    Ok(Measured {
        name: chosen.name.clone(),
        target,
        runs,
    })
}

impl Measured {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Outcome> {
        self.runs
            .iter()
            .filter(move |(of, _, _)| *of == kind)
            .map(|(_, _, outcome)| outcome)
    }

    /// Returns the median number of episodes to the target; runs that never reach it are infinite.
    fn episodes(&self, kind: Kind) -> Option<f64> {
        median(self.of(kind).map(|outcome| {
            outcome
                .reached
                .map_or(f64::INFINITY, |episodes| episodes as f64)
        }))
    }

    fn reached(&self, kind: Kind) -> String {
        let all = self.of(kind).count();
        let reached = self.of(kind).filter(|outcome| outcome.reached.is_some());
        format!("{}/{all}", reached.count())
    }

    fn score(&self, kind: Kind) -> Option<f64> {
        median(self.of(kind).map(|outcome| outcome.score))
    }
}

fn summary(args: &CooperationArgs, measured: &[Measured]) -> Grid {
    let several = format!("{} chains", args.chains);
    let together = format!("{} together", args.crowd);
    let alone = format!("{} alone", args.crowd);
    let mut grid = Grid::new(&[
        "table",
        "target",
        "1 chain",
        "reached",
        &several,
        "reached",
        "ratio",
        &together,
        &alone,
        "difference",
    ]);
    let dash = || "-".to_owned();
    for table in measured {
        let (one, many) = (table.episodes(Kind::One), table.episodes(Kind::Several));
        let episodes = |value: Option<f64>| match value {
            Some(value) if value.is_finite() => format!("{value:.0}"),
            Some(_) => format!("> {}", args.limit),
            None => dash(),
        };
        let score = |kind| {
            table
                .score(kind)
                .map_or(dash(), |score| format!("{score:.3}"))
        };
        let difference = table
            .score(Kind::CrowdTogether)
            .zip(table.score(Kind::CrowdAlone))
            .map_or(dash(), |(together, alone)| nats(together - alone));
        grid.row([
            table.name.clone(),
            table.target.map_or(dash(), |target| format!("{target:.3}")),
            episodes(one),
            table.reached(Kind::One),
            episodes(many),
            table.reached(Kind::Several),
            ratio(one, many, args.limit),
            score(Kind::CrowdTogether),
            score(Kind::CrowdAlone),
            difference,
        ]);
    }
    grid
}

/// Returns the ratio of two medians of which either may be beyond the limit.
fn ratio(one: Option<f64>, many: Option<f64>, limit: u64) -> String {
    match (one, many) {
        (Some(one), Some(many)) if one.is_finite() && many.is_finite() => {
            format!("{:.2}", many / one)
        }
        (Some(_), Some(many)) if many.is_finite() => format!("< {:.2}", many / limit as f64),
        (Some(one), Some(_)) if one.is_finite() => format!("> {:.2}", limit as f64 / one),
        _ => "-".to_owned(),
    }
}

fn notes(args: &CooperationArgs) -> String {
    format!(
        "\nEpisodes of each chain to the target, medians over {} seeds; a run that has not reached it \
         after {} episodes counts as longer. The last columns: median scores of {} chains after {} \
         episodes each.\n",
        args.seeds, args.limit, args.crowd, args.crowd_limit
    )
}

fn csv_of_runs(measured: &[Measured]) -> Grid {
    let mut grid = Grid::new(&[
        "table",
        "kind",
        "seed",
        "score",
        "episodes_to_target",
        "evaluations_to_best",
        "evaluations",
    ]);
    for table in measured {
        for (kind, seed, outcome) in &table.runs {
            grid.row([
                table.name.clone(),
                kind.name().to_owned(),
                seed.to_string(),
                outcome.score.to_string(),
                outcome.reached.map_or(String::new(), |at| at.to_string()),
                outcome.best_at.to_string(),
                outcome.evaluations.to_string(),
            ]);
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_with_one_side_beyond_the_limit_is_a_bound() {
        let never = f64::INFINITY;
        assert_eq!(ratio(Some(200.0), Some(50.0), 1000), "0.25");
        assert_eq!(ratio(Some(never), Some(50.0), 1000), "< 0.05");
        assert_eq!(ratio(Some(500.0), Some(never), 1000), "> 2.00");
        assert_eq!(ratio(Some(never), Some(never), 1000), "-");
        assert_eq!(ratio(None, Some(1.0), 1000), "-");
    }
}
