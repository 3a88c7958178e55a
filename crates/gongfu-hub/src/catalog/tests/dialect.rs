//! The dialects: the same skills in the words of other systems.

use gongfu_core::account::{Actor, Role};
use serde_json::{Value, json};

use gongfu_testing::SkillFiles;
use gongfu_testing::json::case;

use super::world::{DOCUMENT, catalog, over, sealed};
use super::{Catalog, call_in, now, shown};
use crate::profile::Profile;

fn profile(name: &str) -> Profile {
    name.parse().unwrap()
}

/// The text of an answer; of a failure that of its own form, behind `!`.
fn said(catalog: &Catalog, of: &str, tool: &str, arguments: Value) -> String {
    match call_in(catalog, profile(of), tool, arguments) {
        Ok(result) => shown(&result),
        Err(error) => format!("!{}", shown(&error.rendered.unwrap())),
    }
}

fn names(catalog: &Catalog, profiles: &[Profile]) -> Vec<String> {
    let actor = Actor::local(Role::ExternalAgent, "test");
    let specs = now(catalog.list(profiles, &actor, None));
    specs.iter().map(|spec| spec.name.to_string()).collect()
}

#[test]
fn profile_shows_its_tools_and_profiles_combine() {
    let catalog = catalog();
    for name in [
        "standard",
        "agentskills",
        "autosnippet",
        "skills",
        "read_skill",
    ] {
        let names = names(&catalog, &[profile(name)]);
        assert!((1..=12).contains(&names.len()), "{name}: {names:?}");
        assert!(names.is_sorted());
        let (lists, loads) = profile(name).reading();
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        assert!(lists.is_none_or(has) && has(loads));
    }
    assert_eq!(
        names(&catalog, &[profile("agentskills"), profile("read_skill")]),
        [
            "load_skill",
            "load_skill_metadata",
            "read_reference_file",
            "read_skill",
            "run_shell_command"
        ]
    );
    let all = names(&catalog, &[Profile::All]);
    let every = Profile::every();
    let (last, others) = every.split_last().unwrap();
    assert_eq!(*last, Profile::All);
    assert_eq!(all, names(&catalog, others));
    let hidden = call_in(&catalog, profile("skills"), "load_skill", json!({})).unwrap_err();
    assert_eq!(hidden.code().as_str(), "TOOL_NOT_FOUND");
}

#[test]
fn list_without_skills_does_not_wait_for_them() {
    for name in ["agentskills", "skills"] {
        assert!(!names(&sealed(), &[profile(name)]).is_empty(), "{name}");
    }
}

#[test]
fn agentskills_answers_as_its_source() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| said(&catalog, "agentskills", tool, arguments);
    assert_eq!(
        said("load_skill_metadata", json!({})),
        "Available skills (each line is \"- <skill_name>: <skill_description>\"):\n- pdf: Read PDFs.\n- wide: Read PDFs.\n- user/pdf: Read PDFs."
    );
    assert_eq!(said("load_skill", json!({ "skill_name": "pdf" })), DOCUMENT);
    let read = json!({ "skill_name": "pdf", "file_name": "ref/x.md" });
    assert_eq!(said("read_reference_file", read), "one\ntwo\n");
    let at = "\"timestamp\":\"2026-11-21T09:30:00Z\"}";
    assert_eq!(
        said("load_skill", json!({ "skill_name": "pd" })),
        format!(
            "!{{\"detail\":{{\"skill_name\":\"pd\",\"message\":\"there is no skill `pd`\",\"available\":[\"pdf\",\"wide\"],\"total\":2}},\"code\":\"SKILL_NOT_FOUND\",{at}"
        )
    );
    assert_eq!(
        said(
            "read_reference_file",
            json!({ "skill_name": "pdf", "file_name": "no.md" })
        ),
        format!(
            "!{{\"detail\":{{\"skill_name\":\"pdf\",\"file_name\":\"no.md\",\"message\":\"there is no file `no.md` in the skill `pdf`\"}},\"code\":\"FILE_NOT_FOUND\",{at}"
        )
    );
    for failing in [
        r#"load_skill {"skill_name": "../x"} INVALID_SKILL_NAME"#,
        r#"load_skill {"skill_name": "off"} SKILL_DEACTIVATED"#,
        "load_skill {} MISSING_ARGUMENT",
        r#"load_skill {"skill_name": 1} INVALID_ARGUMENT"#,
        r#"read_reference_file {"skill_name": "pdf", "file_name": "../x"} INVALID_FILE_PATH"#,
        r#"read_reference_file {"skill_name": "pdf", "file_name": "a.png"} FILE_NOT_TEXT"#,
    ] {
        let (tool, arguments, code) = case(failing);
        let answer = said(tool, arguments);
        let payload: Value = serde_json::from_str(answer.trim_start_matches('!')).unwrap();
        let keys: Vec<&String> = payload.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["detail", "code", "timestamp"]);
        assert_eq!(payload["code"], code, "{answer}");
        assert!(
            !answer.contains("skill_list"),
            "a hint names tools of the profile: {answer}"
        );
    }
}

#[test]
fn skills_answers_as_its_source() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| said(&catalog, "skills", tool, arguments);
    let path = |path: &str| json!({ "path": path });
    assert_eq!(
        said("skills_ls", json!({})),
        "Directory 'workspace' is empty"
    );
    assert_eq!(
        said("skills_ls", path("skills")),
        "Skills (2):\n  pdf/  - Read PDFs.\n  wide/  - Read PDFs.[not listed, because another skill takes precedence under the same name: user/pdf]"
    );
    assert_eq!(
        said("skills_ls", path("skills/pdf")),
        format!(
            "Contents of 'skills/pdf' (3 items):\n  SKILL.md  ({} bytes)\n  a.png  (5 bytes)\n  ref/",
            DOCUMENT.len()
        )
    );
    let write = |path: &str, content: &str| json!({ "path": path, "content": content });
    assert_eq!(
        said("skills_write", write("result.txt", "Hello World")),
        "Successfully wrote 11 bytes to 'result.txt'"
    );
    assert_eq!(
        said("skills_ls", path("")),
        "Contents of 'workspace' (1 items):\n  result.txt  (11 bytes)"
    );
    assert_eq!(
        said("skills_read", path("workspace/result.txt")),
        "Hello World"
    );
    assert_eq!(said("skills_read", path("skills/pdf")), DOCUMENT);
    assert_eq!(
        said("skills_read", path("skills/pdf/ref/x.md")),
        "one\ntwo\n"
    );
    assert_eq!(
        said(
            "skills_write",
            write("skills/pdf/scripts/run.py", "print('hi')")
        ),
        "Successfully wrote 11 bytes to 'skills/pdf/scripts/run.py'"
    );
}

#[test]
fn skills_fails_as_its_source() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| said(&catalog, "skills", tool, arguments);
    for failing in [
        r#"skills_ls {"path":"skills/none"} !Error: skill 'none' not found"#,
        r#"skills_ls {"path":"nowhere"} !Error: path 'nowhere' not found"#,
        r#"skills_ls {"path":"skills/pdf/none"} !Error: path 'skills/pdf/none' not found"#,
        r#"skills_ls {"path":"skills/pdf/a.png"} !Error: 'skills/pdf/a.png' is not a directory"#,
        r#"skills_read {"path":"skills/pdf/a.png"} !Error: 'skills/pdf/a.png' is not a text file"#,
        r#"skills_read {"path":"skills/pdf/ref"} !Error: 'skills/pdf/ref' is a directory"#,
        r#"skills_read {"path":"skills"} !Error: 'skills' is a directory"#,
        r#"skills_read {"path":"none"} !Error: path 'none' not found"#,
        r#"skills_read {"path":"/etc/passwd"} !Error: `/etc/passwd` can't be reached: it isn't in a mounted folder"#,
        r#"skills_read {"path":"skills/../x"} !Error: `skills/../x` can't be reached: the path contains"#,
        "skills_read {} !Error: the argument `path` is missing",
        r#"skills_write {"path":"skills/none/x","content":""} !Error: skill 'none' not found"#,
    ] {
        let (tool, arguments, wanted) = case(failing);
        let answer = said(tool, arguments);
        assert!(answer.starts_with(wanted), "{answer}");
        assert!(!answer.contains("skill_list"), "{answer}");
    }
    let create = |name: &str| json!({ "name": name, "description": "d", "instructions": "# T" });
    assert_eq!(
        said("skills_create", create("my-tool")),
        r#"{"status":"success","name":"my-tool","path":"skills/my-tool"}"#
    );
    let found: Value = serde_json::from_str(&said("skills_create", create("a--b"))).unwrap();
    assert_eq!(found["status"], "success");
    assert_eq!(found["findings"][0]["code"], "name-double-hyphen");
    assert_eq!(
        said("skills_create", create("my-tool")),
        "!Error: skill 'my-tool' already exists"
    );
    for bad in ["Code-Reviewer", "dataAnalyzer", "my_tool", "1x", "技能"] {
        assert!(
            said("skills_create", create(bad)).starts_with("!Error: "),
            "{bad}"
        );
    }
}

#[test]
fn read_skill_takes_names_and_nothing_else() {
    let catalog = catalog();
    let said = |name: &str| {
        said(
            &catalog,
            "read_skill",
            "read_skill",
            json!({ "skill_name": name }),
        )
    };
    assert_eq!(
        said("pdf"),
        "# PDF\n\nintro\n\n## Use\n\nuse it\n\n## Limits\n\nnone\n"
    );
    assert_eq!(said("P_D_F"), "!Error: Skill 'P_D_F' not found.");
    for name in ["none", "../pdf", "lib/pdf", "/etc/passwd", "SKILL.md"] {
        assert_eq!(said(name), format!("!Error: Skill '{name}' not found."));
    }
    assert!(said("off").starts_with("!Error: the skill `off` is disabled"));
    // The source calls its skills by names with `_`, the format by names with `-`: either finds the skill.
    for called in ["test_data_factory", "data-analysis"] {
        let skills = over(&[("lib/a", called, &[("SKILL.md", DOCUMENT.as_bytes())])]);
        for name in [called.replace('-', "_"), called.replace('_', "-")] {
            let name = json!({ "skill_name": name });
            let answer = call_in(&skills, profile("read_skill"), "read_skill", name).unwrap();
            assert!(shown(&answer).starts_with("# PDF"), "{called}");
        }
    }
    // Where both exist, each name means its own skill.
    let other = DOCUMENT.replace("# PDF", "# Other");
    let both = over(&[
        (
            "lib/a",
            "data-analysis",
            &[("SKILL.md", DOCUMENT.as_bytes())],
        ),
        ("lib/b", "data_analysis", &[("SKILL.md", other.as_bytes())]),
    ]);
    for (name, start) in [("data-analysis", "# PDF"), ("data_analysis", "# Other")] {
        let name = json!({ "skill_name": name });
        let answer = call_in(&both, profile("read_skill"), "read_skill", name).unwrap();
        assert!(shown(&answer).starts_with(start), "{start}");
    }
}

#[test]
fn names_in_a_schema_are_current_and_limited() {
    let choices = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("s{number:03}")).collect();
        let full: Vec<String> = names.iter().map(|name| format!("lib/{name}")).collect();
        let skills = names.iter().zip(&full);
        let skills: Vec<(&str, &str, SkillFiles<'_>)> = skills
            .map(|(name, full)| (full.as_str(), name.as_str(), [].as_slice()))
            .collect();
        let catalog = over(&skills);
        let actor = Actor::local(Role::ExternalAgent, "test");
        let specs = now(catalog.list(&[profile("read_skill")], &actor, None));
        let schema = &specs.last().unwrap().input_schema;
        schema["properties"]["skill_name"]
            .get("enum")
            .map(|choices| choices.as_array().unwrap().len())
    };
    assert_eq!(choices(0), None);
    assert_eq!(choices(1), Some(1));
    assert_eq!(choices(200), Some(200));
    assert_eq!(choices(201), None);
}

#[test]
fn autosnippet_answers_as_its_source() {
    let catalog = catalog();
    let said = |tool: &str, arguments: Value| -> Value {
        let text = said(&catalog, "autosnippet", tool, arguments);
        let mut value: Value = serde_json::from_str(text.trim_start_matches('!')).unwrap();
        assert_eq!(text.starts_with('!'), value["success"] == false, "{text}");
        value.as_object_mut().unwrap().remove("success");
        value
    };
    assert_eq!(
        said("autosnippet_list_skills", json!({})),
        json!({ "data": {
            "skills": [
                { "name": "pdf", "summary": "Read PDFs.", "useCase": "PDF files" },
                { "name": "wide", "summary": "Read PDFs.", "useCase": null },
            ],
            "total": 2,
            "hint": "load a skill with autosnippet_load_skill: pass its name as skillName [not listed, because another skill takes precedence under the same name: user/pdf]",
        } })
    );
    let load = "autosnippet_load_skill";
    assert_eq!(
        said(load, json!({ "skillName": "pdf", "section": "Use" })),
        json!({ "data": {
            "skillName": "pdf", "content": "## Use\n\nuse it\n\n", "charCount": 16,
            "useCase": "PDF files", "relatedSkills": ["wide", "off"],
        } })
    );
    assert_eq!(
        said(load, json!({ "skillName": "pdf" }))["data"]["content"],
        DOCUMENT
    );
    for (arguments, code, member) in [
        (
            json!({ "skillName": "pd" }),
            "SKILL_NOT_FOUND",
            "availableSkills",
        ),
        (
            json!({ "skillName": "../pdf" }),
            "SKILL_NOT_FOUND",
            "availableSkills",
        ),
        (
            json!({ "skillName": "pdf", "section": "none" }),
            "SECTION_NOT_FOUND",
            "availableSections",
        ),
        (json!({}), "MISSING_PARAM", "hint"),
        (json!({ "skillName": " " }), "MISSING_PARAM", "hint"),
        (json!({ "skillName": "wide" }), "SKILLS_READ_ERROR", "hint"),
        (json!({ "skillName": "off" }), "SKILL_DEACTIVATED", "hint"),
    ] {
        let error = &said(load, arguments)["error"];
        assert_eq!(error["code"], code);
        assert!(
            error.get("message").is_some() && error.get(member).is_some(),
            "{error}"
        );
    }
    let actor = Actor::local(Role::ExternalAgent, "test");
    let specs = now(catalog.list(&[profile("autosnippet")], &actor, None));
    assert!(
        specs[1]
            .description
            .ends_with("Core skills:\n- pdf: PDF files\n- wide: Read PDFs.")
    );
    let none = now(over(&[]).list(&[profile("autosnippet")], &actor, None));
    assert!(!none[1].description.contains("Core skills"));
}

#[test]
fn long_document_is_cut_at_the_reported_offset() {
    let long = "é".repeat(600_000);
    let text = format!("---\nname: long\ndescription: d\n---\n{long}");
    let catalog = over(&[("lib/long", "long", &[("SKILL.md", text.as_bytes())])]);
    for (of, tool, name) in [
        ("agentskills", "load_skill", "skill_name"),
        ("read_skill", "read_skill", "skill_name"),
    ] {
        let mut arguments = json!({});
        arguments[name] = "long".into();
        let answer = call_in(&catalog, profile(of), tool, arguments.clone()).unwrap();
        let first = serde_json::to_value(&answer.content).unwrap();
        let note = first[1]["text"].as_str().unwrap();
        let offset: u64 = note
            .rsplit('=')
            .next()
            .unwrap()
            .trim_end_matches(']')
            .parse()
            .unwrap();
        arguments["offset"] = offset.into();
        let answer = call_in(&catalog, profile(of), tool, arguments).unwrap();
        let second = serde_json::to_value(&answer.content).unwrap();
        let whole = format!(
            "{}{}",
            first[0]["text"].as_str().unwrap(),
            second[0]["text"].as_str().unwrap()
        );
        assert!(whole.ends_with(&long), "{tool}");
        assert!(second.get(1).is_none());
    }
}

#[test]
fn large_library_ends_with_the_number_left_out() {
    let names: Vec<String> = (0..2_000)
        .map(|number| format!("skill-{number:04}"))
        .collect();
    let full: Vec<String> = names.iter().map(|name| format!("lib/{name}")).collect();
    let skills = names.iter().zip(&full);
    let skills: Vec<(&str, &str, SkillFiles<'_>)> = skills
        .map(|(name, full)| (full.as_str(), name.as_str(), [].as_slice()))
        .collect();
    let catalog = over(&skills);
    let text = said(&catalog, "agentskills", "load_skill_metadata", json!({}));
    assert!(text.chars().count() < 33_000);
    let listed = text.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(
        text.lines().last().unwrap(),
        format!("… and {} more", 2_000 - listed)
    );
    let text = said(&catalog, "skills", "skills_ls", json!({ "path": "skills" }));
    assert!(text.starts_with("Skills (2000):\n"));
}
