//! Folders that a run sees, and what others planted in them.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;

use gongfu_core::account::Owner;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{Command, Level, Mode, Mount, Outcome};
use libtest_mimic::Trial;

use crate::ground::{Ground, LITE, Test, of_every_level, runtime, text};
use crate::runner;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 4] = [
        ("mount::one_inside_of_another", one_inside_of_another),
        ("mount::a_planted_link_leads_nowhere", a_planted_link),
        (
            "mount::what_is_mounted_is_its_own",
            what_is_mounted_is_its_own,
        ),
        (
            "mount::nothing_is_run_as_its_owner",
            nothing_is_run_as_its_owner,
        ),
    ];
    of_every_level(&all)
}

/// Runs a line with one more folder of the ground mounted.
fn with(
    ground: &Ground,
    (source, target): (&str, &str),
    mode: Mode,
    line: &str,
) -> Result<Outcome, PortError> {
    let mut spec = ground.spec(Command::Line(line.to_owned()));
    spec.mounts.push(Mount {
        sources: vec![ground.path(source)],
        target: target.to_owned(),
        mode,
        keep: None,
    });
    let runner = runner(ground.level);
    runtime().block_on(runner.run(&Owner::Local, spec, Arc::new(|_, _| {})))
}

/// Where a mount is: lite has no view of its own, and says by a variable where it is.
fn at(level: Level, target: &str) -> String {
    if level == LITE {
        let name = target.replace('/', "_").to_uppercase();
        format!("$GONGFU{name}")
    } else {
        target.to_owned()
    }
}

fn one_inside_of_another(level: Level) {
    let ground = Ground::new(level);
    ground.write("more/file", "more");
    ground.write("workspace/there/own", "own");
    for mode in [Mode::ReadOnly, Mode::Layered] {
        for target in ["/workspace/there", "/workspace/new", "/tmp/a/b", "/skill/x"] {
            let line = format!("cat {}/file", at(level, target));
            let outcome = with(&ground, ("more", target), mode, &line).unwrap();
            assert_eq!(text(&outcome.stdout), "more", "{target}: {outcome:?}");
        }
    }
    let outcome = with(
        &ground,
        ("more/file", "/workspace/one"),
        Mode::ReadOnly,
        &format!("cat {}", at(level, "/workspace/one")),
    );
    assert_eq!(text(&outcome.unwrap().stdout), "more");
    // What lies in the workspace is as it was.
    assert_eq!(ground.read("workspace/there/own"), "own");
    assert!(!ground.path("workspace/there/file").exists());
}

/// A link in the workspace, where the view is built: by its path it leads to the machine.
fn a_planted_link(level: Level) {
    let ground = Ground::new(level);
    ground.write("more/file", "more");
    ground.write("victim/file", "victim");
    let victim = ground.path("victim").display().to_string();
    // Anybody may write there, so nothing but the way to it keeps a run from it.
    std::fs::set_permissions(ground.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o777)).unwrap();
    for to in [
        format!("/old{victim}"),
        victim.clone(),
        format!("../../../../../../..{victim}"),
    ] {
        symlink(&to, ground.path("workspace/sub")).unwrap();
        for (source, target) in [
            ("more", "/workspace/sub"),
            ("more", "/workspace/sub/made/deep"),
            ("more/file", "/workspace/sub/made"),
            ("more/file", "/workspace/sub/file"),
        ] {
            let ran = with(&ground, (source, target), Mode::ReadOnly, "true");
            assert!(ran.is_err(), "{to} {target}: {ran:?}");
            let names = std::fs::read_dir(&victim)
                .unwrap()
                .map(|entry| entry.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["file"], "{to} {target}");
        }
        assert_eq!(ground.read("victim/file"), "victim");
        std::fs::remove_file(ground.path("workspace/sub")).unwrap();
    }
    // Without the link it is where it was meant to be.
    let ran = with(
        &ground,
        ("more", "/workspace/sub"),
        Mode::ReadOnly,
        &format!("cat sub/file; cat {}/file", at(level, "/workspace/sub")),
    );
    assert_eq!(text(&ran.unwrap().stdout), "more");
}

/// What only its owner may read can be read, and what is made is the owner's.
fn what_is_mounted_is_its_own(level: Level) {
    let ground = Ground::new(level);
    ground.write("more/file", "more");
    ground.write("alone", "alone");
    for (path, mode) in [("more", 0o700), ("more/file", 0o600), ("alone", 0o600)] {
        let shut = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(ground.path(path), shut).unwrap();
    }
    let says = |source: &str, mode, line: &str| {
        let line = line.replace("/more", &at(level, "/more"));
        let ran = with(&ground, (source, "/more"), mode, &line).unwrap();
        format!("{}{}", text(&ran.stdout), text(&ran.stderr))
    };
    assert_eq!(says("alone", Mode::ReadOnly, "cat /more"), "alone");
    assert_eq!(says("more", Mode::ReadOnly, "cat /more/file"), "more");
    let refused = says("more", Mode::ReadOnly, "echo x > /more/new");
    // Where it is no mount, Landlock says so.
    let is_refused = ["Read-only", "denied"].map(|why| refused.contains(why));
    assert!(is_refused.contains(&true), "{refused}");
    let line = "cat /more/file; echo new > /more/new; echo x >> /more/file";
    assert_eq!(says("more", Mode::ReadWrite, line), "more");
    assert_eq!(ground.read("more/new"), "new\n");
    assert_eq!(ground.read("more/file"), "morex\n");
    let owner = |path: &str| std::fs::metadata(ground.path(path)).unwrap().uid();
    assert_eq!(owner("more/new"), owner("more"));
}

/// What is run as its owner would be so by everybody on the machine.
const AS_OWNER: &str = r"
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
fn nothing_is_run_as_its_owner(level: Level) {
    let ground = Ground::new(level);
    ground.write("skill/try.py", AS_OWNER);
    std::fs::create_dir(ground.path("more")).unwrap();
    let ran = with(
        &ground,
        ("more", "/more"),
        Mode::ReadWrite,
        &format!("python3 try.py {}", at(level, "/more")),
    )
    .unwrap();
    assert_eq!(text(&ran.stdout), "done\n", "{ran:?}");
    // Outside, each of these is a way.
    let control = tempfile::tempdir().unwrap();
    let mut python = std::process::Command::new("python3");
    let output = python
        .args(["-c", AS_OWNER])
        .arg(control.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let ways = "chmod group fchmod fchmodat fchmodat2 creat open openat openat2 mknod mknodat tmpfile done";
    assert_eq!(said.split_whitespace().collect::<Vec<_>>().join(" "), ways);
}

#[cfg(not(target_arch = "x86_64"))]
fn nothing_is_run_as_its_owner(_: Level) {
    println!("not run: its calls are those of another processor");
}
