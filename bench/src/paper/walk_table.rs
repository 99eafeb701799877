//! Whether longer tables and more iterations help the printed walk, as the paper claims.

use super::contender::Contender;
use super::results::Results;
use super::trial::Trial;
use crate::report_table::Grid;
use crate::statistics::{mean, median, sign_test};

/// Writes the table and what it comes to; nothing where the walk ran with one table length only.
pub(super) fn walks(results: &Results) -> String {
    let networks: Vec<&str> = results
        .datasets
        .iter()
        .map(|dataset| dataset.network.as_str())
        .filter(|network| results.of(Contender::Paper100, network).next().is_some())
        .collect();
    if networks.is_empty() {
        return String::new();
    }
    let mut grid = Grid::new(&[
        "network",
        "MAX_LENGTH",
        "AUC at 10 %",
        "25 %",
        "50 %",
        "all iterations",
        "score, mean",
    ]);
    for &network in &networks {
        for walk in Contender::WALKS {
            let runs: Vec<&Trial> = results.of(walk, network).collect();
            let mut cells = vec![
                network.to_owned(),
                walk.table_rows().unwrap_or_default().to_string(),
            ];
            for share in [0.1, 0.25, 0.5, 1.0] {
                let middle = median(runs.iter().filter_map(|run| auc_after(run, share)));
                cells.push(middle.map_or("-".to_owned(), |auc| format!("{auc:.4}")));
            }
            let scores: Vec<f64> = runs.iter().map(|run| run.score).collect();
            cells.push(mean(&scores).map_or("-".to_owned(), |score| format!("{score:.1}")));
            grid.row(cells);
        }
    }
    let all = |walk| {
        networks
            .iter()
            .flat_map(move |&network| results.of(walk, network))
    };
    let mut text = grid.markdown();
    text += "\nMedians over seeds.\n";
    let lengths = || all(Contender::Paper100).zip(all(Contender::Paper));
    let scores = lengths().map(|(short, long)| (short.score, long.score));
    let aucs = lengths().map(|(short, long)| (short.metrics.auc, long.metrics.auc));
    text += &compared("MAX_LENGTH 1000 against 100, score", scores);
    text += &compared("MAX_LENGTH 1000 against 100, AUC", aucs);
    let longer = all(Contender::Paper).filter_map(|run| {
        let half = auc_after(run, 0.5)?;
        Some((half, run.metrics.auc))
    });
    text += &compared("all iterations against half of them, AUC", longer);
    text
}

/// Returns the AUC of the best network after a share of the iterations.
fn auc_after(run: &Trial, share: f64) -> Option<f64> {
    let until = share * run.iterations as f64;
    let passed = run
        .trajectory
        .iter()
        .take_while(|at| at.iterations as f64 <= until);
    passed.last().map(|at| at.auc)
}

/// Counts in how many pairs the second is higher, and how likely that is by chance.
fn compared(what: &str, pairs: impl Iterator<Item = (f64, f64)>) -> String {
    let (mut higher, mut lower, mut equal) = (0, 0, 0);
    for (before, after) in pairs {
        if after > before + 1e-9 {
            higher += 1;
        } else if after < before - 1e-9 {
            lower += 1;
        } else {
            equal += 1;
        }
    }
    let p = sign_test(higher, lower);
    format!(
        "- {what}: higher in {higher}, lower in {lower}, equal in {equal} (sign test p = {p:.3})\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, trial};
    use super::*;

    #[test]
    fn pairs_are_compared_by_seed_and_network() {
        let trials = vec![
            trial("asia", Contender::Paper100, 1, -9.0),
            trial("asia", Contender::Paper, 1, -8.0),
            trial("asia", Contender::Paper100, 2, -9.0),
            trial("asia", Contender::Paper, 2, -9.5),
        ];
        let text = walks(&results(trials, None));
        assert!(text.contains("score: higher in 1, lower in 1, equal in 0 (sign test p = 1.000)"));
        // Ways have an AUC of 0.51 from a tenth of the iterations on and of 0.6 at the end.
        assert!(
            text.contains("all iterations against half of them, AUC: higher in 2"),
            "{text}"
        );
        assert!(text.contains("| 0.5100 |"), "{text}");
    }

    #[test]
    fn one_length_is_no_comparison() {
        let alone = results(vec![trial("asia", Contender::Paper, 1, -8.0)], None);
        assert_eq!(walks(&alone), "");
    }
}
