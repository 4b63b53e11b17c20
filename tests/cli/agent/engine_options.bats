#!/usr/bin/env bats
# Options of single engines: effort, turns, arguments of their own.
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

# A program that notes how it was called, and what was in its environment.
make_agent() {
    export CALLS=$BATS_TEST_TMPDIR/calls
    mkdir "$CALLS"
    cat >"$BATS_TEST_TMPDIR/agent" <<'END'
#!/bin/sh
for arg; do printf '%s\n' "$arg"; done >"$CALLS/$ANABRANCH_TASK"
echo "$CLAUDE_CODE_MAX_RETRIES" >"$CALLS/$ANABRANCH_TASK.retries"
END
    chmod +x "$BATS_TEST_TMPDIR/agent"
}

# Checks that the arguments of a task's program contain these words in this order, side by side.
assert_called() { # TASK WORD...
    local task=$1
    shift
    [[ $'\n'$(<"$CALLS/$task")$'\n' == *$'\n'"$(printf '%s\n' "$@")"$'\n'* ]] ||
        fail "not with '$*':" "$(<"$CALLS/$task")"
}

refute_called() { # TASK WORD
    ! grep -qxF -e "$2" "$CALLS/$1" || fail "with '$2':" "$(<"$CALLS/$1")"
}

@test "options: each engine is told effort, turns and arguments in its own words" {
    make_repo
    make_agent
    begin_plan 'defaults: {read_only: true, retry: 0, effort: xhigh}'
    add_task claude 'engine: claude' 'prompt: p' 'max_turns: 7' \
        'engine_args: [--append-system-prompt, "be brief"]'
    add_task again 'engine: claude' 'prompt: p' 'env: {CLAUDE_CODE_MAX_RETRIES: 9}'
    add_task codex 'engine: codex' 'prompt: p' 'engine_args: [-c, hide_agent_reasoning=true]'
    add_task qwen 'engine: qwen' 'prompt: p' 'max_turns: 7' 'engine_args: [--debug]'
    add_task gemini 'engine: gemini' 'prompt: p' 'engine_args: [--debug]'
    add_task opencode 'engine: opencode' 'prompt: p' 'engine_args: [--variant, high]'
    add_task copilot 'engine: copilot' 'prompt: p' 'engine_args: [--no-color]'
    add_task aider 'engine: aider' 'prompt: p' 'engine_args: [--no-suggest-shell-commands]'
    run_apart anabranch run -j 8 --engine-exe "$BATS_TEST_TMPDIR/agent" plan.yaml 3>&-
    assert_no_sanitizer
    [[ $stderr == *"'gemini' does not support 'effort': it is ignored"* ]] || fail "no warning"
    assert_called claude --effort xhigh --max-turns 7 --append-system-prompt 'be brief'
    [[ $(<"$CALLS/claude.retries") == 2 && $(<"$CALLS/again.retries") == 9 ]] ||
        fail "retries: $(cat "$CALLS"/*.retries)"
    assert_called codex -c 'model_reasoning_effort="xhigh"' -c hide_agent_reasoning=true
    assert_called qwen --max-session-turns 7 --debug
    assert_called gemini --debug
    refute_called gemini xhigh
    assert_called opencode --variant high
    assert_called copilot --reasoning-effort xhigh --no-color
    assert_called aider --reasoning-effort xhigh --no-suggest-shell-commands
}

@test "options: an option of one engine is refused for another engine" {
    make_repo
    make_agent
    begin_plan
    add_task a 'read_only: true' 'prompt: p' 'max_turns: 7'
    run_apart anabranch run --engine codex --engine-exe "$BATS_TEST_TMPDIR/agent" plan.yaml 3>&-
    assert_status 2
    [[ $stderr == *"task 'a': its 'max_turns' is for 'claude': 'codex' does not support it"* ]] || fail
    begin_plan
    add_task a 'read_only: true' 'engine_args: [--debug]' -- 'say done'
    run_apart anabranch run --engine codex --engine-exe "$BATS_TEST_TMPDIR/agent" plan.yaml 3>&-
    assert_status 2
    [[ $stderr == *"task 'a': its 'engine_args' are for 'claude', not for 'codex'"* ]] || fail
    [[ ! -e .git/anabranch ]] || fail "something was begun"
    run_plan
    assert_status 0
}
