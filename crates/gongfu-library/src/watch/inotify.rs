//! inotify: the kernel's queue of events, and waiting for it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::event::{Interest, Mark, RawEvent, Unwatchable};

/// Entries that come and go, and changes of permissions.
const NAMES: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// The same, and writes.
const CONTENT: WatchFlags = NAMES
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE);

/// An entry or the folder itself came or went.
const MOVED: ReadFlags = ReadFlags::CREATE
    .union(ReadFlags::DELETE)
    .union(ReadFlags::MOVED_FROM)
    .union(ReadFlags::MOVED_TO)
    .union(ReadFlags::DELETE_SELF)
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::IGNORED);

/// File systems that other machines change, by their magic numbers.
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

/// Waits for a queue, a timeout, or to be woken.
#[derive(Debug, Clone)]
pub(crate) struct Waiter {
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

    pub(super) fn add(&self, path: &Path, wanted: Interest) -> Result<Mark, Unwatchable> {
        let wanted = match wanted {
            Interest::Folder => CONTENT | WatchFlags::DONT_FOLLOW,
            Interest::Content => CONTENT,
            // A folder may be watched for more than one reason.
            Interest::Names => NAMES | WatchFlags::MASK_ADD,
        };
        if is_remote(path) {
            return Err(Unwatchable::Remote);
        }
        let added = inotify::add_watch(&*self.0, path, wanted);
        added.map(Mark).map_err(unwatchable)
    }

    pub(super) fn remove(&self, mark: Mark) {
        // A folder that was removed has no mark any more.
        let _ = inotify::remove_watch(&*self.0, mark.0);
    }

    pub(super) fn drain(&self, mut take: impl FnMut(RawEvent<'_>)) {
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
                take(RawEvent {
                    mark: None,
                    name: None,
                    is_folder: false,
                    moved: true,
                    ended: false,
                });
                continue;
            }
            let name = event.file_name().map(std::ffi::CStr::to_string_lossy);
            take(RawEvent {
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
        other => Unwatchable::Other(gongfu_files::disk::reason(&other.into())),
    }
}

/// Returns whether a folder lies on a file system that other machines change.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the type of the field differs between architectures; the numbers have 32 bits"
)]
pub(crate) fn is_remote(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|system| REMOTE.contains(&(system.f_type as u32)))
}

impl Waiter {
    /// A waiter without a queue.
    ///
    /// # Errors
    /// This process may open no more files.
    pub(crate) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            queue: None,
            wake: Arc::new(wake),
        })
    }

    pub(super) fn attach(&mut self, queue: &Queue) {
        self.queue = Some(Arc::clone(&queue.0));
    }

    /// Waits for an event, a wake-up or the timeout; answers whether there was an event.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        self.poll(timeout, self.queue.as_deref())
    }

    /// Waits for a wake-up or the timeout, whatever events come.
    pub(crate) fn rest(&self, timeout: Duration) {
        self.poll(Some(timeout), None);
    }

    fn poll(&self, timeout: Option<Duration>, queue: Option<&OwnedFd>) -> bool {
        let wake = PollFd::new(&*self.wake, PollFlags::IN);
        let queue = queue.map(|queue| PollFd::new(queue, PollFlags::IN));
        let mut waited: Vec<PollFd<'_>> = std::iter::once(wake).chain(queue).collect();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        // An interruption looks like a timeout: the caller looks again.
        let _ = poll(&mut waited, timeout.as_ref());
        let mut ready = waited
            .iter()
            .map(|one| one.revents().contains(PollFlags::IN));
        if ready.next() == Some(true) {
            let _ = rustix::io::read(&*self.wake, &mut [0_u8; 8]);
        }
        ready.next() == Some(true)
    }

    /// Ends the waiting of every clone.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}
