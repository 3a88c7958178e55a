//! What an operation is: an input type with a name, and what it answers.
//!
//! The same shape as a tool, but its answer is typed, because every surface writes it in its own
//! way, and no profile shows it.

use std::sync::Arc;

use gongfu_core::capability::{Access, Origin, Safety};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ToolError;
use crate::schema;
use crate::tool::{Context, ToolSpec};

/// A request that is no tool; it only reads, unless its spec says otherwise.
pub trait Operation: Serialize + JsonSchema + Send + 'static {
    /// What it is called in the audit.
    const NAME: &'static str;
    /// What it answers.
    type Output: Send;

    /// What the gate is told about it.
    fn spec() -> &'static ToolSpec;

    /// Does it; only the gate lets it run.
    fn run(self, context: &Context)
    -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// What the gate is told about an operation: its words are the doc comment of the input type.
pub(crate) fn spec<O: Operation>() -> ToolSpec {
    let input = schema::of::<O>();
    ToolSpec {
        name: O::NAME,
        title: O::NAME,
        description: input.description,
        input_schema: Arc::new(input.schema),
        output_schema: None,
        access: Access::Read,
        destructive: false,
        safety: Safety::Low,
        origin: Origin::Native,
    }
}

/// Writes `spec` of an operation: made once, because each request asks for it.
macro_rules! specified {
    () => {
        fn spec() -> &'static crate::tool::ToolSpec {
            static SPEC: std::sync::OnceLock<crate::tool::ToolSpec> = std::sync::OnceLock::new();
            SPEC.get_or_init(crate::surface::operation::spec::<Self>)
        }
    };
}
pub(crate) use specified;
