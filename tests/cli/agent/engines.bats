#!/usr/bin/env bats
# How we call the program of each engine, recorded by stand-ins: permissions, model, persona, session, and the place
# of the prompt.
# shellcheck disable=SC2154 # run_apart sets stderr
load ../helper
load ../run_helper

CALLS=$BATS_TEST_TMPDIR/calls

# A stand-in for an engine's program, on PATH: it notes its arguments and its input, runs the lines of
# shell, and says at the end what the engine says when all went well.
stub() { # ENGINE [LINE OF SHELL...]
    local -A ends=(
        [codex]='{"type":"thread.started","thread_id":"t-1"}
{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":10,"output_tokens":7}}'
        [copilot]='{"type":"result","sessionId":"s-1","exitCode":0,"usage":{}}'
        [aider]='Applied edit to file'
    )
    mkdir -p "$BATS_TEST_TMPDIR/bin" "$CALLS"
    {
        printf '%s\n' '#!/bin/sh' "to='$CALLS'/\$ANABRANCH_TASK-\$ANABRANCH_ATTEMPT" \
            "printf '%s\n' \"\$@\" >\"\$to.args\"" "cat >\"\$to.in\"" "echo \"\$ANABRANCH_TASK\" >\"made-\$ANABRANCH_TASK\"" \
            "${@:2}" "cat <<'END'" "${ends[$1]}" END
    } >"$BATS_TEST_TMPDIR/bin/$1"
    chmod +x "$BATS_TEST_TMPDIR/bin/$1"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# A task of an engine; its prompt is more than a word.
ask() { # ENGINE ID [LINE...]
    add_task "$2" "engine: $1" "prompt: the words of $2" "${@:3}"
}

run_stubs() { # [OPTION...]
    run_apart anabranch run "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

# Prints all arguments of the program on one line, with REPO for the repository's folder and RUN for the run's id.
args_of() { # TASK [ATTEMPT]
    paste -s -d ' ' "$CALLS/$1-${2:-1}.args" | sed -E "s#$PWD#REPO#g; s#(worktrees/)[^/ ]*#\1RUN#g; s#/runs/[^/ ]*#/RUN#g"
}

assert_args() { # TASK ARGUMENTS [ATTEMPT]
    local args
    args=$(args_of "$1" "${3:-1}")
    [[ $args == "$2" ]] || fail "$1 was called with:" "$args" "expected:" "$2"
}

assert_input() { # TASK TEXT
    [[ $(<"$CALLS/$1-1.in") == "$2" ]] || fail "the input of $1: $(<"$CALLS/$1-1.in")"
}

# Begins a run whose agent says a LINE and stays, kills the engine, and goes on with the run.
interrupt_and_resume() { # ENGINE LINE
    stub "$1" "if test \"\$ANABRANCH_ATTEMPT\" = 1; then echo '$2'; touch '$BATS_TEST_TMPDIR/said'; sleep 300; fi"
    ask "$1" a
    "$ANABRANCH" run plan.yaml >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/said"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    wait_for no_agents || fail "$(agents_alive)"
    run_apart anabranch resume 3>&-
    assert_no_sanitizer
    assert_status 0
}

# codex

# The folders that a sandbox must leave writable for a commit in a linked worktree.
codex_dirs=''
for dir in worktrees/RUN objects refs logs; do
    codex_dirs+=" --add-dir REPO/.git/$dir"
done

@test "codex: permissions, model, and the prompt as its input" {
    make_repo
    stub codex
    begin_plan
    ask codex read 'permissions: read'
    ask codex edit
    ask codex full 'permissions: full' 'model: gpt-5'
    ask codex looks 'read_only: true' 'permissions: full'
    run_stubs --report report.json
    assert_status 0
    assert_args read 'exec --json -s read-only -'
    assert_args edit "exec --json -s workspace-write$codex_dirs -"
    assert_args full 'exec --json -m gpt-5 -s danger-full-access -'
    assert_args looks 'exec --json -s read-only -'
    assert_input edit 'the words of edit'
    assert_in main made-edit edit
    [[ $(jq -c '.tasks[1] | [.tokens_in, .tokens_out, .usd]' report.json) == '[20,7,null]' ]] || fail "$(<report.json)"
    assert_clean 'refs/anabranch/salvage/*/looks/1' # what the stand-in wrote all the same
}

@test "codex: outside of a repository it is told that this is meant" {
    stub codex
    begin_plan
    ask codex a 'read_only: true'
    run_stubs
    assert_status 0
    assert_args a 'exec --json -s read-only --skip-git-repo-check -'
}

@test "codex: a session is taken up again" {
    make_repo
    begin_plan
    interrupt_and_resume codex '{"type":"thread.started","thread_id":"t-1"}'
    assert_args a "exec --json -s workspace-write$codex_dirs resume t-1 -" 2
    assert_in main made-a a
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "codex: the program itself is started, not the script that npm puts in front of it" {
    local packages=$BATS_TEST_TMPDIR/node_modules native
    case $(uname -sm) in
        'Linux x86_64') native=codex-linux-x64/vendor/x86_64-unknown-linux-musl ;;
        'Linux aarch64') native=codex-linux-arm64/vendor/aarch64-unknown-linux-musl ;;
        'Darwin x86_64') native=codex-darwin-x64/vendor/x86_64-apple-darwin ;;
        'Darwin arm64') native=codex-darwin-arm64/vendor/aarch64-apple-darwin ;;
        *) skip 'no package for this machine' ;;
    esac
    make_repo
    stub codex
    mkdir -p "$packages/@openai/$native/bin" "$packages/@openai/codex/bin"
    mv "$BATS_TEST_TMPDIR/bin/codex" "$packages/@openai/$native/bin/codex"
    printf '%s\n' '#!/bin/sh' 'exit 9' >"$packages/@openai/codex/bin/codex.js"
    chmod +x "$packages/@openai/codex/bin/codex.js"
    ln -s "$packages/@openai/codex/bin/codex.js" "$BATS_TEST_TMPDIR/bin/codex"
    begin_plan
    ask codex a
    run_stubs
    assert_status 0
    assert_in main made-a a
    rm -r "$packages/@openai/${native%%/*}" # without it there is the script
    run_stubs
    assert_status 1
    assert_contains 'exit code 9'
}

@test "codex: a folder of its own that is not there is said at once, and not tried again" {
    make_repo
    stub codex
    begin_plan
    ask codex a
    CODEX_HOME=$BATS_TEST_TMPDIR/nowhere run_stubs
    assert_status 1
    assert_summary a "CODEX_HOME is '$BATS_TEST_TMPDIR/nowhere', which is not a folder"
    [[ ! -e $CALLS/a-1.args && ! -e $CALLS/a-2.args ]] || fail "it was started"
    CODEX_HOME=$HOME run_stubs
    assert_status 0
}

@test "codex: a turn without a word is a refusal, and no result is none" {
    make_repo
    stub codex "echo '{\"type\":\"turn.completed\",\"usage\":{}}'" 'exit 0'
    begin_plan
    ask codex a
    run_stubs --json
    assert_status 1
    assert_event task.failed a '"class":"refused"'
    stub codex 'exit 0'
    begin_plan
    ask codex a 'retry: {transient: 0}'
    run_stubs
    assert_status 1
    assert_summary a 'ended without a result'
}

# copilot

@test "copilot: permissions, model, persona, and the prompt as its input" {
    make_repo
    stub copilot
    begin_plan
    ask copilot read 'permissions: read'
    ask copilot edit 'agent: reviewer'
    ask copilot full 'permissions: full' 'model: gpt-5'
    run_stubs
    assert_status 0
    local always='--output-format json --no-auto-update --no-ask-user'
    assert_args read "$always --deny-tool=write"
    assert_args edit "$always --agent reviewer --allow-tool=write --allow-tool=shell(git:*) --allow-tool=shell(make:*)"
    assert_args full "$always --model gpt-5 --allow-all"
    assert_input edit 'the words of edit'
    assert_in main made-edit edit
    assert_clean
}

@test "copilot: a session that it has named is taken up again" {
    make_repo
    begin_plan
    interrupt_and_resume copilot '{"type":"result","sessionId":"s-1","exitCode":0}'
    [[ $(args_of a 2) == *' --resume=s-1 '* ]] || fail "$(args_of a 2)"
}

@test "copilot: interrupted it says that all is well, which is not believed" {
    make_repo
    stub copilot "echo '{\"type\":\"assistant.idle\",\"data\":{\"aborted\":true}}'"
    begin_plan
    ask copilot a 'retry: {transient: 0}'
    run_stubs
    assert_status 1
    assert_summary a 'it was interrupted'
    refute_in main made-a
}

# aider

@test "aider: the prompt as a file, permissions and model; its words are not read" {
    make_repo
    stub aider
    begin_plan
    ask aider read 'permissions: read'
    ask aider edit 'model: gpt-5'
    run_stubs
    assert_status 0
    local always='--yes-always --no-auto-commits --no-dirty-commits --no-gitignore --map-tokens 0 --input-history-file /dev/null --chat-history-file /dev/null --no-pretty --no-stream --no-check-update --no-show-release-notes --analytics-disable'
    assert_args read "--message-file REPO/.git/anabranch/RUN/read/1/prompt $always --dry-run"
    assert_args edit "--message-file REPO/.git/anabranch/RUN/edit/1/prompt $always --model gpt-5"
    assert_in main made-edit edit
    assert_clean
}

@test "aider: doctor says that it is untested" {
    stub aider
    stub codex
    run anabranch doctor --json
    [[ $(jq -r '.. | objects | select(.name? == "engine.aider").why' <<<"$output") == *untested* ]] || fail "not said"
    [[ $(jq -r '.. | objects | select(.name? == "engine.codex").why' <<<"$output") != *untested* ]] || fail "said of another"
}

# Limits of engines

@test "engines without personas: the plan is refused where it names one" {
    make_repo
    stub codex
    stub aider
    begin_plan
    ask codex a 'agent: reviewer'
    ask aider b 'agent: reviewer'
    for command in check run; do
        run_apart anabranch "$command" plan.yaml
        assert_status 2
        [[ $stderr$output == *"plan.yaml:5:12: tasks[0].agent: 'codex' has no personas: leave out 'agent: reviewer'"* ]] || fail "not said where"
        [[ $stderr$output == *"'aider' has no personas"*"describe the persona in the prompt"* ]] || fail "no hint"
    done
    [[ ! -e .git/anabranch && ! -e $CALLS/a-1.args ]] || fail "something was begun"
}

@test "engines without personas: --engine cannot make one run a persona" {
    make_repo
    stub codex
    begin_plan
    add_task a 'agent: reviewer' 'prompt: words'
    run_apart anabranch run --engine codex plan.yaml
    assert_status 2
    [[ $stderr == *"task 'a': 'codex' has no personas: leave out 'agent: reviewer'"* ]] || fail "not said"
    [[ ! -e $CALLS/a-1.args ]] || fail "it was started"
}

@test "engines that are not there are named before anything starts" {
    make_repo
    for name in codex copilot aider; do
        begin_plan
        ask "$name" a
        PATH=/usr/bin:/bin run_apart anabranch run plan.yaml
        assert_status 3
        [[ $stderr == *"cannot find '$name'"* ]] || fail "not said of $name"
    done
}

@test "engines lists what is there, its version, and what of it can be used" {
    mkdir ../programs
    printf '#!/bin/sh\necho "codex-cli 1.2.3"\n' >../programs/codex
    printf '#!/bin/sh\nexit 3\n' >../programs/gemini
    printf '#!/bin/sh\necho "GitHub Copilot CLI 1.0.102."\n' >../programs/copilot
    chmod +x ../programs/*
    PATH=$PWD/../programs:/usr/bin:/bin run anabranch engines
    assert_status 0
    [[ $output =~ codex\ +installed\ +1\.2\.3\ +yes\ +yes\ +no ]] || fail "not codex"
    [[ $output =~ gemini\ +installed\ +yes\ +yes\ +no ]] || fail "not gemini"
    [[ $output =~ qwen\ +'not found' ]] || fail "not qwen"
    [[ $output == *aider*untested* ]] || fail "not aider"
    PATH=$PWD/../programs:/usr/bin:/bin run anabranch engines --json
    [[ $(jq -r 'select(.engine == "codex") | "\(.found) \(.version) \(.tested)"' <<<"$output") == 'true 1.2.3 true' ]] ||
        fail "not in JSON"
    [[ $(jq -r 'select(.engine == "copilot").version' <<<"$output") == 1.0.102 ]] || fail "not copilot's version"
}
