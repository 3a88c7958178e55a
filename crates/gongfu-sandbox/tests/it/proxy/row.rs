//! An attack, what has to come of it, and its control.

mod around;
mod client;
mod greeting;
mod host;
mod machine;
mod request;
mod resolved;

use std::fmt;

use super::session::Place;

/// Something that is tried, and what must come of it.
#[derive(Debug, Clone)]
pub(super) struct Try {
    pub(super) place: Place,
    pub(super) line: String,
    /// One of these; of a control, what its result begins with.
    pub(super) wanted: Vec<String>,
}

/// An attack with its control.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) attack: Try,
    pub(super) control: Try,
    pub(super) needs: Option<Need>,
    /// Whether the granted host may hear something while it goes on, and no other.
    pub(super) is_heard: bool,
    /// Whether it takes long: others go on meanwhile, for which it means nothing.
    pub(super) is_slow: bool,
}

/// What not every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Six,
    /// `openssl`, by which the host of TLS has a certificate.
    Certificate,
    Curl,
}

impl Need {
    /// Whether it is for the sake of a host that speaks TLS.
    pub(super) fn is_of_tls(self) -> bool {
        self != Self::Six
    }
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Six => "there is no IPv6",
            Self::Certificate => "there is no openssl",
            Self::Curl => "there is no curl",
        })
    }
}

/// An attack by a run that was granted `good.test`, whose control is that host.
fn row(name: impl Into<String>, line: impl Into<String>, refused: &[&'static str]) -> Row {
    let of = |place, line: String, wanted: &[&'static str]| Try {
        place,
        line,
        wanted: wanted.iter().map(|one| (*one).to_owned()).collect(),
    };
    Row {
        name: name.into(),
        attack: of(Place::Granted, line.into(), refused),
        control: of(
            Place::Granted,
            "via(GOOD)".to_owned(),
            &["200 hi from 11.22.0.2"],
        ),
        needs: None,
        is_heard: false,
        is_slow: false,
    }
}

impl Row {
    /// It is tried elsewhere.
    fn at(mut self, place: Place) -> Self {
        self.attack.place = place;
        self
    }

    /// Its control is another one.
    fn control(mut self, place: Place, line: impl Into<String>, wanted: impl Into<String>) -> Self {
        self.control = Try {
            place,
            line: line.into(),
            wanted: vec![wanted.into()],
        };
        self
    }

    /// Its control is the same without any sandbox.
    fn same_outside(self, wanted: impl Into<String>) -> Self {
        let line = self.attack.line.clone();
        self.control(Place::Outside, line, wanted)
    }

    /// Its control is the same in a run that was granted it.
    fn same_granted(self, wanted: impl Into<String>) -> Self {
        let line = self.attack.line.clone();
        self.control(Place::Granted, line, wanted)
    }

    fn needs(mut self, need: Need) -> Self {
        self.needs = Some(need);
        self
    }

    fn heard(mut self) -> Self {
        self.is_heard = true;
        self
    }

    fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }
}

/// All of them.
pub(super) fn all() -> Vec<Row> {
    groups().into_iter().flat_map(|(_, rows)| rows).collect()
}

/// Groups of attacks that are tried in one world, by what they reach for.
pub(super) fn groups() -> Vec<(&'static str, Vec<Row>)> {
    vec![
        ("around", around::rows()),
        ("host", host::rows()),
        ("request", request::rows()),
        ("resolved", resolved::rows()),
        ("greeting", greeting::rows()),
        ("client", client::rows()),
        ("machine", machine::rows()),
    ]
}
