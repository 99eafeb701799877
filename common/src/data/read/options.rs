//! How a table is read.

use super::bins::BinRules;
use super::declared_schema::DeclaredSchema;
use super::delimiter::Delimiter;
use super::encoding::Encoding;
use super::missing::MissingPolicy;
use super::number::DecimalMark;

/// How a table is read. What is left at `None` is told from the file, or else from the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// What stands between the cells of a text.
    pub delimiter: Option<Delimiter>,
    /// What stands before the fraction of a number: a point unless said otherwise.
    pub decimal: Option<DecimalMark>,
    /// What begins a comment that runs to the end of its line: nothing unless said otherwise.
    pub comment: Option<u8>,
    /// Whether the first row has the names of the columns; it has unless said otherwise.
    pub header: Option<bool>,
    /// The encoding of a text: told from its bytes unless said otherwise.
    pub encoding: Option<Encoding>,
    /// Columns that are left out.
    pub drop: Vec<String>,
    /// If not empty, all others are left out.
    pub columns: Vec<String>,
    /// The states of some variables, and other things that were written down.
    pub schema: Option<DeclaredSchema>,
    /// How columns of numbers are put into bins.
    pub bins: BinRules,
    /// What happens to rows with missing cells.
    pub missing: MissingPolicy,
    /// The texts that stand for a missing cell, instead of the usual ones.
    pub missing_markers: Option<Vec<String>>,
    /// What the table is for.
    pub purpose: TablePurpose,
    /// How many threads read; the result does not depend on it.
    pub threads: usize,
}

/// What a table is for: how small it may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TablePurpose {
    /// A network is learned from it, which takes two columns and two rows at least.
    #[default]
    Learning,
    /// A network that is known already is asked about its rows: one row with one column will do.
    Asking,
}

impl TablePurpose {
    /// Returns the fewest rows: from one row nothing can be learned.
    #[must_use]
    pub fn least_rows(self) -> usize {
        match self {
            Self::Learning => 2,
            Self::Asking => 1,
        }
    }

    /// Returns the fewest columns: with one there is no edge to find.
    #[must_use]
    pub fn least_columns(self) -> usize {
        match self {
            Self::Learning => 2,
            Self::Asking => 1,
        }
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            decimal: None,
            comment: None,
            header: None,
            encoding: None,
            drop: Vec::new(),
            columns: Vec::new(),
            schema: None,
            bins: BinRules::default(),
            missing: MissingPolicy::default(),
            missing_markers: None,
            purpose: TablePurpose::default(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl LoadOptions {
    /// Returns the options with what the schema says where nothing else was said.
    pub(crate) fn with_schema(&self) -> Self {
        let mut options = self.clone();
        if let Some(schema) = &self.schema {
            let said = schema.reading();
            options.delimiter = options.delimiter.or(said.delimiter);
            options.decimal = options.decimal.or(said.decimal);
            options.comment = options.comment.or(said.comment);
            options.header = options.header.or(said.header);
            options.encoding = options.encoding.or(said.encoding);
            if options.missing_markers.is_none() {
                options.missing_markers.clone_from(&said.missing_markers);
            }
        }
        options
    }
}
