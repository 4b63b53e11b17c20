#!/usr/bin/env bats
# The real gemini CLI, with a stand-in for the model: what lands, the classes of failures, leftovers after a stop,
# and resumed sessions.
# shellcheck disable=SC2154 # model_start sets model_port
bats_require_minimum_version 1.5.0
load agents_helper

teardown() {
    end_agents
    model_stop
}

begin_gemini() {
    agent_available gemini
    make_repo
    model_start gemini.mjs
    unset "${!GOOGLE_@}" "${!GEMINI_@}"
    export GEMINI_CLI_HOME=$BATS_TEST_TMPDIR/gemini GEMINI_API_KEY=none
    export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:$model_port
    mkdir -p "$GEMINI_CLI_HOME/.gemini"
    echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}}' >"$GEMINI_CLI_HOME/.gemini/settings.json"
    begin_plan 'defaults: {model: gemini-2.5-flash}'
}

# Its settings in a folder of their own, with a limit to its turns.
few_turns() { # FOLDER
    mkdir -p "$1/.gemini"
    jq '.model.maxSessionTurns = 1' "$GEMINI_CLI_HOME/.gemini/settings.json" >"$1/.gemini/settings.json"
}

@test "gemini's work lands; what it may not do, a key that is none, a refusal, its turns, silence" {
    begin_gemini
    few_turns "$BATS_TEST_TMPDIR/few"
    ask_agent gemini a 'permissions: full' -- 'write a "one\n"' 'bash "echo two >b"' 'say It is written.'
    ask_agent gemini shell -- 'bash "echo no >shell"'
    ask_agent gemini key -- 'error 401'
    ask_agent gemini context -- overflow
    ask_agent gemini budget 'budget: {tokens: 200}' -- 'write budget 1' 'say It is written.'
    ask_agent gemini refused -- 'finish SAFETY'
    ask_agent gemini turns "env: {GEMINI_CLI_HOME: $BATS_TEST_TMPDIR/few}" -- 'write turns 1' 'write turns 2' 'write turns 3'
    ask_agent gemini idle 'idle_timeout: 5s' -- hang
    run_agents -j 8
    assert_status 1
    assert_in main a one
    assert_in main b two
    [[ $(task_report a '"\(.tokens_in) \(.tokens_out)"') == '300 60' ]] || fail "$(task_report a .)"
    assert_failed shell no_change 'was not allowed to use run_shell_command (1 time denied)'
    assert_failed key auth 401
    assert_failed context context
    assert_failed budget budget
    assert_failed refused refused
    assert_failed turns timeout
    assert_failed idle idle
    assert_clean 'refs/anabranch/salvage/*/turns/*' 'refs/anabranch/salvage/*/budget/*'
}

@test "gemini: four at once land" {
    begin_gemini
    land_side_by_side gemini
}

@test "gemini: an overloaded model is tried again, a limit waited for in the same session" {
    begin_gemini
    meet_limits gemini 503
    assert_went_on limit 'select(.type == "init").session_id'
}

@test "gemini: a run that is stopped while a tool runs leaves nothing" {
    begin_gemini
    end_at_sigterm gemini 'permissions: full'
}

@test "gemini: a session whose engine was killed is resumed" {
    begin_gemini
    go_on_after_kill gemini
    [[ $(jq -r .session_id <(grep -h '"type":"init"' .git/anabranch/runs/*/a/*/out) | sort | uniq -c) == *' 2 '* ]] || fail "another session"
}
