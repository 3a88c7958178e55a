//! The system calls that a program in a sandbox may not make.
//!
//! Four filters, because one has a single answer for what it finds: what a program may not do, what
//! it is told that the system doesn't have, what it is told that was done, and the calls of another
//! convention, for which it is ended. `seccompiler` itself ends a program that makes calls of another
//! architecture.

pub(crate) mod among;
pub(crate) mod profile;
mod table;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use table::{Condition, MISSING, Operator, Rule};

/// The family of the older kind of addresses (`AF_INET`).
const INTERNET: u64 = 2;
/// The kinds of sockets that are no streams of bytes, and those that aren't known, for which the kernel
/// would look.
const UNSTREAMED: [u64; 15] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The option of TCP by which the kernel speaks something else over it (`TCP_ULP`).
const OVER_TCP: u64 = 31;
/// The protocol of streams.
const TCP: u64 = 6;

/// The bit of calls by the x32 convention, which `seccompiler` lets pass.
const X32: u32 = 0x4000_0000;

/// Filters, each of them for every call.
pub(crate) type Filters = [BpfProgram; 4];

/// The filters of every sandbox; `None` on a processor for which there are none. Where its network leads
/// to a proxy, a program can connect to that.
pub(crate) fn filters(is_proxied: bool) -> Option<Filters> {
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
        let cases = cases.iter().map(|case| {
            let conditions = case.iter().map(condition).collect::<Option<Vec<_>>>()?;
            SeccompRule::new(conditions).ok()
        });
        rules.insert(call.1, any_of(cases.collect())?);
    }
    if is_proxied {
        rules.remove(&libc::SYS_connect);
        rules.insert(libc::SYS_socket, any_of(unstreamed())?);
        let equal = |argument, value| {
            let (length, same) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
            SeccompCondition::new(argument, length, same, value).ok()
        };
        let over = equal(1, TCP).zip(equal(2, OVER_TCP));
        let over = over.and_then(|(tcp, over)| SeccompRule::new(vec![tcp, over]).ok());
        rules.insert(libc::SYS_setsockopt, any_of(vec![over])?);
    }
    compiled(rules, libc::EPERM)
}

/// A condition as a filter has it.
fn condition(condition: &Condition) -> Option<SeccompCondition> {
    let length = if condition.is_whole {
        SeccompCmpArgLen::Qword
    } else {
        SeccompCmpArgLen::Dword
    };
    let operator = match condition.operator {
        Operator::Same => SeccompCmpOp::Eq,
        Operator::Other => SeccompCmpOp::Ne,
        Operator::Masked(mask) => SeccompCmpOp::MaskedEq(mask),
    };
    SeccompCondition::new(condition.argument, length, operator, condition.value).ok()
}

/// Sockets that are no streams of TCP by the older kind of addresses.
fn unstreamed() -> Vec<Option<SeccompRule>> {
    let unequal = |argument, value| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value).ok()
    };
    let mut rules = vec![unequal(0, INTERNET).and_then(|one| SeccompRule::new(vec![one]).ok())];
    let kinds = UNSTREAMED.map(|kind| {
        rule(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(0xF),
            kind,
        )
    });
    rules.extend(kinds);
    // Any other protocol would have the kernel look for it.
    let others = unequal(2, 0).zip(unequal(2, TCP));
    rules.push(others.and_then(|(none, tcp)| SeccompRule::new(vec![none, tcp]).ok()));
    rules
}

fn missing() -> Option<BpfProgram> {
    let rules = MISSING.iter().map(|(_, number)| (*number, Vec::new()));
    compiled(rules.collect(), libc::ENOSYS)
}

fn any_of(rules: Vec<Option<SeccompRule>>) -> Option<Vec<SeccompRule>> {
    rules.into_iter().collect()
}

/// A dump of what is smaller than the least is nobody's; by no dump at all, the system would have a
/// program of the machine take it. So the limit stays, and whoever wants none has what it wants.
fn pretended() -> Option<BpfProgram> {
    let mut rules = BTreeMap::new();
    // Who also asks for the old limit would be given none.
    let changes = vec![
        compared(2, SeccompCmpOp::Ne, 0),
        compared(3, SeccompCmpOp::Eq, 0),
    ];
    rules.insert(libc::SYS_prlimit64, vec![dumps(1, changes)?]);
    rules.insert(libc::SYS_setrlimit, vec![dumps(0, Vec::new())?]);
    compiled(rules, 0)
}

/// A call about the size of dumps, which this argument says, where the others are so as well.
fn dumps(argument: u8, others: Vec<Option<SeccompCondition>>) -> Option<SeccompRule> {
    let limit = u64::from(libc::RLIMIT_CORE);
    let about = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, limit);
    let mut conditions = vec![about.ok()?];
    conditions.extend(others.into_iter().collect::<Option<Vec<_>>>()?);
    SeccompRule::new(conditions).ok()
}

fn compared(argument: u8, comparison: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, comparison, value).ok()
}

fn rule(
    argument: u8,
    length: SeccompCmpArgLen,
    comparison: SeccompCmpOp,
    value: u64,
) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(argument, length, comparison, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}

fn compiled(rules: BTreeMap<i64, Vec<SeccompRule>>, number: i32) -> Option<BpfProgram> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let refusal = SeccompAction::Errno(number.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, architecture).ok()?;
    filter.try_into().ok()
}

/// Ends whoever makes a call whose number has a bit that no call of this architecture has.
fn other_convention() -> BpfProgram {
    // Loads the number of the call; goes to one of two answers.
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x35, 0, 1, X32),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests;
