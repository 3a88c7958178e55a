//! A place to try things in: a skill on disk with every kind of link out of it, a canary outside,
//! and the library and the catalog over it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::library::Library;
use gongfu_core::port::{
    AuditEntry, AuditLog, Clock, Listener, Pending, PortError, Sandbox, SkillStore, Timestamp,
};
use gongfu_core::sandbox::{Limits, Outcome, Spec, Standing};
use gongfu_core::skill::SkillPath;
use gongfu_hub::run::Installs;
use gongfu_hub::{Catalog, Ports, ToolError};
use gongfu_store::approvals::LocalApprovals;
use gongfu_store::disk::Root;
use gongfu_store::source::Settings;
use gongfu_store::{
    Home, LocalEnvironments, LocalRuns, LocalSkills, LocalWorkspace, Search, environments,
};
use tempfile::TempDir;

use super::{Plant, Verdict, ensure};

/// What stands for the folder above everything in an input, so that a path can be absolute.
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
pub(crate) struct Ground {
    /// The skill's folder, by the system.
    pub(super) skill: PathBuf,
    /// The skill's folder, as a handle.
    pub(super) root: Root,
    pub(super) library: Arc<Library>,
    pub(super) catalog: Catalog,
    /// What calls run in.
    pub(super) runtime: tokio::runtime::Runtime,
    /// A fault that was put in on purpose.
    pub(super) plant: Option<Plant>,
    base: PathBuf,
    _folder: TempDir,
}

/// Runs nothing: what is tried here is what reads and writes.
struct NoSandbox;

impl Sandbox for NoSandbox {
    fn standing(&self) -> Pending<'_, Vec<Standing>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn run<'a>(
        &'a self,
        _owner: &'a Owner,
        _spec: Spec,
        _listener: Listener,
    ) -> Pending<'a, Outcome> {
        let why = "nothing is run here".to_owned();
        Box::pin(std::future::ready(Err(PortError::Unavailable(why))))
    }
}

impl Ground {
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
        let clock: Arc<dyn Clock> = Arc::new(Stopped(now()));
        let home = Home::at(base.join("home"));
        let skills = Arc::new(LocalSkills::new(home.clone(), settings, Arc::clone(&clock)));
        let library = skills.current().map_err(told)?;
        let store: Arc<dyn SkillStore> = Arc::<LocalSkills>::clone(&skills);
        let search = Arc::new(Search::new(Arc::clone(&store), Some(home.clone())));
        let workspace = LocalWorkspace::new(base.join("workspace"), &[]).map_err(told)?;
        let workspace = Arc::new(workspace);
        let approvals = Arc::new(LocalApprovals::new(home.clone()));
        let environments = Arc::new(LocalEnvironments::new(
            home.clone(),
            Arc::clone(&skills),
            Arc::default(),
            Arc::new(NoSandbox),
            Arc::clone(&clock),
            environments::Settings {
                sources: Ok(environments::Sources::default()),
                limits: Limits::default(),
            },
        ));
        let runs = LocalRuns::new(home, skills, Arc::clone(&workspace), Arc::clone(&clock));
        let ground = Self {
            root: Root::open(&skill).map_err(told)?,
            catalog: Catalog::new(Ports {
                skills: store,
                search,
                workspace,
                runs: Arc::new(runs),
                sandbox: Arc::new(NoSandbox),
                limits: Limits::default(),
                environments,
                installs: Installs::default(),
                approvals,
                audit: Arc::new(Silent),
                clock,
            }),
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
        ground.controls()?;
        Ok(ground)
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

/// Whether what must never be read is in here.
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

/// A clock that stands still, so that the library is read once.
struct Stopped(Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// An audit that keeps nothing.
struct Silent;

impl AuditLog for Silent {
    fn record<'a>(&'a self, _owner: &'a Owner, _entry: &'a AuditEntry) -> Pending<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
