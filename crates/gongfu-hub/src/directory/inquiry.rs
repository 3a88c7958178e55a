//! Tools that answer questions about the tools in the directory.

use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Directory;
use crate::call::{Call, Proposal};
use crate::entry::{self, Entry};
use crate::error::ToolError;
use crate::gate::{Answer, Review};
use crate::output::{Output, ToolResult};
use crate::tool::ToolSpec;

/// A question about the tools in the directory: its fields are the arguments, its doc comment is the description.
pub(super) trait Inquiry: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its title for people.
    const TITLE: &'static str;
    /// Its answer.
    type Output: Output;

    /// Answers it.
    fn answer(
        self,
        directory: &Directory,
        call: &Call,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The description of an inquiry.
pub(super) fn spec<T: Inquiry>() -> ToolSpec {
    ToolSpec {
        output_schema: T::Output::schema().map(Arc::new),
        ..entry::spec::<T>(T::NAME, T::TITLE)
    }
}

/// An inquiry of one caller, as an entry.
pub(super) struct InquiryEntry<T> {
    spec: ToolSpec,
    directory: Directory,
    inquiry: PhantomData<fn() -> T>,
}

impl<T: Inquiry> InquiryEntry<T> {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            spec: spec::<T>(),
            directory,
            inquiry: PhantomData,
        }
    }
}

impl<T: Inquiry> Review for InquiryEntry<T> {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl<T: Inquiry> Entry for InquiryEntry<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult> {
        Box::pin(async move {
            let inquiry: T = entry::input(T::NAME, &call.arguments)?;
            Ok(inquiry.answer(&self.directory, call).await?.into_result())
        })
    }
}
