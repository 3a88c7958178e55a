//! The strict verdict on a `SKILL.md`: the same as that of the reference validator, `skills-ref`
//! 0.1.1, which reads the frontmatter with strictyaml 1.7.3.
//!
//! Own scanner and grammar, because the verdict rests on many details in which that YAML reader
//! differs from every other one. The text is read once, nothing recurses further than the depth
//! at which the reference gives up, and no bytes make it panic.
//!
//! It works on bytes and the name of a folder: it knows no file system, no other diagnostics and
//! no way to mend anything. It is about the verdict of others: what a tolerant reader makes of a
//! skill is decided elsewhere.

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

/// Every reason for which the reference validator refuses a skill; none when it is valid.
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
