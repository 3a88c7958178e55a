//! Programs that write, and where.

use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::State;
use super::{Reason, place};

/// Which operands of a program are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// All but the first, which says how.
    AfterFirst,
    /// The last, unless an option names the folder.
    Last,
    /// None; only values of options.
    None,
}

/// A program that writes.
struct Writer {
    name: &'static str,
    valued: Valued,
    which: Which,
    /// Options whose values are written to.
    into: &'static [&'static str],
}

const fn writer(
    name: &'static str,
    short: &'static str,
    which: Which,
    into: &'static [&'static str],
) -> Writer {
    let valued = Valued {
        short,
        long: into,
        attached: "",
    };
    Writer {
        name,
        valued,
        which,
        into,
    }
}

const WRITERS: [Writer; 32] = [
    writer("bzip2", "", Which::All, &[]),
    writer("chgrp", "", Which::AfterFirst, &[]),
    writer("chmod", "", Which::AfterFirst, &[]),
    writer("chown", "", Which::AfterFirst, &[]),
    writer("cp", "St", Which::Last, &["t", "target-directory"]),
    writer(
        "curl",
        "ouHdXAFTbcemrUxyYzw",
        Which::None,
        &["o", "output", "output-dir"],
    ),
    writer("gunzip", "S", Which::All, &[]),
    writer("gzip", "S", Which::All, &[]),
    writer("install", "mogtS", Which::Last, &["t", "target-directory"]),
    writer("ln", "St", Which::Last, &["t", "target-directory"]),
    writer("mkdir", "m", Which::All, &[]),
    writer("mkfifo", "m", Which::All, &[]),
    writer("mknod", "m", Which::All, &[]),
    writer("mv", "St", Which::All, &["t", "target-directory"]),
    writer("rm", "", Which::All, &[]),
    writer("rsync", "efTBM", Which::Last, &[]),
    writer("rmdir", "", Which::All, &[]),
    writer("scp", "cFiJloPSDX", Which::Last, &[]),
    writer("shred", "ns", Which::All, &[]),
    writer("sort", "okStT", Which::None, &["o", "output"]),
    writer("split", "bCnlad", Which::None, &[]),
    writer("tar", "fCIT", Which::None, &["C", "directory"]),
    writer("tee", "", Which::All, &[]),
    writer("touch", "drt", Which::All, &[]),
    writer("truncate", "sr", Which::All, &[]),
    writer("unlink", "", Which::All, &[]),
    writer("unxz", "S", Which::All, &[]),
    writer("unzip", "dxP", Which::None, &["d"]),
    writer(
        "wget",
        "OPoeatTwQU",
        Which::None,
        &["O", "P", "o", "output-document", "directory-prefix"],
    ),
    writer("xz", "S", Which::All, &[]),
    writer("zip", "", Which::None, &[]),
    writer("zstd", "oD", Which::None, &["o"]),
];

impl Judge<'_> {
    /// Judges where a program writes, as far as its arguments say.
    pub(super) fn written(
        &mut self,
        name: &str,
        fields: &[Field],
        state: &State,
    ) -> Result<(), Reason> {
        let arguments = fields.get(1..).unwrap_or_default();
        match name {
            "dd" => {
                for field in arguments {
                    if let Some(path) = field.head.strip_prefix("of=") {
                        let path = Field {
                            head: path.to_owned(),
                            ..field.clone()
                        };
                        self.write(name, &path, state)?;
                    }
                }
                return Ok(());
            }
            "sed" => return self.edited(arguments, state),
            _ => {}
        }
        let Some(writer) = WRITERS.iter().find(|writer| writer.name == name) else {
            return Ok(());
        };
        let given = read(arguments, writer.valued, true);
        // What goes to standard output, or is only looked at, is written nowhere.
        let says = ["c", "stdout", "to-stdout", "l", "list", "t", "test"];
        let packs = ["bzip2", "gunzip", "gzip", "unxz", "xz", "zstd"].contains(&name);
        if packs && given.has(&says) {
            return Ok(());
        }
        // The folder is where it is read from unless something is taken out.
        if name == "tar" && !is_unpacking(arguments) {
            return Ok(());
        }
        for option in writer.into {
            if let Some(path) = given.value(&[option]) {
                self.write(name, path, state)?;
            }
        }
        let all = given.all();
        let is_named = writer.which == Which::Last && given.has(writer.into);
        let operands = match writer.which {
            Which::All => all.as_slice(),
            Which::AfterFirst if given.has(&["reference"]) => all.as_slice(),
            Which::AfterFirst => all.get(1..).unwrap_or_default(),
            Which::Last if name == "install" && given.has(&["d", "directory"]) => all.as_slice(),
            Which::Last if is_named || all.len() < 2 => &[],
            Which::Last => all.get(all.len() - 1..).unwrap_or_default(),
            Which::None => &[],
        };
        let is_recursive = name == "rm" && given.has(&["r", "R", "recursive"]);
        for operand in operands {
            if is_recursive {
                self.remove(name, operand, state)?;
            } else {
                self.write(name, operand, state)?;
            }
        }
        Ok(())
    }

    /// Files that `sed` writes back.
    fn edited(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let is_in_place = arguments.iter().any(|field| {
            let head = field.head.as_str();
            head.starts_with("--in-place")
                || (head.starts_with('-')
                    && !head.starts_with("--")
                    && head.trim_start_matches('-').contains('i'))
        });
        if !is_in_place {
            return Ok(());
        }
        let valued = Valued {
            short: "efl",
            long: &["expression", "file"],
            attached: "i",
        };
        let given = read(arguments, valued, true);
        let is_given = given.has(&["e", "f", "expression", "file"]);
        for file in given.all().into_iter().skip(usize::from(!is_given)) {
            self.write("sed -i", file, state)?;
        }
        Ok(())
    }

    /// Judges whether something may be written.
    pub(super) fn write(
        &mut self,
        program: &str,
        path: &Field,
        state: &State,
    ) -> Result<(), Reason> {
        // What can't be written elsewhere, in a mount that is only read, is said when it is tried.
        let outside = self.outside(path, state);
        if let Some(path) = outside.filter(|path| place::is_of_system(path)) {
            return Err(Reason::Written {
                program: program.to_owned(),
                path,
                places: self.places(),
            });
        }
        self.may_write(program, path, state);
        Ok(())
    }

    /// Asks where one of the folders that this may be is a part of the system.
    fn may_write(&mut self, program: &str, path: &Field, state: &State) {
        if state.folder.is_some() || path.head.starts_with('/') {
            return;
        }
        for folder in &state.folders {
            let mut there = state.clone();
            there.folder = Some(folder.clone());
            if let Some(path) = self
                .outside(path, &there)
                .filter(|path| place::is_of_system(path))
            {
                self.ask(Reason::Written {
                    program: program.to_owned(),
                    path,
                    places: self.places(),
                });
            }
        }
    }

    /// Judges whether something may be removed with all that is in it.
    pub(super) fn remove(
        &mut self,
        program: &str,
        path: &Field,
        state: &State,
    ) -> Result<(), Reason> {
        if let Some(path) = self.outside(path, state) {
            return Err(Reason::Removed {
                program: program.to_owned(),
                path,
                places: self.places(),
            });
        }
        let is_elsewhere =
            state.folder.is_none() && !path.head.is_empty() && !path.head.starts_with('/');
        if is_elsewhere || (path.tail.is_some() && folder_of(path).is_none()) {
            self.ask(Reason::Removal(program.to_owned()));
        }
        Ok(())
    }

    /// The path of what lies outside of where may be written, if it is known to.
    fn outside(&self, path: &Field, state: &State) -> Option<String> {
        let known = match path.text() {
            Some("") => return None,
            Some(text) => text.to_owned(),
            None => folder_of(path)?,
        };
        let resolved = match &state.folder {
            _ if known.starts_with('/') => place::resolved("/", &known),
            Some(folder) => place::resolved(folder, &known),
            None => return None,
        };
        let writable = self.policy.writable.iter().copied();
        let is_inside = place::is_below(&resolved, writable) || place::is_sink(&resolved);
        (!is_inside).then_some(resolved)
    }

    fn places(&self) -> String {
        self.policy.writable.join(", ")
    }
}

/// Whether `tar` takes something out.
fn is_unpacking(arguments: &[Field]) -> bool {
    let first = arguments.first().map(|field| field.head.as_str());
    let is_it = |text: &str| {
        matches!(text, "--extract" | "--get")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('x'))
    };
    first.is_some_and(|text| !text.starts_with('-') && text.contains('x'))
        || arguments.iter().any(|field| is_it(&field.head))
}

/// The folder in which a path lies of which not all is known; `None` where that isn't known either.
fn folder_of(path: &Field) -> Option<String> {
    let head = path.head.as_str();
    let end = head
        .find(['*', '?', '['])
        .filter(|_| path.is_pattern)
        .unwrap_or(head.len());
    let known = head.get(..end).unwrap_or_default();
    match known.rsplit_once('/') {
        // What follows may be the whole path, or nothing of it.
        Some(("", _)) if path.tail.is_some() => None,
        Some((folder, _)) => Some(format!("{folder}/")),
        // A pattern of names of this folder.
        None if path.tail.is_none() => Some(".".to_owned()),
        None => None,
    }
}
