//! The one writer of a connection.
//!
//! Lines that wait together are written together, and flushed when none waits any more.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::flow::{Flow, Unsent};

/// Up to how many bytes lines are put together.
const TOGETHER: usize = 64 << 10;

/// Writes until it is told to end, or can't.
pub(super) async fn write<W: AsyncWrite + Unpin>(
    mut to: W,
    mut queue: UnboundedReceiver<Unsent>,
    flow: Arc<Flow>,
) {
    let mut waiting = Vec::new();
    while let Some(Unsent::Line(mut lines, who)) = queue.recv().await {
        waiting.extend(who);
        let mut last = false;
        while lines.len() < TOGETHER && !last {
            match queue.try_recv() {
                Ok(Unsent::Line(line, who)) => {
                    lines.extend_from_slice(&line);
                    waiting.extend(who);
                }
                Ok(Unsent::Close) => last = true,
                Err(_) => break,
            }
        }
        if put(&mut to, &lines, &flow).await.is_err() {
            flow.fail();
            return;
        }
        for who in waiting.drain(..) {
            // Who doesn't wait any more needn't know.
            let _: Result<(), ()> = oneshot::Sender::send(who, ());
        }
        if last {
            break;
        }
    }
    let _ = to.shutdown().await;
}

async fn put<W: AsyncWrite + Unpin>(to: &mut W, lines: &[u8], flow: &Flow) -> io::Result<()> {
    let mut rest = lines;
    while !rest.is_empty() {
        let written = to.write(rest).await?;
        rest = rest.get(written..).unwrap_or_default();
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        flow.taken(written);
    }
    to.flush().await
}
