//! The text about skills that a server gives its client before any tool is called.

use gongfu_core::library::Library;

use crate::guide::{self, Guide};
use crate::profile::{self, Profile};

/// The instructions of a server that shows these profiles: what the skills are, within so many
/// characters for the catalogue.
pub(crate) fn instructions(
    profiles: &[Profile],
    library: Option<&Library>,
    budget: usize,
) -> String {
    let standard = |profile: &Profile| matches!(profile, Profile::Standard | Profile::All);
    let mut guides: Vec<Guide> = Vec::new();
    if profiles.iter().any(standard) {
        guides.push(guide::STANDARD);
    } else {
        guides.extend(profile::dialects(profiles).map(|dialect| dialect.guide));
    }
    let mut text = String::new();
    for (number, guide) in guides.iter().enumerate() {
        if number > 0 {
            text.push_str("\n\n");
        }
        text.push_str(guide.introduction);
    }
    // One list is enough, whatever ways there are to load from it.
    let Some(guide) = guides.first() else {
        return text;
    };
    text.push_str("\n\n");
    text.push_str(guide.heading);
    let Some(library) = library else {
        text.push_str("\nthe list of skills isn't available right now; use the tools to see it");
        return text;
    };
    let catalogue = guide::catalogue(library, guide, budget);
    if catalogue.shown + catalogue.left_out == 0 {
        text.push_str(if library.skills().is_empty() {
            "\nthere are no skills yet"
        } else {
            "\nno skill is enabled"
        });
    } else {
        text.push('\n');
        text.push_str(catalogue.text.trim_end());
    }
    text
}
