//! Git repositories, fetched by the person's own git with their credentials.
//!
//! One commit is fetched into an empty bare repository, and its files are read by `cat-file`. Nothing is ever checked
//! out: hooks, filters, attributes, links and submodules of the repository have no effect.

mod tree;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gongfu_core::skill::SkillPath;
use gongfu_files::disk::Root;
use url::Url;

use crate::content::{Content, ReadFiles};
use crate::error::{ImportCode, ImportError};
use crate::program::{Output, Program};
use crate::source::{GitSource, is_loopback, shown};

/// The time that a fetch may take.
const TIMEOUT: Duration = Duration::from_mins(10);
/// The time that a question to a repository on this disk may take.
const LOCAL_TIMEOUT: Duration = Duration::from_mins(2);
/// The most KiB of memory of a git: a server decides how many refs and objects it has to hold.
const MEMORY: u32 = 3 * 1024 * 1024;
/// The most bytes of a repository, packed.
const MAX_REPOSITORY: u64 = 512 * 1024 * 1024;
/// The most bytes of a list of refs, or of files.
const MAX_LIST: u64 = 48 * 1024 * 1024;
/// The most bytes of files that are read at once: the documents of a group of skills, or the files of one.
const MAX_READ: u64 = 96 * 1024 * 1024;
/// The name that what was fetched has in the bare repository.
const FETCHED: &str = "refs/gongfu/fetched";

/// The person's settings that decide how git is called.
#[derive(Debug, Clone, Copy, Default)]
pub struct GitSettings {
    /// True if the variable `GIT_SSH_COMMAND` is set.
    pub has_ssh_command: bool,
}

/// A repository of which one commit is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteCommit {
    /// The commit, as git names it.
    pub commit: String,
    /// The full name of the branch or tag; none for a commit that a person named.
    reference: Option<String>,
}

/// A commit of a repository, and its files.
#[derive(Debug)]
pub struct FetchedRepository {
    /// The commit.
    pub commit: String,
    /// The ids of the trees, by folder.
    pub trees: BTreeMap<SkillPath, String>,
    /// The files.
    pub content: Content,
}

/// A person's git.
#[derive(Debug, Clone, Copy)]
pub struct Git {
    settings: GitSettings,
}

impl Git {
    /// git with the person's settings.
    pub fn new(settings: GitSettings) -> Self {
        Self { settings }
    }

    /// The commit that a source means now, without fetching it.
    ///
    /// # Errors
    /// The repository can't be reached, or has no such branch or tag.
    pub fn resolve(self, source: &GitSource) -> Result<RemoteCommit, ImportError> {
        if let Some(commit) = source.reference.as_deref().filter(|name| is_commit(name)) {
            return Ok(RemoteCommit {
                commit: commit.to_ascii_lowercase(),
                reference: None,
            });
        }
        let wanted = match &source.reference {
            None => vec!["HEAD".to_owned()],
            Some(name) => {
                let kinds = ["refs/heads", "refs/tags"];
                let full = kinds.map(|kind| format!("{kind}/{name}"));
                // The commit of a tag that has a message.
                full.iter()
                    .cloned()
                    .chain([format!("refs/tags/{name}^{{}}")])
                    .collect()
            }
        };
        let mut arguments = words(&["ls-remote", "--quiet", "--end-of-options", &source.url]);
        arguments.extend(wanted.iter().map(OsString::from));
        let output = self.call(None, arguments, source, None)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let refs: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter(|(commit, _)| is_commit(commit))
            .map(|(commit, name)| (name, commit))
            .collect();
        // A branch counts before a tag, as in a clone.
        let found = wanted.iter().find(|name| refs.contains_key(name.as_str()));
        let Some(name) = found else {
            let message = match &source.reference {
                Some(name) => format!("{} has no branch or tag `{name}`", shown(&source.url)),
                None => format!("{} has no commit yet", shown(&source.url)),
            };
            let hint = "check the name: `git ls-remote` lists the branches and tags";
            return Err(ImportError::new(
                ImportCode::SourceUnreachable,
                message,
                hint,
            ));
        };
        let peeled = refs.get(format!("{name}^{{}}").as_str());
        let commit = peeled.or_else(|| refs.get(name.as_str()));
        Ok(RemoteCommit {
            commit: commit.copied().unwrap_or_default().to_owned(),
            reference: Some(name.clone()),
        })
    }

    /// Fetches a commit into an empty folder, which stays in use as long as the files are read.
    ///
    /// # Errors
    /// The repository can't be reached, lies about the commit, is too large, or has what no skill may have.
    pub fn fetch(
        self,
        source: &GitSource,
        remote: &RemoteCommit,
        folder: &Path,
    ) -> Result<FetchedRepository, ImportError> {
        let here = folder.as_os_str().to_owned();
        let mut arguments = words(&[
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--end-of-options",
        ]);
        arguments.push(here);
        self.call(None, arguments, source, None)?;
        let shallow = remote.reference.as_deref().unwrap_or(&remote.commit);
        if let Err(error) = self.fetch_one(source, folder, &["--depth=1"], &[shallow]) {
            // A server may hand out no commit by its id.
            if remote.reference.is_some() {
                return Err(error);
            }
            let all = ["refs/heads/*", "refs/tags/*"];
            self.fetch_one(source, folder, &[], &all)
                .map_err(|_| error)?;
        }
        let commit = self.commit_of(source, folder, remote)?;
        let list = self.call(
            Some(folder),
            words(&["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", &commit]),
            source,
            None,
        )?;
        let mut reader = GitReader {
            git: self,
            source: source.clone(),
            folder: folder.to_owned(),
            ids: BTreeMap::new(),
        };
        let tree = tree::read(&list.stdout, &mut |ids| reader.objects(ids))?;
        reader.ids = tree.ids;
        Ok(FetchedRepository {
            commit,
            trees: tree.trees,
            content: Content::new(tree.files, tree.refused, Box::new(reader)),
        })
    }

    fn fetch_one(
        self,
        source: &GitSource,
        folder: &Path,
        options: &[&str],
        names: &[&str],
    ) -> Result<Output, ImportError> {
        let mut arguments = words(&[
            "fetch",
            "--quiet",
            "--force",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-gc",
        ]);
        arguments.extend(words(options));
        arguments.extend(words(&["--end-of-options", &source.url]));
        arguments.extend(names.iter().map(|name| {
            let target = if name.ends_with('*') {
                format!("{FETCHED}/{}", name.trim_start_matches("refs/"))
            } else {
                FETCHED.to_owned()
            };
            OsString::from(format!("+{name}:{target}"))
        }));
        let objects = Root::open(&folder.join("objects"));
        let mut watch = || match &objects {
            Ok(objects) => check_size(objects, &source.url),
            Err(_) => Ok(()),
        };
        self.call(Some(folder), arguments, source, Some(&mut watch))
    }

    /// The commit that was fetched; of a branch, the server may have a newer one than a moment ago.
    fn commit_of(
        self,
        source: &GitSource,
        folder: &Path,
        remote: &RemoteCommit,
    ) -> Result<String, ImportError> {
        let wanted = match &remote.reference {
            Some(_) => format!("{FETCHED}^{{commit}}"),
            None => format!("{}^{{commit}}", remote.commit),
        };
        let arguments = words(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &wanted,
        ]);
        let output = self.call(Some(folder), arguments, source, None);
        let output = output.map_err(|_| {
            let place = shown(&source.url);
            let message = format!("{place} didn't send the commit {}", remote.commit);
            ImportError::unreachable(
                message,
                "check the commit; one that no branch has can't be fetched",
            )
        })?;
        let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if remote.reference.is_none() && commit != remote.commit || !is_commit(&commit) {
            let place = shown(&source.url);
            let message = format!("{place} sent another commit than was asked for");
            return Err(ImportError::refused(message));
        }
        Ok(commit)
    }

    /// Calls git with settings under which nothing of a repository has an effect and nobody is asked.
    fn call(
        self,
        folder: Option<&Path>,
        arguments: Vec<OsString>,
        source: &GitSource,
        watch: Option<crate::program::Watch<'_>>,
    ) -> Result<Output, ImportError> {
        let output = self.start(folder, arguments, source, None, MAX_LIST, watch)?;
        if output.status == Some(0) {
            return Ok(output);
        }
        Err(failed(source, &output.stderr))
    }

    fn start(
        self,
        folder: Option<&Path>,
        arguments: Vec<OsString>,
        source: &GitSource,
        stdin: Option<Vec<u8>>,
        max_output: u64,
        watch: Option<crate::program::Watch<'_>>,
    ) -> Result<Output, ImportError> {
        let mut all = words(&[
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "protocol.ext.allow=never",
            "-c",
            "fetch.recurseSubmodules=false",
            "-c",
            "fetch.writeCommitGraph=false",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            // What comes stays packed, so that its size is seen, and long files needn't fit into memory.
            "-c",
            "fetch.unpackLimit=1",
            "-c",
            "transfer.unpackLimit=1",
            "-c",
            "core.bigFileThreshold=32m",
            "-c",
            "pack.threads=2",
            "-c",
            "http.followRedirects=false",
            "-c",
            "http.lowSpeedLimit=1000",
            "-c",
            "http.lowSpeedTime=60",
        ]);
        if let Some(folder) = folder {
            let mut option = OsString::from("--git-dir=");
            option.push(folder);
            all.push(option);
        }
        let is_local = watch.is_none() && folder.is_some();
        all.extend(arguments);
        Program {
            name: "git",
            arguments: all,
            folder: None,
            variables: self.variables(source),
            stdin,
            memory: MEMORY,
            timeout: if is_local { LOCAL_TIMEOUT } else { TIMEOUT },
            max_output,
            watch,
        }
        .run()
    }

    fn variables(self, source: &GitSource) -> Vec<(&'static str, Option<OsString>)> {
        let is_http =
            Url::parse(&source.url).is_ok_and(|url| url.scheme() == "http" && is_loopback(&url));
        let protocols = if is_http { "http" } else { "https:ssh:file" };
        let set = |value: &str| Some(OsString::from(value));
        let mut variables = vec![
            ("GIT_ALLOW_PROTOCOL", set(protocols)),
            ("GIT_TERMINAL_PROMPT", set("0")),
            ("GIT_ASKPASS", set("true")),
            ("SSH_ASKPASS_REQUIRE", set("never")),
            ("GIT_OPTIONAL_LOCKS", set("0")),
            ("GIT_NO_LAZY_FETCH", set("1")),
            ("GIT_LFS_SKIP_SMUDGE", set("1")),
            ("LC_ALL", set("C")),
        ];
        // A repository that this process was started in must have no effect.
        let here = [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_COMMON_DIR",
            "GIT_NAMESPACE",
            "GIT_SHALLOW_FILE",
            "GIT_TEMPLATE_DIR",
        ];
        variables.extend(here.map(|name| (name, None)));
        if !self.settings.has_ssh_command {
            variables.push(("GIT_SSH_COMMAND", set("ssh -oBatchMode=yes")));
        }
        variables
    }
}

/// Reads files of a bare repository.
struct GitReader {
    git: Git,
    source: GitSource,
    folder: PathBuf,
    ids: BTreeMap<SkillPath, String>,
}

impl ReadFiles for GitReader {
    fn read(&mut self, paths: &[&SkillPath]) -> Result<Vec<Vec<u8>>, ImportError> {
        let ids = paths.iter().map(|path| match self.ids.get(*path) {
            Some(id) => Ok(id.clone()),
            None => Err(ImportError::refused(format!(
                "`{path}` isn't in the repository"
            ))),
        });
        let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
        self.objects(&ids)
    }
}

impl GitReader {
    fn objects(&self, ids: &[String]) -> Result<Vec<Vec<u8>>, ImportError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = ids.join("\n");
        input.push('\n');
        let arguments = words(&["cat-file", "--batch", "--buffer"]);
        let stdin = Some(input.into_bytes());
        let folder = Some(self.folder.as_path());
        let output = self
            .git
            .start(folder, arguments, &self.source, stdin, MAX_READ, None)?;
        let objects = tree::objects(&output.stdout, ids.len());
        objects.ok_or_else(|| failed(&self.source, &output.stderr))
    }
}

/// Refuses a repository that grows too large while it is fetched.
fn check_size(objects: &Root, url: &str) -> Result<(), ImportError> {
    let mut bytes = 0_u64;
    let _ = objects.walk(|entry| {
        let metadata = objects.dir().symlink_metadata(&entry.path);
        bytes += metadata.map_or(0, |metadata| metadata.len());
        Ok::<_, ()>(())
    });
    if bytes > MAX_REPOSITORY {
        let limit = MAX_REPOSITORY / 1024 / 1024;
        return Err(ImportError::too_large(format!(
            "{} is larger than {limit} MiB",
            shown(url)
        )));
    }
    Ok(())
}

/// The reason of a failure, in git's own words, without a secret that they may have.
fn failed(source: &GitSource, messages: &str) -> ImportError {
    let line = messages
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("fatal:") || line.starts_with("ERROR"))
        .or_else(|| {
            messages
                .lines()
                .rev()
                .map(str::trim)
                .find(|line| !line.is_empty())
        })
        .unwrap_or("it ended without a reason");
    let line = line.trim_start_matches("fatal:").trim();
    let place = shown(&source.url);
    // git repeats the address.
    let line = line.replace(&source.url, place);
    let message = format!("{place} can't be fetched: {line}");
    let lower = messages.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let hint = if has(&[
        "authentication failed",
        "could not read username",
        "permission denied",
        "error: 403",
        "error: 401",
    ]) {
        "sign in as for `git clone`: a credential helper, `gh auth setup-git`, or an SSH key in your agent"
    } else if has(&["error: 301", "error: 302", "error: 307", "error: 308"]) {
        "the repository moved: use the address that its page shows now"
    } else if has(&[
        "not found",
        "does not exist",
        "does not appear to be a git repository",
        "error: 404",
    ]) {
        "check the address; a private repository isn't found without credentials, too"
    } else if has(&["host key verification"]) {
        "connect once by `ssh`, so that the host's key is known"
    } else {
        "try `git ls-remote` with this address"
    };
    ImportError::unreachable(message, hint)
}

/// Returns true for the full id of a commit, SHA-1 or SHA-256.
fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests;
