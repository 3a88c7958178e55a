//! The machine that a program of the lab runs on: the repository, the binary, and what runs beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

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

/// The number of processors.
pub(crate) fn cores() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).map_or(1.0, f64::from)
}

/// The load average of the last minute; 0 if the system doesn't report it.
pub(crate) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// The system, its processors and its load, for the head of a table.
pub(crate) fn describe() -> String {
    format!(
        "{}, {}, {} cores, load {}; files are in the system's cache, gongfu's home is new for each set",
        std::env::consts::OS,
        std::env::consts::ARCH,
        cores(),
        load(),
    )
}
