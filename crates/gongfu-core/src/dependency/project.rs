//! A project of Python (`pyproject.toml`), and its lock.

use toml::{Table, Value};

use super::{Language, MOST, Manifest, Requirements, Unfit, Wanted, requirement};
use crate::skill::SkillPath;

/// What a project says; `None` where it says nothing of dependencies, as one that is there for tools alone.
///
/// # Errors
/// It is damaged, or what it needs would have to be worked out by running it.
pub(super) fn read(
    file: &SkillPath,
    text: &str,
    lock: Option<(&SkillPath, &String)>,
) -> Result<Option<Manifest>, Unfit> {
    let table = table(file, text, 0)?;
    let Some(project) = table.get("project").and_then(Value::as_table) else {
        let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
        if poetry.is_some_and(|poetry| poetry.get("dependencies").is_some()) {
            let why = "its dependencies are written for Poetry alone; write them into `[project] dependencies` as well (PEP 621)";
            return Err(Unfit::new(file, None, why));
        }
        return Ok(None);
    };
    let dynamic = project.get("dynamic").and_then(Value::as_array);
    let is_dynamic = |name: &Value| name.as_str() == Some("dependencies");
    if dynamic.is_some_and(|names| names.iter().any(is_dynamic)) {
        let why = "its dependencies are `dynamic`: a build works them out, and nothing of a skill is built; write them into `[project] dependencies`";
        return Err(Unfit::new(file, None, why));
    }
    if let Some((path, lock)) = lock {
        return Ok(Some(Manifest {
            language: Language::Python,
            files: vec![file.clone(), path.clone()],
            wanted: Wanted::Project {
                project: text.to_owned(),
                lock: lock.clone(),
            },
            passed_over: Vec::new(),
        }));
    }
    let mut passed_over = Vec::new();
    if table.get("tool").and_then(|tool| tool.get("uv")).is_some() {
        passed_over.push(format!("{file}: `[tool.uv]`: where packages come from, and how, is for whoever runs gongfu to say"));
    }
    let wanted = wanted(file, project, 0)?;
    Ok(Some(Manifest {
        language: Language::Python,
        files: vec![file.clone()],
        wanted: Wanted::Requirements(wanted),
        passed_over,
    }))
}

/// A text as a table. `first` is how many lines stand before it in its file.
pub(super) fn table(file: &SkillPath, text: &str, first: usize) -> Result<Table, Unfit> {
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| first + before.matches('\n').count() + 1);
        Unfit::new(file, line, format!("it is no TOML: {}", error.message()))
    })
}

/// `dependencies` and `requires-python`, as a project and a script (PEP 723) have them.
pub(super) fn wanted(file: &SkillPath, table: &Table, first: usize) -> Result<Requirements, Unfit> {
    let at = (first > 0).then_some(first);
    let mut wanted = Requirements::default();
    if let Some(python) = table.get("requires-python") {
        let python = python.as_str().map(str::trim).ok_or_else(|| {
            Unfit::new(
                file,
                at,
                "`requires-python` is no text; write e.g. \">=3.11\"",
            )
        })?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "<>=!~.,*+ ".contains(c);
        if python.is_empty()
            || !python.chars().all(is_plain)
            || !python.starts_with(['<', '>', '=', '!', '~'])
        {
            return Err(Unfit::new(
                file,
                at,
                "`requires-python` can't be read; write e.g. \">=3.11\"",
            ));
        }
        wanted.python = Some(python.to_owned());
    }
    let Some(named) = table.get("dependencies") else {
        return Ok(wanted);
    };
    let list = named.as_array().ok_or_else(|| {
        Unfit::new(
            file,
            at,
            "`dependencies` is no list; write e.g. [\"requests>=2\"]",
        )
    })?;
    if list.len() > MOST {
        let why = format!("there are more than {MOST} dependencies; name fewer");
        return Err(Unfit::new(file, at, why));
    }
    for one in list {
        let line = one.as_str().map(str::trim).ok_or_else(|| {
            Unfit::new(
                file,
                at,
                "`dependencies` holds what is no text; write e.g. \"requests>=2\"",
            )
        })?;
        let why = requirement::unfit(line).or_else(|| {
            line.contains("--hash")
                .then(|| format!("`{line}` has an option, which only requirements.txt may have"))
        });
        if let Some(why) = why {
            return Err(Unfit::new(file, at, why));
        }
        wanted.lines.push(line.to_owned());
    }
    Ok(wanted)
}
