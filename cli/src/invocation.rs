//! The command as it was given, written such that a shell runs it again: with what environment
//! variables added to it.

use crate::Cli;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory};
use std::ffi::{OsStr, OsString};

/// How the program was called.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    words: Vec<OsString>,
    /// The arguments of the subcommand.
    given: ArgMatches,
    /// What the environment sets: variables and values.
    set: Vec<(String, OsString)>,
}

impl Invocation {
    /// Keeps the words of a command line, of which the first is the program, and what was read from
    /// them and from `environment`; none without a subcommand.
    pub(crate) fn new(
        words: &[OsString],
        matches: &ArgMatches,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Option<Self> {
        let (name, given) = matches.subcommand()?;
        let mut program = Cli::command();
        program.build();
        let arguments = program.find_subcommand(name)?.get_arguments();
        let set = arguments
            .filter(|arg| is_from(given, arg, ValueSource::EnvVariable))
            .filter_map(|arg| {
                let variable = variable(arg.get_long()?);
                environment(&variable).map(|value| (variable, value))
            });
        Some(Self {
            words: words.to_vec(),
            set: set.collect(),
            given: given.clone(),
        })
    }

    /// Returns the command that repeats this one.
    pub(crate) fn repeated(&self) -> String {
        let set = self.set.iter();
        let set = set.map(|(variable, value)| format!("{variable}={}", quoted(value)));
        let given = self.words.iter().skip(1).map(|word| quoted(word));
        let words: Vec<String> = set.chain([program()]).chain(given).collect();
        words.join(" ")
    }

    /// Returns the `learn` command with this table, some flags, and those of this command that `learn`
    /// has too, but for `others`, by their ids.
    pub(crate) fn as_learn(&self, flags: &[String], others: &[&str]) -> String {
        let mut program_command = Cli::command();
        program_command.build();
        let learn = program_command.find_subcommand("learn");
        let mut words = vec![program(), "learn".to_owned()];
        let arguments = || learn.into_iter().flat_map(Command::get_arguments);
        let shared = || arguments().filter(|arg| !others.contains(&arg.get_id().as_str()));
        for arg in shared().filter(|arg| arg.is_positional()) {
            words.extend(self.values(arg).iter().map(|value| quoted(value)));
        }
        words.extend(flags.iter().cloned());
        for arg in shared() {
            let Some(long) = arg.get_long().filter(|_| self.is_given(arg)) else {
                continue;
            };
            if !arg.get_action().takes_values() {
                words.push(format!("--{long}"));
                continue;
            }
            for value in self.values(arg) {
                let value = quoted(&value);
                // One that looks like a flag has to be tied to its own.
                match value.starts_with('-') {
                    true => words.push(format!("--{long}={value}")),
                    false => words.extend([format!("--{long}"), value]),
                }
            }
        }
        words.join(" ")
    }

    /// Whether a flag was given, here or by the environment; one that is off was not.
    fn is_given(&self, arg: &Arg) -> bool {
        let from = |source| is_from(&self.given, arg, source);
        let is_off = || {
            let id = arg.get_id().as_str();
            matches!(self.given.try_get_one::<bool>(id), Ok(Some(false)))
        };
        (from(ValueSource::CommandLine) || from(ValueSource::EnvVariable)) && !is_off()
    }

    fn values(&self, arg: &Arg) -> Vec<OsString> {
        let values = self.given.try_get_raw(arg.get_id().as_str()).ok().flatten();
        values.into_iter().flatten().map(OsStr::to_owned).collect()
    }
}

fn is_from(given: &ArgMatches, arg: &Arg, source: ValueSource) -> bool {
    let id = arg.get_id().as_str();
    given.try_contains_id(id).is_ok() && given.value_source(id) == Some(source)
}

/// Returns the environment variable of a flag.
pub(crate) fn variable(long: &str) -> String {
    format!("RLBAYES_{}", long.to_uppercase().replace('-', "_"))
}

fn program() -> String {
    "rlbayes".to_owned()
}

/// Writes a word such that a shell reads it back.
fn quoted(word: &OsStr) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    let word = word.to_string_lossy();
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> Invocation {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let matches = Cli::command().get_matches_from(&words);
        Invocation::new(&words, &matches, |_| None).unwrap()
    }

    #[test]
    fn commands_are_quoted_as_a_shell_reads_them() {
        let words = [
            "/usr/bin/rlbayes",
            "learn",
            "my data.csv",
            "-o",
            "it's.html",
            "--drop",
            "",
            "--columns",
            "a=b,c",
        ];
        assert_eq!(
            called(&words).repeated(),
            "rlbayes learn 'my data.csv' -o 'it'\\''s.html' --drop '' --columns a=b,c"
        );
    }

    #[test]
    fn what_the_environment_set_is_part_of_the_command() {
        let words: Vec<OsString> = ["rlbayes", "learn", "t.csv"].map(OsString::from).into();
        let with_variable = Cli::command().mut_subcommand("learn", |learn| {
            learn.mut_arg("schema", |arg| arg.env("PATH"))
        });
        let matches = with_variable.get_matches_from(&words);
        let environment = |name: &str| (name == "RLBAYES_SCHEMA").then(|| OsString::from("1 2"));
        let called = Invocation::new(&words, &matches, environment).unwrap();
        assert_eq!(
            called.repeated(),
            "RLBAYES_SCHEMA='1 2' rlbayes learn t.csv"
        );
    }

    #[test]
    fn flags_that_learn_shares_are_taken_over() {
        let mut words = vec!["rlbayes", "cv", "my table.csv", "--seed", "4", "--json"];
        words.extend([
            "--bins",
            "age=quantile:4",
            "--bins",
            "width:3",
            "--no-header",
        ]);
        words.extend([
            "--missing-marker=-9",
            "--missing",
            "drop-rows",
            "--start",
            "net.bif",
            "--folds",
            "3",
        ]);
        let flags = ["--score".to_owned(), "bic".to_owned()];
        assert_eq!(
            called(&words).as_learn(&flags, &["seed", "json"]),
            "rlbayes learn 'my table.csv' --score bic --bins age=quantile:4 --bins width:3 \
             --missing drop-rows --missing-marker=-9 --no-header --start net.bif"
        );
    }
}
