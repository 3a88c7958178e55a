//! Tests of copying, and of what is left out.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Before, Copier, Sources};

fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn copied(sources: &[&TempDir], to: &Path) -> std::io::Result<Before> {
    let to = OwnedFd::from(fs::File::open(to).unwrap());
    let sources: Vec<PathBuf> = sources.iter().map(|one| one.path().to_owned()).collect();
    let mut measured = Copier::new(100_000, 20);
    let sources = Sources {
        paths: &sources,
        are_real: true,
    };
    measured.measure(&sources, &[])?;
    let mut copier = Copier::new(100_000, 20);
    let before = copier.copy(&sources, &[], &to)?;
    assert_eq!(copier.bytes, measured.bytes);
    assert_eq!(copier.files, measured.files);
    Ok(before)
}

#[test]
fn copy_of_several_folders_is_their_overlay() {
    let [above, below, to] = [(), (), ()].map(|()| tempfile::tempdir().unwrap());
    write(&above, "both", "above");
    write(&below, "both", "below");
    write(&above, "folder/a", "a");
    write(&below, "folder/b", "b");
    write(&above, "was-folder", "a file now");
    write(&below, "was-folder/x", "x");
    symlink("/etc/passwd", below.path().join("link")).unwrap();
    fs::set_permissions(
        below.path().join("folder/b"),
        fs::Permissions::from_mode(0o4755),
    )
    .unwrap();
    copied(&[&above, &below], to.path()).unwrap();
    let text = |path: &str| fs::read_to_string(to.path().join(path)).unwrap();
    assert_eq!(
        ["both", "folder/a", "folder/b", "was-folder"].map(text),
        ["above", "a", "b", "a file now"]
    );
    // A link stays one, wherever it leads.
    let link = fs::read_link(to.path().join("link")).unwrap();
    assert_eq!(link, Path::new("/etc/passwd"));
    let mode = fs::metadata(to.path().join("folder/b")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o7777, 0o755);
}

#[test]
fn refuses_too_many_bytes_files_and_levels() {
    let [large, many, deep] = [(), (), ()].map(|()| tempfile::tempdir().unwrap());
    write(&large, "large", &"x".repeat(120_000));
    for number in 0..30 {
        write(&many, &number.to_string(), "");
    }
    write(&deep, &format!("{}file", "d/".repeat(70)), "");
    for source in [&large, &many, &deep] {
        let to = tempfile::tempdir().unwrap();
        assert!(copied(&[source], to.path()).is_err());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn leaves_out_a_pipe() {
    let [source, to] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, source.path().join("pipe"), mode).unwrap();
    copied(&[&source], to.path()).unwrap();
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
}
