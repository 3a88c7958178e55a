//! A view that a launcher or a container's runtime built: init checks it, and waits for the copies in its layers.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;

use super::init::{self, Contents, SizedFileSystems};
use super::step::{Failure, at};
use crate::plan::{Piece, Plan, Source, Step};
use crate::wire;

/// Space that a file system takes for names and for itself, in bytes.
const OVERHEAD: u64 = 1024 * 1024;

/// Checks the view, reports that the program can start, and waits until the server has filled the layers;
/// returns their contents, which no longer count as written by the run. `None` when the server is gone.
pub(super) fn prepare(control: &OwnedFd, plan: &mut Plan) -> Result<Option<Contents>, Failure> {
    let layers = check(plan)?;
    init::report_ready(control, &layers)?;
    let filled = wire::receive::<()>(control).map_err(Failure::at(Step::Init))?;
    if filled.is_none() {
        return Ok(None);
    }
    let contents = SizedFileSystems::of(plan).contents();
    let contents = contents.ok_or_else(|| at(Step::Init)(Errno::NOENT))?;
    let limits = &mut plan.limits;
    limits.disk = limits.disk.saturating_add(contents.bytes + OVERHEAD);
    limits.files = limits.files.saturating_add(contents.files);
    Ok(Some(contents))
}

/// Checks that the view is the one that was planned, and adds the pieces that can only be made within; answers
/// handles of its layers.
fn check(plan: &Plan) -> Result<Vec<OwnedFd>, Failure> {
    let mut layers = Vec::new();
    for (number, piece) in plan.view.iter().enumerate() {
        let wrong = at(Step::View(number));
        match piece {
            Piece::Text { at, text } => {
                std::fs::write(at, text).map_err(Failure::at(Step::View(number)))?;
            }
            Piece::Bind { at, source, .. } => {
                check_bind(at, plan.sources.get(*source)).map_err(wrong)?;
            }
            Piece::Layer { at, .. } => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                layers.push(fs::open(&**at, flags, Mode::empty()).map_err(wrong)?);
            }
            Piece::File(at) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(0o444);
                layers.push(fs::open(&**at, flags, mode).map_err(wrong)?);
            }
            Piece::Folder(_)
            | Piece::Link { .. }
            | Piece::Scratch(_)
            | Piece::Hidden(_)
            | Piece::Processes(_)
            | Piece::Terminals(_) => {}
        }
    }
    Ok(layers)
}

/// Checks that a path shows the planned source, and no other that has its name by now.
fn check_bind(at: &str, source: Option<&Source>) -> rustix::io::Result<()> {
    let found = fs::stat(Path::new(at))?;
    match source {
        Some(source) if (source.id.device, source.id.inode) == (found.st_dev, found.st_ino) => {
            Ok(())
        }
        _ => Err(Errno::STALE),
    }
}
