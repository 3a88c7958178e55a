//! The kinds of sandboxes that this build has: those of the sandbox crate, and a line for each that is a
//! crate of its own; and how settings name them.

use std::borrow::Cow;
#[cfg(all(feature = "docker", target_os = "linux"))]
use std::sync::Arc;

use gongfu_core::sandbox::Level;
use gongfu_sandbox::Runner;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A runner of this kind alone, or of the strongest that works here.
pub(crate) fn runner(wanted: Option<Level>, docker: Docker) -> Runner {
    let runner = Runner::new(wanted);
    #[cfg(all(feature = "docker", target_os = "linux"))]
    let runner = runner.with_backend(Arc::new(gongfu_docker::Docker::new(docker.into())));
    #[cfg(not(all(feature = "docker", target_os = "linux")))]
    drop(docker);
    runner
}

/// Every kind that settings may name, with a description.
fn known() -> Vec<(Level, &'static str)> {
    runner(None, Docker::default()).known().collect()
}

/// A kind of sandbox; see `gongfu doctor`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SandboxLevel(Level);

impl From<SandboxLevel> for Level {
    fn from(level: SandboxLevel) -> Self {
        level.0
    }
}

impl<'de> Deserialize<'de> for SandboxLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = known();
        let level = known.iter().find(|(level, _)| level.as_str() == name);
        level.map(|(level, _)| Self(*level)).ok_or_else(|| {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
            let names = names.join(", ");
            D::Error::custom(format!("unknown variant `{name}`, expected one of {names}"))
        })
    }
}

impl Serialize for SandboxLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl JsonSchema for SandboxLevel {
    fn schema_name() -> Cow<'static, str> {
        "SandboxLevel".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        let known = known().into_iter();
        let one_of: Vec<_> = known
            .map(|(level, about)| {
                json_schema!({ "description": about, "type": "string", "const": level.as_str() })
            })
            .collect();
        json_schema!({
            "description": "A kind of sandbox; see `gongfu doctor`.",
            "oneOf": one_of,
        })
    }
}

/// The daemon that makes containers, where `level` is `docker`.
#[derive(Debug, Default, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Docker {
    /// The socket that it listens on, such as `unix:///run/user/1000/docker.sock`; the environment's
    /// `DOCKER_HOST` wins over it, and without both it is `/var/run/docker.sock`. Only a socket of this
    /// machine is spoken to.
    pub(crate) socket: Option<String>,
    /// The image whose programs runs see, which must be there already: gongfu fetches none. Without one
    /// they see the programs of this machine.
    pub(crate) image: Option<String>,
}

#[cfg(all(feature = "docker", target_os = "linux"))]
impl From<Docker> for gongfu_docker::Settings {
    fn from(Docker { socket, image }: Docker) -> Self {
        Self { socket, image }
    }
}
