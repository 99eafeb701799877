//! `-o report.html`: the result of `learn` as one page that a browser opens without the network.

use crate::directions::{Directions, ONE_MEMBER};
use crate::failure::Failure;
use crate::prove::sentence;
use crate::provenance::about;
use crate::support_report::{self, IN_SHORT};
use crate::target::Target;
use crate::units::{counted, show_time};
use rlbayes::{Outcome, Support, SupportTable, Table};
use rlbayes_common::fit::fit;
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::io::report::{Report, report_html, state_counts};
use rlbayes_common::io::viewer::NetworkView;
use rlbayes_common::network::{NamedDag, NetworkFile};
use std::path::{Path, PathBuf};

/// Whether a result is a report, by its ending.
pub(crate) fn is_report(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    matches!(ending.to_lowercase().as_str(), "html" | "htm")
}

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learned<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) support: Option<&'a Support>,
    /// The class that is shown; none: the network alone.
    pub(crate) class: Option<&'a Cpdag>,
    /// What is added to every count of the tables.
    pub(crate) alpha: f64,
    /// What was said while the table was read.
    pub(crate) warnings: &'a [String],
    /// The command that repeats it, if it was made by one.
    pub(crate) command: Option<&'a str>,
}

/// Returns the support of edges as pages show it: dashed below the threshold of its request.
pub(crate) fn shown_support(support: &Support) -> (&SupportTable, f64) {
    (support.table(), support.request().threshold())
}

/// Checks the places of reports.
pub(crate) fn reports(paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    let paths = paths.iter().filter(|path| is_report(path));
    paths.map(|path| Target::new(path)).collect()
}

/// Writes the page.
pub(crate) fn html(learned: &Learned<'_>) -> String {
    let outcome = learned.outcome;
    let request = outcome.request();
    let table = request.table();
    let found = outcome.found();
    // Tables that are too large for probabilities still have a structure to show.
    let network = fit(table.data(), &found.dag, learned.alpha).map_or_else(
        |_| NetworkFile::Structure(NamedDag::of(table.data().schema(), found.dag.clone())),
        NetworkFile::Parametrised,
    );
    let mut facts = vec![
        ("Rows", table.rows().to_string()),
        ("Variables", table.data().nodes().to_string()),
        ("Edges", found.dag.edge_count().to_string()),
        (
            "Score",
            format!(
                "{:.3} ({}, natural logarithm)",
                outcome.score(),
                request.score_name()
            ),
        ),
    ];
    if let Some(proof) = outcome.proof() {
        facts.push(("Proof", sentence(proof)));
    } else if let Some(gap) = outcome.gap().filter(|_| !outcome.is_proven()) {
        facts.push((
            "Bound",
            format!("at most {gap:.3} nats below the best possible"),
        ));
    }
    let (at, all) = (show_time(outcome.best_at()), show_time(outcome.elapsed()));
    let why = outcome.stopped_by().in_words();
    facts.push(("Found after", format!("{at} of {all} ({why})")));
    facts.push((
        "Search",
        format!(
            "{}, {} on {}, seed {}",
            request.algorithm_name(),
            counted(request.chains(), "chain"),
            counted(request.threads(), "thread"),
            request.seed()
        ),
    ));
    if let Some(support) = learned.support {
        facts.push((
            "Support",
            format!(
                "share of {} that have the edge: {IN_SHORT}",
                counted(support.replicates(), "resampled table")
            ),
        ));
    }
    let notes = about(request, outcome.score(), learned.alpha);
    let shown = ["score", "score_name", "rows", "table"];
    for (name, text) in notes.facts().filter(|(name, _)| !shown.contains(name)) {
        let name = match name {
            "alpha" => "Added to every count",
            "ess" => "Equivalent sample size",
            "forbidden_edges" => "Forbidden edges",
            "max_parents" => "Most parents of a node",
            "penalty_scale" => "Scale of the penalty",
            "program" => "Program",
            "required_edges" => "Required edges",
            "table_fingerprint" => "Fingerprint of the table",
            "tiers" => "Tiers",
            name => name,
        };
        facts.push((name, text.to_owned()));
    }
    let mut warnings = learned.warnings.to_vec();
    warnings.extend(cautions(table, &found.dag));
    if let Some(support) = learned.support {
        warnings.extend(support_report::cautions(support));
    }
    let curve = outcome.trace();
    let curve = curve
        .iter()
        .map(|point| (point.time.as_secs_f64(), point.score));
    report_html(&Report {
        title: table.name(),
        view: NetworkView {
            network: &network,
            class: learned.class,
            worths: Some(&found.gains),
            support: learned.support.map(shown_support),
        },
        table: table.data(),
        facts,
        warnings,
        directions: match learned.class {
            Some(_) => Directions::of(outcome).on_page(),
            None => ONE_MEMBER,
        },
        curve: curve.collect(),
        searched: (
            outcome.elapsed().as_secs_f64(),
            show_time(outcome.elapsed()),
        ),
        command: learned.command,
    })
}

/// Says where probabilities rest on few rows: many parameters, rare states.
fn cautions(table: &Table, dag: &Dag) -> Vec<String> {
    const FEW_ROWS: usize = 5;
    const FEW_PER_PARAMETER: f64 = 5.0;
    let data = table.data();
    let mut said = Vec::new();
    let parameters: f64 = NodeIdx::all(data.nodes())
        .map(|node| {
            let states = |node: NodeIdx| as_float(data.schema().variable(node).arity());
            let configurations: f64 = dag
                .parents(node)
                .iter()
                .map(|&parent| states(parent))
                .product();
            configurations * (states(node) - 1.0)
        })
        .sum();
    let rows = as_float(table.rows());
    if parameters > 0.0 && rows / parameters < FEW_PER_PARAMETER {
        said.push(format!(
            "{:.1} rows for each of the {parameters:.0} probabilities that were counted: many rest on few rows (--alpha smooths them)",
            rows / parameters
        ));
    }
    let mut rare = Vec::new();
    for node in NodeIdx::all(data.nodes()) {
        let variable = data.schema().variable(node);
        let counts = state_counts(data, node);
        let few = counts.iter().filter(|&&count| count < FEW_ROWS).count();
        if few > 0 {
            rare.push(format!("{} ({few})", variable.name()));
        }
    }
    if !rare.is_empty() {
        let names: Vec<&str> = rare.iter().map(String::as_str).collect();
        said.push(format!(
            "columns with states that fewer than {FEW_ROWS} rows have, and how many: {}",
            crate::args::shorten(&names)
        ));
    }
    said
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn as_float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_told_by_their_ending() {
        assert!(is_report(Path::new("a/report.HTML")) && is_report(Path::new("x.htm")));
        assert!(!is_report(Path::new("html")) && !is_report(Path::new("x.bif")));
    }
}
