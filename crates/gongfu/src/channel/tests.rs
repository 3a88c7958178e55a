//! Programs in the places where each channel puts them.

use std::fs;
use std::path::PathBuf;

use super::{CHANNELS, Program};

/// Files with their text.
type Files = &'static [(&'static str, &'static str)];

/// The places where channels put the program, and the files that they leave.
const PLACES: [(&str, &str, Files); 16] = [
    (
        "the container image",
        "usr/local/bin",
        &[("usr/local/bin/.gongfu-channel", "image\n")],
    ),
    (
        "an .mcpb bundle",
        "ext/server",
        &[("ext/server/.gongfu-channel", "bundle\n")],
    ),
    (
        "the installer",
        "u/.local/bin",
        &[("u/.local/bin/.gongfu-channel", "archive\n")],
    ),
    (
        "the Debian package",
        "usr/bin",
        &[("var/lib/dpkg/info/gongfu.list", "")],
    ),
    (
        "npx, in its cache",
        "u/.npm/_npx/ab/node_modules/@gongfu-skills/linux-x64/bin",
        &[],
    ),
    (
        "npm",
        "usr/lib/node_modules/gongfu/node_modules/@gongfu-skills/linux-x64/bin",
        &[],
    ),
    (
        "npm, in a project",
        "u/project/node_modules/@gongfu-skills/linux-x64/bin",
        &[],
    ),
    (
        "uvx, in its cache",
        "u/.cache/uv/archive-v0/ab/bin",
        &[(
            "u/.cache/uv/archive-v0/ab/lib/python3.11/site-packages/gongfu-1.dist-info/RECORD",
            "",
        )],
    ),
    (
        "uv",
        "u/.local/share/uv/tools/gongfu/bin",
        &[("u/.local/share/uv/tools/gongfu/uv-receipt.toml", "")],
    ),
    (
        "pipx",
        "u/.local/pipx/venvs/gongfu/bin",
        &[("u/.local/pipx/venvs/gongfu/pipx_metadata.json", "{}")],
    ),
    (
        "pip",
        "u/venv/bin",
        &[(
            "u/venv/lib/python3.13/site-packages/gongfu-0.1.0.dist-info/RECORD",
            "",
        )],
    ),
    (
        "cargo",
        "u/.cargo/bin",
        &[("u/.cargo/.crates.toml", "[v1]\n")],
    ),
    ("a build of the sources", "u/gongfu/target/release", &[]),
    // Not what they look like.
    ("hand", "usr/bin", &[]),
    (
        "hand",
        "u/venv/bin",
        &[(
            "u/venv/lib/python3.13/site-packages/other-0.1.0.dist-info/RECORD",
            "",
        )],
    ),
    (
        "hand",
        "u/.local/bin",
        &[("u/.local/bin/.gongfu-channel", "nonsense")],
    ),
];

#[test]
fn each_channel_is_recognised_by_what_it_leaves() {
    for (channel, folder, files) in PLACES {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let program = Program {
            path: root.join(folder).join("gongfu"),
            root: root.clone(),
        };
        fs::create_dir_all(root.join(folder)).unwrap();
        for (file, text) in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        }
        assert_eq!(program.channel().title, channel, "{folder}");
        for command in [program.update(), program.remove()] {
            assert!(!command.is_empty() && !command.contains('{'), "{command}");
        }
        fs::remove_dir_all(&root).unwrap();
    }
    for channel in &CHANNELS {
        let mut cases = PLACES.iter();
        assert!(
            cases.any(|(title, ..)| *title == channel.title),
            "{}",
            channel.title
        );
    }
}

#[test]
fn commands_quote_what_a_shell_would_split() {
    let program = Program {
        path: PathBuf::from("/opt/it's here/gongfu"),
        root: PathBuf::from("/"),
    };
    assert_eq!(program.remove(), r"rm '/opt/it'\''s here/gongfu'");
    let npx = Program {
        path: PathBuf::from("/u/.npm/_npx/ab/node_modules/gongfu/node_modules/x/bin/gongfu"),
        root: PathBuf::from("/"),
    };
    assert_eq!(npx.remove(), "rm -r /u/.npm/_npx/ab");
}
