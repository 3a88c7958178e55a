//! The packages of runs.

use std::sync::Arc;

use gongfu_core::dependency::{Failure, FailureKind, Installs, PackageSpec};
use gongfu_core::sandbox::{Exit, Mode};
use gongfu_testing::{FakeEnvironments, MemorySpace};
use serde_json::{Value, json};

use super::world::catalog_of;
use super::{Catalog, call_in};
use crate::profile::Profile;
use gongfu_testing::sandbox::{failed, good};

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";

fn setup(
    files: &[(&str, &[u8])],
    installs: Installs,
) -> (Catalog, Arc<MemorySpace>, Arc<FakeEnvironments>) {
    let all: Vec<_> = [("SKILL.md", DOCUMENT)]
        .into_iter()
        .chain(files.iter().copied())
        .collect();
    let environments = Arc::new(FakeEnvironments::default());
    let space = MemorySpace {
        environments: Arc::<FakeEnvironments>::clone(&environments),
        installs,
        ..MemorySpace::default()
    };
    space.skills.replace(&[("lib/pdf", &all)]);
    let (catalog, space) = catalog_of(space);
    (catalog, space, environments)
}

fn run(catalog: &Catalog, command: &str) -> Result<Value, String> {
    let arguments = json!({ "skill_name": "pdf", "command": command });
    let result = call_in(catalog, Profile::Standard, "skill_run", arguments);
    let result = result.map_err(|error| error.to_string())?;
    Ok(result.structured_content.unwrap())
}

#[test]
fn run_has_the_declared_packages() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"import six\n")];
    let (catalog, space, environments) = setup(files, Installs::default());
    for made in [true, false] {
        space.sandbox.script(good("well"));
        let ran = run(&catalog, "python x.py").unwrap();
        let spec = space.sandbox.take_specs().pop().unwrap();
        assert!(
            spec.mounts
                .iter()
                .any(|mount| mount.target == "/env" && mount.mode == Mode::ReadOnly)
        );
        assert_eq!(spec.programs[0], "/env/bin");
        assert_eq!(spec.environment["VIRTUAL_ENV"], "/env");
        assert!(
            spec.reach.is_off(),
            "what the build reached isn't the run's"
        );
        let used = &ran["environments"][0];
        assert_eq!(
            (&used["from"], &used["packages"], &used["made"]),
            (&json!("requirements.txt"), &json!(1), &json!(made))
        );
    }
    assert_eq!(environments.builds(), 1);
    // What needs no packages waits for none, and neither does a workspace.
    space.sandbox.script(good("well"));
    assert_eq!(
        run(&catalog, "ls x.py").unwrap()["environments"],
        Value::Null
    );
    assert!(
        space
            .sandbox
            .take_specs()
            .pop()
            .unwrap()
            .environment
            .is_empty()
    );
}

#[test]
fn failed_build_is_reported_and_nothing_runs() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, space, environments) = setup(files, Installs::default());
    for (kind, code) in [
        (FailureKind::PackageUnknown, "DEPENDENCIES_INVALID"),
        (FailureKind::LockStale, "DEPENDENCIES_INVALID"),
        (FailureKind::IndexUnreachable, "DEPENDENCIES_UNAVAILABLE"),
        (FailureKind::ToolMissing, "DEPENDENCIES_UNAVAILABLE"),
    ] {
        environments.fail(Some(Failure::new(kind, "the reason")));
        let error = run(&catalog, "python x.py").unwrap_err();
        assert!(
            error.starts_with(code) && error.contains("the reason"),
            "{error}"
        );
        assert!(space.sandbox.take_specs().is_empty());
    }
    let elsewhere: &[(&str, &[u8])] = &[
        (
            "requirements.txt",
            b"# all\nsix @ https://example.com/six.whl\n",
        ),
        ("x.py", b""),
    ];
    let (catalog, space, _) = setup(elsewhere, Installs::default());
    let error = run(&catalog, "python x.py").unwrap_err();
    assert!(
        error.starts_with("DEPENDENCIES_INVALID") && error.contains("requirements.txt:2"),
        "{error}"
    );
    assert!(space.sandbox.take_specs().is_empty());
    // Another language's files are nobody's business here.
    space.sandbox.script(good("well"));
    assert!(run(&catalog, "node x.js").is_ok());
}

#[test]
fn what_is_left_out_is_told_with_every_run() {
    let files: &[(&str, &[u8])] = &[
        (
            "requirements.txt",
            b"idna\nsix @ https://example.com/six.whl\n",
        ),
        ("x.py", b""),
    ];
    let (catalog, space, _) = setup(files, Installs::default());
    for _ in 0..2 {
        space.sandbox.script(good("well"));
        let ran = run(&catalog, "python x.py").unwrap();
        let left_out = ran["environments"][0]["left_out"][0].as_str().unwrap();
        assert!(left_out.contains("requirements.txt:2"), "{left_out}");
    }
}

#[test]
fn command_adds_only_packages_of_the_table() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, space, environments) = setup(files, Installs::default());
    space.sandbox.script(good("well"));
    let ran = run(&catalog, "uv run --with pandas --with my-tool x.py").unwrap();
    let left_out = ran["environments"][0]["left_out"].as_array().unwrap();
    assert!(
        left_out.len() == 1 && left_out[0].as_str().unwrap().contains("`my-tool`"),
        "{left_out:?}"
    );
    let built = environments.installed().pop().unwrap();
    let PackageSpec::Requirements(built) = built.packages else {
        panic!("{built:?}");
    };
    assert_eq!(built.lines, ["six", "pandas"]);
    // Where the skill declares nothing, the command does.
    let (catalog, space, environments) = setup(&[("x.py", b"")], Installs::default());
    space.sandbox.script(good("well"));
    let ran = run(&catalog, "uv run --with pandas x.py").unwrap();
    assert_eq!(ran["environments"][0]["from"], json!("the command"));
    assert_eq!(environments.builds(), 1);
}

#[test]
fn refused_addition_is_told_and_does_not_hinder_guesses() {
    let installs = Installs {
        inferred: true,
        ..Installs::default()
    };
    for (installs, is_built) in [(Installs::default(), false), (installs, true)] {
        let (catalog, space, environments) = setup(&[("x.py", b"import yaml\n")], installs);
        for _ in 0..2 {
            space.sandbox.script(good("well"));
            let ran = run(&catalog, "uv run --with my-tool x.py").unwrap();
            let reports = ran["environments"].as_array().unwrap();
            let left_out = reports[0]["left_out"][0].as_str().unwrap();
            assert!(
                reports.len() == 1 && left_out.contains("`my-tool`"),
                "{ran}"
            );
        }
        assert_eq!(environments.builds(), usize::from(is_built));
    }
}

#[test]
fn sandbox_without_a_network_still_runs_scripts() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, space, environments) = setup(files, Installs::default());
    let broken = Failure::new(FailureKind::Sandbox, "it has no network");
    environments.fail(Some(broken));
    space.sandbox.script(good("well"));
    let ran = run(&catalog, "python x.py").unwrap();
    assert_eq!(
        (&ran["lacks"], &ran["environments"]),
        (&Value::Null, &Value::Null)
    );
    let lacking = "ModuleNotFoundError: No module named 'six'\n";
    space.sandbox.script(failed(Exit::Code(1), lacking));
    let ran = run(&catalog, "python x.py").unwrap();
    let advice = ran["lacks"][0]["advice"].as_str().unwrap();
    assert!(
        advice.contains("requirements.txt") && advice.contains("it has no network"),
        "{advice}"
    );
}

#[test]
fn operator_can_forbid_installation() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let installs = Installs {
        declared: false,
        inferred: true,
    };
    let (catalog, space, environments) = setup(files, installs);
    space.sandbox.script(good("well"));
    assert_eq!(
        run(&catalog, "python x.py").unwrap()["environments"],
        Value::Null
    );
    assert_eq!(environments.builds(), 0);
}

#[test]
fn imports_are_proposed_and_installed_only_on_request() {
    let files: &[(&str, &[u8])] = &[("x.py", b"import yaml\n")];
    let (catalog, space, environments) = setup(files, Installs::default());
    let lacking = "Traceback:\nModuleNotFoundError: No module named 'yaml'\n";
    space.sandbox.script(failed(Exit::Code(1), lacking));
    let ran = run(&catalog, "python x.py").unwrap();
    let lacks = &ran["lacks"][0];
    assert_eq!(lacks["missing"], json!(["yaml"]));
    assert_eq!(lacks["packages"], json!(["pillow", "pyyaml"]));
    assert!(
        lacks["advice"]
            .as_str()
            .unwrap()
            .contains("gongfu env build lib/pdf --inferred")
    );
    assert_eq!(environments.builds(), 0);
    // A program that finds all and fails lacks nothing.
    space.sandbox.script(failed(Exit::Code(1), "no"));
    assert_eq!(run(&catalog, "python x.py").unwrap()["lacks"], Value::Null);
    let (catalog, space, environments) = setup(
        files,
        Installs {
            declared: true,
            inferred: true,
        },
    );
    space.sandbox.script(good("well"));
    let ran = run(&catalog, "python x.py").unwrap();
    assert_eq!(
        ran["environments"][0]["from"],
        "what its Python scripts import"
    );
    // A guess that can't be had ends nothing.
    environments.clear();
    environments.fail(Some(Failure::new(FailureKind::PackageUnknown, "no")));
    space.sandbox.script(good("well"));
    assert_eq!(
        run(&catalog, "python x.py").unwrap()["environments"],
        Value::Null
    );
    // Where something is declared, the file to fix is named.
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, space, _) = setup(files, Installs::default());
    space.sandbox.script(failed(Exit::Code(1), lacking));
    let ran = run(&catalog, "python x.py").unwrap();
    assert_eq!(ran["lacks"][0]["declared_in"], "requirements.txt");
    assert_eq!(ran["lacks"][0]["packages"], json!(["pyyaml"]));
}

#[test]
fn incomplete_list_is_completed_where_guesses_are_installed() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"import yaml\n")];
    for (inferred, command, lines, from) in [
        (false, "python x.py", vec!["six"], "requirements.txt"),
        (
            true,
            "python x.py",
            vec!["six", "pyyaml"],
            "requirements.txt, x.py",
        ),
        // Which script this runs can't be told.
        (
            true,
            "python -c 'import x'",
            vec!["six"],
            "requirements.txt",
        ),
    ] {
        let installs = Installs {
            declared: true,
            inferred,
        };
        let (catalog, space, environments) = setup(files, installs);
        space.sandbox.script(good("well"));
        let ran = run(&catalog, command).unwrap();
        assert_eq!(ran["environments"][0]["from"], from, "{command}");
        let installed = environments.installed();
        let PackageSpec::Requirements(requirements) = &installed[0].packages else {
            panic!("{installed:?}");
        };
        assert_eq!(requirements.lines, lines, "{command}");
    }
}
