//! Arrow files (also called Feather) and streams of Arrow messages, plain or packed by lz4 or
//! zstd.
//!
//! A file is a stream between a mark at its beginning and a list of places at its end, so both are
//! read as a stream. The bytes are held in memory whole, and columns that are not packed are used
//! where they lie. What a packed column unpacks to is known beforehand, and bounded by
//! [`MAX_FILE_BYTES`] for each message and for what is held at a time.

use super::arrow_arrays::ArrowColumn;
use super::column_threads::for_each_column;
use super::format_error::{FormatError, check_size};
use super::raw_table::RawTable;
use crate::data::source::MAX_FILE_BYTES;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Message, MessageHeader, RecordBatch as BatchMessage};
use arrow_schema::Schema;
use bytes::Bytes;

/// How an Arrow file begins; the stream follows.
const FILE_START: &[u8] = b"ARROW1\0\0";

/// What stands before the length of each message, except in very old streams.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Batches of about so many bytes are turned into cells together.
const GROUP_BYTES: usize = 64 << 20;

/// Reads the wanted columns of a file or a stream.
///
/// # Errors
/// If the bytes are damaged, too many, or have a wanted column without single values.
pub(crate) fn read_arrow(
    bytes: Bytes,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> Result<RawTable, FormatError> {
    let start = if bytes.starts_with(FILE_START) {
        FILE_START.len()
    } else {
        0
    };
    let mut rest = Buffer::from(bytes);
    rest.advance(start);
    let mut decoder = StreamDecoder::new();
    let mut columns: Option<Vec<ArrowColumn>> = None;
    let mut rows = 0;
    let mut group = Vec::new();
    let mut group_bytes = 0;
    while let Some(message) = next_message(&mut rest)? {
        let mut message = message;
        let size = message.len();
        while !message.is_empty() {
            let batch = decoder.decode(&mut message).map_err(damaged)?;
            if columns.is_none()
                && let Some(schema) = decoder.schema()
            {
                columns = Some(columns_of(&schema, wanted)?);
            }
            if let (Some(batch), Some(columns)) = (batch, &mut columns) {
                rows += batch.num_rows();
                check_size(rows, columns.len())?;
                group_bytes += size.max(batch.get_array_memory_size());
                group.push(batch);
                if group_bytes >= GROUP_BYTES {
                    append(&group, columns, threads)?;
                    group.clear();
                    group_bytes = 0;
                }
            }
        }
    }
    let mut columns = columns.ok_or_else(|| damaged("it has no schema"))?;
    append(&group, &mut columns, threads)?;
    Ok(RawTable {
        columns: columns.into_iter().map(ArrowColumn::finish).collect(),
        rows,
    })
}

fn columns_of(
    schema: &Schema,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<ArrowColumn>, FormatError> {
    check_size(0, schema.fields().len())?;
    schema
        .fields()
        .iter()
        .map(|field| ArrowColumn::new(field, wanted))
        .collect()
}

fn append(
    batches: &[RecordBatch],
    columns: &mut [ArrowColumn],
    threads: usize,
) -> Result<(), FormatError> {
    for_each_column(columns, threads, |index, column| {
        batches
            .iter()
            .try_for_each(|batch| column.append(batch.column(index)))
    })
}

/// Takes the next message with its body; `None` at the end.
fn next_message(rest: &mut Buffer) -> Result<Option<Buffer>, FormatError> {
    let too_early = || damaged("it ends too early");
    let mut at = 0;
    if rest.starts_with(&CONTINUATION) {
        at += CONTINUATION.len();
    }
    let Some(length) = rest.get(at..).and_then(|bytes| bytes.first_chunk::<4>()) else {
        // Some writers leave out the mark of the end.
        return if rest.is_empty() {
            Ok(None)
        } else {
            Err(too_early())
        };
    };
    at += length.len();
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 {
        return Ok(None);
    }
    let header = rest.get(at..).and_then(|bytes| bytes.get(..length));
    let message = arrow_ipc::root_as_message(header.ok_or_else(too_early)?).map_err(damaged)?;
    at += length;
    let body_length = usize::try_from(message.bodyLength()).map_err(damaged)?;
    let body = rest.get(at..).and_then(|bytes| bytes.get(..body_length));
    check_unpacked(&message, body.ok_or_else(too_early)?)?;
    let whole = rest.slice_with_length(0, at + body_length);
    rest.advance(at + body_length);
    Ok(Some(whole))
}

/// Sees that the parts of a message unpack to a size that can be held: the decoder takes as much
/// memory as the message says.
fn check_unpacked(message: &Message<'_>, body: &[u8]) -> Result<(), FormatError> {
    let batch: Option<BatchMessage<'_>> = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message
            .header_as_dictionary_batch()
            .and_then(|dictionary| dictionary.data()),
        _ => None,
    };
    let Some(batch) = batch else {
        return Ok(());
    };
    let Some(buffers) = batch.buffers().filter(|_| batch.compression().is_some()) else {
        return Ok(());
    };
    let mut total = 0u64;
    for buffer in buffers {
        let start = usize::try_from(buffer.offset()).map_err(damaged)?;
        let prefix = body.get(start..).and_then(|bytes| bytes.first_chunk::<8>());
        // A buffer without bytes has no length before them.
        let unpacked = prefix
            .filter(|_| buffer.length() >= 8)
            .map_or(0, |bytes| i64::from_le_bytes(*bytes));
        // -1 says that it is not packed.
        total = total.saturating_add(u64::try_from(unpacked).unwrap_or(0));
    }
    if total > MAX_FILE_BYTES {
        return Err(FormatError::TooLarge {
            format: "Arrow file",
            limit: MAX_FILE_BYTES,
        });
    }
    Ok(())
}

fn damaged(problem: impl std::fmt::Display) -> FormatError {
    FormatError::damaged("Arrow file", problem)
}

#[cfg(test)]
mod tests;
