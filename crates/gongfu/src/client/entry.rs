//! The entry for gongfu in a client's file.

use std::path::Path;

use gongfu_server::Token;
use serde_json::{Value, json};

use super::file::Snapshot;
use super::format::lookup;
use super::known::{CLIENTS, Client};
use super::transport::Transport;
use crate::failure::Failure;

const AUTHORIZATION: &str = "Authorization";

impl Client {
    /// The entry for gongfu in a file.
    pub(super) fn entry_in(&self, file: &Path) -> Result<Option<Value>, Failure> {
        let text = Snapshot::read(file)?.text.unwrap_or_default();
        self.format.get(&text, self.path(&text)?)
    }

    /// The path of the entry in a file.
    pub(super) fn path(&self, text: &str) -> Result<&'static [&'static str], Failure> {
        let whole = self.format.read(text)?;
        let has_entry = |path: &&&[&str]| lookup(&whole, path).is_some();
        let has_shape = |path: &&&[&str]| {
            let holder = path.split_last().map_or(&[][..], |(_, above)| above);
            let object = lookup(&whole, holder).and_then(Value::as_object);
            object.is_some_and(|object| object.values().all(Value::is_object))
        };
        let paths = self.paths;
        let path = paths.iter().find(has_entry);
        let path = path.or_else(|| paths.iter().find(has_shape));
        Ok(path.or(paths.last()).copied().unwrap_or_default())
    }

    pub(super) fn check_transport(&self, transport: &Transport) -> Result<(), Failure> {
        match (transport, self.no_http) {
            (Transport::Http { .. }, Some(instead)) => Err(Failure::new(
                "NO_HTTP",
                format!("{} can't be given an address in its file", self.title),
                instead,
            )),
            _ => Ok(()),
        }
    }

    /// Enters the token of the server; answers false if a person's own `Authorization` stays instead.
    pub(super) fn enter_token(&self, entry: &mut Value, token: &Token) -> bool {
        self.remove_token(entry);
        let Some(fields) = entry.as_object_mut() else {
            return false;
        };
        let headers = fields.entry(self.headers).or_insert_with(|| json!({}));
        match headers.as_object_mut() {
            Some(headers) if !headers.keys().any(|name| is_authorization(name)) => {
                headers.insert(AUTHORIZATION.to_owned(), token.header().into());
                true
            }
            _ => false,
        }
    }

    /// Removes the token of a server, which another server must not get.
    pub(super) fn remove_token(&self, entry: &mut Value) {
        let Some(fields) = entry.as_object_mut() else {
            return;
        };
        let headers = fields.get_mut(self.headers).and_then(Value::as_object_mut);
        let Some(headers) = headers else {
            return;
        };
        headers.retain(|name, value| !(is_authorization(name) && is_token(value)));
        if headers.is_empty() {
            fields.shift_remove(self.headers);
        }
    }

    /// The text that belongs in its file, to be pasted.
    pub(crate) fn snippet(&self, transport: &Transport) -> Result<String, Failure> {
        self.check_transport(transport)?;
        let path = self.path("")?;
        let entry = (self.entry)(transport, path);
        self.format.edit("", path, Some(&entry))
    }

    /// The link that adds gongfu to this client, which must be one that has such links.
    pub(crate) fn install_link(&self, transport: &Transport) -> Option<String> {
        let path = self.path("").ok()?;
        self.link.map(|link| link(&(self.entry)(transport, path)))
    }

    /// The problem that the client opens no links.
    pub(crate) fn no_link(&self) -> Failure {
        let others = CLIENTS.iter().filter(|client| client.link.is_some());
        let ids: Vec<&str> = others.map(|client| client.id).collect();
        Failure::new(
            "NO_LINK",
            format!("{} has no install links", self.title),
            format!("omit --link; {} have one", ids.join(" and ")),
        )
    }
}

fn is_authorization(name: &str) -> bool {
    name.eq_ignore_ascii_case(AUTHORIZATION)
}

/// True for the token of a server, with its scheme.
fn is_token(value: &Value) -> bool {
    let sent = value.as_str().and_then(|sent| sent.strip_prefix("Bearer "));
    sent.is_some_and(|sent| Token::parse(sent).is_some())
}
