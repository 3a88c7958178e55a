//! TLS greetings for another host than the requested one, and bytes that are no greeting.

use super::super::session::Place;
use super::{Case, Need, case};

/// Bytes that are sent to a granted host.
const GREETINGS: &[(&str, &str)] = &[
    ("a greeting for another host", "hello(b'evil.test')"),
    (
        "a greeting for another granted host",
        "hello(b'a.wild.test')",
    ),
    ("a greeting for a name below", "hello(b'a.good.test')"),
    ("a greeting for the name above", "hello(b'test')"),
    ("a greeting without a host", "hello()"),
    ("a greeting for an empty name", "hello(b'')"),
    (
        "a greeting without any list of names",
        "records(message(extension(0, b'')))",
    ),
    (
        "a greeting for an empty list of names",
        "records(message(extension(0, sized(b''))))",
    ),
    (
        "a greeting for two names, the granted one first",
        "hello(b'good.test', b'evil.test')",
    ),
    (
        "a greeting for two names, the other one first",
        "hello(b'evil.test', b'good.test')",
    ),
    (
        "a greeting that names its host twice",
        "hello(b'good.test', b'good.test')",
    ),
    (
        "two lists of names, the granted one first",
        "records(message(named(b'good.test') + named(b'evil.test')))",
    ),
    (
        "two lists of names, the other one first",
        "records(message(named(b'evil.test') + named(b'good.test')))",
    ),
    (
        "a name of another kind",
        "records(message(named(b'good.test', kind=1)))",
    ),
    (
        "a name of another kind before the granted one",
        "records(message(extension(0, sized(b'\\1' + sized(b'evil.test') + b'\\0' + sized(b'good.test')))))",
    ),
    ("a greeting for an address", "hello(b'11.22.0.2')"),
    (
        "a greeting for an address of this network",
        "hello(b'10.0.0.1')",
    ),
    ("a greeting for an address of IPv6", "hello(b'::1')"),
    ("another host with a dot at the end", "hello(b'evil.test.')"),
    (
        "a greeting for a name with a port",
        "hello(b'good.test:8443')",
    ),
    (
        "a greeting for a name with a NUL behind",
        "hello(b'good.test\\0')",
    ),
    (
        "a greeting for a name with a NUL and another name",
        "hello(b'good.test\\0.evil.test')",
    ),
    ("a greeting for a name with a blank", "hello(b'good.test ')"),
    (
        "a greeting for a name with a line end",
        "hello(b'good.test\\r\\nevil.test')",
    ),
    ("a greeting for all names", "hello(b'*.test')"),
    (
        "a greeting in another script",
        "hello('gооd.test'.encode())",
    ),
    ("a greeting for a very long name", "hello(b'a' * 60000)"),
    ("upper case, for another host", "hello(b'EVIL.TEST')"),
    (
        "another host, with unknown extensions",
        "hello(b'evil.test', more=extension(0x2a2a, b'') + extension(0xfafa, b'\\0'))",
    ),
    (
        "another host, with an encrypted extension",
        "hello(b'evil.test', more=extension(0xfe0d, b'\\0\\0\\1\\0\\1\\7' + sized(b'k' * 32) + sized(named(b'good.test') * 9)))",
    ),
    (
        "no host, with an encrypted extension",
        "hello(more=extension(0xfe0d, b'\\0\\0\\1\\0\\1\\7' + sized(b'k' * 32) + sized(named(b'good.test') * 9)))",
    ),
    (
        "the granted name in another extension alone",
        "hello(more=extension(0x1234, sized(b'\\0' + sized(b'good.test'))))",
    ),
    (
        "another host, in records of five bytes",
        "hello(b'evil.test', size=5)",
    ),
    (
        "another host, in records of one byte",
        "hello(b'evil.test', size=1)",
    ),
    ("another host, byte by byte", "*singly(hello(b'evil.test'))"),
    (
        "another host, in records of one byte, byte by byte",
        "*singly(hello(b'evil.test', size=1))",
    ),
    (
        "a record without anything before another host",
        "records(b' ')[:3] + b'\\0\\0' + hello(b'evil.test')",
    ),
    (
        "a warning before another host",
        "records(b'\\1\\x70', kind=21) + hello(b'evil.test')",
    ),
    (
        "a change of ciphers before another host",
        "records(b'\\1', kind=20) + hello(b'evil.test')",
    ),
    (
        "data before the granted host",
        "records(b'GET / HTTP/1.1', kind=23) + hello(b'good.test')",
    ),
    (
        "another host, and then the granted one",
        "hello(b'evil.test') + hello(b'good.test')",
    ),
    (
        "the granted host behind another one, in one record",
        "records(message(named(b'evil.test')) + message(named(b'good.test')))",
    ),
    (
        "another message before the greeting",
        "records(b'\\0\\0\\0\\0' + message(named(b'good.test')))",
    ),
    (
        "an answer instead of a greeting",
        "records(b'\\2' + message(named(b'good.test'))[1:])",
    ),
    (
        "something behind the extensions",
        "records(message(named(b'good.test'), rest=b'xyz'))",
    ),
    (
        "a list of names that is longer than it says",
        "records(message(extension(0, sized(b'\\0' + sized(b'good.test')) + b'xyz')))",
    ),
    (
        "a name that is shorter than it says",
        "records(message(extension(0, b'\\0\\x20\\0\\0\\x1dgood.test')))",
    ),
    (
        "a greeting that says it is longer than any",
        "b'\\x16\\3\\1\\x40\\0\\1\\xff\\xff\\xff' + b'x' * 70000",
    ),
    (
        "a record that says it is longer than any",
        "b'\\x16\\3\\1\\xff\\xff' + b'x' * 70000",
    ),
    (
        "records without anything, without end",
        "(records(b' ')[:3] + b'\\0\\0') * 30000",
    ),
    (
        "a greeting of the oldest TLS",
        "b'\\x80\\x2e\\1\\0\\2\\0\\x15\\0\\0\\0\\x10' + b'\\7' * 64",
    ),
    (
        "a record of an unknown version",
        "b'\\x16\\x7f\\x7f' + hello(b'evil.test')[3:]",
    ),
    (
        "a plain request",
        "b'GET / HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n'",
    ),
    (
        "a plain request for the newer HTTP",
        "b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'",
    ),
    ("SSH", "b'SSH-2.0-OpenSSH_9.9\\r\\n'"),
    (
        "SMTP, and then TLS",
        "b'EHLO x\\r\\nSTARTTLS\\r\\n' + hello(b'good.test')",
    ),
    (
        "a database",
        "b'\\0\\0\\0\\x08\\x04\\xd2\\x16\\x2f' + hello(b'good.test')",
    ),
    (
        "a line end before the greeting",
        "b'\\r\\n' + hello(b'good.test')",
    ),
    ("bytes of no protocol", "b'\\xff' * 3000"),
];

/// Odd greetings that are valid: the controls of the cases with the same names. The others have a plain greeting
/// as their control.
const PASSING: &[(&str, &str)] = &[
    ("upper case, for another host", "hello(b'GOOD.Test')"),
    ("another host with a dot at the end", "hello(b'good.test.')"),
    (
        "another host, with unknown extensions",
        "hello(b'good.test', more=extension(0x2a2a, b'') + extension(0xfafa, b'\\0'))",
    ),
    (
        "another host, with an encrypted extension",
        "hello(b'good.test', more=extension(0xfe0d, b'\\0\\0\\1\\0\\1\\7' + sized(b'k' * 32) + sized(named(b'evil.test') * 9)))",
    ),
    (
        "another host, in records of five bytes",
        "hello(b'good.test', size=5)",
    ),
    (
        "another host, in records of one byte",
        "hello(b'good.test', size=1)",
    ),
    ("another host, byte by byte", "*singly(hello(b'good.test'))"),
    (
        "another host, in records of one byte, byte by byte",
        "*singly(hello(b'good.test', size=1))",
    ),
    (
        "a greeting that says it is longer than any",
        "hello(b'good.test', more=extension(21, b'\\0' * 12000))",
    ),
    (
        "the granted name in another extension alone",
        "hello(b'good.test', more=extension(0x1234, sized(b'\\0' + sized(b'evil.test'))))",
    ),
];

pub(super) fn cases() -> Vec<Case> {
    let closed = &["200 closed"][..];
    let tells = |greeting: &str| format!("tell(connect(GOOD), {greeting})");
    let mut cases = Vec::new();
    for (name, greeting) in GREETINGS {
        let attack = case(*name, tells(greeting), closed);
        let passing = PASSING.iter().find(|(of, _)| of == name);
        cases.push(match passing {
            Some((_, greeting)) => {
                attack.control(Place::Granted, tells(greeting), "200 hi from 11.22.0.2")
            }
            None => attack,
        });
    }
    let library = |name, context: &str, of: &str| {
        let attack = case(name, format!("inside({context}, {of})"), closed);
        let control = attack.control(
            Place::Granted,
            "inside(trusting(), 'good.test')",
            "200 HTTP/1.1",
        );
        control.needs(Need::Certificate)
    };
    cases.push(library(
        "a library that names another host",
        "library()._create_unverified_context()",
        "'evil.test'",
    ));
    cases.push(library(
        "a library that names no host",
        "library()._create_unverified_context()",
        "None",
    ));
    cases.push(library(
        "a library that names an address",
        "library()._create_unverified_context()",
        "'11.22.0.2'",
    ));
    cases
}
