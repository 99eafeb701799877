use super::*;
use redb::backends::InMemoryBackend;
use redb::{Database, StorageBackend};
use rlbayes::coordination::{ChainCount, ChainMemory, Cooperation, SearchPlan, Snapshots};
use rlbayes_common::elite::Keying;
use rlbayes_common::exchange::{ChainReport, ChainStatus, WorkerStatistics};
use rlbayes_common::ids::{Incarnation, Seed};
use rlbayes_common::search::Budget;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A disk that can be told to refuse.
#[derive(Debug)]
struct Refusing {
    disk: InMemoryBackend,
    refuses: Arc<AtomicBool>,
}

impl Refusing {
    fn allowed(&self) -> io::Result<()> {
        match self.refuses.load(Relaxed) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Refusing {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.allowed()?;
        self.disk.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.allowed()?;
        self.disk.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.allowed()?;
        self.disk.write(offset, data)
    }
}

fn plan() -> SearchPlan {
    SearchPlan {
        chains: ChainCount::Fixed(1),
        seed: Seed(1),
        budget: Budget::default(),
        pace: Pace::Free,
        keying: Keying::ByClass,
        cooperation: Cooperation::On,
        snapshots: Snapshots::Never,
        lease: Duration::from_secs(10),
        replicates: 0,
        chain_memory: ChainMemory::default(),
        most_per_round: u64::MAX,
    }
}

fn hello() -> Hello {
    Hello {
        incarnation: Incarnation(1),
        replaces: None,
        host: "here".into(),
        threads: 1,
        memory: None,
        program_version: "1".into(),
        chains: Vec::new(),
        search: None,
        work: rlbayes_common::exchange::Work::Search,
        peer: None,
    }
}

#[test]
fn a_stop_that_is_not_stored_is_not_acknowledged() {
    let refuses = Arc::new(AtomicBool::new(false));
    let disk_refuses = Arc::clone(&refuses);
    let mut journal = Journal::with(move || {
        let disk = Refusing {
            disk: InMemoryBackend::new(),
            refuses: Arc::clone(&disk_refuses),
        };
        Database::builder().create_with_backend(disk)
    })
    .unwrap();
    journal.begin(&[]).unwrap();
    let mut observer = Unobserved;
    let (event_loop, handle, published) = EventLoop::new(
        State::new(plan()),
        Some(journal),
        Blocking::Inline,
        &mut observer,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (done, is_done) = tokio::sync::oneshot::channel();
        let asks = async {
            refuses.store(true, Relaxed);
            let refused = handle.stop(StoppedBy::Stop).await;
            assert!(
                matches!(refused, Err(AskError::NotStored(_))),
                "{refused:?}"
            );
            assert_eq!(
                published.borrow().view.stopped_by,
                None,
                "nobody is shown it"
            );
            let joins = handle.join(hello()).await;
            assert!(matches!(joins, Err(AskError::NotStored(_))), "{joins:?}");
            refuses.store(false, Relaxed);
            assert_eq!(handle.stop(StoppedBy::Stop).await, Ok(()));
            assert_eq!(published.borrow().view.stopped_by, Some(StoppedBy::Stop));
            let _ = done.send(());
        };
        // One that serves on, so that nothing is shown only because it ends.
        let shutdown = async {
            let _ = is_done.await;
        };
        tokio::join!(event_loop.run(Until::Shutdown, shutdown), asks)
    });
}

#[test]
fn what_is_acknowledged_and_shown_is_counted_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path).unwrap();
    journal.begin(&[]).unwrap();
    let mut observer = Unobserved;
    let (event_loop, handle, published) = EventLoop::new(
        State::new(plan()),
        Some(journal),
        Blocking::Inline,
        &mut observer,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let shown = runtime.block_on(async {
        let asks = async {
            let welcome = handle.join(hello()).await.unwrap();
            for number in 1..=3 {
                let evaluations = 1000 * number;
                let report = ChainReport {
                    chain: ChainId(0),
                    sequence: number,
                    finds: Vec::new(),
                    counters: ChainCounters {
                        evaluations,
                        ..ChainCounters::default()
                    },
                    wants_seeds: false,
                    status: ChainStatus::Running,
                    snapshot: None,
                };
                let exchange = Exchange {
                    worker: welcome.worker,
                    incarnation: Incarnation(1),
                    work: rlbayes_common::exchange::Work::Search,
                    reports: vec![report],
                    statistics: WorkerStatistics::default(),
                };
                handle.exchange(exchange).await.unwrap();
                let shown = published.borrow().view.counters.evaluations;
                assert_eq!(shown, evaluations, "who was answered sees it");
            }
            handle.count_refused(3);
            let mut published = published.clone();
            let counted = |it: &Published| (it.view.exchanges, it.view.refused_rows) == (3, 3);
            Arc::clone(&published.wait_for(counted).await.unwrap().view)
        };
        // The loop is dropped in the middle, as by a kill: it stores nothing any more.
        tokio::select! {
            _ = event_loop.run(Until::Shutdown, std::future::pending()) => unreachable!("no end"),
            view = asks => view,
        }
    });
    let mut journal = Journal::open(&path).unwrap();
    let loaded = journal.load(&[], 2, Keying::ByClass).unwrap().unwrap();
    let state = State::recovered(plan(), loaded.stored.unwrap());
    assert_eq!(state.counters(), shown.counters);
    assert_eq!((state.exchanges(), state.refused_rows()), (3, 3));
    let elapsed = state.elapsed(Duration::ZERO);
    assert!(
        elapsed >= shown.elapsed,
        "{elapsed:?} after {:?}",
        shown.elapsed
    );
}
