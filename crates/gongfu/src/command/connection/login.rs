//! `gongfu connection login`: a person signs in at another server, in a browser that comes back to this command.

use std::io;
use std::time::Duration;

use gongfu_core::connection::Target;
use gongfu_core::port::SignIn;
use gongfu_hub::surface::connection::{ConnectionLogin, ConnectionLogout};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::super::Outcome;
use super::super::operate::{Operations, operate};
use super::approve::status;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};

/// The time that a person has.
const TIMEOUT: Duration = Duration::from_mins(10);
/// The time in which a browser sends a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest line of a request, in bytes.
const MAX_LINE: u64 = 16 * 1024;
/// The path that the browser comes back to.
const PATH: &str = "/callback";

pub(super) fn login(
    name: &str,
    no_browser: bool,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = super::parts(environment)?;
    let operations = Operations::new(&parts)?;
    let status = status(name, &operations, terminal)?;
    let port = match &status.connection.target {
        Target::Url(url) => url.client.as_ref().and_then(|client| client.port),
        Target::Program(_) => {
            let message = format!("`{}` is a program, which needs no sign-in", plain(name));
            let hint =
                "a server that needs one has an address; what a program needs is in its variables";
            return Err(Failure::usage("INVALID_ARGUMENT", message, hint).into());
        }
    };
    let bound = operations.wait(TcpListener::bind(("127.0.0.1", port.unwrap_or_default())));
    let listener = bound.ok_or_else(interrupted)?;
    let listener = listener.map_err(|error| {
        let message = format!("the browser can't come back to this machine: {error}");
        Failure::new(
            "ADDRESS_UNAVAILABLE",
            message,
            "free the port, and try again",
        )
    })?;
    // A client that is registered with a port has it with this name.
    let host = if port.is_some() {
        "localhost"
    } else {
        "127.0.0.1"
    };
    let origin = format!("http://{host}:{}", listener.local_addr()?.port());
    let login = ConnectionLogin {
        connection: name.to_owned(),
        redirect: format!("{origin}{PATH}"),
    };
    let sign_in = operations.operate(login, json, terminal)?;
    let url = sign_in.url().to_owned();
    let is_opened = !no_browser && open::that_detached(&url).is_ok();
    terminal.note(if is_opened {
        "your browser shows the sign-in; if it doesn't, open this address:"
    } else {
        "open this address in a browser of this machine:"
    });
    terminal.note(&plain(&url));
    let done = operations.wait(async {
        let signing_in = signed_in(&listener, &origin, sign_in);
        tokio::time::timeout(TIMEOUT, signing_in).await
    });
    let done = done.ok_or_else(interrupted)?;
    let refused = |message: String| {
        let hint = format!("try again: gongfu connection login {}", plain(name));
        Failure::new("SIGN_IN_FAILED", message, hint)
    };
    match done {
        Ok(Ok(())) => {}
        Ok(Err(why)) => return Err(refused(format!("the sign-in failed: {}", plain(&why))).into()),
        Err(_) => return Err(refused("nobody signed in for ten minutes".to_owned()).into()),
    }
    if json {
        terminal.json(&json!({ "name": name, "signed_in": true }))?;
    } else {
        terminal.line(&format!("signed in {}", plain(name)))?;
    }
    Ok(Outcome::Good)
}

fn interrupted() -> Failure {
    Failure::new("SIGN_IN_FAILED", "it was interrupted", "start it again")
}

/// Waits until the browser comes back, and ends the sign-in.
async fn signed_in(
    listener: &TcpListener,
    origin: &str,
    sign_in: Box<dyn SignIn>,
) -> Result<(), String> {
    loop {
        let (mut stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        let asked = tokio::time::timeout(REQUEST_TIMEOUT, target(&mut stream)).await;
        let Ok(Ok(Some(target))) = asked else {
            continue;
        };
        if target != PATH && !target.starts_with(&format!("{PATH}?")) {
            let _ = answer(&mut stream, "404 Not Found", "There is nothing here.").await;
            continue;
        }
        let end = sign_in.finish(format!("{origin}{target}")).await;
        let (status, text) = match &end {
            Ok(()) => ("200 OK", "You are signed in. You can close this page."),
            Err(_) => (
                "400 Bad Request",
                "The sign-in failed. The terminal says why.",
            ),
        };
        // The sign-in is what it is, even if the browser is gone.
        let _ = answer(&mut stream, status, text).await;
        return end.map_err(|error| error.to_string());
    }
}

/// The target of a request, if it is one.
async fn target(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut lines = BufReader::new(stream.take(MAX_LINE));
    let mut line = String::new();
    lines.read_line(&mut line).await?;
    let first = line
        .strip_prefix("GET ")
        .and_then(|rest| rest.split_once(' '));
    let target = first.map(|(target, _)| target.to_owned());
    // A connection that closes with unread data takes its answer with it.
    while target.is_some() && !line.trim().is_empty() {
        line.clear();
        lines.read_line(&mut line).await?;
    }
    Ok(target)
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let body =
        format!("<!doctype html><meta charset=\"utf-8\"><title>gongfu</title><p>{text}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\ncontent-security-policy: default-src 'none'\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

pub(super) fn logout(
    name: &str,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = super::parts(environment)?;
    let logout = ConnectionLogout {
        connection: name.to_owned(),
    };
    let was_signed_in = operate(logout, &parts, false, terminal)?;
    let name = plain(name);
    terminal.line(&if was_signed_in {
        format!("signed out {name}")
    } else {
        format!("you weren't signed in at {name}")
    })?;
    Ok(Outcome::Good)
}
