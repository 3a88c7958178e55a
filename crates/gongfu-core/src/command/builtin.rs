//! What a shell does itself.

use super::Reason;
use super::field::Field;
use super::judge::{Input, Judge};
use super::option::{Valued, read};
use super::state::{Known, State};
use super::{place, variable};
use std::rc::Rc;

/// Builtins of `bash`.
const BUILTINS: [&str; 61] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Whether a shell does it itself.
pub(super) fn is_one(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// Whether assignments before or behind it stay.
pub(super) fn declares(name: &str) -> bool {
    matches!(
        name,
        "declare" | "export" | "local" | "readonly" | "typeset"
    )
}

impl Judge<'_> {
    pub(super) fn builtin(
        &mut self,
        name: &str,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        let arguments = fields.get(1..).unwrap_or_default();
        match name {
            "cd" => self.change_folder(arguments, state),
            "pushd" | "popd" => self.stacked(name, arguments, state),
            "break" | "continue" => self.break_loop(state),
            "eval" => {
                let given = read(arguments, Valued::default(), false);
                return self.eval(given.operands, state);
            }
            "exec" => {
                let valued = Valued {
                    short: "a",
                    long: &[],
                    attached: "",
                };
                return self.alone(read(arguments, valued, false).operands, state);
            }
            "command" => {
                let given = read(arguments, Valued::default(), false);
                if !given.has(&["v", "V"]) {
                    return self.alone(given.operands, state);
                }
            }
            "builtin" => {
                let given = read(arguments, Valued::default(), false);
                return self.alone(given.operands, state);
            }
            "." | "source" => {
                let given = read(arguments, Valued::default(), false);
                return self.source(given.operands, state);
            }
            "exit" | "logout" => self.end(state),
            "return" => self.leave(state),
            "set" => set(arguments, state),
            "let" => {
                for field in arguments {
                    self.calculated(field, state)?;
                    let name = field.head.split(['=', '+', '-', '*', '/']).next();
                    state.set(variable::base(name.unwrap_or_default()), Known::Nothing);
                }
            }
            "test" | "[" => {
                for field in arguments {
                    self.named_by(field, state)?;
                }
            }
            "shift" => shift(arguments, state),
            "unset" | "read" | "mapfile" | "readarray" | "getopts" | "printf" => {
                return self.sets(name, fields, state);
            }
            name if declares(name) => return self.sets(name, fields, state),
            _ => return self.later(name, arguments, state),
        }
        Ok(())
    }

    /// A program or a builtin, for which no function stands.
    pub(super) fn alone(&mut self, fields: &[Field], state: &mut State) -> Result<(), Reason> {
        let name = fields.first().and_then(Field::text).unwrap_or_default();
        let function = state.function(name);
        state.undefine(name);
        let outcome = self.program(fields, state);
        if let Some(function) = function {
            state.redefine(name, function);
        }
        outcome
    }

    /// What is put together and run.
    fn eval(&mut self, arguments: &[Field], state: &mut State) -> Result<(), Reason> {
        let texts: Option<Vec<&str>> = arguments
            .iter()
            .map(|field| field.tail.is_none().then_some(field.head.as_str()))
            .collect();
        if let Some(texts) = texts {
            self.text(&texts.join(" "), state)
        } else {
            self.ask(Reason::Dynamic("eval".to_owned()));
            state.forget();
            Ok(())
        }
    }

    /// A file that is run in the same shell: what it sets isn't known.
    fn source(&mut self, arguments: &[Field], state: &mut State) -> Result<(), Reason> {
        let path = arguments.first().map(Field::shown).unwrap_or_default();
        self.file("source", &path, state)?;
        state.forget();
        Ok(())
    }

    /// A shell that runs a file, which may be what it reads.
    pub(super) fn file(&mut self, name: &str, path: &str, state: &mut State) -> Result<(), Reason> {
        if path == "-" || place::is_input(path) {
            return self.read_by(name, state);
        }
        if place::is_handle(path) {
            self.ask(Reason::Input(name.to_owned()));
        }
        Ok(())
    }

    /// A shell that runs what it reads.
    pub(super) fn read_by(&mut self, name: &str, state: &mut State) -> Result<(), Reason> {
        match self.input.clone() {
            Input::Text(text) => {
                if name != "source" {
                    self.plain_text(name, &text, state)?;
                }
                self.text(&text, state)
            }
            Input::Program => {
                self.ask(Reason::Input(name.to_owned()));
                Ok(())
            }
            Input::File => Ok(()),
        }
    }
}

/// Takes arguments away, as far as it is known how many.
fn shift(arguments: &[Field], state: &mut State) {
    let count = match arguments.first() {
        None => Some(1),
        Some(field) => field.text().and_then(|text| text.parse::<usize>().ok()),
    };
    let known = state.arguments.take();
    state.arguments = known.zip(count).map(|(all, count)| {
        // More than there are are none.
        let left = all.get(count..).unwrap_or(&all);
        Rc::from(left)
    });
}

/// `set`: arguments, and options of which one changes what programs see.
fn set(arguments: &[Field], state: &mut State) {
    let given = read(arguments, Valued::default(), false);
    let is_all = |field: &Field| field.text() == Some("allexport");
    state.exports_all |= given.has(&["a"]) || arguments.iter().any(is_all);
    let end = arguments
        .iter()
        .position(|field| field.text() == Some("--"));
    if let Some(end) = end {
        state.arguments = arguments.get(end + 1..).map(Rc::from);
    } else if arguments
        .iter()
        .any(|field| !field.head.starts_with(['-', '+']))
    {
        // Options with values, or arguments: which of them isn't looked at.
        state.arguments = None;
    }
}
