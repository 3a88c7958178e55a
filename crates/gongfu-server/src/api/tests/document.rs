//! The documentation for programs.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::entries;
use super::TestServer;

#[tokio::test]
async fn document_is_complete() {
    let document = TestServer::new().get("/openapi.json", "").await.json();
    insta::assert_json_snapshot!("openapi", document);
    let operations: Vec<&Value> = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values())
        .collect();
    assert_eq!(operations.len(), entries().len());
    for operation in operations {
        let name = &operation["operationId"];
        assert!(operation["summary"].as_str().unwrap().len() > 8, "{name}");
        for parameter in operation["parameters"].as_array().unwrap() {
            if parameter["in"] != "header" {
                assert!(parameter["description"].is_string(), "{name}: {parameter}");
            }
            assert!(parameter["schema"].is_object(), "{name}: {parameter}");
        }
        for response in operation["responses"].as_object().unwrap().values() {
            let response = match response["$ref"].as_str() {
                Some(path) => document.pointer(path.trim_start_matches('#')).unwrap(),
                None => response,
            };
            assert!(response["description"].is_string(), "{name}");
        }
    }
}

#[test]
fn every_endpoint_says_what_it_does() {
    let mut names = BTreeSet::new();
    for entry in entries() {
        let input = &entry.places.schema;
        assert!(
            !input.description.is_empty(),
            "{} has no doc comment",
            entry.name
        );
        let first = input.description.split("\n\n").next().unwrap();
        assert!(first.ends_with('.'), "{}: {first}", entry.name);
        for (field, schema) in super::super::schema::properties(&input.schema) {
            let about = schema["description"].as_str().unwrap_or_default();
            assert!(
                !about.is_empty(),
                "{}.{field} has no doc comment",
                entry.name
            );
        }
        let is_closed = input.schema.get("additionalProperties") == Some(&Value::Bool(false));
        assert!(is_closed, "{} takes unknown fields", entry.name);
        let name = &entry.name;
        assert!(names.insert(name.clone()), "{name} is there twice");
    }
}

#[tokio::test]
async fn page_loads_nothing_from_elsewhere() {
    let server = TestServer::new();
    let page = server.get("/docs", "").await;
    let policy = page.header("content-security-policy").to_owned();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    let html = String::from_utf8(page.body).unwrap();
    let links = html
        .split(['"', '>'])
        .filter(|part| part.starts_with("docs/"));
    let mut count = 0;
    for link in links {
        let file = server.get(&format!("/{link}"), "").await;
        assert_eq!(file.status, 200, "{link}");
        assert!(
            !String::from_utf8_lossy(&file.body).contains("//cdn"),
            "{link}"
        );
        count += 1;
    }
    assert_eq!(count, 2);
    assert!(!html.contains("http") && !html.contains("onclick") && !html.contains("<style"));
}
