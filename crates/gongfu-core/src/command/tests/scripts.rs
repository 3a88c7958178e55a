//! Lines with scripts for other programs that run lines in them.

/// What becomes of them, and the lines.
pub(super) const LINES: &[(&str, &[&str])] = &[
    (
        "allow",
        &[
            "sed 'e' x",
            "git -c 'protocol.ext.allow=always' clone 'ext::sudo ls'",
            "git --exec-path=/x log",
            "parallel :::: x",
            "x=sudo; env bash -c '$x ls'",
            "awk -F'|' '{print $1 \"|\" $2}' x",
            "awk '/a|b/ {print \"x\" | \"sort\"}' x",
            "sed 's/;/e/; s/a/e/' x",
        ],
    ),
    (
        "block privilege",
        &[
            "sed -n 'e sudo ls' x",
            "sed --expression='1e sudo ls' x",
            "sed -E 's/(a)/sudo ls/ge' x",
            "sed 's/a/b/;s/x/sudo ls/e' x",
            "awk 'BEGIN{print \"x\" | \"sudo ls\"}'",
            "awk 'BEGIN{\"sudo ls\" | getline x}'",
            "find . -okdir sudo ls \\;",
            "tar cf - . --rsh-command='sudo ls'",
            "tar --checkpoint=1 --checkpoint-action exec='sudo ls' -cf a .",
            "tar -cf a --use-compress-prog='sudo ls' .",
            "git -c core.sshCommand='sudo ls' fetch",
            "watch --interval 1 sudo ls",
            "watch -d -n1 'sudo ls'",
            "parallel -j 4 sudo ::: a",
            "parallel --jobs 4 sudo ::: a",
            "sudo() { command sudo \"$@\"; }; f() { sudo ls; }; f",
            "x=sudo; y='$x ls'; eval $y",
            "x=sudo; y='eval $x ls'; $y",
            "z=\"x=sudo\"; eval $z; $x ls",
            "export x; x=sudo; bash -c '$x ls'",
            "x=ls; env x=sudo bash -c '$x'",
            "function f() { local x; x=sudo; g; }; g() { $x ls; }; f",
        ],
    ),
    ("block written", &["find . -fprintf /etc/x y"]),
];
