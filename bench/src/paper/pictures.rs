//! Which pictures there are, and what each shows.

use super::contender::Contender;
use super::dot_plot::{self, DotLine, DotPanel};
use super::files::{self, Curve};
use super::line_plot::{self, Axis, Line, LinePanel, LinePicture, Scale};
use super::palette::colour;
use super::results::{Measure, Results, printed};
use crate::failure::Failure;
use crate::report_table::Grid;
use rlbayes_common::search::StoppedBy;

/// All pictures, and the curves that some of them show.
#[derive(Debug)]
pub(super) struct Pictures {
    /// The pictures.
    pub(super) all: Vec<Picture>,
    gap: Vec<Curve>,
    auc: Vec<Curve>,
}

/// A picture in a file.
#[derive(Debug)]
pub(super) struct Picture {
    /// The file's name.
    pub(super) file: &'static str,
    /// What it shows.
    pub(super) title: &'static str,
    /// The picture.
    pub(super) svg: String,
}

impl Pictures {
    /// Returns the curves as a table.
    pub(super) fn curves(&self) -> Grid {
        files::curves(&[
            ("gap", "evaluations", &self.gap),
            ("auc", "iterations", &self.auc),
        ])
    }
}

const F1_TITLE: &str = "F1 of directed edges: mean ± standard deviation (open: as printed)";
const AUC_TITLE: &str = "AUC: mean ± standard deviation (open: as printed)";
const GAP_TITLE: &str = "Nats below the best network known by local scores asked for";
const WALK_TITLE: &str = "AUC of the printed walk by iterations, for three lengths of its table";
const SIZE_TITLE: &str = "F1, AUC and nats below the best network known by nodes and by density";

/// Draws everything.
pub(super) fn draw(results: &Results) -> Result<Pictures, Failure> {
    let gap = gap_curves(results);
    let auc = walk_curves(results);
    let mut all = vec![
        Picture {
            file: "f1.svg",
            title: F1_TITLE,
            svg: dots(results, Measure::F1, F1_TITLE, 0.0)?,
        },
        Picture {
            file: "auc.svg",
            title: AUC_TITLE,
            svg: dots(results, Measure::Auc, AUC_TITLE, 0.4)?,
        },
        Picture {
            file: "score.svg",
            title: GAP_TITLE,
            svg: lines(&gap_picture(results, &gap))?,
        },
        Picture {
            file: "size.svg",
            title: SIZE_TITLE,
            svg: lines(&size_picture(results))?,
        },
    ];
    if !auc.is_empty() {
        all.push(Picture {
            file: "parameters.svg",
            title: WALK_TITLE,
            svg: lines(&walk_picture(results, &auc))?,
        });
    }
    Ok(Pictures { all, gap, auc })
}

fn lines(picture: &LinePicture) -> Result<String, Failure> {
    line_plot::draw(picture).map_err(Failure::Bug)
}

fn dots(results: &Results, measure: Measure, title: &str, from: f64) -> Result<String, Failure> {
    let panels: Vec<DotPanel> = results
        .datasets
        .iter()
        .map(|dataset| {
            let network = dataset.network.as_str();
            let line = |&search: &Contender| DotLine {
                name: search.name().to_owned(),
                colour: colour(search),
                ours: results
                    .summary(measure, search, network)
                    .map(|it| (it.mean, it.spread)),
                printed: printed(measure, search, network).map(|it| (it.mean, it.spread)),
            };
            DotPanel {
                title: network.to_owned(),
                lines: results.searches.iter().map(line).collect(),
            }
        })
        .collect();
    dot_plot::draw(title, &panels, from, 1.0).map_err(Failure::Bug)
}

/// The least gap that is drawn: less is drawn as this.
const LEAST_GAP: f64 = 0.1;

fn gap_curves(results: &Results) -> Vec<Curve> {
    let mut curves = Vec::new();
    for dataset in &results.datasets {
        let network = &dataset.network;
        let Some(best) = results.reference(network) else {
            continue;
        };
        let last = most(results, network, |trial| trial.evaluations);
        for &search in &results.searches {
            // A line ends where its search was stopped; one that ended by itself stays.
            let own_end = results
                .of(search, network)
                .map(|trial| match trial.stopped_by {
                    StoppedBy::Exhausted => last,
                    _ => trial.evaluations as f64,
                });
            let places = powers(10.0, own_end.fold(1.0, f64::max));
            let bands = results.bands(
                search,
                network,
                &places,
                |at| at.evaluations,
                |at| (best.score - at.score).max(0.0),
            );
            curves.push(Curve {
                network: network.clone(),
                search,
                bands,
            });
        }
    }
    curves
}

fn gap_picture(results: &Results, curves: &[Curve]) -> LinePicture {
    let panels = results
        .datasets
        .iter()
        .map(|dataset| {
            let own = || {
                curves
                    .iter()
                    .filter(|curve| curve.network == dataset.network)
            };
            let gaps = own()
                .flat_map(|curve| &curve.bands)
                .map(|band| band.quartiles[2]);
            let top = gaps.fold(10.0, f64::max);
            let last = most(results, &dataset.network, |trial| trial.evaluations);
            LinePanel {
                title: dataset.network.clone(),
                x: Axis {
                    name: "local scores asked for".to_owned(),
                    scale: Scale::Powers,
                    ends: (10.0, last.max(100.0)),
                },
                y: Axis {
                    name: format!("nats (≤ {LEAST_GAP} at the bottom)"),
                    scale: Scale::Powers,
                    ends: (LEAST_GAP, 10f64.powf(top.log10().ceil())),
                },
                lines: own().map(line).collect(),
            }
        })
        .collect();
    LinePicture {
        title: format!("{GAP_TITLE} (median and quartiles)"),
        columns: 3,
        panels,
    }
}

fn walk_curves(results: &Results) -> Vec<Curve> {
    let mut curves = Vec::new();
    for dataset in &results.datasets {
        let network = &dataset.network;
        let walks: Vec<Contender> = Contender::WALKS
            .into_iter()
            .filter(|&walk| results.of(walk, network).next().is_some())
            .collect();
        if walks.len() < 2 {
            continue;
        }
        let last = walks
            .iter()
            .flat_map(|&walk| results.of(walk, network))
            .map(|trial| trial.iterations)
            .max()
            .unwrap_or(1) as f64;
        let places: Vec<f64> = (1..=100).map(|at| last * f64::from(at) / 100.0).collect();
        for search in walks {
            let bands = results.bands(search, network, &places, |at| at.iterations, |at| at.auc);
            curves.push(Curve {
                network: network.clone(),
                search,
                bands,
            });
        }
    }
    curves
}

fn walk_picture(results: &Results, curves: &[Curve]) -> LinePicture {
    let mut panels = Vec::new();
    for dataset in &results.datasets {
        let own: Vec<&Curve> = curves
            .iter()
            .filter(|curve| curve.network == dataset.network)
            .collect();
        let bands = || own.iter().flat_map(|curve| &curve.bands);
        let Some(last) = bands().map(|band| band.at).max_by(f64::total_cmp) else {
            continue;
        };
        let low = bands().map(|band| band.quartiles[0]).fold(1.0, f64::min);
        let high = bands().map(|band| band.quartiles[2]).fold(0.0, f64::max);
        let lines = own.iter().map(|curve| {
            let rows = curve.search.table_rows().unwrap_or_default();
            Line {
                name: format!("MAX_LENGTH {rows}"),
                ..line(curve)
            }
        });
        panels.push(LinePanel {
            title: dataset.network.clone(),
            x: Axis {
                name: "iterations".to_owned(),
                scale: Scale::Even(0),
                ends: (0.0, last),
            },
            y: Axis {
                name: "AUC".to_owned(),
                scale: Scale::Even(2),
                ends: (low - 0.01, high + 0.01),
            },
            lines: lines.collect(),
        });
    }
    LinePicture {
        title: format!("{WALK_TITLE} (median and quartiles)"),
        columns: 3,
        panels,
    }
}

fn size_picture(results: &Results) -> LinePicture {
    let mut panels = Vec::new();
    let nodes = |at: usize| results.datasets[at].truth.nodes() as f64;
    let density = |at: usize| 100.0 * results.datasets[at].density();
    let sizes: [(&str, &dyn Fn(usize) -> f64); 2] =
        [("nodes", &nodes), ("density in percent", &density)];
    for (size, of) in sizes {
        for (title, measure, y) in [
            ("F1 of directed edges", Measure::F1, Scale::Even(1)),
            ("AUC", Measure::Auc, Scale::Even(1)),
            ("nats below the best known", Measure::Gap, Scale::Powers),
        ] {
            let mut order: Vec<usize> = (0..results.datasets.len()).collect();
            order.sort_by(|&a, &b| of(a).total_cmp(&of(b)));
            let lines: Vec<Line> = results
                .searches
                .iter()
                .map(|&search| Line {
                    name: search.name().to_owned(),
                    colour: colour(search),
                    points: order
                        .iter()
                        .filter_map(|&at| {
                            let network = &results.datasets[at].network;
                            let mean = results.summary(measure, search, network)?.mean;
                            Some((of(at), [mean; 3]))
                        })
                        .collect(),
                    dots: true,
                })
                .collect();
            let values = || lines.iter().flat_map(|line| &line.points);
            let top = values().map(|(_, [_, mean, _])| *mean).fold(1.0, f64::max);
            let largest = values().map(|(at, _)| *at).fold(1.0, f64::max);
            let ends = match measure {
                Measure::F1 => (0.0, 1.0),
                Measure::Auc => (0.4, 1.0),
                _ => (LEAST_GAP, 10f64.powf(top.max(10.0).log10().ceil())),
            };
            panels.push(LinePanel {
                title: title.to_owned(),
                x: Axis {
                    name: size.to_owned(),
                    scale: Scale::Even(0),
                    ends: (0.0, largest),
                },
                y: Axis {
                    name: String::new(),
                    scale: y,
                    ends,
                },
                lines,
            });
        }
    }
    LinePicture {
        title: SIZE_TITLE.to_owned(),
        columns: 3,
        panels,
    }
}

fn line(curve: &Curve) -> Line {
    Line {
        name: curve.search.name().to_owned(),
        colour: colour(curve.search),
        points: curve
            .bands
            .iter()
            .map(|band| (band.at, band.quartiles))
            .collect(),
        dots: false,
    }
}

fn most(results: &Results, network: &str, of: impl Fn(&super::trial::Trial) -> u64) -> f64 {
    let searches = results.searches.iter();
    let trials = searches.flat_map(|&search| results.of(search, network));
    trials.map(of).max().unwrap_or(1) as f64
}

/// Lists places from one number to another, twenty to a power of ten.
fn powers(from: f64, to: f64) -> Vec<f64> {
    let step = 10f64.powf(0.05);
    let mut places: Vec<f64> = std::iter::successors(Some(from), |at| Some(at * step))
        .take_while(|&at| at < to)
        .collect();
    places.push(to.max(from));
    places
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, trial};
    use super::*;

    #[test]
    fn the_figure_on_parameters_needs_walks_with_several_tables() {
        let mut trials = vec![
            trial("asia", Contender::Paper, 1, -9.0),
            trial("sachs", Contender::Paper, 1, -9.0),
        ];
        let files = |pictures: &Pictures| -> Vec<&str> {
            pictures.all.iter().map(|picture| picture.file).collect()
        };
        let few = draw(&results(trials.clone(), None)).unwrap();
        assert_eq!(files(&few), ["f1.svg", "auc.svg", "score.svg", "size.svg"]);
        trials.push(trial("asia", Contender::Paper100, 1, -9.0));
        let more = draw(&results(trials, None)).unwrap();
        let figure = more
            .all
            .iter()
            .find(|it| it.file == "parameters.svg")
            .unwrap();
        assert!(figure.svg.contains("MAX_LENGTH 100"));
        assert!(figure.svg.contains("asia") && !figure.svg.contains("sachs"));
        assert!(
            more.curves()
                .csv()
                .contains("asia,paper-100,auc,iterations,")
        );
    }

    #[test]
    fn lines_end_where_their_search_was_stopped() {
        let mut ended = trial("asia", Contender::Hc, 1, -9.0);
        ended.stopped_by = StoppedBy::Exhausted;
        let trials = vec![
            ended,
            trial("asia", Contender::Sa, 2, -9.0),
            trial("asia", Contender::Iwo, 9, -9.0),
        ];
        let curves = gap_curves(&results(trials, None));
        let end = |search| {
            let own = curves
                .iter()
                .find(|it| it.search == search && it.network == "asia");
            own.and_then(|curve| curve.bands.last()).map(|band| band.at)
        };
        assert_eq!(end(Contender::Sa), Some(200.0));
        assert_eq!(end(Contender::Iwo), Some(900.0));
        assert_eq!(end(Contender::Hc), Some(900.0));
    }

    #[test]
    fn places_grow_by_powers_up_to_the_end() {
        let places = powers(10.0, 1000.0);
        assert!((places[20] - 100.0).abs() < 1e-9);
        assert!((places.last().unwrap() - 1000.0).abs() < 1e-9);
        assert!(places.is_sorted());
    }
}
