//! The modes of the terminal: they are as they were once the chat ends, however it ends.

#[cfg(unix)]
use std::io;

#[cfg(unix)]
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of a program that SIGQUIT ended.
#[cfg(unix)]
const QUIT: i32 = 131;

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

    /// Lets SIGQUIT, which Ctrl-\ sends in a turn, end the program at once, but with the modes as they were.
    pub(super) fn restore_at_quit(&self) {
        #[cfg(unix)]
        if let (Some(modes), Ok(mut quit)) = (self.original.clone(), signal(SignalKind::quit())) {
            tokio::spawn(async move {
                quit.recv().await;
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
                std::process::exit(QUIT);
            });
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
