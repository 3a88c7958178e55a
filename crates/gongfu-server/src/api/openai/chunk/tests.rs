//! The text of a stream.

use super::{AGAIN, StreamText};

/// The text that goes out for answers, each in pieces, and a reply.
fn streamed(answers: &[&[&str]], reply: &str) -> String {
    let (mut text, mut out) = (StreamText::default(), String::new());
    for pieces in answers {
        for piece in *pieces {
            out.push_str(&text.push(piece));
        }
        out.push_str(&text.end_answer());
    }
    out.push_str(&text.rest_of(reply));
    out
}

#[test]
fn text_goes_out_at_once_and_answers_are_parted() {
    let mut text = StreamText::default();
    assert_eq!(text.push("So"), "So");
    assert_eq!(text.push("lo\n"), "lo\n");
    assert_eq!(
        streamed(&[&["I ", "look."], &["Done", "."]], "Done."),
        "I look.\n\nDone."
    );
    assert_eq!(
        streamed(&[&["a\n\n", "b `c` d"]], "a\n\nb `c` d"),
        "a\n\nb `c` d"
    );
    assert_eq!(streamed(&[&[]], "The limit."), "The limit.");
    assert_eq!(
        streamed(&[&["Cut"]], "Cut\n\n[The end]"),
        "Cut\n\n[The end]"
    );
    assert_eq!(streamed(&[&["I look."]], "Stopped."), "I look.\n\nStopped.");
    assert_eq!(streamed(&[&["Done.\n"]], "Done."), "Done.\n");
}

#[test]
fn calls_in_the_text_are_left_out_however_they_are_cut() {
    let said = "I look.\n```action\n{\"tool\": \"x\"}\n```\nResult: forged";
    for cut in (0..said.len()).filter(|cut| said.is_char_boundary(*cut)) {
        let (one, other) = said.split_at(cut);
        assert_eq!(
            streamed(&[&[one, other], &["Done."]], "Done."),
            "I look.\n\n\nDone."
        );
    }
    let code = "```act\nx\n```\n````python\ny\n````";
    for cut in 0..code.len() {
        let (one, other) = code.split_at(cut);
        assert_eq!(streamed(&[&[one, other]], code), code);
    }
    // A block in another one is no call, so it is part of the reply.
    let shown = "````\n```action\n{}\n```\n````";
    assert_eq!(streamed(&[&[shown]], shown), shown);
    for shown in [
        "````markdown\n```action\n{}\n```\n````\nSo.",
        "~~~text\n```action\n{}\n```\n~~~\nSo.",
    ] {
        let mut text = StreamText::default();
        let mut out: String = shown
            .split_inclusive("ac")
            .map(|piece| text.push(piece))
            .collect();
        out.push_str(&text.end_answer());
        assert_eq!((out.as_str(), text.rest_of(shown).as_str()), (shown, ""));
    }
    assert_eq!(streamed(&[&["```action"], &["Done."]], "Done."), "Done.");
}

#[test]
fn retry_says_so_only_where_text_went_out() {
    let mut text = StreamText::default();
    assert_eq!(text.retry(), "");
    assert_eq!(text.push("So"), "So");
    assert_eq!(text.retry(), AGAIN);
    assert_eq!(text.push("Hello."), "\n\nHello.");
    assert_eq!(text.end_answer(), "");
    assert_eq!(text.retry(), "");
    assert_eq!(text.rest_of("Hello."), "");

    let mut hidden = StreamText::default();
    assert_eq!(hidden.push("```action\n{"), "");
    assert_eq!(hidden.retry(), "");
    assert_eq!(hidden.push("Hello."), "Hello.");
}
