//! What a shell is told to run later on, or in another way than by a command.

use super::Reason;
use super::field::Field;
use super::judge::Judge;
use super::known::is_evaluated;
use super::option::{Valued, read};
use super::state::{Known, State};

/// What ends a here-document that is made to have a text expanded.
const END: &str = "end-of-what-is-expanded";

/// How many texts are followed that are run at the end.
const TRAPS: usize = 16;
/// Variables whose values are expanded by a shell.
const EXPANDED: [&str; 7] = ["BASH_ENV", "ENV", "PS0", "PS1", "PS2", "PS3", "PS4"];
/// Variables whose values are lines for a shell.
const LINES: [&str; 19] = [
    "BROWSER",
    "EDITOR",
    "FCEDIT",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "LESSCLOSE",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PROMPT_COMMAND",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "VISUAL",
];

impl Judge<'_> {
    /// Judges what is assigned to a variable whose value is run.
    pub(super) fn runs_text(
        &mut self,
        name: &str,
        value: &Known,
        state: &State,
    ) -> Result<(), Reason> {
        let value = match value {
            Known::Value(text) => Field::known(text),
            _ => Field::unknown(),
        };
        if EXPANDED.contains(&name) {
            // Nobody is asked where there are no prompts.
            let is_used = !matches!(name, "PS0" | "PS1" | "PS2" | "PS3");
            if value.tail.is_none() || is_used {
                return self.expanded(name, &value, state);
            }
        }
        if matches!(name, "BASH_CMDS" | "BASH_ALIASES") {
            // A name stands for what is put there.
            self.ask(Reason::Dynamic(name.to_owned()));
        }
        if LINES.contains(&name) && value.tail.is_none() {
            return match self.line_of(name, &value, state) {
                Err(Reason::Unreadable(_)) => Ok(()),
                outcome => outcome,
            };
        }
        Ok(())
    }

    /// Judges what is calculated: what its subscripts hold is run.
    pub(super) fn calculated(&mut self, field: &Field, state: &State) -> Result<(), Reason> {
        if is_evaluated(&field.head) || field.tail.as_deref().is_some_and(is_evaluated) {
            let known = Field::known(&field.shown());
            self.expanded("[", &known, state)?;
        }
        let apart = state.without_evaluated();
        for text in state.evaluated().iter() {
            self.charge(text.len())?;
            self.expanded("[", &Field::known(text), &apart)?;
        }
        Ok(())
    }

    /// What an alias stands for, with the words behind it.
    pub(super) fn alias(
        &mut self,
        name: &str,
        alias: &Field,
        fields: &[Field],
        state: &State,
    ) -> Result<(), Reason> {
        let mut line = alias.clone();
        for field in fields.iter().skip(1) {
            match field.text() {
                Some(text) => {
                    line.push(" '");
                    line.push(&text.replace('\'', "'\\''"));
                    line.push("'");
                }
                None => line.push(" \"${_}\""),
            }
        }
        self.charge(line.size())?;
        // It doesn't stand for itself within itself.
        let mut apart = state.clone();
        apart.unalias(name);
        self.line_in("alias", &line, apart)
    }

    /// What is run at the end, or when something happens.
    fn trap(&mut self, action: &Field, signals: &[Field], state: &State) -> Result<(), Reason> {
        if matches!(action.text(), Some("-" | "")) {
            return Ok(());
        }
        let is_any_time = signals.iter().any(|signal| {
            let name = signal.head.to_ascii_uppercase();
            matches!(name.trim_start_matches("SIG"), "DEBUG" | "ERR" | "RETURN")
        });
        if is_any_time {
            let mut unknown = state.clone();
            unknown.forget();
            self.deferred("trap", action, &unknown)?;
        }
        if self.traps.len() >= TRAPS {
            self.ask(Reason::Dynamic("trap".to_owned()));
        } else if !self.traps.contains(action) {
            self.traps.push(action.clone());
        }
        self.deferred("trap", action, state)
    }

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
                if let [action, signals @ ..] = given.operands
                    && !signals.is_empty()
                {
                    return self.trap(action, signals, state);
                }
            }
            "alias" => {
                for field in arguments {
                    let Some((name, value)) = field.head.split_once('=') else {
                        if field.tail.is_some() {
                            self.ask(Reason::Dynamic("alias".to_owned()));
                        }
                        continue;
                    };
                    let value = Field {
                        head: value.to_owned(),
                        ..field.clone()
                    };
                    self.deferred("alias", &value, state)?;
                    if !state.set_alias(name, value) {
                        self.ask(Reason::Dynamic("alias".to_owned()));
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
                    if let Some(name) = given.operands.first() {
                        // The name stands for it, wherever it is used.
                        state.set_alias(&name.head, path.clone());
                    }
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
