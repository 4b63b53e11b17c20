#!/usr/bin/env bats
# The real claude CLI, with a stand-in for the model: what lands, the classes of failures, leftover processes, stops
# and resumed sessions.
# shellcheck disable=SC2154 # model_start sets model_port
bats_require_minimum_version 1.5.0
load agents_helper
load claude_helper

teardown() {
    end_agents
    model_stop
}

begin_claude() {
    claude_available
    make_repo
    claude_model_start
    begin_plan
}

@test "claude's work lands, with what it cost; what it leaves running is ended and named" {
    begin_claude
    ask_agent claude a -- 'write a "one\n"' 'say It is written.'
    ask_agent claude b 'depends_on: [a]' -- 'bash "git add -A && git commit -qm mine --allow-empty"' 'write b "two\n"'
    ask_agent claude c 'permissions: full' -- 'bash "nohup setsid sleep 345 >/dev/null 2>&1 & echo begun"' 'write c "1\n"'
    run_agents
    assert_status 0
    assert_in main a one
    assert_in main b two
    assert_in main c 1
    [[ $(jq -r '.tasks[0] | [.state, .tokens_out > 0] | @csv' report.json) == '"landed",true' ]] || fail "$(<report.json)"
    [[ $output == *'sleep 345'* ]] || fail "not named: $output"
    assert_clean
    [[ -z $(ls -A "$HOME") ]] || fail "its files: $(ls -A "$HOME")"
}

@test "claude: four at once land" {
    begin_claude
    land_side_by_side claude
}

@test "claude: an overloaded model is tried again, a limit waited for in the same session" {
    begin_claude
    meet_limits claude 529
    assert_event limit.opened '' 'usage limit reached'
    assert_went_on limit .session_id
}

@test "claude: a key that is refused, a model that refuses, a tool that is denied, its turns, silence" {
    begin_claude
    ask_agent claude auth -- 'error 401'
    # Since 2.1.3 it asks its model once more.
    ask_agent claude refused -- 'finish refusal "I will not."' 'finish refusal "I will not."'
    ask_agent claude context -- overflow
    ask_agent claude credit -- broke
    ask_agent claude denied -- 'bash "curl -V >denied"' 'say I could not.'
    ask_agent claude turns 'max_turns: 1' -- 'write turns 1' 'write turns 2'
    ask_agent claude idle 'idle_timeout: 5s' -- hang
    run_agents -j 7
    assert_status 1
    assert_failed auth auth 401
    assert_failed refused refused
    assert_failed context context
    assert_failed credit auth
    assert_failed denied no_change 'was not allowed to use Bash (1 time denied)'
    assert_failed turns timeout 'maximum number of turns (1)'
    assert_failed idle idle
    assert_clean 'refs/anabranch/salvage/*/turns/*'
}

@test "claude: a run that is stopped while a tool runs leaves nothing" {
    begin_claude
    end_at_sigterm claude 'permissions: full'
}

@test "a claude whose engine is killed ends, and its session is resumed" {
    begin_claude
    go_on_after_kill claude
    [[ $(jq -r .session_id <(grep -h '"subtype":"init"' .git/anabranch/runs/*/a/*/out) | sort -u | wc -l) == 1 ]] || fail "another session"
    assert_clean 'refs/anabranch/salvage/*/a/*' # as it was when it was interrupted
}

@test "claude repairs its work in its session, and say continues that session after the landing" {
    begin_claude
    ask_agent claude a "verify: \"test -e fix || { echo 'MOCK> write fix 1'; exit 1; }\"" -- 'write a "one\n"'
    run_agents
    assert_status 0
    assert_in main fix 1
    run_apart anabranch say a 'MOCK> write more "2\n"' 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a one
    assert_in main more 2
    [[ $(find .git/anabranch/runs/*/a -name out | wc -l) == 3 ]] || fail "not three attempts"
    [[ $(jq -r .session_id <(grep -h '"subtype":"init"' .git/anabranch/runs/*/a/*/out) | sort -u | wc -l) == 1 ]] || fail "another session"
    assert_clean 'refs/anabranch/salvage/*/a/*'
}
