//! Connections in a file: gongfu's own, or the configuration of a client.
//!
//! Every client has its own words for the same things; the first that is there counts.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    Confinement, Connection, ConnectionName, MissingVariable, OAuthClient, Program, Target, Url,
    expand, sandbox_folder,
};
use crate::capability::Safety;
use crate::network::{Rule, Rules};

/// The members of a file that hold connections by name: Claude Desktop, Claude Code, Cursor, Windsurf, Gemini CLI; VS
/// Code; Codex; Zed; goose; opencode; gongfu.
const TABLES: [&str; 7] = [
    "mcpServers",
    "servers",
    "mcp_servers",
    "context_servers",
    "extensions",
    "mcp",
    "connections",
];
/// The words for an address.
const ADDRESSES: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];
/// The transports that gongfu doesn't speak.
const OTHER_TRANSPORTS: [&str; 4] = ["sse", "ws", "websocket", "builtin"];

/// A connection in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The connection.
    pub connection: Connection,
    /// Its place in the file: the names of members and the numbers of items that lead to it.
    pub place: Vec<String>,
    /// True if its client doesn't use it at present.
    pub is_disabled: bool,
}

/// An entry that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its place in the file.
    pub place: Vec<String>,
    /// The name of the entry, if it has one.
    pub name: Option<String>,
    /// The problem, for people.
    pub what: String,
}

/// The connections of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Those that can be used.
    pub entries: Vec<Entry>,
    /// Those that can't.
    pub mistakes: Vec<Mistake>,
}

/// The file that connections are read from.
#[derive(Clone, Copy)]
pub enum FileKind<'a> {
    /// One of gongfu's: variables are filled in with these values.
    Own(&'a dyn Fn(&str) -> Option<String>),
    /// The configuration of a client: names are adapted, and variables stay as they are written.
    Client,
}

/// Reads the connections of a file: a table of them, a list, or a single one.
pub fn read(file: &Value, kind: FileKind<'_>) -> Reading {
    let mut reader = Reader {
        reading: Reading::default(),
        kind,
    };
    match file {
        Value::Array(items) => reader.list(items, &[]),
        Value::Object(fields) if is_entry(fields) => reader.entry(None, file, Vec::new()),
        Value::Object(fields) => reader.tables(fields),
        _ => reader.mistake(Vec::new(), "it must be a table of connections, or a list"),
    }
    reader.reading
}

struct Reader<'a> {
    reading: Reading,
    kind: FileKind<'a>,
}

impl Reader<'_> {
    /// Notes what is wrong with the whole file, or with a part of it that has no name.
    fn mistake(&mut self, place: Vec<String>, what: impl Into<String>) {
        let (name, what) = (None, what.into());
        self.reading.mistakes.push(Mistake { place, name, what });
    }

    fn tables(&mut self, fields: &Map<String, Value>) {
        let is_own = matches!(self.kind, FileKind::Own(_));
        let mut tables: Vec<(&str, &Value)> = TABLES
            .iter()
            .filter_map(|name| Some((*name, fields.get(*name)?)))
            .collect();
        if is_own {
            // `gongfu connection add` writes into the last of them.
            tables.reverse();
        }
        let mut tables = tables.into_iter();
        let Some((name, table)) = tables.next() else {
            if is_own {
                self.mistake(Vec::new(), "it has no `connections`");
            }
            return;
        };
        if let (Some((other, _)), true) = (tables.next(), is_own) {
            let what = format!("it is not read, because there is `{name}`: move its entries there");
            self.mistake(vec![other.to_owned()], what);
        }
        let place = [name.to_owned()];
        match table {
            Value::Array(items) => self.list(items, &place),
            Value::Object(entries) => {
                // opencode has another table inside.
                let inner = entries.get("servers").and_then(Value::as_object);
                let inner = inner.filter(|inner| !is_entry(inner) && name == "mcp");
                let mut place = place.to_vec();
                place.extend(inner.map(|_| "servers".to_owned()));
                for (name, entry) in inner.unwrap_or(entries) {
                    let place = [&*place, std::slice::from_ref(name)].concat();
                    self.entry(Some(name), entry, place);
                }
            }
            _ => self.mistake(place.to_vec(), "it must be a table, or a list"),
        }
    }

    fn list(&mut self, items: &[Value], above: &[String]) {
        for (at, item) in items.iter().enumerate() {
            let place = [above, &[at.to_string()]].concat();
            self.entry(None, item, place);
        }
    }

    fn entry(&mut self, name: Option<&str>, entry: &Value, place: Vec<String>) {
        let own = entry.get("name").and_then(Value::as_str);
        let label = name.or(own).map(str::to_owned);
        match self.parsed(name, entry) {
            Ok((connection, _)) if self.has(&connection.name) => {
                let what = format!("there is a connection `{}` already", connection.name);
                self.reading.mistakes.push(Mistake {
                    place,
                    name: label,
                    what,
                });
            }
            Ok((connection, is_disabled)) => self.reading.entries.push(Entry {
                connection,
                place,
                is_disabled,
            }),
            Err(what) => self.reading.mistakes.push(Mistake {
                place,
                name: label,
                what,
            }),
        }
    }

    fn has(&self, name: &ConnectionName) -> bool {
        let mut entries = self.reading.entries.iter();
        entries.any(|entry| entry.connection.name == *name)
    }

    fn parsed(&self, name: Option<&str>, entry: &Value) -> Result<(Connection, bool), String> {
        let fields = entry.as_object().ok_or("it must be a table")?;
        let name = match name.or(text(fields, &["name"])?) {
            Some(name) => self.name(name)?,
            None => return Err("it has no `name`".to_owned()),
        };
        let kind = text(fields, &["type", "transport"])?.unwrap_or_default();
        if OTHER_TRANSPORTS.contains(&kind) {
            return Err(format!(
                "its transport `{kind}` is not supported: use stdio or http"
            ));
        }
        let says = |name: &str, truth| fields.get(name).and_then(Value::as_bool) == Some(truth);
        let connection = Connection {
            target: self.target(fields)?,
            safety: safety(fields)?,
            tools: names(fields, &["tools", "enabled_tools"])?,
            is_shared: !says("shared", false),
            name,
        };
        Ok((connection, says("enabled", false) || says("disabled", true)))
    }

    fn name(&self, text: &str) -> Result<ConnectionName, String> {
        let name = ConnectionName::new(text);
        let nearest = || ConnectionName::nearest(text);
        match (name, nearest()) {
            (Ok(name), _) => Ok(name),
            (Err(_), Some(nearest)) if matches!(self.kind, FileKind::Client) => Ok(nearest),
            (Err(error), Some(nearest)) => Err(format!("{error}; call it `{nearest}`")),
            (Err(error), None) => Err(error.to_string()),
        }
    }

    fn target(&self, fields: &Map<String, Value>) -> Result<Target, String> {
        let url = text(fields, &ADDRESSES)?;
        if matches!(self.kind, FileKind::Own(_)) {
            // Without a sandbox that a person believes in, a program could do anything.
            let meant = |name: &&String| name.eq_ignore_ascii_case("sandbox");
            match fields.keys().find(meant) {
                Some(name) if name != "sandbox" => {
                    return Err(format!("`{name}` has no meaning: write `sandbox`"));
                }
                Some(_) if url.is_some() => {
                    return Err("a server at an address has no `sandbox`: remove it".to_owned());
                }
                _ => {}
            }
        }
        let (command, mut arguments) = command(fields)?;
        match (url, command) {
            (Some(_), Some(_)) => Err("it has a command and an address: remove one".to_owned()),
            (None, None) => Err("it has neither `command` nor `url`".to_owned()),
            (Some(url), None) => Ok(Target::Url(Url {
                url: self.address(url)?,
                headers: self.table(fields, &["headers", "http_headers"])?,
                is_private: flag(fields, "private")?,
                client: self.client(fields)?,
            })),
            (None, Some(command)) => {
                arguments.extend(names(fields, &["args"])?.unwrap_or_default());
                let arguments = arguments.iter().map(|word| self.filled(word));
                let sandbox = self.sandbox(fields)?;
                let folder = text(fields, &["workdir", "cwd", "folder"])?;
                let folder = folder.map(|folder| match sandbox {
                    Some(_) => self.folder("workdir", folder),
                    None => self.filled(folder),
                });
                let command = self.filled(&command)?;
                if command.trim().is_empty() {
                    return Err("its command is empty".to_owned());
                }
                Ok(Target::Program(Program {
                    command,
                    arguments: arguments.collect::<Result<_, _>>()?,
                    environment: self.table(fields, &["env", "environment", "envs"])?,
                    folder: folder.transpose()?,
                    sandbox,
                }))
            }
        }
    }

    fn address(&self, text: &str) -> Result<String, String> {
        let url = self.filled(text)?;
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        match rest {
            Some(rest) if !rest.is_empty() && !url.contains(char::is_whitespace) => Ok(url),
            _ => Err("its address must begin with https:// or http://".to_owned()),
        }
    }

    fn client(&self, fields: &Map<String, Value>) -> Result<Option<OAuthClient>, String> {
        let Some((name, value)) = first(fields, &["oauth", "auth"]) else {
            return Ok(None);
        };
        let fields = value.as_object();
        let fields = fields.ok_or_else(|| format!("`{name}` must be a table"))?;
        let scopes = match first(fields, &["scopes", "scope"]) {
            Some((_, Value::String(scopes))) => {
                scopes.split_whitespace().map(str::to_owned).collect()
            }
            _ => names(fields, &["scopes", "scope"])?.unwrap_or_default(),
        };
        let filled = |names: &[&str]| {
            let text = text(fields, names)?;
            text.map(|text| self.filled(text)).transpose()
        };
        let port = first(fields, &["callbackPort", "callback_port", "port"]);
        let port = port.map(|(name, port)| {
            let number = port.as_u64().and_then(|port| u16::try_from(port).ok());
            number.ok_or_else(|| format!("`{name}` must be the number of a port"))
        });
        Ok(Some(OAuthClient {
            id: filled(&["clientId", "client_id", "CLIENT_ID"])?.unwrap_or_default(),
            secret: filled(&["clientSecret", "client_secret", "CLIENT_SECRET"])?,
            scopes,
            port: port.transpose()?,
        }))
    }

    fn sandbox(&self, fields: &Map<String, Value>) -> Result<Option<Confinement>, String> {
        let table = match fields.get("sandbox") {
            None | Some(Value::Null | Value::Bool(false)) => return Ok(None),
            Some(Value::Bool(true)) => return Ok(Some(Confinement::default())),
            Some(Value::Object(table)) => table,
            Some(_) => return Err("`sandbox` must be true, false or a table".to_owned()),
        };
        let known = ["read", "write", "hosts"];
        if let Some(name) = table.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "`sandbox` has no `{name}`: use `read`, `write` or `hosts`"
            ));
        }
        let folders = |name: &str| {
            let folders = names(table, &[name])?.unwrap_or_default();
            let folders = folders.iter();
            let member = format!("sandbox.{name}");
            folders
                .map(|folder| self.folder(&member, folder))
                .collect::<Result<Vec<_>, String>>()
        };
        let hosts = names(table, &["hosts"])?.unwrap_or_default();
        let hosts = hosts.iter().map(|host| {
            let rule = self.filled(host)?.parse::<Rule>();
            rule.map_err(|error| format!("`sandbox.hosts`: `{host}`: {error}"))
        });
        Ok(Some(Confinement {
            read: folders("read")?,
            write: folders("write")?,
            hosts: Rules(hosts.collect::<Result<_, String>>()?),
        }))
    }

    /// A folder for the sandbox. `~` is the person's home; in the configuration of a client it stays.
    fn folder(&self, member: &str, text: &str) -> Result<String, String> {
        let filled = self.filled(text)?;
        let below = filled.strip_prefix('~');
        let below = below.filter(|below| below.is_empty() || below.starts_with('/'));
        let folder = match (below, self.kind) {
            (Some(_), FileKind::Client) => return Ok(filled),
            (Some(below), FileKind::Own(variable)) => {
                let home = variable("HOME").ok_or("`~` has no value: write the whole path")?;
                format!("{}{below}", home.trim_end_matches('/'))
            }
            (None, _) => filled,
        };
        sandbox_folder(&folder).map_err(|why| format!("`{member}`: {why}"))
    }

    fn filled(&self, text: &str) -> Result<String, String> {
        let filled = match self.kind {
            FileKind::Own(variable) => {
                expand(text, variable).map_err(|error: MissingVariable| error.to_string())?
            }
            FileKind::Client => text.to_owned(),
        };
        if filled.contains('\0') {
            return Err("it has a zero byte in it".to_owned());
        }
        Ok(filled)
    }

    /// A table of texts.
    fn table(
        &self,
        fields: &Map<String, Value>,
        names: &[&str],
    ) -> Result<BTreeMap<String, String>, String> {
        let Some((name, table)) = first(fields, names) else {
            return Ok(BTreeMap::new());
        };
        let wrong = || format!("`{name}` must be a table of texts");
        let mut filled = BTreeMap::new();
        for (key, value) in table.as_object().ok_or_else(wrong)? {
            let text = match value {
                Value::String(text) => self.filled(text)?,
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return Err(wrong()),
            };
            if key.is_empty() || key.contains(['=', '\0', '\n']) {
                return Err(format!("`{name}` has a name that can't be one: {key:?}"));
            }
            filled.insert(key.clone(), text);
        }
        Ok(filled)
    }
}

/// Returns true if an object is itself a connection.
fn is_entry(fields: &Map<String, Value>) -> bool {
    let is = |name: &&str| fields.get(*name).is_some_and(|value| !value.is_object());
    ADDRESSES.iter().chain(&["command", "cmd"]).any(is)
}

/// The first of these members that is there.
fn first<'a>(fields: &'a Map<String, Value>, names: &[&'a str]) -> Option<(&'a str, &'a Value)> {
    let mut found = names
        .iter()
        .filter_map(|name| Some((*name, fields.get(*name)?)));
    found.find(|(_, value)| !value.is_null())
}

fn text<'a>(fields: &'a Map<String, Value>, names: &[&'a str]) -> Result<Option<&'a str>, String> {
    let Some((name, value)) = first(fields, names) else {
        return Ok(None);
    };
    let text = value.as_str();
    Ok(Some(
        text.ok_or_else(|| format!("`{name}` must be a text"))?,
    ))
}

fn flag(fields: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(truth)) => Ok(*truth),
        Some(_) => Err(format!("`{name}` must be true or false")),
    }
}

fn names(fields: &Map<String, Value>, names: &[&str]) -> Result<Option<Vec<String>>, String> {
    let Some((name, value)) = first(fields, names) else {
        return Ok(None);
    };
    let wrong = || format!("`{name}` must be a list of texts");
    let items = value.as_array().ok_or_else(wrong)?.iter();
    let texts = items.map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong));
    Ok(Some(texts.collect::<Result<_, _>>()?))
}

/// The command and the arguments that are with it: opencode writes both as one list.
fn command(fields: &Map<String, Value>) -> Result<(Option<String>, Vec<String>), String> {
    match first(fields, &["command", "cmd"]) {
        Some((_, Value::Array(_))) => {
            let mut words = names(fields, &["command", "cmd"])?.unwrap_or_default();
            if words.is_empty() {
                return Err("its command is empty".to_owned());
            }
            Ok((Some(words.remove(0)), words))
        }
        _ => Ok((
            text(fields, &["command", "cmd"])?.map(str::to_owned),
            Vec::new(),
        )),
    }
}

fn safety(fields: &Map<String, Value>) -> Result<Option<Safety>, String> {
    let Some(level) = text(fields, &["safety"])? else {
        return Ok(None);
    };
    let known = Safety::from_name(level);
    Ok(Some(known.ok_or_else(|| {
        format!("there is no safety level {level:?}: use LOW, MEDIUM, HIGH or CRITICAL")
    })?))
}
