//! Parquet files, as pandas, polars, pyarrow, DuckDB and Spark write them.
//!
//! Columns of text are asked for as dictionaries, which is how they mostly are stored: then a text
//! is made once for each different value and not for each cell. Which columns have levels is said
//! by the Arrow schema that their writer left in the file, not by how they are stored; the levels
//! are those of the dictionaries in the file.
//!
//! The file is held in memory whole; columns are read on several threads, each row group after row
//! group in batches of [`BATCH_ROWS`]. A hostile file can make the reader take a page of at most
//! 2 GiB per thread: the format counts the bytes of a page in 31 bits.

use super::arrow_arrays::ArrowColumn;
use super::column_threads::for_each_column;
use super::content::Foreign;
use super::decoder_guard::guarded;
use super::format_error::{FormatError, check_size};
use super::raw_table::RawTable;
use arrow_array::StringArray;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

const FORMAT: &str = "Parquet file";

/// More than texts are kept of a column: whether it holds that many numbers is known from its
/// first batch.
const BATCH_ROWS: usize = 1 << 17;

/// Reads the wanted columns.
///
/// # Errors
/// If the file is damaged, too large, or has a wanted column without single values.
pub(crate) fn read_parquet(
    bytes: Bytes,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> Result<RawTable, FormatError> {
    let load = || ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new()).map_err(damaged);
    let stored = guarded(FORMAT, load)?;
    let rows = usize::try_from(stored.metadata().file_metadata().num_rows()).map_err(damaged)?;
    check_places(stored.metadata(), bytes.len())?;
    let fields = stored.schema().fields();
    check_size(rows, fields.len())?;
    let mut columns = fields
        .iter()
        .map(|field| ArrowColumn::new(field, wanted))
        .collect::<Result<Vec<_>, _>>()?;
    let metadata = guarded(FORMAT, || with_dictionaries(&stored))?;
    for_each_column(FORMAT, &mut columns, threads, |index, column| {
        read_column(&bytes, &metadata, index, column)?;
        if column.rows() == rows as u64 {
            return Ok(());
        }
        let problem = format!(
            "column {} has {} cells for {rows} rows",
            index + 1,
            column.rows()
        );
        Err(damaged(problem))
    })?;
    Ok(RawTable {
        columns: columns.into_iter().map(ArrowColumn::finish).collect(),
        rows,
    })
}

/// Asks for columns of text as dictionaries.
fn with_dictionaries(stored: &ArrowReaderMetadata) -> Result<ArrowReaderMetadata, FormatError> {
    let fields = stored.schema().fields().iter().map(|field| {
        let text = match field.data_type() {
            DataType::Utf8 | DataType::Utf8View => DataType::Utf8,
            DataType::LargeUtf8 => DataType::LargeUtf8,
            // Its keys may be too narrow for what the file holds.
            DataType::Dictionary(_, values) => match **values {
                DataType::Utf8 | DataType::Utf8View => DataType::Utf8,
                DataType::LargeUtf8 => DataType::LargeUtf8,
                _ => return Arc::clone(field),
            },
            _ => return Arc::clone(field),
        };
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(text));
        Arc::new(Field::clone(field).with_data_type(dictionary))
    });
    let schema = Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        stored.schema().metadata().clone(),
    );
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options).map_err(damaged)
}

/// Reads one column, each row group by itself: a batch over two of them would be given a dictionary
/// of its own, cell by cell.
fn read_column(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    index: usize,
    column: &mut ArrowColumn,
) -> Result<(), FormatError> {
    for row_group in 0..metadata.metadata().num_row_groups() {
        if column.has_levels() {
            match dictionary_page(bytes, metadata, row_group, index)? {
                Some(levels) => column.add_levels(&levels)?,
                None => column.drop_levels(),
            }
        }
        let projection = ProjectionMask::roots(metadata.parquet_schema(), [index]);
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata.clone())
                .with_projection(projection)
                .with_row_groups(vec![row_group])
                .with_batch_size(BATCH_ROWS)
                .build()
                .map_err(damaged)?;
        for batch in reader {
            let batch = batch.map_err(damaged)?;
            let array = batch.columns().first();
            column.append(array.ok_or_else(|| damaged("a batch has no column"))?)?;
        }
    }
    Ok(())
}

/// Returns the texts of the dictionary that a column has in a row group; `None` if it has none.
/// (Not those of the arrays: where a part of the column is stored without its dictionary, these
/// have dictionaries of their own.)
fn dictionary_page(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    row_group: usize,
    column: usize,
) -> Result<Option<StringArray>, FormatError> {
    let schema = metadata.parquet_schema();
    let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == column);
    let leaf = leaf.ok_or_else(|| damaged("a column is not there"))?;
    if schema.column(leaf).physical_type() != PhysicalType::BYTE_ARRAY {
        return Ok(None);
    }
    let row_group = metadata.metadata().row_group(row_group);
    let rows = usize::try_from(row_group.num_rows()).map_err(damaged)?;
    let chunk = row_group.column(leaf);
    let mut pages =
        SerializedPageReader::new(Arc::new(bytes.clone()), chunk, rows, None).map_err(damaged)?;
    let Some(Page::DictionaryPage {
        buf, num_values, ..
    }) = pages.get_next_page().map_err(damaged)?
    else {
        return Ok(None);
    };
    // Each text behind its length in four bytes.
    let mut rest: &[u8] = &buf;
    let mut texts = Vec::new();
    for _ in 0..num_values {
        let (length, behind) = rest
            .split_first_chunk::<4>()
            .ok_or_else(|| damaged("a dictionary ends too early"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (text, behind) = behind
            .split_at_checked(length)
            .ok_or_else(|| damaged("a dictionary ends too early"))?;
        texts.push(std::str::from_utf8(text).map_err(damaged)?);
        rest = behind;
    }
    Ok(Some(texts.into()))
}

/// Sees that each part of a column is packed in a way that is read and lies within the file: its
/// reader takes that for granted.
fn check_places(metadata: &ParquetMetaData, file_bytes: usize) -> Result<(), FormatError> {
    let chunks = metadata
        .row_groups()
        .iter()
        .flat_map(|group| group.columns());
    for chunk in chunks {
        if matches!(
            chunk.compression(),
            Compression::BROTLI(_) | Compression::LZO
        ) {
            return Err(FormatError::Foreign(Foreign {
                what: "a Parquet file packed by brotli or lzo",
                way_out: "write it with snappy or zstd",
            }));
        }
        let start = chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset());
        let end = start.checked_add(chunk.compressed_size());
        let within = start >= 0
            && chunk.compressed_size() >= 0
            && chunk.num_values() >= 0
            && end.is_some_and(|end| u64::try_from(end).is_ok_and(|end| end <= file_bytes as u64));
        if !within {
            return Err(damaged("a column lies outside the file"));
        }
    }
    let rows = metadata.row_groups().iter().map(|group| group.num_rows());
    let sum = rows.into_iter().try_fold(0i64, |sum, rows| {
        sum.checked_add(rows).filter(|_| rows >= 0)
    });
    if sum != Some(metadata.file_metadata().num_rows()) {
        return Err(damaged(
            "its row groups do not have as many rows as it says",
        ));
    }
    Ok(())
}

fn damaged(problem: impl std::fmt::Display) -> FormatError {
    FormatError::damaged(FORMAT, problem)
}

#[cfg(test)]
mod tests;
