# shellcheck shell=bash
# shellcheck disable=SC2016 # lines for the shell of a stub
# shellcheck disable=SC2034,SC2119,SC2120 # tests look at status, and give options; wait_for has patience
# For tests of agent programs, beside `load helper` and `load run_helper`: programs that stand in for
# them, and the real ones with stand-ins for their models (tests/agents).
#
#     teardown() { end_agents; model_stop; }

MODEL=$BATS_TEST_TMPDIR/model
STUB=$BATS_TEST_TMPDIR/stub

# Real programs start slowly where the disk is cold and others work beside them.
patience=180

# --- stand-ins for the programs

# Puts such a program into PATH: it notes down how it was called, in the folder $STUB, does what the lines
# of shell say, and then prints and ends as the real one did in a transcript.
stub_agent() { # PROGRAM TRANSCRIPT [LINE...]
    local transcripts=$BATS_TEST_DIRNAME/../dialects/transcripts program=$1 name=$2 code
    shift 2
    code=$(sed -n "s/^$name //p" "$transcripts/index")
    [[ $code ]] || { fail "no transcript: $name"; return 1; }
    mkdir -p "$STUB" "$BATS_TEST_TMPDIR/bin"
    {
        printf '#!/bin/bash\n'
        printf 'printf "%%s\\n" "$@" >"%s/$ANABRANCH_TASK.argv"\n' "$STUB"
        printf 'env >"%s/$ANABRANCH_TASK.env"\ncat >"%s/$ANABRANCH_TASK.in"\n' "$STUB" "$STUB"
        printf '%s\n' "$@"
        printf 'cat "%s"\n' "$transcripts/$name.jsonl"
        [[ ! -e $transcripts/$name.err ]] || printf 'cat "%s" >&2\n' "$transcripts/$name.err"
        printf 'exit %s\n' "$code"
    } >"$BATS_TEST_TMPDIR/bin/$program"
    chmod +x "$BATS_TEST_TMPDIR/bin/$program"
    [[ $PATH == "$BATS_TEST_TMPDIR/bin:"* ]] || PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

assert_argv() { # TASK WORD...: all of them
    local task=$1
    shift
    [[ $(<"$STUB/$task.argv") == "$(printf '%s\n' "$@")" ]] || fail "$task was called:" "$(<"$STUB/$task.argv")"
}

assert_variable() { # TASK LINE
    grep -qxF -e "$2" "$STUB/$1.env" || fail "$1 has not: $2" "$(grep -F -e "${2%%=*}" "$STUB/$1.env")"
}

# --- the real programs

# Puts a program that npm has into PATH; skips the test where it cannot be had.
agent_available() { # NAME
    local agent_bin
    [[ $1 == claude || $ANABRANCH != */build-san/* ]] || skip "$1 is tried with the plain build"
    command -v node >/dev/null || skip "no node here"
    agent_bin=$("$BATS_TEST_DIRNAME/../agents/install" "$1" 2>"$BATS_TEST_TMPDIR/install" 3>&-) ||
        skip "no $1: $(tail -n 1 "$BATS_TEST_TMPDIR/install")"
    PATH=$agent_bin:$PATH
}

# Starts a stand-in for a model; it listens at $model_port.
model_start() { # PROGRAM
    mkdir -p "$MODEL"
    node "$BATS_TEST_DIRNAME/../agents/$1" "$MODEL" >"$MODEL/log" 2>&1 3>&- &
    echo $! >"$MODEL/pid"
    wait_for model_decided
    [[ -e $MODEL/port ]] || { fail "no model: $(<"$MODEL/log")"; return 1; }
    # shellcheck disable=SC2034 # for the tests
    model_port=$(<"$MODEL/port")
}

model_decided() {
    [[ -e $MODEL/port ]] || is_gone "$(<"$MODEL/pid")"
}

model_stop() {
    [[ ${BATS_TEST_COMPLETED-} || ${BATS_TEST_SKIPPED-} ]] || show_agents
    stop_server "$MODEL/pid"
}

# Of a test that failed: all that tells why, so that its log is enough.
show_agents() {
    local file
    for file in "$BATS_TEST_TMPDIR"/{out,stderr} .git/anabranch/runs/*/*/*/{out,err} "$MODEL/log"; do
        [[ ! -s $file ]] || { echo "--- ${file#"$PWD/"}:"; tail -n 30 "$file" | cut -c 1-1000; }
    done
    agents_alive
}

# --- their runs

# A task whose lines, behind the `--`, are the answers of the model.
ask_agent() { # ENGINE ID [LINE...] -- STEP...
    {
        printf '  - id: %s\n    engine: %s\n' "$2" "$1"
        shift 2
        while [[ $1 != -- ]]; do
            printf '    %s\n' "$1"
            shift
        done
        shift
        printf '    prompt: |\n'
        printf '      MOCK> %s\n' "$@"
    } >>plan.yaml
}

run_agents() { # [OPTION...]
    run_apart anabranch run --report report.json "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

# The same in the background: $engine.
start_agents() { # [OPTION...]
    "$ANABRANCH" run "$@" plan.yaml >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Waits until a command succeeds, for what an agent of start_agents does: not when its run has ended.
await() { # COMMAND...
    wait_for happened_or_over "$@"
    "$@" || fail "the run has ended, and never: $*"
}

happened_or_over() { # COMMAND...
    "$@" || is_gone "$engine"
}

# What became of a task, by jq's FILTER.
task_report() { # TASK FILTER
    jq -r ".tasks[] | select(.id == \"$1\") | $2" report.json
}

assert_failed() { # TASK CLASS [TEXT]
    [[ $(task_report "$1" '"\(.state) \(.failure)"') == "failed $2" ]] || fail "$1: $(task_report "$1" .)"
    [[ $(task_report "$1" .reason) == *"${3-}"* ]] || fail "not the reason of $1: $3" "$(task_report "$1" .reason)"
}

# Every line of the input: of that engine's transcript of that name the failure has that class.
assert_classes() { # ENGINE
    local name class
    while read -r name class; do
        stub_agent "$1" "$1-$name" 'echo 1 >done'
        begin_plan
        add_task a "engine: $1" "retry: {$class: 0}" 'prompt: Write it.'
        run_agents
        assert_status 1
        assert_failed a "$class" || fail "$name"
    done
}

# A run with an agent whose tool works for long is asked to end.
end_at_sigterm() { # ENGINE SECONDS, of the tool, as no other has them
    ask_agent "$1" a 'permissions: full' -- "bash \"touch '$BATS_TEST_TMPDIR/begun'; sleep $2\""
    start_agents
    await test -e "$BATS_TEST_TMPDIR/begun"
    kill -TERM "$engine"
    status=0
    wait "$engine" || status=$?
    assert_status 143
    ! pgrep -f "sleep $2" >/dev/null || fail "its tool is still there"
    assert_clean
}

# An engine is killed while a tool works; the run is gone on with, and all lands. Twice b: an agent may
# have noted down that it was interrupted, which counts as an answer.
go_on_after_kill() { # ENGINE
    local turn=$BATS_TEST_TMPDIR/turn
    ask_agent "$1" a 'permissions: full' -- 'write a "1\n"' "bash \"touch '$turn'; test -e '$turn.2' || sleep 300\"" \
        'write b "2\n"' 'write b "2\n"'
    start_agents
    await test -e "$turn"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    wait_for no_agents || fail "$(agents_alive)"
    touch "$turn.2"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main a 1
    assert_in main b 2
    [[ $(find .git/anabranch/runs/*/a -name out | wc -l) == 2 ]] || fail "it did not begin twice"
}
