//! The figure of the README: how far the networks of several programs are below the proven optimum.
//! A panel per table, a row per program, the gap as a dot on a logarithmic scale whose zero stands apart,
//! with its value beside it. White background of its own, so that it is readable on a dark page; two
//! colours that everybody can tell apart, and two shapes.

use std::fmt::Write;

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) struct GapChart {
    /// Names of the programs, from top to bottom; the first is ours.
    pub(crate) programs: Vec<String>,
    /// The tables, in lines of three.
    pub(crate) panels: Vec<GapPanel>,
    /// Remarks below the panels.
    pub(crate) notes: Vec<String>,
}

/// One table.
#[derive(Clone, Debug)]
pub(crate) struct GapPanel {
    /// Its name.
    pub(crate) title: String,
    /// What each program's network is to the optimum.
    pub(crate) gaps: Vec<Gap>,
}

/// How far below the optimum a network is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gap {
    /// It is one with the highest score.
    Optimum,
    /// So many nats.
    Nats(f64),
    /// The program was not run on the table.
    Unknown,
}

const TITLE: &str = "How far below the proven optimum is the network that was found?";
const SUBTITLE: &str =
    "BIC in nats, six tables of 1000 rows; further right is worse, on a logarithmic scale";

const AXIS_NAME: &str = "nats below the optimum";

const WIDTH: f64 = 800.0;
const MARGIN: f64 = 16.0;
/// Where panels begin: names stand before.
const NAMES: f64 = 172.0;
const COLUMNS: usize = 3;
const TOP: f64 = 70.0;
const PANEL_TITLE: f64 = 24.0;
const ROW: f64 = 18.0;
/// Marks of the axis, and the room to the next line of panels.
const AXIS: f64 = 40.0;
const NOTE_LINE: f64 = 15.0;

/// Colours of Okabe and Ito's palette, and greys.
const OURS: &str = "#0072b2";
const OTHERS: &str = "#d55e00";
const INK: &str = "#1f2328";
const FAINT: &str = "#59636e";
const GRID: &str = "#d8dee4";
const BAND: &str = "#e3f0f9";

/// Gaps at the ends of the logarithmic scale.
const LEAST: f64 = 0.5;
const MOST: f64 = 500.0;
const MARKS: [f64; 3] = [1.0, 10.0, 100.0];

impl Gap {
    /// Compares a score with the optimum; a difference up to `tolerance` is none.
    pub(crate) fn new(optimum: f64, score: f64, tolerance: f64) -> Self {
        let nats = optimum - score;
        if nats <= tolerance {
            Self::Optimum
        } else {
            Self::Nats(nats)
        }
    }

    fn text(self) -> String {
        match self {
            Self::Optimum => "optimum".to_owned(),
            Self::Nats(nats) if nats < 0.1 => format!("{nats:.3}"),
            Self::Nats(nats) if nats < 9.95 => format!("{nats:.1}"),
            Self::Nats(nats) => format!("{nats:.0}"),
            Self::Unknown => "not run".to_owned(),
        }
    }
}

/// Draws the figure as SVG.
pub(crate) fn draw(chart: &GapChart) -> String {
    let height = height_of(chart);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"title desc\" \
         font-family=\"Helvetica, Arial, sans-serif\">"
    );
    let _ = writeln!(svg, "<title id=\"title\">{}</title>", escaped(TITLE));
    let _ = writeln!(
        svg,
        "<desc id=\"desc\">{}</desc>",
        escaped(&in_words(chart))
    );
    let (right, bottom) = (WIDTH - 1.0, height - 1.0);
    let _ = writeln!(
        svg,
        "<rect x=\"0.5\" y=\"0.5\" width=\"{right}\" height=\"{bottom}\" rx=\"6\" fill=\"#ffffff\" \
         stroke=\"{GRID}\"/>"
    );
    text(&mut svg, (MARGIN, 28.0), 17, INK, "start", true, TITLE);
    text(
        &mut svg,
        (MARGIN, 48.0),
        12,
        FAINT,
        "start",
        false,
        SUBTITLE,
    );
    for (line, panels) in chart.panels.chunks(COLUMNS).enumerate() {
        let top = TOP + line as f64 * line_height(chart);
        draw_line(&mut svg, chart, panels, top);
    }
    let lines = note_lines(chart);
    let first = height - MARGIN - NOTE_LINE * (lines.len() as f64 - 1.0);
    for (number, note) in lines.iter().enumerate() {
        let y = first + NOTE_LINE * number as f64;
        text(&mut svg, (MARGIN, y), 11, FAINT, "start", false, note);
    }
    svg += "</svg>\n";
    svg
}

fn line_height(chart: &GapChart) -> f64 {
    PANEL_TITLE + ROW * chart.programs.len() as f64 + AXIS
}

fn height_of(chart: &GapChart) -> f64 {
    let lines = chart.panels.len().div_ceil(COLUMNS) as f64;
    let notes = note_lines(chart).len() as f64;
    (TOP + lines * line_height(chart) + notes * NOTE_LINE + MARGIN).ceil()
}

/// Draws a line of panels with the programs' names before it.
fn draw_line(svg: &mut String, chart: &GapChart, panels: &[GapPanel], top: f64) {
    let rows = top + PANEL_TITLE;
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{rows}\" width=\"{}\" height=\"{ROW}\" fill=\"{BAND}\"/>",
        MARGIN / 2.0,
        WIDTH - MARGIN
    );
    for (row, name) in chart.programs.iter().enumerate() {
        let (colour, bold) = match row {
            0 => (OURS, true),
            _ => (INK, false),
        };
        let at = (NAMES - 8.0, baseline(rows, row));
        text(svg, at, 12, colour, "end", bold, name);
    }
    let width = (WIDTH - NAMES - MARGIN / 2.0) / COLUMNS as f64;
    for (column, panel) in panels.iter().enumerate() {
        let left = NAMES + width * column as f64;
        draw_panel(svg, chart, panel, left, width, rows);
    }
    let middle = (NAMES + WIDTH) / 2.0;
    let below = rows + ROW * chart.programs.len() as f64 + 27.0;
    text(svg, (middle, below), 11, FAINT, "middle", false, AXIS_NAME);
}

fn draw_panel(
    svg: &mut String,
    chart: &GapChart,
    panel: &GapPanel,
    left: f64,
    width: f64,
    rows: f64,
) {
    let zero = left + 8.0;
    // Behind the farthest dot there is room for its value.
    let (first, last) = (zero + 16.0, left + width - 34.0);
    let place = |nats: f64| {
        let share = (nats.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
        first + share * (last - first)
    };
    let bottom = rows + ROW * chart.programs.len() as f64;
    text(
        svg,
        (zero, rows - 7.0),
        13,
        INK,
        "start",
        true,
        &panel.title,
    );
    let marks = MARKS.map(|nats| (place(nats), format!("{nats}")));
    for (x, name) in [(zero, "0".to_owned())].into_iter().chain(marks) {
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {rows}V{bottom}\" stroke=\"{GRID}\" fill=\"none\"/>"
        );
        text(svg, (x, bottom + 13.0), 10, FAINT, "middle", false, &name);
    }
    for (row, gap) in panel.gaps.iter().enumerate() {
        let colour = if row == 0 { OURS } else { OTHERS };
        let y = rows + ROW * (row as f64 + 0.5);
        let x = match gap {
            Gap::Nats(nats) => place(*nats),
            Gap::Optimum | Gap::Unknown => zero,
        };
        if x > zero {
            let _ = writeln!(
                svg,
                "<path d=\"M{zero} {y}H{x:.1}\" stroke=\"{colour}\" stroke-opacity=\"0.35\" \
                 stroke-width=\"2\" fill=\"none\"/>"
            );
        }
        match (row, gap) {
            (_, Gap::Unknown) => {}
            (0, _) => {
                let _ = writeln!(
                    svg,
                    "<path d=\"M{x:.1} {y}m-6 0l6 -6l6 6l-6 6z\" fill=\"{colour}\"/>"
                );
            }
            _ => {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\"/>"
                );
            }
        }
        let (colour, bold) = match (row, gap) {
            (0, _) => (OURS, true),
            (_, Gap::Unknown) => (FAINT, false),
            _ => (INK, false),
        };
        let at = (x + 9.0, baseline(rows, row));
        text(svg, at, 11, colour, "start", bold, &gap.text());
    }
}

fn baseline(rows: f64, row: usize) -> f64 {
    rows + ROW * row as f64 + 13.0
}

/// Puts a text at a place, one element a line.
fn text(
    svg: &mut String,
    (x, y): (f64, f64),
    size: u32,
    colour: &str,
    anchor: &str,
    bold: bool,
    words: &str,
) {
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let words = escaped(words);
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\"{weight} \
         fill=\"{colour}\">{words}</text>"
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Says everything that the figure shows, for those who do not see it.
fn in_words(chart: &GapChart) -> String {
    let mut words = format!("{SUBTITLE}.");
    for panel in &chart.panels {
        let each = chart.programs.iter().zip(&panel.gaps);
        let each: Vec<String> = each
            .map(|(program, gap)| format!("{program} {}", gap.text()))
            .collect();
        let _ = write!(words, " {}: {}.", panel.title, each.join("; "));
    }
    words
}

/// Breaks the notes into lines that fit.
fn note_lines(chart: &GapChart) -> Vec<String> {
    const LETTERS: usize = 120;
    let mut lines = Vec::new();
    for note in &chart.notes {
        let mut line = String::new();
        for word in note.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > LETTERS {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg_bounds::texts_outside;

    fn chart() -> GapChart {
        let panel = |title: &str| GapPanel {
            title: title.to_owned(),
            gaps: vec![
                Gap::Optimum,
                Gap::Nats(0.9),
                Gap::Nats(1370.4),
                Gap::Optimum,
                Gap::Unknown,
            ],
        };
        let programs = ["RLBayes", "bnlearn hc", "bnlearn hc, 20 restarts", "d", "e"];
        GapChart {
            programs: programs.map(str::to_owned).into(),
            panels: vec![panel("hailfinder, 56 variables"); 6],
            notes: vec!["word ".repeat(60), "A short one.".to_owned()],
        }
    }

    #[test]
    fn no_text_leaves_the_figure() {
        assert_eq!(texts_outside(&draw(&chart())), Vec::<String>::new());
    }

    #[test]
    fn the_figure_says_in_words_what_it_shows() {
        let svg = draw(&chart());
        let described = svg.lines().find(|line| line.starts_with("<desc")).unwrap();
        assert!(described.contains("hailfinder, 56 variables: RLBayes optimum; bnlearn hc 0.9; "));
        assert!(svg.contains("role=\"img\" aria-labelledby=\"title desc\""));
        assert!(svg.contains("<title id=\"title\">How far below the proven optimum"));
    }

    #[test]
    fn what_is_known_to_one_decimal_is_compared_to_one_decimal() {
        assert_eq!(Gap::new(-2281.253, -2281.3, 0.05), Gap::Optimum);
        assert_eq!(Gap::new(-7652.304, -7652.3, 0.05), Gap::Optimum);
        assert_eq!(Gap::new(-2281.253, -2281.253, 0.001), Gap::Optimum);
        let Gap::Nats(nats) = Gap::new(-2281.253, -2282.2, 0.05) else {
            panic!("a gap");
        };
        assert_eq!(Gap::Nats(nats).text(), "0.9");
        assert_eq!(Gap::Nats(0.0042).text(), "0.004");
        assert_eq!(Gap::Nats(156.5).text(), "156");
    }
}
