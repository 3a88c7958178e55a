//! The skills of servers as skills of a library: their sources, names and files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gongfu_core::connection::{ConnectionName, OfferedSkill};
use gongfu_core::library::{FindingCount, Library, Skill, Source, SourceKind};
use gongfu_core::port::ServerSkills;
use gongfu_core::skill::{FileEntry, FileKind, SkillName, SkillPath};
use gongfu_core::switches::Switches;
use serde_json::Value;

/// The beginning of the path of such a skill, which is no path on a disk.
const PATH: &str = "mcp:";
/// Endings of files that are no text. What a file really is, is known once it is read.
const BINARY: [&str; 22] = [
    "png", "jpg", "jpeg", "gif", "webp", "ico", "pdf", "zip", "skill", "gz", "tgz", "docx", "xlsx",
    "pptx", "ttf", "otf", "woff", "woff2", "mp3", "mp4", "wasm", "bin",
];

/// A skill of a server.
#[derive(Clone)]
pub(super) struct ServerSkill {
    /// The skill of the library.
    pub(super) skill: Arc<Skill>,
    /// The connection.
    pub(super) connection: ConnectionName,
    /// The skill as a person approved it.
    pub(super) offered: Arc<OfferedSkill>,
}

/// Returns true for the path of a skill of a server.
pub(super) fn is_path(path: &str) -> bool {
    path.starts_with(PATH)
}

/// The sources of servers, and their skills.
pub(super) fn union(
    local: &Library,
    servers: &[ServerSkills],
    switches: &Switches,
) -> (Vec<Source>, Vec<ServerSkill>) {
    let (mut sources, mut skills) = (Vec::new(), Vec::new());
    let mut taken: HashSet<Arc<str>> = local
        .sources()
        .iter()
        .map(|source| Arc::clone(&source.id))
        .collect();
    for server in servers {
        let id = id(&server.connection, &taken);
        taken.insert(Arc::clone(&id));
        sources.push(Source {
            id: Arc::clone(&id),
            kind: SourceKind::Server,
            root: server.connection.to_string(),
            project: None,
        });
        let mut names: HashMap<&str, usize> = HashMap::new();
        for pinned in server.usable() {
            *names.entry(pinned.skill.name()).or_default() += 1;
        }
        let found = server.usable().filter_map(|pinned| {
            let is_only = names.get(pinned.skill.name()) == Some(&1);
            let skill = skill(&id, &server.connection, &pinned.skill, is_only, switches)?;
            Some(ServerSkill {
                skill: Arc::new(skill),
                connection: server.connection.clone(),
                offered: Arc::new(pinned.skill.clone()),
            })
        });
        let start = skills.len();
        skills.extend(found);
        if let Some(own) = skills.get_mut(start..) {
            own.sort_by(|one, other| one.skill.full_name.cmp(&other.skill.full_name));
        }
    }
    (sources, skills)
}

/// The id of a connection's source: its name, unless another source has it.
fn id(connection: &ConnectionName, taken: &HashSet<Arc<str>>) -> Arc<str> {
    let plain = connection.as_str().replace('_', "-");
    let first = [plain.clone(), format!("mcp-{plain}")];
    let numbered = (2_u32..).map(|number| format!("{plain}-{number}"));
    let mut ids = first.into_iter().chain(numbered);
    let id = ids.find(|id| !taken.contains(&**id));
    id.unwrap_or_default().into()
}

/// A skill of the library; `None` for one that no path leads to.
fn skill(
    source: &Arc<str>,
    connection: &ConnectionName,
    offered: &OfferedSkill,
    is_only: bool,
    switches: &Switches,
) -> Option<Skill> {
    let name = SkillName::new(offered.name()).ok()?;
    // Of several skills of one name, none has the short path: it would lead to another one when one goes.
    let folder = if is_only {
        name.as_str().to_owned()
    } else {
        offered.parts().join("/")
    };
    let path = format!("{PATH}{connection}/{}", offered.uri);
    let files = offered.files.iter().map(|file| FileEntry {
        path: file.path.clone(),
        size: file.size,
        digest: file.digest.parse().ok(),
        kind: if BINARY.contains(&&*file.path.extension()) {
            FileKind::Binary
        } else {
            FileKind::Text
        },
    });
    Some(Skill {
        full_name: format!("{source}/{folder}").into(),
        description: offered.description(),
        frontmatter: Value::Object(offered.frontmatter.clone())
            .to_string()
            .into(),
        source: Arc::clone(source),
        folder: SkillPath::new(&folder).ok()?,
        enabled: !switches.disabled.contains(&path),
        path,
        files: files.collect(),
        unlisted: Arc::default(),
        findings: FindingCount::default(),
        name,
    })
}
