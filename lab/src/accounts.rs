//! A home with one user, and a token of theirs, for a server with accounts.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use hyper::header::HeaderValue;

const USER: &str = "ann";
const PASSWORD: &str = "four unrelated words";
/// Many requests come from one address and with one token.
const SETTINGS: &str = "[accounts]\nrequest_limits = false\n";

/// The credential of a new token of the user, whom it creates at the first need.
pub(crate) fn credential(program: &Path, home: &Path) -> Result<HeaderValue> {
    let settings = home.join("config.toml");
    if !settings.exists() {
        std::fs::write(&settings, SETTINGS)?;
        let email = format!("{USER}@example.com");
        let add = ["user", "add", USER, "--email", &email, "--password-stdin"];
        run(program, home, &add)?;
    }
    let token = [
        "token", "create", "--user", USER, "--name", "lab", "--quiet",
    ];
    let token = run(program, home, &token)?;
    let mut credential = HeaderValue::from_str(&format!("Bearer {}", token.trim()))?;
    credential.set_sensitive(true);
    Ok(credential)
}

/// The output of a command that reads the password.
fn run(program: &Path, home: &Path, arguments: &[&str]) -> Result<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("GONGFU_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("gongfu does not start")?;
    if let Some(mut input) = child.stdin.take() {
        // A command that doesn't ask for it closes its input.
        let _ = writeln!(input, "{PASSWORD}");
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("gongfu {} failed: {said}", arguments.join(" "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
