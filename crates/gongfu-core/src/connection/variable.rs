//! Variables in the configuration of clients: `${NAME}`, `${NAME:-default}`, `${env:NAME}`.

/// A text names a variable that isn't set, or a value that only its client knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`${{{0}}}` has no value; set the variable, or write the value itself")]
pub struct MissingVariable(pub String);

/// Fills the variables of a text in. A `$` that starts none stays.
///
/// # Errors
/// A variable has no value and no default.
pub fn expand(
    text: &str,
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<String, MissingVariable> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, behind)) = after.split_once('}') else {
            break;
        };
        expanded.push_str(before);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let found = value(name).or_else(|| default.map(str::to_owned));
        expanded.push_str(&found.ok_or_else(|| MissingVariable(inner.to_owned()))?);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
