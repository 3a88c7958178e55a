//! The modes of the terminal: they are as they were once the chat ends, however it ends.

#[cfg(unix)]
use std::io;

#[cfg(unix)]
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

/// The modes that the terminal had at the start, which it gets back at the end.
pub(super) struct Tty {
    #[cfg(unix)]
    original: Option<Termios>,
}

impl Tty {
    pub(super) fn save() -> Self {
        Self {
            #[cfg(unix)]
            original: tcgetattr(io::stdin()).ok(),
        }
    }

    /// Doesn't show what is typed from now on: it would stand in the middle of an answer.
    pub(super) fn hide_typing(&self) {
        #[cfg(unix)]
        if let Some(mut modes) = self.original.clone() {
            modes.local_modes -= LocalModes::ECHO;
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
    }

    /// Forgets what was typed ahead: a question is answered by somebody who has seen it.
    pub(super) fn forget_typed() {
        #[cfg(unix)]
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    /// Gives the terminal its modes back.
    pub(super) fn restore(&self) {
        #[cfg(unix)]
        if let Some(modes) = &self.original {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.restore();
    }
}
