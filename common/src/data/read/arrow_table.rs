//! Batches of Arrow columns, from a file or from another program, to a table of cells.

use super::arrow_arrays::ArrowColumn;
use super::column_threads::for_each_column;
use super::format_error::{FormatError, check_size};
use super::raw_table::RawTable;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};

/// Batches of about so many bytes are turned into cells together.
const GROUP_BYTES: usize = 64 << 20;

/// The table so far: batches are turned into cells some at a time.
pub(super) struct ArrowTable {
    format: &'static str,
    columns: Vec<ArrowColumn>,
    rows: usize,
    threads: usize,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
}

impl ArrowTable {
    /// Starts a table; `format` is what messages call it.
    ///
    /// # Errors
    /// If there are too many columns, or a wanted one has no single values.
    pub(super) fn new(
        format: &'static str,
        schema: &Schema,
        wanted: &dyn Fn(&str) -> bool,
        threads: usize,
    ) -> Result<Self, FormatError> {
        check_size(0, schema.fields().len())?;
        let fields = schema.fields().iter();
        let columns = fields.map(|field| ArrowColumn::new(field, wanted));
        Ok(Self {
            format,
            columns: columns.collect::<Result<_, _>>()?,
            rows: 0,
            threads,
            waiting: Vec::new(),
            waiting_bytes: 0,
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If there are too many, or a cell cannot be used.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<(), FormatError> {
        self.rows += batch.num_rows();
        check_size(self.rows, self.columns.len())?;
        self.waiting_bytes += batch.get_array_memory_size();
        self.waiting.push(batch);
        if self.waiting_bytes >= GROUP_BYTES {
            self.take_waiting()?;
        }
        Ok(())
    }

    fn take_waiting(&mut self) -> Result<(), FormatError> {
        let batches = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let format = self.format;
        for_each_column(format, &mut self.columns, self.threads, |index, column| {
            batches.iter().try_for_each(|batch| {
                let array = batch.column(index);
                if column.has_levels() && matches!(array.data_type(), DataType::Dictionary(_, _)) {
                    column.add_levels(array.as_any_dictionary().values())?;
                }
                column.append(array)
            })
        })
    }

    /// Returns what was read.
    ///
    /// # Errors
    /// If a cell cannot be used.
    pub(super) fn finish(mut self) -> Result<RawTable, FormatError> {
        self.take_waiting()?;
        Ok(RawTable {
            columns: self.columns.into_iter().map(ArrowColumn::finish).collect(),
            rows: self.rows,
        })
    }
}
