#!/usr/bin/env bats
# Budgets and usage.
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

# It was asked to end in the middle of its work, which was saved.
assert_stopped_by_budget() { # TASK
    assert_event task.failed "$1" '"class":"budget"'
    git for-each-ref --format='%(refname)' refs/anabranch/salvage | grep -q "/$1\b" ||
        fail "the work of $1 was not saved: $(git for-each-ref)"
    refute_in main "made-by-$1"
}

times() { # EVENT TASK
    printf '%s\n' "$output" | grep -F "\"event\":\"$1\"" | grep -cF "\"task\":\"$2\"" || :
}

@test "budget: a task that goes beyond its tokens is stopped, saved and not tried again; others land" {
    make_repo
    begin_plan
    add_task a 'budget: {tokens: 1000}' 'retry: {budget: 3, transient: 3}' -- \
        'write made-by-a 1' 'tokens 700 100' 'tokens 300 0' 'hang'
    add_task b -- 'tokens 5000 5000' 'write b 1'
    run_plan --json
    assert_status 1
    assert_stopped_by_budget a
    assert_in main b 1
    [[ $(times budget.warned a) == 1 && $(times budget.exceeded a) == 1 ]] || fail "not told once"
    [[ $(times task.started a) == 1 ]] || fail "tried again"
    assert_clean 'refs/anabranch/salvage/*'
}

@test "budget: money counts over all attempts" {
    make_repo
    begin_plan
    add_task a 'budget: {usd: 1}' 'retry: {transient: 5}' -- 'write made-by-a 1' 'tokens 1 1 0.6' \
        'on 1 exit 1' 'hang'
    run_plan --json
    assert_status 1
    assert_stopped_by_budget a
    [[ $(times task.started a) == 2 ]] || fail "not two attempts"
}

# An agent that tells what it has used only with its result.
told_late() { # TOKENS
    printf "sh printf '%s'" "{\"type\":\"usage\",\"tokens_in\":$1,\"tokens_out\":0}\n{\"type\":\"result\",\"ok\":true}\n"
}

@test "budget: a task that went beyond it by its end fails, is saved and not tried again" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'budget: {tokens: 100}' 'retry: {budget: 3}' -- 'write made-by-a 1' "$(told_late 101)"
    add_task look 'read_only: true' 'budget: {tokens: 100}' -- "$(told_late 101)"
    add_task b 'budget: {tokens: 100}' -- 'write b 1' "$(told_late 100)"
    run_plan --json
    assert_status 1
    assert_stopped_by_budget a
    assert_event task.failed look '"class":"budget"'
    assert_event task.failed a 'used 101 tokens of 100 of its budget'
    assert_in main b 1
    [[ $(times budget.exceeded a) == 1 && $(times task.started a) == 1 ]] || fail "not once"
}

@test "budget: of the run: the task that goes beyond it by its end fails, what had ended before has landed" {
    make_repo
    begin_plan 'limits: {workers: 1, budget: {tokens: 100}}'
    add_task a -- 'write a 1' "$(told_late 50)"
    add_task b 'depends_on: [a]' -- 'write made-by-b 1' "$(told_late 60)"
    run_plan --json
    assert_status 1
    assert_in main a 1
    assert_stopped_by_budget b
    assert_event task.failed b "used 110 tokens of 100 of the run's budget"
}

@test "budget: with 'landing: {budget: warn}' one who comes to its end beyond it lands, and may take its time to leave" {
    make_repo
    begin_plan 'limits: {budget: {tokens: 50}}' 'landing: {budget: warn}'
    local said='{"type":"usage","tokens_in":100,"tokens_out":100}\n{"type":"result","ok":true}\n'
    add_task a 'budget: {tokens: 10}' -- 'write a 1' "sh printf '$said'; $(until_exists go)"
    start_plan
    wait_for in_events task.usage a
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    in_events budget.exceeded a || fail "not told"
    assert_in main a 1
}

@test "budget: four fifths of it is a warning, and no more" {
    make_repo
    begin_plan
    add_task a 'budget: {usd: 1}' -- 'tokens 1 1 0.79' 'tokens 1 1 0.02' 'write a 1'
    run_plan
    assert_status 0
    assert_in main a 1
    [[ $output == *"most of the budget is used: \$0.81 of \$1.00"* ]] || fail "no warning"
}

@test "budget: of the run: all agents stop, nothing more begins, and resuming waits for a larger one" {
    make_repo
    begin_plan 'limits: {workers: 2, budget: {usd: 2}}'
    add_task a -- 'write made-by-a 1' "sh $(until_exists go)" 'tokens 1 1 2.5' 'hang'
    add_task b -- 'write made-by-b 1' "sh touch '$BATS_TEST_TMPDIR/go'" 'hang'
    add_task c -- 'write c 1'
    run_plan --json
    assert_status 1
    assert_stopped_by_budget a
    assert_stopped_by_budget b
    refute_in main c
    refute_event task.started c
    run_apart anabranch resume --json 3>&-
    assert_status 1
    assert_event budget.exceeded
    refute_event task.started
}

@test "cost adds up by task, engine, model and run, and tells the unknown from nothing" {
    make_repo
    begin_plan
    add_task a 'retry: {transient: 1}' -- 'tokens 1000 10 0.25' 'on 1 exit 1' 'write a 1'
    add_task b -- 'tokens 3k 20' 'write b 1'
    add_task c -- 'write c 1'
    run_plan
    assert_status 0
    run anabranch cost last
    assert_status 0
    [[ $output =~ a\ +2\ +2.0k\ +20\ +0\ +0\ +0.5000 ]] || fail "not a"
    [[ $output =~ b\ +1\ +3.0k\ +20\ +0\ +0\ +- ]] || fail "not b"
    [[ $output =~ Total\ +3\ +5.0k\ +40\ +0\ +0\ +0.5000\+ ]] || fail "not all"
    [[ $output == *'1 attempt: no cost reported.'* ]] || fail "not told"
    run anabranch cost --by engine --json
    assert_status 0
    [[ $(jq -r '.costs[0] | "\(.name) \(.attempts) \(.usd)"' <<<"$output") == 'sim 3 0.5' ]] || fail "not by engine"
    run anabranch cost --by run
    [[ $output == *"$(anabranch history | cut -d' ' -f1)"* ]] || fail "not by run"
    run anabranch cost --since 1d --by model
    [[ $output == *unknown* ]] || fail "not by model"
    run_apart anabranch cost --since yesterday
    assert_status 2
    [[ $stderr == *"'yesterday' is not a duration"* ]] || fail "no message"
}

@test "cost: nothing was used, or ever run" {
    make_repo
    run_apart anabranch cost
    assert_status 2
    begin_plan
    add_task a -- 'write a 1'
    run_plan
    run anabranch cost
    assert_status 0
    assert_output 'No agent has reported its usage.'
}

@test "explain has words for every class, and what is done about it by default" {
    run anabranch explain
    assert_status 0
    for class in auth limit overloaded transient timeout idle refused context budget no_change scope verify conflict setup internal; do
        assert_line "$class"
    done
    run anabranch explain --json transient
    assert_status 0
    [[ $(jq -r '"\(.class) \(.retries)"' <<<"$output") == 'transient 2' ]] || fail "not as it is"
    run_apart anabranch explain nosuch
    assert_status 2
}
