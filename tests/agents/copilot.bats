#!/usr/bin/env bats
# The real copilot CLI, with a stand-in for a model of the user's own: what lands, and the classes of failures.
# shellcheck disable=SC2154 # model_start sets model_port
bats_require_minimum_version 1.5.0
load agents_helper

teardown() {
    end_agents
    model_stop
}

@test "the real copilot's work lands; what it may not do, a key that is none, a model that is full, and a limit are told" {
    agent_available copilot
    make_repo
    model_start openai_chat.mjs
    unset "${!COPILOT_@}" GH_TOKEN GITHUB_TOKEN
    export COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:$model_port/v1 COPILOT_PROVIDER_API_KEY=none COPILOT_MODEL=mock
    export COPILOT_OFFLINE=true
    begin_plan
    ask_agent copilot a 'permissions: full' -- 'bash "echo one >a"' 'say It is written.'
    ask_agent copilot shell -- 'bash "curl -V >shell"' 'say I could not.'
    ask_agent copilot key -- 'error 401'
    ask_agent copilot context -- overflow
    ask_agent copilot refused -- 'finish content_filter "I can"'
    ask_agent copilot budget 'permissions: full' 'budget: {tokens: 150}' -- 'bash "touch budget"' 'bash "sleep 300"'
    ask_agent copilot limit 'retry: {limit: fail}' -- 'later 7200'
    run_agents -j 7
    assert_status 1
    assert_in main a one
    assert_failed shell no_change 'was not allowed to use'
    assert_failed key auth 401
    assert_failed context context
    assert_failed limit limit
    assert_failed refused refused
    assert_failed budget budget
    [[ $(task_report a '"\(.tokens_in) \(.tokens_out)"') == '200 40' ]] || fail "$(task_report a .)"
    assert_clean 'refs/anabranch/salvage/*/budget/*'
}
