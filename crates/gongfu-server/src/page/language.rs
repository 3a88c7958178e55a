//! The language of a page.

/// A language that pages are written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, in simplified characters.
    Chinese,
}

impl Language {
    /// All of them.
    pub(super) const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Reads the short name of a language.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.name() == name)
    }

    /// The short name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The name as documents have it (BCP 47).
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-Hans",
        }
    }

    /// The name for its readers.
    pub(super) fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "中文",
        }
    }

    /// The first choice of a browser among them (`Accept-Language`).
    pub(super) fn accepted(header: &str) -> Option<Self> {
        let mut best: Option<(f32, Self)> = None;
        for entry in header.split(',').take(20) {
            let mut parts = entry.split(';');
            let tag = parts.next().unwrap_or_default().trim();
            let name = tag
                .split('-')
                .next()
                .unwrap_or_default()
                .to_ascii_lowercase();
            let weight = parts.find_map(|part| part.trim().strip_prefix("q="));
            let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f32>().ok());
            let (Some(language), Some(weight)) = (Self::parse(&name), weight) else {
                continue;
            };
            if weight > 0.0 && best.is_none_or(|(before, _)| weight > before) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn browser_chooses_by_weight() {
        for (header, wanted) in [
            ("", None),
            ("fr, de;q=0.5", None),
            ("zh-CN,zh;q=0.9,en;q=0.8", Some(Language::Chinese)),
            ("en-GB,zh;q=0.9", Some(Language::English)),
            ("fr, en;q=0.2, ZH-Hant-TW;q=0.7", Some(Language::Chinese)),
            ("zh;q=0, en;q=0.1", Some(Language::English)),
            ("zh;q=x", None),
        ] {
            assert_eq!(Language::accepted(header), wanted, "{header}");
        }
    }
}
