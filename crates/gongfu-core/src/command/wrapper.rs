//! Programs and builtins that run others.

use super::Reason;
use super::arguments::Arguments;
use super::field::Field;
use super::judge::Judge;

/// Programs that run what follows their options and so many operands, with their options that take a
/// value.
const PLAIN: [(&str, &str, usize); 11] = [
    ("builtin", "+", 0),
    ("command", "+", 0),
    ("env", "+uCSa", 0),
    ("exec", "+a", 0),
    ("nice", "+n", 0),
    ("nohup", "+", 0),
    ("setsid", "+", 0),
    ("stdbuf", "+ioe", 0),
    ("time", "+of", 0),
    ("timeout", "+ks", 1),
    ("xargs", "+adEILnPs", 0),
];

impl Judge<'_> {
    /// Judges what a program runs; answers whether it is one that runs others.
    pub(super) fn wrapped(&mut self, name: &str, arguments: &[Field]) -> Result<bool, Reason> {
        match name {
            "eval" => {
                let texts: Vec<String> = arguments.iter().map(Field::line).collect();
                let is_known = arguments.iter().all(|field| field.text().is_some());
                self.run_text(name, &texts.join(" "), is_known)?;
            }
            "trap" => {
                if let [action, _, ..] = arguments
                    && !action.head().starts_with('-')
                {
                    self.run_field(name, action)?;
                }
            }
            "." | "source" => self.run_file(name, arguments.first())?,
            "ash" | "bash" | "dash" | "ksh" | "sh" | "zsh" => self.shell(name, arguments)?,
            "find" => self.find(arguments)?,
            name => {
                let Some((_, valued, skipped)) = PLAIN.iter().find(|plain| plain.0 == name) else {
                    return Ok(false);
                };
                let read = Arguments::read(arguments, valued);
                self.plain(name, &read, *skipped)?;
            }
        }
        Ok(true)
    }

    /// Judges the program in the operands of another one.
    fn plain(&mut self, name: &str, read: &Arguments, skipped: usize) -> Result<(), Reason> {
        let mut command = read.operands.get(skipped..).unwrap_or_default().to_vec();
        match name {
            "command" if read.has(&["v", "V"]) => return Ok(()),
            "env" => {
                if let Some(line) = read.value(&["S", "split-string"]) {
                    self.run_field(name, line)?;
                }
                let is_assignment =
                    |field: &&Field| field.line().contains('=') || field.head() == "-";
                command.drain(..command.iter().take_while(is_assignment).count());
            }
            // What it reads comes last.
            "xargs" if !command.is_empty() => command.push(Field::unknown()),
            _ => {}
        }
        self.program(&command)
    }

    /// Judges a shell that is run as a program: its text, its file, or its standard input.
    fn shell(&mut self, name: &str, arguments: &[Field]) -> Result<(), Reason> {
        let read = Arguments::read(arguments, "+oO");
        let outer = (std::mem::take(&mut self.functions), self.folder);
        match read.operands.first() {
            Some(text) if read.has(&["c"]) => self.run_field(name, text)?,
            Some(_) if read.has(&["s"]) => self.run_file(name, None)?,
            file => self.run_file(name, file)?,
        }
        (self.functions, self.folder) = outer;
        Ok(())
    }

    /// Judges a shell that runs a file, or its standard input without one.
    fn run_file(&mut self, name: &str, file: Option<&Field>) -> Result<(), Reason> {
        match (file.map(Field::text), self.input.clone()) {
            (None | Some(Some("-" | "/dev/stdin")), Some(input)) => self.run_field(name, &input)?,
            // What another program writes.
            (Some(None), _) => self.ask(Reason::Dynamic(name.to_owned())),
            _ => {}
        }
        Ok(())
    }

    fn run_field(&mut self, name: &str, line: &Field) -> Result<(), Reason> {
        self.run_text(name, &line.line(), line.text().is_some())
    }

    /// Judges text that is run, as far as it is known.
    fn run_text(&mut self, name: &str, line: &str, is_known: bool) -> Result<(), Reason> {
        if !is_known {
            self.ask(Reason::Dynamic(name.to_owned()));
        }
        self.text(line, is_known)
    }

    /// Judges what `find` runs for each file, whose name counts as a path of its own.
    fn find(&mut self, arguments: &[Field]) -> Result<(), Reason> {
        let is_end = |field: &Field| matches!(field.text(), Some(";" | "+"));
        let runs =
            |field: &Field| matches!(field.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        for part in arguments.split(is_end) {
            if let Some(action) = part.iter().position(runs) {
                self.program(part.get(action + 1..).unwrap_or_default())?;
            }
        }
        Ok(())
    }
}
