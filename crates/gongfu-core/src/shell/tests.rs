//! Texts and their trees.

use super::{Command, Compound, Operator, ParseError, Part, Script, Simple, parse};

fn read(text: &str) -> Script {
    parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The only command of a text.
fn only(text: &str) -> Command {
    let mut list = read(text).list;
    assert_eq!(list.len(), 1, "{text:?}: {list:?}");
    list.remove(0)
}

fn simple(text: &str) -> Simple {
    match only(text) {
        Command::Simple(simple) => simple,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn compound(text: &str) -> Compound {
    match only(text) {
        Command::Compound(compound) => compound,
        other => panic!("{text:?}: {other:?}"),
    }
}

/// A word, in which quotes are angled and expansions show how many commands are in them.
fn show(word: &[Part]) -> String {
    let parts = word.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Quoted(text) => format!("‹{text}›"),
        Part::Dynamic(list) => format!("${}", list.len()),
    });
    parts.collect()
}

fn words(text: &str) -> Vec<String> {
    simple(text).words.iter().map(|word| show(word)).collect()
}

#[test]
fn words_end_where_a_shell_ends_them() {
    let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text:?}");
    check("ls -la a", &["ls", "-la", "a"]);
    check("  ls\t-la  ", &["ls", "-la"]);
    check("a'b c'd", &["a‹b c›d"]);
    check("a\\ b", &["a‹ ›b"]);
    check("a \\\n b", &["a", "b"]);
    check("a\\\nb", &["ab"]);
    check("'a\\'", &["‹a\\›"]);
    check("\"a\\\"b\\c\\$\"", &["‹a\"b\\c$›"]);
    check("''", &["‹›"]);
    check("\"\"", &["‹›"]);
    check("\"a$\"", &["‹a$›"]);
    check("\"\\中\"", &["‹\\中›"]);
    check("$'a' $'a\\n\\''b", &["$0", "$0b"]);
    check("$\"a\"", &["‹a›"]);
    check("a#b #c", &["a#b"]);
    check("\"a\"#b", &["‹a›#b"]);
    check("a$ b$", &["a$", "b$"]);
    check("$a${b}c", &["$0$0c"]);
    check("$1$10$@", &["$0$00$0"]);
    check("\"$a b\"", &["‹›$0‹ b›"]);
    check("$(ls; ls)`ls`", &["$2$1"]);
    check("$((1 + (2) + $(ls)))", &["$1"]);
    check("$((ls); ls)", &["$2"]);
    check("<(ls) >(ls; ls)", &["$1", "$2"]);
    check("é'ü'", &["é‹ü›"]);
    check("{a,b} ~ *", &["{a,b}", "~", "*"]);
    check("echo if then fi {", &["echo", "if", "then", "fi", "{"]);
}

#[test]
fn expansions_hold_the_commands_in_them() {
    for text in [
        "${a:-$(ls)}",
        "\"${a#`ls`}\"",
        "${a[$(ls)]}",
        "${!a:$(ls):1}",
        "${#a[$(ls)]}",
        "\"${a:-\"$(ls)\"}\"",
        "@(a|$(ls))",
        "$(( a[$(ls)] ))",
        "${ ls; }",
        "`ls`",
        "\"`echo \\`ls\\``\"",
    ] {
        let shown = words(text).concat();
        assert!(shown.contains("$1"), "{text:?}: {shown}");
    }
    assert_eq!(words("\"${x#'\"'}\" b"), ["‹›$0‹›", "b"]);
    assert_eq!(words("\"${x:-'}\" b"), ["‹›$0‹›", "b"]);
    assert_eq!(words("${#} ${#-} ${!} ${x//\"'\"/}").len(), 4);
}

#[test]
fn lists_hold_every_command() {
    assert_eq!(read("a && b || c; d & e\n\nf # g\n").list.len(), 6);
    assert!(matches!(only("a | b |& c"), Command::Pipeline(all) if all.len() == 3));
    for (text, count) in [
        ("(a; b)", 2),
        ("{ a; b\n}", 2),
        ("((a); (b))", 2),
        ("if a; then b; elif c; then d; else e; fi", 5),
        ("while a; do b; done", 2),
        ("until a; do b; done", 2),
        ("for x in a b\ndo c; done", 1),
        ("for x do c; done", 1),
        ("for ((i = $(a); i < 2; i++)) { b; }", 2),
        ("select x in a; do b; done", 1),
        ("case a in (b|c) d;; *) e ;& f) esac", 2),
        ("((1 + 2))", 0),
    ] {
        assert_eq!(compound(text).body.len(), count, "{text:?}");
    }
    assert_eq!(compound("[[ a < b && ( c ) ]]").words.len(), 3);
    assert_eq!(compound("for x in a b; do c; done > d").words.len(), 3);
    for text in [
        "f() { a; }",
        "function f { a; }",
        "function f() ( a )",
        "f ()\n{ a; }",
    ] {
        assert!(
            matches!(only(text), Command::Function(name, _) if name == "f"),
            "{text:?}"
        );
    }
}

#[test]
fn assignments_and_redirections_are_no_words() {
    let one = simple("A=b C+=d e[1]=f g=(h $(i)) run >x 2>>y <z >&2 3<&- &>w a=b");
    let assigned: Vec<String> = one.assignments.iter().map(|word| show(word)).collect();
    assert_eq!(assigned, ["Ab", "Cd", "e[$0]f", "g$1"]);
    assert_eq!(one.words.len(), 2);
    let operators: Vec<Operator> = one.redirections.iter().map(|one| one.operator).collect();
    assert_eq!(
        operators,
        [
            Operator::Write,
            Operator::Write,
            Operator::Read,
            Operator::Other,
            Operator::Other,
            Operator::Write
        ]
    );
    assert_eq!(words("echo a[1]=x"), ["echo", "a[1]=x"]);
    assert_eq!(words("echo 2 > f"), ["echo", "2"]);
    assert_eq!(simple("declare -a x=(a b) y").words.len(), 3);
}

#[test]
fn here_documents_belong_to_their_command() {
    let script = read("cat <<A <<'B'; ls\none $x\nA\ntwo $x\nB\nnext");
    assert_eq!(script.list.len(), 3);
    assert_eq!(show(&script.documents[0]), "‹one ›$0‹\n›");
    assert_eq!(show(&script.documents[1]), "‹two $x\n›");
    assert_eq!(
        show(&read("cat <<-A\n\t\tone\n\tA\n").documents[0]),
        "‹one\n›"
    );
    let inner = read("x=$(cat <<A\none\nA\n)\nnext");
    assert_eq!((inner.list.len(), inner.documents.len()), (2, 1));
    // One without an end goes on to the end of the text.
    assert_eq!(show(&read("cat <<A\none").documents[0]), "‹one\n›");
    // A line that a backslash joins to the one before ends nothing.
    assert_eq!(read("cat <<A\na\\\nA\nb\nA\nnext").list.len(), 2);
}

#[test]
fn error_names_its_place() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text:?}");
    };
    check("echo 'a", "`'` at byte 5 is never closed");
    check("echo \"$(ls\"", "`\"` at byte 10 is never closed");
    check("ls; )", "`)` at byte 4 is not allowed there");
    check("ls && ", "the command is incomplete");
    check("if a; then b", "`if` at byte 0 is never closed");
    check("a\0b", "there is a NUL at byte 1; remove it");
    let long = "x".repeat(super::MAX_BYTES + 1);
    assert_eq!(parse(&long), Err(ParseError::TooLong(long.len())));
}

#[test]
fn syntax_errors_are_found() {
    for text in [
        "echo \"a",
        "echo `a",
        "echo $(a",
        "echo ${a",
        "echo $((1",
        "(ls",
        "ls)",
        "{ ls;",
        "if true; then ls",
        "for x in a; do ls",
        "case x in a) ls",
        "ls |",
        "| ls",
        "; ls",
        "ls ;; ls",
        "ls && || ls",
        "> ",
        "[[ a",
        "f() ls",
        "f() f() { ls; }",
        "echo a=(b",
        "ls; done",
        "fi",
        "a=(x)#y; ls",
        "cat <<'E' $(echo <<F\nls\nE\n)\nx\nE",
        "&",
        "echo $(( 1 '((' ))\nls; echo '))' #'",
        "echo $'a",
        "cat <<$(a)\nb",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

/// Nesting is bounded on the stack of an ordinary thread.
#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [
        ("$(", ")"),
        ("\"$(", ")\""),
        ("${a:-", "}"),
        ("${a[", "]}"),
        ("<(", ")"),
        ("( ", " )"),
        ("{ ", ";}"),
        ("if :; then ", "; fi"),
        ("f() { ", ";}"),
        ("a=($(", "))"),
        ("[[ $(", ") ]]"),
        ("x | { y | ", ";}"),
        ("function f ", ""),
    ] {
        let nested = |depth: usize| format!("{}ls{}", open.repeat(depth), close.repeat(depth));
        if !close.is_empty() {
            assert!(parse(&nested(20)).is_ok(), "{open}");
        }
        for depth in [100, 3_000] {
            let error = parse(&nested(depth)).expect_err(open);
            assert!(matches!(error, ParseError::TooDeep(_)), "{open}: {error}");
        }
    }
    for open in ["(", "$(", "${a[", "$((", "`\\`", "\"${a:-"] {
        assert!(parse(&open.repeat(60_000 / open.len())).is_err(), "{open}");
    }
}
