//! What scripts import, where nobody says what they need: a proposal, and no more than that unless an
//! operator wants it installed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Language;

/// Modules of Python whose package has another name (the index says which modules a package has only once
/// it is downloaded).
const OTHER_NAMES: &[(&str, &str)] = &[
    ("Bio", "biopython"),
    ("Crypto", "pycryptodome"),
    ("Cryptodome", "pycryptodomex"),
    ("Levenshtein", "python-Levenshtein"),
    ("MySQLdb", "mysqlclient"),
    ("OpenSSL", "pyOpenSSL"),
    ("PIL", "Pillow"),
    ("PyPDF2", "PyPDF2"),
    ("attr", "attrs"),
    ("bs4", "beautifulsoup4"),
    ("cairo", "pycairo"),
    ("cv2", "opencv-python-headless"),
    ("dateutil", "python-dateutil"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("faiss", "faiss-cpu"),
    ("fitz", "PyMuPDF"),
    ("git", "GitPython"),
    ("github", "PyGithub"),
    ("gi", "PyGObject"),
    ("google.protobuf", "protobuf"),
    ("igraph", "python-igraph"),
    ("jose", "python-jose"),
    ("jwt", "PyJWT"),
    ("kafka", "kafka-python"),
    ("ldap", "python-ldap"),
    ("magic", "python-magic"),
    ("markdown", "Markdown"),
    ("mpl_toolkits", "matplotlib"),
    ("mx", "mxnet"),
    ("nacl", "PyNaCl"),
    ("odf", "odfpy"), // typos: ignore
    ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"),
    ("psycopg2", "psycopg2-binary"),
    ("pymupdf", "PyMuPDF"),
    ("rdkit", "rdkit"),
    ("ruamel", "ruamel.yaml"),
    ("scanpy", "scanpy"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("snappy", "python-snappy"),
    ("socks", "PySocks"),
    ("telegram", "python-telegram-bot"),
    ("usb", "pyusb"),
    ("websocket", "websocket-client"),
    ("win32com", "pywin32"),
    ("xdg", "pyxdg"),
    ("yaml", "PyYAML"),
    ("youtube_dl", "youtube-dl"),
    ("zmq", "pyzmq"),
];

/// What scripts import that neither the language nor the skill itself has: each with the scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// By the name that is imported.
    pub modules: BTreeMap<String, Vec<String>>,
    /// Scripts that couldn't be read, and why.
    pub unread: Vec<String>,
}

/// The packages that have these modules, as far as their names tell it; each once.
pub fn distributions<'a>(
    language: Language,
    modules: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let name = |module: &'a str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@/".contains(c);
        if module.is_empty() || !module.chars().all(is_plain) || module.starts_with(['.', '-']) {
            return None;
        }
        Some(match language {
            Language::Node => module.to_owned(),
            Language::Python => {
                let other = OTHER_NAMES.iter().find(|(known, _)| *known == module);
                other.map_or_else(|| module.replace('_', "-"), |(_, name)| (*name).to_owned())
            }
        })
    };
    let names: BTreeSet<String> = modules.into_iter().filter_map(name).collect();
    names.into_iter().collect()
}

/// The modules that a program said it didn't find, by the words of Python and Node.js; each once.
pub fn missing(said: &str) -> Vec<(Language, String)> {
    let mut found = Vec::new();
    for line in said.lines() {
        let python = between(line, "ModuleNotFoundError: No module named '", "'");
        // A module of a package that is there is missing in another way.
        let python = python.map(|module| module.split('.').next().unwrap_or(module));
        let node = between(line, "Cannot find module '", "'")
            .or_else(|| between(line, "Cannot find package '", "'"))
            .filter(|module| !module.starts_with(['.', '/']) && !module.contains(':'))
            .map(package);
        let one = python
            .map(|module| (Language::Python, module.to_owned()))
            .or_else(|| node.map(|module| (Language::Node, module.to_owned())));
        found.extend(one.filter(|one| !found.contains(one)));
    }
    found
}

/// The package that a module of Node.js lies in: `@scope/name/part`, `name/part`.
fn package(module: &str) -> &str {
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let end = module.match_indices('/').nth(parts - 1);
    end.map_or(module, |(at, _)| module.get(..at).unwrap_or(module))
}

fn between<'a>(line: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(begin)?;
    let (inside, _) = rest.split_once(end)?;
    (!inside.is_empty()).then_some(inside)
}
