//! Parquet files, as pandas, polars, pyarrow, DuckDB and Spark write them.
//!
//! Columns of text are asked for as dictionaries, which is how they mostly are stored: then a text
//! is made once for each different value and not for each cell. Which columns have levels is said
//! by the Arrow schema that their writer left in the file, not by how they are stored.
//!
//! The file is held in memory whole; columns are read on several threads, each row group after row
//! group in batches of [`BATCH_ROWS`]. A hostile file can make the reader take a page of at most
//! 2 GiB per thread: the format counts the bytes of a page in 31 bits.

use super::arrow_arrays::ArrowColumn;
use super::column_threads::for_each_column;
use super::format_error::{FormatError, check_size};
use super::raw_table::RawTable;
use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use std::sync::Arc;

const BATCH_ROWS: usize = 1 << 16;

/// Reads the wanted columns.
///
/// # Errors
/// If the file is damaged, too large, or has a wanted column without single values.
pub(crate) fn read_parquet(
    bytes: Bytes,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> Result<RawTable, FormatError> {
    let stored = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new()).map_err(damaged)?;
    let rows = usize::try_from(stored.metadata().file_metadata().num_rows()).map_err(damaged)?;
    let fields = stored.schema().fields();
    check_size(rows, fields.len())?;
    let mut columns = fields
        .iter()
        .map(|field| ArrowColumn::new(field, wanted))
        .collect::<Result<Vec<_>, _>>()?;
    let metadata = with_dictionaries(&stored)?;
    for_each_column(&mut columns, threads, |index, column| {
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

/// Reads one column. Each row group by itself: a batch over two of them would have a dictionary
/// of its own, without the levels that do not occur.
fn read_column(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    index: usize,
    column: &mut ArrowColumn,
) -> Result<(), FormatError> {
    for row_group in 0..metadata.metadata().num_row_groups() {
        let projection = ProjectionMask::roots(metadata.parquet_schema(), [index]);
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata.clone())
                .with_projection(projection)
                .with_row_groups(vec![row_group])
                .with_batch_size(BATCH_ROWS)
                .build()
                .map_err(damaged)?;
        debug_assert_eq!(reader.schema().fields().len(), 1);
        for batch in reader {
            let batch = batch.map_err(damaged)?;
            let array = batch.columns().first();
            column.append(array.ok_or_else(|| damaged("a batch has no column"))?)?;
        }
    }
    Ok(())
}

fn damaged(problem: impl std::fmt::Display) -> FormatError {
    FormatError::damaged("Parquet file", problem)
}

#[cfg(test)]
mod tests;
