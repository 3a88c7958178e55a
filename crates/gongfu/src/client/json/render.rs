//! Values as JSON text: over several lines in the style of a file, or on one.

use serde_json::Value;

/// How a value is laid out over lines.
pub(super) struct Layout<'a> {
    pub(super) line_break: &'a str,
    pub(super) unit: &'a str,
    /// Before the line that the value begins in.
    pub(super) indent: &'a str,
}

/// A value over several lines: objects are broken, lists are not.
pub(super) fn rendered(value: &Value, layout: &Layout<'_>) -> String {
    let Value::Object(object) = value else {
        return on_one_line(value);
    };
    if object.is_empty() {
        return "{}".to_owned();
    }
    let Layout {
        line_break,
        unit,
        indent,
    } = layout;
    let within = format!("{indent}{unit}");
    let inner = Layout {
        line_break,
        unit,
        indent: &within,
    };
    let lines: Vec<String> = object
        .iter()
        .map(|(name, value)| {
            let name = Value::from(name.as_str());
            format!("{line_break}{within}{name}: {}", rendered(value, &inner))
        })
        .collect();
    format!("{{{}{line_break}{indent}}}", lines.join(","))
}

/// A value on one line, with a space behind commas and colons.
pub(in crate::client) fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let fields: Vec<String> = object
                .iter()
                .map(|(name, value)| {
                    format!("{}: {}", Value::from(name.as_str()), on_one_line(value))
                })
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(on_one_line).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
