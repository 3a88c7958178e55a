//! Skills and their files over REST.

use axum::body::Body;
use gongfu_core::account::{Owner, Scope};
use gongfu_core::archive::ArchiveFile;
use gongfu_core::skill::SkillPath;
use gongfu_testing::sample;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{Reply, TestServer, all_scopes, request};

const PATH: &str = "/api/v1/skills";

/// An archive of a skill.
pub(super) fn archive(name: &str) -> Vec<u8> {
    let document = sample::plain(name, "Shrinks files.");
    let file = |path: &str, bytes: &[u8]| ArchiveFile {
        path: SkillPath::new(path).unwrap(),
        is_executable: Some(false),
        bytes: bytes.to_vec(),
    };
    let files = [
        file("SKILL.md", document.as_bytes()),
        file("scripts/run.py", b"print(1)\n"),
    ];
    gongfu_hub::archive::write(name, &files).unwrap()
}

async fn with_header(
    server: &TestServer,
    (method, path, token): (&str, &str, &str),
    (name, value): (&str, &str),
    body: Value,
) -> Reply {
    let request = request(method, path, token).header(name, value);
    let request = if body.is_null() {
        request.body(Body::empty())
    } else {
        let request = request.header(CONTENT_TYPE, "application/json");
        request.body(Body::from(body.to_string()))
    };
    server.send(request.unwrap()).await
}

#[tokio::test]
async fn skill_from_its_creation_to_its_end() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &[Scope::SkillsRead, Scope::SkillsWrite]);
    let new = json!({ "name": "png-tools", "description": "Shrinks: PNG files." });
    let created = server.call("POST", PATH, &token, new.clone()).await;
    assert_eq!(created.status, StatusCode::CREATED, "{created:?}");
    let path = created.header("location").to_owned();
    let skill = created.json();
    assert_eq!(
        (&skill["name"], &skill["description"], &skill["is_active"]),
        (
            &json!("png-tools"),
            &json!("Shrinks: PNG files."),
            &json!(true)
        )
    );
    assert_eq!(path, format!("{PATH}/{}", skill["id"].as_str().unwrap()));
    let again = server.call("POST", PATH, &token, new).await;
    assert_eq!(again.problem(), (409, "SKILL_EXISTS".to_owned()));

    let page = server.get(&format!("{PATH}?limit=1"), &token).await.json();
    assert_eq!(
        (&page["total"], &page["items"][0]["name"]),
        (&json!(2), &json!("pdf-tools"))
    );
    let next = page["next_cursor"].as_str().unwrap();
    let rest = server
        .get(&format!("{PATH}?cursor={next}"), &token)
        .await
        .json();
    assert_eq!(
        (&rest["items"][0], &rest["next_cursor"]),
        (&skill, &Value::Null)
    );
    let skipped = server
        .get(&format!("{PATH}?skip=1&limit=5"), &token)
        .await
        .json();
    assert_eq!(skipped["items"], rest["items"]);

    let change = json!({ "description": "Shrinks them.", "instructions": "# How\n\nWell.\n" });
    let changed = server.call("PUT", &path, &token, change).await;
    assert_eq!(changed.json()["description"], "Shrinks them.");
    let text = server.get(&format!("{path}/files/SKILL.md"), &token).await;
    assert_eq!(
        String::from_utf8_lossy(&text.body),
        "---\nname: png-tools\ndescription: Shrinks them.\n---\n\n# How\n\nWell.\n"
    );
    assert_eq!(
        text.header("content-disposition"),
        "attachment; filename*=UTF-8''SKILL.md"
    );
    assert_eq!(text.header("x-content-type-options"), "nosniff");
    let deleted = server.call("DELETE", &path, &token, Value::Null).await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    for method in ["GET", "DELETE"] {
        let gone = server.call(method, &path, &token, Value::Null).await;
        assert_eq!(gone.problem(), (404, "SKILL_NOT_FOUND".to_owned()));
    }
    for wrong in [
        json!({ "name": "PNG Tools", "description": "x" }),
        json!({ "name": "-a", "description": "x" }),
        json!({ "name": "a", "description": " " }),
        json!({ "name": "../a", "description": "x" }),
        json!({ "name": "a" }),
    ] {
        let refused = server.call("POST", PATH, &token, wrong.clone()).await;
        assert_eq!(refused.problem().0, 422, "{wrong}");
    }
}

#[tokio::test]
async fn change_of_another_version_is_refused() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let listed = server.get(PATH, &token).await.json();
    let path = format!("{PATH}/{}", listed["items"][0]["id"].as_str().unwrap());
    let tag = server.get(&path, &token).await.header("etag").to_owned();
    assert!(tag.starts_with("\"sha256:") && tag.ends_with('"'), "{tag}");
    let change = json!({ "description": "Other." });
    let first = with_header(
        &server,
        ("PUT", &path, &token),
        ("if-match", &tag),
        change.clone(),
    );
    let first = first.await;
    assert_eq!(first.status, StatusCode::OK, "{first:?}");
    assert_ne!(first.header("etag"), tag);
    let weak = format!("W/{}", first.header("etag"));
    for (old, status) in [
        (tag.as_str(), 412),
        (&weak, 412),
        ("\"a\", \"b\"", 412),
        ("nonsense", 412),
    ] {
        for (method, below, body) in [
            ("PUT", "", change.clone()),
            ("DELETE", "", Value::Null),
            ("PUT", "/files/hello.txt", json!({})),
            ("DELETE", "/files/hello.txt", Value::Null),
        ] {
            let path = format!("{path}{below}");
            let sent = with_header(&server, (method, &path, &token), ("if-match", old), body);
            let refused = sent.await;
            assert_eq!(
                refused.problem().0,
                status,
                "{method} {below} {old}: {refused:?}"
            );
        }
    }
    let any = with_header(
        &server,
        ("PUT", &path, &token),
        ("if-match", "*"),
        change.clone(),
    );
    let any = any.await;
    assert_eq!(any.status, StatusCode::OK);
    let several = format!("\"a\", {}", any.header("etag"));
    let one = with_header(
        &server,
        ("PUT", &path, &token),
        ("if-match", &several),
        change,
    );
    assert_eq!(one.await.status, StatusCode::OK);
}

#[tokio::test]
async fn files_are_written_listed_and_deleted() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let (read, _) = server.token(&ann.id, &[Scope::SkillsRead]);
    let listed = server.get(PATH, &token).await.json();
    let path = format!("{PATH}/{}", listed["items"][0]["id"].as_str().unwrap());
    let put = |file: &'static str, content: &'static [u8]| {
        let path = format!("{path}/files/{file}");
        let request = request("PUT", &path, &token)
            .body(Body::from(content))
            .unwrap();
        server.send(request)
    };
    let written = put("new/%E5%90%88%20.txt", b"one\0two").await;
    assert_eq!(written.status, StatusCode::CREATED, "{written:?}");
    assert_eq!(written.json()["path"], "new/\u{5408} .txt");
    assert_eq!(put("hello.txt", b"bye\n").await.status, StatusCode::OK);
    let files = server.get(&format!("{path}/files"), &read).await.json();
    assert_eq!(
        files,
        json!([
            "SKILL.md",
            "assets/dot.png",
            "hello.txt",
            "new/\u{5408} .txt",
            "references/guide.md"
        ])
    );
    let dot = server
        .get(&format!("{path}/files/assets/dot.png"), &read)
        .await;
    assert_eq!(
        (dot.header("content-type"), &*dot.body),
        ("image/png", sample::DOT)
    );
    let odd = server
        .get(&format!("{path}/files/new/%E5%90%88%20.txt"), &read)
        .await;
    assert_eq!(odd.body, b"one\0two");
    for (wrong, status) in [
        ("..%2Fb", 422),
        ("%2Fetc%2Fpasswd", 422),
        ("a%5Cb", 422),
        ("a%00b", 422),
        ("CON", 422),
        ("a.", 422),
    ] {
        let path = format!("{path}/files/{wrong}");
        for (method, token) in [("PUT", &token), ("GET", &read)] {
            let request = request(method, &path, token).body(Body::empty()).unwrap();
            let refused = server.send(request).await;
            let is_unknown = method == "GET" && refused.status == StatusCode::NOT_FOUND;
            assert!(
                is_unknown || refused.problem().0 == status,
                "{method} {wrong}: {refused:?}"
            );
        }
    }
    let broken = put("SKILL.md", b"\0\xff").await;
    assert_eq!(broken.problem(), (422, "SKILL_INVALID".to_owned()));
    let without = server
        .call(
            "DELETE",
            &format!("{path}/files/SKILL.md"),
            &token,
            Value::Null,
        )
        .await;
    assert_eq!(without.problem(), (422, "SKILL_INVALID".to_owned()));
    let deleted = server
        .call(
            "DELETE",
            &format!("{path}/files/hello.txt"),
            &token,
            Value::Null,
        )
        .await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    let gone = server.get(&format!("{path}/files/hello.txt"), &token).await;
    assert_eq!(gone.problem(), (404, "FILE_NOT_FOUND".to_owned()));
    let refused = server
        .call(
            "DELETE",
            &format!("{path}/files/assets/dot.png"),
            &read,
            Value::Null,
        )
        .await;
    assert_eq!(refused.json()["missing"], json!(["skills:write"]));
}

#[tokio::test]
async fn archive_is_a_whole_skill() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let uploaded = server
        .upload(&token, "", "png.zip", &archive("png-tools"))
        .await;
    assert_eq!(uploaded.status, StatusCode::CREATED, "{uploaded:?}");
    assert_eq!(uploaded.json()["filename"], "png.zip");
    let path = uploaded.header("location").to_owned();
    let id = uploaded.json()["skill_id"].as_str().unwrap().to_owned();
    let again = server
        .upload(&token, "", "png.zip", &archive("png-tools"))
        .await;
    assert_eq!(again.problem(), (409, "SKILL_EXISTS".to_owned()));
    let one = server.upload(&token, &id, "notes/a.txt", b"hello").await;
    assert_eq!(one.status, StatusCode::CREATED, "{one:?}");
    let files = server.get(&format!("{path}/files"), &token).await.json();
    assert_eq!(files, json!(["SKILL.md", "notes/a.txt", "scripts/run.py"]));
    let downloaded = server.get(&format!("{path}/download"), &token).await;
    assert_eq!(downloaded.header("content-type"), "application/zip");
    assert_eq!(
        downloaded.header("content-disposition"),
        "attachment; filename*=UTF-8''png-tools.zip"
    );
    assert_eq!(
        gongfu_hub::archive::read(&downloaded.body).unwrap().len(),
        3
    );
    // An archive replaces everything.
    let replaced = server
        .upload(&token, &id, "png.zip", &archive("png-tools"))
        .await;
    assert_eq!(replaced.status, StatusCode::CREATED, "{replaced:?}");
    let files = server.get(&format!("{path}/files"), &token).await.json();
    assert_eq!(files, json!(["SKILL.md", "scripts/run.py"]));
    for (skill, name, content, problem) in [
        ("", "a.txt", &b"hello"[..], (422, "VALIDATION_ERROR")),
        (
            "",
            "a.zip",
            b"PK\x03\x04 nonsense",
            (422, "VALIDATION_ERROR"),
        ),
        (
            "00000000000000000000000000000000",
            "a.txt",
            b"hello",
            (404, "SKILL_NOT_FOUND"),
        ),
        (&id, "../a.txt", b"hello", (422, "INVALID_FILE_PATH")),
        (&id, "SKILL.md", b"\0\xff", (422, "SKILL_INVALID")),
    ] {
        let refused = server.upload(&token, skill, name, content).await;
        assert_eq!(
            refused.problem(),
            (problem.0, problem.1.to_owned()),
            "{name}"
        );
    }
    let empty = gongfu_hub::archive::write("x", &[]).unwrap();
    let refused = server.upload(&token, "", "x.zip", &empty).await;
    assert_eq!(refused.problem(), (422, "SKILL_INVALID".to_owned()));
    let json = server
        .call("POST", "/api/v1/skills/upload", &token, json!({}))
        .await;
    assert_eq!(json.problem(), (415, "UNSUPPORTED_MEDIA_TYPE".to_owned()));
}

#[tokio::test]
async fn person_enables_and_disables_skills() {
    let server = TestServer::new();
    let ann = server.user("ann", false);
    let (token, _) = server.token(&ann.id, &all_scopes());
    let access = server.sign_in("ann");
    let listed = server.get(PATH, &token).await.json();
    let path = format!("{PATH}/{}", listed["items"][0]["id"].as_str().unwrap());
    for (verb, is_active) in [("deactivate", false), ("activate", true)] {
        let path = format!("{path}/{verb}");
        let agent = server.call("POST", &path, &token, Value::Null).await;
        assert_eq!(agent.problem(), (403, "FORBIDDEN".to_owned()));
        let switched = server.call("POST", &path, &access, Value::Null).await;
        assert_eq!(switched.json()["is_active"], is_active);
        let load = json!({ "skill_name": "pdf-tools" });
        let loaded = server
            .call("POST", "/api/v1/tools/skill_load", &token, load)
            .await;
        assert_eq!(loaded.status.is_success(), is_active);
    }
}

#[tokio::test]
async fn request_with_a_key_is_answered_once() {
    let server = TestServer::new();
    let (ann, bob) = (server.user("ann", false), server.user("bob", false));
    let (token, _) = server.token(&ann.id, &all_scopes());
    let (other, _) = server.token(&bob.id, &all_scopes());
    let key = ("idempotency-key", "key 1");
    let new = |name: &str| json!({ "name": name, "description": "x" });
    let first = with_header(&server, ("POST", PATH, &token), key, new("a")).await;
    assert_eq!(first.status, StatusCode::CREATED);
    let again = with_header(&server, ("POST", PATH, &token), key, new("a")).await;
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    assert_eq!(again.header("location"), first.header("location"));
    let changed = with_header(&server, ("POST", PATH, &token), key, new("b")).await;
    assert_eq!(changed.problem(), (422, "VALIDATION_ERROR".to_owned()));
    // Another user's key is another one, and a failure leaves it free.
    let theirs = with_header(&server, ("POST", PATH, &other), key, new("pdf-tools")).await;
    assert_eq!(theirs.problem(), (409, "SKILL_EXISTS".to_owned()));
    let theirs = with_header(&server, ("POST", PATH, &other), key, new("b")).await;
    assert_eq!(theirs.status, StatusCode::CREATED);
    server.clock.advance(24 * 60 * 60 * 1_000);
    let later = with_header(&server, ("POST", PATH, &token), key, new("a")).await;
    assert_eq!(later.problem(), (409, "SKILL_EXISTS".to_owned()));
    let long = "x".repeat(256);
    let wrong = with_header(
        &server,
        ("POST", PATH, &token),
        ("idempotency-key", &long),
        new("c"),
    );
    assert_eq!(wrong.await.problem().0, 422);
    let space = server.spaces.parts(&Owner::User(ann.id.clone()));
    let library = gongfu_testing::now(gongfu_core::port::SkillStore::library(&*space.skills));
    assert_eq!(library.unwrap().skills().len(), 2);
}
