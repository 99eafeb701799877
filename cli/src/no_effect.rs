//! Flags that change nothing, as given: each is told, by one table. Only flags of the command line
//! count; a file of settings may serve several commands.

use crate::args::SearchName;
use crate::html_report::is_report;
use clap::ArgMatches;
use clap::ValueEnum;
use clap::parser::ValueSource;
use rlbayes_common::io::Format;
use rlbayes_common::score::ScoreName;
use std::path::PathBuf;

/// What a flag needs to have an effect.
#[derive(Clone, Copy, Debug)]
enum Needs {
    /// One of these scores.
    Score(&'static [ScoreName]),
    /// One of these searches.
    Search(&'static [SearchName]),
    /// A result in one of these formats; how they are called.
    Result(&'static [Format], &'static str),
    /// A picture file; the picture in a report does not count.
    Picture,
    /// A result whose ending names no format.
    UnknownEnding,
    /// Another flag.
    Flag(&'static str),
    /// Resampled tables, which `bootstrap` makes unasked and `average` takes from elsewhere.
    Replicates,
}

use Format::{Bif, Csv, Dot, GraphMl, Json, Pdf, Png, Svg, XmlBif};
use ScoreName::{Aic, Bdeu, Bic};
use SearchName::{BncPso, Ftta, Ga, Hc, Iwo, Paper, Rlbayes, Sa};

/// Flags by their ids, and what they need.
const TABLE: &[(&str, Needs)] = &[
    ("ess", Needs::Score(&[Bdeu])),
    ("penalty_scale", Needs::Score(&[Bic, Aic])),
    ("theta", Needs::Search(&[Rlbayes, Paper])),
    ("table_rows", Needs::Search(&[Rlbayes, Paper])),
    ("temperature", Needs::Search(&[Rlbayes])),
    ("stall", Needs::Search(&[Rlbayes])),
    ("region", Needs::Search(&[Rlbayes])),
    ("no_learning", Needs::Search(&[Rlbayes])),
    ("no_cooperation", Needs::Search(&[Rlbayes, Paper])),
    ("epsilon", Needs::Search(&[Paper])),
    ("explore", Needs::Search(&[Paper])),
    ("evict", Needs::Search(&[Paper])),
    ("restarts", Needs::Search(&[Hc])),
    ("perturb", Needs::Search(&[Hc])),
    ("sa_temperature", Needs::Search(&[Sa])),
    ("sa_cooling", Needs::Search(&[Sa])),
    ("sa_reheating", Needs::Search(&[Sa])),
    ("sa_reheats", Needs::Search(&[Sa])),
    ("ga_population", Needs::Search(&[Ga])),
    ("ga_tournament", Needs::Search(&[Ga])),
    ("ga_crossover", Needs::Search(&[Ga])),
    ("ga_mutation", Needs::Search(&[Ga])),
    ("ga_elite", Needs::Search(&[Ga])),
    ("iwo_initial", Needs::Search(&[Iwo])),
    ("iwo_maximum", Needs::Search(&[Iwo])),
    ("iwo_seeds", Needs::Search(&[Iwo])),
    ("iwo_spread_first", Needs::Search(&[Iwo])),
    ("iwo_spread_last", Needs::Search(&[Iwo])),
    ("iwo_generations", Needs::Search(&[Iwo])),
    ("ftta_population", Needs::Search(&[Ftta])),
    ("ftta_groups", Needs::Search(&[Ftta])),
    ("pso_swarm", Needs::Search(&[BncPso])),
    ("pso_generations", Needs::Search(&[BncPso])),
    ("around", Needs::Picture),
    (
        "as",
        Needs::Result(
            &[Json, Csv, Dot, GraphMl, Svg, Png, Pdf],
            "a JSON, edge list, DOT, GraphML or picture",
        ),
    ),
    ("portable_names", Needs::Result(&[Bif], "a BIF")),
    ("strict_names", Needs::Result(&[Bif], "a BIF")),
    (
        "alpha",
        Needs::Result(&[Bif, XmlBif, Json], "a BIF, XMLBIF or JSON"),
    ),
    ("format", Needs::UnknownEnding),
    ("checkpoint_every", Needs::Flag("state")),
    ("http_token", Needs::Flag("http")),
    ("rows_per_replicate", Needs::Replicates),
    ("without_replacement", Needs::Replicates),
    ("replicate_evaluations", Needs::Replicates),
    ("threshold", Needs::Replicates),
    ("keep_networks", Needs::Replicates),
];

/// The ids of the arguments that name results.
const RESULTS: [&str; 2] = ["output", "to"];

/// Returns a sentence about each flag of a command that was given and has no effect.
pub(crate) fn warnings((command, given): (&str, &ArgMatches)) -> Vec<String> {
    let is_known = |id: &str| given.try_contains_id(id).is_ok();
    let is_given =
        |id: &str| is_known(id) && given.value_source(id) == Some(ValueSource::CommandLine);
    TABLE
        .iter()
        .filter(|(id, _)| is_given(id))
        .filter_map(|(id, needs)| {
            let flag = format!("--{}", id.replace('_', "-"));
            Some(format!(
                "{flag} has no effect {}",
                missing(command, given, *needs)?
            ))
        })
        .collect()
}

/// Returns what stands in the way of an effect; none: nothing does.
fn missing(command: &str, given: &ArgMatches, needs: Needs) -> Option<String> {
    match needs {
        Needs::Score(wanted) => {
            let score = given.try_get_one::<ScoreName>("score").ok()??;
            (!wanted.contains(score)).then(|| format!("with --score {score}"))
        }
        Needs::Search(wanted) => {
            let search = given.try_get_one::<SearchName>("search").ok()??;
            let name = search.to_possible_value()?;
            (!wanted.contains(search)).then(|| format!("with --search {}", name.get_name()))
        }
        Needs::Result(wanted, name) => {
            let mut formats = formats(given);
            let is_there = formats.any(|format| format.is_none_or(|f| wanted.contains(&f)));
            (!is_there).then(|| format!("without {name} file among the results"))
        }
        Needs::Picture => {
            let mut others = paths(given).filter(|path| !is_report(path));
            let is_there = others.any(|path| {
                let format = Format::from_path(path).ok();
                format.is_none_or(|format| format.is_picture())
            });
            (!is_there).then(|| "without an SVG, PNG or PDF file among the results".to_owned())
        }
        Needs::UnknownEnding => {
            let is_open = formats(given).any(|format| format.is_none());
            (!is_open).then(|| "where the endings of the results name their formats".to_owned())
        }
        Needs::Flag(id) => {
            let is_there = given.try_contains_id(id).is_ok_and(|is_there| is_there);
            (!is_there).then(|| format!("without --{}", id.replace('_', "-")))
        }
        Needs::Replicates => {
            let has_some = ["bootstrap", "average"].contains(&command)
                || given.try_contains_id("replicates").is_ok_and(|given| given);
            (!has_some).then(|| "without --replicates".to_owned())
        }
    }
}

/// Returns the formats of the results that were asked for, as far as their endings tell.
fn formats(given: &ArgMatches) -> impl Iterator<Item = Option<Format>> + '_ {
    paths(given).map(|path| Format::from_path(path).ok())
}

/// Returns the files that results go to.
fn paths(given: &ArgMatches) -> impl Iterator<Item = &PathBuf> + '_ {
    let of = |id: &'static str| {
        let paths = given.try_get_many::<PathBuf>(id).ok().flatten();
        paths.into_iter().flatten()
    };
    RESULTS.into_iter().flat_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    fn told(line: &str) -> Vec<String> {
        let matches = Cli::command().get_matches_from(line.split_whitespace());
        warnings(matches.subcommand().unwrap())
    }

    #[test]
    fn flags_without_effect_are_told_and_others_are_not() {
        for (line, expected) in [
            (
                "learn t.csv --ess 10",
                "--ess has no effect with --score bic",
            ),
            (
                "learn t.csv --score bdeu --penalty-scale 2",
                "--penalty-scale has no effect with --score bdeu",
            ),
            (
                "learn t.csv --restarts 5",
                "--restarts has no effect with --search rlbayes",
            ),
            (
                "learn t.csv --search hc --sa-cooling 0.5",
                "--sa-cooling has no effect with --search hc",
            ),
            (
                "learn t.csv -o x.bif --around a",
                "--around has no effect without an SVG, PNG or PDF file among the results",
            ),
            (
                "learn t.csv -o x.html --around a",
                "--around has no effect without an SVG, PNG or PDF file among the results",
            ),
            (
                "learn t.csv -o x.svg --strict-names",
                "--strict-names has no effect without a BIF file among the results",
            ),
            (
                "convert a.bif b.svg --portable-names",
                "--portable-names has no effect without a BIF file among the results",
            ),
            (
                "convert a.bif b.xml --as cpdag",
                "--as has no effect without a JSON, edge list, DOT, GraphML or picture file among the results",
            ),
            (
                "learn t.csv -o x.bif --format json",
                "--format has no effect where the endings of the results name their formats",
            ),
            (
                "worker --coordinator x --checkpoint-every 1s",
                "--checkpoint-every has no effect without --state",
            ),
            (
                "learn t.csv --threshold 0.7",
                "--threshold has no effect without --replicates",
            ),
            (
                "coordinator --data t.csv --state s --rows-per-replicate 0.5",
                "--rows-per-replicate has no effect without --replicates",
            ),
        ] {
            assert_eq!(told(&format!("rlbayes {line}")), [expected], "{line}");
        }
        for line in [
            "learn t.csv",
            "learn t.csv --score bdeu --ess 10",
            "learn t.csv --search hc --restarts 5 --perturb 2",
            "learn t.csv -o x.svg --around a",
            "learn t.csv -o - --format svg --around a",
            "learn t.csv -o x.json --alpha 1",
            "learn t.csv -o x.html --as dag",
            "convert a.bif b.csv --as cpdag",
            "fit t.csv n.csv -o - --format xml --alpha 1",
            "score t.csv n.bif --score bdeu --ess 2",
            "learn t.csv --replicates 9 --threshold 0.7",
            "bootstrap t.csv --threshold 0.7 --keep-networks",
            "average a.bif --threshold 0.7",
        ] {
            let told = told(&format!("rlbayes {line}"));
            assert!(told.is_empty(), "{line}: {told:?}");
        }
    }

    /// A flag whose help begins with the name of a search belongs to that search.
    #[test]
    fn the_table_has_every_flag_that_belongs_to_a_search() {
        let program = Cli::command();
        let learn = program.find_subcommand("learn").unwrap();
        let ids: BTreeSet<String> = program
            .get_subcommands()
            .flat_map(|command| command.get_arguments())
            .map(|arg| arg.get_id().to_string())
            .collect();
        for (id, _) in TABLE {
            assert!(ids.contains(*id), "{id} is no flag");
        }
        let searches = SearchName::value_variants().iter();
        let names: Vec<String> = searches
            .map(|search| search.to_possible_value().unwrap().get_name().to_owned())
            .collect();
        let mut found = 0;
        for arg in learn.get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let Some((first, _)) = help.split_once(": ") else {
                continue;
            };
            if names.iter().any(|name| name == first) {
                found += 1;
                let id = arg.get_id().as_str();
                let (_, needs) = TABLE.iter().find(|(known, _)| *known == id).unwrap();
                let name = format!("{needs:?}").to_lowercase();
                assert!(name.contains(&first.replace('-', "")), "{id}: {needs:?}");
            }
        }
        assert!(found > 20, "{found}");
    }
}
