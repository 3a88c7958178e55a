//! An index in memory of short texts that aren't skills, ranked as skills are.

use std::sync::Arc;

use gongfu_core::port::{PortError, TextIndex};
use gongfu_core::search::{Query, SearchText, TextAnswer};
use rayon::prelude::*;

use super::index::{self, Index};
use super::pool::Pool;
use super::score;
use super::terms::Terms;
use super::view::View;

/// The number of texts whose terms one core finds at a time.
const CHUNK: usize = 256;

/// Texts with their index.
pub(super) struct MemoryIndex {
    view: View,
    words: Arc<Pool>,
}

impl MemoryIndex {
    /// The index of these texts.
    pub(super) fn new(texts: &[SearchText], words: Arc<Pool>) -> Result<Self, PortError> {
        let broken = |error: std::io::Error| PortError::Unavailable(error.to_string());
        let terms_of = |some: &[SearchText]| -> Vec<Terms> {
            words.with(|words| some.iter().map(|text| Terms::of(text, words)).collect())
        };
        let terms: Vec<Vec<Terms>> = texts.par_chunks(CHUNK).map(terms_of).collect();
        let index = Index::in_memory(&mut (0..).zip(terms.into_iter().flatten()));
        let count = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        let names = |at: u32| {
            let text = texts.get(at as usize);
            text.map_or_else(Vec::new, |text| text.name.lines().collect())
        };
        let view = View::of_list(index.map_err(broken)?, count, names);
        let view = view.map_err(broken)?;
        Ok(Self { view, words })
    }
}

impl TextIndex for MemoryIndex {
    fn search(&self, query: &Query) -> Result<TextAnswer, PortError> {
        let asked = self.words.with(|words| score::wanted(query, words));
        let words = !asked.terms.is_empty();
        let ranked = index::guarded(|| Ok(score::rank(&self.view, asked, query)?));
        let ranked = ranked.map_err(|error| PortError::Unavailable(error.to_string()))?;
        let best = ranked.texts.iter().take(query.limit);
        let places = best.filter_map(|(text, _)| self.view.texts.get(*text as usize)?.first());
        Ok(TextAnswer {
            hits: places.map(|at| *at as usize).collect(),
            total: ranked.texts.len(),
            words,
        })
    }
}
