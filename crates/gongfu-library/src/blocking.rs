//! Work that waits for disks.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Does work that may take long, while other requests are answered.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        // There is one thread, or no runtime.
        _ => work(),
    }
}
