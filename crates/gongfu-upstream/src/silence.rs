//! The silence of a call: the time since its server answered, told of progress, or waited for a person.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gongfu_core::port::{Asker, ProgressListener};
use tokio::time::{Instant, sleep};

/// The silence of one call.
#[derive(Clone)]
pub(crate) struct Silence(Arc<LastSign>);

struct LastSign {
    last: Mutex<Instant>,
    /// The questions that wait for a person.
    open: AtomicUsize,
}

/// A question that waits for a person, until it is dropped.
struct OpenQuestion(Silence);

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.0.hear();
        self.0.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Silence {
    pub(crate) fn new() -> Self {
        Self(Arc::new(LastSign {
            last: Mutex::new(Instant::now()),
            open: AtomicUsize::new(0),
        }))
    }

    fn hear(&self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The same listener; progress ends the silence.
    pub(crate) fn listener(&self, progress: ProgressListener) -> ProgressListener {
        let silence = self.clone();
        Arc::new(move |told| {
            silence.hear();
            progress(told);
        })
    }

    /// The same asker; there is no silence while a person is asked.
    pub(crate) fn asker(&self, ask: Asker) -> Asker {
        let silence = self.clone();
        Arc::new(move |question| {
            silence.0.open.fetch_add(1, Ordering::Relaxed);
            let open = OpenQuestion(silence.clone());
            let asking = ask(question);
            Box::pin(async move {
                let answer = asking.await;
                drop(open);
                answer
            })
        })
    }

    /// Waits until the silence has this length.
    pub(crate) async fn lasts(&self, limit: Duration) {
        loop {
            let last = *self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
            let is_open = self.0.open.load(Ordering::Relaxed) > 0;
            let silent = if is_open {
                Duration::ZERO
            } else {
                last.elapsed()
            };
            match limit.checked_sub(silent) {
                Some(left) if !left.is_zero() => sleep(left).await,
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::Value;
    use tokio::time::{Instant, sleep, timeout};

    use super::Silence;

    const LIMIT: Duration = Duration::from_mins(5);

    #[tokio::test(start_paused = true)]
    async fn silence_is_broken_by_progress_and_by_a_question() {
        let silence = Silence::new();
        let begun = Instant::now();
        silence.lasts(LIMIT).await;
        assert_eq!(begun.elapsed().as_secs(), LIMIT.as_secs());

        let (progress, begun) = (silence.listener(Arc::new(|_| {})), Instant::now());
        let telling = async {
            sleep(Duration::from_mins(4)).await;
            progress(gongfu_core::port::Progress {
                done: 1.0,
                total: None,
                message: None,
            });
        };
        silence.hear();
        tokio::join!(telling, silence.lasts(LIMIT));
        assert_eq!(begun.elapsed().as_secs(), 9 * 60);

        let ask = silence.asker(Arc::new(|_| {
            Box::pin(async {
                sleep(Duration::from_mins(9)).await;
                Ok(None)
            })
        }));
        silence.hear();
        let asking = ask(Value::Null);
        let early = timeout(Duration::from_mins(9), silence.lasts(LIMIT)).await;
        assert!(early.is_err());
        drop(asking);
        assert!(timeout(LIMIT, silence.lasts(LIMIT)).await.is_ok());
    }
}
