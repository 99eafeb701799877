//! `rlbayes coordinator`: serves a search to workers until it is over, and its result after that.

use super::connect::{read, read_token};
use super::result_files::ResultWriter;
use super::shutdown::Shutdown;
use super::{address_file, block_on};
use crate::args::{BudgetArgs, ResourceArgs, ScoreArgs, SearchArgs, TableArgs};
use crate::constraint_args::ConstraintArgs;
use crate::failure::Failure;
use crate::learn::{self, LearnArgs};
use crate::output::Output;
use crate::terminal::Say;
use crate::units::parse_time;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use rlbayes::coordination::{ChainCount, Cooperation, Pace, SearchPlan, Snapshots, State};
use rlbayes_common::elite::Keying;
use rlbayes_common::identity::search_id;
use rlbayes_common::ids::Seed;
use rlbayes_common::snapshot::encode_table;
use rlbayes_coordinator::blocking::Blocking;
use rlbayes_coordinator::event_loop::{EventLoop, Unobserved, Until};
use rlbayes_coordinator::service::Service;
use rlbayes_coordinator::status::About;
use rlbayes_coordinator::token::Token;
use rlbayes_coordinator::validator::Validator;
use rlbayes_coordinator::{guard, http, server};
use rlbayes_proto::convert::{check_description, description_to_wire};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::transport::server::ServerTlsConfig;
use tonic::transport::{Certificate, Identity};

/// Serves a search to workers on other machines.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
// It runs no chains. The flag stays: one settings file may serve coordinator and workers.
#[command(mut_arg("threads", |arg| arg.hide(true)))]
pub(crate) struct CoordinatorArgs {
    /// The table: CSV or TSV with a header, also gzipped
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// Where workers connect; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7400")]
    listen: String,
    /// Where metrics and the status are served read-only over HTTP
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,
    /// Folder that keeps the search: after a restart it goes on
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Folder for NAME.bif, NAME.json and NAME.svg, renewed when the best improves
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// File that gets the address for workers, and at the end that the search is over (see worker
    /// --coordinator-file)
    #[arg(long, value_name = "FILE")]
    address_file: Option<PathBuf>,
    /// What to do when the search is over: serve the result on, or exit
    #[arg(long, value_enum, default_value_t = WhenDone::Wait)]
    when_done: WhenDone,
    /// How long a worker counts as alive without an exchange
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "15s")]
    lease: Duration,
    /// How often a worker reports without a record
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "2s")]
    exchange_every: Duration,
    /// Chains get no rows of others: what cooperation is measured against
    #[arg(long)]
    no_cooperation: bool,
    /// The true network, to compare the result with
    #[arg(long, value_name = "NET")]
    truth: Option<PathBuf>,
    /// File with the token that workers and people must present
    #[arg(long, value_name = "FILE", help_heading = "Security")]
    token_file: Option<PathBuf>,
    /// The coordinator's certificate
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        help_heading = "Security"
    )]
    tls_cert: Option<PathBuf>,
    /// The key of the coordinator's certificate
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        help_heading = "Security"
    )]
    tls_key: Option<PathBuf>,
    /// Certificate of the authority that must have signed every caller's certificate
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        help_heading = "Security"
    )]
    tls_ca: Option<PathBuf>,
    /// Demands the token on the HTTP port too
    #[arg(long, requires = "token_file", help_heading = "Security")]
    http_token: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    score: ScoreArgs,
    #[command(flatten)]
    constraints: ConstraintArgs,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// What to do when the search is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenDone {
    /// The program ends.
    Exit,
    /// It stays.
    Wait,
}

const EXAMPLES: &str = "\
Examples:
  rlbayes coordinator --data data/alarm.csv --state run1 --out results --time 10m
  rlbayes coordinator --data big.csv.gz --listen 0.0.0.0:7400 --http 127.0.0.1:7401 \\
      --token-file token --state run2 --out results --time 12h
  rlbayes coordinator --data data.csv --state run3 --deterministic --evaluations 100000000

Workers: rlbayes worker --coordinator http://HOST:7400 --token-file token
A time budget counts time in which workers search. SIGTERM saves and exits with 130; the same
command goes on.";

/// How long a caller may take to prove who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Runs the command.
pub(crate) fn coordinator(args: &CoordinatorArgs) -> Result<(), Failure> {
    let say = Say::new(false);
    let mut learn_args = LearnArgs {
        data: args.data.clone(),
        output: Vec::new(),
        truth: args.truth.clone(),
        state: Some(args.state.clone()),
        json: false,
        quiet: true,
        alpha: 0.0,
        portable_names: false,
        around: None,
        table: args.table.clone(),
        score: args.score.clone(),
        constraints: args.constraints.clone(),
        search: args.search.clone(),
        budget: args.budget.clone(),
        resources: args.resources.clone(),
    };
    let open_ended = args.resources.chains.is_none() && !args.resources.deterministic;
    // The coordinator runs no chains; it scores rows that come in.
    learn_args.resources.threads = Some(1);
    let (table, _) = args
        .table
        .load(&args.data, |warning| say.warn(&args.data, warning))?;
    let truth = learn::read_truth(&learn_args, &table)?;
    let prepared = learn::prepare(&learn_args, &table)?;
    let chains = match open_ended {
        true => ChainCount::PerThread(prepared.spec.default_chains(1)),
        false => ChainCount::Fixed(prepared.chains),
    };
    let pace = match args.resources.deterministic {
        true => Pace::Lockstep,
        false => Pace::Free,
    };
    let mut settings = learn::settings(&learn_args, &table, &prepared)?;
    for (name, value) in &mut settings {
        if name == "--chains" {
            *value = format!("{chains:?}");
        }
    }
    settings.push(("the pace".to_owned(), format!("{pace:?}")));
    if args.no_cooperation {
        settings.push(("--no-cooperation".to_owned(), "given".to_owned()));
    }
    settings.sort();
    let plan = SearchPlan {
        chains,
        seed: Seed(args.search.seed),
        budget: args.budget.budget()?,
        pace,
        keying: Keying::of(args.score.score),
        cooperation: match args.no_cooperation || !prepared.spec.takes_seeds() {
            true => Cooperation::Off,
            false => Cooperation::On,
        },
        snapshots: match pace {
            Pace::Lockstep => Snapshots::EveryRound,
            Pace::Free => Snapshots::Never,
        },
        lease: args.lease.max(Duration::from_millis(100)),
    };
    let data = Bytes::from(encode_table(&table));
    let mut description = learn::description(&learn_args, &prepared, &plan, search_id(&settings))?;
    description.data_hash = *blake3::hash(&data).as_bytes();
    description.data_bytes = data.len() as u64;
    description.exchange_every = args.exchange_every;
    check_description(&description_to_wire(&description)).map_err(|error| {
        Failure::input(format!("workers cannot be told of this search: {error}"))
    })?;
    let name = data_name(&args.data);
    let about = About {
        search: description,
        data_name: name.clone(),
        rows: table.rows(),
    };
    let (outputs, json) = match &args.out {
        None => (Vec::new(), None),
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
            let outputs = ["bif", "svg"]
                .map(|ending| Output::new(&folder.join(format!("{name}.{ending}"))))
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?;
            (outputs, Some(folder.join(format!("{name}.json"))))
        }
    };
    let (mut journal, stored) = rlbayes::state_folder::open(
        &args.state,
        &settings,
        table.nodes(),
        plan.keying,
        |warning| say.warning(&warning),
    )
    .map_err(Failure::input)?;
    let state = match stored {
        Some(stored) => State::recovered(plan, stored),
        None => {
            journal
                .begin(&settings)
                .map_err(|error| Failure::file(&args.state, error))?;
            State::new(plan)
        }
    };
    let token = Token::new(args.token_file.as_deref().map(read_token).transpose()?);
    let tls = tls(args)?;
    let (publish, results) = watch::channel(None);
    let validator = Validator::new(Arc::clone(&prepared.problem));
    let writer = ResultWriter {
        args: learn_args,
        table,
        prepared,
        truth,
        outputs,
        json,
        publish,
    };
    block_on(2, async {
        let shutdown = Shutdown::on_signals()?;
        let listener = listen(&args.listen).await?;
        let address = listener.local_addr().map_err(Failure::input)?;
        let web = match &args.http {
            Some(http) => Some(listen(http).await?),
            None => None,
        };
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        if let Some(path) = &args.address_file {
            address_file::open(path, &url).map_err(|error| Failure::file(path, error))?;
        }
        say.line(&format!(
            "serving {name} ({} variables, {} rows) on {url}",
            about.search.nodes, about.rows
        ));
        if let Some(web) = &web
            && let Ok(address) = web.local_addr()
        {
            say.line(&format!("metrics and status on http://{address}"));
        }
        let mut unobserved = Unobserved;
        let (event_loop, handle, published) = EventLoop::new(
            state,
            Some(journal),
            Blocking::Thread,
            Arc::default(),
            &mut unobserved,
        );
        let service = Service::new(
            handle,
            published.clone(),
            results,
            about,
            data,
            validator,
            Blocking::Thread,
        );
        let written = tokio::spawn(writer.run(published));
        let (end_servers, servers_end) = watch::channel(false);
        let ending = |mut end: watch::Receiver<bool>| async move {
            // Dropped or told: both mean the end.
            let _ = end.wait_for(|end| *end).await;
        };
        let web_token = if args.http_token {
            token.clone()
        } else {
            Token::default()
        };
        let web = web.map(|web| {
            let end = ending(servers_end.clone());
            tokio::spawn(http::serve(web, service.clone(), web_token, end))
        });
        let grpc = tokio::spawn(server::serve(
            guard::accept(listener, guard::places()),
            service,
            token,
            tls,
            ending(servers_end),
        ));
        let until = match args.when_done {
            WhenDone::Exit => Until::WorkersInformed,
            WhenDone::Wait => Until::Shutdown,
        };
        let ended = event_loop.run(until, shutdown.clone().requested()).await;
        end_servers.send_replace(true);
        // Watchers may hold their connections for ever; everything that matters is on disk.
        let closing = async {
            let _ = grpc.await;
            if let Some(web) = web {
                let _ = web.await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), closing).await;
        let _ = tokio::time::timeout(Duration::from_secs(60), written).await;
        match ended.state.stopped_by() {
            Some(reason) if ended.state.is_finished() => {
                let best = ended
                    .state
                    .best()
                    .map_or(f64::NEG_INFINITY, |row| row.score.value());
                if let Some(path) = &args.address_file
                    && let Err(error) = address_file::close(path)
                {
                    say.warn(path, error.to_string());
                }
                say.line(&format!("finished: {best:.3}, stopped by {reason}"));
                Ok(())
            }
            _ => {
                say.line("interrupted; the same command goes on from here");
                Err(Failure::Interrupted)
            }
        }
    })
}

async fn listen(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::input(format!("cannot listen on {address}: {error}")))
}

fn tls(args: &CoordinatorArgs) -> Result<Option<ServerTlsConfig>, Failure> {
    let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) else {
        return Ok(None);
    };
    let mut tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(read(cert)?, read(key)?))
        .timeout(HANDSHAKE);
    if let Some(ca) = &args.tls_ca {
        tls = tls.client_ca_root(Certificate::from_pem(read(ca)?));
    }
    Ok(Some(tls))
}

/// Returns the data file's name without its endings.
fn data_name(path: &Path) -> String {
    let mut name = path.file_name().map_or_else(
        || "data".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    for ending in [".gz", ".csv", ".tsv"] {
        if let Some(shorter) = name.strip_suffix(ending)
            && !shorter.is_empty()
        {
            name = shorter.to_owned();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_named_after_the_data() {
        for (path, name) in [
            ("data/alarm.csv", "alarm"),
            ("x/big.tsv.gz", "big"),
            ("plain", "plain"),
            (".csv", ".csv"),
        ] {
            assert_eq!(data_name(Path::new(path)), name);
        }
    }
}
