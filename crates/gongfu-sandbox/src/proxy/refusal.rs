//! The answer to a request that isn't let through.

/// The refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn new(status: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { status, why }
    }

    /// The whole answer.
    pub(super) fn answer(&self) -> String {
        let Self { status, why } = self;
        let length = why.len() + 1;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
        )
    }
}
