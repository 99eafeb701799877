//! Columns of Arrow arrays, as Parquet and Arrow files hold them, to cells.
//!
//! A text is made once for each different value of a piece, not for each cell: dictionaries, truth
//! values and integers within a small range go by a table from key to code, other numbers by a
//! hash map. What comes out is the same as if the text of every cell had been pushed.

use super::MAX_CELL_BYTES;
use super::arrow_values::{held, is_readable, write_value};
use super::cells::{Cells, Codes};
use super::dictionary::Dictionary;
use super::format_error::FormatError;
use super::key_codes::{Keys, NotCoded, cells_of_keys};
use super::number::DecimalMark;
use super::raw_table::RawColumn;
use super::value_text;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, RunArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field, TimeUnit};
use rustc_hash::FxHashMap;

const POINT: DecimalMark = DecimalMark::Point;

/// Most different keys of a piece that are looked up in a table; more go by a hash map.
const MAX_KEYS: usize = 1 << 16;

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
        let mut levels = Dictionary::default();
        let mut text = Vec::new();
        for at in 0..values.len() {
            text.clear();
            if !write_value(values, at, &mut text) {
                continue;
            }
            if text.len() > MAX_CELL_BYTES {
                return Err(self.too_long(0));
            }
            if levels.code(&text, 0).is_none() {
                self.has_levels = false;
                return Ok(());
            }
        }
        if matches!(self.cells, Cells::Texts { .. }) {
            let piece = Cells::Texts {
                dictionary: levels,
                codes: Codes::Bytes(Vec::new()),
            };
            self.cells.append(piece, POINT);
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
                    &Keys {
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
            &Keys {
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
            &Keys {
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
        let Some(&any) = values.first() else {
            return Ok(());
        };
        let (first, last) = values.iter().fold((any, any), |(first, last), &value| {
            (first.min(value), last.max(value))
        });
        let (least, most): (i128, i128) = (first.into(), last.into());
        let range = most - least;
        if matches!(self.cells, Cells::Texts { .. })
            && let Ok(range) = usize::try_from(range)
            && range < MAX_KEYS
        {
            return self.append_keys(
                &Keys {
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
        // First which values there are: if they are too many, no text has to be made.
        let mut places: FxHashMap<u64, u32> = FxHashMap::default();
        let mut first_rows = Vec::new();
        let mut keys = Vec::with_capacity(values.len());
        for (row, &value) in values.iter().enumerate() {
            if array.is_null(row) {
                keys.push(0);
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "at most MAX_KEYS")]
            let next = first_rows.len() as u32;
            let place = *places.entry(key(value)).or_insert(next);
            if place == next {
                first_rows.push(row);
            }
            keys.push(place);
            if first_rows.len() > Dictionary::MAX_TEXTS {
                return match number {
                    Some(number) => self.append_many_numbers(array, |row| number(values[row])),
                    None => self.append_cell_by_cell(array),
                };
            }
        }
        self.append_keys(
            &Keys {
                rows: keys.len(),
                nulls: array.nulls(),
                count: first_rows.len(),
                key: |row: usize| keys[row] as usize,
            },
            |key, out| write_value(array, first_rows[key], out),
        )
    }

    /// Appends numbers of which there are more than texts are kept.
    fn append_many_numbers(
        &mut self,
        array: &dyn Array,
        number: impl Fn(usize) -> f64,
    ) -> Result<(), FormatError> {
        self.cells.append(Cells::of_numbers(), POINT);
        self.append_numbers(array, number)
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
                Some(text) => self.push_text(text.as_bytes(), row)?,
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
        if write_value(array, row, text) {
            self.push_text(text, row)
        } else {
            self.cells.push_null();
            Ok(())
        }
    }

    /// Appends cells that are keys into a list of values. `write` writes the text of a value, or
    /// says that there is none.
    fn append_keys(
        &mut self,
        keys: &Keys<'_, impl Fn(usize) -> usize>,
        write: impl Fn(usize, &mut Vec<u8>) -> bool,
    ) -> Result<(), FormatError> {
        match cells_of_keys(keys, self.rows, &write) {
            Ok(piece) => {
                self.cells.append(piece, POINT);
                return Ok(());
            }
            Err(NotCoded::TextTooLong(row)) => return Err(self.too_long(row)),
            // Arrays are checked when they are made.
            Err(NotCoded::NoSuchKey) => {
                let problem = "a key is beyond its dictionary";
                return Err(FormatError::damaged("file", problem));
            }
            Err(NotCoded::TooManyTexts) => {}
        }
        let mut text = Vec::new();
        for row in 0..keys.rows {
            text.clear();
            let is_null = keys.nulls.is_some_and(|nulls| nulls.is_null(row));
            if is_null || !write((keys.key)(row), &mut text) {
                self.cells.push_null();
            } else {
                self.push_text(&text, row)?;
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &[u8], row: usize) -> Result<(), FormatError> {
        if text.len() > MAX_CELL_BYTES {
            return Err(self.too_long(row));
        }
        let row = self.row(row);
        self.cells.push(text, row, POINT);
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
/// Categorical do not, they are what has occurred so far; nor do those that a caller marks by `rlbayes`.
fn has_levels(field: &Field) -> bool {
    let categorical = ["_PL_CATEGORICAL", "_PL_CATEGORICAL2", "rlbayes"];
    matches!(field.data_type(), DataType::Dictionary(_, _))
        && !categorical
            .iter()
            .any(|key| field.metadata().contains_key(key))
}

#[cfg(test)]
mod tests;
