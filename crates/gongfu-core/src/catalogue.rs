//! The catalogue: the list of skills for a model, within a budget of characters.
//!
//! It goes into prompts and tool descriptions, where every character costs. Descriptions are shortened
//! evenly first; then the skills at the end of the list are left out, and it says how many. Nothing is
//! dropped silently.
//!
//! A character is what clients count: a UTF-16 code unit, of which an emoji has two.

/// The characters that a catalogue takes by default.
pub const BUDGET: usize = 8_000;
/// A description is not shortened below this, in characters: what is left would say nothing.
const SHORTEST: usize = 60;

/// A skill as a catalogue shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its purpose, in one line.
    pub description: String,
}

/// The form of a catalogue.
pub struct Form<'a> {
    /// The line of a skill, without its end.
    pub line: &'a dyn Fn(&str, &str) -> String,
    /// The line that tells how many were left out, without its end.
    pub more: &'a dyn Fn(usize) -> String,
}

/// A catalogue that fits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Its lines.
    pub text: String,
    /// The number of skills that it shows.
    pub shown: usize,
    /// The number of skills that it left out.
    pub left_out: usize,
    /// To how many characters descriptions were shortened, if they were.
    pub shortened_to: Option<usize>,
}

/// Writes the catalogue of these skills, the most relevant first, within so many characters.
///
/// `others` is how many skills there are behind these, for which there is no room anyway (see
/// [`most`]). Below the length of the line that tells how many were left out, that line is all there
/// is.
pub fn write(entries: &[Entry], others: usize, budget: usize, form: &Form<'_>) -> Catalogue {
    let sizes: Vec<Size> = entries.iter().map(|entry| Size::of(entry, form)).collect();
    let all = sizes.iter().map(Size::whole).sum::<usize>();
    if others == 0 {
        if all <= budget {
            return lines(entries, 0, entries.len(), None, form);
        }
        if let Some(length) = longest(&sizes, budget) {
            return lines(entries, 0, entries.len(), Some(length), form);
        }
    }
    // The number of those left out is shorter the fewer they are, so this is room enough.
    let room = budget.saturating_sub(length(&(form.more)(entries.len() + others)) + 1);
    let mut taken = 0;
    let fitting = entries.iter().zip(&sizes).take_while(|(entry, size)| {
        // As it is written: a cut at the end of a word leaves some room for the next one.
        taken += size.frame + length(&shortened(&entry.description, SHORTEST));
        taken <= room
    });
    let shown = fitting.count();
    let longest = longest(sizes.get(..shown).unwrap_or_default(), room).unwrap_or(SHORTEST);
    lines(entries, others, shown, Some(longest), form)
}

/// Returns the number of skills that there can be room for; the others need not be looked at.
pub fn most(budget: usize) -> usize {
    // A line has a name, a description, and signs between them.
    budget / 6 + 1
}

/// The sizes of a skill's line.
struct Size {
    /// All but the description, the end of the line included.
    frame: usize,
    description: usize,
}

impl Size {
    fn of(entry: &Entry, form: &Form<'_>) -> Self {
        Self {
            frame: length(&(form.line)(&entry.name, "")) + 1,
            description: length(&entry.description),
        }
    }

    fn whole(&self) -> usize {
        self.frame + self.description
    }

    fn at(&self, length: usize) -> usize {
        self.frame + self.description.min(length)
    }
}

/// The most characters of each description with which all lines fit; `None` when that is too few.
fn longest(sizes: &[Size], budget: usize) -> Option<usize> {
    let fits = |length: usize| sizes.iter().map(|size| size.at(length)).sum::<usize>() <= budget;
    if !fits(SHORTEST) {
        return None;
    }
    let most = sizes.iter().map(|size| size.description).max().unwrap_or(0);
    let (mut low, mut high) = (SHORTEST, most.max(SHORTEST));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}

fn lines(
    entries: &[Entry],
    others: usize,
    shown: usize,
    length: Option<usize>,
    form: &Form<'_>,
) -> Catalogue {
    let mut catalogue = Catalogue {
        shown,
        left_out: entries.len() - shown + others,
        ..Catalogue::default()
    };
    for entry in entries.iter().take(shown) {
        let description = shortened(&entry.description, length.unwrap_or(usize::MAX));
        if description.len() < entry.description.len() {
            catalogue.shortened_to = length;
        }
        catalogue
            .text
            .push_str(&(form.line)(&entry.name, &description));
        catalogue.text.push('\n');
    }
    if catalogue.left_out > 0 {
        catalogue.text.push_str(&(form.more)(catalogue.left_out));
        catalogue.text.push('\n');
    }
    catalogue
}

/// The length of a text, in characters as clients count them.
pub fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The start of a text, to the end of a word, with `…` where something is missing; at most so many
/// characters.
pub fn shortened(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let mut room = most.saturating_sub(1);
    let end = text.find(|c: char| match room.checked_sub(c.len_utf16()) {
        Some(left) => {
            room = left;
            false
        }
        None => true,
    });
    let end = end.unwrap_or(text.len());
    let cut = text.get(..end).unwrap_or_default();
    // A word is cut only where the text has no spaces.
    let at_word = cut.rfind(' ').filter(|at| *at * 2 > cut.len());
    let kept = at_word.map_or(cut, |at| cut.get(..at).unwrap_or_default());
    let kept = kept.trim_end_matches([' ', ',', ';', ':', '.', '-']);
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::{Entry, Form, shortened, write};

    fn entries(count: usize, length: usize) -> Vec<Entry> {
        let entry = |number| Entry {
            name: format!("skill-{number}"),
            description: "word ".repeat(length).trim_end().to_owned(),
        };
        (0..count).map(entry).collect()
    }

    fn catalogue(entries: &[Entry], budget: usize) -> super::Catalogue {
        let form = Form {
            line: &|name, description| format!("- {name}: {description}"),
            more: &|count| format!("… and {count} more: use skill_search"),
        };
        write(entries, 0, budget, &form)
    }

    #[test]
    fn catalogue_within_its_budget_is_whole() {
        let all = entries(3, 4);
        let catalogue = catalogue(&all, 1_000);
        assert_eq!((catalogue.shown, catalogue.left_out), (3, 0));
        assert_eq!(catalogue.shortened_to, None);
        assert_eq!(catalogue.text.lines().count(), 3);
        assert!(
            catalogue
                .text
                .starts_with("- skill-0: word word word word\n")
        );
    }

    #[test]
    fn descriptions_are_shortened_before_skills_are_left_out() {
        let mut all = entries(10, 100);
        all[0].description = "brief".to_owned();
        let catalogue = catalogue(&all, 2_000);
        assert_eq!((catalogue.shown, catalogue.left_out), (10, 0));
        assert!(catalogue.shortened_to.is_some_and(|length| length > 100));
        assert!(
            catalogue.text.contains("- skill-0: brief\n"),
            "the brief stay whole"
        );
        assert!(catalogue.text.contains("word…\n"));
    }

    #[test]
    fn catalogue_counts_what_it_leaves_out_and_keeps_its_budget() {
        let all = entries(1_000, 100);
        for budget in [0, 10, 40, 100, 500, 2_000, 8_000, 100_000, 1_000_000] {
            let catalogue = catalogue(&all, budget);
            assert_eq!(catalogue.shown + catalogue.left_out, 1_000);
            let size = catalogue.text.chars().count();
            assert!(size <= budget.max(40), "{size} of {budget}");
            if catalogue.left_out > 0 {
                let told = format!("… and {} more: use skill_search\n", catalogue.left_out);
                assert!(catalogue.text.ends_with(&told), "{budget}");
                assert!(budget < 500 || size * 10 > budget * 8, "{size} of {budget}");
            }
        }
    }

    #[test]
    fn skills_that_have_no_room_need_not_be_looked_at() {
        let all = entries(5_000, 20);
        let form = Form {
            line: &|name, description| format!("- {name}: {description}"),
            more: &|count| format!("… and {count} more: use skill_search"),
        };
        for budget in [10, 500, 8_000] {
            let first = &all[..super::most(budget).min(all.len())];
            let others = all.len() - first.len();
            assert_eq!(
                write(first, others, budget, &form),
                write(&all, 0, budget, &form)
            );
        }
    }

    #[test]
    fn shortened_text_ends_at_a_word() {
        assert_eq!(shortened("one two three", 13), "one two three");
        assert_eq!(shortened("one two three", 12), "one two…");
        assert_eq!(shortened("技能技能技能技能", 4), "技能技…");
        assert_eq!(shortened("a, b, c", 6), "a, b…");
        assert_eq!(shortened("abc", 0), "…");
        assert_eq!(shortened("🥋🥋🥋🥋", 6), "🥋🥋…", "an emoji is two");
        assert_eq!(shortened("🥋🥋🥋", 6), "🥋🥋🥋");
    }
}
