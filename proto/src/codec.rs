//! How messages are read: their lists are counted before anything is made of them. An empty item of a
//! list takes two bytes on the wire and a hundred in memory, so that a message within its limit of
//! bytes could otherwise take fifty times as much.

use crate::convert::KnownRows;
use crate::{MAX_FINDS, MAX_LIST_BYTES, MAX_REPORTS, v1};
use bytes::{Buf as _, Bytes};
use prost::Message;
use std::marker::PhantomData;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::ProstEncoder;

/// Reads and writes messages.
#[derive(Debug)]
pub struct BoundedCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for BoundedCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for BoundedCodec<T, U>
where
    T: Message + Send + 'static,
    U: Bounded,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(PhantomData)
    }
}

/// Reads messages.
#[derive(Debug)]
pub struct BoundedDecoder<U>(PhantomData<U>);

impl<U: Bounded> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let length = buffer.remaining();
        let bytes = buffer.copy_to_bytes(length);
        U::check(&bytes)?;
        let message = U::decode(bytes).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Some(message))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

/// A message with what limits its lists.
pub trait Bounded: Message + Default + Send + 'static {
    /// Checks encoded bytes before they are decoded.
    ///
    /// # Errors
    /// If a list is too long.
    fn check(_bytes: &Bytes) -> Result<(), Status> {
        Ok(())
    }
}

impl Bounded for v1::JoinRequest {}
impl Bounded for v1::JoinReply {}
impl Bounded for v1::FetchDataRequest {}
impl Bounded for v1::Chunk {}
impl Bounded for v1::StoreChainChunk {}
impl Bounded for v1::StoreChainReply {}
impl Bounded for v1::FetchChainRequest {}
impl Bounded for v1::ExchangeReply {}
impl Bounded for v1::LeaveReply {}
impl Bounded for v1::StatusRequest {}
impl Bounded for v1::StatusReply {}
impl Bounded for v1::StopRequest {}
impl Bounded for v1::ResultRequest {}
impl Bounded for v1::ResultChunk {}

impl Bounded for v1::ExchangeRequest {
    fn check(bytes: &Bytes) -> Result<(), Status> {
        check_exchange(bytes)
    }
}

/// The number of `reports` and `bases` in an exchange, and of `finds` in a report.
const REPORTS: u64 = 5;
const BASES: u64 = 7;
const FINDS: u64 = 3;

fn check_exchange(bytes: &[u8]) -> Result<(), Status> {
    if items(bytes, BASES).nth(KnownRows::MOST).is_some() {
        return Err(too_many("bases"));
    }
    let (mut count, mut size) = (0, 0);
    for report in items(bytes, REPORTS) {
        count += 1;
        if count > MAX_REPORTS {
            return Err(too_many("reports"));
        }
        // As many bytes as the item takes in its list.
        size += report.len() + 1 + prost::length_delimiter_len(report.len());
        if items(report, FINDS).nth(MAX_FINDS).is_some() {
            return Err(too_many("finds"));
        }
    }
    // A single report may be larger.
    if count > 1 && size > MAX_LIST_BYTES {
        return Err(Status::resource_exhausted(format!(
            "the reports take {size} bytes, at most {MAX_LIST_BYTES} are taken at a time"
        )));
    }
    Ok(())
}

fn too_many(list: &str) -> Status {
    Status::invalid_argument(format!("{list} is out of range"))
}

/// Returns the items of a list of messages. It ends where the bytes make no sense; decoding says so.
fn items(mut bytes: &[u8], list: u64) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        loop {
            let key = number(&mut bytes)?;
            let length = match key & 7 {
                0 => {
                    number(&mut bytes)?;
                    continue;
                }
                1 => 8,
                2 => usize::try_from(number(&mut bytes)?).ok()?,
                5 => 4,
                // Marks of a group: what is in it follows, and counts as if it were outside.
                3 | 4 => 0,
                _ => return None,
            };
            let (item, rest) = bytes.split_at_checked(length)?;
            bytes = rest;
            if key & 7 == 2 && key >> 3 == list {
                return Some(item);
            }
        }
    })
}

/// Reads a number of variable length.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exchange(reports: usize, finds: usize) -> Vec<u8> {
        let report = v1::ChainReport {
            finds: vec![v1::Find::default(); finds],
            ..Default::default()
        };
        let exchange = v1::ExchangeRequest {
            protocol_version: 3,
            worker: 7,
            reports: vec![report; reports],
            ..Default::default()
        };
        exchange.encode_to_vec()
    }

    #[test]
    fn lists_are_counted_before_they_are_decoded() {
        let code = |bytes: &[u8]| check_exchange(bytes).map_err(|status| status.code());
        assert_eq!(code(&exchange(0, 0)), Ok(()));
        assert_eq!(code(&exchange(MAX_REPORTS, 1)), Ok(()));
        assert_eq!(code(&exchange(3, MAX_FINDS)), Ok(()));
        let refused = Err(tonic::Code::InvalidArgument);
        assert_eq!(code(&exchange(MAX_REPORTS + 1, 0)), refused);
        assert_eq!(code(&exchange(1, MAX_FINDS + 1)), refused);
        let bases = |count: usize| {
            let exchange = v1::ExchangeRequest {
                bases: vec![Bytes::new(); count],
                ..Default::default()
            };
            exchange.encode_to_vec()
        };
        assert_eq!(code(&bases(KnownRows::MOST)), Ok(()));
        assert_eq!(code(&bases(KnownRows::MOST + 1)), refused);
        // Within the limit of a message, two million reports.
        let many = [0x2a, 0].repeat(crate::MAX_MESSAGE_BYTES / 2);
        assert_eq!(code(&many), refused);
    }

    #[test]
    fn several_reports_take_a_mebibyte_at_most_and_a_single_one_may_be_larger() {
        let report = |bytes: usize| {
            let find = v1::Find {
                found: 1,
                row: Some(v1::Row {
                    edges: vec![0; bytes].into(),
                    ..Default::default()
                }),
            };
            v1::ChainReport {
                finds: vec![find],
                ..Default::default()
            }
        };
        let code = |reports: Vec<v1::ChainReport>| {
            let exchange = v1::ExchangeRequest {
                reports,
                ..Default::default()
            };
            check_exchange(&exchange.encode_to_vec()).map_err(|status| status.code())
        };
        assert_eq!(code(vec![report(2 * MAX_LIST_BYTES)]), Ok(()));
        assert_eq!(
            code(vec![report(MAX_LIST_BYTES / 2), report(MAX_LIST_BYTES / 4)]),
            Ok(())
        );
        assert_eq!(
            code(vec![report(MAX_LIST_BYTES / 2), report(MAX_LIST_BYTES / 2)]),
            Err(tonic::Code::ResourceExhausted)
        );
    }

    proptest! {
        /// Whatever decodes has no more items than were counted, and nothing panics.
        #[test]
        fn no_bytes_hide_items(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let counted = items(&bytes, REPORTS).count();
            if let Ok(exchange) = v1::ExchangeRequest::decode(&*bytes) {
                prop_assert!(exchange.reports.len() <= counted);
            }
            let _ = check_exchange(&bytes);
        }

        #[test]
        fn items_are_found_among_other_fields(
            reports in 0usize..40, finds in 0usize..9, unknown in prop::collection::vec(any::<u32>(), 0..9),
        ) {
            let mut bytes = exchange(reports, finds);
            for value in unknown {
                // Field 100, a fixed number of 32 bits.
                prost::encoding::encode_varint((100 << 3) | 5, &mut bytes);
                bytes.extend(value.to_le_bytes());
                bytes.extend(exchange(1, finds));
            }
            let decoded = v1::ExchangeRequest::decode(&*bytes).unwrap();
            let found: Vec<usize> = items(&bytes, REPORTS)
                .map(|report| items(report, FINDS).count())
                .collect();
            let expected: Vec<usize> = decoded.reports.iter().map(|it| it.finds.len()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
