//! `proof`: what can be proven about tables, and what it takes.

use crate::failure::Failure;
use crate::report_table::{Grid, OutFolder, heading};
use crate::terminal::print;
use clap::Args;
use rlbayes::units::{parse_time, show_bytes, show_count};
use rlbayes::{
    Network, Proof, ProofLimits, Search, SearchRequest, SearchSettings, Stagnation, StopHandle,
    Table, machine, prove,
};
use rlbayes_common::data::{Schema, Table as Data};
use rlbayes_common::ids::NodeIdx;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Proves the best networks of tables, or shows how far they are from the best at most.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ProofArgs {
    /// Tables of your own instead of the usual ones
    files: Vec<PathBuf>,
    /// Folder with the bundled tables, and with networks/ to sample others from
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// Only tables that take a second or less; fails if one of them is not proven
    #[arg(long)]
    short: bool,
    /// Time of each proof
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    time: Duration,
    /// Threads of the proof
    #[arg(long, value_name = "T", default_value_t = 1)]
    threads: u32,
    /// Folder for runs.csv and report.md
    #[arg(long, value_name = "DIR", default_value = "bench-proof")]
    out: PathBuf,
}

const EXAMPLES: &str = "\
A short search finds the network first; its time is not counted. Then each run is
`rlbayes prove TABLE NETWORK --threads T --time TIME` under BIC. Tables that are not bundled are
sampled with seed 1, as `rlbayes sample data/networks/NAME.bif --rows N --seed 1` does.

Examples:
  cargo run --release -p rlbayes-bench -- proof                 (all: about 10 min)
  cargo run --release -p rlbayes-bench -- proof --short         (some seconds)
  cargo run --release -p rlbayes-bench -- proof --time 5m my-table.csv";

/// A table, and within how many processor seconds it is to be proven.
struct Case {
    network: &'static str,
    rows: usize,
    /// How many columns are taken, from the first; none: all.
    columns: Option<usize>,
    within: Option<f64>,
    is_short: bool,
}

/// The usual tables.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (network, times) in [
        (
            "asia",
            &[(500, 0.1), (1000, 0.1), (5000, 0.1), (10_000, 0.1)][..],
        ),
        (
            "sachs",
            &[(500, 0.3), (1000, 0.3), (5000, 0.3), (10_000, 0.3)],
        ),
        (
            "child",
            &[(500, 0.2), (1000, 0.5), (5000, 5.0), (10_000, 15.0)],
        ),
        (
            "insurance",
            &[(500, 0.2), (1000, 0.6), (5000, 9.0), (10_000, 30.0)],
        ),
        (
            "alarm",
            &[(500, 0.6), (1000, 2.0), (5000, 10.0), (10_000, 40.0)],
        ),
        ("hailfinder", &[(500, 2.5), (1000, 14.0)]),
    ] {
        for &(rows, within) in times {
            cases.push(Case {
                network,
                rows,
                columns: None,
                within: Some(within),
                is_short: rows <= 1000,
            });
        }
    }
    for (network, rows, columns, within) in [
        ("win95pts", 16_000, Some(16), Some(15.0)),
        ("andes", 40_000, Some(17), Some(15.0)),
        ("andes", 1000, Some(70), None),
        ("hailfinder", 10_000, None, None),
        ("win95pts", 1000, None, None),
        ("andes", 1000, None, None),
        ("pigs", 1000, None, None),
    ] {
        cases.push(Case {
            network,
            rows,
            columns,
            within,
            is_short: false,
        });
    }
    cases
}

impl Case {
    fn name(&self) -> String {
        match self.columns {
            Some(columns) => format!("{}, first {columns}", self.network),
            None => self.network.to_owned(),
        }
    }

    fn table(&self, data: &Path) -> Result<Table, Failure> {
        let bundled = data.join(format!("{}_n{}_s1.csv.gz", self.network, self.rows));
        let table = if bundled.exists() {
            Table::read(&bundled).map_err(Failure::input)?
        } else {
            let path = data.join(format!("networks/{}.bif", self.network));
            let network = Network::read(&path).map_err(Failure::input)?;
            network.sample(self.rows, 1).map_err(Failure::input)?
        };
        match self.columns {
            Some(columns) => first_columns(&table, columns),
            None => Ok(table),
        }
    }
}

fn first_columns(table: &Table, columns: usize) -> Result<Table, Failure> {
    let bug = |error: &dyn std::fmt::Display| Failure::Bug(error.to_string());
    let data = table.data();
    let variables = data.schema().variables().iter().take(columns).cloned();
    let schema = Schema::new(variables.collect()).map_err(|error| bug(&error))?;
    let cells = NodeIdx::all(columns).map(|node| data.column(node).to_vec());
    let data = Data::new(schema, cells.collect()).map_err(|error| bug(&error))?;
    Ok(Table::from_data(table.name(), data))
}

/// Runs the command.
pub(crate) fn run(args: &ProofArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    let out = OutFolder::new(Some(&args.out))?;
    let mut results = Grid::new(&HEAD);
    let mut open = Vec::new();
    let mut one = |name: &str, table: &Table, within: Option<f64>| -> Result<(), Failure> {
        let network = search(table)?;
        let run = proven(args, table, &network, interrupt)?;
        let cells = cells(name, table, &run, within);
        print(&format!("{}\n", cells.join("  ")))?;
        results.row(cells);
        if !run.proof.is_proven() {
            open.push(format!("{name} with {} rows", table.rows()));
        }
        Ok(())
    };
    print(&format!("{}\n", HEAD.join("  ")))?;
    for path in &args.files {
        let table = Table::read(path).map_err(Failure::input)?;
        one(table.name(), &table, None)?;
    }
    let chosen = cases()
        .into_iter()
        .filter(|case| case.is_short || !args.short);
    for case in chosen.filter(|_| args.files.is_empty()) {
        if interrupt.load(Relaxed) {
            break;
        }
        one(&case.name(), &case.table(&args.data)?, case.within)?;
    }
    let mut report = heading("What can be proven, and what it takes");
    report += &results.markdown();
    report += NOTES;
    print(&format!("\n{}", results.markdown()))?;
    out.write("runs.csv", &results.csv())?;
    out.write("report.md", &report)?;
    if interrupt.load(Relaxed) {
        return Err(Failure::Interrupted);
    }
    match open.is_empty() || !args.short {
        true => Ok(()),
        false => Err(Failure::Bug(format!("not proven: {}", open.join("; ")))),
    }
}

const HEAD: [&str; 11] = [
    "table",
    "variables",
    "rows",
    "sets scored",
    "candidates",
    "root gap",
    "nodes",
    "CPU s",
    "asked",
    "memory",
    "result",
];

const NOTES: &str = "
Candidates: parent sets that a best network may need, over all variables; none are listed where every
set was scored. Root gap: nats before the first branch. CPU s: processor seconds of the proof, without
the search before it. Asked: the seconds that it was to take at most. Memory: the most that the
process held meanwhile, the table included.
";

/// A proof and what it took.
struct Run {
    proof: Proof,
    cpu: f64,
    peak: Option<usize>,
}

/// Finds a network as `prove` does without one: until the search stands still.
fn search(table: &Table) -> Result<Network, Failure> {
    let mut settings = SearchSettings {
        threads: Some(1),
        ..SearchSettings::default()
    };
    settings.budget.time = Some(Duration::from_secs(10));
    settings.budget.stagnation = Some(Stagnation::Time(Duration::from_millis(500)));
    let found = Search::with(table, settings)
        .run()
        .map_err(Failure::input)?;
    Ok(found.structure())
}

fn proven(
    args: &ProofArgs,
    table: &Table,
    network: &Network,
    interrupt: &AtomicBool,
) -> Result<Run, Failure> {
    let request = SearchRequest::new(table, &SearchSettings::default()).map_err(Failure::input)?;
    let limits = ProofLimits {
        time: Some(args.time),
        memory: None,
        threads: Some(args.threads),
    };
    let stop = StopHandle::default();
    machine::reset_peak_memory();
    let before = machine::cpu_seconds().unwrap_or(0.0);
    let proof = prove(&request, network, limits, &stop, &mut |_| {
        if interrupt.load(Relaxed) {
            stop.stop();
        }
    })
    .map_err(Failure::input)?;
    Ok(Run {
        proof,
        cpu: machine::cpu_seconds().unwrap_or(0.0) - before,
        peak: machine::peak_memory(),
    })
}

fn cells(name: &str, table: &Table, run: &Run, within: Option<f64>) -> Vec<String> {
    let proof = &run.proof;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let scored = show_count(proof.evaluations() as f64);
    let result = match (proof.is_proven(), proof.is_closed()) {
        (true, _) => "proven".to_owned(),
        (false, true) => format!("best of {}", proof.covers()),
        (false, false) if proof.gap().is_finite() => {
            format!(
                "at most {:.1} nats below the best of {}",
                proof.gap(),
                proof.covers()
            )
        }
        (false, false) => "no bound".to_owned(),
    };
    let listed = proof.nodes() > 0;
    vec![
        name.to_owned(),
        table.variables().len().to_string(),
        table.rows().to_string(),
        scored,
        if listed {
            proof.families().to_string()
        } else {
            "all".to_owned()
        },
        format!("{:.1}", proof.root_gap().max(0.0)),
        proof.nodes().to_string(),
        format!("{:.2}", run.cpu),
        within.map_or_else(String::new, |within| within.to_string()),
        run.peak.map_or_else(String::new, show_bytes),
        result,
    ]
}
