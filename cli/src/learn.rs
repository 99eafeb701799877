//! `rlbayes learn`: from a table to the best network that was found.

use crate::args::{BudgetArgs, ResourceArgs, ScoreArgs, SearchArgs, TableArgs, place_on};
use crate::constraint_args::ConstraintArgs;
use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use crate::local::{self, Job, Kept, Outcome};
use crate::machine;
use crate::memory_layout::MemoryLayout;
use crate::output::{Output, OutputOptions, network_for};
use crate::progress::SearchBar;
use crate::report::{as_json, report};
use crate::state_dir;
use crate::terminal::{Say, print_json};
use crate::units::show_bytes;
use clap::Args;
use rlbayes_common::data::Table;
use rlbayes_common::elite::{EliteRow, Keying, Structure};
use rlbayes_common::exchange::SearchDescription;
use rlbayes_common::graph::Dag;
use rlbayes_common::identity::search_id;
use rlbayes_common::ids::{SearchId, Seed};
use rlbayes_common::io::read_network;
use rlbayes_common::metrics::compare;
use rlbayes_common::network::NamedDag;
use rlbayes_common::score::{LogScore, Scorer};
use rlbayes_common::search::{Constraints, Evaluator, Problem, SearchSpec, StoppedBy};
use rlbayes_coordinator::state::{ChainCount, Cooperation, Pace, SearchPlan, Snapshots};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Learns the structure of a Bayesian network from a table of discrete data.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LearnArgs {
    /// The table: CSV or TSV with a header, also gzipped
    pub(crate) data: PathBuf,
    /// A result file; may be given several times. The ending chooses the format: .bif .xml .bifxml
    /// .dot .json .svg .csv (edge list) .graphml .txt (model string)
    #[arg(short, long = "output", value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,
    /// The true network, to compare the result with
    #[arg(long, value_name = "NET")]
    pub(crate) truth: Option<PathBuf>,
    /// Folder that keeps the search: the same command goes on where it was stopped
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Prints one JSON object on stdout at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// Neither progress nor report
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Probabilities in result files: added to every count (0: maximum likelihood)
    #[arg(long, value_name = "ALPHA", default_value_t = 0.0)]
    pub(crate) alpha: f64,
    /// BIF: maps names that other programs refuse, with the originals as comments
    #[arg(long)]
    pub(crate) portable_names: bool,
    /// SVG: draws the neighbourhood of a node only
    #[arg(long, value_name = "NODE")]
    pub(crate) around: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) score: ScoreArgs,
    #[command(flatten)]
    pub(crate) constraints: ConstraintArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  rlbayes learn data/alarm.csv -o alarm.bif -o alarm.svg
  rlbayes learn data/alarm.csv --truth data/networks/alarm.bif --time 10s
  rlbayes learn survey.tsv.gz --bins quantile:4 --missing drop-rows --score bdeu --ess 10
  rlbayes learn big.csv --state run1 --time 8h      (Ctrl-C, then the same again: it goes on)
  rlbayes learn data.csv --search paper --iterations 500000 --seed 7 --json";

/// A problem ready to be searched, and what was decided on the way.
pub(crate) struct Prepared {
    pub(crate) problem: Arc<Problem>,
    pub(crate) spec: SearchSpec,
    pub(crate) chains: u32,
    pub(crate) threads: u32,
    pub(crate) pace: Pace,
}

/// Runs the command.
pub(crate) fn run(args: &LearnArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let say = Say::new(args.quiet);
    let outputs: Vec<Output> = args
        .output
        .iter()
        .map(|path| Output::new(path))
        .collect::<Result<_, _>>()?;
    let (table, _) = args
        .table
        .load(&args.data, |warning| say.warn(&args.data, warning))?;
    let truth = read_truth(args, &table)?;
    if let Some(node) = &args.around
        && table.schema().find(node).is_none()
    {
        return Err(Failure::input(format!(
            "--around {node}: there is no such column"
        )));
    }
    let with_parameters = outputs.iter().any(Output::needs_parameters);
    let empty = Dag::empty(table.nodes());
    let unlearned = network_for(&table, &empty, args.alpha, with_parameters)?;
    for output in &outputs {
        output.check_names(&unlearned, args.portable_names)?;
    }
    let prepared = prepare(args, &table)?;
    let settings = settings(args, &table, &prepared)?;
    let job = job(args, &prepared, search_id(&settings))?;
    let mut kept = Kept::default();
    if let Some(folder) = &args.state {
        let keying = job.plan.keying;
        kept = state_dir::open(folder, &settings, table.nodes(), keying, job.plan, |text| {
            say.warning(&text);
        })?;
    }
    let outcome = match kept.state {
        Some(state) if state.is_finished() => {
            say.note("this search has ended before; here is its result");
            let stopped_by = state.stopped_by().unwrap_or(StoppedBy::Stop);
            Outcome {
                elapsed: state.elapsed(Duration::ZERO),
                stopped_by,
                state,
            }
        }
        _ => {
            let start = kept.state.as_ref();
            let start = start.map_or(Duration::ZERO, |state| state.elapsed(Duration::ZERO));
            let mut bar = SearchBar::new(Arc::clone(&job.problem), !args.quiet, start);
            let outcome = local::run(&job, kept, interrupt, &mut bar)?;
            bar.finish();
            outcome
        }
    };
    finish(
        args,
        &table,
        truth.as_ref(),
        &prepared,
        &outcome,
        &outputs,
        &say,
    )
}

fn finish(
    args: &LearnArgs,
    table: &Arc<Table>,
    truth: Option<&Dag>,
    prepared: &Prepared,
    outcome: &Outcome,
    outputs: &[Output],
    say: &Say,
) -> Result<(), Failure> {
    let best = match outcome.state.best() {
        Some(row) => row.clone(),
        None => start_row(&prepared.problem),
    };
    let dag = best
        .structure
        .to_dag()
        .map_err(|error| Failure::Bug(error.to_string()))?;
    let metrics = truth.map(|truth| {
        let score = prepared
            .problem
            .scorer()
            .structure(truth, &mut Default::default());
        (compare(truth, &dag), score)
    });
    let with_parameters = outputs.iter().any(Output::needs_parameters);
    // One file that can't be written keeps neither the others nor the report back.
    let mut failed = None;
    let network = match network_for(table, &dag, args.alpha, with_parameters) {
        Ok(network) => network,
        Err(failure) => {
            failed = Some(failure);
            network_for(table, &dag, args.alpha, false)?
        }
    };
    let truth_named = truth.map(|truth| NamedDag::of(table.schema(), truth.clone()));
    let options = OutputOptions {
        portable_names: args.portable_names,
        around: args.around.as_deref(),
        truth: truth_named.as_ref(),
    };
    for output in outputs {
        let written = output.write(&network, options, |warning| {
            say.warn(output.path(), warning)
        });
        if let Err(failure) = written {
            failed.get_or_insert(failure);
        }
    }
    if !args.quiet {
        report(
            args,
            table,
            prepared,
            outcome,
            &best,
            metrics.as_ref(),
            outputs,
            say,
        );
    }
    if args.json {
        print_json(&as_json(
            args,
            table,
            prepared,
            &outcome.state.view(Duration::ZERO, None),
            &best,
            metrics.as_ref(),
        ))?;
    }
    match (failed, outcome.stopped_by) {
        (Some(failure), _) => Err(failure),
        (None, StoppedBy::Interrupt) => Err(Failure::Interrupted),
        (None, _) => Ok(()),
    }
}

/// Checks flags and table and lays out the memory.
pub(crate) fn prepare(args: &LearnArgs, table: &Arc<Table>) -> Result<Prepared, Failure> {
    let spec = args.search.spec()?;
    let named = args.constraints.named()?;
    let constraints =
        Constraints::new(table, &named).map_err(|error| args.constraints.refused(&error))?;
    let empty = Dag::empty(table.nodes());
    let start = args.constraints.start(table.schema())?.unwrap_or(empty);
    let start = constraints
        .starting_point(table, &start)
        .map_err(|error| Failure::input(error.with_flags()))?;
    let threads = args.resources.threads.unwrap_or_else(machine::cores);
    if threads == 0 || args.resources.chains == Some(0) || args.resources.round_evaluations == 0 {
        return Err(Failure::input(
            "--threads, --chains and --round-evaluations are at least 1",
        ));
    }
    let wanted = args.resources.chains.unwrap_or_else(|| {
        if args.resources.deterministic {
            spec.default_chains(1)
        } else {
            spec.default_chains(threads)
        }
    });
    let memory = args
        .resources
        .memory
        .unwrap_or_else(|| machine::memory() / 4);
    let score = args.score.spec()?;
    let layout = MemoryLayout::new(table, score, &spec, memory);
    let chains = match args.resources.chains {
        Some(chains) if chains > layout.most_chains => {
            return Err(Failure::input(format!(
                "{chains} chains on this table need {} (--memory is {})",
                show_bytes(layout.needed(chains)),
                show_bytes(memory)
            )));
        }
        _ if layout.most_chains == 0 => {
            return Err(Failure::input(format!(
                "a search on this table needs at least {} (--memory is {})",
                show_bytes(layout.needed(1)),
                show_bytes(memory)
            )));
        }
        _ => wanted.min(layout.most_chains),
    };
    let threads = threads.min(chains);
    let pace = if threads == 1 || args.resources.deterministic {
        Pace::Lockstep
    } else {
        Pace::Free
    };
    let scorer = Scorer::new(Arc::clone(table), score);
    let problem = Arc::new(Problem::new(
        scorer,
        constraints,
        start,
        layout.caches(chains),
    ));
    Ok(Prepared {
        problem,
        spec,
        chains,
        threads,
        pace,
    })
}

pub(crate) fn job(args: &LearnArgs, prepared: &Prepared, id: SearchId) -> Result<Job, Failure> {
    let plan = SearchPlan {
        chains: ChainCount::Fixed(prepared.chains),
        seed: Seed(args.search.seed),
        budget: args.budget.budget()?,
        pace: prepared.pace,
        keying: Keying::of(args.score.score),
        cooperation: Cooperation::On,
        snapshots: match &args.state {
            Some(_) => Snapshots::Every(local::CHECKPOINT_EVERY),
            None => Snapshots::Never,
        },
        lease: LEASE,
    };
    Ok(Job {
        problem: Arc::clone(&prepared.problem),
        description: description(args, prepared, &plan, id)?,
        plan,
        threads: prepared.threads,
    })
}

/// The one worker of a process is never lost.
const LEASE: Duration = Duration::from_secs(3600);

/// Returns what workers are told of a search; where its data travel, their hash comes later.
pub(crate) fn description(
    args: &LearnArgs,
    prepared: &Prepared,
    plan: &SearchPlan,
    id: SearchId,
) -> Result<SearchDescription, Failure> {
    let problem = &prepared.problem;
    Ok(SearchDescription {
        id,
        data_fingerprint: problem.scorer().data_fingerprint(),
        data_hash: [0; 32],
        data_bytes: 0,
        nodes: problem.nodes(),
        score: args.score.spec()?,
        constraints: args.constraints.named()?,
        start: Structure::of(problem.start()).edges().collect(),
        spec: prepared.spec,
        seed: plan.seed,
        ladder: plan.chains.ladder(),
        lockstep: plan.pace == Pace::Lockstep,
        round_evaluations: args.resources.round_evaluations,
        target: plan.budget.target,
        exchange_every: local::EXCHANGE_EVERY,
    })
}

/// Returns what makes two runs the same search, by name.
pub(crate) fn settings(
    args: &LearnArgs,
    table: &Table,
    prepared: &Prepared,
) -> Result<Vec<(String, String)>, Failure> {
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let digest = |text: String| hex(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    let start = Structure::of(prepared.problem.start());
    let mut settings = vec![
        (
            "the data's fingerprint".to_owned(),
            hex(&table.fingerprint()[..8]),
        ),
        ("the score".to_owned(), format!("{:?}", args.score.spec()?)),
        ("the search".to_owned(), format!("{:?}", prepared.spec)),
        ("--seed".to_owned(), args.search.seed.to_string()),
        ("--chains".to_owned(), prepared.chains.to_string()),
        (
            "the constraints' fingerprint".to_owned(),
            digest(format!("{:?}", args.constraints.named()?)),
        ),
        (
            "the start network's fingerprint".to_owned(),
            digest(format!("{start:?}")),
        ),
    ];
    settings.sort();
    Ok(settings)
}

pub(crate) fn read_truth(args: &LearnArgs, table: &Table) -> Result<Option<Dag>, Failure> {
    let Some(path) = &args.truth else {
        return Ok(None);
    };
    let named = read_network(path).map_err(Failure::input)?.named_dag();
    place_on(&named, table.schema()).map(Some).map_err(|name| {
        Failure::file(
            path,
            format!("the node \"{name}\" is not a column of the table"),
        )
    })
}

/// The start network with its score, for a budget that did not reach for anything.
pub(crate) fn start_row(problem: &Arc<Problem>) -> EliteRow {
    let dag = problem.start();
    let score = Evaluator::new(Arc::clone(problem))
        .structure(dag)
        .unwrap_or(LogScore::IMPOSSIBLE);
    EliteRow {
        structure: Structure::of(dag),
        score,
    }
}
