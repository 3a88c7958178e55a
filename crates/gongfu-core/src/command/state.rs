//! What is known while a line is followed: variables, functions, arguments and the folder.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::field::Field;
use crate::sandbox::WORKSPACE;
use crate::shell::Command;

/// How many variables and functions are followed.
const FOLLOWED: usize = 256;
/// The longest value that is followed, in bytes.
const LONGEST: usize = 64 * 1024;

/// What is known of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// Its value.
    Value(String),
    /// Nothing.
    Nothing,
}

/// What is known at a place of a line. A copy shares with it what it doesn't change.
#[derive(Debug, Clone)]
pub(super) struct State {
    variables: Rc<BTreeMap<String, Known>>,
    functions: Rc<BTreeMap<String, Rc<Command>>>,
    /// The arguments of a function or of a shell, without its name; `None` where they aren't known.
    pub(super) arguments: Option<Rc<[Field]>>,
    /// The folder; `None` where it isn't known.
    pub(super) folder: Option<String>,
    /// Variables that were never named may have values.
    has_unnamed: bool,
    /// Nothing after this is run.
    pub(super) is_over: bool,
}

impl State {
    pub(super) fn new(folder: &str) -> Self {
        let known = [
            ("HOME", WORKSPACE),
            ("IFS", " \t\n"),
            ("PWD", folder),
            ("TMPDIR", "/tmp"),
            ("0", "bash"),
        ];
        let variables =
            known.map(|(name, value)| (name.to_owned(), Known::Value(value.to_owned())));
        let unknown = [
            "PATH",
            "LANG",
            "OLDPWD",
            "RANDOM",
            "SECONDS",
            "UID",
            "EUID",
            "HOSTNAME",
            "OSTYPE",
            "REPLY",
            "SHELL",
            "SHLVL",
            "PPID",
            "OPTARG",
            "OPTIND",
            "FUNCNAME",
            "PIPESTATUS",
            "COPROC",
            "GROUPS",
            "HOSTTYPE",
            "MACHTYPE",
            "LINENO",
            "EPOCHSECONDS",
            "EPOCHREALTIME",
            "SRANDOM",
            "DIRSTACK",
            "MAPFILE",
            "_",
        ]
        .map(|name| (name.to_owned(), Known::Nothing));
        Self {
            variables: Rc::new(variables.into_iter().chain(unknown).collect()),
            functions: Rc::default(),
            arguments: Some(Rc::from([])),
            folder: Some(folder.to_owned()),
            has_unnamed: false,
            is_over: false,
        }
    }

    /// What is known of a variable; what was never set is empty.
    pub(super) fn variable(&self, name: &str) -> Known {
        match self.variables.get(name) {
            Some(known) => known.clone(),
            None if self.has_unnamed || name.starts_with("BASH") => Known::Nothing,
            None => Known::Value(String::new()),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Known) {
        let value = match value {
            Known::Value(text) if text.len() > LONGEST => Known::Nothing,
            value => value,
        };
        if self.variables.len() >= FOLLOWED && !self.variables.contains_key(name) {
            // Too many to be followed.
            self.has_unnamed = true;
            return;
        }
        if self.variables.get(name) != Some(&value) {
            Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        }
    }

    /// Any variable may have any value from here on.
    pub(super) fn forget(&mut self) {
        self.has_unnamed = true;
        for known in Rc::make_mut(&mut self.variables).values_mut() {
            *known = Known::Nothing;
        }
        self.folder = None;
    }

    pub(super) fn function(&self, name: &str) -> Option<Rc<Command>> {
        self.functions.get(name).cloned()
    }

    /// Remembers a function; answers whether it could.
    pub(super) fn define(&mut self, name: &str, body: &Rc<Command>) -> bool {
        if self.functions.len() >= FOLLOWED {
            return false;
        }
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), Rc::clone(body));
        true
    }

    pub(super) fn undefine(&mut self, name: &str) {
        if self.functions.contains_key(name) {
            Rc::make_mut(&mut self.functions).remove(name);
        }
    }

    /// The same for what is behind a chain of which the rest may have been left out: it is taken to have
    /// been gone through, so that the folder is the one that it changed to.
    pub(super) fn merge_values(&mut self, skipped: Self) {
        let folder = self.folder.clone().filter(|_| !self.is_over);
        self.merge(skipped);
        self.folder = folder.or_else(|| self.folder.clone());
    }

    /// What is known where either of two ways may have been taken.
    pub(super) fn merge(&mut self, other: Self) {
        if other.is_over {
            return;
        }
        if self.is_over {
            *self = other;
            return;
        }
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            let names = self.variables.keys().chain(other.variables.keys());
            let differs = |name: &&String| self.variable(name) != other.variable(name);
            let names: Vec<String> = names.filter(differs).cloned().collect();
            let variables = Rc::make_mut(&mut self.variables);
            variables.extend(names.into_iter().map(|name| (name, Known::Nothing)));
        }
        self.has_unnamed |= other.has_unnamed;
        if self.folder != other.folder {
            self.folder = None;
        }
        if self.arguments != other.arguments {
            self.arguments = None;
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let functions = Rc::make_mut(&mut self.functions);
            for (name, body) in other.functions.iter() {
                functions
                    .entry(name.clone())
                    .or_insert_with(|| Rc::clone(body));
            }
        }
    }
}
