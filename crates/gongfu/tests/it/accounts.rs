//! `gongfu serve --accounts` from outside: users who have nothing of each other, over the command line, REST and MCP.

mod backup;
mod connection;
mod credential;
mod grant;
mod limit;
mod operator;
mod space;
mod team;

use std::path::PathBuf;

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::site::{Reply, Site};

/// Users of a server, each with a token.
struct Users {
    fixture: Fixture,
    site: Site,
    ann: String,
    bob: String,
}

fn password(name: &str) -> String {
    format!("four unrelated words of {name}")
}

fn add(fixture: &Fixture, name: &str) {
    add_with(fixture, name, &[]);
}

fn add_with(fixture: &Fixture, name: &str, more: &[&str]) {
    let email = format!("{name}@example.com");
    let add = ["user", "add", name, "--email", &email, "--password-stdin"];
    let add = add.iter().chain(more);
    fixture.gongfu(add).reading(password(name)).good();
}

fn token(fixture: &Fixture, name: &str, more: &[&str]) -> String {
    let create = [
        "token", "create", "--quiet", "--name", "test", "--user", name,
    ];
    let created = fixture.gongfu(create.iter().chain(more)).good();
    let token = created.text().trim_end().to_owned();
    assert!(
        token.starts_with("ask_live_") && token.len() == 73,
        "{token}"
    );
    token
}

fn serve(fixture: &Fixture) -> Site {
    Site::start(&fixture.only(["serve", "--accounts", "--listen", "127.0.0.1:0"]))
}

impl Users {
    fn new() -> Self {
        Self::on(Fixture::with_skills())
    }

    /// Users of a server whose operator has these skills.
    fn on(fixture: Fixture) -> Self {
        for name in ["ann", "bob"] {
            add(&fixture, name);
        }
        let (ann, bob) = (token(&fixture, "ann", &[]), token(&fixture, "bob", &[]));
        Self {
            site: serve(&fixture),
            fixture,
            ann,
            bob,
        }
    }

    /// The same after the server was ended and started again, at another port.
    fn restarted(self) -> Self {
        assert_eq!(self.site.terminate().0, Some(0));
        Self {
            site: serve(&self.fixture),
            ..self
        }
    }

    fn rest(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.site
            .send(method, &format!("/api/v1{path}"), &headers, &body)
    }

    fn tool(&self, token: &str, name: &str, arguments: Value) -> Reply {
        self.rest(token, "POST", &format!("/tools/{name}"), &arguments)
    }

    fn mcp(&self, token: &str, method: &str, params: Value) -> Reply {
        let bearer = format!("Bearer {token}");
        self.site
            .ask_with("/mcp", &[("authorization", &bearer)], method, params)
    }

    /// The text of a tool over MCP, and whether it failed.
    fn call(&self, token: &str, name: &str, arguments: Value) -> (String, bool) {
        let reply = self.mcp(
            token,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        );
        assert_eq!(reply.status, 200, "{reply:#?}");
        let result = &reply.json()["result"];
        let text = text_at(result, "/content/0/text").to_owned();
        (text, result["isError"] == true)
    }

    fn sign_in(&self, name: &str) -> Value {
        let body = json!({"email": format!("{name}@example.com"), "password": password(name)});
        let reply = self
            .site
            .send("POST", "/api/v1/auth/login", &[], &body.to_string());
        assert_eq!(reply.status, 200, "{reply:#?}");
        reply.json()
    }
}

/// The secret of a user, in their skill `budget` and in their workspace.
const SECRET: &str = "purple elephant";

impl Users {
    /// The same users, of whom ann has a skill and a file.
    fn with_secret() -> Self {
        let users = Self::new();
        let create = json!({
            "name": "budget", "description": format!("Reads a {SECRET}. Use it for each {SECRET}."),
            "instructions": SECRET,
        });
        let (created, failed) = users.call(&users.ann, "skill_create", create);
        assert!(!failed && created.contains("own/budget"), "{created}");
        let script = format!("echo {SECRET}\n");
        let write = json!({"skill_name": "budget", "path": "scripts/sum.sh", "content": script});
        assert_eq!(users.tool(&users.ann, "skill_write", write).status, 200);
        let command = "sh scripts/sum.sh | tee /workspace/sum.txt";
        let run = json!({"skill_name": "budget", "command": command});
        let ran = users.tool(&users.ann, "skill_run", run);
        assert!(ran.status == 200 && ran.body.contains(SECRET), "{ran:#?}");
        users
    }

    /// The folder of ann's skill, as the source has it: the folder of the skills, the user, the skill.
    fn folder(&self) -> PathBuf {
        let me = self.sign_in("ann");
        let me = self.rest(
            text_at(&me, "/access_token"),
            "GET",
            "/users/me",
            &Value::Null,
        );
        let skills = self.fixture.path("home").join("user-skills");
        skills.join(text_at(&me.json(), "/id")).join("budget")
    }

    /// Loads the skill `budget` of a user.
    fn budget(&self, token: &str) -> String {
        self.call(token, "skill_load", json!({"skill_name": "budget"}))
            .0
    }
}
