//! From ranked texts to the answer: skills, filtered, each with the place that fits best.

use std::sync::Arc;

use gongfu_core::account::Owner;
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
use super::score::{self, Wanted};
use super::view::View;

/// How much of a SKILL.md is looked at for the place that fits best, in bytes; a description that
/// fits stands in where that has none of the words.
const LOOKED_AT: u64 = 32 * 1024;

/// From how many bytes of texts on every core looks for places: to wake the others takes longer than
/// to look through less.
const MUCH: usize = 128 * 1024;

/// A query, and what it is answered with.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The skills, for reading what was found.
    pub(super) skills: &'a dyn SkillStore,
    /// Whose skills.
    pub(super) owner: &'a Owner,
    /// Readers of words.
    pub(super) words: &'a Pool,
    /// What is looked for.
    pub(super) query: &'a Query,
}

impl Asked<'_> {
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

    /// Gives each skill the place of its text that fits best, as it is on disk now.
    async fn add_snippets(&self, hits: &mut [Hit], terms: &[(Wanted, f32)]) {
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
        if size < MUCH {
            read.into_iter().for_each(fill);
        } else {
            read.into_par_iter().for_each(fill);
        }
    }

    /// As much of a skill's text as is looked at.
    async fn beginning(&self, skill: &Skill) -> Option<Vec<u8>> {
        let file = group::document(skill)?;
        let reading = self.skills.read(self.owner, skill, &file.path, LOOKED_AT);
        let mut content = reading.await.ok()?;
        if content.is_cut() {
            // What was cut off is no reason to take the rest for something else than text.
            let whole =
                std::str::from_utf8(&content.bytes).map_or_else(|e| e.valid_up_to(), str::len);
            content.bytes.truncate(whole);
        }
        Some(content.bytes)
    }

    /// The place of a skill's text that fits best.
    fn snippet(&self, skill: &Skill, content: &[u8], weights: &[(&str, f32)]) -> Option<String> {
        let body = document::body(content)?;
        let best = |text: &str| {
            let text = composed(text);
            self.words
                .with(|words| snippet::best(&text, weights, words))
        };
        best(&body).or_else(|| best(&skill.description))
    }
}
