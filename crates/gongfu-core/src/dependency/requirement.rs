//! Requirements of Python: a line each (PEP 508), and the files that `pip` reads them from.

use std::collections::BTreeSet;

use super::{Language, Manifest, Requirements, Texts, Unfit, Wanted};
use crate::skill::SkillPath;

/// How many lines there may be, in all files together.
const MOST: usize = 5_000;
/// The longest requirement with its digests, in bytes.
const LONGEST: usize = 16 * 1024;
/// How much of one a message repeats, in characters.
const SHOWN: usize = 120;
/// How the names of files end that an installer takes for packages.
const ARCHIVES: [&str; 8] = [".whl", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst"];
/// How many lines that aren't followed are told.
const TOLD: usize = 20;
/// How many files may be read.
const FILES: usize = 32;
/// Options that say where packages come from or how: that isn't for a skill to say.
const PASSED_OVER: [&str; 15] = [
    "--index-url",
    "-i",
    "--extra-index-url",
    "--find-links",
    "-f",
    "--trusted-host",
    "--only-binary",
    "--no-binary",
    "--use-feature",
    "--config-settings",
    "--no-index",
    "--pre",
    "--prefer-binary",
    "--require-hashes",
    "--use-pep517",
];

/// Why a line can't be a requirement of a package from an index; `None` where it can.
///
/// What comes after the name is for the installer to read; it only can't lead elsewhere.
pub fn unfit(line: &str) -> Option<String> {
    let shown = crate::text::clipped(line, SHOWN, char::REPLACEMENT_CHARACTER);
    let odd = |c: char| c.is_control() || matches!(c, '\\' | '$' | '`');
    if line.len() > LONGEST || line.contains(odd) {
        return Some(format!(
            "`{shown}` is too long or holds a character that no requirement has; write the name and its versions, e.g. `requests>=2`"
        ));
    }
    // An installer reads what stands behind a digest as further lines: nothing but digests may.
    let (line, digests) = line.split_once(" --").unwrap_or((line, ""));
    let digests = digests.split(' ').filter(|word| !word.is_empty());
    let digests = digests.map(|word| word.trim_start_matches("--"));
    if !digests.clone().all(is_digest) || line.split(' ').any(|word| word.starts_with('-')) {
        return Some(format!(
            "`{shown}` has an option; only digests may stand behind a requirement, each as `--hash=sha256:…`"
        ));
    }
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let end = line.bytes().position(|byte| !is_of_name(byte));
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let lower = name.to_ascii_lowercase();
    let is_archive = ARCHIVES.iter().any(|kind| lower.ends_with(kind));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && !is_archive;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(extras) => match extras.split_once(']') {
            Some((_, rest)) => rest.trim_start(),
            None => return Some(format!("`{shown}` has a `[` without its `]`; add it")),
        },
        None => rest,
    };
    let is_version = rest.is_empty() || rest.starts_with(['<', '>', '=', '!', '~', '(', ';']);
    let versions = rest.split(';').next().unwrap_or_default();
    let is_place = versions.contains(['@', '/', ':']);
    (!is_name || !is_version || is_place).then(|| {
        format!("`{shown}` is no package of an index, and packages come from the index alone; name the package and its versions, e.g. `requests>=2`")
    })
}

/// Whether a text is a digest as a requirement may have it, without the `--` before it.
pub fn is_digest(text: &str) -> bool {
    let digits = |digest: &str, length: usize| {
        digest.len() == length && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let known = [
        ("hash=sha256:", 64),
        ("hash=sha384:", 96),
        ("hash=sha512:", 128),
    ];
    known.iter().any(|(kind, length)| {
        text.strip_prefix(kind)
            .is_some_and(|digest| digits(digest, *length))
    })
}

/// What a file of requirements says, and those that it names.
///
/// # Errors
/// A line is for something else than packages of an index, or a file that it names isn't there.
pub(super) fn read(file: &SkillPath, texts: &Texts) -> Result<Manifest, Unfit> {
    let mut reading = Reading {
        texts,
        seen: BTreeSet::new(),
        files: Vec::new(),
        wanted: Requirements::default(),
        passed_over: Vec::new(),
    };
    reading.file(file, false, None)?;
    let Reading {
        files,
        mut wanted,
        passed_over,
        ..
    } = reading;
    // A single digest means to pip as well that all have to have one.
    wanted.is_lock = wanted.lines.iter().any(|line| line.contains(" --hash"));
    Ok(Manifest {
        language: Language::Python,
        files,
        wanted: Wanted::Requirements(wanted),
        passed_over,
    })
}

struct Reading<'a> {
    texts: &'a Texts,
    seen: BTreeSet<(SkillPath, bool)>,
    files: Vec<SkillPath>,
    wanted: Requirements,
    passed_over: Vec<String>,
}

impl Reading<'_> {
    fn file(
        &mut self,
        file: &SkillPath,
        constrains: bool,
        named: Option<(&SkillPath, usize)>,
    ) -> Result<(), Unfit> {
        if !self.seen.insert((file.clone(), constrains)) {
            return Ok(());
        }
        let (by, at) = named.map_or((file, None), |(by, at)| (by, Some(at)));
        if self.seen.len() > FILES {
            return Err(Unfit::new(
                by,
                at,
                format!("it leads to more than {FILES} files; write them into one"),
            ));
        }
        let Some(text) = self.texts.get(file) else {
            return Err(Unfit::new(
                by,
                at,
                format!(
                    "`{file}` isn't there; requirements name files that lie beside them, and are called requirements or constraints and end in .txt"
                ),
            ));
        };
        if !self.files.contains(file) {
            self.files.push(file.clone());
        }
        let mut count = 0;
        for (number, line) in lines(text) {
            self.line(file, number, &line, constrains)?;
            count += 1;
            if count > MOST || self.wanted.lines.len() + self.wanted.constraints.len() > MOST {
                let why = format!("there are more than {MOST} requirements; name fewer");
                return Err(Unfit::new(file, Some(number), why));
            }
        }
        Ok(())
    }

    fn line(
        &mut self,
        file: &SkillPath,
        number: usize,
        line: &str,
        constrains: bool,
    ) -> Result<(), Unfit> {
        if !line.starts_with('-') {
            if let Some(why) = unfit(line) {
                return Err(Unfit::new(file, Some(number), why));
            }
            let known = if constrains {
                &mut self.wanted.constraints
            } else {
                &mut self.wanted.lines
            };
            known.push(line.to_owned());
            return Ok(());
        }
        let (option, value) = line
            .split_once([' ', '='])
            .map_or((line, ""), |(option, value)| (option, value.trim()));
        let further = match option {
            "-r" | "--requirement" => Some(constrains),
            "-c" | "--constraint" => Some(true),
            _ => None,
        };
        if let Some(constrains) = further {
            let other = file.parent().join(value.trim_matches(['"', '\'']));
            let other = other.map_err(|error| {
                Unfit::new(
                    file,
                    Some(number),
                    format!("`{value}` can't be read: {error}; name a file of the skill"),
                )
            })?;
            return self.file(&other, constrains, Some((file, number)));
        }
        // `-rother.txt` as well.
        if let Some(value) = line.strip_prefix("-r").or_else(|| line.strip_prefix("-c"))
            && !value.starts_with('-')
        {
            let spaced = format!("{} {value}", line.get(..2).unwrap_or_default());
            return self.line(file, number, &spaced, constrains);
        }
        if PASSED_OVER.contains(&option) {
            let why = "where packages come from, and how, is for whoever runs gongfu to say";
            if self.passed_over.len() < TOLD {
                self.passed_over
                    .push(format!("{file}:{number}: `{option}`: {why}"));
            }
            return Ok(());
        }
        let why = match option {
            "-e" | "--editable" => {
                "`--editable` is for a project in development; name packages of an index".to_owned()
            }
            _ => format!("`{option}` isn't known here; leave it out"),
        };
        Err(Unfit::new(file, Some(number), why))
    }
}

/// The lines that say something, without comments, each with its number: as `pip` reads them.
fn lines(text: &str) -> Vec<(usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let is_comment = line.trim_start().starts_with('#');
        let (continued, piece) = match line.strip_suffix('\\') {
            Some(piece) if !is_comment => (true, piece),
            _ => (false, line),
        };
        let (number, mut whole) = open.take().unwrap_or((index + 1, String::new()));
        if !is_comment {
            whole.push_str(piece);
        }
        if continued {
            open = Some((number, whole));
        } else {
            all.push((number, whole));
        }
    }
    all.extend(open);
    let bare = all.into_iter().map(|(number, line)| {
        let end = line.match_indices('#').map(|(at, _)| at).find(|at| {
            line.get(..*at)
                .is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']))
        });
        let line = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
        // Blanks are one blank, so that an option is found behind them.
        let words: Vec<&str> = line.split_whitespace().collect();
        (number, words.join(" "))
    });
    bare.filter(|(_, line)| !line.is_empty()).collect()
}
