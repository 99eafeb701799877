//! Files that hold the support of edges: the ending chooses what they are.

use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use crate::target::Target;
use rlbayes::{SupportTable, Table};
use rlbayes_common::graph::Dag;
use rlbayes_common::io::{
    Format, MAX_DRAWN_NODES, SupportPicture, draw_support, support_csv, support_dot,
    support_graphml,
};
use std::path::Path;

/// A file of support.
#[derive(Clone, Debug)]
pub(crate) struct SupportFile {
    target: Target,
    format: Format,
}

impl SupportFile {
    /// Returns the file of a path whose format holds support; none for those that hold networks.
    ///
    /// # Errors
    /// If no file can be written there.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>, Failure> {
        let target = Target::new(path)?;
        let format = match target {
            Target::Stdout => Format::Csv,
            Target::File(_) => Format::from_path(path).map_err(Failure::input)?,
        };
        let holds_support = matches!(
            format,
            Format::Csv | Format::Json | Format::Dot | Format::GraphMl
        ) || format.is_picture();
        Ok(holds_support.then_some(Self { target, format }))
    }

    /// Returns where the file goes.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Checks before the work that the file can be written for a table.
    pub(crate) fn check(&self, table: &Table) -> Result<(), Failure> {
        let nodes = table.data().nodes();
        if self.format.is_picture() && nodes > MAX_DRAWN_NODES {
            let what = format!(
                "a picture shows at most {MAX_DRAWN_NODES} nodes and this table has {nodes} columns"
            );
            return Err(Failure::input(format!("{}: {what}", self.target)));
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
        let refused = |error: rlbayes_common::io::WriteError| {
            Failure::input(format!("{}: {}", self.target, error.with_flags()))
        };
        let drawn = || draw_support(&picture).map_err(refused);
        let text = match self.format {
            Format::Png => return self.target.write(drawn()?.to_png()),
            Format::Pdf => return self.target.write(drawn()?.to_pdf()),
            Format::Csv => support_csv(table),
            Format::Json => format!("{:#}\n", json()),
            Format::Svg => drawn()?.to_svg(),
            Format::Dot => support_dot(&picture),
            _ => support_graphml(&picture).map_err(refused)?,
        };
        self.target.write(text.into_bytes())
    }
}
