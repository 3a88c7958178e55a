//! `cargo xtask gen`: the files that a program writes, and the check that they are current.
//!
//! Each is one line in [`BY_THE_BINARY`], or a function that returns its text, such as [`fences::files`].

pub(crate) mod fences;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::tree::{self, Tree};

/// Each file that the binary itself writes, and what to ask it for: `gongfu generate …`.
const BY_THE_BINARY: &[(&str, &str)] = &[
    ("docs/cli.md", "cli"),
    ("docs/config.schema.json", "config-schema"),
    ("docs/connections.schema.json", "connections-schema"),
    (".env.example", "environment"),
    ("docs/tools.md", "tools"),
];

/// The options of `cargo xtask gen`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write nothing, and fail when a file is not current
    #[arg(long)]
    check: bool,
    /// A gongfu that is built already, instead of one that is built from the present sources
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Only the files whose path contains one of these
    #[arg(value_name = "PART")]
    only: Vec<String>,
}

/// Writes the generated files, or compares them.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = tree::root()?;
    let tree = Tree::load(&root)?;
    let wanted = |path: &str| {
        arguments.only.is_empty()
            || arguments
                .only
                .iter()
                .any(|part| path.contains(part.as_str()))
    };
    let mut outcome = Outcome::default();
    for (path, text) in fences::files(&tree) {
        if wanted(&path) {
            outcome.take(&root, &path, &text, arguments.check)?;
        }
    }
    for (path, what) in BY_THE_BINARY {
        if wanted(path) {
            let text = ask_binary(&root, arguments.binary.as_deref(), what)?;
            outcome.take(&root, path, &text, arguments.check)?;
        }
    }
    outcome.report(arguments.check)
}

/// The numbers of files that were seen, and that differed.
#[derive(Default)]
struct Outcome {
    seen: usize,
    different: usize,
}

impl Outcome {
    /// Compares one file with its new text, and writes it unless this is only a check.
    fn take(&mut self, root: &Path, path: &str, text: &str, check: bool) -> Result<()> {
        self.seen += 1;
        let file = root.join(path);
        let old = std::fs::read_to_string(&file).unwrap_or_default();
        if old == text {
            return Ok(());
        }
        self.different += 1;
        if check {
            let same = old
                .lines()
                .zip(text.lines())
                .take_while(|(old, new)| old == new)
                .count();
            println!(
                "{path}:{}: not current — run `just gen` and commit the result",
                same + 1
            );
            return Ok(());
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not create the folder of {path}"))?;
        }
        std::fs::write(&file, text).with_context(|| format!("could not write {path}"))?;
        println!("{path}: written");
        Ok(())
    }

    /// Says what happened; nothing to look at is a failure too.
    fn report(&self, check: bool) -> Result<ExitCode> {
        if self.seen == 0 {
            bail!("no generated file has such a name: run `cargo xtask gen` without one");
        }
        println!("gen: {} files, {} differed", self.seen, self.different);
        Ok(if check && self.different > 0 {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// Runs the binary, and returns what it prints; without one, it is built from the present sources.
fn ask_binary(root: &Path, binary: Option<&Path>, what: &str) -> Result<String> {
    let mut command = if let Some(binary) = binary {
        Command::new(root.join(binary))
    } else {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["run", "--quiet", "--package", "gongfu", "--"]);
        command
    };
    let output = command
        .args(["generate", what])
        .current_dir(root)
        .output()
        .context("could not start the binary")?;
    if !output.status.success() {
        bail!(
            "`gongfu generate {what}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("`gongfu generate {what}` is not UTF-8"))?;
    if text.trim().is_empty() {
        bail!("`gongfu generate {what}` printed nothing");
    }
    Ok(text)
}
