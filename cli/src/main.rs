//! The program `rlbayes`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rlbayes_cli::run_command(std::env::args_os()))
}
