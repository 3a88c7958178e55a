//! The folder that a shell is in, and how it gets to another.

use std::rc::Rc;

use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::place;
use super::state::{Known, State};

/// How many folders are followed that `popd` goes back to.
const STACK: usize = 16;

impl Judge<'_> {
    /// `cd`
    pub(super) fn change_folder(&mut self, arguments: &[Field], state: &mut State) {
        let given = read(arguments, Valued::default(), false);
        let before = state.folder.clone();
        let known = |known: Known| match known {
            Known::Value(folder) => Some(folder),
            _ => None,
        };
        state.folder = match given.operands.first() {
            None => known(state.single("HOME")),
            Some(field) if field.text() == Some("-") => known(state.single("OLDPWD")),
            Some(field) => {
                if let Some(path) = field.text() {
                    for folder in &mut state.folders {
                        *folder = place::resolved(folder, path);
                    }
                }
                self.folder_at(field, state)
            }
        };
        moved(before, state);
    }

    /// The folder that a path leads to.
    fn folder_at(&self, field: &Field, state: &State) -> Option<String> {
        let path = field.text()?;
        if path.starts_with('/') {
            return Some(place::resolved("/", path));
        }
        let folder = state.folder.as_deref()?;
        // It may be looked for elsewhere.
        let is_here =
            path.starts_with('.') || state.single("CDPATH") == Known::Value(String::new());
        let resolved = place::resolved(folder, path);
        let writable = self.policy.writable.iter().copied();
        let places: Vec<&str> = writable.chain(["/tmp"]).collect();
        // Whoever goes from outside to where it may write may find nothing there, and stays outside.
        let is_certain = place::is_below(folder, places.iter().copied())
            || places.contains(&resolved.as_str())
            || !place::is_below(&resolved, places.iter().copied());
        (is_here && is_certain).then_some(resolved)
    }

    /// `pushd` and `popd`.
    pub(super) fn stacked(&mut self, name: &str, arguments: &[Field], state: &mut State) {
        let given = read(arguments, Valued::default(), false);
        let before = state.folder.clone();
        let known = state.stack.take().filter(|_| given.options.is_empty());
        let mut stack = known.as_deref().cloned().unwrap_or_default();
        let folder = match (name, given.operands) {
            ("popd", []) => stack.pop(),
            ("pushd", []) => stack.pop().inspect(|_| stack.push(before.clone())),
            ("pushd", [field, ..]) if !field.head.starts_with('+') && stack.len() < STACK => {
                stack.push(before.clone());
                Some(self.folder_at(field, state))
            }
            _ => None,
        };
        if known.is_some() && folder.is_some() {
            state.stack = Some(Rc::new(stack));
        }
        state.folder = folder.flatten();
        moved(before, state);
    }
}

/// Says in variables what the folder is, and was.
fn moved(before: Option<String>, state: &mut State) {
    let known = |folder: Option<String>| folder.map_or(Known::Nothing, Known::Value);
    state.set("PWD", known(state.folder.clone()));
    state.set("OLDPWD", known(before));
}
