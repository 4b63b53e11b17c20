#!/usr/bin/env bats
# Usage limits: a task that meets one is parked, no other task of its engine and account starts, and all
# continue after the reset.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # the helpers look at status and output

load ../helper
load ../run_helper

# As start_plan, for a run that is gone on with.
start_resume() {
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" resume --json >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Prints the events of this name in $output as "TIME TASK", or as the filter says.
told() { # NAME [FILTER]
    jq -r --arg name "$1" "select(.event == \$name) | ${2:-.time + \" \" + (.task // \"\")}" <<<"$output"
}

# Checks that the first time is not later than the second.
assert_order() { # EARLIER LATER
    [[ ! $1 > $2 ]] || fail "$1 is later than $2"
}

# The sessions that the attempts of a task were, each once.
sessions() { # TASK
    jq -r 'select(.type == "start") | .session' .git/anabranch/runs/*/"$1"/*/out | sort -u
}

# Each attempt went on in the session and the workspace of the first, and none was a retry.
assert_same_session() { # TASK...
    local task
    for task in "$@"; do
        [[ $(sessions "$task") == "sim-$task-1" ]] || fail "sessions of $task: $(sessions "$task")"
        [[ $(told workspace.created .task | grep -cx "$task") == 1 ]] || fail "$task had another workspace"
        [[ $(told task.started "select(.task == \"$task\") | .workspace" | uniq | wc -l) == 1 ]] ||
            fail "$task was elsewhere"
    done
    refute_event task.retried
}

last_reset() {
    told limit.opened .reset | sort | tail -n 1
}

# Waiting

@test "limits: nothing else of the engine starts before the reset; one goes first, the others follow" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task a 'estimate: 4h' -- 'append a one' 'on 1 limit 1s' 'append a two'
    add_task b 'estimate: 3h' -- "sh $(until_exists parked)" 'write b 1'
    add_task c 'estimate: 2h' -- 'write c 1'
    add_task d 'estimate: 1h' -- 'write d 1'
    start_plan
    wait_for in_events task.parked a
    touch "$BATS_TEST_TMPDIR/parked" # what runs goes on
    end_plan
    assert_status 0
    assert_in main a $'one\ntwo'
    assert_same_session a
    assert_event limit.opened '' '"engine":"sim"'
    assert_event task.parked a '"session":"sim-a-1"'
    run "$ANABRANCH" status
    refute_contains 'limit until'
    output=$(<"$events")
    reset=$(last_reset)
    over=$(told limit.closed .time)
    for task in c d; do
        assert_order "$over" "$(told task.preparing "select(.task == \"$task\") | .time")"
    done
    assert_order "$reset" "$(told task.started 'select(.task == "a" and .attempt == 2) | .time')"
    assert_order "$(told task.started 'select(.task == "a" and .attempt == 2) | .time')" "$over"
    assert_clean
}

@test "limits: all that meet it together continue, each in its session and its workspace" {
    make_repo
    begin_plan 'limits: {workers: 4}'
    for task in a b c d; do
        add_task $task -- "append $task one" "on 1 sh $(busy 4)" 'on 1 limit 1s' "append $task two"
    done
    run_plan --json
    assert_status 0
    for task in a b c d; do assert_in main $task $'one\ntwo'; done
    assert_same_session a b c d
    [[ $(told task.parked .task | sort | paste -s -d ' ') == 'a b c d' ]] || fail "not all were parked"
    # While one is tried nobody else is: it is over before the second one starts.
    mapfile -t starts < <(told task.started 'select(.attempt == 2) | .time')
    assert_order "$(last_reset)" "${starts[0]}"
    assert_order "$(told limit.closed .time)" "${starts[1]}"
    # The others do not come back together.
    local last=0 at
    while read -r at; do
        ((at - last >= 50)) || fail "two at once"
        last=$at
    done < <(told task.ready 'select(.attempt == 1) | .time' | while read -r at; do date -d "$at" +%s%3N; done)
    ((last > 0)) || fail "nobody came back"
    assert_clean
}

@test "limits: an agent that speaks shows that the limit is over before it has ended" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task a 'estimate: 2h' -- 'on 1 limit 1s' 'say I am back' "sh $(until_exists b)" 'write a 1'
    add_task b 'depends_on: [x]' -- "sh touch $BATS_TEST_TMPDIR/b" 'write b 1'
    add_task x 'estimate: 1h' -- "sh $(until_exists parked)" 'write x 1'
    start_plan
    wait_for in_events task.parked a
    touch "$BATS_TEST_TMPDIR/parked"
    end_plan
    assert_status 0
    assert_clean
}

@test "limits: who goes first and meets it again closes it again" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 2h' -- 'append a x' 'on 1 limit 1s' 'on 2 limit 1s' 'append a y'
    add_task b -- 'write b 1'
    run_plan --json
    assert_status 0
    assert_same_session a
    [[ $(told limit.opened | wc -l) == 2 ]] || fail "not twice"
    [[ $(told limit.closed | wc -l) == 1 ]] || fail "not once"
    assert_order "$(told limit.closed .time)" "$(told task.preparing 'select(.task == "b") | .time')"
    assert_in main a $'x\ny'
    assert_clean
}

@test "limits: who goes first and fails for another reason lets another one try" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 2h' 'retry: {transient: 0}' -- 'on 1 limit 1s' 'signal KILL'
    add_task b -- 'write b 1'
    run_plan --json
    assert_status 1
    assert_event task.failed a '"class":"transient"'
    assert_event task.landed b
    assert_event limit.closed
}

@test "limits: one account's limit is not another's, and neither is shown" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 2h' 'env: {SIM_ACCOUNT: first-of-them}' -- 'on 1 limit 1s' 'write a 1'
    add_task b 'env: {SIM_ACCOUNT: {value: second-of-them, secret: true}}' -- 'write b 1'
    run_plan --json
    assert_status 0
    assert_order "$(told task.landed 'select(.task == "b") | .time')" "$(told limit.closed .time)"
    refute_contains first-of-them
    refute_contains second-of-them
    ! grep -rq 'second-of-them' .git/anabranch --include='state.db*' || fail "the account is in the store"
}

@test "limits: a reset that only words tell is waited for as well" {
    make_repo
    begin_plan
    add_task a -- 'append a x' 'on 1 error limit "Rate limit reached, please try again in 1s"'
    run_plan --json
    assert_status 0
    assert_event limit.opened '' '"reset":"20'
    refute_event task.retried
    assert_in main a x
    assert_same_session a
    assert_clean
}

@test "limits: if a session cannot be resumed, the work is saved and the task restarts" {
    make_repo
    begin_plan
    add_task a 'engine: command' 'prompt: x' \
        'command: "echo x >>a; test $ANABRANCH_ATTEMPT -gt 1 || { echo rate limit, retry after 1 second >&2; exit 1; }"'
    run_apart anabranch run --json plan.yaml 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event task.parked a '"class":"limit"'
    refute_event task.retried
    assert_order "$(last_reset)" "$(told task.started 'select(.attempt == 2) | .time')"
    assert_in main a x
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "limits: a reset that nobody knows is a pause, and costs a retry" {
    make_repo
    begin_plan
    add_task a -- 'append a x' 'error limit "no more"'
    start_plan
    wait_for in_events task.parked a
    kill -INT "$engine"
    end_plan
    assert_status 130
    delay=$(told task.parked .delay_ms)
    ((delay >= 20000 && delay <= 40000)) || fail "a pause of $delay ms"
    [[ $(told limit.opened '.reset // "none"') == none ]] || fail "a reset was made up"
}

# Without waiting

@test "limits: with --no-wait the task fails with its class, and the rest continues" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 2h' -- 'limit 1h'
    add_task b -- 'write b 1'
    add_task c 'depends_on: [a]' -- 'write c 1'
    run_plan --json --no-wait
    assert_status 1
    assert_event task.failed a '"class":"limit"'
    assert_event task.landed b
    assert_event task.skipped c
    refute_event task.parked
    refute_event limit.opened
    assert_clean
}

@test "limits: 'fail' fails the task alone, 'stop' starts nothing new" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 2h' 'retry: {limit: fail}' -- 'limit 1h'
    add_task b -- 'write b 1'
    run_plan --json
    assert_status 1
    assert_event task.failed a '"class":"limit"'
    assert_event task.landed b
    sed -i 's/limit: fail/limit: stop/' plan.yaml
    run_plan --json
    assert_status 1
    assert_event task.failed a '"class":"limit"'
    refute_event task.started b
    assert_clean
}

@test "limits: a task with a fallback does not wait, and goes by it" {
    make_repo
    begin_plan 'limits: {workers: 1}' 'defaults:' '  engine: sim' '  fallback: {engine: command}' \
        '  command: "echo other >$ANABRANCH_TASK"'
    add_task a 'estimate: 3h' -- 'write half 1' 'limit 1h'
    add_task b 'estimate: 2h' -- 'write b sim'
    run_apart anabranch run --json plan.yaml 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a other
    assert_in main b other
    assert_event task.started b '"engine":"command"'
    refute_event task.parked
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "limits: a model to fall back to is passed to the engine" {
    make_repo
    cat >"$BATS_TEST_TMPDIR/claude" <<END
#!/bin/sh
echo "\$*" >>'$BATS_TEST_TMPDIR/calls'
echo '{"type":"system","subtype":"init","session_id":"5e55-10"}'
case "\$*" in
*"--model small"*) echo x >a; echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}' ;;
*) echo '{"type":"result","is_error":true,"api_error_status":429,"result":"limit reached|$(($(date +%s) + 3600))"}'; exit 1 ;;
esac
END
    chmod +x "$BATS_TEST_TMPDIR/claude"
    begin_plan
    add_task a 'model: large' 'fallback: {model: small}' 'prompt: Do it.'
    run_apart anabranch run --json --engine-exe "$BATS_TEST_TMPDIR/claude" plan.yaml 3>&-
    assert_no_sanitizer
    assert_status 0
    [[ $(grep -c -- '--model large' "$BATS_TEST_TMPDIR/calls") == 1 ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    ! grep -q -- '--resume' "$BATS_TEST_TMPDIR/calls" || fail "another model in the same session"
    assert_in main a x
}

@test "limits: claude continues in its session and its workspace" {
    make_repo
    cat >"$BATS_TEST_TMPDIR/claude" <<END
#!/bin/sh
echo "\$*" >>'$BATS_TEST_TMPDIR/calls'
echo '{"type":"system","subtype":"init","session_id":"5e55-10"}'
case "\$*" in
*"--resume 5e55-10"*) cat half >whole; echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}' ;;
*) echo done >half
   echo "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":429,\"result\":\"Claude AI usage limit reached|\$((\$(date +%s) + 2))\"}"
   exit 1 ;;
esac
END
    chmod +x "$BATS_TEST_TMPDIR/claude"
    begin_plan
    add_task a 'prompt: Do it.'
    run_apart anabranch run --json --engine-exe "$BATS_TEST_TMPDIR/claude" plan.yaml 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event task.parked a '"session":"5e55-10"'
    assert_in main whole 'done'
    assert_clean
}

# Display

@test "limits: plain lines and status say which engine waits, until when, and for how many" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task a -- "on 1 sh $(busy 2)" 'on 1 limit 2h'
    add_task b -- "on 1 sh $(busy 2)" 'on 1 limit 2h'
    TZ=UTC start_plan
    wait_for in_events task.parked a
    wait_for in_events task.parked b
    run env TZ=UTC "$ANABRANCH" status
    assert_status 0
    grep -qE '^sim: limit until [0-9]{2}:[0-9]{2}, (2h|1h 59m); 2 tasks parked$' <<<"$output" || fail "status"
    run "$ANABRANCH" status --json
    [[ $(jq -r '.limits[] | [.engine, .parked] | join(" ")' <<<"$output") == 'sim 2' ]] || fail "JSON"
    kill -INT "$engine"
    end_plan
    # Also when nobody runs it any more.
    run "$ANABRANCH" status
    grep -qE '^sim: limit until .*; 2 tasks parked$' <<<"$output" || fail "status of a stopped run"
    "$ANABRANCH" resume --no-dashboard >"$BATS_TEST_TMPDIR/lines" 2>/dev/null 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for grep -qE '^[0-9:]+ +sim: limit until [0-9]{2}:[0-9]{2}, (2h|1h 59m): usage limit reached$' "$BATS_TEST_TMPDIR/lines"
    kill -INT "$engine"
    wait "$engine" || true
}

# Stops while a task waits

@test "limits: Ctrl-C while all is parked ends at once, saved, and resume continues in the session" {
    make_repo
    begin_plan
    add_task a -- 'append a one' 'on 1 limit 3s' 'append a two'
    start_plan
    wait_for in_events task.parked a
    kill -INT "$engine"
    end_plan
    assert_status 130
    reset=$(last_reset)
    refute_event task.failed
    assert_event task.salvaged a
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/*')" a one
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event run.resumed '' '"continue":1'
    assert_order "$reset" "$(told task.started 'select(.task == "a") | .time')"
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    assert_in main a $'one\ntwo'
    assert_clean 'refs/anabranch/salvage/*/a/1*'
}

@test "limits: resume keeps parked tasks parked, and all others of their engine and account" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 3h' -- 'append a one' 'on 1 limit 1h' 'append a two'
    add_task b 'estimate: 2h' -- 'write b 1'
    add_task c 'estimate: 1h' 'env: {SIM_ACCOUNT: other}' -- "sh test -e $BATS_TEST_TMPDIR/again || exec sleep 4332" 'write c 1'
    start_plan
    wait_for in_events task.started c
    kill -INT "$engine"
    end_plan
    assert_status 130
    touch "$BATS_TEST_TMPDIR/again" # before that, its first agent could find it
    start_resume
    wait_for in_events task.landed c
    kill -INT "$engine"
    end_plan
    assert_status 130
    assert_event limit.opened '' '"engine":"sim"'
    refute_event task.started a
    refute_event task.preparing b
    # The user may stop waiting.
    run_apart anabranch resume --json --no-wait 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a $'one\ntwo'
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
}

@test "limits: a run that is killed while all is parked is resumed, in the same session" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 2h' -- 'append a one' 'on 1 limit 3s' 'append a two'
    add_task b -- 'write b 1'
    start_plan
    wait_for in_events task.parked a
    kill_engine
    output=$(<"$events")
    reset=$(last_reset)
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event run.resumed '' '"continue":1'
    assert_order "$reset" "$(told task.started 'select(.task == "a") | .time')"
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    assert_in main a $'one\ntwo'
    assert_in main b 1
    assert_clean 'refs/anabranch/salvage/*/a/1*'
}

@test "limits: a parked task that is given a fallback goes by that, and what it had made is saved" {
    make_repo
    begin_plan
    add_task a 'engine: sim' -- 'append a one' 'limit 1h'
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" run --json plan.yaml >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for in_events task.parked a
    kill_engine
    sed -i 's/engine: sim/&\n    fallback: {engine: command}\n    command: echo other >a/' plan.yaml
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event task.started a '"engine":"command"'
    assert_in main a other
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/*')" a one
    assert_clean 'refs/anabranch/salvage/*/a/1*'
}

@test "limits: a parked task whose workspace is gone begins again" {
    make_repo
    begin_plan
    add_task a -- 'append a one' 'on 1 limit 2s' 'append a two'
    start_plan
    wait_for in_events task.parked a
    kill_engine
    rm -rf .anabranch
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a $'one\ntwo'
}

# Agents that wait by themselves

# A program that says a line on each output, and then waits for its model, as it was told to.
stub_waiting() { # PROGRAM OUT ERR
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/bash\ncat >/dev/null\ncat <<"END"\n%s\nEND\ncat >&2 <<"END"\n%s\nEND\nexec sleep 300\n' "$2" "$3" \
        >"$BATS_TEST_TMPDIR/bin/$1"
    chmod +x "$BATS_TEST_TMPDIR/bin/$1"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

all_parked() { # TASK...
    local task
    for task; do
        in_events task.parked "$task" || return 1
    done
}

@test "limits: an agent that was told to wait for hours does not: it is parked until then, and its lane is closed" {
    make_repo
    stub_waiting codex '{"type":"thread.started","thread_id":"session-a"}
{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}' \
        '2026-11-18T18:44:36.041074Z  WARN codex_core::responses_retry: stream disconnected - retrying sampling request (1/5 in 5399.998715272s)... turn_id=1 retries=1 max_retries=5 sampling_error=exceeded retry limit, last status: 429 Too Many Requests'
    stub_waiting qwen '{"type":"system","subtype":"init","session_id":"session-b","model":"m"}' \
        '[qwen-code] Waiting for API capacity... attempt 1, retry in 5400s'
    stub_waiting opencode '{"type":"step_start","sessionID":"session-c","part":{"type":"step-start"}}' \
        'timestamp=2026-11-18T18:43:57.949Z level=ERROR run=c message="stream error" providerID=m session.id=session-c small=false agent=build error.error="AI_APICallError: Rate limit reached, please try again in 1h30m."'
    begin_plan 'limits: {workers: 3}'
    add_task a 'engine: codex' 'estimate: 1h' 'prompt: Do it.'
    add_task b 'engine: qwen' 'estimate: 1h' 'prompt: Do it.'
    add_task c 'engine: opencode' 'estimate: 1h' 'prompt: Do it.'
    add_task d 'engine: codex' 'prompt: Do it.'
    local begun now
    begun=$(date +%s)
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" run --json plan.yaml >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for all_parked a b c
    now=$(date +%s)
    kill -TERM "$engine"
    end_plan
    assert_status 143
    local task parked
    for task in a b c; do
        parked=$(jq -r "select(.event == \"task.parked\" and .task == \"$task\") | \"\(.class) \(.session) \(.reset | sub(\"\\\\.[0-9]+\"; \"\") | fromdate)\"" <<<"$output")
        [[ $parked == "limit session-$task "* ]] || fail "$task: $parked"
        ((${parked##* } >= begun + 5390 && ${parked##* } <= now + 5410)) || fail "not that moment: $parked"
    done
    [[ $(told limit.opened .engine | sort | paste -s -d ' ') == 'codex opencode qwen' ]] || fail "not closed: $(told limit.opened .engine)"
    refute_event task.started d
}
