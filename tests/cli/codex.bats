#!/usr/bin/env bats
# The real codex CLI, with a stand-in for the model: its sandbox in a linked worktree, what its failures
# come to, what is left when it is stopped, and sessions that are gone on with.
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load helper
load run_helper
load codex_helper

teardown() {
    end_agents
    model_stop
}

begin_codex() {
    make_repo
    codex_start
    begin_plan
}

tool_runs() {
    pgrep -f '^sleep 345' >/dev/null
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

@test "codex: a key that is refused, a model that refuses, an answer that is cut off" {
    begin_codex
    ask_agent codex auth -- 'error 401'
    ask_agent codex refused -- 'finish refusal "I will not."'
    ask_agent codex timeout -- 'finish max_output_tokens "This is cut o"'
    ask_agent codex setup -- 'error 400'
    run_agents -j 4
    assert_status 1
    local task
    for task in auth refused timeout setup; do
        [[ $(task_report "$task" '"\(.failure) \(.attempts)"') == "$task 1" ]] || fail "$(task_report "$task" .)"
    done
    [[ $(task_report auth .reason) == *'401 Unauthorized'* ]] || fail "$(task_report auth .reason)"
    [[ $(task_report setup .reason) == 'scripted 400' ]] || fail "$(task_report setup .reason)"
    assert_clean
}

@test "codex: a run that is stopped while a tool runs leaves nothing" {
    begin_codex
    local permissions
    for permissions in edit full; do
        begin_plan
        ask_agent codex a "permissions: $permissions" -- 'bash "(setsid sleep 346 &); sleep 345"'
        start_agents
        await tool_runs
        [[ $(agents_alive) != */.bin/codex* ]] || fail "npm's script is there as well:" "$(agents_alive)"
        kill -TERM "$engine"
        status=0
        wait "$engine" || status=$?
        [[ $status != 0 ]] || fail "stopped, and yet well"
        ! pgrep -fa '^sleep 34[56]' || fail "a tool is left"
        no_agents || fail "$(agents_alive)"
        [[ -z $(find .git -name '*.lock') ]] || fail "locks: $(find .git -name '*.lock')"
    done
}

@test "codex: a session whose engine was killed is gone on with" {
    begin_codex
    go_on_after_kill codex
    [[ $(jq -r 'select(.type == "thread.started").thread_id' .git/anabranch/runs/*/a/*/out | sort -u | wc -l) == 1 ]] || fail "another session"
    assert_clean 'refs/anabranch/salvage/*/a/1' # as it was when it was interrupted
}
