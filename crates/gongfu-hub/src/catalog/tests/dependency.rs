//! The packages that what is run needs: what it is given, and what is said where it lacks some.

use std::sync::{Arc, Mutex};

use gongfu_core::account::Owner;
use gongfu_core::dependency::{Failure, Imported, Kind, Manifest, Record, packages};
use gongfu_core::library::Skill;
use gongfu_core::port::{Environment, Environments, Kept, Listener, Made, Pending, PortError};
use gongfu_core::sandbox::{Contact, Exit, Mode, Mount, Stream};
use serde_json::{Value, json};

use super::memory::{Memory, reading, with_environments};
use super::run::{failed, good};
use super::{Catalog, call_in};
use crate::profile::Profile;
use crate::run::Installs;

/// Environments in memory: none is there until it is made.
#[derive(Default)]
pub(super) struct Shelf {
    there: Mutex<Vec<Manifest>>,
    made: Mutex<usize>,
    /// Why none can be made.
    broken: Mutex<Option<Failure>>,
}

fn environment(manifest: &Manifest) -> Environment {
    let record = Record {
        key: manifest.digest().to_string().chars().skip(7).collect(),
        language: manifest.language,
        skill: "lib/pdf".to_owned(),
        from: vec![manifest.from()],
        inferred: manifest.is_inferred(),
        left_out: Vec::new(),
        packages: packages(manifest.language, "six==1.17.0 \\\n"),
        lock: String::new(),
        interpreter: None,
        index: String::new(),
        made: String::new(),
        took_ms: 0,
        bytes: 0,
        files: 0,
        digest: String::new(),
    };
    Environment {
        record: Arc::new(record),
        mount: Some(Mount {
            sources: vec!["environment".into()],
            target: "/env".to_owned(),
            mode: Mode::ReadOnly,
            keep: None,
        }),
        programs: vec!["/env/bin".to_owned()],
        variables: [("VIRTUAL_ENV".to_owned(), "/env".to_owned())].into(),
        held: Arc::new(()),
    }
}

fn ready<'a, T: Send + 'a>(answer: T) -> Pending<'a, T> {
    Box::pin(std::future::ready(Ok::<T, PortError>(answer)))
}

impl Environments for Shelf {
    fn find<'a>(
        &'a self,
        _: &'a Owner,
        manifest: &'a Manifest,
    ) -> Pending<'a, Option<Environment>> {
        let there = self.there.lock().unwrap().contains(manifest);
        ready(there.then(|| environment(manifest)))
    }

    fn make<'a>(
        &'a self,
        _: &'a Owner,
        _: &'a Skill,
        manifest: Manifest,
        listener: Listener,
    ) -> Pending<'a, Result<Made, Failure>> {
        *self.made.lock().unwrap() += 1;
        if let Some(failure) = self.broken.lock().unwrap().clone() {
            return ready(Err(failure));
        }
        listener(Stream::Stderr, b"making it\n");
        let made = Made {
            environment: environment(&manifest),
            contacts: vec![Contact {
                host: "index.example:443".to_owned(),
                refused: None,
            }],
        };
        self.there.lock().unwrap().push(manifest);
        ready(Ok(made))
    }

    fn imports<'a>(
        &'a self,
        _: &'a Owner,
        _: &'a Skill,
        _: &'a Manifest,
    ) -> Pending<'a, Result<Imported, Failure>> {
        let modules = ["yaml", "PIL"].map(|name| (name.to_owned(), vec!["x.py".to_owned()]));
        ready(Ok(Imported {
            modules: modules.into(),
            unread: Vec::new(),
        }))
    }

    fn list<'a>(&'a self, _: &'a Owner) -> Pending<'a, Vec<Kept>> {
        ready(Vec::new())
    }

    fn remove<'a>(&'a self, _: &'a Owner, _: &'a str) -> Pending<'a, bool> {
        ready(false)
    }

    fn changed<'a>(&'a self, _: &'a Owner, _: &'a str) -> Pending<'a, bool> {
        ready(false)
    }

    fn sweep<'a>(&'a self, _: &'a Owner) -> Pending<'a, ()> {
        ready(())
    }
}

const DOCUMENT: &[u8] = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";

fn ground(files: &[(&str, &[u8])], installs: Installs) -> (Catalog, Arc<Memory>, Arc<Shelf>) {
    let all: Vec<_> = [("SKILL.md", DOCUMENT)]
        .into_iter()
        .chain(files.iter().copied())
        .collect();
    let (_, memory) = reading(&[("lib/pdf", &all)]);
    let shelf = Arc::new(Shelf::default());
    let catalog = with_environments(&memory, Arc::<Shelf>::clone(&shelf), installs);
    (catalog, memory, shelf)
}

fn run(catalog: &Catalog, command: &str) -> Result<Value, String> {
    let arguments = json!({ "skill_name": "pdf", "command": command });
    let result = call_in(catalog, Profile::Standard, "skill_run", arguments);
    let result = result.map_err(|error| error.to_string())?;
    Ok(result.structured_content.unwrap())
}

#[test]
fn what_a_skill_says_it_needs_is_there_when_it_runs() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"import six\n")];
    let (catalog, memory, shelf) = ground(files, Installs::default());
    for made in [true, false] {
        memory.plan(good("well"));
        let ran = run(&catalog, "python x.py").unwrap();
        let spec = memory.asked().pop().unwrap();
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
    assert_eq!(*shelf.made.lock().unwrap(), 1);
    // What needs no packages waits for none, and neither does a workspace.
    memory.plan(good("well"));
    assert_eq!(
        run(&catalog, "ls x.py").unwrap()["environments"],
        Value::Null
    );
    assert!(memory.asked().pop().unwrap().environment.is_empty());
}

#[test]
fn what_cannot_be_had_is_said_and_nothing_is_run() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, memory, shelf) = ground(files, Installs::default());
    for (kind, code) in [
        (Kind::PackageUnknown, "DEPENDENCIES_INVALID"),
        (Kind::LockStale, "DEPENDENCIES_INVALID"),
        (Kind::IndexUnreachable, "DEPENDENCIES_UNAVAILABLE"),
        (Kind::ToolMissing, "DEPENDENCIES_UNAVAILABLE"),
    ] {
        *shelf.broken.lock().unwrap() = Some(Failure::new(kind, "the reason"));
        let error = run(&catalog, "python x.py").unwrap_err();
        assert!(
            error.starts_with(code) && error.contains("the reason"),
            "{error}"
        );
        assert!(memory.asked().is_empty());
    }
    let elsewhere: &[(&str, &[u8])] = &[
        (
            "requirements.txt",
            b"idna\nsix @ https://example.com/six.whl\n",
        ),
        ("x.py", b""),
    ];
    let (catalog, memory, _) = ground(elsewhere, Installs::default());
    let error = run(&catalog, "python x.py").unwrap_err();
    assert!(
        error.starts_with("DEPENDENCIES_INVALID") && error.contains("requirements.txt:2"),
        "{error}"
    );
    assert!(memory.asked().is_empty());
    // Another language's files are nobody's business here.
    memory.plan(good("well"));
    assert!(run(&catalog, "node x.js").is_ok());
}

#[test]
fn a_sandbox_that_reaches_no_index_runs_what_does_without() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, memory, shelf) = ground(files, Installs::default());
    let broken = Failure::new(Kind::Sandbox, "it has no network");
    *shelf.broken.lock().unwrap() = Some(broken);
    memory.plan(good("well"));
    let ran = run(&catalog, "python x.py").unwrap();
    assert_eq!(
        (&ran["lacks"], &ran["environments"]),
        (&Value::Null, &Value::Null)
    );
    let lacking = "ModuleNotFoundError: No module named 'six'\n";
    memory.plan(failed(Exit::Code(1), lacking));
    let ran = run(&catalog, "python x.py").unwrap();
    let advice = ran["lacks"][0]["advice"].as_str().unwrap();
    assert!(
        advice.contains("requirements.txt") && advice.contains("it has no network"),
        "{advice}"
    );
}

#[test]
fn nothing_is_installed_where_the_operator_says_so() {
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let installs = Installs {
        declared: false,
        inferred: true,
    };
    let (catalog, memory, shelf) = ground(files, installs);
    memory.plan(good("well"));
    assert_eq!(
        run(&catalog, "python x.py").unwrap()["environments"],
        Value::Null
    );
    assert_eq!(*shelf.made.lock().unwrap(), 0);
}

#[test]
fn what_is_imported_is_proposed_and_installed_only_on_request() {
    let files: &[(&str, &[u8])] = &[("x.py", b"import yaml\n")];
    let (catalog, memory, shelf) = ground(files, Installs::default());
    let lacking = "Traceback:\nModuleNotFoundError: No module named 'yaml'\n";
    memory.plan(failed(Exit::Code(1), lacking));
    let ran = run(&catalog, "python x.py").unwrap();
    let lacks = &ran["lacks"][0];
    assert_eq!(lacks["missing"], json!(["yaml"]));
    assert_eq!(lacks["packages"], json!(["Pillow", "PyYAML"]));
    assert!(
        lacks["advice"]
            .as_str()
            .unwrap()
            .contains("gongfu env build lib/pdf --inferred")
    );
    assert_eq!(*shelf.made.lock().unwrap(), 0);
    // A program that finds all and fails lacks nothing.
    memory.plan(failed(Exit::Code(1), "no"));
    assert_eq!(run(&catalog, "python x.py").unwrap()["lacks"], Value::Null);
    let (catalog, memory, shelf) = ground(
        files,
        Installs {
            declared: true,
            inferred: true,
        },
    );
    memory.plan(good("well"));
    let ran = run(&catalog, "python x.py").unwrap();
    assert_eq!(
        ran["environments"][0]["from"],
        "what its Python scripts import"
    );
    // A guess that can't be had ends nothing.
    shelf.there.lock().unwrap().clear();
    *shelf.broken.lock().unwrap() = Some(Failure::new(Kind::PackageUnknown, "no"));
    memory.plan(good("well"));
    assert_eq!(
        run(&catalog, "python x.py").unwrap()["environments"],
        Value::Null
    );
    // Where something is declared, the file to mend is named.
    let files: &[(&str, &[u8])] = &[("requirements.txt", b"six\n"), ("x.py", b"")];
    let (catalog, memory, _) = ground(files, Installs::default());
    memory.plan(failed(Exit::Code(1), lacking));
    let ran = run(&catalog, "python x.py").unwrap();
    assert_eq!(ran["lacks"][0]["declared_in"], "requirements.txt");
    assert_eq!(ran["lacks"][0]["packages"], json!(["PyYAML"]));
}
