//! `rlbayes coordinator`: serves a search to workers until it is over, and its result after that.

use super::connect::{read, read_token};
use super::prover::prove_beside;
use super::result_files::ResultWriter;
use super::shutdown::Shutdown;
use super::{address_file, block_on};
use crate::args::{TableArgs, read_structure};
use crate::failure::Failure;
use crate::output::Output;
use crate::search_flags::SearchFlags;
use crate::terminal::Messages;
use crate::units::parse_time;
use bytes::Bytes;
use clap::{Args, ValueEnum};
use rlbayes::coordination::{Cooperation, State};
use rlbayes::{Proving, Runners, SearchRequest, StateFolderError, state_folder};
use rlbayes_common::snapshot::encode_table;
use rlbayes_coordinator::blocking::Blocking;
use rlbayes_coordinator::event_loop::{EventLoop, Unobserved, Until};
use rlbayes_coordinator::service::Service;
use rlbayes_coordinator::status::About;
use rlbayes_coordinator::token::Token;
use rlbayes_coordinator::validator::Validator;
use rlbayes_coordinator::{guard, http, server};
use rlbayes_proto::convert::{check_description, description_to_wire};
use std::path::PathBuf;
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
    /// Address that workers connect to; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7400")]
    listen: String,
    /// Address for metrics and status over HTTP, read-only [default: none]
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,
    /// Folder that keeps the search: the same command resumes it
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Folder for NAME.bif, NAME.json and NAME.svg, rewritten when the best improves
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// File for the coordinator's address, and at the end for a note that the search is over; workers
    /// read it with --coordinator-file
    #[arg(long, value_name = "FILE")]
    address_file: Option<PathBuf>,
    /// What to do when the search is over: keep serving the result, or exit
    #[arg(long, value_enum, default_value_t = WhenDone::Wait)]
    when_done: WhenDone,
    /// How long a worker counts as alive without an exchange
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "15s")]
    lease: Duration,
    /// How often a worker reports if it has no new best
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "2s")]
    exchange_every: Duration,
    /// Chains do not get networks of other chains; to measure what cooperation brings
    #[arg(long)]
    no_cooperation: bool,
    /// Whether a prover runs in the coordinator's process and ends the search when no better network
    /// is possible: off, or auto (where the table is small enough and no limit of evaluations or
    /// iterations is given)
    #[arg(long, value_enum, default_value_t = ProveBeside::Off)]
    prove: ProveBeside,
    /// The true network, to compare the result with
    #[arg(long, value_name = "NET")]
    truth: Option<PathBuf>,
    /// File with the token that every caller must present, workers and users alike
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
    search: SearchFlags,
}

/// Whether the coordinator proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProveBeside {
    /// No prover.
    Off,
    /// Where it is worth it.
    Auto,
}

/// What to do when the search is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenDone {
    /// The program ends.
    Exit,
    /// It keeps running.
    Wait,
}

const EXAMPLES: &str = "\
Examples:
  rlbayes coordinator --data data/alarm.csv --state run1 --out results --time 10m
  rlbayes coordinator --data big.csv.gz --listen 0.0.0.0:7400 --http 127.0.0.1:7401 \\
      --token-file token --state run2 --out results --time 12h
  rlbayes coordinator --data data.csv --state run3 --deterministic --evaluations 100000000

Workers: rlbayes worker --coordinator http://HOST:7400 --token-file token
A time budget counts only while workers search. SIGTERM saves and exits with 130; the same command
resumes.";

/// How long a caller may take to prove who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Runs the command.
pub(crate) fn coordinator(args: &CoordinatorArgs) -> Result<(), Failure> {
    let messages = Messages::new(false);
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let truth = match &args.truth {
        Some(path) => Some(read_structure(path, &table)?),
        None => None,
    };
    let runners = Runners::Workers {
        exchange_every: args.exchange_every,
        lease: args.lease,
    };
    let cooperation = match args.no_cooperation {
        true => Cooperation::Off,
        false => Cooperation::On,
    };
    let (mut settings, mut request) = args.search.request(&table, runners, cooperation)?;
    if args.prove == ProveBeside::Auto {
        settings.prove = Proving::Auto;
        request = SearchRequest::new(&table, &settings).map_err(Failure::input)?;
    }
    let data = Bytes::from(encode_table(table.data()));
    let description = request.description(&data);
    check_description(&description_to_wire(&description)).map_err(|error| {
        Failure::input(format!("this search cannot be sent to workers: {error}"))
    })?;
    let name = table.name().to_owned();
    let about = About {
        search: description,
        data_name: name.clone(),
        rows: table.rows(),
        bound: Arc::default(),
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
    let plan = request.plan(true);
    let (journal, stored) = state_folder::open_journal(&args.state, &request, |warning| {
        messages.warning(&warning);
    })
    .map_err(|error| match error {
        StateFolderError::AnotherSearch { .. } => {
            Failure::input(format!("{error}. Use another --state"))
        }
        error => Failure::input(error),
    })?;
    let state = match stored {
        Some(stored) => State::recovered(plan, stored),
        None => State::new(plan),
    };
    let token = Token::new(args.token_file.as_deref().map(read_token).transpose()?);
    let tls = tls(args)?;
    let (publish, results) = watch::channel(None);
    let problem = request.problem();
    let validator = Validator::new(Arc::clone(&problem));
    let bound = Arc::clone(&about.bound);
    let writer = ResultWriter {
        request: request.clone(),
        problem,
        truth,
        outputs,
        json,
        bound: Arc::clone(&bound),
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
        messages.line(&format!(
            "serving {name} ({} variables, {} rows) on {url}",
            about.search.nodes, about.rows
        ));
        if let Some(web) = &web
            && let Ok(address) = web.local_addr()
        {
            messages.line(&format!("metrics and status on http://{address}"));
        }
        let mut unobserved = Unobserved;
        let (event_loop, handle, published) =
            EventLoop::new(state, Some(journal), Blocking::Thread, &mut unobserved);
        let proving = prove_beside(request, bound, handle.clone(), published.clone());
        let proving = tokio::spawn(proving);
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
            // Dropped or set: both mean the end.
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
        let _ = tokio::time::timeout(Duration::from_secs(10), proving).await;
        match ended.state.stopped_by() {
            Some(reason) if ended.state.is_finished() => {
                let best = match ended.state.best() {
                    Some(row) => format!("{:.3}", row.score),
                    None => "no worker found a network".to_owned(),
                };
                if let Some(path) = &args.address_file
                    && let Err(error) = address_file::close(path)
                {
                    messages.warn(path, error.to_string());
                }
                messages.line(&format!("finished: {best}, stopped by {reason}"));
                Ok(())
            }
            _ => {
                messages.line("interrupted; the same command continues from here");
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
