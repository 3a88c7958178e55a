//! The end of a run, in words for a model or a person.

use std::fmt::Write as _;

use gongfu_core::sandbox::Reason;

use super::{Artifact, RunReport};

/// The files that the words name.
const NAMED: usize = 20;
/// The hosts that the words name.
const HOSTS: usize = 5;

impl RunReport {
    /// Returns the output and, after a failure, the end: the answer of gongfu's own tools.
    pub(crate) fn text(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            end_line(&mut text);
            let _ = write!(text, "[stderr]\n{}", self.stderr);
        }
        let files = artifact_words(&self.artifacts, self.artifacts_total);
        let held = self.held.as_ref().map(|held| held.advice.clone());
        let stale = self.stale_grants.iter().flatten();
        let stale: Vec<&str> = stale.map(|one| one.advice.as_str()).collect();
        let stale = (!stale.is_empty()).then(|| stale.join("; "));
        let network = self.no_network.as_ref().map(|one| one.advice.clone());
        let network = self.hosts().or(network);
        for line in [self.ended(), self.lacks(), files, held, network, stale]
            .into_iter()
            .flatten()
        {
            end_line(&mut text);
            let _ = write!(text, "[{line}]");
        }
        if text.is_empty() {
            text.push_str("[no output; exit code: 0]");
        }
        end_line(&mut text);
        text
    }

    /// Describes how it failed, and what to do about it.
    pub(crate) fn ended(&self) -> Option<String> {
        if self.reason != Reason::Ok {
            return Some(format!("{}; {}", self.why(), self.advice()));
        }
        match (self.exit_code, self.signal) {
            (Some(0), _) | (None, None) => None,
            (Some(code), _) => Some(format!("exit code: {code}")),
            (None, Some(signal)) => Some(format!("ended by signal {signal}")),
        }
    }

    /// Names the limit that ended it.
    pub(crate) fn why(&self) -> String {
        let seconds = self.duration_ms / 1_000;
        match self.reason {
            Reason::Ok => "finished".to_owned(),
            Reason::Timeout => format!("timed out after {seconds} s"),
            Reason::Oom => "exceeded its memory limit".to_owned(),
            Reason::Pids => "exceeded its process limit".to_owned(),
            Reason::Output => "exceeded its output limit".to_owned(),
            Reason::Disk => "exceeded its disk limit".to_owned(),
            Reason::Cancelled => "cancelled".to_owned(),
            Reason::Denied => "made a forbidden system call".to_owned(),
        }
    }

    fn advice(&self) -> &'static str {
        match self.reason {
            Reason::Ok | Reason::Cancelled => "nothing to do",
            Reason::Timeout => {
                "raise the timeout or reduce the work; a run has no interactive input"
            }
            Reason::Oom => "reduce its memory use, e.g. process the data in parts",
            Reason::Pids => "run fewer processes at once",
            Reason::Output => "write the output to a file in /workspace instead",
            Reason::Disk => "write less, and remove temporary files",
            Reason::Denied => "use another way",
        }
    }

    /// Names the hosts that it didn't reach, and why, in one line.
    fn hosts(&self) -> Option<String> {
        let refused = self.network.iter().flatten();
        let refused = refused.filter_map(|one| {
            let why = one.refused.as_ref()?;
            // It mostly says which host by itself.
            Some(if why.contains(&one.host) {
                why.clone()
            } else {
                format!("{}: {why}", one.host)
            })
        });
        let refused: Vec<String> = refused.take(HOSTS).collect();
        (!refused.is_empty()).then(|| format!("not reached: {}", refused.join("; ")))
    }

    /// Names what it lacks, and what to do about it, in one line.
    pub(crate) fn lacks(&self) -> Option<String> {
        let lacks = self.lacks.iter().flatten();
        let advice: Vec<&str> = lacks.map(|one| one.advice.as_str()).collect();
        (!advice.is_empty()).then(|| format!("packages are missing: {}", advice.join("; ")))
    }
}

/// Names changed files in one line; `None` where there are none.
pub(crate) fn artifact_words(artifacts: &[Artifact], total: usize) -> Option<String> {
    if artifacts.is_empty() {
        return None;
    }
    let named = artifacts.iter().take(NAMED).map(|left| {
        let path = &left.path;
        match (left.bytes, &left.why) {
            (Some(bytes), _) => format!("{path} ({bytes} bytes)"),
            (_, Some(why)) if left.change == "conflict" => format!("{path} ({why})"),
            (_, Some(why)) if left.change == "held" => {
                format!("{path} (waits for approval: {why})")
            }
            (_, Some(why)) => format!("{path} (not kept: {why})"),
            _ => format!("{path} ({})", left.change),
        }
    });
    let mut line = format!("files: {}", named.collect::<Vec<_>>().join(", "));
    let more = total.saturating_sub(NAMED);
    if more > 0 {
        let _ = write!(line, " … and {more} more");
    }
    Some(line)
}

/// Begins a new line, unless one is begun.
fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
