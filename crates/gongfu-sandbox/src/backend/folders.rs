//! The folders of a run where nothing can be mounted: they lie where they lie, and what the run sees as
//! `/skill` with other kinds is a copy somewhere.
//!
//! The variable `GONGFU_SKILL` says where (`/workspace` is `GONGFU_WORKSPACE`, and so on for every
//! mount). Arguments are passed as they are.

use std::os::fd::OwnedFd;
use std::os::unix::fs::{chown, symlink};
use std::path::{Component, Path, PathBuf};

use gongfu_core::sandbox::{Mode, Mount, Spec};
use rustix::fs::{self, CWD, OFlags};

use super::Failure;
use super::copied::{self, Maker, Way};
use super::environment::{self, Places};
use crate::plan::{Kind, Owner, Plan};

/// Nobody who watches is counted beforehand; the child counts who there is.
const WATCHING: u64 = 0;

/// Names by which scripts call programs, each with where the program is.
pub(super) type OtherNames = Vec<(String, PathBuf)>;

/// The folders of a run.
pub(super) struct Folders {
    /// All of them lie below this one.
    pub(super) whole: String,
    /// Where the mounts are, each by its target.
    mounts: Vec<(PathBuf, String)>,
    /// What is to be filled.
    pub(super) copies: Vec<OwnedFd>,
    scratch: String,
    programs: String,
    /// What the run may read besides the system.
    pub(super) readable: Vec<PathBuf>,
    /// What it may read and write.
    pub(super) writable: Vec<PathBuf>,
}

impl Folders {
    /// Makes them in this one.
    pub(super) fn new(
        whole: &Path,
        spec: &Spec,
        tenant: Option<Owner>,
        other_names: &OtherNames,
    ) -> Result<Self, Failure> {
        let text = |path: &Path| {
            let path = path.to_str().map(str::to_owned);
            let why = "the folder for files that nobody needs later has a name that is no text";
            path.ok_or_else(|| Failure::Unavailable(why.to_owned()))
        };
        let (scratch, programs) = (whole.join("tmp"), whole.join("programs"));
        std::fs::create_dir(&scratch)?;
        give(&scratch, tenant)?;
        std::fs::create_dir(&programs)?;
        for (name, to) in other_names {
            symlink(to, programs.join(name))?;
        }
        let mut folders = Self {
            whole: text(whole)?,
            mounts: Vec::new(),
            copies: Vec::new(),
            scratch: text(&scratch)?,
            programs: text(&programs)?,
            readable: vec![whole.to_owned()],
            writable: vec![scratch],
        };
        std::fs::create_dir(whole.join("seen"))?;
        for mount in &spec.mounts {
            let at = folders.mount(&whole.join("seen"), mount, tenant)?;
            folders
                .mounts
                .push((PathBuf::from(&mount.target), text(&at)?));
        }
        Ok(folders)
    }

    /// Makes the place of a mount.
    fn mount(
        &mut self,
        seen: &Path,
        mount: &Mount,
        tenant: Option<Owner>,
    ) -> Result<PathBuf, Failure> {
        let target = Path::new(&mount.target);
        let below = target.strip_prefix("/").ok().filter(|below| {
            let mut components = below.components();
            components.all(|component| matches!(component, Component::Normal(_)))
        });
        let Some(below) = below else {
            let why = format!("`{}` can't be a folder in the sandbox", mount.target);
            return Err(Failure::Refused(why));
        };
        let at = seen.join(below);
        let mut above = seen.to_owned();
        for name in below.parent().into_iter().flat_map(Path::components) {
            above.push(name);
            if !above.exists() {
                std::fs::create_dir(&above)?;
                give(&above, tenant)?;
            }
        }
        let way = copied::way(mount, tenant, Maker::Tenant);
        if let (Way::AsItIs, Some(source)) = (way, mount.sources.first()) {
            let source = std::fs::canonicalize(source);
            let source = source.map_err(|error| super::missing(mount, &error))?;
            symlink(&source, &at)?;
            if mount.mode == Mode::ReadOnly {
                self.readable.push(source);
            } else {
                self.writable.push(source);
            }
            return Ok(at);
        }
        let is_file = mount.sources.first().is_some_and(|source| source.is_file());
        if is_file && way != Way::Empty {
            let made = std::fs::File::create_new(&at)?;
            give(&at, tenant)?;
            self.copies.push(made.into());
            return Ok(at);
        }
        std::fs::create_dir(&at)?;
        give(&at, tenant)?;
        if way != Way::Empty {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let made = fs::openat(CWD, &at, flags, fs::Mode::empty());
            self.copies.push(made.map_err(std::io::Error::from)?);
        }
        // A copy that lies in a folder which can be written can be written as well; it is kept nowhere.
        if way != Way::Copy {
            self.writable.push(at.clone());
        }
        Ok(at)
    }

    /// Where something is that the run would see elsewhere.
    fn really(&self, seen: &str) -> Option<String> {
        let seen = Path::new(seen);
        let mounts = self.mounts.iter();
        let within = mounts.filter_map(|(target, at)| Some((seen.strip_prefix(target).ok()?, at)));
        let (below, at) = within.min_by_key(|(below, _)| below.components().count())?;
        let is_below = |component| matches!(component, Component::Normal(_));
        if !below.components().all(is_below) {
            return None;
        }
        let really = Path::new(at).join(below);
        // A path that ends in a slash is another one to those who look at it.
        Some(
            really
                .components()
                .collect::<PathBuf>()
                .to_str()?
                .to_owned(),
        )
    }

    /// What the child is to do.
    pub(super) fn plan(
        &self,
        kind: Kind,
        spec: &Spec,
        tenant: Option<Owner>,
    ) -> Result<Plan, Failure> {
        let home = self.really("/workspace");
        let places = Places {
            home: home.as_deref().unwrap_or(&self.scratch),
            scratch: &self.scratch,
            programs: &self.programs,
        };
        let mut environment = environment::variables(spec, &places)?;
        for (target, at) in &self.mounts {
            environment.push((variable(target), at.clone()));
        }
        let folder = match spec.folder.as_str() {
            "/" => Some(format!("{}/seen", self.whole)),
            "/tmp" => Some(self.scratch.clone()),
            folder => self.really(folder),
        };
        let folder = folder.ok_or_else(|| {
            Failure::Refused(format!("`{}` is no folder in the sandbox", spec.folder))
        })?;
        Ok(Plan {
            folder,
            writable: self.writable.clone(),
            ..environment::plan(kind, spec, tenant, environment, WATCHING)
        })
    }
}

/// The name of the variable that says where a mount is: `GONGFU_SKILL` for `/skill`.
fn variable(target: &Path) -> String {
    let target = target.to_string_lossy();
    let name = target.trim_matches('/').chars().map(|letter| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    format!("GONGFU_{}", name.collect::<String>())
}

/// Has a folder belong to the one that the run is.
fn give(folder: &Path, tenant: Option<Owner>) -> std::io::Result<()> {
    let Some(Owner { user, group }) = tenant else {
        return Ok(());
    };
    chown(folder, Some(user), Some(group))
}
