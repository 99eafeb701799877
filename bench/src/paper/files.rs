//! The runs as programs read them: `runs.csv` without any clock in it, `timings.csv`, and
//! `curves.csv` with the quartiles that the pictures show.

use super::contender::Contender;
use super::results::{Band, Results};
use crate::report_table::Grid;

/// Lists the runs by network, search and seed: same seeds, same bytes.
pub(super) fn runs(results: &Results) -> Grid {
    let mut grid = Grid::new(&[
        "network",
        "rows",
        "table",
        "data_seed",
        "search",
        "seed",
        "iterations",
        "evaluations",
        "stopped_by",
        "score",
        "edges",
        "f1",
        "auc",
        "f1_skeleton",
        "shd_cpdag",
    ]);
    for dataset in &results.datasets {
        for trial in of_network(results, &dataset.network) {
            let metrics = &trial.metrics;
            grid.row([
                dataset.network.clone(),
                dataset.table.rows().to_string(),
                dataset.origin.name().to_owned(),
                dataset.origin.seed().to_string(),
                trial.key.search.name().to_owned(),
                trial.key.seed.to_string(),
                trial.iterations.to_string(),
                trial.evaluations.to_string(),
                trial.stopped_by.as_str().to_owned(),
                trial.score.to_string(),
                trial.edges.to_string(),
                metrics.f1_directed.to_string(),
                metrics.auc.to_string(),
                metrics.f1_skeleton.to_string(),
                metrics.shd_cpdag.to_string(),
            ]);
        }
    }
    grid
}

/// Lists how long each run took.
pub(super) fn timings(results: &Results) -> Grid {
    let mut grid = Grid::new(&["network", "search", "seed", "seconds"]);
    for dataset in &results.datasets {
        for trial in of_network(results, &dataset.network) {
            grid.row([
                dataset.network.clone(),
                trial.key.search.name().to_owned(),
                trial.key.seed.to_string(),
                format!("{:.3}", trial.seconds),
            ]);
        }
    }
    grid
}

/// A search's quartiles on a network, by evaluations or iterations.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// The network.
    pub(super) network: String,
    /// The search.
    pub(super) search: Contender,
    /// The quartiles.
    pub(super) bands: Vec<Band>,
}

/// Lists the curves of the pictures: what they show, against what.
pub(super) fn curves(named: &[(&str, &str, &[Curve])]) -> Grid {
    let mut grid = Grid::new(&[
        "network",
        "search",
        "value",
        "against",
        "at",
        "quartile1",
        "median",
        "quartile3",
    ]);
    for &(value, against, curves) in named {
        for curve in curves {
            for band in &curve.bands {
                let [low, middle, high] = band.quartiles;
                grid.row([
                    curve.network.clone(),
                    curve.search.name().to_owned(),
                    value.to_owned(),
                    against.to_owned(),
                    format!("{:.0}", band.at),
                    format!("{low:.4}"),
                    format!("{middle:.4}"),
                    format!("{high:.4}"),
                ]);
            }
        }
    }
    grid
}

fn of_network<'a>(
    results: &'a Results,
    network: &'a str,
) -> impl Iterator<Item = &'a super::trial::Trial> {
    results
        .trials
        .values()
        .filter(move |trial| trial.key.network == network)
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, trial};
    use super::*;

    #[test]
    fn runs_are_sorted_and_know_no_clock() {
        let mut slow = trial("asia", Contender::Ga, 2, -3.5);
        let fast = slow.clone();
        slow.seconds = 100.0;
        let others = [
            trial("asia", Contender::Ga, 1, -4.0),
            trial("asia", Contender::Paper, 1, -4.0),
            trial("sachs", Contender::Ga, 1, -9.0),
        ];
        let of = |run| {
            let mut all = vec![run];
            all.extend(others.iter().rev().cloned());
            results(all, None)
        };
        let text = runs(&of(slow.clone())).csv();
        assert_eq!(text, runs(&of(fast.clone())).csv());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines[1],
            "asia,20,sampled,1,ga,2,200,200,evaluations,-3.5,5,0.5,0.6,0.7,4"
        );
        let starts = ["asia,20,sampled,1,ga,1", "asia,20,sampled,1,ga,2"];
        assert!(
            lines
                .iter()
                .zip(starts)
                .all(|(line, start)| line.starts_with(start))
        );
        assert!(lines[3].starts_with("sachs"));
        assert_ne!(timings(&of(slow)).csv(), timings(&of(fast)).csv());
    }
}
