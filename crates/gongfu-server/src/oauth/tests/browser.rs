//! A browser: it keeps cookies, and sends what browsers send.

use std::cell::RefCell;
use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Request;
use http::HeaderValue;

use super::{Answer, PASSWORD, Server, query};

pub(super) struct Browser<'a> {
    pub(super) server: &'a Server,
    pub(super) cookies: RefCell<BTreeMap<String, String>>,
    pub(super) languages: &'static str,
    /// The headers in place of those of a page of the server.
    pub(super) forged: Vec<(&'static str, Option<&'static str>)>,
}

impl<'a> Browser<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        Self {
            server,
            cookies: RefCell::default(),
            languages: "en",
            forged: Vec::new(),
        }
    }

    /// A browser in which a user is signed in.
    pub(super) async fn signed_in(server: &'a Server, name: &str) -> Self {
        let browser = Self::new(server);
        let answer = browser.sign_in(name, PASSWORD, "").await;
        assert_eq!(answer.location(), "/account");
        browser
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    /// Sends a form as it is.
    pub(super) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut request = Request::post(path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", &self.server.issuer)
            .header("sec-fetch-site", "same-origin")
            .body(Body::from(query(fields)))
            .unwrap();
        for (name, value) in &self.forged {
            request.headers_mut().remove(*name);
            if let Some(value) = value {
                let value = HeaderValue::from_static(value);
                request.headers_mut().insert(*name, value);
            }
        }
        self.send(request).await
    }

    /// Opens a page, and sends a form from it.
    pub(super) async fn submit(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.get(page).await.field("form_token");
        self.post(path, &[&[("form_token", token.as_str())], fields].concat())
            .await
    }

    pub(super) async fn sign_in(&self, name: &str, password: &str, next: &str) -> Answer {
        let fields = [("name", name), ("password", password), ("next", next)];
        self.submit("/login", "/login", &fields).await
    }

    /// Opens the page of an authorization request, and answers it.
    pub(super) async fn decide(&self, path: &str, decision: &str) -> Answer {
        let page = self.get(path).await;
        let (token, request) = (page.field("form_token"), page.field("request"));
        let fields = [
            ("form_token", token.as_str()),
            ("request", &request),
            ("decision", decision),
        ];
        self.post("/authorize", &fields).await
    }

    async fn send(&self, mut request: Request) -> Answer {
        let headers = request.headers_mut();
        let cookies: Vec<String> = {
            let cookies = self.cookies.borrow();
            let pairs = cookies.iter();
            pairs
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        };
        let cookies = cookies.join("; ");
        headers.insert("cookie", HeaderValue::from_str(&cookies).unwrap());
        headers.insert("accept-language", HeaderValue::from_static(self.languages));
        headers.insert("user-agent", HeaderValue::from_static("Firefox <b>"));
        headers.insert("host", HeaderValue::from_static("localhost:7878"));
        headers.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
        let answer = self.server.send(request).await;
        for cookie in answer.headers.get_all("set-cookie") {
            let (pair, rest) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            let mut cookies = self.cookies.borrow_mut();
            if rest.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }
}
