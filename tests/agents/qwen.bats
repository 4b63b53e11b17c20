#!/usr/bin/env bats
# The real qwen CLI, with a stand-in for the model: what lands, and the classes of failures.
# shellcheck disable=SC2154 # model_start sets model_port
bats_require_minimum_version 1.5.0
load agents_helper

teardown() {
    end_agents
    model_stop
}

begin_qwen() {
    agent_available qwen
    make_repo
    model_start openai_chat.mjs
    unset "${!QWEN_@}" "${!OPENAI_@}"
    export OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:$model_port/v1 OPENAI_MODEL=mock
    mkdir -p "$HOME/.qwen"
    echo '{"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false}}' >"$HOME/.qwen/settings.json"
    begin_plan
}

@test "the real qwen's work lands; what it may not do, a key that is none, and its turns, are told" {
    begin_qwen
    ask_agent qwen a 'permissions: full' -- 'write a "one\n"' 'bash "echo two >b"' 'say It is written.'
    ask_agent qwen shell -- 'bash "echo no >shell"'
    ask_agent qwen key -- 'error 401'
    ask_agent qwen context -- overflow
    ask_agent qwen turns 'max_turns: 1' -- 'write turns 1' 'write turns 2' 'write turns 3'
    run_agents -j 5
    assert_status 1
    assert_in main a one
    assert_in main b two
    assert_failed shell no_change 'was not allowed to use run_shell_command (1 time denied)'
    assert_failed key auth 401
    assert_failed context context
    assert_failed turns timeout
    assert_clean 'refs/anabranch/salvage/*/turns/*'
}

# It tells of it after half a minute; an older one does not follow what the server says.
@test "qwen: for a limit of hours it does not wait" {
    [[ ${ANABRANCH_TEST_AGENTS-} == newest ]] || skip 'it does not heed the server here'
    begin_qwen
    park_for_hours qwen
}
