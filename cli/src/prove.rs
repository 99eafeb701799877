//! `rlbayes prove` and `rlbayes check-proof`: whether a better network is possible at all.

use crate::args::ScoreArgs;
use crate::constraint_args::ConstraintArgs;
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::output::{FormatArgs, Output, OutputOptions, network_for};
use crate::search_flags::refused;
use crate::status_line::StatusLine;
use crate::table_args::TableArgs;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use crate::units::{counted, parse_size, parse_time, show_count, show_time};
use clap::Args;
use rlbayes::{
    KeptProofError, Network, Proof, ProofFolderError, ProofLimits, ProofProgress, RequestError,
    Search, SearchRequest, SearchSettings, Stagnation, StopHandle, Table, check_proof, prove,
    prove_kept,
};
use rlbayes_common::graph::Dag;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Proves that no network scores higher, or how much higher one could score at most.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "A proof is about the score on this table. It says nothing about causes, and \
    other networks may score exactly as high.\n\nExamples:\n  rlbayes prove data/alarm.csv\n  \
    rlbayes prove data/alarm.csv alarm.bif --time 5m --certificate alarm.proof"
)]
pub(crate) struct ProveCommand {
    /// The table: CSV, Parquet, Arrow, JSON lines or Excel; - is standard input
    data: PathBuf,
    /// The network, in any readable format; without one a short search finds it
    network: Option<PathBuf>,
    /// Where the best network goes; may be given several times. The ending chooses the format;
    /// - is standard output
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    /// Writes the proof into a file that others can check, see check-proof
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Folder that keeps the proof while the gap is closed: the same command continues it
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// How long it may take, such as 60s, 10m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    time: Duration,
    /// Memory for the proof [default: a quarter of the machine's or the container's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
    /// Prints one JSON object on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    score: ScoreArgs,
    #[command(flatten)]
    constraints: ConstraintArgs,
    #[command(flatten)]
    table: TableArgs,
}

/// Runs `prove`.
pub(crate) fn run(args: &ProveCommand, stop: &StopHandle) -> Result<(), Failure> {
    let messages = Messages::new(args.json);
    let roles = FileRoles::default()
        .reads("the table", &args.data)
        .reads("the network", args.network.as_ref())
        .reads("the schema", args.table.schema.as_ref())
        .writes("the result", &args.output)
        .writes("the certificate", &args.certificate);
    args.constraints.reads(roles).check()?;
    let outputs = args.format.outputs(&args.output, args.json)?;
    let certificate = match &args.certificate {
        Some(path) => Some(Target::new(path)?),
        None => None,
    };
    if certificate == Some(Target::Stdout) {
        let what = "--certificate - is not possible: the report is printed there";
        return Err(Failure::input(what));
    }
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    if args.threads == Some(0) {
        return Err(Failure::input("--threads must be at least 1"));
    }
    let with_parameters = outputs.iter().any(Output::needs_parameters);
    let empty = Dag::empty(table.data().nodes());
    let unlearned = network_for(table.data(), &empty, 0.0, with_parameters)?;
    for output in &outputs {
        output.check(&unlearned, OutputOptions::default())?;
    }
    let files = args.constraints.read()?;
    let settings = SearchSettings {
        score: args.score.score(),
        penalty_scale: args.score.penalty_scale,
        constraints: files.named.clone(),
        start: files.start(),
        threads: args.threads,
        memory: args.memory,
        ..SearchSettings::default()
    };
    let request = SearchRequest::new(&table, &settings).map_err(|error| refused(&error, &files))?;
    let network = match &args.network {
        Some(path) => Network::read(path).map_err(Failure::input)?,
        None => search(args, &table, settings, stop)?,
    };
    let limits = ProofLimits {
        time: Some(args.time),
        memory: args.memory,
        threads: args.threads,
    };
    let mut status = StatusLine::new(args.json);
    let variables = table.variables().len();
    let mut show = |progress: &ProofProgress| status.show(&line(progress, variables));
    let not_fitting = |error: &RequestError| match &args.network {
        Some(path) => refused_network(error, path),
        None => refused(error, &files),
    };
    let proof = match &args.state {
        None => prove(&request, &network, limits, stop, &mut show)
            .map_err(|error| not_fitting(&error))?,
        Some(folder) => {
            let mut warn = |warning: String| messages.warning(&warning);
            prove_kept(
                &request, &network, folder, limits, stop, &mut show, &mut warn,
            )
            .map_err(|error| match error {
                KeptProofError::Request(error) => not_fitting(&error),
                error @ KeptProofError::Folder(ProofFolderError::AnotherProof { .. }) => {
                    Failure::input(format!("{error}. Use another --state"))
                }
                error => Failure::input(error),
            })?
        }
    };
    status.clear();
    if let Some(target) = &certificate {
        match proof.certificate() {
            Some(text) => target.write(text.into_bytes())?,
            None => messages.warning("there is no bound yet, so no certificate was written"),
        }
    }
    let member = proof.request().class_of(proof.dag()).first_member();
    let best = network_for(table.data(), &member, 0.0, with_parameters)?;
    for output in &outputs {
        output.write(&best, OutputOptions::default(), |warning| {
            messages.warning(&warning);
        })?;
    }
    if args.json {
        print_json(&as_json(&proof))?;
    } else if outputs.iter().any(Output::is_stdout) {
        messages.line(report(&proof).trim_end());
    } else {
        print(&report(&proof))?;
    }
    match stop.is_stopped() {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

/// Says what is wrong with the network that was given.
fn refused_network(error: &RequestError, path: &Path) -> Failure {
    match error {
        RequestError::UnknownStartNode(name) => Failure::file(
            path,
            format!("the node \"{name}\" is not a column of the table"),
        ),
        // The library calls every network that a search is given its start network.
        error => Failure::file(path, error.to_string().replace("start network", "network")),
    }
}

/// Searches for the network to prove something about: for a quarter of the time at most, and only
/// until it stands still.
fn search(
    args: &ProveCommand,
    table: &Table,
    mut settings: SearchSettings,
    stop: &StopHandle,
) -> Result<Network, Failure> {
    settings.budget.time = Some(args.time / 4);
    settings.budget.stagnation = Some(Stagnation::Time(Duration::from_millis(500)));
    let found = Search::with(table, settings)
        .stop_with(stop)
        .run()
        .map_err(Failure::input)?;
    Ok(found.structure())
}

fn line(progress: &ProofProgress, of: usize) -> String {
    match progress {
        ProofProgress::Listing {
            variables,
            evaluations,
        } => {
            #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
            let scored = show_count(*evaluations as f64);
            format!("listing parent sets: {variables} of {of} variables done, {scored} sets scored")
        }
        ProofProgress::Closing {
            score,
            bound,
            nodes,
        } => format!(
            "best {score:.3} · at most {:.3} nats higher · {nodes} nodes",
            bound - score
        ),
        _ => String::new(),
    }
}

/// The one sentence that people want.
pub(crate) fn sentence(proof: &Proof) -> String {
    let of_class = match proof.covers_all() {
        true => "possible".to_owned(),
        false => format!("of {}", proof.covers()),
    };
    if proof.is_proven() {
        "proven: no network scores higher on this table".to_owned()
    } else if proof.is_closed() {
        format!("none of the {} scores higher on this table", proof.covers())
    } else if proof.gap().is_finite() {
        let percent = 100.0 * proof.gap() / proof.score().abs().max(f64::MIN_POSITIVE);
        format!(
            "at most {:.3} nats ({percent:.3} %) below the best {of_class}",
            proof.gap()
        )
    } else {
        "nothing is proven: the time was too short for a bound".to_owned()
    }
}

fn report(proof: &Proof) -> String {
    let mut text = sentence(proof);
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let scored = show_count(proof.evaluations() as f64);
    let _ = write!(text, "\n  score      {:.3}", proof.score());
    if proof.has_improved() {
        let _ = write!(text, " (better than the network given; -o writes it)");
    }
    let _ = write!(text, "\n  covers     {}", proof.covers());
    let _ = write!(
        text,
        "\n  work       {} parent sets kept of {scored} scored",
        proof.families()
    );
    if proof.nodes() > 0 {
        let _ = write!(text, "\n  tree       {}", counted(proof.nodes(), "node"));
        let gap = proof.root_gap().max(0.0);
        // A proof that was cut short has none yet.
        if gap.is_finite() {
            let _ = write!(text, ", {gap:.3} nats apart at its root");
        }
    }
    let _ = writeln!(text, "\n  took       {}", show_time(proof.elapsed()));
    text
}

pub(crate) fn as_json(proof: &Proof) -> serde_json::Value {
    let finite = |number: f64| number.is_finite().then_some(number);
    let network = proof.network();
    json!({
        "score": proof.score(),
        "score_name": proof.request().score_name(),
        "bound": finite(proof.bound()),
        "gap": finite(proof.gap()),
        "proven": proof.is_proven(),
        "covers": proof.covers(),
        "covered_parents": proof.covered_parents(),
        "improved": proof.has_improved(),
        "edges": network.edges(),
        "families": proof.families(),
        "evaluations": proof.evaluations(),
        "nodes": proof.nodes(),
        "root_gap": finite(proof.root_gap()),
        "seconds": proof.elapsed().as_secs_f64(),
    })
}

/// Checks the certificate of a proof against the table.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Every score is counted again, the parent sets are listed again, and the proof is \
    replayed in exact numbers.\n\nExample:\n  rlbayes check-proof data/alarm.csv alarm.proof"
)]
pub(crate) struct CheckProofCommand {
    /// The table
    data: PathBuf,
    /// The certificate that prove has written
    certificate: PathBuf,
    #[command(flatten)]
    table: TableArgs,
}

/// Runs `check-proof`.
pub(crate) fn check(args: &CheckProofCommand) -> Result<(), Failure> {
    let messages = Messages::new(false);
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let text = std::fs::read_to_string(&args.certificate).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::file(&args.certificate, "there is no such file"),
        _ => Failure::file(&args.certificate, error),
    })?;
    let checked =
        check_proof(&table, &text).map_err(|error| Failure::file(&args.certificate, error))?;
    print(&match checked.is_proven {
        true => format!(
            "the proof holds: no network scores higher than {:.6} on this table\n",
            checked.score
        ),
        false => format!(
            "the proof holds: the network scores {:.6}, and none that is covered more than {:.6}\n",
            checked.score, checked.bound
        ),
    })
}
