//! The skills that come with gongfu, as files: they are read like any others.

use std::io;
use std::path::PathBuf;

use gongfu_core::skill::Digest;
use gongfu_files::Home;

const FOLDER: &str = "built-in";

/// Writes the built-in skills below the home, unless they are there; answers their folder.
///
/// `files` are (path below the folder, content). Each set of contents has a folder of its own, created
/// by one rename, so that processes of two versions share a home.
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
    let name = Digest::of(&all).hex(16);
    let folder = home.folder(FOLDER)?;
    match folder.put_folder(&name, files) {
        // Of an earlier start, or of another process that was faster.
        Err(_) if folder.dir().exists(&name) => {}
        created => created?,
    }
    Ok(folder.path().join(&name))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests make the folders that they look at"
)]
mod tests {
    use super::unpack;
    use gongfu_files::Home;

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
