//! The cases: an attack with its expected result, and its control.

mod address;
mod bypass;
mod client;
mod greeting;
mod host;
mod neighbor;
mod request;

use std::fmt;

use super::session::Place;

/// An attempt with its expected result.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) place: Place,
    pub(super) line: String,
    /// One of these results; of a control, one of these beginnings.
    pub(super) wanted: Vec<String>,
}

/// An attack with its control.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) attack: Attempt,
    pub(super) control: Attempt,
    pub(super) needs: Option<Need>,
    /// The granted host, and no other, may hear something during the attack.
    pub(super) is_heard: bool,
    /// It takes long, and doesn't disturb the others.
    pub(super) is_slow: bool,
}

/// A need that not every machine fulfils.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Six,
    /// `openssl`, which makes the certificate of the TLS host.
    Certificate,
    Curl,
}

impl Need {
    /// Returns whether the case needs the TLS host.
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
fn case(name: impl Into<String>, line: impl Into<String>, refused: &[&'static str]) -> Case {
    let of = |place, line: String, wanted: &[&'static str]| Attempt {
        place,
        line,
        wanted: wanted.iter().map(|one| (*one).to_owned()).collect(),
    };
    Case {
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

impl Case {
    /// Moves the attack to another place.
    fn at(mut self, place: Place) -> Self {
        self.attack.place = place;
        self
    }

    /// Sets the control.
    fn control(mut self, place: Place, line: impl Into<String>, wanted: impl Into<String>) -> Self {
        self.control = Attempt {
            place,
            line: line.into(),
            wanted: vec![wanted.into()],
        };
        self
    }

    /// Makes the control the same line outside of any sandbox.
    fn same_outside(self, wanted: impl Into<String>) -> Self {
        let line = self.attack.line.clone();
        self.control(Place::Outside, line, wanted)
    }

    /// Makes the control the same line in a run that was granted the host.
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

/// All cases.
pub(super) fn all() -> Vec<Case> {
    groups().into_iter().flat_map(|(_, cases)| cases).collect()
}

/// The groups of cases; each is tried in a test network of its own.
pub(super) fn groups() -> Vec<(&'static str, Vec<Case>)> {
    vec![
        ("bypass", bypass::cases()),
        ("host", host::cases()),
        ("request", request::cases()),
        ("address", address::cases()),
        ("greeting", greeting::cases()),
        ("client", client::cases()),
        ("neighbor", neighbor::cases()),
    ]
}
