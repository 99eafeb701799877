//! Columns of Arrow arrays, as Parquet and Arrow files hold them, to cells.
//!
//! A text is made once for each different value of a piece, not for each cell: dictionaries, truth
//! values and integers within a small range go by a table from key to code, other numbers by a
//! hash map. What comes out is the same as if the text of every cell had been pushed.

use super::cells::{Cells, Codes};
use super::dictionary::{Dictionary, NULL, TextCode};
use super::format_error::{FormatError, MAX_CELL_BYTES};
use super::number::DecimalMark;
use super::raw_table::RawColumn;
use super::value_text::{self, Fraction};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, RunArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use rustc_hash::FxHashMap;

const POINT: DecimalMark = DecimalMark::Point;

/// Most different keys of a piece that are looked up in a table; more go by a hash map.
const MAX_KEYS: usize = 1 << 16;

/// A key whose text has not been seen yet.
const UNSEEN: u32 = u32::MAX;

/// A column that is being read, piece after piece.
pub(super) struct ArrowColumn {
    name: String,
    cells: Cells,
    /// Whether the values of the dictionary are the values that the column may have.
    has_levels: bool,
    rows: u64,
}

impl ArrowColumn {
    /// Starts a column.
    ///
    /// # Errors
    /// If it is wanted and of a type without single values.
    pub(super) fn new(field: &Field, wanted: &dyn Fn(&str) -> bool) -> Result<Self, FormatError> {
        let name = name_of(field).to_string();
        let wanted = wanted(&name);
        if wanted && !is_readable(field.data_type()) {
            return Err(FormatError::NoValues {
                column: name,
                held: held(field.data_type()),
            });
        }
        Ok(Self {
            name,
            cells: if wanted {
                Cells::default()
            } else {
                Cells::Unwanted
            },
            has_levels: wanted && has_levels(field),
            rows: 0,
        })
    }

    /// Returns whether anybody wants the column.
    pub(super) fn is_wanted(&self) -> bool {
        !matches!(self.cells, Cells::Unwanted)
    }

    /// Returns how many cells have been read.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns what was read.
    pub(super) fn finish(self) -> RawColumn {
        let levels = match &self.cells {
            Cells::Texts { dictionary, .. } if self.has_levels => Some(dictionary.len()),
            _ => None,
        };
        RawColumn {
            name: self.name,
            cells: self.cells,
            levels,
        }
    }

    /// Returns whether the file lists the values that the column may have.
    pub(super) fn has_levels(&self) -> bool {
        self.has_levels
    }

    /// Forgets the levels: it has turned out that they are not all known.
    pub(super) fn drop_levels(&mut self) {
        self.has_levels = false;
    }

    /// Adds values that the column may have, behind those that are known.
    ///
    /// # Errors
    /// If the text of one is too long.
    pub(super) fn add_levels(&mut self, values: &dyn Array) -> Result<(), FormatError> {
        let mut levels = Piece::with_capacity(0);
        let mut text = Vec::new();
        for at in 0..values.len() {
            text.clear();
            if !write_value(values, at, &mut text) {
                continue;
            }
            if text.len() > MAX_CELL_BYTES {
                return Err(self.too_long(0));
            }
            if levels.dictionary.code(&text, 0).is_none() {
                self.has_levels = false;
                return Ok(());
            }
        }
        if matches!(self.cells, Cells::Texts { .. }) {
            self.cells.append(levels.into_cells(), POINT);
        }
        Ok(())
    }

    /// Appends the next piece.
    ///
    /// # Errors
    /// If a text is too long, or the piece is of a type without single values.
    pub(super) fn append(&mut self, array: &dyn Array) -> Result<(), FormatError> {
        if matches!(self.cells, Cells::Texts { .. } | Cells::Numbers { .. }) {
            self.append_by_type(array)?;
        }
        self.rows += array.len() as u64;
        Ok(())
    }

    fn append_by_type(&mut self, array: &dyn Array) -> Result<(), FormatError> {
        match array.data_type() {
            DataType::Null => {
                for _ in 0..array.len() {
                    self.cells.push_null();
                }
                Ok(())
            }
            DataType::Dictionary(key, _) => match **key {
                DataType::Int8 => self.append_dictionary::<Int8Type>(array),
                DataType::Int16 => self.append_dictionary::<Int16Type>(array),
                DataType::Int32 => self.append_dictionary::<Int32Type>(array),
                DataType::Int64 => self.append_dictionary::<Int64Type>(array),
                DataType::UInt8 => self.append_dictionary::<UInt8Type>(array),
                DataType::UInt16 => self.append_dictionary::<UInt16Type>(array),
                DataType::UInt32 => self.append_dictionary::<UInt32Type>(array),
                DataType::UInt64 => self.append_dictionary::<UInt64Type>(array),
                _ => Err(self.no_values(array)),
            },
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => self.append_runs::<Int16Type>(array),
                DataType::Int32 => self.append_runs::<Int32Type>(array),
                DataType::Int64 => self.append_runs::<Int64Type>(array),
                _ => Err(self.no_values(array)),
            },
            DataType::Boolean => {
                let values = array.as_boolean().values();
                let texts = [value_text::FALSE, value_text::TRUE];
                self.append_keys(
                    Keys {
                        rows: array.len(),
                        nulls: array.nulls(),
                        count: 2,
                        key: |row| usize::from(values.value(row)),
                    },
                    |key, out| {
                        out.extend_from_slice(texts[key]);
                        true
                    },
                )
            }
            DataType::Int8 => self.append_integers::<Int8Type>(array),
            DataType::Int16 => self.append_integers::<Int16Type>(array),
            DataType::Int32 => self.append_integers::<Int32Type>(array),
            DataType::Int64 => self.append_integers::<Int64Type>(array),
            DataType::UInt8 => self.append_integers::<UInt8Type>(array),
            DataType::UInt16 => self.append_integers::<UInt16Type>(array),
            DataType::UInt32 => self.append_integers::<UInt32Type>(array),
            DataType::UInt64 => self.append_integers::<UInt64Type>(array),
            DataType::Float64 => {
                let bits = |value: f64| {
                    if value.is_nan() {
                        f64::NAN.to_bits()
                    } else {
                        value.to_bits()
                    }
                };
                self.append_values::<Float64Type>(array, bits, Some(|value| value))
            }
            DataType::Float32 => {
                let bits = |value: f32| {
                    u64::from(if value.is_nan() {
                        f32::NAN.to_bits()
                    } else {
                        value.to_bits()
                    })
                };
                // The number that its text stands for is not the number itself.
                self.append_values::<Float32Type>(array, bits, None)
            }
            DataType::Float16 => {
                self.append_values::<Float16Type>(array, |value| u64::from(value.to_bits()), None)
            }
            DataType::Date32 => self.append_values::<Date32Type>(
                array,
                |days| u64::from(days.cast_unsigned()),
                None,
            ),
            DataType::Date64 => self.append_times::<Date64Type>(array),
            DataType::Time32(TimeUnit::Second) => self.append_values::<Time32SecondType>(
                array,
                |count| u64::from(count.cast_unsigned()),
                None,
            ),
            DataType::Time32(_) => self.append_values::<Time32MillisecondType>(
                array,
                |count| u64::from(count.cast_unsigned()),
                None,
            ),
            DataType::Time64(TimeUnit::Nanosecond) => {
                self.append_times::<Time64NanosecondType>(array)
            }
            DataType::Time64(_) => self.append_times::<Time64MicrosecondType>(array),
            DataType::Timestamp(TimeUnit::Second, _) => {
                self.append_times::<TimestampSecondType>(array)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.append_times::<TimestampMillisecondType>(array)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.append_times::<TimestampMicrosecondType>(array)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.append_times::<TimestampNanosecondType>(array)
            }
            DataType::Duration(TimeUnit::Second) => self.append_times::<DurationSecondType>(array),
            DataType::Duration(TimeUnit::Millisecond) => {
                self.append_times::<DurationMillisecondType>(array)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                self.append_times::<DurationMicrosecondType>(array)
            }
            DataType::Duration(TimeUnit::Nanosecond) => {
                self.append_times::<DurationNanosecondType>(array)
            }
            DataType::Utf8 => self.append_texts(array.as_string::<i32>().iter()),
            DataType::LargeUtf8 => self.append_texts(array.as_string::<i64>().iter()),
            DataType::Utf8View => self.append_texts(array.as_string_view().iter()),
            _ => self.append_cell_by_cell(array),
        }
    }

    fn no_values(&self, array: &dyn Array) -> FormatError {
        FormatError::NoValues {
            column: self.name.clone(),
            held: held(array.data_type()),
        }
    }

    fn append_dictionary<K: ArrowDictionaryKeyType>(
        &mut self,
        array: &dyn Array,
    ) -> Result<(), FormatError> {
        let array = array.as_dictionary::<K>();
        let keys: &[K::Native] = array.keys().values();
        let values = array.values();
        self.append_keys(
            Keys {
                rows: array.len(),
                nulls: array.keys().nulls(),
                count: values.len(),
                key: |row: usize| keys[row].as_usize(),
            },
            |key, out| write_value(values, key, out),
        )
    }

    fn append_runs<R: RunEndIndexType>(&mut self, array: &dyn Array) -> Result<(), FormatError> {
        let Some(array) = array.as_any().downcast_ref::<RunArray<R>>() else {
            return Err(self.no_values(array));
        };
        let values = array.values();
        self.append_keys(
            Keys {
                rows: array.len(),
                nulls: None,
                count: values.len(),
                key: |row| array.get_physical_index(row),
            },
            |key, out| write_value(values, key, out),
        )
    }

    fn append_integers<T: ArrowPrimitiveType>(
        &mut self,
        array: &dyn Array,
    ) -> Result<(), FormatError>
    where
        T::Native: Into<i128> + Ord,
    {
        let array_of_type = array.as_primitive::<T>();
        let values = array_of_type.values();
        // What stands where there is no value is mostly zero, so it may count here.
        let (Some(&first), Some(&last)) = (values.iter().min(), values.iter().max()) else {
            return Ok(());
        };
        let (least, most): (i128, i128) = (first.into(), last.into());
        let range = most - least;
        if matches!(self.cells, Cells::Texts { .. })
            && let Ok(range) = usize::try_from(range)
            && range < MAX_KEYS
        {
            return self.append_keys(
                Keys {
                    rows: array.len(),
                    nulls: array.nulls(),
                    count: range + 1,
                    // Right also where these wrap around, since their distance is small.
                    key: |row: usize| values[row].as_usize().wrapping_sub(first.as_usize()),
                },
                |key, out| {
                    value_text::integer(least + key as i128, out);
                    true
                },
            );
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "as a key, which needs only be different"
        )]
        let key = |value: T::Native| value.into() as u64;
        // Rounded to the nearest, as the text of it would be.
        self.append_values::<T>(array, key, Some(|value| value.into() as f64))
    }

    fn append_times<T: ArrowPrimitiveType<Native = i64>>(
        &mut self,
        array: &dyn Array,
    ) -> Result<(), FormatError> {
        self.append_values::<T>(array, i64::cast_unsigned, None)
    }

    /// Appends numbers by a hash map; or, where texts are not kept any more, as they are.
    fn append_values<T: ArrowPrimitiveType>(
        &mut self,
        array: &dyn Array,
        key: impl Fn(T::Native) -> u64,
        number: Option<fn(T::Native) -> f64>,
    ) -> Result<(), FormatError> {
        let array_of_type: &PrimitiveArray<T> = array.as_primitive();
        let values = array_of_type.values();
        if let (Some(number), Cells::Numbers { .. }) = (number, &self.cells) {
            return self.append_numbers(array, |row| number(values[row]));
        }
        let mut codes_of: FxHashMap<u64, TextCode> = FxHashMap::default();
        let mut piece = Piece::with_capacity(values.len());
        let mut text = Vec::new();
        for (row, &value) in values.iter().enumerate() {
            if array.is_null(row) {
                piece.codes.push(NULL);
                continue;
            }
            let key = key(value);
            let code = match codes_of.get(&key) {
                Some(&code) => code,
                None => {
                    text.clear();
                    write_value(array, row, &mut text);
                    let Some(code) = piece.dictionary.code(&text, self.row(row)) else {
                        return match number {
                            Some(number) => {
                                self.append_many_numbers(array, |row| number(values[row]))
                            }
                            None => self.append_cell_by_cell(array),
                        };
                    };
                    codes_of.insert(key, code);
                    code
                }
            };
            piece.codes.push(code);
        }
        self.cells.append(piece.into_cells(), POINT);
        Ok(())
    }

    /// Appends numbers of which there are more than texts are kept.
    fn append_many_numbers(
        &mut self,
        array: &dyn Array,
        number: impl Fn(usize) -> f64,
    ) -> Result<(), FormatError> {
        let mut text = Vec::new();
        let mut row = 0;
        while row < array.len() && !matches!(self.cells, Cells::Numbers { .. }) {
            self.push_cell(array, row, &mut text)?;
            row += 1;
        }
        let rest = array.slice(row, array.len() - row);
        let rows = self.rows;
        self.rows += row as u64;
        let appended = self.append_numbers(&rest, |further| number(row + further));
        self.rows = rows;
        appended
    }

    /// Appends numbers to a column of numbers.
    fn append_numbers(
        &mut self,
        array: &dyn Array,
        number: impl Fn(usize) -> f64,
    ) -> Result<(), FormatError> {
        let mut text = Vec::new();
        for row in 0..array.len() {
            if array.is_valid(row)
                && let number = number(row)
                && number.is_finite()
                && let Cells::Numbers { values, .. } = &mut self.cells
            {
                values.push(number);
            } else {
                self.push_cell(array, row, &mut text)?;
            }
        }
        Ok(())
    }

    fn append_texts<'t>(
        &mut self,
        texts: impl Iterator<Item = Option<&'t str>>,
    ) -> Result<(), FormatError> {
        for (row, text) in texts.enumerate() {
            match text {
                Some(text) if text.len() > MAX_CELL_BYTES => return Err(self.too_long(row)),
                Some(text) => {
                    let row = self.row(row);
                    self.cells.push(text.as_bytes(), row, POINT);
                }
                None => self.cells.push_null(),
            }
        }
        Ok(())
    }

    fn append_cell_by_cell(&mut self, array: &dyn Array) -> Result<(), FormatError> {
        if !is_readable(array.data_type()) {
            return Err(self.no_values(array));
        }
        let mut text = Vec::new();
        (0..array.len()).try_for_each(|row| self.push_cell(array, row, &mut text))
    }

    fn push_cell(
        &mut self,
        array: &dyn Array,
        row: usize,
        text: &mut Vec<u8>,
    ) -> Result<(), FormatError> {
        text.clear();
        if !write_value(array, row, text) {
            self.cells.push_null();
        } else if text.len() > MAX_CELL_BYTES {
            return Err(self.too_long(row));
        } else {
            let row = self.row(row);
            self.cells.push(text, row, POINT);
        }
        Ok(())
    }

    /// Appends cells that are keys into a list of values. `write` writes the text of a value, or
    /// says that there is none.
    fn append_keys<'a>(
        &mut self,
        keys: Keys<'a, impl Fn(usize) -> usize>,
        write: impl Fn(usize, &mut Vec<u8>) -> bool,
    ) -> Result<(), FormatError> {
        let mut text = Vec::new();
        let mut piece = Piece::with_capacity(keys.rows);
        let mut codes_of = vec![UNSEEN; keys.count];
        let mut fits = true;
        for row in 0..keys.rows {
            if !fits {
                break;
            }
            if keys.nulls.is_some_and(|nulls| nulls.is_null(row)) {
                piece.codes.push(NULL);
                continue;
            }
            let key = (keys.key)(row);
            let Some(&known) = codes_of.get(key) else {
                // Arrays are checked when they are made.
                return Err(FormatError::damaged(
                    "file",
                    "a key is beyond its dictionary",
                ));
            };
            #[expect(clippy::cast_possible_truncation, reason = "codes are this wide")]
            let code = if known != UNSEEN {
                Some(known as TextCode)
            } else {
                text.clear();
                if !write(key, &mut text) {
                    Some(NULL)
                } else if text.len() > MAX_CELL_BYTES {
                    return Err(self.too_long(row));
                } else {
                    piece.dictionary.code(&text, self.row(row))
                }
            };
            match code {
                Some(code) => {
                    codes_of[key] = u32::from(code);
                    piece.codes.push(code);
                }
                None => fits = false,
            }
        }
        if fits {
            self.cells.append(piece.into_cells(), POINT);
            return Ok(());
        }
        // More texts than a dictionary holds.
        for row in 0..keys.rows {
            text.clear();
            let is_null = keys.nulls.is_some_and(|nulls| nulls.is_null(row));
            if is_null || !write((keys.key)(row), &mut text) {
                self.cells.push_null();
            } else if text.len() > MAX_CELL_BYTES {
                return Err(self.too_long(row));
            } else {
                let row = self.row(row);
                self.cells.push(&text, row, POINT);
            }
        }
        Ok(())
    }

    /// Returns the number of a row of the piece within the file, counted from 1.
    fn row(&self, in_piece: usize) -> u64 {
        self.rows + in_piece as u64 + 1
    }

    fn too_long(&self, row: usize) -> FormatError {
        FormatError::CellTooLong {
            row: self.row(row),
            column: self.name.clone(),
        }
    }
}

/// Cells that are keys into a list of `count` values.
struct Keys<'a, K> {
    rows: usize,
    nulls: Option<&'a NullBuffer>,
    count: usize,
    key: K,
}

/// Codes of a piece of a column, with texts of its own.
struct Piece {
    dictionary: Dictionary,
    codes: Vec<TextCode>,
}

impl Piece {
    fn with_capacity(rows: usize) -> Self {
        Self {
            dictionary: Dictionary::default(),
            codes: Vec::with_capacity(rows),
        }
    }

    fn into_cells(self) -> Cells {
        let codes = if self.dictionary.len() <= usize::from(u8::MAX) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the lowest byte of NULL is what stands for it among bytes"
            )]
            Codes::Bytes(self.codes.iter().map(|&code| code as u8).collect())
        } else {
            Codes::Words(self.codes)
        };
        Cells::Texts {
            dictionary: self.dictionary,
            codes,
        }
    }
}

/// Writes the text of a value; `false` if there is none, or not of this type.
fn write_value(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> bool {
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
fn is_readable(data_type: &DataType) -> bool {
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
fn held(data_type: &DataType) -> String {
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

/// Returns a column's name; the row labels that pandas writes have none.
fn name_of(field: &Field) -> &str {
    let level = field
        .name()
        .strip_prefix("__index_level_")
        .and_then(|rest| rest.strip_suffix("__"));
    match level {
        Some(level) if !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_digit()) => "",
        _ => field.name(),
    }
}

/// Says whether the dictionary of a column lists the values that it may have. Those of polars'
/// Categorical do not: they are what has occurred so far.
fn has_levels(field: &Field) -> bool {
    let categorical = ["_PL_CATEGORICAL", "_PL_CATEGORICAL2"];
    matches!(field.data_type(), DataType::Dictionary(_, _))
        && !categorical
            .iter()
            .any(|key| field.metadata().contains_key(*key))
}

#[cfg(test)]
mod tests;
