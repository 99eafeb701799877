//! Means with their spreads: one panel a network, one line a search, ours as a full dot and what
//! the paper prints as an open one below it.

use super::palette::{Area, DrawError};
use plotters::element::PathElement;
use plotters::prelude::*;

/// A network's panel.
#[derive(Clone, Debug)]
pub(super) struct DotPanel {
    /// What stands above it.
    pub(super) title: String,
    /// The lines, from top to bottom.
    pub(super) lines: Vec<DotLine>,
}

/// A search's line.
#[derive(Clone, Debug)]
pub(super) struct DotLine {
    /// The search.
    pub(super) name: String,
    /// Its colour.
    pub(super) colour: RGBColor,
    /// Our mean and spread.
    pub(super) ours: Option<(f64, f64)>,
    /// The paper's.
    pub(super) printed: Option<(f64, f64)>,
}

const WIDTH: u32 = 400;
const LINE: u32 = 30;
const AROUND: u32 = 70;

/// Draws the panels as SVG, three in a row, all with the same scale.
pub(super) fn draw(title: &str, panels: &[DotPanel], from: f64, to: f64) -> Result<String, String> {
    let columns = panels.len().clamp(1, 3);
    let rows = panels.len().div_ceil(columns).max(1);
    let lines = panels.iter().map(|panel| panel.lines.len()).max();
    let lines = u32::try_from(lines.unwrap_or(0)).unwrap_or(0);
    let width = WIDTH * u32::try_from(columns).unwrap_or(1);
    let height = (LINE * lines + AROUND) * u32::try_from(rows).unwrap_or(1) + 40;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(|error| error.to_string())?;
        let root = root
            .titled(title, ("sans-serif", 17))
            .map_err(|error| error.to_string())?;
        for (panel, area) in panels.iter().zip(root.split_evenly((rows, columns))) {
            draw_panel(panel, &area, from, to).map_err(|error| error.to_string())?;
        }
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(svg)
}

fn draw_panel(panel: &DotPanel, area: &Area<'_>, from: f64, to: f64) -> Result<(), DrawError> {
    let count = i32::try_from(panel.lines.len())?;
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 15))
        .margin(8)
        .margin_right(18)
        .x_label_area_size(26)
        .y_label_area_size(84)
        .build_cartesian_2d(from..to, count..-1)
        .map_err(|error| error.to_string())?;
    let name = |&at: &i32| {
        let line = usize::try_from(at).ok().and_then(|at| panel.lines.get(at));
        line.map_or(String::new(), |line| line.name.clone())
    };
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(RGBColor(228, 228, 228))
        .x_labels(6)
        .y_labels(panel.lines.len() + 2)
        .label_style(("sans-serif", 13))
        .x_label_formatter(&|value| format!("{value:.1}"))
        .y_label_formatter(&name)
        .draw()
        .map_err(|error| error.to_string())?;
    let grey = RGBColor(130, 130, 130);
    for (line, at) in panel.lines.iter().zip(0i32..) {
        for (value, below, colour) in [(line.ours, -4, line.colour), (line.printed, 5, grey)] {
            let Some((mean, spread)) = value else {
                continue;
            };
            let ends = [mean - spread, mean + spread].map(|end| end.clamp(from, to));
            let middle = mean.clamp(from, to);
            let place = |x: f64| {
                let (x, y) = chart.backend_coord(&(x, at));
                (x, y + below)
            };
            let whisker = vec![place(ends[0]), place(ends[1])];
            let dot = if below < 0 {
                Circle::new(place(middle), 4, colour.filled())
            } else {
                Circle::new(place(middle), 4, colour.stroke_width(1))
            };
            // Pixels of the whole picture: the panel's area begins elsewhere.
            let root = area.strip_coord_spec();
            let (left, top) = (
                area.get_pixel_range().0.start,
                area.get_pixel_range().1.start,
            );
            let moved = |(x, y): (i32, i32)| (x - left, y - top);
            root.draw(&PathElement::new(
                whisker.into_iter().map(moved).collect::<Vec<_>>(),
                colour.stroke_width(2),
            ))
            .map_err(|error| error.to_string())?;
            let centre = moved(place(middle));
            let dot = if below < 0 {
                drop(dot);
                Circle::new(centre, 4, colour.filled())
            } else {
                drop(dot);
                Circle::new(centre, 4, colour.stroke_width(1))
            };
            root.draw(&dot).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_names_its_searches_and_shows_both_values() {
        let line = DotLine {
            name: "bnc-pso".into(),
            colour: RED,
            ours: Some((0.4, 0.1)),
            printed: Some((0.5, 2.0)),
        };
        let panel = DotPanel {
            title: "asia".into(),
            lines: vec![line],
        };
        let svg = draw("F1", &[panel], 0.0, 1.0).unwrap();
        assert!(svg.contains("asia") && svg.contains("bnc-pso"));
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(draw("F1", &[], 0.0, 1.0).is_ok());
    }
}
