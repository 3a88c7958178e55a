//! Teams, from outside: shared with their members at once, and with nobody else.

use std::time::{Duration, Instant};

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use super::{SECRET, Users, add, token};
use crate::site::Reply;

/// The longest time until a change of a team at the command line is seen.
const SEEN: Duration = Duration::from_secs(1);

/// Three users, of whom ann and bob are in a team with a skill that holds the secret. Nobody else has it.
pub(super) struct Team {
    pub(super) users: Users,
    carl: String,
    /// Credentials of people, who manage teams.
    pub(super) people: [String; 3],
    pub(super) id: String,
}

impl Team {
    pub(super) fn new() -> Self {
        let users = Users::new();
        add(&users.fixture, "carl");
        let carl = token(&users.fixture, "carl", &[]);
        let people = ["ann", "bob", "carl"]
            .map(|name| text_at(&users.sign_in(name), "/access_token").to_owned());
        let created = users.rest(&people[0], "POST", "/teams", &json!({"name": "design"}));
        assert_eq!(created.status, 201, "{created:#?}");
        let team = Self {
            id: text_at(&created.json(), "/id").to_owned(),
            users,
            carl,
            people,
        };
        let create = json!({
            "name": "budget", "description": format!("Reads a {SECRET}. Use it for each {SECRET}."),
            "instructions": SECRET,
        });
        let created = team.rest(0, "POST", "/skills", &create);
        assert_eq!(created.status, 201, "{created:#?}");
        let joined = team.join(1, "member");
        assert_eq!(joined.status, 200, "{joined:#?}");
        team
    }

    /// Sends a request of a person below the team.
    pub(super) fn rest(&self, person: usize, method: &str, path: &str, body: &Value) -> Reply {
        let path = format!("/teams/{}{path}", self.id);
        self.users.rest(&self.people[person], method, &path, body)
    }

    /// Invites a person as ann, and lets them join.
    fn join(&self, person: usize, role: &str) -> Reply {
        let invited = self.rest(0, "POST", "/invitations", &json!({"role": role}));
        assert_eq!(invited.status, 201, "{invited:#?}");
        let invitation = json!({"invitation": text_at(&invited.json(), "/invitation")});
        self.users
            .rest(&self.people[person], "POST", "/teams/join", &invitation)
    }

    pub(super) fn tokens(&self) -> [&str; 3] {
        [&self.users.ann, &self.users.bob, &self.carl]
    }

    /// Returns whether a user sees the secret, over MCP.
    fn sees(&self, person: usize) -> bool {
        let load = json!({"skill_name": "team-design/budget"});
        let (text, failed) = self.users.call(self.tokens()[person], "skill_load", load);
        assert_eq!(!failed, text.contains(SECRET), "{text}");
        !failed
    }

    fn id_of(&self, person: usize) -> String {
        let me = self
            .users
            .rest(&self.people[person], "GET", "/users/me", &Value::Null);
        text_at(&me.json(), "/id").to_owned()
    }

    /// The id of the team's skill, as ann lists it.
    pub(super) fn skill(&self) -> String {
        let listed = self.rest(0, "GET", "/skills", &Value::Null).json();
        text_at(&listed, "/items/0/id").to_owned()
    }
}

#[test]
fn members_use_and_maintainers_change() {
    let team = Team::new();
    let users = &team.users;
    let run = json!({"skill_name": "budget", "command": "cat SKILL.md"});
    for (name, arguments) in [
        ("skill_list", json!({})),
        ("skill_search", json!({"query": SECRET})),
        ("skill_load", json!({"skill_name": "budget"})),
        (
            "skill_read",
            json!({"skill_name": "budget", "path": "SKILL.md"}),
        ),
        ("skill_run", run),
    ] {
        for token in [&users.ann, &users.bob] {
            let (text, failed) = users.call(token, name, arguments.clone());
            assert!(!failed && text.contains(SECRET), "{name}: {text}");
        }
        let (text, _) = users.call(&team.carl, name, arguments);
        assert!(!text.contains(SECRET), "{name}: {text}");
    }
    // The team's skills are read-only for agents, and for members.
    let write = json!({"skill_name": "budget", "path": "x.md", "content": "x"});
    for token in [&users.ann, &users.bob] {
        let refused = users.tool(token, "skill_write", write.clone());
        assert_eq!(text_at(&refused.json(), "/code"), "SOURCE_READ_ONLY");
    }
    let path = format!("/skills/{}", team.skill());
    let change = json!({"instructions": format!("{SECRET}, again")});
    assert_eq!(team.rest(1, "PUT", &path, &change).status, 403);
    assert_eq!(team.rest(2, "PUT", &path, &change).status, 404);
    assert_eq!(team.rest(2, "GET", &path, &Value::Null).status, 404);
    assert_eq!(team.rest(1, "GET", &path, &Value::Null).status, 200);
    let changed = team.rest(0, "PUT", &path, &change);
    assert_eq!(changed.status, 200, "{changed:#?}");
    let loaded = users.call(&users.bob, "skill_load", json!({"skill_name": "budget"}));
    assert!(loaded.0.contains("again"), "{}", loaded.0);
    // The audit of the team says who did it.
    let audit = team.rest(0, "GET", "/audit", &Value::Null);
    assert!(audit.body.contains(&team.id_of(0)), "{audit:#?}");
    assert_eq!(team.rest(1, "GET", "/audit", &Value::Null).status, 403);
}

#[test]
fn leaving_ends_access_within_a_second() {
    let team = Team::new();
    assert!(team.sees(0) && team.sees(1) && !team.sees(2));
    let leave = format!("/members/{}", team.id_of(1));
    assert_eq!(team.rest(2, "DELETE", &leave, &Value::Null).status, 404);
    assert_eq!(team.rest(1, "DELETE", &leave, &Value::Null).status, 204);
    // At once, where the same server was asked.
    assert!(!team.sees(1));
    assert_eq!(team.join(1, "member").status, 200);
    assert!(team.sees(1));
    let fixture = &team.users.fixture;
    let start = Instant::now();
    fixture
        .gongfu(["team", "remove-member", "design", "bob"])
        .good();
    while team.sees(1) {
        assert!(
            start.elapsed() < SEEN + Duration::from_secs(4),
            "bob still sees it"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(team.sees(0));
}

#[test]
fn renamed_team_keeps_its_skills_and_their_ids() {
    let team = Team::new();
    let skill = team.skill();
    let renamed = team.rest(0, "PUT", "", &json!({"name": "art"}));
    assert_eq!(renamed.status, 200, "{renamed:#?}");
    assert_eq!(team.skill(), skill);
    for token in [&team.users.ann, &team.users.bob] {
        let load = json!({"skill_name": "team-art/budget"});
        let (text, failed) = team.users.call(token, "skill_load", load);
        assert!(!failed && text.contains(SECRET), "{text}");
    }
    assert!(!team.sees(1), "the old name means nothing");
    let taken = json!({"name": "art"});
    let taken = team.users.rest(&team.people[2], "POST", "/teams", &taken);
    assert_eq!(taken.status, 409, "{taken:#?}");
}

#[test]
fn two_maintainers_at_once_lose_nothing() {
    let team = Team::new();
    assert_eq!(team.join(1, "maintainer").status, 200);
    let created: Vec<String> = std::thread::scope(|scope| {
        let makers = [0, 1].map(|person| {
            let team = &team;
            scope.spawn(move || {
                let names = (0..8).map(|number| format!("p{person}-{number}"));
                let create = |name: String| {
                    let body =
                        json!({"name": name, "description": "Counts things. Use it to count."});
                    let made = team.rest(person, "POST", "/skills", &body);
                    assert_eq!(made.status, 201, "{made:#?}");
                    let invited = team.rest(person, "POST", "/invitations", &json!({}));
                    assert_eq!(invited.status, 201, "{invited:#?}");
                    name
                };
                names.map(create).collect::<Vec<String>>()
            })
        });
        makers
            .into_iter()
            .flat_map(|maker| maker.join().unwrap())
            .collect()
    });
    let listed = team.rest(1, "GET", "/skills?limit=100", &Value::Null).body;
    for name in &created {
        assert!(listed.contains(&format!("\"{name}\"")), "{name}: {listed}");
    }
    let shown = team.rest(0, "GET", "", &Value::Null).json();
    assert_eq!(shown["invitations"].as_array().unwrap().len(), 16);
    // One version of a skill has one successor.
    let path = format!("/skills/{}", team.skill());
    let tag = team.rest(0, "GET", &path, &Value::Null);
    let digest = format!("\"{}\"", text_at(&tag.json(), "/digest"));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let editors = [0, 1].map(|person| {
            let (team, path, digest) = (&team, &path, &digest);
            scope.spawn(move || {
                let bearer = format!("Bearer {}", team.people[person]);
                let headers = [("authorization", bearer.as_str()), ("if-match", digest)];
                let body = json!({"instructions": format!("by {person}")}).to_string();
                let path = format!("/api/v1/teams/{}{path}", team.id);
                team.users.site.send("PUT", &path, &headers, &body).status
            })
        });
        editors.map(|editor| editor.join().unwrap()).to_vec()
    });
    let mut sorted = statuses.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [200, 412], "{statuses:?}");
}

#[test]
fn shared_skill_is_a_copy_for_the_team() {
    let team = Team::new();
    let users = &team.users;
    let create = json!({"name": "report", "description": "Writes a report. Use it for reports."});
    let own = users
        .rest(&team.people[0], "POST", "/skills", &create)
        .json();
    let share = json!({"skill": text_at(&own, "/id")});
    let load = json!({"skill_name": "team-design/report"});
    assert!(users.call(&users.bob, "skill_load", load.clone()).1);
    assert_eq!(team.rest(1, "POST", "/skills/share", &share).status, 403);
    assert_eq!(team.rest(0, "POST", "/skills/share", &share).status, 201);
    assert!(!users.call(&users.bob, "skill_load", load.clone()).1);
    assert_eq!(team.rest(0, "POST", "/skills/share", &share).status, 409);
    let again = json!({"skill": text_at(&own, "/id"), "replace": true});
    assert_eq!(team.rest(0, "POST", "/skills/share", &again).status, 201);
    // A skill of somebody else has no id here.
    let create = json!({"name": "other", "description": "Of carl. Use it for carl."});
    let other = users
        .rest(&team.people[2], "POST", "/skills", &create)
        .json();
    let share = json!({"skill": text_at(&other, "/id")});
    assert_eq!(team.rest(0, "POST", "/skills/share", &share).status, 422);
}

#[test]
fn deleted_team_leaves_nothing() {
    let team = Team::new();
    let folder = team
        .users
        .fixture
        .path("home")
        .join("user-skills")
        .join(&team.id);
    assert!(folder.join("budget/SKILL.md").exists());
    let fixture = &team.users.fixture;
    fixture.gongfu(["team", "delete", "design", "--yes"]).good();
    std::thread::sleep(SEEN);
    assert!(!team.sees(0) && !team.sees(1));
    assert!(!folder.exists());
    assert_eq!(team.rest(0, "GET", "", &Value::Null).status, 404);
    let none = fixture.gongfu(["team", "list"]).run();
    assert!(!none.text().contains("design"), "{}", none.text());
}
