//! Documents as people write them: an edit changes the entry and nothing else.

use serde_json::{Value, json};

use super::Format;

const JSON: [&str; 28] = [
    "",
    "// only a comment",
    "/* c */\n",
    "{}",
    "{\n\n}\n",
    "{ /* c */ }",
    "{ // c\n}",
    "{\"a\":1,}",
    "{\n  \"a\": 1\n}",
    "{\n\t\"a\": 1 // why\n\t// end\n}\n",
    "{\n\t\"a\": 1, // why\n\t// end\n}\n",
    "{\"a\": {\n \"b\": 1}}",
    "{\"mcpServers\":null, \"z\": 12345678901234567890123}",
    "{\n\t\"a\": 1,\n\t\"mcpServers\":null, // none\n}\n",
    "{\n  \"mcpServers\": { }, \"z\": []\n}",
    "{\n  \"mcpServers\": {\n    // nothing yet\n  }\n}",
    "{\n  \"mcpServers\": { /* nothing yet */ }\n}",
    "{\n  \"mcpServers\": {\n    \"x\": { \"command\": \"x\" } // x\n    /* y */\n  },\n  \"z\": 1\n}",
    "{\"mcpServers\": {\"x\": {\"command\": \"x\"}}}",
    "{\"mcpServers\": {\"x\": {\"command\": \"x\"} /* c */, /* d */ } }",
    "{\"mcpServers\":\n{\"x\": {\n\"command\": \"x\"}}}",
    "{\"gongfu\": 1, \"a\": {\"mcpServers\": {\"gongfu\": 1}}}",
    // With an entry that is updated.
    "{\"mcpServers\": { // c\n\"gongfu\": {}, \"b\": {}}}",
    "{\"mcpServers\": {\"gongfu\": null}}",
    "{\"mcpServers\": {\n  \"x\": {}, // x\n  \"gongfu\": {\"command\": \"\"}\n}}",
    "{\n  \"mcpServers\": {\n    // about it\n    \"gongfu\": {}\n  }\n}",
    "{\"mcpServers\": {\"gongfu\": {\"args\": [1, /* ours */], \"env\": {\"A\": \"b\"}}, \"x\": 1}}",
    "{\"mcpServers\": {\"ключ\": \"\\u00e9\", \"\\u0067ongfu\": {}}}",
];

const TOML: [&str; 17] = [
    "",
    "# only a comment",
    "\n# one\n\n# two\n",
    "a = 1",
    "a = 1\n\n",
    "a = 1\n# end\n",
    "[mcp_servers]\n",
    "[mcp_servers.x]\ncommand = \"x\" # x\n\n[other]\ny = 1\n# end",
    "[mcp_servers]\nx = { command = \"x\" }\n[[list]]\na = 1\n[[list]]\n",
    "mcp_servers = {}\n[b]\n",
    "mcp_servers = { x = { command = \"x\" } } # all\n",
    "mcp_servers.x.command = \"x\"\n",
    "[[list]]\na = [\n  1, # one\n]\n",
    "text = \"\"\"\n[mcp_servers.gongfu]\n\"\"\"\nwhen = 2024-01-01\n",
    // With an entry that is updated.
    "# head\n[mcp_servers.gongfu]\ncommand = \"x\" # ours\n\n[mcp_servers.gongfu.env]\nA = \"b\"\n\n# about y\n[mcp_servers.y]\n",
    "mcp_servers = { gongfu = { command = \"x\" }, x = {} }\n",
    "mcp_servers.gongfu.command = \"x\"\nmcp_servers.y.command = \"y\"\n",
];

const YAML: [&str; 19] = [
    "",
    "# only a comment",
    "---\na: 1\n",
    "a: 1\n# end",
    "a: 1\nb:\n    c: 2\n",
    "extensions:",
    "extensions: # none\nz: 1\n",
    "extensions: \n\n# end\n",
    "extensions: ~\n",
    "extensions: null\n\n  # none yet\n\nz: 1\n",
    "extensions:\n  # built in\n  developer:\n    enabled: true # on\n\nz: 1\n",
    "extensions:\n    developer:\n        args:\n        - a\n        text: |\n          b\n\n          c",
    "extensions: { }\nb: 1\n",
    "extensions: &all\n  a: {enabled: true}\n",
    "text: |\n  extensions:\n    gongfu: 1\n",
    "ключ: значение # комментарий\nextensions:\n  имя: {a: 1}\n",
    // With an entry that is updated.
    "extensions:\n  gongfu:\n    # ours\n    cmd: /old\n    args:\n    - mcp\n    bundled: null\n  y:\n    cmd: y\n",
    "extensions:\n  y:\n    cmd: y\n  gongfu: null\n# end\n",
    "extensions:\n  gongfu:\n    cmd: /old # ours",
];

fn entry() -> Value {
    json!({ "type": "stdio", "command": "C:\\a b\\gongfu.exe", "args": ["mcp", "--x=\"1\""], "enabled": true })
}

fn documents() -> impl Iterator<Item = (Format, &'static [&'static str], &'static str)> {
    let json = JSON.map(|text| (Format::Json, &["mcpServers", "gongfu"][..], text));
    let toml = TOML.map(|text| (Format::Toml, &["mcp_servers", "gongfu"][..], text));
    let yaml = YAML.map(|text| (Format::Yaml, &["extensions", "gongfu"][..], text));
    json.into_iter().chain(toml).chain(yaml)
}

/// The comments outside of an old entry.
fn comments(text: &str) -> Vec<&str> {
    let lines = text.lines().flat_map(|line| line.split(','));
    lines
        .filter_map(|line| {
            let start = line.find("//").or(line.find("/*")).or(line.find("# "))?;
            Some(line[start..].trim_end().trim_end_matches(['}', ' ']))
        })
        .filter(|comment| !comment.contains("ours"))
        .collect()
}

#[test]
fn edits_change_the_entry_and_nothing_else() {
    for (format, path, text) in documents() {
        let context = format!("{text:?}");
        let installed = format.edit(text, path, Some(&entry())).unwrap();
        let found = format.get(&installed, path).unwrap();
        assert_eq!(found, Some(entry()), "{context}");
        let removed = format.edit(&installed, path, None).unwrap();
        assert_eq!(format.get(&removed, path).unwrap(), None, "{context}");
        for new in [&installed, &removed] {
            let lost = comments(text)
                .into_iter()
                .find(|comment| !new.contains(comment));
            assert_eq!(lost, None, "{context}: {new}");
            let ends = new.is_empty() || text.is_empty() || text.ends_with('\n');
            assert_eq!(
                new.is_empty() || new.ends_with('\n'),
                ends,
                "{context}: {new}"
            );
        }
    }
}

#[test]
fn line_breaks_and_marks_stay() {
    for (format, path, text) in documents() {
        let windows = ["\u{feff}", &text.replace('\n', "\r\n")].concat();
        let new = format.edit(&windows, path, Some(&entry())).unwrap();
        assert!(new.starts_with('\u{feff}'), "{text:?}");
        let unix = format.edit(text, path, Some(&entry())).unwrap();
        if text.contains('\n') {
            assert_eq!(new[3..], unix.replace('\n', "\r\n"), "{text:?}");
        }
    }
}

#[test]
fn single_fields_are_updated() {
    let changed = [
        (Format::Json, "{\"a\": {\n  \"gongfu\": {\n    // ours\n    \"command\": \"/old\", // here\n    \"args\": [\"mcp\"],\n    \"env\": {\"A\": \"b\"} // mine\n  }\n}}"),
        (Format::Toml, "[a.gongfu] # ours\n# why\ncommand = \"/old\" # here\nargs = [\"mcp\"]\nenv = { A = \"b\" } # mine\n\n[z]\n"),
        (Format::Yaml, "a:\n  gongfu:\n    # ours\n    command: /old\n    args:\n    - mcp\n    env: {A: b} # mine\n  b:\n    c: 1\n"),
    ]
    .map(|(format, text)| {
        let path = ["a", "gongfu"];
        let program = json!({ "command": "/new", "args": ["mcp", "--x"], "env": { "A": "b" } });
        let address = json!({ "env": { "A": "b" }, "url": "http://127.0.0.1:1/mcp" });
        [program, address].map(|entry| format.edit(text, &path, Some(&entry)).unwrap())
    });
    insta::assert_snapshot!(changed.concat().join("\n----\n"));
}

#[test]
fn comments_at_the_end_of_a_toml_file_stay_above_a_new_table() {
    let (path, entry) = (["mcp_servers", "gongfu"], json!({ "command": "x" }));
    let text = "model = \"x\"\n# approval_policy = \"never\"\n";
    let installed = Format::Toml.edit(text, &path, Some(&entry)).unwrap();
    let table = "\n[mcp_servers.gongfu]\ncommand = \"x\"\n";
    assert_eq!(installed, [text, table].concat());
    assert_eq!(Format::Toml.edit(&installed, &path, None).unwrap(), text);
}

#[test]
fn unusual_yaml_is_refused() {
    for text in [
        "extensions: {a: {enabled: true}}\n",
        "extensions:\n  null\n",
        "a: 1\n---\nb: 2\n",
        "a: 1\n...\n",
        "? extensions\n: a: 1\n",
        // The entry would be there, too.
        "extensions: &all\n  a: 1\nother: *all\n",
    ] {
        let edited = Format::Yaml.edit(text, &["extensions", "gongfu"], Some(&entry()));
        assert_eq!(edited.unwrap_err().code, "FILE_UNUSUAL", "{text:?}");
    }
}

#[test]
fn refusals_name_the_place() {
    let refused = [
        (Format::Json, "{\n  \"a\": 1\n  \"b\": 2\n}"),
        (Format::Json, "{'a': 1}"),
        (Format::Json, "{} {}"),
        (Format::Json, "\n\"text\""),
        (Format::Json, "null"),
        (Format::Json, "{\n\"a\": true}"),
        (Format::Json, "{\"a\": {},\n\"a\": {}}"),
        (
            Format::Json,
            "{\"x\": {\n\n}, \"a\": {\"gongfu\": {},\n\n\"gongfu\": {}}}",
        ),
        (Format::Toml, "x = 1\nb = \n"),
        (Format::Toml, "\na = \"x\"\n"),
        (Format::Toml, "[[a]]\nx = 1\n"),
        (Format::Toml, "[a.gongfu]\nx = 1\nx = 2\n"),
        (Format::Yaml, "x: 1\nb: [\n"),
        (Format::Yaml, "- a\n"),
        (Format::Yaml, "text\n"),
        (Format::Yaml, "\na: 'null'\n"),
        (Format::Yaml, "a:\n  gongfu: 1\n  gongfu: 2\n"),
    ]
    .map(|(format, text)| {
        let problem = format.get(text, &["a", "gongfu"]).unwrap_err();
        format!("{}: {}", problem.code, problem.message)
    });
    insta::assert_snapshot!(refused.join("\n"));
    for format in [Format::Json, Format::Toml, Format::Yaml] {
        let deep = "[".repeat(100_000);
        assert_eq!(format.get(&deep, &["a"]).unwrap_err().code, "FILE_INVALID");
    }
}
