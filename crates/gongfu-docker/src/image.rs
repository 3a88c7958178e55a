//! The image of containers: one that is made here of a few links and texts, or one that an operator names.
//!
//! Ours is nothing but what the machine's programs are bound into, so nothing is ever fetched: it is
//! imported once, under a name that says what it holds.

use bollard::query_parameters::CreateImageOptions;
use futures_util::StreamExt as _;
use gongfu_sandbox::backend::{Failure, Piece, View};

use super::daemon::{Daemon, told};

/// What images are called that are made here.
const NAME: &str = "gongfu-sandbox";
/// A tape is written in blocks of so many bytes.
const BLOCK: usize = 512;
/// How files, folders and links are called on it.
const FILE: u8 = b'0';
const LINK: u8 = b'2';
const FOLDER: u8 = b'5';

/// An image that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) name: String,
    /// Where it has programs looked for.
    pub(super) path: Option<String>,
    /// Places that it wants to be written and kept, which they aren't.
    pub(super) volumes: Vec<String>,
}

/// The image of the machine's programs; it is imported where it isn't there.
pub(super) async fn of_machine(daemon: &Daemon) -> Result<Image, Failure> {
    let tape = tape(&View::of_the_system()?.pieces);
    let tag = format!("{:016x}", digest(&tape));
    let image = Image {
        name: format!("{NAME}:{tag}"),
        ..Image::default()
    };
    if daemon.api.inspect_image(&image.name).await.is_ok() {
        return Ok(image);
    }
    let options = CreateImageOptions {
        from_src: Some("-".to_owned()),
        repo: Some(NAME.to_owned()),
        tag: Some(tag),
        ..CreateImageOptions::default()
    };
    let body = bollard::body_full(tape.into());
    let mut steps = daemon.api.create_image(Some(options), Some(body), None);
    while let Some(step) = steps.next().await {
        step.map_err(|error| told("the image of the sandbox can't be imported", &error))?;
    }
    Ok(image)
}

/// An image that an operator names, which must be there.
pub(super) async fn named(daemon: &Daemon, name: &str) -> Result<Image, Failure> {
    let found = match daemon.api.inspect_image(name).await {
        Ok(found) => found,
        Err(bollard::errors::Error::DockerResponseServerError {
            status_code: 404, ..
        }) => {
            return Err(Failure::Unavailable(format!(
                "the daemon has no image `{name}`, which the settings name; have it by `docker pull \
                 {name}` or `docker load`, or take `image` out of `[sandbox.docker]`"
            )));
        }
        Err(error) => return Err(told("the image can't be looked at", &error)),
    };
    let config = found.config.unwrap_or_default();
    let variables = config.env.unwrap_or_default();
    let path = variables.iter().find_map(|one| one.strip_prefix("PATH="));
    Ok(Image {
        // By what it is, and not by a name that leads elsewhere tomorrow.
        name: found.id.unwrap_or_else(|| name.to_owned()),
        path: path.map(str::to_owned),
        volumes: config.volumes.unwrap_or_default(),
    })
}

/// The folders, links and texts among these pieces as a tape (`tar(5)`); the rest is mounted.
fn tape(pieces: &[Piece]) -> Vec<u8> {
    let mut tape = Vec::new();
    for piece in pieces {
        let is_of_runtime = |at: &str| at.starts_with("/dev") || at.starts_with("/proc");
        match piece {
            Piece::Folder(at) if !is_of_runtime(at) => entry(&mut tape, at, FOLDER, "", ""),
            Piece::Link { at, to } if !is_of_runtime(at) => entry(&mut tape, at, LINK, to, ""),
            Piece::Text { at, text } => entry(&mut tape, at, FILE, "", text),
            _ => {}
        }
    }
    // Two empty blocks are its end.
    tape.resize(tape.len() + 2 * BLOCK, 0);
    tape
}

/// Adds one entry, which belongs to root and is of no time.
fn entry(tape: &mut Vec<u8>, at: &str, kind: u8, to: &str, text: &str) {
    let mut head = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| {
        for (to, from) in head.iter_mut().skip(at).zip(bytes) {
            *to = *from;
        }
    };
    let name = at.trim_start_matches('/');
    let mode: &[u8] = if kind == FOLDER {
        b"0000755"
    } else {
        b"0000644"
    };
    put(0, name.as_bytes());
    put(100, mode);
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", text.len()).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, to.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    for (to, from) in head.iter_mut().skip(148).zip(sum.bytes()) {
        *to = from;
    }
    tape.extend(head);
    tape.extend(text.as_bytes());
    tape.resize(tape.len().next_multiple_of(BLOCK), 0);
}

/// FNV-1a: what it is of is made here, so nobody has a reason to find another one of the same.
fn digest(bytes: &[u8]) -> u64 {
    let each = bytes.iter();
    each.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use gongfu_sandbox::backend::{Piece, View};

    use super::{digest, tape};

    #[test]
    fn a_tape_is_what_tar_reads() {
        let pieces = [
            Piece::Folder("/etc".to_owned()),
            Piece::Folder("/dev".to_owned()),
            Piece::Link {
                at: "/bin".to_owned(),
                to: "usr/bin".to_owned(),
            },
            Piece::Text {
                at: "/etc/passwd".to_owned(),
                text: "root:x:0:0".repeat(100),
            },
            Piece::Scratch("/tmp".to_owned()),
        ];
        let tape = tape(&pieces);
        assert_eq!(tape.len() % 512, 0);
        let mut tar = Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        tar.stdin.take().unwrap().write_all(&tape).unwrap();
        let said = tar.wait_with_output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let lines: Vec<Vec<&str>> = said
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let of = |number: usize| (lines[number][0], lines[number][1], lines[number][2]);
        assert_eq!(lines.len(), 3, "{said}");
        assert_eq!(of(0), ("drwxr-xr-x", "0/0", "0"));
        assert_eq!(of(1), ("lrw-r--r--", "0/0", "0"));
        assert_eq!(of(2), ("-rw-r--r--", "0/0", "1000"));
        assert!(said.contains("bin -> usr/bin"), "{said}");
    }

    #[test]
    fn what_it_holds_says_what_it_is_called() {
        let system = View::of_the_system().unwrap().pieces;
        assert_eq!(digest(&tape(&system)), digest(&tape(&system)));
        assert_ne!(digest(&tape(&system)), digest(&tape(&[])));
    }
}
