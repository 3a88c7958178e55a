//! What is known while a line is followed: variables, functions, arguments and the folder.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::field::Field;
pub(super) use super::known::{Attribute, Function, Known};
use super::known::{LONGEST, VALUES, is_evaluated};
use crate::sandbox::WORKSPACE;
use crate::shell::Command;

/// How many variables and functions are followed.
const FOLLOWED: usize = 256;

/// What is known at a place of a line. A copy shares with it what it doesn't change.
#[derive(Debug, Clone)]
pub(super) struct State {
    variables: Rc<BTreeMap<String, Known>>,
    arrays: Rc<BTreeMap<String, Rc<[Field]>>>,
    attributes: Rc<BTreeMap<String, Attribute>>,
    /// Variables that programs see.
    exported: Rc<BTreeSet<String>>,
    /// Every variable is one that programs see, from here on.
    pub(super) exports_all: bool,
    functions: Rc<BTreeMap<String, Function>>,
    aliases: Rc<BTreeMap<String, Field>>,
    /// Values in which something is run once they are calculated with.
    evaluated: Rc<Vec<String>>,
    /// The arguments of a function or of a shell, without its name; `None` where they aren't known.
    pub(super) arguments: Option<Rc<[Field]>>,
    /// The folder; `None` where it isn't known.
    pub(super) folder: Option<String>,
    /// Folders that may be it where it isn't known.
    pub(super) folders: Vec<String>,
    /// The folders that `popd` goes back to; `None` where they aren't known.
    pub(super) stack: Option<Rc<Vec<Option<String>>>>,
    /// Variables that were never named may have values.
    has_unnamed: bool,
    /// Nothing after this is run.
    pub(super) is_over: bool,
}

/// Variables that a program has from the one that runs it.
const INHERITED: [&str; 12] = [
    "HOME", "PWD", "TMPDIR", "PATH", "LANG", "OLDPWD", "UID", "EUID", "HOSTNAME", "SHELL", "SHLVL",
    "_",
];

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
            arrays: Rc::default(),
            attributes: Rc::default(),
            exported: Rc::default(),
            exports_all: false,
            functions: Rc::default(),
            aliases: Rc::default(),
            evaluated: Rc::default(),
            arguments: Some(Rc::from([])),
            folder: Some(folder.to_owned()),
            folders: Vec::new(),
            stack: Some(Rc::default()),
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

    /// What is known of a variable where one of its values is used, and the others aren't followed.
    pub(super) fn single(&self, name: &str) -> Known {
        match self.variable(name) {
            Known::OneOf(_) => Known::Nothing,
            known => known,
        }
    }

    /// The values that a variable may have, where there are several.
    pub(super) fn choices(&self, name: &str) -> Option<Vec<String>> {
        match self.variables.get(name) {
            Some(Known::OneOf(texts)) => Some(texts.clone()),
            _ => None,
        }
    }

    /// Whether a variable was named, and may be set.
    pub(super) fn may_be_set(&self, name: &str) -> bool {
        self.has_unnamed || name.starts_with("BASH") || self.variables.contains_key(name)
    }

    /// Assigns to a variable.
    pub(super) fn set(&mut self, name: &str, value: Known) {
        let value = match self.attributes.get(name) {
            None => value,
            Some(Attribute::Changes) => Known::Nothing,
            Some(Attribute::Refuses) => value.or(&self.variable(name)),
        };
        self.put(name, value);
    }

    /// Has a variable be this, whatever it does with what is assigned to it.
    pub(super) fn put(&mut self, name: &str, value: Known) {
        let value = match value {
            Known::Value(text) if text.len() > LONGEST => Known::Nothing,
            value => value,
        };
        if self.arrays.contains_key(name) {
            Rc::make_mut(&mut self.arrays).remove(name);
        }
        if self.exports_all {
            self.export(name);
        }
        if self.variables.len() >= FOLLOWED && !self.variables.contains_key(name) {
            // Too many to be followed.
            self.has_unnamed = true;
            return;
        }
        for text in value.values().unwrap_or_default() {
            if is_evaluated(text) && !self.evaluated.contains(text) {
                let evaluated = Rc::make_mut(&mut self.evaluated);
                if evaluated.len() < VALUES {
                    evaluated.push(text.clone());
                }
            }
        }
        if self.variables.get(name) != Some(&value) {
            Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
        }
    }

    /// Has a variable be none.
    pub(super) fn unset(&mut self, name: &str) {
        if self.attributes.contains_key(name) {
            return self.put(name, Known::Nothing);
        }
        if self.arrays.contains_key(name) {
            Rc::make_mut(&mut self.arrays).remove(name);
        }
        if self.variables.contains_key(name) {
            Rc::make_mut(&mut self.variables).remove(name);
        }
    }

    /// The values of an array.
    pub(super) fn array(&self, name: &str) -> Option<Rc<[Field]>> {
        self.arrays.get(name).cloned()
    }

    /// Assigns all of an array.
    pub(super) fn set_array(&mut self, name: &str, values: &[Field]) {
        let first = values.first().map_or(Some(""), Field::text);
        let first = first.map_or(Known::Nothing, |text| Known::Value(text.to_owned()));
        self.set(name, first);
        let size: usize = values.iter().map(Field::size).sum();
        let is_plain = !self.attributes.contains_key(name);
        if is_plain && size <= LONGEST && self.arrays.len() < FOLLOWED {
            Rc::make_mut(&mut self.arrays).insert(name.to_owned(), Rc::from(values));
        }
    }

    /// Gives a variable an attribute.
    pub(super) fn mark(&mut self, name: &str, attribute: Attribute) {
        if attribute == Attribute::Changes {
            self.put(name, Known::Nothing);
        }
        if self.attributes.len() >= FOLLOWED {
            self.has_unnamed = true;
        } else if self.attributes.get(name) != Some(&Attribute::Changes) {
            Rc::make_mut(&mut self.attributes).insert(name.to_owned(), attribute);
        }
    }

    /// Has programs see a variable.
    pub(super) fn export(&mut self, name: &str) {
        if self.exported.len() < 2 * FOLLOWED && !self.exported.contains(name) {
            Rc::make_mut(&mut self.exported).insert(name.to_owned());
        }
    }

    /// Whether programs see a variable.
    pub(super) fn is_exported(&self, name: &str) -> bool {
        self.exported.contains(name)
    }

    /// Has programs no longer see a variable.
    pub(super) fn hide(&mut self, name: &str) {
        if self.exported.contains(name) {
            Rc::make_mut(&mut self.exported).remove(name);
        }
    }

    /// What a shell knows that is run as a program.
    pub(super) fn child(&self) -> Self {
        let mut child = Self::new(self.folder.as_deref().unwrap_or("/"));
        child.folder.clone_from(&self.folder);
        child.has_unnamed = self.has_unnamed;
        let inherited = INHERITED.into_iter();
        for name in inherited.chain(self.exported.iter().map(String::as_str)) {
            child.put(name, self.variable(name));
            child.export(name);
        }
        let functions = self.functions.iter().filter(|(_, one)| one.is_exported);
        child.functions = Rc::new(
            functions
                .map(|(name, one)| (name.clone(), one.clone()))
                .collect(),
        );
        child
    }

    /// Values in which something is run once they are calculated with.
    pub(super) fn evaluated(&self) -> Rc<Vec<String>> {
        Rc::clone(&self.evaluated)
    }

    /// The same, where those values aren't looked at again.
    pub(super) fn without_evaluated(&self) -> Self {
        let mut apart = self.clone();
        apart.evaluated = Rc::default();
        apart
    }

    /// Whether a variable changes what is assigned to it.
    pub(super) fn changes(&self, name: &str) -> bool {
        self.attributes.get(name) == Some(&Attribute::Changes)
    }

    /// What an alias stands for.
    pub(super) fn alias(&self, name: &str) -> Option<Field> {
        self.aliases.get(name).cloned()
    }

    /// Whether no name means a function or an alias.
    pub(super) fn is_plain(&self) -> bool {
        self.functions.is_empty() && self.aliases.is_empty()
    }

    /// Has a name be no alias.
    pub(super) fn unalias(&mut self, name: &str) {
        if self.aliases.contains_key(name) {
            Rc::make_mut(&mut self.aliases).remove(name);
        }
    }

    /// Remembers an alias; answers whether it could.
    pub(super) fn set_alias(&mut self, name: &str, value: Field) -> bool {
        let fits = self.aliases.len() < FOLLOWED && value.size() <= LONGEST;
        if fits {
            Rc::make_mut(&mut self.aliases).insert(name.to_owned(), value);
        }
        fits
    }

    /// Any variable may have any value from here on.
    pub(super) fn forget(&mut self) {
        self.has_unnamed = true;
        for known in Rc::make_mut(&mut self.variables).values_mut() {
            *known = Known::Nothing;
        }
        self.arrays = Rc::default();
        self.arguments = None;
        self.folder = None;
        self.stack = None;
    }

    /// The meanings of a function.
    pub(super) fn function(&self, name: &str) -> Option<Function> {
        self.functions.get(name).cloned()
    }

    /// Remembers a function; answers whether it could.
    pub(super) fn define(&mut self, name: &str, body: &Rc<Command>) -> bool {
        if self.functions.len() >= FOLLOWED {
            return false;
        }
        let function = Function {
            bodies: vec![Rc::clone(body)],
            ..Function::default()
        };
        let before = self.functions.get(name);
        if before.is_none_or(|before| !before.is_same(&function)) {
            Rc::make_mut(&mut self.functions).insert(name.to_owned(), function);
        }
        true
    }

    /// Remembers what a name meant.
    pub(super) fn redefine(&mut self, name: &str, function: Function) {
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), function);
    }

    /// Has shells that are run have a function as well.
    pub(super) fn export_function(&mut self, name: &str) {
        if self.functions.contains_key(name)
            && let Some(function) = Rc::make_mut(&mut self.functions).get_mut(name)
        {
            function.is_exported = true;
        }
    }

    /// Has a name mean no function.
    pub(super) fn undefine(&mut self, name: &str) {
        if self.functions.contains_key(name) {
            Rc::make_mut(&mut self.functions).remove(name);
        }
    }

    /// Has no name mean a function or an alias but those that shells have as well.
    pub(super) fn forget_names(&mut self) {
        self.aliases = Rc::default();
        if !self.functions.is_empty() {
            Rc::make_mut(&mut self.functions).retain(|_, function| function.is_exported);
        }
    }

    /// Whether the same is known.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let has_same_functions = Rc::ptr_eq(&self.functions, &other.functions)
            || (self.functions.len() == other.functions.len()
                && self
                    .functions
                    .iter()
                    .zip(other.functions.iter())
                    .all(|(one, two)| one.0 == two.0 && one.1.is_same(two.1)));
        has_same_functions
            && self.variables == other.variables
            && self.arrays == other.arrays
            && self.aliases == other.aliases
            && self.arguments == other.arguments
            && self.folder == other.folder
            && self.has_unnamed == other.has_unnamed
    }

    /// Forgets what differs from what was known before.
    pub(super) fn widen(&mut self, before: &Self) {
        let names = self.variables.keys().chain(before.variables.keys());
        let differs = |name: &&String| self.variable(name) != before.variable(name);
        let names: Vec<String> = names.filter(differs).cloned().collect();
        for name in names {
            self.put(&name, Known::Nothing);
        }
        if self.arrays != before.arrays {
            self.arrays = Rc::default();
        }
        if self.folder != before.folder {
            self.folder = None;
        }
        if self.arguments != before.arguments {
            self.arguments = None;
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
            self.merge_variables(&other);
        }
        if !Rc::ptr_eq(&self.arrays, &other.arrays) {
            Rc::make_mut(&mut self.arrays)
                .retain(|name, values| other.arrays.get(name) == Some(values));
        }
        if !Rc::ptr_eq(&self.attributes, &other.attributes) {
            let marks = other.attributes.iter();
            let marks: Vec<_> = marks.map(|(name, mark)| (name.clone(), *mark)).collect();
            Rc::make_mut(&mut self.attributes).extend(marks);
        }
        if !Rc::ptr_eq(&self.exported, &other.exported) && self.exported != other.exported {
            // What may be seen or not may have its value or none.
            let differing: Vec<String> = self
                .exported
                .symmetric_difference(&other.exported)
                .cloned()
                .collect();
            for name in differing {
                self.export(&name);
                let known = self.variable(&name).or(&Known::Value(String::new()));
                self.put(&name, known);
            }
        }
        self.exports_all |= other.exports_all;
        if !Rc::ptr_eq(&self.aliases, &other.aliases) && self.aliases != other.aliases {
            for (name, value) in other.aliases.iter() {
                let known = self.aliases.get(name).is_none_or(|known| known == value);
                let value = if known {
                    value.clone()
                } else {
                    Field::unknown()
                };
                Rc::make_mut(&mut self.aliases).insert(name.clone(), value);
            }
        }
        if !Rc::ptr_eq(&self.evaluated, &other.evaluated) {
            let evaluated = Rc::make_mut(&mut self.evaluated);
            for text in other.evaluated.iter() {
                if evaluated.len() < VALUES && !evaluated.contains(text) {
                    evaluated.push(text.clone());
                }
            }
        }
        self.has_unnamed |= other.has_unnamed;
        self.merge_functions(&other);
        if self.folder != other.folder {
            let all = self.folder.take().into_iter().chain(other.folder);
            for folder in all.chain(other.folders) {
                if self.folders.len() < VALUES && !self.folders.contains(&folder) {
                    self.folders.push(folder);
                }
            }
        }
        if self.stack != other.stack {
            self.stack = None;
        }
        if self.arguments != other.arguments {
            self.arguments = None;
        }
    }

    fn merge_variables(&mut self, other: &Self) {
        let (ours, theirs) = (self.variables.iter(), other.variables.iter());
        let has_same_names = self.variables.len() == other.variables.len()
            && ours
                .clone()
                .zip(theirs.clone())
                .all(|(one, two)| one.0 == two.0);
        let merged: Vec<(String, Known)> = if has_same_names {
            // Most often few of them differ: both are gone through at once.
            ours.zip(theirs)
                .filter(|(one, two)| one.1 != two.1)
                .map(|(one, two)| (one.0.clone(), one.1.clone().or(two.1)))
                .collect()
        } else {
            ours.chain(theirs)
                .map(|(name, _)| name)
                .filter(|name| self.variables.get(*name) != other.variables.get(*name))
                .map(|name| {
                    let known = self.variable(name).or(&other.variable(name));
                    (name.clone(), known)
                })
                .collect()
        };
        if !merged.is_empty() {
            Rc::make_mut(&mut self.variables).extend(merged);
        }
    }

    fn merge_functions(&mut self, other: &Self) {
        if Rc::ptr_eq(&self.functions, &other.functions) {
            return;
        }
        let functions = Rc::make_mut(&mut self.functions);
        for (name, function) in functions.iter_mut() {
            function.may_be_none |= !other.functions.contains_key(name);
        }
        for (name, function) in other.functions.iter() {
            if let Some(known) = functions.get_mut(name) {
                known.merge(function);
            } else {
                let mut function = function.clone();
                function.may_be_none = true;
                functions.insert(name.clone(), function);
            }
        }
    }
}
