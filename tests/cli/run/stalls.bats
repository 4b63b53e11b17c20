#!/usr/bin/env bats
# Agents that print nothing: their earlier output shows why. Stand-ins print what the test writes into a pipe, so
# the test controls the progress of a transcript.
# shellcheck disable=SC2154 # run_apart and start_agents set them
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper
load ../models_helper

TRANSCRIPTS=$BATS_TEST_DIRNAME/../../dialects/transcripts

# Such a program; each task has a pipe of its own, and makes a file when that ends.
stub_piped() { # PROGRAM...
    local program
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    for program; do
        cat >"$BATS_TEST_TMPDIR/bin/$program" <<END
#!/bin/bash
cat >/dev/null
while IFS= read -r line; do # a signal ends it at once
    printf '%s\n' "\$line"
done <'$BATS_TEST_TMPDIR'/"\$ANABRANCH_TASK.pipe"
echo 1 >"by-\$ANABRANCH_TASK"
END
        chmod +x "$BATS_TEST_TMPDIR/bin/$program"
    done
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

add_piped() { # ID ENGINE [LINE...]
    mkfifo "$BATS_TEST_TMPDIR/$1.pipe"
    add_task "$1" "engine: $2" 'prompt: Do it.' "${@:3}"
}

start() { # [OPTION...]
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" run --json --report report.json "$@" plan.yaml >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Lines of a transcript, as the agent's next words.
says() { # FD TRANSCRIPT LINES
    sed -n "$3p" "$TRANSCRIPTS/$2.jsonl" >&"$1"
}

told() { # TASK EVENT FILTER: whether jq's filter is true of one of these
    jq -se "any(.[]; .event == \"$2\" and .task == \"$1\" and ($3))" "$events" >"$BATS_TEST_TMPDIR/jq" 2>&1
}

# The places of events among all, to be compared.
place_of() { # TASK EVENT
    grep -nF "\"event\":\"$2\"" "$events" | grep -F "\"task\":\"$1\"" | head -n 1 | cut -d: -f1
}

status_says() { # TEXT
    run_apart anabranch status
    [[ $output == *"$1"* ]]
}

@test "who is silent is ended, but not while a tool works; that is shown, and told again" {
    make_repo
    stub_piped claude codex
    begin_plan 'defaults: {idle_timeout: 5s}'
    add_piped long claude
    add_piped shell codex
    add_piped helper claude
    add_task silent 'engine: sim' -- 'hang'
    add_task sim 'engine: sim' -- "tool $(until_exists go)" 'write sim 1'
    start -j 5
    exec 7>"$BATS_TEST_TMPDIR/long.pipe" 8>"$BATS_TEST_TMPDIR/shell.pipe" 9>"$BATS_TEST_TMPDIR/helper.pipe"
    says 7 claude-stream 1,5
    says 8 codex-success 1,4
    says 9 claude-subagent 1,3
    wait_for in_events task.failed silent
    wait_for in_events task.failed helper # an agent in its place is none that works
    wait_for told long task.action '.tool and .ms >= 5000'
    wait_for told shell task.action .tool
    wait_for told sim task.action .tool
    wait_for status_says '  in Bash git add hello.txt'
    [[ $output =~ \.\.\.\ for\ [0-9]+s ]] || fail "not for how long"
    run_apart anabranch status --json
    [[ $(jq -r '.tasks[0].action' <<<"$output") == 'Bash git add hello.txt'* ]] || fail
    says 7 claude-stream 6,8
    says 8 codex-success 5 # and no more
    exec 7>&-
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    exec 8>&- 9>&-
    assert_status 1
    for task in silent helper shell; do
        assert_failed "$task" idle 'printed nothing for longer than its idle timeout'
    done
    told long task.action '.tool == false and .ms >= 5000' || fail
    told shell task.action '.tool == false' || fail
    assert_in main by-long 1
    assert_in main sim 1
    [[ $(task_report long '"\(.result) \(.model) \(.helpers) \(.denials) \(.action)"') == \
        'I created hello.txt and committed it. claude-opus-4-8[1m] 0 0 null' ]] || fail "$(task_report long .)"
    [[ $(task_report helper '"\(.helpers) \(.helper_names)"') == '1 general-purpose' ]] || fail "$(task_report helper .)"
}

@test "an agent that waits for a person is reported at once, and continues or is ended" {
    make_repo
    stub_piped claude
    begin_plan
    add_piped asks claude
    add_task begs 'engine: sim' 'idle_timeout: 2s' -- 'ask May I?'
    add_task reads 'engine: command' 'prompt: x' "command: [sh, -c, 'cat >/dev/null; ! read -r x && echo 1 >reads']"
    start
    exec 7>"$BATS_TEST_TMPDIR/asks.pipe"
    says 7 claude-question 1,2
    wait_for in_events task.waiting asks
    wait_for status_says 'waits for a person: AskUserQuestion Which?'
    run_apart anabranch status --json
    [[ $(jq -r '.tasks[0].question' <<<"$output") == 'AskUserQuestion Which?' ]] || fail
    says 7 claude-question 3,4
    wait_for told asks task.action '.action == "ExitPlanMode"'
    says 7 claude-question 5,7
    exec 7>&-
    end_plan
    assert_status 1
    assert_in main by-asks 1
    assert_in main reads 1
    assert_failed begs idle 'waited for an answer, and no person is there to give one: May I?'
    told begs task.waiting '.question == "May I?"' || fail
    (($(place_of begs task.waiting) < $(place_of begs task.exited))) || fail "told too late"
}

@test "an agent's retries are counted down; a result by a schema is the report's" {
    make_repo
    stub_piped claude
    begin_plan
    add_piped retries claude 'read_only: true'
    start
    exec 7>"$BATS_TEST_TMPDIR/retries.pipe"
    says 7 claude-529-forever 1,8
    wait_for told retries task.action '.action | startswith("waits for its model: overloaded, try ")'
    told retries task.action '.until' || fail
    wait_for status_says 'waits for its model: overloaded, try '
    [[ $output =~ try\ [0-9]+\ of\ 10\ in\ [0-9]+s ]] || fail "it is not counted down"
    says 7 claude-json-schema 2,4
    exec 7>&-
    end_plan
    assert_status 0
    [[ $(task_report retries '.result | fromjson.n') == 3 ]] || fail "$(task_report retries .)"
}

@test "the tokens of a session that is taken up again are counted once" {
    make_repo
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/qwen" <<END
#!/bin/sh
cat >/dev/null
if test "\$ANABRANCH_ATTEMPT" = 1; then
    sed -n 1p '$TRANSCRIPTS/qwen-resumed.jsonl'
    echo '{"type":"result","subtype":"success","is_error":false,"result":"[API Error: 429 rate limit, please try again in 1s]","usage":{"input_tokens":200,"output_tokens":40}}'
    exit 0
fi
cat '$TRANSCRIPTS/qwen-resumed.jsonl'
echo 1 >qwen
END
    chmod +x "$BATS_TEST_TMPDIR/bin/qwen"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    begin_plan
    add_task a 'engine: qwen' 'prompt: Do it.'
    run_agents
    assert_status 0
    assert_in main qwen 1
    [[ $(task_report a '"\(.attempts) \(.tokens_in) \(.tokens_out)"') == '2 400 80' ]] || fail "$(task_report a .)"
}
