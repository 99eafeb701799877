//! A cluster of real processes on loopback: a coordinator that can be killed and started again,
//! its workers, and the status as a law: the best score never goes down.

use crate::fixtures::data;
use crate::program::{Program, Ran, Running};
use crate::waiting::{BestShown, wait_for_status, wait_until};
use rlbayes_proto::v1;
use rlbayes_proto::v1::coordinator_client::CoordinatorClient;
use serde_json::Value;
use std::fs;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

/// How long anything may take that should happen soon, on a machine that is busy.
pub const SOON: Duration = Duration::from_secs(90);

/// A coordinator with its folders. What is dropped is killed.
pub struct Cluster {
    program: Program,
    folder: TempDir,
    table: PathBuf,
    flags: Vec<String>,
    port: u16,
    coordinator: Option<Running>,
    best: BestShown,
}

impl Cluster {
    /// Starts a coordinator for a table of the `data` folder, with short leases.
    #[must_use]
    pub fn start(program: Program, table: &str, flags: &[&str]) -> Self {
        let mut cluster = Self::prepare(program, table, flags);
        cluster.start_coordinator(&[]);
        cluster
    }

    /// Makes the folders; nothing runs yet.
    #[must_use]
    pub fn prepare(program: Program, table: &str, flags: &[&str]) -> Self {
        Self::of_table(program, data(table), flags)
    }

    /// Makes the folders for any table; nothing runs yet.
    #[must_use]
    pub fn of_table(program: Program, table: PathBuf, flags: &[&str]) -> Self {
        Self {
            program,
            folder: tempfile::tempdir().unwrap(),
            table,
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            port: own_port(),
            coordinator: None,
            best: BestShown::default(),
        }
    }

    /// Starts the coordinator, for the first time or again, always on the same port.
    pub fn start_coordinator(&mut self, settings: &[(&str, &str)]) {
        assert!(self.coordinator.is_none(), "the coordinator runs already");
        let command = self.coordinator_command();
        self.coordinator = Some(Running::with_settings(command, settings));
    }

    /// From here on the coordinator is started with another table.
    pub fn set_table(&mut self, table: PathBuf) {
        self.table = table;
        self.best.forget();
    }

    /// From here on the coordinator is started with other flags.
    pub fn set_flags(&mut self, flags: &[&str]) {
        self.flags = flags.iter().map(|&flag| flag.to_owned()).collect();
    }

    /// Returns the coordinator's command line.
    #[must_use]
    pub fn coordinator_command(&self) -> Command {
        let mut command = self.program.command();
        command
            .args(["coordinator", "--data"])
            .arg(&self.table)
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--state")
            .arg(self.state())
            .arg("--out")
            .arg(self.path("out"))
            .args(["--memory", "256MiB"])
            .args(&self.flags)
            .stdin(Stdio::null());
        for (flag, value) in [("--lease", "1s"), ("--exchange-every", "300ms")] {
            if !self.flags.iter().any(|given| given == flag) {
                command.args([flag, value]);
            }
        }
        command
    }

    /// Starts a worker with one thread and a state folder of its own.
    #[must_use]
    pub fn worker(&self, name: &str) -> Running {
        self.worker_with(name, &self.url(), &[], &[])
    }

    /// Starts a worker that connects elsewhere, with further flags and variables.
    #[must_use]
    pub fn worker_with(
        &self,
        name: &str,
        url: &str,
        flags: &[&str],
        settings: &[(&str, &str)],
    ) -> Running {
        Running::with_settings(self.worker_command(name, url, flags), settings)
    }

    /// Returns a worker's command line.
    #[must_use]
    pub fn worker_command(&self, name: &str, url: &str, flags: &[&str]) -> Command {
        let mut command = self.program.command();
        command
            .args(["worker", "--coordinator", url, "--threads", "1"])
            .arg("--state")
            .arg(self.path(name))
            .args(["--name", name])
            .args(["--checkpoint-every", "300ms"])
            .args(flags)
            .stdin(Stdio::null());
        if !flags.contains(&"--memory") {
            command.args(["--memory", "128MiB"]);
        }
        command
    }

    /// Returns where workers connect.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the coordinator's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the coordinator's process.
    ///
    /// # Panics
    /// If there is none.
    pub fn coordinator(&mut self) -> &mut Running {
        self.coordinator.as_mut().expect("the coordinator runs")
    }

    /// Returns a place in the cluster's folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the coordinator's state folder.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Returns the journal of the one search that the state folder has.
    ///
    /// # Panics
    /// If it has none, or several.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        let folders = fs::read_dir(self.state()).unwrap();
        let journals = folders.map(|entry| entry.unwrap().path().join("journal.redb"));
        let mut journals: Vec<PathBuf> = journals.filter(|path| path.exists()).collect();
        assert_eq!(journals.len(), 1, "{journals:?}");
        journals.remove(0)
    }

    /// Kills the coordinator as -9 does.
    pub fn kill_coordinator(&mut self) {
        let coordinator = self.coordinator.take().expect("the coordinator runs");
        killed(coordinator);
    }

    /// Waits until the coordinator ends by itself.
    #[must_use]
    pub fn coordinator_end(&mut self) -> Ran {
        let coordinator = self.coordinator.take().expect("the coordinator runs");
        coordinator.wait(SOON)
    }

    /// Asks for the status; none while the coordinator is away.
    ///
    /// # Panics
    /// If the best score has gone down.
    #[must_use]
    pub fn status(&self) -> Option<v1::StatusReply> {
        let status = status(&self.url())?;
        self.best.see(status.best_score);
        Some(status)
    }

    /// Returns the best score that was ever shown.
    #[must_use]
    pub fn best_shown(&self) -> f64 {
        self.best.score()
    }

    /// From here on lower scores may be shown: the coordinator's disk was lost.
    pub fn forget_best(&self) {
        self.best.forget();
    }

    /// Waits for a status in which something holds.
    ///
    /// # Panics
    /// If none comes soon, or the best score goes down meanwhile.
    pub fn wait_for(
        &self,
        what: &str,
        holds: impl FnMut(&v1::StatusReply) -> bool,
    ) -> v1::StatusReply {
        let coordinator = self.coordinator.as_ref();
        let logs = || coordinator.map_or_else(String::new, Running::logged);
        wait_for_status(what, SOON, || self.status(), holds, logs)
    }

    /// Waits until the search is finished.
    pub fn wait_for_end(&self) -> v1::StatusReply {
        self.wait_for("finished", |status| status.state == "finished")
    }

    /// Ends the search as `rlbayes stop` does, and waits until everybody knows.
    pub fn stop(&self) -> v1::StatusReply {
        self.program.run(["stop", &self.url()]).ok();
        self.wait_for_end()
    }

    /// Returns NAME.json of the result folder.
    #[must_use]
    pub fn result(&self) -> Value {
        let name = self.table.file_name().unwrap().to_str().unwrap();
        let name = name.trim_end_matches(".gz").trim_end_matches(".csv");
        let path = self.path("out").join(format!("{name}.json"));
        let mut result = Value::Null;
        wait_until("the result of the end is written", SOON, || {
            result = fs::read(&path)
                .map(|text| serde_json::from_slice(&text).unwrap())
                .unwrap_or_default();
            // A last report may have brought a record; the JSON is written after the network.
            result["stopped_by"].is_string()
                && result["score"].as_f64() >= Some(self.best.score() - 1e-9)
        });
        result
    }

    /// Checks that the result on disk is whole, has the score that it claims, and is no worse than
    /// what was shown before. Returns its score.
    ///
    /// # Panics
    /// If it is not so.
    pub fn check_result(&self) -> f64 {
        let name = self.table.file_name().unwrap().to_str().unwrap();
        let name = name.trim_end_matches(".gz").trim_end_matches(".csv");
        let out = self.path("out");
        let bif = out.join(format!("{name}.bif"));
        let result = self.result();
        let claimed = result["score"].as_f64().unwrap();
        let args = [
            "score".as_ref(),
            self.table.as_os_str(),
            bif.as_os_str(),
            "--json".as_ref(),
        ];
        let counted = self.program.run(args).ok().json()["score"]
            .as_f64()
            .unwrap();
        assert!(
            (claimed - counted).abs() < 1e-6,
            "{claimed} against {counted}"
        );
        assert!(claimed >= self.best.score() - 1e-9);
        assert!(out.join(format!("{name}.svg")).exists());
        claimed
    }
}

/// Kills a process as -9 does.
///
/// # Panics
/// If it had ended before.
pub fn killed(mut process: Running) {
    assert!(process.is_running(), "it had ended: {}", process.logged());
    process.signal("KILL");
    let ran = process.wait(SOON);
    assert_eq!(ran.code, None, "{ran:?}");
}

/// Waits until a failpoint has ended a process.
///
/// # Panics
/// If it ends in any other way, or not at all.
pub fn aborted(process: Running) {
    let ran = process.wait(SOON);
    assert_eq!(
        ran.code, None,
        "the failpoint was not reached: it ended by itself: {ran:?}"
    );
}

/// Returns the runtime of the tests' own clients.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    })
}

/// Runs a client's calls to their end.
pub fn block_on<T>(calls: impl Future<Output = T>) -> T {
    runtime().block_on(calls)
}

/// Returns a client of our own, which may send whatever it likes.
#[must_use]
pub fn client(url: &str) -> CoordinatorClient<Channel> {
    let _entered = runtime().enter();
    let endpoint = Endpoint::from_shared(url.to_owned())
        .unwrap()
        .connect_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(30));
    CoordinatorClient::new(endpoint.connect_lazy()).max_encoding_message_size(usize::MAX)
}

/// Returns a client that connects from another address of this machine, and so is another peer.
///
/// # Panics
/// If the URL is none.
#[must_use]
pub fn client_at(address: IpAddr, url: &str) -> CoordinatorClient<Channel> {
    let _entered = runtime().enter();
    let endpoint = Endpoint::from_shared(url.to_owned())
        .unwrap()
        .local_address(Some(address))
        .connect_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(30));
    CoordinatorClient::new(endpoint.connect_lazy()).max_encoding_message_size(usize::MAX)
}

/// Asks a coordinator for its status; none while it is away.
#[must_use]
pub fn status(url: &str) -> Option<v1::StatusReply> {
    let mut client = client(url);
    let reply = block_on(async move {
        tokio::time::timeout(Duration::from_secs(10), client.status(v1::StatusRequest {})).await
    });
    Some(reply.ok()?.ok()?.into_inner())
}

/// Returns a port that nothing else takes by chance: the system gives out higher ones.
#[must_use]
pub fn own_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Several test programs may run at a time.
    let first = u16::try_from(std::process::id() % 97).unwrap() * 100;
    loop {
        let port = 20_000 + (first + NEXT.fetch_add(1, Relaxed)) % 10_000;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// Waits for a file.
pub fn wait_for_file(path: &Path) {
    wait_until(&format!("{} is there", path.display()), SOON, || {
        path.exists()
    });
}

/// Returns how many bytes of memory a process holds.
#[must_use]
pub fn resident_bytes(process: &Running) -> u64 {
    let bytes = rlbayes::machine::resident_bytes_of(process.id());
    assert!(
        bytes > 0,
        "the process runs, and the system reports its memory"
    );
    bytes
}
