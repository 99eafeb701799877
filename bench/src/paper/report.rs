//! `report.md`: the paper's tables with its values beside ours, the tables that it lacks, and what
//! the tests say.

use super::contender::Contender;
use super::printed;
use super::ranks::{Direction, Ranking, rank};
use super::results::{Measure, Results, Summary, printed};
use super::walk_table::walks;
use crate::report_table::Grid;

/// Writes the report below its heading.
pub(super) fn body(results: &Results, pictures: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let missing = results.wanted - results.trials.len();
    if missing > 0 {
        text += &format!(
            "**{missing} of {} runs are missing:** the same command continues with them.\n\n",
            results.wanted
        );
    }
    text += "## The networks (the paper's Table 1)\n\n";
    text += &networks(results).markdown();
    for (title, measure) in [
        ("Table 2: F1 of directed edges", Measure::F1),
        ("Table 3: AUC", Measure::Auc),
    ] {
        text += &format!("\n## {title}\n\n{BESIDE}\n\n");
        text += &beside_printed(results, measure).markdown();
    }
    text += "\n## What the paper's tables lack\n\n";
    text += &references(results);
    for (title, measure, digits) in [
        ("Score (BIC, higher is better)", Measure::Score, 1),
        ("Nats below the best network known", Measure::Gap, 1),
        (
            "Distance between the equivalence classes (SHD)",
            Measure::Shd,
            1,
        ),
        ("F1 of edges without direction", Measure::SkeletonF1, 3),
        ("Edges found", Measure::Edges, 1),
        ("Local scores asked for", Measure::Evaluations, 0),
        ("Seconds", Measure::Seconds, 2),
    ] {
        text += &format!("\n### {title}\n\n");
        text += &by_network(results, measure, digits).markdown();
    }
    text += "\n## Mean ranks\n\n";
    text += &ranks(results);
    let walks = walks(results);
    if !walks.is_empty() {
        text += "\n## Longer tables and more iterations (the paper's figure)\n\n";
        text += &walks;
    }
    text += "\n## By nodes and density\n\n";
    text += &by_size(results).markdown();
    text += "\n## Pictures\n\n";
    for (file, title) in pictures {
        text += &format!("![{title}]({file})\n\n");
    }
    text
}

const BESIDE: &str = "Mean ± standard deviation of the runs; in parentheses what the paper prints \
(mean ranks there: among its seven). The best of a column is bold.";

fn networks(results: &Results) -> Grid {
    let mut grid = Grid::new(&[
        "network",
        "nodes",
        "edges",
        "density",
        "paper: nodes",
        "edges",
        "density",
        "columns with one value",
    ]);
    for dataset in &results.datasets {
        let printed = printed::network(&dataset.network);
        let dash = || "-".to_owned();
        let constant = dataset.table.data().schema().variables().iter();
        let constant = constant.filter(|variable| variable.arity() == 1).count();
        grid.row([
            dataset.network.clone(),
            dataset.truth.nodes().to_string(),
            dataset.truth.edge_count().to_string(),
            format!("{:.3} %", 100.0 * dataset.density()),
            printed.map_or_else(dash, |it| it.nodes.to_string()),
            printed.map_or_else(dash, |it| it.edges.to_string()),
            printed.map_or_else(dash, |it| format!("{} %", it.density)),
            constant.to_string(),
        ]);
    }
    grid
}

/// A table in the shape of the paper's: searches down, networks across, mean ranks last.
fn beside_printed(results: &Results, measure: Measure) -> Grid {
    let mut head = vec![String::new()];
    head.extend(results.datasets.iter().map(|it| it.network.clone()));
    head.push("mean rank".to_owned());
    let mut grid = Grid::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    let ours = results.ranking(measure);
    let theirs = printed_ranking(results, measure);
    for (at, &search) in results.searches.iter().enumerate() {
        let mut cells = vec![search.name().to_owned()];
        for dataset in &results.datasets {
            let network = dataset.network.as_str();
            let mut cell = match results.summary(measure, search, network) {
                Some(own) if is_best(results, measure, own, network) => {
                    format!("**{}**", plus_minus(own, 4))
                }
                Some(own) => plus_minus(own, 4),
                None => "-".to_owned(),
            };
            if let Some(it) = printed(measure, search, network) {
                cell += &format!(" ({:.4} ± {:.4})", it.mean, it.spread);
            }
            cells.push(cell);
        }
        let mut cell = ours
            .as_ref()
            .map_or("-".to_owned(), |it| format!("{:.2}", it.mean_ranks[at]));
        let printed_rank = theirs.as_ref().and_then(|(searches, ranking)| {
            let at = searches.iter().position(|&it| it == search)?;
            Some(ranking.mean_ranks[at])
        });
        if let Some(rank) = printed_rank {
            cell += &format!(" ({rank:.2})");
        }
        cells.push(cell);
        grid.row(cells);
    }
    grid
}

/// Ranks the searches by the printed means; among the printed ones alone.
fn printed_ranking(results: &Results, measure: Measure) -> Option<(Vec<Contender>, Ranking)> {
    let searches: Vec<Contender> = Contender::USUAL
        .into_iter()
        .filter(|&search| printed(measure, search, "asia").is_some())
        .collect();
    let blocks: Vec<Vec<f64>> = results
        .datasets
        .iter()
        .filter_map(|dataset| {
            searches
                .iter()
                .map(|&search| Some(printed(measure, search, &dataset.network)?.mean))
                .collect()
        })
        .collect();
    let ranking = rank(&blocks, measure.direction())?;
    Some((searches, ranking))
}

fn is_best(results: &Results, measure: Measure, own: Summary, network: &str) -> bool {
    results.searches.iter().all(|&search| {
        results
            .summary(measure, search, network)
            .is_none_or(|other| match measure.direction() {
                Direction::HigherIsBetter => other.mean <= own.mean,
                Direction::LowerIsBetter => other.mean >= own.mean,
            })
    })
}

fn plus_minus(summary: Summary, digits: usize) -> String {
    format!("{:.digits$} ± {:.digits$}", summary.mean, summary.spread)
}

fn by_network(results: &Results, measure: Measure, digits: usize) -> Grid {
    let mut head = vec![""];
    head.extend(results.datasets.iter().map(|it| it.network.as_str()));
    let mut grid = Grid::new(&head);
    for &search in &results.searches {
        let mut cells = vec![search.name().to_owned()];
        for dataset in &results.datasets {
            let network = dataset.network.as_str();
            let judged = !matches!(
                measure,
                Measure::Edges | Measure::Evaluations | Measure::Seconds
            );
            cells.push(match results.summary(measure, search, network) {
                Some(own) if judged && is_best(results, measure, own, network) => {
                    format!("**{}**", plus_minus(own, digits))
                }
                Some(own) => plus_minus(own, digits),
                None => "-".to_owned(),
            });
        }
        grid.row(cells);
    }
    grid
}

/// Says what gaps are measured from.
fn references(results: &Results) -> String {
    let mut grid = Grid::new(&[
        "table",
        "best known",
        "proven",
        "score of the generating network",
    ]);
    for dataset in &results.datasets {
        let Some(reference) = results.reference(&dataset.network) else {
            continue;
        };
        grid.row([
            dataset.network.clone(),
            format!("{:.3}", reference.score),
            if reference.proven {
                "yes"
            } else {
                "no: the best of all runs here"
            }
            .to_owned(),
            format!("{:.3}", dataset.truth_score()),
        ]);
    }
    grid.markdown()
}

fn ranks(results: &Results) -> String {
    let measures = [
        ("F1", Measure::F1),
        ("AUC", Measure::Auc),
        ("score", Measure::Score),
        ("SHD of classes", Measure::Shd),
        ("skeleton F1", Measure::SkeletonF1),
    ];
    let rankings: Vec<(&str, Ranking)> = measures
        .into_iter()
        .filter_map(|(name, measure)| Some((name, results.ranking(measure)?)))
        .collect();
    if rankings.is_empty() {
        return "Ranks need at least two searches and two networks.\n".to_owned();
    }
    let mut head = vec![""];
    head.extend(rankings.iter().map(|(name, _)| *name));
    let mut grid = Grid::new(&head);
    for (at, search) in results.searches.iter().enumerate() {
        let ranks = rankings
            .iter()
            .map(|(_, it)| format!("{:.2}", it.mean_ranks[at]));
        grid.row(std::iter::once(search.name().to_owned()).chain(ranks));
    }
    let row = |name: &str, cell: &dyn Fn(&Ranking) -> String| {
        let cells: Vec<String> = rankings.iter().map(|(_, it)| cell(it)).collect();
        std::iter::once(name.to_owned())
            .chain(cells)
            .collect::<Vec<_>>()
    };
    grid.row(row("Friedman chi²", &|it| format!("{:.2}", it.statistic)));
    grid.row(row("p", &|it| probability(it.p)));
    grid.row(row("Nemenyi's difference", &|it| {
        it.critical_difference
            .map_or("-".to_owned(), |it| format!("{it:.2}"))
    }));
    let mut text = grid.markdown();
    text += "\nRanks are those of the means on each network (1 is best), averaged over networks. \
             Friedman's p is the chance of such ranks if all searches were alike; two searches \
             differ at 5 % if their mean ranks differ by Nemenyi's difference or more. With few \
             networks the test sees only large differences.\n";
    for (name, ranking) in &rankings {
        text += &differing(name, ranking, &results.searches);
    }
    for (name, measure) in [("F1", Measure::F1), ("AUC", Measure::Auc)] {
        if let Some((searches, ranking)) = printed_ranking(results, measure) {
            let name = format!(
                "{name} as the paper prints it (its seven alone, p = {})",
                probability(ranking.p)
            );
            text += &differing(&name, &ranking, &searches);
        }
    }
    text
}

/// Lists the pairs whose ranks differ enough, by the better one.
fn differing(name: &str, ranking: &Ranking, searches: &[Contender]) -> String {
    let Some(least) = ranking.critical_difference else {
        return String::new();
    };
    let mut order: Vec<usize> = (0..searches.len()).collect();
    order.sort_by(|&a, &b| ranking.mean_ranks[a].total_cmp(&ranking.mean_ranks[b]));
    let mut sentences = Vec::new();
    for &better in &order {
        let worse: Vec<&str> = order
            .iter()
            .filter(|&&other| ranking.mean_ranks[other] - ranking.mean_ranks[better] >= least)
            .map(|&other| searches[other].name())
            .collect();
        if !worse.is_empty() {
            sentences.push(format!(
                "{} over {}",
                searches[better].name(),
                worse.join(", ")
            ));
        }
    }
    if sentences.is_empty() {
        sentences.push("no two differ".to_owned());
    }
    format!("- {name}: {}\n", sentences.join("; "))
}

fn probability(p: f64) -> String {
    if p < 0.0001 {
        format!("{p:.1e}")
    } else {
        format!("{p:.4}")
    }
}

/// F1, AUC and gap by network, fewest nodes first: the paper's third question.
fn by_size(results: &Results) -> Grid {
    let mut head = vec![
        "network".to_owned(),
        "nodes".to_owned(),
        "density".to_owned(),
    ];
    let shown: Vec<Contender> = results
        .searches
        .iter()
        .copied()
        .filter(|search| {
            matches!(
                search,
                Contender::Paper | Contender::Hc | Contender::Rlbayes
            )
        })
        .collect();
    let shown = if shown.is_empty() {
        results.searches.clone()
    } else {
        shown
    };
    for name in ["F1", "AUC", "gap"] {
        head.extend(
            shown
                .iter()
                .map(|search| format!("{name}, {}", search.name())),
        );
    }
    let mut grid = Grid::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    let mut order: Vec<_> = results.datasets.iter().collect();
    order.sort_by_key(|dataset| dataset.truth.nodes());
    for dataset in order {
        let mut cells = vec![
            dataset.network.clone(),
            dataset.truth.nodes().to_string(),
            format!("{:.3} %", 100.0 * dataset.density()),
        ];
        for (measure, digits) in [(Measure::F1, 3), (Measure::Auc, 3), (Measure::Gap, 1)] {
            for &search in &shown {
                let summary = results.summary(measure, search, &dataset.network);
                cells.push(summary.map_or("-".to_owned(), |it| format!("{:.digits$}", it.mean)));
            }
        }
        grid.row(cells);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, trial};
    use super::*;

    #[test]
    fn printed_values_stand_beside_ours_and_the_best_is_bold() {
        let mut good = trial("asia", Contender::Hc, 1, -5.0);
        good.metrics.f1_directed = 0.75;
        let results = results(vec![good, trial("asia", Contender::Ga, 1, -9.0)], None);
        let text = beside_printed(&results, Measure::F1).markdown();
        assert!(
            text.contains("**0.7500 ± 0.0000** (0.5350 ± 0.2094)"),
            "{text}"
        );
        assert!(
            text.contains(" 0.5000 ± 0.0000 (0.3462 ± 0.1438)"),
            "{text}"
        );
    }

    #[test]
    fn a_report_of_part_of_the_runs_says_so() {
        let mut part = results(vec![trial("asia", Contender::Hc, 1, -5.0)], None);
        part.wanted = 4;
        let text = body(&part, &[("f1.svg", "F1")]);
        assert!(text.starts_with("**3 of 4 runs are missing:**"));
        assert!(text.contains("| asia") && text.contains("14.286 %") && text.contains("14.28 %"));
        assert!(text.contains("![F1](f1.svg)"));
    }

    #[test]
    fn pairs_that_differ_are_named_by_the_better_one() {
        let ranking = Ranking {
            mean_ranks: vec![3.0, 1.0, 1.8],
            statistic: 9.0,
            p: 0.01,
            critical_difference: Some(1.5),
        };
        let searches = [Contender::Ga, Contender::Rlbayes, Contender::Hc];
        assert_eq!(
            differing("F1", &ranking, &searches),
            "- F1: rlbayes over ga\n"
        );
    }
}
