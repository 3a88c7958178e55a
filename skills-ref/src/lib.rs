//! The verdict of the reference validator on a `SKILL.md`, from its bytes and the name of its folder.
//!
//! It must not know a file system, other diagnostics or ways to fix anything.
//!
#![doc = include_str!("../README.md")]

mod block;
mod cursor;
mod frontmatter;
mod grammar;
mod indicator;
mod message;
mod python;
mod reason;
mod rule;
mod scalar;
mod scanner;
mod token;
mod tree;

#[cfg(test)]
mod tests;

pub use reason::{CrashCause, Reason, Refusal, YamlProblem};

use frontmatter::Frontmatter;
use token::Fault;

/// Returns every reason for which the reference validator refuses a skill, or no reason if it is valid.
///
/// `bytes` is the whole file, `folder` the name of the folder that holds it. The reasons stand in
/// the order in which the reference reports them.
#[must_use]
pub fn validate(bytes: &[u8], folder: &str) -> Vec<Refusal> {
    let refusal = |reason, offset| Refusal { reason, offset };
    let file = match std::str::from_utf8(bytes) {
        Ok(file) => file,
        Err(error) => return vec![refusal(Reason::NotUtf8, Some(error.valid_up_to()))],
    };
    let frontmatter = match Frontmatter::of(file) {
        Ok(frontmatter) => frontmatter,
        Err((reason, offset)) => return vec![refusal(reason, Some(offset))],
    };
    let fields = match grammar::document(&frontmatter.text)
        .and_then(|root| root.map_or(Ok(None), tree::fields))
    {
        Ok(Some(fields)) => fields,
        Ok(None) => return vec![refusal(Reason::NotAMapping, Some(0))],
        Err(Fault { reason, index }) => {
            return vec![refusal(reason, Some(frontmatter.offset(index)))];
        }
    };
    rule::check(&fields, folder)
        .into_iter()
        .map(|(reason, index)| refusal(reason, index.map(|index| frontmatter.offset(index))))
        .collect()
}
