# The chores of this repository: `just` lists them, `just ci` runs every check.

set shell := ["bash", "-euo", "pipefail", "-c"]

# What scripts/test installs is found without any setting.
tools := justfile_directory() / ".tools"
export PATH := tools / "bin:" + tools / "venv/bin:" + tools / "node/node_modules/.bin:" + env("PATH")

python := tools / "venv/bin/python"

[private]
default:
    @just --list --unsorted

# Format the sources
fmt:
    cargo fmt --all
    files=$(just tool-files); rustfmt --edition 2024 $files

# Check format, lints, spelling, dependencies, house rules and generated files
lint: fmt-check typos tidy deny shear clippy gen-check

# Run the tests, those in the documentation included
test *ARGUMENTS:
    cargo nextest run --workspace --no-tests=fail {{ ARGUMENTS }}
    cargo test --quiet --workspace --doc

# Build the documentation, and fail on a broken link
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Write the generated files anew
gen *PARTS:
    cargo xtask gen {{ PARTS }}

# Measure the speed
bench *ARGUMENTS:
    cargo xtask bench {{ ARGUMENTS }}

# Parse a large corpus, and compare what comes out
prove-parse *ARGUMENTS:
    cargo xtask prove-parse {{ ARGUMENTS }}

# Feed a parser with random input: `just fuzz frontmatter 60`
fuzz TARGET SECONDS="60":
    cargo +nightly fuzz run {{ TARGET }} -- -max_total_time={{ SECONDS }}

# Compare verdicts with the reference validator of the format
compare-reference *FOLDERS:
    {{ python }} scripts/compare_reference.py {{ FOLDERS }}

# Let real MCP clients speak with the server
clients *ARGUMENTS:
    {{ python }} scripts/clients.py {{ ARGUMENTS }}

# Check, lint and test after each change of a source file
dev:
    #!/usr/bin/env bash
    set -euo pipefail
    command -v watchexec >/dev/null || {
      echo 'error: no watchexec on PATH' >&2
      echo '  hint: run `cargo install --locked watchexec-cli`, or run `just clippy test` by hand' >&2
      exit 1
    }
    exec watchexec --clear --restart --exts rs,toml,md,snap -- just clippy test

# Run every check in order, with the time of each
ci:
    #!/usr/bin/env bash
    set -uo pipefail
    export NEXTEST_PROFILE=ci
    exec scripts/steps fmt-check typos tidy deny shear clippy gen-check test doc clients

# Check the format
fmt-check:
    cargo fmt --all --check
    files=$(just tool-files); rustfmt --edition 2024 --check $files

# Check the spelling
typos:
    typos

# Check the house rules
tidy:
    cargo xtask tidy

# Check licences, sources and bans of dependencies
deny:
    cargo deny --log-level error check bans licenses sources

# Find dependencies that nothing uses
shear:
    cargo shear

# Check the lints
clippy:
    cargo clippy --workspace --all-targets -- -D warnings

# Check that the generated files are current
gen-check:
    cargo xtask gen --check

# The sources that cargo fmt does not find, because a macro declares them
[private]
tool-files:
    @find crates/gongfu-hub/src/tool -name '*.rs' | sort
