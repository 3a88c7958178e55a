//! inotify: the queue of the kernel, and waiting for it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::{Happened, Mark, Unwatchable, Wanted};

/// What comes and goes in a folder, and what may be opened in it.
const NAMES: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The same, and what is written.
const CONTENT: WatchFlags = NAMES
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE);

/// Something or a folder itself came or went.
const MOVED: ReadFlags = ReadFlags::CREATE
    .union(ReadFlags::DELETE)
    .union(ReadFlags::MOVED_FROM)
    .union(ReadFlags::MOVED_TO)
    .union(ReadFlags::DELETE_SELF)
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::IGNORED);

/// File systems that are changed from elsewhere, by the numbers that the kernel gives them.
const REMOTE: [u32; 14] = [
    0x6969,      // NFS
    0x6573_5546, // FUSE, virtiofs
    0x0102_1997, // 9p
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB 2
    0x517B,      // SMB
    0x00C3_6400, // Ceph
    0x5346_414F, // AFS
    0x7375_7245, // Coda
    0x564C,      // NCP
    0x0116_1970, // GFS2
    0x7461_636F, // OCFS2
    0x0BD0_0BD0, // Lustre
    0x786F_4256, // VirtualBox's shared folders
];

/// The kernel's queue of events.
#[derive(Debug)]
pub(super) struct Queue(Arc<OwnedFd>);

/// Waits for a queue, for time, or to be woken.
#[derive(Debug, Clone)]
pub struct Waiter {
    queue: Option<Arc<OwnedFd>>,
    wake: Arc<OwnedFd>,
}

impl Queue {
    pub(super) fn new() -> Result<Self, Unwatchable> {
        match inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) {
            Ok(queue) => Ok(Self(Arc::new(queue))),
            Err(error) => Err(unwatchable(error)),
        }
    }

    pub(super) fn add(&self, path: &Path, wanted: Wanted) -> Result<Mark, Unwatchable> {
        let wanted = match wanted {
            Wanted::Folder => CONTENT | WatchFlags::DONT_FOLLOW,
            Wanted::Content => CONTENT,
            // A folder may be watched for more than one reason.
            Wanted::Names => NAMES | WatchFlags::MASK_ADD,
        };
        if is_remote(path) {
            return Err(Unwatchable::Remote);
        }
        let added = inotify::add_watch(&*self.0, path, wanted);
        added.map(Mark).map_err(unwatchable)
    }

    pub(super) fn remove(&self, mark: Mark) {
        // A folder that went took its mark along.
        let _ = inotify::remove_watch(&*self.0, mark.0);
    }

    pub(super) fn drain(&self, mut told: impl FnMut(Happened<'_>)) {
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 16 * 1024];
        let mut reader = Reader::new(&*self.0, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                // Nothing more; any other error of this call can't be told from an empty queue.
                Err(_) => return,
            };
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                told(Happened {
                    mark: None,
                    name: None,
                    is_folder: false,
                    moved: true,
                    ended: false,
                });
                continue;
            }
            let name = event.file_name().map(std::ffi::CStr::to_string_lossy);
            told(Happened {
                mark: Some(Mark(event.wd())),
                name: name.as_deref(),
                is_folder: flags.contains(ReadFlags::ISDIR),
                moved: flags.intersects(MOVED),
                ended: flags.contains(ReadFlags::IGNORED),
            });
        }
    }
}

fn unwatchable(error: Errno) -> Unwatchable {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Unwatchable::Gone,
        Errno::NOSPC | Errno::MFILE | Errno::NFILE | Errno::NOMEM => Unwatchable::Exhausted,
        other => Unwatchable::Other(crate::disk::reason(&other.into())),
    }
}

/// Whether a folder lies on a file system that is changed from elsewhere.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the type of the field differs between architectures; the numbers have 32 bits"
)]
pub fn is_remote(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|system| REMOTE.contains(&(system.f_type as u32)))
}

impl Waiter {
    /// Something that waits for time, or to be woken.
    ///
    /// # Errors
    /// This process may open nothing more.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            queue: None,
            wake: Arc::new(wake),
        })
    }

    /// Waits for these events from now on, too.
    pub fn attend(&mut self, watches: &super::Watches) {
        self.queue = Some(Arc::clone(&watches.system.0));
    }

    /// Waits until something happened, somebody wakes it or the time is over; answers whether
    /// something happened.
    pub fn wait(&self, patience: Option<Duration>) -> bool {
        self.poll(patience, self.queue.as_deref())
    }

    /// Waits until somebody wakes it or the time is over, whatever happens.
    pub fn rest(&self, patience: Duration) {
        self.poll(Some(patience), None);
    }

    fn poll(&self, patience: Option<Duration>, queue: Option<&OwnedFd>) -> bool {
        let wake = PollFd::new(&*self.wake, PollFlags::IN);
        let queue = queue.map(|queue| PollFd::new(queue, PollFlags::IN));
        let mut waited: Vec<PollFd<'_>> = std::iter::once(wake).chain(queue).collect();
        let patience = patience.and_then(|patience| Timespec::try_from(patience).ok());
        // Interrupted, it looks like a time that is over: whoever waits asks again.
        let _ = poll(&mut waited, patience.as_ref());
        let mut ready = waited
            .iter()
            .map(|one| one.revents().contains(PollFlags::IN));
        if ready.next() == Some(true) {
            let _ = rustix::io::read(&*self.wake, &mut [0_u8; 8]);
        }
        ready.next() == Some(true)
    }

    /// Wakes whoever waits.
    pub fn wake(&self) {
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}
