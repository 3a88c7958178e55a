//! Shells that a line runs, and what they read.

use std::rc::Rc;

use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::{Known, State};
use super::{Reason, place};

impl Judge<'_> {
    /// A text as a shell reads it that knows nothing but what POSIX has: it runs more of it than others do,
    /// where they have a word or an operator of their own.
    pub(super) fn plain_text(
        &mut self,
        name: &str,
        text: &str,
        state: &State,
    ) -> Result<(), Reason> {
        let is_other = matches!(
            name,
            "alias" | "bash" | "rbash" | "zsh" | "ksh" | "mksh" | "fish" | "yash"
        );
        let has_one = ["&>", "((", "[[", "function "]
            .into_iter()
            .any(|own| text.contains(own));
        if is_other || !has_one {
            return Ok(());
        }
        let mut plain = text
            .replace("&>", "& >")
            .replace("$((", "$(: $(: ")
            .replace("((", "( (")
            .replace("))", ") )")
            .replace("[[ ", "[ ")
            .replace(" ]]", " ]");
        // The name is taken for an argument, and what follows is run.
        while let Some((before, after)) = plain.split_once("function ") {
            let Some((_, body)) = after.split_once(['{', '(']) else {
                break;
            };
            self.charge(plain.len())?;
            let begin = if after.contains('{') { '{' } else { '(' };
            plain = format!("{before}{begin}{body}");
        }
        match self.text(&plain, &mut state.clone()) {
            Err(Reason::Unreadable(_)) => Ok(()),
            outcome => outcome,
        }
    }

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
                && (place::is_handle(&path) || place::is_input(&path))
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
