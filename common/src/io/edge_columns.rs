//! Which columns of a table of edges hold their ends: a header names them `from` and `to`. So what
//! we write (`from,to,directed`) and what R's `write.csv` writes (row numbers first, under an empty
//! name) are both read.

/// Where an edge's ends stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EdgeColumns {
    from: usize,
    to: usize,
    width: usize,
}

impl EdgeColumns {
    /// Takes a first line for the one that R writes above row numbers and a matrix of two columns,
    /// whatever these are called. So begins an adjacency matrix of two nodes as well.
    pub(super) fn of_r_matrix(fields: &[String]) -> Option<Self> {
        let is_empty: Vec<bool> = fields.iter().map(|name| name.trim().is_empty()).collect();
        (is_empty == [true, false, false]).then_some(Self {
            from: 1,
            to: 2,
            width: 3,
        })
    }

    /// Takes a first line for a header if it names both ends.
    pub(super) fn of_header(fields: &[String]) -> Option<Self> {
        let find = |wanted: &str| {
            let mut named = fields
                .iter()
                .map(|field| field.trim().eq_ignore_ascii_case(wanted));
            named.position(|is_it| is_it)
        };
        Some(Self {
            from: find("from")?,
            to: find("to")?,
            width: fields.len(),
        })
    }

    /// Returns the two ends of a line as long as the header.
    pub(super) fn ends(self, fields: &[String]) -> Option<[&String; 2]> {
        let whole = fields.len() == self.width;
        whole.then(|| [&fields[self.from], &fields[self.to]])
    }
}
