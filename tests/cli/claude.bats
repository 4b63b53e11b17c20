#!/usr/bin/env bats
# The real claude CLI, with a stand-in for the model: what is landed, swept, stopped and gone on with.
bats_require_minimum_version 1.5.0
load helper
load run_helper
load claude_helper

begin_claudes() {
    claude_available
    make_repo
    claude_model_start
    begin_plan
}

teardown() {
    end_agents
    model_stop
}

@test "claude's work lands, with what it cost" {
    begin_claudes
    ask_agent claude a -- 'write a "one\n"' 'say It is written.'
    ask_agent claude b 'depends_on: [a]' -- 'bash "git add -A && git commit -qm mine --allow-empty"' 'write b "two\n"'
    run_agents
    assert_status 0
    assert_in main a one
    assert_in main b two
    [[ $(jq -r '.tasks[0] | [.state, .tokens_out > 0] | @csv' report.json) == '"landed",true' ]] || fail "$(<report.json)"
    assert_clean
    [[ -z $(ls -A "$HOME") ]] || fail "its files: $(ls -A "$HOME")"
}

@test "what claude leaves running is ended and named" {
    begin_claudes
    ask_agent claude a 'permissions: full' -- 'bash "nohup setsid sleep 345 >/dev/null 2>&1 & echo begun"' 'write a "1\n"'
    run_agents
    assert_status 0
    assert_in main a 1
    [[ $output == *'sleep 345'* ]] || fail "not named: $output"
    ! pgrep -f 'sleep 345' >/dev/null || fail "it is still there"
}

@test "a claude whose engine is killed ends, and its session is gone on with" {
    begin_claudes
    go_on_after_kill claude
    [[ $(jq -r .session_id <(grep -h '"subtype":"init"' .git/anabranch/runs/*/a/*/out) | sort -u | wc -l) == 1 ]] || fail "another session"
    assert_clean 'refs/anabranch/salvage/*/a/1' # as it was when it was interrupted
}
