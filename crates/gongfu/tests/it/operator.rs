//! The commands of an operator: settings, sources of skills, the log.

use std::fs;
use std::io::{BufRead as _, BufReader};

use gongfu_testing::json::{list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Run};

/// The settings file.
const FILE: &str = "home/config.toml";

/// A command with the built-in skills and the folder of skills alone.
fn log(fixture: &Fixture, arguments: &[&str]) -> Vec<Value> {
    let all: Vec<&str> = ["log", "--json"].iter().chain(arguments).copied().collect();
    let text = fixture.gongfu(all).good().text();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// The setting of a key as `config show` has it.
fn shown(run: &Run, key: &str) -> Value {
    let all = run.good().json();
    let settings = list_at(&all, "/settings").iter();
    let mut found = settings.filter(|one| text_at(one, "/key") == key);
    found
        .next()
        .unwrap_or_else(|| panic!("no {key} in {all:#}"))
        .clone()
}

#[test]
fn settings_have_a_place_a_value_and_an_origin() {
    let fixture = Fixture::new();
    let path = fixture.gongfu(["config", "path"]).good().text();
    assert!(
        path.contains(fixture.path(FILE).to_str().unwrap()),
        "{path}"
    );
    assert!(path.contains("not created yet"), "{path}");
    assert!(
        !fixture.path("home").exists(),
        "nothing is created by looking"
    );
    let show = || fixture.gongfu(["config", "show", "--json"]);
    let origin = |run: &Run, key| {
        let found = shown(run, key);
        (
            found["value"].clone(),
            found["origin"].as_str().unwrap().to_owned(),
        )
    };
    let listen = "server.listen";
    assert_eq!(
        origin(&show(), listen),
        (json!("127.0.0.1:7878"), "default".into())
    );
    fixture
        .gongfu(["config", "set", listen, "127.0.0.1:1"])
        .good();
    assert_eq!(
        origin(&show(), listen),
        (json!("127.0.0.1:1"), "file".into())
    );
    let run = show().with("GONGFU_LISTEN", "127.0.0.1:2");
    assert_eq!(
        origin(&run, listen),
        (json!("127.0.0.1:2"), "environment".into())
    );
    let flags = ["config", "show", "--json", "--listen", "127.0.0.1:3"];
    let run = fixture.gongfu(flags).with("GONGFU_LISTEN", "127.0.0.1:2");
    assert_eq!(origin(&run, listen), (json!("127.0.0.1:3"), "flag".into()));
    let got = fixture.gongfu(["config", "get", listen]).good().text();
    assert_eq!(got, "127.0.0.1:1\n");
    fixture.gongfu(["config", "unset", listen]).good();
    assert_eq!(origin(&show(), listen).1, "default");
    fixture
        .gongfu(["config", "get", "server.public_url"])
        .ends(1);
    // Nobody needs a file that isn't installed.
    let schema = fixture.gongfu(["config", "schema"]).good().json();
    assert!(
        schema.pointer("/properties/skills_dirs").is_some(),
        "{schema}"
    );
    let login = "https://me:hidden-word@example.com/simple";
    let set = fixture
        .gongfu(["config", "set", "dependencies.index", login])
        .good();
    let show = fixture.gongfu(["config", "show"]).good();
    for text in [set.text(), show.text()] {
        assert!(
            text.contains("https://***@example.com") && !text.contains("hidden-word"),
            "{text}"
        );
    }
}

#[test]
fn setting_is_validated_and_the_file_keeps_everything_else() {
    let fixture = Fixture::new();
    let text = "# mine\nskills_dirs = [] # none\n\n[server]\n# why\nlisten = \"127.0.0.1:1\"\n";
    fixture.write(FILE, text);
    for (key, value, code) in [
        ("sandbox.memory_mib", "1", "CONFIG_VALUE"),
        ("sandbox.memory_mib", "much", "CONFIG_VALUE"),
        ("sandbox.level", "best", "CONFIG_VALUE"),
        ("server.listen", "example.com:80", "CONFIG_VALUE"),
        ("discovery.home", "yes", "CONFIG_VALUE"),
        ("discovery.hme", "true", "CONFIG_UNKNOWN_KEY"),
        ("discovery", "true", "CONFIG_UNKNOWN_KEY"),
    ] {
        let refused = fixture.gongfu(["config", "set", key, value]).ends(1).stderr;
        assert!(
            refused.contains(&format!("error[{code}]")),
            "{key} {value}: {refused}"
        );
        assert!(refused.contains("hint:"), "{refused}");
        assert_eq!(fixture.read(FILE), text);
    }
    fixture
        .gongfu(["config", "set", "server.listen", "127.0.0.1:2"])
        .good();
    assert_eq!(fixture.read(FILE), text.replace(":1", ":2"));
    // Many people keep the file elsewhere: a link stays one.
    fs::rename(fixture.path(FILE), fixture.path("elsewhere.toml")).unwrap();
    std::os::unix::fs::symlink(fixture.path("elsewhere.toml"), fixture.path(FILE)).unwrap();
    fixture
        .gongfu(["config", "set", "server.listen", "127.0.0.1:3"])
        .good();
    assert_eq!(fixture.read("elsewhere.toml"), text.replace(":1", ":3"));
    assert!(fixture.path(FILE).is_symlink());
}

#[test]
fn every_mistake_of_the_settings_is_reported_at_once() {
    let fixture = Fixture::new();
    let text = "verbose = 1\n[discovery]\nhoem = true\n[sandbox]\nmemory_mib = \"x\"\nbroken\n"; // typos: ignore
    fixture.write(FILE, text);
    let found = fixture.gongfu(["config", "check", "--json"]).ends(1).json();
    let lines: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["line"])
        .collect();
    assert_eq!(lines, [1, 3, 5, 6]);
    let told = fixture.gongfu(["config", "check"]).ends(1).text();
    assert!(told.contains("did you mean `discovery.home`?"), "{told}");
    // A command that needs the settings reports all of them, too.
    let refused = fixture.gongfu(["skill", "list"]).ends(1).stderr;
    for line in [
        "error[CONFIG_INVALID]",
        "line 1:",
        "line 3:",
        "line 5:",
        "line 6:",
        "config check",
    ] {
        assert!(refused.contains(line), "{line}: {refused}");
    }
    // What is set is right, so that mistakes can be fixed one by one; what isn't TOML can't be edited.
    fixture
        .gongfu(["config", "set", "sandbox.memory_mib", "64"])
        .ends(1);
    fixture.write(FILE, text.replace("broken\n", ""));
    fixture
        .gongfu(["config", "set", "sandbox.memory_mib", "64"])
        .good();
    assert_eq!(
        fixture.read(FILE),
        text.replace("broken\n", "").replace("\"x\"", "64")
    );
}

#[test]
fn settings_that_are_changed_at_once_are_all_kept() {
    let fixture = Fixture::new();
    let folders: Vec<String> = (0..8).map(|number| format!("many/{number}")).collect();
    for folder in &folders {
        fs::create_dir_all(fixture.path(folder)).unwrap();
    }
    let path = |folder: &String| fixture.path(folder).to_string_lossy().into_owned();
    let added: Vec<_> = folders
        .iter()
        .map(|folder| fixture.gongfu(["source", "add", &path(folder)]).start())
        .collect();
    for child in added {
        let ended = child.wait_with_output().unwrap();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
    let got = fixture
        .gongfu(["config", "get", "skills_dirs"])
        .good()
        .text();
    assert!(
        folders.iter().all(|folder| got.contains(&path(folder))),
        "{got}"
    );
}

#[test]
fn sources_are_listed_added_and_removed() {
    let fixture = Fixture::with_skills();
    let skills = fixture.path("skills").to_string_lossy().into_owned();
    let list = |arguments: &[&str]| {
        let all: Vec<&str> = ["source", "list", "--json"]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        let listed = fixture.gongfu(all).good().json();
        let rows = listed.as_array().unwrap().iter().map(|one| {
            let text = |member: &str| text_at(one, member).to_owned();
            (
                text("/id"),
                text("/from"),
                one["exists"].clone(),
                one["skills"].clone(),
            )
        });
        rows.collect::<Vec<_>>()
    };
    let row = |from: &str| ("skills".to_owned(), from.to_owned(), json!(true), json!(2));
    assert!(!list(&[]).contains(&row("settings")));
    assert_eq!(list(&["--skills-dir", &skills])[0], row("flag"));
    let added = fixture.gongfu(["source", "add", &skills]).good().text();
    assert!(
        added.contains("added:") && added.contains("2 skills"),
        "{added}"
    );
    assert_eq!(list(&[])[0], row("settings"));
    assert!(
        list(&[])
            .iter()
            .any(|one| one.1 == "user" && one.2 == json!(false))
    );
    let before = fixture.read(FILE);
    let again = fixture
        .gongfu(["source", "add", &format!("{skills}/")])
        .good()
        .text();
    assert!(again.contains("already configured"), "{again}");
    fixture.write("file.zip", "PK");
    let file = fixture.path("file.zip").to_string_lossy().into_owned();
    for (wrong, code) in [
        (file.as_str(), "SOURCE_NOT_A_FOLDER"),
        ("nosuch", "SOURCE_NOT_FOUND"),
    ] {
        let refused = fixture.gongfu(["source", "add", wrong]).ends(1).stderr;
        assert!(refused.contains(code), "{refused}");
    }
    assert_eq!(fixture.read(FILE), before);
    let refused = fixture
        .gongfu(["source", "remove", "built-in"])
        .ends(1)
        .stderr;
    assert!(refused.contains("discovery.built_in false"), "{refused}");
    fixture.gongfu(["source", "remove", "skills"]).good();
    assert!(!list(&[]).contains(&row("settings")));
    assert!(fixture.path("skills").exists());
}

#[test]
fn log_names_the_skill_the_command_and_the_end() {
    let fixture = Fixture::new();
    fixture.skill("gcd", "Calculates the greatest common divisor.");
    let nothing = fixture.gongfu(["log"]).good();
    assert!(
        nothing.stderr.contains("nothing was called yet"),
        "{}",
        nothing.stderr
    );
    let mut client = fixture.client();
    let run = |command: &str| json!({ "skill_name": "gcd", "command": command });
    client.good("skill_run", run("echo one"));
    client.good("skill_run", run("exit 3"));
    client.bad("skill_run", run("rm -rf /"));
    client.bad("skill_load", json!({ "skill_name": "nosuch" }));
    let content = "the content of a file";
    client.good("file_write", json!({ "path": "a.txt", "content": content }));
    client.good("skill_run", run(&format!("true {}", "x".repeat(1_000))));
    client.close();
    let all = log(&fixture, &[]);
    let told: Vec<String> = all
        .iter()
        .map(|entry| {
            let text = |member: &str| entry[member].as_str().unwrap_or("-").to_owned();
            let command = text("command").chars().take(12).collect::<String>();
            [
                text("tool"),
                text("skill"),
                text("outcome"),
                text("ended"),
                command,
                text("path"),
            ]
            .join(" ")
        })
        .collect();
    assert_eq!(
        told,
        [
            "skill_run skills/gcd ok exit 0 echo one -",
            "skill_run skills/gcd ok exit 3 exit 3 -",
            "skill_run skills/gcd COMMAND_BLOCKED - rm -rf / -",
            "skill_load nosuch SKILL_NOT_FOUND - - -",
            "file_write - ok - - a.txt",
            "skill_run skills/gcd ok exit 0 true xxxxxxx -",
        ]
    );
    assert!(
        all[5]["command"].as_str().unwrap().chars().count() == 501,
        "{}",
        all[5]
    );
    let whole = fixture.read("home/audit/audit.jsonl");
    assert!(
        !whole.contains(content),
        "contents of files are never kept: {whole}"
    );
    assert_eq!(all.len(), log(&fixture, &["--since", "1h"]).len());
    assert_eq!(log(&fixture, &["--since", "2100-01-01"]).len(), 0);
    assert_eq!(log(&fixture, &["--failed"]).len(), 3);
    assert_eq!(log(&fixture, &["--skill", "gcd", "-n", "2"]).len(), 2);
    let lines = fixture.gongfu(["log"]).good().text();
    assert!(
        lines.lines().count() == 7 && lines.contains("SKILL_NOT_FOUND"),
        "{lines}"
    );
    assert!(lines.starts_with("TIME"), "{lines}");
    // What gongfu itself reads is shown to those who ask.
    fixture.gongfu(["grant", "list"]).good();
    let quiet = fixture.gongfu(["log"]).good();
    assert_eq!(quiet.text().lines().count(), 7, "{}", quiet.text());
    assert!(
        quiet.stderr.contains("not shown: 1 (--all"),
        "{}",
        quiet.stderr
    );
    assert_eq!(log(&fixture, &["--all"]).len(), 7);
    assert_eq!(log(&fixture, &[]).len(), 6);
    // Only digests, for who wants no more.
    fixture
        .gongfu(["config", "set", "audit.arguments", "digest"])
        .good();
    fixture.only(["run", "gcd", "--", "echo", "secret"]).good();
    let last = log(&fixture, &["-n", "1"]).remove(0);
    assert!(
        last.get("command").is_none() && last.get("skill").is_none(),
        "{last}"
    );
    assert_eq!(text_at(&last, "/ended"), "exit 0");
    assert!(text_at(&last, "/arguments").starts_with("sha256:"));
}

#[test]
fn log_reads_old_torn_and_hostile_lines() {
    let fixture = Fixture::new();
    let old = r#"{"at":"2026-11-24T01:00:00.000Z","call":1,"phase":"end","tool":"skill_run","access":"execute","role":"external_agent","client":"c","outcome":"ok","arguments":"sha256:00","milliseconds":5}"#;
    let hostile = old
        .replace("\"c\"", r#""\u001b[31mred\n\u202e""#)
        .replace("ok", "TIMEOUT");
    let begun = old.replace("end", "begin").replace(":1,", ":2,");
    let lines = format!("{old}\n{{\"at\":\"2026\n{hostile}\n{begun}\ntorn");
    fixture.write("home/audit/audit.jsonl", &lines);
    let shown = fixture.gongfu(["log"]).good();
    assert_eq!(shown.text().lines().count(), 4, "{}", shown.text());
    assert!(
        !shown.text().contains(['\u{1b}', '\u{202e}']),
        "{}",
        shown.text()
    );
    assert!(
        shown.text().contains("started"),
        "it never ended: {}",
        shown.text()
    );
    assert!(
        shown.stderr.contains("damaged lines skipped: 1"),
        "{}",
        shown.stderr
    );
    assert_eq!(log(&fixture, &["--failed"]).len(), 1);
    // Reading writes nothing, and needs no settings.
    fixture.write(FILE, "broken");
    fixture.gongfu(["log"]).good();
    assert_eq!(fs::read_dir(fixture.path("home")).unwrap().count(), 2);
}

#[test]
fn log_is_followed_until_it_is_interrupted() {
    let fixture = Fixture::new();
    fixture.skill("gcd", "Calculates the greatest common divisor.");
    fixture.only(["run", "gcd", "--", "echo", "first"]).good();
    let mut follower = fixture.gongfu(["log", "--follow", "--json"]).start();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("echo first"));
    // As another process rotates it.
    let folder = fixture.path("home/audit");
    fixture.only(["run", "gcd", "--", "echo", "second"]).good();
    fs::rename(folder.join("audit.jsonl"), folder.join("audit.1.jsonl")).unwrap();
    fixture.only(["run", "gcd", "--", "echo", "third"]).good();
    for command in ["echo second", "echo third"] {
        for phase in ["begin", "end"] {
            let line = next();
            assert!(line.contains(command) && line.contains(phase), "{line}");
        }
    }
    let process = rustix::process::Pid::from_child(&follower);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert!(follower.wait().unwrap().success());
}
