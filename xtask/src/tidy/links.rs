//! Links between documents lead somewhere: to a file of the repository, and to a heading in it.
//!
//! Links to other hosts aren't checked: a check must not need a network.

use super::{Check, Finding, Rule};
use crate::tree::{Tree, has_extension};

pub(super) const CHECK: Check = Check {
    name: "links",
    about: "links of documents lead to a file of the repository, and to a heading in it",
    rule: Rule::Strict(run),
};

fn run(tree: &Tree) -> Vec<Finding> {
    let is_checked = |path: &str| {
        let is_own = !path.contains('/') || path.starts_with("docs/");
        is_own && has_extension(path, "md")
    };
    let documents = tree.all().filter(|(path, _)| is_checked(path));
    documents
        .flat_map(|(path, text)| {
            links(text)
                .into_iter()
                .filter_map(move |(line, link)| broken(tree, path, line, link))
        })
        .collect()
}

fn broken(tree: &Tree, path: &str, line: usize, link: &str) -> Option<Finding> {
    let (target, heading) = link.split_once('#').unwrap_or((link, ""));
    let file = if target.is_empty() {
        path.to_owned()
    } else {
        resolve(path, target)
    };
    let is_there = tree.files.contains_key(&file)
        || tree.files.keys().any(|known| {
            known
                .strip_prefix(&file)
                .is_some_and(|rest| rest.starts_with('/'))
        });
    if !is_there {
        let what = format!("the link `{link}` leads to no file");
        return Some(Finding::new(path, line, what, "correct or remove it"));
    }
    let has_heading =
        heading.is_empty() || headings(tree.text(&file)).contains(&heading.to_owned());
    (!has_heading).then(|| {
        let what = format!("the link `{link}` leads to no heading of {file}");
        Finding::new(
            path,
            line,
            what,
            "correct it, or leave out what follows `#`",
        )
    })
}

/// The targets of the links in a document, outside of code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        for (number, part) in line.split("](").enumerate() {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if number > 0 && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((index + 1, target));
            }
        }
    }
    found
}

/// The path from the root that a link in a document means.
fn resolve(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The headings of a document as links name them: in lower case, with hyphens between words.
fn headings(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    let slug = |line: &str| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        kept.map(|letter| if letter == ' ' { '-' } else { letter })
            .collect()
    };
    lines.map(slug).collect()
}
