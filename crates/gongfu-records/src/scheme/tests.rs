//! URLs of databases.

use gongfu_core::account::Owner;
use gongfu_core::port::RecordKey;

use super::open_database;

#[tokio::test]
async fn database_is_opened_by_its_url() {
    let folder = tempfile::tempdir().unwrap();
    let key = RecordKey::new("a").unwrap();
    let path = folder.path().join("server.db");
    let mut expected = None;
    for url in [
        format!("sqlite:{}", path.display()),
        format!("sqlite://{}", path.display()),
    ] {
        let database = open_database(&url).await.unwrap();
        let records = database.records(&Owner::Local);
        let found = records.get(&key).await.unwrap();
        let version = found.map(|record| record.version);
        assert_eq!(version, expected, "{url}");
        expected = records.set(&key, version, Some(b"{}")).await.unwrap();
        database.close().await.unwrap();
    }
}

#[tokio::test]
async fn another_scheme_is_refused_without_its_password() {
    for url in [
        "postgres://ann:secret@db/gongfu",
        "server.db",
        "sqlite:",
        "",
    ] {
        let refused = open_database(url).await.err().unwrap().to_string();
        assert!(refused.contains("use `sqlite:`"), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
}
