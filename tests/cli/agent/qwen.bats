#!/usr/bin/env bats
# qwen: how we call it, and how we read its output.
# shellcheck disable=SC2016,SC2154 # lines for the shell of a stub; run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper
load ../models_helper

@test "qwen is called with as much as it may do, and has its prompt on standard input" {
    make_repo
    stub_agent qwen qwen-success 'echo 1 >"by-$ANABRANCH_TASK"'
    begin_plan
    add_task plain 'engine: qwen' 'prompt: Write it.'
    add_task full 'engine: qwen' 'permissions: full' 'model: qwen3' 'prompt: "Write \"y\""'
    add_task look 'engine: qwen' 'permissions: read' 'read_only: true' 'prompt: Look.'
    run_agents
    assert_status 0
    assert_argv plain -o stream-json --approval-mode auto-edit
    assert_argv full -o stream-json --approval-mode yolo -m qwen3
    assert_argv look -o stream-json --approval-mode default
    assert_variable plain QWEN_CODE_NO_RELAUNCH=true
    [[ $(<"$STUB/full.in") == 'Write "y"' ]] || fail "$(<"$STUB/full.in")"
    assert_in main by-full 1
    [[ $(task_report plain '"\(.tokens_in) \(.tokens_out) \(.usd)"') == '3600 102 null' ]] || fail "$(task_report plain .)"
}

@test "qwen's errors come to a class, also where it says that all went well" {
    make_repo
    assert_classes qwen <<'END'
401 auth
401-ended auth
overflow context
max-turns timeout
unreachable transient
END
}

@test "a qwen that may not write has changed nothing, and is told why; it has no personas" {
    make_repo
    stub_agent qwen qwen-denied
    begin_plan
    add_task a 'engine: qwen' 'permissions: read' 'prompt: Write it.'
    run_agents
    assert_status 1
    assert_failed a no_change 'was not allowed to use run_shell_command (1 time denied)'
    begin_plan
    add_task a 'engine: qwen' 'agent: reviewer' 'prompt: Write it.'
    run_agents
    assert_status 2
    [[ $stderr == *"'qwen' has no personas: leave out 'agent: reviewer'"* ]] || fail
}
