//! Limits on how often somebody may ask.

use http::StatusCode;
use serde_json::json;

use super::{PASSWORD, TestServer};
use crate::rate::RateSettings;

#[tokio::test]
async fn many_wrong_logins_are_refused_before_a_password_is_hashed() {
    let server = TestServer::with(RateSettings::default());
    server.user("ann", false);
    let mut codes = Vec::new();
    for number in 0..200 {
        let login = json!({ "email": format!("user{}", number % 50), "password": "wrong words" });
        let reply = server.call("POST", "/api/v1/auth/login", "", login).await;
        codes.push(reply.problem());
        if reply.status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(reply.problem().1, "RATE_LIMIT_EXCEEDED");
            assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
        }
    }
    let refused = codes.iter().filter(|(status, _)| *status == 401).count();
    assert_eq!((refused, server.passwords.take_compared()), (20, 20));
    server.clock.advance(60_000);
    let right = json!({ "email": "ann", "password": PASSWORD });
    let reply = server.call("POST", "/api/v1/auth/login", "", right).await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn name_is_locked_for_a_while_and_an_unknown_one_as_well() {
    let server = TestServer::new();
    server.user("ann", false);
    for name in ["ann", "nobody"] {
        let login = |password: &str| json!({ "email": name, "password": password });
        for _ in 0..6 {
            let reply = server
                .call("POST", "/api/v1/auth/login", "", login("wrong words"))
                .await;
            assert_eq!(reply.problem().0, 401);
        }
        let locked = server
            .call("POST", "/api/v1/auth/login", "", login(PASSWORD))
            .await;
        assert_eq!(
            locked.problem(),
            (429, "RATE_LIMIT_EXCEEDED".to_owned()),
            "{name}"
        );
        assert_eq!(locked.header("retry-after"), "1");
    }
    server.clock.advance(1_000);
    let right = json!({ "email": "ann", "password": PASSWORD });
    let reply = server.call("POST", "/api/v1/auth/login", "", right).await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn found_session_is_no_way_to_guess_the_password() {
    let server = TestServer::new();
    server.user("ann", false);
    let access = server.sign_in("ann");
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let guess = json!({ "password": "wrong words" });
        let reply = server
            .call("DELETE", "/api/v1/users/me", &access, guess)
            .await;
        statuses.push(reply.problem().0);
    }
    assert_eq!(statuses, [403, 403, 403, 403, 403, 403, 429, 429]);
}

#[tokio::test]
async fn credential_has_a_number_of_requests_in_a_minute() {
    let limited = RateSettings {
        requests: Some(3),
        ..RateSettings::default()
    };
    let server = TestServer::with(limited);
    server.user("ann", false);
    let (one, other) = (server.sign_in("ann"), server.sign_in("ann"));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(server.get("/api/v1/users/me", &one).await.status.as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(
        server
            .get("/api/v1/users/me", &one)
            .await
            .header("retry-after"),
        "20"
    );
    assert_eq!(
        server.get("/api/v1/users/me", &other).await.status,
        StatusCode::OK
    );
}
