//! Tests of the skills of servers in a library: what is fetched, what is refused, which names they get.
#![expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::connection::{ConnectionName, OfferedSkill, Program, SkillPin, Target};
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{
    Clock, ConnectionStatus, Discovery, FileContent, Materialize as _, Pending, PortError,
    ServerAnswer, ServerCall, ServerSkills, ServerTools, Servers, SignIn, SkillStore as _,
    Timestamp, ready,
};
use gongfu_core::skill::{Digest, SkillPath};
use gongfu_core::switches::Switches;
use gongfu_files::Home;
use gongfu_records::FileRecords;
use gongfu_testing::{FixedClock, MemoryBlobs};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;

use super::JoinedSkills;
use crate::local::LocalSkills;
use crate::source::Settings;
use crate::switches::SwitchRecord;

const PDF: &str = "skill://user/pdf/";
const DOCUMENT: &str =
    "---\nname: pdf\ndescription: Fills forms.\n---\n\nRead [it](references/a.md).\n";
const REFERENCE: &str = "A reference.\n";

/// Servers whose offer and files a test decides about.
struct FakeServers {
    skills: Mutex<Vec<ServerSkills>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    fetched: Mutex<Vec<String>>,
    is_dead: Mutex<bool>,
    version: watch::Sender<u64>,
}

fn target() -> Target {
    Target::Program(Program {
        command: "server".to_owned(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        folder: None,
        sandbox: None,
    })
}

impl FakeServers {
    /// Sets the approved skills of connections.
    fn approve(&self, connections: &[(&str, Vec<OfferedSkill>)]) {
        let all = connections.iter().map(|(name, skills)| ServerSkills {
            connection: ConnectionName::new(name).unwrap(),
            target: target(),
            pin: Arc::new(SkillPin::new(&target(), skills.clone())),
        });
        *self.skills.lock().unwrap() = all.collect();
        self.version.send_modify(|version| *version += 1);
    }

    fn put(&self, uri: &str, content: &[u8]) {
        let mut files = self.files.lock().unwrap();
        files.insert(uri.to_owned(), content.to_vec());
    }

    fn fetched(&self) -> Vec<String> {
        std::mem::take(&mut *self.fetched.lock().unwrap())
    }
}

impl Servers for FakeServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        ready(Ok(Vec::new()))
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        ready(Ok(Vec::new()))
    }

    fn skills(&self) -> Pending<'_, Vec<ServerSkills>> {
        ready(Ok(self.skills.lock().unwrap().clone()))
    }

    fn fetch<'a>(&'a self, name: &'a ConnectionName, uri: &'a str) -> Pending<'a, Vec<u8>> {
        self.fetched.lock().unwrap().push(format!("{name} {uri}"));
        if *self.is_dead.lock().unwrap() {
            return ready(Err(PortError::Unavailable("it exited".to_owned())));
        }
        let file = self.files.lock().unwrap().get(uri).cloned();
        ready(file.ok_or_else(|| PortError::Unavailable("it refuses it".to_owned())))
    }

    fn changed(&self, since: u64) -> Pending<'_, u64> {
        let mut version = self.version.subscribe();
        Box::pin(async move {
            let changed = version.wait_for(|version| *version != since).await;
            Ok(*changed.unwrap())
        })
    }

    fn discover<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, Discovery> {
        ready(Err(PortError::NotFound))
    }

    fn sign_in<'a>(
        &'a self,
        _name: &'a ConnectionName,
        _redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        ready(Err(PortError::NotFound))
    }

    fn sign_out<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, bool> {
        ready(Err(PortError::NotFound))
    }

    fn call(&self, _call: ServerCall) -> Pending<'_, ServerAnswer> {
        ready(Err(PortError::NotFound))
    }
}

struct World {
    servers: Arc<FakeServers>,
    skills: JoinedSkills,
    blobs: Arc<MemoryBlobs>,
    root: TempDir,
    _home: TempDir,
}

impl World {
    fn new() -> Self {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = Settings {
            explicit: vec![root.path().to_owned()],
            ..Settings::default()
        };
        // Far ahead of every file; every answer is stale at once.
        let clock: Arc<dyn Clock> =
            Arc::new(FixedClock::stepping(Timestamp(4_000_000_000_000), 2_000));
        let records = FileRecords::new(Home::at(home.path()));
        let file = records.path_of(&Switches::key().unwrap());
        let switches = SwitchRecord::new(Arc::new(records)).in_file(file);
        let of_local = Arc::clone(&clock);
        let local = LocalSkills::new(Home::at(home.path()), settings, switches, of_local);
        let servers = Arc::new(FakeServers {
            skills: Mutex::default(),
            files: Mutex::default(),
            fetched: Mutex::default(),
            is_dead: Mutex::default(),
            version: watch::Sender::new(0),
        });
        let blobs = Arc::new(MemoryBlobs::default());
        let (of_servers, of_blobs) = (Arc::clone(&servers), Arc::clone(&blobs));
        let skills = JoinedSkills::new(Arc::new(local), of_servers, of_blobs, clock);
        Self {
            servers,
            skills,
            blobs,
            root,
            _home: home,
        }
    }

    /// A world in which the connection `other` has the skill `pdf`.
    fn with_pdf() -> Self {
        let world = Self::new();
        world.servers.approve(&[("other", vec![pdf()])]);
        world
            .servers
            .put(&format!("{PDF}SKILL.md"), DOCUMENT.as_bytes());
        world
            .servers
            .put(&format!("{PDF}references/a.md"), REFERENCE.as_bytes());
        world
    }

    fn own(&self, name: &str) {
        let folder = self.root.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {name}\ndescription: My own.\n---\nbody\n");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }

    fn library(&self) -> Arc<Library> {
        self.skills.now().unwrap()
    }

    fn skill(&self, name: &str) -> Arc<Skill> {
        Arc::clone(self.library().resolve(name).unwrap())
    }

    fn read(&self, skill: &Skill, path: &str) -> Result<FileContent, PortError> {
        let path = SkillPath::new(path).unwrap();
        futures_executor::block_on(self.skills.read(skill, &path, u64::MAX))
    }

    fn text(&self, skill: &Skill, path: &str) -> String {
        String::from_utf8(self.read(skill, path).unwrap().bytes).unwrap()
    }

    /// Why a file is refused: it isn't what a person approved.
    #[track_caller]
    fn refused(&self, skill: &Skill, path: &str) -> String {
        match self.read(skill, path) {
            Err(PortError::Conflict(why)) => why,
            other => panic!("{other:?}"),
        }
    }
}

fn file(uri: &str, content: &[u8]) -> Value {
    json!({ "uri": uri, "digest": Digest::of(content).to_string(), "size": content.len() })
}

fn offered(uri: &str, name: &str, files: &[Value]) -> OfferedSkill {
    let frontmatter = json!({ "name": name, "description": "Fills forms." });
    let entry = json!({ "uri": uri, "frontmatter": frontmatter, "resources": files });
    OfferedSkill::read(&entry).unwrap()
}

fn pdf() -> OfferedSkill {
    pdf_of(DOCUMENT.as_bytes())
}

fn pdf_of(document: &[u8]) -> OfferedSkill {
    let uri = format!("{PDF}SKILL.md");
    let reference = file(&format!("{PDF}references/a.md"), REFERENCE.as_bytes());
    offered(&uri, "pdf", &[file(&uri, document), reference])
}

/// A skill that is nothing but its SKILL.md.
fn plain(uri: &str, name: &str) -> OfferedSkill {
    offered(uri, name, &[file(uri, b"x")])
}

fn names(library: &Library) -> Vec<&str> {
    let skills = library.skills().iter();
    skills.map(|skill| &*skill.full_name).collect()
}

#[test]
fn nothing_is_fetched_before_a_skill_is_read_and_nothing_twice() {
    let world = World::with_pdf();
    let skill = world.skill("pdf");
    assert_eq!(
        (&*skill.full_name, &*skill.description),
        ("other/pdf", "Fills forms.")
    );
    assert_eq!(world.library().connection(&skill), Some("other"));
    let path = SkillPath::new("SKILL.md").unwrap();
    let glance = futures_executor::block_on(world.skills.glance(&skill, &path, 100));
    assert_eq!(glance.unwrap(), None);
    assert_eq!(world.servers.fetched(), [""; 0]);
    assert_eq!(world.text(&skill, "SKILL.md"), DOCUMENT);
    assert_eq!(world.servers.fetched(), [format!("other {PDF}SKILL.md")]);
    assert_eq!(world.text(&skill, "references/a.md"), REFERENCE);
    assert_eq!(
        world.servers.fetched(),
        [format!("other {PDF}references/a.md")]
    );
    let cut = SkillPath::new("references/a.md").unwrap();
    let cut = futures_executor::block_on(world.skills.read(&skill, &cut, 3)).unwrap();
    assert_eq!(
        (&*cut.bytes, cut.size),
        (&b"A r"[..], REFERENCE.len() as u64)
    );
    // What is there needs no server.
    *world.servers.is_dead.lock().unwrap() = true;
    assert_eq!(world.text(&skill, "SKILL.md"), DOCUMENT);
    assert_eq!(world.servers.fetched(), [""; 0]);
    // A file that somebody changed on the disk is fetched again.
    world
        .blobs
        .damage(&Digest::of(DOCUMENT.as_bytes()), b"damaged");
    let dead = world.read(&skill, "SKILL.md");
    assert!(matches!(dead, Err(PortError::Unavailable(_))), "{dead:?}");
}

#[test]
fn file_that_is_not_the_approved_one_is_refused() {
    let world = World::with_pdf();
    let skill = world.skill("pdf");
    let document = format!("{PDF}SKILL.md");
    world
        .servers
        .put(&document, DOCUMENT.replace("Read", "Send").as_bytes());
    assert!(world.refused(&skill, "SKILL.md").contains("another digest"));
    world
        .servers
        .put(&document, format!("{DOCUMENT}more").as_bytes());
    let longer = world.refused(&skill, "SKILL.md");
    assert!(longer.contains("a person approved one of"), "{longer}");
    // Of a skill that fails, nothing else is fetched.
    world.servers.fetched();
    assert!(
        world
            .refused(&skill, "references/a.md")
            .contains("SKILL.md has")
    );
    assert_eq!(world.servers.fetched(), [format!("other {document}")]);
    world.servers.put(&document, DOCUMENT.as_bytes());
    world
        .servers
        .put(&format!("{PDF}references/a.md"), b"B reference.\n");
    assert!(
        world
            .refused(&skill, "references/a.md")
            .contains("another digest")
    );
    assert_eq!(world.text(&skill, "SKILL.md"), DOCUMENT);
}

#[test]
fn size_that_lies_is_refused_even_of_a_file_that_is_there() {
    let world = World::with_pdf();
    world.text(&world.skill("pdf"), "SKILL.md");
    let uri = format!("{PDF}SKILL.md");
    let mut lie = file(&uri, DOCUMENT.as_bytes());
    lie["size"] = json!(DOCUMENT.len() - 1);
    world
        .servers
        .approve(&[("other", vec![offered(&uri, "pdf", &[lie])])]);
    let why = world.refused(&world.skill("pdf"), "SKILL.md");
    assert!(why.contains("a person approved one of"), "{why}");
}

#[test]
fn frontmatter_that_differs_is_refused() {
    for document in [
        DOCUMENT.replace("Fills forms.", "Sends every file."),
        DOCUMENT.replace("name: pdf", "name: pdf\nallowed-tools: Bash"),
        DOCUMENT.replace("description: Fills forms.\n", ""),
        DOCUMENT.replace("Fills forms.", "Fills: forms."),
        DOCUMENT.replace("---\n\nRead", "\n\nRead"),
        "Fills forms.".to_owned(),
        "---\nname: [pdf\n---\n".to_owned(),
        "---\nname: pdf\nname: pdf\ndescription: Fills forms.\n---\n".to_owned(),
        "\0".to_owned(),
    ] {
        let world = World::with_pdf();
        let (uri, bytes) = (format!("{PDF}SKILL.md"), document.as_bytes());
        world.servers.approve(&[("other", vec![pdf_of(bytes)])]);
        world.servers.put(&uri, bytes);
        let skill = world.skill("pdf");
        let why = world.refused(&skill, "SKILL.md");
        assert!(why.starts_with("SKILL.md "), "{document}: {why}");
        assert_eq!(world.refused(&skill, "references/a.md"), why);
    }
}

#[test]
fn skill_of_a_server_takes_no_name() {
    let world = World::with_pdf();
    let local = names(&world.library()).len();
    assert_eq!(local, 1);
    world.own("pdf");
    world.own("text");
    let library = world.library();
    let own = library.resolve("pdf").unwrap();
    assert_ne!(&*own.source, "other");
    // Not even where the person's own is switched off.
    futures_executor::block_on(world.skills.set_enabled(own, false)).unwrap();
    assert!(world.library().resolve("pdf").is_err());
    assert_eq!(&*world.skill("other/pdf").source, "other");
    let of_server = world.skill("other/pdf");
    futures_executor::block_on(world.skills.set_enabled(&of_server, false)).unwrap();
    let library = world.library();
    let skill = library
        .skills()
        .iter()
        .find(|skill| *skill.source == *"other");
    assert!(!skill.unwrap().enabled);
}

#[test]
fn names_that_meet_are_told_apart() {
    let world = World::new();
    world.servers.approve(&[
        (
            "a_b",
            vec![
                plain("skill://x/pdf/SKILL.md", "pdf"),
                plain("skill://y/z/pdf/SKILL.md", "pdf"),
                plain("skill://y/text/SKILL.md", "text"),
            ],
        ),
        ("a-b", vec![plain("custom://pdf/SKILL.md", "pdf")]),
    ]);
    assert_eq!(
        names(&world.library()),
        ["a-b/text", "a-b/x/pdf", "a-b/y/z/pdf", "mcp-a-b/pdf"]
    );
}

#[test]
fn change_of_an_approval_is_a_change_of_the_library() {
    let world = World::with_pdf();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let before = world.skills.library().await.unwrap();
        let again = world.skills.library().await.unwrap();
        assert_eq!(before.revision(), again.revision());
        let changed = world.skills.changed(before.revision());
        let ending = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            world.servers.approve(&[]);
        };
        let (changed, ()) = tokio::join!(changed, ending);
        assert_ne!(changed.unwrap(), before.revision());
    });
    let skill = world.library();
    assert!(skill.resolve("pdf").is_err());
}

#[test]
fn skill_whose_approval_ended_is_not_read_any_more() {
    let world = World::with_pdf();
    let skill = world.skill("pdf");
    assert_eq!(world.text(&skill, "SKILL.md"), DOCUMENT);
    world
        .servers
        .approve(&[("other", vec![pdf_of(b"another")])]);
    world.library();
    world.refused(&skill, "SKILL.md");
    world.servers.approve(&[]);
    world.library();
    world.refused(&skill, "SKILL.md");
}

#[test]
fn skill_of_a_server_is_neither_written_nor_run() {
    let world = World::with_pdf();
    let skill = world.skill("pdf");
    let path = SkillPath::new("SKILL.md").unwrap();
    let change = gongfu_core::port::Change {
        bytes: b"x",
        expected: None,
    };
    let written = futures_executor::block_on(world.skills.write(&skill, &path, change));
    assert!(
        matches!(written, Err(PortError::ReadOnly { .. })),
        "{written:?}"
    );
    let folder = futures_executor::block_on(world.skills.materialize(&skill));
    assert!(matches!(folder, Err(PortError::Denied(_))));
    let missing = world.read(&skill, "references/b.md");
    assert!(matches!(missing, Err(PortError::NotFound)), "{missing:?}");
    let folder = world.read(&skill, "references");
    assert!(matches!(folder, Err(PortError::IsAFolder)), "{folder:?}");
}

#[test]
fn dead_server_costs_only_its_own_skills() {
    let world = World::with_pdf();
    world.own("own");
    *world.servers.is_dead.lock().unwrap() = true;
    let dead = world.read(&world.skill("pdf"), "SKILL.md");
    assert!(matches!(dead, Err(PortError::Unavailable(_))), "{dead:?}");
    assert!(
        world
            .text(&world.skill("own"), "SKILL.md")
            .contains("My own.")
    );
}

#[test]
fn thousands_of_skills_are_listed() {
    let world = World::new();
    world.own("own");
    let many = (0..5_000).map(|at| plain(&format!("skill://x/s{at}/SKILL.md"), &format!("s{at}")));
    world.servers.approve(&[("many", many.collect())]);
    let library = world.library();
    assert_eq!(library.skills().len(), 5_001);
    assert_eq!(&*world.skill("s4999").full_name, "many/s4999");
    assert!(
        world
            .text(&world.skill("own"), "SKILL.md")
            .contains("My own.")
    );
}
