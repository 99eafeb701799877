//! The program under test as a process: started with a deadline, signalled, waited for.

use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a command may take unless a test sets another limit; the slowest needs a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

/// The program under test: where it is.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    path: &'static str,
}

impl Program {
    /// Names the program; a test of its package knows it as `env!("CARGO_BIN_EXE_rlbayes")`.
    #[must_use]
    pub const fn at(path: &'static str) -> Self {
        Self { path }
    }

    /// Returns where the program is.
    #[must_use]
    pub fn path(self) -> &'static Path {
        Path::new(self.path)
    }

    /// Returns a command without arguments.
    #[must_use]
    pub fn command(self) -> Command {
        Command::new(self.path)
    }

    /// Starts the program with an empty stdin.
    pub fn start<I>(self, args: I) -> Running
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let mut command = self.command();
        command.args(args).stdin(Stdio::null());
        Running::of(command)
    }

    /// Runs the program to its end.
    pub fn run<I>(self, args: I) -> Ran
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        self.start(args).wait(DEADLINE)
    }
}

/// What a finished process has left.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it logged, and its errors.
    pub stderr: String,
}

impl Ran {
    /// Returns the run if its exit code was 0.
    ///
    /// # Panics
    /// If it was another.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Returns the one JSON object that was printed.
    ///
    /// # Panics
    /// If anything else was.
    #[must_use]
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not one JSON value ({error}): {self:?}"));
        assert!(value.is_object(), "{value}");
        value
    }
}

/// A process under way. One that is dropped is killed.
pub struct Running {
    child: Child,
    command: OsString,
    stdout: Stream,
    stderr: Stream,
}

/// What a process has written so far, and who reads it.
struct Stream {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a command; what it writes is collected as it comes.
    #[must_use]
    pub fn of(command: Command) -> Self {
        Self::with_settings(command, &[])
    }

    /// Starts a command with variables of the environment. Those of the program that the tests
    /// themselves were started with do not reach it.
    #[must_use]
    pub fn with_settings(mut command: Command, settings: &[(&str, &str)]) -> Self {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RLBAYES_") {
                command.env_remove(name);
            }
        }
        command.envs(settings.iter().copied());
        let shown = format!("{command:?}").into();
        let spawned = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = Stream::read(child.stdout.take().unwrap());
        let stderr = Stream::read(child.stderr.take().unwrap());
        Self {
            child,
            command: shown,
            stdout,
            stderr,
        }
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If it does not come within the deadline.
    #[must_use]
    pub fn wait(mut self, deadline: Duration) -> Ran {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                begun.elapsed() < deadline,
                "still running after {deadline:?}: {:?}: {}",
                self.command,
                self.logged()
            );
            thread::sleep(Duration::from_millis(5));
        };
        Ran {
            code: status.code(),
            stdout: self.stdout.end(),
            stderr: self.stderr.end(),
        }
    }

    /// Returns whether the process has not ended.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Returns what the process has written to stderr so far: its log and its errors.
    #[must_use]
    pub fn logged(&self) -> String {
        String::from_utf8_lossy(&self.stderr.text.lock().unwrap()).into_owned()
    }

    /// Returns what the process has written to stdout so far.
    #[must_use]
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.stdout.text.lock().unwrap()).into_owned()
    }

    /// Returns the process's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as INT.
    pub fn signal(&self, name: &str) {
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name])
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(status.success(), "cannot send {name}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that has ended already is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Stream {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                kept.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            text,
            reader: Some(reader),
        }
    }

    /// Waits for the end of the stream and returns its text.
    fn end(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        String::from_utf8(std::mem::take(&mut *self.text.lock().unwrap()))
            .expect("the program writes UTF-8")
    }
}
