//! Shells that a line runs, and what they read.

use std::rc::Rc;

use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::{Known, State};
use super::{Reason, place};

impl Judge<'_> {
    /// A shell that is run as a program.
    pub(super) fn shell(
        &mut self,
        name: &str,
        arguments: &[Field],
        state: &State,
    ) -> Result<(), Reason> {
        // What stands behind `-c` is an operand; its letter may stand among others.
        let valued = Valued {
            short: "oO",
            long: &["rcfile", "init-file"],
            attached: "",
        };
        let mut arguments = arguments;
        // Options that switch something off.
        while let [first, rest @ ..] = arguments
            && first.head.starts_with('+')
        {
            let takes_name = matches!(first.text(), Some("+o" | "+O"));
            arguments = rest.get(usize::from(takes_name)..).unwrap_or_default();
        }
        let given = read(arguments, valued, false);
        let mut apart = state.child();
        // What it begins with may be what it reads.
        for variable in ["BASH_ENV", "ENV"] {
            if let Known::Value(path) = apart.single(variable)
                && place::is_handle(&path)
            {
                self.file(name, &path, &mut apart)?;
            }
        }
        if let Some(path) = given.value(&["rcfile", "init-file"]) {
            self.file(name, &path.shown(), &mut apart)?;
        }
        if given.has(&["c"]) {
            let mut operands = given.operands;
            while let [first, rest @ ..] = operands
                && (first.text() == Some("-") || first.head.starts_with(['-', '+']))
            {
                operands = rest;
            }
            let [line, arguments @ ..] = operands else {
                return Ok(());
            };
            if let Some(zero) = arguments.first() {
                let known = zero.text().map(|text| Known::Value(text.to_owned()));
                apart.set("0", known.unwrap_or(Known::Nothing));
            }
            apart.arguments = Some(Rc::from(arguments.get(1..).unwrap_or_default()));
            return self.line_in(name, line, apart);
        }
        match given.operands.first() {
            Some(file) if !given.has(&["s"]) => self.file(name, &file.shown(), &mut apart),
            _ => {
                apart.arguments = Some(Rc::from(given.operands));
                self.read_by(name, &mut apart)
            }
        }
    }
}
