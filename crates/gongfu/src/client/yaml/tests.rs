//! Documents as people write them, and what becomes of each.

use serde_json::json;

use super::super::format::{Added, Format};

const PATH: &[&str] = &["extensions"];

fn entry() -> serde_json::Value {
    json!({ "enabled": true, "type": "stdio", "name": "gongfu", "cmd": "/usr/bin/gongfu", "args": ["mcp"], "timeout": 300 })
}

fn round(text: &str) -> String {
    let (new, added) = Format::Yaml
        .insert(text, PATH, "gongfu", &entry())
        .unwrap_or_else(|problem| panic!("{text:?}: {problem:?}"));
    let back = Format::Yaml.remove(&new, PATH, "gongfu", &added).unwrap();
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
        "---\n",
        "---\na: 1\n",
        "a: 1",
        "a: 1\n# end",
        "a: 1\r\nb:\r\n    c: 2\r\n",
        "extensions:\n",
        "extensions:",
        "extensions: # none\nz: 1\n",
        "extensions: ",
        "extensions:  \n\n# end\n",
        "extensions: null",
        "extensions: ~\n",
        "extensions:\n  # none yet\nz: 1\n",
        "extensions: null\n\n  # none yet\n\nz: 1\n",
        "a: 1\r\n\"extensions\" :  Null  # none\r\nz: 1\r\n",
        "extensions:\n  # built in\n  developer:\n    enabled: true # on\n\nz: 1\n",
        "extensions:\n    developer:\n        enabled: true",
        "extensions: {}\n",
        "extensions: { }\nb: 1\n",
        "extensions: {a: {enabled: true}, b: {args: [x, y]}} # all\n",
        "extensions:\n  a: {enabled: true}\n",
        "extensions: &all\n  a: {enabled: true}\n",
        "text: |\n  extensions:\n    gongfu: 1\n",
        "ключ: значение # комментарий\nextensions:\n  имя: {a: 1}\n",
    ] {
        let new = round(text);
        assert!(
            !text.contains("\r\n") || !new.replace("\r\n", "").contains('\n'),
            "{new:?}"
        );
    }
}

#[test]
fn below_the_name() {
    insta::assert_snapshot!(round(
        "GOOSE_MODEL: x # mine\nextensions:\n  # built in\n  developer:\n    enabled: true\n"
    ));
    insta::assert_snapshot!(round("GOOSE_MODEL: x # mine\n"));
}

#[test]
fn edits_in_between_stay() {
    let text = "extensions:\n  developer:\n    enabled: true\n";
    let (new, added) = Format::Yaml.insert(text, PATH, "gongfu", &entry()).unwrap();
    let edited = new.replace(
        "    timeout: 300\n",
        "    timeout: 300\n  mine:\n    cmd: x\n",
    ) + "z: 1\n";
    let left = Format::Yaml
        .remove(&edited, PATH, "gongfu", &added)
        .unwrap();
    assert_eq!(
        left,
        "extensions:\n  mine:\n    cmd: x\n  developer:\n    enabled: true\nz: 1\n"
    );

    let (new, added) = Format::Yaml
        .insert("a: 1", PATH, "gongfu", &entry())
        .unwrap();
    let edited = format!("{new}\n  mine:\n    cmd: x\n");
    let left = Format::Yaml
        .remove(&edited, PATH, "gongfu", &added)
        .unwrap();
    assert_eq!(left, "a: 1\nextensions:\n  mine:\n    cmd: x\n");
    let edited = format!("{new}\nz: 1\n");
    let left = Format::Yaml
        .remove(&edited, PATH, "gongfu", &added)
        .unwrap();
    assert_eq!(left, "a: 1\nz: 1\n");
    let edited = format!("{new}\n  # about mine\n");
    let left = Format::Yaml
        .remove(&edited, PATH, "gongfu", &added)
        .unwrap();
    assert_eq!(left, "a: 1\nextensions:\n  # about mine\n");
}

#[test]
fn single_fields_are_updated() {
    let text = "extensions:\n  gongfu:\n    # ours\n    enabled: false # for now\n    type: stdio\n    cmd: /old\n    args:\n      - mcp\n    timeout: 5 # mine\n  b:\n    c: 1\n";
    let old =
        json!({ "enabled": false, "type": "stdio", "cmd": "/old", "args": ["mcp"], "timeout": 5 });
    let new = json!({ "enabled": true, "type": "stdio", "cmd": "/new", "args": ["mcp", "--profile", "all"], "timeout": 5 });
    insta::assert_snapshot!(
        Format::Yaml
            .update(text, PATH, "gongfu", (&old, &new))
            .unwrap()
    );
}

#[test]
fn refusals_name_the_place() {
    let refused = |text: &str| {
        let problem = Format::Yaml
            .insert(text, PATH, "gongfu", &entry())
            .and_then(|_| Format::Yaml.find(text, PATH, "gongfu"))
            .unwrap_err();
        format!("{}: {}", problem.code, problem.message)
    };
    insta::assert_snapshot!(
        [
            "a: 1\nb: [\n",
            "- a\n",
            "text\n",
            "extensions: []\n",
            "null\n",
            "\nextensions: 'null'\n",
            "extensions:\n  null\n",
            "extensions: text\n",
            "extensions:\n  a: 1\nextensions:\n  b: 1\n",
            "extensions:\n  gongfu: 1\n  gongfu: 2\n",
            "a: 1\n---\nb: 2\n",
            "a: 1\n...\n",
            // What is put in would be put in elsewhere, too.
            "extensions: &all\n  a: {enabled: true}\nother: *all\n",
        ]
        .map(refused)
        .join("\n")
    );
}

#[test]
fn without_a_record_the_name_stays() {
    let left = Format::Yaml
        .remove(
            "a: 1\nextensions:\n  gongfu:\n    cmd: x\n",
            PATH,
            "gongfu",
            &Added::default(),
        )
        .unwrap();
    assert_eq!(left, "a: 1\nextensions:\n");
}
