//! Near names: suggestions for a misspelt one.

/// Orders `names` by nearness to `wanted`, nearest first, ties by name.
///
/// Case, `_` and `-` don't count as differences; a name that contains the wanted text, or is
/// contained in it, comes before one that is merely spelled alike.
pub fn nearest_first<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = folded(wanted);
    let mut ranked: Vec<(u64, &str)> = names
        .into_iter()
        .map(|name| (distance(&wanted, name), name))
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// The name that was most likely meant; `None` where none is near enough to be a misspelling, or an
/// abbreviation, of it.
pub fn meant<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(wanted);
    let nearest = nearest_first(&wanted, names).into_iter().next()?;
    let is_part = wanted.len() > 2 && folded(nearest).contains(&wanted);
    (is_part || distance(&wanted, nearest) <= MISSPELT).then_some(nearest)
}

/// The distance of a misspelling, in thousandths.
const MISSPELT: u64 = 200;

/// The form in which two names are compared: lower case, `_` and blanks as `-`, at most 128
/// characters so that a huge argument costs no more than a long one.
pub fn folded(name: &str) -> String {
    let name = name.trim();
    // Most names are folded already; a start of a large library asks of every one, twice.
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if name.len() <= 128 && name.bytes().all(plain) {
        return name.to_owned();
    }
    name.chars()
        .take(128)
        .flat_map(char::to_lowercase)
        .map(|c| if c == '_' || c == ' ' { '-' } else { c })
        .collect()
}

/// Distance in thousandths, 0 for equal.
fn distance(wanted: &str, name: &str) -> u64 {
    let name = folded(name);
    if wanted == name {
        return 0;
    }
    let similarity = strsim::jaro_winkler(wanted, &name);
    // A ratio in 0..=1, so the cast is exact enough and can't overflow.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a ratio between 0 and 1"
    )]
    let thousandths = ((1.0 - similarity.clamp(0.0, 1.0)) * 1000.0) as u64 + 1;
    let contained = !wanted.is_empty() && (name.contains(wanted) || wanted.contains(&name));
    if contained {
        thousandths / 4 + 1
    } else {
        thousandths
    }
}

#[cfg(test)]
mod tests {
    use super::{meant, nearest_first};

    #[test]
    fn a_misspelling_is_told_from_another_word() {
        for (wanted, name) in [
            ("name", Some("skill_name")),
            ("skils", Some("skills")),
            ("skill-name", Some("skill_name")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(
                meant(wanted, ["skill_name", "skills", "path"]),
                name,
                "{wanted}"
            );
        }
        assert_eq!(meant("x", []), None);
    }

    #[test]
    fn nearest_name_comes_first() {
        let names = ["docx", "pdf", "pdf-tools", "xlsx", "test-data-factory"];
        assert_eq!(nearest_first("pdf_tool", names)[0], "pdf-tools");
        assert_eq!(nearest_first("PDF", names)[0], "pdf");
        assert_eq!(
            nearest_first("test_data_factory", names)[0],
            "test-data-factory"
        );
        assert_eq!(nearest_first("xslx", names)[0], "xlsx");
        assert_eq!(nearest_first("", names).len(), 5);
    }
}
