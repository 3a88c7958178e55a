//! The image of containers: our own of a few links and texts, or one that the settings name.
//!
//! The host's programs are mounted into our own, so nothing is ever pulled: it is imported once, under a tag
//! that is a digest of its content.

use bollard::query_parameters::CreateImageOptions;
use futures_util::StreamExt as _;
use gongfu_sandbox::backend::{Failure, Piece, View};

use super::daemon::{Daemon, daemon_failure};

/// The name of our own images.
const NAME: &str = "gongfu-sandbox";
/// The size of a block of an archive, in bytes (`tar(5)`).
const BLOCK: usize = 512;
/// The kinds of entries.
const FILE: u8 = b'0';
const LINK: u8 = b'2';
const FOLDER: u8 = b'5';

/// An image that the daemon has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) name: String,
    /// Its folders of programs.
    pub(super) path: Option<String>,
    /// Folders that it wants to write and keep; here they are in memory.
    pub(super) volumes: Vec<String>,
}

/// Our own image for the host's programs; it is imported if the daemon doesn't have it.
pub(super) async fn of_host_programs(daemon: &Daemon) -> Result<Image, Failure> {
    let archive = archive(&View::of_the_system()?.pieces);
    let tag = format!("{:016x}", digest(&archive));
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
    let body = bollard::body_full(archive.into());
    let mut steps = daemon.api.create_image(Some(options), Some(body), None);
    while let Some(step) = steps.next().await {
        step.map_err(|error| daemon_failure("can't import the sandbox image", &error))?;
    }
    Ok(image)
}

/// The image that the settings name, which the daemon must have.
pub(super) async fn named(daemon: &Daemon, name: &str) -> Result<Image, Failure> {
    let found = match daemon.api.inspect_image(name).await {
        Ok(found) => found,
        Err(bollard::errors::Error::DockerResponseServerError {
            status_code: 404, ..
        }) => {
            return Err(Failure::Unavailable(format!(
                "the daemon doesn't have the image `{name}` from the settings; get it with `docker pull {name}` or `docker load`, or remove `image` from `[sandbox.docker]`"
            )));
        }
        Err(error) => return Err(daemon_failure("can't inspect the image", &error)),
    };
    let config = found.config.unwrap_or_default();
    let variables = config.env.unwrap_or_default();
    let path = variables.iter().find_map(|one| one.strip_prefix("PATH="));
    Ok(Image {
        // The name may mean another image tomorrow.
        name: found.id.unwrap_or_else(|| name.to_owned()),
        path: path.map(str::to_owned),
        volumes: config.volumes.unwrap_or_default(),
    })
}

/// The folders, links and texts among these pieces as an archive; the rest is mounted.
fn archive(pieces: &[Piece]) -> Vec<u8> {
    let mut archive = Vec::new();
    for piece in pieces {
        let is_of_runtime = |at: &str| at.starts_with("/dev") || at.starts_with("/proc");
        match piece {
            Piece::Folder(at) if !is_of_runtime(at) => add_entry(&mut archive, at, FOLDER, "", ""),
            Piece::Link { at, to } if !is_of_runtime(at) => {
                add_entry(&mut archive, at, LINK, to, "");
            }
            Piece::Text { at, text } => add_entry(&mut archive, at, FILE, "", text),
            _ => {}
        }
    }
    // Two empty blocks are its end.
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}

/// Adds an entry, which belongs to root and has no time.
fn add_entry(archive: &mut Vec<u8>, at: &str, kind: u8, to: &str, text: &str) {
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
    archive.extend(head);
    archive.extend(text.as_bytes());
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
}

/// FNV-1a: the content is our own, so a collision is no attack.
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

    use super::{archive, digest};

    #[test]
    fn archive_is_readable_by_tar() {
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
        let archive = archive(&pieces);
        assert_eq!(archive.len() % 512, 0);
        let mut tar = Command::new("tar")
            .args(["--list", "--verbose", "--numeric-owner"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        tar.stdin.take().unwrap().write_all(&archive).unwrap();
        let output = tar.wait_with_output().unwrap();
        let list = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Vec<&str>> = list
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let of = |number: usize| (lines[number][0], lines[number][1], lines[number][2]);
        assert_eq!(lines.len(), 3, "{list}");
        assert_eq!(of(0), ("drwxr-xr-x", "0/0", "0"));
        assert_eq!(of(1), ("lrw-r--r--", "0/0", "0"));
        assert_eq!(of(2), ("-rw-r--r--", "0/0", "1000"));
        assert!(list.contains("bin -> usr/bin"), "{list}");
    }

    #[test]
    fn digest_depends_on_the_content() {
        let system = View::of_the_system().unwrap().pieces;
        assert_eq!(digest(&archive(&system)), digest(&archive(&system)));
        assert_ne!(digest(&archive(&system)), digest(&archive(&[])));
    }
}
