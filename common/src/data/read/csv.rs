//! Delimited text to columns of cells: CSV, TSV and their relatives.
//!
//! The stream is read once, in blocks of whole rows that several threads split; the result does not
//! depend on their number. Memory is one or two bytes a cell, and a few blocks.

use super::LoadError;
use super::blocks::{Block, Blocks, fill};
use super::cells::Cells;
use super::comments::WithoutComments;
use super::delimiter::Delimiter;
use super::load_error::{Place, PlaceColumn};
use super::number::DecimalMark;
use super::plain_rows;
use super::raw_table::{RawColumn, RawTable};
use super::records::{Record, RecordError, Records};
use super::{MAX_CELL_BYTES, MAX_NAME_BYTES};
use crate::data::{Table, TableError};
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};

/// How much of the text is looked at to guess the delimiter.
const LOOKED_AT_BYTES: usize = 64 << 10;

/// The UTF-8 byte-order mark that some editors put first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many rows show whether they have one cell more than the header has names.
const ROWS_LOOKED_AT: usize = 20;

/// How text is split.
pub(crate) struct CsvOptions<'o> {
    /// What stands between cells; guessed if not given.
    pub(crate) delimiter: Option<Delimiter>,
    pub(crate) decimal: DecimalMark,
    /// What begins a comment, which runs to the end of its line.
    pub(crate) comment: Option<u8>,
    /// Whether the first row has the names; else columns are called V1, V2, ….
    pub(crate) header: bool,
    /// Which columns are wanted.
    pub(crate) wanted: &'o dyn Fn(&str) -> bool,
    pub(crate) threads: usize,
}

/// Reads columns of cells, and what stood between them.
pub(crate) fn read_csv<R: Read>(
    input: R,
    options: &CsvOptions<'_>,
) -> Result<(RawTable, Delimiter), LoadError> {
    match options.comment {
        Some(mark) => read_text(WithoutComments::new(input, mark), options),
        None => read_text(input, options),
    }
}

fn read_text<R: Read>(
    mut input: R,
    options: &CsvOptions<'_>,
) -> Result<(RawTable, Delimiter), LoadError> {
    let mut start = Vec::new();
    fill(&mut input, &mut start, LOOKED_AT_BYTES)?;
    let mut text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
    let mut line = 1;
    let mut named = None;
    if let Some((delimiter, length)) = separator_line(text) {
        (text, line, named) = (&text[length..], 2, delimiter);
    }
    let delimiter = options
        .delimiter
        .or(named)
        .unwrap_or_else(|| Delimiter::guess(text));
    let read = text.to_vec();
    let mut blocks = Blocks::new(input, read, line, delimiter.byte());
    let Some(first) = blocks.read()? else {
        return Err(LoadError::Empty);
    };
    let (names, first) = read_names(first, delimiter, options.header)?;
    let mut columns = Columns::new(names, options);
    if options.threads > 1 && first.text.len() >= LOOKED_AT_BYTES {
        split_on_threads(&mut columns, first, &mut blocks, delimiter, options)?;
    } else {
        let mut next = Some(first);
        while let Some(block) = next {
            let piece = columns.piece();
            columns.append(split_block(&block, delimiter, piece, options.decimal))?;
            next = blocks.read()?;
        }
    }
    Ok((columns.finish(), delimiter))
}

/// Finds Excel's first line `sep=;` and returns what it names and how long it is.
fn separator_line(text: &[u8]) -> Option<(Option<Delimiter>, usize)> {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let line = text[..end].trim_ascii_end();
    let named = match line.split_at_checked(4) {
        Some((start, named)) if start.eq_ignore_ascii_case(b"sep=") && named.len() <= 1 => named,
        // A tab is white space.
        None if line.eq_ignore_ascii_case(b"sep=") => &text[4..end.min(5)],
        _ => return None,
    };
    let delimiter = std::str::from_utf8(named).ok()?.parse().ok();
    let both = text[end..].starts_with(b"\r\n");
    Some((delimiter, end + if both { 2 } else { 1 }))
}

/// Takes the names of the columns from a text's first row, or makes them up.
fn read_names(
    mut block: Block,
    delimiter: Delimiter,
    header: bool,
) -> Result<(Vec<String>, Block), LoadError> {
    let mut records = Records::new(&block.text, block.line, delimiter);
    let mut record = Record::default();
    let found = records
        .read(&mut record, MAX_NAME_BYTES)
        .map_err(|error| match error {
            RecordError::CellTooLong { line, cell, quoted } => {
                LoadError::name_too_long(place(line, cell, &[]), quoted)
            }
            other => record_error(other, &[]),
        })?;
    if !found {
        return Err(LoadError::Empty);
    }
    if !header {
        let names = (1..=record.len()).map(|number| format!("V{number}"));
        return Ok((names.collect(), block));
    }
    let mut names = Vec::with_capacity(record.len() + 1);
    for (column, cell) in record.cells().enumerate() {
        let name = std::str::from_utf8(cell)
            .map_err(|_| LoadError::NotUtf8(place(record.line(), column, &[])))?;
        names.push(name.to_string());
    }
    let (position, line) = (records.position(), records.line());
    block.text.drain(..position);
    block.line = line;
    let is_comment = names.first().is_some_and(|name| name.starts_with('#'));
    if !is_comment && rows_have_cells(&block, delimiter, names.len() + 1) {
        // R's write.table gives no name to the column of row names.
        names.insert(0, String::new());
    }
    Ok((names, block))
}

/// Returns whether there are rows and the first of them all have so many cells.
fn rows_have_cells(block: &Block, delimiter: Delimiter, cells: usize) -> bool {
    let mut records = Records::new(&block.text, block.line, delimiter);
    let mut record = Record::default();
    for row in 0..ROWS_LOOKED_AT {
        match records.read(&mut record, MAX_CELL_BYTES) {
            Ok(true) if record.len() == cells => {}
            Ok(false) => return row > 0,
            _ => return false,
        }
    }
    true
}

/// The columns as far as they are read.
struct Columns {
    names: Vec<String>,
    cells: Vec<Cells>,
    rows: usize,
    decimal: DecimalMark,
}

/// A block's columns and the number of its rows, or why it has none.
type Piece = Result<(Vec<Cells>, usize), SplitError>;

/// Why a block cannot be split.
enum SplitError {
    Record(RecordError),
    Ragged {
        row: u64,
        found: usize,
        is_comment: bool,
    },
}

impl Columns {
    fn new(names: Vec<String>, options: &CsvOptions<'_>) -> Self {
        let cells = names
            .iter()
            .map(|name| {
                if (options.wanted)(name) {
                    Cells::default()
                } else {
                    Cells::Unwanted
                }
            })
            .collect();
        Self {
            names,
            cells,
            rows: 0,
            decimal: options.decimal,
        }
    }

    /// Returns empty columns of the kind that the next block should have.
    fn piece(&self) -> Vec<Cells> {
        self.cells.iter().map(Cells::next_piece).collect()
    }

    fn append(&mut self, piece: Piece) -> Result<(), LoadError> {
        let (cells, rows) = piece.map_err(|error| match error {
            SplitError::Record(error) => record_error(error, &self.names),
            SplitError::Ragged {
                row,
                found,
                is_comment,
            } => LoadError::Ragged {
                row,
                found,
                expected: self.names.len(),
                is_comment: is_comment
                    || self.names.first().is_some_and(|name| name.starts_with('#')),
            },
        })?;
        self.rows += rows;
        if self.rows > Table::MAX_ROWS {
            return Err(TableError::TooManyRows(self.rows).into());
        }
        for (column, more) in self.cells.iter_mut().zip(cells) {
            column.append(more, self.decimal);
        }
        Ok(())
    }

    fn finish(self) -> RawTable {
        let columns = self
            .names
            .into_iter()
            .zip(self.cells)
            .map(|(name, cells)| RawColumn {
                name,
                cells,
                levels: None,
            })
            .collect();
        RawTable {
            columns,
            rows: self.rows,
        }
    }
}

/// Splits a block, fast if it is ordinary.
fn split_block(
    block: &Block,
    delimiter: Delimiter,
    mut columns: Vec<Cells>,
    decimal: DecimalMark,
) -> Piece {
    let mut fast = columns.clone();
    let (text, line) = (&block.text, block.line);
    if let Some(rows) = plain_rows::split(text, line, delimiter.byte(), &mut fast, decimal) {
        return Ok((fast, rows));
    }
    let mut records = Records::new(text, line, delimiter);
    let mut record = Record::default();
    let mut rows = 0;
    while records
        .read(&mut record, MAX_CELL_BYTES)
        .map_err(SplitError::Record)?
    {
        if record.len() != columns.len() {
            return Err(SplitError::Ragged {
                row: record.line(),
                found: record.len(),
                is_comment: record
                    .cells()
                    .next()
                    .is_some_and(|cell| cell.starts_with(b"#")),
            });
        }
        for (cell, column) in record.cells().zip(&mut columns) {
            column.push(cell, record.line(), decimal);
        }
        rows += 1;
    }
    Ok((columns, rows))
}

/// A block with its number and its empty columns.
type Job = (usize, Block, Vec<Cells>);

/// Splits blocks on threads while this one reads and appends them in order.
fn split_on_threads<R: Read>(
    columns: &mut Columns,
    first: Block,
    blocks: &mut Blocks<R>,
    delimiter: Delimiter,
    options: &CsvOptions<'_>,
) -> Result<(), LoadError> {
    // As many blocks are under way at most.
    let most = 2 * options.threads;
    let decimal = options.decimal;
    let (jobs, waiting) = sync_channel::<Job>(most);
    let waiting = Mutex::new(waiting);
    let (done, pieces) = channel::<(usize, Piece)>();
    std::thread::scope(|scope| {
        for _ in 0..options.threads {
            let (waiting, done) = (&waiting, done.clone());
            scope.spawn(move || work(waiting, &done, delimiter, decimal));
        }
        // So that the pieces end when the threads do.
        drop(done);
        let outcome = hand_out(columns, first, blocks, most, (jobs, &pieces));
        // A thread that is still at work must not wait for room in vain.
        drop(pieces);
        outcome
    })
}

fn work(
    waiting: &Mutex<Receiver<Job>>,
    done: &Sender<(usize, Piece)>,
    delimiter: Delimiter,
    decimal: DecimalMark,
) {
    loop {
        let job = match waiting.lock() {
            Ok(waiting) => waiting.recv(),
            Err(_) => return,
        };
        let Ok((number, block, columns)) = job else {
            return;
        };
        let piece = split_block(&block, delimiter, columns, decimal);
        if done.send((number, piece)).is_err() {
            return;
        }
    }
}

/// Gives out blocks and appends what comes back, in the blocks' order.
fn hand_out<R: Read>(
    columns: &mut Columns,
    first: Block,
    blocks: &mut Blocks<R>,
    most: usize,
    (jobs, pieces): (std::sync::mpsc::SyncSender<Job>, &Receiver<(usize, Piece)>),
) -> Result<(), LoadError> {
    let mut next = Some(first);
    let (mut given, mut appended) = (0, 0);
    let mut early = BTreeMap::new();
    loop {
        while given - appended < most
            && let Some(block) = next.take()
        {
            if jobs.send((given, block, columns.piece())).is_err() {
                // The threads are gone: they never panic, and end only after this.
                return Ok(());
            }
            given += 1;
            next = blocks.read()?;
        }
        if appended == given {
            return Ok(());
        }
        let Ok((number, piece)) = pieces.recv() else {
            return Ok(());
        };
        early.insert(number, piece);
        while let Some(piece) = early.remove(&appended) {
            columns.append(piece)?;
            appended += 1;
        }
    }
}

/// Names a cell; `names` is empty while the header is read.
fn place(row: u64, column: usize, names: &[String]) -> Place {
    let column = match names.get(column) {
        Some(name) => PlaceColumn::Named(name.clone()),
        None => PlaceColumn::Numbered(column + 1),
    };
    Place { row, column }
}

fn record_error(error: RecordError, names: &[String]) -> LoadError {
    let at = |line, cell| place(line, cell, names);
    match error {
        RecordError::Nul { line, cell } => LoadError::Nul(at(line, cell)),
        RecordError::CellTooLong { line, cell, quoted } => {
            LoadError::cell_too_long(at(line, cell), quoted)
        }
        RecordError::TooManyCells { line } => LoadError::TooManyCells { row: line },
        RecordError::TextAfterQuote { line, cell } => LoadError::TextAfterQuote(at(line, cell)),
        RecordError::OpenQuote { line, cell } => LoadError::OpenQuote(at(line, cell)),
    }
}
