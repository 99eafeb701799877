//! Tables in a form that tests can compare, and files that are damaged at random.

use super::cells::{Cells, other_code};
use super::dictionary::NULL;
use super::raw_table::{RawColumn, RawTable};
use proptest::prelude::*;

/// What stands for a cell without a value.
const NOTHING: &str = "-";

/// Returns a column as text: its name, its cells and, behind a bar, its levels.
pub(super) fn shown_column(column: &RawColumn) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut parts = Vec::new();
    match &column.cells {
        Cells::Texts { dictionary, codes } => {
            for code in codes.iter() {
                let nothing = code == NULL;
                parts.push(if nothing {
                    NOTHING.into()
                } else {
                    text(dictionary.text(code))
                });
            }
            if let Some(levels) = column.levels {
                let all = dictionary.texts().take(levels);
                parts.push("|".into());
                parts.extend(all.map(|(level, _)| text(level)));
            } else {
                // Nothing is kept that does not occur.
                let most = codes.iter().filter(|&code| code != NULL).max();
                assert_eq!(
                    dictionary.len(),
                    most.map_or(0, |code| usize::from(code) + 1)
                );
            }
        }
        Cells::Numbers { values, others } => {
            for &value in values {
                parts.push(match other_code(value) {
                    None => format!("#{value}"),
                    Some(NULL) => NOTHING.into(),
                    Some(code) => text(others.text(code)),
                });
            }
        }
        Cells::TooMany { .. } => parts.push("too many".into()),
        Cells::Unwanted => parts.push("unwanted".into()),
    }
    format!("{}: {}", column.name, parts.join(" / "))
}

/// Returns all columns as text, one a line.
pub(super) fn shown(table: &RawTable) -> String {
    let lines: Vec<String> = table.columns.iter().map(shown_column).collect();
    lines.join("\n")
}

/// Returns a fixture.
pub(super) fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/data/read/fixtures");
    std::fs::read(std::path::Path::new(folder).join(name)).unwrap()
}

/// Any of the files, with a few bytes changed, and perhaps cut.
pub(super) fn damaged(files: &[&str]) -> impl Strategy<Value = Vec<u8>> {
    let files: Vec<Vec<u8>> = files.iter().map(|name| fixture(name)).collect();
    let byte = (any::<prop::sample::Index>(), any::<u8>());
    let bytes = prop::collection::vec(byte, 1..4);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (prop::sample::select(files), bytes, cut).prop_map(|(mut file, bytes, cut)| {
        for (at, byte) in bytes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        file
    })
}
