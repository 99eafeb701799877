//! The first sheet of an Excel workbook (.xlsx). The header is the first row that is not empty;
//! empty rows are left out, and so are columns without a name and without a value.
//!
//! Cells are taken one by one, so that a cell far below or far right costs nothing but what
//! [`check_size`] allows. The sizes that the archive declares are checked before it is unpacked:
//! [`MAX_FILE_BYTES`] for all of it, [`MAX_STREAM_BYTES`] for the texts, which are held in memory.
//! An archive that lies about them can take more memory; the zip reader does not check them.

use super::MAX_CELL_BYTES;
use super::cells::Cells;
use super::decoder_guard::guarded;
use super::format_error::{FormatError, check_size};
use super::number::DecimalMark;
use super::raw_table::{RawColumn, RawTable};
use super::value_text::{self, Fraction};
use crate::data::source::{MAX_FILE_BYTES, MAX_STREAM_BYTES};
use bytes::Bytes;
use calamine::{DataRef, ExcelDateTime, Reader, SheetType, Xlsx};
use std::collections::BTreeMap;
use std::io::Cursor;
use zip::ZipArchive;

const POINT: DecimalMark = DecimalMark::Point;

const FORMAT: &str = "workbook";

/// Where Excel keeps all texts.
const SHARED_TEXTS: &str = "xl/sharedStrings.xml";

/// A sheet's table, and what else the workbook has.
#[derive(Clone, Debug)]
pub(crate) struct SheetTable {
    pub(crate) table: RawTable,
    /// The sheet's name.
    pub(crate) sheet: String,
    /// The names of the sheets that were not read.
    pub(crate) further: Vec<String>,
}

/// Reads the wanted columns of the first sheet.
///
/// # Errors
/// If the workbook is damaged, unpacks to too many bytes, or has an empty first sheet.
pub(crate) fn read_xlsx(
    bytes: Bytes,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<SheetTable, FormatError> {
    guarded(FORMAT, || {
        check_archive(&bytes)?;
        let mut workbook = Xlsx::new(Cursor::new(bytes)).map_err(damaged)?;
        let mut sheets = workbook
            .sheets_metadata()
            .iter()
            .filter(|sheet| sheet.typ == SheetType::WorkSheet)
            .map(|sheet| sheet.name.clone());
        let sheet = sheets.next().ok_or(FormatError::EmptySheet)?;
        let further = sheets.collect();
        let table = read_sheet(&mut workbook, &sheet, wanted)?;
        Ok(SheetTable {
            table,
            sheet,
            further,
        })
    })
}

/// Sees that what is in the archive unpacks to sizes that can be held.
fn check_archive(bytes: &Bytes) -> Result<(), FormatError> {
    let mut archive = ZipArchive::new(Cursor::new(bytes.clone())).map_err(damaged)?;
    let mut total = 0u64;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?;
        let is_texts = name.eq_ignore_ascii_case(SHARED_TEXTS);
        let limit = if is_texts {
            MAX_STREAM_BYTES
        } else {
            MAX_FILE_BYTES
        };
        total = total.saturating_add(entry.size());
        if entry.size() > limit || total > MAX_FILE_BYTES {
            return Err(FormatError::TooLarge {
                format: FORMAT,
                limit,
            });
        }
    }
    Ok(())
}

fn read_sheet(
    workbook: &mut Xlsx<Cursor<Bytes>>,
    name: &str,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<RawTable, FormatError> {
    let mut cells = workbook.worksheet_cells_reader(name).map_err(damaged)?;
    let mut table = Sheet {
        wanted,
        columns: BTreeMap::new(),
        header: None,
        rows: 0,
    };
    let mut row: Option<u32> = None;
    let mut texts: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    while let Some(cell) = cells.next_cell().map_err(damaged)? {
        let (at, column) = cell.get_position();
        if row != Some(at) {
            table.end_row(row, &mut texts)?;
            if row.is_some_and(|row| at < row) {
                return Err(damaged("its rows are not in order"));
            }
            row = Some(at);
        }
        let mut text = Vec::new();
        if write_cell(cell.get_value(), &mut text) {
            if text.len() > MAX_CELL_BYTES {
                return Err(FormatError::CellTooLong {
                    row: u64::from(at) + 1,
                    column: table.name_of(column),
                });
            }
            texts.insert(column, text);
        }
    }
    table.end_row(row, &mut texts)?;
    if table.header.is_none() {
        return Err(FormatError::EmptySheet);
    }
    Ok(RawTable {
        columns: table.columns.into_values().collect(),
        rows: table.rows,
    })
}

/// The table so far, its columns by their place in the sheet.
struct Sheet<'w> {
    wanted: &'w dyn Fn(&str) -> bool,
    columns: BTreeMap<u32, RawColumn>,
    header: Option<u32>,
    rows: usize,
}

impl Sheet<'_> {
    /// Takes the cells of a row.
    fn end_row(
        &mut self,
        row: Option<u32>,
        texts: &mut BTreeMap<u32, Vec<u8>>,
    ) -> Result<(), FormatError> {
        let Some(row) = row.filter(|_| !texts.is_empty()) else {
            return Ok(());
        };
        if self.header.is_none() {
            self.header = Some(row);
            for (column, text) in std::mem::take(texts) {
                self.add(column, String::from_utf8_lossy(&text).into_owned())?;
            }
            return Ok(());
        }
        for &column in texts.keys() {
            if !self.columns.contains_key(&column) {
                self.add(column, String::new())?;
            }
        }
        self.rows += 1;
        check_size(self.rows, self.columns.len())?;
        for (column, raw) in &mut self.columns {
            match texts.get(column) {
                Some(text) => raw.cells.push(text, u64::from(row) + 1, POINT),
                None => raw.cells.push_null(),
            }
        }
        texts.clear();
        Ok(())
    }

    fn add(&mut self, column: u32, name: String) -> Result<(), FormatError> {
        check_size(self.rows, self.columns.len() + 1)?;
        let mut cells = Cells::Unwanted;
        if (self.wanted)(&name) {
            cells = Cells::default();
            for _ in 0..self.rows {
                cells.push_null();
            }
        }
        let raw = RawColumn {
            name,
            cells,
            levels: None,
        };
        self.columns.insert(column, raw);
        Ok(())
    }

    fn name_of(&self, column: u32) -> String {
        let known = self.columns.get(&column);
        known.map_or_else(String::new, |column| column.name.clone())
    }
}

/// Writes the text of a cell; `false` if it is empty.
fn write_cell(value: &DataRef<'_>, out: &mut Vec<u8>) -> bool {
    match value {
        DataRef::Empty => return false,
        DataRef::Int(number) => value_text::integer(number, out),
        DataRef::Float(number) => write_number(*number, out),
        DataRef::String(text) => out.extend_from_slice(text.as_bytes()),
        DataRef::SharedString(text) => out.extend_from_slice(text.as_bytes()),
        DataRef::Bool(true) => out.extend_from_slice(value_text::TRUE),
        DataRef::Bool(false) => out.extend_from_slice(value_text::FALSE),
        DataRef::DateTime(time) => write_time(time, out),
        DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            out.extend_from_slice(text.as_bytes());
        }
        DataRef::Error(error) => value_text::integer(error, out),
    }
    true
}

/// Excel has one type of number; a whole one is shown without a point.
fn write_number(number: f64, out: &mut Vec<u8>) {
    const ALL_WHOLE: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= ALL_WHOLE {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 54 bits")]
        value_text::integer(number as i64, out);
    } else {
        value_text::float64(number, out);
    }
}

/// A date, a time of day, or both; or a span of time, in seconds.
fn write_time(time: &ExcelDateTime, out: &mut Vec<u8>) {
    let days = time.as_f64();
    if time.is_duration() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "beyond the range it is the end of it"
        )]
        let milliseconds = (days * 86_400_000.0).round() as i64;
        value_text::duration(milliseconds, Fraction::Milliseconds, out);
        return;
    }
    let (year, month, day, hour, minute, second, millisecond) = time.to_ymd_hms_milli();
    let in_day = 3600 * i64::from(hour) + 60 * i64::from(minute) + i64::from(second);
    let in_day = 1000 * in_day + i64::from(millisecond);
    if days >= 1.0 {
        value_text::integer(format_args!("{year:04}-{month:02}-{day:02}"), out);
        if in_day == 0 {
            return;
        }
        out.push(b'T');
    }
    value_text::time(in_day, Fraction::Milliseconds, out);
}

fn damaged(problem: impl std::fmt::Display) -> FormatError {
    FormatError::damaged(FORMAT, problem)
}

#[cfg(test)]
mod tests;
