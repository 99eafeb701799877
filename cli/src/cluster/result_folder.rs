//! The folder for a search's results: NAME.bif, NAME.json and NAME.svg, and with replicates
//! NAME.support.csv, NAME.support.json and NAME.support.svg, in a folder of the search's own, `OUT/NAME-ID`, so that no search overwrites the files of another. `OUT/NAME.bif` and the
//! others are links to those of the search that wrote last; a file of that name that is no such link
//! is somebody else's, and stays.

use super::result_maker::{Fitted, Made, SupportMade};
use crate::failure::Failure;
use crate::target::words;
use rlbayes_common::files::{HALF_WRITTEN, sweep, write_whole};
use rlbayes_common::ids::SearchId;
use rlbayes_common::io::{
    Format, MAX_DRAWN_NODES, SupportPicture, WriteError, WriteOptions, draw_support, support_csv,
    write_network,
};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the results of a search go.
#[derive(Clone, Debug)]
pub(super) struct ResultFolder {
    /// The folder that was given.
    top: PathBuf,
    /// The name of the search's own folder in it; none: it is the given folder itself, as with
    /// searches of earlier versions.
    own: Option<String>,
    /// The table's name.
    name: String,
}

/// The endings of the files; those of support are there if there are replicates.
const ENDINGS: [&str; 6] = ["bif", "svg", "json", SUPPORT_CSV, SUPPORT_JSON, SUPPORT_SVG];
const SUPPORT_CSV: &str = "support.csv";
const SUPPORT_JSON: &str = "support.json";
const SUPPORT_SVG: &str = "support.svg";

/// Digits of the search's id in the name of its folder.
const ID_DIGITS: usize = 12;

/// How long nobody writes at a half-written file before it counts as left.
const OLD: Duration = Duration::from_secs(60);

impl ResultFolder {
    /// Names the folder; nothing is made yet.
    pub(super) fn new(top: &Path, name: &str, id: SearchId, is_at_the_top: bool) -> Self {
        let id: String = id.to_string().chars().take(ID_DIGITS).collect();
        Self {
            top: top.to_owned(),
            own: (!is_at_the_top).then(|| format!("{name}-{id}")),
            name: name.to_owned(),
        }
    }

    /// Makes the folder, checks that it can be written, and removes what a kill left half-written.
    pub(super) fn open(&self) -> Result<(), Failure> {
        let folder = self.path();
        refuse_file(&folder)?;
        let refused = |error: io::Error| Failure::file(&folder, words(&error));
        fs::create_dir_all(&folder).map_err(refused)?;
        if self.own.is_some() {
            sweep(&folder);
        }
        self.sweep_old();
        tempfile::Builder::new()
            .prefix(HALF_WRITTEN)
            .tempfile_in(&folder)
            .map(|_| ())
            .map_err(|error| {
                let what = format!("no file can be written here: {}", words(&error));
                Failure::file(&folder, what)
            })
    }

    /// Removes what a kill left half-written in the folder that searches share. Another coordinator
    /// may be writing there, so what is young stays.
    fn sweep_old(&self) {
        let is_old = |entry: &fs::DirEntry| {
            let changed = entry.metadata().and_then(|about| about.modified());
            changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= OLD))
        };
        let entries = fs::read_dir(&self.top).into_iter().flatten().flatten();
        for entry in entries.filter(is_old) {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(HALF_WRITTEN)
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Returns the search's own folder.
    pub(super) fn path(&self) -> PathBuf {
        match &self.own {
            Some(own) => self.top.join(own),
            None => self.top.clone(),
        }
    }

    /// Returns the files.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        ENDINGS.iter().map(|ending| self.file(ending)).collect()
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.path().join(format!("{}.{ending}", self.name))
    }

    /// Checks that every file could hold a network over the search's variables, and returns what to
    /// tell people about those that will not be there.
    pub(super) fn check(&self, unlearned: &Fitted) -> Result<Option<String>, Failure> {
        if unlearned.not_fitted.is_none() {
            write_network(Format::Bif, &unlearned.network, &WriteOptions::default()).map_err(
                |error| Failure::input(format!("the result could not be written: {error}")),
            )?;
        }
        let nodes = unlearned.network.named_dag().names().len();
        Ok((nodes > MAX_DRAWN_NODES).then(|| {
            format!(
                "there will be no {}.svg: a picture shows at most {MAX_DRAWN_NODES} nodes and this \
                 table has {nodes} columns (rlbayes result -o x.svg --around NODE draws a part)",
                self.name
            )
        }))
    }

    /// Writes a result: each file whole or not at all, the JSON last. A file that would show an
    /// earlier network, since this one has no probabilities, is removed.
    pub(super) fn write(&self, made: &Made) -> Result<(), String> {
        let network = &made.fitted.network;
        let options = WriteOptions {
            class: Some(&made.class),
            provenance: Some(&made.provenance),
            ..WriteOptions::default()
        };
        match made.fitted.not_fitted {
            None => {
                let bytes = write_network(Format::Bif, network, &options)
                    .map_err(|error| self.refused("bif", &error))?;
                self.write_file("bif", &bytes)?;
            }
            Some(_) => self.remove_file("bif")?,
        }
        match write_network(Format::Svg, network, &options) {
            Ok(bytes) => self.write_file("svg", &bytes)?,
            Err(WriteError::TooLarge { .. }) => {}
            Err(error) => return Err(self.refused("svg", &error)),
        }
        if let Some(support) = &made.support {
            self.write_support(support)?;
        }
        self.write_file("json", format!("{:#}\n", made.json).as_bytes())
    }

    fn write_support(&self, made: &SupportMade) -> Result<(), String> {
        let table = made.support.table();
        self.write_file(SUPPORT_CSV, support_csv(table).as_bytes())?;
        let picture = SupportPicture {
            table,
            threshold: made.support.request().threshold(),
            truth: None,
        };
        match draw_support(&picture) {
            Ok(canvas) => self.write_file(SUPPORT_SVG, canvas.to_svg().as_bytes())?,
            Err(WriteError::TooLarge { .. }) => {}
            Err(error) => return Err(self.refused(SUPPORT_SVG, &error)),
        }
        self.write_file(SUPPORT_JSON, format!("{:#}\n", made.json).as_bytes())
    }

    fn refused(&self, ending: &str, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.file(ending).display())
    }

    fn write_file(&self, ending: &str, bytes: &[u8]) -> Result<(), String> {
        write_whole(&self.file(ending), bytes).map_err(|error| self.refused(ending, &words(&error)))
    }

    fn remove_file(&self, ending: &str) -> Result<(), String> {
        match fs::remove_file(self.file(ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.refused(ending, &words(&error)))
            }
            _ => Ok(()),
        }
    }

    /// Lets the names in the given folder lead to this search's files, where they are free or lead to
    /// those of another search. A disk may have no links: then the files are in their own folder only.
    pub(super) fn link(&self) -> Result<(), String> {
        let Some(own) = &self.own else {
            return Ok(());
        };
        for ending in ENDINGS {
            let file = format!("{}.{ending}", self.name);
            let link = self.top.join(&file);
            let target = Path::new(own).join(&file);
            let leads_to = match fs::symlink_metadata(&link) {
                Ok(about) if about.is_symlink() => fs::read_link(&link).ok(),
                Ok(_) => continue,
                Err(_) => None,
            };
            if leads_to
                .as_ref()
                .is_some_and(|path| !self.is_result(path, &file))
            {
                continue;
            }
            let refused = |error: io::Error| format!("{}: {}", link.display(), words(&error));
            if !self.top.join(&target).exists() {
                // It leads nowhere, or to what is not the newest result.
                match fs::remove_file(&link) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(refused(error));
                    }
                    _ => continue,
                }
            }
            if leads_to.as_ref() == Some(&target) {
                continue;
            }
            let new = self.top.join(format!("{HALF_WRITTEN}link-{file}"));
            let _ = fs::remove_file(&new);
            symlink(&target, &new)
                .and_then(|()| fs::rename(&new, &link))
                .map_err(refused)?;
        }
        Ok(())
    }

    /// Returns whether a link leads to the result of some search of this name.
    fn is_result(&self, target: &Path, file: &str) -> bool {
        let folder = target.parent().and_then(Path::to_str).unwrap_or_default();
        let id = folder
            .strip_prefix(&self.name)
            .and_then(|rest| rest.strip_prefix('-'));
        let is_id = |id: &str| id.len() == ID_DIGITS && id.bytes().all(|c| c.is_ascii_hexdigit());
        id.is_some_and(is_id) && target.file_name().is_some_and(|name| name == file)
    }

    /// Returns what to tell people about where results are.
    pub(super) fn told(&self) -> String {
        let taken = |ending: &&str| {
            let link = self.top.join(format!("{}.{ending}", self.name));
            fs::symlink_metadata(link).is_ok_and(|about| !about.is_symlink())
        };
        let folder = self.path();
        let shown = folder.display();
        match (&self.own, ENDINGS.iter().find(|ending| taken(ending))) {
            (None, _) => format!("results in {shown}"),
            (Some(_), None) => format!(
                "results in {shown}, and as {}",
                self.top.join(format!("{}.*", self.name)).display()
            ),
            (Some(_), Some(ending)) => format!(
                "results in {shown} only: {} is another file, which stays",
                self.top.join(format!("{}.{ending}", self.name)).display()
            ),
        }
    }
}

/// Refuses a file where a folder for results should be.
pub(super) fn refuse_file(folder: &Path) -> Result<(), Failure> {
    match folder.exists() && !folder.is_dir() {
        true => {
            let what = "is a file (expected a folder for the results)";
            Err(Failure::file(folder, what))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rlbayes_common::graph::Cpdag;
    use rlbayes_common::io::Provenance;
    use rlbayes_common::network::{NamedDag, NetworkFile};
    use serde_json::json;
    use std::sync::Arc;

    fn made(score: f64) -> Made {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let named = NamedDag::new(names, [("a", "b")]).unwrap();
        Made {
            json: json!({ "score": score }),
            class: Cpdag::of(named.dag()),
            gains: Vec::new(),
            provenance: Provenance::default(),
            support: None,
            fitted: Arc::new(Fitted::new(
                NetworkFile::Structure(named),
                Some("a reason".to_owned()),
            )),
        }
    }

    fn folder(top: &Path, id: u8) -> ResultFolder {
        let folder = ResultFolder::new(top, "survey", SearchId([id; 16]), false);
        folder.open().unwrap();
        folder
    }

    #[test]
    fn searches_have_their_own_files_and_the_names_lead_to_the_newest() {
        let top = tempfile::tempdir().unwrap();
        let (first, second) = (folder(top.path(), 1), folder(top.path(), 2));
        let shown = || fs::read_to_string(top.path().join("survey.json")).unwrap();
        first.write(&made(1.0)).unwrap();
        first.link().unwrap();
        assert!(shown().contains("1.0"));
        second.write(&made(2.0)).unwrap();
        second.link().unwrap();
        assert!(shown().contains("2.0"));
        let kept = fs::read_to_string(first.file("json")).unwrap();
        assert!(kept.contains("1.0"), "the first search's is still there");
        assert!(fs::read_to_string(top.path().join("survey.svg")).is_ok());
        assert!(second.told().contains("and as"), "{}", second.told());
    }

    #[test]
    fn files_and_links_of_others_stay() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::write(at("survey.json"), "mine").unwrap();
        symlink("elsewhere.svg", at("survey.svg")).unwrap();
        let folder = folder(top.path(), 1);
        folder.write(&made(1.0)).unwrap();
        folder.link().unwrap();
        assert_eq!(fs::read_to_string(at("survey.json")).unwrap(), "mine");
        let link = fs::read_link(at("survey.svg")).unwrap();
        assert_eq!(link, Path::new("elsewhere.svg"));
        assert!(folder.file("json").exists() && folder.file("svg").exists());
        assert!(folder.told().contains("stays"), "{}", folder.told());
    }

    #[test]
    fn what_shows_an_earlier_network_is_removed() {
        let top = tempfile::tempdir().unwrap();
        let folder = folder(top.path(), 1);
        fs::write(folder.file("bif"), "network of before").unwrap();
        fs::write(folder.path().join(".rlbayes-x"), "half").unwrap();
        folder.open().unwrap();
        assert!(!folder.path().join(".rlbayes-x").exists());
        folder.link().unwrap();
        assert!(top.path().join("survey.bif").exists());
        folder.write(&made(1.0)).unwrap();
        folder.link().unwrap();
        assert!(!folder.file("bif").exists());
        let bif = fs::symlink_metadata(top.path().join("survey.bif"));
        assert!(bif.is_err(), "no link leads nowhere");
    }
}
