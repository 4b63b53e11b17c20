#!/usr/bin/env bats
# opencode: how it is called, and what is made of what it says; then the real CLI, with a stand-in for the
# model.
# shellcheck disable=SC2016,SC2154 # lines for the shell of a stub; run_apart, model_start and start_agents set them
bats_require_minimum_version 1.5.0
load helper
load run_helper
load models_helper

teardown() {
    end_agents
    model_stop
}

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
    assert_argv plain run --format json
    assert_argv edit run --format json --agent builder -m mock/mock
    assert_argv full run --format json --auto
    assert_argv look run --format json
    assert_variable plain 'OPENCODE_PERMISSION={"bash":{"*":"deny","git *":"allow","make *":"allow"}}'
    assert_variable look 'OPENCODE_PERMISSION={"edit":"deny","bash":"deny"}'
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
unknown-agent setup it did not work as the agent that the plan names
END
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

# --- the real one

begin_opencode() {
    agent_available opencode
    make_repo
    model_start openai_chat.mjs
    unset "${!OPENCODE@}" "${!XDG_@}"
    export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1
    export OPENCODE_CONFIG=$BATS_TEST_TMPDIR/opencode.json
    cat >"$OPENCODE_CONFIG" <<END
{"autoupdate": false, "share": "disabled", "model": "mock/mock", "small_model": "mock/mock",
 "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock",
   "options": {"baseURL": "http://127.0.0.1:$model_port/v1", "apiKey": "none"},
   "models": {"mock": {"name": "mock", "limit": {"context": 128000, "output": 8000}, "cost": {"input": 3, "output": 15}}}}}}
END
    begin_plan
}

@test "the real opencode's work lands; what it may not do, a key and a persona that are none, are told" {
    begin_opencode
    ask_agent opencode a -- 'write a "one\n"' 'bash "git status --short"' 'say It is written.'
    # The first one makes its database.
    ask_agent opencode shell 'depends_on: [a]' -- 'bash "echo no >shell"'
    ask_agent opencode key 'depends_on: [a]' 'permissions: full' -- 'error 401'
    ask_agent opencode who 'depends_on: [a]' 'agent: nobody' 'permissions: full' -- 'bash "echo no >who"'
    run_agents -j 3
    assert_status 1
    assert_in main a one
    [[ $(task_report a '"\(.tokens_in) \(.tokens_out) \(.usd * 10000 | round)"') == '300 60 18' ]] || fail "$(task_report a .)"
    assert_failed shell no_change 'was not allowed to use bash (1 time denied)'
    assert_failed key auth 401
    assert_failed who setup 'it did not work as the agent that the plan names'
    assert_clean 'refs/anabranch/salvage/*/who/1'
    [[ -z $(find .git/anabranch/runs -name '*.so') ]] || fail "its libraries: $(find .git/anabranch/runs -name '*.so')"
}

@test "a run with the real opencode at work ends at SIGTERM, and leaves nothing" {
    begin_opencode
    end_at_sigterm opencode 347
}

@test "the session of a real opencode whose engine was killed is gone on with" {
    begin_opencode
    go_on_after_kill opencode
    [[ $(jq -rs '[.[].sessionID] | unique | length' <(cat .git/anabranch/runs/*/a/*/out)) == 1 ]] || fail "another session"
}
