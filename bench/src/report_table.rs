//! Results as people and programs read them: markdown and CSV, with the command that made them.

use crate::failure::Failure;
use crate::terminal::remark;
use rlbayes::machine;
use rlbayes_common::data::quoted;
use rlbayes_common::files::write_whole;
use std::path::{Path, PathBuf};

/// A table of results; all cells are text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The folder that results go to.
#[derive(Clone, Debug)]
pub(crate) struct OutFolder(Option<PathBuf>);

impl Grid {
    /// Makes an empty table.
    pub(crate) fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.head.len());
        self.rows.push(cells);
    }

    /// Writes the table as markdown that is readable as it is: the first column to the left, the
    /// others to the right.
    pub(crate) fn markdown(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                lines()
                    .map(|cells| cells[column].chars().count())
                    .max()
                    .unwrap_or(0)
                    .max(3)
            })
            .collect();
        let mut text = String::new();
        for (number, cells) in lines().enumerate() {
            for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
                text += &match column {
                    0 => format!("| {cell:<width$} "),
                    _ => format!("| {cell:>width$} "),
                };
            }
            text += "|\n";
            if number == 0 {
                for (column, width) in widths.iter().enumerate() {
                    text += &match column {
                        0 => format!("|{}", "-".repeat(width + 2)),
                        _ => format!("|{}:", "-".repeat(width + 1)),
                    };
                }
                text += "|\n";
            }
        }
        text
    }

    /// Writes the table as CSV.
    pub(crate) fn csv(&self) -> String {
        // A figure that there is not is an empty cell, not an empty text.
        let cell = |cell: &String| match cell.as_str() {
            "" => String::new(),
            text => quoted(text).into_owned(),
        };
        std::iter::once(&self.head)
            .chain(&self.rows)
            .map(|cells| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n")
            .collect()
    }
}

impl OutFolder {
    /// Makes the folder, so that one that can't be written to is known before the work begins.
    pub(crate) fn new(folder: Option<&Path>) -> Result<Self, Failure> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
            tempfile::tempfile_in(folder).map_err(|error| Failure::file(folder, error))?;
        }
        Ok(Self(folder.map(Path::to_owned)))
    }

    /// Writes a file and says so.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let Some(folder) = &self.0 else {
            return Ok(());
        };
        let path = folder.join(name);
        write_whole(&path, text.as_bytes()).map_err(|error| Failure::file(&path, error))?;
        remark(&format!("written: {}", path.display()));
        Ok(())
    }
}

/// Writes a difference of scores; rounding leaves no sign on a zero.
pub(crate) fn nats(difference: f64) -> String {
    let text = format!("{difference:.3}");
    match text.as_str() {
        "-0.000" => "0.000".to_owned(),
        _ => text,
    }
}

/// Begins a report: what ran, and on what.
pub(crate) fn heading(title: &str) -> String {
    let command: Vec<String> = std::env::args().skip(1).map(shown_argument).collect();
    format!(
        "# {title}\n\nrlbayes {} on {} ({} threads):\n\n```\n\
         cargo run --release -p rlbayes-bench -- {}\n```\n\n",
        env!("CARGO_PKG_VERSION"),
        machine::processor(),
        machine::cores(),
        command.join(" ")
    )
}

fn shown_argument(argument: String) -> String {
    if argument.is_empty() || argument.contains([' ', '\'', '"', '*', '$']) {
        format!("'{}'", argument.replace('\'', "'\\''"))
    } else {
        argument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_columns_line_up() {
        let mut grid = Grid::new(&["table", "n"]);
        grid.row(["alarm, cut".to_owned(), "37".to_owned()]);
        grid.row(["π".to_owned(), "1600".to_owned()]);
        let expected = "\
| table      |    n |
|------------|-----:|
| alarm, cut |   37 |
| π          | 1600 |
";
        assert_eq!(grid.markdown(), expected);
        assert_eq!(grid.csv(), "table,n\n\"alarm, cut\",37\nπ,1600\n");
    }

    #[test]
    fn a_gap_of_nothing_has_no_sign() {
        assert_eq!(nats(-0.0002), "0.000");
        assert_eq!(nats(-0.0012), "-0.001");
        assert_eq!(nats(2.9412), "2.941");
    }

    #[test]
    fn arguments_can_be_pasted_into_a_shell() {
        assert_eq!(shown_argument("--time".into()), "--time");
        assert_eq!(shown_argument("my data.csv".into()), "'my data.csv'");
        assert_eq!(shown_argument("it's".into()), "'it'\\''s'");
    }
}
