//! What stands in the catalog: something that can be called, wherever it comes from.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::capability::Origin;
use gongfu_core::library::Library;
use gongfu_core::port::Timestamp;
use serde_json::{Map, Value};

use crate::error::ToolError;
use crate::gate::Running;
use crate::problem::Problem;
use crate::schema;
use crate::tool::{Context, Output as _, Tool, ToolResult, ToolSpec};

/// What an entry may look at to describe itself.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Who asks.
    pub actor: &'a Actor,
    /// The caller's library, where an entry asked for it and it can be read.
    pub library: Option<&'a Library>,
}

/// How a failed call is told to the clients of a dialect.
pub(crate) type Failure = fn(&ToolError, Timestamp) -> ToolResult;

/// Something in the catalog that can be called; where it comes from is its own affair.
pub trait Entry: Send + Sync {
    /// What it is called by.
    fn name(&self) -> &'static str;

    /// Whether what it says about itself depends on the caller's library.
    fn is_dynamic(&self) -> bool;

    /// What it says about itself to this caller.
    fn spec(&self, view: View<'_>) -> ToolSpec;

    /// Runs it; only the gate calls this.
    fn run<'a>(&'a self, arguments: Map<String, Value>, context: &'a Context) -> Running<'a>;

    /// A failure in the form of its own; `None` for gongfu's.
    fn failure(&self, error: &ToolError, at: Timestamp) -> Option<ToolResult>;
}

/// A tool of gongfu's own, or of a dialect, as an entry.
struct Typed<T> {
    spec: ToolSpec,
    failure: Option<Failure>,
    tool: std::marker::PhantomData<fn() -> T>,
}

/// A tool of gongfu's own as an entry.
pub(crate) fn native<T: Tool>() -> Box<dyn Entry> {
    Box::new(Typed::<T>::new(None))
}

/// A tool of a dialect as an entry.
pub(crate) fn spoken<T: Tool>(failure: Failure) -> Box<dyn Entry> {
    Box::new(Typed::<T>::new(Some(failure)))
}

impl<T: Tool> Typed<T> {
    fn new(failure: Option<Failure>) -> Self {
        let input = schema::of::<T>();
        let spec = ToolSpec {
            name: T::NAME,
            title: T::TITLE,
            description: input.description,
            input_schema: Arc::new(input.schema),
            output_schema: T::Output::schema().map(Arc::new),
            access: T::ACCESS,
            destructive: T::DESTRUCTIVE,
            safety: T::SAFETY,
            origin: Origin::Native,
        };
        Self {
            spec,
            failure,
            tool: std::marker::PhantomData,
        }
    }
}

impl<T: Tool> Entry for Typed<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn is_dynamic(&self) -> bool {
        T::DYNAMIC
    }

    fn spec(&self, view: View<'_>) -> ToolSpec {
        let mut spec = self.spec.clone();
        if let Some(library) = view.library.filter(|_| T::DYNAMIC) {
            T::adapt(&mut spec, library);
        }
        spec
    }

    fn run<'a>(&'a self, mut arguments: Map<String, Value>, context: &'a Context) -> Running<'a> {
        // An explicit null is an argument that isn't given.
        arguments.retain(|_, value| !value.is_null());
        let tool = serde_json::from_value::<T>(Value::Object(arguments)).map_err(|error| {
            Problem::WrongValue {
                name: self.spec.name.to_owned(),
                reason: error.to_string(),
                hint: "see the tool's schema".to_owned(),
            }
            .error()
        });
        Box::pin(async move { Ok(tool?.run(context).await?.into_result()) })
    }

    fn failure(&self, error: &ToolError, at: Timestamp) -> Option<ToolResult> {
        self.failure.map(|failure| failure(error, at))
    }
}
