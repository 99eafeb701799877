//! The flags of constraints: edges that must or must not be, tiers, the start network; and where in
//! their files something is wrong.

use crate::args::read_structure;
use crate::failure::Failure;
use crate::flag_hints::FlagHint;
use clap::Args;
use rlbayes_common::data::{Schema, Source, SourceError};
use rlbayes_common::graph::Dag;
use rlbayes_common::search::{ConstraintError, ConstraintList, NamedConstraints};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What the network must and must not have.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Constraints")]
pub(crate) struct ConstraintArgs {
    /// Edges that must be there: CSV of from,to
    #[arg(long, value_name = "FILE")]
    pub(crate) required: Option<PathBuf>,
    /// Edges that must not be there: CSV of from,to
    #[arg(long, value_name = "FILE")]
    pub(crate) forbidden: Option<PathBuf>,
    /// One tier a line, names separated by commas, earliest first: no edge leads back
    #[arg(long, value_name = "FILE")]
    pub(crate) tiers: Option<PathBuf>,
    /// The most parents that a node may have
    #[arg(long, value_name = "K")]
    pub(crate) max_parents: Option<usize>,
    /// The network to start from, in any readable format
    #[arg(long, value_name = "NET")]
    pub(crate) start: Option<PathBuf>,
}

impl ConstraintArgs {
    pub(crate) fn named(&self) -> Result<NamedConstraints, Failure> {
        Ok(NamedConstraints {
            required: self
                .required
                .as_deref()
                .map(read_pairs)
                .transpose()?
                .unwrap_or_default(),
            forbidden: self
                .forbidden
                .as_deref()
                .map(read_pairs)
                .transpose()?
                .unwrap_or_default(),
            tiers: self
                .tiers
                .as_deref()
                .map(read_tiers)
                .transpose()?
                .unwrap_or_default(),
            max_parents: self.max_parents,
        })
    }

    /// Says what is wrong with the constraints, and in which line of which file that stands.
    pub(crate) fn refused(&self, error: &ConstraintError) -> Failure {
        match self.culprit(error) {
            Some((path, line)) => Failure::file(path, format!("line {line}: {error}")),
            None => Failure::input(error.with_flags()),
        }
    }

    /// Returns the file and the line that an error is about, if it is about one line.
    fn culprit(&self, error: &ConstraintError) -> Option<(&Path, usize)> {
        let is_edge = |names: &[String], from: &str, to: &str| matches!(names, [first, second] if first == from && second == to);
        let (list, line) = match error {
            ConstraintError::UnknownName { place, name } => {
                let line = self.find_line(*place, |names| names.contains(name))?;
                (*place, line)
            }
            ConstraintError::SelfLoop { place, name } => {
                let line = self.find_line(*place, |names| is_edge(names, name, name))?;
                (*place, line)
            }
            ConstraintError::RequiredAndForbidden { from, to }
            | ConstraintError::RequiredAgainstTiers { from, to }
            | ConstraintError::RequiredConstant { from, to, .. }
            | ConstraintError::RequiredCycle { from, to } => {
                let list = ConstraintList::Required;
                let line = self.find_line(list, |names| is_edge(names, from, to))?;
                (list, line)
            }
            ConstraintError::TwoTiers(name) => {
                let mut seen = 0;
                let second = |names: &[String]| {
                    seen += names.iter().filter(|other| *other == name).count();
                    seen > 1
                };
                let list = ConstraintList::Tiers;
                (list, self.find_line(list, second)?)
            }
            // These are about several lines, or about the start network.
            ConstraintError::TooManyRequired { .. }
            | ConstraintError::StartForbidden { .. }
            | ConstraintError::StartParents { .. }
            | ConstraintError::StartCycle { .. } => return None,
        };
        Some((self.file(list)?, line))
    }

    fn file(&self, list: ConstraintList) -> Option<&Path> {
        match list {
            ConstraintList::Required => self.required.as_deref(),
            ConstraintList::Forbidden => self.forbidden.as_deref(),
            ConstraintList::Tiers => self.tiers.as_deref(),
        }
    }

    /// Returns the number of the first line of a list's file that is wanted; a header is none.
    fn find_line(
        &self,
        list: ConstraintList,
        mut wanted: impl FnMut(&[String]) -> bool,
    ) -> Option<usize> {
        let lines = read_name_lists(self.file(list)?).ok()?;
        let has_header = list != ConstraintList::Tiers;
        lines
            .iter()
            .filter(|(line, names)| !(has_header && is_header(*line, names)))
            .find(|(_, names)| wanted(names))
            .map(|(line, _)| *line)
    }

    pub(crate) fn start(&self, schema: &Schema) -> Result<Option<Dag>, Failure> {
        self.start
            .as_deref()
            .map(|path| read_structure(path, schema))
            .transpose()
    }
}

/// Reads pairs of names, one a line; a first line `from,to` is a header.
fn read_pairs(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs = Vec::new();
    for (line, names) in read_name_lists(path)? {
        match names.as_slice() {
            names if is_header(line, names) => {}
            [from, to] => pairs.push((from.clone(), to.clone())),
            _ => {
                let found = names.len();
                let what = format!("line {line}: expected two names, from,to; found {found}");
                return Err(Failure::file(path, what));
            }
        }
    }
    Ok(pairs)
}

fn is_header(line: usize, names: &[String]) -> bool {
    line == 1 && matches!(names, [from, to] if from == "from" && to == "to")
}

fn read_tiers(path: &Path) -> Result<Vec<Vec<String>>, Failure> {
    Ok(read_name_lists(path)?
        .into_iter()
        .map(|(_, names)| names)
        .collect())
}

/// Reads lines of names separated by commas; names may be quoted. Empty lines and lines that begin
/// with # are passed over.
fn read_name_lists(path: &Path) -> Result<Vec<(usize, Vec<String>)>, Failure> {
    const MOST_BYTES: u64 = 64 << 20;
    let mut text = String::new();
    std::fs::File::open(path)
        .map_err(SourceError::from)
        .and_then(|file| Source::from_reader(file, MOST_BYTES))
        .and_then(|mut source| Ok(source.read_to_string(&mut text)?))
        .map_err(|error| Failure::file(path, error))?;
    rlbayes_common::io::parse_name_lists(&text).map_err(|error| Failure::file(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::data::{Table, Variable};
    use rlbayes_common::search::Constraints;

    /// Returns what is said of constraints over the variables a, b and c, without the folder.
    fn refusal(required: &str, forbidden: &str, tiers: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path)
        };
        let args = ConstraintArgs {
            required: file("required.csv", required),
            forbidden: file("forbidden.csv", forbidden),
            tiers: file("tiers.csv", tiers),
            max_parents: None,
            start: None,
        };
        let two = || vec!["0".to_owned(), "1".to_owned()];
        let variables = ["a", "b", "c"].map(|name| Variable::new(name, two()).unwrap());
        let schema = Schema::new(variables.to_vec()).unwrap();
        let table = Table::new(schema, vec![vec![0, 1]; 3]).unwrap();
        let error = Constraints::new(&table, &args.named().unwrap()).unwrap_err();
        let said = args.refused(&error).to_string();
        let folder = format!("{}/", folder.path().display());
        said.replace(&folder, "")
    }

    #[test]
    fn what_is_wrong_with_constraints_is_said_with_file_and_line() {
        let edges = "from,to\n# known\na,b\n\nb,zz\n";
        let unknown = refusal(edges, "", "");
        assert!(unknown.starts_with("required.csv: line 5: "), "{unknown}");
        let unknown = refusal("", edges, "");
        assert!(unknown.starts_with("forbidden.csv: line 5: "), "{unknown}");
        let unknown = refusal("", "", "a\nb,zz\n");
        assert!(unknown.starts_with("tiers.csv: line 2: "), "{unknown}");
        let twice = refusal("", "", "a,b\nc\nb\n");
        assert!(twice.starts_with("tiers.csv: line 3: "), "{twice}");
        let cycle = refusal("a,b\nb,c\nc,a\n", "", "");
        assert!(cycle.starts_with("required.csv: line 3: "), "{cycle}");
        let both = refusal("b,c\na,b\n", "a,b\n", "");
        assert!(both.starts_with("required.csv: line 2: "), "{both}");
        let own = refusal("", "a,b\na,a\n", "");
        assert!(own.starts_with("forbidden.csv: line 2: "), "{own}");
    }
}
