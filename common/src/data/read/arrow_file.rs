//! Arrow files (also called Feather) and streams of Arrow messages, plain or packed by lz4 or
//! zstd.
//!
//! The bytes are held in memory whole, and columns that are not packed are used where they lie.
//! What a packed column unpacks to is known beforehand, and bounded by [`MAX_FILE_BYTES`] for each
//! message. The decoder takes for granted that the parts of a message lie within it; that is
//! checked here.

use super::arrow_table::ArrowTable;
use super::decoder_guard::guarded;
use super::format_error::FormatError;
use super::raw_table::RawTable;
use crate::data::source::MAX_FILE_BYTES;
use crate::data::table::Table;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, Message, MessageHeader, RecordBatch as BatchMessage};
use bytes::Bytes;
use std::sync::Arc;

const FORMAT: &str = "Arrow file";

/// How an Arrow file begins and ends.
const FILE_MARK: &[u8] = b"ARROW1";

/// The length of the footer and the mark.
const FILE_END_BYTES: usize = 10;

/// What stands before the length of each message, except in very old streams.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Reads the wanted columns of a file or a stream.
///
/// # Errors
/// If the bytes are damaged, too many, or have a wanted column without single values.
pub(crate) fn read_arrow(
    bytes: Bytes,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> Result<RawTable, FormatError> {
    let bytes = Buffer::from(bytes);
    guarded(FORMAT, || {
        let table = if bytes.starts_with(FILE_MARK) {
            read_file(&bytes, wanted, threads)?
        } else {
            read_stream(bytes, wanted, threads)?
        };
        table.finish()
    })
}

/// Reads a file: its footer has the schema and the places of all messages.
fn read_file(
    bytes: &Buffer,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> Result<ArrowTable, FormatError> {
    let too_early = || damaged("it ends too early");
    let (before, end) = bytes
        .split_last_chunk::<FILE_END_BYTES>()
        .ok_or_else(too_early)?;
    let length = read_footer_length(*end).map_err(damaged)?;
    let start = before.len().checked_sub(length).ok_or_else(too_early)?;
    let footer = arrow_ipc::root_as_footer(&before[start..]).map_err(damaged)?;
    let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(damaged("its byte order is another than this machine's"));
    }
    let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(schema).map_err(damaged)?);
    let mut table = ArrowTable::new(FORMAT, &schema, wanted, threads)?;
    let mut decoder = FileDecoder::new(schema, footer.version());
    for block in footer.dictionaries().into_iter().flatten() {
        let message = message_at(bytes, block)?;
        decoder.read_dictionary(block, &message).map_err(damaged)?;
    }
    for block in footer.recordBatches().into_iter().flatten() {
        let message = message_at(bytes, block)?;
        let batch = decoder.read_record_batch(block, &message);
        if let Some(batch) = batch.map_err(damaged)? {
            table.push(batch)?;
        }
    }
    Ok(table)
}

/// Returns the message at a place of a file, with its body.
fn message_at(bytes: &Buffer, block: &Block) -> Result<Buffer, FormatError> {
    let outside = || damaged("a message lies outside the file");
    let start = usize::try_from(block.offset()).map_err(damaged)?;
    let head = usize::try_from(block.metaDataLength()).map_err(damaged)?;
    let body = usize::try_from(block.bodyLength()).map_err(damaged)?;
    let length = head.checked_add(body).ok_or_else(outside)?;
    let end = start.checked_add(length).filter(|&end| end <= bytes.len());
    let message = bytes
        .get(start..end.ok_or_else(outside)?)
        .ok_or_else(outside)?;
    check_message(&message[..head], &message[head..])?;
    Ok(bytes.slice_with_length(start, length))
}

/// Reads a stream: messages one behind the other, the schema first.
fn read_stream(
    mut rest: Buffer,
    wanted: &dyn Fn(&str) -> bool,
    threads: usize,
) -> Result<ArrowTable, FormatError> {
    let mut decoder = StreamDecoder::new();
    let mut table = None;
    while let Some(mut message) = next_message(&mut rest)? {
        while !message.is_empty() {
            let batch = decoder.decode(&mut message).map_err(damaged)?;
            if table.is_none()
                && let Some(schema) = decoder.schema()
            {
                table = Some(ArrowTable::new(FORMAT, &schema, wanted, threads)?);
            }
            if let (Some(batch), Some(table)) = (batch, &mut table) {
                table.push(batch)?;
            }
        }
    }
    table.ok_or_else(|| damaged("it has no schema"))
}

/// Takes the next message with its body; `None` at the end.
fn next_message(rest: &mut Buffer) -> Result<Option<Buffer>, FormatError> {
    let too_early = || damaged("it ends too early");
    // Some writers leave out the mark of the end.
    if rest.is_empty() {
        return Ok(None);
    }
    let (start, length) = head(rest).ok_or_else(too_early)?;
    if length == 0 {
        return Ok(None);
    }
    let head_bytes = start + length;
    let message = message_of(rest.get(..head_bytes).ok_or_else(too_early)?)?;
    let body = usize::try_from(message.bodyLength()).map_err(damaged)?;
    let behind = rest.get(head_bytes..).and_then(|behind| behind.get(..body));
    check_message(&rest[..head_bytes], behind.ok_or_else(too_early)?)?;
    let whole = rest.slice_with_length(0, head_bytes + body);
    rest.advance(head_bytes + body);
    Ok(Some(whole))
}

/// Returns where the description of a message begins, and its length.
fn head(bytes: &[u8]) -> Option<(usize, usize)> {
    let start = if bytes.starts_with(&CONTINUATION) {
        4
    } else {
        0
    };
    let length = bytes.get(start..)?.first_chunk::<4>()?;
    Some((start + 4, u32::from_le_bytes(*length) as usize))
}

fn message_of(bytes: &[u8]) -> Result<Message<'_>, FormatError> {
    let description = head(bytes).and_then(|(start, _)| bytes.get(start..));
    let description = description.ok_or_else(|| damaged("it ends too early"))?;
    arrow_ipc::root_as_message(description).map_err(damaged)
}

/// Sees that the parts of a message lie within its body, have lengths that can be, and unpack to a
/// size that can be held: the decoder takes as much memory as the message says.
fn check_message(head: &[u8], body: &[u8]) -> Result<(), FormatError> {
    let message = message_of(head)?;
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
    let outside = || damaged("a part of a message lies outside it");
    let is_length = |length: i64| usize::try_from(length).is_ok_and(|rows| rows <= Table::MAX_ROWS);
    let nodes_are_lengths =
        batch.nodes().into_iter().flatten().all(|node| {
            is_length(node.length()) && (0..=node.length()).contains(&node.null_count())
        });
    if !is_length(batch.length()) || !nodes_are_lengths {
        return Err(damaged("a column has an impossible number of rows"));
    }
    let is_packed = batch.compression().is_some();
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).map_err(damaged)?;
        let length = usize::try_from(buffer.length()).map_err(damaged)?;
        let bytes = body.get(start..).and_then(|bytes| bytes.get(..length));
        let bytes = bytes.ok_or_else(outside)?;
        if is_packed && let Some(unpacked) = bytes.first_chunk::<8>() {
            // -1 says that it is not packed.
            let unpacked = u64::try_from(i64::from_le_bytes(*unpacked)).unwrap_or(0);
            total = total.saturating_add(unpacked);
        }
    }
    if total > MAX_FILE_BYTES {
        return Err(FormatError::TooLarge {
            format: FORMAT,
            limit: MAX_FILE_BYTES,
        });
    }
    Ok(())
}

fn damaged(problem: impl std::fmt::Display) -> FormatError {
    FormatError::damaged(FORMAT, problem)
}

#[cfg(test)]
mod tests;
