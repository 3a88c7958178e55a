//! Downloads that are archives or documents, and those that aren't.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use gongfu_archive::zip;
use gongfu_core::archive::{ArchiveFile, ArchiveLimits};
use gongfu_core::skill::SkillPath;

use super::read;
use crate::error::ImportCode;

fn file(path: &str, is_executable: bool) -> ArchiveFile {
    ArchiveFile {
        path: SkillPath::new(path).unwrap(),
        is_executable: Some(is_executable),
        bytes: path.as_bytes().to_vec(),
    }
}

fn tar(files: &[(&str, u32)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, mode) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(path.len() as u64);
        header.set_mode(*mode);
        builder
            .append_data(&mut header, path, path.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// The paths and modes of what bytes hold.
fn listed(bytes: Vec<u8>) -> String {
    let content = read(bytes, "it").unwrap();
    let files = content.files.iter();
    let shown = files.map(|(path, file)| format!("{path} {:o}", file.mode));
    shown.collect::<Vec<String>>().join(", ")
}

#[test]
fn an_archive_loses_the_folder_around_it() {
    let packed = zip::write(
        "repository-main",
        &[file("a/SKILL.md", false), file("a/run", true)],
    );
    assert_eq!(listed(packed.unwrap()), "a/SKILL.md 644, a/run 755");
    let packed = tar(&[("package/package.json", 0o644), ("package/bin/run", 0o755)]);
    assert_eq!(listed(packed), "bin/run 755, package.json 644");
    let files = [file("pdf/SKILL.md", false), file("png/SKILL.md", false)];
    let packed = zip::write(".", &files).unwrap();
    assert_eq!(listed(packed), "pdf/SKILL.md 644, png/SKILL.md 644");
}

/// A tar archive of files and of links with their targets.
fn with_links(files: &[&str], links: &[(&str, &str, tar::EntryType)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for path in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(path.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, path, path.as_bytes())
            .unwrap();
    }
    for (path, target, kind) in links {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o777);
        header.set_entry_type(*kind);
        builder.append_link(&mut header, path, target).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn a_link_of_an_archive_stands_for_what_it_leads_to() {
    use tar::EntryType::{Link, Symlink};

    let packed = with_links(
        &["top/a/SKILL.md", "top/b/SKILL.md", "top/shared/s"],
        &[
            ("top/a/s", "../../top/shared/s", Symlink),
            ("top/a/all", "../shared", Symlink),
            ("top/b/hard", "top/a/SKILL.md", Link),
            ("top/b/out", "/etc/passwd", Symlink),
            ("top/b/up", "../../../x", Symlink),
            ("top/b/none", "nowhere", Symlink),
        ],
    );
    let mut content = read(packed, "it").unwrap();
    let paths: Vec<&str> = content.files.keys().map(SkillPath::as_str).collect();
    let expected = [
        "a/SKILL.md",
        "a/all/s",
        "a/s",
        "b/SKILL.md",
        "b/hard",
        "shared/s",
    ];
    assert_eq!(paths, expected);
    let refused: Vec<&str> = content.refused.iter().map(|(path, _)| &**path).collect();
    assert_eq!(refused, ["b/out", "b/up"]);
    let read = |path| SkillPath::new(path).unwrap();
    let paths = [read("a/s"), read("b/hard"), read("shared/s")];
    let read = content.read(&paths.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(
        read,
        ["top/shared/s", "top/a/SKILL.md", "top/shared/s"].map(str::as_bytes)
    );
}

#[test]
fn links_of_one_skill_are_within_its_limits() {
    use tar::EntryType::Symlink;

    let archive = |links: &[(&str, &str, tar::EntryType)], limits| {
        super::archive(&with_links(&["SKILL.md", "a"], links), limits, "it")
    };
    let skill = ArchiveLimits::SKILL;
    let files = archive(&[("b", "a", Symlink)], skill).unwrap().unwrap();
    assert_eq!(files[&SkillPath::new("b").unwrap()].0, b"a");
    let outside = archive(&[("b", "/a", Symlink)], skill).unwrap_err();
    assert_eq!(outside.code, ImportCode::SourceRefused);
    let links = [("b", "SKILL.md", Symlink), ("c", "SKILL.md", Symlink)];
    let small = ArchiveLimits { total: 20, ..skill };
    let error = archive(&links, small).unwrap_err();
    assert_eq!(error.code, ImportCode::SourceTooLarge);
}

#[test]
fn the_files_of_macos_are_left_out() {
    let files = [
        file("pdf/SKILL.md", false),
        file("__MACOSX/pdf/._SKILL.md", false),
    ];
    let packed = zip::write(".", &files).unwrap();
    assert_eq!(listed(packed), "SKILL.md 644");
}

#[test]
fn content_is_read_from_the_archive() {
    let mut content = read(tar(&[("a/b", 0o644)]), "it").unwrap();
    let path = SkillPath::new("b").unwrap();
    assert_eq!(content.read(&[&path]).unwrap(), [b"a/b"]);
}

#[test]
fn a_text_with_frontmatter_is_a_document() {
    for text in [
        "---\nname: a\n---\n",
        "---\r\nname: a\r\n---\r\ntext",
        "\u{feff}---\nname: a\n---",
    ] {
        assert_eq!(listed(text.into()), "SKILL.md 644", "{text:?}");
    }
}

#[test]
fn other_bytes_are_refused() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(b"---\nname: a\n---\n").unwrap();
    for (bytes, code) in [
        (b"".to_vec(), ImportCode::SourceInvalid),
        (b"<!doctype html>".to_vec(), ImportCode::SourceInvalid),
        (b"---\nname: a\n".to_vec(), ImportCode::SourceInvalid),
        (b"---\n\xff\n---\n".to_vec(), ImportCode::SourceInvalid),
        (b"PK\x03\x04 broken".to_vec(), ImportCode::SourceRefused),
        (gzip.finish().unwrap(), ImportCode::SourceRefused),
        (tar(&[("a", 0o4755)]), ImportCode::SourceRefused),
    ] {
        let error = read(bytes.clone(), "it").unwrap_err();
        assert_eq!(error.code, code, "{bytes:?}");
        assert!(error.message.starts_with("it"), "{error}");
    }
}
