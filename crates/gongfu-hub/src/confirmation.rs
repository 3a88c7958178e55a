//! Confirmation: what a tool is about to do is what the person allowed.
//!
//! A review resolves names before a person answers, and a tool resolves them again when it acts. In between
//! another skill may have taken the name, or a file may have changed.

use gongfu_core::skill::Digest;

use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;

/// Refuses an action that a person must allow, unless it is the one that they did allow.
///
/// `proposed` is the digest of exactly what is about to be done; `None` where nobody has to allow it.
///
/// # Errors
/// Another skill, version or file is acted on than at the review.
pub(crate) fn confirm(call: &Call, proposed: Option<Digest>) -> Result<(), ToolError> {
    if proposed.is_none() || proposed == call.allowed || call.actor.role.is_person() {
        return Ok(());
    }
    Err(Problem::ChangedSinceReview.error())
}
