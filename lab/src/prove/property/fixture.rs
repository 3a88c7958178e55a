//! A place to try things in: a skill on disk with every kind of link out of it, a canary outside,
//! and the library and the catalog over it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::library::Library;
use gongfu_core::port::{
    Clock, LocalSpaces, Materialize, SkillStore, Space, SpaceParts, Timestamp,
};
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use gongfu_files::{FileLayers, Home, LocalWorkspace};
use gongfu_hub::{Catalog, Quota, ToolError};
use gongfu_library::source::Settings;
use gongfu_library::{LocalSkills, SwitchRecord};
use gongfu_search::Search;
use gongfu_testing::{FixedClock, MemoryRecords, MemorySpace};
use tempfile::TempDir;

use super::{Plant, Verdict, ensure};

/// The placeholder in an input for the folder above everything, so that a path can be absolute.
pub(crate) const BASE: &str = "{base}";
const CANARY: &str = "canary-5c1e0f2b-outside";
/// The name of the files that must never be read.
pub(super) const CANARY_NAME: &str = "canary.txt";
const GUIDE: &str = "references/guide.md";

/// Folders of skills, with what they call themselves.
const SKILLS: [(&str, &str); 8] = [
    ("beta", "beta"),
    ("Big_Name", "big-name"),
    ("nested/alpha", "alpha"),
    ("nested/deep/er", "My Skill"),
    ("技能", "技能"),
    ("pdf-tools", "pdf-tools"),
    ("pdf", "pdf"),
    ("no-name", ""),
];

/// Links in the skill, and where they lead.
const LINKS: [(&str, &str); 12] = [
    ("relative", "../../canary.txt"),
    ("vault", "../vault"),
    ("up", ".."),
    ("out", "../.."),
    ("root", "/"),
    ("process", "/proc/self/root"),
    ("descriptors", "/proc/self/cwd"),
    ("circle", "circle"),
    ("one", "two"),
    ("two", "one"),
    ("dangling", "nowhere"),
    ("inner", GUIDE),
];

/// The place.
pub(crate) struct Fixture {
    /// The skill's folder, by the system.
    pub(super) skill: PathBuf,
    /// The skill's folder, as a handle.
    pub(super) root: Root,
    pub(super) library: Arc<Library>,
    pub(super) catalog: Catalog,
    /// The runtime that calls run in.
    pub(super) runtime: tokio::runtime::Runtime,
    /// A fault that was put in on purpose.
    pub(super) plant: Option<Plant>,
    base: PathBuf,
    _folder: TempDir,
}

impl Fixture {
    /// Makes the place, and sees to it that what is tried there could fail.
    ///
    /// # Errors
    /// It can't be made, or the controls fail: then nothing would be proven.
    pub(crate) fn new(plant: Option<Plant>) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let folder = TempDir::new().map_err(told)?;
        let base = folder.path().canonicalize().map_err(told)?;
        make(&base).map_err(told)?;
        let skill = base.join("skills/alpha");
        let settings = Settings {
            explicit: vec![base.join("skills")],
            ..Settings::default()
        };
        // It stands still, so that the library is read once.
        let clock: Arc<dyn Clock> = Arc::new(FixedClock::at(now()));
        let home = Home::at(base.join("home"));
        let skills = Arc::new(LocalSkills::new(
            home.clone(),
            settings,
            SwitchRecord::new(Arc::new(MemoryRecords::default())),
            Arc::clone(&clock),
        ));
        let library = skills.current().map_err(|error| error.to_string())?;
        let store: Arc<dyn SkillStore> = Arc::<LocalSkills>::clone(&skills);
        let workspace = LocalWorkspace::new(base.join("workspace"), &[]).map_err(told)?;
        let materialize: Arc<dyn Materialize> = Arc::<LocalSkills>::clone(&skills);
        // Everything that reads and writes files is real; nothing is run.
        let space = Space::new(SpaceParts {
            search: Arc::new(Search::new(Arc::clone(&store), Some(home.clone()))),
            skills: store,
            layers: Arc::new(FileLayers::new(
                home,
                Arc::clone(&materialize),
                Arc::clone(&clock),
            )),
            materialize,
            files: Arc::new(workspace),
            clock,
            ..MemorySpace::default().parts(&Owner::Local)
        });
        let spaces = Arc::new(LocalSpaces::new(space));
        let fixture = Self {
            root: Root::open(&skill).map_err(told)?,
            catalog: Catalog::new(spaces, Quota::default(), None),
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_time()
                .build()
                .map_err(told)?,
            library,
            plant,
            skill,
            base,
            _folder: folder,
        };
        fixture.controls()?;
        Ok(fixture)
    }

    /// The canary can be read without the handle, and a file inside through it.
    fn controls(&self) -> Verdict {
        for way in ["relative", "absolute", "out/canary.txt", "vault/canary.txt"] {
            let read = std::fs::read(self.skill.join(way)).unwrap_or_default();
            ensure(holds_canary(&read), || {
                format!("the control fails: `{way}` does not lead to the canary")
            })?;
        }
        for way in [GUIDE, "inner"] {
            let path = SkillPath::new(way).map_err(|error| error.to_string())?;
            let read = self
                .root
                .read(&path, 1024)
                .map_err(|error| error.to_string())?;
            ensure(read.bytes == b"inside\n", || {
                format!("the control fails: `{way}` is not readable through the handle")
            })?;
        }
        ensure(self.library.skills().len() > SKILLS.len(), || {
            format!(
                "the control fails: {} skills were found",
                self.library.skills().len()
            )
        })
    }

    /// The folder above everything.
    pub(super) fn base(&self) -> String {
        self.base.display().to_string()
    }
}

/// True when the text that must never be read is in here.
pub(super) fn holds_canary(bytes: &[u8]) -> bool {
    bytes
        .windows(CANARY.len())
        .any(|window| window == CANARY.as_bytes())
}

/// An error has a code, a message and a hint, in words and as JSON.
pub(super) fn is_told(error: &ToolError) -> Verdict {
    let json = error.to_json();
    for name in ["code", "message", "hint"] {
        let told = json.get(name).and_then(serde_json::Value::as_str);
        ensure(told.is_some_and(|told| !told.trim().is_empty()), || {
            format!("an error without {name}: {error:?}")
        })?;
    }
    ensure(!holds_canary(error.to_string().as_bytes()), || {
        "A FILE OUTSIDE OF THE SKILL IS IN AN ERROR".to_owned()
    })
}

fn make(base: &Path) -> std::io::Result<()> {
    let skill = base.join("skills/alpha");
    for folder in ["references", "scripts", "assets"] {
        std::fs::create_dir_all(skill.join(folder))?;
    }
    std::fs::create_dir_all(base.join("skills/vault"))?;
    for canary in ["canary.txt", "skills/canary.txt", "skills/vault/canary.txt"] {
        std::fs::write(base.join(canary), format!("{CANARY}\n"))?;
    }
    let body = "# Top\n\nintro\n\n## Use it\n\na\n\n### Deep\n\n## End\n";
    let document = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n\n{body}");
    std::fs::write(skill.join("SKILL.md"), document("alpha"))?;
    std::fs::write(skill.join(GUIDE), "inside\n")?;
    std::fs::write(skill.join("scripts/run.sh"), "#!/bin/sh\necho \"$1\"\n")?;
    std::fs::write(
        skill.join("assets/a.png"),
        [0x89, b'P', b'N', b'G', 0, 1, 2],
    )?;
    std::fs::write(skill.join("references/long.md"), "x".repeat(200_000))?;
    std::fs::write(skill.join("references/ü b%20.md"), "umlaut\n")?;
    for (folder, name) in SKILLS {
        let folder = base.join("skills").join(folder);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("SKILL.md"), document(name))?;
    }
    links(&skill, base)
}

#[cfg(unix)]
fn links(skill: &Path, base: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::symlink;
    for (name, target) in LINKS {
        symlink(target, skill.join(name))?;
    }
    symlink(base.join(CANARY_NAME), skill.join("absolute"))?;
    let pipe = skill.join("pipe");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )?;
    symlink("pipe", skill.join("to-pipe"))
}

#[cfg(not(unix))]
fn links(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("links are made on Unix alone"))
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let milliseconds = since.map_or(0, |since| since.as_millis());
    Timestamp(i64::try_from(milliseconds).unwrap_or(0))
}
