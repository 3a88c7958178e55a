//! What is Docker's alone: the container and its image, who gets it next, and a daemon that isn't there
//! any more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gongfu_core::account::{Owner, UserId};
use gongfu_core::port::PortError;
use gongfu_core::sandbox::{
    Command, Exit, Input, Limits, Mode, Mount, Outcome, Reach, Reason, Spec,
};
use gongfu_docker::{Docker, Settings};
use gongfu_sandbox::Runner;
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};

use crate::daemon::{self, Api, Daemon};
use crate::ground::{DOCKER, Ground, runtime, text};

/// The test that begins a daemon of its own.
const DIES: &str = "a_daemon_that_dies_in_the_middle";
/// How soon something is taken away.
const SOON: Duration = Duration::from_secs(20);

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, fn()); 8] = [
        ("a_container_is_what_it_is_said_to_be", a_container),
        ("the_next_run_finds_it_warm_and_empty", warm_and_empty),
        ("nobody_shares_one", nobody_shares_one),
        ("what_can_not_be_cleared_is_not_kept", not_cleared),
        ("an_image_that_somebody_names", a_named_image),
        ("without_a_daemon_it_says_what_to_do", without_a_daemon),
        ("what_the_dead_left_is_taken_away", the_dead),
        (DIES, a_daemon_that_dies),
    ];
    let (is_there, everything) = (daemon::is_there(), std::env::var_os("CI").is_some());
    let trial = |(name, test): (&str, fn())| {
        let run = move || {
            test();
            Ok::<(), Failed>(())
        };
        // Only root begins a daemon.
        let is_able = is_there && (name != DIES || rustix::process::geteuid().is_root());
        Trial::test(format!("docker::container::{name}"), run)
            .with_ignored_flag(!is_able && !everything)
    };
    all.into_iter().map(trial).collect()
}

fn run(runner: &Runner, owner: &Owner, spec: Spec) -> Result<Outcome, PortError> {
    runtime().block_on(runner.run(owner, spec, Arc::new(|_, _| {})))
}

/// Runs a line that ends well; answers what it says.
fn says(runner: &Runner, ground: &Ground, line: &str) -> String {
    let spec = ground.spec(Command::Line(line.to_owned()));
    let outcome = run(runner, &Owner::Local, spec).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
    text(&outcome.stdout)
}

/// Waits until a container of this process is there no more.
fn gone(api: &Api) {
    let begun = Instant::now();
    while !api.ours().is_empty() {
        assert!(begun.elapsed() < SOON, "{:?}", api.ours());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The daemon is asked what it made, and a program what it finds.
fn a_container() {
    let (api, ground) = (Api::of_tests(), Ground::new(DOCKER));
    let runner = crate::runner(DOCKER);
    let line = "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t\\n'; \
                echo; cat /proc/1/comm; ls /sys /run/gongfu; ls /sys/class/net 2>/dev/null; \
                touch /x 2>/dev/null || echo shut; hostname; cat /etc/resolv.conf";
    let said = says(&runner, &ground, line);
    let none = "0".repeat(16);
    let status = format!("CapBnd:{none}NoNewPrivs:1Seccomp:2\n");
    assert!(
        said.contains(&format!("CapEff:{none}")) && said.contains(&status),
        "{said}"
    );
    assert!(said.contains("shut\nsandbox\n"), "{said}");
    let ours = api.ours();
    let [container] = ours.as_slice() else {
        panic!("{ours:?}");
    };
    let found = api.get(&format!("/containers/{container}/json"));
    let host = &found["HostConfig"];
    let image = found["Config"]["Image"].as_str().unwrap();
    assert!(image.starts_with("gongfu-sandbox:"), "{image}");
    assert_eq!(host["NetworkMode"], "none");
    assert_eq!(host["CapDrop"], json!(["ALL"]));
    assert_eq!(host["ReadonlyRootfs"], true);
    assert_eq!(host["Privileged"], false);
    assert_eq!(host["IpcMode"], "private");
    assert_eq!(host["AutoRemove"], true);
    assert_eq!(host["PidsLimit"], 128 + 1);
    assert_eq!(host["Memory"], host["MemorySwap"]);
    assert!(host["Memory"].as_u64().unwrap() >= 1 << 30);
    let user = found["Config"]["User"].as_str().unwrap();
    assert!(!user.starts_with("0:") && !user.is_empty(), "{user}");
    let security = host["SecurityOpt"].to_string();
    assert!(security.contains("no-new-privileges"), "{security}");
    assert!(security.contains("SCMP_ACT_ERRNO"), "{security}");
    for mount in host["Mounts"].as_array().unwrap() {
        assert_eq!(mount["ReadOnly"], true, "{mount}");
    }
    // What it was made of was never fetched: it has no name in any registry.
    let image = api.get(&format!("/images/{image}/json"));
    assert_eq!(image["RepoDigests"], json!([]));
    assert!(image["Size"].as_u64().unwrap() < 100_000, "{image}");
    drop(runner);
    gone(&api);
}

fn warm_and_empty() {
    let (api, ground) = (Api::of_tests(), Ground::new(DOCKER));
    let runner = crate::runner(DOCKER);
    let leave = "cd /tmp; mkdir -p a/b; chmod 0 a; echo x > /dev/shm/x; echo x > /workspace/kept; \
                 touch .hidden; chmod 700 /workspace; ln -s /etc link; \
                 (setsid sleep 50 &) ; (trap '' TERM; exec -a stray sleep 50) & echo done";
    assert_eq!(says(&runner, &ground, leave), "done\n");
    let first = api.ours();
    assert_eq!(first.len(), 1);
    let look = "find /tmp /dev/shm -mindepth 1; stat -c %a /tmp /dev/shm /workspace /skill; \
                cat /workspace/kept; set -- /proc/[0-9]*; echo $#";
    let said = says(&runner, &ground, look);
    // Of processes: the first one, and the shell.
    assert_eq!(said, "1777\n1777\n755\n755\nx\n2\n");
    assert_eq!(api.ours(), first, "another container was begun");
    // However a run ends, the next one has all that there is.
    let mut spec = ground.spec(Command::Line(
        "sleep 50 & setsid sleep 50; sleep 50".to_owned(),
    ));
    spec.limits.wall = Duration::from_millis(300);
    let begun = Instant::now();
    let outcome = run(&runner, &Owner::Local, spec).unwrap();
    assert_eq!(outcome.reason, Reason::Timeout);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(
        says(&runner, &ground, "set -- /proc/[0-9]*; echo $#"),
        "2\n"
    );
    assert_eq!(api.ours(), first);
    drop(runner);
    gone(&api);
}

fn nobody_shares_one() {
    let (api, ground) = (Api::of_tests(), Ground::new(DOCKER));
    let runner = Arc::new(crate::runner(DOCKER));
    let user = |name: &str| Owner::User(UserId::new(name).unwrap());
    for name in ["one", "two"] {
        let spec = ground.spec(Command::Line(
            "id -u; cat /tmp/x; echo x > /tmp/x".to_owned(),
        ));
        let outcome = run(&runner, &user(name), spec).unwrap();
        assert_eq!(text(&outcome.stdout).lines().count(), 1, "{outcome:?}");
    }
    assert_eq!(api.ours().len(), 2, "owners share one");
    // Two at once, of one owner: the first waits until the second has ended.
    let line = "set -- /proc/[0-9]*; echo $#; cat";
    let (wait, over) = std::io::pipe().unwrap();
    let mut spec = ground.spec(Command::Line(line.to_owned()));
    spec.input = Input::Reader(Arc::new(Mutex::new(wait)));
    let (first, tells) = (Arc::clone(&runner), Mutex::new(None));
    let (tell, told) = std::sync::mpsc::channel();
    *tells.lock().unwrap() = Some(tell);
    let first = std::thread::spawn(move || {
        let heard = Arc::new(move |_, _: &[u8]| {
            // One that was heard already isn't waited for any more.
            let tell = tells.lock().unwrap().take();
            let _ = tell.map(|tell| tell.send(()));
        });
        let running = first.run(&Owner::Local, spec, heard);
        runtime().block_on(running).unwrap()
    });
    told.recv().unwrap();
    assert_eq!(
        says(&runner, &ground, "set -- /proc/[0-9]*; echo $#"),
        "2\n"
    );
    assert_eq!(api.ours().len(), 4, "runs share one");
    drop(over);
    assert_eq!(text(&first.join().unwrap().stdout), "2\n");
    drop(runner);
    gone(&api);
}

/// Something that lies in what is cleared keeps its container from the next run.
fn not_cleared() {
    let (api, ground) = (Api::of_tests(), Ground::new(DOCKER));
    ground.write("more/file", "more");
    let runner = crate::runner(DOCKER);
    let mut spec = ground.spec(Command::Line("cat /workspace/more/file".to_owned()));
    spec.mounts.push(Mount {
        sources: vec![ground.path("more")],
        target: "/workspace/more".to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    });
    assert_eq!(
        text(&run(&runner, &Owner::Local, spec).unwrap().stdout),
        "more"
    );
    gone(&api);
}

/// An image of a few programs of this machine, under names that none of them has.
fn a_named_image() {
    let (api, ground) = (Api::of_tests(), Ground::new(DOCKER));
    let name = format!("gongfu-test-image-{}", std::process::id());
    let root = tempfile::tempdir().unwrap();
    let script = "set -e; cd \"$1\"; mkdir -p bin lib64 etc opt/own; cp /bin/sh bin/sh; cp /bin/cat opt/own/meow; \
                  for file in $(ldd /bin/sh /bin/cat | grep -o '/[^ :]*' | sort -u); do \
                  mkdir -p .$(dirname $file); cp -L $file .$file; done; echo own > etc/image; \
                  tar --create --file \"$1.tar\" .";
    let path = root.path().display().to_string();
    let made = std::process::Command::new("sh")
        .args(["-c", script, "sh", &path])
        .status();
    assert!(made.unwrap().success());
    let tape = std::fs::read(format!("{path}.tar")).unwrap();
    std::fs::remove_file(format!("{path}.tar")).unwrap();
    let import = format!(
        "/images/create?fromSrc=-&repo={name}&tag=1&changes=ENV%20PATH=/opt/own:/bin&changes=VOLUME%20/data"
    );
    api.post(&import, "application/x-tar", &tape);
    let of = |image: String| Settings {
        image: Some(image),
        ..daemon::settings()
    };
    let runner =
        Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(of(format!("{name}:1")))));
    let line = "meow /etc/image; echo kept > kept; echo x > /data/x && meow /data/x; echo /*";
    let said = says(&runner, &ground, line);
    assert!(said.starts_with("own\nx\n"), "{said}");
    assert!(!said.contains("/usr"), "{said}");
    assert_eq!(ground.read("layer/kept"), "kept\n");
    drop(runner);
    gone(&api);
    api.delete(&format!("/images/{name}:1"));
    let runner =
        Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(of(format!("{name}:1")))));
    let spec = ground.spec(Command::Line("true".to_owned()));
    let why = run(&runner, &Owner::Local, spec).unwrap_err().to_string();
    assert!(why.contains(&format!("docker pull {name}:1")), "{why}");
}

fn without_a_daemon() {
    let ground = Ground::new(DOCKER);
    let absent = ground.path("no.sock").display().to_string();
    let deaf = ground.path("deaf.sock");
    drop(std::os::unix::net::UnixListener::bind(&deaf).unwrap());
    let cases = [
        (absent, "install and start Docker"),
        (deaf.display().to_string(), "start it again"),
        ("tcp://127.0.0.1:1".to_owned(), "unix:///a/path"),
    ];
    for (socket, words) in cases {
        let docker = Settings {
            socket: Some(socket),
            image: None,
        };
        let runner = Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(docker)));
        let spec = ground.spec(Command::Line("true".to_owned()));
        let error = run(&runner, &Owner::Local, spec).unwrap_err();
        assert!(matches!(error, PortError::Unavailable(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
        let statuses = runtime().block_on(runner.statuses()).unwrap();
        let docker = statuses.iter().find(|one| one.level == DOCKER);
        let obstacle = docker.unwrap().obstacle.clone().unwrap();
        assert!(obstacle.contains(words), "{obstacle}");
        // Nothing but what was asked for is ever used.
        assert_eq!(runtime().block_on(runner.level()), None);
    }
    // And it is never used unless it is asked for.
    let runner = Runner::new(None).with_backend(Arc::new(Docker::new(daemon::settings())));
    assert_ne!(runtime().block_on(runner.level()), Some(DOCKER));
}

/// A container that a dead server made and never began.
fn the_dead() {
    let (api, ground) = (Api::of_tests(), Ground::new(DOCKER));
    let runner = crate::runner(DOCKER);
    assert_eq!(says(&runner, &ground, "echo"), "\n");
    let ours = api.ours();
    let found = api.get(&format!("/containers/{}/json", ours[0]));
    let image = found["Config"]["Image"].as_str().unwrap().to_owned();
    let server = found["Config"]["Labels"]["gongfu.sandbox"]
        .as_str()
        .unwrap();
    let make = |server: String| {
        let body =
            json!({ "Image": image, "Entrypoint": ["/x"], "Labels": { "gongfu.sandbox": server } });
        let made = api.post(
            "/containers/create",
            "application/json",
            body.to_string().as_bytes(),
        );
        let made: Value = serde_json::from_slice(&made).unwrap();
        made["Id"].as_str().unwrap().to_owned()
    };
    let (dead, living) = (make(format!("{server}0")), make(server.to_owned()));
    drop(runner);
    let runner = crate::runner(DOCKER);
    assert_eq!(says(&runner, &ground, "echo"), "\n");
    let all = api.get("/containers/json?all=1").to_string();
    assert!(!all.contains(&dead), "what the dead left is still there");
    assert!(
        all.contains(&living),
        "what belongs to somebody was taken away"
    );
    api.delete(&format!("/containers/{living}?force=1"));
    drop(runner);
    gone(&api);
}

/// A run of a daemon that this test begins, and that goes while it runs.
fn a_daemon_that_dies() {
    let mut daemon = Daemon::begin();
    let ground = Ground::new(DOCKER);
    let docker = Settings {
        socket: Some(daemon.socket()),
        image: None,
    };
    let spec = |line: &str| Spec {
        command: Command::Line(line.to_owned()),
        folder: "/workspace".to_owned(),
        mounts: ground.spec(Command::Line(String::new())).mounts,
        programs: Vec::new(),
        environment: BTreeMap::new(),
        input: Input::Nothing,
        reach: Reach::default(),
        limits: Limits {
            wall: Duration::from_mins(2),
            ..Limits::default()
        },
        logs: None,
    };
    let runner =
        Arc::new(Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(docker.clone()))));
    let begin = |line: &str| {
        let (runner, spec) = (Arc::clone(&runner), spec(line));
        let (tells, begun) = std::sync::mpsc::channel();
        let running = std::thread::spawn(move || {
            let tells = Mutex::new(tells);
            let heard = Arc::new(move |_, _: &[u8]| {
                // One that was heard already isn't waited for any more.
                let _ = tells.lock().unwrap().send(());
            });
            runtime().block_on(runner.run(&Owner::Local, spec, heard))
        });
        begun.recv().unwrap();
        running
    };
    // One that is killed is not needed by what runs already, nor by what comes into a warm container.
    let running = begin("echo begun; sleep 1; echo end > end");
    daemon.kill();
    let outcome = running.join().unwrap().unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    assert_eq!(ground.read("workspace/end"), "end\n");
    let again = run(&runner, &Owner::Local, spec("echo again")).unwrap();
    assert_eq!(text(&again.stdout), "again\n");
    // But nothing new is begun, and it is said why.
    let user = Owner::User(UserId::new("other").unwrap());
    let why = run(&runner, &user, spec("true")).unwrap_err();
    assert!(matches!(why, PortError::Unavailable(_)), "{why:?}");
    assert!(why.to_string().contains("Docker daemon"), "{why}");
    // One that ends takes its containers with it.
    daemon.begin_again();
    let running = begin("echo begun; exec sleep 100");
    let begun = Instant::now();
    daemon.end();
    let why = running.join().unwrap().unwrap_err();
    assert!(begun.elapsed() < Duration::from_mins(1));
    assert!(matches!(why, PortError::Unavailable(_)), "{why:?}");
    assert!(why.to_string().contains("docker info"), "{why}");
    // Nothing of all that is there when it is begun once more.
    drop(runner);
    daemon.begin_again();
    let runner = Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(docker)));
    let outcome = run(&runner, &Owner::Local, spec("echo new")).unwrap();
    assert_eq!(text(&outcome.stdout), "new\n");
    drop(runner);
    let api = daemon.api();
    let begun = Instant::now();
    while api.get("/containers/json?all=1") != json!([]) {
        assert!(begun.elapsed() < SOON);
        std::thread::sleep(Duration::from_millis(20));
    }
    daemon.end();
}
