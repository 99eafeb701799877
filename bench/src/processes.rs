//! A cluster of this very program on loopback, for benchmarks: a coordinator and workers as child
//! processes that end with the benchmark.

use crate::failure::Failure;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A child process; one that is dropped is killed.
pub(crate) struct Process(Child);

impl Process {
    /// Starts this program with arguments; `core` pins it where `taskset` is there.
    pub(crate) fn start(args: &[String], core: Option<usize>) -> Result<Self, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::Bug(format!("this program is not to be found: {error}")))?;
        let mut command = match core {
            Some(core) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &core.to_string()]).arg(&program);
                command
            }
            None => Command::new(&program),
        };
        command
            .args(args)
            .env("RLBAYES_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let child = command
            .spawn()
            .map_err(|error| Failure::input(format!("cannot start {command:?}: {error}")))?;
        Ok(Self(child))
    }

    /// Returns its number.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end, as long as `goes_on` says; returns what it printed.
    pub(crate) fn wait(mut self, goes_on: impl Fn() -> bool) -> Result<Option<String>, Failure> {
        use std::io::Read;
        while goes_on() {
            let ended = self.0.try_wait();
            let ended = ended.map_err(|error| Failure::Bug(error.to_string()))?;
            if let Some(status) = ended {
                let mut printed = String::new();
                if let Some(stdout) = &mut self.0.stdout {
                    // What can't be read was not printed.
                    let _ = stdout.read_to_string(&mut printed);
                }
                if !status.success() {
                    return Err(Failure::input(format!("a process ended with {status}")));
                }
                return Ok(Some(printed));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(None)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a coordinator on loopback whose folders `state` and `out` are in `place`; returns it and
/// where workers connect.
pub(crate) fn coordinator(
    place: &Path,
    data: &Path,
    flags: &[(&str, String)],
    core: Option<usize>,
) -> Result<(Process, String), Failure> {
    let path = |name: &str| place.join(name).display().to_string();
    let fixed = [
        ("--data", data.display().to_string()),
        ("--listen", "127.0.0.1:0".to_owned()),
        ("--state", path("state")),
        ("--out", path("out")),
        ("--address-file", path("address")),
    ];
    let mut args = words(&["coordinator"]);
    for (flag, value) in fixed.iter().chain(flags) {
        args.push(match value.as_str() {
            "" => (*flag).to_owned(),
            value => format!("{flag}={value}"),
        });
    }
    let process = Process::start(&args, core)?;
    let url = address(&place.join("address"))?;
    Ok((process, url))
}

/// Starts a worker of one thread.
pub(crate) fn worker(url: &str, flags: &[(&str, String)]) -> Result<Process, Failure> {
    let mut args = words(&["worker", "--threads=1"]);
    args.push(format!("--coordinator={url}"));
    args.extend(flags.iter().map(|(flag, value)| format!("{flag}={value}")));
    Process::start(&args, None)
}

/// Waits for the address that a server writes.
pub(crate) fn address(path: &Path) -> Result<String, Failure> {
    let begun = Instant::now();
    loop {
        if let Ok(text) = std::fs::read_to_string(path)
            && !text.trim().is_empty()
        {
            return Ok(text.trim().to_owned());
        }
        if begun.elapsed() > Duration::from_secs(30) {
            return Err(Failure::input("the server did not start within 30 s"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Makes arguments of words.
pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns the memory of a process, or 0 if it has ended.
pub(crate) fn resident(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
