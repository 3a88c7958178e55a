//! Programs that run others once for each thing that they find or read.

use super::Reason;
use super::field::Field;
use super::judge::Judge;
use super::option::{Valued, read};
use super::state::State;

/// How many values are filled into a line, each by itself.
const FILLINGS: usize = 16;
/// What `parallel` fills a value in for.
const PLACES: [&str; 6] = ["{}", "{.}", "{/}", "{//}", "{/.}", "{1}"];

impl Judge<'_> {
    /// `find`
    pub(super) fn find(&mut self, arguments: &[Field], state: &mut State) -> Result<(), Reason> {
        let is_start = |field: &&Field| !field.head.starts_with(['-', '(', '!']);
        let skipped = arguments
            .iter()
            .take_while(|field| matches!(field.text(), Some("-H" | "-L" | "-P")))
            .count();
        let arguments = arguments.get(skipped..).unwrap_or_default();
        let starts: Vec<Field> = arguments.iter().take_while(is_start).cloned().collect();
        let here = [Field::known(".")];
        let starts = if starts.is_empty() {
            here.to_vec()
        } else {
            starts
        };
        let mut rest = arguments;
        while let [first, others @ ..] = rest {
            rest = others;
            match first.text() {
                Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                    // A plus ends it only behind braces.
                    let is_end = |at: usize| match others.get(at).and_then(Field::text) {
                        Some(";") => true,
                        Some("+") => {
                            at > 0 && others.get(at - 1).and_then(Field::text) == Some("{}")
                        }
                        _ => false,
                    };
                    let end = (0..others.len()).find(|at| is_end(*at));
                    let end = end.unwrap_or(others.len());
                    let command = others.get(..end).unwrap_or_default();
                    for start in &starts {
                        let found = Field {
                            head: format!("{}/", start.head),
                            tail: Some(String::new()),
                            is_pattern: false,
                        };
                        let filled: Vec<Field> = command
                            .iter()
                            .map(|field| filled(field, "{}", &found))
                            .collect();
                        self.inner(&filled, state)?;
                    }
                    rest = others.get(end..).unwrap_or_default();
                }
                Some("-delete") => {
                    for start in &starts {
                        self.charge(start.size())?;
                        self.remove("find -delete", start, state)?;
                    }
                }
                Some("-fprint" | "-fprint0" | "-fls" | "-fprintf") => {
                    if let Some(file) = others.first() {
                        self.write("find", file, state)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `xargs`
    pub(super) fn xargs(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let valued = Valued {
            short: "adEILnPs",
            long: &[
                "arg-file",
                "delimiter",
                "max-args",
                "max-procs",
                "max-chars",
                "process-slot-var",
            ],
            attached: "eil",
        };
        let given = read(arguments, valued, false);
        let replaced = match given.value(&["I", "i", "replace"]) {
            Some(text) => Some(text.head.clone()),
            None => given.has(&["i", "replace"]).then(|| "{}".to_owned()),
        };
        let mut command: Vec<Field> = given.operands.to_vec();
        match replaced.filter(|text| !text.is_empty()) {
            Some(text) => {
                for field in &mut command {
                    *field = filled(field, &text, &Field::unknown());
                }
            }
            None if command.is_empty() => {}
            None => command.push(Field::unknown()),
        }
        self.inner(&command, state)
    }

    /// `parallel`: what it is given is a line for a shell, in which values are filled in.
    pub(super) fn parallel(&mut self, arguments: &[Field], state: &State) -> Result<(), Reason> {
        let valued = Valued {
            short: "jIaNnLSdEsPC",
            long: &[
                "jobs",
                "arg-file",
                "delay",
                "joblog",
                "colsep",
                "delimiter",
                "max-args",
                "max-procs",
                "max-replace-args",
                "sshlogin",
                "timeout",
                "tmpdir",
                "results",
                "retries",
                "load",
                "memfree",
                "workdir",
                "env",
                "tagstring",
                "halt",
                "block",
                "nice",
            ],
            attached: "il",
        };
        let given = read(arguments, valued, false);
        let is_source = |field: &Field| field.head.starts_with(":::");
        let end = given.operands.iter().position(is_source);
        let command = given.operands.get(..end.unwrap_or(usize::MAX));
        let command = command.unwrap_or(given.operands);
        let sources = end.and_then(|end| given.operands.get(end..));
        let values: Vec<&Field> = sources
            .unwrap_or_default()
            .iter()
            .filter(|field| !is_source(field))
            .collect();
        let is_known = sources.is_some_and(|sources| {
            sources
                .iter()
                .all(|field| !is_source(field) || matches!(field.text(), Some(":::" | ":::+")))
        });
        let mut apart = state.clone();
        if command.is_empty() {
            if !is_known {
                return self.read_by("parallel", &mut apart);
            }
            return values
                .into_iter()
                .try_for_each(|value| self.line_of("parallel", value, state));
        }
        let texts: Vec<String> = command.iter().map(Field::shown).collect();
        let line = texts.join(" ");
        // A variable of which nothing is known stands for what it reads.
        let unknown = ["\"${_}\""];
        let known: Vec<&str> = values.iter().filter_map(|field| field.text()).collect();
        let fillings = if is_known && known.len() <= FILLINGS && known.len() == values.len() {
            known.as_slice()
        } else {
            unknown.as_slice()
        };
        for filling in fillings {
            self.charge(line.len() + filling.len())?;
            let filled = if line.contains('{') {
                PLACES
                    .iter()
                    .fold(line.clone(), |line, place| line.replace(place, filling))
            } else {
                format!("{line} {filling}")
            };
            self.line_of("parallel", &Field::known(&filled), state)?;
        }
        Ok(())
    }
}

/// A word in which something else stands for a text.
fn filled(field: &Field, text: &str, by: &Field) -> Field {
    if field.text() == Some(text) {
        return by.clone();
    }
    match field.head.split_once(text) {
        Some((before, after)) => Field {
            head: before.to_owned(),
            tail: Some(after.to_owned()),
            is_pattern: field.is_pattern,
        },
        None => field.clone(),
    }
}
