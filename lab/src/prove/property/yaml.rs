//! YAML: every place points into the text, and no text becomes more nodes than the limit.

use gongfu_core::skill::yaml::{self, Kind, Node};

use super::{Verdict, ensure};

/// Checks one text.
pub(super) fn check(text: &str) -> Verdict {
    match yaml::parse(text) {
        Ok(None) => Ok(()),
        Ok(Some(root)) => {
            let mut nodes = 0;
            let mut open: Vec<&Node> = vec![&root];
            while let Some(node) = open.pop() {
                nodes += 1;
                let span = node.span.clone();
                ensure(text.get(span.clone()).is_some(), || {
                    format!("a node's place {span:?} is no text of {} bytes", text.len())
                })?;
                match &node.kind {
                    Kind::Scalar { .. } => {}
                    Kind::Sequence(items) => open.extend(items),
                    Kind::Mapping(entries) => {
                        open.extend(entries.iter().flat_map(|(key, value)| [key, value]));
                    }
                }
            }
            ensure(nodes <= yaml::MAX_NODES, || format!("{nodes} nodes"))?;
            ensure(!root.to_json().to_string().is_empty(), || {
                "no JSON".to_owned()
            })
        }
        Err(error) => {
            let offset = error.offset();
            ensure(
                offset <= text.len() && text.is_char_boundary(offset),
                || format!("an error at byte {offset} of {}: {error}", text.len()),
            )?;
            ensure(!error.to_string().is_empty(), || {
                "an error without words".to_owned()
            })
        }
    }
}
