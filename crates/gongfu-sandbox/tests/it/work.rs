//! What scripts do, and what becomes of it.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{
    Change, Command, Exit, Input, Level, Mode, Mount, Outcome, Reason, Spec, Stream,
};
use gongfu_sandbox::Runner;
use libtest_mimic::Trial;

use crate::ground::{DOCKER, Ground, LITE, Test, of_every_level, runtime, text};
use crate::runner;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 14] = [
        ("work::what_is_for_one_is_not_for_many", not_for_many),
        (
            "work::a_script_runs_in_its_folder",
            a_script_runs_in_its_folder,
        ),
        (
            "work::what_is_written_is_kept_and_the_skill_is_not_changed",
            what_is_written_is_kept,
        ),
        (
            "work::the_workspace_takes_what_is_written_and_loses_what_is_removed",
            the_workspace,
        ),
        (
            "work::a_skill_stays_as_it_is_below_what_is_kept",
            a_skill_stays_as_it_is,
        ),
        (
            "work::what_was_written_in_time_is_kept",
            what_was_written_in_time,
        ),
        ("work::how_it_ended_is_told", how_it_ended_is_told),
        ("work::what_is_not_there_is_said", what_is_not_there_is_said),
        ("work::usual_lines_of_a_shell", usual_lines),
        (
            "work::long_output_is_cut_and_kept",
            long_output_is_cut_and_kept,
        ),
        (
            "work::what_nobody_else_may_read_is_seen",
            what_nobody_else_may_read,
        ),
        ("work::what_can_only_be_read", what_can_only_be_read),
        ("work::what_it_is_given_to_read", what_it_is_given_to_read),
        (
            "work::the_environment_is_what_was_declared",
            the_environment,
        ),
    ];
    of_every_level(&all)
}

fn a_script_runs_in_its_folder(level: Level) {
    let ground = Ground::new(level);
    ground.write(
        "skill/scripts/gcd.py",
        "import math, sys\nprint(math.gcd(*map(int, sys.argv[1:])))\n",
    );
    assert_eq!(ground.says("python scripts/gcd.py 12 18"), "6\n");
    if level == LITE {
        // It is where it is, and who it is on the machine.
        let line = "[ $PWD = $GONGFU_SKILL ] && [ $HOME = $GONGFU_WORKSPACE ] && [ $(id -u) != 0 ]";
        assert_eq!(ground.says(line), "");
        return;
    }
    if level == DOCKER {
        // It is whom it is on the machine, by a name of its own.
        let line = "pwd; echo $HOME; whoami; [ $(id -u) != 0 ]";
        assert_eq!(ground.says(line), "/skill\n/workspace\nuser\n");
        return;
    }
    assert_eq!(
        ground.says("pwd; echo $HOME; id -u"),
        "/skill\n/workspace\n1000\n"
    );
}

fn what_is_written_is_kept(level: Level) {
    let ground = Ground::new(level);
    ground.write("skill/input.txt", "in");
    let outcome = ground
        .line("mkdir -p output/data && cat input.txt > output/data/copy && echo more >> input.txt");
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
    assert_eq!(ground.read("skill/input.txt"), "in");
    assert_eq!(ground.read("layer/output/data/copy"), "in");
    // The next run sees it, and nobody else's skill is touched.
    assert_eq!(ground.says("cat output/data/copy input.txt"), "ininmore\n");
    assert!(!ground.path("skill/output").exists());
}

fn a_skill_stays_as_it_is(level: Level) {
    let ground = Ground::new(level);
    ground.write("skill/run.sh", "echo first");
    ground.write("skill/data/old", "old");
    let line =
        "chmod +x run.sh; bash run.sh > /dev/null && echo made > made && rm data/old && ls data";
    let outcome = ground.line(line);
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    let paths: Vec<&str> = outcome
        .artifacts
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(paths, ["/skill/data/old", "/skill/made"]);
    assert!(matches!(outcome.artifacts[0].change, Change::Refused(_)));
    assert_eq!(std::fs::read_dir(ground.path("layer")).unwrap().count(), 1);
    // The next version of the skill isn't hidden by what was only made executable.
    ground.write("skill/run.sh", "echo second");
    assert_eq!(
        ground.says("bash run.sh; cat made data/old"),
        "second\nmade\nold"
    );
    // What is put back to what it was is the skill's again.
    ground.line("echo mine > run.sh");
    assert_eq!(ground.says("cat run.sh"), "mine\n");
    ground.line("printf 'echo second' > run.sh; rm made");
    assert_eq!(std::fs::read_dir(ground.path("layer")).unwrap().count(), 0);
    // A folder that is made anew shows what the skill has in it.
    let outcome = ground.line("rm -r data && mkdir data && echo new > data/new && ls data");
    assert_eq!(text(&outcome.stdout), "new\n");
    let refused = outcome
        .artifacts
        .iter()
        .filter(|one| matches!(one.change, Change::Refused(_)));
    let refused: Vec<&str> = refused.map(|one| one.path.as_str()).collect();
    // Of a copy it is known what was in it.
    assert!(refused == ["/skill/data"] || refused == ["/skill/data/old"]);
    assert_eq!(ground.says("ls data"), "new\nold\n");
}

fn what_was_written_in_time(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.wall = std::time::Duration::from_secs(3);
    let outcome = ground.line(&ground.placed("echo in time > /workspace/made; sleep 60"));
    assert_eq!(outcome.reason, Reason::Timeout);
    assert_eq!(ground.read("workspace/made"), "in time\n");
    // Of what nobody waits for nobody is told, so it isn't kept.
    ground.limits.wall = std::time::Duration::from_mins(1);
    runtime().block_on(async {
        let runner = runner(level);
        let line = "echo late > /workspace/late; echo said; sleep 60";
        let spec = ground.spec(Command::Line(ground.placed(line)));
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
    assert!(!ground.path("workspace/late").exists());
    assert!(ground.path("workspace/made").exists());
}

fn the_workspace(level: Level) {
    let ground = Ground::new(level);
    ground.write("workspace/old", "old");
    ground.write("workspace/folder/below", "x");
    let line = "cd /workspace && rm old && rm -r folder && mkdir folder && echo new > folder/new && ln -s folder/new link && ln -s /etc/passwd out";
    let outcome = ground.line(&ground.placed(line));
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    assert!(!ground.path("workspace/old").exists());
    assert!(!ground.path("workspace/folder/below").exists());
    assert_eq!(ground.read("workspace/link"), "new\n");
    assert!(std::fs::symlink_metadata(ground.path("workspace/out")).is_err());
    let refused = outcome
        .artifacts
        .iter()
        .filter(|one| matches!(one.change, Change::Refused(_)));
    assert_eq!(
        refused.map(|one| one.path.as_str()).collect::<Vec<_>>(),
        ["/workspace/out"]
    );
}

fn how_it_ended_is_told(level: Level) {
    let ground = Ground::new(level);
    let outcome = ground.line("echo out; echo err >&2; exit 3");
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
    let outcome = ground.line("kill -TERM $$");
    assert_eq!(outcome.exit, Some(Exit::Signal(15)));
    // Nobody answers a script that asks.
    assert_eq!(ground.says("read line || echo nothing"), "nothing\n");
}

fn what_is_not_there_is_said(level: Level) {
    let ground = Ground::new(level);
    let outcome = ground
        .runs(Command::Program(vec!["no-such-program".to_owned()]))
        .unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(127)));
    assert!(text(&outcome.stderr).contains("no-such-program: command not found"));
    let (said, hears) = std::sync::mpsc::channel();
    let listener = Arc::new(move |stream, bytes: &[u8]| {
        let _ = said.send((stream, bytes.to_vec()));
    });
    let program = vec!["no-such-program".to_owned()];
    let spec = ground.spec(Command::Program(program));
    let runner = runner(level);
    let ran = runtime().block_on(runner.run(&Owner::Local, spec, listener));
    let heard: Vec<_> = hears.try_iter().collect();
    assert_eq!(heard, [(Stream::Stderr, ran.unwrap().stderr.head)]);
    ground.write("skill/plain", "x");
    let outcome = ground
        .runs(Command::Program(vec!["./plain".to_owned()]))
        .unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(126)), "{outcome:?}");
    assert_eq!(ground.line("no-such-program").exit, Some(Exit::Code(127)));
}

fn usual_lines(level: Level) {
    let ground = Ground::new(level);
    ground.write("skill/a/x.txt", "a pattern\n");
    ground.write("skill/scripts/setup.sh", "echo set up > made.txt\n");
    let processes = if level == LITE {
        // Locks between processes lie in /dev/shm, where all of the machine could see them.
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
        assert_eq!(ground.says(&ground.placed(line)), says, "{line}");
    }
}

fn long_output_is_cut_and_kept(level: Level) {
    let mut ground = Ground::new(level);
    ground.limits.shown = 1_000;
    let outcome = ground.line("seq 1 100000; echo end");
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    let (head, tail) = (&outcome.stdout.head, &outcome.stdout.tail);
    assert!(head.starts_with(b"1\n2\n3\n") && tail.ends_with(b"100000\nend\n"));
    let log = outcome.stdout.log.as_ref().unwrap();
    assert_eq!(*log, ground.path("logs").join("stdout.log"));
    let whole = std::fs::read(log).unwrap();
    let total = (head.len() + tail.len()) as u64 + outcome.stdout.left_out;
    assert_eq!(
        (head.len() + tail.len(), whole.len() as u64),
        (1_000, total)
    );
    assert!(whole.starts_with(head) && whole.ends_with(tail));
}

/// Runs a line with something changed about it.
fn changed(level: Level, line: &str, change: impl FnOnce(&mut Spec)) -> Result<Outcome, PortError> {
    let ground = Ground::new(level);
    let mut spec = ground.spec(Command::Line(line.to_owned()));
    change(&mut spec);
    let runner = runner(level);
    runtime().block_on(runner.run(&Owner::Local, spec, Arc::new(|_, _| {})))
}

fn not_for_many(level: Level) {
    let ground = Ground::new(level);
    let user = Owner::User(UserId::new("one").unwrap());
    let run = |runner: Runner| {
        let spec = ground.spec(Command::Line("echo said".to_owned()));
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

fn what_it_is_given_to_read(level: Level) {
    let long = "line\n".repeat(100_000);
    let outcome = changed(level, "wc -l", |spec| {
        spec.input = Input::Bytes(long.into_bytes());
    })
    .unwrap();
    assert_eq!(text(&outcome.stdout), "100000\n");
    // By its name it is the same, whether it is all there or comes as it comes.
    let comes = Arc::new(std::sync::Mutex::new(&b"read"[..]));
    for input in [Input::Bytes(b"read".to_vec()), Input::Reader(comes)] {
        let outcome = changed(level, "cat /dev/stdin", |spec| spec.input = input).unwrap();
        assert_eq!(text(&outcome.stdout), "read", "{outcome:?}");
    }
    // It lies in memory that no limit counts, so it stays as it is.
    let write = "python3 -c 'import os; os.open(\"/proc/self/fd/0\", os.O_RDWR); os.write(os.open(\"/proc/self/fd/0\", os.O_RDWR), b\"x\")' 2>&1 | tail -1";
    let outcome = changed(level, write, |spec| {
        spec.input = Input::Bytes(b"read".to_vec());
    })
    .unwrap();
    assert!(
        text(&outcome.stdout).contains("not permitted"),
        "{outcome:?}"
    );
    let outcome = changed(
        level,
        "ulimit -c 0; ulimit -c unlimited; ulimit -c; cat",
        |spec| {
            spec.input = Input::Bytes(b"read".to_vec());
        },
    )
    .unwrap();
    assert_eq!(text(&outcome.stdout), "0\nread", "{outcome:?}");
}

fn the_environment(level: Level) {
    let outcome = changed(level, "env | sort", |spec| {
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
        let refused = changed(level, "true", |spec| {
            spec.environment.insert(name.to_owned(), "x".to_owned());
        });
        assert!(matches!(refused, Err(PortError::Denied(_))), "{name}");
    }
}

fn what_nobody_else_may_read(level: Level) {
    let ground = Ground::new(level);
    ground.write("skill/private/file", "mine");
    for (path, mode) in [("skill/private/file", 0o600), ("skill/private", 0o700)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(ground.path(path), mode).unwrap();
    }
    assert_eq!(
        ground.says("cat private/file && echo more >> private/file"),
        "mine"
    );
    assert_eq!(ground.read("layer/private/file"), "minemore\n");
}

fn what_can_only_be_read(level: Level) {
    let ground = Ground::new(level);
    ground.write("given/file", "given");
    let mut spec = ground.spec(Command::Line(
        "cat $GIVEN/file; echo x > $GIVEN/file; echo x > $GIVEN/new; rm -f $GIVEN/file; true"
            .to_owned(),
    ));
    let given = if level == LITE {
        // Nothing is anywhere else than it is; this is what says where.
        "$GONGFU_GIVEN"
    } else {
        "/given"
    };
    if let Command::Line(line) = &mut spec.command {
        *line = line.replace("$GIVEN", given);
    }
    spec.mounts.push(Mount {
        sources: vec![ground.path("given")],
        target: "/given".to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    });
    let runner = runner(level);
    let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
    let outcome = runtime().block_on(running).unwrap();
    assert_eq!(text(&outcome.stdout), "given", "{outcome:?}");
    assert_eq!(ground.read("given/file"), "given");
    assert!(!ground.path("given/new").exists());
}
