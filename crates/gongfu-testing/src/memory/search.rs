//! Search in memory: finds by words of the name and the description. Ranking is tested where it is
//! made.

use std::sync::Arc;

use gongfu_core::library::Skill;
use gongfu_core::port::{Pending, PortError, SkillSearch, SkillStore, TextIndex, ready};
use gongfu_core::search::{Answer, Hit, Query, SearchText, TextAnswer};

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

    fn index(&self, texts: Vec<SearchText>) -> Pending<'_, Arc<dyn TextIndex>> {
        ready(Ok(Arc::new(MemoryTexts(texts)) as Arc<dyn TextIndex>))
    }
}

/// Texts in memory: those with the most of the words are found first.
struct MemoryTexts(Vec<SearchText>);

impl TextIndex for MemoryTexts {
    fn search(&self, query: &Query) -> Result<TextAnswer, PortError> {
        let asked = query.text.to_lowercase();
        let asked: Vec<&str> = asked.split_whitespace().collect();
        let found = self.0.iter().enumerate().map(|(at, text)| {
            let text = text.parts().join(" ").to_lowercase();
            let having = asked.iter().filter(|word| text.contains(**word)).count();
            (having, at)
        });
        let mut found: Vec<(usize, usize)> = found.filter(|(having, _)| *having > 0).collect();
        found.sort_by_key(|(having, at)| (std::cmp::Reverse(*having), *at));
        Ok(TextAnswer {
            total: found.len(),
            hits: found
                .into_iter()
                .map(|(_, at)| at)
                .take(query.limit)
                .collect(),
            words: query.text.contains(char::is_alphabetic),
        })
    }
}
