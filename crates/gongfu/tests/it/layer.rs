//! Layers: the files that runs leave beside one version of a skill.
#![cfg(target_os = "linux")]

use gongfu_testing::json::{at, text_at};
use serde_json::json;

use crate::fixture::Fixture;

const MAIN: &str = "import json\nprint(json.dumps([1]))\n";
const PLANT: &str = "printf 'def dumps(_):\\n    return \"planted\"\\n' > scripts/json.py";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill("gcd", "Divides.");
    fixture.write("skills/gcd/scripts/main.py", MAIN);
    fixture
}

/// The output of a command in the folder of the skill.
fn ran(fixture: &Fixture, line: &str) -> String {
    let run = fixture.only(["run", "gcd", "--", "sh", "-c", line]);
    run.good().text()
}

#[test]
fn replaced_skill_runs_nothing_that_its_former_version_left() {
    let fixture = fixture();
    assert_eq!(ran(&fixture, "python3 scripts/main.py"), "[1]\n");
    ran(&fixture, PLANT);
    assert_eq!(ran(&fixture, "python3 scripts/main.py"), "planted\n");
    fixture.write("skills/gcd/scripts/new.py", "print('reviewed')\n");
    assert_eq!(ran(&fixture, "python3 scripts/main.py"), "[1]\n");
}

#[test]
fn bytecode_that_a_run_left_is_not_run_in_place_of_a_script() {
    let fixture = fixture();
    fixture.write("skills/gcd/scripts/helper.py", "WORD = 'own'\n");
    let plant = "cd scripts && cp helper.py /tmp/kept && echo \"WORD = 'planted'\" > helper.py \
                 && python3 -c \"import py_compile; py_compile.compile('helper.py', \
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\" \
                 && cp /tmp/kept helper.py";
    let say = "cd scripts && python3 -c 'import helper; print(helper.WORD)'";
    // In one run, the bytecode is what is run.
    assert_eq!(
        ran(
            &fixture,
            &format!("{plant}; {}", say.replace("cd scripts && ", ""))
        ),
        "planted\n"
    );
    assert_eq!(ran(&fixture, say), "own\n");
}

#[test]
fn what_runs_left_is_shown_and_cleared_by_a_person() {
    let fixture = fixture();
    let layer = |more: &[&str]| {
        let mut arguments = vec!["layer"];
        arguments.extend(more);
        fixture.only(arguments)
    };
    let listed = || fixture.gongfu(["layer", "list", "--json"]).good().json();
    let shown = || fixture.only(["skill", "show", "gcd"]).good().text();
    let empty = json!([]);
    assert_eq!(
        (listed(), shown().contains("run files")),
        (empty.clone(), false)
    );
    ran(&fixture, "echo one > a; mkdir out; echo two > out/b");
    assert!(
        shown().contains("run files  2 files (8 bytes)"),
        "{}",
        shown()
    );
    let files = layer(&["show", "gcd", "--json"]).good().json();
    let paths = json!([{ "path": "a", "size": 4 }, { "path": "out/b", "size": 4 }]);
    assert_eq!(at(&files, "/shown/files"), &paths);
    // Of another version there is nothing yet; the files of the former one are still there.
    fixture.write("skills/gcd/scripts/new.py", "print('new')\n");
    ran(&fixture, "echo three > c");
    assert_eq!(listed().as_array().unwrap().len(), 2);
    let files = layer(&["show", "gcd", "--json"]).good().json();
    assert_eq!(at(&files, "/shown/layer/files"), 1);
    let former = text_at(&files, "/former/0/id").to_owned();
    let text = layer(&["show", &former]).good().text();
    assert!(text.contains("out/b  4 bytes"), "{text}");
    layer(&["clear", "gcd"]).good();
    assert_eq!(listed().as_array().unwrap().len(), 1);
    assert_eq!(ran(&fixture, "ls"), "SKILL.md\nscripts\n");
    layer(&["clear", "gcd", "--all"]).good();
    assert_eq!(listed(), empty);
    layer(&["clear", "nonesuch"]).ends(1);
}
