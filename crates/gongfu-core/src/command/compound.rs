//! Follows commands that hold others: what may be run, or not, or again and again.

use super::Reason;
use super::field::{Field, is_apart};
use super::judge::Judge;
use super::state::{Known, State};
use crate::shell::{Compound, List, Word};

/// How many values of a loop are followed.
const VALUES: usize = 16;
/// How deep loops may stand in one another that are followed more than once.
const LOOPS: usize = 2;

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
                    self.list(then, &mut taken)?;
                    ends.push(taken);
                }
                self.list(otherwise, state)?;
                for end in ends {
                    state.merge(end);
                }
                Ok(())
            }
            Compound::Case(subject, arms) => {
                self.one(subject, state)?;
                let before = state.clone();
                for (patterns, list) in arms {
                    let mut taken = before.clone();
                    self.words(patterns, &mut taken)?;
                    self.list(list, &mut taken)?;
                    state.merge(taken);
                }
                Ok(())
            }
            Compound::While(condition, body) => self.repeat(state, |judge, state| {
                judge.list(condition, state)?;
                judge.list(body, state)
            }),
            Compound::Count(word, body) => {
                self.one(word, state)?;
                self.repeat(state, |judge, state| judge.list(body, state))
            }
            Compound::For(name, values, body) => self.each(name, values.as_deref(), body, state),
            Compound::Test(words) => self.words(words, state),
            Compound::Arithmetic(word) => self.one(word, state).map(drop),
        }
    }

    /// What is done any number of times: what it leaves is known to the next time.
    fn repeat(
        &mut self,
        state: &mut State,
        mut round: impl FnMut(&mut Self, &mut State) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let before = state.clone();
        let rounds = if self.loops < LOOPS { 2 } else { 1 };
        self.loops += 1;
        let outcome = (0..rounds).try_for_each(|_| {
            round(self, state)?;
            state.merge(before.clone());
            Ok(())
        });
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
                let outcome = values.into_iter().try_for_each(|value| {
                    let before = state.clone();
                    state.set(name, Known::Value(value));
                    self.list(body, state)?;
                    state.merge(before);
                    Ok(())
                });
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
