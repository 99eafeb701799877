//! Adjacency matrix as CSV: a header of names, then a row of 0 and 1 per node; 1 in row `a`,
//! column `b` is the edge `a -> b`. A first column of row names is optional.

use super::csv_lines::{Record, records};
use super::edge_columns::EdgeColumns;
use super::error::ReadError;
use super::text::excerpt;
use crate::ids::NodeIdx;
use crate::network::NamedDag;

/// Returns whether a CSV text is a matrix: its second line ends with as many zeros and ones as
/// there are rows. `from,to,directed` and a line `0,1,true` is an edge between variables that are
/// named by digits: such a header stands over a matrix only if there are as many lines as columns.
pub(super) fn looks_like_one(text: &str) -> bool {
    let mut lines = records(text);
    let (Some(Ok(header)), Some(Ok(first))) = (lines.next(), lines.next()) else {
        return false;
    };
    let width = first.fields.len();
    let is_cell = |field: &String| cell(field).is_some();
    let cells = first
        .fields
        .iter()
        .rev()
        .take_while(|field| is_cell(field))
        .count();
    // Two columns look like an edge between nodes "0" and "1" unless the header fits a matrix.
    let corner = header.fields.first().is_some_and(String::is_empty);
    let named_row = width >= 2
        && cells >= width - 1
        && header
            .fields
            .get(1..)
            .is_some_and(|names| names.contains(&first.fields[0]));
    match width {
        0 | 1 => width == 1 && cells == 1 && header.fields.len() == 1 && lines.next().is_none(),
        _ => {
            let mut rows = 1;
            cells >= width - 1
                && (header.fields.len() == width || header.fields.len() + 1 == width)
                && (cells == width || corner || named_row || header.fields.len() + 1 == width)
                && lines.all(|line| {
                    rows += 1;
                    line.is_ok_and(|line| {
                        line.fields.len() == width && line.fields[1..].iter().all(is_cell)
                    })
                })
                && (rows == width || EdgeColumns::of_header(&header.fields).is_none())
        }
    }
}

fn cell(text: &str) -> Option<bool> {
    match text.trim() {
        "0" | "0.0" | "FALSE" | "false" => Some(false),
        "1" | "1.0" | "TRUE" | "true" => Some(true),
        _ => None,
    }
}

/// Reads a structure.
pub(super) fn read(text: &str) -> Result<NamedDag, ReadError> {
    let mut lines = records(text);
    let header = lines.next().ok_or(ReadError::Empty)??;
    let rows: Vec<Record> = lines.collect::<Result<_, _>>()?;
    let n = rows.len();
    let wrong = |line, expected, found: &str| ReadError::Syntax {
        line,
        expected,
        found: excerpt(found),
    };
    if n > NodeIdx::MAX_NODES {
        return Err(ReadError::TooManyNodes(n));
    }
    let names = match header.fields.len().checked_sub(n) {
        Some(0) => header.fields,
        Some(1) => header.fields[1..].to_vec(),
        _ => {
            let found = format!("{} names and {n} rows", header.fields.len());
            let expected = "a square matrix with as many rows as names";
            return Err(ReadError::Syntax {
                line: header.line,
                expected,
                found,
            });
        }
    };
    if n == 0 {
        return Err(ReadError::Empty);
    }
    if names.iter().any(String::is_empty) {
        return Err(wrong(
            header.line,
            "a name in each column of the header",
            "",
        ));
    }
    let mut edges = Vec::new();
    for (row, Record { line, fields }) in rows.iter().enumerate() {
        let cells = match fields.len().checked_sub(n) {
            Some(0) => &fields[..],
            Some(1) => {
                if fields[0] != names[row] {
                    let expected = "the row names in the order of the column names";
                    return Err(wrong(*line, expected, &fields[0]));
                }
                &fields[1..]
            }
            _ => {
                let found = format!("{} cells", fields.len());
                let expected = "a cell for each column";
                return Err(ReadError::Syntax {
                    line: *line,
                    expected,
                    found,
                });
            }
        };
        for (column, text) in cells.iter().enumerate() {
            if cell(text).ok_or_else(|| wrong(*line, "0 or 1", text))? {
                edges.push((names[row].clone(), names[column].clone()));
            }
        }
    }
    Ok(NamedDag::new(names, edges)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edge_between_nodes_named_by_digits_is_no_matrix() {
        for edge in [
            "from,to\n0,1\n",
            "from,to,directed\n0,1,true\n",
            "from,to,directed\n1,0,false\n",
        ] {
            assert!(!looks_like_one(edge), "{edge}");
        }
        for matrix in [
            "from,to\n0,1\n0,0\n",
            "\"\",a\na,0\n",
            ",0\n0,0\n",
            "a\n0\n",
            "0,1,2\n0,1,1\n0,0,1\n0,0,0\n",
        ] {
            assert!(looks_like_one(matrix), "{matrix}");
        }
    }
}
