//! What two parentheses begin: something to be calculated, or commands in commands.

use super::cursor::Cursor;

/// Whether two parentheses stand here of which both end at once, as those of what is calculated do. Looks
/// at the brackets alone, so that nothing is read twice.
pub(super) fn is_next(cursor: &mut Cursor<'_>) -> bool {
    if cursor.peek() != Some(b'(') || cursor.peek_second() != Some(b'(') {
        return false;
    }
    let rest = cursor.rest().as_bytes();
    let mut depth = 0_usize;
    let mut bytes = rest.iter().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'\'' | b'"' => {
                // What is quoted is no bracket.
                let ended = loop {
                    match bytes.next() {
                        None => break false,
                        Some((_, b'\\')) if *byte == b'"' => {
                            bytes.next();
                        }
                        Some((_, other)) if other == byte => break true,
                        Some(_) => {}
                    }
                };
                if !ended {
                    return false;
                }
            }
            b'(' => depth += 1,
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 1 {
                    return rest.get(index + 1) == Some(&b')');
                }
            }
            _ => {}
        }
    }
    false
}
