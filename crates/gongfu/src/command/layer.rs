//! `gongfu layer list|show|clear`: what runs left beside skills.

use gongfu_core::port::LayerInfo;
use gongfu_core::sandbox::MAX_LAYER_BYTES;
use gongfu_hub::surface::layer::{LayerClear, LayerList, LayerShow};
use serde_json::{Value, json};

use super::Outcome;
use super::operate::operate;
use crate::cli::LayerCommand;
use crate::environment::Environment;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

pub(crate) fn run(
    command: LayerCommand,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    match command {
        LayerCommand::List { json } => {
            let parts = wiring::parts(environment, &crate::cli::Places::default())?;
            let layers = operate(LayerList {}, &parts, json, terminal)?;
            list(&layers, json, terminal)
        }
        LayerCommand::Show { skill, common } => {
            let parts = wiring::parts(environment, &common.places)?;
            let layers = operate(LayerShow { skill }, &parts, common.json, terminal)?;
            if common.json {
                let shown = layers.shown.map(|(layer, files)| {
                    let files = files.iter();
                    let files: Vec<Value> = files
                        .map(|(path, size)| json!({ "path": path.as_str(), "size": size }))
                        .collect();
                    json!({ "layer": layer, "files": files })
                });
                terminal.json(&json!({ "shown": shown, "former": layers.former }))?;
                return Ok(Outcome::Good);
            }
            match &layers.shown {
                Some((layer, files)) => {
                    head(layer, terminal)?;
                    for (path, size) in files {
                        let size = terminal.paint(Paint::Dim, &format!("{size} bytes"));
                        terminal.line(&format!("  {}  {size}", plain(path.as_str())))?;
                    }
                }
                None => terminal.note("runs wrote nothing into this version of the skill"),
            }
            if !layers.former.is_empty() {
                terminal.note("older versions:");
            }
            for layer in &layers.former {
                head(layer, terminal)?;
            }
            Ok(Outcome::Good)
        }
        LayerCommand::Clear { skill, all, common } => {
            let parts = wiring::parts(environment, &common.places)?;
            let clear = LayerClear { skill, all };
            let cleared = operate(clear, &parts, common.json, terminal)?;
            if common.json {
                terminal.json(&json!({ "cleared": cleared }))?;
                return Ok(Outcome::Good);
            }
            for layer in &cleared {
                terminal.line(&format!("cleared {}: {}", plain(&layer.id), amount(layer)))?;
            }
            if cleared.is_empty() {
                terminal.note("there is nothing to clear");
            }
            Ok(Outcome::Good)
        }
    }
}

fn list(layers: &[LayerInfo], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        terminal.json(&layers)?;
        return Ok(Outcome::Good);
    }
    for layer in layers {
        head(layer, terminal)?;
    }
    let bytes = layers.iter().map(|layer| layer.bytes);
    let bytes = bytes.fold(0, u64::saturating_add);
    let (used, most) = (bytes.div_ceil(1 << 20), MAX_LAYER_BYTES >> 20);
    terminal.note(&format!("{used} of at most {most} MiB used"));
    Ok(Outcome::Good)
}

/// Writes the lines about a layer.
fn head(layer: &LayerInfo, terminal: &mut Terminal) -> anyhow::Result<()> {
    let skill = terminal.paint(Paint::Bold, &plain(&layer.skill));
    let used = layer.used.to_seconds();
    let about = format!("{}, last used {used}", amount(layer));
    let about = terminal.paint(Paint::Dim, &about);
    terminal.line(&format!("{skill}  {about}"))?;
    let place = format!("  {}  {}", plain(&layer.id), plain(&layer.folder));
    terminal.line(&place)?;
    Ok(())
}

/// The number of files and bytes of a layer, in words.
pub(super) fn amount(layer: &LayerInfo) -> String {
    let files = if layer.files == 1 { "file" } else { "files" };
    format!("{} {files} ({} bytes)", layer.files, layer.bytes)
}
