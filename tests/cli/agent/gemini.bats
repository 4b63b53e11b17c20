#!/usr/bin/env bats
# gemini: how we call it, and how we read its output.
# shellcheck disable=SC2016,SC2154 # lines for the shell of a stub; run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper
load ../models_helper

@test "gemini is called with as much as it may do, and has its prompt on standard input" {
    make_repo
    stub_agent gemini gemini-success 'echo 1 >"by-$ANABRANCH_TASK"'
    begin_plan
    add_task plain 'engine: gemini' 'prompt: Write it.'
    add_task edit 'engine: gemini' 'permissions: edit' 'model: gemini-2.5-pro' 'prompt: Write it.'
    add_task full 'engine: gemini' 'permissions: full' 'prompt: "@x \"y\""'
    add_task look 'engine: gemini' 'permissions: full' 'read_only: true' 'prompt: Look.'
    run_agents
    assert_status 0
    assert_argv plain -o stream-json --approval-mode auto_edit --skip-trust
    assert_argv edit -o stream-json --approval-mode auto_edit --skip-trust -m gemini-2.5-pro
    assert_argv full -o stream-json --approval-mode yolo --skip-trust
    assert_argv look -o stream-json --approval-mode default --skip-trust
    assert_variable plain GEMINI_CLI_NO_RELAUNCH=true
    [[ $(<"$STUB/full.in") == '@x "y"' ]] || fail "$(<"$STUB/full.in")"
    assert_in main by-full 1
    [[ $(task_report plain '"\(.tokens_in) \(.tokens_out) \(.usd)"') == '3600 102 null' ]] || fail "$(task_report plain .)"
}

@test "gemini's words, exit codes and results come to a class" {
    make_repo
    # 145 is no signal, 53 and 42 are its own; the others end with 0.
    assert_classes gemini <<'END'
401 auth
overflow context
limit limit
400 setup
max-turns timeout
resume-unknown setup
loop-detected transient
safety-empty refused
max-tokens-empty timeout
sigterm-during-tool transient
END
}

@test "gemini's exit code is the status of the model's answer if gemini prints nothing" {
    make_repo
    local code class
    while read -r code class; do
        stub_agent gemini gemini-success "exit $code"
        begin_plan
        add_task a 'engine: gemini' "retry: {$class: 0}" 'prompt: Write it.'
        run_agents
        assert_status 1
        assert_failed a "$class" "exit code $code" || fail "$code"
    done <<'END'
41 auth
145 auth
173 limit
247 overloaded
244 transient
148 setup
END
}

@test "a gemini that went beyond its budget by its end, where it tells that, does not land" {
    make_repo
    stub_agent gemini gemini-success 'echo 1 >done'
    begin_plan
    add_task a 'engine: gemini' 'budget: {tokens: 3k}' 'prompt: Write it.'
    run_agents
    assert_status 1
    assert_failed a budget 'used 3.7k tokens of 3.0k of its budget'
    refute_in main 'done'
}

@test "a gemini that may not write has changed nothing, and is told why" {
    make_repo
    stub_agent gemini gemini-denied
    begin_plan
    add_task a 'engine: gemini' 'permissions: read' 'prompt: Write it.'
    run_agents
    assert_status 1
    assert_failed a no_change 'was not allowed to use run_shell_command (2 times denied)'
}

@test "gemini has no personas: a plan that names one is refused before anything is done" {
    make_repo
    stub_agent gemini gemini-success
    begin_plan
    add_task a 'engine: gemini' 'agent: reviewer' 'prompt: Write it.'
    run_agents
    assert_status 2
    [[ $stderr == *"'gemini' has no personas: leave out 'agent: reviewer'"* ]] || fail
    [[ ! -e $STUB/a.argv && ! -e .git/anabranch/runs ]] || fail "something was done"
}
