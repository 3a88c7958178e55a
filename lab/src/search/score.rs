//! The worth of answers.

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::{Value, json};

use super::collection::Question;

/// The figures of one way to search.
#[derive(Debug, Clone, Default)]
pub(super) struct Score {
    /// The share of queries with the skill in the first place.
    pub(super) first: f64,
    /// The share of queries with the skill among the first five.
    pub(super) five: f64,
    /// The mean of one divided by its place, of places up to ten.
    pub(super) reciprocal: f64,
    /// Times of the questions in milliseconds, sorted.
    times: Vec<f64>,
}

/// Asks every question; the figures are means over the rounds.
pub(super) fn of(
    rounds: &[Vec<Question<'_>>],
    mut rank: impl FnMut(&Question<'_>) -> Option<usize>,
) -> Score {
    let mut score = Score::default();
    for questions in rounds {
        let (mut first, mut five, mut reciprocal) = (0.0, 0.0, 0.0);
        for question in questions {
            let start = Instant::now();
            let place = rank(question);
            score.times.push(start.elapsed().as_secs_f64() * 1e3);
            first += f64::from(u8::from(place == Some(1)));
            five += f64::from(u8::from(place.is_some_and(|place| place <= 5)));
            reciprocal += place
                .filter(|place| *place <= 10)
                .map_or(0.0, |place| 1.0 / place as f64);
        }
        let all = questions.len().max(1) as f64 * rounds.len() as f64;
        score.first += first / all;
        score.five += five / all;
        score.reciprocal += reciprocal / all;
    }
    score.times.sort_by(f64::total_cmp);
    score
}

/// A value of a sorted list below which so much of it lies.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or(0.0)
}

impl Score {
    pub(super) fn to_json(&self, name: &str) -> Value {
        json!({
            "name": name,
            "hit_1": self.first,
            "hit_5": self.five,
            "mrr_10": self.reciprocal,
            "median_ms": percentile(&self.times, 50),
            "p99_ms": percentile(&self.times, 99),
        })
    }
}

/// The figures as a table.
pub(super) fn table(rows: &[(String, Score)]) -> String {
    let mut text = format!(
        "{:<24} {:>7} {:>7} {:>7} {:>11} {:>9}\n",
        "what is searched", "Hit@1", "Hit@5", "MRR@10", "median", "p99"
    );
    for (name, score) in rows {
        let _ = writeln!(
            text,
            "{name:<24} {:>7.3} {:>7.3} {:>7.3} {:>8.2} ms {:>6.2} ms",
            score.first,
            score.five,
            score.reciprocal,
            percentile(&score.times, 50),
            percentile(&score.times, 99),
        );
    }
    text
}
