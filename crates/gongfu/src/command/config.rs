//! `gongfu config`: the settings, where they come from, and what is wrong with them.

use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use gongfu_files::{Home, disk};
use schemars::schema_for;
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::{ConfigCommand, Places, Serving, quoted};
use crate::config::check::{self, Mistake};
use crate::config::effective::{self, Effective, Origin};
use crate::config::{Config, edit, file, key};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{self, Paint, Terminal, plain};
use crate::wiring;

pub(crate) fn run(
    command: &ConfigCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    if let ConfigCommand::Schema = command {
        terminal.json(&schema_for!(Config))?;
        return Ok(Outcome::Good);
    }
    let home = wiring::home(environment)?;
    match command {
        ConfigCommand::Path { json } => path(&home, environment, *json, terminal),
        ConfigCommand::Show(arguments) => {
            let places = &arguments.places;
            let all = effective::all(&home, environment, places, &arguments.serving)?;
            show(&home, &all, arguments.serving.json, terminal)
        }
        ConfigCommand::Get { key, json } => get(&home, environment, key, *json, terminal),
        ConfigCommand::Set { key, value } if value.is_empty() => Err(no_value(key).into()),
        ConfigCommand::Set { key, value } => set(&home, environment, key, Some(value), terminal),
        ConfigCommand::Unset { key } => set(&home, environment, key, None, terminal),
        ConfigCommand::Check { json } => check(&home, *json, terminal),
        ConfigCommand::Schema => Ok(Outcome::Good),
    }
}

fn path(
    home: &Home,
    environment: &Environment,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let file = home.config();
    // A link that leads nowhere is a fault, and not a missing file.
    let exists = std::fs::symlink_metadata(&file).is_ok();
    let is_set = environment.home.is_some();
    if json {
        terminal.json(&json!({
            "config": file.to_string_lossy(),
            "exists": exists,
            "home": home.path().to_string_lossy(),
            "home_from": if is_set { "GONGFU_HOME" } else { "default" },
        }))?;
        return Ok(Outcome::Good);
    }
    let note = if exists {
        ""
    } else {
        "  (not created yet: defaults apply)"
    };
    terminal.line(&format!("config  {}{note}", shown(&file)))?;
    let note = if is_set { "  (from GONGFU_HOME)" } else { "" };
    terminal.line(&format!("home    {}{note}", shown(home.path())))?;
    Ok(Outcome::Good)
}

fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}

fn show(
    home: &Home,
    all: &[Effective],
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    if json {
        let settings = all.iter().map(|one| {
            let mut setting = json!(one);
            if let Some(value) = setting.get_mut("value") {
                *value = effective::without_logins(&one.value);
            }
            setting
        });
        let settings: Vec<Value> = settings.collect();
        let file = home.config();
        terminal.json(&json!({ "config": file.to_string_lossy(), "settings": settings }))?;
        return Ok(Outcome::Good);
    }
    let width = all.iter().map(|one| one.key.len()).max().unwrap_or(0);
    for one in all {
        let origin = one.name.unwrap_or(one.origin.as_str());
        let origin = format!("{origin:<11}");
        let origin = match one.origin {
            Origin::Default => terminal.paint(Paint::Dim, &origin),
            _ => terminal.paint(Paint::Bold, &origin),
        };
        let value = plain(&one.shown());
        terminal.line(&format!("{:<width$}  {origin}  {value}", one.key))?;
    }
    Ok(Outcome::Good)
}

fn get(
    home: &Home,
    environment: &Environment,
    wanted: &str,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (places, serving) = (Places::default(), Serving::default());
    let all = effective::all(home, environment, &places, &serving)?;
    let section: Vec<&Effective> = all
        .iter()
        .filter(|one| key::is_below(&one.key, wanted))
        .collect();
    if !section.is_empty() {
        if json {
            let values = section
                .iter()
                .map(|one| (one.key.clone(), one.value.clone()));
            terminal.json(&Value::Object(values.collect()))?;
        } else {
            for one in section.into_iter().filter(|one| !one.value.is_null()) {
                let value = edit::shown(&one.value);
                terminal.line(&format!("{} = {}", one.key, plain(&value)))?;
            }
        }
        return Ok(Outcome::Good);
    }
    key::setting(&key::settings(), wanted)?;
    let found = all.into_iter().find(|one| one.key == wanted);
    let value = found.map(|one| one.value).unwrap_or_default();
    if json {
        terminal.json(&value)?;
    } else {
        match &value {
            Value::Null => terminal.note(&format!("{wanted} has no value")),
            Value::String(text) => terminal.line(&plain(text))?,
            Value::Array(items) => {
                for item in items {
                    terminal.line(&plain(item.as_str().unwrap_or_default()))?;
                }
            }
            other => terminal.line(&other.to_string())?,
        }
    }
    Ok(Outcome::of(!value.is_null()))
}

/// The failure of a setting without a value; `key=value` is a common mistake.
fn no_value(words: &str) -> Failure {
    let usage = "usage: gongfu config set [OPTIONS] <KEY> <VALUE>...";
    let (key, value) = words.split_once('=').unwrap_or((words, ""));
    let settings = key::settings();
    let known = settings.iter().map(|one| one.key.as_str());
    let known = known.into_iter().find(|one| *one == key);
    let known = known.or_else(|| key::meant(&settings, key));
    let hint = match (known, value) {
        (Some(known), "") => {
            format!("`gongfu config get {known}` prints its present value; {usage}")
        }
        (Some(known), value) => format!(
            "separate key and value with a space: `gongfu config set {known} {}`; {usage}",
            quoted(value)
        ),
        (None, _) => format!(
            "there is no setting `{}`: `gongfu config show` lists them; {usage}",
            plain(key)
        ),
    };
    Failure::usage("MISSING_ARGUMENT", "missing <VALUE>...", hint)
}

fn set(
    home: &Home,
    environment: &Environment,
    key: &str,
    words: Option<&[String]>,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let settings = key::settings();
    let setting = key::setting(&settings, key)?;
    let value = words.map(|words| edit::value(setting, words)).transpose()?;
    let (changed, mistakes) = file::write(home, setting, |_| Ok(value.clone()))?;
    let file = shown(&home.config());
    let what = match (&value, changed) {
        (_, false) => format!("nothing to change in {file}"),
        (Some(value), true) => {
            let value = effective::without_login(value.to_string().trim());
            format!("{key} = {}  ({file})", plain(&value))
        }
        (None, true) => format!("{key} removed from {file}; its default applies"),
    };
    terminal.line(&what)?;
    if !mistakes.is_empty() {
        terminal.note(&format!(
            "note: {file} has other mistakes: see `gongfu config check`"
        ));
        return Ok(Outcome::Good);
    }
    let (places, serving) = (Places::default(), Serving::default());
    let all = effective::all(home, environment, &places, &serving)?;
    let of_environment = all
        .iter()
        .find(|one| one.key == key && one.origin == Origin::Environment);
    if let Some(Effective {
        name: Some(name), ..
    }) = of_environment
    {
        terminal.note(&format!(
            "note: {name} is set, and takes precedence over this setting"
        ));
    }
    let is_missing = |word: &String| {
        let folder = wiring::expanded(Path::new(word), environment.user.as_deref());
        !word.trim_start().starts_with('[') && disk::kind_outside(&folder).is_none()
    };
    if key == "skills_dirs" && words.into_iter().flatten().any(is_missing) {
        terminal.note("note: there is no such folder yet; it is used once it is there");
    }
    if changed {
        terminal.note("restart running servers to apply it");
    }
    Ok(Outcome::Good)
}

fn check(home: &Home, json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    let path = home.config();
    let text = file::read(&path)?.text;
    let is_missing = text.is_none();
    let text = text.unwrap_or_default();
    let mistakes = check::mistakes(&text);
    if json {
        let mistakes: Vec<Value> = mistakes
            .iter()
            .map(|mistake| {
                let mut shown = json!(mistake);
                if let Some(shown) = shown.as_object_mut() {
                    shown.insert("line".to_owned(), mistake.line(&text).into());
                }
                shown
            })
            .collect();
        terminal.json(&mistakes)?;
    } else if mistakes.is_empty() {
        let file = shown(&path);
        let what = if is_missing {
            "not created yet: defaults apply"
        } else {
            "no mistakes"
        };
        terminal.line(&format!("{file}: {what}"))?;
    } else {
        let report = report(&path, &text, &mistakes, terminal.color());
        terminal.bytes(report.as_bytes())?;
        let count = mistakes.len();
        let s = if count == 1 { "" } else { "s" };
        terminal.line(&format!("{count} mistake{s} in {}", shown(&path)))?;
    }
    Ok(Outcome::of(mistakes.is_empty()))
}

/// The mistakes as a compiler prints them.
fn report(path: &Path, text: &str, mistakes: &[Mistake], color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let path = shown(path);
    let mut report = String::new();
    for mistake in mistakes {
        let line = mistake.line(text);
        let start = text
            .get(..text.floor_char_boundary(mistake.span.start))
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |at| at + 1);
        let source: String = text
            .get(start..)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_default()
            .to_owned();
        // What a terminal would obey is shown as one mark of the same length, or the places would move.
        let is_plain = terminal::shown(&source) == source;
        let title = Level::ERROR.primary_title(&mistake.message);
        let help = Level::HELP.message(&mistake.hint);
        let group = if is_plain {
            let from = mistake.span.start.saturating_sub(start).min(source.len());
            let to = mistake
                .span
                .end
                .saturating_sub(start)
                .clamp(from, source.len());
            let (from, to) = (
                source.floor_char_boundary(from),
                source.ceil_char_boundary(to),
            );
            let marked = AnnotationKind::Primary.span(from..to);
            let snippet = Snippet::source(source).line_start(line).path(path.as_str());
            title.element(snippet.annotation(marked)).element(help)
        } else {
            let origin = annotate_snippets::Origin::path(path.as_str()).line(line);
            title.element(origin).element(help)
        };
        report.push_str(&renderer.render(&[group]));
        report.push_str("\n\n");
    }
    report
}
