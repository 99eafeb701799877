//! `rlbayes worker`: fetches a search's table from its coordinator and runs chains for it.

use super::address_file::{self, Address};
use super::connect::ConnectArgs;
use super::coordinator::WhenDone;
use super::shutdown::Shutdown;
use super::{block_on, drain, heartbeat_file};
use crate::failure::Failure;
use crate::table_args::TableArgs;
use crate::target::words;
use crate::terminal::Messages;
use crate::units::{parse_size, parse_time};
use clap::Args;
use rlbayes::chains::{Belongs, ChainFolder, OtherVersion};
use rlbayes::memory_layout::MemoryLayout;
use rlbayes::{BootstrapRequest, SearchRequest, Table, machine};
use rlbayes_client::{WebServer, web_server};
use rlbayes_common::exchange::{Pace, SearchDescription, Snapshot};
use rlbayes_common::files::{make_private_folder, sweep, write_private};
use rlbayes_common::ids::{ChainId, Incarnation};
use rlbayes_common::search::SavedChain;
use rlbayes_proto::convert::{MOST_HOST_BYTES, MOST_THREADS};
use rlbayes_worker::data_store::DataStore;
use rlbayes_worker::folder_lock::FolderLock;
use rlbayes_worker::grpc_link::GrpcLink;
use rlbayes_worker::host::{Opened, WorkerHost};
use rlbayes_worker::link::{Joined, Link};
use rlbayes_worker::replicate_chains::ReplicateChains;
use rlbayes_worker::session::{self, End, SessionError, SessionSettings};
use rlbayes_worker::state::{Held, OpenError};
use rlbayes_worker::thread_chains::ThreadChains;
use rlbayes_worker::worker_chains::WorkerChains;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Runs chains for a coordinator.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct WorkerArgs {
    /// The coordinator's address, such as http://host:7400
    #[arg(long, value_name = "URL", required_unless_present = "coordinator_file")]
    coordinator: Option<String>,
    /// File with the coordinator's address; the worker waits until it is there
    #[arg(long, value_name = "FILE", conflicts_with = "coordinator")]
    coordinator_file: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
    /// Folder that keeps the table and the chains: the same command resumes them
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A copy of the coordinator's table, so that it need not be fetched
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Limit on the memory of table, chains and caches [default: a quarter of the machine's or the
    /// container's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    /// How long to keep trying to reach the coordinator [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    give_up_after: Option<Duration>,
    /// How often chains are saved to the state folder
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    checkpoint_every: Duration,
    /// What to do when the search is over: exit, or wait for the next one
    #[arg(long, value_enum, ignore_case = true, default_value_t = WhenDone::Exit)]
    when_done: WhenDone,
    /// The name that the status shows [default: the host's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(flatten)]
    table: TableArgs,
}

const EXAMPLES: &str = "\
Examples:
  rlbayes worker --coordinator http://10.0.0.5:7400 --token-file token
  rlbayes worker --coordinator http://localhost:7400 --threads 2 --state worker1
  rlbayes worker --coordinator-file shared/address --give-up-after 10m

A worker keeps searching while the coordinator is away, and reports when it is back. SIGTERM hands
its chains over and exits with 0.";

/// How long a worker waits before it joins again for what follows a search.
const NEXT_WORK: Duration = Duration::from_millis(200);
/// How often a waiting worker looks for the next search.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Runs the command.
pub(crate) fn worker(args: &WorkerArgs) -> Result<(), Failure> {
    let threads = args.threads.unwrap_or_else(machine::cores);
    if threads == 0 {
        return Err(Failure::input("--threads must be at least 1"));
    }
    if threads > MOST_THREADS {
        let message = format!("--threads {threads}: a worker has at most {MOST_THREADS}");
        return Err(Failure::input(message));
    }
    let name = args.name.clone().unwrap_or_else(host_name);
    if name.len() > MOST_HOST_BYTES {
        let message = format!(
            "--name has {} bytes; a worker's name has at most {MOST_HOST_BYTES}",
            name.len()
        );
        return Err(Failure::input(message));
    }
    let given = match &args.data {
        Some(path) => {
            let messages = Messages::new(false);
            let table = args
                .table
                .load(path, |warning| messages.warn(path, warning))?;
            Some((path.clone(), table))
        }
        None => None,
    };
    let state = args.state.as_deref();
    if let Some(state) = state
        && state.exists()
        && !state.is_dir()
    {
        let what = "is a file (expected a folder for the worker's state)";
        return Err(Failure::file(state, what));
    }
    let refused = |error: std::io::Error| {
        let what = words(&error);
        Failure::input(state.map_or(what.clone(), |path| format!("{}: {what}", path.display())))
    };
    let _lock = state.map(|state| own(state, refused)).transpose()?;
    let data = DataStore::open(state).map_err(refused)?;
    let folder = state.map(|state| ChainFolder::open(&state.join("chains")));
    let folder = folder.transpose().map_err(refused)?;
    let (incarnation, replaces) = incarnations(state);
    let token = args.connect.token()?;
    let memory = args.memory.unwrap_or_else(|| machine::memory() / 4);
    let settings = SessionSettings {
        incarnation,
        replaces,
        host: name,
        threads,
        memory: Some(memory as u64),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        give_up_after: args.give_up_after,
        checkpoint_every: args.checkpoint_every,
    };
    let mut host = Host {
        threads,
        memory,
        given,
        data,
        folder,
        refused: false,
        end_is_news: true,
        has_joined: Arc::default(),
    };
    let ended = block_on(2, async {
        let shutdown = Shutdown::on_signals_or(drain_requested(args))?;
        if let Some(state) = args.state.clone() {
            tokio::spawn(async move { heartbeat_file::beat(&state).await });
        }
        let Some(url) = address(args, shutdown.clone()).await? else {
            return Ok(());
        };
        let link = GrpcLink::new(args.connect.channel(&url)?, token);
        let has_joined = Arc::clone(&host.has_joined);
        loop {
            let end = tokio::select! {
                biased;
                sentence = wrong_port(&url, &has_joined) => return Err(Failure::Input(sentence)),
                end = session::run(&settings, &link, &mut host, shutdown.clone().requested()) => {
                    end.map_err(|error| failure(&url, error))?
                }
            };
            match end {
                End::Drained => {
                    tracing::info!("drained");
                    return Ok(());
                }
                End::MoreWork => {
                    host.forget();
                    tokio::time::sleep(NEXT_WORK).await;
                }
                End::Finished(reason) => {
                    if std::mem::take(&mut host.end_is_news) {
                        tracing::info!(%reason, "the search is over");
                    }
                    host.forget();
                    if args.when_done == WhenDone::Exit {
                        return Ok(());
                    }
                    tokio::select! {
                        biased;
                        () = shutdown.clone().requested() => return Ok(()),
                        () = tokio::time::sleep(LOOK_AGAIN) => {}
                    }
                }
            }
        }
    });
    if let Some(state) = state {
        heartbeat_file::end(state);
    }
    ended
}

/// Makes a worker's state folder, takes it for this process, and removes what a kill left
/// half-written.
fn own(state: &Path, refused: impl Fn(std::io::Error) -> Failure) -> Result<FolderLock, Failure> {
    make_private_folder(state).map_err(&refused)?;
    let Some(lock) = FolderLock::take(state).map_err(&refused)? else {
        let what = "is in use by another worker (expected a folder of its own for each)";
        return Err(Failure::file(state, what));
    };
    sweep(state);
    Ok(lock)
}

/// Waits for the news that the address is a coordinator's HTTP port, which will never be a worker's:
/// until the worker has joined, an address that does not answer may be a wrong one.
async fn wrong_port(url: &str, has_joined: &AtomicBool) -> String {
    loop {
        tokio::time::sleep(LOOK_AGAIN / 2).await;
        if has_joined.load(Relaxed) {
            return std::future::pending().await;
        }
        if let Some(server @ WebServer::Coordinator { .. }) = web_server(url).await {
            return format!("{url}: {server}");
        }
    }
}

/// Waits for the coordinator's address; none if the worker is to end before.
async fn address(args: &WorkerArgs, shutdown: Shutdown) -> Result<Option<String>, Failure> {
    let Some(path) = &args.coordinator_file else {
        return Ok(args.coordinator.clone());
    };
    let begun = tokio::time::Instant::now();
    while !shutdown.is_requested() {
        if let Some(Address::At(url)) = address_file::read(path) {
            return Ok(Some(url));
        }
        if args
            .give_up_after
            .is_some_and(|limit| begun.elapsed() >= limit)
        {
            let message = format!("{}: no address appeared", path.display());
            return Err(Failure::OutOfReach(message));
        }
        tokio::time::sleep(address_file::LOOK_EVERY).await;
    }
    Ok(None)
}

/// Waits until somebody asks for the end by a file: `rlbayes drain`, or a coordinator that has ended
/// with its search.
fn drain_requested(args: &WorkerArgs) -> impl Future<Output = ()> + Send + 'static {
    let state = args.state.clone();
    let exits = args.when_done == WhenDone::Exit;
    let address = args.coordinator_file.clone().filter(|_| exits);
    async move {
        let drain = async {
            match &state {
                Some(state) => drain::requested(state).await,
                None => std::future::pending().await,
            }
        };
        let over = async {
            match &address {
                Some(path) => address_file::over(path).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = drain => {}
            () = over => tracing::info!("the search is over"),
        }
    }
}

fn failure(url: &str, error: SessionError) -> Failure {
    let message = format!("{url}: {error}");
    match error {
        SessionError::GaveUp(_) => Failure::OutOfReach(message),
        SessionError::Protocol(_) => Failure::Protocol(message),
        SessionError::Refused(_) | SessionError::Host(_) | SessionError::State(..) => {
            Failure::Input(message)
        }
    }
}

/// Draws this process's number, and finds that of the worker's last one. A disk that refuses is not
/// a reason to end: the next process then can't name this one, and its chains wait for its lease.
fn incarnations(state: Option<&Path>) -> (Incarnation, Option<Incarnation>) {
    // The standard library seeds its hashers from the operating system.
    let drawn = std::hash::RandomState::new().build_hasher().finish();
    let incarnation = Incarnation(drawn | 1);
    let Some(state) = state else {
        return (incarnation, None);
    };
    let path = state.join("incarnation");
    let before = std::fs::read_to_string(&path).ok();
    let before = before.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    if let Err(error) = write_private(&path, format!("{:016x}\n", incarnation.0).as_bytes()) {
        tracing::warn!(%error, "the worker's number cannot be saved; the search continues");
    }
    (incarnation, before.filter(|&n| n != 0).map(Incarnation))
}

/// Returns the name of this machine.
pub(super) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = name.map(|name| name.trim().chars().take(64).collect::<String>());
    name.ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "worker".into())
}

/// Chains on the threads of this machine, for whatever search the coordinator has.
struct Host {
    threads: u32,
    memory: usize,
    given: Option<(PathBuf, Table)>,
    data: DataStore,
    folder: Option<ChainFolder>,
    /// Whether the last write failed: logged once, not at every checkpoint.
    refused: bool,
    /// Whether nothing was logged about the search's end: a waiting worker is sent it again and again.
    end_is_news: bool,
    /// Whether a coordinator has answered.
    has_joined: Arc<AtomicBool>,
}

impl Host {
    /// The search is over: its chains are of no use any more.
    fn forget(&mut self) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.clear()
        {
            tracing::warn!(%error, "cannot delete the chains of the finished search");
        }
    }

    /// Returns for how many chains there should be room: the worker may be given more than it has
    /// now, such as those of a worker that is lost, but never more than fit.
    fn room(&self, table: &Table, joined: &Joined) -> u32 {
        let search = &joined.search;
        let layout = MemoryLayout::new(table.data(), search.score, &search.spec, self.memory);
        let usual = match search.pace {
            Pace::Free => search.ladder.saturating_mul(self.threads),
            Pace::Lockstep => search.ladder,
        };
        let given = u32::try_from(joined.chains.len()).unwrap_or(u32::MAX);
        let fitting = layout.chain_memory().most_chains(self.memory as u64);
        usual.min(fitting).max(given).max(1)
    }

    /// Returns the search's table.
    async fn table(
        &self,
        link: &impl Link,
        search: &SearchDescription,
    ) -> Result<Table, OpenError> {
        if let Some((path, table)) = &self.given {
            if table.data().fingerprint() == search.data_fingerprint {
                return Ok(table.clone());
            }
            return Err(OpenError::Host(format!(
                "{}: this is not the coordinator's table (expected the same rows, read with the same flags)",
                path.display()
            )));
        }
        let warn = |warning| tracing::warn!("{warning}");
        if let Some(table) = self.data.find(search, warn) {
            return Ok(Table::from_data("", table));
        }
        let fetched = self.data.fetch(link, search).await?;
        Ok(Table::from_data("", fetched))
    }

    /// Reads the chains that a state folder has of this search; those of another are dropped.
    fn open_folder(
        &self,
        search: &SearchDescription,
    ) -> Result<BTreeMap<ChainId, SavedChain>, OtherVersion> {
        let mut chains = BTreeMap::new();
        let Some(folder) = &self.folder else {
            return Ok(chains);
        };
        let settings = [("search".to_owned(), search.id.to_string())];
        let warn = |warning| tracing::warn!("{warning}");
        match folder.belongs_to(&settings) {
            Belongs::Here if search.pace == Pace::Free => {
                chains = folder.read(search.nodes, &search.spec, warn)?;
            }
            Belongs::Here | Belongs::Elsewhere(_) => {
                if let Err(error) = folder.clear() {
                    tracing::warn!(%error, "cannot delete the chains of another search");
                }
            }
            Belongs::Unknown => {
                folder.set_aside("it is not known which search it belongs to", warn)
            }
        }
        if let Err(error) = folder.begin(&settings) {
            tracing::warn!(%error, "the state cannot be saved; the search continues");
        }
        Ok(chains)
    }
}

impl WorkerHost for Host {
    type Chains = WorkerChains;

    async fn open(
        &mut self,
        link: &impl Link,
        joined: &Joined,
    ) -> Result<Opened<WorkerChains>, OpenError> {
        self.end_is_news = true;
        self.has_joined.store(true, Relaxed);
        let search = &joined.search;
        let host = |what: &dyn std::fmt::Display| OpenError::Host(what.to_string());
        let table = self.table(link, search).await?;
        if let Some(replicates) = &search.replicates {
            let request =
                BootstrapRequest::assigned(&table, search, replicates, self.threads, self.memory)
                    .map_err(|error| host(&error))?;
            let chains = ReplicateChains::start(request)
                .map_err(|error| host(&format!("cannot start a thread: {error}")))?;
            tracing::info!(worker = %joined.welcome.worker, search = %search.id, "joined for replicates");
            return Ok(Opened {
                chains: WorkerChains::Replicates(chains),
                checkpoints: BTreeMap::new(),
            });
        }
        let chains = self.room(&table, joined);
        let request = SearchRequest::assigned(&table, search, chains, self.threads, self.memory)
            .map_err(|error| host(&error))?;
        let maker = request.chain_maker(request.problem());
        let checkpoints = self.open_folder(search).map_err(|error| host(&error))?;
        let chains = ThreadChains::start(self.threads, maker, request.slices())
            .map_err(|error| host(&format!("cannot start a thread: {error}")))?;
        tracing::info!(
            worker = %joined.welcome.worker,
            search = %search.id,
            chains = joined.chains.len(),
            "joined"
        );
        Ok(Opened {
            chains: WorkerChains::Search(Box::new(chains)),
            checkpoints,
        })
    }

    fn held(&self) -> Held {
        let Some(folder) = &self.folder else {
            return Held::default();
        };
        let noted = folder.noted().unwrap_or_default();
        let search = noted
            .iter()
            .find(|(name, _)| name == "search")
            .and_then(|(_, id)| id.parse().ok());
        Held {
            chains: folder.ids(),
            search,
        }
    }

    fn keep_checkpoint(&mut self, chain: ChainId, snapshot: &Snapshot) {
        if let Some(folder) = &self.folder {
            folder.keep(chain, snapshot, &mut self.refused);
        }
    }

    fn drop_checkpoint(&mut self, chain: ChainId) {
        if let Some(folder) = &self.folder
            && let Err(error) = folder.remove(chain)
        {
            tracing::warn!(%chain, %error, "cannot delete the checkpoint of a chain that another worker runs");
        }
    }
}
