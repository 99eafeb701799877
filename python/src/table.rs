//! Tables: from files, from Arrow streams, and from columns that Python hands over one by one.

use crate::failure;
use crate::read_options::ReadOptions;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Int8Type, Int16Type, Int32Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatchReader,
    StringArray, types,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use rlbayes_common::data::{LoadError, load_batches, load_columns};
use std::path::PathBuf;
use std::sync::Arc;

/// A table of discrete data.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct Table(pub(crate) rlbayes::Table);

/// Why a table was not made: the engine refuses it, or Python failed.
enum NotMade {
    Load(LoadError),
    Python(PyErr),
}

impl From<LoadError> for NotMade {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<PyErr> for NotMade {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// A column as Python hands it over: name, type of the data, data, the values that codes stand for,
/// whether these are levels.
type Given<'py> = (
    String,
    String,
    Bound<'py, PyBytes>,
    Option<Vec<String>>,
    bool,
);

#[pymethods]
impl Table {
    /// Reads a file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, options: &ReadOptions) -> PyResult<Self> {
        let read = py.detach(|| rlbayes::Table::read_with(&path, &options.0));
        let table = read.map_err(|error| {
            let reason = failure::load(&error.problem);
            failure::input(format!("{}: {}", path.display(), reason.value(py)))
        })?;
        Ok(Self(table))
    }

    /// Takes over what an object with `__arrow_c_stream__` exports.
    #[staticmethod]
    fn from_stream(
        py: Python<'_>,
        stream: &Bound<'_, PyCapsule>,
        name: &str,
        options: &ReadOptions,
    ) -> PyResult<Self> {
        let pointer = stream.pointer_checked(Some(c"arrow_array_stream"))?;
        #[expect(
            unsafe_code,
            reason = "the capsule of this name holds such a stream: the Arrow PyCapsule interface"
        )]
        // SAFETY: the name was checked; the struct is moved out, and an empty one left in its place.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
        let made = py.detach(|| {
            let reader = RecordBatchStreamReader::try_new(stream).map_err(|error| {
                failure::input(format!("the table cannot be taken over: {error}"))
            })?;
            let schema = reader.schema();
            rlbayes::Table::made_by(name, || load_batches(&schema, reader, &options.0))
                .map_err(|error| failure::frame(&error))
        });
        made.map(Self)
    }

    /// Takes over columns from an iterator.
    #[staticmethod]
    fn from_columns(
        columns: &Bound<'_, PyAny>,
        name: &str,
        options: &ReadOptions,
    ) -> PyResult<Self> {
        let arrays = columns.try_iter()?.map(|column| {
            let column: Given<'_> = column?.extract()?;
            Ok::<_, NotMade>(array(column)?)
        });
        let made = load_columns(arrays, &options.0);
        match made {
            Ok((table, report)) => rlbayes::Table::made_by(name, || Ok((table, report)))
                .map(Self)
                .map_err(|error| failure::frame(&error)),
            Err(NotMade::Load(error)) => Err(failure::frame(&error)),
            Err(NotMade::Python(error)) => Err(error),
        }
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn rows(&self) -> usize {
        self.0.rows()
    }

    #[getter]
    fn variables(&self) -> Vec<&str> {
        self.0.variables()
    }

    /// Returns the states of a variable.
    fn states(&self, variable: &str) -> Option<Vec<String>> {
        self.0.states(variable).map(<[String]>::to_vec)
    }

    /// Returns the rows that were left out for a missing cell, from 0.
    #[getter]
    fn dropped(&self) -> &[usize] {
        self.0.report().map_or(&[], |report| &report.dropped)
    }

    /// Returns what a person should know, a sentence each; that columns are constant only for a search.
    fn warnings(&self, searched: bool) -> Vec<String> {
        let Some(report) = self.0.report() else {
            return Vec::new();
        };
        let mut sentences = report.warnings.clone();
        if report.rows_dropped > 0 {
            sentences.push(format!(
                "{} of {} rows have missing cells and were dropped",
                report.rows_dropped, report.rows_read
            ));
        }
        let constants: Vec<&str> = report.constants().collect();
        if searched && !constants.is_empty() {
            sentences.push(format!(
                "columns that hold a single value stay out of the search: {}",
                constants.join(", ")
            ));
        }
        sentences
    }
}

/// Makes an array of a column's bytes.
fn array((name, kind, data, values, is_levels): Given<'_>) -> PyResult<(Field, ArrayRef)> {
    let bytes = data.as_bytes();
    let array: ArrayRef = match (kind.as_str(), values) {
        ("int8", Some(values)) => codes::<Int8Type>(bytes, values)?,
        ("int16", Some(values)) => codes::<Int16Type>(bytes, values)?,
        ("int32", Some(values)) => codes::<Int32Type>(bytes, values)?,
        ("bool", _) => {
            let cells = BooleanBuffer::collect_bool(bytes.len(), |row| bytes[row] != 0);
            Arc::new(BooleanArray::new(cells, None))
        }
        ("int8", _) => numbers::<types::Int8Type>(bytes),
        ("int16", _) => numbers::<types::Int16Type>(bytes),
        ("int32", _) => numbers::<types::Int32Type>(bytes),
        ("int64", _) => numbers::<types::Int64Type>(bytes),
        ("uint8", _) => numbers::<types::UInt8Type>(bytes),
        ("uint16", _) => numbers::<types::UInt16Type>(bytes),
        ("uint32", _) => numbers::<types::UInt32Type>(bytes),
        ("uint64", _) => numbers::<types::UInt64Type>(bytes),
        ("float32", _) => floats::<types::Float32Type>(bytes),
        ("float64", _) => floats::<types::Float64Type>(bytes),
        _ => return Err(failure::bug(format!("a column of the type {kind}"))),
    };
    let mut field = Field::new(name, array.data_type().clone(), true);
    if !is_levels {
        let mark = ("rlbayes".to_owned(), "values".to_owned());
        field.set_metadata(std::collections::HashMap::from([mark]));
    }
    Ok((field, array))
}

fn buffer<T: ArrowPrimitiveType>(bytes: &[u8]) -> ScalarBuffer<T::Native> {
    let size = size_of::<T::Native>();
    ScalarBuffer::new(Buffer::from(bytes), 0, bytes.len() / size)
}

fn numbers<T: ArrowPrimitiveType>(bytes: &[u8]) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(buffer::<T>(bytes), None))
}

/// What is not a number is a cell without a value, as everywhere in Python's tables. Whole numbers
/// beside such cells are integers: Python's tables have no other place for both.
fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(bytes: &[u8]) -> ArrayRef {
    let values = buffer::<T>(bytes);
    let number = |&value: &T::Native| Into::<f64>::into(value);
    if !values.iter().any(|value| number(value).is_nan()) {
        return Arc::new(PrimitiveArray::<T>::new(values, None));
    }
    let nulls = NullBuffer::from_iter(values.iter().map(|value| !number(value).is_nan()));
    let whole = || values.iter().map(number).map(integer);
    let is_whole = whole()
        .zip(&nulls)
        .all(|(whole, is_present)| whole.is_some() || !is_present);
    if is_whole {
        let integers = whole().map(Option::unwrap_or_default).collect();
        return Arc::new(PrimitiveArray::<types::Int64Type>::new(
            integers,
            Some(nulls),
        ));
    }
    Arc::new(PrimitiveArray::<T>::new(values, Some(nulls)))
}

/// Returns a number as an integer, if it is one that a float tells from its neighbours.
fn integer(number: f64) -> Option<i64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and of less than 54 bits"
    )]
    (number.abs() < LARGEST && number.fract() == 0.0).then_some(number as i64)
}

/// Codes into a list of values; -1 is a cell without a value.
fn codes<T: arrow_array::types::ArrowDictionaryKeyType>(
    bytes: &[u8],
    values: Vec<String>,
) -> PyResult<ArrayRef>
where
    T::Native: Into<i64>,
{
    let keys = buffer::<T>(bytes);
    let is_missing = |&key: &T::Native| Into::<i64>::into(key) < 0;
    let nulls = keys
        .iter()
        .any(is_missing)
        .then(|| NullBuffer::from_iter(keys.iter().map(|key| !is_missing(key))));
    let keys = PrimitiveArray::<T>::new(keys, nulls);
    let array = DictionaryArray::try_new(keys, Arc::new(StringArray::from(values)));
    Ok(Arc::new(array.map_err(failure::bug)?))
}
