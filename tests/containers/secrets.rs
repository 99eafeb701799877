//! Secret files: the container's user reads them, and nobody else on the host.

use crate::docker::{SOON, in_project};
use rlbayes_tests::Running;
use rlbayes_tests::prerequisites::{has_root, is_root};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Somebody who may not give files away.
const NOBODY: u32 = 65534;

#[test]
fn who_cannot_give_the_token_away_has_it_in_a_closed_folder() {
    let folder = scripts();
    let make_token = folder.path().join("make-token");
    // Where the test runs without rights, it is such a person itself.
    let mut command = if is_root() {
        chown(folder.path(), Some(NOBODY), None).unwrap();
        let mut command = Command::new("setpriv");
        let who = format!("--reuid={NOBODY}");
        command.args([&who, "--clear-groups"]).arg(&make_token);
        command
    } else {
        Command::new(&make_token)
    };
    command.current_dir("/");
    let printed = Running::of(command).wait(SOON).ok().stdout;
    assert_eq!(printed, "made deploy/secrets/token\n");
    assert_eq!(mode(&folder.path().join("secrets")), 0o700);
    assert_eq!(mode(&folder.path().join("secrets/token")), 0o444);
}

#[test]
fn root_gives_the_token_to_the_user_of_the_container_and_makes_no_other() {
    let folder = scripts();
    if !has_root() {
        return;
    }
    let token = folder.path().join("secrets/token");
    let make_token = || {
        let command = Command::new(folder.path().join("make-token"));
        Running::of(command).wait(SOON).ok();
        fs::read_to_string(&token).unwrap()
    };
    let made = make_token();
    assert_eq!(made.len(), 64);
    assert_eq!(make_token(), made);
    assert_eq!(mode(&token), 0o400);
    assert_eq!(fs::metadata(&token).unwrap().uid(), 65532);
}

/// Copies what makes the token into a folder that everybody can see.
fn scripts() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    for name in ["make-token", "readable"] {
        fs::copy(in_project("deploy").join(name), folder.path().join(name)).unwrap();
    }
    folder
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}
