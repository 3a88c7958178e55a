//! Follows commands with arguments, and what is assigned before and behind them.

use super::Reason;
use super::field::{Field, saying};
use super::judge::Judge;
use super::state::{Attribute, Known, State};
use crate::shell::{
    Assignment, Command, Item, Joint, Operation, Part, Redirection, Simple, Value, Word,
};

/// How many ways one command is followed, where variables may have several values.
const WAYS: usize = 8;
/// Builtins that do the same whatever they are given.
const SAYS: [&str; 5] = [":", "[", "echo", "test", "true"];
/// How many parts of words are looked at for variables.
const PARTS: usize = 256;

impl Judge<'_> {
    /// Judges a command with arguments; answers what it says, where that is plain.
    pub(super) fn simple(
        &mut self,
        simple: &Simple,
        state: &mut State,
    ) -> Result<Option<String>, Reason> {
        let mut names = Names::default();
        let only_says = matches!(
            simple.words.first().map(Vec::as_slice),
            Some([Part::Text(name)]) if SAYS.contains(&name.as_str())
        );
        if only_says && simple.assignments.is_empty() && state.is_plain() {
            names.of_redirections(&simple.redirections);
        } else {
            names.of_simple(simple);
        }
        self.ways(simple, &names.found, WAYS, state)
    }

    /// Judges it once for each value that a variable may have.
    fn ways(
        &mut self,
        simple: &Simple,
        names: &[&str],
        ways: usize,
        state: &mut State,
    ) -> Result<Option<String>, Reason> {
        let mut names = names;
        while let [name, rest @ ..] = names {
            names = rest;
            let Some(values) = state.choices(name).filter(|values| values.len() <= ways) else {
                continue;
            };
            let left = ways / values.len();
            let mut end: Option<State> = None;
            let mut said: Option<Option<String>> = None;
            let mut failures = Vec::new();
            for value in values {
                let mut way = state.clone();
                way.put(name, Known::Value(value));
                match self.ways(simple, rest, left, &mut way) {
                    Ok(heard) => {
                        said = Some(match said {
                            Some(before) if before != heard => None,
                            _ => heard,
                        });
                        match &mut end {
                            Some(end) => end.merge(way),
                            None => end = Some(way),
                        }
                    }
                    // Not every value that is known is one that it really has.
                    Err(reason @ (Reason::Written { .. } | Reason::Removed { .. })) => {
                        failures.push(reason);
                    }
                    Err(reason) => return Err(reason),
                }
            }
            let reason = failures.into_iter().next();
            return match (end, reason) {
                (Some(end), reason) => {
                    *state = end;
                    if let Some(reason) = reason {
                        self.ask(reason);
                    }
                    Ok(said.flatten())
                }
                (None, Some(reason)) => Err(reason),
                (None, None) => Ok(None),
            };
        }
        self.one_way(simple, state)
    }

    /// Judges it with the values that its variables have now.
    fn one_way(&mut self, simple: &Simple, state: &mut State) -> Result<Option<String>, Reason> {
        self.step()?;
        let mut fields = Vec::new();
        for word in &simple.words {
            fields.extend(self.fields(word, state)?);
        }
        let input = self.redirections(&simple.redirections, state)?;
        if fields.is_empty() {
            for assignment in &simple.assignments {
                // The next one sees it.
                self.assign(assignment, state)?;
            }
        }
        let is_heard = !simple.redirections.iter().any(|redirection| {
            matches!(
                redirection,
                Redirection::Write(_) | Redirection::Duplicate(_)
            )
        });
        let said = saying(&fields, &input, state).filter(|_| is_heard);
        let outer = std::mem::replace(&mut self.input, input);
        let outcome = if fields.is_empty() {
            self.program(&fields, state)
        } else if simple.assignments.is_empty() {
            self.declared(simple, &fields, state)
        } else {
            self.with_own(simple, &fields, state)
        };
        // It changes what the shell itself reads.
        let stays = matches!(fields.as_slice(), [only] if only.text() == Some("exec"));
        if !stays {
            self.input = outer;
        }
        outcome.map(|()| said)
    }

    /// A command that alone sees what is assigned before it.
    fn with_own(
        &mut self,
        simple: &Simple,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        let mut before: Vec<(&str, Known, bool)> = Vec::new();
        for assignment in &simple.assignments {
            let name = assignment.name.as_str();
            before.push((name, state.variable(name), state.is_exported(name)));
            self.assign(assignment, state)?;
            state.export(name);
        }
        let outcome = self.declared(simple, fields, state);
        for (name, value, was_exported) in before.into_iter().rev() {
            state.put(name, value);
            if !was_exported {
                state.hide(name);
            }
        }
        outcome
    }

    /// A command, and what is assigned behind it.
    fn declared(
        &mut self,
        simple: &Simple,
        fields: &[Field],
        state: &mut State,
    ) -> Result<(), Reason> {
        let name = fields.first().and_then(Field::text).unwrap_or_default();
        for assignment in &simple.declared {
            let known = self.assigned(assignment, state)?;
            if let Assigned::Value(Known::Value(other)) = &known
                && name != "export"
                && fields
                    .iter()
                    .any(|field| field.head.starts_with('-') && field.head.contains('n'))
            {
                // What is assigned to it is assigned to that one.
                state.mark(other, Attribute::Changes);
            }
            self.declaration(name, fields, &assignment.name, state);
            match known {
                Assigned::Value(value) => {
                    self.runs_text(&assignment.name, &value, state)?;
                    state.set(&assignment.name, value);
                }
                Assigned::Array(values) => state.set_array(&assignment.name, &values),
            }
        }
        self.program(fields, state)
    }

    /// Assigns to a variable.
    fn assign(&mut self, assignment: &Assignment, state: &mut State) -> Result<(), Reason> {
        match self.assigned(assignment, state)? {
            Assigned::Value(value) => {
                self.runs_text(&assignment.name, &value, state)?;
                if state.changes(&assignment.name) {
                    self.calculated(&Field::unknown(), state)?;
                }
                state.set(&assignment.name, value);
            }
            Assigned::Array(values) => state.set_array(&assignment.name, &values),
        }
        Ok(())
    }

    /// What several commands say of which the first that can says it: `$(which a || which b)`.
    fn alternatives(&mut self, word: &Word, state: &State) -> Result<Option<Known>, Reason> {
        let [Part::Substitution { list, .. }] = word.as_slice() else {
            return Ok(None);
        };
        let is_chain = list.len() > 1
            && list
                .iter()
                .skip(1)
                .all(|item| item.joint == Joint::Or && !item.is_background);
        if !is_chain {
            return Ok(None);
        }
        let mut known: Option<Known> = None;
        for item in list {
            let said = self.heard(&item.command, &mut state.clone())?;
            let one = said.map_or(Known::Nothing, |text| {
                Known::Value(text.trim_end_matches('\n').to_owned())
            });
            known = Some(match known {
                Some(before) => before.or(&one),
                None => one,
            });
        }
        Ok(known)
    }

    /// What is assigned.
    fn assigned(&mut self, assignment: &Assignment, state: &mut State) -> Result<Assigned, Reason> {
        if let Some(subscript) = &assignment.subscript {
            let subscript = self.one(subscript, state)?;
            self.calculated(&subscript, state)?;
        }
        let value = match &assignment.value {
            Value::Word(word) => {
                if !assignment.adds
                    && assignment.subscript.is_none()
                    && let Some(known) = self.alternatives(word, state)?
                {
                    return Ok(Assigned::Value(known));
                }
                self.one(word, state)?
            }
            Value::Array(words) => {
                let mut fields = Vec::new();
                if assignment.adds {
                    match state.array(&assignment.name) {
                        Some(before) => fields.extend(before.iter().cloned()),
                        None => fields.push(Field::unknown()),
                    }
                }
                for word in words {
                    fields.extend(self.fields(word, state)?);
                }
                self.charge(fields.iter().map(Field::size).sum())?;
                // Ones with subscripts aren't in order.
                if fields.iter().any(|field| field.head.starts_with('[')) {
                    return Ok(Assigned::Value(Known::Nothing));
                }
                return Ok(Assigned::Array(fields));
            }
        };
        let before = if assignment.adds {
            state.single(&assignment.name)
        } else {
            Known::Value(String::new())
        };
        // A pattern stays as it is when it is assigned.
        let known = (value.tail.is_none() && assignment.subscript.is_none()).then_some(value.head);
        Ok(Assigned::Value(match (before, known) {
            (Known::Value(before), Some(text)) => Known::Value(before + &text),
            _ => Known::Nothing,
        }))
    }
}

/// What is assigned, as far as it is known.
enum Assigned {
    Value(Known),
    Array(Vec<Field>),
}

/// The names of the variables that a command uses.
#[derive(Default)]
struct Names<'a> {
    found: Vec<&'a str>,
    seen: usize,
}

impl<'a> Names<'a> {
    fn of_simple(&mut self, simple: &'a Simple) {
        for word in &simple.words {
            self.of_word(word);
        }
        for assignment in simple.assignments.iter().chain(&simple.declared) {
            if assignment.adds {
                self.add(&assignment.name);
            }
            match &assignment.value {
                Value::Word(word) => self.of_word(word),
                Value::Array(words) => words.iter().for_each(|word| self.of_word(word)),
            }
        }
        self.of_redirections(&simple.redirections);
    }

    fn of_redirections(&mut self, redirections: &'a [Redirection]) {
        for redirection in redirections {
            let redirection = match redirection {
                Redirection::Other(other) => other,
                redirection => redirection,
            };
            if let Redirection::Read(word)
            | Redirection::Write(word)
            | Redirection::Text(word)
            | Redirection::Duplicate(word)
            | Redirection::Copy(word) = redirection
            {
                self.of_word(word);
            }
        }
    }

    fn of_word(&mut self, word: &'a Word) {
        for part in word {
            self.seen += 1;
            if self.seen > PARTS {
                return;
            }
            match part {
                Part::Parameter {
                    name, operation, ..
                } => {
                    self.add(name);
                    if let Operation::Default(word)
                    | Operation::Assign(word)
                    | Operation::Alternative(word) = operation
                    {
                        self.of_word(word);
                    }
                }
                Part::Substitution { list, .. } => {
                    if let [
                        Item {
                            command: Command::Simple(simple),
                            ..
                        },
                    ] = list.as_slice()
                    {
                        self.of_simple(simple);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, name: &'a str) {
        if !self.found.contains(&name) && self.found.len() < WAYS * 4 {
            self.found.push(name);
        }
    }
}
