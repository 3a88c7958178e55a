//! An operation: an input type with a name and an answer.
//!
//! The same shape as a tool, but its answer is typed, because every surface writes it in its own
//! way, and no profile shows it.

use std::sync::Arc;

use gongfu_core::capability::{Access, Origin, Safety};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Map;

use crate::call::Call;
use crate::error::ToolError;
use crate::schema;
use crate::tool::ToolSpec;

/// A request that is no tool: it only reads, unless its spec says otherwise.
pub trait Operation: Serialize + JsonSchema + Send + 'static {
    /// Its name in the audit.
    const NAME: &'static str;
    /// Its answer.
    type Output: Send;

    /// Returns its description for the gate.
    fn spec() -> &'static ToolSpec;

    /// Does it; only the gate lets it run.
    fn run(self, call: &Call) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The description of an operation for the gate: its words are the doc comment of the input type.
pub fn spec<O: Operation>() -> ToolSpec {
    let input = schema::of::<O>();
    ToolSpec {
        name: O::NAME.into(),
        title: O::NAME.into(),
        description: input.description,
        input_schema: Arc::new(input.schema),
        output_schema: None,
        access: Access::Read,
        destructive: false,
        safety: Safety::Low,
        says_read_only: false,
        person_only: false,
        ui: Map::new(),
        origin: Origin::Native,
        permission: O::NAME.into(),
        definition: None,
        target: None,
    }
}

/// The description of an operation by which everybody with the scope changes skills.
pub fn write_spec<O: Operation>() -> ToolSpec {
    ToolSpec {
        person_only: false,
        ..person_spec::<O>()
    }
}

/// The description of an operation by which a person changes what agents may do: refused to every
/// other actor.
pub fn person_spec<O: Operation>() -> ToolSpec {
    ToolSpec {
        access: Access::Write,
        safety: Safety::Medium,
        person_only: true,
        ..spec::<O>()
    }
}

/// Writes `spec` of an operation: made once, because each request asks for it.
#[macro_export]
macro_rules! specified {
    () => {
        $crate::specified!($crate::surface::operation::spec::<Self>());
    };
    ($spec:expr) => {
        fn spec() -> &'static $crate::ToolSpec {
            static SPEC: std::sync::OnceLock<$crate::ToolSpec> = std::sync::OnceLock::new();
            SPEC.get_or_init(|| $spec)
        }
    };
}
pub(crate) use specified;
