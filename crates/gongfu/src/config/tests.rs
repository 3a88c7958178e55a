//! Settings as texts: every mistake at once, and edits that keep everything else.

use super::check::mistakes;
use super::edit::edited;
use super::{Config, key};

/// The lines and keys of the mistakes in a text.
fn found(text: &str) -> Vec<(usize, String)> {
    let found = mistakes(text);
    let found = found.iter().map(|one| {
        assert!(!one.message.is_empty() && !one.hint.is_empty(), "{one:?}");
        (one.line(text), one.key.clone().unwrap_or_default())
    });
    found.collect()
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let text = r#"skills_dirs = "/a"
verbose = true

[discovery]
hoem = false
built_in = "yes"

[sandbox]
level = "best"
memory_mib = 1
processes = -1
listen = "127.0.0.1:1"

[server]
listen = "example.com:80"
public_url = "ftp://x"
[dependencies]
hosts = ["a b"]
"#;
    let expected = [
        (1, "skills_dirs"),
        (2, "verbose"),
        (5, "discovery.hoem"),
        (6, "discovery.built_in"),
        (9, "sandbox.level"),
        (10, "sandbox.memory_mib"),
        (11, "sandbox.processes"),
        (12, "sandbox.listen"),
        (15, "server.listen"),
        (16, "server.public_url"),
        (18, "dependencies.hosts"),
    ];
    assert_eq!(
        found(text),
        expected.map(|(line, key)| (line, key.to_owned()))
    );
    let mistakes = mistakes(text);
    let hint = |line| {
        &mistakes
            .iter()
            .find(|one| one.line(text) == line)
            .unwrap()
            .hint
    };
    assert!(hint(5).contains("`discovery.home`"), "{}", hint(5));
    assert!(hint(12).contains("`server.listen`"), "{}", hint(12));
}

#[test]
fn mistakes_of_the_format_hide_no_others() {
    let text = "skills_dirs = [\n[discovery]\nhome = maybe\nbuilt_in = 1\n[discovery]\n";
    let lines: Vec<usize> = found(text).into_iter().map(|(line, _)| line).collect();
    assert!(lines.len() >= 3 && lines.contains(&4), "{lines:?}");
    assert_eq!(found("discovery = 1\n"), [(1, "discovery".to_owned())]);
    assert_eq!(found("\u{feff}skills_dirs = []\n"), []);
    assert_eq!(found(""), []);
}

#[test]
fn every_setting_is_known_and_its_default_is_no_mistake() {
    let values = serde_json::to_value(Config::default()).unwrap();
    let settings = key::settings();
    assert!(settings.len() > 20, "{settings:?}");
    for setting in settings {
        let pointer = format!("/{}", setting.key.replace('.', "/"));
        let value = values.pointer(&pointer);
        let value = value.unwrap_or_else(|| panic!("{} has no default", setting.key));
        if !value.is_null() {
            let text = format!("{} = {}\n", setting.key, super::edit::shown(value));
            assert_eq!(found(&text), [], "{text}");
        }
    }
}

#[test]
fn edits_keep_comments_order_and_what_is_unknown() {
    let text = "# top\nskills_dirs = [ \"/a\" ] # mine\n\n# why\n[server]\nlisten = \"x\" # here\n\n# end\n# [sandbox]\n";
    let put = |text: &str, key: &str, value: &str| {
        edited(text, key, Some(&value.parse().unwrap())).unwrap()
    };
    assert_eq!(
        put(text, "server.listen", "\"y\""),
        text.replace("\"x\"", "\"y\"")
    );
    assert_eq!(
        put(text, "sandbox.docker.image", "\"i\""),
        format!("{text}\n[sandbox.docker]\nimage = \"i\"\n")
    );
    assert_eq!(
        put(text, "server.public_url", "\"u\""),
        text.replace("# here\n", "# here\npublic_url = \"u\"\n")
    );
    assert_eq!(put("", "sandbox.files", "16"), "[sandbox]\nfiles = 16\n");
    assert_eq!(
        put("sandbox = { files = 16 } # x\n", "sandbox.files", "17"),
        "sandbox = { files = 17 } # x\n"
    );
    let without = edited(text, "skills_dirs", None).unwrap();
    assert_eq!(
        without,
        text.replace("skills_dirs = [ \"/a\" ] # mine\n", "")
    );
    assert_eq!(edited(text, "sandbox.files", None).unwrap(), text);
    assert_eq!(
        edited(
            "skills_dirs = [\n  \"/a\", # x\n]\n[server]\n",
            "skills_dirs",
            None
        )
        .unwrap(),
        "[server]\n"
    );
    assert!(edited("server = 1\n", "server.listen", Some(&1.into())).is_err());
    assert!(edited("a = \n", "server.listen", None).is_err());
}

#[test]
fn table_of_groups_has_a_header_of_its_own_or_not() {
    let header = "[accounts.sso.teams]\nskills = \"platform\"\n";
    let inline = "[accounts.sso]\nteams = { skills = \"platform\" }\n";
    for text in [header, inline] {
        assert_eq!(found(text), [], "{text}");
        let config = Config::parse(text).unwrap();
        assert_eq!(config.accounts.sso.teams["skills"], "platform");
    }
    let wrong = "[accounts.sso]\nteams = { skills = 1 }\nadmins = \"staff\"\n";
    let keys = [(2, "accounts.sso.teams"), (3, "accounts.sso.admins")];
    assert_eq!(found(wrong), keys.map(|(line, key)| (line, key.to_owned())));
    let all = key::settings();
    let setting = key::setting(&all, "accounts.sso.teams").unwrap();
    let value = |word: &str| super::edit::value(setting, &[word.to_owned()]);
    let table = value("{ skills = \"platform\" }").unwrap();
    let text = edited("", "accounts.sso.teams", Some(&table)).unwrap();
    assert_eq!(found(&text), [], "{text}");
    assert!(value("skills").is_err() && value("[]").is_err());
}

#[test]
fn price_is_a_number_that_a_thing_can_cost() {
    let of = |price: &str| format!("[models.prices]\n\"openai/gpt-5-mini\" = {price}\n");
    for price in [
        "{ input = 0.25, cached = 0.025, output = 2.0 }",
        "{ input = 1, output = 0 }",
    ] {
        assert_eq!(found(&of(price)), [], "{price}");
        let config = Config::parse(&of(price)).unwrap();
        let price = config.models.prices["openai/gpt-5-mini"];
        assert_eq!(price.cached.is_some(), price.input < 1.0);
    }
    for price in [
        "{ input = -1, output = 2.0 }",
        "{ input = nan, output = 2.0 }",
        "{ input = 1, output = inf }",
        "{ input = 1, output = 2, cached = -0.1 }",
        "{ input = 1 }",
        "{ input = 1, output = 2, each = 3 }",
        "\"cheap\"",
        "3",
    ] {
        let mistake = (2, "models.prices".to_owned());
        assert_eq!(found(&of(price)), [mistake], "{price}");
        assert!(Config::parse(&of(price)).is_err(), "{price}");
    }
    assert_eq!(
        found("[models]\nprices = 1\n"),
        [(2, "models.prices".to_owned())]
    );
    let all = key::settings();
    let setting = key::setting(&all, "models.prices").unwrap();
    let table = "{ \"a/b\" = { input = 1, output = 2 } }";
    let table = super::edit::value(setting, &[table.to_owned()]).unwrap();
    let text = edited("", "models.prices", Some(&table)).unwrap();
    assert_eq!(found(&text), [], "{text}");
}
