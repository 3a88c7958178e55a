//! From ranked texts to the answer: skills, filtered, each with the place that fits best.

use std::collections::HashMap;
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::library::{Library, Skill};
use gongfu_core::port::{PortError, SkillStore};
use gongfu_core::search::query::{Answer, Hit, MAX_QUERY, Query};
use gongfu_core::search::word::{Kind, Words, composed};
use gongfu_core::search::{SearchText, snippet};
use gongfu_core::skill::document::{self, MAX_SKILL_FILE};

use super::group;
use super::score::{self, Wanted};
use super::view::View;

/// Answers a query over a view of the library.
pub(super) async fn answer(
    skills: &Arc<dyn SkillStore>,
    owner: &Owner,
    library: &Library,
    view: &View,
    query: &Query,
) -> Result<Answer, PortError> {
    let mut words = Words::default();
    let wanted = score::wanted(query, &mut words);
    let mut answer = Answer {
        shortened: query.text.len() > MAX_QUERY,
        words: !wanted.is_empty(),
        ..Answer::default()
    };
    let broken = |error: std::io::Error| PortError::Unavailable(error.to_string());
    let ranked = score::rank(view, wanted, query).map_err(broken)?;
    let everything = query.filter == gongfu_core::search::Filter::default();
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
            let snippet = snippet_of(skills, owner, skill, &ranked.terms, &mut words).await;
            answer.hits.push(Hit {
                skill: Arc::clone(skill),
                score: *score,
                snippet,
            });
        } else if everything {
            break;
        }
    }
    Ok(answer)
}

/// The place of the skill's text that fits best, as it is on disk now.
async fn snippet_of(
    skills: &Arc<dyn SkillStore>,
    owner: &Owner,
    skill: &Skill,
    terms: &[(Wanted, f32)],
    words: &mut Words,
) -> String {
    let weights: HashMap<&str, f32> = terms
        .iter()
        .filter(|(wanted, _)| matches!(wanted.kind, Kind::Stem | Kind::Dense | Kind::Character))
        .map(|(wanted, rarity)| (wanted.key.as_str(), *rarity))
        .collect();
    let Some(file) = group::document(skill) else {
        return String::new();
    };
    let Ok(content) = skills.read(owner, skill, &file.path, MAX_SKILL_FILE).await else {
        return String::new();
    };
    let name = skill.name.as_str();
    let Some(document) = document::parse(&content.bytes, name) else {
        return String::new();
    };
    let body = composed(document.body());
    snippet::best(&body, &weights, words)
        .or_else(|| snippet::best(&SearchText::of(&document).description, &weights, words))
        .unwrap_or_default()
}
