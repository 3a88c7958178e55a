//! Code, comments and the modules that a file declares are told apart.

use super::*;

#[test]
fn comments_and_literals_are_not_code() {
    let text = r##"
        // unsafe
        /* unsafe /* unsafe */ unsafe */
        let text = "unsafe \" unsafe";
        let raw = r#"unsafe " unsafe"#;
        let bytes = br"unsafe";
        let letter = '"'; let other = '\''; let quoted = '\u{22}'; let wide = '道';
        fn borrow<'a>(r#unsafe_: &'a str) {}
    "##;
    assert_eq!(lines_naming(text, "unsafe"), Vec::<usize>::new());
    let code = code_only(text);
    assert_eq!(code.len(), text.len());
    assert!(
        code.contains("fn borrow<'a>(r#unsafe_: &'a str) {}"),
        "{code}"
    );
}

#[test]
fn a_word_in_code_is_found_on_its_line() {
    assert_eq!(
        lines_naming(
            "fn a() {}\n  unsafe { b() }\n// unsafe\nunsafe_code",
            "unsafe"
        ),
        [2]
    );
}

#[test]
fn modules_are_found_where_they_are_declared() {
    let text = "pub mod one;\nmod two {\n    fn f() { if x { y() } }\n    #[cfg(test)]\n    mod tests;\n}\n\
                #[path = \"elsewhere.rs\"]\nmod three;\n// mod four;\n";
    let found: Vec<_> = modules(text)
        .into_iter()
        .map(|module| {
            (
                module.within.join("/"),
                module.name,
                module.line,
                module.in_file,
                module.path,
            )
        })
        .collect();
    let some = |text: &str| Some(text.to_owned());
    let none = None::<String>;
    assert_eq!(
        found,
        [
            (String::new(), "one".to_owned(), 1, true, none.clone()),
            (String::new(), "two".to_owned(), 2, false, none.clone()),
            ("two".to_owned(), "tests".to_owned(), 5, true, none),
            (
                String::new(),
                "three".to_owned(),
                8,
                true,
                some("elsewhere.rs")
            ),
        ]
    );
}
