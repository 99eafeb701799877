//! `rlbayes-fuzz`: changed inputs for everything that reads bytes from outside.

use clap::Parser;
use rlbayes_fuzz::corpus;
use rlbayes_fuzz::coverage::Reached;
use rlbayes_fuzz::drive::Pool;
use rlbayes_fuzz::mutate::Mutator;
use rlbayes_fuzz::targets;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Throws changed inputs at everything that reads bytes from outside.
#[derive(Debug, Parser)]
#[command(after_help = HELP)]
struct Args {
    /// How many inputs in all
    #[arg(long, default_value_t = 10_000_000)]
    inputs: u64,
    /// How many minutes at most
    #[arg(long, default_value_t = 600)]
    minutes: u64,
    /// What changes are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this target; may be given several times
    #[arg(long)]
    only: Vec<String>,
    /// Folder for the inputs with which something went wrong
    #[arg(long, default_value = "findings")]
    findings: PathBuf,
    /// Folder for the inputs that reached something new, at most 40 small ones of each target
    #[arg(long)]
    keep: Option<PathBuf>,
}

const HELP: &str = "\
Exits with 1 if a reader panicked, broke a law (what is written is read back) or took more than ten
seconds. Overflow checks and debug assertions are on in this profile.

  cargo run -p rlbayes-fuzz -- --inputs 100000

With coverage, on a stable compiler (the crates of the project are instrumented):

  RUSTC_WORKSPACE_WRAPPER=$PWD/tests/fuzz/with-coverage cargo run -p rlbayes-fuzz";

/// Inputs of one target before the next has its turn.
const TURN: u64 = 500;

fn main() -> ExitCode {
    let args = Args::parse();
    // A panic is a finding, and is told as one.
    std::panic::set_hook(Box::new(|_| {}));
    let folder = corpus::folder();
    let chosen = targets::all()
        .into_iter()
        .filter(|target| args.only.is_empty() || args.only.iter().any(|name| name == target.name));
    let mut pools: Vec<Pool> = chosen.map(|target| Pool::new(target, &folder)).collect();
    let mut mutator = Mutator::new(args.seed);
    let (begun, limit) = (Instant::now(), Duration::from_secs(60 * args.minutes));
    let mut told = Instant::now();
    let done = |pools: &[Pool]| pools.iter().map(|pool| pool.done).sum::<u64>();
    while done(&pools) < args.inputs && begun.elapsed() < limit && !pools.is_empty() {
        for pool in &mut pools {
            pool.run(TURN * u64::from(pool.target.weight), &mut mutator);
        }
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            tell(&format!("{} inputs, {:?}", done(&pools), begun.elapsed()));
        }
    }
    let by = match Reached::is_by_edges() {
        true => "edges",
        false => "outcomes",
    };
    let mut findings = 0;
    for pool in &pools {
        let name = pool.target.name;
        tell(&format!(
            "{name}: {} inputs, {} {by}, {} kept, {} findings",
            pool.done,
            pool.reached(),
            pool.inputs().len(),
            pool.findings.len()
        ));
        findings += pool.findings.len();
        for (input, problem) in &pool.findings {
            match corpus::write(&args.findings, name, input) {
                Ok(path) => tell(&format!("  {}: {problem}", path.display())),
                Err(error) => tell(&format!("  {problem} (not written: {error})")),
            }
        }
        let small = pool.inputs().iter().filter(|input| input.len() <= 2048);
        for input in small.rev().take(40) {
            if let Some(keep) = &args.keep
                && let Err(error) = corpus::write(keep, name, input)
            {
                tell(&format!("  an input is not kept: {error}"));
            }
        }
    }
    tell(&format!(
        "{} inputs in {:?}, {findings} findings",
        done(&pools),
        begun.elapsed()
    ));
    match findings {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn tell(text: &str) {
    // Nobody reads it any more: the exit code still tells.
    let _ = writeln!(std::io::stdout(), "{text}");
}
