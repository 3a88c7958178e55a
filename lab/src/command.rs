//! `lab bench-commands`: how long it takes to judge a command, and whether shell text is read as
//! `bash` reads it.
//!
//! On the shell blocks of real skills, where there are some, and on texts that were made to take long.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use gongfu_core::command::{Policy, Verdict, judge_line};
use gongfu_core::shell;

use crate::corpus;
use crate::machine;
use crate::sample::{Sample, Unit};

/// Lines that replace their blocks if there are none.
const LINES: [&str; 6] = [
    "python scripts/gcd.py 12 18",
    "cd scripts && bash setup.sh > out.txt 2>&1",
    "for f in *.csv; do [ -f \"$f\" ] && python one.py \"$f\" | tail -5; done",
    "x=$(mktemp -d); trap 'rm -rf \"$x\"' EXIT; tar xf a.tgz -C \"$x\"",
    "cat <<EOF > notes.txt\nhello $USER, $(date)\nEOF",
    "find . -name '*.py' -print0 | xargs -0 grep -l \"import ${name:-os}\"",
];
const POLICY: Policy<'static> = Policy {
    programs: None,
    folder: "/skill",
    writable: &["/workspace", "/skill"],
    input: None,
};

/// The options of `lab bench-commands`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The number of times that each is judged
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// A folder of skills with shell blocks, instead of the corpus beside the repository
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
}

/// Measures, and compares.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    println!("{}", machine::describe());
    let folder = match &arguments.corpus {
        Some(corpus) => corpus.clone(),
        None => machine::root()?.join(corpus::FOLDER),
    };
    let mut blocks = collect(&folder);
    let from = if blocks.is_empty() {
        blocks.extend(LINES.map(str::to_owned));
        "lines of our own"
    } else {
        "shell blocks of real skills"
    };
    let mut judged = Sample::default();
    let (mut allowed, mut asked, mut blocked) = (0, 0, 0);
    for block in &blocks {
        for _ in 0..arguments.rounds {
            let begun = Instant::now();
            let verdict = judge_line(block, &POLICY);
            judged.time(begun.elapsed());
            drop(verdict);
        }
        match judge_line(block, &POLICY) {
            Verdict::Allow => allowed += 1,
            Verdict::Ask(_) => asked += 1,
            Verdict::Block(_) => blocked += 1,
        }
    }
    let show = |value: Option<f64>| Unit::Milliseconds.show(value.unwrap_or_default());
    println!(
        "{} {from}, each judged {} times",
        blocks.len(),
        arguments.rounds
    );
    println!(
        "  median {}, p99 {}, slowest {}; {allowed} let pass, {asked} asked about, {blocked} refused",
        show(judged.median()),
        show(judged.percentile(99)),
        show(judged.most()),
    );
    println!("texts of 64 KiB that were made to take long");
    for (name, text) in hostile() {
        let begun = Instant::now();
        let verdict = judge_line(&text, &POLICY);
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        let verdict = match verdict {
            Verdict::Allow => "let pass",
            Verdict::Ask(_) => "asked about",
            Verdict::Block(_) => "refused",
        };
        println!(
            "  {name:<38} {:>10}  {verdict}",
            Unit::Milliseconds.show(took)
        );
    }
    compare(&blocks)
}

/// Reads each text with `bash -n` as well.
fn compare(blocks: &[String]) -> Result<ExitCode> {
    let mut spawned = Sample::default();
    let (mut both, mut differs) = (0_usize, Vec::new());
    for block in blocks {
        let begun = Instant::now();
        let is_read = bash(block)?;
        spawned.time(begun.elapsed());
        let ours = shell::parse(block);
        both += usize::from(is_read && ours.is_ok());
        if is_read != ours.is_ok() {
            differs.push((block, ours.err()));
        }
    }
    println!(
        "`bash -n` takes {} (median) and reads {both} of {}; {} are read differently",
        Unit::Milliseconds.show(spawned.median().unwrap_or_default()),
        blocks.len(),
        differs.len(),
    );
    for (block, why) in differs.iter().take(10) {
        let why = why
            .as_ref()
            .map_or_else(|| "bash refuses it".to_owned(), ToString::to_string);
        println!("  {why}:\n{block}");
    }
    Ok(ExitCode::from(u8::from(!differs.is_empty())))
}

/// True when `bash` can parse a text; nothing in it is run.
fn bash(text: &str) -> Result<bool> {
    let mut child = Command::new("bash")
        .args(["--norc", "-n"])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("there is no `bash` to compare with")?;
    let input = child.stdin.take();
    let written = input.map(|mut input| std::io::Write::write_all(&mut input, text.as_bytes()));
    ensure!(written.is_some(), "`bash` has no input");
    // It fails when `bash` refuses the text before its end.
    let _ = written;
    Ok(child.wait()?.success())
}

/// The shell blocks of all documents below a folder; none when it can't be read.
fn collect(folder: &Path) -> Vec<String> {
    let mut blocks = Vec::new();
    for path in corpus::files_below(folder).unwrap_or_default() {
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = std::fs::read(&path).unwrap_or_default();
            blocks_of(&String::from_utf8_lossy(&text), &mut blocks);
        }
    }
    blocks
}

fn blocks_of(document: &str, blocks: &mut Vec<String>) {
    let mut open: Option<String> = None;
    for line in document.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => {
                blocks.extend(open.take().filter(|block| !block.trim().is_empty()));
            }
            (Some(block), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, Some(kind)) => {
                let is_shell = ["bash", "sh", "shell"].contains(&kind.trim());
                // What is in other blocks is no command.
                open = is_shell.then(String::new);
            }
            (None, None) => {}
        }
    }
}

/// Texts of the greatest length that make slow readers slow.
fn hostile() -> Vec<(&'static str, String)> {
    let filled = |piece: &str| piece.repeat(shell::MAX_BYTES / piece.len());
    let deep = |open: &str, close: &str| {
        let depth = shell::MAX_DEPTH / 4;
        let one = format!("echo {}ls{}\n", open.repeat(depth), close.repeat(depth));
        filled(&one)
    };
    vec![
        ("parentheses that never close", filled("(")),
        ("subscripts that never close", filled("${a[")),
        ("substitutions that never close", filled("\"$(")),
        ("arithmetic that never closes", filled("$((")),
        ("backquotes", filled("`a`")),
        ("substitutions in substitutions", deep("$(echo ", ")")),
        (
            "quotes in substitutions in quotes",
            deep("\"$(echo ", ")\""),
        ),
        ("defaults in defaults", deep("${a:-", "}")),
        (
            "subshells in subshells",
            filled(&format!("{}ls{};", "( ".repeat(16), " )".repeat(16))),
        ),
        ("here-documents", filled("cat <<E\n$(ls)\nE\n")),
        ("words", filled("a ")),
        ("commands", filled("a;")),
        (
            "loops in loops",
            filled("for x in 1 2 3; do for y in 1 2; do $x; done; done;"),
        ),
        (
            "functions that call functions",
            filled("f() { g; }; g() { f; }; f;"),
        ),
        ("braces", filled("echo {a,b}{c,d}{e,f};")),
        ("braces in one word", filled("{a,b}")),
        ("subscripts that assign nothing", filled("a[1 ")),
        ("assignments", filled("a=$a$a;")),
        ("operators", filled("a|&&")),
    ]
}
