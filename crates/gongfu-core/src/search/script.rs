//! Character classes: the part that a character plays in words.

/// The part of a character in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A letter of a script that writes spaces between words.
    Letter,
    /// A digit.
    Digit,
    /// A character of a script without spaces: words are found as pairs of neighbours.
    Dense,
    /// A picture, which is a word by itself.
    Picture,
    /// A mark that changes the letter before it, or what can't be seen at all: it doesn't count.
    Mark,
    /// Everything between words.
    Other,
}

/// The class of a character.
pub fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Digit,
        '\0'..='\x7f' => Class::Other,
        '\u{300}'..='\u{36f}'
        // Points of Hebrew and vowel signs of Arabic, which most people leave out, and the line that
        // only stretches a word.
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}' | '\u{5c4}'..='\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}'..='\u{6e8}' | '\u{6ea}'..='\u{6ed}'
        // What chooses between shapes of a character.
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Class::Mark,
        _ if is_dense(character) => Class::Dense,
        _ if character.is_alphabetic() => Class::Letter,
        _ if character.is_numeric() => Class::Digit,
        _ => other(character),
    }
}

fn other(character: char) -> Class {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
    match character.general_category() {
        // Vowel signs of Indic scripts belong to the word.
        GeneralCategory::SpacingMark | GeneralCategory::NonspacingMark => Class::Letter,
        // Nobody sees these, and nobody types them: joiners, directions, soft hyphens.
        GeneralCategory::Format => Class::Mark,
        GeneralCategory::OtherSymbol => Class::Picture,
        _ => Class::Other,
    }
}

/// Chinese, Japanese and Korean, and the scripts of South-East Asia that write no spaces.
fn is_dense(character: char) -> bool {
    matches!(u32::from(character),
        0x2e80..=0x2fdf // radicals
        | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3031..=0x3035 | 0x3038..=0x303c
        | 0x3041..=0x3096 | 0x3099..=0x309f // hiragana
        | 0x30a1..=0x30fa | 0x30fc..=0x30ff | 0x31f0..=0x31ff | 0xff66..=0xff9f // katakana
        | 0x3105..=0x312f | 0x31a0..=0x31bf // bopomofo
        | 0x1100..=0x11ff | 0x3131..=0x318e | 0xa960..=0xa97f | 0xac00..=0xd7ff // hangul
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff // han
        | 0x1aff0..=0x1b16f // more kana
        | 0xa000..=0xa4cf // yi
        | 0x0e01..=0x0e3a | 0x0e40..=0x0e4e // thai
        | 0x0e80..=0x0ece // lao
        | 0x1000..=0x109f // burmese
        | 0x1780..=0x17d3 // khmer
    )
}

#[cfg(test)]
mod tests {
    use super::{Class, class};

    #[test]
    fn every_class_has_its_characters() {
        for (characters, expected) in [
            ("aZéßжαअा", Class::Letter),
            ("09٣½", Class::Digit),
            ("技能スキルーの々기술ไทย", Class::Dense),
            ("🎉☃", Class::Picture),
            (
                "\u{301}\u{64e}\u{200b}\u{ad}\u{fe0f}\u{e0100}\u{202e}",
                Class::Mark,
            ),
            (" -_./、。・　\0", Class::Other),
        ] {
            for character in characters.chars() {
                assert_eq!(class(character), expected, "{character:?}");
            }
        }
    }
}
