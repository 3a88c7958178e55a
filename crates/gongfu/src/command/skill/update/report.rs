//! The answers about newer versions, for people and programs.

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use gongfu_import::cache::{Cache, CachedFiles};
use gongfu_import::survey::Survey;
use gongfu_import::update::{FileChange, FileChangeKind, FileState, InstalledSkill};
use serde_json::{Value, json};
use similar::TextDiff;

use super::super::examination::{ExaminedSkill, Newer, Verdict};
use super::super::import::Importer;
use crate::table::{count, pad, width};
use crate::terminal::{Paint, Terminal, plain};

/// The most names of one kind that are shown.
const MAX_NAMES: usize = 8;
/// The longest file whose lines are compared, in bytes.
const MAX_TEXT: u64 = 1024 * 1024;

/// Lists every skill with its versions: what is locked, and what the source has.
pub(super) fn table(skills: &[ExaminedSkill], terminal: &mut Terminal) -> anyhow::Result<()> {
    let shown = skills
        .iter()
        .filter(|skill| !matches!(skill.verdict, Verdict::Current));
    let rows: Vec<(String, String)> = shown
        .map(|skill| (plain(&skill.installed.key), words(skill)))
        .collect();
    let columns = rows.iter().map(|(key, _)| width(key)).max().unwrap_or(0);
    for (key, words) in rows {
        terminal.line(&format!("{}  {words}", pad(&key, columns)))?;
    }
    let is_newer = |skill: &&ExaminedSkill| matches!(skill.verdict, Verdict::Newer(_));
    let newer = skills.iter().filter(is_newer).count();
    terminal.note(&format!(
        "{} locked, {newer} with a newer version",
        count(skills.len(), "skill")
    ));
    Ok(())
}

/// One line about a skill.
fn words(skill: &ExaminedSkill) -> String {
    let locked = &skill.installed.locked;
    match &skill.verdict {
        Verdict::Current => "is current".to_owned(),
        Verdict::Gone => {
            format!("{} hasn't it any more", plain(&locked.source))
        }
        Verdict::NotAsked(why) => plain(why),
        Verdict::Failed(error) => format!("{}: {}", error.code.as_str(), plain(&error.message)),
        Verdict::Newer(newer) => {
            let before = locked.version.as_ref().or(locked.commit.as_ref());
            let at = match (before, &newer.at) {
                (Some(before), Some(at)) => format!("{} → {}", short(before), short(at)),
                (None, Some(at)) => format!("→ {}", short(at)),
                _ => "changed".to_owned(),
            };
            let files = newer
                .files
                .iter()
                .filter(|file| file.source.is_some())
                .count();
            let blocked = match (&skill.installed.state, skill.installed.is_changed()) {
                (_, true) => ", and you changed it",
                (FileState::ByNpx, _) => ", after `npx skills` updated it",
                (FileState::Unknown, _) => ", and nothing says whether you changed it",
                _ => "",
            };
            format!("{at}, {}{blocked}", count(files, "file"))
        }
    }
}

/// A commit or version, as people read it.
fn short(text: &str) -> String {
    let is_commit = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let most = if is_commit { 10 } else { 40 };
    plain(gongfu_core::text::clipped(text, most, '…').as_ref())
}

/// Shows what an update would change.
pub(super) fn show(skills: &[ExaminedSkill], terminal: &mut Terminal) -> anyhow::Result<()> {
    for skill in skills {
        if matches!(skill.verdict, Verdict::Current) {
            continue;
        }
        let name = terminal.paint(Paint::Bold, &plain(&skill.installed.key));
        terminal.line(&format!("{name}  {}", words(skill)))?;
        let Verdict::Newer(newer) = &skill.verdict else {
            continue;
        };
        for change in &newer.files {
            let (sign, what) = described(change);
            let what = terminal.paint(Paint::Dim, what);
            terminal.line(&format!("  {sign} {}  {what}", plain(&change.path)))?;
        }
        newly(
            "runs",
            newer.newly.scripts.iter().map(SkillPath::as_str),
            terminal,
        )?;
        named(
            "installs",
            &newer.newly,
            |survey| &survey.packages,
            terminal,
        )?;
        named("imports", &newer.newly, |survey| &survey.modules, terminal)?;
        named("reaches", &newer.newly, |survey| &survey.hosts, terminal)?;
        let before = &skill.installed.locked.findings;
        let findings = newer.staged.findings.iter();
        let findings = findings
            .filter(|code| !before.contains(code))
            .map(String::as_str);
        newly("has findings", findings, terminal)?;
        if skill.installed.is_changed() {
            terminal.line(
                "  your version stays: --replace installs the new one, and keeps yours in gongfu's home",
            )?;
        }
    }
    let current = skills
        .iter()
        .filter(|skill| matches!(skill.verdict, Verdict::Current));
    let current = current.count();
    if current > 0 {
        terminal.note(&format!("{}: current", count(current, "skill")));
    }
    Ok(())
}

fn described(change: &FileChange) -> (char, &'static str) {
    match (change.source, change.yours) {
        (Some(FileChangeKind::Added), false) => ('+', "new"),
        (Some(FileChangeKind::Removed), false) => ('-', "removed"),
        (Some(FileChangeKind::Content), false) => ('~', "changed"),
        (Some(FileChangeKind::Mode), false) => ('~', "the right to run it changed"),
        (Some(_), true) => ('!', "changed by you and by the source"),
        (None, _) => ('=', "changed by you alone"),
    }
}

fn named(
    label: &str,
    survey: &Survey,
    part: impl Fn(&Survey) -> &std::collections::BTreeSet<String>,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    newly(label, part(survey).iter().map(String::as_str), terminal)
}

fn newly<'a>(
    label: &str,
    names: impl Iterator<Item = &'a str>,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let names: Vec<String> = names.map(plain).collect();
    let Some(first) = names
        .get(..names.len().min(MAX_NAMES))
        .filter(|first| !first.is_empty())
    else {
        return Ok(());
    };
    let more = names.len() - first.len();
    let rest = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let label = terminal.paint(Paint::Yellow, &format!("newly {label}"));
    terminal.line(&format!("  {label}: {}{rest}", first.join(", ")))?;
    Ok(())
}

/// The changes of every text file, as a unified diff; others are named.
///
/// A skill that a person changed has two diffs, theirs and that of the source, both from what was installed. Without that
/// in the cache there is one, from their files to the new ones.
pub(super) fn text(importer: &Importer<'_>, skill: &InstalledSkill, newer: &Newer) -> String {
    let folder = importer.scope.folder(&skill.key);
    let (mine, new) = (
        Root::open(&folder).ok(),
        Root::open(&newer.staged.staged).ok(),
    );
    let base = Cache::open(importer.home).ok();
    let base = base.and_then(|cache| cache.files(&skill.locked));
    let of_source = newer.files.iter().filter(|change| change.source.is_some());
    let compare = Comparison {
        name: &newer.staged.folder,
    };
    let base = base.filter(|_| skill.is_changed());
    let Some(base) = base else {
        return compare.text(
            ("installed", Version::of(mine.as_ref())),
            ("new", Version::of(new.as_ref())),
            of_source,
        );
    };
    let of_person = newer.files.iter().filter(|change| change.yours);
    let base = ("base", Version::Cached(&base));
    let (mine, new) = (Version::of(mine.as_ref()), Version::of(new.as_ref()));
    let mut text = compare.text(base, ("new", new), of_source);
    let yours = compare.text(base, ("yours", mine), of_person);
    text.push_str(&yours);
    text
}

/// A comparison of two versions of a skill.
struct Comparison<'a> {
    name: &'a str,
}

/// A version of a skill.
#[derive(Clone, Copy)]
enum Version<'a> {
    Folder(&'a Root),
    Cached(&'a CachedFiles),
    Missing,
}

impl<'a> Version<'a> {
    fn of(folder: Option<&'a Root>) -> Self {
        folder.map_or(Self::Missing, Self::Folder)
    }

    /// The text of a file, and whether that is cut.
    fn read(self, path: &str) -> Option<(bool, Vec<u8>)> {
        let path = SkillPath::new(path).ok()?;
        match self {
            Self::Folder(root) => {
                let content = root.read(&path, MAX_TEXT).ok()?;
                Some((content.is_cut(), content.bytes))
            }
            Self::Cached(files) => {
                let bytes = files.get(&path)?;
                Some((bytes.len() as u64 > MAX_TEXT, bytes.clone()))
            }
            Self::Missing => None,
        }
    }
}

/// A version and its label.
type Side<'a> = (&'static str, Version<'a>);

impl Comparison<'_> {
    fn text<'a>(
        &self,
        before: Side<'_>,
        after: Side<'_>,
        files: impl Iterator<Item = &'a FileChange>,
    ) -> String {
        files
            .map(|file| self.file(before, after, &file.path))
            .collect()
    }

    fn file(&self, before: Side<'_>, after: Side<'_>, path: &str) -> String {
        let (old, new) = (before.1.read(path), after.1.read(path));
        let header = |side: Side<'_>, is_there: bool| {
            if is_there {
                format!("{}/{}/{path}", side.0, self.name)
            } else {
                "/dev/null".to_owned()
            }
        };
        let headers = (header(before, old.is_some()), header(after, new.is_some()));
        let lines = |content: Option<(bool, Vec<u8>)>| match content {
            None => Some(String::new()),
            Some((true, _)) => None,
            Some((false, bytes)) => String::from_utf8(bytes).ok(),
        };
        match (lines(old), lines(new)) {
            (Some(old), Some(new)) => TextDiff::from_lines(&old, &new)
                .unified_diff()
                .context_radius(3)
                .header(&headers.0, &headers.1)
                .to_string(),
            _ => format!("{} and {} differ\n", headers.0, headers.1),
        }
    }
}

/// Prints a diff.
pub(super) fn paint(text: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
    for line in text.lines() {
        let paint = match line.chars().next() {
            Some('+') => Paint::Green,
            Some('-') => Paint::Red,
            _ => Paint::Dim,
        };
        let line = crate::terminal::shown(line).into_owned();
        terminal.line(&terminal.paint(paint, &line))?;
    }
    Ok(())
}

/// The answers for programs.
pub(super) fn documents(skills: &[ExaminedSkill]) -> Vec<Value> {
    skills.iter().map(document).collect()
}

/// The answer about one skill.
pub(super) fn document(skill: &ExaminedSkill) -> Value {
    let (installed, locked) = (&skill.installed, &skill.installed.locked);
    let state = match &installed.state {
        FileState::AsInstalled => "as_installed",
        FileState::ByNpx => "by_npx",
        FileState::Changed(_) => "changed",
        FileState::Unknown => "unknown",
        FileState::Missing => "missing",
    };
    let (verdict, detail) = match &skill.verdict {
        Verdict::Current => ("current", Value::Null),
        Verdict::Gone => ("gone", Value::Null),
        Verdict::NotAsked(why) => ("not_asked", json!({ "message": why })),
        Verdict::Failed(error) => (
            "failed",
            json!({ "code": error.code.as_str(), "message": error.message, "hint": error.hint }),
        ),
        Verdict::Newer(newer) => (
            "newer",
            json!({
                "version": newer.at,
                "digest": newer.staged.digest.to_string(),
                "files": newer.files,
                "newly": newer.newly,
                "findings": newer.staged.findings,
            }),
        ),
    };
    json!({
        "key": installed.key,
        "name": installed.name,
        "source": locked.source,
        "version": locked.version.as_ref().or(locked.commit.as_ref()),
        "installed": state,
        "verdict": verdict,
        "detail": detail,
    })
}
