//! English words that say nothing about what a text is about.

/// Sorted, for binary search.
const WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any",
    "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "could", "did", "do", "does", "doing", "down", "during", "each", "etc",
    "few", "for", "from", "further", "had", "has", "have", "having", "he", "her", "here", "hers",
    "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "let", "me",
    "more", "most", "my", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other",
    "our", "ours", "out", "over", "own", "same", "she", "should", "so", "some", "such", "than",
    "that", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "under", "until", "up", "very", "via", "was", "we", "were", "what",
    "when", "where", "whether", "which", "while", "who", "whom", "why", "will", "with", "within",
    "without", "would", "you", "your", "yours",
];

/// Returns true if a folded word says nothing about a text.
pub fn is_stop_word(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{WORDS, is_stop_word};

    #[test]
    fn stop_words_are_sorted() {
        assert!(WORDS.is_sorted());
        assert!(!WORDS.is_empty());
        assert!(is_stop_word("the") && !is_stop_word("pdf"));
    }
}
