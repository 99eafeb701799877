//! A cluster on loopback: the program `rlbayes` as coordinator and workers, in child processes that
//! end with the benchmark.

use crate::failure::Failure;
use clap::Args;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Which program runs as processes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ProgramArgs {
    /// The program rlbayes [default: the one beside this benchmark's own file]
    #[arg(long = "program", value_name = "PATH")]
    given: Option<PathBuf>,
}

/// The file of a program that can be started.
#[derive(Clone, Debug)]
pub(crate) struct Program(PathBuf);

/// A child process; one that is dropped is killed.
pub(crate) struct Process(Child);

impl ProgramArgs {
    /// Returns the program.
    pub(crate) fn program(&self) -> Result<Program, Failure> {
        let path = match &self.given {
            Some(path) => path.clone(),
            None => {
                let Program(own) = Program::this()?;
                own.with_file_name(format!("rlbayes{}", std::env::consts::EXE_SUFFIX))
            }
        };
        if !path.is_file() {
            return Err(Failure::file(
                &path,
                "there is no such program; make it by `cargo build --release -p rlbayes-cli` or \
                 give another by --program",
            ));
        }
        Ok(Program(path))
    }
}

impl Program {
    /// Returns the benchmark's own program.
    pub(crate) fn this() -> Result<Self, Failure> {
        std::env::current_exe()
            .map(Self)
            .map_err(|error| Failure::Bug(format!("the file of this program: {error}")))
    }

    /// Returns the program's file.
    pub(crate) fn path(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl Process {
    /// Starts a program with arguments; `core` pins it to a core, which needs `taskset`.
    pub(crate) fn start(
        program: &Program,
        args: &[String],
        core: Option<usize>,
    ) -> Result<Self, Failure> {
        let mut command = match core {
            Some(core) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &core.to_string()]).arg(program.path());
                command
            }
            None => Command::new(program.path()),
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

    /// Waits for its end while `patient` says so; returns what it printed.
    pub(crate) fn wait(mut self, patient: impl Fn() -> bool) -> Result<Option<String>, Failure> {
        use std::io::Read;
        while patient() {
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
    program: &Program,
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
    let process = Process::start(program, &args, core)?;
    let url = address(&place.join("address"))?;
    Ok((process, url))
}

/// Starts a worker of one thread.
pub(crate) fn worker(
    program: &Program,
    url: &str,
    flags: &[(&str, String)],
) -> Result<Process, Failure> {
    let mut args = words(&["worker", "--threads=1"]);
    args.push(format!("--coordinator={url}"));
    args.extend(flags.iter().map(|(flag, value)| format!("{flag}={value}")));
    Process::start(program, &args, None)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named_with_the_command_that_makes_it() {
        let nowhere = ProgramArgs {
            given: Some("nowhere/rlbayes".into()),
        };
        let failure = nowhere.program().unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        let text = failure.to_string();
        assert!(text.starts_with("nowhere/rlbayes: there is no such program"));
        assert!(text.contains("cargo build --release -p rlbayes-cli"));
    }
}
