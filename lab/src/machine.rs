//! The machine that a program of the lab runs on: the repository, the binary, and what runs beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The folder of real skills, from the root of the repository.
pub(crate) const CORPUS: &str = "../shared/corpus";

/// The root of the repository: above this package when cargo started the program, else the current folder.
pub(crate) fn root() -> Result<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    match package
        .as_deref()
        .and_then(|package| Path::new(package).parent())
    {
        Some(root) => Ok(root.to_path_buf()),
        None => std::env::current_dir().context("the current folder can't be read"),
    }
}

/// Builds the binary with this profile; returns its path. Says so first: an optimized build takes minutes.
pub(crate) fn build(profile: &str) -> Result<PathBuf> {
    eprintln!("building gongfu with the profile `{profile}`; `--binary FILE` takes another one");
    let root = root()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", "gongfu", "--profile"])
        .arg(profile)
        .current_dir(&root)
        .status()
        .context("could not start cargo")?;
    ensure!(
        status.success(),
        "the binary does not build with the profile `{profile}`"
    );
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let name = format!("gongfu{}", std::env::consts::EXE_SUFFIX);
    Ok(root.join(target).join(profile).join(name))
}

/// The system, its processor and its load, for the head of a table.
pub(crate) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let busy = load.split_whitespace().next().unwrap_or("?").to_owned();
    format!(
        "{}, {}, {cores} cores, load {busy}; files are in the system's cache, gongfu's home is new for each set",
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}
