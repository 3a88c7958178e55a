//! Tests of what scripts do: files, output, input and environment.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use gongfu_core::account::{Owner, UserId};
use gongfu_core::change::Change;
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{
    Command, Exit, Input, Level, Mode, Mount, Outcome, Reason, Spec, Stream,
};
use gongfu_sandbox::Runner;
use libtest_mimic::Trial;

use crate::fixture::{
    DOCKER, Fixture, LITE, NAMESPACES, Test, of_every_level, runtime, tests, text,
};
use crate::runner;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 16] = tests![
        "work": single_tenant_level_refuses_users,
        script_runs_in_its_folder,
        skill_lies_as_deep_as_where_agents_keep_it,
        written_files_are_kept_and_the_skill_is_unchanged,
        workspace_takes_writes_and_removals,
        skill_below_its_layer_stays_unchanged,
        only_what_has_room_is_kept_beside_a_skill,
        files_written_before_a_timeout_are_kept,
        exit_and_outputs_are_reported,
        missing_program_is_reported_as_by_a_shell,
        usual_shell_lines_work,
        long_output_is_cut_and_logged_whole,
        private_files_are_readable,
        read_only_mount_can_not_be_written,
        input_is_complete_and_can_not_be_changed,
        environment_is_the_declared_one,
    ];
    of_every_level(&all)
}

fn script_runs_in_its_folder(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write(
        "skill/scripts/gcd.py",
        "import math, sys\nprint(math.gcd(*map(int, sys.argv[1:])))\n",
    );
    assert_eq!(fixture.output_of("python scripts/gcd.py 12 18"), "6\n");
    if level == LITE {
        // It keeps its paths and its user of the host.
        let line = "[ $PWD = $GONGFU_SKILL ] && echo x > $HOME/.file && [ $(id -u) != 0 ]";
        assert_eq!(fixture.output_of(line), "");
        return;
    }
    if level == DOCKER {
        // It keeps its user of the host, which has a name there.
        let line = "pwd; echo $HOME; whoami; [ $(id -u) != 0 ]";
        assert_eq!(fixture.output_of(line), "/skill\n/run/home\nuser\n");
        return;
    }
    assert_eq!(
        fixture.output_of("pwd; echo $HOME; echo x > ~/.file; cat ~/.file; id -u"),
        "/skill\n/run/home\nx\n1000\n"
    );
}

fn skill_lies_as_deep_as_where_agents_keep_it(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("skill/here.py", "import pathlib\nplace = pathlib.Path(__file__).resolve()\nprint(place.parents[3], (place.parent / 'here.py').is_file())\n");
    fixture.write("workspace/data", "x");
    let skill = if level == LITE {
        "$GONGFU_SKILL"
    } else {
        "/skill"
    };
    for line in [
        "python here.py".to_owned(),
        format!("python {skill}/here.py"),
    ] {
        let printed = fixture.output_of(&line);
        assert!(printed.ends_with(" True\n"), "{line}: {printed}");
    }
    if level != LITE {
        assert_eq!(
            fixture.output_of("cat ../workspace/data /workspace/data"),
            "xx"
        );
    }
}

fn written_files_are_kept_and_the_skill_is_unchanged(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("skill/input.txt", "in");
    let outcome = fixture.run_line(
        "mkdir -p output/data && cat input.txt > output/data/copy && echo more >> input.txt",
    );
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    let changed = outcome
        .artifacts
        .iter()
        .map(|one| (one.path.as_str(), one.change.clone()));
    assert_eq!(
        changed.collect::<Vec<_>>(),
        [
            ("/skill/input.txt", Change::Written(7)),
            ("/skill/output/data/copy", Change::Written(2)),
        ]
    );
    assert_eq!(fixture.read("skill/input.txt"), "in");
    assert_eq!(fixture.read("layer/output/data/copy"), "in");
    // The next run sees them.
    assert_eq!(
        fixture.output_of("cat output/data/copy input.txt"),
        "ininmore\n"
    );
    assert!(!fixture.path("skill/output").exists());
}

fn only_what_has_room_is_kept_beside_a_skill(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.layer = 10;
    let line = "echo 12345 > a; echo 12345 > b; echo 1234567890 > /workspace/c";
    let outcome = fixture.run_line(&fixture.guest_line(line));
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    let of = |path: &str| {
        let mut artifacts = outcome.artifacts.iter();
        let found = artifacts.find(|artifact| artifact.path == path);
        found.map(|artifact| artifact.change.clone()).unwrap()
    };
    // One of the two, whichever comes first.
    let (kept, refused) = match (of("/skill/a"), of("/skill/b")) {
        (kept, Change::Refused(why)) | (Change::Refused(why), kept) => (kept, why),
        both => panic!("{both:?}"),
    };
    assert_eq!(kept, Change::Written(6));
    assert!(refused.contains("gongfu layer list"), "{refused}");
    assert_eq!(std::fs::read_dir(fixture.path("layer")).unwrap().count(), 1);
    // The workspace has a limit of its own.
    assert_eq!(of("/workspace/c"), Change::Written(11));
}

fn skill_below_its_layer_stays_unchanged(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("skill/run.sh", "echo first");
    fixture.write("skill/data/old", "old");
    let line =
        "chmod +x run.sh; bash run.sh > /dev/null && echo made > made && rm data/old && ls data";
    let outcome = fixture.run_line(line);
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    let paths: Vec<&str> = outcome
        .artifacts
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(paths, ["/skill/data/old", "/skill/made"]);
    assert!(matches!(outcome.artifacts[0].change, Change::Refused(_)));
    assert_eq!(std::fs::read_dir(fixture.path("layer")).unwrap().count(), 1);
    // The next version of the skill isn't hidden by what was only made executable.
    fixture.write("skill/run.sh", "echo second");
    assert_eq!(
        fixture.output_of("bash run.sh; cat made data/old"),
        "second\nmade\nold"
    );
    // A file with its old content is the skill's again.
    fixture.run_line("echo mine > run.sh");
    assert_eq!(fixture.output_of("cat run.sh"), "mine\n");
    fixture.run_line("printf 'echo second' > run.sh; rm made");
    assert_eq!(std::fs::read_dir(fixture.path("layer")).unwrap().count(), 0);
    // A folder that is removed and made again shows the skill's files.
    let outcome = fixture.run_line("rm -r data && mkdir data && echo new > data/new && ls data");
    assert_eq!(text(&outcome.stdout), "new\n");
    let refused = outcome
        .artifacts
        .iter()
        .filter(|one| matches!(one.change, Change::Refused(_)));
    let refused: Vec<&str> = refused.map(|one| one.path.as_str()).collect();
    // A copy reports the files in it.
    assert!(refused == ["/skill/data"] || refused == ["/skill/data/old"]);
    assert_eq!(fixture.output_of("ls data"), "new\nold\n");
}

fn files_written_before_a_timeout_are_kept(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.wall = std::time::Duration::from_secs(3);
    let outcome = fixture.run_line(&fixture.guest_line("echo in time > /workspace/made; sleep 60"));
    assert_eq!(outcome.reason, Reason::Timeout);
    assert_eq!(fixture.read("workspace/made"), "in time\n");
    // The files of a cancelled run can't be reported, so they aren't kept.
    fixture.limits.wall = std::time::Duration::from_mins(1);
    runtime().block_on(async {
        let runner = runner(level);
        let line = "echo late > /workspace/late; echo said; sleep 60";
        let spec = fixture.spec(Command::Line(fixture.guest_line(line)));
        let (said, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let listener = Arc::new(move |_, _: &[u8]| {
            let _ = said.send(());
        });
        tokio::select! {
            ended = runner.run(&Owner::Local, spec, listener) => panic!("{ended:?}"),
            _ = hears.recv() => {}
        }
    });
    // The runtime has waited for its end.
    assert!(!fixture.path("workspace/late").exists());
    assert!(fixture.path("workspace/made").exists());
}

fn workspace_takes_writes_and_removals(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("workspace/old", "old");
    fixture.write("workspace/folder/below", "x");
    let line = "cd /workspace && rm old && rm -r folder && mkdir folder && echo new > folder/new && ln -s folder/new link && ln -s /etc/passwd out";
    let outcome = fixture.run_line(&fixture.guest_line(line));
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    assert!(!fixture.path("workspace/old").exists());
    assert!(!fixture.path("workspace/folder/below").exists());
    assert_eq!(fixture.read("workspace/link"), "new\n");
    assert!(std::fs::symlink_metadata(fixture.path("workspace/out")).is_err());
    let refused = outcome
        .artifacts
        .iter()
        .filter(|one| matches!(one.change, Change::Refused(_)));
    assert_eq!(
        refused.map(|one| one.path.as_str()).collect::<Vec<_>>(),
        ["/workspace/out"]
    );
}

fn exit_and_outputs_are_reported(level: Level) {
    let fixture = Fixture::new(level);
    let outcome = fixture.run_line("echo out; echo err >&2; exit 3");
    assert_eq!(
        (outcome.exit, outcome.reason),
        (Some(Exit::Code(3)), Reason::Ok)
    );
    assert_eq!(
        (
            text(&outcome.stdout).as_str(),
            text(&outcome.stderr).as_str()
        ),
        ("out\n", "err\n")
    );
    let outcome = fixture.run_line("kill -TERM $$");
    assert_eq!(outcome.exit, Some(Exit::Signal(15)));
    // Without input a question gets no answer.
    assert_eq!(fixture.output_of("read line || echo nothing"), "nothing\n");
}

fn missing_program_is_reported_as_by_a_shell(level: Level) {
    let fixture = Fixture::new(level);
    let outcome = fixture
        .run(Command::Program(vec!["no-such-program".to_owned()]))
        .unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(127)));
    assert!(
        text(&outcome.stderr)
            .contains("no-such-program: command (or its #! interpreter) not found")
    );
    let (said, hears) = std::sync::mpsc::channel();
    let listener = Arc::new(move |stream, bytes: &[u8]| {
        let _ = said.send((stream, bytes.to_vec()));
    });
    let program = vec!["no-such-program".to_owned()];
    let spec = fixture.spec(Command::Program(program));
    let runner = runner(level);
    let ran = runtime().block_on(runner.run(&Owner::Local, spec, listener));
    let heard: Vec<_> = hears.try_iter().collect();
    assert_eq!(heard, [(Stream::Stderr, ran.unwrap().stderr.head)]);
    fixture.write("skill/plain", "x");
    let outcome = fixture
        .run(Command::Program(vec!["./plain".to_owned()]))
        .unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(126)), "{outcome:?}");
    assert_eq!(
        fixture.run_line("no-such-program").exit,
        Some(Exit::Code(127))
    );
}

fn usual_shell_lines_work(level: Level) {
    let fixture = Fixture::new(level);
    if level == NAMESPACES {
        // A pseudo-terminal of its own, beside none of the machine's.
        let line = "ls /dev/pts; python3 -c 'import pty; pty.spawn([\"tty\"])'";
        assert_eq!(fixture.output_of(line), "ptmx\n/dev/pts/0\r\n");
    }
    fixture.write("skill/a/x.txt", "a pattern\n");
    fixture.write("skill/scripts/setup.sh", "echo set up > made.txt\n");
    let processes = if level == LITE {
        // Locks between processes are in /dev/shm, where every process of the host could see them.
        "python3 -c 'import multiprocessing as m; p = m.Process(target=print, args=(3,)); p.start(); p.join()'"
    } else {
        "python3 -c 'import multiprocessing as m; p = m.Pool(2); print(sum(p.map(abs, [-1, -2])))'"
    };
    for (line, says) in [
        ("grep -r 'pattern' .", "./a/x.txt:a pattern\n"),
        ("cd a && ls", "x.txt\n"),
        ("bash scripts/setup.sh && cat made.txt", "set up\n"),
        ("cat <(echo substituted)", "substituted\n"),
        ("cat /proc/self/oom_score_adj", "1000\n"),
        (
            "echo out > /dev/stdout && echo error > /dev/stderr",
            "out\n",
        ),
        (processes, "3\n"),
        ("echo x > /tmp/y && cat /tmp/y && echo z > /dev/null", "x\n"),
    ] {
        assert_eq!(fixture.output_of(&fixture.guest_line(line)), says, "{line}");
    }
}

fn long_output_is_cut_and_logged_whole(level: Level) {
    let mut fixture = Fixture::new(level);
    fixture.limits.shown = 1_000;
    let outcome = fixture.run_line("seq 1 100000; echo end");
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    let (head, tail) = (&outcome.stdout.head, &outcome.stdout.tail);
    assert!(head.starts_with(b"1\n2\n3\n") && tail.ends_with(b"100000\nend\n"));
    let log = outcome.stdout.log.as_ref().unwrap();
    assert_eq!(*log, fixture.path("logs").join("stdout.log"));
    let whole = std::fs::read(log).unwrap();
    let total = (head.len() + tail.len()) as u64 + outcome.stdout.left_out;
    assert_eq!(
        (head.len() + tail.len(), whole.len() as u64),
        (1_000, total)
    );
    assert!(whole.starts_with(head) && whole.ends_with(tail));
}

/// Runs a line after a change of its specification.
fn run_changed(
    level: Level,
    line: &str,
    change: impl FnOnce(&mut Spec),
) -> Result<Outcome, PortError> {
    let fixture = Fixture::new(level);
    let mut spec = fixture.spec(Command::Line(line.to_owned()));
    change(&mut spec);
    let runner = runner(level);
    runtime().block_on(runner.run(&Owner::Local, spec, Arc::new(|_, _| {})))
}

fn single_tenant_level_refuses_users(level: Level) {
    let fixture = Fixture::new(level);
    let user = Owner::User(UserId::new("one").unwrap());
    let run = |runner: Runner| {
        let spec = fixture.spec(Command::Line("echo said".to_owned()));
        runtime().block_on(runner.run(&user, spec, Arc::new(|_, _| {})))
    };
    let ran = run(runner(level));
    if level == LITE {
        let why = ran.unwrap_err().to_string();
        assert!(why.contains("`levels_for_one = true`"), "{why}");
    } else {
        assert_eq!(text(&ran.unwrap().stdout), "said\n");
    }
    let all_the_same = run(runner(level).with_levels_for_one(true));
    assert_eq!(text(&all_the_same.unwrap().stdout), "said\n");
}

fn input_is_complete_and_can_not_be_changed(level: Level) {
    let long = "line\n".repeat(100_000);
    let outcome = run_changed(level, "wc -l", |spec| {
        spec.input = Input::Bytes(long.into_bytes());
    })
    .unwrap();
    assert_eq!(text(&outcome.stdout), "100000\n");
    // It can be opened by name, as a file and as a pipe.
    let comes = Arc::new(std::sync::Mutex::new(&b"read"[..]));
    for input in [Input::Bytes(b"read".to_vec()), Input::Reader(comes)] {
        let outcome = run_changed(level, "cat /dev/stdin", |spec| spec.input = input).unwrap();
        assert_eq!(text(&outcome.stdout), "read", "{outcome:?}");
    }
    // It is in memory that no limit counts, so it can't be changed.
    let write = "python3 -c 'import os; os.open(\"/proc/self/fd/0\", os.O_RDWR); os.write(os.open(\"/proc/self/fd/0\", os.O_RDWR), b\"x\")' 2>&1 | tail -1";
    let outcome = run_changed(level, write, |spec| {
        spec.input = Input::Bytes(b"read".to_vec());
    })
    .unwrap();
    assert!(
        text(&outcome.stdout).contains("not permitted"),
        "{outcome:?}"
    );
    let outcome = run_changed(
        level,
        "ulimit -c 0; ulimit -c unlimited; ulimit -c; cat",
        |spec| {
            spec.input = Input::Bytes(b"read".to_vec());
        },
    )
    .unwrap();
    assert_eq!(text(&outcome.stdout), "0\nread", "{outcome:?}");
}

fn environment_is_the_declared_one(level: Level) {
    let outcome = run_changed(level, "env | sort", |spec| {
        spec.environment.insert("MINE".to_owned(), "a b".to_owned());
    });
    let told = text(&outcome.unwrap().stdout);
    let names = told
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0));
    // A shell adds three of its own.
    let own = ["OLDPWD", "PWD", "SHLVL", "_"];
    let names: Vec<&str> = names.filter(|name| !own.contains(name)).collect();
    let mut expected = vec!["HOME", "LANG", "MINE", "PATH", "TMPDIR"];
    if level == LITE {
        expected.extend(["GONGFU_SKILL", "GONGFU_WORKSPACE"]);
        expected.sort_unstable();
    }
    assert_eq!(names, expected);
    for name in ["LD_PRELOAD", "BASH_ENV", "PYTHONSTARTUP", "", "A=B"] {
        let refused = run_changed(level, "true", |spec| {
            spec.environment.insert(name.to_owned(), "x".to_owned());
        });
        assert!(matches!(refused, Err(PortError::Denied(_))), "{name}");
    }
}

fn private_files_are_readable(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("skill/private/file", "mine");
    for (path, mode) in [("skill/private/file", 0o600), ("skill/private", 0o700)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(fixture.path(path), mode).unwrap();
    }
    assert_eq!(
        fixture.output_of("cat private/file && echo more >> private/file"),
        "mine"
    );
    assert_eq!(fixture.read("layer/private/file"), "minemore\n");
}

fn read_only_mount_can_not_be_written(level: Level) {
    let fixture = Fixture::new(level);
    fixture.write("given/file", "given");
    let mut spec = fixture.spec(Command::Line(
        "cat $GIVEN/file; echo x > $GIVEN/file; echo x > $GIVEN/new; rm -f $GIVEN/file; true"
            .to_owned(),
    ));
    let given = if level == LITE {
        // It keeps its path on the host.
        "$GONGFU_GIVEN"
    } else {
        "/given"
    };
    if let Command::Line(line) = &mut spec.command {
        *line = line.replace("$GIVEN", given);
    }
    spec.mounts.push(Mount {
        sources: vec![fixture.path("given")],
        target: "/given".to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    });
    let runner = runner(level);
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(text(&outcome.stdout), "given", "{outcome:?}");
    assert_eq!(fixture.read("given/file"), "given");
    assert!(!fixture.path("given/new").exists());
}
