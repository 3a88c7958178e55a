//! The skills that come with gongfu, written out once so that they are read like any others.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::skill::Digest;

use crate::disk::{self, Root};
use crate::home::Home;

const FOLDER: &str = "built-in";

/// Writes the built-in skills below the home and answers where; does nothing when they are there.
///
/// `files` are (path below the folder, content). Each set of contents has a folder of its own, put
/// in place by one rename, so that processes of two versions share a home.
///
/// # Errors
/// The home can't be written.
pub fn unpack(home: &Home, files: &[(&str, &[u8])]) -> io::Result<PathBuf> {
    let mut all = Vec::new();
    for (path, content) in files {
        all.extend_from_slice(path.as_bytes());
        all.push(0);
        all.extend_from_slice(&Digest::of(content).to_bytes());
    }
    let name: String = Digest::of(&all)
        .to_string()
        .chars()
        .skip("sha256:".len())
        .take(16)
        .collect();
    let folder = home.folder(FOLDER)?;
    let target = folder.path().join(&name);
    if folder.dir().exists(&name) {
        return Ok(target);
    }
    let temporary = disk::temporary_name(&name);
    if let Err(error) = write_all(&folder, &temporary, files) {
        // A full disk: what was written so far is in the way of nobody.
        let _ = folder.dir().remove_dir_all(&temporary);
        return Err(error);
    }
    match folder.dir().rename(&temporary, folder.dir(), &name) {
        Ok(()) => Ok(target),
        // Another process was faster.
        Err(_) if folder.dir().exists(&name) => {
            folder.dir().remove_dir_all(&temporary)?;
            Ok(target)
        }
        Err(error) => Err(error),
    }
}

fn write_all(folder: &Root, temporary: &str, files: &[(&str, &[u8])]) -> io::Result<()> {
    for (path, content) in files {
        let path = Path::new(temporary).join(path);
        if let Some(parent) = path.parent() {
            folder.dir().create_dir_all(parent)?;
        }
        folder.dir().write(&path, content)?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use super::unpack;
    use crate::home::Home;

    #[test]
    fn unpacking_twice_or_at_once_is_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let files: &[(&str, &[u8])] = &[("a/SKILL.md", b"x"), ("a/scripts/run.py", b"y")];
        let places: Vec<_> = std::thread::scope(|scope| {
            let started: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| unpack(&home, files).unwrap()))
                .collect();
            started.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(places.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(
            std::fs::read(places[0].join("a/scripts/run.py")).unwrap(),
            b"y"
        );
        assert_eq!(
            std::fs::read_dir(folder.path().join("built-in"))
                .unwrap()
                .count(),
            1
        );
        assert_ne!(unpack(&home, &[("a/SKILL.md", b"z")]).unwrap(), places[0]);
    }
}
