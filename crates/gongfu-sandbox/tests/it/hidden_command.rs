//! Lines that run a refused program although the policy allows them: only running tells what they run.
//! They are not refused but contained, which is shown here.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use gongfu_core::command::{Policy, Verdict, judge_line};
use gongfu_core::sandbox::{Command, Exit, Level};
use libtest_mimic::Trial;

use crate::fixture::{Fixture, Test, of_every_level, tests};

/// The lines; `PAYLOAD` is what they run.
const LINES: [&str; 4] = [
    "declare -i x='a[$(PAYLOAD)]'",
    "declare -n r='a[$(PAYLOAD)]'; echo $r",
    "x='a[$(PAYLOAD)]'; echo ${!x}",
    "python3 <<< 'import os; os.system(\"PAYLOAD\")'",
];
const POLICY: Policy<'static> = Policy {
    programs: None,
    folder: "/skill",
    writable: &["/workspace", "/skill"],
    input: None,
};
/// Writes to the files that it is given, and makes a set-user-ID file of the first.
const SCRIPT: &str =
    "for file do mkdir -p ${file%/*}; echo ran >$file; done; chmod 4755 $1; true\n";

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 1] =
        tests!["hidden_command": finding_19_line_that_hides_its_command_is_contained];
    of_every_level(&all)
}

fn is_set_user_id(path: &Path) -> bool {
    fs::metadata(path).unwrap().permissions().mode() & 0o6000 != 0
}

fn finding_19_line_that_hides_its_command_is_contained(level: Level) {
    let refused = judge_line("sudo ls", &POLICY);
    assert!(matches!(refused, Verdict::Block(_)), "{refused:?}");
    for line in LINES {
        let seen = line.replace("PAYLOAD", "sudo ls");
        assert_eq!(judge_line(&seen, &POLICY), Verdict::Allow, "{seen}");

        let fixture = Fixture::new(level);
        fixture.write("skill/sudo", SCRIPT);
        let victim = fixture.path("victim");
        fs::create_dir(&victim).unwrap();
        // Every user may write there, so only the sandbox protects it.
        fs::set_permissions(fixture.folder.path(), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o777)).unwrap();
        let name = victim.display().to_string().replace('/', "-");
        let (outside, in_etc) = (victim.join("file"), format!("/etc/gongfu{name}"));
        let payload = format!("sh ./sudo /workspace/ran {} {in_etc}", outside.display());
        let hidden = fixture.guest_line(&line.replace("PAYLOAD", &payload));
        let words = ["bash", "-c", &hidden].map(str::to_owned);
        let ran = fixture.run(Command::Program(words.into())).unwrap();
        assert!(matches!(ran.exit, Some(Exit::Code(_))), "{line}: {ran:?}");
        // It ran, inside alone.
        let inside = fixture.path("workspace/ran");
        assert!(inside.exists(), "{line}: {ran:?}");
        assert!(!is_set_user_id(&inside), "{line}");
        assert!(!outside.exists(), "{line}: {ran:?}");
        assert!(!Path::new(&in_etc).exists(), "{line}: {ran:?}");

        // The control: outside of the sandbox the same line writes there.
        let made = fixture.path("made");
        let payload = format!("sh ./sudo {} {}", made.display(), outside.display());
        let status = std::process::Command::new("bash")
            .args(["-c", &line.replace("PAYLOAD", &payload)])
            .current_dir(fixture.path("skill"))
            .output();
        status.unwrap();
        assert!(outside.exists() && is_set_user_id(&made), "{line}");
    }
}
