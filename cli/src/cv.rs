//! `rlbayes cv`: which score to learn with, by the log-likelihood of rows held out.

use crate::constraint_args::ConstraintArgs;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::status_line::StatusLine;
use crate::table_args::TableArgs;
use crate::terminal::{Messages, print, print_json};
use clap::Args;
use rlbayes::{
    Candidate, CandidateFigures, CrossValidation, CrossValidationError, RequestError, Score,
    SearchError, SearchSettings, StopHandle, cross_validate, machine,
    simplest_within_one_standard_error,
};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;

/// Compares scores by how well what they learn fits rows held out.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "Examples:\n  rlbayes cv survey.csv\n  \
    rlbayes cv survey.csv --folds 10 --try bic,aic,bdeu:1,bdeu:10,bic*2\n\n\
    A score is bic, aic, k2, loglik or bdeu:ESS; *F multiplies the penalty of bic and aic. The winner \
    is the one with the fewest edges within one standard error of the best.")]
pub(crate) struct CvCommand {
    /// The table
    data: PathBuf,
    /// How many parts the rows are divided into; each is held out once
    #[arg(long, value_name = "K", default_value_t = 10)]
    folds: usize,
    /// The scores to try, separated by commas
    #[arg(
        long = "try",
        value_name = "SCORES",
        default_value = "bic,aic,bdeu:1,bdeu:10,bic*2"
    )]
    tried: String,
    /// Local scores that each search may ask for
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    evaluations: u64,
    /// Number that is added to every count when probabilities are estimated
    #[arg(long, value_name = "ALPHA", default_value_t = 1.0)]
    alpha: f64,
    /// Seed of the folds and of the searches
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Threads; the figures are the same on any number [default: all cores]
    #[arg(long, value_name = "T")]
    threads: Option<u32>,
    /// Prints JSON: candidates, winner, command
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    constraints: ConstraintArgs,
}

/// Runs the command.
pub(crate) fn run(args: &CvCommand, called: &Invocation, stop: &StopHandle) -> Result<(), Failure> {
    let messages = Messages::new(args.json);
    let names: Vec<&str> = args.tried.split(',').map(str::trim).collect();
    let candidates = names
        .iter()
        .map(|name| candidate(name))
        .collect::<Result<Vec<_>, _>>()?;
    if !args.alpha.is_finite() || args.alpha <= 0.0 {
        let what = "expected a number above 0, so that no row is impossible";
        return Err(Failure::input(format!("--alpha {}: {what}", args.alpha)));
    }
    let table = args
        .table
        .load(&args.data, |warning| messages.warn(&args.data, warning))?;
    let files = args.constraints.read()?;
    let how = CrossValidation {
        candidates,
        folds: args.folds,
        evaluations: args.evaluations,
        alpha: args.alpha,
        settings: SearchSettings {
            constraints: files.named.clone(),
            start: files.start(),
            seed: args.seed,
            ..SearchSettings::default()
        },
        threads: args.threads.unwrap_or_else(machine::cores) as usize,
    };
    let line = Mutex::new(StatusLine::new(args.json));
    let show = |done: usize, all: usize| {
        if let Ok(mut line) = line.lock() {
            line.show(&format!("{done} of {all} searches"));
        }
    };
    let figures = cross_validate(&table, &how, stop, &show);
    drop(line);
    let figures = figures.map_err(|error| match error {
        CrossValidationError::Stopped => Failure::Interrupted,
        CrossValidationError::Search(SearchError::Request(RequestError::Constraint(error))) => {
            files.refused(&error)
        }
        error => Failure::input(error),
    })?;
    let winner = simplest_within_one_standard_error(&figures);
    let winner = winner.ok_or_else(|| Failure::Bug("nothing was compared".into()))?;
    let command = called.as_learn(&score_flags(&figures[winner]), &OWN_FLAGS);
    if args.json {
        let rows = names.iter().zip(&figures).map(|(name, figures)| {
            json!({
                "score": name,
                "held_out_per_row": figures.mean(),
                "standard_error": figures.standard_error(),
                "edges": figures.edges(),
                "by_fold": figures.by_fold,
                "edges_by_fold": figures.edges_by_fold,
            })
        });
        let rows: Vec<_> = rows.collect();
        let winner = names[winner];
        return print_json(&json!({ "candidates": rows, "winner": winner, "command": command }));
    }
    let mut text = format!(
        "{:<12} {:>14} {:>14} {:>8}\n",
        "score", "held out/row", "std. error", "edges"
    );
    for (at, (name, figures)) in names.iter().zip(&figures).enumerate() {
        let (mean, error, edges) = (figures.mean(), figures.standard_error(), figures.edges());
        let mark = if at == winner { "  <- winner" } else { "" };
        let _ = writeln!(
            text,
            "{name:<12} {mean:>14.6} {error:>14.6} {edges:>8.1}{mark}"
        );
    }
    let _ = writeln!(
        text,
        "\n{} folds of {} rows; fewest edges within one standard error of the best\n{command}",
        args.folds,
        table.rows()
    );
    print(&text)
}

/// Reads a score: its name, `:ESS` for bdeu, `*FACTOR` on the penalty of bic and aic.
fn candidate(text: &str) -> Result<Candidate, Failure> {
    let wrong = || {
        Failure::input(format!(
            "--try {text}: expected bic, aic, k2, loglik or bdeu:ESS, and *FACTOR behind bic or aic"
        ))
    };
    let number = |text: &str| -> Option<f64> {
        let number: f64 = text.parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(number)
    };
    let (name, penalty_scale) = match text.split_once('*') {
        Some((name, factor)) => (name, number(factor).ok_or_else(wrong)?),
        None => (text, 1.0),
    };
    let (name, ess) = match name.split_once(':') {
        Some((name, ess)) => (name, Some(number(ess).ok_or_else(wrong)?)),
        None => (name, None),
    };
    let has_factor = text.contains('*');
    let score = match (name.to_ascii_lowercase().as_str(), ess) {
        ("bic", None) => Score::Bic,
        ("aic", None) => Score::Aic,
        ("bdeu", ess) if !has_factor => Score::Bdeu {
            ess: ess.unwrap_or(1.0),
        },
        ("k2", None) if !has_factor => Score::K2,
        ("loglik", None) if !has_factor => Score::LogLik,
        _ => return Err(wrong()),
    };
    Ok(Candidate {
        score,
        penalty_scale,
    })
}

/// Flags that `learn` has too, and that do not make the winner: those of the folds and their searches.
const OWN_FLAGS: [&str; 6] = [
    "alpha",
    "evaluations",
    "seed",
    "threads",
    "json",
    "log_format",
];

/// Returns the flags that choose the winner's score.
fn score_flags(winner: &CandidateFigures) -> Vec<String> {
    let Candidate {
        score,
        penalty_scale,
    } = winner.candidate;
    let mut flags = vec!["--score".to_owned(), score.name().to_owned()];
    if let Score::Bdeu { ess } = score {
        flags.extend(["--ess".to_owned(), ess.to_string()]);
    }
    if penalty_scale.to_bits() != 1.0_f64.to_bits() {
        flags.extend(["--penalty-scale".to_owned(), penalty_scale.to_string()]);
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_to_try_are_read_and_nonsense_is_refused() {
        let read = |text| {
            candidate(text)
                .map(|found| (found.score, found.penalty_scale))
                .ok()
        };
        assert_eq!(read("bic"), Some((Score::Bic, 1.0)));
        assert_eq!(read("BIC*2"), Some((Score::Bic, 2.0)));
        assert_eq!(read("bdeu:10"), Some((Score::Bdeu { ess: 10.0 }, 1.0)));
        assert_eq!(read("bdeu"), Some((Score::Bdeu { ess: 1.0 }, 1.0)));
        for text in [
            "", "bic*", "bic*-1", "bic:2", "bdeu:0", "bdeu:1*2", "k2*3", "x", "bic*inf",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
