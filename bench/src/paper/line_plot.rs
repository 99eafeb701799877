//! Lines with bands around them: panels side by side, a strip of names below.

use super::palette::{Area, DrawError, STRIP, explain};
use plotters::element::Polygon;
use plotters::prelude::*;

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct LinePicture {
    /// What stands above it.
    pub(super) title: String,
    /// How many panels stand in a row.
    pub(super) columns: usize,
    /// The panels, row by row.
    pub(super) panels: Vec<LinePanel>,
}

/// A panel.
#[derive(Clone, Debug)]
pub(super) struct LinePanel {
    /// What stands above it.
    pub(super) title: String,
    /// The axis below.
    pub(super) x: Axis,
    /// The axis on the left.
    pub(super) y: Axis,
    /// The lines, the lowest layer first.
    pub(super) lines: Vec<Line>,
}

/// An axis; values beyond its ends are drawn at them.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// What it measures.
    pub(super) name: String,
    /// How.
    pub(super) scale: Scale,
    /// Its ends.
    pub(super) ends: (f64, f64),
}

/// How an axis measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Evenly, with so many digits after the point.
    Even(usize),
    /// By powers of ten.
    Powers,
}

/// A line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// What it stands for.
    pub(super) name: String,
    /// Its colour.
    pub(super) colour: RGBColor,
    /// Its corners; a place, then low, middle and high.
    pub(super) points: Vec<(f64, [f64; 3])>,
    /// Whether the points themselves matter.
    pub(super) dots: bool,
}

const PANEL: (u32, u32) = (420, 290);

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.ends.0, self.ends.1);
        match self.scale {
            Scale::Even(_) => value,
            Scale::Powers => value.log10(),
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        let (from, to) = (self.place(self.ends.0), self.place(self.ends.1));
        // A little room, so that lines at the ends are seen and the last mark is labelled.
        let room = 0.02 * (to - from).abs().max(1e-9);
        from - room..to + room
    }

    fn label(&self, place: f64) -> String {
        match self.scale {
            Scale::Even(_) if place.abs() >= 1e6 || place < 0.0 && place > -1e-9 => count(place),
            Scale::Even(0) => count(place),
            Scale::Even(digits) => format!("{place:.digits$}"),
            Scale::Powers if (place - place.round()).abs() < 1e-6 => count(10f64.powf(place)),
            Scale::Powers => String::new(),
        }
    }
}

/// Writes 50, 10k, 2M.
fn count(value: f64) -> String {
    match value.abs() {
        v if v >= 999_999.0 => format!("{}M", short(value / 1e6)),
        v if v >= 9_999.0 => format!("{}k", short(value / 1e3)),
        _ => short(value),
    }
}

fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Draws the picture as SVG.
pub(super) fn draw(picture: &LinePicture) -> Result<String, String> {
    let columns = picture.columns.clamp(1, picture.panels.len().max(1));
    let rows = picture.panels.len().div_ceil(columns).max(1);
    // Wide enough for the title and the names, however few panels there are.
    let width = (PANEL.0 * u32::try_from(columns).unwrap_or(1)).max(840);
    let height = PANEL.1 * u32::try_from(rows).unwrap_or(1) + 34 + STRIP;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(|error| error.to_string())?;
        let (upper, strip) = root.split_vertically(height - STRIP);
        let upper = upper
            .titled(&picture.title, ("sans-serif", 17))
            .map_err(|error| error.to_string())?;
        for (panel, area) in picture
            .panels
            .iter()
            .zip(upper.split_evenly((rows, columns)))
        {
            draw_panel(panel, &area).map_err(|error| error.to_string())?;
        }
        explain(&strip, &names(&picture.panels)).map_err(|error| error.to_string())?;
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(svg)
}

/// Lists each name once, in the order of appearance.
fn names(panels: &[LinePanel]) -> Vec<(String, RGBColor)> {
    let mut names: Vec<(String, RGBColor)> = Vec::new();
    for line in panels.iter().flat_map(|panel| &panel.lines) {
        if names.iter().all(|(name, _)| *name != line.name) {
            names.push((line.name.clone(), line.colour));
        }
    }
    names
}

fn draw_panel(panel: &LinePanel, area: &Area<'_>) -> Result<(), DrawError> {
    let (x, y) = (&panel.x, &panel.y);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 15))
        .margin(8)
        .margin_right(18)
        .x_label_area_size(38)
        .y_label_area_size(58)
        .build_cartesian_2d(x.range(), y.range())
        .map_err(|error| error.to_string())?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(RGBColor(228, 228, 228))
        .x_labels(7)
        .y_labels(7)
        .label_style(("sans-serif", 12))
        .axis_desc_style(("sans-serif", 13))
        .x_desc(&x.name)
        .y_desc(&y.name)
        .x_label_formatter(&|&place| x.label(place))
        .y_label_formatter(&|&place| y.label(place))
        .draw()
        .map_err(|error| error.to_string())?;
    for line in &panel.lines {
        let corner = |at: f64, value: f64| (x.place(at), y.place(value));
        let low = line.points.iter().map(|&(at, [low, ..])| corner(at, low));
        let high = line
            .points
            .iter()
            .rev()
            .map(|&(at, [.., high])| corner(at, high));
        let band: Vec<(f64, f64)> = low.chain(high).collect();
        let is_band = line.points.iter().any(|(_, [low, _, high])| low < high);
        if is_band {
            chart
                .draw_series([Polygon::new(band, line.colour.mix(0.12).filled())])
                .map_err(|error| error.to_string())?;
        }
        let middle: Vec<(f64, f64)> = line
            .points
            .iter()
            .map(|&(at, [_, middle, _])| corner(at, middle))
            .collect();
        if line.dots {
            let dots = middle
                .iter()
                .map(|&place| Circle::new(place, 4, line.colour.filled()));
            chart.draw_series(dots).map_err(|error| error.to_string())?;
        }
        chart
            .draw_series(LineSeries::new(middle, line.colour.stroke_width(2)))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis {
            name: "evaluations".into(),
            scale,
            ends: (1.0, 1e6),
        }
    }

    #[test]
    fn powers_are_labelled_at_powers_and_ends_hold() {
        let powers = axis(Scale::Powers);
        assert!((powers.place(1000.0) - 3.0).abs() < 1e-12);
        assert!((powers.place(0.0) - 0.0).abs() < 1e-12, "cut at the end");
        assert_eq!(powers.label(4.0), "10k");
        assert_eq!(powers.label(2.5), "");
        assert_eq!(axis(Scale::Even(0)).label(500_000.0), "500k");
        assert_eq!(axis(Scale::Even(2)).label(0.5), "0.50");
        assert_eq!(count(2.5e6), "2.5M");
    }

    #[test]
    fn a_picture_explains_each_colour_once() {
        let line = Line {
            name: "iwo".into(),
            colour: RED,
            points: vec![(1.0, [1.0, 2.0, 3.0]), (9.0, [2.0, 2.0, 5.0])],
            dots: true,
        };
        let panel = LinePanel {
            title: "asia".into(),
            x: axis(Scale::Powers),
            y: axis(Scale::Even(1)),
            lines: vec![line],
        };
        let picture = LinePicture {
            title: "gap".into(),
            columns: 3,
            panels: vec![panel.clone(), panel],
        };
        let svg = draw(&picture).unwrap();
        assert_eq!(svg.matches("iwo").count(), 1);
        assert_eq!(svg.matches("<polygon").count(), 2);
    }
}
