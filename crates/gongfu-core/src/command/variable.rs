//! Builtins that set variables, or say what they are.

use super::Reason;
use super::field::Field;
use super::judge::Judge;
use super::known::is_evaluated;
use super::option::{Valued, read};
use super::state::{Known, State};

impl Judge<'_> {
    /// A builtin that sets variables.
    pub(super) fn sets(
        &mut self,
        name: &str,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        let arguments = fields.get(1..).unwrap_or_default();
        match name {
            "unset" => {
                let is_variable = read(arguments, Valued::default(), false).has(&["v"]);
                for field in arguments {
                    self.named_by(field, state)?;
                    let Some(name) = field.text() else { continue };
                    state.unset(base(name));
                    if !is_variable {
                        state.undefine(name);
                    }
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" => {
                let valued = Valued {
                    short: "Cc",
                    ..Valued::default()
                };
                if let Some(line) = read(arguments, valued, true).value(&["C"]) {
                    self.deferred(name, line, state)?;
                }
                for name in arguments {
                    self.named_by(name, state)?;
                    state.set(base(&name.head), Known::Nothing);
                }
                state.set("REPLY", Known::Nothing);
                state.set("MAPFILE", Known::Nothing);
            }
            "printf" => {
                if let Some(name) = arguments.first().and_then(Field::text)
                    && name.starts_with("-v")
                {
                    let attached = name.get(2..).filter(|name| !name.is_empty());
                    let separate = arguments.get(1).and_then(Field::text);
                    if let Some(name) = attached.or(separate) {
                        let from = if attached.is_some() { 1 } else { 2 };
                        self.named_by(&Field::known(name), state)?;
                        let printed = printed(name, arguments.get(from..).unwrap_or_default());
                        state.set(base(name), printed);
                    }
                }
            }
            _ => {
                let has = |letter: char| {
                    arguments
                        .iter()
                        .any(|field| field.head.starts_with('-') && field.head.contains(letter))
                };
                for field in arguments {
                    if field.head.starts_with(['-', '+']) && field.text().is_some() {
                        continue;
                    }
                    if has('f') {
                        if name == "export" || has('x') {
                            state.export_function(&field.head);
                        }
                        continue;
                    }
                    self.named_by(field, state)?;
                    if let Some((variable, value)) =
                        field.text().and_then(|text| text.split_once('='))
                    {
                        self.runs_text(variable, &Known::Value(value.to_owned()), state)?;
                    }
                    self.declare(name, fields, field, state);
                }
            }
        }
        Ok(())
    }

    /// A name of a variable whose subscript is calculated.
    pub(super) fn named_by(&mut self, name: &Field, state: &State) -> Result<(), Reason> {
        if is_evaluated(&name.head) {
            self.calculated(name, state)?;
        }
        Ok(())
    }

    /// `name=value` in a word that is put together, or a name alone.
    fn declare(&mut self, builtin: &str, fields: &[Field], field: &Field, state: &mut State) {
        let Some((name, value)) = field.head.split_once('=') else {
            if field.tail.is_some() {
                state.forget();
            } else {
                self.declaration(builtin, fields, base(&field.head), state);
            }
            return;
        };
        let known = match field.text() {
            Some(_) if !name.ends_with(['+', ']']) => Known::Value(value.to_owned()),
            _ => Known::Nothing,
        };
        self.declaration(builtin, fields, base(name), state);
        state.set(base(name), known);
    }
}

/// The name of a variable, without its subscript.
pub(super) fn base(name: &str) -> &str {
    name.split(['[', '+']).next().unwrap_or(name)
}

/// What `printf` puts into a variable.
fn printed(name: &str, printed: &[Field]) -> Known {
    let texts: Vec<Option<&str>> = printed.iter().map(Field::text).collect();
    match texts.as_slice() {
        _ if name.contains('[') => Known::Nothing,
        [Some(text)] | [Some("%s"), Some(text)] if !text.contains(['%', '\\']) => {
            Known::Value((*text).to_owned())
        }
        _ => Known::Nothing,
    }
}
