//! The values of an Arrow array one by one: which types have single values, and the text of each.

use super::value_text::{self, Fraction};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::{DataType, TimeUnit};

/// Writes the text of a value; `false` if there is none, or not of this type.
pub(super) fn write_value(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> bool {
    if array.is_null(row) {
        return false;
    }
    let fraction = |unit: &TimeUnit| match unit {
        TimeUnit::Second => Fraction::Seconds,
        TimeUnit::Millisecond => Fraction::Milliseconds,
        TimeUnit::Microsecond => Fraction::Microseconds,
        TimeUnit::Nanosecond => Fraction::Nanoseconds,
    };
    macro_rules! value {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row)
        };
    }
    match array.data_type() {
        DataType::Utf8 => out.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => {
            out.extend_from_slice(array.as_string::<i64>().value(row).as_bytes())
        }
        DataType::Utf8View => out.extend_from_slice(array.as_string_view().value(row).as_bytes()),
        DataType::Boolean if array.as_boolean().value(row) => {
            out.extend_from_slice(value_text::TRUE)
        }
        DataType::Boolean => out.extend_from_slice(value_text::FALSE),
        DataType::Int8 => value_text::integer(value!(Int8Type), out),
        DataType::Int16 => value_text::integer(value!(Int16Type), out),
        DataType::Int32 => value_text::integer(value!(Int32Type), out),
        DataType::Int64 => value_text::integer(value!(Int64Type), out),
        DataType::UInt8 => value_text::integer(value!(UInt8Type), out),
        DataType::UInt16 => value_text::integer(value!(UInt16Type), out),
        DataType::UInt32 => value_text::integer(value!(UInt32Type), out),
        DataType::UInt64 => value_text::integer(value!(UInt64Type), out),
        DataType::Float16 => value_text::float16(value!(Float16Type), out),
        DataType::Float32 => value_text::float32(value!(Float32Type), out),
        DataType::Float64 => value_text::float64(value!(Float64Type), out),
        DataType::Decimal32(_, _) => {
            value_text::integer(
                array.as_primitive::<Decimal32Type>().value_as_string(row),
                out,
            );
        }
        DataType::Decimal64(_, _) => {
            value_text::integer(
                array.as_primitive::<Decimal64Type>().value_as_string(row),
                out,
            );
        }
        DataType::Decimal128(_, _) => {
            value_text::integer(
                array.as_primitive::<Decimal128Type>().value_as_string(row),
                out,
            );
        }
        DataType::Decimal256(_, _) => {
            value_text::integer(
                array.as_primitive::<Decimal256Type>().value_as_string(row),
                out,
            );
        }
        DataType::Date32 => value_text::date(i64::from(value!(Date32Type)), out),
        DataType::Date64 => value_text::date(value!(Date64Type).div_euclid(86_400_000), out),
        DataType::Time32(unit @ TimeUnit::Second) => {
            value_text::time(i64::from(value!(Time32SecondType)), fraction(unit), out);
        }
        DataType::Time32(_) => {
            let count = i64::from(value!(Time32MillisecondType));
            value_text::time(count, Fraction::Milliseconds, out);
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            value_text::time(value!(Time64NanosecondType), Fraction::Nanoseconds, out);
        }
        DataType::Time64(_) => {
            value_text::time(value!(Time64MicrosecondType), Fraction::Microseconds, out);
        }
        DataType::Timestamp(unit, zone) => {
            let count = match unit {
                TimeUnit::Second => value!(TimestampSecondType),
                TimeUnit::Millisecond => value!(TimestampMillisecondType),
                TimeUnit::Microsecond => value!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => value!(TimestampNanosecondType),
            };
            value_text::timestamp(count, fraction(unit), out);
            // Stored in universal time, whatever the zone is.
            if zone.is_some() {
                out.extend_from_slice(b"+00:00");
            }
        }
        DataType::Duration(unit) => {
            let count = match unit {
                TimeUnit::Second => value!(DurationSecondType),
                TimeUnit::Millisecond => value!(DurationMillisecondType),
                TimeUnit::Microsecond => value!(DurationMicrosecondType),
                TimeUnit::Nanosecond => value!(DurationNanosecondType),
            };
            value_text::duration(count, fraction(unit), out);
        }
        _ => return false,
    }
    true
}

/// Says whether values of a type are single and have a text.
pub(super) fn is_readable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null | DataType::Boolean => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => true,
        DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) => true,
        DataType::Dictionary(_, values) => is_readable(values) && !is_packed(values),
        DataType::RunEndEncoded(_, values) => {
            is_readable(values.data_type()) && !is_packed(values.data_type())
        }
        other => other.is_numeric(),
    }
}

fn is_packed(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _)
    )
}

/// Says in words what a column holds whose values are not single.
pub(super) fn held(data_type: &DataType) -> String {
    match data_type {
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(_, _)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => "lists".into(),
        DataType::Struct(_) => "records with fields of their own".into(),
        DataType::Map(_, _) => "maps".into(),
        DataType::Union(_, _) => "values of several types".into(),
        DataType::Interval(_) => "calendar intervals".into(),
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "bytes".into(),
        other => format!("values of the type {other}"),
    }
}
