//! gongfu's own folder, and the places in it.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::account::Owner;
use gongfu_core::skill::{Digest, SkillPath};

use crate::disk::{self, EntryKind, Root};
use crate::slug::slug;

/// The names of the entries of a home, for removing it. Others in its folder aren't gongfu's.
const ENTRIES: [&str; 37] = [
    "skills",
    "built-in",
    "index",
    "search",
    "audit",
    "uses",
    "clients",
    "workspaces",
    "changes",
    "layers",
    "runs",
    "blobs",
    "records",
    "imports",
    "adopted",
    "kept",
    "locks",
    "run",
    "environments",
    "tools",
    "approvals.json",
    "grants.json",
    "switches.json",
    "trust.json",
    "token",
    "chat-history",
    "config.toml",
    "gongfu.lock",
    "users",
    "teams",
    "user-skills",
    "server.db",
    "server.db-wal",
    "server.db-shm",
    "server.key",
    "backup",
    ".restore",
];

/// The folder of everything that gongfu stores.
///
/// ```text
/// skills/          skills that gongfu itself writes; yours
/// built-in/        the skills that come with gongfu, one folder a version
/// index/           the index of skills folders; derived, may be deleted
/// search/          the search index; derived, may be deleted
/// audit/           all calls; JSON lines, rotated
/// uses/            skills that were loaded or run; may be deleted
/// clients/         the configurations of clients as they were before gongfu changed them; yours
/// workspaces/      files that agents work on, one folder a project; yours
/// changes/         changes of runs that wait for a person; yours
/// layers/          files that runs wrote beside those of a skill, one folder a version of it; yours
/// runs/            long outputs of runs, one folder a workspace; the oldest are removed
/// blobs/           content by digest; yours
/// imports/         records of imports that were interrupted, and files of skills by digest; may be deleted while none runs
/// adopted/         what adoptions wrote, with the bytes before, for `gongfu adopt --undo`; yours
/// kept/            skills that you had changed, as they were before an import replaced them; yours
/// locks/           locks between the processes of gongfu; may be deleted while none runs
/// run/             sockets and logs of the processes that run other servers; may be deleted while none runs
/// records/         records with a path, such as sessions; yours
/// environments/    packages that scripts need, one folder a set of them; may be deleted
/// tools/           programs that gongfu installed, such as uv; may be deleted
/// approvals.json   answers of a person about calls; yours
/// grants.json      hosts that skills may reach; yours
/// switches.json    disabled skills; yours
/// token            the token that stands for you at `gongfu serve`; may be deleted
/// chat-history     lines that you typed in `gongfu chat`; may be deleted
/// connections.json connections to other MCP servers; yours
/// config.toml      settings; yours
/// gongfu.lock      sources and files of skills that were added to the home; yours
/// server.db        accounts and records of a server with accounts, with `-wal` and `-shm`; theirs
/// server.key       what that server signs with; without it everybody signs in again
/// users/           a home for each account, with content, layers, changes and environments; theirs
/// user-skills/     the skills of accounts as folders, made from the database and the content
/// ```
#[derive(Debug, Clone)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// A home at a path; nothing is created before it is needed.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entry at the home's path, or above it, that isn't a folder.
    ///
    /// A home that is missing or read-only is no problem: much works without one.
    pub fn blocked_by(&self) -> Option<&Path> {
        let mut above = self.path.ancestors();
        let found = above.find_map(|path| Some((path, disk::kind_outside(path)?)));
        found
            .filter(|(_, kind)| *kind != EntryKind::Folder)
            .map(|(path, _)| path)
    }

    /// Returns whether other users of the machine may enter the home: audits, answers and what runs left are theirs to
    /// read then. A home that gongfu creates is closed; the mode of one that is there is a person's to change.
    pub fn is_open_to_others(&self) -> bool {
        let Ok(root) = Root::open(&self.path) else {
            return false;
        };
        let allows = |path: &Path, bits| {
            let mode = disk::mode_outside(path);
            mode.is_some_and(|mode| mode & bits != 0)
        };
        let mut above = root.path().ancestors().skip(1);
        allows(root.path(), 0o077) && above.all(|folder| allows(folder, 0o011))
    }

    /// The handle of the home, which is created where it is missing.
    ///
    /// # Errors
    /// It can't be created or opened.
    pub fn open(&self) -> io::Result<Root> {
        Root::create_private(&self.path)
    }

    /// The handle of a folder of the home, which is created where it is missing.
    ///
    /// # Errors
    /// It can't be created or opened.
    pub fn folder(&self, name: &str) -> io::Result<Root> {
        Root::create_private(&self.path.join(name))
    }

    /// The folder of the home's own skills.
    pub fn skills(&self) -> PathBuf {
        self.path.join("skills")
    }

    /// The workspace of a project, unless a person names another folder.
    pub fn workspace_of(&self, project: &Path) -> PathBuf {
        let real =
            Root::open(project).map_or_else(|_| project.to_owned(), |root| root.path().to_owned());
        self.of("workspaces", &real)
    }

    /// The home of a user or a team. It has no entry of this one's.
    #[must_use]
    pub fn of_owner(&self, owner: &Owner) -> Self {
        Self::at(match owner {
            Owner::Local => self.path.clone(),
            Owner::User(user) => self.path.join("users").join(user.as_str()),
            Owner::Team(team) => self.path.join("teams").join(team.as_str()),
        })
    }

    /// The workspace of a user or a team.
    pub fn workspace_of_owner(&self, owner: &Owner) -> PathBuf {
        let name = match owner {
            Owner::Local => "local".to_owned(),
            Owner::User(user) => format!("user-{}", user.as_str()),
            Owner::Team(team) => team.as_str().to_owned(),
        };
        self.path.join("workspaces").join(name)
    }

    /// The folder of the accounts' skills, unless the operator names another.
    pub fn user_skills(&self) -> PathBuf {
        self.path.join("user-skills")
    }

    /// The database of a server with accounts, unless the operator names another.
    pub fn database(&self) -> PathBuf {
        self.path.join("server.db")
    }

    /// The file that a backup of the accounts holds locked.
    pub fn backup_lock(&self) -> PathBuf {
        self.path.join("backup.lock")
    }

    /// The layers above skills.
    pub fn layers(&self) -> PathBuf {
        self.path.join("layers")
    }

    /// The change sets that wait for a person.
    pub fn changes(&self) -> PathBuf {
        self.path.join("changes")
    }

    /// The long outputs of the runs in a workspace.
    pub fn logs_of(&self, workspace: &Path) -> PathBuf {
        self.of("runs", workspace)
    }

    /// A folder of the home for another folder: its name is for people, the digest of its path makes it
    /// unique.
    fn of(&self, kind: &str, folder: &Path) -> PathBuf {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let digest = Digest::of(folder.as_os_str().as_encoded_bytes()).hex(12);
        self.path
            .join(kind)
            .join(format!("{}-{digest}", slug(&name)))
    }

    /// The folder of the environments.
    pub fn environments(&self) -> PathBuf {
        self.path.join("environments")
    }

    /// A program that gongfu itself installed.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.path.join("tools").join(name).join("bin").join(name)
    }

    /// The file of the connections to other MCP servers.
    pub fn connections(&self) -> PathBuf {
        self.path.join("connections.json")
    }

    /// The file of the lines that the person typed in chats.
    pub fn chat_history(&self) -> PathBuf {
        self.path.join("chat-history")
    }

    /// The file of the settings.
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// Creates the home with its folders; answers whether it is new.
    ///
    /// # Errors
    /// It can't be created.
    pub fn create(&self) -> io::Result<bool> {
        let new = Root::open(&self.path).is_err();
        self.open()?;
        self.folder("skills")?;
        Ok(new)
    }

    /// Removes everything that can be derived again or installed again: environments and tools.
    ///
    /// # Errors
    /// A folder can't be removed.
    pub fn remove_environments(&self) -> io::Result<()> {
        let Ok(root) = Root::open(&self.path) else {
            return Ok(());
        };
        for name in ["environments", "tools"] {
            remove_entry(&root, name)?;
        }
        Ok(())
    }

    /// Removes the home; answers the names of entries that stay, because they aren't gongfu's.
    ///
    /// # Errors
    /// An entry can't be removed.
    pub fn remove(&self) -> io::Result<Vec<String>> {
        let Ok(root) = Root::open(&self.path) else {
            return Ok(Vec::new());
        };
        let mut rest = Vec::new();
        for entry in root.list(&SkillPath::new("").map_err(io::Error::other)?)? {
            if is_own(&entry.name) {
                remove_entry(&root, &entry.name)?;
            } else {
                rest.push(entry.name);
            }
        }
        if let (true, Some(parent), Some(name)) = (
            rest.is_empty(),
            root.path().parent(),
            root.path().file_name(),
        ) {
            Root::open(parent)?.dir().remove_dir(name)?;
        }
        Ok(rest)
    }
}

/// Returns whether gongfu made an entry of its home: by its name, or as the lock of one, or a temporary file.
fn is_own(name: &str) -> bool {
    let locked = name.strip_suffix(".lock");
    let is_locked = |entry: &str| Some(entry.trim_end_matches(".json")) == locked;
    let mut entries = ENTRIES.iter();
    disk::is_temporary(name) || entries.any(|entry| *entry == name || is_locked(entry))
}

/// Removes an entry without following a link in its place.
fn remove_entry(root: &Root, name: &str) -> io::Result<()> {
    let removed = match root.dir().symlink_metadata(name) {
        Ok(entry) if entry.is_dir() => root.dir().remove_dir_all(name),
        Ok(_) => root.dir().remove_file(name),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::{Home, Root};

    #[test]
    fn new_home_is_closed_to_other_users_and_an_existing_one_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        // The folder for temporary files may be closed itself.
        let mut above = folder.path().ancestors().skip(1);
        let is_reachable = above.all(|folder| mode(folder) & 0o011 != 0);
        set(folder.path(), 0o755).unwrap();
        for (number, create) in [
            |home: &Home| home.create().map(drop),
            |home: &Home| home.folder("index").map(drop),
            |home: &Home| Root::create_private(&home.layers().join("x")).map(drop),
        ]
        .into_iter()
        .enumerate()
        {
            let home = Home::at(folder.path().join(number.to_string()));
            create(&home).unwrap();
            assert_eq!(mode(home.path()), 0o700);
            assert!(!home.is_open_to_others());
            set(home.path(), 0o755).unwrap();
            create(&home).unwrap();
            assert_eq!(mode(home.path()), 0o755);
            assert_eq!(home.is_open_to_others(), is_reachable);
            // Nobody gets there.
            set(folder.path(), 0o700).unwrap();
            assert!(!home.is_open_to_others());
            set(folder.path(), 0o755).unwrap();
        }
    }

    #[test]
    fn removing_a_home_leaves_what_is_not_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("mine"), "x").unwrap();
        let home = Home::at(folder.path().join("home"));
        assert!(home.remove().unwrap().is_empty());
        home.create().unwrap();
        for file in [
            "skills/x/SKILL.md",
            "config.toml",
            "grants.json",
            "grants.lock",
            "tools/uv",
        ] {
            let file = home.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x").unwrap();
        }
        // A link goes; what it leads to stays.
        std::os::unix::fs::symlink(&outside, home.path().join("workspaces")).unwrap();
        fs::write(home.path().join("notes.txt"), "x").unwrap();
        home.remove_environments().unwrap();
        assert!(!home.path().join("tools").exists());
        assert_eq!(home.remove().unwrap(), ["notes.txt"]);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        fs::remove_file(home.path().join("notes.txt")).unwrap();
        assert!(home.remove().unwrap().is_empty());
        assert!(!home.path().exists() && outside.join("mine").exists());
    }

    #[test]
    fn file_in_the_way_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        assert_eq!(Home::at(&file).blocked_by(), Some(file.as_path()));
        let below = Home::at(file.join("a/home"));
        assert_eq!(below.blocked_by(), Some(file.as_path()));
        for free in [folder.path().to_owned(), folder.path().join("a/home")] {
            assert_eq!(Home::at(free).blocked_by(), None);
        }
    }
}
