//! `rlbayes coordinator`: serves a search to workers until it is over, and its result after that.

use super::bound_note::BoundNote;
use super::connect::{read, read_access};
use super::prover::prove_beside;
use super::result_files::ResultWriter;
use super::result_folder::{ResultFolder, refuse_file};
use super::result_maker::{ResultMaker, SupportOf};
use super::shutdown::Shutdown;
use super::worker::host_name;
use super::{address_file, block_on, public_address};
use crate::args::read_structure;
use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::replicate_args::ReplicateArgs;
use crate::search_flags::SearchFlags;
use crate::table_args::TableArgs;
use crate::target::{Target, words};
use crate::terminal::Messages;
use crate::units::{counted, parse_time, show_time};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use rlbayes::coordination::{Cooperation, MAX_CLUSTER_REPLICATES, State};
use rlbayes::{
    BootstrapRequest, Proving, Runners, SearchRequest, SearchSettings, StateFolderError, Table,
    state_folder,
};
use rlbayes_common::ids::SearchId;
use rlbayes_common::snapshot::encode_table;
use rlbayes_coordinator::access::Access;
use rlbayes_coordinator::blocking::Blocking;
use rlbayes_coordinator::event_loop::{EventLoop, Unobserved, Until};
use rlbayes_coordinator::replicate_work::ReplicateWork;
use rlbayes_coordinator::service::Service;
use rlbayes_coordinator::status::About;
use rlbayes_coordinator::validator::Validator;
use rlbayes_coordinator::{guard, http, server};
use rlbayes_proto::convert::{check_description, description_to_wire};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;
use tonic::transport::server::ServerTlsConfig;
use tonic::transport::{Certificate, Identity};

/// Serves a search to workers on other machines.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
// It runs no chains. The flag stays: one settings file may serve coordinator and workers.
#[command(mut_arg("threads", |arg| arg.hide(true)))]
pub(crate) struct CoordinatorArgs {
    /// The table: CSV, Parquet, Arrow, JSON lines or Excel; - is standard input
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// Address that workers connect to; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7400")]
    listen: String,
    /// Address for the live page, metrics and status over HTTP, read-only [default: none]
    #[arg(long, value_name = "ADDRESS:PORT")]
    http: Option<String>,
    /// Folder that keeps searches, each in a folder of its own: the same command resumes its search
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Folder for NAME.bif, NAME.json and NAME.svg, renewed when the best improves: links to those of
    /// the newest search, which lie in a folder of its own, NAME-ID
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// File for the coordinator's address, and at the end for a note that the search is over; workers
    /// read it with --coordinator-file
    #[arg(long, value_name = "FILE")]
    address_file: Option<PathBuf>,
    /// What to do when the search is over: keep serving the result, or exit
    #[arg(long, value_enum, ignore_case = true, default_value_t = WhenDone::Wait)]
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
    /// File with the token that every caller must present; or with several, a line each: the role
    /// (work for workers, read for status and result, admin to stop the search as well), the token,
    /// and a name for the log
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
    /// Demands a token on the HTTP port too, one that allows reading
    #[arg(long, requires = "token_file", help_heading = "Security")]
    http_token: bool,
    /// Serves the HTTP port by TLS, with the coordinator's certificate
    #[arg(
        long,
        requires = "tls_cert",
        requires = "http",
        help_heading = "Security"
    )]
    http_tls: bool,
    #[command(flatten)]
    replicates: ReplicateArgs,
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

  rlbayes coordinator --data data.csv --state run4 --out results --time 10m --replicates 200

With --replicates, workers search resampled tables once the search is over: NAME.support.csv, .json
and .svg in --out then say how many of them have each edge.
Workers: rlbayes worker --coordinator http://HOST:7400 --token-file token
A time budget counts only while workers search. SIGTERM saves and exits with 130; the same command
resumes.";

/// How long a caller may take to prove who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long writing the result may take at the end.
const LAST_FILES: Duration = Duration::from_secs(60);

/// Runs the command.
pub(crate) fn coordinator(args: &CoordinatorArgs) -> Result<(), Failure> {
    let messages = Messages::new(false);
    files(args).check()?;
    if let Some(path) = &args.address_file {
        Target::new(path)?;
    }
    if let Some(out) = &args.out {
        refuse_file(out)?;
    }
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
    let bootstrap = replicates(args, &table, &settings)?;
    if let Some(bootstrap) = &bootstrap {
        request = bootstrap.after(&request);
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
        replicates: bootstrap.as_ref().map(|bootstrap| ReplicateWork {
            description: bootstrap.description(&request, &data),
            request: Arc::clone(bootstrap),
        }),
    };
    let mut plan = request.plan(true);
    plan.replicates = bootstrap.as_ref().map_or(0, |it| it.replicates());
    let problem = request.problem();
    let validator = Validator::new(Arc::clone(&problem));
    let id = request.id();
    let opened = state_folder::open_search(&args.state, &request, |warning| {
        messages.warning(&warning);
    })
    .map_err(|error| match error {
        StateFolderError::AnotherSearch { .. } => {
            Failure::input(format!("{error}. Use another --state"))
        }
        error => Failure::input(error),
    })?;
    let bound = Arc::clone(&about.bound);
    let note = BoundNote::in_folder(&match opened.is_at_the_top {
        true => args.state.clone(),
        false => args.state.join(id.to_string()),
    });
    if let Some(known) = note.read() {
        let _ = bound.set(known);
    }
    let support = bootstrap.map(|request| SupportOf {
        request,
        keep_networks: args.replicates.keep_networks,
    });
    let maker = ResultMaker::new(request.clone(), problem, truth, Arc::clone(&bound), support)
        .map_err(|why| Failure::input(format!("the result could not be sent: {why}")))?;
    let folder = match &args.out {
        Some(out) => Some(result_folder(args, out, &name, id, opened.is_at_the_top)?),
        None => None,
    };
    let no_picture = match &folder {
        Some(folder) => folder.check(&maker.unlearned())?,
        None => None,
    };
    if let (None, [other, more @ ..]) = (&opened.stored, &opened.others[..]) {
        let more = match more.len() {
            0 => String::new(),
            1 => "; there is one more".to_owned(),
            many => format!("; there are {many} more"),
        };
        messages.note(&format!(
            "{} {other}, and keeps it{more}",
            args.state.display()
        ));
    }
    let state = match opened.stored {
        Some(stored) => State::recovered(plan, stored),
        None => State::new(plan),
    };
    if let Some(best) = state.best() {
        messages.line(&format!(
            "resumes after {} of searching, best {:.3}",
            show_time(state.elapsed(Duration::ZERO)),
            best.score
        ));
    }
    if !state.replicates().is_empty() {
        let done = state.replicates().len();
        messages.line(&format!(
            "{done} of {} replicates are done",
            state.plan().replicates
        ));
    }
    let access = match &args.token_file {
        Some(path) => read_access(path)?,
        None => Access::default(),
    };
    let tls = tls(args)?;
    let web_tls = web_tls(args)?;
    let memory = settings
        .memory
        .unwrap_or_else(|| rlbayes::machine::memory() / 4);
    let maker = Arc::new(maker);
    let writer = ResultWriter {
        maker: Arc::clone(&maker),
        folder: folder.clone(),
        link_refused: AtomicBool::new(false),
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
        let url = format!(
            "{scheme}://{}",
            public_address::for_others(address, host_name)
        );
        if let Some(path) = &args.address_file {
            address_file::open(path, &url).map_err(|error| Failure::file(path, words(&error)))?;
        }
        messages.line(&format!(
            "serving {name} ({}, {}) on {url}",
            counted(about.search.nodes as u64, "variable"),
            counted(about.rows as u64, "row")
        ));
        if let Some(web) = &web
            && let Ok(address) = web.local_addr()
        {
            let address = public_address::for_others(address, host_name);
            let scheme = if args.http_tls { "https" } else { "http" };
            messages.line(&format!("page, metrics and status on {scheme}://{address}"));
        }
        if !address.ip().is_loopback() && args.token_file.is_none() && args.tls_ca.is_none() {
            messages.warning(&format!(
                "everybody who reaches {address} can take part, read the table and stop the search \
                 (use --token-file, or --tls-ca to demand certificates)"
            ));
        }
        messages.line(&format!("workers join by: {}", worker_command(args, &url)));
        if let Some(folder) = &folder {
            messages.line(&folder.told());
        }
        if let Some(no_picture) = &no_picture {
            messages.note(no_picture);
        }
        let mut unobserved = Unobserved;
        let (event_loop, handle, published) = EventLoop::new(
            state,
            Some(opened.journal),
            Blocking::Thread,
            &mut unobserved,
        );
        let proving = prove_beside(request, bound, note, handle.clone(), published.clone());
        let proving = tokio::spawn(proving);
        let service = Service::new(
            handle,
            published.clone(),
            maker,
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
        let web_access = if args.http_token {
            access.clone()
        } else {
            Access::default()
        };
        let web = web.map(|web| {
            let end = ending(servers_end.clone());
            let service = service.clone();
            let (grpc, state) = (address.port(), args.state.clone());
            tokio::spawn(http::serve(
                web, service, web_access, web_tls, grpc, state, end,
            ))
        });
        let grpc = tokio::spawn(server::serve(
            guard::accept(listener, guard::places(memory)),
            service,
            access,
            memory,
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
        let written = match tokio::time::timeout(LAST_FILES, written).await {
            Ok(Ok(written)) => written,
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it took longer than {}", show_time(LAST_FILES))),
        };
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
                    messages.warn(path, words(&error));
                }
                messages.line(&format!("finished: {best}, {}", reason.in_words()));
                match written {
                    Ok(None) => Ok(()),
                    Ok(Some(why)) => Err(Failure::input(format!(
                        "the network has no probabilities, only its structure was written: {why}"
                    ))),
                    Err(why) => Err(Failure::input(format!(
                        "the result could not be written: {why}"
                    ))),
                }
            }
            _ => {
                messages.line("interrupted; the same command continues from here");
                Err(Failure::Interrupted)
            }
        }
    })
}

/// Returns the replicates that follow the search, if some do.
fn replicates(
    args: &CoordinatorArgs,
    table: &Table,
    search: &SearchSettings,
) -> Result<Option<Arc<BootstrapRequest>>, Failure> {
    let Some(replicates) = args.replicates.replicates else {
        return Ok(None);
    };
    if replicates > MAX_CLUSTER_REPLICATES {
        return Err(Failure::input(format!(
            "--replicates: a cluster does at most {MAX_CLUSTER_REPLICATES}, not {replicates}"
        )));
    }
    let search = SearchSettings {
        // As on one machine.
        cooperation: Cooperation::On,
        ..search.clone()
    };
    let settings = args.replicates.settings(search, replicates);
    ReplicateArgs::check(table, &settings).map(|request| Some(Arc::new(request)))
}

/// Lists the files that are read, and those that are written whatever the table is.
fn files(args: &CoordinatorArgs) -> FileRoles {
    let roles = FileRoles::default()
        .reads("the table", &args.data)
        .reads("the true network", args.truth.as_ref())
        .reads("the schema", args.table.schema.as_ref())
        .reads("the token", args.token_file.as_ref())
        .reads("the certificate", args.tls_cert.as_ref())
        .reads("the certificate's key", args.tls_key.as_ref())
        .reads("the authority's certificate", args.tls_ca.as_ref())
        .keeps(Some(&args.state))
        .writes("the address", &args.address_file);
    args.search.reads(roles)
}

/// Makes the folder for results, and checks that none of its files is an input.
fn result_folder(
    args: &CoordinatorArgs,
    out: &Path,
    name: &str,
    id: SearchId,
    is_at_the_top: bool,
) -> Result<ResultFolder, Failure> {
    let folder = ResultFolder::new(out, name, id, is_at_the_top);
    files(args).writes("the result", &folder.files()).check()?;
    folder.open()?;
    Ok(folder)
}

/// Returns the command by which workers join.
fn worker_command(args: &CoordinatorArgs, url: &str) -> String {
    let mut command = format!("rlbayes worker --coordinator {url}");
    if args.token_file.is_some() {
        command += " --token-file TOKEN";
    }
    if args.tls_cert.is_some() {
        command += " --tls-ca CA.pem";
    }
    if args.tls_ca.is_some() {
        command += " --tls-cert CLIENT.pem --tls-key CLIENT.key";
    }
    command
}

async fn listen(address: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| Failure::input(format!("cannot listen on {address}: {error}")))
}

/// Prepares TLS for the HTTP port, if it is wanted.
fn web_tls(args: &CoordinatorArgs) -> Result<Option<Arc<ServerConfig>>, Failure> {
    match (args.http_tls, &args.tls_cert, &args.tls_key) {
        (true, Some(cert), Some(key)) => {
            let tls = http::tls(&read(cert)?, &read(key)?);
            Ok(Some(tls.map_err(|error| Failure::file(cert, error))?))
        }
        _ => Ok(None),
    }
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
