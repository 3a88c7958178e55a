//! The values that parameters, conditions and transformations can use.

use std::fmt;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The values that a function or an expression sees when its step starts or ends.
///
/// Of the other steps it has the outputs of those that its own depends on, directly or through others: the rest may
/// or may not have ended, and a run must not depend on that.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The input of the run.
    pub input: &'a Value,
    /// The outputs of all steps that ended.
    pub(super) outputs: &'a Map<String, Value>,
    /// The names of those that can be seen.
    pub(super) visible: Vec<&'a str>,
    /// The result of the tool, in a transformation.
    pub output: Option<&'a Value>,
    /// The identity of the step.
    pub run: &'a StepIdentity,
}

/// The identity of a step in a run, which stays the same for all attempts: a tool can use it to do its work once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepIdentity {
    /// The id of the run.
    pub id: String,
    /// The id of the step: that of the run, `/`, and its name.
    pub step: String,
    /// True if an attempt was interrupted together with its process, and may have done its work.
    pub again: bool,
}

impl Scope<'_> {
    /// The output of a step.
    ///
    /// # Errors
    /// It has no output that can be seen here; the text is for people.
    pub fn step(&self, name: &str) -> Result<&Value, String> {
        let is_visible = self.visible.contains(&name);
        let output = self.outputs.get(name).filter(|_| is_visible);
        output.ok_or_else(|| {
            format!("there is no output of `{name}` here: add it to `dependsOn` of this step")
        })
    }
}

/// A function in the definition of a pipeline. It must answer the same for the same scope.
#[derive(Clone)]
pub struct Function(Arc<Body>);

type Body = dyn Fn(&Scope<'_>) -> Result<Value, String> + Send + Sync;

impl Function {
    /// Wraps a function; its error is a message for people.
    pub fn new(
        function: impl Fn(&Scope<'_>) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(function))
    }

    pub(super) fn call(&self, scope: &Scope<'_>) -> Result<Value, String> {
        (self.0)(scope)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Function")
    }
}

impl Serialize for Function {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("a function can't be written"))
    }
}
