//! The hosts of a simulated cluster: a coordinator, a few hosts with many workers each, and a
//! person who asks for the status.

use crate::disk::Disk;
use crate::laws::{Witness, WitnessedLink};
use crate::search::Search;
use crate::simulated_chains::{Kept, SimulatedHost};
use rlbayes::coordination::{State, View};
use rlbayes::journal::{Journal, JournalError};
use rlbayes_common::ids::{Incarnation, Seed};
use rlbayes_common::random::Random;
use rlbayes_coordinator::access::Access;
use rlbayes_coordinator::blocking::Blocking;
use rlbayes_coordinator::connections::{Connections, Limits};
use rlbayes_coordinator::event_loop::{EventLoop, Until};
use rlbayes_coordinator::guard::{Guarded, MAX_CONNECTIONS};
use rlbayes_coordinator::server;
use rlbayes_coordinator::service::{MakeResult, SearchResult, Service};
use rlbayes_coordinator::status::About;
use rlbayes_coordinator::validator::Validator;
use rlbayes_proto::v1;
use rlbayes_tests::history::{Figures, Outcome};
use rlbayes_worker::grpc_link::{GrpcLink, WithToken, client, with_limits};
use rlbayes_worker::session::{self, End, SessionSettings};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint, Uri};
use turmoil::net::{TcpListener, TcpStream};

pub(crate) const COORDINATOR: &str = "coordinator";
const PORT: u16 = 7400;
/// How soon a process that could not start is started again.
const START_AGAIN: Duration = Duration::from_millis(500);

/// Runs the coordinator of a search for as long as its host lives.
pub(crate) async fn coordinator(
    search: Rc<Search>,
    disk: Disk,
    witness: Witness,
) -> turmoil::Result {
    let (state, journal) = loop {
        match open(&search, &disk) {
            Ok(opened) => break opened,
            Err(error) => {
                if disk.is_well() {
                    witness.broken(format!("the journal cannot be opened: {error}"));
                }
                sleep(START_AGAIN).await;
            }
        }
    };
    witness.coordinator_started();
    witness.holds("a coordinator that has started", &state);
    let mut observer = witness.clone();
    let (event_loop, handle, published) =
        EventLoop::new(state, Some(journal), Blocking::Inline, &mut observer);
    let mut views = published.clone();
    let shown_to = witness.clone();
    spawn_local(async move {
        loop {
            let view = Arc::clone(&views.borrow_and_update().view);
            let figures = Outcome::Shown(Box::new(Figures::of_view(&view)));
            shown_to.history().note("a view", figures);
            if view.stopped_by.is_some() {
                shown_to.shown_stop();
            }
            if views.changed().await.is_err() {
                return;
            }
        }
    });
    let about = About {
        search: search.description.clone(),
        data_name: "simulated".to_owned(),
        rows: search.rows,
        bound: Arc::default(),
        replicates: search.replicates.clone(),
    };
    let validator = Validator::new(search.problem());
    let service = Service::new(
        handle,
        published,
        Arc::new(NoResults),
        about,
        search.data.clone(),
        validator,
        Blocking::Inline,
    );
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    spawn_local(server::serve(
        accept(listener),
        service,
        Access::default(),
        MEMORY,
        None,
        std::future::pending(),
    ));
    event_loop
        .run(Until::Shutdown, std::future::pending())
        .await;
    Ok(())
}

/// Nobody asks for results here.
#[derive(Debug)]
struct NoResults;

impl MakeResult for NoResults {
    fn result(&self, _: &View) -> Result<Option<SearchResult>, String> {
        Ok(None)
    }
}

fn open(search: &Search, disk: &Disk) -> Result<(State, Journal), JournalError> {
    let disk = disk.clone();
    let mut journal = Journal::with(move || disk.open())?;
    let nodes = search.description.nodes;
    let loaded = journal.load(&search.settings, nodes, search.plan.keying)?;
    let state = match loaded.and_then(|loaded| loaded.stored) {
        Some(stored) => State::recovered(search.plan, stored),
        None => {
            journal.begin(&search.settings)?;
            State::new(search.plan)
        }
    };
    Ok((state, journal))
}

/// Memory of the coordinator.
const MEMORY: usize = 256 << 20;

/// Accepts guarded connections, as the coordinator's own `accept` does on real sockets.
fn accept(listener: TcpListener) -> ReceiverStream<io::Result<Guarded<TcpStream>>> {
    let connections = Connections::new(Limits::of(MAX_CONNECTIONS));
    let (sender, receiver) = mpsc::channel(1);
    spawn_local(async move {
        loop {
            let Ok((stream, address)) = listener.accept().await else {
                continue;
            };
            let place = connections.enter(Some(address.ip()));
            if sender.send(Ok(Guarded::new(stream, place))).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(receiver)
}

pub(crate) fn channel() -> Channel {
    let endpoint = with_limits(Endpoint::from_static("http://coordinator:7400"));
    endpoint.connect_with_connector_lazy(tower::service_fn(|_: Uri| async {
        let stream = TcpStream::connect((COORDINATOR, PORT)).await?;
        Ok::<_, io::Error>(hyper_util::rt::TokioIo::new(stream))
    }))
}

/// The workers of one host, and what they have on its disk.
pub(crate) struct WorkerHost {
    workers: BTreeMap<usize, Rc<RefCell<Kept>>>,
    seed: Seed,
    witness: Witness,
}

impl WorkerHost {
    pub(crate) fn new(workers: impl Iterator<Item = usize>, seed: Seed, witness: Witness) -> Self {
        Self {
            workers: workers.map(|worker| (worker, Rc::default())).collect(),
            seed,
            witness,
        }
    }

    /// Runs all workers until each of them knows that the search is over.
    pub(crate) async fn run(self: Rc<Self>) -> turmoil::Result {
        let problem = Rc::default();
        let mut running = Vec::new();
        for (&worker, kept) in &self.workers {
            let one = Rc::clone(&self).worker(worker, Rc::clone(kept), Rc::clone(&problem));
            running.push(spawn_local(one));
        }
        for worker in running {
            worker.await?;
        }
        // The host stays, so that it can crash.
        std::future::pending().await
    }

    async fn worker(
        self: Rc<Self>,
        worker: usize,
        kept: Rc<RefCell<Kept>>,
        problem: Rc<RefCell<Option<Arc<rlbayes_common::search::Problem>>>>,
    ) {
        let witness = &self.witness;
        let link = WitnessedLink {
            link: GrpcLink::new(channel(), WithToken::default()),
            witness: witness.clone(),
        };
        // Every second worker has a state folder, every third comes and goes.
        let keeps = worker.is_multiple_of(2);
        let comes_and_goes = worker.is_multiple_of(3);
        witness.session_started(worker);
        loop {
            let start = {
                let mut kept = kept.borrow_mut();
                kept.starts += 1;
                kept.starts
            };
            let incarnation =
                |start: u64| Incarnation(self.seed.mix(worker as u64).mix(start).0 | 1);
            let mut random = Random::new(Seed(incarnation(start).0));
            sleep(Duration::from_millis(random.below(1500) as u64)).await;
            let settings = SessionSettings {
                incarnation: incarnation(start),
                replaces: (keeps && start > 1).then(|| incarnation(start - 1)),
                host: format!("worker-{worker}"),
                threads: 1,
                memory: None,
                program_version: "simulated".to_owned(),
                give_up_after: None,
                checkpoint_every: Duration::from_secs(5),
            };
            let mut host = SimulatedHost {
                kept: Rc::clone(&kept),
                keeps,
                problem: Rc::clone(&problem),
                draws: Seed(random.bits()),
            };
            let stay = Duration::from_millis(2_000 + random.below(20_000) as u64);
            let shutdown = async move {
                match comes_and_goes {
                    true => sleep(stay).await,
                    false => std::future::pending().await,
                }
            };
            match session::run(&settings, &link, &mut host, shutdown).await {
                // It joins again.
                Ok(End::Drained | End::MoreWork) => {}
                Ok(End::Finished(reason)) => return witness.session_ended(worker, reason),
                Err(error) => {
                    return witness.broken(format!("worker {worker} ended with: {error}"));
                }
            }
        }
    }
}

/// Asks for the status for ever, every so often. At a time, if one is given, the person stops the
/// search.
pub(crate) async fn person(
    every: Duration,
    stop_at: Option<Duration>,
    witness: Witness,
) -> turmoil::Result {
    let mut client = client(channel(), WithToken::default());
    let begun = Instant::now();
    let mut stop_at = stop_at;
    let history = witness.history();
    loop {
        sleep(every).await;
        if stop_at.is_some_and(|at| begun.elapsed() >= at) {
            let mut request = tonic::Request::new(v1::StopRequest::default());
            request.set_timeout(Duration::from_secs(3));
            let asked = history.ask("a person who stops the search");
            if client.stop(request).await.is_ok() {
                stop_at = None;
                asked.answered(Outcome::Stopped);
            }
        }
        let mut request = tonic::Request::new(v1::StatusRequest::default());
        request.set_timeout(Duration::from_secs(3));
        let asked = history.ask("a status");
        if let Ok(status) = client.status(request).await {
            let figures = Figures::of_status(status.get_ref());
            asked.answered(Outcome::Shown(Box::new(figures)));
        }
    }
}
