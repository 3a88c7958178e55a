//! From ranked texts to the answer: skills, filtered, each with its best snippet.

use std::sync::Arc;

use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{PortError, SkillStore};
use gongfu_core::search::query::{Answer, Hit, MAX_QUERY, Query};
use gongfu_core::search::word::{Kind, composed};
use gongfu_core::search::{Filter, snippet};
use gongfu_core::skill::document;
use rayon::prelude::*;

use super::group;
use super::index;
use super::pool::Pool;
use super::score::{self, QueryTerm};
use super::view::View;

/// The part of a SKILL.md in which a snippet is searched, in bytes; without one there, the
/// description gives it.
const SNIPPET_SOURCE: u64 = 32 * 1024;

/// The number of bytes from which every core searches snippets: for less, waking them takes longer.
const PARALLEL: usize = 128 * 1024;

/// A query and the means to answer it.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    /// The skills, for reading snippets.
    pub(super) skills: &'a dyn SkillStore,
    /// Readers of words.
    pub(super) words: &'a Pool,
    /// The query.
    pub(super) query: &'a Query,
}

impl Request<'_> {
    /// Answers over a view of the library.
    pub(super) async fn answer(&self, library: &Library, view: &View) -> Result<Answer, PortError> {
        let query = self.query;
        let asked = self.words.with(|words| score::wanted(query, words));
        let mut answer = Answer {
            shortened: query.text.len() > MAX_QUERY,
            words: !asked.terms.is_empty(),
            ..Answer::default()
        };
        let broken = |error: std::io::Error| PortError::Unavailable(error.to_string());
        let ranked = index::guarded(|| Ok(score::rank(view, asked, query)?)).map_err(broken)?;
        let everything = query.filter == Filter::default();
        if everything {
            answer.total = ranked.texts.len();
        }
        for (text, score) in &ranked.texts {
            let having = view.texts.get(*text as usize).into_iter().flatten();
            let mut having = having.filter_map(|at| group::skill(library, *at as usize));
            let Some(skill) = having.find(|skill| query.filter.admits(skill)) else {
                continue;
            };
            if !everything {
                answer.total += 1;
            }
            if answer.hits.len() < query.limit {
                answer.hits.push(Hit {
                    skill: Arc::clone(skill),
                    score: *score,
                    snippet: String::new(),
                });
            } else if everything {
                break;
            }
        }
        if query.snippets {
            self.add_snippets(&mut answer.hits, &ranked.terms).await;
        }
        Ok(answer)
    }

    /// Gives each hit its best snippet, from the current text.
    async fn add_snippets(&self, hits: &mut [Hit], terms: &[(QueryTerm, f32)]) {
        let weights: Vec<(&str, f32)> = terms
            .iter()
            .filter(|(wanted, _)| matches!(wanted.kind, Kind::Stem | Kind::Dense | Kind::Character))
            .map(|(wanted, rarity)| (wanted.key.as_str(), *rarity))
            .collect();
        let mut read = Vec::with_capacity(hits.len());
        for hit in hits {
            let content = self.beginning(&hit.skill).await;
            read.extend(content.map(|content| (hit, content)));
        }
        let size: usize = read.iter().map(|(_, content)| content.len()).sum();
        let fill = |(hit, content): (&mut Hit, Vec<u8>)| {
            let snippet = self.snippet(&hit.skill, &content, &weights);
            hit.snippet = snippet.unwrap_or_default();
        };
        if size < PARALLEL {
            read.into_iter().for_each(fill);
        } else {
            read.into_par_iter().for_each(fill);
        }
    }

    /// The beginning of a skill's text.
    async fn beginning(&self, skill: &Skill) -> Option<Vec<u8>> {
        let file = group::document(skill)?;
        let reading = self.skills.glance(skill, &file.path, SNIPPET_SOURCE);
        // Of what would have to be fetched, the description is all.
        let Some(mut content) = reading.await.ok()? else {
            return Some(Vec::new());
        };
        if content.is_cut() {
            // A character that was cut in half must not make the rest binary.
            let whole =
                std::str::from_utf8(&content.bytes).map_or_else(|e| e.valid_up_to(), str::len);
            content.bytes.truncate(whole);
        }
        Some(content.bytes)
    }

    /// The best snippet of a skill's text.
    fn snippet(&self, skill: &Skill, content: &[u8], weights: &[(&str, f32)]) -> Option<String> {
        let best = |text: &str| {
            let text = composed(text);
            self.words
                .with(|words| snippet::best(&text, weights, words))
        };
        let body = if content.is_empty() {
            String::new()
        } else {
            document::body(content)?
        };
        best(&body).or_else(|| best(&skill.description))
    }
}
