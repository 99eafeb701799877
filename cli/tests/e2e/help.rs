//! Every command explains itself.

use crate::PROGRAM;

fn help(args: &[&str]) -> String {
    let output = PROGRAM.command().args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    assert!(output.stderr.is_empty(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_shows_an_example() {
    assert!(help(&["--help"]).contains("Exit codes: 0 done"));
    for command in [
        "learn",
        "prove",
        "check-proof",
        "score",
        "compare",
        "sample",
        "fit",
        "convert",
        "check",
    ] {
        let text = help(&[command, "--help"]);
        let example = format!("rlbayes {command} ");
        assert!(text.contains("Example"), "{command}: {text}");
        assert!(text.contains(&example), "{command}: {text}");
    }
}

#[test]
fn an_empty_environment_variable_counts_as_not_set() {
    let ran = |value: &str| {
        PROGRAM
            .command()
            .args(["learn", "no-such-table.csv"])
            .envs(["RLBAYES_SEED", "RLBAYES_TIME", "RLBAYES_SCORE"].map(|name| (name, value)))
            .output()
            .unwrap()
    };
    let printed = |value| String::from_utf8(ran(value).stderr).unwrap();
    assert!(printed("").contains("no-such-table.csv"), "{}", printed(""));
    assert!(printed("x").contains("--score"), "{}", printed("x"));
}

#[test]
fn shells_and_man_get_their_files() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            help(&["completions", shell]).contains("max-parents"),
            "{shell}"
        );
    }
    assert!(help(&["man"]).starts_with(".ie"), "a manual page");
}
