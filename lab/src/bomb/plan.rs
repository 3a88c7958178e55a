//! The bombs: each takes all there is of one thing.

/// Something that takes all there is.
pub(super) struct Bomb {
    pub(super) name: &'static str,
    /// For a shell.
    pub(super) line: &'static str,
    /// The time limit, in seconds.
    pub(super) seconds: u32,
    /// As what it may end.
    pub(super) reasons: &'static [&'static str],
}

pub(super) const BOMBS: &[Bomb] = &[
    Bomb {
        name: "fork bomb",
        line: "bomb() { bomb | bomb & }; bomb; sleep 60",
        seconds: 5,
        reasons: &["pids", "timeout"],
    },
    Bomb {
        name: "processes that never end",
        line: "for i in $(seq 300); do (trap '' TERM HUP; while :; do :; done) & done; wait",
        seconds: 5,
        reasons: &["pids", "timeout"],
    },
    Bomb {
        name: "memory bomb in one process",
        line: "exec python3 -c \"a = []\nwhile True: a.append(b'x' * (1 << 20))\"",
        seconds: 60,
        reasons: &["oom"],
    },
    Bomb {
        name: "memory bomb in fifty processes",
        line: "for i in $(seq 50); do python3 -c \"a = b'x' * (60 << 20); import time; time.sleep(60)\" & done; wait",
        seconds: 60,
        reasons: &["oom"],
    },
    Bomb {
        name: "memory bomb in files in memory",
        line: "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/dev/shm/$i bs=1M count=400 & done; wait; sleep 60",
        seconds: 10,
        reasons: &["disk", "oom", "timeout"],
    },
    Bomb {
        name: "disk filled by one file",
        line: "dd if=/dev/zero of=/workspace/large bs=1M",
        seconds: 60,
        reasons: &["disk"],
    },
    Bomb {
        name: "disk filled by many files",
        line: "exec python3 -c \"n = 0\nwhile True:\n  open(f'/workspace/{n}', 'w').close(); n += 1\"",
        seconds: 60,
        reasons: &["disk"],
    },
    Bomb {
        name: "output flood",
        line: "yes",
        seconds: 60,
        reasons: &["output"],
    },
    Bomb {
        name: "open files",
        line: "exec python3 -c \"a = []\nwhile True: a.append(open('/dev/null'))\"",
        seconds: 60,
        reasons: &["ok"],
    },
    Bomb {
        name: "daemons that outlive their parents",
        line: "for i in $(seq 20); do setsid sh -c \"trap '' TERM HUP INT; (sleep 60 &) ; sleep 60\" & done; sleep 0.5",
        seconds: 60,
        reasons: &["ok"],
    },
];
