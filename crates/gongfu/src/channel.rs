//! The channel that installed this program, and its commands to update and remove it.
//!
//! A new channel is an entry of the table.

use std::path::{Path, PathBuf};

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{self, EntryKind, Root};

#[cfg(test)]
mod tests;

/// A file beside the program, with the id of the channel that put both there.
const MARKER: &str = ".gongfu-channel";
const MAX_MARKER: u64 = 64;

/// A way to install gongfu.
pub(crate) struct Channel {
    /// The channel in words, after "installed by".
    pub(crate) title: &'static str,
    /// The test that it installed the program.
    installed: fn(&Program) -> bool,
    /// The command that updates, with `{program}`, its `{folder}` and npm's `{package}` folder filled in.
    update: &'static str,
    /// The command that removes, by the same rule.
    remove: &'static str,
    /// The words that start gongfu again, where the program itself lies in a cache.
    pub(crate) launcher: &'static [&'static str],
}

/// All channels; the first that fits counts.
#[rustfmt::skip]
const CHANNELS: [Channel; 13] = [
    Channel { title: "the container image", installed: |program| program.marker() == "image", update: "docker pull ghcr.io/gongfu-skills/gongfu", remove: "docker image rm ghcr.io/gongfu-skills/gongfu", launcher: &[] },
    Channel { title: "an .mcpb bundle", installed: |program| program.marker() == "bundle", update: "install the new bundle in your client", remove: "remove the extension in your client", launcher: &[] },
    Channel { title: "the installer", installed: |program| program.marker() == "archive", update: "run the installer of the new version", remove: "rm {program} {folder}/.gongfu-channel", launcher: &[] },
    Channel { title: "the Debian package", installed: |program| program.is_at("/usr/bin") && program.has("/var/lib/dpkg/info/gongfu.list"), update: "sudo apt install ./gongfu_VERSION.deb", remove: "sudo apt purge gongfu", launcher: &[] },
    Channel { title: "npx, in its cache", installed: |program| program.is_below("node_modules") && program.is_below("_npx"), update: "npx gongfu@latest --version", remove: "rm -r {package}", launcher: &["npx", "-y", "gongfu"] },
    Channel { title: "npm", installed: |program| program.is_below("node_modules") && program.is_below("lib"), update: "npm install --global gongfu@latest", remove: "npm uninstall --global gongfu", launcher: &[] },
    Channel { title: "npm, in a project", installed: |program| program.is_below("node_modules"), update: "npm install gongfu@latest", remove: "npm uninstall gongfu", launcher: &[] },
    Channel { title: "uvx, in its cache", installed: |program| program.is_below("archive-v0") || program.is_below("builds-v0"), update: "uvx gongfu@latest --version", remove: "uv cache clean gongfu && uv cache prune", launcher: &["uvx", "gongfu"] },
    Channel { title: "uv", installed: |program| program.has("uv-receipt.toml"), update: "uv tool upgrade gongfu", remove: "uv tool uninstall gongfu && uv cache clean gongfu", launcher: &[] },
    Channel { title: "pipx", installed: |program| program.has("pipx_metadata.json"), update: "pipx upgrade gongfu", remove: "pipx uninstall gongfu", launcher: &[] },
    Channel { title: "pip", installed: Program::is_wheel, update: "{folder}/python -m pip install --upgrade gongfu", remove: "{folder}/python -m pip uninstall gongfu", launcher: &[] },
    Channel { title: "cargo", installed: |program| program.has(".crates.toml"), update: "cargo install --locked --git https://github.com/gongfu-skills/gongfu gongfu", remove: "cargo uninstall gongfu", launcher: &[] },
    Channel { title: "a build of the sources", installed: |program| program.is_below("target"), update: "git pull, and build again", remove: "rm {program}", launcher: &[] },
];

/// Returns whether a command is one that starts gongfu from a package manager's cache.
pub(crate) fn is_launcher(command: &str) -> bool {
    let mut launchers = CHANNELS.iter().map(|channel| channel.launcher.first());
    launchers.any(|first| first == Some(&command))
}

/// A copy that no channel of the table put there.
const BY_HAND: Channel = Channel {
    title: "hand",
    installed: |_| true,
    update: "replace it with a newer one",
    remove: "rm {program}",
    launcher: &[],
};

/// The program, and where it is.
pub(crate) struct Program {
    path: PathBuf,
    /// The root of the file system; another one in tests.
    root: PathBuf,
}

impl Program {
    /// This program, by its real path.
    pub(crate) fn current() -> Self {
        let path = std::env::current_exe().unwrap_or_default();
        Self {
            path: disk::real_outside(&path),
            root: PathBuf::from("/"),
        }
    }

    /// The channel that installed it.
    pub(crate) fn channel(&self) -> &'static Channel {
        let mut channels = CHANNELS.iter();
        let found = channels.find(|channel| (channel.installed)(self));
        found.unwrap_or(&BY_HAND)
    }

    /// The command that updates it.
    pub(crate) fn update(&self) -> String {
        self.filled(self.channel().update)
    }

    /// The command that removes it.
    pub(crate) fn remove(&self) -> String {
        self.filled(self.channel().remove)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A command with the places of this program.
    fn filled(&self, command: &str) -> String {
        let modules = self.path.ancestors();
        let modules =
            modules.filter(|path| path.file_name().is_some_and(|it| it == "node_modules"));
        let package = modules.last().and_then(Path::parent);
        command
            .replace("{program}", &quoted(&self.path))
            .replace("{folder}", &quoted(self.folder()))
            .replace("{package}", &quoted(package.unwrap_or(self.folder())))
    }

    /// The folder that holds it.
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.root)
    }

    /// The text of the file beside it.
    fn marker(&self) -> String {
        let read = || {
            let folder = Root::open(self.folder()).ok()?;
            let name = SkillPath::new(MARKER).ok()?;
            let content = folder.read(&name, MAX_MARKER).ok()?;
            String::from_utf8(content.bytes).ok()
        };
        read().unwrap_or_default().trim().to_owned()
    }

    fn is_at(&self, folder: &str) -> bool {
        self.folder() == self.root.join(folder.trim_start_matches('/'))
    }

    fn is_below(&self, name: &str) -> bool {
        self.path.components().any(|part| part.as_os_str() == name)
    }

    /// Returns whether a file exists: below the root, or in the folder above the program's.
    fn has(&self, file: &str) -> bool {
        let base = if file.starts_with('/') {
            Some(self.root.as_path())
        } else {
            self.folder().parent()
        };
        let path = base.map(|base| base.join(file.trim_start_matches('/')));
        path.is_some_and(|path| disk::kind_outside(&path) == Some(EntryKind::File))
    }

    /// Returns whether a wheel put it there: the folder of its metadata lies in the same environment.
    fn is_wheel(&self) -> bool {
        let names = |folder: &Path| {
            let root = Root::open(folder).ok();
            let top = SkillPath::new("").ok();
            let entries = root.zip(top).and_then(|(root, top)| root.list(&top).ok());
            let entries = entries.unwrap_or_default().into_iter();
            entries.map(|entry| entry.name).collect::<Vec<String>>()
        };
        let Some(libraries) = self.folder().parent().map(|prefix| prefix.join("lib")) else {
            return false;
        };
        let versions = names(&libraries).into_iter();
        let mut versions = versions.filter(|name| name.starts_with("python"));
        versions.any(|version| {
            ["site-packages", "dist-packages"].iter().any(|packages| {
                let found = names(&libraries.join(&version).join(packages));
                found
                    .iter()
                    .any(|name| name.starts_with("gongfu-") && name.ends_with(".dist-info"))
            })
        })
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
