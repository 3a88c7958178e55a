//! `gongfu complete`: what completion scripts ask.

use gongfu_core::account::Owner;
use gongfu_hub::{Catalog, Profile};

use super::Outcome;
use crate::cli::{self, Candidate, Places, WordKind};
use crate::environment::Environment;
use crate::terminal::{Terminal, plain};
use crate::wiring;

/// Prints the words that the last one can become, each with a tab and what it is.
pub(crate) fn run(
    words: &[String],
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let (prefix, wanted) = cli::wanted(words);
    let typed = words.last().map(String::as_str).unwrap_or_default();
    let typed = typed.strip_prefix(prefix.as_str()).unwrap_or_default();
    let found = match wanted {
        WordKind::Words(words) => words,
        WordKind::Skill => skills(environment)?,
        WordKind::Source => sources(environment)?,
        WordKind::Tool => tools(),
        WordKind::File => Vec::new(),
    };
    for Candidate { word, about } in found {
        // A shell gets the word as it is, so it must be nothing that a shell would obey.
        if word.starts_with(typed) && word.chars().all(is_plain) {
            terminal.line(&format!("{prefix}{word}\t{}", plain(&about)))?;
        }
    }
    Ok(Outcome::Good)
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || "-_./+@:".contains(letter)
}

/// Skills by what reaches them: their name, or their full name where another has taken it.
fn skills(environment: &Environment) -> anyhow::Result<Vec<Candidate>> {
    let library = wiring::parts(environment, &Places::default())?
        .skills
        .current()?;
    let skills = library.skills().iter().map(|skill| {
        let is_shadowed = library.shadowed_by(skill).is_some();
        let word = if is_shadowed {
            skill.full_name.to_string()
        } else {
            skill.name.to_string()
        };
        let about = skill.description.chars().take(60).collect();
        Candidate { word, about }
    });
    Ok(skills.collect())
}

fn sources(environment: &Environment) -> anyhow::Result<Vec<Candidate>> {
    let library = wiring::parts(environment, &Places::default())?
        .skills
        .current()?;
    let sources = library.sources().iter().map(|source| Candidate {
        word: source.id.to_string(),
        about: source.root.clone(),
    });
    Ok(sources.collect())
}

fn tools() -> Vec<Candidate> {
    let specs = Catalog::specs(&[Profile::Standard], &Owner::Local);
    let tools = specs.iter().map(|spec| Candidate {
        word: spec.name.to_string(),
        about: spec.title.to_string(),
    });
    tools.collect()
}
