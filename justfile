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

# Compile every program for the checks, with the features that the tests have compiled already
[private]
programs:
    cargo build --quiet --workspace --all-targets

# Run the tests, those in the documentation included
test *ARGUMENTS:
    cargo nextest run --workspace --no-tests=fail {{ ARGUMENTS }}
    cargo test --quiet --workspace --doc

# Show which promises of the storage ports each backend keeps
contract:
    cargo test --quiet --package gongfu-testing --test contract -- --table

# Build the documentation, and fail on a broken link
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Write the generated files anew
gen *PARTS:
    cargo xtask gen {{ PARTS }}

# Measure the speed of the packaged binary, beside FastMCP when that can be installed
bench *ARGUMENTS:
    #!/usr/bin/env bash
    set -uo pipefail
    venv={{ tools }}/bench-venv
    want="{{ tools }} $(cksum <scripts/requirements-bench.txt)"
    if [[ $(cat "$venv/.installed" 2>/dev/null) != "$want" ]]; then
      rm -rf "$venv" && mkdir -p {{ tools }}/log
      if { python3 -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --requirement scripts/requirements-bench.txt; } >{{ tools }}/log/bench-venv.log 2>&1; then
        printf '%s\n' "$want" >"$venv/.installed"
      else
        printf 'note: FastMCP can not be installed: %s\n' "$(tail -n 1 {{ tools }}/log/bench-venv.log)" >&2
        rm -rf "$venv"
      fi
    fi
    exec cargo run --quiet --profile dist --package lab -- bench {{ ARGUMENTS }}

# Measure the server beside FastMCP and the SDKs of Python and TypeScript, over HTTP and stdio
bench-peers *ARGUMENTS:
    scripts/peer/install || true # who is missing is said in the end
    cargo run --quiet --profile dist --package lab -- bench-peers {{ ARGUMENTS }}

# Measure a server with accounts beside FastMCP without any, under many calls and streams, and under wrong logins
bench-accounts *ARGUMENTS:
    scripts/peer/install || true # who is missing is said in the end
    cargo build --quiet --profile dist --package lab --package gongfu
    target/dist/lab bench-peers --accounts --only gongfu,fastmcp --skills 0 --binary target/dist/gongfu {{ ARGUMENTS }}
    target/dist/lab bench --accounts --skills 0 --only streams,soak --binary target/dist/gongfu
    {{ python }} scripts/prove_logins.py --gongfu target/dist/gongfu

# Measure how well search finds, beside plain BM25, and what a space costs
bench-search *ARGUMENTS:
    cargo run --quiet --profile dist --package lab -- bench-search {{ ARGUMENTS }}

# The same in short: it fails when plain BM25 finds better
bench-search-short: programs
    #!/usr/bin/env bash
    set -euo pipefail
    if [ ! -d ../shared/corpus ]; then
      echo 'note: not run: there are no real skills beside the repository'
      [ "${CI:-}" != true ]
      exit
    fi
    target/debug/lab bench-search --spaces 50 --seeds 5

# Measure how well the right one of thousands of real tools is found, beside plain BM25, and what listing them costs
bench-tools *ARGUMENTS:
    #!/usr/bin/env bash
    set -euo pipefail
    folder={{ tools }}/tool-definitions
    want="$folder $(cksum <scripts/tool_definitions/requirements.txt)"
    if [[ $(cat "$folder/venv/.installed" 2>/dev/null) != "$want" ]]; then
      rm -rf "$folder/venv" && mkdir -p "$folder"
      python3 -m venv "$folder/venv"
      "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --requirement scripts/tool_definitions/requirements.txt
      printf '%s\n' "$want" >"$folder/venv/.installed"
    fi
    export PATH=$folder/venv/bin:$PATH
    python scripts/tool_definitions/collect.py "$folder"
    cargo build --quiet --release --package gongfu
    python scripts/bench_tools.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Measure how long a command is judged, and compare how it is read with `bash -n`
bench-commands *ARGUMENTS:
    cargo run --quiet --profile dist --package lab -- bench-commands {{ ARGUMENTS }}

# Measure how many changes of records a database commits in a second, by the number of writers
bench-records *ARGUMENTS:
    cargo run --quiet --release --package lab -- bench-records {{ ARGUMENTS }}

# Measure what a sandbox costs, beside a plain spawn and bubblewrap
bench-sandbox *ARGUMENTS:
    cargo run --quiet --profile dist --package lab -- bench-sandbox {{ ARGUMENTS }}

# Measure the calls of another server directly and through gongfu, beside the proxies of FastMCP and mcp-proxy
bench-connections *ARGUMENTS: servers
    cargo build --quiet --profile dist --package gongfu
    {{ python }} scripts/bench_connections.py --gongfu target/dist/gongfu {{ ARGUMENTS }}

# Measure the agent's loop beside bare requests to the same model, and 200 chats at once
bench-agent *ARGUMENTS:
    cargo build --quiet --profile dist --package gongfu
    {{ python }} scripts/bench_agent.py --gongfu target/dist/gongfu {{ ARGUMENTS }}

# Measure what a run costs by the number of files that it changes; `--before BIN` compares with another gongfu
bench-changes *ARGUMENTS:
    cargo build --quiet --profile dist --package gongfu
    {{ python }} scripts/bench_changes.py --gongfu target/dist/gongfu {{ ARGUMENTS }}

# Prove with a million made-up inputs that no reader panics, hangs or leads out of a skill
prove-parse *ARGUMENTS:
    cargo run --quiet --profile checked --package lab -- prove-parse {{ ARGUMENTS }}

# The same with fewer inputs
prove-parse-short: programs
    target/debug/lab prove-parse --count 20000 --no-growth

# Prove with 10,000 attempts that no link that is swapped in leads a reader or writer outside
prove-races *ARGUMENTS:
    cargo run --quiet --profile checked --package lab -- prove-races {{ ARGUMENTS }}

# The same with fewer attempts
prove-races-short: programs
    target/debug/lab prove-races --count 1000

# Prove with 200,000 malformed requests that the server neither panics nor hangs, ends or grows
prove-malformed *ARGUMENTS:
    cargo run --quiet --profile checked --package lab -- prove-malformed {{ ARGUMENTS }}

# The same with fewer requests, on a machine that may be busy
prove-malformed-short: programs
    target/debug/lab prove-malformed --binary target/debug/gongfu --count 2000 --timeout 10000

# Prove that whatever is run, the server goes on answering and nothing is left
prove-bombs *ARGUMENTS:
    cargo run --quiet --release --package lab -- prove-bombs {{ ARGUMENTS }}

# Prove for a minute in each kind of sandbox that no system call made at random harms what is outside
prove-syscalls *ARGUMENTS:
    cargo test --quiet --package gongfu-attack --test it -- prove-syscalls {{ ARGUMENTS }}

# Prove with attacks from real runs that nothing but what was granted is reached, each beside its control
prove-proxy *ARGUMENTS:
    cargo test --quiet --package gongfu-sandbox --test it -- prove-proxy {{ ARGUMENTS }}

# Prove with 10,000 generated histories of a workspace that nobody's work is lost, and that every answer is true
prove-histories *ARGUMENTS:
    cargo test --quiet --package gongfu-sandbox --test it -- prove-histories {{ ARGUMENTS }}

# Prove with scripts of strangers that they run with the packages that they import, beside uv alone
prove-scripts *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/strangers.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with 20 of them that need small packages
prove-scripts-short: programs
    {{ python }} scripts/strangers.py --gongfu target/debug/gongfu --count 20

# Prove that Claude Code, Codex, Gemini CLI and opencode show their models everything, and run a skill; `--measure` their limits
prove-clients *ARGUMENTS:
    #!/usr/bin/env bash
    set -euo pipefail
    clients={{ tools }}/clients
    want=$(cat scripts/client_programs/package.json scripts/client_programs/.npmrc | cksum)
    if [[ $(cat "$clients/.installed" 2>/dev/null) != "$want" ]]; then
      rm -rf "$clients" && mkdir -p "$clients"
      cp scripts/client_programs/package.json scripts/client_programs/.npmrc "$clients/"
      (cd "$clients" && npm install --no-package-lock --loglevel=error)
      printf '%s\n' "$want" >"$clients/.installed"
    fi
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_clients.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Prove with 200 imports of strangers that a check proposes the packages that a run would install
prove-imports *ARGUMENTS: programs
    {{ python }} scripts/import_agreement.py --gongfu target/debug/gongfu --cache .tools/strangers {{ ARGUMENTS }}

# Prove that a server gives back the memory that a hostile load took
prove-memory *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/memory.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Prove with made-up requests of Schemathesis that the REST API does what its document says
prove-api *ARGUMENTS:
    #!/usr/bin/env bash
    set -euo pipefail
    venv={{ tools }}/schemathesis-venv
    want="{{ tools }} $(cksum <scripts/requirements-schemathesis.txt)"
    if [[ $(cat "$venv/.installed" 2>/dev/null) != "$want" ]]; then
      rm -rf "$venv"
      python3 -m venv "$venv"
      "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement scripts/requirements-schemathesis.txt
      printf '%s\n' "$want" >"$venv/.installed"
    fi
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_api.py --gongfu target/release/gongfu --schemathesis "$venv/bin/schemathesis" {{ ARGUMENTS }}

# Prove that a server with accounts refuses every credential that isn't good, at every operation and tool
prove-refusals *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_refusals.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Prove that `gongfu skills` leaves the same on disk as `npx skills`, and that sites of skills are read by both
prove-skills-words *ARGUMENTS: programs
    {{ python }} scripts/compare_skills_words.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Prove that `gongfu adopt` finds every kind of skill, changes no file but those it tells, and leaves all as it was
prove-adopt *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_adopt.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with fewer skills and kills
prove-adopt-short: programs
    {{ python }} scripts/prove_adopt.py --gongfu target/debug/gongfu --count 200 --kills 8

# Prove that skills are installed and locked as by `npx skills`, and that each works on what the other installed; `--bench` compares times
prove-import *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_import.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with fewer sources and changes
prove-import-short: programs
    {{ python }} scripts/prove_import.py --gongfu target/debug/gongfu --short

# Prove that hostile archives are refused and leave nothing, and that honest ones come back equal
prove-archives *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_archives.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Prove that no source of skills writes where it must not, takes too much or leaves anything half: archives, servers, kills
prove-hostile-imports *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_hostile_imports.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with a part of each
prove-hostile-imports-short: programs
    {{ python }} scripts/prove_hostile_imports.py --gongfu target/debug/gongfu --short

# Prove with a million malformed requests to the REST API that the server neither panics nor hangs, ends or grows
prove-inputs *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_inputs.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Prove with 50 kills during writes that a server with accounts loses nothing that it acknowledged
prove-kills *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_kills.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Install the servers of others that the checks connect to, and a proxy to measure beside, below .tools/servers
[private]
servers:
    #!/usr/bin/env bash
    set -euo pipefail
    servers={{ tools }}/servers
    want="$servers $(cat scripts/server_programs/{package.json,.npmrc,requirements-*.txt} | cksum)"
    [[ $(cat "$servers/.installed" 2>/dev/null) == "$want" ]] && exit
    rm -rf "$servers" && mkdir -p "$servers"
    cp scripts/server_programs/{package.json,.npmrc} "$servers/"
    (cd "$servers" && npm install --no-package-lock --loglevel=error)
    for name in python proxy; do
      python3 -m venv "$servers/$name"
      "$servers/$name/bin/python" -m pip install --quiet --disable-pip-version-check \
        --requirement "scripts/server_programs/requirements-$name.txt"
    done
    printf '%s\n' "$want" >"$servers/.installed"

# Prove that another MCP server that misbehaves costs its own tools only, and that nothing is left of it
prove-faults *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_faults.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same without what takes minutes
prove-faults-short: programs
    {{ python }} scripts/prove_faults.py --gongfu target/debug/gongfu --short

# Prove that a chat ends well whatever its model does: faults on the wires of OpenAI and Anthropic, a model that misbehaves
prove-models *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/check_faulty_model.py
    {{ python }} scripts/prove_models.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same without what takes long
prove-models-short: programs
    {{ python }} scripts/check_faulty_model.py
    {{ python }} scripts/prove_models.py --gongfu target/debug/gongfu --short

# Prove that a chat and a pipeline that are killed after any entry of their logs continue as if nothing had happened
prove-resume *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_resume.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same for one chat and the pipeline
prove-resume-short: programs
    {{ python }} scripts/prove_resume.py --gongfu target/debug/gongfu --short

# Prove what a person sees of a chat: types into it, and reads the screen of its terminal
prove-chat *ARGUMENTS: programs
    {{ python }} scripts/prove_chat.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Prove that OpenAI's SDK can chat with the agent of a server, and that the agent's own routes tell the same
prove-agent-api *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_agent_api.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with the program of the tests
prove-agent-api-short: programs
    {{ python }} scripts/prove_agent_api.py --gongfu target/debug/gongfu

# Prove with 10,000 generated scripts that their calls pass the gate, and compare a task by one script and by 20 calls
prove-tool-scripts *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_tool_scripts.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with fewer scripts
prove-tool-scripts-short: programs
    {{ python }} scripts/prove_tool_scripts.py --gongfu target/debug/gongfu --count 60

# Prove with 10,000 generated sequences that exactly those calls of another server's tool run that a person approved
prove-approvals *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_approvals.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with fewer sequences
prove-approvals-short: programs
    {{ python }} scripts/prove_approvals.py --gongfu target/debug/gongfu --count 120

# Prove that real MCP servers work through gongfu as they do alone, however they are connected and whoever calls
prove-servers *ARGUMENTS: servers
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_servers.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same for two ways of connecting
prove-servers-short: programs servers
    {{ python }} scripts/prove_servers.py --gongfu target/debug/gongfu --short

# Prove that many sessions share the servers of ten connections, and that no kill leaves a process or loses an approval
prove-shared *ARGUMENTS: servers
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_shared.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same with fewer sessions and kills
prove-shared-short: programs servers
    {{ python }} scripts/prove_shared.py --gongfu target/debug/gongfu --short

# Prove for ten minutes that a sign-in at another server lasts, over processes that end and a network that is cut
prove-sign-ins *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_sign_ins.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# The same for 20 seconds
prove-sign-ins-short: programs
    {{ python }} scripts/prove_sign_ins.py --gongfu target/debug/gongfu --short

# Measure a server with 10,000 users of 10 skills each, beside one with 10 users
prove-scale *ARGUMENTS:
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_scale.py --gongfu target/release/gongfu {{ ARGUMENTS }}

# Pack one program for every channel, into dist/: wheel, npm, archive, deb, bundle, image (`--binary FILE`, `--only deb`)
dist *ARGUMENTS: dist-tools
    {{ tools }}/dist-venv/bin/python scripts/dist --clean {{ ARGUMENTS }}

# Install the tools of `just dist` below .tools/
[private]
dist-tools:
    #!/usr/bin/env bash
    set -euo pipefail
    want="{{ tools }} $(cat scripts/requirements-dist.txt scripts/dist/files/package.json | cksum)"
    [[ $(cat {{ tools }}/dist-venv/.installed 2>/dev/null) == "$want" ]] && exit
    rm -rf {{ tools }}/dist-venv {{ tools }}/dist-node
    python3 -m venv {{ tools }}/dist-venv
    {{ tools }}/dist-venv/bin/python -m pip install --quiet --disable-pip-version-check \
      --requirement scripts/requirements-dist.txt
    mkdir {{ tools }}/dist-node
    cp scripts/dist/files/package.json {{ tools }}/dist-node
    (cd {{ tools }}/dist-node && npm install --silent --no-fund --no-audit)
    printf '%s\n' "$want" >{{ tools }}/dist-venv/.installed

# Check what `just dist` is made of: scripts, manifests, units, and that the committed files hold the version
dist-check: dist-tools
    #!/usr/bin/env bash
    set -euo pipefail
    export PATH={{ tools }}/dist-venv/bin:{{ tools }}/dist-node/node_modules/.bin:$PATH
    python scripts/dist check
    cargo build --quiet
    shellcheck scripts/dist/files/install.sh
    claude plugin validate --strict .
    claude plugin validate --strict plugins/gongfu
    {{ python }} scripts/dist/check_action.py
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    # Claude Code installs the plugin, and its server answers.
    (
      export HOME=$folder PATH=$PWD/target/debug:$PATH
      claude plugin marketplace add "$PWD" && claude plugin install gongfu@gongfu
      claude mcp list | tee "$folder/servers" && grep -q Connected "$folder/servers"
    )
    if command -v systemd-analyze >/dev/null; then
      for kind in system user; do
        # The program isn't installed here.
        sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "scripts/dist/files/systemd/$kind/gongfu.service" >"$folder/gongfu.service"
        # It exits 0 in spite of unknown keys, so it must say nothing.
        said=$(XDG_RUNTIME_DIR=$folder systemd-analyze verify --man=no "--$kind" "$folder/gongfu.service" 2>&1) || true
        [[ -z $said ]] || { printf '%s\n' "$said" >&2; exit 1; }
      done
    fi

# Prove that each package of dist/ installs without Rust, starts in seconds, and is removed without a trace
prove-dist *ARGUMENTS:
    {{ python }} scripts/dist/prove.py {{ ARGUMENTS }}

# The same with the packages that an unoptimised program is soon packed in
prove-dist-short: programs
    #!/usr/bin/env bash
    set -euo pipefail
    {{ python }} scripts/dist check
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    strip -o "$folder/gongfu" target/debug/gongfu
    export GONGFU_DIST=$folder/dist GONGFU_DIST_FAST=1
    {{ python }} scripts/dist --binary "$folder/gongfu" --only npm archive deb
    {{ python }} scripts/dist/prove.py --short

# Feed a reader with inputs that find new ways through it: `just fuzz document 60`
fuzz TARGET SECONDS="60" *OPTIONS:
    #!/usr/bin/env bash
    set -euo pipefail
    command -v cargo-fuzz >/dev/null || {
      echo 'error: no cargo-fuzz' >&2
      echo '  hint: run `cargo install --locked cargo-fuzz --root .tools`' >&2
      exit 1
    }
    target={{ TARGET }}
    seeds=fuzz/corpora/${target/strict/document}
    mkdir -p "fuzz/corpus/$target"
    # With a nightly toolchain memory is watched too; without one, the panics and properties are.
    if cargo +nightly --version >/dev/null 2>&1; then
      run=(cargo +nightly fuzz run)
    else
      export RUSTC_BOOTSTRAP=1
      run=(cargo fuzz run --sanitizer none)
    fi
    exec "${run[@]}" "$target" "fuzz/corpus/$target" "$seeds" -- -max_total_time={{ SECONDS }} \
      -dict=fuzz/dictionary -max_len=65536 -timeout=10 -rss_limit_mb=2048 {{ OPTIONS }}

# Compare verdicts with the reference validator of the format
compare-reference *FOLDERS:
    {{ python }} scripts/compare_reference.py {{ FOLDERS }}

# The same on the adversarial folders, some mutations, and the corpus where it is
compare-reference-short: programs
    #!/usr/bin/env bash
    set -euo pipefail
    corpus=()
    [ -d ../shared/corpus ] && corpus=(../shared/corpus)
    {{ python }} scripts/compare_reference.py --gongfu target/debug/gongfu --adversarial --fuzz 300 "${corpus[@]}"

# Run the commands of the README and the guides, and compare what they print with what the documents show
guides *DOCUMENTS: programs
    {{ python }} scripts/guides.py --gongfu target/debug/gongfu {{ DOCUMENTS }}

# Draw the picture of the README from a real session
picture: programs
    #!/usr/bin/env bash
    set -euo pipefail
    venv={{ tools }}/picture-venv
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check rich==15.0.0
    "$venv/bin/python" scripts/picture.py --gongfu target/debug/gongfu docs/session.svg

# Let real MCP clients speak with the server, over standard input and output and over HTTP
clients *ARGUMENTS: programs
    {{ python }} scripts/clients.py --gongfu target/debug/gongfu {{ ARGUMENTS }}
    {{ python }} scripts/story.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Run the official conformance suite of MCP, once it was shown that faults are found
conformance *ARGUMENTS: programs
    {{ python }} scripts/conformance.py --self-test
    {{ python }} scripts/conformance.py {{ ARGUMENTS }}
    {{ python }} scripts/conformance_clients.py

# Ask a server with accounts for one user's data as another: every route, every tool
isolation *ARGUMENTS: programs
    {{ python }} scripts/isolation.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Let real OAuth clients sign in to a server with accounts, and refresh their tokens over its restarts
sign-in *ARGUMENTS: programs
    {{ python }} scripts/sign_in.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Open every page of a server with accounts in Chromium, and check it with axe
prove-pages *ARGUMENTS:
    mkdir -p {{ tools }}/pages
    cp scripts/pages/package.json {{ tools }}/pages/
    npm install --silent --prefix {{ tools }}/pages
    cargo build --quiet --release --package gongfu
    {{ python }} scripts/prove_pages.py --tools {{ tools }}/pages --gongfu target/release/gongfu {{ ARGUMENTS }}

# Sign in by a provider of identities, and attack that
sso *ARGUMENTS: programs
    {{ python }} scripts/sso.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Replay the examples of the source documents by a real MCP client
replay *ARGUMENTS: programs
    {{ python }} scripts/replay.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Run skills that need packages: from an index that lies, from the configured one, and without any
environments *ARGUMENTS: programs
    {{ python }} scripts/hostile_index.py --gongfu target/debug/gongfu
    {{ python }} scripts/company_index.py --gongfu target/debug/gongfu
    {{ python }} scripts/environments.py --gongfu target/debug/gongfu {{ ARGUMENTS }}

# Run the scripts of the built-in skills on ordinary and on hostile input
test-skills:
    {{ python }} scripts/test_skills.py

# Check the tables of modules and packages; of packages that are named, what the configured index has
check-modules *PACKAGES:
    python3 scripts/module_table.py check {{ PACKAGES }}

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
    exec scripts/steps fmt-check typos tidy deny shear clippy gen-check test test-skills prove-parse-short bench-search-short compare-reference-short prove-races-short prove-malformed-short prove-adopt-short prove-import-short prove-faults-short prove-hostile-imports-short prove-models-short prove-resume-short prove-agent-api-short prove-chat prove-tool-scripts-short prove-approvals-short doc guides clients prove-servers-short prove-shared-short prove-sign-ins-short replay isolation environments prove-scripts-short conformance

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
gen-check: programs
    cargo xtask gen --check --binary target/debug/gongfu

# The sources that cargo fmt does not find, because a macro declares them
[private]
tool-files:
    @find crates/gongfu-hub/src/tool crates/gongfu-hub/src/dialect -name '*.rs' | sort
