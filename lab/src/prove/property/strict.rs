//! The strict verdict: it comes for any bytes, and every reason points into the file.

use gongfu_core::skill::strict;

use super::{Verdict, ensure};

/// Checks one file.
pub(super) fn check(bytes: &[u8]) -> Verdict {
    for refusal in strict::validate(bytes, "skill-name") {
        if let Some(offset) = refusal.offset {
            ensure(offset <= bytes.len(), || {
                format!(
                    "a reason points to byte {offset} of {}: {:?}",
                    bytes.len(),
                    refusal.reason
                )
            })?;
        }
        ensure(!refusal.reason.to_string().is_empty(), || {
            format!("a reason without words: {:?}", refusal.reason)
        })?;
    }
    Ok(())
}
