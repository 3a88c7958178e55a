//! Tests of mounts, and of links that others planted in them.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Command, Level, Mode, Mount, Outcome};
use libtest_mimic::Trial;

use crate::fixture::{Fixture, LITE, Test, of_every_level, runtime, tests, text};
use crate::runner;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 5] = tests![
        "mount": mount_inside_of_another_is_visible,
        planted_link_leads_nowhere,
        mounted_files_belong_to_the_run,
        set_user_id_file_can_not_be_made,
        hidden_folder_is_neither_seen_nor_changed,
    ];
    of_every_level(&all)
}

/// Runs a line with one more folder of the fixture mounted.
fn run_with_mount(
    fixture: &Fixture,
    (source, target): (&str, &str),
    mode: Mode,
    line: &str,
) -> Result<Outcome, PortError> {
    let mut spec = fixture.spec(Command::Line(line.to_owned()));
    spec.mounts.push(Mount {
        sources: vec![fixture.path(source)],
        target: target.to_owned(),
        mode,
        keep: None,
    });
    let runner = runner(fixture.level);
    runtime().block_on(runner.run(&Owner::Local, spec, Arc::new(|_, _| {})))
}

/// The guest path of a mount: lite has no view of its own, and passes it in a variable.
fn guest_path(level: Level, target: &str) -> String {
    if level == LITE {
        let name = target.replace('/', "_").to_uppercase();
        format!("$GONGFU{name}")
    } else {
        target.to_owned()
    }
}

fn mount_inside_of_another_is_visible(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("more/file", "more");
    fixture.write("workspace/there/own", "own");
    for mode in [Mode::ReadOnly, Mode::Layered] {
        for target in ["/workspace/there", "/workspace/new", "/tmp/a/b", "/skill/x"] {
            let line = format!("cat {}/file", guest_path(level, target));
            let outcome = run_with_mount(&fixture, ("more", target), mode, &line).unwrap();
            assert_eq!(text(&outcome.stdout), "more", "{target}: {outcome:?}");
        }
    }
    let outcome = run_with_mount(
        &fixture,
        ("more/file", "/workspace/one"),
        Mode::ReadOnly,
        &format!("cat {}", guest_path(level, "/workspace/one")),
    );
    assert_eq!(text(&outcome.unwrap().stdout), "more");
    // The workspace is unchanged.
    assert_eq!(fixture.read("workspace/there/own"), "own");
    assert!(!fixture.path("workspace/there/file").exists());
}

/// The link is in the workspace when the view is built, and leads to a folder of the host.
fn planted_link_leads_nowhere(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("more/file", "more");
    fixture.write("victim/file", "victim");
    let victim = fixture.path("victim").display().to_string();
    // Every user may write there, so only the path protects it.
    std::fs::set_permissions(
        fixture.folder.path(),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o777)).unwrap();
    for to in [
        format!("/old{victim}"),
        victim.clone(),
        format!("../../../../../../..{victim}"),
    ] {
        symlink(&to, fixture.path("workspace/sub")).unwrap();
        for (source, target) in [
            ("more", "/workspace/sub"),
            ("more", "/workspace/sub/made/deep"),
            ("more/file", "/workspace/sub/made"),
            ("more/file", "/workspace/sub/file"),
        ] {
            let ran = run_with_mount(&fixture, (source, target), Mode::ReadOnly, "true");
            assert!(ran.is_err(), "{to} {target}: {ran:?}");
            let names = std::fs::read_dir(&victim)
                .unwrap()
                .map(|entry| entry.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["file"], "{to} {target}");
        }
        assert_eq!(fixture.read("victim/file"), "victim");
        std::fs::remove_file(fixture.path("workspace/sub")).unwrap();
    }
    // The control: without the link it is mounted there.
    let ran = run_with_mount(
        &fixture,
        ("more", "/workspace/sub"),
        Mode::ReadOnly,
        &format!(
            "cat sub/file; cat {}/file",
            guest_path(level, "/workspace/sub")
        ),
    );
    assert_eq!(text(&ran.unwrap().stdout), "more");
}

/// Private files of the owner are readable, and new files get the same owner.
fn mounted_files_belong_to_the_run(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("more/file", "more");
    fixture.write("alone", "alone");
    for (path, mode) in [("more", 0o700), ("more/file", 0o600), ("alone", 0o600)] {
        let shut = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.path(path), shut).unwrap();
    }
    let says = |source: &str, mode, line: &str| {
        let line = line.replace("/more", &guest_path(level, "/more"));
        let ran = run_with_mount(&fixture, (source, "/more"), mode, &line).unwrap();
        format!("{}{}", text(&ran.stdout), text(&ran.stderr))
    };
    assert_eq!(says("alone", Mode::ReadOnly, "cat /more"), "alone");
    assert_eq!(says("more", Mode::ReadOnly, "cat /more/file"), "more");
    let refused = says("more", Mode::ReadOnly, "echo x > /more/new");
    // Without a mount, Landlock refuses it.
    let is_refused = ["Read-only", "denied"].map(|why| refused.contains(why));
    assert!(is_refused.contains(&true), "{refused}");
    let line = "cat /more/file; echo new > /more/new; echo x >> /more/file";
    assert_eq!(says("more", Mode::ReadWrite, line), "more");
    assert_eq!(fixture.read("more/new"), "new\n");
    assert_eq!(fixture.read("more/file"), "morex\n");
    let owner = |path: &str| std::fs::metadata(fixture.path(path)).unwrap().uid();
    assert_eq!(owner("more/new"), owner("more"));
}

/// Tries every way to make a set-user-ID file; any user of the host could execute it.
const SET_USER_ID_SCRIPT: &str = r"
import ctypes, os, sys
folder = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    a = [ctypes.c_long(x) if isinstance(x, int) else x for x in a]
    return libc.syscall(*a)
file = folder + '/file'
path = file.encode()
open(file, 'w').close()
handle = os.open(file, os.O_RDONLY)
def fresh(name): return (folder + '/' + name).encode()
os.umask(0)
ways = {
    'chmod': lambda: call(90, path, 0o4755),
    'group': lambda: call(90, path, 0o2755),
    'fchmod': lambda: call(91, handle, 0o4755),
    'fchmodat': lambda: call(268, -100, path, 0o4755),
    'fchmodat2': lambda: call(452, -100, path, 0o4755, 0),
    'creat': lambda: call(85, fresh('creat'), 0o4755),
    'open': lambda: call(2, fresh('open'), 0o101, 0o4755),
    'openat': lambda: call(257, -100, fresh('openat'), 0o101, 0o4755),
    'openat2': lambda: call(437, -100, fresh('openat2'), (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24),
    'mknod': lambda: call(133, fresh('mknod'), 0o104755, 0),
    'mknodat': lambda: call(259, -100, fresh('mknodat'), 0o104755, 0),
    'tmpfile': lambda: call(257, -100, folder.encode(), 0o20200001, 0o4755),
}
for name, way in ways.items():
    os.chmod(file, 0o755)
    way()
    files = [os.stat(folder + '/' + one) for one in os.listdir(folder)]
    files += [os.stat('/proc/self/fd/' + one) for one in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + one)]
    if any(file.st_mode & 0o6000 and (file.st_mode & 0o170000) == 0o100000 for file in files): print(name)
    for one in os.listdir(folder):
        if one != 'file': os.unlink(folder + '/' + one)
    for one in range(handle + 1, 64):
        try: os.close(one)
        except OSError: pass
print('done')
";

#[cfg(target_arch = "x86_64")]
fn set_user_id_file_can_not_be_made(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("skill/try.py", SET_USER_ID_SCRIPT);
    std::fs::create_dir(fixture.path("more")).unwrap();
    let ran = run_with_mount(
        &fixture,
        ("more", "/more"),
        Mode::ReadWrite,
        &format!("python3 try.py {}", guest_path(level, "/more")),
    )
    .unwrap();
    assert_eq!(text(&ran.stdout), "done\n", "{ran:?}");
    // The control: each way works outside.
    let control = tempfile::tempdir().unwrap();
    let mut python = std::process::Command::new("python3");
    let output = python
        .args(["-c", SET_USER_ID_SCRIPT])
        .arg(control.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let ways = "chmod group fchmod fchmodat fchmodat2 creat open openat openat2 mknod mknodat tmpfile done";
    assert_eq!(said.split_whitespace().collect::<Vec<_>>().join(" "), ways);
}

#[cfg(not(target_arch = "x86_64"))]
fn set_user_id_file_can_not_be_made(_: Level) {
    println!("not run: its calls are those of another processor");
}

fn hidden_folder_is_neither_seen_nor_changed(level: Level) {
    let fixture = Fixture::new(level);
    for path in [
        "workspace/.ssh/key",
        "workspace/deep/er/token",
        "workspace/deep/other",
        "more/.aws/key",
        "more/seen",
    ] {
        fixture.write(path, "secret");
    }
    let mut spec = fixture.spec(Command::Line(String::new()));
    spec.mounts.push(Mount {
        sources: vec![fixture.path("more")],
        target: "/more".to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    });
    let hidden = [
        "/workspace/.ssh",
        "/workspace/deep/er/token",
        "/more/.aws",
        "/workspace/absent",
    ];
    let runner = runner(level);
    let run = |line: &str, hidden: &[&str]| {
        let mut spec = spec.clone();
        let more = guest_path(level, "/more");
        let line = fixture.guest_line(line).replace("/more", &more);
        spec.command = Command::Line(line);
        spec.hidden = hidden.iter().map(|path| (*path).to_owned()).collect();
        let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
        runtime().block_on(running).unwrap()
    };
    let read = "cat /workspace/.ssh/key /workspace/deep/er/token /more/.aws/key /more/seen";
    let outcome = run(read, &hidden);
    assert_eq!(text(&outcome.stdout), "secret", "{outcome:?}");
    // The control.
    assert_eq!(text(&run(read, &[]).stdout), "secret".repeat(4));
    for line in [
        "echo x > /workspace/.ssh/key; rm -rf /workspace/.ssh",
        "echo x > /workspace/deep/er/token; rm -rf /workspace/deep",
        "mv /workspace/deep /workspace/away",
        "rm -rf /workspace/deep; mkdir -p /workspace/deep/er; echo new > /workspace/deep/new",
    ] {
        let outcome = run(line, &hidden);
        for path in ["workspace/.ssh/key", "workspace/deep/er/token"] {
            assert_eq!(fixture.read(path), "secret", "{line}: {outcome:?}");
        }
    }
    // The control: what was seen is gone.
    assert!(!fixture.path("workspace/deep/other").exists());
}
