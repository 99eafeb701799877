//! `rlbayes man`: the manual pages.

use crate::failure::Failure;
use crate::target::{Target, words};
use crate::terminal::{Messages, print};
use clap::{Args, Command};
use std::fs;
use std::path::PathBuf;

/// Prints a manual page, or writes all of them into a folder
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Examples:\n  rlbayes man learn > rlbayes-learn.1 && man ./rlbayes-learn.1\n  \
    rlbayes man --dir ~/.local/share/man/man1"
)]
pub(crate) struct ManCommand {
    /// The command that the page is about [default: the program]
    command: Option<String>,
    /// Folder for the pages of the program and of all its commands
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn print_or_write(args: &ManCommand, program: Command) -> Result<(), Failure> {
    let pages = pages(program)?;
    if let Some(folder) = &args.dir {
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, words(&error)))?;
        for (name, page) in &pages {
            Target::new(&folder.join(format!("{name}.1")))?.write(page.clone())?;
        }
        let count = pages.len();
        Messages::new(false).line(&format!("{}: {count} pages", folder.display()));
        return Ok(());
    }
    let wanted = match &args.command {
        Some(command) => format!("rlbayes-{command}"),
        None => "rlbayes".to_owned(),
    };
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, page)) => print(&String::from_utf8_lossy(page)),
        None => {
            let names = pages
                .iter()
                .filter_map(|(name, _)| name.strip_prefix("rlbayes-"));
            let names = names.collect::<Vec<_>>().join(", ");
            let given = args.command.as_deref().unwrap_or_default();
            let what = format!("there is no command \"{given}\" (expected one of {names})");
            Err(Failure::input(what))
        }
    }
}

/// Makes the pages, by name: that of the program first.
fn pages(mut program: Command) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    program.build();
    let mut pages = vec![page(program.clone())?];
    for command in program
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = format!("rlbayes-{}", command.get_name());
        pages.push(page(command.clone().name(name))?);
    }
    Ok(pages)
}

fn page(command: Command) -> Result<(String, Vec<u8>), Failure> {
    let name = command.get_name().to_owned();
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut bytes)
        .map_err(|error| Failure::Bug(error.to_string()))?;
    Ok((name, bytes))
}
