//! `exchange`: how many exchanges a coordinator takes, against an empty gRPC handler with the
//! same message sizes. Server and client are processes of their own, each on one core.

use crate::empty_coordinator::empty_server;
use crate::failure::Failure;
use crate::memory::{MemoryCurve, shown};
use crate::processes::{Process, Program, ProgramArgs, address, coordinator, words};
use crate::report_table::{Grid, OutFolder, heading};
use crate::terminal::print;
use clap::Args;
use rlbayes::units::parse_time;
use rlbayes::{SearchRequest, SearchSettings, Table};
use rlbayes_common::elite::{EliteRow, Structure};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{ChainId, NodeIdx, Seed};
use rlbayes_common::random::Random;
use rlbayes_common::score::LogScore;
use rlbayes_common::search::Evaluator;
use rlbayes_proto::convert::row_to_wire;
use rlbayes_proto::v1::coordinator_client::CoordinatorClient;
use rlbayes_proto::{PROTOCOL_VERSION, v1};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tonic::transport::{Channel, Endpoint};

/// Measures how many exchanges a coordinator takes.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExchangeArgs {
    /// The table whose search the messages are recorded from
    #[arg(default_value = "data/win95pts_n1000_s1.csv.gz")]
    data: PathBuf,
    /// Workers, each with one chain
    #[arg(long, value_name = "N", default_value_t = 1000)]
    workers: usize,
    /// Connections that they share
    #[arg(long, value_name = "N", default_value_t = 50)]
    connections: usize,
    /// How long each measurement takes
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    time: Duration,
    #[command(flatten)]
    program: ProgramArgs,
    /// Folder for report.md
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// (for the benchmark itself) serves an empty handler and writes its address here
    #[arg(long, value_name = "FILE", hide = true)]
    serve_empty: Option<PathBuf>,
    /// (for the benchmark itself) measures a server at this address
    #[arg(long, value_name = "URL", hide = true)]
    client: Option<String>,
    /// (for the benchmark itself) one exchange in four brings a new row
    #[arg(long, hide = true)]
    with_new_rows: bool,
}

const EXAMPLES: &str = "\
Three measurements in one run: an empty handler; a coordinator that gets 4 rows it knows in every
exchange; and one that gets a new row in one exchange of four, stored before it is acknowledged.

Examples:
  cargo run --release -p rlbayes-bench -- exchange --workers 1000
  cargo run --release -p rlbayes-bench -- exchange --time 30s --out exchange";

/// By how many percent a server's memory may grow between the middle and the last third.
const FLAT: f64 = 5.0;
/// How often the memory of the server is sampled.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);
/// Rows of an exchange.
const ROWS: usize = 4;

/// Runs the command.
pub(crate) fn run(args: &ExchangeArgs, interrupt: &AtomicBool) -> Result<(), Failure> {
    if let Some(path) = &args.serve_empty {
        return empty_server(path);
    }
    if let Some(url) = &args.client {
        return client(args, url);
    }
    let program = args.program.program()?;
    let out = OutFolder::new(args.out.as_deref())?;
    let mut grid = Grid::new(&[
        "server",
        "exchanges/s",
        "of the empty handler",
        "in flight / rate",
        "median",
        "p99",
        "server's memory at most",
        "middle third",
        "last third",
        "flat",
    ]);
    let mut empty = None;
    for (name, kind) in [
        ("empty handler", Kind::Empty),
        ("4 known rows", Kind::Known),
        ("1 new row in 4 exchanges", Kind::New),
    ] {
        if interrupt.load(Relaxed) {
            return Err(Failure::Interrupted);
        }
        let measured = measure(args, &program, kind)?;
        let rate = measured["rate"].as_f64().unwrap_or(0.0);
        let of_empty = rate / *empty.get_or_insert(rate);
        let figure = |name: &str| measured[name].as_f64().unwrap_or(0.0);
        let bytes = |name: &str| shown(measured[name].as_u64().unwrap_or(0));
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let queue = 1e3 * args.workers as f64 / rate;
        let growth = figure("memory_growth");
        let is_flat = growth <= FLAT;
        grid.row([
            name.to_owned(),
            format!("{rate:.0}"),
            format!("{:.0} %", 100.0 * of_empty),
            format!("{queue:.0} ms"),
            format!("{:.0} ms", figure("median") / 1e3),
            format!("{:.0} ms", figure("p99") / 1e3),
            bytes("memory_most"),
            bytes("memory_middle"),
            bytes("memory_last"),
            format!("{} ({growth:+.1} %)", if is_flat { "yes" } else { "no" }),
        ]);
    }
    let text = format!(
        "{}\nEach of the {} workers sends its next exchange as soon as the last is answered: that many are in \
         flight at any time, and wait in the server's queue for about in flight / rate, however fast it is. \
         Memory is flat if the median of the last third is at most {FLAT} % above that of the middle third.\n",
        grid.markdown(),
        args.workers
    );
    print(&text)?;
    out.write("report.md", &(heading("Exchanges per second") + &text))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Empty,
    Known,
    New,
}

fn measure(
    args: &ExchangeArgs,
    program: &Program,
    kind: Kind,
) -> Result<serde_json::Value, Failure> {
    let this = Program::this()?;
    let place = tempfile::tempdir().map_err(|error| Failure::input(error.to_string()))?;
    let path = |name: &str| place.path().join(name);
    let (server, url) = match kind {
        Kind::Empty => {
            let written = path("address");
            let serve = format!("--serve-empty={}", written.display());
            let server = Process::start(&this, &words(&["exchange", &serve]), Some(0))?;
            (server, address(&written)?)
        }
        Kind::Known | Kind::New => {
            let flags = [
                ("--time", "24h".to_owned()),
                ("--chains", args.workers.to_string()),
                ("--lease", "1h".to_owned()),
            ];
            coordinator(program, place.path(), &args.data, &flags, Some(0))?
        }
    };
    let mut client = words(&[
        "exchange",
        &args.data.display().to_string(),
        "--client",
        &url,
    ]);
    for (flag, value) in [
        ("--workers", args.workers.to_string()),
        ("--connections", args.connections.to_string()),
        ("--time", format!("{}ms", args.time.as_millis())),
    ] {
        client.push(flag.to_owned());
        client.push(value);
    }
    if kind == Kind::New {
        client.push("--with-new-rows".to_owned());
    }
    client.push(format!("--out={}", place.path().display()));
    std::fs::write(path("server"), server.id().to_string())
        .map_err(|error| Failure::input(error.to_string()))?;
    let client = Process::start(&this, &client, Some(1))?;
    let printed = client.wait(|| true)?.unwrap_or_default();
    serde_json::from_str(&printed).map_err(|error| Failure::Bug(format!("{error}: {printed}")))
}

/// What one simulated worker sends.
struct Sender {
    worker: u64,
    incarnation: u64,
    chain: u32,
    sequence: u64,
    known: Vec<v1::Row>,
    /// Taken from the end: ever better rows, so that each changes the pool.
    new_rows: Vec<v1::Row>,
}

fn client(args: &ExchangeArgs, url: &str) -> Result<(), Failure> {
    let table = Table::read(&args.data).map_err(Failure::input)?;
    let settings = SearchSettings {
        threads: Some(1),
        memory: Some(1 << 30),
        ..SearchSettings::default()
    };
    let request = SearchRequest::new(&table, &settings).map_err(Failure::input)?;
    let rows = record_rows(args, &request);
    let server: Option<u32> = args.out.as_ref().and_then(|folder| {
        std::fs::read_to_string(folder.join("server"))
            .ok()?
            .parse()
            .ok()
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::input(error.to_string()))?;
    let result = runtime.block_on(async {
        let mut channels = Vec::new();
        for _ in 0..args.connections.max(1) {
            let endpoint = Endpoint::from_shared(url.to_owned()).map_err(Failure::input)?;
            let channel = endpoint.tcp_nodelay(true).connect().await;
            channels.push(channel.map_err(|error| Failure::input(format!("{url}: {error}")))?);
        }
        let senders = join_all(args, &channels, rows).await?;
        let end = Instant::now() + args.time;
        let watched = tokio::spawn(async move {
            let mut memory = MemoryCurve::default();
            while server.is_some_and(|server| Instant::now() < end && memory.sample(server)) {
                tokio::time::sleep(SAMPLE_EVERY).await;
            }
            memory
        });
        let sent = Arc::new(AtomicUsize::new(0));
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for (at, (id, sender)) in senders.into_iter().enumerate() {
            let client = CoordinatorClient::new(channels[at % channels.len()].clone());
            let sent = Arc::clone(&sent);
            tasks.push(tokio::spawn(send(
                client,
                id,
                sender,
                args.with_new_rows,
                end,
                sent,
            )));
        }
        let mut latencies = Vec::new();
        for task in tasks {
            let done = task
                .await
                .map_err(|error| Failure::Bug(error.to_string()))?;
            latencies.extend(done?);
        }
        let seconds = begun.elapsed().as_secs_f64();
        let memory = watched
            .await
            .map_err(|error| Failure::Bug(error.to_string()))?;
        let (memory_middle, memory_last) = memory.thirds();
        latencies.sort_unstable();
        let at = |share: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "an index"
            )]
            let index = (latencies.len() as f64 * share) as usize;
            latencies
                .get(index.min(latencies.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0)
        };
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let rate = latencies.len() as f64 / seconds;
        Ok(json!({
            "rate": rate,
            "median": at(0.5),
            "p99": at(0.99),
            "memory_most": memory.most(),
            "memory_middle": memory_middle,
            "memory_last": memory_last,
            "memory_growth": memory.growth(),
        }))
    })?;
    print(&format!("{result:#}\n"))
}

/// Joins all workers; an empty handler answers without a search.
async fn join_all(
    args: &ExchangeArgs,
    channels: &[Channel],
    rows: Rows,
) -> Result<Vec<(Vec<u8>, Sender)>, Failure> {
    let mut senders = Vec::new();
    for worker in 0..args.workers {
        let mut client = CoordinatorClient::new(channels[worker % channels.len()].clone());
        let incarnation = worker as u64 + 1;
        let reply = client
            .join(v1::JoinRequest {
                protocol_version: PROTOCOL_VERSION,
                program_version: "bench".into(),
                incarnation,
                replaces: 0,
                host: "bench".into(),
                threads: 1,
                memory_bytes: 0,
                chains: vec![],
                search_id: Default::default(),
            })
            .await
            .map_err(|status| Failure::input(status.to_string()))?
            .into_inner();
        let id = reply
            .search
            .map(|search| search.id.to_vec())
            .unwrap_or_default();
        let known = (0..ROWS).map(|at| rows.known[(worker + at) % rows.known.len()].clone());
        let new_rows = rows.new_rows.get(worker).cloned().unwrap_or_default();
        senders.push((
            id,
            Sender {
                worker: reply.worker,
                incarnation,
                chain: u32::try_from(worker).unwrap_or(0),
                sequence: 0,
                known: known.collect(),
                new_rows,
            },
        ));
    }
    Ok(senders)
}

/// Sends one exchange after the other, each once the last is answered.
async fn send(
    mut client: CoordinatorClient<Channel>,
    search: Vec<u8>,
    mut sender: Sender,
    with_new_rows: bool,
    end: Instant,
    sent: Arc<AtomicUsize>,
) -> Result<Vec<u64>, Failure> {
    let mut latencies = Vec::new();
    while Instant::now() < end {
        let mut rows = sender.known.clone();
        if with_new_rows && sent.fetch_add(1, Relaxed).is_multiple_of(4) {
            rows[0] = sender.new_rows.pop().ok_or_else(|| {
                Failure::input("there are no new rows left to send: give a shorter --time")
            })?;
        }
        sender.sequence += 1;
        let request = v1::ExchangeRequest {
            protocol_version: PROTOCOL_VERSION,
            search_id: search.clone().into(),
            worker: sender.worker,
            incarnation: sender.incarnation,
            reports: vec![v1::ChainReport {
                chain: sender.chain,
                sequence: sender.sequence,
                finds: rows
                    .into_iter()
                    .map(|row| v1::Find {
                        found: v1::Found::Best.into(),
                        row: Some(row),
                    })
                    .collect(),
                counters: Some(v1::Counters {
                    iterations: sender.sequence,
                    evaluations: 100 * sender.sequence,
                    ..Default::default()
                }),
                wants_seeds: sender.sequence.is_multiple_of(16),
                status: v1::ChainStatus::Running.into(),
                snapshot: Default::default(),
            }],
            statistics: None,
            bases: Vec::new(),
        };
        let begun = Instant::now();
        client
            .exchange(request)
            .await
            .map_err(|status| Failure::input(status.to_string()))?;
        latencies.push(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    Ok(latencies)
}

/// What workers report.
struct Rows {
    /// Records of a search.
    known: Vec<v1::Row>,
    /// For each worker more rows than it will send, the best first: they are sent from the end.
    new_rows: Vec<Vec<v1::Row>>,
}

/// Records the rows that a short search reports, and makes new ones of its best by dropping edges:
/// real sizes, real scores, and as many as are wanted.
fn record_rows(args: &ExchangeArgs, request: &SearchRequest) -> Rows {
    const STEPS: u64 = 3000;
    // No machine has come near 16 000 exchanges per second, a quarter of them with a new row.
    let most_rows = 4000 * usize::try_from(args.time.as_secs() + 1).unwrap_or(usize::MAX);
    let rows_of_each = most_rows.div_ceil(args.workers.max(1)).max(40);
    let problem = request.problem();
    let nodes = problem.nodes();
    let mut chain = request.algorithm().start(&problem, ChainId(0), 1, Seed(1));
    let mut known = Vec::new();
    for _ in 0..STEPS {
        chain.step();
        let finds = chain.core_mut().take_finds();
        known.extend(finds.iter().map(|(_, row)| row_to_wire(row)));
    }
    let best = chain.core().best().map(|row| row.structure.clone());
    let best = best.and_then(|structure| structure.to_dag().ok());
    let best = best.unwrap_or_else(|| Dag::empty(nodes));
    let mut evaluator = Evaluator::new(problem);
    let mut random = Random::new(Seed(7));
    let mut drop_edges = |count: usize| -> v1::Row {
        let mut edges: Vec<(NodeIdx, NodeIdx)> = Structure::of(&best).edges().collect();
        for _ in 0..count.min(edges.len()) {
            let at = random.below(edges.len());
            edges.swap_remove(at);
        }
        let dag = Dag::from_edges(nodes, edges).unwrap_or_else(|_| Dag::empty(nodes));
        let score = evaluator.structure(&dag).unwrap_or(LogScore::IMPOSSIBLE);
        row_to_wire(&EliteRow {
            structure: Structure::of(&dag),
            score,
        })
    };
    let new_rows = (0..if args.with_new_rows { args.workers } else { 0 })
        .map(|_| {
            let rows = (0..rows_of_each).map(|at| drop_edges(2 + at % 4));
            let mut rows: Vec<v1::Row> = rows.collect();
            rows.sort_by(|a, b| b.score.total_cmp(&a.score));
            rows
        })
        .collect();
    Rows { known, new_rows }
}
