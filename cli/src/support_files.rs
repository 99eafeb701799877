//! Files that hold the support of edges: the ending chooses what they are.

use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use rlbayes::{SupportTable, Table, write_packed};
use rlbayes_common::graph::Dag;
use rlbayes_common::io::{
    Format, MAX_DRAWN_NODES, SupportPicture, draw_support, support_csv, support_dot,
    support_graphml,
};
use std::path::{Path, PathBuf};

/// A file of support.
#[derive(Clone, Debug)]
pub(crate) struct SupportFile {
    path: PathBuf,
    format: Format,
}

impl SupportFile {
    /// Returns the file of a path whose format holds support; none for those that hold networks.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let format = Format::from_path(path).ok()?;
        let holds_support = matches!(
            format,
            Format::Csv | Format::Json | Format::Svg | Format::Dot | Format::GraphMl
        );
        holds_support.then(|| Self {
            path: path.to_owned(),
            format,
        })
    }

    /// Returns where the file goes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks before the work that the file can be written for a table.
    pub(crate) fn check(&self, table: &Table) -> Result<(), Failure> {
        let nodes = table.data().nodes();
        if self.format == Format::Svg && nodes > MAX_DRAWN_NODES {
            let what = format!(
                "a picture shows at most {MAX_DRAWN_NODES} nodes and this table has {nodes} columns"
            );
            return Err(Failure::file(&self.path, what));
        }
        Ok(())
    }

    /// Writes the file; `json` makes the content of a JSON file.
    pub(crate) fn write(
        &self,
        table: &SupportTable,
        threshold: f64,
        truth: Option<&Dag>,
        json: impl FnOnce() -> serde_json::Value,
    ) -> Result<(), Failure> {
        let picture = SupportPicture {
            table,
            threshold,
            truth,
        };
        let refused =
            |error: rlbayes_common::io::WriteError| Failure::file(&self.path, error.with_flags());
        let text = match self.format {
            Format::Csv => support_csv(table),
            Format::Json => format!("{:#}\n", json()),
            Format::Svg => draw_support(&picture).map_err(refused)?,
            Format::Dot => support_dot(&picture),
            _ => support_graphml(&picture).map_err(refused)?,
        };
        write_packed(&self.path, text.into_bytes())
            .map_err(|error| Failure::file(&self.path, error))
    }
}
