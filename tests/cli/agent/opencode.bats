#!/usr/bin/env bats
# opencode: how we call it, and how we read its output.
# shellcheck disable=SC2016,SC2154 # lines for the shell of a stub; run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper
load ../models_helper

@test "opencode is called with as much as it may do, and has its prompt on standard input" {
    make_repo
    export OPENCODE_PERMISSION='{"bash":"allow"}' # of the user, who may do more
    stub_agent opencode opencode-success 'echo 1 >"by-$ANABRANCH_TASK"' \
        'touch "$TMPDIR/.bcf9d57efc95fbec-00000000.so"' '[[ $ANABRANCH_TASK != plain ]] || touch "$TMPDIR/mine"'
    begin_plan
    add_task plain 'engine: opencode' 'prompt: Write it.'
    add_task edit 'engine: opencode' 'permissions: edit' 'model: mock/mock' 'agent: builder' 'prompt: Write it.'
    add_task full 'engine: opencode' 'permissions: full' 'prompt: "@x \"y\""'
    add_task look 'engine: opencode' 'permissions: full' 'read_only: true' 'prompt: Look.'
    run_agents
    assert_status 0
    local logs=(--print-logs --log-level INFO) # where it says that it waits for its model
    assert_argv plain run --format json "${logs[@]}"
    assert_argv edit run --format json "${logs[@]}" --agent builder -m mock/mock
    assert_argv full run --format json "${logs[@]}" --auto
    assert_argv look run --format json "${logs[@]}"
    assert_variable plain 'OPENCODE_PERMISSION={"external_directory":"deny","bash":{"*":"deny","git *":"allow","make *":"allow"}}'
    assert_variable look 'OPENCODE_PERMISSION={"external_directory":"deny","edit":"deny","bash":"deny"}'
    ! grep -q 'OPENCODE_PERMISSION=.*deny' "$STUB/full.env" || fail "full may not do all: $(grep OPENCODE "$STUB/full.env")"
    [[ $(grep -c ^OPENCODE_PERMISSION= "$STUB/plain.env") -eq 1 ]] || fail "twice"
    [[ $(<"$STUB/full.in") == '@x "y"' ]] || fail "$(<"$STUB/full.in")"
    assert_in main by-full 1
    [[ $(ls -A .git/anabranch/runs/*/plain/1/tmp) == mine ]] || fail "$(ls -A .git/anabranch/runs/*/plain/1/tmp)"
    [[ $(task_report plain '"\(.tokens_in) \(.tokens_out) \(.usd)"') == '3600 102 0.01233' ]] || fail "$(task_report plain .)"
}

@test "opencode's errors, and steps that end early, come to a class" {
    make_repo
    local name class text
    while read -r name class text; do
        stub_agent opencode "opencode-$name" 'echo 1 >done'
        begin_plan
        add_task a 'engine: opencode' "retry: {$class: 0}" 'prompt: Write it.'
        run_agents
        assert_status 1
        assert_failed a "$class" "$text" || fail "$name"
    done <<'END'
401 auth Incorrect API key
refusal refused content filter
length timeout cut off
unreachable transient Cannot connect
unknown-model transient Unexpected server error
unknown-agent setup opencode did not use the agent that the plan names
END
}

@test "an opencode that works as another agent is found out, however much it logs" {
    make_repo
    stub_agent opencode opencode-success 'echo "! agent \"x\" not found. Falling back to default agent" >&2' \
        'for i in {1..99}; do echo "timestamp=2026-11-18T19:51:50.750Z level=INFO run=f115d364 message=tracking cwd=$PWD" >&2; done'
    begin_plan
    add_task a 'engine: opencode' 'prompt: Write it.'
    run_agents
    assert_status 1
    assert_failed a setup 'opencode did not use the agent that the plan names'
    [[ $(task_report a .output) != *level=INFO* ]] || fail "$(task_report a .output)"
}

@test "an opencode that compacted its conversation, continued and ended with 1 has done its work" {
    make_repo
    stub_agent opencode opencode-compacted 'echo 1 >done'
    begin_plan
    add_task a 'engine: opencode' 'prompt: Write it.'
    run_agents
    assert_status 0
    assert_in main 'done' 1
}

# It rejects itself what it may not, and ends there.
@test "an opencode that ended without a result has done what it had committed, if that is all there is" {
    make_repo
    stub_agent opencode opencode-rejected 'case $ANABRANCH_TASK in
begun) git add -A; git commit -q --allow-empty -m nothing ;;
esac
echo 1 >"$ANABRANCH_TASK"
case $ANABRANCH_TASK in
done | look) git add -A; git commit -q -m mine ;;
more) git add -A; git commit -q -m mine; echo 2 >>more ;;
esac'
    begin_plan 'defaults: {engine: opencode, retry: 0}'
    local task
    for task in 'done' more begun none; do
        add_task $task 'prompt: Write it.'
    done
    add_task look 'read_only: true' 'prompt: Look.'
    run_agents --json
    assert_status 1
    assert_in main 'done' 1
    assert_event task.committed 'done' 'the agent ended without a result, but had committed all its work'
    for task in more begun none look; do
        assert_failed $task transient 'ended without a result'
        refute_in main $task
    done
    assert_clean 'refs/anabranch/salvage/*'
}

@test "an opencode that may not write has changed nothing, and is told why" {
    make_repo
    stub_agent opencode opencode-denied
    begin_plan
    add_task a 'engine: opencode' 'permissions: read' 'prompt: Write it.'
    run_agents
    assert_status 1
    assert_failed a no_change 'was not allowed to use bash (3 times denied)'
}
