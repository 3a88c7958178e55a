//! Tests of the Docker backend alone: the container, its image, its reuse, and a daemon that dies.

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
use crate::fixture::{DOCKER, Fixture, runtime, tests, text};

/// The test that starts a daemon of its own.
const OWN_DAEMON: &str = "docker::container::run_survives_a_killed_daemon";
/// The time in which a container must be removed.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, fn()); 8] = tests![
        "docker::container": container_is_hardened,
        next_run_gets_a_warm_and_empty_container,
        container_is_never_shared,
        container_with_nested_mounts_is_not_kept,
        named_image_brings_its_own_programs,
        missing_daemon_is_explained,
        containers_of_dead_servers_are_removed,
        run_survives_a_killed_daemon,
    ];
    let (is_there, everything) = (daemon::is_there(), std::env::var_os("CI").is_some());
    let trial = |(name, test): (&str, fn())| {
        let run = move || {
            test();
            Ok::<(), Failed>(())
        };
        // Only root can start a daemon.
        let is_able = is_there && (name != OWN_DAEMON || rustix::process::geteuid().is_root());
        Trial::test(name, run).with_ignored_flag(!is_able && !everything)
    };
    all.into_iter().map(trial).collect()
}

fn run(runner: &Runner, owner: &Owner, spec: Spec) -> Result<Outcome, PortError> {
    runtime().block_on(runner.run(owner, spec, Arc::new(|_, _| {})))
}

/// Runs a line that must succeed; returns its output.
fn output_of(runner: &Runner, fixture: &Fixture, line: &str) -> String {
    let spec = fixture.spec(Command::Line(line.to_owned()));
    let outcome = run(runner, &Owner::Local, spec).unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{line}: {outcome:?}");
    text(&outcome.stdout)
}

/// Waits until this process has no container any more.
fn wait_until_removed(api: &Api) {
    let start = Instant::now();
    while !api.ours().is_empty() {
        assert!(start.elapsed() < REMOVE_TIMEOUT, "{:?}", api.ours());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Compares the daemon's description and what a program sees.
fn container_is_hardened() {
    let (api, fixture) = (Api::of_tests(), Fixture::new(DOCKER));
    let runner = crate::runner(DOCKER);
    let line = "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t\\n'; \
                echo; cat /proc/1/comm; ls /sys /run/gongfu; ls /sys/class/net 2>/dev/null; \
                touch /x 2>/dev/null || echo shut; hostname; cat /etc/resolv.conf";
    let said = output_of(&runner, &fixture, line);
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
    // The image was never pulled: it has no name in any registry.
    let image = api.get(&format!("/images/{image}/json"));
    assert_eq!(image["RepoDigests"], json!([]));
    assert!(image["Size"].as_u64().unwrap() < 100_000, "{image}");
    drop(runner);
    wait_until_removed(&api);
}

fn next_run_gets_a_warm_and_empty_container() {
    let (api, fixture) = (Api::of_tests(), Fixture::new(DOCKER));
    let runner = crate::runner(DOCKER);
    let leave = "cd /tmp; mkdir -p a/b; chmod 0 a; echo x > /dev/shm/x; echo x > /workspace/kept; \
                 touch .hidden; chmod 700 /workspace; ln -s /etc link; \
                 (setsid sleep 50 &) ; (trap '' TERM; exec -a stray sleep 50) & echo done";
    assert_eq!(output_of(&runner, &fixture, leave), "done\n");
    let first = api.ours();
    assert_eq!(first.len(), 1);
    let look = "find /tmp /dev/shm -mindepth 1; stat -c %a /tmp /dev/shm /workspace /skill/; \
                cat /workspace/kept; set -- /proc/[0-9]*; echo $#";
    let said = output_of(&runner, &fixture, look);
    // Two processes: init and the shell.
    assert_eq!(said, "1777\n1777\n755\n755\nx\n2\n");
    assert_eq!(api.ours(), first, "another container was started");
    // After a timeout the next run gets the same container.
    let mut spec = fixture.spec(Command::Line(
        "sleep 50 & setsid sleep 50; sleep 50".to_owned(),
    ));
    spec.limits.wall = Duration::from_millis(300);
    let start = Instant::now();
    let outcome = run(&runner, &Owner::Local, spec).unwrap();
    assert_eq!(outcome.reason, Reason::Timeout);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(
        output_of(&runner, &fixture, "set -- /proc/[0-9]*; echo $#"),
        "2\n"
    );
    assert_eq!(api.ours(), first);
    drop(runner);
    wait_until_removed(&api);
}

fn container_is_never_shared() {
    let (api, fixture) = (Api::of_tests(), Fixture::new(DOCKER));
    let runner = Arc::new(crate::runner(DOCKER));
    let user = |name: &str| Owner::User(UserId::new(name).unwrap());
    for name in ["one", "two"] {
        let spec = fixture.spec(Command::Line(
            "id -u; cat /tmp/x; echo x > /tmp/x".to_owned(),
        ));
        let outcome = run(&runner, &user(name), spec).unwrap();
        assert_eq!(text(&outcome.stdout).lines().count(), 1, "{outcome:?}");
    }
    assert_eq!(api.ours().len(), 2, "owners share one");
    // Two at once, of one owner: the first one waits for the end of the second.
    let line = "set -- /proc/[0-9]*; echo $#; cat";
    let (wait, over) = std::io::pipe().unwrap();
    let mut spec = fixture.spec(Command::Line(line.to_owned()));
    spec.input = Input::Reader(Arc::new(Mutex::new(wait)));
    let (first, tells) = (Arc::clone(&runner), Mutex::new(None));
    let (tell, told) = std::sync::mpsc::channel();
    *tells.lock().unwrap() = Some(tell);
    let first = std::thread::spawn(move || {
        let heard = Arc::new(move |_, _: &[u8]| {
            // Only the first output counts.
            let tell = tells.lock().unwrap().take();
            let _ = tell.map(|tell| tell.send(()));
        });
        let running = first.run(&Owner::Local, spec, heard);
        runtime().block_on(running).unwrap()
    });
    told.recv().unwrap();
    assert_eq!(
        output_of(&runner, &fixture, "set -- /proc/[0-9]*; echo $#"),
        "2\n"
    );
    assert_eq!(api.ours().len(), 4, "runs share one");
    drop(over);
    assert_eq!(text(&first.join().unwrap().stdout), "2\n");
    drop(runner);
    wait_until_removed(&api);
}

/// A mount inside of another one can't be cleared with it.
fn container_with_nested_mounts_is_not_kept() {
    let (api, fixture) = (Api::of_tests(), Fixture::new(DOCKER));
    fixture.write("more/file", "more");
    let runner = crate::runner(DOCKER);
    let mut spec = fixture.spec(Command::Line("cat /workspace/more/file".to_owned()));
    spec.mounts.push(Mount {
        sources: vec![fixture.path("more")],
        target: "/workspace/more".to_owned(),
        mode: Mode::ReadOnly,
        keep: None,
    });
    assert_eq!(
        text(&run(&runner, &Owner::Local, spec).unwrap().stdout),
        "more"
    );
    wait_until_removed(&api);
}

/// The image has a few programs of this machine, under other names.
fn named_image_brings_its_own_programs() {
    let (api, fixture) = (Api::of_tests(), Fixture::new(DOCKER));
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
    let said = output_of(&runner, &fixture, line);
    assert!(said.starts_with("own\nx\n"), "{said}");
    assert!(!said.contains("/usr"), "{said}");
    assert_eq!(fixture.read("layer/kept"), "kept\n");
    drop(runner);
    wait_until_removed(&api);
    api.delete(&format!("/images/{name}:1"));
    let runner =
        Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(of(format!("{name}:1")))));
    let spec = fixture.spec(Command::Line("true".to_owned()));
    let why = run(&runner, &Owner::Local, spec).unwrap_err().to_string();
    assert!(why.contains(&format!("docker pull {name}:1")), "{why}");
}

fn missing_daemon_is_explained() {
    let fixture = Fixture::new(DOCKER);
    let absent = fixture.path("no.sock").display().to_string();
    let deaf = fixture.path("deaf.sock");
    drop(std::os::unix::net::UnixListener::bind(&deaf).unwrap());
    let cases = [
        (absent, "install and start Docker"),
        (deaf.display().to_string(), "start it ("),
        ("tcp://127.0.0.1:1".to_owned(), "unix:///path"),
    ];
    for (socket, words) in cases {
        let docker = Settings {
            socket: Some(socket),
            image: None,
        };
        let runner = Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(docker)));
        let spec = fixture.spec(Command::Line("true".to_owned()));
        let error = run(&runner, &Owner::Local, spec).unwrap_err();
        assert!(matches!(error, PortError::Unavailable(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
        let statuses = runtime().block_on(runner.statuses()).unwrap();
        let docker = statuses.iter().find(|one| one.level == DOCKER);
        let reason = docker.unwrap().unavailable_reason.clone().unwrap();
        assert!(reason.contains(words), "{reason}");
        // No other level is used instead.
        assert_eq!(runtime().block_on(runner.level()), None);
    }
    // The level is opt-in.
    let runner = Runner::new(None).with_backend(Arc::new(Docker::new(daemon::settings())));
    assert_ne!(runtime().block_on(runner.level()), Some(DOCKER));
}

/// The dead server created a container, and never started it.
fn containers_of_dead_servers_are_removed() {
    let (api, fixture) = (Api::of_tests(), Fixture::new(DOCKER));
    let runner = crate::runner(DOCKER);
    assert_eq!(output_of(&runner, &fixture, "echo"), "\n");
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
    assert_eq!(output_of(&runner, &fixture, "echo"), "\n");
    let all = api.get("/containers/json?all=1").to_string();
    assert!(
        !all.contains(&dead),
        "the container of the dead server is still there"
    );
    assert!(
        all.contains(&living),
        "the container of the living server was removed"
    );
    api.delete(&format!("/containers/{living}?force=1"));
    drop(runner);
    wait_until_removed(&api);
}

/// The test starts a daemon of its own, which ends during a run.
fn run_survives_a_killed_daemon() {
    let mut daemon = Daemon::start();
    let fixture = Fixture::new(DOCKER);
    let docker = Settings {
        socket: Some(daemon.socket()),
        image: None,
    };
    let spec = |line: &str| Spec {
        command: Command::Line(line.to_owned()),
        folder: "/workspace".to_owned(),
        mounts: fixture.spec(Command::Line(String::new())).mounts,
        programs: Vec::new(),
        environment: BTreeMap::new(),
        input: Input::Nothing,
        dialogue: None,
        reach: Reach::default(),
        limits: Limits {
            wall: Duration::from_mins(2),
            ..Limits::default()
        },
        logs: None,
        links: Vec::new(),
        hidden: Vec::new(),
        holding: None,
    };
    let runner =
        Arc::new(Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(docker.clone()))));
    let start_run = |line: &str| {
        let (runner, spec) = (Arc::clone(&runner), spec(line));
        let (tells, started) = std::sync::mpsc::channel();
        let running = std::thread::spawn(move || {
            let tells = Mutex::new(tells);
            let heard = Arc::new(move |_, _: &[u8]| {
                // Only the first output is waited for.
                let _ = tells.lock().unwrap().send(());
            });
            runtime().block_on(runner.run(&Owner::Local, spec, heard))
        });
        started.recv().unwrap();
        running
    };
    // A killed daemon disturbs neither a run that goes on nor a new one in a warm container.
    let running = start_run("echo started; sleep 1; echo end > end");
    daemon.kill();
    let outcome = running.join().unwrap().unwrap();
    assert_eq!(outcome.exit, Some(Exit::Code(0)), "{outcome:?}");
    assert_eq!(fixture.read("workspace/end"), "end\n");
    let again = run(&runner, &Owner::Local, spec("echo again")).unwrap();
    assert_eq!(text(&again.stdout), "again\n");
    // A new container can't be made, and the error says why.
    let user = Owner::User(UserId::new("other").unwrap());
    let why = run(&runner, &user, spec("true")).unwrap_err();
    assert!(matches!(why, PortError::Unavailable(_)), "{why:?}");
    assert!(why.to_string().contains("Docker daemon"), "{why}");
    // A daemon that ends in order ends its containers.
    daemon.restart();
    let running = start_run("echo started; exec sleep 100");
    let start = Instant::now();
    daemon.end();
    let why = running.join().unwrap().unwrap_err();
    assert!(start.elapsed() < Duration::from_mins(1));
    assert!(matches!(why, PortError::Unavailable(_)), "{why:?}");
    assert!(why.to_string().contains("docker info"), "{why}");
    // After another start no container is left.
    drop(runner);
    daemon.restart();
    let runner = Runner::new(Some(DOCKER)).with_backend(Arc::new(Docker::new(docker)));
    let outcome = run(&runner, &Owner::Local, spec("echo new")).unwrap();
    assert_eq!(text(&outcome.stdout), "new\n");
    drop(runner);
    let api = daemon.api();
    let start = Instant::now();
    while api.get("/containers/json?all=1") != json!([]) {
        assert!(start.elapsed() < REMOVE_TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    }
    daemon.end();
}
