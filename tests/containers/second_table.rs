//! One project, several tables: each is a search of its own on the same volumes, and nothing of an
//! earlier one is lost.

use crate::docker::{SOON, docker, in_project, log};
use crate::project::{Compose, Project};
use rlbayes_tests::wait_until;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes a folder of tables that the container's user can read.
fn tables() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), mode).unwrap();
    for (from, name) in [
        ("tests/fixtures/survey_names.csv", "survey.csv"),
        ("data/alarm.csv", "alarm.csv"),
    ] {
        let text = fs::read(in_project(from)).unwrap();
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Waits for the end of the search, and returns the result that is served.
fn result(project: &Project) -> Value {
    project.wait_for("finished", |status| status["state"] == "finished");
    let coordinator = project.coordinator();
    let text = docker(&["exec", &coordinator, "/rlbayes", "result", "--json"]);
    serde_json::from_str(&text).unwrap()
}

/// Returns a file of the volume with results.
fn in_out(project: &Project, name: &str) -> String {
    let out = project.folder().join("out");
    docker(&[
        "cp",
        &format!("{}:/out", project.coordinator()),
        out.to_str().unwrap(),
    ]);
    let text = fs::read_to_string(out.join(name)).unwrap();
    fs::remove_dir_all(out).unwrap();
    text
}

#[test]
fn a_survey_with_any_names_is_fetched_and_a_second_table_needs_no_other_volumes() {
    let folder = tables();
    let settings = [
        ("RLBAYES_DATA_FOLDER", folder.path().to_str().unwrap()),
        ("RLBAYES_TABLE", "survey.csv"),
        ("RLBAYES_TIME", "3s"),
        ("RLBAYES_WORKER_CPUS", "0.5"),
    ];
    let mut project = Project::new(Compose::Program, "survey", &settings);
    project.up(1);
    let first = result(&project);
    assert!(!first["edges"].as_array().unwrap().is_empty(), "{first}");
    let coordinator = project.coordinator();
    for format in ["bif", "xml", "json", "csv", "dot", "graphml", "svg"] {
        let mut args = vec!["exec", &coordinator, "/rlbayes", "result", "-o", "-"];
        args.extend(["--portable-names", "--format", format]);
        let text = docker(&args);
        assert!(text.contains("smoke"), "{format}: {text}");
    }
    // A thread of its own writes the files: the last of them follows the end of the search.
    let mut kept = String::new();
    wait_until("the files are those of the end", SOON, || {
        kept = in_out(&project, "survey.json");
        let file: Value = serde_json::from_str(&kept).unwrap();
        !file["stopped_by"].is_null()
    });
    assert!(in_out(&project, "survey.bif").contains("Do you smoke?"));

    // Another table, the same volumes.
    project.down();
    project.set("RLBAYES_TABLE", "alarm.csv");
    project.up(1);
    let second = result(&project);
    assert_ne!(second["search_id"], first["search_id"]);
    let logged = log(&project.coordinator());
    assert!(
        logged.contains("holds a search of survey; this one is of alarm, and keeps it"),
        "{logged}"
    );
    assert_eq!(in_out(&project, "survey.json"), kept);
    assert!(in_out(&project, "alarm.json").contains("\"score\""));

    // The same name with other content is another search, too; the first table finds its own again.
    project.down();
    project.set("RLBAYES_TABLE", "survey.csv");
    let table = folder.path().join("survey.csv");
    let rows = fs::read_to_string(&table).unwrap();
    let without_last_row = rows.trim_end().rsplit_once('\n').unwrap().0;
    write(&table, without_last_row);
    project.up(1);
    let third = result(&project);
    assert_ne!(third["search_id"], first["search_id"]);
    project.down();
    project.set("RLBAYES_TABLE", "survey.csv");
    write(&table, &rows);
    project.up(1);
    let again = result(&project);
    for field in ["search_id", "score", "edges", "evaluations"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}
