//! [`Table`] to CSV text, in a form that [`parse_table`](super::parse_table) reads back.

use super::table::Table;
use crate::ids::NodeIdx;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes a table as CSV with a header: commas, one line per row, columns ordered by name.
///
/// Text is quoted where reading it back would change it: if it is empty, holds a comma, a quote
/// or a line end, begins or ends with white space, or holds a character that could be taken for
/// another delimiter or a byte-order mark. The quotes are written here rather than by the `csv`
/// crate, which leaves white space bare.
///
/// # Errors
/// If the writer fails.
///
/// ```
/// use rlbayes_common::data::{LoadOptions, parse_table, write_csv};
/// let text = "b,a\n\"1,5\",x\n2,y\n";
/// let (table, _) = parse_table(text.as_bytes(), &LoadOptions::default()).unwrap();
/// let mut written = Vec::new();
/// write_csv(&table, &mut written).unwrap();
/// assert_eq!(written, b"a,b\nx,\"1,5\"\ny,2\n");
/// ```
pub fn write_csv(table: &Table, writer: impl Write) -> io::Result<()> {
    let mut writer = io::BufWriter::new(writer);
    let names = table.schema().names().map(quoted);
    write_row(&mut writer, names)?;
    let states: Vec<Vec<Cow<'_, str>>> = table
        .schema()
        .variables()
        .iter()
        .map(|variable| {
            variable
                .states()
                .iter()
                .map(|state| quoted(state))
                .collect()
        })
        .collect();
    let columns: Vec<&[u8]> = NodeIdx::all(table.nodes())
        .map(|node| table.column(node))
        .collect();
    for row in 0..table.rows() {
        let cells = columns.iter().zip(&states);
        write_row(
            &mut writer,
            cells.map(|(column, states)| &states[usize::from(column[row])]),
        )?;
    }
    writer.flush()
}

fn write_row(
    writer: &mut impl Write,
    cells: impl Iterator<Item = impl AsRef<str>>,
) -> io::Result<()> {
    for (position, cell) in cells.enumerate() {
        if position > 0 {
            writer.write_all(b",")?;
        }
        writer.write_all(cell.as_ref().as_bytes())?;
    }
    writer.write_all(b"\n")
}

/// Returns a text as a cell of CSV, quoted where reading it back would else change it.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    let needed = text.is_empty()
        || text.trim() != text
        || text.contains([',', ';', '\t', '"', '\r', '\n'])
        || text.starts_with('\u{feff}');
    if needed {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
