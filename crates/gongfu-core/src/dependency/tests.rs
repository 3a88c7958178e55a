//! Manifests in each form, and what they must not lead to.

use std::collections::BTreeMap;

use super::{
    Failure, FailureKind, Language, Manifest, PackageSpec, Requirements, Texts, added_packages,
    is_manifest, languages, locked_packages, named_scripts, parse, requirement_problem,
};
use crate::sandbox::Command;
use crate::skill::SkillPath;

fn path(text: &str) -> SkillPath {
    SkillPath::new(text).unwrap()
}

fn texts(files: &[(&str, &str)]) -> Texts {
    let files = files.iter();
    files
        .map(|(name, text)| (path(name), (*text).to_owned()))
        .collect()
}

fn python(files: &[(&str, &str)]) -> Result<Option<Manifest>, String> {
    let scripts: Vec<SkillPath> = files.iter().map(|(name, _)| path(name)).collect();
    let scripts: Vec<SkillPath> = scripts
        .into_iter()
        .filter(|path| path.extension() == "py")
        .collect();
    parse(Language::Python, &texts(files), &scripts).map_err(|error| error.to_string())
}

fn node(files: &[(&str, &str)]) -> Result<Option<Manifest>, String> {
    parse(Language::Node, &texts(files), &[]).map_err(|error| error.to_string())
}

fn requirements(manifest: Option<Manifest>) -> Requirements {
    match manifest.unwrap().packages {
        PackageSpec::Requirements(wanted) => wanted,
        other => panic!("{other:?}"),
    }
}

const HEADER: &str = "#!/usr/bin/env python\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"six\",\n# ]\n# ///\nimport six\n";

#[test]
fn first_manifest_that_declares_packages_wins() {
    let project =
        "[project]\nname = \"x\"\ndependencies = [\"idna>=3\"]\nrequires-python = \">=3.10\"\n";
    let all = [
        ("scripts/pyproject.toml", project),
        ("scripts/x.py", HEADER),
        ("requirements.txt", "attrs\n"),
    ];
    let found = requirements(python(&all).unwrap());
    assert_eq!(
        (found.lines, found.python.as_deref()),
        (vec!["idna>=3".to_owned()], Some(">=3.10"))
    );
    let found = python(&all[1..]).unwrap().unwrap();
    assert_eq!(found.origin(), "scripts/x.py");
    let found = requirements(Some(found));
    assert_eq!(
        (found.lines, found.python.as_deref()),
        (vec!["six".to_owned()], Some(">=3.11"))
    );
    assert_eq!(requirements(python(&all[2..]).unwrap()).lines, ["attrs"]);
    // One that is there for tools alone says nothing.
    let tools = ("pyproject.toml", "[tool.ruff]\nline-length = 100\n");
    assert_eq!(
        requirements(python(&[tools, all[2]]).unwrap()).lines,
        ["attrs"]
    );
    assert_eq!(python(&[tools]).unwrap(), None);
    assert_eq!(python(&[("x.py", "import os\n")]).unwrap(), None);
    // The folder of the scripts comes first.
    let both = [
        ("requirements.txt", "a\n"),
        ("scripts/requirements.txt", "b\n"),
    ];
    assert_eq!(requirements(python(&both).unwrap()).lines, ["b"]);
}

#[test]
fn lock_is_used_only_beside_its_project() {
    let project = "[project]\nname = \"x\"\ndependencies = [\"idna\"]\n";
    let found = python(&[
        ("scripts/pyproject.toml", project),
        ("scripts/uv.lock", "version = 1\n"),
    ]);
    let found = found.unwrap().unwrap();
    assert!(
        matches!(found.packages, PackageSpec::Project { .. }),
        "{found:?}"
    );
    assert_eq!(found.origin(), "scripts/pyproject.toml, scripts/uv.lock");
    let elsewhere = python(&[
        ("scripts/pyproject.toml", project),
        ("uv.lock", "version = 1\n"),
    ]);
    assert!(matches!(
        elsewhere.unwrap().unwrap().packages,
        PackageSpec::Requirements(_)
    ));
}

#[test]
fn script_headers_follow_pep_723() {
    let read = |text: &str| python(&[("x.py", text)]);
    assert_eq!(requirements(read(HEADER).unwrap()).lines, ["six"]);
    assert_eq!(
        requirements(read(&HEADER.replace('\n', "\r\n")).unwrap()).lines,
        ["six"]
    );
    // A line `# ///` in the middle ends nothing when another follows in the same block.
    let text = "# /// script\n# dependencies = [\"a\"]\n# # ///\n# ///\n";
    assert_eq!(requirements(read(text).unwrap()).lines, ["a"]);
    for none in [
        "# /// script\nprint()\n# ///\n",
        "# /// other\n# dependencies = [\"a\"]\n# ///\n",
        "#/// script\n# dependencies = [\"a\"]\n# ///\n",
        " # /// script\n # ///\n",
        "",
    ] {
        assert_eq!(read(none).unwrap(), None, "{none:?}");
    }
    let two = format!("{HEADER}\n{HEADER}");
    assert!(
        read(&two)
            .unwrap_err()
            .starts_with("x.py:11: it has two `# /// script` headers")
    );
    let broken = read("\n# /// script\n# dependencies = [\n# ///\n").unwrap_err();
    assert!(
        broken.starts_with("x.py:") && broken.contains("isn't TOML"),
        "{broken}"
    );
    // Several scripts of a line are given what all of them want.
    let other =
        "# /// script\n# requires-python = \"<4\"\n# dependencies = [\"six\", \"idna\"]\n# ///\n";
    let both = requirements(python(&[("a.py", HEADER), ("b.py", other)]).unwrap());
    assert_eq!(both.lines, ["six", "idna"]);
    assert_eq!(both.python.as_deref(), Some(">=3.11,<4"));
}

#[test]
fn requirements_follow_pip() {
    let text = "\u{feff}# all of it\nrequests [socks] >= 2 , < 3 ; python_version < \"4\"  # why\n\nnumpy==2.4.6 \\\n  --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000\n-r more/../requirements-more.txt\n";
    let refused = python(&[("requirements.txt", text)]).unwrap_err();
    assert!(
        refused.contains("requirements.txt:6") && refused.contains("contains `..`"),
        "{refused}"
    );
    let text = text.replace("more/../", "");
    let refused = python(&[("requirements.txt", &text)]).unwrap_err();
    assert!(
        refused.contains("`requirements-more.txt` doesn't exist"),
        "{refused}"
    );
    let more = "-c constraints.txt\n--index-url https://elsewhere.example/simple\nidna\n-rrequirements.txt\n";
    let found = python(&[
        ("requirements.txt", text.as_str()),
        ("requirements-more.txt", more),
        ("constraints.txt", "idna<4\n"),
    ]);
    let found = found.unwrap().unwrap();
    assert_eq!(found.files.len(), 3);
    assert!(
        found
            .warnings
            .iter()
            .any(|line| line.contains("`--index-url`")),
        "{:?}",
        found.warnings
    );
    let found = requirements(Some(found));
    assert_eq!(
        found.lines,
        [
            "requests [socks] >= 2 , < 3 ; python_version < \"4\"",
            "numpy==2.4.6 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000",
            "idna"
        ]
    );
    assert_eq!(found.constraints, ["idna<4"]);
    assert!(found.is_lock);
    assert!(
        is_manifest(&path("requirements-more.txt")) && is_manifest(&path("requirements/base.txt"))
    );
    assert!(!is_manifest(&path("data/requirements.txt")) && !is_manifest(&path("notes.txt")));
}

#[test]
fn requirement_leads_only_to_the_index() {
    for line in [
        "six",
        "six==1.0",
        "six>=1,<2",
        "six[a,b]~=1.0",
        "six ; python_version > '3'",
        "six (>=1)",
        "a.b-c_d",
        "six==1 --hash=sha256:abababababababababababababababababababababababababababababababab",
    ] {
        assert_eq!(requirement_problem(line), None, "{line}");
    }
    for line in [
        "six @ https://example.com/six.whl",
        "six@git+https://example.com/six",
        "git+https://example.com/six",
        "https://example.com/six.whl",
        "./six",
        "../six",
        "/six",
        "six.whl",
        "six.egg",
        "six.zip",
        "six.tar",
        "six.tgz",
        "six.tar.bz2",
        "six.tbz",
        "six.tbz2",
        "six.tar.xz",
        "six.txz>=1",
        "six.tar.lz",
        "six.tlz",
        "six.tar.lzma",
        "six.tar.zst",
        "SIX.TZST[a]",
        "six/other",
        "six\\other",
        "C:\\six",
        "file:six",
        "",
        "-e .",
        "--index-url=x",
        "six --index-url x",
        "six --global-option=x",
        "six\u{0}",
        "六",
        "six[",
        "six==1 --hash=sha256:ab",
        "six==1 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000 --no-binary six",
        "six==1 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000 -r /etc/hostname",
        "six==1 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000 evil @ https://example.com/x.whl",
        "six==1 --hash sha256:0000000000000000000000000000000000000000000000000000000000000000",
        "six==1 -r other.txt",
        "six==${VERSION}",
        "six==1 \\ ",
        "six.tar.gz",
        "six.ZIP",
        "six x",
    ] {
        assert!(requirement_problem(line).is_some(), "{line}");
    }
    for line in ["-e .", "--editable=.", "-r ../x", "six @ file:///x"] {
        assert!(python(&[("requirements.txt", line)]).is_err(), "{line}");
    }
    let project = |line: &str| {
        let text = format!("[project]\ndependencies = [\"{line}\"]\n");
        python(&[("pyproject.toml", &text)])
    };
    assert!(project("idna").is_ok());
    for line in [
        "six @ https://example.com",
        "-r x",
        "six --hash=sha256:abababababababababababababababababababababababababababababababab",
        "six --index-url x",
    ] {
        assert!(project(line).is_err(), "{line}");
    }
    for text in [
        "[project]\ndynamic = [\"dependencies\"]\n",
        "[project]\ndependencies = \"six\"\n",
        "[project]\ndependencies = [1]\n",
        "[project]\nrequires-python = \"$(x)\"\n",
        "[tool.poetry.dependencies]\nsix = \"*\"\n",
        "[project\n",
    ] {
        assert!(python(&[("pyproject.toml", text)]).is_err(), "{text}");
    }
    let sources = "[project]\ndependencies = [\"six\"]\n[tool.uv.sources]\nsix = { url = \"https://example.com\" }\n";
    let found = python(&[("pyproject.toml", sources)]).unwrap().unwrap();
    assert!(
        found.warnings[0].contains("[tool.uv]"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn what_is_no_package_is_left_out_for_the_sake_of_the_others() {
    let left_out = |files: &[(&str, &str)], name: &str, at: &str| {
        let found = python(files).unwrap().unwrap();
        assert!(
            found
                .warnings
                .iter()
                .any(|line| line.starts_with("left out: ") && line.contains(at)),
            "{:?}",
            found.warnings
        );
        assert_eq!(requirements(Some(found)).lines, [name]);
    };
    for bad in [
        "six @ https://example.com/six.whl",
        "-e git+https://example.com/six",
        "file:///etc/passwd",
        "-r ../other.txt",
        "-r missing.txt",
        "six --index-url https://example.com",
    ] {
        let text = format!("# first\n{bad}\nidna\n");
        left_out(&[("requirements.txt", &text)], "idna", "requirements.txt:2");
        // Alone it is an error, and so it is in a lock: that counts as a whole.
        assert!(python(&[("requirements.txt", bad)]).is_err(), "{bad}");
        let digest = "0".repeat(64);
        let lock = format!("{bad}\nidna==3 --hash=sha256:{digest}\n");
        assert!(python(&[("requirements.txt", &lock)]).is_err(), "{bad}");
    }
    let project = "[project]\ndependencies = [\"idna\", \"six @ file:///x\"]\n";
    left_out(&[("pyproject.toml", project)], "idna", "pyproject.toml");
    let script = "# /// script\n# dependencies = [\"idna\", \"-r x\"]\n# ///\n";
    left_out(&[("x.py", script)], "idna", "x.py:1");
    let package = r#"{"dependencies": {"a": "1", "b": "https://example.com/b.tgz", "../c": "1"}}"#;
    let found = node(&[("package.json", package)]).unwrap().unwrap();
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    let PackageSpec::Package { package, .. } = found.packages else {
        panic!("{:?}", found.packages);
    };
    assert!(package.contains("\"a\"") && !package.contains("\"b\"") && !package.contains("../c"));
}

#[test]
fn locks_of_other_installers_are_told() {
    let package = ("package.json", r#"{"dependencies": {"a": "1"}}"#);
    for lock in ["pnpm-lock.yaml", "yarn.lock", "bun.lock"] {
        assert!(is_manifest(&path(lock)), "{lock}");
        let found = node(&[package, (lock, "x")]).unwrap().unwrap();
        assert!(
            found.warnings[0].starts_with(lock) && found.warnings[0].contains("package-lock.json"),
            "{:?}",
            found.warnings
        );
    }
    assert!(node(&[package]).unwrap().unwrap().warnings.is_empty());
    let both = [
        ("requirements.txt", "idna\n"),
        ("poetry.lock", "x"),
        ("yarn.lock", "x"),
    ];
    let found = python(&both).unwrap().unwrap();
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
}

#[test]
fn lock_is_read_without_the_settings_that_it_was_made_with() {
    let lock = "version = 1\nrevision = 3\n\n[options]\nexclude-newer = \"2026-01-01T00:00:00Z\"\nexclude-newer-span = \"P7D\"\n\n[options.exclude-newer-package]\nsix = \"2026-01-01T00:00:00Z\"\n\n[[package]]\nname = \"idna\"\n";
    let files = [
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\ndependencies = [\"idna\"]\n",
        ),
        ("uv.lock", lock),
    ];
    let found = python(&files).unwrap().unwrap();
    let PackageSpec::Project { lock, .. } = &found.packages else {
        panic!("{found:?}");
    };
    assert_eq!(
        lock,
        "version = 1\nrevision = 3\n\n[[package]]\nname = \"idna\"\n"
    );
    let anew = found.packages.without_lock().unwrap();
    let PackageSpec::Requirements(anew) = anew else {
        panic!("{anew:?}");
    };
    assert_eq!(anew.lines, ["idna"]);
}

#[test]
fn project_is_written_anew_for_its_lock() {
    let read = |project: &str| {
        let lock = "[[package]]\nname = \"x\"\nsource = { editable = \".\" }\n";
        let found = python(&[("pyproject.toml", project), ("uv.lock", lock)]);
        let found = found.unwrap().unwrap();
        let PackageSpec::Project { project, lock, .. } = found.packages else {
            panic!("{project}");
        };
        assert!(lock.contains("source = { virtual = \".\" }"), "{lock}");
        let project: toml::Table = project.parse().unwrap();
        project
    };
    let kept = "[project]\nname = \"x\"\nversion = \"1\"\nrequires-python = \">=3.9\"\ndependencies = [\"idna\"]\n[project.optional-dependencies]\na = [\"six\"]\n[dependency-groups]\ndev = [{ include-group = \"b\" }]\nb = [\"attrs>=2\"]\n";
    let kept: toml::Table = kept.parse().unwrap();
    let mut given = kept.clone();
    let more = "[build-system]\nrequires = [\"evil @ https://localhost/x\"]\nbuild-backend = \"evil\"\n[tool.uv]\nindex-url = \"https://localhost\"\n[tool.setuptools.dynamic]\nversion = { attr = \"evil.version\" }\n";
    given.extend(more.parse::<toml::Table>().unwrap());
    let project = given.get_mut("project").unwrap().as_table_mut().unwrap();
    project.insert("scripts".to_owned(), toml::Table::new().into());
    assert_eq!(read(&given.to_string()), kept);
    // What leads elsewhere is left out, so that the lock doesn't fit.
    let away = "[project]\nname = \"x\"\ndynamic = [\"version\", \"readme\"]\ndependencies = [\"idna\", \"a @ file:///a\"]\n[project.optional-dependencies]\na = [\"b @ git+https://localhost/b\", 1]\n[dependency-groups]\nb = [{ path = \"/\" }, \"-r /etc/hosts\"]\n";
    let left = "[project]\nname = \"x\"\ndynamic = [\"version\"]\ndependencies = [\"idna\"]\n[project.optional-dependencies]\na = []\n[dependency-groups]\nb = []\n";
    assert_eq!(read(away), left.parse().unwrap());
}

#[test]
fn warnings_end_with_the_number_of_those_that_are_left() {
    let lines = "./x\n".repeat(60);
    let found = python(&[("requirements.txt", &format!("idna\n{lines}"))]);
    let warnings = found.unwrap().unwrap().warnings;
    assert_eq!(
        (warnings.len(), warnings.last().unwrap().as_str()),
        (21, "and 40 more")
    );
}

#[test]
fn command_adds_packages_by_uv() {
    for (text, expected) in [
        ("uv run --with pandas x.py", &["pandas"][..]),
        (
            "uv run --with 'pandas>=2,<3' --with=numpy x.py",
            &["pandas>=2,<3", "numpy"],
        ),
        (
            "cd scripts && uv run --with pandas,six x.py",
            &["pandas", "six"],
        ),
        ("/usr/bin/uv run --quiet --with \"six\" -- x.py", &["six"]),
        ("uv run x.py; grep --with secret", &[]),
        ("grep --with pandas x", &[]),
        ("uv run x.py --with", &[]),
        ("uv run 'x.py --with six'", &[]),
    ] {
        assert_eq!(added_packages(&line(text)), expected, "{text}");
    }
    let words = ["uv", "run", "--with", "six", "x.py"].map(str::to_owned);
    assert_eq!(added_packages(&Command::Program(words.into())), ["six"]);
    let words = ["/bin/sh", "-c", "cd /skill; uv run --with six x.py"].map(str::to_owned);
    assert_eq!(added_packages(&Command::Program(words.into())), ["six"]);
}

#[test]
fn npm_version_leads_only_to_the_registry() {
    for version in [
        "git+https://example.com/x",
        "https://example.com/x.tgz",
        "file:../x",
        "link:../x",
        "user/x",
        "github:user/x",
        "workspace:*",
        "npm:../x@1",
        "./x",
        "HTTPS://example.com",
        "ssh://x",
        ".",
        "..",
        ".foo",
        "x.tgz",
        "$(x)",
        "git@example.com:x",
    ] {
        let text = format!("{{\"dependencies\": {{\"x\": \"{version}\"}}}}");
        assert!(node(&[("package.json", &text)]).is_err(), "{version}");
    }
    for version in [
        "",
        "*",
        "^1.2.3",
        "1.x || >=2.5.0",
        "latest",
        "npm:other@^1",
        "npm:@a/b@1",
        "~1 - 2",
    ] {
        let text = format!("{{\"dependencies\": {{\"x\": \"{version}\"}}}}");
        assert!(
            node(&[("package.json", &text)]).unwrap().is_some(),
            "{version}"
        );
    }
}

#[test]
fn npm_manifest_holds_only_dependencies() {
    let text = r#"{"name": "x", "scripts": {"postinstall": "sh x"}, "dependencies": {"a": "1"}, "devDependencies": {"b": "2"}}"#;
    let found = node(&[("package.json", text)]).unwrap().unwrap();
    let PackageSpec::Package {
        package,
        lock: None,
    } = &found.packages
    else {
        panic!("{found:?}");
    };
    assert!(
        package.contains("\"a\"") && !package.contains("postinstall") && !package.contains("\"b\""),
        "{package}"
    );
    assert_eq!(
        node(&[("package.json", r#"{"name": "x", "type": "module"}"#)]).unwrap(),
        None
    );
    let lock = r#"{"lockfileVersion": 3, "packages": {"": {"dependencies": {"a": "1"}}, "node_modules/a": {"version": "1.0.0", "resolved": "https://elsewhere.example/a.tgz", "integrity": "sha512-x"}}}"#;
    let found = node(&[("package.json", text), ("package-lock.json", lock)])
        .unwrap()
        .unwrap();
    let PackageSpec::Package {
        package,
        lock: Some(lock),
    } = &found.packages
    else {
        panic!("{found:?}");
    };
    assert!(package.contains("\"b\""), "{package}");
    assert!(
        !lock.contains("elsewhere") && lock.contains("sha512-x"),
        "{lock}"
    );
    assert_eq!(locked_packages(Language::Node, lock).len(), 1);
    for entry in [
        r#""node_modules/a": {"resolved": "git+ssh://x", "version": "1.0.0"}"#,
        r#""node_modules/a": {"resolved": "../a", "link": true}"#,
        r#""../a": {"version": "1.0.0"}"#,
        r#""node_modules/a": {"version": "1.0.0", "resolved": "https://x/a.tgz"}"#,
        r#""node_modules/a": 1"#,
    ] {
        let lock = format!("{{\"packages\": {{{entry}}}}}");
        let refused = node(&[("package.json", text), ("package-lock.json", &lock)]);
        assert!(refused.is_err(), "{entry}");
    }
    for kind in ["devDependencies", "peerDependencies"] {
        let text = format!(
            r#"{{"dependencies": {{"a": "1"}}, "{kind}": {{"b": "https://example.com/b.tgz"}}}}"#
        );
        let refused = node(&[
            ("package.json", &text),
            ("package-lock.json", r#"{"packages": {}}"#),
        ]);
        assert!(refused.is_err(), "{kind}");
    }
    let climbing = r#"{"packages": {"node_modules/../../x": {"version": "1.0.0"}}}"#;
    assert!(node(&[("package.json", text), ("package-lock.json", climbing)]).is_err());
    let deep = format!(
        "{}{}",
        r#"{"dependencies": {"a": "#.repeat(200),
        "{}".to_owned() + &"}}".repeat(200)
    );
    assert!(node(&[("package.json", text), ("package-lock.json", &deep)]).is_err());
}

#[test]
fn long_texts_are_parsed_fast_and_reported_briefly() {
    let many = "# /// script\n".repeat(20_000);
    assert_eq!(python(&[("x.py", &many)]).unwrap(), None);
    let lines = "# \"six\",
"
    .repeat(6_000);
    let header = format!("# /// script\n# dependencies = [\n{lines}# ]\n# ///\n");
    let told = python(&[("x.py", &header)]).unwrap_err();
    assert!(told.contains("more than 5000"), "{told}");
    for text in [
        "x".repeat(1 << 20),
        "-e ".to_owned() + &"y".repeat(1 << 20),
        format!("-r {}", "z".repeat(1 << 20)),
    ] {
        let told = python(&[("requirements.txt", &text)]).unwrap_err();
        assert!(told.len() < 2_000, "{}", told.len());
    }
    let options = "--pre\n".repeat(1_000);
    let found = python(&[("requirements.txt", &options)]).unwrap().unwrap();
    assert!(found.warnings.len() <= 21);
}

#[test]
fn manifest_digest_depends_only_on_packages() {
    let digest = |text: &str, name: &str| python(&[(name, text)]).unwrap().unwrap().digest();
    let one = digest("six\n", "requirements.txt");
    assert_eq!(one, digest("# why\nsix  \n", "scripts/requirements.txt"));
    assert_ne!(one, digest("six==1\n", "requirements.txt"));
    assert_ne!(
        one,
        node(&[("package.json", r#"{"dependencies": {"six": ""}}"#)])
            .unwrap()
            .unwrap()
            .digest()
    );
}

fn line(text: &str) -> Command {
    Command::Line(text.to_owned())
}

#[test]
fn command_tells_which_languages_need_packages() {
    let none: &[Language] = &[];
    for (text, expected) in [
        ("python scripts/x.py", &[Language::Python][..]),
        ("python3.11 -c 'import six'", &[Language::Python]),
        ("cd scripts && ./x.py --fast", &[Language::Python]),
        ("/usr/bin/env python x", &[Language::Python]),
        ("uv run scripts/x.py", &[Language::Python]),
        ("node x.js", &[Language::Node]),
        ("npx tool", &[Language::Node]),
        ("ls -la scripts/x.py", none),
        ("cat a | grep b > c; cd d && ls", none),
        ("bash run.sh", &Language::ALL),
        ("X=1 markitdown /workspace/x.pdf", &Language::ALL),
        ("node a.js && python b.py", &Language::ALL),
        ("", none),
    ] {
        assert_eq!(languages(&line(text)), expected, "{text}");
    }
    let program = Command::Program(["python", "x"].map(str::to_owned).into());
    assert_eq!(languages(&program), [Language::Python]);
}

#[test]
fn command_names_scripts_of_the_skill() {
    let files = ["scripts/x.py", "scripts/y.py", "x.py", "lib/z.py"].map(path);
    let found = |text: &str| {
        let found = named_scripts(&line(text), &files);
        found
            .iter()
            .map(|file| file.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("python /skill/scripts/x.py a b"), ["scripts/x.py"]);
    assert_eq!(found("cd scripts && python ./y.py"), ["scripts/y.py"]);
    assert_eq!(found("python '../lib/z.py';"), ["lib/z.py"]);
    assert_eq!(found("python x.py"), ["scripts/x.py", "x.py"]);
    assert!(found("python w.py . / ''").is_empty());
}

#[test]
fn installer_output_tells_the_kind_of_failure() {
    let python = |said: &str| Failure::from_output(Language::Python, said);
    for (said, kind, package) in [
        (
            "error: No solution found when resolving dependencies\n  cause: Because no-such was not found in the package registry and you require no-such, we can",
            FailureKind::PackageUnknown,
            Some("no-such"),
        ),
        (
            "error: No solution found\n  cause: Because docopt==0.6.2 has no usable wheels and you",
            FailureKind::NothingBuilt,
            Some("docopt"),
        ),
        (
            "error: No solution found\n  cause: Because all versions of docopt have no usable wheels and you",
            FailureKind::NothingBuilt,
            Some("docopt"),
        ),
        (
            "error: No solution found\n  cause: Because a==1 depends on b<3 and you require b==3",
            FailureKind::Conflict,
            None,
        ),
        (
            "error: The lockfile at `uv.lock` needs to be updated, but `--locked` was provided.",
            FailureKind::LockStale,
            None,
        ),
        (
            "error: Failed to fetch: `https://x/simple/six/`\n  cause: Connection refused",
            FailureKind::IndexUnreachable,
            None,
        ),
        (
            "error: Failed to download `six`\n  Caused by: Hash mismatch for `six`",
            FailureKind::DigestMismatch,
            None,
        ),
        (
            "error: Couldn't parse requirement in `/in/requirements.txt` at position 5\n  cause: Unexpected end of version specifier",
            FailureKind::ManifestInvalid,
            None,
        ),
        (
            "error: No interpreter found for Python >=3.15",
            FailureKind::Interpreter,
            None,
        ),
        (
            "error: Couldn't parse requirement in `/in/requirements.txt` at position 5\n  cause: after parsing `1`, found `.x`",
            FailureKind::ManifestInvalid,
            None,
        ),
        (
            "error: Failed to download `x==1.0`\n  cause: Failed to extract archive: x-1.0-py3-none-any.whl",
            FailureKind::NothingBuilt,
            None,
        ),
        (
            "× No solution found when resolving dependencies:\n  Because x==1.0 has invalid metadata and only x==1.0 is available",
            FailureKind::NothingBuilt,
            Some("x"),
        ),
        (
            "error: Failed to download and build `x @ git+https://y`\n  cause: Remote Git fetches are not allowed because network connectivity is disabled (i.e., with `--offline`)",
            FailureKind::LockStale,
            None,
        ),
        (
            "error: Two workspace members are both named `x`: `/tmp/project` and `/tmp/project/../../in`",
            FailureKind::LockStale,
            None,
        ),
        (
            "error: Failed to generate package metadata for `good==1.0 @ path+/in`",
            FailureKind::LockStale,
            Some("good"),
        ),
        (
            "error: Failed to build `x @ file:///tmp/project`\n  cause: The build backend returned an error",
            FailureKind::LockStale,
            Some("x"),
        ),
        ("what?", FailureKind::Other, None),
        ("", FailureKind::Other, None),
    ] {
        let failure = python(said);
        assert_eq!(
            (failure.kind, failure.package.as_deref()),
            (kind, package),
            "{said}"
        );
        assert!(
            !failure.why.is_empty() && !failure.why.contains('\n'),
            "{}",
            failure.why
        );
    }
}

#[test]
fn npm_output_tells_the_kind_of_failure() {
    let node = |said: &str| Failure::from_output(Language::Node, said);
    let unknown =
        node("npm error code E404\nnpm error 404  'no-such@*' is not in this registry.\n");
    assert_eq!(
        (unknown.kind, unknown.package.as_deref()),
        (FailureKind::PackageUnknown, Some("no-such"))
    );
    for (said, kind) in [
        (
            "npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.",
            FailureKind::LockStale,
        ),
        ("npm error code EINTEGRITY\n", FailureKind::DigestMismatch),
        ("npm error code ETARGET\n", FailureKind::Conflict),
        (
            "npm error code ECONNREFUSED\n",
            FailureKind::IndexUnreachable,
        ),
        (
            "npm error tunneling socket could not be established, statusCode=403",
            FailureKind::IndexUnreachable,
        ),
        ("npm error code EWHAT\n", FailureKind::Other),
        // Text of a skill that an error message repeats.
        (
            "npm error code EINVALIDTAGNAME\nnpm error Invalid tag name \"npm error code E404\" of network are in sync",
            FailureKind::ManifestInvalid,
        ),
    ] {
        assert_eq!(node(said).kind, kind, "{said}");
    }
}

#[test]
fn lock_lists_installed_packages() {
    let lock = "six==1.17.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nidna[x]==3.1 ; python_version > '3'\n# a==1\n";
    let found: BTreeMap<String, String> = locked_packages(Language::Python, lock)
        .into_iter()
        .map(|one| (one.name, one.version))
        .collect();
    let expected = [("idna", "3.1"), ("six", "1.17.0")];
    assert_eq!(
        found,
        expected
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .into()
    );
}
