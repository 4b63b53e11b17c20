# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2119,SC2120 # tests read status and pass options; wait_for reads patience, run sets output
# For tests with the real agent programs, and stand-ins for their models. The prompts are the scripts of the
# stand-ins, as answers.mjs describes.
#
#     load agents_helper
#     teardown() { end_agents; model_stop; }

load ../cli/helper
load ../cli/run_helper
load ../cli/models_helper

MODEL=$BATS_TEST_TMPDIR/model

# Real programs start slowly if the disk is cold and the machine is busy.
patience=180

# Puts a program of the set ANABRANCH_TEST_AGENTS into PATH; skips the test if it cannot be installed.
agent_available() { # NAME
    local agent_bin
    command -v node >/dev/null || skip "no node here"
    agent_bin=$("$BATS_TEST_DIRNAME/install" "$1" "${ANABRANCH_TEST_AGENTS-pinned}" 2>"$BATS_TEST_TMPDIR/install" 3>&-) ||
        skip "no $1: $(tail -n 1 "$BATS_TEST_TMPDIR/install")"
    PATH=$agent_bin:$PATH
}

# Starts a stand-in for a model; it listens at $model_port.
model_start() { # PROGRAM
    mkdir -p "$MODEL"
    node "$BATS_TEST_DIRNAME/$1" "$MODEL" >"$MODEL/log" 2>&1 3>&- &
    echo $! >"$MODEL/pid"
    wait_for model_decided
    [[ -e $MODEL/port ]] || { fail "no model: $(<"$MODEL/log")"; return 1; }
    model_port=$(<"$MODEL/port")
}

model_decided() {
    [[ -e $MODEL/port ]] || is_gone "$(<"$MODEL/pid")"
}

model_stop() {
    [[ ${BATS_TEST_COMPLETED-} || ${BATS_TEST_SKIPPED-} ]] || show_agents
    stop_server "$MODEL/pid"
}

# After a failed test, prints everything that may explain the failure, so that the log suffices.
show_agents() {
    local file
    for file in "$BATS_TEST_TMPDIR"/{out,stderr} .git/anabranch/runs/*/*/*/{out,err} "$MODEL/log"; do
        [[ ! -s $file ]] || { echo "--- ${file#"$PWD/"}:"; tail -n 30 "$file" | cut -c 1-1000; }
    done
    agents_alive
}

# Adds a task. The lines after `--` are the answers of the model.
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

# Like run_agents, but in the background: $engine is the process.
start_agents() { # [OPTION...]
    "$ANABRANCH" run "$@" plan.yaml >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Waits until a command succeeds, but only until the run of start_agents ends.
await() { # COMMAND...
    wait_for happened_or_over "$@"
    "$@" || fail "the run has ended, and never: $*"
}

happened_or_over() { # COMMAND...
    "$@" || is_gone "$engine"
}

# Prints an agent's output from all of its attempts.
said_by() { # TASK
    cat .git/anabranch/runs/*/"$1"/*/out
}

# Checks how often a task started. On a slow machine, opencode may find its shared database locked; the run then starts
# the task again, and we do not count that attempt.
assert_attempts() { # TASK NUMBER
    local attempt number=0
    for attempt in .git/anabranch/runs/*/"$1"/*/out; do
        grep -qs 'database is locked' "$attempt" "${attempt%out}err" || number=$((number + 1))
    done
    [[ $number == "$2" ]] || fail "$1 began $number times, not $2"
}

assert_landed() { # TASK...
    local task
    for task; do
        [[ $(task_report "$task" .state) == landed ]] || fail "$task: $(task_report "$task" .)"
        assert_in main "$task" "$task"
    done
}

# The task met a limit and, after the reset, continued in the same session and workspace.
assert_went_on() { # TASK FILTER, of jq, which makes session ids of what agents say
    local parked
    [[ $(told task.started "select(.task == \"$1\") | .workspace" | sort -u | wc -l) == 1 ]] || fail "$1 was elsewhere"
    [[ $(told task.retried .task) != *"$1"* ]] || fail "$1 was tried again"
    parked=$(told task.parked "select(.task == \"$1\") | .reset + \" \" + .session")
    [[ ${parked%% *} < $(told task.started "select(.task == \"$1\" and .attempt == 2) | .time") ]] || fail "not later than the reset: $parked"
    [[ $(said_by "$1" | jq -r "$2" | sort -u) == "${parked##* }" ]] || fail "another session: $(said_by "$1" | jq -r "$2")"
    assert_attempts "$1" 2
}

# Prints jq's FILTER of the run's events with this name in $output.
told() { # NAME FILTER
    jq -r --arg name "$1" "select(.event == \$name) | $2" <<<"$output"
}

# Runs four agents at the same time: each continues when it has seen that all four have started.
land_side_by_side() { # ENGINE
    local task
    cat >"$BATS_TEST_TMPDIR/meet" <<'END'
#!/bin/sh
touch "$0.$1"
for n in $(seq 1000); do
    test -e "$0.a" -a -e "$0.b" -a -e "$0.c" -a -e "$0.d" && exec touch "$0.$1.met"
    sleep 0.1
done
END
    chmod +x "$BATS_TEST_TMPDIR/meet"
    for task in a b c d; do
        ask_agent "$1" $task 'permissions: full' -- "bash \"$BATS_TEST_TMPDIR/meet $task\"" "write $task \"$task\\n\"" 'say Done.'
    done
    run_agents -j 4
    assert_status 0
    assert_landed a b c d
    for task in a b c d; do
        [[ -e $BATS_TEST_TMPDIR/meet.$task.met ]] || fail "$task was alone"
        assert_attempts $task 1
    done
    assert_clean
}

# One agent meets an overloaded model, one a limit; both land. The step `write again` is there twice, because an agent may record
# that it could not continue, and the stand-in counts that as an answer.
meet_limits() { # ENGINE STATUS, of an overloaded model
    ask_agent "$1" over 'permissions: full' -- "fail 1 $2" 'write over "over\n"'
    ask_agent "$1" limit 'permissions: full' -- 'write limit "limit\n"' 'limit 2' 'write again "again\n"' 'write again "again\n"'
    run_agents -j 2 --json
    assert_status 0
    assert_landed over limit
    assert_in main again again
    assert_clean
}

# The model's server tells its agent to retry in two hours: the run parks the task instead of waiting for the agent.
park_for_hours() { # ENGINE
    local begun reset
    begun=$(date +%s)
    ask_agent "$1" a 'permissions: full' -- 'write a "1\n"' 'later 7200'
    ask_agent "$1" b 'depends_on: [a]' -- 'write b "1\n"'
    start_agents --json
    await grep -qs '"event":"task.parked"' "$BATS_TEST_TMPDIR/out"
    kill -TERM "$engine"
    wait "$engine" || true
    output=$(<"$BATS_TEST_TMPDIR/out")
    reset=$(told task.parked '"\(.class) \(.session != null) \(.reset | sub("\\.[0-9]+"; "") | fromdate)"')
    [[ $reset == 'limit true '* ]] || fail "$output"
    ((${reset##* } >= begun + 7100 && ${reset##* } <= begun + 7500)) || fail "not in two hours: $reset"
    assert_event limit.opened
}

# The run gets SIGTERM while a tool of its agent works.
end_at_sigterm() { # ENGINE [LINE...]
    local tool="sleep 34$((RANDOM % 10)).$$" # no other process has these arguments
    ask_agent "$1" a "${@:2}" -- "bash \"(setsid ${tool}1 &); ${tool}2\""
    start_agents
    await pgrep -f "^${tool}2" >/dev/null
    kill -TERM "$engine"
    status=0
    wait "$engine" || status=$?
    assert_status 143
    ! pgrep -fa "$tool" || fail "its tool is still there"
    assert_clean
}

# The engine is killed while a tool works; the run resumes, and everything lands. The step `write b` is there twice, because an agent may
# record that it was interrupted, and the stand-in counts that as an answer.
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
    assert_attempts a 2
}
