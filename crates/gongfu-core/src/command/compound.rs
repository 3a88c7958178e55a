//! Follows commands that hold others: what may be run, or not, or again and again.

use super::Reason;
use super::field::{Field, is_apart};
use super::judge::Judge;
use super::state::{Known, State};
use crate::shell::{Compound, List, Part, Word};

/// How many values of a loop are followed.
const VALUES: usize = 16;
/// How deep loops may stand in one another that are followed more than once.
const LOOPS: usize = 2;
/// How often a loop is followed before what changes in it is taken for unknown.
const ROUNDS: usize = 4;
/// How many commands are plenty: loops in loops are followed once from there on.
const PLENTY: usize = 512;

impl Judge<'_> {
    pub(super) fn compound(
        &mut self,
        compound: &Compound,
        state: &mut State,
    ) -> Result<(), Reason> {
        if is_apart(compound) {
            let mut apart = state.clone();
            return match compound {
                Compound::Subshell(list) => self.list(list, &mut apart),
                Compound::Coprocess(command) => self.command(command, &mut apart),
                _ => Ok(()),
            };
        }
        match compound {
            Compound::Group(list) | Compound::Subshell(list) => self.list(list, state),
            Compound::Coprocess(command) => self.command(command, state),
            Compound::If(branches, otherwise) => {
                let mut ends = Vec::new();
                for (condition, then) in branches {
                    self.list(condition, state)?;
                    let mut taken = state.clone();
                    self.branch(then, &mut taken)?;
                    ends.push(taken);
                }
                self.branch(otherwise, state)?;
                for end in ends {
                    state.merge(end);
                }
                Ok(())
            }
            Compound::Case(subject, arms) => self.case(subject, arms, state),
            Compound::While(condition, body) => self.repeat(state, |judge, state| {
                judge.list(condition, state)?;
                // It may be left here.
                let left = state.clone();
                judge.list(body, state)?;
                state.merge(left);
                Ok(())
            }),
            Compound::Count(word, body) => {
                let word = self.one(word, state)?;
                self.calculated(&word, state)?;
                self.repeat(state, |judge, state| judge.list(body, state))
            }
            Compound::For(name, values, body) => self.each(name, values.as_deref(), body, state),
            Compound::Test(words) => {
                for word in words {
                    let field = self.one(word, state)?;
                    self.calculated(&field, state)?;
                }
                Ok(())
            }
            Compound::Arithmetic(word) => {
                let word = self.one(word, state)?;
                self.calculated(&word, state)
            }
        }
    }

    /// What is only run in one of several cases.
    fn branch(&mut self, list: &List, state: &mut State) -> Result<(), Reason> {
        self.branches += 1;
        let outcome = self.list(list, state);
        self.branches -= 1;
        outcome
    }

    /// `case`: each of its lists may be run, and those behind one that goes on.
    fn case(
        &mut self,
        subject: &Word,
        arms: &[(Vec<Word>, List, bool)],
        state: &mut State,
    ) -> Result<(), Reason> {
        self.one(subject, state)?;
        let mut before = state.clone();
        let mut end: Option<State> = None;
        let mut fits_always = false;
        for (patterns, list, falls) in arms {
            let mut taken = before.clone();
            self.words(patterns, &mut taken)?;
            self.branch(list, &mut taken)?;
            if *falls {
                // Those that come after it may be run as well.
                before.merge(taken.clone());
            }
            match &mut end {
                Some(end) => end.merge(taken),
                None => end = Some(taken),
            }
            let is_star =
                |pattern: &Word| matches!(pattern.as_slice(), [Part::Text(text)] if text == "*");
            fits_always |= patterns.iter().any(is_star);
        }
        match end {
            Some(end) if fits_always => *state = end,
            Some(end) => {
                *state = before;
                state.merge(end);
            }
            None => {}
        }
        Ok(())
    }

    /// What is done any number of times: what it leaves is known to the next time.
    fn repeat(
        &mut self,
        state: &mut State,
        mut round: impl FnMut(&mut Self, &mut State) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let rounds = if self.loops < LOOPS { ROUNDS } else { 1 };
        let mut is_forgotten = rounds == 1 && self.steps > PLENTY;
        self.loops += 1;
        self.branches += 1;
        self.exits.push(None);
        let mut outcome = Ok(());
        for number in 0..=rounds {
            if number == rounds {
                is_forgotten = true;
            }
            if is_forgotten {
                state.forget();
            }
            let before = state.clone();
            outcome = round(self, state);
            if let Some(left) = self.exits.last_mut().and_then(Option::take) {
                state.merge(left);
            }
            state.merge(before.clone());
            if outcome.is_err() || is_forgotten || state.is_same(&before) {
                break;
            }
            if number + 2 >= rounds {
                state.widen(&before);
            }
        }
        self.exits.pop();
        self.branches -= 1;
        self.loops -= 1;
        outcome
    }

    /// A loop over values.
    fn each(
        &mut self,
        name: &str,
        values: Option<&[Word]>,
        body: &List,
        state: &mut State,
    ) -> Result<(), Reason> {
        let fields = match values {
            Some(words) => {
                let mut fields = Some(Vec::new());
                for word in words {
                    let new = self.fields(word, state)?;
                    fields = fields.map(|mut all: Vec<Field>| {
                        all.extend(new);
                        all
                    });
                }
                fields
            }
            None => state.arguments.as_deref().map(<[Field]>::to_vec),
        };
        let known: Option<Vec<String>> = fields.and_then(|fields| {
            let texts = fields.iter().map(|field| field.text().map(str::to_owned));
            texts.collect()
        });
        match known {
            Some(values) if values.len() <= VALUES && self.loops < LOOPS => {
                self.loops += 1;
                self.exits.push(None);
                let outcome = values.into_iter().try_for_each(|value| {
                    state.set(name, Known::Value(value));
                    self.list(body, state)?;
                    if let Some(Some(left)) = self.exits.last() {
                        state.merge(left.clone());
                    }
                    Ok(())
                });
                self.exits.pop();
                self.loops -= 1;
                outcome
            }
            _ => self.repeat(state, |judge, state| {
                state.set(name, Known::Nothing);
                judge.list(body, state)
            }),
        }
    }
}
