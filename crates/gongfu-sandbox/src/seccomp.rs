//! The system calls that a program in a sandbox may not make.
//!
//! There are four filters, because each has a single answer: calls that are refused, calls that are said to be
//! missing, calls that are said to have succeeded, and calls of another convention, for which the program is
//! killed. `seccompiler` itself kills a program that makes calls of another architecture.

mod filter;
pub(crate) mod shared_rules;
pub mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use seccompiler::{BpfProgram, SeccompRule, sock_filter};

use filter::{any_of, compile, condition, rule};
use table::{MISSING, Operator, Rule};

/// IPv4 (`AF_INET`).
const AF_INET: u64 = 2;
/// All types of sockets but streams: the unknown ones would make the kernel look for a module.
const NO_STREAMS: [u64; 15] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The option of TCP with which the kernel speaks another protocol over it (`TCP_ULP`).
const TCP_ULP: u64 = 31;
/// The protocol of streams.
const TCP: u64 = 6;

/// The options of sockets that change the size of a buffer.
const BUFFERS: [libc::c_int; 4] = [
    libc::SO_SNDBUF,
    libc::SO_RCVBUF,
    libc::SO_SNDBUFFORCE,
    libc::SO_RCVBUFFORCE,
];

/// The bit of calls by the x32 convention, which `seccompiler` lets pass.
const X32_BIT: u32 = 0x4000_0000;

/// The filters of a program; each of them sees every call.
pub(crate) type Filters = [BpfProgram; 4];

/// The filters of every sandbox; `None` on a processor for which there are none. Where the program `is_proxied`,
/// it can connect to its proxy.
pub(crate) fn filters(is_proxied: bool) -> Option<&'static Filters> {
    static FILTERS: [LazyLock<Option<Filters>>; 2] = [
        LazyLock::new(|| make_filters(false)),
        LazyLock::new(|| make_filters(true)),
    ];
    FILTERS.get(usize::from(is_proxied))?.as_ref()
}

fn make_filters(is_proxied: bool) -> Option<Filters> {
    Some([
        refused(is_proxied)?,
        missing()?,
        pretended()?,
        other_convention(),
    ])
}

fn refused(is_proxied: bool) -> Option<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for Rule { call, cases } in table::refused() {
        rules.insert(call.1, any_of(cases.into_iter().map(rule))?);
    }
    if is_proxied {
        rules.remove(&libc::SYS_connect);
        rules.insert(libc::SYS_socket, no_streams()?);
        let is_tcp = condition(1, false, Operator::Same, TCP);
        let is_upper = condition(2, false, Operator::Same, TCP_ULP);
        let upper_protocol = rule(vec![is_tcp, is_upper]);
        rules.insert(libc::SYS_setsockopt, any_of([upper_protocol])?);
    }
    compile(rules, libc::EPERM)
}

/// Sockets that are no streams of TCP over IPv4.
fn no_streams() -> Option<Vec<SeccompRule>> {
    let unless = |argument, value| condition(argument, false, Operator::Other, value);
    let kinds = NO_STREAMS.map(|kind| {
        // The other bits are flags.
        rule(vec![condition(1, false, Operator::Masked(0xF), kind)])
    });
    let family = rule(vec![unless(0, AF_INET)]);
    // Another protocol would make the kernel look for a module.
    let protocol = rule(vec![unless(2, 0), unless(2, TCP)]);
    any_of(kinds.into_iter().chain([family, protocol]))
}

fn missing() -> Option<BpfProgram> {
    let rules = MISSING.iter().map(|(_, number)| (*number, Vec::new()));
    compile(rules.collect(), libc::ENOSYS)
}

/// Setting the size of core dumps, and the buffers of sockets.
///
/// The memory of sockets counts nowhere without a control group, so their buffers keep the default size. With a limit of one byte there is no dump; with zero the kernel would still
/// pipe it to a program of the host. So the limit stays, and the calls pretend to have changed it.
fn pretended() -> Option<BpfProgram> {
    let core = u64::from(libc::RLIMIT_CORE);
    let is_core = |argument| condition(argument, false, Operator::Same, core);
    // A call that asks for the old limit as well would get none.
    let change = rule(vec![
        is_core(1),
        condition(2, true, Operator::Other, 0),
        condition(3, true, Operator::Same, 0),
    ]);
    let rules = [
        (libc::SYS_prlimit64, any_of([change])?),
        (libc::SYS_setrlimit, any_of([rule(vec![is_core(0)])])?),
        (libc::SYS_setsockopt, any_of(BUFFERS.map(buffer))?),
    ];
    compile(rules.into(), 0)
}

/// Changing a buffer by one of the options.
fn buffer(option: libc::c_int) -> Option<SeccompRule> {
    let is = |argument, value: libc::c_int| {
        condition(
            argument,
            false,
            Operator::Same,
            u64::from(value.unsigned_abs()),
        )
    };
    rule(vec![is(1, libc::SOL_SOCKET), is(2, option)])
}

/// Kills programs that make a call whose number has the bit of another convention.
fn other_convention() -> BpfProgram {
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        // Load the number, compare it, and return one of two answers.
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32_BIT),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests;
