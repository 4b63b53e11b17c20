#!/usr/bin/env bats
# The real claude CLI, with a stand-in for the model: what is landed, swept, stopped and gone on with.
bats_require_minimum_version 1.5.0
load helper
load run_helper
load claude_helper

begin_claudes() {
    claude_available
    make_repo
    model_start
    begin_plan
}

teardown() {
    end_agents
    model_stop
}

# A task whose lines are the answers of the model.
ask_claude() { # ID [LINE...] -- STEP...
    {
        printf '  - id: %s\n    engine: claude\n' "$1"
        shift
        while [[ $1 != -- ]]; do
            printf '    %s\n' "$1"
            shift
        done
        shift
        printf '    prompt: |\n'
        printf '      MOCK> %s\n' "$@"
    } >>plan.yaml
}

run_claudes() { # [OPTION...]
    run_apart anabranch run "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

@test "claude's work lands, with what it cost" {
    begin_claudes
    ask_claude a -- 'write a "one\n"' 'say It is written.'
    ask_claude b 'depends_on: [a]' -- 'bash "git add -A && git commit -qm mine --allow-empty"' 'write b "two\n"'
    run_claudes --report report.json
    assert_status 0
    assert_in main a one
    assert_in main b two
    [[ $(jq -r '.tasks[0] | [.state, .tokens_out > 0] | @csv' report.json) == '"landed",true' ]] || fail "$(<report.json)"
    assert_clean
    [[ -z $(ls -A "$HOME") ]] || fail "its files: $(ls -A "$HOME")"
}

@test "what claude leaves running is ended and named" {
    begin_claudes
    ask_claude a 'permissions: full' -- 'bash "nohup setsid sleep 345 >/dev/null 2>&1 & echo begun"' 'write a "1\n"'
    run_claudes
    assert_status 0
    assert_in main a 1
    [[ $output == *'sleep 345'* ]] || fail "not named: $output"
    ! pgrep -f 'sleep 345' >/dev/null || fail "it is still there"
}

@test "a claude whose engine is killed ends, and its session is gone on with" {
    begin_claudes
    local turn=$BATS_TEST_TMPDIR/turn
    # Twice b: claude may have noted down that it was interrupted, which counts as an answer.
    ask_claude a 'permissions: full' -- 'write a "1\n"' "bash \"touch '$turn'; test -e '$turn.2' || sleep 300\"" \
        'write b "2\n"' 'write b "2\n"'
    "$ANABRANCH" run plan.yaml >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$turn"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    wait_for no_agents || fail "$(agents_alive)"
    touch "$turn.2"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main a 1
    assert_in main b 2
    [[ $(jq -r .session_id <(grep -h '"subtype":"init"' .git/anabranch/runs/*/a/*/out) | sort -u | wc -l) == 1 ]] || fail "another session"
    assert_clean 'refs/anabranch/salvage/*/a/1' # as it was when it was interrupted
}
