//! The shared part of the fuzz targets: the properties of `lab prove-parse`, and the fixture that
//! they are tried in.
//!
//! A target is a kind of input; what reads it and what is expected of that is written down once, in
//! `lab/src/prove/property.rs`.

use std::sync::OnceLock;

/// The same files as in `lab`, in a module of the same name.
#[allow(dead_code, reason = "shared with lab, which uses all of it")]
#[path = "../../lab/src/prove"]
mod prove {
    pub(crate) mod property;
}

use prove::property::{Fixture, Kind};

/// Checks an input of the kind of this name.
///
/// # Panics
/// Something doesn't hold: that is how a fuzz target tells.
pub fn check(kind: &str, input: &[u8]) {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| match Fixture::new(None) {
        Ok(fixture) => fixture,
        Err(reason) => panic!("nothing can be tried: {reason}"),
    });
    let Some(kind) = Kind::ALL.into_iter().find(|known| known.as_str() == kind) else {
        panic!("there is no kind `{kind}`");
    };
    if let Err(broken) = kind.check(fixture, input) {
        panic!("{broken}");
    }
}
