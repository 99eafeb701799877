//! The coordinator is killed again and again, workers now and then, while many eyes look: whatever
//! they see is recorded, and the history is checked at the end (`rlbayes_tests::history`).
//!
//! `RLBAYES_KILLS` says how often:
//!
//! ```text
//! RLBAYES_KILLS=500 cargo test -p rlbayes-cli --test e2e kills -- --nocapture
//! ```

use crate::cluster::alive;
use crate::prepare_cluster;
use rlbayes_common::elite::Found;
use rlbayes_common::exchange::{Answer, ChainCounters, Pace};
use rlbayes_common::ids::{ChainId, Seed};
use rlbayes_common::random::Random;
use rlbayes_proto::convert::row_from_wire;
use rlbayes_proto::v1;
use rlbayes_tests::history::{Budgets, Figures, History, Outcome, Run, Work, check};
use rlbayes_tests::peer::{Peer, hello, report, true_row};
use rlbayes_tests::{Cluster, Running, SOON, block_on, client, killed, own_port, status};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const ASIA: &str = "asia_n1000_s1.csv.gz";

/// How often everybody looks.
const LOOK_EVERY: Duration = Duration::from_millis(15);

fn kills(default: usize) -> usize {
    let kills = std::env::var("RLBAYES_KILLS").ok();
    kills.map_or(default, |kills| kills.parse().unwrap())
}

/// Those who look, each on a thread of its own, until they are told to stop.
#[derive(Default)]
struct Eyes {
    stop: Arc<AtomicBool>,
    seen: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<()>>,
}

impl Eyes {
    /// Lets somebody look; what is not answered is not seen.
    fn look(
        &mut self,
        history: &History,
        by: &'static str,
        mut look: impl FnMut() -> Option<Figures> + Send + 'static,
    ) {
        let history = history.clone();
        let seen = Arc::clone(&self.seen);
        self.repeat(move || {
            let asked = history.ask(by);
            if let Some(figures) = look().filter(|figures| figures.count() > 0) {
                asked.answered(Outcome::Shown(Box::new(figures)));
                seen.fetch_add(1, Relaxed);
            }
        });
    }

    fn repeat(&mut self, mut what: impl FnMut() + Send + 'static) {
        let stop = Arc::clone(&self.stop);
        self.threads.push(thread::spawn(move || {
            while !stop.load(Relaxed) {
                what();
                thread::sleep(LOOK_EVERY);
            }
        }));
    }

    fn close(self) -> usize {
        self.stop.store(true, Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        self.seen.load(Relaxed)
    }
}

/// Asks the HTTP port for a page; none: it is not there.
fn page(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    // One that was cut off by a kill has shown nothing.
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse::<usize>().ok())?
    });
    let is_whole = length.is_none_or(|length| length == body.len());
    (head.starts_with("HTTP/1.1 200") && is_whole).then(|| body.to_owned())
}

/// Fetches the result as `rlbayes result` does; none: there is none yet, or nobody to ask.
fn result(url: &str) -> Option<Figures> {
    let mut client = client(url);
    let json = block_on(async move {
        let mut chunks = client.result(v1::ResultRequest {}).await.ok()?.into_inner();
        let mut json = String::new();
        while let Some(chunk) = chunks.message().await.ok()? {
            json += &chunk.json;
        }
        Some(json)
    })?;
    Some(Figures::of_result(&serde_json::from_str(&json).ok()?))
}

/// Opens the eyes of all who may look at a search.
fn eyes(cluster: &Cluster, http: &str, history: &History) -> Eyes {
    let mut eyes = Eyes::default();
    let url = cluster.url();
    eyes.look(history, "a status", {
        let url = url.clone();
        move || Some(Figures::of_status(&status(&url)?))
    });
    eyes.look(history, "a result", move || result(&url));
    let address = http.to_owned();
    eyes.look(history, "a status as JSON", move || {
        let json = page(&address, "/status")?;
        Some(Figures::of_json(&serde_json::from_str(&json).ok()?))
    });
    let address = http.to_owned();
    eyes.look(history, "metrics", move || {
        Some(Figures::of_metrics(&page(&address, "/metrics")?))
    });
    eyes
}

/// A file of the result: it may be a second behind a status, and never goes back by itself.
fn watch_file(eyes: &mut Eyes, path: PathBuf) -> History {
    let history = History::default();
    eyes.look(&history, "a file", move || {
        // It is there whole or not at all.
        let text = fs::read(&path).ok()?;
        let json = serde_json::from_slice(&text).unwrap();
        Some(Figures::of_result(&json))
    });
    history
}

/// A worker of our own: each of its reports brings a hundred evaluations and a row, and what was
/// acknowledged is recorded.
fn reporter(eyes: &mut Eyes, url: String, history: &History) {
    let edges = (0..8).flat_map(|to| (0..to).map(move |from| (from, to)));
    let rows: Vec<v1::Row> = edges.map(|edge| true_row(ASIA, &[edge])).collect();
    let history = history.clone();
    let (mut incarnation, mut peer, mut number) = (1_000_000, None, 0);
    eyes.repeat(move || {
        let Some(joined) = &mut peer else {
            // Every time it joins it is another process.
            incarnation += 1;
            number = 0;
            peer = Peer::join_as(&url, hello(incarnation)).ok();
            return;
        };
        let Some(&chain) = joined.joined.chains.first() else {
            peer = None;
            return;
        };
        let row = &rows[usize::try_from(number).unwrap() % rows.len()];
        let work = Work {
            run: Run::OfProcess(ChainId(chain), incarnation),
            counters: Some(ChainCounters {
                iterations: 10 * (number + 1),
                evaluations: 100 * (number + 1),
                ..Default::default()
            }),
            finds: vec![(Found::Best, row_from_wire(row, 8).unwrap())],
        };
        let asked = history.send("a worker", vec![work.clone()]);
        let report = report(chain, number, vec![row.clone()], 100 * (number + 1));
        let Ok(reply) = joined.send(joined.request(vec![report])) else {
            peer = None;
            return;
        };
        let continues = reply.answers.iter().any(|answer| {
            matches!(
                answer.next,
                Some(v1::answer::Next::Continue(_) | v1::answer::Next::Stop(_))
            )
        });
        let answer = if continues {
            Answer::Stop
        } else {
            Answer::Revoke
        };
        let taken = work.acknowledged_by(Some(&answer), Pace::Free);
        asked.answered(Outcome::Acknowledged(taken.into_iter().collect()));
        number += 1;
        if !continues {
            peer = None;
        }
    });
}

/// Waits until somebody answers, or not for long: a kill may come at any time.
fn wait_a_while(random: &mut Random) {
    thread::sleep(Duration::from_millis(random.below(700) as u64));
}

fn assert_kept(history: &History, budgets: Budgets, cluster: &mut Cluster) {
    let broken = check(history, budgets);
    let logged = match broken.is_empty() {
        true => String::new(),
        false => cluster.coordinator().logged(),
    };
    assert!(broken.is_empty(), "{broken:#?}\n{logged}");
}

#[test]
fn nothing_that_was_acknowledged_or_shown_is_taken_back_over_kills_of_the_coordinator() {
    const NAMES: [&str; 2] = ["one", "two"];
    let kills = kills(15);
    let http = format!("127.0.0.1:{}", own_port());
    let flags = ["--chains", "6", "--time", "10h", "--http", &http];
    let mut cluster = prepare_cluster(ASIA, &flags);
    let history = History::default();
    let mut eyes = eyes(&cluster, &http, &history);
    let file = cluster.path("out").join("asia_n1000_s1.json");
    let files = watch_file(&mut eyes, file);
    reporter(&mut eyes, cluster.url(), &history);
    let mut workers: Vec<Running> = NAMES.map(|name| cluster.worker(name)).into();
    let mut random = Random::new(Seed(14));
    for kill in 0..kills {
        cluster.start_coordinator(&[]);
        if random.chance(0.8) {
            let begun = Instant::now();
            while status(&cluster.url()).is_none() && begun.elapsed() < SOON {
                thread::sleep(Duration::from_millis(5));
            }
        }
        wait_a_while(&mut random);
        if random.chance(0.15) {
            let at = kill % NAMES.len();
            killed(workers.remove(at));
            workers.insert(at, cluster.worker(NAMES[at]));
        }
        cluster.kill_coordinator();
    }
    cluster.start_coordinator(&[]);
    let last = cluster.wait_for("workers are back", |status| alive(status) >= 2);
    let seen = eyes.close();
    let (asked, answered) = history.counts();
    println!(
        "{kills} kills: {seen} answers seen, {answered} of {asked} questions answered, {} files \
         read, {} evaluations, {:.1} s of searching",
        files.counts().1,
        last.evaluations,
        last.elapsed_seconds
    );
    assert!(seen >= kills, "{seen} answers over {kills} kills");
    assert_kept(&history, Budgets::default(), &mut cluster);
    assert_kept(&files, Budgets::default(), &mut cluster);
    cluster.stop();
    for worker in workers {
        worker.wait(SOON).ok();
    }
}

#[test]
fn a_coordinator_that_dies_every_second_uses_up_its_time() {
    const TIME: Duration = Duration::from_secs(6);
    const MOST_KILLS: usize = 60;
    let mut cluster = prepare_cluster(ASIA, &["--chains", "2", "--time", "6s"]);
    let history = History::default();
    let mut eyes = Eyes::default();
    let url = cluster.url();
    eyes.look(&history, "a status", move || {
        Some(Figures::of_status(&status(&url)?))
    });
    let worker = cluster.worker("worker");
    let mut kills = 0;
    loop {
        cluster.start_coordinator(&[]);
        let status = cluster.wait_for("it works, or is over", |status| {
            alive(status) == 1 || !status.stopped_by.is_empty()
        });
        if !status.stopped_by.is_empty() {
            assert_eq!(status.stopped_by, "time");
            break;
        }
        assert!(kills < MOST_KILLS, "only {} s", status.elapsed_seconds);
        thread::sleep(Duration::from_secs(1));
        cluster.kill_coordinator();
        kills += 1;
    }
    assert!(kills >= 2, "{kills} kills");
    cluster.wait_for_end();
    eyes.close();
    let budgets = Budgets {
        time: Some(TIME),
        evaluations: None,
    };
    assert_kept(&history, budgets, &mut cluster);
    worker.wait(SOON).ok();
}

#[test]
fn evaluations_are_not_spent_twice_over_kills_of_everybody() {
    const BUDGET: u64 = 400_000;
    const MOST_KILLS: usize = 60;
    let mut cluster = prepare_cluster(ASIA, &["--chains", "2", "--evaluations", "400000"]);
    let history = History::default();
    let mut eyes = Eyes::default();
    let url = cluster.url();
    eyes.look(&history, "a status", move || {
        Some(Figures::of_status(&status(&url)?))
    });
    let mut random = Random::new(Seed(2));
    let mut kills = 0;
    let end = loop {
        assert!(kills < MOST_KILLS, "still not over after {kills} kills");
        kills += 1;
        cluster.start_coordinator(&[]);
        let before = cluster.wait_for("it serves", |_| true);
        if !before.stopped_by.is_empty() {
            break before;
        }
        let worker = cluster.worker("worker");
        let after = cluster.wait_for("it counts, or is over", |status| {
            status.evaluations > before.evaluations || !status.stopped_by.is_empty()
        });
        wait_a_while(&mut random);
        drop(worker);
        if !after.stopped_by.is_empty() {
            break cluster.wait_for_end();
        }
        cluster.kill_coordinator();
    };
    eyes.close();
    let budgets = Budgets {
        evaluations: Some(BUDGET),
        time: None,
    };
    assert_kept(&history, budgets, &mut cluster);
    // Each chain may have ended its last step.
    let most = BUDGET + 2 * 8 * 8;
    assert!(end.evaluations <= most, "{} evaluations", end.evaluations);
}
