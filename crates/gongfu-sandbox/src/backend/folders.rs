//! The folders of a run where nothing can be mounted: they keep their paths on the machine.
//!
//! A variable says where each of them lies: `GONGFU_SKILL` for `/skill`, `GONGFU_WORKSPACE` for `/workspace`,
//! and so on for every mount. Arguments are passed as they are.

use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use gongfu_core::sandbox::{Mode, Mount, Spec};
use rustix::fs::{self, CWD, OFlags};

use super::Failure;
use super::copy::{Exposure, MountedBy, exposure};
use super::program::{self, Places};
use crate::plan::{Isolation, Launch, Plan, UnixId};
use crate::run_as::give;

/// The child counts the other processes of the user itself.
const OTHER_PROCESSES: u64 = 0;

/// Other names of programs that scripts use, with the paths of the programs.
pub(crate) type OtherNames = Vec<(String, PathBuf)>;

/// The folders of a run.
pub(crate) struct Folders {
    /// The folder with all others in it.
    pub(crate) whole: String,
    /// The targets of the mounts, with their paths.
    mounts: Vec<(PathBuf, String)>,
    /// The copies that must be filled.
    pub(crate) copies: Vec<OwnedFd>,
    home: String,
    scratch: String,
    programs: String,
    /// The paths that the run may read besides the system.
    pub(crate) readable: Vec<PathBuf>,
    /// The paths that it may write as well.
    pub(crate) writable: Vec<PathBuf>,
}

impl Folders {
    /// Makes the folders of a run in this one.
    pub(crate) fn new(
        whole: &Path,
        job: &Spec,
        tenant: Option<UnixId>,
        other_names: &OtherNames,
    ) -> Result<Self, Failure> {
        let text = |path: &Path| {
            let path = path.to_str().map(str::to_owned);
            let why = "the path of the temporary folder (TMPDIR) is not UTF-8";
            path.ok_or_else(|| Failure::Unavailable(why.to_owned()))
        };
        let [scratch, home, programs] = ["tmp", "home", "programs"].map(|name| whole.join(name));
        for own in [&scratch, &home] {
            std::fs::create_dir(own)?;
            give(own, tenant)?;
        }
        std::fs::create_dir(&programs)?;
        for (name, to) in other_names {
            symlink(to, programs.join(name))?;
        }
        let mut folders = Self {
            whole: text(whole)?,
            mounts: Vec::new(),
            copies: Vec::new(),
            home: text(&home)?,
            scratch: text(&scratch)?,
            programs: text(&programs)?,
            readable: vec![whole.to_owned()],
            writable: vec![scratch, home],
        };
        std::fs::create_dir(whole.join("seen"))?;
        for mount in &job.mounts {
            let at = folders.mount(job, &whole.join("seen"), mount, tenant)?;
            folders
                .mounts
                .push((PathBuf::from(&mount.target), text(&at)?));
        }
        Ok(folders)
    }

    /// Makes the folder, the file or the link of a mount.
    fn mount(
        &mut self,
        job: &Spec,
        seen: &Path,
        mount: &Mount,
        tenant: Option<UnixId>,
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
        let exposure = exposure(mount, &job.hidden, tenant, MountedBy::Tenant);
        if let (Exposure::Bind, Some(source)) = (exposure, mount.sources.first()) {
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
        if is_file && exposure != Exposure::Empty {
            let made = std::fs::File::create_new(&at)?;
            give(&at, tenant)?;
            self.copies.push(made.into());
            return Ok(at);
        }
        std::fs::create_dir(&at)?;
        give(&at, tenant)?;
        if exposure != Exposure::Empty {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let made = fs::openat(CWD, &at, flags, fs::Mode::empty());
            self.copies.push(made.map_err(std::io::Error::from)?);
        }
        // A copy inside of a writable folder can be written as well, but is collected nowhere.
        if exposure != Exposure::Copy {
            self.writable.push(at.clone());
        }
        Ok(at)
    }

    /// The path on the machine of a path that the job names.
    fn real_path(&self, seen: &str) -> Option<String> {
        let seen = Path::new(seen);
        let mounts = self.mounts.iter();
        let within = mounts.filter_map(|(target, at)| Some((seen.strip_prefix(target).ok()?, at)));
        let (below, at) = within.min_by_key(|(below, _)| below.components().count())?;
        let is_below = |component| matches!(component, Component::Normal(_));
        if !below.components().all(is_below) {
            return None;
        }
        let real = Path::new(at).join(below);
        // Without a slash at the end.
        Some(real.components().collect::<PathBuf>().to_str()?.to_owned())
    }

    /// Makes the plan of the run, which may read these files and folders.
    pub(crate) fn plan(
        &self,
        launch: Launch,
        readable: Vec<PathBuf>,
        job: &Spec,
        tenant: Option<UnixId>,
    ) -> Result<Plan, Failure> {
        let places = Places {
            home: &self.home,
            scratch: &self.scratch,
            programs: &self.programs,
        };
        let mut environment = program::variables(job, &places)?;
        for (target, at) in &self.mounts {
            environment.push((variable(target), at.clone()));
        }
        let folder = match job.folder.as_str() {
            "/" => Some(format!("{}/seen", self.whole)),
            "/tmp" => Some(self.scratch.clone()),
            folder => self.real_path(folder),
        };
        let folder = folder.ok_or_else(|| {
            Failure::Refused(format!("`{}` is not a folder in the sandbox", job.folder))
        })?;
        Ok(Plan {
            folder,
            writable: self.writable.clone(),
            ..program::plan(
                Some(launch),
                Isolation::Host { readable },
                job,
                tenant,
                environment,
                OTHER_PROCESSES,
            )
        })
    }
}

/// The name of the variable with the path of a mount: `GONGFU_SKILL` for `/skill`.
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
