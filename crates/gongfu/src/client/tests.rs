//! Where clients are on each system, what entries say, and generated documents: an installation and
//! its undoing leave nothing behind, whatever the document looks like.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::format::{Added, Format};
use super::place::{Places, Platform};
use super::record::Undo;
use super::server::{Server, merged};
use super::{CLIENTS, Scope};
use crate::environment::Environment;

#[test]
fn where_each_client_keeps_its_file() {
    let environment = Environment {
        directory: Some(PathBuf::from("/gongfu-project")),
        ..Environment::default()
    };
    let mut lines = Vec::new();
    for platform in [Platform::Linux, Platform::MacOs, Platform::Windows] {
        let places = Places {
            platform,
            user: PathBuf::from("~"),
            environment: &environment,
        };
        for client in &CLIENTS {
            let file = client.located(Scope::User, &places).file.unwrap();
            lines.push(format!("{platform:?} {}: {}", client.id, file.display()));
        }
    }
    let places = Places::own(&environment);
    for client in &CLIENTS {
        let file = client.located(Scope::Project, &places).file;
        lines.push(format!("project {}: {file:?}", client.id));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn variables_lead_elsewhere() {
    let folders: BTreeMap<&'static str, PathBuf> = [
        "APPDATA",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "FLATPAK_XDG_CONFIG_HOME",
        "GEMINI_CLI_HOME",
        "GOOSE_PATH_ROOT",
        "VSCODE_APPDATA",
        "XDG_CONFIG_HOME",
    ]
    .into_iter()
    .map(|name| (name, PathBuf::from(format!("/{name}"))))
    .collect();
    let environment = Environment {
        client_folders: folders,
        ..Environment::default()
    };
    let mut lines = Vec::new();
    for platform in [Platform::Linux, Platform::Windows] {
        let places = Places {
            platform,
            user: PathBuf::from("~"),
            environment: &environment,
        };
        for client in &CLIENTS {
            let file = client.located(Scope::User, &places).file.unwrap();
            lines.push(format!("{platform:?} {}: {}", client.id, file.display()));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn ids_are_unique_and_sorted_and_entries_are_understood() {
    let ids: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    assert!(
        ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]),
        "{ids:?}"
    );
    let servers = [
        Server::Stdio {
            command: "/a b/gongfu".to_owned(),
            arguments: vec!["mcp".to_owned(), "--profile".to_owned(), "all".to_owned()],
        },
        Server::Http {
            url: super::DEFAULT_URL.to_owned(),
        },
    ];
    for client in &CLIENTS {
        for server in &servers {
            for path in client.paths {
                let entry = (client.entry)(server, path);
                assert_eq!(Server::read(&entry).as_ref(), Some(server), "{}", client.id);
                assert_eq!(merged(&entry, &entry), (entry, Vec::new()));
                assert!(server.is_gongfu());
            }
        }
    }
}

#[test]
fn what_a_person_added_stays() {
    let program = json!({ "type": "stdio", "command": "/old", "args": ["mcp"], "env": { "A": "b" }, "timeout": 5 });
    let newer = json!({ "type": "stdio", "command": "/new", "args": ["mcp"], "timeout": 300 });
    assert_eq!(
        merged(&program, &newer),
        (
            json!({ "type": "stdio", "command": "/new", "args": ["mcp"], "env": { "A": "b" }, "timeout": 5 }),
            Vec::new()
        )
    );
    // Some clients refuse a file that has the settings of a program beside an address.
    let address =
        json!({ "type": "http", "url": "http://x/mcp", "headers": { "A": "b" }, "timeout": 300 });
    assert_eq!(
        merged(&program, &address),
        (
            json!({ "type": "http", "timeout": 5, "url": "http://x/mcp", "headers": { "A": "b" } }),
            vec!["env".to_owned()]
        )
    );
    assert_eq!(
        merged(&address, &program),
        (
            json!({ "type": "stdio", "timeout": 300, "command": "/old", "args": ["mcp"], "env": { "A": "b" } }),
            vec!["headers".to_owned()]
        )
    );
}

#[test]
fn a_switch_stays_as_a_person_left_it() {
    for client in &CLIENTS {
        for path in client.paths {
            let server = |command: &str| Server::Stdio {
                command: command.to_owned(),
                arguments: vec!["mcp".to_owned()],
            };
            let new = (client.entry)(&server("/new/gongfu"), path);
            for (name, value) in [("enabled", false), ("enabled", true), ("disabled", true)] {
                let mut old = (client.entry)(&server("/old/gongfu"), path);
                old[name] = value.into();
                let (merged, left_out) = merged(&old, &new);
                assert_eq!(merged[name], json!(value), "{}", client.id);
                assert_eq!(Server::read(&merged), Server::read(&new), "{}", client.id);
                assert!(left_out.is_empty());
            }
        }
    }
}

#[test]
fn the_way_back_is_for_an_untouched_file_alone() {
    for (before, after) in [
        ("", "{}"),
        ("aбв", "aбxв"),
        ("same", "same"),
        ("ab", ""),
        ("aa", "aaa"),
    ] {
        let undo = Undo::between(before, after);
        assert_eq!(undo.undone(after).as_deref(), Some(before));
        assert_eq!(undo.undone(&format!("{after} ")), None);
    }
}

/// Numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const NAMES: [&str; 6] = ["a", "b c", "ключ", "mcpServers2", "x-y", "\\\"q"];

fn json_blank(chance: &mut Chance) -> &'static str {
    chance.of(&[
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\n\t",
        " // c, }\n",
        " /* { */ ",
        "\n\n    ",
    ])
}

fn json_value(chance: &mut Chance, depth: usize) -> String {
    match chance.below(if depth == 0 { 4 } else { 6 }) {
        0 => chance
            .of(&["1", "-2.5e3", "true", "null", "12345678901234567890123"])
            .to_owned(),
        1 | 2 => format!(
            "\"{}\"",
            chance.of(&["", "x", "// no", "\\n{", "ж", "\\u00e9"])
        ),
        3 => "[]".to_owned(),
        4 => {
            let inner = json_value(chance, depth - 1);
            let (left, right) = (json_blank(chance), json_blank(chance));
            format!("[{left}{inner}{}{right}]", chance.of(&["", ","]))
        }
        _ => json_object(chance, depth - 1, &[]),
    }
}

fn json_object(chance: &mut Chance, depth: usize, path: &[&str]) -> String {
    let mut fields = Vec::new();
    let count = chance.below(4);
    let at = chance.below(count + 1);
    for (number, name) in NAMES.iter().enumerate().take(count) {
        if number == at {
            fields.extend(json_step(chance, depth, path));
        }
        fields.push((*name, json_value(chance, depth)));
    }
    if at >= count {
        fields.extend(json_step(chance, depth, path));
    }
    let mut text = "{".to_owned();
    let last = fields.len();
    for (number, (name, value)) in fields.into_iter().enumerate() {
        let comma = if number + 1 < last {
            ","
        } else {
            chance.of(&["", ","])
        };
        text += json_blank(chance);
        text += &["\"", name, "\"", json_blank(chance), ":"].concat();
        text += json_blank(chance);
        text += &value;
        text += json_blank(chance);
        text += comma;
    }
    text + json_blank(chance) + "}"
}

fn json_step<'p>(chance: &mut Chance, depth: usize, path: &[&'p str]) -> Option<(&'p str, String)> {
    let (name, rest) = path.split_first()?;
    match chance.below(6) {
        0 | 1 => None,
        2 => Some((*name, "null".to_owned())),
        _ => Some((*name, json_object(chance, depth.max(1) - 1, rest))),
    }
}

fn toml_document(chance: &mut Chance) -> String {
    let mut text = String::new();
    for name in ["a", "b"] {
        if chance.below(2) == 0 {
            text += chance.of(&["", "# top\n", "\n"]);
            let value = chance.of(&[
                "1",
                "\"x # y\"",
                "[\n  1, # one\n  2,\n]",
                "'''\n[x]\n'''",
                "{ c = 1 }",
            ]);
            text += &[name, " = ", value, chance.of(&["", " # why"]), "\n"].concat();
        }
    }
    text += match chance.below(5) {
        0 => "mcp_servers = { x = { command = \"x\" } } # all\n",
        1 => "mcp_servers = {}\n",
        2 => "[mcp_servers] # here\n",
        3 => "[mcp_servers.x]\ncommand = \"x\"\n[mcp_servers.x.env]\nA = \"b\"\n",
        _ => "",
    };
    for name in ["[t]", "[[l]]", "[[l]]", "[t.u]"] {
        if chance.below(2) == 0 && (name != "[t.u]" || text.contains("[t]")) {
            text += chance.of(&["", "\n", "\n# about\n"]);
            text += &[name, "\n", chance.of(&["", "k = 1\n", "  k = \"v\" # w\n"])].concat();
        }
    }
    text + chance.of(&["", "\n", "# end", "# end\n"])
}

fn yaml_document(chance: &mut Chance) -> String {
    let unit = chance.of(&["  ", "    ", " "]);
    let mut text = chance.of(&["", "# top\n", "---\n", "\n"]).to_owned();
    let pair = |chance: &mut Chance, name: &str, indent: &str| {
        let deep = format!("{indent}{unit}");
        let value = match chance.below(6) {
            0 => " 1 # one".to_owned(),
            1 => " \"x: y\"".to_owned(),
            2 => format!("\n{deep}k: v\n\n{deep}l: w"),
            3 => format!("\n{deep}- a\n{deep}- b: 1"),
            4 => format!(" |\n{deep}text\n\n{deep}more: 1"),
            _ => " {a: [1, 2], b: {}}".to_owned(),
        };
        format!(
            "{}{indent}{name}:{value}\n",
            chance.of(&["", "# about\n", "\n"])
        )
    };
    for name in ["a", "b"] {
        if chance.below(2) == 0 {
            text += &pair(chance, name, "");
        }
    }
    match chance.below(6) {
        4 => text += chance.of(&["extensions: null\n", "'extensions' :  ~  # none\n"]),
        0 => text += "extensions: {}\n",
        1 => text += "extensions: {x: {cmd: x}, 'y': [1]} # all\n",
        2 => text += "extensions:   # none\n",
        3 => {
            text += "extensions:\n";
            for name in ["x", "y"] {
                text += &pair(chance, name, unit);
            }
        }
        _ => {}
    }
    if chance.below(2) == 0 {
        text += &pair(chance, "z", "");
    }
    text + chance.of(&["", "\n", "# end", "# end\n"])
}

#[test]
fn generated_documents_come_back_byte_for_byte() {
    let entry = json!({ "type": "stdio", "command": "/a b/gongfu", "args": ["mcp", "--x=\"1\""], "enabled": true });
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut done = BTreeMap::new();
    for _ in 0..3000 {
        let (format, path, text): (Format, &[&str], String) = match chance.below(4) {
            0 => (
                Format::Json,
                &["mcpServers"],
                json_object(&mut chance, 3, &["mcpServers"]),
            ),
            1 => (
                Format::Json,
                &["mcp", "servers"],
                json_object(&mut chance, 3, &["mcp", "servers"]),
            ),
            2 => (Format::Toml, &["mcp_servers"], toml_document(&mut chance)),
            _ => (Format::Yaml, &["extensions"], yaml_document(&mut chance)),
        };
        let text = match chance.below(4) {
            0 => text.replace('\n', "\r\n"),
            1 => text.trim_end().to_owned(),
            _ => text,
        };
        let Ok(before) = format.read(&text) else {
            continue;
        };
        // A refusal is allowed, and counted below: nothing is written then.
        let Ok((new, added)) = format.insert(&text, path, "gongfu", &entry) else {
            *done.entry("refused").or_insert(0) += 1;
            continue;
        };
        assert_eq!(
            format.find(&new, path, "gongfu").unwrap().as_ref(),
            Some(&entry)
        );
        let after = format.read(&new).unwrap();
        assert_eq!(
            without_entry(&after, path),
            without_entry(&before, path),
            "{text:?}\n{new}"
        );
        let back = format.remove(&new, path, "gongfu", &added);
        let back = back.unwrap_or_else(|problem| panic!("{problem:?}\n{text:?}\n{new}"));
        assert_eq!(back, text, "through\n{new}");
        // Without a record nothing else is lost either.
        let bare = format
            .remove(&new, path, "gongfu", &Added::default())
            .unwrap();
        assert_eq!(format.find(&bare, path, "gongfu").unwrap(), None);
        *done
            .entry(match format {
                Format::Json => "json",
                Format::Toml => "toml",
                Format::Yaml => "yaml",
            })
            .or_insert(0) += 1;
    }
    for name in ["json", "toml", "yaml"] {
        assert!(done.get(name).is_some_and(|count| *count > 400), "{done:?}");
    }
    assert!(
        done.get("refused").is_none_or(|count| *count < 30),
        "{done:?}"
    );
}

/// A value without the entry; a name on the way that holds nothing counts as absent.
fn without_entry(value: &Value, path: &[&str]) -> Value {
    let mut value = value.clone();
    let Some(object) = value.as_object_mut() else {
        return value;
    };
    match path.split_first() {
        None => drop(object.shift_remove("gongfu")),
        Some((name, rest)) => {
            if let Some(inner) = object.get(*name) {
                let inner = without_entry(inner, rest);
                if inner.is_null() || inner == json!({}) {
                    object.shift_remove(*name);
                } else {
                    object.insert((*name).to_owned(), inner);
                }
            }
        }
    }
    value
}
