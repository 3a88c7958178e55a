//! The imports of a Python script, and whether they are declared.

use std::collections::BTreeSet;

use super::declaration::{UndeclaredPackages, declared_near};
use crate::skill::folder::Folder;
use crate::skill::path::SkillPath;

/// Files that declare what Python scripts need.
const MANIFESTS: [&str; 7] = [
    "requirements.txt",
    "pyproject.toml",
    "scripts/requirements.txt",
    "scripts/pyproject.toml",
    "setup.py",
    "Pipfile",
    "environment.yml",
];

/// The third-party packages of a script that neither it (PEP 723) nor the skill declares.
///
/// Imports inside of `try:` and for type checkers are optional by custom and don't count; nor do modules of the skill.
pub fn undeclared(path: &SkillPath, text: &str, folder: &Folder) -> Option<UndeclaredPackages> {
    if text.contains("# /// script") || declared_near(path, &MANIFESTS, folder) {
        return None;
    }
    let imports = imports(text);
    let foreign: Vec<&(String, usize)> = imports
        .iter()
        .filter(|(module, _)| !is_standard(module) && !is_local(module, folder))
        .collect();
    let line = foreign.iter().map(|(_, line)| *line).min()?;
    let packages: BTreeSet<String> = foreign
        .into_iter()
        .map(|(module, _)| module.clone())
        .collect();
    Some(UndeclaredPackages {
        packages: packages.into_iter().collect(),
        manifest: "pep 723",
        line,
    })
}

/// The top-level modules that a script imports, with their lines.
fn imports(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut quote: Option<&str> = None;
    let mut guarded: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        if let Some(open) = quote {
            if line.contains(open) {
                quote = None;
            }
            continue;
        }
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let goes_on = ["except", "else:", "finally:"]
            .iter()
            .any(|word| code.starts_with(word));
        if guarded.is_some_and(|outer| indent < outer || (indent == outer && !goes_on))
            && !code.is_empty()
        {
            guarded = None;
        }
        let guard =
            code.starts_with("try:") || (code.starts_with("if ") && code.contains("TYPE_CHECKING"));
        if guard {
            guarded = guarded.or(Some(indent));
        } else if guarded.is_none() {
            let statements = code.split("; ").flat_map(imported);
            found.extend(statements.map(|module| (module, number + 1)));
        }
        quote = opened_quote(code);
    }
    found
}

/// The kind of triple quotes that a line leaves open.
fn opened_quote(code: &str) -> Option<&'static str> {
    ["\"\"\"", "'''"]
        .into_iter()
        .find(|quote| code.matches(quote).count() % 2 == 1 && !code.trim_start().starts_with('#'))
}

fn imported(code: &str) -> Vec<String> {
    let root = |dotted: &str| {
        dotted
            .trim()
            .split(['.', ' ', ';', '#'])
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let is_module =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let modules: Vec<String> = if let Some(rest) = code.strip_prefix("import ") {
        rest.split(',').map(root).collect()
    } else if let Some(rest) = code.strip_prefix("from ") {
        if rest.contains(" import") {
            vec![root(rest)]
        } else {
            Vec::new()
        }
    } else {
        Vec::new()
    };
    modules.into_iter().filter(is_module).collect()
}

/// Returns true if a module is a file or folder of the skill, wherever a script may add it to its path.
fn is_local(module: &str, folder: &Folder) -> bool {
    let file = format!("{module}.py");
    folder.files.iter().any(|entry| {
        entry.path.file_name() == file
            || entry
                .path
                .as_str()
                .split('/')
                .rev()
                .skip(1)
                .any(|part| part == module)
    })
}

fn is_standard(module: &str) -> bool {
    module.starts_with('_') || STANDARD.binary_search(&module).is_ok()
}

/// The modules of the standard library, Python 3.8 to 3.14 together, sorted.
const STANDARD: &[&str] = &[
    "abc",
    "aifc",
    "annotationlib",
    "antigravity",
    "argparse",
    "array",
    "ast",
    "asynchat",
    "asyncio",
    "asyncore",
    "atexit",
    "audioop",
    "base64",
    "bdb",
    "binascii",
    "binhex",
    "bisect",
    "builtins",
    "bz2",
    "cProfile",
    "calendar",
    "cgi",
    "cgitb",
    "chunk",
    "cmath",
    "cmd",
    "code",
    "codecs",
    "codeop",
    "collections",
    "colorsys",
    "compileall",
    "compression",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "crypt",
    "csv",
    "ctypes",
    "curses",
    "dataclasses",
    "datetime",
    "dbm",
    "decimal",
    "difflib",
    "dis",
    "distutils",
    "doctest",
    "dummy_threading",
    "email",
    "encodings",
    "ensurepip",
    "enum",
    "errno",
    "faulthandler",
    "fcntl",
    "filecmp",
    "fileinput",
    "fnmatch",
    "formatter",
    "fractions",
    "ftplib",
    "functools",
    "gc",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "graphlib",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "idlelib",
    "imaplib",
    "imghdr",
    "imp",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "lib2to3",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "macpath",
    "mailbox",
    "mailcap",
    "marshal",
    "math",
    "mimetypes",
    "mmap",
    "modulefinder",
    "msilib",
    "msvcrt",
    "multiprocessing",
    "netrc",
    "nis",
    "nntplib",
    "nt",
    "ntpath",
    "nturl2path",
    "numbers",
    "opcode",
    "operator",
    "optparse",
    "os",
    "ossaudiodev",
    "parser",
    "pathlib",
    "pdb",
    "pickle",
    "pickletools",
    "pipes",
    "pkgutil",
    "platform",
    "plistlib",
    "poplib",
    "posix",
    "posixpath",
    "pprint",
    "profile",
    "pstats",
    "pty",
    "pwd",
    "py_compile",
    "pyclbr",
    "pydoc",
    "pydoc_data",
    "pyexpat",
    "queue",
    "quopri",
    "random",
    "re",
    "readline",
    "reprlib",
    "resource",
    "rlcompleter",
    "runpy",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "site",
    "smtpd",
    "smtplib",
    "sndhdr",
    "socket",
    "socketserver",
    "spwd",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "stringprep",
    "struct",
    "subprocess",
    "sunau",
    "symbol",
    "symtable",
    "sys",
    "sysconfig",
    "syslog",
    "tabnanny",
    "tarfile",
    "telnetlib",
    "tempfile",
    "termios",
    "textwrap",
    "this",
    "threading",
    "time",
    "timeit",
    "tkinter",
    "token",
    "tokenize",
    "tomllib",
    "trace",
    "traceback",
    "tracemalloc",
    "tty",
    "turtle",
    "turtledemo",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "uu",
    "uuid",
    "venv",
    "warnings",
    "wave",
    "weakref",
    "webbrowser",
    "winreg",
    "winsound",
    "wsgiref",
    "xdrlib",
    "xml",
    "xmlrpc",
    "zipapp",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
];

#[cfg(test)]
mod tests {
    use super::STANDARD;

    #[test]
    fn the_list_can_be_searched() {
        assert!(STANDARD.is_sorted());
    }
}
