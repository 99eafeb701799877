//! Gap against time as a picture: one panel per table, one thin step line per run, a thick one for
//! their median, both axes logarithmic and the same in all panels.

use crate::statistics::median;
use plotters::prelude::*;

/// The runs of one table.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The table's name.
    pub(crate) title: String,
    /// Records of each run: (seconds, gap).
    pub(crate) runs: Vec<Vec<(f64, f64)>>,
}

/// Gaps up to this are drawn as this: the tolerance within which an optimum counts as reached.
const FLOOR: f64 = 0.001;
/// Times up to this are drawn as this: one tick of the processor clock.
const FIRST: f64 = 0.01;
const PANEL: (u32, u32) = (400, 270);
/// Short enough for a picture of one panel.
const TITLE: &str = "Nats below the best network known";
/// What the horizontal axis of each panel shows.
const SECONDS: &str = "processor seconds (thick: median of the runs)";

/// Draws the panels as SVG.
pub(crate) fn draw(panels: &[Panel], seconds: f64) -> Result<String, String> {
    let columns = panels.len().clamp(1, 3);
    let rows = panels.len().div_ceil(columns).max(1);
    let times = || panels.iter().flat_map(|panel| panel.runs.iter().flatten());
    let end = times().map(|&(at, _)| at).fold(seconds.max(1.0), f64::max);
    let top = times().map(|&(_, gap)| gap).fold(10.0, f64::max);
    let top = 10f64.powf(top.log10().ceil());
    let mut svg = String::new();
    {
        let width = PANEL.0 * u32::try_from(columns).unwrap_or(1);
        let height = PANEL.1 * u32::try_from(rows).unwrap_or(1) + 50;
        let root = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(|error| error.to_string())?;
        let root = root
            .titled(TITLE, ("sans-serif", 16))
            .map_err(|error| error.to_string())?;
        for (panel, area) in panels.iter().zip(root.split_evenly((rows, columns))) {
            draw_panel(panel, &area, end, top).map_err(|error| error.to_string())?;
        }
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_panel<'a>(
    panel: &Panel,
    area: &Area<'a>,
    end: f64,
    top: f64,
) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let mut chart = ChartBuilder::on(area)
        .caption(shortened(&panel.title), ("sans-serif", 15))
        .margin(8)
        .margin_right(16)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(
            // A little more room, so that the lowest marks are labelled and lines seen.
            (0.9 * FIRST..end).log_scale(),
            (0.6 * FLOOR..top * 1.01).log_scale(),
        )?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_labels(6)
        .y_labels(8)
        .label_style(("sans-serif", 12))
        .x_label_formatter(&|&at| power(at))
        .y_label_formatter(&|&gap| {
            if gap <= FLOOR * 1.0001 {
                format!("≤ {}", power(gap))
            } else {
                power(gap)
            }
        })
        .x_desc(SECONDS)
        .axis_desc_style(("sans-serif", 12))
        .draw()?;
    for run in &panel.runs {
        let style = RGBColor(110, 150, 200).stroke_width(1);
        chart.draw_series(LineSeries::new(steps(run, end), style))?;
    }
    let style = RGBColor(200, 50, 30).stroke_width(3);
    chart.draw_series(LineSeries::new(steps(&middle(&panel.runs), end), style))?;
    Ok(())
}

/// Cuts a name that is longer than its panel is wide.
fn shortened(name: &str) -> String {
    const LETTERS: usize = 48;
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    let kept: String = name.chars().take(LETTERS - 1).collect();
    kept + "…"
}

/// Writes a power of ten, and nothing for what lies between.
fn power(value: f64) -> String {
    let exponent = value.log10();
    let whole = exponent.round();
    if (exponent - whole).abs() > 1e-6 {
        String::new()
    } else {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few digits"
        )]
        let digits = (-whole).max(0.0) as usize;
        format!("{value:.digits$}")
    }
}

/// Turns records into the corners of a step line up to the end.
fn steps(records: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for &(at, gap) in records {
        let at = at.max(FIRST);
        let gap = gap.max(FLOOR);
        if let Some(&(_, before)) = corners.last() {
            corners.push((at, before));
        }
        corners.push((at, gap));
    }
    if let Some(&(_, last)) = corners.last() {
        corners.push((end, last));
    }
    corners
}

/// Returns the median of the runs' gaps at each time that one of them changes; runs without a
/// record yet count as infinitely far.
fn middle(runs: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut times: Vec<f64> = runs.iter().flatten().map(|&(at, _)| at).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let gap_at = |run: &[(f64, f64)], time: f64| {
        let passed = run.iter().take_while(|&&(at, _)| at <= time);
        passed.last().map_or(f64::INFINITY, |&(_, gap)| gap)
    };
    times
        .into_iter()
        .filter_map(|time| Some((time, median(runs.iter().map(|run| gap_at(run, time)))?)))
        .filter(|(_, gap)| gap.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg_bounds::texts_outside;

    #[test]
    fn the_median_line_waits_for_half_of_the_runs() {
        let runs = [
            vec![(1.0, 10.0), (4.0, 0.0)],
            vec![(2.0, 20.0)],
            vec![(3.0, 5.0)],
        ];
        assert_eq!(middle(&runs), [(2.0, 20.0), (3.0, 10.0), (4.0, 5.0)]);
    }

    #[test]
    fn steps_stay_level_until_the_next_record() {
        let corners = steps(&[(0.0, 10.0), (2.0, -1.0)], 5.0);
        assert_eq!(
            corners,
            [(FIRST, 10.0), (2.0, 10.0), (2.0, FLOOR), (5.0, FLOOR)]
        );
        assert!(steps(&[], 5.0).is_empty());
    }

    #[test]
    fn a_picture_names_its_tables() {
        let panel = Panel {
            title: "alarm_n1000_s1".into(),
            runs: vec![vec![(0.1, 100.0), (1.0, 0.0)]],
        };
        let svg = draw(&[panel], 60.0).unwrap();
        assert!(svg.contains("alarm_n1000_s1") && svg.contains("</svg>"));
        assert!(draw(&[], 60.0).is_ok());
    }

    #[test]
    fn no_text_leaves_the_committed_pictures() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/results/targets");
        let mut pictures = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "svg") {
                let svg = std::fs::read_to_string(&path).unwrap();
                assert_eq!(texts_outside(&svg), Vec::<String>::new(), "{path:?}");
                assert!(svg.contains(TITLE) && svg.contains(SECONDS));
                pictures += 1;
            }
        }
        assert!(pictures > 0);
    }

    #[test]
    fn no_text_leaves_a_picture_whatever_the_number_of_panels() {
        for panels in 1..=5 {
            let panel = Panel {
                title: "a_table_with_a_name_that_is_much_longer_than_its_panel_n10000_s1".into(),
                runs: vec![vec![(0.1, 100.0), (1.0, 0.0)]],
            };
            let svg = draw(&vec![panel; panels], 120.0).unwrap();
            assert_eq!(texts_outside(&svg), Vec::<String>::new(), "{panels}");
            assert!(svg.contains("a_table_with_a_name"));
        }
    }
}
