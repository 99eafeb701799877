//! Means with their spreads: one panel per network, one line per search, ours as a full dot and what
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
const PRINTED: RGBColor = RGBColor(130, 130, 130);

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
        // None of them, but an axis of whole numbers can't count to none.
        .max_light_lines(1)
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(228, 228, 228))
        .x_labels(6)
        .y_labels(panel.lines.len() + 2)
        .label_style(("sans-serif", 13))
        .x_label_formatter(&|value| format!("{value:.1}"))
        .y_label_formatter(&name)
        .draw()
        .map_err(|error| error.to_string())?;
    // Dots lie a few pixels off their line, so they are placed by pixel. Those of a chart count from
    // the corner of the whole picture, those of an area from its own.
    let (columns, rows) = area.get_pixel_range();
    let place = |at: (f64, i32), below: i32| {
        let (x, y) = chart.backend_coord(&at);
        (x - columns.start, y - rows.start + below)
    };
    for (line, at) in panel.lines.iter().zip(0i32..) {
        for (value, below, style) in [
            (line.ours, -4, line.colour.filled()),
            (line.printed, 5, PRINTED.stroke_width(1)),
        ] {
            let Some((mean, spread)) = value else {
                continue;
            };
            let [low, middle, high] =
                [mean - spread, mean, mean + spread].map(|value| (value.clamp(from, to), at));
            let whisker = vec![place(low, below), place(high, below)];
            area.draw(&PathElement::new(whisker, style.color.stroke_width(2)))
                .map_err(|error| error.to_string())?;
            area.draw(&Circle::new(place(middle, below), 4, style))
                .map_err(|error| error.to_string())?;
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
