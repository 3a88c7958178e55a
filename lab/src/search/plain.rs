//! Plain BM25 over the same texts, unweighted: what search has to beat.

use std::cmp::Ordering;
use std::collections::HashMap;

use gongfu_core::skill::document;

use super::collection::{Collection, Question};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// An index of words as they stand, over name, description and body alike.
pub(super) struct Plain {
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Plain {
    pub(super) fn new(collection: &Collection) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (number, skill) in collection.skills.iter().enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            if let Some(found) = document::parse(skill.document.as_bytes(), &skill.folder) {
                for text in [found.name.as_str(), &found.description, found.body()] {
                    for word in words(text) {
                        *counts.entry(word).or_default() += 1.0;
                    }
                }
            }
            lengths.push(counts.values().sum());
            for (word, count) in counts {
                postings.entry(word).or_default().push((number, count));
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self {
            postings,
            lengths,
            average,
        }
    }

    /// The place of the skill that is looked for, from 1.
    pub(super) fn rank(&self, question: &Question<'_>) -> Option<usize> {
        let mut scores = vec![0.0; self.lengths.len()];
        let all = self.lengths.len() as f64;
        for word in words(question.text) {
            let Some(postings) = self.postings.get(&word) else {
                continue;
            };
            let having = postings.len() as f64;
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (number, count) in postings {
                let length = self.lengths[*number] / self.average;
                scores[*number] +=
                    rarity * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length));
            }
        }
        let own = scores[question.skill];
        // Of equals, the one that comes first.
        let before = |(number, score): (usize, &f64)| match score.total_cmp(&own) {
            Ordering::Greater => true,
            Ordering::Equal => number < question.skill,
            Ordering::Less => false,
        };
        (own > 0.0).then(|| {
            1 + scores
                .iter()
                .enumerate()
                .filter(|pair| before(*pair))
                .count()
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let split: Vec<String> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    split.into_iter()
}
