//! Programs that write, and where.

use super::Reason;
use super::arguments::Arguments;
use super::field::Field;
use super::judge::Judge;

/// The operands that a program writes to.
#[derive(Debug, Clone, Copy)]
enum Targets {
    All,
    /// All but the first, which says how.
    AfterFirst,
    /// The last, unless an option names the folder.
    Last,
}

/// Options that name a folder.
const INTO: [&str; 2] = ["t", "target-directory"];
/// Programs that write, with their options that take a value.
const WRITERS: [(&str, &str, Targets); 12] = [
    ("chgrp", "", Targets::AfterFirst),
    ("chmod", "", Targets::AfterFirst),
    ("chown", "", Targets::AfterFirst),
    ("cp", "St", Targets::Last),
    ("ln", "St", Targets::Last),
    ("mkdir", "m", Targets::All),
    ("mv", "St", Targets::All),
    ("rm", "", Targets::All),
    ("rmdir", "", Targets::All),
    ("tee", "", Targets::All),
    ("touch", "drt", Targets::All),
    ("truncate", "sr", Targets::All),
];

impl Judge<'_> {
    /// Judges where a program writes, as far as its arguments say.
    pub(super) fn written(&mut self, name: &str, arguments: &[Field]) -> Result<(), Reason> {
        let Some((_, valued, targets)) = WRITERS.iter().find(|writer| writer.0 == name) else {
            return Ok(());
        };
        let read = Arguments::read(arguments, valued);
        let folder = read.value(&INTO);
        let skipped = match targets {
            Targets::All => 0,
            Targets::AfterFirst => 1,
            Targets::Last if folder.is_some() => read.operands.len(),
            Targets::Last => read.operands.len().saturating_sub(1).max(1),
        };
        let is_recursive = name == "rm" && read.has(&["r", "R", "recursive"]);
        let mut paths = read.operands.iter().skip(skipped).chain(folder);
        paths.try_for_each(|path| {
            if is_recursive {
                self.remove(name, path)
            } else {
                self.write(name, path)
            }
        })
    }
}
