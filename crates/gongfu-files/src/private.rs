//! The folders of this machine that no run and no tool for files reaches, whatever is mounted: gongfu's own, and
//! those with a person's keys and passwords.
//!
//! A folder that the operator mounts by its own name is reached: only what lies below a mount is hidden in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;

use crate::disk::{FolderId, Root, id_outside, kind_outside, real_outside};
use crate::home::Home;

/// The files and folders of a home that hold keys and passwords.
const STORES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".pki",
    ".netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".oci",
    ".s3cfg",
    ".config/rclone",
    ".docker",
    ".config/containers/auth.json",
    ".kube",
    ".helm",
    ".vault-token",
    ".terraform.d",
    ".config/op",
    ".config/sops",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".librewolf",
    ".local/share/evolution",
    "snap/firefox",
    "snap/chromium",
    "snap/thunderbird",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.mozilla.Thunderbird",
    ".var/app/com.google.Chrome",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.brave.Browser",
    ".var/app/com.microsoft.Edge",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini",
    ".qwen",
    ".config/github-copilot",
    ".copilot",
    ".cursor/auth.json",
    ".config/Cursor",
    ".config/Code/User/globalStorage",
    ".local/share/opencode/auth.json",
    ".config/goose",
    ".config/crush",
    ".local/share/crush",
    ".aider.conf.yml",
    ".continue",
    ".openai",
    ".anthropic",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".huggingface",
    ".kaggle",
    ".config/wandb",
    ".modal.toml",
    ".config/configstore",
    ".yarnrc.yml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet",
    ".config/NuGet",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".bundle/config",
    ".config/pypoetry/auth.toml",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".config/uv",
    ".local/share/uv/credentials",
    ".condarc",
    ".config/hcloud",
    ".config/scw",
    ".fly",
    ".netlify",
    ".config/netlify",
    ".local/share/com.vercel.cli",
    ".wrangler",
    ".config/.wrangler",
    ".railway",
    ".heroku",
    ".config/heroku",
    ".config/stripe",
    ".config/ngrok",
    ".ngrok2",
    ".cloudflared",
    ".tsh",
    ".okta",
    ".snowflake",
    ".databrickscfg",
    ".dbt",
    ".boto",
    ".mc",
    ".config/filezilla",
    ".config/remmina",
    ".local/share/remmina",
    ".pulumi/credentials.json",
    ".terraformrc",
    ".chef",
    ".config/argocd",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".config/solana",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/keepassxc",
    ".1password",
    ".config/1Password",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".local/share/TelegramDesktop",
    ".config/weechat",
    ".irssi",
    ".config/hexchat",
    ".muttrc",
    ".msmtprc",
    ".fetchmailrc",
    ".mbsyncrc",
    ".offlineimaprc",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".local/share/fish/fish_history",
    ".local/share/atuin",
];
/// Files that a home has, and a project hasn't.
const SIGNS_OF_HOME: [&str; 4] = [".profile", ".bashrc", ".zshrc", ".bash_history"];
/// The list of users.
const USERS: &str = "passwd";
/// The longest list of users that is read, in bytes.
const MAX_USERS: u64 = 1024 * 1024;

/// The private folders of a machine.
#[derive(Debug, Clone)]
pub struct PrivatePaths {
    /// gongfu's own home.
    home: PathBuf,
    /// The part of it that is for programs.
    workspaces: PathBuf,
    /// The homes of users.
    users: Vec<PathBuf>,
    /// The folders on the way to what is private, by which a bind mount of one is found.
    known: Vec<(FolderId, PathBuf)>,
}

impl PrivatePaths {
    /// Those of gongfu's home, and of the homes of this user and of all others.
    pub fn new(home: &Home, user: Option<&Path>) -> Self {
        let home = real_outside(home.path());
        let mut users: Vec<PathBuf> = user.into_iter().map(real_outside).collect();
        users.extend(homes_of_users());
        users.retain(|user| user.parent().is_some());
        users.sort_unstable();
        users.dedup();
        let stores = users.iter().flat_map(|user| stores_of(user));
        let private = stores.chain([home.join("x")]);
        let above: BTreeSet<PathBuf> = private
            .flat_map(|path| {
                path.ancestors()
                    .skip(1)
                    .map(Path::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        let mut known: Vec<(FolderId, PathBuf)> = Vec::new();
        let mut missing: Option<PathBuf> = None;
        for folder in above {
            // Nothing is in a folder that isn't there; those in it come right behind it.
            if missing
                .as_ref()
                .is_some_and(|missing| folder.starts_with(missing))
            {
                continue;
            }
            match id_outside(&folder) {
                Some(id) => known.push((id, folder)),
                None => missing = Some(folder),
            }
        }
        Self {
            workspaces: home.join("workspaces"),
            known,
            home,
            users,
        }
    }

    /// The path of a folder by which what is private is known, where a bind mount shows it by another one.
    fn known(&self, folder: &Path) -> PathBuf {
        let known = folder.ancestors().find_map(|above| {
            let id = id_outside(above)?;
            let (_, known) = self.known.iter().find(|(one, _)| *one == id)?;
            let below = folder.strip_prefix(above).ok()?;
            Some(known.join(below).components().collect())
        });
        known.unwrap_or_else(|| folder.to_owned())
    }

    /// Returns whether a folder itself is one that is never shown: gongfu's home, and all in it but workspaces.
    pub fn refuses(&self, folder: &Path) -> bool {
        let folder = self.known(folder);
        folder.starts_with(&self.home)
            && !(folder.starts_with(&self.workspaces) && folder != self.workspaces)
    }

    /// The real paths of what is hidden below a folder, which is named by its own.
    pub fn below(&self, shown: &Path) -> Vec<PathBuf> {
        let folder = &*self.known(shown);
        // A project may have files of these names, which are its own.
        let home = is_home(folder).then_some(folder);
        let users = self.users.iter().map(PathBuf::as_path);
        let is_near = |user: &&Path| user.starts_with(folder) || folder.starts_with(user);
        let homes = users.filter(is_near).chain(home);
        let stores = homes.flat_map(stores_of);
        let is_below = |path: &PathBuf| path != folder && path.starts_with(folder);
        let there = stores.filter(is_below).filter_map(|path| {
            let root = Root::open(path.parent()?).ok()?;
            root.real(&SkillPath::new(&path.file_name()?.to_string_lossy()).ok()?)
        });
        let hidden = there.chain([self.home.clone()]).filter(is_below);
        let shown = hidden.filter_map(|path| Some(shown.join(path.strip_prefix(folder).ok()?)));
        let mut hidden: Vec<PathBuf> = shown.collect();
        hidden.sort_unstable();
        hidden.dedup();
        hidden
    }
}

/// The files and folders of a home with keys and passwords, whether or not they are there.
fn stores_of(home: &Path) -> Vec<PathBuf> {
    STORES.iter().map(|store| home.join(store)).collect()
}

/// Returns whether a folder is one of a home's with keys and passwords, or lies in one.
pub(crate) fn is_store(home: &Path, folder: &Path) -> bool {
    let below = folder.strip_prefix(home);
    below.is_ok_and(|below| STORES.iter().any(|store| below.starts_with(store)))
}

/// Returns whether a folder looks like the home of somebody who isn't in the list of users.
fn is_home(folder: &Path) -> bool {
    let has = |name: &str| kind_outside(&folder.join(name)).is_some();
    SIGNS_OF_HOME.iter().any(|name| has(name))
}

/// The homes that the list of users names.
pub(crate) fn homes_of_users() -> Vec<PathBuf> {
    let users = Root::open(Path::new("/etc")).and_then(|settings| {
        settings.read(
            &SkillPath::new(USERS).map_err(std::io::Error::other)?,
            MAX_USERS,
        )
    });
    let users = users.map_or_else(|_| Vec::new(), |users| users.bytes);
    let users = String::from_utf8_lossy(&users);
    let homes = users
        .lines()
        .filter_map(|line| Some(PathBuf::from(line.split(':').nth(5)?)))
        .filter(|home| home.is_absolute());
    homes.collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
