//! The interface of a parsed configuration, whatever its format.

use serde_json::Value;

/// A parsed configuration. A path is a list of names from the root.
pub(super) trait Document {
    /// The whole document as a value; an empty object when nothing is in it.
    fn value(&self) -> Value;

    /// The lines that the last name of a path is in: several where it is repeated. The root's line
    /// for an empty path.
    fn lines(&self, path: &[&str]) -> Vec<usize>;

    /// Writes a value at a path, in place of an old one. Missing names on the way are added.
    fn set(&mut self, path: &[&str], value: &Value) -> Option<()>;

    /// Removes what is at a path.
    fn remove(&mut self, path: &[&str]) -> Option<()>;

    fn text(&self) -> String;
}
