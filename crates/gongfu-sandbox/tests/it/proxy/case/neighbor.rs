//! Attacks on the proxy's process and its sockets, and on the proxies of other runs.

use super::super::session::Place;
use super::{Case, case};

pub(super) fn cases() -> Vec<Case> {
    let good = "200 hi from 11.22.0.2";
    let cases = [
        case(
            "the proxy of another run, without one's own",
            "via(GOOD)",
            &["EPERM"],
        )
        .at(Place::Nothing)
        .same_granted(good),
        case("the proxy of another owner's run", "via(GOOD)", &["403"])
            .at(Place::Other)
            .same_granted(good),
        case("another owner's host", "via(b'other.test:8443')", &["403"]).control(
            Place::Other,
            "via(b'other.test:8443')",
            "200 hi from 11.22.0.3",
        ),
        case(
            "the proxy's address from outside",
            "via(GOOD)",
            &["ECONNREFUSED"],
        )
        .at(Place::Outside)
        .same_granted(good),
        case(
            "the proxy by another address of loopback",
            "direct(INET, STREAM, ('127.0.0.2', 3128))",
            &["ECONNREFUSED"],
        )
        .control(
            Place::Granted,
            "direct(INET, STREAM, ('127.0.0.1', 3128), said=b'x\\r\\n\\r\\n')",
            "HTTP/1.1 400",
        ),
        case(
            "another port beside the proxy",
            "direct(INET, STREAM, ('127.0.0.1', 3129))",
            &["ECONNREFUSED"],
        )
        .control(
            Place::Granted,
            "direct(INET, STREAM, ('127.0.0.1', 3128), said=b'x\\r\\n\\r\\n')",
            "HTTP/1.1 400",
        ),
        case("listening at the proxy's port", "listens(3128)", &["EPERM"]).same_outside("listens"),
        case("listening elsewhere", "listens(0)", &["EPERM"]).same_outside("listens"),
        case(
            "listening without an address",
            "listens_unbound()",
            &["EPERM"],
        )
        .same_outside("listens"),
        case("handles that were left behind", "handles()", &["0 sockets"]).control(
            Place::Granted,
            "(lambda end: handles())(proxy())",
            "1 sockets",
        ),
        case(
            "a handle that is sent to the proxy",
            "handed(proxy())",
            &["closed"],
        )
        .control(
            Place::Granted,
            "handed(*socket.socketpair())",
            "kept 1 True",
        ),
        case(
            "the host's list of connections",
            "str(':20FB ' in open('/proc/net/tcp').read() + open('/proc/net/tcp6').read())",
            &["False", "ENOENT", "EACCES"],
        )
        .same_outside("True"),
    ];
    cases.into_iter().chain(process()).collect()
}

/// The process that the proxy is in.
fn process() -> Vec<Case> {
    let mut cases = Vec::new();
    let server = std::process::id();
    // Objects of the server, by its number outside.
    for (name, line, refused) in [
        (
            "the memory of the proxy",
            format!("memory({server})"),
            &["ENOENT"][..],
        ),
        (
            "the environment of the proxy",
            format!("sees('/proc/{server}/environ')"),
            &["ENOENT"],
        ),
        (
            "the command line of the proxy",
            format!("sees('/proc/{server}/cmdline')"),
            &["ENOENT"],
        ),
        (
            "the handles of the proxy",
            format!("tried(lambda: len(os.listdir('/proc/{server}/fd')) > 0 and 'read')"),
            &["ENOENT"],
        ),
        (
            "the network of the proxy",
            format!("sees('/proc/{server}/net/tcp')"),
            &["ENOENT"],
        ),
        (
            "the namespace of the proxy",
            format!("tried(lambda: 'read ' + os.readlink('/proc/{server}/ns/net'))"),
            &["ENOENT"],
        ),
        (
            "the files of the proxy",
            format!("tried(lambda: 'read ' + os.listdir('/proc/{server}/root')[0])"),
            &["ENOENT"],
        ),
        (
            "the threads of the proxy",
            format!("tried(lambda: 'read ' + os.listdir('/proc/{server}/task')[0])"),
            &["ENOENT"],
        ),
    ] {
        cases.push(case(name, line, refused).same_outside("read"));
    }
    cases.extend([
        case(
            "a signal to the proxy",
            format!("tried(lambda: os.kill({server}, 0))"),
            &["ESRCH"],
        )
        .same_outside("None"),
        case(
            "a handle of the proxy's process",
            format!("tried(lambda: os.pidfd_open({server}) > 0)"),
            &["ESRCH"],
        )
        .same_outside("True"),
        case(
            "killing every process that can be killed",
            "ends_all() and via(b'evil.test:8443')",
            &["403"],
        ),
    ]);
    cases
}
