#!/usr/bin/env bats
# The real codex CLI, with a stand-in for the model: its sandbox in a linked worktree, the classes of failures,
# leftovers after a stop, and resumed sessions.
# shellcheck disable=SC2154 # run_apart sets stderr, model_start model_port
bats_require_minimum_version 1.5.0
load agents_helper

teardown() {
    end_agents
    model_stop
}

# codex may look for things elsewhere: its requests fail at once, as without a network.
begin_codex() {
    agent_available codex
    make_repo
    unset "${!OPENAI_@}" "${!CODEX@}" http_proxy HTTP_PROXY all_proxy ALL_PROXY
    export CODEX_HOME=$BATS_TEST_TMPDIR/codex MODEL_KEY=none
    export https_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
    mkdir -p "$CODEX_HOME"
    model_start openai.mjs
    cat >"$CODEX_HOME/config.toml" <<END
model = "stand-in"
model_provider = "stand-in"
[model_providers.stand-in]
name = "stand-in"
base_url = "http://127.0.0.1:$model_port/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
[sandbox_workspace_write]
exclude_slash_tmp = true # where all of this is
END
    begin_plan
}

@test "codex's work lands; its sandbox lets it commit, and write nothing else" {
    begin_codex
    local outside=$HOME/outside
    ask_agent codex a -- 'write a "one\n"' 'say It is written.'
    ask_agent codex b -- 'write b "two\n"' 'bash "git add -A && git commit -qm mine && git log -1 --format=%s >said"' \
        "bash \"touch '$outside' '$PWD/over'\"" 'say It is committed.'
    ask_agent codex c 'read_only: true' -- 'bash "cat file"' 'bash "touch c"' 'say I have looked.'
    run_agents
    assert_status 0
    assert_in main a one
    assert_in main b two
    assert_in main said mine
    [[ ! -e $outside && ! -e over ]] || fail "it wrote outside of its folder"
    # 30 of each 100 tokens are from a cache.
    [[ $(task_report a '"\(.tokens_in) \(.tokens_out) \(.usd)"') == '140 40 null' ]] || fail "$(task_report a .)"
    grep -hq 'touch c' "$MODEL/requests" || fail "it was not asked to write"
    assert_clean
    [[ -z $(ls -A "$HOME") ]] || fail "its files: $(ls -A "$HOME")"
}

@test "codex: four at once land" {
    begin_codex
    land_side_by_side codex
}

@test "codex: an overloaded model is tried again, a limit waited for in the same session" {
    begin_codex
    meet_limits codex 503
    assert_went_on limit 'select(.type == "thread.started").thread_id'
}

# It has no limit to the turns that it takes.
@test "codex: a key that is refused, a model that refuses, an answer that is cut off, a denied write, silence" {
    begin_codex
    ask_agent codex auth -- 'error 401'
    ask_agent codex refused -- 'finish refusal "I will not."'
    ask_agent codex timeout -- 'finish max_output_tokens "This is cut o"'
    ask_agent codex bad -- 'error 400'
    ask_agent codex context -- overflow
    ask_agent codex credit -- broke
    ask_agent codex budget 'budget: {tokens: 150}' -- 'write budget 1' 'bash "sleep 300"' # it is told after each call
    ask_agent codex no_change 'permissions: read' -- 'bash "touch denied"' 'say I could not.'
    ask_agent codex idle 'idle_timeout: 5s' -- hang
    run_agents -j 9
    assert_status 1
    local task
    for task in auth refused timeout context budget no_change idle; do
        [[ $(task_report "$task" '"\(.failure) \(.attempts)"') == "$task 1" ]] || fail "$(task_report "$task" .)"
    done
    [[ $(task_report auth .reason) == *'401 Unauthorized'* ]] || fail "$(task_report auth .reason)"
    assert_failed bad refused 'scripted 400'
    assert_failed credit auth 'plan and billing'
    refute_in main budget
    assert_clean 'refs/anabranch/salvage/*/budget/*'
}

@test "codex: for a limit of hours it does not wait" {
    begin_codex
    park_for_hours codex
}

@test "codex: a run that is stopped while a tool runs leaves nothing" {
    begin_codex
    end_at_sigterm codex 'permissions: full'
    begin_plan
    end_at_sigterm codex # in its sandbox
}

@test "codex: a session whose engine was killed is resumed" {
    begin_codex
    go_on_after_kill codex
    [[ $(jq -r 'select(.type == "thread.started").thread_id' .git/anabranch/runs/*/a/*/out | sort -u | wc -l) == 1 ]] || fail "another session"
    assert_clean 'refs/anabranch/salvage/*/a/*' # as it was when it was interrupted
}
