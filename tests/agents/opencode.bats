#!/usr/bin/env bats
# The real opencode CLI, with a stand-in for the model: what lands, the classes of failures, leftovers after a stop,
# and resumed sessions.
# shellcheck disable=SC2154 # model_start sets model_port
bats_require_minimum_version 1.5.0
load agents_helper

teardown() {
    end_agents
    model_stop
}

begin_opencode() {
    agent_available opencode
    make_repo
    model_start openai_chat.mjs
    unset "${!OPENCODE@}" "${!XDG_@}"
    export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1
    export npm_config_registry=http://127.0.0.1:1 # where it would look for plugins
    export OPENCODE_CONFIG=$BATS_TEST_TMPDIR/opencode.json
    cat >"$OPENCODE_CONFIG" <<END
{"autoupdate": false, "share": "disabled", "model": "mock/mock", "small_model": "mock/mock",
 "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock",
   "options": {"baseURL": "http://127.0.0.1:$model_port/v1", "apiKey": "none"},
   "models": {"mock": {"name": "mock", "limit": {"context": 128000, "output": 8000}, "cost": {"input": 3, "output": 15}}}}}}
END
    make_database
    begin_plan
}

# If several begin at once in a new home, one makes the database and the others fail. So we make it before.
make_database() {
    local made=$BATS_FILE_TMPDIR/share
    [[ -e $made ]] || HOME=$BATS_FILE_TMPDIR/home opencode session list >/dev/null 2>&1 </dev/null 3>&- || fail "no database"
    [[ -e $made ]] || mv "$BATS_FILE_TMPDIR/home/.local/share" "$made"
    mkdir -p "$HOME/.local"
    cp -R "$made" "$HOME/.local/share"
}

# It has no limit to its turns that it would fail at.
@test "opencode's work lands; what it may not do, a key and a persona that are none, a refusal, silence" {
    begin_opencode
    ask_agent opencode a -- 'write a "one\n"' 'bash "git status --short"' 'say It is written.'
    ask_agent opencode outside -- "write $HOME/outside 1" 'write outside "1\n"' 'say Only that was possible.'
    ask_agent opencode compacted -- 'write compacted "1\n"' 'overflow 1'
    ask_agent opencode shell -- 'bash "echo no >shell"'
    ask_agent opencode key 'permissions: full' -- 'error 401'
    ask_agent opencode who 'agent: nobody' 'permissions: full' -- 'bash "echo no >who"'
    ask_agent opencode refused -- 'finish content_filter'
    ask_agent opencode idle 'idle_timeout: 10s' -- hang
    run_agents -j 8
    assert_status 1
    assert_in main a one
    assert_in main outside 1
    assert_in main compacted 1
    [[ ! -e $HOME/outside ]] || fail "it wrote outside of its folder"
    grep -hq ContextOverflowError .git/anabranch/runs/*/compacted/1/out || fail "it was not compacted"
    [[ $(task_report a '"\(.tokens_in) \(.tokens_out) \(.usd * 10000 | round)"') == '300 60 18' ]] || fail "$(task_report a .)"
    assert_failed shell no_change 'was not allowed to use bash (1 time denied)'
    assert_failed key auth 401
    assert_failed who setup 'opencode did not use the agent that the plan names'
    assert_failed refused refused
    assert_failed idle idle
    assert_clean 'refs/anabranch/salvage/*/who/*'
    [[ -z $(find .git/anabranch/runs -name '*.so') ]] || fail "its libraries: $(find .git/anabranch/runs -name '*.so')"
}

@test "opencode: four at once land" {
    begin_opencode
    land_side_by_side opencode
}

# It waits for both by itself, for a limit as long as it is told.
@test "opencode: an overloaded model and a limit are waited for" {
    begin_opencode
    meet_limits opencode 503
    assert_attempts over 1
    assert_attempts limit 1
}

@test "opencode: for a limit of hours it does not wait" {
    begin_opencode
    park_for_hours opencode
}

@test "opencode: a run that is stopped while a tool runs leaves nothing" {
    begin_opencode
    end_at_sigterm opencode 'permissions: full'
}

@test "opencode: a session whose engine was killed is resumed" {
    begin_opencode
    go_on_after_kill opencode
    [[ $(jq -rs '[.[].sessionID] | unique | length' <(cat .git/anabranch/runs/*/a/*/out)) == 1 ]] || fail "another session"
}
