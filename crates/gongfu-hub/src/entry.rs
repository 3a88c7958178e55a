//! Entries of the catalog: something that can be called, wherever it comes from.

use std::sync::Arc;

use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::library::Library;
use gongfu_core::port::Timestamp;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::call::{Call, Proposal};
use crate::error::ToolError;
use crate::gate::{Answer, Review};
use crate::output::{Output as _, ToolResult};
use crate::problem::Problem;
use crate::schema;
use crate::tool::{Tool, ToolSpec};

/// The form of a failure for the clients of a dialect.
pub(crate) type Failure = fn(&ToolError, Timestamp) -> ToolResult;

/// Something in the catalog that can be called; its origin is its own affair.
pub trait Entry: Review {
    /// Its description, without the caller's library.
    fn spec(&self) -> &ToolSpec;

    /// Its description for a library, where it depends on one.
    fn spec_for(&self, _library: &Library) -> Option<ToolSpec> {
        None
    }

    /// Returns true if its description depends on the caller's library.
    fn is_dynamic(&self) -> bool {
        false
    }

    /// The tokens that its description takes in the list of another server's tools; gongfu's own aren't counted.
    fn tokens(&self) -> usize {
        0
    }

    /// Runs it; only the gate calls this.
    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult>;

    /// A failure in the form of its dialect; `None` for gongfu's own.
    fn failure(&self, _error: &ToolError, _at: Timestamp) -> Option<ToolResult> {
        None
    }
}

/// A tool of gongfu's own, or of a dialect, as an entry.
struct ToolEntry<T> {
    spec: ToolSpec,
    failure: Option<Failure>,
    tool: std::marker::PhantomData<fn() -> T>,
}

/// A tool of gongfu's own as an entry.
pub(crate) fn native<T: Tool>() -> Arc<dyn Entry> {
    Arc::new(ToolEntry::<T>::new(None))
}

/// A tool of a dialect as an entry.
pub(crate) fn spoken<T: Tool>(failure: Failure) -> Arc<dyn Entry> {
    Arc::new(ToolEntry::<T>::new(Some(failure)))
}

impl<T: Tool> ToolEntry<T> {
    fn new(failure: Option<Failure>) -> Self {
        let spec = ToolSpec {
            access: T::ACCESS,
            destructive: T::DESTRUCTIVE,
            safety: T::SAFETY,
            output_schema: T::Output::schema().map(Arc::new),
            ..spec::<T>(T::NAME, T::TITLE)
        };
        Self {
            spec,
            failure,
            tool: std::marker::PhantomData,
        }
    }

    fn input(&self, arguments: &Map<String, Value>) -> Result<T, ToolError> {
        input(&self.spec.name, arguments)
    }
}

/// The description of a tool of gongfu's own with these arguments, which only reads.
pub(crate) fn spec<T: JsonSchema>(name: &str, title: &str) -> ToolSpec {
    let input = schema::of::<T>();
    ToolSpec {
        name: name.into(),
        title: title.into(),
        description: input.description,
        input_schema: Arc::new(input.schema),
        output_schema: None,
        access: Access::Read,
        destructive: false,
        safety: Safety::Safe,
        says_read_only: false,
        person_only: false,
        ui: Map::new(),
        origin: Origin::Native,
        permission: format!("tool.{name}").into(),
        definition: None,
        target: None,
    }
}

/// The arguments of a tool as its type.
pub(crate) fn input<T: DeserializeOwned>(
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<T, ToolError> {
    // An explicit null is an argument that isn't given.
    let given = arguments.iter().filter(|(_, value)| !value.is_null());
    let given = given.map(|(name, value)| (name.clone(), value.clone()));
    serde_json::from_value::<T>(Value::Object(given.collect())).map_err(|error| {
        Problem::wrong_value(tool, error.to_string(), "see the tool's schema").error()
    })
}

impl<T: Tool> Review for ToolEntry<T> {
    fn review<'a>(&'a self, call: &'a Call) -> Answer<'a, Option<Proposal>> {
        if !T::REVIEWED {
            return Box::pin(std::future::ready(Ok(None)));
        }
        Box::pin(async move { self.input(&call.arguments)?.review(call).await })
    }
}

impl<T: Tool> Entry for ToolEntry<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_for(&self, library: &Library) -> Option<ToolSpec> {
        T::DYNAMIC.then(|| {
            let mut spec = self.spec.clone();
            T::adapt(&mut spec, library);
            spec
        })
    }

    fn is_dynamic(&self) -> bool {
        T::DYNAMIC
    }

    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult> {
        Box::pin(async move {
            let input = self.input(&call.arguments)?;
            Ok(input.run(call).await?.into_result())
        })
    }

    fn failure(&self, error: &ToolError, at: Timestamp) -> Option<ToolResult> {
        self.failure.map(|failure| failure(error, at))
    }
}
