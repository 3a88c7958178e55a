//! The seccomp profile of a container, with the same refusals as the filters of a program.
//!
//! The runtime applies it to every process in the container. Programs have the filters as well. Init connects to
//! the server once, so the profile allows that.

use gongfu_sandbox::backend::refused_calls::{self, Call, Condition, MISSING, Operator, Rule};
use serde_json::{Value, json};

/// Allowed for init; the filters refuse it to programs.
const CONNECT: &str = "SYS_connect";
/// Allowed for init with one family (`AF_UNIX`).
const SOCKET: &str = "SYS_socket";
const FAMILY: u64 = 1;

/// The profile, as Docker takes it; `None` on an unsupported processor.
pub(crate) fn profile() -> Option<String> {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "SCMP_ARCH_X86_64",
        "aarch64" => "SCMP_ARCH_AARCH64",
        "riscv64" => "SCMP_ARCH_RISCV64",
        _ => return None,
    };
    let refused = refused_calls::refused()
        .into_iter()
        .flat_map(|rule| of(&rule));
    let missing = MISSING
        .iter()
        .map(|call| entry(*call, libc::ENOSYS, json!([])));
    let calls: Vec<Value> = refused.chain(missing).collect();
    let profile = json!({
        "defaultAction": "SCMP_ACT_ALLOW",
        // A call of any other convention kills the process.
        "architectures": [architecture],
        "syscalls": calls,
    });
    Some(profile.to_string())
}

/// The entries of a call: each is one case.
fn of(rule: &Rule) -> Vec<Value> {
    let refused = |conditions| entry(rule.call, libc::EPERM, conditions);
    match rule.call.0 {
        CONNECT => Vec::new(),
        SOCKET => {
            let other = json!({ "index": 0, "value": FAMILY, "op": "SCMP_CMP_NE" });
            vec![refused(json!([other]))]
        }
        _ if rule.cases.is_empty() => vec![refused(json!([]))],
        _ => {
            let cases = rule.cases.iter();
            cases
                .map(|case| refused(case.iter().map(argument).collect()))
                .collect()
        }
    }
}

fn entry(call: Call, number: i32, conditions: Value) -> Value {
    let name = call.0.strip_prefix("SYS_").unwrap_or(call.0);
    json!({
        "names": [name],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": number,
        "args": conditions,
    })
}

/// A condition as libseccomp has it, which compares only whole arguments.
fn argument(condition: &Condition) -> Value {
    let Condition {
        argument, value, ..
    } = condition;
    let masked = |mask: u64| {
        json!({
            "index": argument,
            "value": mask,
            "valueTwo": value & mask,
            "op": "SCMP_CMP_MASKED_EQ",
        })
    };
    match condition.operator {
        Operator::Masked(mask) => masked(mask),
        Operator::Same if !condition.is_whole => masked(u64::from(u32::MAX)),
        Operator::Same => json!({ "index": argument, "value": value, "op": "SCMP_CMP_EQ" }),
        // Where only the low half counts, this refuses more.
        Operator::Other => json!({ "index": argument, "value": value, "op": "SCMP_CMP_NE" }),
    }
}

#[cfg(test)]
mod tests {
    use gongfu_sandbox::backend::refused_calls;
    use serde_json::Value;

    use super::profile;

    #[test]
    fn profile_refuses_what_the_filters_refuse_except_connecting() {
        let profile: Value = serde_json::from_str(&profile().unwrap()).unwrap();
        let entries = profile["syscalls"].as_array().unwrap();
        let of = |name: &str| {
            let is_it = |entry: &&Value| entry["names"][0] == name;
            entries.iter().filter(is_it).collect::<Vec<_>>()
        };
        for rule in refused_calls::refused() {
            let name = rule.call.0.strip_prefix("SYS_").unwrap();
            let cases = match name {
                "connect" => 0,
                _ => rule.cases.len().max(1),
            };
            assert_eq!(of(name).len(), cases, "{name}");
            for entry in of(name) {
                assert_eq!(entry["errnoRet"], libc::EPERM, "{name}");
                let is_free = entry["args"].as_array().unwrap().is_empty();
                assert_eq!(is_free, rule.cases.is_empty() && name != "socket", "{name}");
            }
        }
        for (name, _) in refused_calls::MISSING {
            let name = name.strip_prefix("SYS_").unwrap();
            assert_eq!(
                of(name).first().unwrap()["errnoRet"],
                libc::ENOSYS,
                "{name}"
            );
        }
        assert_eq!(profile["defaultAction"], "SCMP_ACT_ALLOW");
        assert_eq!(profile["architectures"].as_array().unwrap().len(), 1);
    }
}
