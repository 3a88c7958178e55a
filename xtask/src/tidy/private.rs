//! Nothing in the repository speaks of the machine that somebody happened to work on.

use super::{Check, Finding, Rule};
use crate::tree::Tree;

pub(super) const CHECK: Check = Check {
    name: "private",
    about: "no file holds the path of a machine or the host of a package registry",
    rule: Rule::Strict(run),
};

/// Folders that exist on one machine, in halves so that this file does not hold them itself.
const FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/")];
/// The folders above people's own ones.
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/Us", "ers/")];
/// The people that examples may speak of.
const EXAMPLES: &[&str] = &["me", "you", "user", "alice", "bob"];
/// The hosts of package registries, in halves too.
const REGISTRIES: &[&str] = &[
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("py", "pi.org"),
    concat!("files.", "pythonhosted.org"),
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("proxy.", "golang.org"),
];
/// Files that other programs or lawyers wrote.
const ASIDE: &[&str] = &["Cargo.lock", "package-lock.json", "LICENSE"];

fn run(tree: &Tree) -> Vec<Finding> {
    let files = tree.all().filter(|(path, _)| {
        let name = path.rsplit('/').next().unwrap_or(path);
        !ASIDE.contains(&name)
    });
    files
        .flat_map(|(path, text)| {
            text.lines().enumerate().filter_map(move |(index, line)| {
                let (what, fix) = private_part(line)?;
                let finding = Finding::new(path, index + 1, what, fix);
                // A stray log fails nothing; what is about to be committed is told already.
                Some(Finding {
                    is_note: tree.untracked.contains(path),
                    ..finding
                })
            })
        })
        .collect()
}

/// The private part of a line, and how to fix it.
fn private_part(line: &str) -> Option<(String, &'static str)> {
    for folder in FOLDERS {
        if starts_of(line, folder).next().is_some() {
            return Some((
                format!("`{folder}` is a path of one machine"),
                "use a path from the root of the repository, or an example such as /home/me",
            ));
        }
    }
    for home in HOMES {
        for at in starts_of(line, home) {
            let owner: String = line[at + home.len()..]
                .chars()
                .take_while(|letter| is_name(*letter))
                .collect();
            if !owner.is_empty() && !EXAMPLES.contains(&owner.as_str()) {
                return Some((
                    format!("`{home}{owner}` is a path of one machine"),
                    "use a path from the root of the repository, or an example such as /home/me",
                ));
            }
        }
    }
    let host = REGISTRIES.iter().find(|host| line.contains(**host))?;
    Some((
        format!("`{host}` is the host of a package registry"),
        "leave it out: each machine has its own settings for where packages come from",
    ))
}

/// The starts of an absolute path: not in the middle of a longer path, an address or a variable's path.
fn starts_of(line: &str, folder: &str) -> impl Iterator<Item = usize> {
    let within = |letter: char| {
        is_name(letter) || matches!(letter, '/' | '~' | '}' | ')' | ']' | '>' | '*' | '…')
    };
    line.match_indices(folder)
        .map(|(at, _)| at)
        .filter(move |at| !line[..*at].ends_with(within))
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.')
}
