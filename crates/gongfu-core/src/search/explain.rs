//! Explains a hit: which words of the query stand where, as the search reads words.

use std::collections::BTreeSet;

use super::word::{Kind, Words, composed};

/// The words of a query, without those that say nothing, each with the places that have it.
///
/// `places` are names of places with their texts; a word is found in any of its forms.
pub fn explain<'p>(query: &str, places: &[(&'p str, &str)]) -> Vec<(String, Vec<&'p str>)> {
    let mut words = Words::default();
    let stems = |text: &str, words: &mut Words| {
        let text = composed(text);
        let mut stems = BTreeSet::new();
        words.each(&text, &mut |term| {
            if is_word(term.kind) {
                stems.insert(term.text.to_owned());
            }
        });
        stems
    };
    let texts: Vec<(&str, BTreeSet<String>)> = places
        .iter()
        .map(|(place, text)| (*place, stems(text, &mut words)))
        .collect();
    let query = composed(query);
    let mut wanted: Vec<(String, String)> = Vec::new();
    words.each(&query, &mut |term| {
        let is_new = wanted.iter().all(|(stem, _)| stem != term.text);
        if is_word(term.kind) && !term.stop && is_new {
            let word = query.get(term.start..term.end).unwrap_or(term.text);
            wanted.push((term.text.to_owned(), word.to_owned()));
        }
    });
    let found = wanted.into_iter().map(|(stem, word)| {
        let having = texts.iter().filter(|(_, stems)| stems.contains(&stem));
        (word, having.map(|(place, _)| *place).collect())
    });
    found.collect()
}

fn is_word(kind: Kind) -> bool {
    matches!(kind, Kind::Stem | Kind::Dense)
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn words_are_found_in_any_form_and_those_that_say_nothing_are_left_out() {
        let places = [
            ("name", "pdf-merger"),
            ("description", "Merges PDF files. 合并文件"),
        ];
        let found = explain("how to merge the Pdf invoices 文件", &places);
        let found: Vec<(&str, usize)> = found
            .iter()
            .map(|(word, places)| (word.as_str(), places.len()))
            .collect();
        assert_eq!(
            found,
            [("merge", 1), ("Pdf", 2), ("invoices", 0), ("文件", 1)]
        );
        assert!(explain("", &places).is_empty());
    }
}
