//! Search: queries, the words of a text, and ranking.
//!
//! Pure rules over texts and counts. The index itself is behind
//! [`SkillSearch`](crate::port::SkillSearch).

pub mod explain;
pub mod pair;
pub mod query;
pub mod rank;
pub mod script;
pub mod snippet;
pub mod stop;
pub mod text;
pub mod word;

pub use query::{Answer, Filter, Hit, Query, Scope, TextAnswer};
pub use text::SearchText;
