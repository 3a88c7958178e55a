//! Hosts that people grant to skills over REST: to their own, to their team's, and to those of the operator.

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use super::team::Team;
use super::{Users, add_with};
use crate::grant::{ASK, host};
use crate::site::Reply;

impl Users {
    /// Writes the script that asks a host into a skill below this path; answers the path of the skill's files.
    fn write_script(&self, token: &str, skill: &str) {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/octet-stream"),
        ];
        let path = format!("/api/v1{skill}/files/ask.py");
        let written = self.site.send("PUT", &path, &headers, ASK);
        assert_eq!(written.status, 201, "{written:#?}");
    }

    /// Runs the script in a skill, and returns what it prints.
    fn ask(&self, token: &str, skill: &str, host: &str) -> String {
        let run = json!({"skill_name": skill, "command": format!("python3 ask.py {host}")});
        let ran = self.tool(token, "skill_run", run);
        assert_eq!(ran.status, 200, "{ran:#?}");
        text_at(&ran.json(), "/data/stdout").to_owned()
    }
}

fn code(reply: &Reply) -> String {
    text_at(&reply.json(), "/code").to_owned()
}

fn admin(users: &Users) -> String {
    add_with(&users.fixture, "olga", &["--admin"]);
    text_at(&users.sign_in("olga"), "/access_token").to_owned()
}

#[test]
fn person_grants_a_host_to_their_skill_and_an_admin_one_of_the_network() {
    let users = Users::new();
    let host = host();
    let olga = admin(&users);
    let olga_token = super::token(&users.fixture, "olga", &[]);
    let ann = text_at(&users.sign_in("ann"), "/access_token").to_owned();
    for (person, token) in [(&ann, &users.ann), (&olga, &olga_token)] {
        let create = json!({"name": "asker", "description": "Asks a host. Use it to ask."});
        let created = users.rest(person, "POST", "/skills", &create);
        let skill = text_at(&created.json(), "/id").to_owned();
        users.write_script(person, &format!("/skills/{skill}"));
        assert_eq!(users.ask(token, "asker", &host), "EPERM\n");
        let grant = |private: bool| {
            let body = json!({"skill": skill, "host": host, "private": private});
            users.rest(person, "POST", "/grants", &body)
        };
        let granted = grant(false);
        assert_eq!(granted.status, 201, "{granted:#?}");
        // It leads to the server's own machine.
        assert_eq!(users.ask(token, "asker", &host), "403\n");
        let private = grant(true);
        if *person == ann {
            assert_eq!((private.status, &*code(&private)), (403, "FORBIDDEN"));
            assert_eq!(users.ask(token, "asker", &host), "403\n");
        } else {
            assert_eq!(private.status, 201, "{private:#?}");
            assert_eq!(users.ask(token, "asker", &host), "200 hi\n");
        }
        // Another host is refused with a way that there is on a server.
        let run = json!({"skill_name": "asker", "command": "python3 ask.py evil.test:443"});
        let ran = users.tool(token, "skill_run", run);
        assert!(ran.body.contains("POST /api/v1/grants"), "{ran:#?}");
        // An agent grants nothing.
        let body = json!({"skill": skill, "host": "example.com"});
        let refused = users.rest(token, "POST", "/grants", &body);
        assert_eq!((refused.status, &*code(&refused)), (403, "FORBIDDEN"));
        // Another version of the skill doesn't have it.
        let listed = users.rest(person, "GET", "/grants", &Value::Null).json();
        assert_eq!(text_at(&listed, "/items/0/skill_id"), skill);
        assert_eq!(listed["items"][0]["difference"], json!([]));
        let change = json!({"skill_name": "asker", "path": "other.py", "content": "pass\n"});
        assert_eq!(users.tool(token, "skill_write", change).status, 200);
        let listed = users.rest(person, "GET", "/grants", &Value::Null).json();
        assert_eq!(
            listed["items"][0]["difference"],
            json!(["other.py was added"])
        );
        assert_eq!(users.ask(token, "asker", &host), "EPERM\n");
        let path = format!("/grants/{}", text_at(&listed, "/items/0/id"));
        assert_eq!(
            users.rest(person, "DELETE", &path, &Value::Null).status,
            204
        );
        assert_eq!(
            users.rest(person, "DELETE", &path, &Value::Null).status,
            404
        );
    }
    // Hosts that can't be, and skills of others.
    for (body, status) in [
        (json!({"skill": "x", "host": "example.com"}), 422),
        (json!({"skill": "x", "host": "http://example.com/"}), 422),
        (json!({"skill": "x", "host": "*"}), 422),
    ] {
        let refused = users.rest(&ann, "POST", "/grants", &body);
        assert_eq!(refused.status, status, "{refused:#?}");
    }
}

#[test]
fn grant_of_a_team_is_for_the_runs_of_its_members() {
    let team = Team::new();
    let users = &team.users;
    let olga = admin(users);
    let invited = team.rest(0, "POST", "/invitations", &json!({"role": "maintainer"}));
    let invitation = json!({"invitation": text_at(&invited.json(), "/invitation")});
    assert_eq!(
        users.rest(&olga, "POST", "/teams/join", &invitation).status,
        200
    );
    let (host, skill) = (host(), team.skill());
    users.write_script(&olga, &format!("/teams/{}/skills/{skill}", team.id));
    let grants = format!("/teams/{}/grants", team.id);
    let [ann, bob, carl] = team.tokens();
    let asks = |token: &str| users.ask(token, "budget", &host);
    assert_eq!(asks(bob), "EPERM\n");
    let body = json!({"skill": skill, "host": host, "private": true});
    for (person, status) in [(1, 403), (2, 404)] {
        let refused = users.rest(&team.people[person], "POST", &grants, &body);
        assert_eq!(refused.status, status, "{refused:#?}");
    }
    let granted = users.rest(&olga, "POST", &grants, &body);
    assert_eq!(granted.status, 201, "{granted:#?}");
    for token in [ann, bob] {
        assert_eq!(asks(token), "200 hi\n");
    }
    let run = json!({"skill_name": "budget", "command": "true"});
    assert_eq!(users.tool(carl, "skill_run", run).status, 404);
    // It is the team's: members see it there, and not among their own.
    for person in 0..2 {
        let listed = team.rest(person, "GET", "/grants", &Value::Null).json();
        assert_eq!(listed["total"], 1);
        let own = users
            .rest(&team.people[person], "GET", "/grants", &Value::Null)
            .json();
        assert_eq!(own["total"], 0);
    }
    let path = format!("/grants/{}", text_at(&granted.json(), "/id"));
    assert_eq!(team.rest(1, "DELETE", &path, &Value::Null).status, 403);
    assert_eq!(team.rest(0, "DELETE", &path, &Value::Null).status, 204);
    assert_eq!(asks(bob), "EPERM\n");
}

#[test]
fn grant_of_the_operator_is_for_the_skills_that_all_share() {
    let fixture = crate::fixture::Fixture::with_skills();
    fixture.skill("asker", "Asks a host.");
    fixture.write("skills/asker/ask.py", ASK);
    let users = Users::on(fixture);
    let host = host();
    assert_eq!(users.ask(&users.ann, "asker", &host), "EPERM\n");
    let add = ["grant", "add", "asker", &host, "--private"];
    users.fixture.only(add).good();
    assert_eq!(users.ask(&users.ann, "asker", &host), "200 hi\n");
    // It is for no other skill.
    let create = json!({"name": "other", "description": "Asks a host. Use it to ask."});
    let bob = text_at(&users.sign_in("bob"), "/access_token").to_owned();
    let created = users.rest(&bob, "POST", "/skills", &create);
    let skill = text_at(&created.json(), "/id").to_owned();
    users.write_script(&bob, &format!("/skills/{skill}"));
    assert_eq!(users.ask(&users.bob, "other", &host), "EPERM\n");

    let settings = users.fixture.path("home").join("config.toml");
    std::fs::write(settings, "[accounts]\ngrants = \"admins\"\n").unwrap();
    let users = users.restarted();
    let bob = text_at(&users.sign_in("bob"), "/access_token").to_owned();
    let body = json!({"skill": skill, "host": "example.com"});
    let refused = users.rest(&bob, "POST", "/grants", &body);
    assert_eq!((refused.status, &*code(&refused)), (403, "FORBIDDEN"));
}
