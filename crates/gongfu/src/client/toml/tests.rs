//! Documents as people write them, and what becomes of each.

use serde_json::json;

use super::super::format::{Added, Format};

const PATH: &[&str] = &["mcp_servers"];

fn entry() -> serde_json::Value {
    json!({ "command": "C:\\Program Files\\gongfu.exe", "args": ["mcp"] })
}

fn round(text: &str) -> String {
    let (new, added) = Format::Toml.insert(text, PATH, "gongfu", &entry()).unwrap();
    let back = Format::Toml.remove(&new, PATH, "gongfu", &added).unwrap();
    assert_eq!(back, text, "after\n{new}");
    new
}

#[test]
fn style_is_kept() {
    for text in [
        "",
        "\n",
        "# only a comment",
        "# only a comment\n",
        "a = 1",
        "a = 1\n",
        "a = 1\n\n",
        "a = 1\r\n# end\r\n",
        "[mcp_servers]\n",
        "[mcp_servers.x]\ncommand = \"x\" # x\n\n[other]\ny = 1\n# end",
        "[mcp_servers]\nx = { command = \"x\" }\n[[list]]\na = 1\n",
        "mcp_servers = {}\n",
        "mcp_servers = { }\n[b]\n",
        "mcp_servers = { x = { command = \"x\" } } # all\n",
        "mcp_servers.x.command = \"x\"\n",
        "[[list]]\na = [\n  1, # one\n]\n",
        "text = \"\"\"\n[mcp_servers.gongfu]\n\"\"\"\n",
    ] {
        let new = round(text);
        assert!(
            !text.contains("\r\n") || !new.replace("\r\n", "").contains('\n'),
            "{new:?}"
        );
    }
}

#[test]
fn a_table_at_the_end() {
    insta::assert_snapshot!(round(
        "model = \"x\" # mine\n\n[mcp_servers.y]\ncommand = \"y\"\n"
    ));
    insta::assert_snapshot!(round("mcp_servers = { x = { command = \"x\" } }\n"));
}

#[test]
fn edits_in_between_stay() {
    for (before, more) in [
        ("a = 1\n", "\n[other]\nx = 1\n"),
        ("a = 1\n", "[other]\nx = 1\n"),
        ("a = 1", "\n\n[other]\nx = 1\n"),
        ("a = 1", "\n[other]\nx = 1"),
        ("", "\n[other]\nx = 1\n"),
    ] {
        let (new, added) = Format::Toml
            .insert(before, PATH, "gongfu", &entry())
            .unwrap();
        let left = Format::Toml
            .remove(&(new + more), PATH, "gongfu", &added)
            .unwrap();
        assert_eq!(left, format!("{before}{more}"));
    }
}

#[test]
fn edits_right_beside_the_entry_stay_lines_of_their_own() {
    let entered = |text: &str| Format::Toml.insert(text, PATH, "gongfu", &entry()).unwrap();
    let (new, added) = entered("a = 1\n");
    let own = new.strip_prefix("a = 1\n\n").unwrap();
    for (edited, expected) in [
        // A comment above, a table below.
        (
            format!("a = 1\n\n# skills\n{own}[other]\nb = 2\n"),
            "a = 1\n\n# skills\n[other]\nb = 2\n",
        ),
        // No blank lines.
        (
            format!("a = 1\n[features]\nx = true\n{own}[other]\nb = 2\n"),
            "a = 1\n[features]\nx = true\n[other]\nb = 2\n",
        ),
        (
            format!("a = 1\n{own}# about the other\n[other]\nb = 2\n"),
            "a = 1\n# about the other\n[other]\nb = 2\n",
        ),
        (format!("a = 1\n{own}"), "a = 1\n"),
        (format!("a = 1\n\n# skills\n{own}"), "a = 1\n\n# skills\n"),
        (own.to_owned(), ""),
        // Without a line break at the end, which somebody took away.
        (format!("a = 1\n\n{}", own.trim_end()), "a = 1\n"),
        // More blank lines than before.
        (format!("a = 1\n\n\n{own}"), "a = 1\n\n"),
    ] {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        for (edited, expected) in [
            (edited.clone(), expected.to_owned()),
            (crlf(&edited), crlf(expected)),
        ] {
            let left = Format::Toml.remove(&edited, PATH, "gongfu", &added);
            assert_eq!(left.as_deref(), Ok(&*expected), "from {edited:?}");
        }
    }
    // Entered where the last line was open.
    let (new, added) = entered("a = 1");
    for (edited, expected) in [
        (new.clone(), "a = 1"),
        (format!("{new}\n"), "a = 1\n"),
        (format!("{new}\n[other]\nb = 2"), "a = 1\n[other]\nb = 2"),
        (new.replace("a = 1\n\n", "a = 1\n"), "a = 1"),
    ] {
        let left = Format::Toml.remove(&edited, PATH, "gongfu", &added);
        assert_eq!(left.as_deref(), Ok(expected), "from {edited:?}");
    }
}

#[test]
fn what_lies_below_the_entry_goes_with_it() {
    let text = "[mcp_servers.gongfu]\ncommand = \"x\"\n\n[mcp_servers.gongfu.env]\nA = \"b\"\n\n# about y\n[mcp_servers.y]\ncommand = \"y\"\n";
    let left = Format::Toml
        .remove(text, PATH, "gongfu", &Added::default())
        .unwrap();
    assert!(
        left.trim_start() == "# about y\n[mcp_servers.y]\ncommand = \"y\"\n",
        "{left}"
    );
}

#[test]
fn every_way_to_write_an_entry_is_removed() {
    for text in [
        "[mcp_servers]\ngongfu = { command = \"x\" }\ny = { command = \"y\" }\n",
        "[mcp_servers]\ny.command = \"y\"\ngongfu.command = \"x\"\ngongfu.args = [\n  \"mcp\"\n]\n",
        "mcp_servers.y.command = \"y\"\nmcp_servers.gongfu.command = \"x\"\n",
        "mcp_servers = { gongfu = { command = \"x\" }, y = { command = \"y\" } }\n",
        "mcp_servers = { y = { command = \"y\" }, gongfu = { command = \"x\" } }\n",
    ] {
        let left = Format::Toml
            .remove(text, PATH, "gongfu", &Added::default())
            .unwrap();
        assert_eq!(
            Format::Toml.read(&left).unwrap(),
            json!({ "mcp_servers": { "y": { "command": "y" } } }),
            "{left}"
        );
    }
}

#[test]
fn single_fields_are_updated() {
    let text = "[mcp_servers.gongfu] # ours\n# why\ncommand = \"/old\" # here\nargs = [\"mcp\"]\nstartup_timeout_sec = 5 # mine\n\n[z]\n";
    let old = json!({ "command": "/old", "args": ["mcp"], "startup_timeout_sec": 5 });
    let new = json!({ "startup_timeout_sec": 5, "url": "http://127.0.0.1:1/mcp" });
    insta::assert_snapshot!(
        Format::Toml
            .update(text, PATH, "gongfu", (&old, &new))
            .unwrap()
    );
    let new =
        json!({ "command": "/new", "args": ["mcp", "--profile", "all"], "startup_timeout_sec": 5 });
    insta::assert_snapshot!(
        Format::Toml
            .update(text, PATH, "gongfu", (&old, &new))
            .unwrap()
    );
}

#[test]
fn refusals_name_the_place() {
    let refused = |text: &str| {
        let problem = Format::Toml.find(text, PATH, "gongfu").unwrap_err();
        format!("{}: {}", problem.code, problem.message)
    };
    insta::assert_snapshot!(
        [
            "a = 1\nb = \n",
            "mcp_servers = []\n",
            "\nmcp_servers = \"x\"\n",
            "[[mcp_servers]]\na = 1\n",
            "[mcp_servers]\n[mcp_servers]\n",
            "[mcp_servers.gongfu]\na = 1\na = 2\n",
        ]
        .map(refused)
        .join("\n")
    );
    assert!(refused(&format!("a = {}", "[".repeat(100_000))).starts_with("unparsable"));
}
