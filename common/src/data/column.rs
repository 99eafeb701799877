//! Collects the cells of one column: one byte per cell while there are few states, one `f64` per cell
//! once a column of numbers has too many. The text of the cells is not kept.

use super::bins::Bins;
use super::schema::Variable;
use rustc_hash::FxHashMap;

/// Most states of a column of numbers that is taken as discrete; above it, numbers are likely
/// measurements, and each would be a state of its own.
pub(crate) const MAX_NUMERIC_STATES: usize = 32;

/// A column under construction.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    /// Only states of the schema are legal.
    Declared(States),
    /// Each new text is a new state.
    Open(States),
    /// All cells are numbers, with more texts than a byte can tell apart.
    Numbers {
        values: Vec<f64>,
        not_finite: Option<NotFinite>,
    },
}

/// States in order of appearance, and the state of each row.
#[derive(Debug, Default)]
struct States {
    texts: Vec<String>,
    /// Line on which each state first stood.
    lines: Vec<u64>,
    /// The number of each state; its order never reaches a result.
    numbers: FxHashMap<Box<[u8]>, u8>,
    codes: Vec<u8>,
    last: usize,
}

/// A cell such as `inf` in a column that has to be binned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotFinite {
    pub(crate) line: u64,
    pub(crate) cell: String,
}

/// Why a cell does not fit its column.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CellError {
    NotUtf8,
    UnknownState(String),
    TooManyStates,
}

/// Why a whole column cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ColumnError {
    ManyNumbers { distinct: usize },
    NotFinite(NotFinite),
}

/// A column whose codes count the states in their bytewise order.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) states: Vec<String>,
    pub(crate) codes: Vec<u8>,
    /// The cut points, if the column was binned.
    pub(crate) cuts: Option<Vec<f64>>,
}

impl ColumnBuilder {
    /// Starts a column, with the states of its declaration if it has one.
    pub(crate) fn new(declared: Option<&Variable>) -> Self {
        let mut states = States::default();
        let Some(variable) = declared else {
            return Self {
                cells: Cells::Open(states),
            };
        };
        for text in variable.states() {
            states.add(text, 0);
        }
        Self {
            cells: Cells::Declared(states),
        }
    }

    /// Adds the cell of the next row.
    #[inline]
    pub(crate) fn push(&mut self, cell: &[u8], line: u64) -> Result<(), CellError> {
        let known = match &mut self.cells {
            Cells::Declared(states) | Cells::Open(states) => states.push_known(cell),
            Cells::Numbers { .. } => false,
        };
        if known {
            Ok(())
        } else {
            self.push_other(cell, line)
        }
    }

    fn push_other(&mut self, cell: &[u8], line: u64) -> Result<(), CellError> {
        let text = std::str::from_utf8(cell).map_err(|_| CellError::NotUtf8)?;
        match &mut self.cells {
            Cells::Declared(_) => Err(CellError::UnknownState(text.to_string())),
            Cells::Open(states) if states.texts.len() < Variable::MAX_STATES => {
                states.add(text, line);
                states.push_known(cell);
                Ok(())
            }
            Cells::Open(states) => {
                let (values, not_finite) = states.values().ok_or(CellError::TooManyStates)?;
                let values = states
                    .codes
                    .iter()
                    .map(|&code| values[usize::from(code)])
                    .collect();
                self.cells = Cells::Numbers { values, not_finite };
                self.push_other(cell, line)
            }
            Cells::Numbers { values, not_finite } => {
                let value: f64 = text.parse().map_err(|_| CellError::TooManyStates)?;
                if !value.is_finite() && not_finite.is_none() {
                    *not_finite = Some(NotFinite {
                        line,
                        cell: text.to_string(),
                    });
                }
                values.push(value);
                Ok(())
            }
        }
    }

    /// Ends the column: bins it if it has to be, else orders its states.
    pub(crate) fn finish(self, bins: Option<Bins>) -> Result<Column, ColumnError> {
        let states = match self.cells {
            Cells::Declared(states) => return Ok(states.in_order()),
            Cells::Numbers { values, not_finite } => return bin(&values, not_finite, bins),
            Cells::Open(states) => states,
        };
        let most = bins.map_or(MAX_NUMERIC_STATES, Bins::count);
        if states.texts.len() > most
            && let Some((of_state, not_finite)) = states.values()
            && distinct(&of_state) > most
        {
            let values: Vec<f64> = states
                .codes
                .iter()
                .map(|&code| of_state[usize::from(code)])
                .collect();
            return bin(&values, not_finite, bins);
        }
        Ok(states.in_order())
    }
}

impl States {
    /// Appends the cell if its state is known.
    #[inline]
    fn push_known(&mut self, cell: &[u8]) -> bool {
        // Runs of one state are common enough to be worth the look.
        if self
            .texts
            .get(self.last)
            .is_none_or(|text| text.as_bytes() != cell)
        {
            match self.numbers.get(cell) {
                Some(&number) => self.last = usize::from(number),
                None => return false,
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most MAX_STATES = 256 states"
        )]
        self.codes.push(self.last as u8);
        true
    }

    fn add(&mut self, text: &str, line: u64) {
        debug_assert!(self.texts.len() < Variable::MAX_STATES);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most MAX_STATES = 256 states"
        )]
        self.numbers
            .insert(text.as_bytes().into(), self.texts.len() as u8);
        self.texts.push(text.to_string());
        self.lines.push(line);
    }

    /// Returns the number that each state stands for and the first that is infinite or not a
    /// number; `None` if some state is other text.
    fn values(&self) -> Option<(Vec<f64>, Option<NotFinite>)> {
        let values: Option<Vec<f64>> = self.texts.iter().map(|text| text.parse().ok()).collect();
        let values = values?;
        let not_finite = values
            .iter()
            .position(|value| !value.is_finite())
            .map(|at| NotFinite {
                line: self.lines[at],
                cell: self.texts[at].clone(),
            });
        Some((values, not_finite))
    }

    fn in_order(self) -> Column {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_unstable_by(|&a, &b| self.texts[a].cmp(&self.texts[b]));
        let mut new_codes = [0u8; Variable::MAX_STATES];
        for (new, &old) in (0..=u8::MAX).zip(&order) {
            new_codes[old] = new;
        }
        let mut codes = self.codes;
        for code in &mut codes {
            *code = new_codes[usize::from(*code)];
        }
        codes.shrink_to_fit();
        let mut states = self.texts;
        states.sort_unstable();
        Column {
            states,
            codes,
            cuts: None,
        }
    }
}

fn bin(
    values: &[f64],
    not_finite: Option<NotFinite>,
    bins: Option<Bins>,
) -> Result<Column, ColumnError> {
    let Some(bins) = bins else {
        return Err(ColumnError::ManyNumbers {
            distinct: distinct(values),
        });
    };
    if let Some(place) = not_finite {
        return Err(ColumnError::NotFinite(place));
    }
    let binned = bins.apply(values);
    // Labels are in order already; bins without values are not states.
    let mut occurs = vec![false; binned.labels.len()];
    for &code in &binned.codes {
        occurs[usize::from(code)] = true;
    }
    let mut new_codes = vec![0u8; occurs.len()];
    let mut states = Vec::new();
    let mut next = 0;
    for (bin, label) in binned.labels.into_iter().enumerate() {
        if occurs[bin] {
            new_codes[bin] = next;
            next += 1;
            states.push(label);
        }
    }
    let codes = binned
        .codes
        .iter()
        .map(|&code| new_codes[usize::from(code)])
        .collect();
    Ok(Column {
        states,
        codes,
        cuts: Some(binned.cuts),
    })
}

/// Returns how many different numbers there are; `1` and `1.0` are one.
fn distinct(values: &[f64]) -> usize {
    let mut sorted: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup_by(|a, b| a.total_cmp(b).is_eq());
    sorted.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[String], bins: Option<&str>) -> Result<Column, ColumnError> {
        let mut builder = ColumnBuilder::new(None);
        for (line, cell) in (2..).zip(cells) {
            builder.push(cell.as_bytes(), line).unwrap();
        }
        builder.finish(bins.map(|bins| bins.parse().unwrap()))
    }

    fn numbers(count: usize) -> Vec<String> {
        (0..count).map(|number| number.to_string()).collect()
    }

    #[test]
    fn codes_follow_the_bytewise_order_of_states() {
        let column = column(&["b", "a", "Z", "b"].map(String::from), None).unwrap();
        assert_eq!(column.states, ["Z", "a", "b"]);
        assert_eq!(column.codes, [2, 1, 0, 2]);
    }

    #[test]
    fn many_numbers_need_bins_whether_or_not_a_byte_could_count_them() {
        assert_eq!(column(&numbers(32), None).unwrap().states.len(), 32);
        for count in [33, 256, 257, 1000] {
            let error = column(&numbers(count), None).unwrap_err();
            assert_eq!(error, ColumnError::ManyNumbers { distinct: count });
            let binned = column(&numbers(count), Some("quantile:4")).unwrap();
            assert_eq!(binned.states.len(), 4, "{count}");
            assert_eq!(binned.codes.len(), count);
            assert_eq!(binned.cuts.unwrap().len(), 3);
        }
    }

    #[test]
    fn few_numbers_stay_as_they_are() {
        assert_eq!(column(&numbers(4), Some("width:4")).unwrap().cuts, None);
        assert_eq!(
            column(&numbers(50), Some("width:64")).unwrap().states.len(),
            50
        );
        let same = ["1", "1.0", "1.00"].map(String::from);
        assert_eq!(column(&same, Some("width:2")).unwrap().states.len(), 3);
    }

    #[test]
    fn text_among_numbers_makes_a_column_discrete() {
        let mut cells = numbers(100);
        cells.push("many".into());
        assert_eq!(column(&cells, Some("width:2")).unwrap().states.len(), 101);
        let mut builder = ColumnBuilder::new(None);
        for cell in numbers(300) {
            builder.push(cell.as_bytes(), 2).unwrap();
        }
        assert_eq!(builder.push(b"many", 2), Err(CellError::TooManyStates));
    }

    #[test]
    fn numbers_that_are_not_finite_cannot_be_binned() {
        for count in [50, 500] {
            let mut cells = numbers(count);
            cells.insert(7, "-inf".into());
            let place = NotFinite {
                line: 9,
                cell: "-inf".into(),
            };
            let error = column(&cells, Some("width:4")).unwrap_err();
            assert_eq!(error, ColumnError::NotFinite(place));
        }
    }

    #[test]
    fn empty_width_bins_are_no_states() {
        let cells = ["0", "1", "2", "100"].map(String::from);
        let column = column(&cells, Some("width:3")).unwrap();
        assert_eq!(column.states.len(), 2);
        assert_eq!(column.codes, [0, 0, 0, 1]);
        assert!(column.states[1].starts_with("b03_"));
    }

    #[test]
    fn declared_states_are_the_only_legal_ones() {
        let declared = Variable::new("x", vec!["no".into(), "yes".into(), "x".into()]).unwrap();
        let mut builder = ColumnBuilder::new(Some(&declared));
        builder.push(b"yes", 2).unwrap();
        assert_eq!(
            builder.push(b"ja", 3),
            Err(CellError::UnknownState("ja".into()))
        );
        assert_eq!(builder.push(b"\xff", 3), Err(CellError::NotUtf8));
        let column = builder.finish(None).unwrap();
        assert_eq!(column.states, ["no", "x", "yes"]);
        assert_eq!(column.codes, [2]);
    }
}
