//! The output of a program as plain text: no escape sequences, no broken characters, however the bytes
//! come in.

use anstream::adapter::StripBytes;
use gongfu_core::sandbox::CapturedOutput;

/// Makes text of bytes that come piece by piece.
#[derive(Debug, Default)]
pub struct Plain {
    strip: StripBytes,
    /// The beginning of a character whose end hasn't come yet.
    begun: Vec<u8>,
}

impl Plain {
    /// The text of the next piece, as far as its characters are whole.
    pub fn take(&mut self, bytes: &[u8]) -> String {
        let mut said = std::mem::take(&mut self.begun);
        said.extend_from_slice(bytes);
        let whole = said.len() - begun(&said);
        self.begun = said.split_off(whole);
        let text = String::from_utf8_lossy(&said);
        let parts = self.strip.strip_next(text.as_bytes());
        let plain: Vec<u8> = parts.flatten().copied().collect();
        // Among them those of one character that begin a sequence as well.
        let keeps = |one: &char| matches!(one, '\n' | '\t' | '\r') || !one.is_control();
        String::from_utf8_lossy(&plain)
            .chars()
            .filter(keeps)
            .collect()
    }
}

/// The text of all that a program said on one output; `log` is where the whole of it can be read.
pub(crate) fn of(said: &CapturedOutput, log: Option<&str>) -> String {
    let total = (said.head.len() + said.tail.len()) as u64 + said.left_out;
    if said.head.contains(&0) || said.tail.contains(&0) {
        return format!(
            "[{total} bytes of binary output; write it to a file, e.g. `> /workspace/output.bin`]\n"
        );
    }
    let mut plain = Plain::default();
    let head = plain.take(&said.head);
    if said.left_out == 0 {
        return head;
    }
    // The rest of a character whose beginning is left out.
    let rest = said.tail.iter().take(3);
    let rest = rest.take_while(|byte| **byte & 0xC0 == 0x80).count();
    let tail = Plain::default().take(said.tail.get(rest..).unwrap_or_default());
    let whole = log.map_or_else(String::new, |log| format!("; the full output is in {log}"));
    let left_out = said.left_out;
    format!("{head}\n… [{left_out} bytes left out{whole}] …\n{tail}")
}

/// Returns the number of bytes at the end that begin a character that isn't whole.
fn begun(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    let starts = (1..=longest).find(|back| {
        let byte = bytes.get(bytes.len() - back).copied().unwrap_or_default();
        byte & 0xC0 != 0x80
    });
    let Some(back) = starts else {
        return 0;
    };
    let end = bytes.get(bytes.len() - back..).unwrap_or_default();
    match std::str::from_utf8(end) {
        Err(error) if error.error_len().is_none() => back,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use gongfu_core::sandbox::CapturedOutput;

    use super::{Plain, of};

    #[test]
    fn pieces_of_any_size_make_the_same_text() {
        let said = "a\u{1b}[31mré\u{1b}[0m\u{1b}]8;;http://x\u{7}日本\u{1b}]8;;\u{7}\t𝄞\u{9b}z\u{8}\r\n\u{1b}]52;c;aGk=\u{1b}\\end";
        for size in 1..said.len() {
            let mut plain = Plain::default();
            let pieces = said.as_bytes().chunks(size).map(|piece| plain.take(piece));
            let text: String = pieces.collect();
            assert_eq!(text, "aré日本\t𝄞z\r\nend", "{size}");
        }
        // What is no text becomes a mark, and what isn't finished isn't waited for.
        assert_eq!(Plain::default().take(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(Plain::default().take(b"ab\xe6\x97"), "ab");
    }

    #[test]
    fn omission_is_marked_between_whole_characters() {
        let said = |head: &[u8], tail: &[u8], left_out| CapturedOutput {
            head: head.to_vec(),
            tail: tail.to_vec(),
            left_out,
            log: None,
        };
        assert_eq!(of(&said("日本".as_bytes(), b"", 0), None), "日本");
        let cut = said(b"a\xe6\x97", b"\xa5\xac\xe6\x9c\xacz", 5);
        assert_eq!(
            of(&cut, Some("/runs/1/stdout.log")),
            "a\n… [5 bytes left out; the full output is in /runs/1/stdout.log] …\n本z"
        );
        assert!(of(&said(b"a\0b", b"", 0), None).starts_with("[3 bytes of binary output"));
    }
}
