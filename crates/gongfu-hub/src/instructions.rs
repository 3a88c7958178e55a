//! The text about skills that a server gives its client before any tool is called.

use gongfu_core::catalogue;
use gongfu_core::library::Library;

use crate::guide::{self, Guide};
use crate::profile::{self, Profile};

/// The room for the instructions of a server, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionRoom {
    /// The size limit of the list of skills.
    pub catalogue: usize,
    /// The part of the whole text that the client shows its model; it cuts the rest off.
    pub total: usize,
}

/// The instructions of a server that shows these profiles: what the skills are, within this room.
pub(crate) fn instructions(
    profiles: &[Profile],
    library: Option<&Library>,
    room: InstructionRoom,
) -> String {
    let standard = |profile: &Profile| matches!(profile, Profile::Standard | Profile::All);
    let mut guides: Vec<Guide> = Vec::new();
    if profiles.iter().any(standard) {
        guides.push(guide::STANDARD);
    } else {
        guides.extend(profile::dialects(profiles).map(|dialect| dialect.guide));
    }
    // One list is enough, whatever ways there are to load from it.
    let Some(guide) = guides.first() else {
        return String::new();
    };
    let mut text = match library.map(|library| guide::count(library, guide)) {
        Some(1) if guide.counts => "1 skill. ".to_owned(),
        Some(count) if guide.counts && count > 1 => format!("{count} skills. "),
        _ => String::new(),
    };
    let introductions: Vec<&str> = guides.iter().map(|guide| guide.introduction).collect();
    text.push_str(&introductions.join("\n\n"));
    text.push_str("\n\n");
    let Some(library) = library else {
        text.push_str("The skills are still being read: the tools will list them.");
        return text;
    };
    if guide::count(library, guide) == 0 {
        text.push_str(if library.skills().is_empty() {
            "There are no skills yet."
        } else {
            "Every skill is disabled."
        });
        return text;
    }
    text.push_str(guide.heading);
    text.push('\n');
    let left = room.total.saturating_sub(catalogue::length(&text));
    let catalogue = guide::catalogue(library, guide, room.catalogue.min(left));
    text.push_str(catalogue.text.trim_end());
    text
}
