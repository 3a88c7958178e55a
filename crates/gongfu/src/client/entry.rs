//! The entry for gongfu in a client's file.

use std::path::Path;

use gongfu_server::Token;
use serde_json::{Value, json};

use super::file::Snapshot;
use super::format::lookup;
use super::known::Client;
use super::problem::Problem;
use super::transport::Transport;

const AUTHORIZATION: &str = "Authorization";

impl Client {
    /// The entry for gongfu in a file.
    pub(super) fn entry_in(&self, file: &Path) -> Result<Option<Value>, Problem> {
        let text = Snapshot::read(file)?.text.unwrap_or_default();
        self.format.get(&text, self.path(&text)?)
    }

    /// The path of the entry in a file.
    pub(super) fn path(&self, text: &str) -> Result<&'static [&'static str], Problem> {
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

    pub(super) fn check_transport(&self, transport: &Transport) -> Result<(), Problem> {
        match (transport, self.no_http) {
            (Transport::Http { .. }, Some(instead)) => Err(Problem::new(
                "no-http",
                format!("{} can't be given an address in its file", self.title),
                instead,
            )),
            _ => Ok(()),
        }
    }

    /// Enters the token of the server; answers false if a person's own `Authorization` stays instead.
    pub(super) fn enter_token(&self, entry: &mut Value, token: &Token) -> bool {
        let Some(entry) = entry.as_object_mut() else {
            return false;
        };
        let headers = entry.entry(self.headers).or_insert_with(|| json!({}));
        let Some(headers) = headers.as_object_mut() else {
            return false;
        };
        let is_ours = |value: &Value| {
            let sent = value
                .as_str()
                .and_then(|value| value.strip_prefix("Bearer "));
            sent.is_some_and(|sent| Token::parse(sent).is_some())
        };
        let mut others = headers.iter();
        if others.any(|(name, value)| name.eq_ignore_ascii_case(AUTHORIZATION) && !is_ours(value)) {
            return false;
        }
        headers.retain(|name, _| !name.eq_ignore_ascii_case(AUTHORIZATION));
        headers.insert(AUTHORIZATION.to_owned(), token.header().into());
        true
    }

    /// The text that belongs in its file, to be pasted.
    pub(crate) fn snippet(&self, transport: &Transport) -> Result<String, Problem> {
        self.check_transport(transport)?;
        let path = self.path("")?;
        let entry = (self.entry)(transport, path);
        self.format.edit("", path, Some(&entry))
    }
}
