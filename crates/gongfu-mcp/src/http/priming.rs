//! The event without data that a stream begins with, for clients that don't know it.

use std::convert::Infallible;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;

/// The stream without the event without data that it begins with: older clients read that as JSON.
pub(super) fn without_priming(
    body: BoxBody<Bytes, Infallible>,
) -> impl Body<Data = Bytes, Error = Infallible> + Send + Sync {
    let mut is_first = true;
    body.map_frame(move |frame| {
        frame.map_data(|data| {
            if !std::mem::take(&mut is_first) {
                return data;
            }
            let end = data.windows(2).position(|pair| pair == b"\n\n");
            let event = end.and_then(|end| Some((end, data.get(..end)?)));
            let is_empty = |event: &[u8]| {
                let mut lines = event.split(|byte| *byte == b'\n');
                lines.all(|line| match line.strip_prefix(b"data:") {
                    Some(content) => content.trim_ascii().is_empty(),
                    None => !line.starts_with(b"event:"),
                })
            };
            match event {
                Some((end, event)) if is_empty(event) => data.slice(end + 2..),
                _ => data,
            }
        })
    })
}
