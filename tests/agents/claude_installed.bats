#!/usr/bin/env bats
# The real claude CLI with the things that anabranch installs for it: hooks that enforce paths, and the skill.
bats_require_minimum_version 1.5.0
load agents_helper
load claude_helper

teardown() {
    model_stop
}

# Thread 1 owns a, thread 2 owns b.
begin_thread() { # [LINE AT THE TOP...]
    make_repo
    begin_plan "$@"
    add_task 1 'prompt: One' 'owns: [a]'
    add_task 2 'prompt: Two' 'owns: [b]'
    anabranch fanout plan.yaml >/dev/null 3>&- || fail "no fanout"
    cd worktrees/thread-1 || return
}

@test "claude answers a prompt and writes a file as the model says" {
    claude_available
    claude_model_start
    run_claude --permission-mode acceptEdits -- 'write "a file" "two\nlines\n"' 'say It is written.'
    assert_status 0
    [[ $(<"a file") == $'two\nlines' ]] || fail "not written"
    [[ $(claude_events result '[.is_error, .result]') == '[false,"It is written."]' ]] || fail "no result"
    [[ $(jq -s length "$MODEL/requests") -ge 2 ]] || fail "not by the model"
    [[ -d $CLAUDE_CONFIG_DIR/projects && -z $(ls -A "$HOME") ]] || fail "its files: $(ls -A "$HOME")"
}

@test "claude itself is denied a write outside before it happens, and writes inside" {
    claude_available
    begin_thread
    claude_model_start
    run_claude --permission-mode acceptEdits -- 'write a/new "inside\n"' 'write b/new "outside\n"' \
        'tool Read {"file_path": "'"$PWD"'/file"}' \
        'tool Edit {"file_path": "'"$PWD"'/file", "old_string": "one", "new_string": "other"}' 'say Done.'
    assert_status 0
    [[ $(<a/new) == inside ]] || fail "not written"
    [[ ! -e b/new ]] || fail "written"
    git diff --quiet file || fail "edited"
    claude_events user '.message.content[] | select(.is_error) | .content' >"$BATS_TEST_TMPDIR/errors"
    grep -q 'This is thread 1: b/new belongs to thread 2.' "$BATS_TEST_TMPDIR/errors" || fail "$(<"$BATS_TEST_TMPDIR/errors")"
    grep -q 'file is not owned' "$BATS_TEST_TMPDIR/errors" || fail "$(<"$BATS_TEST_TMPDIR/errors")"
    run_apart anabranch own
    assert_status 0
}

@test "claude itself is not hindered where it is only warned" {
    claude_available
    begin_thread 'enforce: warn'
    claude_model_start
    run_claude --permission-mode acceptEdits -- 'write b/new "outside\n"' 'say Done.'
    assert_status 0
    [[ $(<b/new) == outside ]] || fail "not written"
}

@test "Claude Code finds the skill, and reads it when the model asks for it" {
    claude_available
    claude_model_start
    make_repo
    run_claude -- 'say Hello.'
    [[ $(claude_events system '.skills | index("anabranch")') == null ]] || fail "there already"
    anabranch skill install
    run_claude -- 'tool Skill {"skill": "anabranch"}' 'say Read.'
    assert_status 0
    [[ $(claude_events system 'select(.subtype == "init") | .skills | index("anabranch")') =~ ^[0-9]+$ ]] ||
        fail "not in the init event"
    grep -qF 'Draw the path map' "$MODEL/requests" || fail "the model was not given it"
}
