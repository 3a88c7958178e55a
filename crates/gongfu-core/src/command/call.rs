//! Follows functions.

use std::rc::Rc;

use super::Reason;
use super::field::Field;
use super::judge::{Judge, TEXTS};
use super::state::{Attribute, Function, Known, State};
use crate::shell::Command;

/// How often a function is followed within itself before nothing is taken for known.
const WITHIN: usize = 3;

/// A function that is being followed.
pub(super) struct Call {
    name: String,
    /// What was known where it was called.
    began: State,
    /// Nothing was.
    is_widened: bool,
    /// What is known where it is left by a command.
    returned: Option<State>,
    /// What variables were outside that are its own, and whether it is certain that they are.
    own: Vec<(String, Known, bool)>,
}

impl Judge<'_> {
    /// Follows a function with arguments.
    pub(super) fn call(
        &mut self,
        name: &str,
        function: &Function,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        if function.has_more {
            self.ask(Reason::Dynamic(name.to_owned()));
        }
        let mut ends: Option<State> = None;
        for body in &function.bodies {
            let mut way = state.clone();
            self.call_one(name, body, fields, &mut way)?;
            match &mut ends {
                Some(ends) => ends.merge(way),
                None => ends = Some(way),
            }
        }
        if function.may_be_none {
            let mut way = state.clone();
            self.alone(fields, &mut way)?;
            if let Some(ends) = &mut ends {
                ends.merge(way);
            }
        }
        *state = ends.unwrap_or_else(|| state.clone());
        Ok(())
    }

    fn call_one(
        &mut self,
        name: &str,
        body: &Command,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        let mut began = state.clone();
        began.arguments = Some(Rc::from(fields.get(1..).unwrap_or_default()));
        let within = self.calls.iter().filter(|call| call.name == name);
        // What calls itself in the same way does what it does already.
        let is_known = |call: &Call| call.is_widened || call.began.is_same(&began);
        if within.clone().any(is_known) {
            return Ok(());
        }
        let is_widened = within.count() >= WITHIN || self.calls.len() >= TEXTS;
        if self.calls.len() >= 2 * TEXTS {
            return Err(Reason::Long(TEXTS));
        }
        let outer = state.arguments.take();
        let (folder, stack) = (state.folder.clone(), state.stack.clone());
        if is_widened {
            began.forget();
            began.folder = folder;
            began.stack = stack;
        }
        *state = began.clone();
        self.calls.push(Call {
            name: name.to_owned(),
            began,
            is_widened,
            returned: None,
            own: Vec::new(),
        });
        let branches = std::mem::take(&mut self.branches);
        let outcome = self.command(body, state);
        self.branches = branches;
        if let Some(call) = self.calls.pop() {
            if let Some(returned) = call.returned {
                state.merge(returned);
            }
            for (name, before, is_certain) in call.own {
                let known = if is_certain {
                    before
                } else {
                    before.or(&state.variable(&name))
                };
                state.put(&name, known);
            }
        }
        state.arguments = outer;
        state.is_over = false;
        outcome
    }

    /// A function is left.
    pub(super) fn leave(&mut self, state: &mut State) {
        match self.calls.last_mut() {
            Some(call) => match &mut call.returned {
                Some(returned) => returned.merge(state.clone()),
                None => call.returned = Some(state.clone()),
            },
            None => self.end(state),
        }
        state.is_over = true;
    }

    /// The line is ended.
    pub(super) fn end(&mut self, state: &mut State) {
        match &mut self.ended {
            Some(ended) => ended.merge(state.clone()),
            None => self.ended = Some(state.clone()),
        }
        state.is_over = true;
    }

    /// A loop is left, or begun anew.
    pub(super) fn break_loop(&mut self, state: &mut State) {
        for exit in &mut self.exits {
            match exit {
                Some(exit) => exit.merge(state.clone()),
                None => *exit = Some(state.clone()),
            }
        }
        state.is_over = !self.exits.is_empty();
    }

    /// What a builtin that declares variables makes of one.
    pub(super) fn declaration(
        &mut self,
        builtin: &str,
        fields: &[Field],
        name: &str,
        state: &mut State,
    ) {
        let has = |letter: char| {
            fields.iter().skip(1).any(|field| {
                field.head.starts_with(['-', '+'])
                    && !field.head.starts_with("--")
                    && field.head.contains(letter)
            })
        };
        let is_own = match builtin {
            "local" => true,
            "declare" | "typeset" => !has('g'),
            _ => false,
        };
        if is_own
            && let Some(call) = self.calls.last_mut()
            && !call.own.iter().any(|(own, ..)| own == name)
        {
            let is_certain = self.branches == 0;
            call.own
                .push((name.to_owned(), state.variable(name), is_certain));
        }
        if builtin == "export" || has('x') {
            if fields.iter().any(|field| field.text() == Some("-n")) {
                state.hide(name);
            } else {
                state.export(name);
            }
        }
        if builtin == "readonly" || has('r') {
            state.mark(name, Attribute::Refuses);
        }
        if builtin != "readonly"
            && builtin != "export"
            && ['i', 'l', 'u', 'c', 'n'].into_iter().any(has)
        {
            // Another one that it stands for is changed by what is assigned to it.
            if let Known::Value(other) = state.single(name)
                && has('n')
            {
                state.mark(&other, Attribute::Changes);
            }
            state.mark(name, Attribute::Changes);
        }
    }
}
