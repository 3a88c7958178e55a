//! Walks the tree of a text and judges each command in it.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::field::Field;
use super::{Policy, Reason, Verdict, path};
use crate::shell::{self, Command, Compound, List, Operator, Part, Redirection, Simple, Word};

/// The deepest nesting of commands and of programs that run others.
const MAX_DEPTH: usize = 256;
/// The most text that is judged, in bytes: a text may be run more than once.
const MAX_WORK: usize = 1024 * 1024;

/// Text on standard input; `None` for a file or nothing.
type Input = Option<Rc<Field>>;

/// Judges the commands of a text.
pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy<'a>,
    /// The first thing that a person has to approve.
    asked: Option<Reason>,
    /// The folder that paths are relative to; `None` once a command may have changed it.
    pub(super) folder: Option<&'a str>,
    /// The functions that were defined so far.
    pub(super) functions: BTreeSet<String>,
    pub(super) input: Input,
    /// The here-documents of the text.
    documents: Rc<[Rc<Field>]>,
    depth: usize,
    work: usize,
}

/// The verdict of a check.
pub(super) fn verdict<'a>(
    policy: &'a Policy<'a>,
    check: impl FnOnce(&mut Judge<'a>) -> Result<(), Reason>,
) -> Verdict {
    let mut judge = Judge {
        policy,
        asked: None,
        folder: Some(policy.folder),
        functions: BTreeSet::new(),
        input: policy.input.map(|text| Rc::new(Field::known(text))),
        documents: Rc::default(),
        depth: 0,
        work: 0,
    };
    match (check(&mut judge), judge.asked) {
        (Err(reason), _) => Verdict::Block(reason),
        (Ok(()), Some(reason)) => Verdict::Ask(reason),
        (Ok(()), None) => Verdict::Allow,
    }
}

impl Judge<'_> {
    /// Asks a person where there is a list of programs; otherwise the sandbox decides.
    pub(super) fn ask(&mut self, reason: Reason) {
        if self.policy.programs.is_some() {
            self.asked.get_or_insert(reason);
        }
    }

    /// Counts text that is judged.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Reason> {
        self.work = self.work.saturating_add(bytes);
        if self.work > MAX_WORK {
            return Err(Reason::TooComplex);
        }
        Ok(())
    }

    /// Judges something one level deeper.
    pub(super) fn deeper(
        &mut self,
        check: impl FnOnce(&mut Self) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        if self.depth >= MAX_DEPTH {
            return Err(Reason::TooComplex);
        }
        self.depth += 1;
        check(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Judges text that the current shell runs. If not all of it is known, it needn't be readable.
    pub(super) fn text(&mut self, text: &str, is_known: bool) -> Result<(), Reason> {
        self.charge(text.len())?;
        let script = match shell::parse(text) {
            Err(_) if !is_known => return Ok(()),
            script => script?,
        };
        let documents = script.documents.iter().map(|word| Rc::new(Field::of(word)));
        let outer = std::mem::replace(&mut self.documents, documents.collect());
        self.expansions(&script.documents)?;
        self.list(&script.list, self.input.clone())?;
        self.documents = outer;
        Ok(())
    }

    fn list(&mut self, list: &List, input: Input) -> Result<(), Reason> {
        let outer = std::mem::replace(&mut self.input, input);
        list.iter().try_for_each(|command| self.command(command))?;
        self.input = outer;
        Ok(())
    }

    fn command(&mut self, command: &Command) -> Result<(), Reason> {
        self.deeper(|judge| match command {
            Command::Simple(simple) => judge.simple(simple),
            Command::Compound(compound) => judge.compound(compound),
            Command::Function(name, body) => {
                judge.functions.insert(name.clone());
                judge.compound(body)
            }
            Command::Pipeline(commands) => {
                let outer = judge.input.clone();
                for command in commands {
                    judge.command(command)?;
                    judge.input = Some(Rc::new(Field::unknown()));
                }
                judge.input = outer;
                Ok(())
            }
        })
    }

    fn compound(&mut self, compound: &Compound) -> Result<(), Reason> {
        self.expansions(&compound.words)?;
        let input = self.redirect(&compound.redirections)?;
        self.list(&compound.body, input)
    }

    fn simple(&mut self, simple: &Simple) -> Result<(), Reason> {
        self.expansions(&simple.assignments)?;
        self.expansions(&simple.words)?;
        let input = self.redirect(&simple.redirections)?;
        let fields: Vec<Field> = simple.words.iter().map(Field::of).collect();
        let name = fields.first().and_then(Field::text);
        if name.is_some_and(|name| self.functions.contains(name)) {
            return Ok(());
        }
        let outer = std::mem::replace(&mut self.input, input);
        self.program(&fields)?;
        self.input = outer;
        Ok(())
    }

    /// Judges the commands in the expansions of words.
    fn expansions(&mut self, words: &[Word]) -> Result<(), Reason> {
        for part in words.iter().flatten() {
            if let Part::Dynamic(list) = part {
                self.list(list, Some(Rc::new(Field::unknown())))?;
            }
        }
        Ok(())
    }

    /// Judges where redirections write; answers where standard input comes from.
    fn redirect(&mut self, redirections: &[Redirection]) -> Result<Input, Reason> {
        let mut input = self.input.clone();
        for Redirection { operator, target } in redirections {
            self.expansions(std::slice::from_ref(target))?;
            let field = Field::of(target);
            match operator {
                Operator::Write => self.write(">", &field)?,
                Operator::Read if field.text() == Some("/dev/stdin") => {}
                Operator::Read => input = field.text().is_none().then(|| Rc::new(field)),
                Operator::Text => input = Some(Rc::new(field)),
                Operator::Document(index) => input = self.documents.get(*index).cloned(),
                Operator::Other => {}
            }
        }
        Ok(input)
    }

    /// Judges whether a program may write to a path.
    pub(super) fn write(&mut self, program: &str, path: &Field) -> Result<(), Reason> {
        match self.outside(path) {
            Some(path) if path::is_below(&path, path::SYSTEM) => Err(Reason::Write {
                program: program.to_owned(),
                path,
                places: self.policy.writable.join(", "),
            }),
            // Other folders refuse by themselves where they are read-only.
            _ => Ok(()),
        }
    }

    /// Judges whether a program may remove a folder and everything in it.
    pub(super) fn remove(&mut self, program: &str, path: &Field) -> Result<(), Reason> {
        if let Some(path) = self.outside(path) {
            return Err(Reason::Removal {
                program: program.to_owned(),
                path,
                places: self.policy.writable.join(", "),
            });
        }
        if self.resolve(path).is_none() {
            self.ask(Reason::DynamicRemoval(program.to_owned()));
        }
        Ok(())
    }

    /// The path, if it is known to lie outside of the writable folders.
    pub(super) fn outside(&self, path: &Field) -> Option<String> {
        self.resolve(path).filter(|path| {
            let writable = self.policy.writable.iter().copied();
            !path::is_below(path, writable) && !path::is_below(path, path::SINKS)
        })
    }

    /// The absolute path, as far as it is known.
    fn resolve(&self, path: &Field) -> Option<String> {
        let path = path.path()?;
        let is_absolute = path.starts_with('/');
        let folder = if is_absolute { Some("") } else { self.folder };
        folder.map(|folder| path::resolve(folder, path))
    }
}
