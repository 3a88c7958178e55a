//! Search in memory: finds by words of the name and the description. Ranking is tested where it is
//! made.

use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::port::{Pending, SkillSearch, SkillStore};
use gongfu_core::search::{Answer, Hit, Query};

/// The search of one space.
pub struct MemorySearch {
    skills: Arc<dyn SkillStore>,
}

impl MemorySearch {
    /// A search over these skills.
    pub fn new(skills: Arc<dyn SkillStore>) -> Self {
        Self { skills }
    }
}

impl SkillSearch for MemorySearch {
    fn search<'a>(&'a self, query: &'a Query) -> Pending<'a, Answer> {
        Box::pin(async move {
            let library = self.skills.library().await?;
            let text = query.text.to_lowercase();
            let fits = |skill: &&Arc<Skill>| {
                let description = skill.description.to_lowercase();
                let words = format!("{} {description}", skill.name);
                let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '-');
                let is_asked = |word: &str| {
                    let mut asked = text.split_whitespace();
                    !word.is_empty() && asked.any(|asked| asked == word)
                };
                skill.enabled && (text.contains(skill.name.as_str()) || words.any(is_asked))
            };
            let all: Vec<Hit> = library
                .skills()
                .iter()
                .filter(fits)
                .map(|skill| Hit {
                    skill: Arc::clone(skill),
                    score: 1.5,
                    snippet: "the place".to_owned(),
                })
                .collect();
            Ok(Answer {
                total: all.len(),
                hits: all.into_iter().take(query.limit).collect(),
                shortened: false,
                words: query.text.contains(char::is_alphabetic),
            })
        })
    }
}
