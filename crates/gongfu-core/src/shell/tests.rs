//! Texts and how they are read.

use super::{
    Command, Compound, Joint, Operation, Part, Redirection, Script, Unreadable, Value, parse,
};

fn read(text: &str) -> Script {
    parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// The only command of a text.
fn only(text: &str) -> Command {
    let mut list = read(text).list;
    assert_eq!(list.len(), 1, "{text:?}: {list:?}");
    list.remove(0).command
}

/// The words of the only command of a text, as far as they are text; anything else is shown by a mark.
fn words(text: &str) -> Vec<String> {
    let Command::Simple(simple) = only(text) else {
        panic!("{text:?} is no simple command");
    };
    let shown = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Quoted(text) => format!("‹{text}›"),
        Part::Parameter { name, .. } => format!("${name}"),
        Part::Substitution { .. } => "$()".to_owned(),
        Part::Process(_) => "<()".to_owned(),
        Part::Arithmetic(_) => "$(())".to_owned(),
        Part::Pattern(_) => "@()".to_owned(),
    };
    let all = simple
        .words
        .iter()
        .map(|word| word.iter().map(shown).collect());
    all.collect()
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
    check("$'a\\n\\x41\\101\\u00e9\\''", &["‹a\nAAé'›"]);
    check("$\"a\"", &["‹a›"]);
    check("a#b #c", &["a#b"]);
    check("\"a\"#b", &["‹a›#b"]);
    check("a$ b$", &["a$", "b$"]);
    check("$a${b}c", &["$a$bc"]);
    check("$1$10$@", &["$1$10$@"]);
    check("\"$a b\"", &["$a‹ b›"]);
    check("$(ls)`ls`", &["$()$()"]);
    check("$((1 + (2)))", &["$(())"]);
    check("$((ls); ls)", &["$()"]);
    check("<(ls) >(ls)", &["<()", "<()"]);
    check("é'ü'", &["é‹ü›"]);
    check("{a,b} ~ *", &["{a,b}", "~", "*"]);
}

#[test]
fn commands_hold_one_another() {
    let script = read("a && b || c; d & e");
    let joints: Vec<Joint> = script.list.iter().map(|item| item.joint).collect();
    assert_eq!(
        joints,
        [Joint::Then, Joint::And, Joint::Or, Joint::Then, Joint::Then]
    );
    assert!(script.list[3].is_background);
    assert!(matches!(only("a | b |& c"), Command::Pipeline(all) if all.len() == 3));
    let compound = |text: &str| match only(text) {
        Command::Compound(compound, _) => compound,
        other => panic!("{text:?}: {other:?}"),
    };
    assert!(matches!(compound("(a; b)"), Compound::Subshell(list) if list.len() == 2));
    assert!(matches!(compound("{ a; b\n}"), Compound::Group(list) if list.len() == 2));
    assert!(matches!(compound("((1 + 2))"), Compound::Arithmetic(_)));
    assert!(matches!(compound("((a); (b))"), Compound::Subshell(list) if list.len() == 2));
    assert!(matches!(
        compound("if a; then b; elif c; then d; else e; fi"),
        Compound::If(branches, otherwise) if branches.len() == 2 && otherwise.len() == 1
    ));
    assert!(matches!(
        compound("while a; do b; done"),
        Compound::While(..)
    ));
    assert!(matches!(
        compound("for x in a b\ndo c; done"),
        Compound::For(name, Some(values), _) if name == "x" && values.len() == 2
    ));
    assert!(matches!(
        compound("for x do c; done"),
        Compound::For(_, None, _)
    ));
    assert!(matches!(compound("for ((;;)) { a; }"), Compound::Count(..)));
    assert!(matches!(
        compound("case a in (b|c) d;; *) e ;& esac"),
        Compound::Case(_, arms) if arms.len() == 2 && arms[0].0.len() == 2
    ));
    assert!(matches!(
        compound("[[ a < b && ( c ) ]]"),
        Compound::Test(_)
    ));
    assert!(matches!(compound("coproc a"), Compound::Coprocess(_)));
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
    // They are words where no command begins.
    assert_eq!(
        words("echo if then fi {"),
        ["echo", "if", "then", "fi", "{"]
    );
}

#[test]
fn assignments_and_redirections_are_no_words() {
    let Command::Simple(simple) = only("A=b C+=d e[1]=f g=(h i) run >x 2>>y <z >&2 {v}>w 3<&- a=b")
    else {
        panic!("it is no simple command");
    };
    let names: Vec<&str> = simple
        .assignments
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["A", "C", "e", "g"]);
    assert!(simple.assignments[1].adds && simple.assignments[2].subscript.is_some());
    assert!(matches!(&simple.assignments[3].value, Value::Array(words) if words.len() == 2));
    assert_eq!(simple.words.len(), 2);
    assert_eq!(simple.redirections.len(), 6);
    assert!(matches!(simple.redirections[2], Redirection::Read(_)));
    assert!(matches!(simple.redirections[3], Redirection::Duplicate(_)));
    assert_eq!(words("echo a[1]=x"), ["echo", "a[1]=x"]);
    assert_eq!(words("echo 2 > f"), ["echo", "2"]);
}

#[test]
fn here_documents_belong_to_their_command() {
    let script = read("cat <<A <<'B'; ls\none $x\nA\ntwo $x\nB\nnext");
    assert_eq!(script.list.len(), 3);
    assert!(
        matches!(script.documents[0].as_slice(), [Part::Quoted(text), Part::Parameter { .. }, _] if text == "one ")
    );
    assert_eq!(script.documents[1], [Part::Quoted("two $x\n".to_owned())]);
    let stripped = read("cat <<-A\n\t\tone\n\tA\n");
    assert_eq!(stripped.documents[0], [Part::Quoted("one\n".to_owned())]);
    let inner = read("x=$(cat <<A\none\nA\n)\nnext");
    assert_eq!((inner.list.len(), inner.documents.len()), (2, 1));
    // One that isn't ended goes on to the end.
    assert_eq!(
        read("cat <<A\none").documents[0],
        [Part::Quoted("one\n".to_owned())]
    );
}

#[test]
fn parameters_say_what_becomes_of_them() {
    let operation = |text: &str| {
        let Command::Simple(simple) = only(text) else {
            panic!("it is no simple command");
        };
        match &simple.words[0][0] {
            Part::Parameter { operation, .. } => operation.clone(),
            other => panic!("{text:?}: {other:?}"),
        }
    };
    let word = || vec![Part::Text("b".to_owned())];
    assert_eq!(operation("${a}"), Operation::None);
    assert_eq!(operation("${a:-b}"), Operation::Default(word()));
    assert_eq!(operation("${a-b}"), Operation::Default(word()));
    assert_eq!(operation("${a:=b}"), Operation::Assign(word()));
    assert_eq!(operation("${a+b}"), Operation::Alternative(word()));
    assert_eq!(operation("${a:?b}"), Operation::Check(word()));
    assert_eq!(operation("${a[b]}"), Operation::Element(word()));
    for text in [
        "${#a}",
        "${!a}",
        "${a#b}",
        "${a%%b}",
        "${a/b/c}",
        "${a:1:2}",
        "${a^^}",
        "${a@Q}",
        "${!a@}",
        "${#a[@]}",
        "${a[1]:-b}",
    ] {
        assert!(matches!(operation(text), Operation::Other(_)), "{text:?}");
    }
}

#[test]
fn errors_say_where() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text:?}");
    };
    check("echo 'a", "`'` at byte 5 is never ended by `'`");
    check("echo \"$(ls\"", "`\"` at byte 10 is never ended by `\"`");
    check("ls; )", "`)` at byte 4 can't stand there");
    check("ls && ", "the command ends where more has to come");
    check("if a; then b", "`if` at byte 0 is never ended by `fi`");
    check("a\0b", "there is a NUL at byte 1; take it out");
    let long = "x".repeat(super::LONGEST + 1);
    assert_eq!(parse(&long), Err(Unreadable::TooLong(long.len())));
    let deep = "(".repeat(70_000 / 2);
    assert!(matches!(parse(&deep), Err(Unreadable::TooDeep(_))));
}
