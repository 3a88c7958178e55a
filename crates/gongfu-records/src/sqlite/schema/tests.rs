//! Migrations from every earlier schema.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::{APPLICATION, MIGRATIONS, SchemaError, check, migrate};

/// Steps that depend on each other, so that a missing or repeated one fails.
const STEPS: &[&str] = &[
    "CREATE TABLE skill (name TEXT) STRICT; INSERT INTO skill VALUES ('pdf')",
    "ALTER TABLE skill ADD COLUMN owner TEXT; UPDATE skill SET owner = 'ann'",
    "ALTER TABLE skill RENAME COLUMN owner TO user",
];

async fn empty() -> SqliteConnection {
    SqliteConnectOptions::new()
        .in_memory(true)
        .connect()
        .await
        .unwrap()
}

async fn tables(connection: &mut SqliteConnection) -> Vec<String> {
    sqlx::query_scalar("SELECT sql FROM sqlite_schema ORDER BY name")
        .fetch_all(connection)
        .await
        .unwrap()
}

#[tokio::test]
async fn every_earlier_schema_becomes_the_current_one() {
    for steps in [MIGRATIONS, STEPS] {
        let mut fresh = empty().await;
        migrate(&mut fresh, steps).await.unwrap();
        let expected = tables(&mut fresh).await;
        assert!(!expected.is_empty());
        for earlier in 0..=steps.len() {
            let mut old = empty().await;
            migrate(&mut old, &steps[..earlier]).await.unwrap();
            assert_eq!(check(&mut old, steps).await.unwrap(), earlier);
            migrate(&mut old, steps).await.unwrap();
            assert_eq!(tables(&mut old).await, expected, "from {earlier}");
            assert_eq!(check(&mut old, steps).await.unwrap(), steps.len());
        }
    }
    let mut migrated = empty().await;
    migrate(&mut migrated, &STEPS[..1]).await.unwrap();
    migrate(&mut migrated, STEPS).await.unwrap();
    let row: (String, String) = sqlx::query_as("SELECT name, user FROM skill")
        .fetch_one(&mut migrated)
        .await
        .unwrap();
    assert_eq!(row, ("pdf".to_owned(), "ann".to_owned()));
}

#[tokio::test]
async fn newer_and_foreign_databases_are_refused_and_stay() {
    let mut newer = empty().await;
    migrate(&mut newer, STEPS).await.unwrap();
    let before = tables(&mut newer).await;
    let known = &STEPS[..2];
    for refused in [
        check(&mut newer, known).await.map(drop),
        migrate(&mut newer, known).await,
    ] {
        assert!(matches!(refused, Err(SchemaError::Newer(3))), "{refused:?}");
    }
    assert_eq!(tables(&mut newer).await, before);
    let mut foreign = empty().await;
    let refused = check(&mut foreign, STEPS).await;
    assert!(matches!(refused, Err(SchemaError::Foreign)), "{refused:?}");
}

#[tokio::test]
async fn step_that_fails_leaves_the_schema_as_it_was() {
    let mut old = empty().await;
    migrate(&mut old, &STEPS[..1]).await.unwrap();
    let before = tables(&mut old).await;
    let failing = [STEPS[0], STEPS[1], "DROP TABLE nothing"];
    let failed = migrate(&mut old, &failing).await;
    assert!(matches!(failed, Err(SchemaError::Sqlite(_))), "{failed:?}");
    assert_eq!(tables(&mut old).await, before);
    assert_eq!(check(&mut old, STEPS).await.unwrap(), 1);
    migrate(&mut old, STEPS).await.unwrap();
    old.close().await.unwrap();
}

/// The schema of each release never changes: a step that was released is a promise.
#[tokio::test]
async fn released_schemas_are_unchanged() {
    let mut database = empty().await;
    migrate(&mut database, &MIGRATIONS[..1]).await.unwrap();
    let columns: Vec<String> = sqlx::query_scalar(
        "SELECT m.name || '.' || p.name || ' ' || p.type || ' ' || p.pk
         FROM sqlite_schema m, pragma_table_info(m.name) p ORDER BY m.name, p.cid",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();
    let expected = [
        "log.scope TEXT 1",
        "log.log TEXT 2",
        "log.number INTEGER 3",
        "log.entry BLOB 0",
        "log.hash BLOB 0",
        "record.scope TEXT 1",
        "record.key TEXT 2",
        "record.value BLOB 0",
        "record.version BLOB 0",
    ];
    assert_eq!(columns, expected);
    let application: i32 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut database)
        .await
        .unwrap();
    assert_eq!(application, APPLICATION);
}
