//! The files of pipelines: where they are, and how one is found.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use gongfu_agent::pipeline::builtins;
use gongfu_core::near;
use gongfu_core::pipeline::{FileKind, MAX_DEFINITION, Mistake, Pipeline, read};

use crate::failure::Failure;
use crate::wiring::Parts;

/// The folder of pipelines in gongfu's home.
const OWN: &str = "pipelines";
/// The folder of pipelines in a project.
const OF_PROJECT: &str = ".gongfu/pipelines";
/// The most files of a folder that are read.
const MAX_FILES: usize = 500;

/// A pipeline that was found, and its text.
pub(super) struct PipelineFile {
    /// Its name: that of the file without its extension.
    pub(super) name: String,
    /// The file, or `gongfu` for one that comes with it.
    pub(super) origin: String,
    text: String,
    kind: FileKind,
}

impl PipelineFile {
    /// Reads the definition.
    pub(super) fn pipeline(&self) -> Result<Pipeline, Vec<Mistake>> {
        read(&self.text, self.kind)
    }

    /// The definition; its mistakes as a failure.
    pub(super) fn good(&self) -> Result<Pipeline, Failure> {
        self.pipeline().map_err(|mistakes| {
            let lines: Vec<String> = mistakes
                .iter()
                .map(|mistake| format!("{}: {mistake}", self.origin))
                .collect();
            Failure::new(
                "PIPELINE_INVALID",
                lines.join("\n"),
                "correct the file; `gongfu task schema` prints its schema",
            )
        })
    }
}

/// All pipelines: a person's own take names from those of gongfu, and those from the project's.
pub(super) fn all(parts: &Parts, home: &Path) -> Vec<PipelineFile> {
    let mut found = in_folder(&home.join(OWN));
    found.extend(builtins().iter().map(|builtin| PipelineFile {
        name: builtin.name.to_owned(),
        origin: "gongfu".to_owned(),
        text: builtin.text.to_owned(),
        kind: FileKind::Yaml,
    }));
    found.extend(in_folder(&parts.workspace.folder().join(OF_PROJECT)));
    let mut names = std::collections::BTreeSet::new();
    found.retain(|file| names.insert(file.name.clone()));
    found
}

/// The pipeline that a word of the command line means: a file, else a name.
pub(super) fn find(word: &str, parts: &Parts, home: &Path) -> Result<PipelineFile, Failure> {
    let path = Path::new(word);
    if word.contains(['/', '\\']) || kind_of(path).is_some() {
        return open(path);
    }
    let mut all = all(parts, home);
    if let Some(at) = all.iter().position(|file| file.name == word) {
        return Ok(all.swap_remove(at));
    }
    let near = near::meant(word, all.iter().map(|file| file.name.as_str()));
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`gongfu task list` lists them; a file is named with its path".to_owned(),
    };
    let message = format!("there is no pipeline `{word}`");
    Err(Failure::usage("PIPELINE_NOT_FOUND", message, hint))
}

fn kind_of(path: &Path) -> Option<FileKind> {
    match path.extension()?.to_str()? {
        "yaml" | "yml" => Some(FileKind::Yaml),
        "json" => Some(FileKind::Json),
        _ => None,
    }
}

/// The files of a folder that can be read, by name.
fn in_folder(folder: &Path) -> Vec<PipelineFile> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|path| kind_of(path).is_some()).collect();
    paths.sort();
    paths.truncate(MAX_FILES);
    let files = paths.iter().filter_map(|path| {
        let file = open(path);
        let file = file.inspect_err(|why| tracing::warn!("{} is left out: {why}", path.display()));
        file.ok()
    });
    files.collect()
}

fn open(path: &Path) -> Result<PipelineFile, Failure> {
    let place = path.display();
    let unreadable = |why: std::io::Error| {
        let message = format!("can't read {place}: {why}");
        Failure::new("FILE_NOT_FOUND", message, "check the path")
    };
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(std::io::Error::other("it is not a file")));
    }
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // One more than is allowed, so that the reader says what is wrong.
    let limit = u64::try_from(MAX_DEFINITION)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    let text = if bytes.len() > MAX_DEFINITION {
        // It may end within a character.
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        String::from_utf8(bytes).map_err(|_| {
            let message = format!("{place} is not UTF-8");
            Failure::new("PIPELINE_INVALID", message, "save the file as UTF-8")
        })?
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(PipelineFile {
        name: name.into_owned(),
        origin: path.display().to_string(),
        text,
        kind: kind_of(path).unwrap_or(FileKind::Yaml),
    })
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEFINITION, open};

    #[test]
    fn file_in_another_encoding_is_named_as_that() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        for bytes in [&b"\xff\xfen\0a\0"[..], b"name: caf\xe9"] {
            std::fs::write(&path, bytes).unwrap();
            let failure = open(&path).err().unwrap();
            assert_eq!(failure.code, "PIPELINE_INVALID");
            assert!(failure.message.ends_with("is not UTF-8"), "{failure}");
        }
        std::fs::write(&path, "é".repeat(MAX_DEFINITION)).unwrap();
        let mistakes = open(&path).ok().unwrap().pipeline().unwrap_err();
        assert!(mistakes[0].what.contains("longer than"), "{mistakes:?}");
        let failure = open(&folder.path().join("b.yaml")).err().unwrap();
        assert_eq!(failure.code, "FILE_NOT_FOUND");
    }
}
