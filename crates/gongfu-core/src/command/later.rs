//! What a shell is told to run later on, or in another way than by a command.

use super::Reason;
use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::State;

/// What ends a here-document that is made to have a text expanded.
const END: &str = "end-of-what-is-expanded";

impl Judge<'_> {
    /// Builtins that are given what is run later on.
    pub(super) fn later(
        &mut self,
        name: &str,
        arguments: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        match name {
            "trap" => {
                let given = read(arguments, Valued::default(), false);
                if let [action, _, ..] = given.operands {
                    return self.deferred("trap", action, state);
                }
            }
            "alias" => {
                for field in arguments {
                    if let Some((_, value)) = field.text().and_then(|text| text.split_once('=')) {
                        self.deferred("alias", &Field::known(value), state)?;
                    }
                }
            }
            "hash" => {
                let valued = Valued {
                    short: "p",
                    long: &[],
                    attached: "",
                };
                let given = read(arguments, valued, false);
                if let Some(path) = given.value(&["p"]) {
                    return self.program(std::slice::from_ref(path), state);
                }
            }
            "jobs" => {
                if let Some((first, command)) = arguments.split_first()
                    && first.text() == Some("-x")
                {
                    return self.alone(command, state);
                }
            }
            "compgen" | "complete" => {
                let valued = Valued {
                    short: "oAGWFCXPS",
                    ..Valued::default()
                };
                let given = read(arguments, valued, true);
                for (option, value) in &given.values {
                    match option.as_str() {
                        "C" | "F" => self.deferred(name, value, state)?,
                        "W" => self.expanded(name, value, state)?,
                        _ => {}
                    }
                }
            }
            "enable" if read(arguments, Valued::default(), false).has(&["f"]) => {
                self.ask(Reason::Dynamic("enable".to_owned()));
            }
            "bind" => {
                for field in arguments {
                    if let Some((_, line)) = field.head.split_once(':') {
                        let line = line.trim().trim_matches(['"', '\'']);
                        self.deferred(name, &Field::known(line), state)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What is run later on.
    pub(super) fn deferred(
        &mut self,
        name: &str,
        action: &Field,
        state: &State,
    ) -> Result<(), Reason> {
        let mut apart = state.clone();
        match action.text() {
            Some("-" | "") => Ok(()),
            Some(text) => self.text(text, &mut apart),
            None => {
                self.ask(Reason::Dynamic(name.to_owned()));
                Ok(())
            }
        }
    }

    /// A text that is expanded a second time.
    pub(super) fn expanded(
        &mut self,
        name: &str,
        text: &Field,
        state: &State,
    ) -> Result<(), Reason> {
        if !text.head.contains(['$', '`']) && text.tail.is_none() {
            return Ok(());
        }
        if text.tail.is_some() {
            self.ask(Reason::Dynamic(name.to_owned()));
        }
        // A here-document is expanded as it is.
        let line = format!(": <<{END}\n{}\n{END}\n", text.shown());
        match self.text(&line, &mut state.clone()) {
            Err(Reason::Unreadable(_)) => Ok(()),
            outcome => outcome,
        }
    }
}
