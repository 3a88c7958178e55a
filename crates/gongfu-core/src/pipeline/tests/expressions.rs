//! The abilities of expressions, and that they end.

use std::cell::Cell;

use minijinja::value::{Value as Dynamic, ValueKind};
use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::super::expression::{Expression, FUEL};
use super::super::{Scope, StepIdentity};

fn with_scope<T>(long: usize, use_it: impl FnOnce(&Scope<'_>) -> T) -> T {
    let input = json!({"n": 3, "list": [3, 1, 2], "text": "ab", "items": [{"ok": true, "id": "x"}, {"ok": false, "id": "y"}], "deep": [[[1, 2], [1, 2]], [[1, 2], [1, 2]]], "long": "x".repeat(long), "many": vec![1; long]});
    let outputs = json!({"a": {"count": 2, "z": 1, "b": 2}, "hidden": 1});
    let run = StepIdentity {
        id: "r".to_owned(),
        step: "r/s".to_owned(),
        again: false,
    };
    use_it(&Scope {
        input: &input,
        outputs: outputs.as_object().unwrap(),
        visible: vec!["a"],
        output: None,
        run: &run,
    })
}

fn value(text: &str) -> Result<Value, String> {
    with_scope(100_000, |scope| Expression::parse(text)?.value(scope))
}

#[test]
fn expression_has_operators_filters_and_tests() {
    for (text, wanted) in [
        ("input.n + 1", json!(4)),
        ("input.n > 2 and not false", json!(true)),
        ("steps.a.count == 2 if input.n else 'no'", json!(true)),
        ("input.list | sort | join('-')", json!("1-2-3")),
        (
            "input.items | selectattr('ok') | map(attribute='id') | list",
            json!(["x"]),
        ),
        ("input.missing | default('none')", json!("none")),
        ("input['text'] ~ '!'", json!("ab!")),
        (
            "{'a': [1, 2.5, none, true]}",
            json!({"a": [1, 2.5, null, true]}),
        ),
        ("steps['a']['count']", json!(2)),
        ("steps.keys is defined", json!(false)),
        ("'x' in input.text or steps.hidden is defined", json!(false)),
        ("run.id ~ run.step", json!("rr/s")),
        ("{'a': 1} | tojson", json!("{\"a\":1}")),
        ("(input.n + 1) * -2 ** 2", json!(16)),
        ("(input.missing | default(2)) * input.n", json!(6)),
        ("input.list | sum * 2", json!(12)),
        (
            "input.items | selectattr('id', 'in', ['y']) | map(attribute='id') | first",
            json!("y"),
        ),
        (
            "input.items | map(attribute='no', default='-') | join",
            json!("--"),
        ),
        ("input.text | replace('a', input.n)", json!("3b")),
        ("[1, 2] == input.list[1:] and 2 is in [2]", json!(true)),
        // The order of fields is that of the tool.
        ("steps.a | list | join", json!("countzb")),
    ] {
        assert_eq!(value(text), Ok(wanted), "{text}");
    }
}

#[test]
fn expression_that_is_wrong_says_why() {
    for (text, wanted) in [
        ("input.n +", "unexpected end of input"),
        ("", "can't parse the expression"),
        ("input | nofilter", "nofilter"),
        ("input.n + 'x'", "the expression failed: invalid operation"),
        ("input.missing", "add `| default(…)`"),
        ("input.missing.more", "undefined value"),
        ("steps.hidden.x", "undefined value"),
        ("range(3)", "calls no functions"),
        ("input | toupper", "there is no filter `toupper`: "),
        ("input.n is od", "no test `od`: did you mean `odd`?"),
        ("[1] * 3", "take numbers: write `(…) | int`"),
        (
            "2 * input.list",
            "`input.list` isn't one: write `input.list | int`",
        ),
        ("(input.list + [1]) * 3", "take numbers"),
        ("'x' * 3", "take numbers"),
        ("input | pprint", "there is no filter `pprint`"),
        ("input | tojson(indent=9)", "the expression failed"),
        ("input.list | map('default', input)", "as they are"),
        (
            "input.list | map('map', 'x')",
            "`map` can't use the filter `map`",
        ),
        ("input.list | sum(start=[])", "takes an attribute alone"),
        ("1e308 * 10", "can't hold"),
        ("{'a': [1e308 * -10]}", "can't hold"),
        ("2 ** 100", "can't hold"),
        (
            "input.list | select('in', input.list[1:])",
            "write `| list`",
        ),
    ] {
        let error = value(text).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
    assert!(value(&"(".repeat(4_000)).unwrap_err().contains("recursion"));
    assert!(
        value(&"1".repeat(5_000))
            .unwrap_err()
            .contains("4096 bytes at most")
    );
}

#[test]
fn expression_ends_within_its_limits() {
    let twice = "input.long ~ ".repeat(300) + "''";
    let escaped = format!("input.long{}", " | tojson".repeat(300));
    let nested = format!("[1] {}", "| map('list') | list ".repeat(50));
    let all = format!("[{}] == []", "input, ".repeat(450));
    let repeated = "([[[[1]*10000]*10000]*10000]*10000)";
    let same = format!("{repeated} == {repeated}");
    for text in [
        twice.as_str(),
        escaped.as_str(),
        same.as_str(),
        all.as_str(),
        "1 in [1]*99999999",
        "[1]*99999999 ~ ''",
        "('x' ~ input.long) | replace('x', input.long)",
        "input.many | list | map('string') | join(input.long)",
        "input.long | list | sort | unique | list | length + 9 ** 99",
        "input.many | select('in', input.many) | list",
        "input.many | map('trim', input.long)",
        "9 ** 99 ** 9",
        "input.long | trim(input.long)",
        "input.many | map(attribute='x', default=input.many)",
        nested.as_str(),
    ] {
        match value(text) {
            Ok(value) => assert!(value.to_string().len() < 600_000, "{text}"),
            Err(error) => assert!(error.len() < 5_000, "{text}: {}", error.len()),
        }
    }
    let error = value(&all).unwrap_err();
    assert!(error.contains("too long for values of"), "{error}");
    let error = value("input.long | replace('x', input.long)").unwrap_err();
    assert!(error.contains("too much memory"), "{error}");
}

/// A random expression, in the syntax that is allowed and in some that isn't.
fn random() -> impl Strategy<Value = String> {
    const PATHS: [&str; 17] = [
        "input",
        "input.list",
        "input.deep",
        "input.many",
        "input.long",
        "input.n",
        "steps",
        "steps.a",
        "run.id",
        "[]",
        "3",
        "'xyz'",
        "1.5",
        "none",
        "true",
        "input.items",
        "input.deep[0]",
    ];
    const OPERATORS: [&str; 16] = [
        "+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">=", "in", "not in", "and",
        "or",
    ];
    const FILTERS: [&str; 31] = [
        "list",
        "string",
        "tojson",
        "sort",
        "unique",
        "reverse",
        "join",
        "length",
        "first",
        "last",
        "sum",
        "int",
        "max",
        "map('list')",
        "map('string')",
        "map('default', 'x')",
        "map(attribute='id', default=0)",
        "select('eq', 1)",
        "reject('none')",
        "selectattr('id', 'in', ['x'])",
        "groupby('id')",
        "split",
        "upper",
        "items",
        "dictsort",
        "replace('x', 'xx')",
        "default(input)",
        "lines",
        "title",
        "trim",
        "batch(3)",
    ];
    select(&PATHS[..])
        .prop_map(str::to_owned)
        .prop_recursive(6, 24, 3, move |inner| {
            prop_oneof![
                (inner.clone(), select(&OPERATORS[..]), inner.clone())
                    .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
                (inner.clone(), select(&FILTERS[..]))
                    .prop_map(|(of, filter)| format!("{of} | {filter}")),
                (inner.clone(), select(&FILTERS[..]), inner.clone()).prop_map(
                    |(of, filter, argument)| format!("({of}) | join({argument}) | {filter}")
                ),
                vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
                vec(inner.clone(), 1..3)
                    .prop_map(|items| format!("{{'k': ({},)}}", items.join(", "))),
                (inner.clone(), -9..9_i8).prop_map(|(of, at)| format!("({of})[{at}:]")),
                (inner.clone(), inner.clone(), inner)
                    .prop_map(|(one, if_, other)| format!("({one} if {if_} else {other})")),
            ]
        })
}

/// The values in a value, as far as they are at most the limit.
fn count(value: &Dynamic, limit: usize) -> usize {
    let mut number = 1;
    if value.as_str().is_some() {
        return number;
    }
    for item in value.try_iter().into_iter().flatten() {
        if number > limit {
            break;
        }
        let field = value.get_item(&item).unwrap_or_default();
        let inner = if value.kind() == ValueKind::Map {
            field
        } else {
            item
        };
        number += count(&inner, limit - number);
    }
    number
}

#[test]
fn random_expression_makes_no_more_than_it_is_made_of() {
    const LONG: usize = 300;
    let mut runner = TestRunner::new(Config {
        cases: 5_000,
        failure_persistence: None,
        ..Config::default()
    });
    let evaluated = Cell::new(0);
    let result = runner.run(&random(), |text| {
        let Ok(expression) = Expression::parse(&text) else {
            return Ok(());
        };
        with_scope(LONG, |scope| {
            if let Ok(value) = expression.evaluate(scope) {
                evaluated.set(evaluated.get() + 1);
                // Of a text, each character may become an item. What joins items can be long itself: only fuel limits
                // the bytes of that text.
                let limit = if text.contains("join(") {
                    usize::try_from(FUEL).unwrap() * 64
                } else {
                    text.len() * 4 * LONG + 50_000
                };
                assert!(count(&value, limit) <= limit, "{text}");
            }
        });
        Ok(())
    });
    result.unwrap();
    assert!(evaluated.get() > 500, "{}", evaluated.get());
}
