//! A project of Python (`pyproject.toml`) and its lock.

use toml::{Table, Value};

use super::requirement::{OPERATOR_DECIDES, requirement_problem};
use super::{Language, LeftOut, MAX_PACKAGES, Manifest, ManifestError, PackageSpec, Requirements};
use crate::skill::SkillPath;

/// The longest `requires-python`, in bytes.
const MAX_PYTHON: usize = 200;

/// The packages of a project; `None` if it declares none, such as one that only configures tools.
///
/// # Errors
/// The project is damaged, or only a build could tell its dependencies.
pub(super) fn parse(
    file: &SkillPath,
    text: &str,
    lock: Option<(&SkillPath, &String)>,
) -> Result<Option<Manifest>, ManifestError> {
    let table = table(file, text, 0)?;
    let Some(project) = table.get("project").and_then(Value::as_table) else {
        let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
        if poetry.is_some_and(|poetry| poetry.get("dependencies").is_some()) {
            let why = "its dependencies are in Poetry's format only; add them to `[project] dependencies` (PEP 621)";
            return Err(ManifestError::new(file, None, why));
        }
        return Ok(None);
    };
    let dynamic = project.get("dynamic").and_then(Value::as_array);
    let is_dependencies = |name: &Value| name.as_str() == Some("dependencies");
    if dynamic.is_some_and(|names| names.iter().any(is_dependencies)) {
        let why = "its dependencies are `dynamic`, and gongfu doesn't build skills; list them in `[project] dependencies`";
        return Err(ManifestError::new(file, None, why));
    }
    let mut left_out = LeftOut::default();
    let requirements = requirements(file, project, 0, &mut left_out)?;
    let mut files = vec![file.clone()];
    let packages = if let Some((path, lock)) = lock {
        files.push(path.clone());
        PackageSpec::Project {
            project: for_lock(&table, project, &requirements),
            lock: without_options(lock),
            requirements,
        }
    } else {
        if let Some(warning) = warning(&table, file.as_str()) {
            left_out.warn(warning);
        }
        PackageSpec::Requirements(requirements)
    };
    let warnings = match &packages {
        PackageSpec::Requirements(requirements) => left_out.warnings(requirements.lines.is_empty()),
        // A lock of what is left out doesn't fit the rest.
        _ => left_out.warnings(false),
    };
    Ok(Some(Manifest {
        language: Language::Python,
        files,
        packages,
        warnings: warnings?,
        allowed: Vec::new(),
    }))
}

/// The project, written anew with nothing but what `uv` compares with the lock. `uv` would build a project that has a
/// build system, and obey the settings of tools.
fn for_lock(table: &Table, project: &Table, requirements: &Requirements) -> String {
    let mut own = Table::new();
    for name in ["name", "version"] {
        if let Some(value) = project.get(name).filter(|value| value.is_str()) {
            own.insert(name.to_owned(), value.clone());
        }
    }
    if !own.contains_key("version") {
        let dynamic = Value::Array(vec!["version".into()]);
        own.insert("dynamic".to_owned(), dynamic);
    }
    if let Some(python) = &requirements.python {
        own.insert("requires-python".to_owned(), python.as_str().into());
    }
    let lines = requirements.lines.iter().map(String::as_str);
    let lines = lines.map(Value::from).collect();
    own.insert("dependencies".to_owned(), Value::Array(lines));
    let optional = project.get("optional-dependencies");
    own.extend(optional.map(|all| ("optional-dependencies".to_owned(), lists(all))));
    let mut anew = Table::from_iter([("project".to_owned(), Value::Table(own))]);
    let groups = table.get("dependency-groups");
    anew.extend(groups.map(|all| ("dependency-groups".to_owned(), lists(all))));
    anew.to_string()
}

/// Named lists of requirements, without those that are no packages of an index. A group may include another one.
fn lists(all: &Value) -> Value {
    let checked = |one: &Value| match one {
        Value::String(line) => requirement_problem(line.trim())
            .is_none()
            .then(|| one.clone()),
        Value::Table(table) => {
            let group = table.get("include-group").filter(|group| group.is_str())?;
            let include = [("include-group".to_owned(), group.clone())];
            Some(Value::Table(Table::from_iter(include)))
        }
        _ => None,
    };
    let all = all.as_table().into_iter().flatten();
    let lists = all.filter_map(|(name, list)| {
        let list = list.as_array()?.iter().filter_map(checked).collect();
        Some((name.clone(), Value::Array(list)))
    });
    Value::Table(lists.collect())
}

/// A lock without the settings that it was made with: they are those of another machine, have other forms in other
/// versions of uv, and say nothing of the packages. The project itself counts as one that isn't built.
fn without_options(lock: &str) -> String {
    let lock = lock.replace(
        r#"source = { editable = "." }"#,
        r#"source = { virtual = "." }"#,
    );
    let mut is_options = false;
    let lines = lock.split_inclusive('\n').filter(|line| {
        let line = line.trim();
        if line.starts_with('[') {
            is_options = line == "[options]" || line.starts_with("[options.");
        }
        !is_options
    });
    lines.collect()
}

/// A text as a table; `first` is the number of lines above it in its file.
pub(super) fn table(file: &SkillPath, text: &str, first: usize) -> Result<Table, ManifestError> {
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| first + before.matches('\n').count() + 1);
        ManifestError::new(file, line, format!("it isn't TOML: {}", error.message()))
    })
}

/// Warns of settings of uv, which are ignored; `place` says where they stand.
pub(super) fn warning(table: &Table, place: &str) -> Option<String> {
    table.get("tool")?.get("uv")?;
    Some(format!("ignored: {place}: `[tool.uv]`: {OPERATOR_DECIDES}"))
}

/// The `dependencies` and `requires-python` of a project or a script (PEP 723), which begins at line `first`. What
/// is no package of an index is left out.
pub(super) fn requirements(
    file: &SkillPath,
    table: &Table,
    first: usize,
    left_out: &mut LeftOut,
) -> Result<Requirements, ManifestError> {
    let error = |why: &str| ManifestError::new(file, (first > 0).then_some(first), why);
    let mut requirements = Requirements::default();
    if let Some(python) = table.get("requires-python") {
        let python = python.as_str().unwrap_or_default().trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "<>=!~.,*+ ".contains(c);
        let is_version = python.starts_with(['<', '>', '=', '!', '~'])
            && python.len() <= MAX_PYTHON
            && python.chars().all(is_plain);
        if !is_version {
            return Err(error(
                "`requires-python` is not a version specifier; write e.g. \">=3.11\"",
            ));
        }
        requirements.python = Some(python.to_owned());
    }
    let Some(dependencies) = table.get("dependencies") else {
        return Ok(requirements);
    };
    let wrong_type =
        || error("`dependencies` is not a list of strings; write e.g. [\"requests>=2\"]");
    let dependencies = dependencies.as_array().ok_or_else(wrong_type)?;
    if dependencies.len() > MAX_PACKAGES {
        let why = format!("there are more than {MAX_PACKAGES} dependencies; use fewer");
        return Err(error(&why));
    }
    for dependency in dependencies {
        let line = dependency.as_str().ok_or_else(wrong_type)?.trim();
        if line.contains("--hash") {
            let why = format!("`{line}` has a hash, which only requirements.txt may have");
            left_out.add(error(&why));
        } else if let Some(why) = requirement_problem(line) {
            left_out.add(error(&why));
        } else {
            requirements.lines.push(line.to_owned());
        }
    }
    Ok(requirements)
}
