//! `deploy/slurm/rlbayes.sbatch` on a Slurm of our own: munged, slurmctld and slurmd as processes of
//! the test, on one node that takes three tasks.

use crate::docker::{OPTIMUM, PROGRAM, SOON, in_project};
use rlbayes_tests::{Ran, Running, data, own_port, wait_until};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No search ends by itself in this: a signal that comes late still finds it at work, however fast
/// or slow the machine is. The tests end searches by `rlbayes stop`.
const BUDGET: [&str; 2] = ["--time", "1h"];

#[test]
fn a_job_whose_time_is_up_saves_queues_itself_again_and_resumes() {
    let slurm = Slurm::start();
    let table = data("alarm.csv");
    let job = slurm.submit(&["--time=60"], &table, &BUDGET);
    let first = slurm.searching(&job, 0);
    let token = fs::metadata(slurm.run("token")).unwrap();
    assert_eq!(token.permissions().mode() & 0o777, 0o600);
    // Three minutes since its start, of which the script asks for a signal two minutes before the
    // end: Slurm sends it when it looks at the clock, every half minute.
    slurm.limit(&job, 3);
    slurm.wait_for_field(&job, "Restarts=", "1");
    slurm.limit(&job, 60);
    slurm.assert_resumed(&job, &first);
}

#[test]
fn a_signal_that_reaches_only_the_shells_around_the_program_saves_too() {
    let slurm = Slurm::start();
    // Of a job that is long gone.
    fs::create_dir(slurm.run("")).unwrap();
    fs::write(slurm.run("address.99999.0"), "http://127.0.0.1:1\n").unwrap();
    let job = slurm.submit(&[], &data("alarm.csv"), &BUDGET);
    let first = slurm.searching(&job, 0);
    assert!(!slurm.run("address.99999.0").exists());
    // As proctrack/cgroup does: children of slurmstepd, and nobody below them.
    let shells = slurm.shells();
    assert_eq!(shells.len(), 3, "{shells:?}");
    for shell in shells {
        signal(shell, "USR1");
    }
    slurm.assert_resumed(&job, &first);
}

#[test]
fn a_cancelled_job_stays_so_and_the_same_command_resumes() {
    let slurm = Slurm::start();
    let table = data("alarm.csv");
    let job = slurm.submit(&[], &table, &BUDGET);
    let first = slurm.searching(&job, 0);
    slurm.ask("scancel", [&job]);
    let ended = slurm.end(&job);
    assert_eq!(ended.state, "CANCELLED", "{ended:?}");
    assert_eq!(ended.restarts, "0", "{ended:?}");
    let logged = slurm.log(&job);
    assert!(
        logged.contains("interrupted; the same command continues"),
        "{logged}"
    );
    assert!(!logged.contains("queued again"), "{logged}");

    let job = slurm.submit(&[], &table, &BUDGET);
    let address = slurm.address(&job, 0);
    let resumed = slurm.status(&address);
    assert!(number(&resumed, "best_score") >= number(&first, "best_score"));
    slurm.wait_for_optimum(&address);
    slurm.stop(&address);
    assert_eq!(slurm.end(&job).state, "COMPLETED");

    // The search is over: nobody waits for anything.
    let job = slurm.submit(&[], &table, &BUDGET);
    let ended = slurm.end(&job);
    assert_eq!(ended.state, "COMPLETED", "{ended:?} {}", slurm.log(&job));
    let logged = slurm.log(&job);
    assert!(logged.contains("finished: -11657.046"), "{logged}");
    slurm.check_result();
}

#[test]
fn a_job_with_a_bad_table_says_so_and_ends() {
    let slurm = Slurm::start();
    let table = slurm.folder.path().join("empty.csv");
    fs::write(&table, "a,b\n").unwrap();
    let job = slurm.submit(&[], &table, &BUDGET);
    let ended = slurm.end(&job);
    assert_eq!(ended.state, "FAILED", "{ended:?}");
    assert_eq!(ended.exit_code, "2:0", "{ended:?}");
    assert_eq!(ended.restarts, "0", "{ended:?}");
    let logged = slurm.log(&job);
    assert!(
        logged.contains("the file has a header but no rows"),
        "{logged}"
    );
}

/// A Slurm of one node. What is dropped is ended, with all its jobs.
struct Slurm {
    folder: TempDir,
    /// In the order of their start.
    daemons: Vec<Child>,
}

/// What Slurm says of a job that has ended.
#[derive(Debug)]
struct Ended {
    state: String,
    exit_code: String,
    restarts: String,
}

impl Slurm {
    fn start() -> Self {
        let mut slurm = Self {
            folder: TempDir::new().unwrap(),
            daemons: Vec::new(),
        };
        let folder = slurm.folder.path().to_owned();
        for name in ["control", "node"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let output_of = |program: &str, flag: &str| {
            let ran = Command::new(program).arg(flag).output().unwrap();
            String::from_utf8(ran.stdout).unwrap().trim().to_owned()
        };
        let configuration = include_str!("slurm/slurm.conf")
            .replace("@HOST@", &output_of("hostname", "-s"))
            .replace("@USER@", &output_of("id", "-un"))
            .replace("@CONTROL_PORT@", &own_port().to_string())
            .replace("@NODE_PORT@", &own_port().to_string())
            .replace("@FOLDER@", folder.to_str().unwrap());
        fs::write(slurm.configuration(), configuration).unwrap();
        // No secret outside of this test: any 32 bytes will do.
        let key = folder.join("munge.key");
        fs::write(&key, [7; 32]).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();

        let file = |flag: &str, name: &str| format!("--{flag}={}", folder.join(name).display());
        slurm.daemon(
            "munged",
            &[
                "--foreground".to_owned(),
                // It would refuse a folder that others may write to, such as the parent of this one.
                "--force".to_owned(),
                file("key-file", "munge.key"),
                file("socket", "munge.socket"),
                file("pid-file", "munge.pid"),
                file("seed-file", "munge.seed"),
                file("log-file", "munge.log"),
            ],
        );
        let socket = folder.join("munge.socket");
        wait_until("munged listens", SOON, || socket.exists());
        slurm.daemon("slurmctld", &["-D".to_owned(), "-i".to_owned()]);
        let node = ["-D", "-N", "node1"].map(str::to_owned);
        slurm.daemon("slurmd", &node);
        wait_until("the node is idle", SOON, || {
            slurm.run_command("sinfo", ["-h", "-o", "%T"]).stdout.trim() == "idle"
        });
        slurm
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    fn daemon(&mut self, program: &str, args: &[String]) {
        let log = File::create(self.folder.path().join(format!("{program}.out"))).unwrap();
        let child = self
            .command(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        let child = child.unwrap_or_else(|error| {
            panic!("{program}: {error} (tests/containers/install installs it)")
        });
        self.daemons.push(child);
    }

    /// Returns a command that knows this Slurm and no other, nor settings of the search.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["SLURM", "SBATCH", "RLBAYES"]
                .iter()
                .any(|word| text.starts_with(word))
            {
                command.env_remove(&name);
            }
        }
        // Daemons are not on everybody's path.
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{path}:/usr/sbin:/sbin"))
            .env("SLURM_CONF", self.configuration())
            .env("RLBAYES", PROGRAM.path())
            .env("RUN", self.run(""))
            .current_dir(self.folder.path());
        command
    }

    fn run_command<I>(&self, program: &str, args: I) -> Ran
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let mut command = self.command(program);
        command.args(args);
        Running::of(command).wait(SOON)
    }

    fn ask<I>(&self, program: &str, args: I) -> String
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.run_command(program, args)
            .ok()
            .stdout
            .trim()
            .to_owned()
    }

    /// Submits a search with one coordinator and two workers, and returns the job's number.
    fn submit(&self, of_sbatch: &[&str], table: &Path, flags: &[&str]) -> String {
        let script = in_project("deploy/slurm/rlbayes.sbatch");
        let mut words = vec![OsStr::new("--parsable"), OsStr::new("--ntasks=3")];
        words.extend(of_sbatch.iter().map(OsStr::new));
        words.extend([script.as_os_str(), table.as_os_str()]);
        words.extend(flags.iter().map(OsStr::new));
        self.ask("sbatch", words)
    }

    /// Changes how long a job may run.
    fn limit(&self, job: &str, minutes: u32) {
        let (job, limit) = (format!("job={job}"), format!("TimeLimit={minutes}"));
        self.ask("scontrol", ["update", &job, &limit]);
    }

    /// Returns a file of the search's folder.
    fn run(&self, name: &str) -> PathBuf {
        self.folder.path().join("run").join(name)
    }

    /// Waits until a start of a job serves, and returns where.
    fn address(&self, job: &str, start: u32) -> String {
        let path = self.run(&format!("address.{job}.{start}"));
        let begun = Instant::now();
        while !path.exists() {
            assert!(
                begun.elapsed() < SOON,
                "no {}: {}",
                path.display(),
                self.log(job)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    fn status(&self, address: &str) -> Value {
        self.person("status", address)
    }

    /// Ends the search.
    fn stop(&self, address: &str) {
        self.person("stop", address);
    }

    fn person(&self, command: &str, address: &str) -> Value {
        let token = self.run("token");
        let token = token.to_str().unwrap();
        PROGRAM
            .run([command, address, "--token-file", token, "--json"])
            .ok()
            .json()
    }

    /// Waits until both workers of a start search and have found something.
    fn searching(&self, job: &str, start: u32) -> Value {
        let address = self.address(job, start);
        let mut status = Value::Null;
        wait_until("both workers search", SOON, || {
            status = self.status(&address);
            let workers = status["workers"].as_array().unwrap();
            let at_work = |worker: &&Value| {
                worker["alive"] == true && worker["evaluations_per_second"].as_f64() > Some(0.0)
            };
            workers.iter().filter(at_work).count() == 2 && status["best_score"].is_number()
        });
        status
    }

    fn wait_for_optimum(&self, address: &str) {
        wait_until("the optimum is reached", SOON, || {
            let best = number(&self.status(address), "best_score");
            assert!(best < OPTIMUM + 0.001, "{best} is above the proven optimum");
            best > OPTIMUM - 0.001
        });
    }

    /// Waits until a job that was signalled has saved and started again, and follows it to its end.
    fn assert_resumed(&self, job: &str, before: &Value) {
        let address = self.address(job, 1);
        let resumed = self.status(&address);
        for what in ["best_score", "evaluations"] {
            let (before, after) = (number(before, what), number(&resumed, what));
            assert!(after >= before, "{what}: {after} after {before}");
        }
        assert!(!self.run(&format!("address.{job}.0")).exists());

        let again = self.searching(job, 1);
        assert!(number(&again, "evaluations") > number(before, "evaluations"));
        self.wait_for_optimum(&address);
        self.stop(&address);
        let ended = self.end(job);
        assert_eq!(ended.state, "COMPLETED", "{ended:?}");
        assert_eq!(ended.exit_code, "0:0", "{ended:?}");
        assert_eq!(ended.restarts, "1", "{ended:?}");
        let logged = self.log(job);
        for sentence in [
            "0: interrupted; the same command continues from here",
            "saved; the job is queued again",
            "resumes /",
        ] {
            assert_eq!(logged.matches(sentence).count(), 1, "{sentence}: {logged}");
        }
        for worker in ["1: ", "2: "] {
            let drained = |line: &&str| line.starts_with(worker) && line.ends_with(" drained");
            assert_eq!(logged.lines().filter(drained).count(), 1, "{logged}");
        }
        self.check_result();
        assert!(!self.run(&format!("address.{job}.1")).exists());
    }

    /// Returns the processes that slurmstepd has started for the tasks.
    fn shells(&self) -> Vec<u32> {
        let home = self.folder.path().to_str().unwrap();
        let of_this_test = |id: u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            let here = format!("SLURM_CONF={home}/slurm.conf");
            environment
                .split(|&byte| byte == 0)
                .any(|one| one == here.as_bytes())
        };
        let is_task = |id: u32| {
            let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let mut words = words.split(|&byte| byte == 0);
            // Slurm looks the program up.
            let shell = words.next().is_some_and(|word| word.ends_with(b"bash"));
            shell && words.next() == Some(b"-c") && words.next() == Some(b"task \"$@\"")
        };
        let numbers = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let name = entry.unwrap().file_name();
            name.to_str().and_then(|name| name.parse::<u32>().ok())
        });
        let tasks: Vec<u32> = numbers
            .filter(|&id| is_task(id) && of_this_test(id))
            .collect();
        // A shell that has just forked looks like its parent.
        let is_child = |id: u32| tasks.contains(&parent(id));
        tasks.iter().copied().filter(|&id| !is_child(id)).collect()
    }

    /// Returns what Slurm says of a job: the rest of the word that begins with this.
    fn field(&self, job: &str, name: &str) -> String {
        let shown = self.ask("scontrol", ["show", "job", "--oneliner", job]);
        let word = shown
            .split_whitespace()
            .find_map(|word| word.strip_prefix(name));
        word.unwrap_or_else(|| panic!("no {name} in {shown}"))
            .to_owned()
    }

    fn wait_for_field(&self, job: &str, name: &str, value: &str) {
        let begun = Instant::now();
        while self.field(job, name) != value {
            assert!(
                begun.elapsed() < SOON,
                "no {name}{value}: {}",
                self.log(job)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until a job has ended for good.
    fn end(&self, job: &str) -> Ended {
        let begun = Instant::now();
        loop {
            let state = self.field(job, "JobState=");
            if ["COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL"]
                .contains(&state.as_str())
            {
                return Ended {
                    state,
                    exit_code: self.field(job, "ExitCode="),
                    restarts: self.field(job, "Restarts="),
                };
            }
            assert!(begun.elapsed() < SOON, "{state}: {}", self.log(job));
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the job's log.
    fn log(&self, job: &str) -> String {
        let path = self.folder.path().join(format!("rlbayes-{job}.log"));
        fs::read_to_string(path).unwrap_or_default()
    }

    /// Checks what the search has left in its folder.
    fn check_result(&self) {
        let result = fs::read(self.run("out/alarm.json")).unwrap();
        let result: Value = serde_json::from_slice(&result).unwrap();
        let score = number(&result, "score");
        assert!((score - OPTIMUM).abs() < 0.001, "{result}");
        assert_eq!(result["stopped_by"], "stop", "{result}");
        for name in ["out/alarm.bif", "out/alarm.svg"] {
            assert!(self.run(name).exists(), "no {name}");
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_logs();
        }
        // Jobs are not our child processes: Slurm ends them. Errors here are those of a test that failed.
        if self.daemons.len() == 3 {
            let _ = self.command("scancel").arg("--name=rlbayes").output();
            let begun = Instant::now();
            while begun.elapsed() < SOON {
                let queue = self.command("squeue").arg("--noheader").output();
                if queue.is_ok_and(|queue| queue.stdout.is_empty()) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        for daemon in self.daemons.iter_mut().rev() {
            signal(daemon.id(), "TERM");
            let begun = Instant::now();
            while matches!(daemon.try_wait(), Ok(None)) {
                if begun.elapsed() > Duration::from_secs(20) {
                    let _ = daemon.kill();
                    let _ = daemon.wait();
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Slurm {
    #[expect(clippy::print_stderr, reason = "what a test that failed leaves behind")]
    fn show_logs(&self) {
        for name in ["munged.out", "slurmctld.out", "slurmd.out"] {
            let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
            let last = text.len().saturating_sub(3000);
            let last = text.get(last..).unwrap_or(&text);
            eprintln!("== {name}\n{last}");
        }
    }
}

/// Sends a signal to a process, if it is still there.
fn signal(process: u32, name: &str) {
    let _ = Command::new("sh")
        .args(["-c", "kill -s \"$0\" \"$1\"", name, &process.to_string()])
        .status();
}

/// Returns the parent of a process; 0 if that is gone.
fn parent(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.and_then(|id| id.trim().parse().ok()).unwrap_or(0)
}

fn number(value: &Value, name: &str) -> f64 {
    value[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no {name} in {value}"))
}
