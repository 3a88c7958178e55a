//! Limits and links that an admin gives to users, from outside.

use gongfu_testing::json::text_at;
use serde_json::{Value, json};

use super::{Users, add_with, password};

/// The users, and the credential of an admin.
fn with_admin() -> (Users, String) {
    let users = Users::new();
    add_with(&users.fixture, "olga", &["--admin"]);
    let olga = text_at(&users.sign_in("olga"), "/access_token").to_owned();
    (users, olga)
}

fn id_of(users: &Users, name: &str) -> String {
    let token = text_at(&users.sign_in(name), "/access_token").to_owned();
    let me = users.rest(&token, "GET", "/users/me", &Value::Null).json();
    text_at(&me, "/id").to_owned()
}

#[test]
fn limits_of_a_user_count_at_once_and_for_nobody_else() {
    let (users, olga) = with_admin();
    let path = format!("/admin/users/{}/quota", id_of(&users, "ann"));
    let create = |token: &str, name: &str| {
        let body = json!({"name": name, "description": "Counts things. Use it to count."});
        users.rest(token, "POST", "/skills", &body)
    };
    assert_eq!(create(&users.ann, "one").status, 201);
    let run = |token: &str| {
        let run = json!({"skill_name": "pdf-tools", "command": "true"});
        users.tool(token, "skill_run", run)
    };
    assert_eq!(run(&users.ann).status, 200);
    let set = users.rest(
        &olga,
        "PUT",
        &path,
        &json!({"skills": 1, "runs_per_hour": 1}),
    );
    assert_eq!(set.status, 200, "{set:#?}");
    let refused = create(&users.ann, "two");
    assert_eq!(
        text_at(&refused.json(), "/code"),
        "QUOTA_EXCEEDED",
        "{refused:#?}"
    );
    assert_eq!(text_at(&run(&users.ann).json(), "/code"), "QUOTA_EXCEEDED");
    for name in ["one", "two"] {
        assert_eq!(create(&users.bob, name).status, 201);
        assert_eq!(run(&users.bob).status, 200);
    }
    assert_eq!(users.rest(&olga, "PUT", &path, &json!({})).status, 200);
    assert_eq!(create(&users.ann, "two").status, 201);
    assert_eq!(run(&users.ann).status, 200);
    // Nobody sets their own.
    let ann = text_at(&users.sign_in("ann"), "/access_token").to_owned();
    assert_eq!(users.rest(&ann, "PUT", &path, &json!({})).status, 403);
}

#[test]
fn last_use_of_a_token_is_listed() {
    let users = Users::new();
    let ann = text_at(&users.sign_in("ann"), "/access_token").to_owned();
    let last = || {
        let listed = users.rest(&ann, "GET", "/tokens", &Value::Null).json();
        listed["items"][0]["last_used_at"].clone()
    };
    assert_eq!(last(), Value::Null);
    assert_eq!(users.tool(&users.ann, "skill_list", json!({})).status, 200);
    let used = last();
    assert!(used.is_string(), "{used}");
    // It is stored when the server ends.
    let users = users.restarted();
    // Access tokens are for the server's URL, and its port is another one.
    let ann = text_at(&users.sign_in("ann"), "/access_token").to_owned();
    let listed = users.rest(&ann, "GET", "/tokens", &Value::Null).json();
    assert_eq!(listed["items"][0]["last_used_at"], used);
}

#[test]
fn links_let_people_in_and_set_passwords() {
    let (users, olga) = with_admin();
    let closed = users.rest(&olga, "POST", "/admin/invitations", &json!({}));
    assert_eq!(closed.status, 403, "{closed:#?}");
    let path = format!("/admin/users/{}/link", id_of(&users, "bob"));
    let link = users.rest(&olga, "POST", &path, &json!({}));
    assert_eq!(link.status, 201, "{link:#?}");
    let link = text_at(&link.json(), "/url").to_owned();
    let page = link.split_once("/invite/").unwrap().1;
    let shown = users.site.send("GET", &format!("/invite/{page}"), &[], "");
    assert!(
        shown.status == 200 && shown.body.contains("bob"),
        "{shown:#?}"
    );

    let settings = users.fixture.path("home").join("config.toml");
    std::fs::write(settings, "[accounts]\nregistration = \"invited\"\n").unwrap();
    let users = users.restarted();
    let olga = text_at(&users.sign_in("olga"), "/access_token").to_owned();
    let invited = users.rest(&olga, "POST", "/admin/invitations", &json!({}));
    assert_eq!(invited.status, 201, "{invited:#?}");
    let url = text_at(&invited.json(), "/url").to_owned();
    let secret = url.rsplit('/').next().unwrap();
    let shown = users.site.send("GET", &format!("/join/{secret}"), &[], "");
    assert!(
        shown.status == 200 && shown.body.contains("Create your account"),
        "{shown:#?}"
    );
    let register = |invitation: Option<&str>| {
        let mut body =
            json!({"email": "eve@example.com", "username": "eve", "password": password("eve")});
        if let Some(invitation) = invitation {
            body["invitation"] = invitation.into();
        }
        users.rest("", "POST", "/auth/register", &body)
    };
    assert_eq!(register(None).status, 403);
    assert_eq!(register(Some(secret)).status, 201);
    users.sign_in("eve");
    assert_eq!(register(Some(secret)).status, 422, "used up");
}
