//! `gongfu tool list|call`: the tools as agents see them, through the same gate.

use std::io::Read as _;

use gongfu_hub::{Content, Request, ToolError, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

use super::Outcome;
use super::call_error::{outcome_of, print_error};
use super::operate::person;
use super::run::outcome_of_run;
use crate::cli::ToolCommand;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};
use crate::{progress, sets, wiring};

pub(crate) fn run(
    command: ToolCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    match command {
        ToolCommand::List { profiles, common } => {
            let actor = sets::working_with(person(), profiles.set.as_deref(), &home)?;
            let parts = wiring::parts_with(environment, &common.places, &profiles.mounts)?;
            let runtime = wiring::runtime()?;
            let specs = runtime.block_on(async {
                parts.provide_servers().await?;
                anyhow::Ok(parts.catalog.list(&profiles.list, &actor, None).await)
            })?;
            list(&specs, common.json, terminal)
        }
        ToolCommand::Call {
            name,
            arguments,
            profiles,
            common,
        } => {
            let actor = sets::working_with(person(), profiles.set.as_deref(), &home)?;
            let parts = wiring::parts_with(environment, &common.places, &profiles.mounts)?;
            let runtime = wiring::runtime()?;
            runtime.block_on(parts.provide_servers())?;
            // How arguments are read doesn't depend on the library.
            let spec = parts.catalog.spec(&profiles.list, &actor, &name);
            let spec = spec.as_ref();
            // Of a tool that there isn't, the gate says so.
            let arguments = spec.map_or(&[][..], |_| &arguments);
            let arguments = match parsed(arguments, spec) {
                Ok(arguments) => arguments,
                Err(problem) => {
                    let hint = format!(
                        "write each as name=value: `gongfu tool call {name}{}`, or all as one JSON object; see `gongfu tool list`",
                        required(spec)
                    );
                    return Err(Failure::usage("INVALID_ARGUMENT", problem, hint).into());
                }
            };
            let request = Request::new(&profiles.list, &name, arguments, &actor);
            let calling = parts.catalog.call(request);
            let outcome = progress::during("calling the tool", || runtime.block_on(calling));
            // The call was fine, but what it ran may have failed.
            let data = outcome.as_ref().ok();
            let data = data.and_then(|result| result.structured_content.as_ref()?.as_object());
            let ran = data.and_then(outcome_of_run);
            let shown = show(outcome, common.json, terminal)?;
            Ok(ran.unwrap_or(shown))
        }
    }
}

fn list(specs: &[ToolSpec], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        let tools: Vec<Value> = specs.iter().map(tool_json).collect();
        terminal.json(&tools)?;
        return Ok(Outcome::Good);
    }
    for spec in specs {
        terminal.line(&terminal.paint(Paint::Bold, &spec.name))?;
        for line in spec.description.lines() {
            terminal.line(&format!("    {}", plain(line)))?;
        }
        let none = Map::new();
        let properties = spec
            .input_schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        for (name, property) in properties {
            let about = property
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default();
            terminal.line(&format!("    {}: {}", plain(name), plain(about)))?;
        }
    }
    Ok(Outcome::Good)
}

/// A tool as `tools/list` shows it, and what only gongfu knows about it.
pub(crate) fn tool_json(spec: &ToolSpec) -> Value {
    json!({
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": &*spec.input_schema,
        "outputSchema": spec.output_schema.as_deref(),
        "access": spec.access,
        "safety": spec.safety,
    })
}

/// Arguments from the command line: one JSON object, `-` for standard input, or key=value pairs
/// whose values are read as the tool's schema says.
fn parsed(arguments: &[String], spec: Option<&ToolSpec>) -> Result<Map<String, Value>, String> {
    if let [only] = arguments
        && (only == "-" || only.trim_start().starts_with('{'))
    {
        let mut text = only.clone();
        if only == "-" {
            text.clear();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| format!("can't read standard input: {error}"))?;
        }
        return serde_json::from_str(&text)
            .map_err(|error| format!("the arguments are not a JSON object: {error}"));
    }
    let mut parsed = Map::new();
    for argument in arguments {
        let pair = argument.split_once('=');
        let bare = || only_required(spec).filter(|only| !parsed.contains_key(*only));
        let Some((key, value)) = pair.or_else(|| Some((bare()?, argument.as_str()))) else {
            return Err(format!("`{argument}` is not a key=value pair"));
        };
        if parsed
            .insert(key.to_owned(), typed(key, value, spec))
            .is_some()
        {
            return Err(format!("`{key}` occurs twice"));
        }
    }
    Ok(parsed)
}

/// The arguments that a tool can't do without, else its first, as they are written.
fn required(spec: Option<&ToolSpec>) -> String {
    let schema = spec.map(|spec| &spec.input_schema);
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    let mut names: Vec<&str> = names.collect();
    if names.is_empty() {
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        names.extend(
            properties
                .and_then(|all| all.keys().next())
                .map(String::as_str),
        );
    }
    let names = names.into_iter().map(|name| format!(" {name}=VALUE"));
    names.collect::<Vec<_>>().concat()
}

/// The argument that a value without a name is for: the only one that the tool can't do without,
/// or the only one that it has.
fn only_required(spec: Option<&ToolSpec>) -> Option<&str> {
    let schema = &spec?.input_schema;
    let required = schema.get("required").and_then(Value::as_array);
    let mut properties = schema.get("properties")?.as_object()?.keys();
    match (
        required.map(Vec::as_slice),
        properties.next(),
        properties.next(),
    ) {
        (Some([only]), _, _) => only.as_str(),
        (None | Some([]), Some(only), None) => Some(only),
        _ => None,
    }
}

/// A value of the type that the schema asks for; whatever doesn't fit stays a text, and the gate
/// says what is wrong with it.
fn typed(key: &str, value: &str, spec: Option<&ToolSpec>) -> Value {
    let kind = spec.and_then(|spec| {
        spec.input_schema
            .get("properties")?
            .get(key)?
            .get("type")?
            .as_str()
    });
    match kind {
        Some("integer" | "number" | "boolean" | "array" | "object") => {
            serde_json::from_str(value).unwrap_or_else(|_| value.into())
        }
        _ => value.into(),
    }
}

/// A piece of another server's answer that isn't text, in one line.
fn block_line(block: &Value) -> String {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    let kind = plain(text("type").unwrap_or("block"));
    match (text("text"), text("data"), text("uri")) {
        (Some(text), _, _) => plain(text),
        (None, Some(data), _) => {
            let media = plain(text("mimeType").unwrap_or_default());
            let length = data.len();
            format!("[{kind}: {media}, {length} characters of base64; --json prints them]")
        }
        (None, None, Some(uri)) => format!("[{kind}: {}]", plain(uri)),
        (None, None, None) => format!("[{kind}; --json prints it]"),
    }
}

fn show(
    outcome: Result<ToolResult, ToolError>,
    json: bool,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match outcome {
        Ok(result) if json => {
            terminal.json(&result)?;
            Ok(Outcome::of(!result.is_error))
        }
        Ok(result) => {
            let outcome = Outcome::of(!result.is_error);
            if let (true, Some(data)) = (result.content.is_empty(), &result.structured_content) {
                terminal.json(data)?;
            }
            for content in result.content {
                match content {
                    Content::Text { text } => {
                        let end = if text.ends_with('\n') || text.is_empty() {
                            ""
                        } else {
                            "\n"
                        };
                        terminal.text(&format!("{text}{end}"))?;
                    }
                    Content::Resource { resource } => {
                        terminal.line(&format!(
                            "[{}: {}, {} characters of base64; --json prints them]",
                            resource.uri,
                            resource.mime_type,
                            resource.blob.len()
                        ))?;
                    }
                    Content::Foreign(block) => terminal.line(&block_line(&block))?,
                }
            }
            Ok(outcome)
        }
        Err(error) => {
            if json && let Some(rendered) = &error.rendered {
                let content = &rendered.content;
                let structured = &rendered.structured_content;
                terminal.json(&json!({ "content": content, "structuredContent": structured, "isError": true }))?;
            } else if json {
                let content = [Content::text(error.to_string())];
                terminal.json(&json!({ "content": content, "structuredContent": error.to_json(), "isError": true }))?;
            } else {
                print_error(&error, terminal);
            }
            Ok(outcome_of(&error))
        }
    }
}
