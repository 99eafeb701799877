//! The files of Compose against its published schema, which the v2 plugin enforces.

use crate::docker::{in_project, installed, run};
use rlbayes_tests::Ran;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn the_published_schema_accepts_the_files_of_compose() {
    for file in ["compose.yaml", "compose.tls.yaml", "stack.yaml"] {
        validate(&in_project("deploy").join(file)).ok();
    }
}

#[test]
fn the_published_schema_refuses_a_misspelt_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("compose.yaml");
    let right = fs::read_to_string(in_project("deploy/compose.yaml")).unwrap();
    let wrong = right.replace("stop_grace_period", "stop_grace_time");
    assert_ne!(right, wrong);
    fs::write(&file, wrong).unwrap();
    let ran = validate(&file);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("stop_grace_time"), "{ran:?}");
}

fn validate(file: &Path) -> Ran {
    let program: PathBuf = installed("venv/bin/check-jsonschema");
    let words = ["--builtin-schema", "vendor.compose-spec"];
    let file = file.to_str().unwrap();
    run(program.to_str().unwrap(), words.into_iter().chain([file]))
}
