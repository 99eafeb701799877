//! What people ask a coordinator: status, stop, result, health.

use super::connect::ConnectArgs;
use super::{block_on, heartbeat_file};
use crate::args::NameArgs;
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::output::{FormatArgs, OutputOptions};
use crate::provenance::ProvenanceNotes;
use crate::terminal::{Messages, print, print_json};
use crate::units::{counted, show_bytes, show_count, show_counted, show_time};
use clap::Args;
use rlbayes_client::answered;
use rlbayes_common::search::StoppedBy;
use rlbayes_coordinator::status::to_json;
use rlbayes_proto::v1;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

/// How long a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the coordinator is.
#[derive(Args, Clone, Debug)]
pub(crate) struct AskArgs {
    /// The coordinator's address, such as http://host:7400 [or RLBAYES_COORDINATOR]
    #[arg(env = "RLBAYES_COORDINATOR", hide_env = true)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

/// Shows how a search is going.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Example:\n  rlbayes status http://localhost:7400\n  rlbayes status http://localhost:7400 --json | jq .best_score"
)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
}

/// Fetches the best network so far.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Example:\n  rlbayes result http://localhost:7400 -o best.bif -o best.svg"
)]
pub(crate) struct ResultArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// A file; may be given several times. The ending chooses the format, as for learn; - is standard
    /// output
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    names: NameArgs,
    /// Pictures: draws only the neighbourhood of a node
    #[arg(long, value_name = "NODE")]
    around: Option<String>,
    /// Prints one JSON object, as learn --json does
    #[arg(long)]
    json: bool,
}

/// Checks whether a coordinator serves or a worker runs: exit code 0 if so, 3 if not.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes health http://localhost:7400\n  rlbayes health --worker worker1"
)]
pub(crate) struct HealthArgs {
    /// Checks the worker with this state folder, on this machine, instead of a coordinator
    #[arg(long, value_name = "DIR")]
    worker: Option<PathBuf>,
    /// The coordinator's address, such as http://host:7400 [or RLBAYES_COORDINATOR]
    #[arg(
        env = "RLBAYES_COORDINATOR",
        hide_env = true,
        required_unless_present = "worker"
    )]
    url: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

fn request<T>(message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.set_timeout(PATIENCE);
    request
}

/// Runs `rlbayes status`.
pub(crate) fn status(args: &StatusArgs) -> Result<(), Failure> {
    let AskArgs { url, connect } = &args.ask;
    let connection = connect.connection(url)?;
    let reply = block_on(1, async { Ok(rlbayes_client::status(&connection).await?) })?;
    show(&reply, args.json)
}

/// Runs `rlbayes stop`.
pub(crate) fn stop(args: &StatusArgs) -> Result<(), Failure> {
    let AskArgs { url, connect } = &args.ask;
    let connection = connect.connection(url)?;
    let reply = block_on(1, async { Ok(rlbayes_client::stop(&connection).await?) })?;
    show(&reply, args.json)
}

fn show(reply: &v1::StatusReply, as_json: bool) -> Result<(), Failure> {
    if as_json {
        print_json(&to_json(reply))
    } else {
        print(&for_people(reply))
    }
}

/// Runs `rlbayes result`.
pub(crate) fn result(args: &ResultArgs) -> Result<(), Failure> {
    args.ask
        .connect
        .reads(FileRoles::default())
        .writes("the result", &args.output)
        .check()?;
    let outputs = args.format.outputs(&args.output, args.json)?;
    let AskArgs { url, connect } = &args.ask;
    let connection = connect.connection(url)?;
    let fetched = block_on(1, async { Ok(rlbayes_client::fetch(&connection).await?) })?;
    let messages = Messages::new(false);
    let class = fetched.class();
    let provenance = ProvenanceNotes::read(fetched.provenance());
    let options = OutputOptions {
        strict_names: args.names.strict_names,
        class: Some(&class),
        provenance: Some(&provenance),
        around: args.around.as_deref(),
        ..OutputOptions::default()
    };
    // One file that can't be written keeps the others not back.
    let mut failed = None;
    for output in &outputs {
        let written = match &fetched.not_fitted {
            Some(why) if output.demands_parameters() => Err(Failure::input(format!(
                "{}: the network has no probabilities: {why} (formats without them hold its \
                 structure: .json .csv .txt .graphml .dot .svg)",
                output.target()
            ))),
            _ => output.write(&fetched.network, options, |warning| {
                messages.warning(&warning);
            }),
        };
        match written {
            Ok(()) if output.is_stdout() => {}
            Ok(()) => messages.line(&format!("written      {}", output.target())),
            Err(failure) => {
                failed.get_or_insert(failure);
            }
        }
    }
    if args.json || outputs.is_empty() {
        print(&format!("{}\n", fetched.json.trim_end()))?;
    }
    match (failed, fetched.not_fitted) {
        (Some(failure), _) => Err(failure),
        (None, Some(why)) => {
            messages.warning(&format!("the network has no probabilities: {why}"));
            Ok(())
        }
        (None, None) => Ok(()),
    }
}

/// Runs `rlbayes health`.
pub(crate) fn health(args: &HealthArgs) -> Result<(), Failure> {
    if let Some(state) = &args.worker {
        let age = heartbeat_file::age(state)?;
        return print(&format!("running {} ago\n", show_time(age)));
    }
    let url = args.url.as_deref().unwrap_or_default();
    let serving = block_on(1, async {
        let mut client = HealthClient::new(args.connect.channel(url)?);
        let asked = HealthCheckRequest {
            service: String::new(),
        };
        let reply = client.check(request(asked)).await;
        Ok(answered(url, reply).await?.status())
    })?;
    if serving == ServingStatus::Serving {
        print("serving\n")
    } else {
        Err(Failure::OutOfReach(format!(
            "{url}: the coordinator does not serve"
        )))
    }
}

/// Describes how much is left of each limit of the budget.
pub(crate) fn budget_left(status: &v1::StatusReply) -> String {
    if status.state == "finished" {
        return String::new();
    }
    let seconds = status.seconds_left.map(Duration::try_from_secs_f64);
    let left = [
        seconds.map(|left| show_time(left.unwrap_or_default())),
        status
            .evaluations_left
            .map(|left| show_counted(left, "local score")),
        status
            .iterations_left
            .map(|left| show_counted(left, "step")),
    ];
    left.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Describes what chains have done: steps, or regions where they search region by region.
pub(crate) fn steps_in_words(status: &v1::StatusReply) -> String {
    let chains = counted(status.chains, "chain");
    match status.regions {
        Some(regions) => format!("{} searched by {chains}", show_counted(regions, "region")),
        None => format!("{} of {chains}", show_counted(status.iterations, "step")),
    }
}

/// Describes the state of a search, and why it ends.
pub(crate) fn state_in_words(status: &v1::StatusReply) -> String {
    // Until the last reports are in, a search that was stopped still runs.
    let state = match status.state.as_str() {
        "finished" => "finished",
        _ if !status.stopped_by.is_empty() => "stopping",
        state => state,
    };
    let state = match StoppedBy::from_name(&status.stopped_by) {
        Some(reason) => format!("{state} ({})", reason.in_words()),
        None => state.to_owned(),
    };
    match (status.replicates_done, status.replicates) {
        (_, 0) => state,
        (done, of) => format!("{state}, {done} of {of} replicates"),
    }
}

/// Prints a status as text.
pub(crate) fn for_people(status: &v1::StatusReply) -> String {
    let time = |seconds: f64| show_time(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    let mut text = String::new();
    // Writing to a String can't fail.
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line(
        "search",
        format!(
            "{} on {} ({}, {}), score {}, seed {}",
            status.search,
            status.data_name,
            counted(status.variables, "variable"),
            counted(status.rows, "row"),
            status.score_name,
            status.seed
        ),
    );
    line("state", state_in_words(status));
    match status.best_score {
        Some(best) => line(
            "best",
            format!("{best:.3}, found {} ago", time(status.best_age_seconds)),
        ),
        None => line("best", "none yet".to_owned()),
    }
    let left = match budget_left(status) {
        left if left.is_empty() => String::new(),
        left => format!(", at most {left} left"),
    };
    line(
        "searching",
        format!("{}{left}", time(status.elapsed_seconds)),
    );
    line(
        "work",
        format!(
            "{} asked for ({}/s), {}",
            show_counted(status.evaluations, "local score"),
            show_count(status.evaluations_per_second),
            steps_in_words(status)
        ),
    );
    line(
        "elite pool",
        format!(
            "{}, diversity {:.3}",
            counted(status.pool_size, "row"),
            status.diversity
        ),
    );
    line(
        "seeds",
        format!(
            "{} sent, {} received, {} entered a Q-table, {} made current",
            status.seeds_sent,
            status.seeds_received,
            status.seeds_entered,
            status.seeds_made_current
        ),
    );
    if status.round > 0 {
        line("round", status.round.to_string());
    }
    if status.refused_rows > 0 {
        line("refused", counted(status.refused_rows, "row"));
    }
    if !status.trouble.is_empty() {
        line("trouble", status.trouble.clone());
    }
    let alive = status.workers.iter().filter(|worker| worker.alive).count();
    line("workers", format!("{alive} of {}", status.workers.len()));
    for worker in &status.workers {
        let memory = worker.statistics.map_or(0, |s| s.memory_bytes);
        let _ = writeln!(
            text,
            "  {:>4}  {:<24} {:>11} {:>11} {:>9}/s  {:>9}  last exchange {} ago{}",
            worker.id,
            worker.host,
            counted(worker.threads, "thread"),
            counted(worker.chains, "chain"),
            show_count(worker.evaluations_per_second),
            show_bytes(usize::try_from(memory).unwrap_or(0)),
            time(worker.last_exchange_seconds),
            if worker.alive { "" } else { " (gone)" }
        );
    }
    text
}
