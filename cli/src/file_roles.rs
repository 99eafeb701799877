//! Which files a command reads and which it writes. Nothing that people have is overwritten by
//! accident: no output is one of the inputs, and no two outputs are one file. Two names are one file
//! if they lead to the same path once links are followed, or to the same device and inode (a hard
//! link). A command lists its files here before it does any work.

use crate::failure::Failure;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files of a command, each with its role in a sentence: "the table", "the result".
#[derive(Clone, Debug, Default)]
pub(crate) struct FileRoles {
    inputs: Vec<(&'static str, PathBuf)>,
    outputs: Vec<(&'static str, PathBuf)>,
}

/// The name of standard input and output.
pub(crate) const STANDARD: &str = "-";

impl FileRoles {
    /// Adds a file that is read, where one is given.
    pub(crate) fn reads<'a>(
        mut self,
        role: &'static str,
        path: impl Into<Option<&'a PathBuf>>,
    ) -> Self {
        let path = path.into().map(|path| match path.to_str() {
            // It may be a file that the shell has opened.
            Some(STANDARD) => PathBuf::from("/dev/stdin"),
            _ => path.clone(),
        });
        self.inputs.extend(path.map(|path| (role, path)));
        self
    }

    /// Adds files that are written.
    pub(crate) fn writes<'a>(
        mut self,
        role: &'static str,
        paths: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Self {
        let files = paths
            .into_iter()
            .filter(|path| path.as_os_str() != STANDARD);
        self.outputs.extend(files.map(|path| (role, path.clone())));
        self
    }

    /// Adds the files of a search's state folder, which only the search itself may write.
    pub(crate) fn keeps(mut self, state: Option<&PathBuf>) -> Self {
        let role = "part of the search's state";
        let files = ["journal.redb", "chains/search.txt"];
        let files = state
            .iter()
            .flat_map(|state| files.map(|file| state.join(file)));
        self.inputs.extend(files.map(|path| (role, path)));
        self
    }

    /// Checks that no file is written that is read, and none twice.
    ///
    /// # Errors
    /// With a sentence that names the file and both roles.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let identified = |files: &[(&'static str, PathBuf)]| -> Vec<Identified> {
            files
                .iter()
                .map(|(role, path)| Identified::of(role, path))
                .collect()
        };
        let (inputs, outputs) = (identified(&self.inputs), identified(&self.outputs));
        for (place, output) in outputs.iter().enumerate() {
            if let Some(input) = inputs.iter().find(|input| input.is(output)) {
                let what = format!("is {}; name another file for {}", input.role, output.role);
                return Err(Failure::file(&output.path, what));
            }
            let Some(other) = outputs[..place].iter().find(|other| other.is(output)) else {
                continue;
            };
            let what = match other.role == output.role {
                true => format!("is named twice for {}; once is enough", output.role),
                false => format!(
                    "is named for {} and for {}; name another file for one of them",
                    other.role, output.role
                ),
            };
            return Err(Failure::file(&output.path, what));
        }
        Ok(())
    }
}

/// A file as the system knows it.
struct Identified {
    role: &'static str,
    path: PathBuf,
    /// Its path without links, as far as it is there.
    real: Option<PathBuf>,
    /// Device and inode of a file that is there.
    inode: Option<(u64, u64)>,
    /// Whether it is a file, or could become one: a pipe or a device can't be overwritten.
    is_file: bool,
}

impl Identified {
    fn of(role: &'static str, path: &Path) -> Self {
        let about = fs::metadata(path).ok();
        let in_folder = || {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        };
        Self {
            role,
            path: path.to_owned(),
            real: path.canonicalize().ok().or_else(in_folder),
            inode: about.as_ref().map(|about| (about.dev(), about.ino())),
            is_file: about.is_none_or(|about| about.is_file()),
        }
    }

    fn is(&self, other: &Self) -> bool {
        let same_path = self.real.is_some() && self.real == other.real;
        let same_inode = self.inode.is_some() && self.inode == other.inode;
        self.is_file && other.is_file && (same_path || same_inode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(roles: &FileRoles, folder: &Path) -> String {
        let message = roles.check().unwrap_err().to_string();
        message.replace(&format!("{}/", folder.display()), "")
    }

    #[test]
    fn an_output_is_no_input_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("survey.csv"), "a,b\n").unwrap();
        fs::hard_link(at("survey.csv"), at("hard.csv")).unwrap();
        std::os::unix::fs::symlink("survey.csv", at("soft.csv")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        let twisted = at("sub").join("../survey.csv");
        for (output, shown) in [
            (at("survey.csv"), "survey.csv"),
            (at("hard.csv"), "hard.csv"),
            (at("soft.csv"), "soft.csv"),
            (twisted, "sub/../survey.csv"),
        ] {
            let (input, soft) = (at("survey.csv"), at("soft.csv"));
            for input in [input, soft] {
                let roles = FileRoles::default()
                    .reads("the table", &input)
                    .writes("the result", [&output]);
                let expected = format!("{shown}: is the table; name another file for the result");
                assert_eq!(refusal(&roles, folder.path()), expected);
            }
        }
        // A copy is another file.
        fs::copy(at("survey.csv"), at("copy.csv")).unwrap();
        let roles = FileRoles::default()
            .reads("the table", &at("survey.csv"))
            .writes("the result", [&at("copy.csv"), &at("new.csv")]);
        roles.check().unwrap();
    }

    #[test]
    fn two_outputs_are_two_files_even_before_they_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        let twisted = at("sub").join("../x.bif");
        let twice = FileRoles::default().writes("the result", [&at("x.bif"), &twisted]);
        assert_eq!(
            refusal(&twice, folder.path()),
            "sub/../x.bif: is named twice for the result; once is enough"
        );
        let both = FileRoles::default()
            .writes("the result", [&at("x.json")])
            .writes("the certificate", [&at("x.json")]);
        assert_eq!(
            refusal(&both, folder.path()),
            "x.json: is named for the result and for the certificate; name another file for one of \
             them"
        );
        let standard = PathBuf::from(STANDARD);
        let printed = FileRoles::default()
            .reads("the table", &standard)
            .writes("the result", [&standard]);
        printed.check().unwrap();
    }

    #[test]
    fn devices_are_nobodys_file_and_a_state_folder_is_its_own() {
        let null = PathBuf::from("/dev/null");
        let roles = FileRoles::default()
            .reads("the tiers", &null)
            .writes("the result", [&null, &null]);
        roles.check().unwrap();
        let state = PathBuf::from("/no/such/run1");
        let journal = state.join("journal.redb");
        let roles = FileRoles::default()
            .keeps(Some(&state))
            .writes("the result", [&journal]);
        // Its folder is not there, so there is no file to lose.
        roles.check().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_owned();
        let journal = state.join("journal.redb");
        let roles = FileRoles::default()
            .keeps(Some(&state))
            .writes("the result", [&journal]);
        let message = refusal(&roles, folder.path());
        assert!(message.contains("part of the search's state"), "{message}");
    }
}
