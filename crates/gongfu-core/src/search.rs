//! Search: what is looked for, which words a text has, what is better than what.
//!
//! Pure rules over texts and counts. How an index is kept is nobody's business here: it lies behind
//! [`SkillSearch`](crate::port::SkillSearch).

pub mod pair;
pub mod query;
pub mod rank;
pub mod script;
pub mod snippet;
pub mod stop;
pub mod text;
pub mod word;

pub use query::{Answer, Filter, Hit, Query, Scope};
pub use text::SearchText;
