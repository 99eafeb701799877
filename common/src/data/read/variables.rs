//! Columns of cells to a table: which columns become variables, and what their states are.
//!
//! The rules, in this order:
//! 1. Columns that nobody wants are left out, and one of row numbers that has no name.
//! 2. A column that a schema declares has the states, or the cut points, that are declared.
//! 3. A column whose file lists its levels has these, in the file's order.
//! 4. Numbers that a rule of bins names by column are cut.
//! 5. Identifiers, empty columns and many different dates are left out.
//! 6. More than 32 different numbers are cut if there is a rule for all, and else refused; so are
//!    words among many numbers, and more than 256 different texts.
//! 7. All other columns have the states that occur, numbers in order of size, texts by name.
//!
//! Only cells of columns that are used can be missing, and states of rows that are left out do not
//! count.

use super::bins::Bins;
use super::cells::{Cells, Codes, other_code};
use super::dictionary::{NULL, TextCode};
use super::kinds::{ColumnKind, InvalidText, MAX_NUMERIC_STATES, Study, study};
use super::load_error::{LoadError, Place, PlaceColumn};
use super::load_report::{ColumnReport, ColumnUse, LeftOut, LoadReport};
use super::missing::{AMBIGUOUS_MARKER, MissingMarkers, MissingPolicy};
use super::number::DecimalMark;
use super::options::LoadOptions;
use super::raw_table::{RawColumn, RawTable};
use super::value_text::{FALSE, TRUE};
use super::warnings::{self, DoubtfulStates};
use crate::data::{Schema, Table, Variable};
use std::collections::BTreeMap;

/// How many of the most frequent values a report shows.
const SHOWN_VALUES: usize = 3;

/// What is planned for a table: everything but the table itself.
pub(crate) struct Plan {
    raw: RawTable,
    /// What was found out about each column of the file, and what is to be done with it.
    columns: Vec<(Study, Planned)>,
    /// The row of the file is left out.
    dropped: Vec<bool>,
    decimal: DecimalMark,
    pub(crate) report: LoadReport,
    /// What keeps the table from being made, in the order in which a person should hear of it.
    pub(crate) problems: Vec<LoadError>,
}

/// What is to be done with a column.
enum Planned {
    /// Its states are known.
    Declared(Variable),
    /// Its states are those that occur.
    States,
    Bins(Bins),
    LeftOut(LeftOut),
    /// It cannot be used.
    Refused,
}

impl Plan {
    /// Looks at all columns. `options` are those that [`LoadOptions::with_schema`] returns.
    pub(crate) fn new(raw: RawTable, options: &LoadOptions) -> Result<Self, LoadError> {
        check_names(&raw, options)?;
        let least = options.purpose.least_rows();
        if raw.rows < least {
            let (read, kept) = (raw.rows, raw.rows);
            return Err(LoadError::TooFewRows { read, kept, least });
        }
        let decimal = options.decimal.unwrap_or_default();
        let mut markers = MissingMarkers::new(options.missing_markers.as_deref());
        if !raw
            .columns
            .iter()
            .any(|column| has_marker_among_numbers(&column.cells, &markers, decimal))
        {
            markers = markers.without_ambiguous();
        }
        let mut plan = Self {
            columns: Vec::with_capacity(raw.columns.len()),
            dropped: Vec::new(),
            decimal,
            report: LoadReport::of_rows(raw.rows),
            problems: Vec::new(),
            raw,
        };
        for (at, column) in plan.raw.columns.iter().enumerate() {
            let study = study(column, plan.raw.rows, &markers, decimal);
            let planned = planned(at, column, &study, options).unwrap_or_else(|problem| {
                plan.problems.push(problem);
                Planned::Refused
            });
            plan.columns.push((study, planned));
        }
        plan.find_missing(options);
        plan.describe(&markers);
        plan.check_size(options.purpose.least_columns());
        Ok(plan)
    }

    /// Finds the rows that have a missing cell in a column that is used.
    fn find_missing(&mut self, options: &LoadOptions) {
        let mut by_column = Vec::new();
        let mut first: Option<Place> = None;
        let mut markers: BTreeMap<String, usize> = BTreeMap::new();
        for (column, (study, planned)) in self.raw.columns.iter().zip(&self.columns) {
            let missing = match planned {
                Planned::LeftOut(_) => continue,
                Planned::Declared(variable) => missing_beside(study, &column.cells, variable),
                _ => study.missing,
            };
            if missing == 0 {
                continue;
            }
            by_column.push((column.name.clone(), missing));
            for (marker, count) in &study.markers {
                *markers.entry(marker.clone()).or_default() += count;
            }
            let row = study.first_missing.unwrap_or(0);
            if first.as_ref().is_none_or(|place| row < place.row) {
                first = Some(Place {
                    row,
                    column: PlaceColumn::Named(column.name.clone()),
                });
            }
            if self.dropped.is_empty() {
                self.dropped = vec![false; self.raw.rows];
            }
            mark_missing(study, &column.cells, planned, &mut self.dropped);
        }
        let rows = self.dropped.iter().enumerate();
        self.report.dropped = rows
            .filter(|&(_, &is_out)| is_out)
            .map(|(row, _)| row)
            .collect();
        let dropped = self.report.dropped.len();
        self.report.rows_dropped = dropped;
        self.report.rows_kept = self.raw.rows - dropped;
        by_column.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        if let (MissingPolicy::Error, Some(first)) = (options.missing, first) {
            self.problems.push(LoadError::Missing {
                cells: by_column.iter().map(|(_, cells)| cells).sum(),
                rows: dropped,
                of: self.raw.rows,
                columns: by_column,
                markers: markers.into_iter().collect(),
                first,
            });
        } else if self.report.rows_kept < options.purpose.least_rows() {
            self.problems.push(LoadError::TooFewRows {
                read: self.raw.rows,
                kept: self.report.rows_kept,
                least: options.purpose.least_rows(),
            });
        }
    }

    /// Says what a person should know of each column.
    fn describe(&mut self, markers: &MissingMarkers<'_>) {
        let mut doubtful = DoubtfulStates::default();
        for (column, (study, planned)) in self.raw.columns.iter().zip(&self.columns) {
            let used = match planned {
                Planned::Declared(_) => ColumnUse::Declared,
                Planned::States => ColumnUse::States,
                Planned::Bins(bins) => ColumnUse::Binned(*bins),
                Planned::LeftOut(why) => ColumnUse::LeftOut(*why),
                Planned::Refused => ColumnUse::Refused,
            };
            if !matches!(used, ColumnUse::LeftOut(LeftOut::Unwanted)) {
                let found = warnings::of_column(column, study, &used);
                self.report.warnings.extend(found);
            }
            if used == ColumnUse::States {
                doubtful.note(column, study, markers);
            }
            self.report.columns.push(ColumnReport {
                name: column.name.clone(),
                kind: study.kind,
                used,
                distinct: study.distinct,
                states: match planned {
                    Planned::Declared(variable) => variable.arity(),
                    Planned::States => study.distinct,
                    _ => 0,
                },
                occurring_states: study.distinct,
                missing_cells: study.missing,
                most_frequent: study.most_frequent(&column.cells, SHOWN_VALUES),
                cut_points: None,
            });
        }
        self.report.warnings.extend(doubtful.sentences());
    }

    /// Tells tables that are too narrow for what they are for.
    fn check_size(&mut self, least: usize) {
        let all = self.raw.columns.len();
        let used = self
            .columns
            .iter()
            .filter(|(_, planned)| !matches!(planned, Planned::LeftOut(_)))
            .count();
        if used >= least {
            return;
        }
        let problem = match self.raw.columns.as_slice() {
            [alone] if least > 1 => LoadError::OneColumn {
                name: alone.name.clone(),
            },
            _ => LoadError::TooFewColumns {
                left: used,
                of: all,
                least,
            },
        };
        self.problems.insert(0, problem);
    }

    /// Makes the table.
    pub(crate) fn make(self) -> Result<(Table, LoadReport), LoadError> {
        let Self {
            raw,
            columns,
            dropped,
            decimal,
            mut report,
            problems,
        } = self;
        let mut problems = problems.into_iter();
        if let Some(first) = problems.next() {
            return Err(match problems.len() {
                0 => first,
                more => LoadError::Several {
                    first: Box::new(first),
                    more,
                },
            });
        }
        let mut made: Vec<(Variable, Vec<u8>)> = Vec::new();
        let work = raw
            .columns
            .into_iter()
            .zip(columns)
            .zip(&mut report.columns);
        for ((column, (study, planned)), report) in work {
            let (variable, codes) = match planned {
                Planned::Declared(variable) => {
                    let codes = declared_codes(&variable, column.cells, &dropped, decimal);
                    (variable, codes)
                }
                Planned::States => occurring_states(column, &study, &dropped, decimal)?,
                Planned::Bins(bins) => binned(column, &study, bins, &dropped, decimal)?,
                Planned::LeftOut(_) | Planned::Refused => continue,
            };
            let mut occurs = [false; Variable::MAX_STATES];
            for &code in &codes {
                occurs[usize::from(code)] = true;
            }
            report.states = variable.arity();
            report.occurring_states = occurs.iter().filter(|&&occurs| occurs).count();
            report.cut_points = variable.cuts().map(|cuts| cuts.as_slice().to_vec());
            made.push((variable, codes));
        }
        made.sort_unstable_by(|(left, _), (right, _)| left.name().cmp(right.name()));
        let (variables, codes): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        Ok((Table::new(Schema::new(variables)?, codes)?, report))
    }
}

/// Returns whether [`AMBIGUOUS_MARKER`] stands in a column whose values are numbers.
fn has_marker_among_numbers(
    cells: &Cells,
    markers: &MissingMarkers<'_>,
    decimal: DecimalMark,
) -> bool {
    let (texts, many_numbers) = match cells {
        Cells::Texts { dictionary, .. } => (dictionary, false),
        Cells::Numbers { others, .. } => (others, true),
        Cells::TooMany { .. } | Cells::Unwanted => return false,
    };
    let marker = AMBIGUOUS_MARKER.as_bytes();
    let values = || texts.texts().filter(|(text, _)| !markers.has(text));
    texts.texts().any(|(text, _)| text == marker)
        && (many_numbers || values().next().is_some())
        && values().all(|(text, _)| decimal.number(text).is_some())
}

/// Checks that names are different and that those which somebody gave are there.
fn check_names(raw: &RawTable, options: &LoadOptions) -> Result<(), LoadError> {
    let mut positions: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, column) in raw.columns.iter().enumerate() {
        if column.name.is_empty() {
            continue;
        }
        if let Some(first) = positions.insert(&column.name, at + 1) {
            return Err(LoadError::DuplicateName {
                name: column.name.clone(),
                first,
                second: at + 1,
            });
        }
    }
    let wishes = [
        ("to be left out", options.drop.iter().collect()),
        ("to be used", options.columns.iter().collect()),
        (
            "to be put into bins",
            options.bins.by_name.keys().collect::<Vec<_>>(),
        ),
    ];
    for (wish, names) in wishes {
        if let Some(name) = names
            .into_iter()
            .find(|name| !positions.contains_key(name.as_str()))
        {
            let name = name.clone();
            return Err(LoadError::UnknownColumn { name, wish });
        }
    }
    if let Some(schema) = options
        .schema
        .as_ref()
        .filter(|schema| !schema.is_optional())
        && let Some(variable) = schema
            .variables()
            .iter()
            .find(|variable| !positions.contains_key(variable.name()))
    {
        return Err(LoadError::MissingVariable(variable.name().to_string()));
    }
    Ok(())
}

/// Returns whether a column is wanted by name.
pub(crate) fn is_wanted(name: &str, options: &LoadOptions) -> bool {
    let named = |names: &[String]| names.iter().any(|other| other == name);
    let dropped_by_schema = options
        .schema
        .as_ref()
        .is_some_and(|schema| named(&schema.reading().drop) && schema.variable(name).is_none());
    !named(&options.drop)
        && (options.columns.is_empty() || named(&options.columns))
        && (!dropped_by_schema || named(&options.columns))
}

/// Decides what is done with a column.
fn planned(
    at: usize,
    column: &RawColumn,
    study: &Study,
    options: &LoadOptions,
) -> Result<Planned, LoadError> {
    let name = &column.name;
    if matches!(column.cells, Cells::Unwanted) || (!name.is_empty() && !is_wanted(name, options)) {
        return Ok(Planned::LeftOut(LeftOut::Unwanted));
    }
    if name.is_empty() {
        return if study.kind == ColumnKind::Empty {
            Ok(Planned::LeftOut(LeftOut::Empty))
        } else if at == 0 {
            Ok(Planned::LeftOut(LeftOut::RowNumbers))
        } else {
            Err(LoadError::EmptyName { column: at + 1 })
        };
    }
    let place = |row| Place {
        row,
        column: PlaceColumn::Named(name.clone()),
    };
    if let Some((InvalidText::NotUtf8, row)) = study.invalid {
        return Err(LoadError::NotUtf8(place(row)));
    }
    let declared = options
        .schema
        .as_ref()
        .and_then(|schema| schema.variable(name));
    if let Some(variable) = declared {
        check_declared(variable, column, study, options)?;
        return Ok(Planned::Declared(variable.clone()));
    }
    if let (Some(levels), Cells::Texts { dictionary, .. }) = (column.levels, &column.cells) {
        let levels: Vec<String> = dictionary
            .texts()
            .take(levels)
            .map(|(text, _)| String::from_utf8_lossy(text).into_owned())
            .collect();
        if (1..=Variable::MAX_STATES).contains(&levels.len()) {
            return Ok(Planned::Declared(Variable::in_order(name, levels)?));
        }
    }
    if let Some(bins) = options.bins.of(name) {
        return if !study.is_numeric {
            Err(LoadError::NotNumbers {
                column: name.clone(),
                example: example(column, study, options),
            })
        } else if study.distinct > bins.count() {
            Ok(Planned::Bins(bins))
        } else {
            Ok(Planned::States)
        };
    }
    match study.kind {
        ColumnKind::Empty => Ok(Planned::LeftOut(LeftOut::Empty)),
        ColumnKind::Identifier => Ok(Planned::LeftOut(LeftOut::Identifier)),
        ColumnKind::Date if study.distinct > MAX_NUMERIC_STATES => {
            Ok(Planned::LeftOut(LeftOut::Dates))
        }
        ColumnKind::Mixed => Err(LoadError::OddValues {
            column: name.clone(),
            odd: study.odd.clone(),
        }),
        ColumnKind::WholeNumber | ColumnKind::Number if study.distinct > MAX_NUMERIC_STATES => {
            let refusal = LoadError::ManyNumbers {
                column: name.clone(),
                distinct: study.distinct,
            };
            options.bins.others.map(Planned::Bins).ok_or(refusal)
        }
        _ if study.has_few_states() => Ok(Planned::States),
        _ => Err(LoadError::TooManyStates {
            column: name.clone(),
            decimal_commas: has_decimal_commas(column, options.decimal.unwrap_or_default()),
        }),
    }
}

/// Returns a value of a column that is no number.
fn example(column: &RawColumn, study: &Study, options: &LoadOptions) -> String {
    let decimal = options.decimal.unwrap_or_default();
    let frequent = study.most_frequent(&column.cells, usize::MAX);
    let odd = study.odd.iter().chain(&frequent);
    odd.map(|(text, _)| text)
        .find(|text| decimal.number(text.as_bytes()).is_none())
        .cloned()
        .unwrap_or_default()
}

/// Returns whether the texts would be numbers if the decimal mark were a comma.
fn has_decimal_commas(column: &RawColumn, decimal: DecimalMark) -> bool {
    let Cells::Texts { dictionary, .. } = &column.cells else {
        return false;
    };
    let as_number = |(text, _): (&[u8], u64)| DecimalMark::Comma.number(text).is_some();
    let numbers = dictionary.texts().filter(|&text| as_number(text)).count();
    decimal == DecimalMark::Point && 10 * numbers >= 9 * dictionary.len()
}

/// Checks that a declared column has declared values only.
fn check_declared(
    variable: &Variable,
    column: &RawColumn,
    study: &Study,
    options: &LoadOptions,
) -> Result<(), LoadError> {
    let decimal = options.decimal.unwrap_or_default();
    let texts = match &column.cells {
        Cells::Texts { dictionary, .. } => dictionary,
        Cells::Numbers { others, .. } if variable.cuts().is_some() => others,
        _ => {
            return Err(LoadError::TooManyStates {
                column: column.name.clone(),
                decimal_commas: false,
            });
        }
    };
    let unknown = texts
        .texts()
        .zip(&study.counts)
        .zip(&study.is_marker)
        .filter(|((_, count), is_marker)| **count > 0 && !**is_marker)
        .map(|((text, _), _)| text)
        .find(|&(text, _)| declared_state(variable, text, decimal).is_none());
    let Some((text, row)) = unknown else {
        return Ok(());
    };
    Err(LoadError::UnknownState {
        place: Place {
            row,
            column: PlaceColumn::Named(column.name.clone()),
        },
        found: String::from_utf8_lossy(text).into_owned(),
        expected: variable.states().to_vec(),
        cuts: variable.cuts().is_some(),
    })
}

/// Returns the declared state that a text stands for.
fn declared_state(variable: &Variable, text: &[u8], decimal: DecimalMark) -> Option<u8> {
    let by_number = variable
        .cuts()
        .and_then(|cuts| Some(cuts.interval(decimal.number(text)?)));
    let by_name = || variable.state_index(std::str::from_utf8(text).ok()?);
    let by_truth = || truth_state(variable, text);
    let by_integer = || integer_state(variable, text);
    let state = by_number
        .or_else(by_name)
        .or_else(by_truth)
        .or_else(by_integer);
    u8::try_from(state?).ok()
}

/// Returns the state that is the same truth value: pandas reads `TRUE` from a text file and says `True`.
fn truth_state(variable: &Variable, text: &[u8]) -> Option<usize> {
    let is_truth = [TRUE, FALSE].iter().any(|it| it.eq_ignore_ascii_case(text));
    let same = |state: &String| state.as_bytes().eq_ignore_ascii_case(text);
    let found = is_truth.then(|| variable.states().iter().position(same))?;
    found.filter(|_| variable.states().iter().filter(|it| same(it)).count() == 1)
}

/// Returns the state that is the same integer: pandas says `1.0` for `1` where cells are missing.
fn integer_state(variable: &Variable, text: &[u8]) -> Option<usize> {
    let integer = integer(text)?;
    let same = |state: &String| self::integer(state.as_bytes()) == Some(integer);
    let found = variable.states().iter().position(same)?;
    (variable.states().iter().filter(|it| same(it)).count() == 1).then_some(found)
}

/// Returns the integer of a text such as `1` or `1.0`, as it is written without the point.
fn integer(text: &[u8]) -> Option<&[u8]> {
    let whole = text.strip_suffix(b".0").unwrap_or(text);
    let digits = whole.strip_prefix(b"-").unwrap_or(whole);
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(whole)
}

/// Counts the missing cells of a declared column: a marker that is declared is a state.
fn missing_beside(study: &Study, cells: &Cells, variable: &Variable) -> usize {
    let Cells::Texts { dictionary, .. } = cells else {
        return study.missing;
    };
    let states: usize = dictionary
        .texts()
        .zip(&study.counts)
        .zip(&study.is_marker)
        .filter(|(((text, _), _), is_marker)| **is_marker && is_state(variable, text))
        .map(|((_, count), _)| count)
        .sum();
    study.missing - states
}

fn is_state(variable: &Variable, text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| variable.state_index(text).is_some())
}

/// Marks the rows in which a column has a missing cell.
fn mark_missing(study: &Study, cells: &Cells, planned: &Planned, dropped: &mut [bool]) {
    let mut is_missing: Vec<bool> = study.is_marker.clone();
    if let (Planned::Declared(variable), Cells::Texts { dictionary, .. }) = (planned, cells) {
        for (missing, (text, _)) in is_missing.iter_mut().zip(dictionary.texts()) {
            *missing &= !is_state(variable, text);
        }
    }
    let missing = |code: TextCode| code == NULL || is_missing[usize::from(code)];
    match cells {
        Cells::Texts { codes, .. } => {
            for (dropped, code) in dropped.iter_mut().zip(codes.iter()) {
                *dropped |= missing(code);
            }
        }
        Cells::Numbers { values, .. } => {
            for (dropped, &value) in dropped.iter_mut().zip(values) {
                *dropped |= other_code(value).is_some_and(missing);
            }
        }
        Cells::TooMany { .. } | Cells::Unwanted => {}
    }
}

/// Returns the items whose rows stay.
fn kept<'d, T: 'd>(
    items: impl Iterator<Item = T> + 'd,
    dropped: &'d [bool],
) -> impl Iterator<Item = T> + 'd {
    let mut dropped = dropped.iter();
    items.filter(move |_| !dropped.next().copied().unwrap_or(false))
}

/// Translates codes of texts into codes of states.
fn translated(codes: &Codes, new_codes: &[u8], dropped: &[bool]) -> Vec<u8> {
    if let (Codes::Bytes(bytes), true) = (codes, dropped.is_empty()) {
        let mut of_byte = [0; 256];
        of_byte[..new_codes.len().min(256)].copy_from_slice(&new_codes[..new_codes.len().min(256)]);
        return bytes
            .iter()
            .map(|&byte| of_byte[usize::from(byte)])
            .collect();
    }
    kept(codes.iter(), dropped)
        .map(|code| new_codes.get(usize::from(code)).copied().unwrap_or(0))
        .collect()
}

fn declared_codes(
    variable: &Variable,
    cells: Cells,
    dropped: &[bool],
    decimal: DecimalMark,
) -> Vec<u8> {
    match cells {
        Cells::Texts { dictionary, codes } => {
            let new_codes: Vec<u8> = dictionary
                .texts()
                .map(|(text, _)| declared_state(variable, text, decimal).unwrap_or(0))
                .collect();
            translated(&codes, &new_codes, dropped)
        }
        Cells::Numbers { values, .. } => match variable.cuts() {
            Some(cuts) => kept(values.iter(), dropped)
                .map(|&value| u8::try_from(cuts.interval(value)).unwrap_or(u8::MAX))
                .collect(),
            None => Vec::new(),
        },
        Cells::TooMany { .. } | Cells::Unwanted => Vec::new(),
    }
}

/// Makes a variable of the texts that occur in the rows that stay.
fn occurring_states(
    column: RawColumn,
    study: &Study,
    dropped: &[bool],
    decimal: DecimalMark,
) -> Result<(Variable, Vec<u8>), LoadError> {
    let Cells::Texts { dictionary, codes } = &column.cells else {
        let column = column.name;
        return Err(LoadError::TooManyStates {
            column,
            decimal_commas: false,
        });
    };
    let mut occurs = vec![dropped.is_empty(); dictionary.len()];
    if dropped.is_empty() {
        for (occurs, &count) in occurs.iter_mut().zip(&study.counts) {
            *occurs = count > 0;
        }
    } else {
        for code in kept(codes.iter(), dropped) {
            occurs[usize::from(code)] = true;
        }
    }
    let mut texts: Vec<(TextCode, String)> = (0..)
        .zip(dictionary.texts())
        .zip(&occurs)
        .filter(|(_, occurs)| **occurs)
        .map(|((code, (text, _)), _)| (code, String::from_utf8_lossy(text).into_owned()))
        .collect();
    if study.is_numeric {
        let number = |text: &str| decimal.number(text.as_bytes()).unwrap_or(0.0);
        texts.sort_by(|(_, a), (_, b)| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
    } else {
        texts.sort_by(|(_, a), (_, b)| a.cmp(b));
    }
    let mut new_codes = vec![0; dictionary.len()];
    for (new, (old, _)) in (0..=u8::MAX).zip(&texts) {
        new_codes[usize::from(*old)] = new;
    }
    let codes = translated(codes, &new_codes, dropped);
    let states = texts.into_iter().map(|(_, text)| text).collect();
    Ok((Variable::in_order(column.name, states)?, codes))
}

/// Makes a variable of intervals.
fn binned(
    column: RawColumn,
    study: &Study,
    bins: Bins,
    dropped: &[bool],
    decimal: DecimalMark,
) -> Result<(Variable, Vec<u8>), LoadError> {
    let values: Vec<f64> = match &column.cells {
        Cells::Texts { dictionary, codes } => {
            let of_text: Vec<f64> = dictionary
                .texts()
                .map(|(text, _)| decimal.number(text).unwrap_or(0.0))
                .collect();
            kept(codes.iter(), dropped)
                .map(|code| of_text.get(usize::from(code)).copied().unwrap_or(0.0))
                .collect()
        }
        Cells::Numbers { values, .. } => kept(values.iter().copied(), dropped).collect(),
        Cells::TooMany { .. } | Cells::Unwanted => Vec::new(),
    };
    debug_assert!(study.is_numeric && values.iter().all(|value| value.is_finite()));
    let (cuts, labels) = bins.cut(&values);
    let codes = values
        .iter()
        .map(|&value| u8::try_from(cuts.interval(value)).unwrap_or(u8::MAX))
        .collect();
    let variable = Variable::in_order(column.name, labels)?.with_cuts(cuts)?;
    Ok((variable, codes))
}
