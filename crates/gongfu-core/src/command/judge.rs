//! Follows a line through its commands.

use std::rc::Rc;

use super::call::Call;
use super::field::Field;
use super::state::State;
use super::{Policy, Reason, Verdict, place};
use crate::shell::{self, Command, Item, Joint, List, Redirection, Script, Word};

/// How many commands are followed.
const STEPS: usize = 4096;
/// How much of words is looked at in all, in bytes: what is put together may be far longer than the text.
const BYTES: usize = 2 * 1024 * 1024;
/// How deep commands may stand in one another, and programs run others.
const DEPTH: usize = 128;
/// How deep texts that are run may stand in texts, and functions may call one another.
pub(super) const TEXTS: usize = 16;
/// What a shell calls for what isn't there.
const HANDLER: &str = "command_not_found_handle";

/// From where a command reads.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// This text.
    Text(String),
    /// What another program says, or what isn't known in another way.
    Program,
    /// A file, or nothing.
    File,
}

/// Follows a line.
pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy<'a>,
    /// The first thing that a person is to be asked about.
    asked: Option<Reason>,
    pub(super) steps: usize,
    bytes: usize,
    depth: usize,
    pub(super) loops: usize,
    /// The functions that are being followed.
    pub(super) calls: Vec<Call>,
    /// What is known where loops are left, or begun anew.
    pub(super) exits: Vec<Option<State>>,
    /// How many commands that may be left out this stands in.
    pub(super) branches: usize,
    /// What is run at the end.
    pub(super) traps: Vec<Field>,
    /// What is known where the line is ended by a command.
    pub(super) ended: Option<State>,
    texts: usize,
    documents: Rc<Vec<Word>>,
    pub(super) input: Input,
}

pub(super) fn line(line: &str, policy: &Policy<'_>) -> Verdict {
    let mut judge = Judge::new(policy);
    let mut state = State::new(policy.folder);
    let outcome = judge
        .text(line, &mut state)
        .and_then(|()| judge.last(&mut state));
    judge.verdict(outcome)
}

pub(super) fn program(words: &[String], policy: &Policy<'_>) -> Verdict {
    let mut judge = Judge::new(policy);
    let fields: Vec<Field> = words.iter().map(|word| Field::known(word)).collect();
    let outcome = judge.program(&fields, &mut State::new(policy.folder));
    judge.verdict(outcome)
}

impl<'a> Judge<'a> {
    fn new(policy: &'a Policy<'a>) -> Self {
        let input = match policy.input {
            Some(text) => Input::Text(text.to_owned()),
            None => Input::File,
        };
        Self {
            policy,
            asked: None,
            steps: 0,
            bytes: 0,
            depth: 0,
            loops: 0,
            calls: Vec::new(),
            exits: Vec::new(),
            branches: 0,
            traps: Vec::new(),
            ended: None,
            texts: 0,
            documents: Rc::default(),
            input,
        }
    }

    fn verdict(self, outcome: Result<(), Reason>) -> Verdict {
        match (outcome, self.asked) {
            (Err(reason), _) => Verdict::Block(reason),
            (Ok(()), Some(reason)) => Verdict::Ask(reason),
            (Ok(()), None) => Verdict::Allow,
        }
    }

    /// A person is to be asked.
    pub(super) fn ask(&mut self, reason: Reason) {
        self.asked.get_or_insert(reason);
    }

    /// Counts a command.
    pub(super) fn step(&mut self) -> Result<(), Reason> {
        self.steps += 1;
        if self.steps > STEPS {
            return Err(Reason::Long(STEPS));
        }
        Ok(())
    }

    /// Counts what is looked at.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Reason> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > BYTES {
            return Err(Reason::Long(STEPS));
        }
        Ok(())
    }

    /// Does something one deeper.
    pub(super) fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        if self.depth >= DEPTH {
            return Err(Reason::Long(DEPTH));
        }
        self.depth += 1;
        let outcome = inner(self);
        self.depth -= 1;
        outcome
    }

    /// A text that a shell is given.
    pub(super) fn text(&mut self, text: &str, state: &mut State) -> Result<(), Reason> {
        if self.texts >= TEXTS {
            return Err(Reason::Long(TEXTS));
        }
        let Script { list, documents } = shell::parse(text)?;
        let outer = std::mem::replace(&mut self.documents, Rc::new(documents));
        self.texts += 1;
        let outcome = self.list(&list, state);
        self.texts -= 1;
        self.documents = outer;
        outcome
    }

    pub(super) fn list(&mut self, list: &List, state: &mut State) -> Result<(), Reason> {
        // What is known where the last command failed.
        let mut failed = state.clone();
        // What is known where the rest of a chain was left out.
        let mut skipped: Option<State> = None;
        for Item {
            joint,
            command,
            is_background,
        } in list
        {
            if *is_background {
                let mut apart = state.clone();
                self.command(command, &mut apart)?;
                continue;
            }
            if *joint == Joint::Then
                && let Some(skipped) = skipped.take()
            {
                state.merge_values(skipped);
            }
            if *joint == Joint::And {
                skipped.get_or_insert_with(|| state.clone());
            }
            let may_be_left_out = usize::from(*joint != Joint::Then);
            self.branches += may_be_left_out;
            match joint {
                Joint::Then | Joint::And => {
                    failed = state.clone();
                    self.command(command, state)?;
                    failed.merge(state.clone());
                }
                Joint::Or => {
                    let before = failed.clone();
                    self.command(command, &mut failed)?;
                    state.merge(failed.clone());
                    failed.merge(before);
                }
            }
            self.branches -= may_be_left_out;
        }
        if let Some(skipped) = skipped {
            state.merge_values(skipped);
        }
        Ok(())
    }

    pub(super) fn command(&mut self, command: &Command, state: &mut State) -> Result<(), Reason> {
        self.deeper(|judge| judge.one_deeper(command, state))
    }

    fn one_deeper(&mut self, command: &Command, state: &mut State) -> Result<(), Reason> {
        match command {
            Command::Simple(simple) => self.simple(simple, state).map(drop),
            Command::Pipeline(commands) => self.pipeline(commands, state),
            Command::Compound(compound, redirections) => {
                let input = self.redirections(redirections, state)?;
                let outer = std::mem::replace(&mut self.input, input);
                let outcome = self.compound(compound, state);
                self.input = outer;
                outcome
            }
            Command::Function(name, body) => {
                if state.define(name, body) {
                    if name == HANDLER {
                        // The shell calls it for what isn't there, with whatever that is.
                        let mut apart = state.clone();
                        apart.arguments = None;
                        return self.command(body, &mut apart);
                    }
                    return Ok(());
                }
                // One too many: what it does is judged where it stands.
                let mut apart = state.clone();
                apart.arguments = None;
                self.command(body, &mut apart)
            }
        }
    }

    /// Judges what is run when everything else is over.
    fn last(&mut self, state: &mut State) -> Result<(), Reason> {
        if let Some(ended) = self.ended.take() {
            state.merge(ended);
        }
        for action in std::mem::take(&mut self.traps) {
            self.deferred("trap", &action, state)?;
        }
        Ok(())
    }

    fn pipeline(&mut self, commands: &[Command], state: &State) -> Result<(), Reason> {
        let outer = self.input.clone();
        let outcome = commands.iter().try_for_each(|command| {
            let said = self.heard(command, &mut state.clone())?;
            self.input = said.map_or(Input::Program, Input::Text);
            Ok(())
        });
        self.input = outer;
        outcome
    }

    /// Judges a command; answers what it says, where that is plain.
    pub(super) fn heard(
        &mut self,
        command: &Command,
        state: &mut State,
    ) -> Result<Option<String>, Reason> {
        match command {
            Command::Simple(simple) => self.simple(simple, state),
            command => self.command(command, state).map(|()| None),
        }
    }

    /// Judges where a command writes; answers from where it reads.
    pub(super) fn redirections(
        &mut self,
        redirections: &[Redirection],
        state: &mut State,
    ) -> Result<Input, Reason> {
        let mut input = self.input.clone();
        for redirection in redirections {
            match redirection {
                Redirection::Read(word) => {
                    let path = self.one(word, state)?;
                    input = match path.text() {
                        Some(path) if place::is_input(path) => input,
                        Some(path) if place::is_handle(path) => Input::Program,
                        _ => Input::File,
                    };
                }
                Redirection::Copy(word) => {
                    if self.one(word, state)?.text() != Some("0") {
                        input = Input::Program;
                    }
                }
                Redirection::Other(other) => {
                    self.redirections(std::slice::from_ref(other), state)?;
                }
                Redirection::Write(word) => {
                    let field = self.one(word, state)?;
                    self.write(">", &field, state)?;
                }
                Redirection::Duplicate(word) => {
                    let field = self.one(word, state)?;
                    let is_handle = field.text().is_some_and(|text| {
                        text.trim_end_matches('-')
                            .bytes()
                            .all(|byte| byte.is_ascii_digit())
                    });
                    if !is_handle {
                        self.write(">", &field, state)?;
                    }
                }
                Redirection::Document(number) => {
                    let documents = Rc::clone(&self.documents);
                    let document = documents.get(*number).cloned().unwrap_or_default();
                    input = text(&self.one(&document, state)?);
                }
                Redirection::Text(word) => input = text(&self.one(word, state)?),
            }
        }
        Ok(input)
    }
}

fn text(field: &Field) -> Input {
    if field.tail.is_some() {
        Input::Program
    } else {
        Input::Text(field.head.clone())
    }
}
