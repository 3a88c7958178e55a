//! The listings of a root's folders in the index: a start lists only the folders that changed.
//!
//! Only listings with a trusted stamp are stored: a change right after the listing left another
//! stamp, however coarse the times of the file system are. The look that is made when folders come
//! to be watched uses them as well; a look because nothing is watched reads everything.

use gongfu_files::Home;
use gongfu_files::disk::{FolderStamp, Listing, Listings};

use super::cached_skill::{Scene, is_settled};
use crate::index;
use crate::walk::{self, Origin, Walk};

/// Walks a root with the listings in the index; answers as well whether the index is out of date.
pub(super) fn walk(scene: Scene<'_>, home: &Home) -> (Walk, bool) {
    let known: Listings = index::load_listings(home, scene.root.path());
    let walk = walk::walk_with(scene.root, scene.place.limits, &known);
    let is_cached = |origin: Origin| matches!(origin, Origin::Cached(_));
    let mut folders = walk.folders.iter();
    let same = folders.by_ref().filter(|folder| is_cached(folder.origin));
    let gone = same.count() < known.len();
    let trusted = trusted(scene);
    let mut folders = walk.folders.iter();
    let new = folders.any(|folder| !is_cached(folder.origin) && trusted(folder.origin).is_some());
    // Tens of thousands of names are freed in the background.
    rayon::spawn(move || drop(known));
    (walk, gone || new)
}

/// Stores the listings of a walk of everything.
pub(super) fn save(scene: Scene<'_>, home: &Home, walk: &Walk) {
    let trusted = trusted(scene);
    let listings = walk.folders.iter().filter_map(|folder| {
        let listing = Listing::new(trusted(folder.origin)?, &folder.entries)?;
        Some((&folder.path, listing))
    });
    if let Err(error) = index::save_listings(home, scene.root.path(), listings) {
        tracing::debug!(root = %scene.root.path().display(), %error, "the index can't be written");
    }
}

/// Selects trusted stamps: old enough when the folder was listed, and of a file system that keeps the
/// times of folders.
fn trusted(scene: Scene<'_>) -> impl Fn(Origin) -> Option<FolderStamp> {
    let own = scene.root.trusted_stamp();
    let (now, remote) = (scene.now, scene.remote);
    move |origin| {
        let own = own.as_ref()?;
        match origin {
            Origin::Cached(stamp) => Some(stamp),
            Origin::Listed(stamp) => {
                (stamp.is_beside(own) && is_settled(now, remote, stamp.changed)).then_some(stamp)
            }
            Origin::Unstamped => None,
        }
    }
}
