//! What the index tells of the folders of a root: a start lists only those that changed since.
//!
//! Kept is only what could be trusted when it was listed: a change that came right after it, however
//! coarse the times of the file system are, left another stamp. So the look that is made when the
//! folders are watched recalls as well; one that is made because nobody watches reads everything.

use super::known::is_settled;
use super::root::Look;
use crate::disk::{FolderStamp, Listing, Listings, Root};
use crate::index;
use crate::walk::{self, Source, Walk};

/// Walks everything with what the index tells; answers as well whether the index would be another.
pub(super) fn recalling(root: &Root, look: &Look<'_>, remote: bool) -> (Walk, bool) {
    let known: Listings = index::load_folders(look.home, root.path());
    let walk = walk::walk_knowing(root, look.place.limits, &known);
    let recalled = |source: Source| matches!(source, Source::Recalled(_));
    let mut folders = walk.folders.iter();
    let same = folders.by_ref().filter(|folder| recalled(folder.source));
    let gone = same.count() < known.len();
    let trusted = trusted(root, look, remote);
    let mut folders = walk.folders.iter();
    let new = folders.any(|folder| !recalled(folder.source) && trusted(folder.source).is_some());
    // Tens of thousands of names are given back while others are compared.
    rayon::spawn(move || drop(known));
    (walk, gone || new)
}

/// Keeps in the index what a walk of everything found.
pub(super) fn keep(root: &Root, look: &Look<'_>, remote: bool, walk: &Walk) {
    let trusted = trusted(root, look, remote);
    let listings = walk.folders.iter().filter_map(|folder| {
        let listing = Listing::of(trusted(folder.source)?, &folder.entries)?;
        Some((&folder.path, listing))
    });
    if let Err(error) = index::save_folders(look.home, root.path(), listings) {
        tracing::debug!(root = %root.path().display(), %error, "the index can't be kept");
    }
}

/// Tells the stamps that can be trusted: old enough when the folder was read, and of a file system
/// that keeps such times.
fn trusted(root: &Root, look: &Look<'_>, remote: bool) -> impl Fn(Source) -> Option<FolderStamp> {
    let own = root.trusted();
    let now = look.now;
    move |source| {
        let own = own.as_ref()?;
        match source {
            Source::Recalled(stamp) => Some(stamp),
            Source::Listed(stamp) => {
                (stamp.is_beside(own) && is_settled(now, remote, stamp.changed)).then_some(stamp)
            }
            Source::Unstamped => None,
        }
    }
}
