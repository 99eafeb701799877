//! The flags of constraints: edges that must or must not be, tiers, the start network; and where in
//! their files something is wrong.

use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::flag_hints::FlagHint;
use clap::Args;
use rlbayes::{NamedConstraints, Network};
use rlbayes_common::data::{Source, SourceError};
use rlbayes_common::search::{ConstraintError, ConstraintList};
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
    /// Tiers, one per line, names separated by commas, earliest first: no edge leads from a later
    /// tier to an earlier one
    #[arg(long, value_name = "FILE")]
    pub(crate) tiers: Option<PathBuf>,
    /// The most parents that a node may have
    #[arg(long, value_name = "K")]
    pub(crate) max_parents: Option<usize>,
    /// The network to start from, in any readable format
    #[arg(long, value_name = "NET")]
    pub(crate) start: Option<PathBuf>,
}

/// Constraints as they stand in their files, read once: a file may be a pipe.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstraintFiles {
    required: Option<NameLists>,
    forbidden: Option<NameLists>,
    tiers: Option<NameLists>,
    /// The constraints by name.
    pub(crate) named: NamedConstraints,
    start: Option<(PathBuf, Network)>,
}

/// The lines of a constraint file.
#[derive(Clone, Debug)]
struct NameLists {
    path: PathBuf,
    lines: Vec<(usize, Vec<String>)>,
}

impl ConstraintArgs {
    /// Adds the files that are read.
    pub(crate) fn reads(&self, roles: FileRoles) -> FileRoles {
        roles
            .reads("the list of required edges", self.required.as_ref())
            .reads("the list of forbidden edges", self.forbidden.as_ref())
            .reads("the list of tiers", self.tiers.as_ref())
            .reads("the start network", self.start.as_ref())
    }

    /// Reads all files.
    pub(crate) fn read(&self) -> Result<ConstraintFiles, Failure> {
        let lists = |path: &Option<PathBuf>| path.as_deref().map(NameLists::read).transpose();
        let pairs = |lists: &Option<NameLists>| match lists {
            Some(lists) => lists.pairs(),
            None => Ok(Vec::new()),
        };
        let (required, forbidden, tiers) = (
            lists(&self.required)?,
            lists(&self.forbidden)?,
            lists(&self.tiers)?,
        );
        let tier_names = tiers.iter().flat_map(|tiers| &tiers.lines);
        let named = NamedConstraints {
            required: pairs(&required)?,
            forbidden: pairs(&forbidden)?,
            tiers: tier_names.map(|(_, names)| names.clone()).collect(),
            max_parents: self.max_parents,
        };
        let start = match &self.start {
            Some(path) => {
                let network = Network::read(path).map_err(Failure::input)?;
                Some((path.clone(), network))
            }
            None => None,
        };
        Ok(ConstraintFiles {
            required,
            forbidden,
            tiers,
            named,
            start,
        })
    }
}

impl ConstraintFiles {
    /// Returns the network to start from.
    pub(crate) fn start(&self) -> Option<Network> {
        self.start.as_ref().map(|(_, network)| network.clone())
    }

    /// Returns the file of the network to start from.
    pub(crate) fn start_path(&self) -> Option<&Path> {
        self.start.as_ref().map(|(path, _)| path.as_path())
    }

    /// Returns what is wrong with the constraints, and in which line of which file.
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
        Some((&self.lists(list)?.path, line))
    }

    fn lists(&self, list: ConstraintList) -> Option<&NameLists> {
        match list {
            ConstraintList::Required => self.required.as_ref(),
            ConstraintList::Forbidden => self.forbidden.as_ref(),
            ConstraintList::Tiers => self.tiers.as_ref(),
        }
    }

    /// Returns the number of the first line of a list's file that is wanted; a header is none.
    fn find_line(
        &self,
        list: ConstraintList,
        mut wanted: impl FnMut(&[String]) -> bool,
    ) -> Option<usize> {
        let has_header = list != ConstraintList::Tiers;
        self.lists(list)?
            .lines
            .iter()
            .filter(|(line, names)| !(has_header && is_header(*line, names)))
            .find(|(_, names)| wanted(names))
            .map(|(line, _)| *line)
    }
}

impl NameLists {
    /// Reads lines of names separated by commas; names may be quoted. Empty lines and lines that
    /// begin with # are passed over.
    fn read(path: &Path) -> Result<Self, Failure> {
        const MOST_BYTES: u64 = 64 << 20;
        let mut text = String::new();
        std::fs::File::open(path)
            .map_err(SourceError::from)
            .and_then(|file| Source::from_reader(file, MOST_BYTES))
            .and_then(|mut source| Ok(source.read_to_string(&mut text)?))
            .map_err(|error| Failure::file(path, error))?;
        let lines = rlbayes_common::io::parse_name_lists(&text)
            .map_err(|error| Failure::file(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            lines,
        })
    }

    /// Returns pairs of names, one per line; a first line `from,to` is a header.
    fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut pairs = Vec::new();
        for (line, names) in &self.lines {
            match names.as_slice() {
                names if is_header(*line, names) => {}
                [from, to] => pairs.push((from.clone(), to.clone())),
                _ => {
                    let found = names.len();
                    let what = format!("line {line}: expected two names, from,to; found {found}");
                    return Err(Failure::file(&self.path, what));
                }
            }
        }
        Ok(pairs)
    }
}

fn is_header(line: usize, names: &[String]) -> bool {
    line == 1 && matches!(names, [from, to] if from == "from" && to == "to")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::data::{Schema, Table, Variable};
    use rlbayes_common::search::Constraints;

    /// Returns the error about constraints over the variables a, b and c, without the folder.
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
        let files = args.read().unwrap();
        let error = Constraints::new(&table, &files.named).unwrap_err();
        let message = files.refused(&error).to_string();
        let folder = format!("{}/", folder.path().display());
        message.replace(&folder, "")
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
