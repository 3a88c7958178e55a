//! Requirements of Python: one a line (PEP 508), in the files that `pip` reads.

use std::collections::BTreeSet;

use super::{
    Language, LeftOut, MAX_PACKAGES, Manifest, ManifestError, PackageSpec, Requirements, Texts,
};
use crate::skill::SkillPath;

/// The longest requirement with its digests, in bytes.
const MAX_LINE: usize = 16 * 1024;
/// The limit of what an error message repeats of a line, in characters.
const MAX_SHOWN: usize = 120;
/// Endings of file names that an installer takes for packages, as `.gz` for `.tar.gz`.
const ARCHIVES: [&str; 18] = [
    ".whl", ".egg", ".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".lz",
    ".tlz", ".lzma", ".zst", ".tzst", ".z", ".7z",
];
/// The limit of files that include each other.
const MAX_FILES: usize = 32;
/// The reason why settings of an installer are ignored.
pub(super) const OPERATOR_DECIDES: &str =
    "gongfu's settings decide where packages come from, not skills";

/// The reason why a line is no requirement of a package from an index; `None` if it is one.
///
/// The installer parses versions and markers. This only makes sure that they lead nowhere else.
pub fn requirement_problem(line: &str) -> Option<String> {
    let shown = crate::text::clipped(line, MAX_SHOWN, char::REPLACEMENT_CHARACTER);
    let is_odd = |c: char| c.is_control() || matches!(c, '\\' | '$' | '`');
    if line.len() > MAX_LINE || line.contains(is_odd) {
        return Some(format!(
            "`{shown}` is too long or has an invalid character; write a name and versions, e.g. `requests>=2`"
        ));
    }
    // An installer reads options behind a digest as well: nothing but digests may stand there.
    let (line, digests) = line.split_once(" --").unwrap_or((line, ""));
    let mut digests = digests.split_whitespace();
    let has_option = line.split(' ').any(|word| word.starts_with('-'))
        || !digests.all(|digest| is_digest(digest.trim_start_matches("--")));
    if has_option {
        return Some(format!(
            "`{shown}` has an option; only hashes may follow a requirement, as `--hash=sha256:…`"
        ));
    }
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let (name, rest) = line.split_at(line.find(|c| !is_name_char(c)).unwrap_or(line.len()));
    let lower = name.to_ascii_lowercase();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && !ARCHIVES.iter().any(|ending| lower.ends_with(ending));
    let rest = rest.trim_start();
    let (extras, version) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "[")),
        None => ("", rest),
    };
    let version = version.trim_start();
    let is_version = version.is_empty() || version.starts_with(['<', '>', '=', '!', '~', '(', ';']);
    let versions = version.split(';').next().unwrap_or_default();
    let is_place = [extras, versions]
        .iter()
        .any(|text| text.contains(['@', '/', ':']));
    (!is_name || !is_version || is_place).then(|| {
        format!("`{shown}` is not a package of an index, but packages come only from the index; write a name and versions, e.g. `requests>=2`")
    })
}

/// True for a digest of a requirement, without the `--` before it.
pub fn is_digest(text: &str) -> bool {
    let kinds = [("sha256:", 64), ("sha384:", 96), ("sha512:", 128)];
    text.strip_prefix("hash=").is_some_and(|digest| {
        kinds.iter().any(|(kind, length)| {
            let digits = digest.strip_prefix(kind).unwrap_or_default();
            digits.len() == *length && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    })
}

/// The packages of a file of requirements and of those that it includes.
///
/// # Errors
/// There are too many lines, none of them requires a package of an index, or one of a lock doesn't.
pub(super) fn parse(file: &SkillPath, texts: &Texts) -> Result<Manifest, ManifestError> {
    let mut parser = Parser {
        texts,
        seen: BTreeSet::new(),
        files: Vec::new(),
        requirements: Requirements::default(),
        left_out: LeftOut::default(),
    };
    parser.file(file, false)?;
    let mut requirements = parser.requirements;
    // A single digest means to pip as well that every line needs one.
    requirements.is_lock = requirements
        .lines
        .iter()
        .any(|line| line.contains(" --hash"));
    let is_error = requirements.is_lock || requirements.lines.is_empty();
    let warnings = parser.left_out.warnings(is_error)?;
    Ok(Manifest {
        language: Language::Python,
        files: parser.files,
        packages: PackageSpec::Requirements(requirements),
        warnings,
        allowed: Vec::new(),
    })
}

struct Parser<'a> {
    texts: &'a Texts,
    /// The files that were read, as requirements or as constraints.
    seen: BTreeSet<(SkillPath, bool)>,
    files: Vec<SkillPath>,
    requirements: Requirements,
    left_out: LeftOut,
}

impl Parser<'_> {
    fn file(&mut self, file: &SkillPath, constrains: bool) -> Result<(), ManifestError> {
        if !self.seen.insert((file.clone(), constrains)) {
            return Ok(());
        }
        if !self.files.contains(file) {
            self.files.push(file.clone());
        }
        let text = self.texts.get(file).map(String::as_str);
        for (number, line) in lines(text.unwrap_or_default()) {
            let error = |why: String| ManifestError::new(file, Some(number), why);
            if line.starts_with('-') {
                self.option(file, number, &line, constrains)?;
            } else if let Some(why) = requirement_problem(&line) {
                self.left_out.add(error(why));
            } else if constrains {
                self.requirements.constraints.push(line);
            } else {
                self.requirements.lines.push(line);
            }
            if self.requirements.lines.len() + self.requirements.constraints.len() > MAX_PACKAGES {
                let why = format!("there are more than {MAX_PACKAGES} requirements; use fewer");
                return Err(error(why));
            }
        }
        Ok(())
    }

    fn option(
        &mut self,
        file: &SkillPath,
        number: usize,
        line: &str,
        constrains: bool,
    ) -> Result<(), ManifestError> {
        let mut left_out = |why: String| {
            let error = ManifestError::new(file, Some(number), why);
            self.left_out.add(error);
            Ok(())
        };
        let includes = [
            ("--requirement", constrains),
            ("-r", constrains),
            ("--constraint", true),
            ("-c", true),
        ];
        for (option, constrains) in includes {
            let Some(name) = line.strip_prefix(option) else {
                continue;
            };
            let name = name
                .trim_start_matches([' ', '='])
                .trim_matches(['"', '\'']);
            let path = match file.parent().join(name) {
                Ok(path) => path,
                Err(why) => {
                    return left_out(format!(
                        "`{name}` can't be read: {why}; use a file of the skill"
                    ));
                }
            };
            if !self.texts.contains_key(&path) {
                return left_out(format!(
                    "`{path}` doesn't exist; an included file must be in the same folder, start with `requirements` or `constraints` and end with .txt"
                ));
            }
            if self.seen.len() >= MAX_FILES {
                return left_out(format!(
                    "it includes more than {MAX_FILES} files; merge them into one"
                ));
            }
            return self.file(&path, constrains);
        }
        if line.starts_with("-e") || line.starts_with("--editable") {
            return left_out("`--editable` is not supported; use packages of an index".to_owned());
        }
        let option = line.split([' ', '=']).next().unwrap_or(line);
        let option = crate::text::clipped(option, MAX_SHOWN, char::REPLACEMENT_CHARACTER);
        self.left_out.warn(format!(
            "ignored: {file}:{number}: `{option}`: {OPERATOR_DECIDES}"
        ));
        Ok(())
    }
}

/// The lines as `pip` reads them: without comments, joined where one ends in a backslash, each with its
/// number.
fn lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut is_continued = false;
    for (index, line) in text.lines().enumerate() {
        // A comment ends what is continued.
        let is_comment = line.trim_start().starts_with('#');
        let piece = line.strip_suffix('\\').filter(|_| !is_comment);
        if !is_continued {
            joined.push((index + 1, String::new()));
        }
        if let Some((_, whole)) = joined.last_mut().filter(|_| !is_comment) {
            whole.push_str(piece.unwrap_or(line));
        }
        is_continued = piece.is_some();
    }
    let bare = joined.into_iter().map(|(number, line)| {
        let words = line.split_whitespace();
        let words: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
        (number, words.join(" "))
    });
    bare.filter(|(_, line)| !line.is_empty())
}
