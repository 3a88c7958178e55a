//! Names as parts of ids and of folders.

/// A name as an id: everything that isn't an ASCII letter or digit becomes a single hyphen.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars().take(64) {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        "dir".to_owned()
    } else {
        slug.to_owned()
    }
}
