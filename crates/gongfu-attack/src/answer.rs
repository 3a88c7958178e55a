//! The line by which a probe says how it ended, and the verdict that follows from it.

use std::io::{self, Write as _};

use crate::decoys::Decoys;
use crate::probe::Probe;
use crate::{Finding, Verdict};

/// The line of a probe that reached its goal.
const REACHED: &str = "reached";
/// The start of the line of a probe that didn't; the error follows.
const REFUSED: &str = "refused: ";

/// Prints how an attempt ended.
pub(crate) fn print(outcome: io::Result<()>) -> io::Result<()> {
    let text = match outcome {
        Ok(()) => REACHED.to_owned(),
        Err(error) => format!("{REFUSED}{error}"),
    };
    let mut out = io::stdout();
    // On a line of its own, whatever was printed before.
    writeln!(out, "\n{text}")?;
    out.flush()
}

/// Reads how an attempt ended; `None` when the probe printed no such line.
fn read(output: &[u8]) -> Option<Result<(), String>> {
    let output = String::from_utf8_lossy(output);
    output.lines().find_map(|line| {
        if line == REACHED {
            return Some(Ok(()));
        }
        let why = line.strip_prefix(REFUSED)?;
        Some(Err(why.to_owned()))
    })
}

/// Judges a run by its output and the signal that ended it.
pub(crate) fn judge(probe: &Probe, decoys: &Decoys, signal: Option<i32>, output: &[u8]) -> Finding {
    let finding = |verdict, why: String| Finding { verdict, why };
    match (read(output), signal, probe.found) {
        (Some(_), _, Some(found)) if found(decoys) => finding(Verdict::Reached, String::new()),
        (Some(answer), _, Some(_)) => {
            let why = answer.err().unwrap_or("it came to nothing".to_owned());
            finding(Verdict::Refused, why)
        }
        (Some(Ok(())), ..) => finding(Verdict::Reached, String::new()),
        (Some(Err(why)), ..) => finding(Verdict::Refused, why),
        (None, Some(signal), _) => {
            finding(Verdict::Refused, format!("it was ended by signal {signal}"))
        }
        (None, None, _) => {
            let output = String::from_utf8_lossy(output);
            finding(Verdict::Void, format!("it said nothing: {}", output.trim()))
        }
    }
}
