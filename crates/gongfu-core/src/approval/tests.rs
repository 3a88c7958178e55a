//! Approvals, from the question to the end of the answer.

use super::{
    Answer, AnswerTarget, Approval, ApprovalRequest, Approvals, Decision, MAX_WAITING, PLACE_TIME,
    Ruling, RulingError, SESSION_LIMIT, Scope, WAIT_LIMIT,
};
use crate::library::SkillVersion;
use crate::port::Timestamp;
use crate::skill::Digest;

fn request(what: &str) -> ApprovalRequest {
    ApprovalRequest {
        tool: "skill_run".to_owned(),
        digest: Digest::of(what.as_bytes()),
        any: None,
        session: None,
        what: what.to_owned(),
        details: Vec::new(),
        reason: "it is unknown".to_owned(),
        skill: None,
        trust: None,
    }
}

/// Answers the record of a call as a person at the command line.
fn answer(
    approvals: &mut Approvals,
    request: &ApprovalRequest,
    target: AnswerTarget,
    answer: Answer,
    until: Option<Timestamp>,
) -> Result<Approval, RulingError> {
    let ruling = Ruling {
        answer,
        is_for_any: false,
        session: None,
        until,
    };
    approvals.answer(&request.id(), target, &ruling, NOW)
}

/// A version of a skill with these contents of one file.
fn version(folder: &str, content: &str) -> SkillVersion {
    SkillVersion {
        folder: folder.to_owned(),
        name: "pdf".to_owned(),
        digest: format!("sha256:{content}"),
        files: [("plan".to_owned(), content.to_owned())].into(),
    }
}

#[test]
fn question_tells_what_is_different_since_the_last_answer() {
    let asked = |folder: &str, content: &str| ApprovalRequest {
        digest: Digest::of(content.as_bytes()),
        skill: Some(version(folder, content)),
        ..request("$(cat plan)")
    };
    let mut approvals = Approvals::default();
    let first = asked("lib/pdf", "1");
    assert!(waits(&mut approvals, &first, NOW));
    // Nobody has answered yet.
    assert!(approvals.difference(&asked("lib/pdf", "2"), NOW).is_empty());
    approvals.all[0].answer = Answer::Allowed(Scope::Always);
    assert!(approvals.difference(&first, NOW).is_empty());
    let second = asked("lib/pdf", "2");
    assert_eq!(approvals.difference(&second, NOW), ["plan changed"]);
    // Another skill of that name, or another command, is another question.
    assert!(
        approvals
            .difference(&asked("other/pdf", "2"), NOW)
            .is_empty()
    );
    let other = ApprovalRequest {
        what: "ls".to_owned(),
        ..second
    };
    assert!(approvals.difference(&other, NOW).is_empty());
}

const NOW: Timestamp = Timestamp(1_000);

fn waits(approvals: &mut Approvals, request: &ApprovalRequest, now: Timestamp) -> bool {
    matches!(approvals.decide(request, now), Decision::Waiting(_))
}

#[test]
fn approval_for_once_is_used_up() {
    let mut approvals = Approvals::default();
    let (git, curl) = (request("git log"), request("curl"));
    assert!(waits(&mut approvals, &git, NOW));
    assert!(waits(&mut approvals, &git, NOW));
    assert_eq!(approvals.all.len(), 1);
    let once = Answer::Allowed(Scope::Once);
    let answered = answer(&mut approvals, &git, AnswerTarget::Any, once, None);
    assert!(answered.is_ok_and(|known| known.what == "git log"));
    assert!(waits(&mut approvals, &curl, NOW));
    assert_eq!(approvals.decide(&git, NOW), Decision::Allowed);
    assert!(waits(&mut approvals, &git, NOW));
}

#[test]
fn answer_holds_until_its_end() {
    let mut approvals = Approvals::default();
    let git = request("git log");
    let any = AnswerTarget::Any;
    let unknown = answer(&mut approvals, &git, any, Answer::Denied, None);
    assert_eq!(unknown, Err(RulingError::Unknown));
    approvals.decide(&git, NOW);
    let until = Some(Timestamp(5_000));
    let always = Answer::Allowed(Scope::Always);
    answer(&mut approvals, &git, any, always, until).unwrap();
    assert_eq!(approvals.decide(&git, Timestamp(4_999)), Decision::Allowed);
    assert_eq!(approvals.decide(&git, Timestamp(4_999)), Decision::Allowed);
    assert!(waits(&mut approvals, &git, Timestamp(5_000)));
    answer(&mut approvals, &git, any, Answer::Denied, None).unwrap();
    assert_eq!(
        approvals.decide(&git, Timestamp(i64::MAX)),
        Decision::Denied
    );
    // Another tool with the same arguments is another call.
    let other = ApprovalRequest {
        tool: "other".to_owned(),
        ..request("git log")
    };
    assert_ne!(other.id(), git.id());
    assert!(waits(&mut approvals, &other, NOW));
}

#[test]
fn short_id_means_one_record_or_none() {
    let mut approvals = Approvals::default();
    for number in 0..3 {
        approvals.decide(&request(&number.to_string()), NOW);
    }
    let common = "0123456789abcdef";
    for (known, rest) in approvals.all.iter_mut().zip(["0", "1", "1"]) {
        known.id = format!("{common}{rest}{}", known.what.repeat(15));
    }
    let ids: Vec<String> = approvals.all.iter().map(|known| known.id.clone()).collect();
    let short = ids.iter().map(|id| approvals.short_id(id).len());
    assert_eq!(short.collect::<Vec<_>>(), [17, 18, 18]);
    let mut answer = |id: &str| match approvals.revoke(id) {
        Ok(known) => known.what,
        Err(error) => format!("{error:?}"),
    };
    assert_eq!(answer(common), "Ambiguous");
    assert_eq!(answer(&ids[0][..17]), "0");
    assert_eq!(answer(&ids[1][..17]), "Ambiguous");
    assert_eq!(answer(&ids[1]), "1");
    assert_eq!(answer(""), "Unknown");
    assert_eq!(answer("fedcba98"), "Unknown");
    // Two different calls have two ids of 128 bits.
    let [one, other] = ["a", "b"].map(|what| request(what).id());
    assert!(one != other && one.len() == 32);
}

#[test]
fn answer_to_a_question_holds_for_its_record_alone() {
    let mut approvals = Approvals::default();
    let git = request("git log");
    let Decision::Waiting(first) = approvals.decide(&git, NOW) else {
        panic!("it waits");
    };
    // The same call by another client waits for the same answer.
    assert_eq!(approvals.decide(&git, NOW), Decision::Waiting(first));
    let once = Answer::Allowed(Scope::Once);
    let say = |approvals: &mut Approvals, serial: Option<u64>, reply| {
        let target = serial.map_or(AnswerTarget::Any, AnswerTarget::Record);
        answer(approvals, &git, target, reply, None).is_ok()
    };
    assert!(say(&mut approvals, Some(first), once));
    // It was answered.
    assert!(!say(&mut approvals, Some(first), Answer::Denied));
    assert_eq!(approvals.decide(&git, NOW), Decision::Allowed);
    // It was used up, and the next question is another one.
    assert!(!say(&mut approvals, Some(first), once));
    assert_eq!(approvals.decide(&git, NOW), Decision::Waiting(first + 1));
    assert!(!say(&mut approvals, Some(first), once));
    // A person's answer by id replaces any other.
    assert!(say(&mut approvals, None, Answer::Denied));
    assert!(!say(
        &mut approvals,
        Some(first + 1),
        Answer::Allowed(Scope::Always)
    ));
    let late = answer(&mut approvals, &git, AnswerTarget::Waiting, once, None);
    assert_eq!(late, Err(RulingError::Unknown));
    assert_eq!(approvals.decide(&git, NOW), Decision::Denied);
    assert!(say(&mut approvals, None, once));
}

#[test]
fn waiting_call_loses_its_place_only_when_its_caller_is_gone() {
    let mut approvals = Approvals::default();
    let kept = request("kept");
    approvals.decide(&kept, NOW);
    let any = AnswerTarget::Any;
    answer(&mut approvals, &kept, any, Answer::Denied, None).unwrap();
    let is_full = |approvals: &mut Approvals, name: String, now| {
        approvals.decide(&request(&name), now) == Decision::Full
    };
    for number in 0..MAX_WAITING {
        assert!(!is_full(&mut approvals, number.to_string(), NOW));
    }
    assert!(is_full(&mut approvals, "more".to_owned(), NOW));
    // One that waits already goes on.
    assert!(!is_full(&mut approvals, "0".to_owned(), NOW));
    let later = Timestamp(NOW.0 + PLACE_TIME + 1);
    assert!(!is_full(&mut approvals, "more".to_owned(), later));
    assert_eq!(approvals.all.len(), MAX_WAITING + 1);
    let names = approvals.all.iter().map(|known| known.what.as_str());
    assert_eq!(names.take(2).collect::<Vec<_>>(), ["kept", "2"]);
    approvals.expire(Timestamp(later.0 + WAIT_LIMIT));
    assert_eq!(approvals.all.len(), 1);
}

#[test]
fn always_for_a_project_is_once_for_the_call_unless_it_has_an_end() {
    let asked = ApprovalRequest {
        trust: Some("/a/project".to_owned()),
        ..request("sh x.sh")
    };
    let always = Answer::Allowed(Scope::Always);
    let answered = |until| {
        let mut approvals = Approvals::default();
        assert!(waits(&mut approvals, &asked, NOW));
        let any = AnswerTarget::Any;
        let record = answer(&mut approvals, &asked, any, always, until).unwrap();
        assert_eq!(record.trust.as_deref(), Some("/a/project"));
        record.answer
    };
    assert_eq!(answered(None), Answer::Allowed(Scope::Once));
    assert_eq!(answered(Some(Timestamp(NOW.0 + 1))), always);
}

/// A call of a tool whose answers may be for any arguments, in a session.
fn call(arguments: &str, definition: &str, session: Option<&str>) -> ApprovalRequest {
    ApprovalRequest {
        digest: Digest::of(format!("{definition} {arguments}").as_bytes()),
        any: Some(Digest::of(definition.as_bytes())),
        session: session.map(str::to_owned),
        ..request(arguments)
    }
}

fn ruling(scope: Scope, is_for_any: bool) -> Ruling {
    Ruling {
        answer: Answer::Allowed(scope),
        is_for_any,
        session: None,
        until: None,
    }
}

#[test]
fn answer_for_any_arguments_covers_one_definition() {
    let mut approvals = Approvals::default();
    let of = |arguments: &str| call(arguments, "v1", None);
    let (first, second) = (of("a"), of("b"));
    waits(&mut approvals, &first, NOW);
    waits(&mut approvals, &second, NOW);
    let target = AnswerTarget::Any;
    waits(&mut approvals, &of("d"), NOW);
    answer(&mut approvals, &of("d"), target, Answer::Denied, None).unwrap();
    let any = ruling(Scope::Always, true);
    let granted = approvals.answer(&first.id(), target, &any, NOW).unwrap();
    for call in [&first, &second, &of("c")] {
        assert_eq!(approvals.decide(call, NOW), Decision::Allowed);
    }
    // The question about the second is answered, and a refusal of one call holds.
    assert_eq!(approvals.all.len(), 2);
    assert_eq!(approvals.decide(&of("d"), NOW), Decision::Denied);
    assert!(waits(&mut approvals, &call("a", "v2", None), NOW));
    // Once is once, whatever the arguments.
    approvals.revoke(&granted.id).unwrap();
    waits(&mut approvals, &first, NOW);
    let once = ruling(Scope::Once, true);
    approvals.answer(&first.id(), target, &once, NOW).unwrap();
    assert_eq!(approvals.decide(&second, NOW), Decision::Allowed);
    assert!(waits(&mut approvals, &second, NOW));
    // A command is decided by itself.
    waits(&mut approvals, &request("ls"), NOW);
    let refused = approvals.answer(&request("ls").id(), target, &any, NOW);
    assert_eq!(refused, Err(RulingError::NotForAny));
    assert!(waits(&mut approvals, &request("ls"), NOW));
}

#[test]
fn answer_for_a_session_covers_that_session() {
    let mut approvals = Approvals::default();
    let of = |session: Option<&str>| call("a", "v1", session);
    let id = of(None).id();
    waits(&mut approvals, &of(Some("one")), NOW);
    let target = AnswerTarget::Any;
    let session = ruling(Scope::Session, false);
    let granted = approvals.answer(&id, target, &session, NOW).unwrap();
    for _ in 0..2 {
        assert_eq!(approvals.decide(&of(Some("one")), NOW), Decision::Allowed);
    }
    // Another session asks again, and its answer leaves the first.
    for other in [Some("two"), None] {
        assert!(waits(&mut approvals, &of(other), NOW), "{other:?}");
    }
    let refused = approvals.answer(&id, target, &session, NOW);
    assert_eq!(refused, Err(RulingError::NoSession));
    waits(&mut approvals, &of(Some("two")), NOW);
    let once = ruling(Scope::Once, false);
    approvals.answer(&id, target, &once, NOW).unwrap();
    assert_eq!(approvals.decide(&of(Some("one")), NOW), Decision::Allowed);
    assert_eq!(approvals.decide(&of(Some("two")), NOW), Decision::Allowed);
    assert!(waits(&mut approvals, &of(Some("two")), NOW));
    // The person may answer through another session than the one that asked last.
    let own = Ruling {
        session: Some("three".to_owned()),
        ..session
    };
    approvals.answer(&id, target, &own, NOW).unwrap();
    assert_eq!(approvals.decide(&of(Some("three")), NOW), Decision::Allowed);
    assert!(waits(&mut approvals, &of(Some("two")), NOW));
    // It ends when it is revoked, and by itself.
    approvals.revoke(&granted.id).unwrap();
    assert!(waits(&mut approvals, &of(Some("one")), NOW));
    let end = Timestamp(NOW.0 + SESSION_LIMIT);
    assert!(waits(&mut approvals, &of(Some("three")), end));
}

#[test]
fn only_an_answer_that_lasts_allows_any_call_of_a_tool() {
    let any = Digest::of(b"any");
    let asked = ApprovalRequest {
        any: Some(any),
        session: Some("one".to_owned()),
        ..request("call")
    };
    for (given, is_for_any, expected) in [
        (Answer::Allowed(Scope::Once), true, [false, false]),
        (Answer::Allowed(Scope::Always), false, [false, false]),
        (Answer::Allowed(Scope::Always), true, [true, true]),
        (Answer::Allowed(Scope::Session), true, [true, false]),
        (Answer::Denied, true, [false, false]),
    ] {
        let mut approvals = Approvals::default();
        assert!(waits(&mut approvals, &asked, NOW));
        let ruling = Ruling {
            answer: given,
            is_for_any,
            session: None,
            until: Some(Timestamp(NOW.0 + 10)),
        };
        let answered = approvals.answer(&asked.id(), AnswerTarget::Any, &ruling, NOW);
        assert!(answered.is_ok());
        let allows = |tool: &str, any, session, now| approvals.allows_any(tool, any, session, now);
        let found = [Some("one"), Some("two")].map(|of| allows("skill_run", any, of, NOW));
        assert_eq!(found, expected, "{given:?}, {is_for_any}");
        // Another tool, another definition, and later than its end.
        assert!(!allows("other", any, Some("one"), NOW));
        assert!(!allows("skill_run", Digest::of(b"x"), Some("one"), NOW));
        assert!(!allows(
            "skill_run",
            any,
            Some("one"),
            Timestamp(NOW.0 + 10)
        ));
    }
}
