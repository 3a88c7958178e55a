//! What runs leave beside a skill: the layer of one version of it.
#![cfg(target_os = "linux")]

use crate::fixture::Fixture;

const MAIN: &str = "import json\nprint(json.dumps([1]))\n";
const PLANT: &str = "printf 'def dumps(_):\\n    return \"planted\"\\n' > scripts/json.py";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.skill("gcd", "Divides.");
    fixture.write("skills/gcd/scripts/main.py", MAIN);
    fixture
}

/// What a command in the folder of the skill says.
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
