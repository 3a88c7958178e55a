//! Makes the rules of the tables into filters of the kernel.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::table::{Condition, Operator};

/// A condition on an argument; all of it counts where it `is_whole`, else its low half.
pub(super) fn condition(argument: u8, is_whole: bool, operator: Operator, value: u64) -> Condition {
    Condition {
        argument,
        is_whole,
        operator,
        value,
    }
}

/// A rule for calls that meet all of these conditions.
pub(super) fn rule(conditions: Vec<Condition>) -> Option<SeccompRule> {
    let conditions = conditions.into_iter().map(|condition| {
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
    });
    SeccompRule::new(conditions.collect::<Option<_>>()?).ok()
}

/// Rules of which one is enough.
pub(super) fn any_of(
    rules: impl IntoIterator<Item = Option<SeccompRule>>,
) -> Option<Vec<SeccompRule>> {
    rules.into_iter().collect()
}

/// A filter that answers these calls with an error number, or with success where it is zero.
pub(super) fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>, number: i32) -> Option<BpfProgram> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let answer = SeccompAction::Errno(number.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture).ok()?;
    filter.try_into().ok()
}
