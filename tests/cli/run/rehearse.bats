#!/usr/bin/env bats
# A plan without its agents, in a temporary clone.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper

rehearse() { # [OPTION...]
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir -p "$TMPDIR"
    run_apart anabranch rehearse "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

# All that is in the repository and its checkout, with modes and times. Leaves out the times of objects: git
# renews them when it would write an object again.
picture() {
    find . -printf '%m %s %p %l\n' | sort
    find . -path ./.git/objects -prune -o -printf '%T@ %p\n' | sort
    find . -type f -exec cksum {} + | sort
}

assert_thrown_away() {
    [[ -z $(ls -A "$TMPDIR") ]] || fail "left:" "$(ls -A "$TMPDIR")"
}

@test "rehearse: prose takes the whole way, and the repository is not touched" {
    make_repo
    begin_plan
    add_task models 'prompt: Make the models.' 'owns: [models/]'
    add_task api 'prompt: Make the interface.' 'owns: [api/**]' 'depends_on: [models]' 'engine: claude'
    add_task look 'prompt: Look at it.' 'read_only: true' 'depends_on: [api]'
    echo mine >>file
    picture >"$BATS_TEST_TMPDIR/before"
    rehearse
    picture >"$BATS_TEST_TMPDIR/after"
    assert_status 0
    assert_line '  models  would land'
    assert_line '  api     would land'
    assert_line '  look    would be done'
    assert_line '2 of 3 tasks would land on main, 1 of 3 would be done'
    grep -qE '^anabranch itself took [0-9.]+m?s of [0-9.]+m?s' <<<"$output" || fail
    diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" || fail "something was touched"
    assert_thrown_away
}

@test "rehearse: it reports tasks that would conflict, fail and be skipped" {
    make_repo
    begin_plan
    add_task a -- 'write same 1' 'sleep 100ms'
    add_task b -- 'write same 2' 'sleep 100ms'
    add_task c 'retry: 0' -- 'error refused I will not'
    add_task d 'prompt: prose' 'owns: [d/]' 'depends_on: [c]'
    rehearse -j 4
    assert_status 4
    [[ $(grep -cE '^  [ab]     would land$' <<<"$output") -eq 1 ]] || fail
    [[ $(grep -cE '^  [ab]     would not land: conflicts .*: same ' <<<"$output") -eq 1 ]] || fail
    assert_line '  c     would fail: refused: I will not'
    assert_line "  d     would be skipped: needs 'c'"
    assert_line '1 of 4 tasks would land on main'
    assert_clean
    assert_thrown_away
}

@test "rehearse: two tasks that own one file, and do not build on one another, conflict in it" {
    make_repo
    begin_plan 'overlap: serialise'
    add_task a 'prompt: prose' 'owns: [file]'
    add_task b 'prompt: prose' 'owns: [file, b/]'
    add_task c 'prompt: prose' 'owns: [c/]'
    rehearse
    assert_status 4
    assert_line '  c     would land'
    assert_line '2 of 3 tasks would land on main'
    assert_contains 'would not land: conflicts with what has landed: file'
    assert_thrown_away
}

@test "rehearse: a changed plan and prompt files need not be committed" {
    make_repo
    mkdir prompts
    echo 'sim> write from-file x' >prompts/a.md
    begin_plan
    add_task a 'prompt_file: prompts/a.md'
    rehearse --keep
    assert_status 0
    local dir
    dir=$(sed -n 's/^The rehearsal is in //p' <<<"$output")
    [[ $(git -C "$dir/clone" show main:from-file) == x ]] || fail "not landed there"
    refute_in main from-file
    rm -r "$dir"
    # Events as JSON are alone on standard output.
    rehearse --keep --json
    assert_status 0
    jq -e . <<<"$output" >/dev/null || fail
    dir=$(sed -n 's/^The rehearsal is in //p' <<<"$stderr")
    [[ -d $dir/clone ]] || fail "the folder is not named: $stderr"
    rm -r "$dir"
    assert_thrown_away
}

@test "rehearse: the plan's own commands are run only on request" {
    make_repo
    begin_plan "workspace: {setup: touch $BATS_TEST_TMPDIR/setup}" \
        "landing: {verify: touch $BATS_TEST_TMPDIR/landing}"
    add_task a 'prompt: prose' 'owns: [a/]' "verify: touch $BATS_TEST_TMPDIR/verify; exit 7" 'retry: 0'
    rehearse
    assert_status 0
    assert_line "The plan's commands were not run; use --with-commands to run them"
    [[ ! -e $BATS_TEST_TMPDIR/setup && ! -e $BATS_TEST_TMPDIR/landing &&
        ! -e $BATS_TEST_TMPDIR/verify ]] || fail "$(ls "$BATS_TEST_TMPDIR")"
    rehearse --with-commands
    assert_status 1
    [[ -e $BATS_TEST_TMPDIR/setup && -e $BATS_TEST_TMPDIR/verify ]] || fail
    assert_contains 'would fail: verify'
    refute_contains 'were not run'
}

@test "rehearse: nobody is notified" {
    make_repo
    begin_plan 'notify:' "  - {on: [done], command: touch $BATS_TEST_TMPDIR/told}"
    add_task a 'prompt: prose' 'owns: [a/]'
    rehearse
    assert_status 0
    [[ ! -e $BATS_TEST_TMPDIR/told ]] || fail "told"
}

@test "rehearse: another base, a project in a folder, a plan in another" {
    make_repo
    git branch work
    mkdir plans
    begin_plan 'cwd: ../dir'
    add_task a 'prompt: prose' 'owns: [sub/]'
    mv plan.yaml plans/plan.yaml
    cd plans || return
    rehearse --base work --keep
    assert_status 0
    assert_line '1 of 1 tasks would land on work'
    local dir
    dir=$(sed -n 's/^The rehearsal is in //p' <<<"$output")
    git -C "$dir/clone" cat-file -e work:dir/sub/rehearsal-a.txt || fail "not there"
    rm -r "$dir"
    begin_plan # the project is the repository, wherever in it the plan is
    add_task a 'prompt: prose' 'owns: [sub/]'
    rehearse --keep
    assert_status 0
    dir=$(sed -n 's/^The rehearsal is in //p' <<<"$output")
    git -C "$dir/clone" cat-file -e main:sub/rehearsal-a.txt || fail "not there"
    rm -r "$dir"
}

@test "rehearse: from a linked worktree, on its branch" {
    make_repo
    git worktree add -q ../linked -b side
    begin_plan
    add_task a 'prompt: prose' 'owns: [a/]'
    mv plan.yaml ../linked/
    cd ../linked || return
    rehearse
    assert_status 0
    assert_line '1 of 1 tasks would land on side'
    [[ -z $(git log main..side) ]] || fail "landed"
}

@test "rehearse: outside of a repository, where all tasks only read" {
    mkdir plain && cd plain || return
    begin_plan
    add_task a 'prompt: prose' 'read_only: true'
    rehearse
    assert_status 0
    assert_line '  a     would be done'
    [[ $(ls -A) == plan.yaml ]] || fail "$(ls -A)"
    assert_thrown_away
}

@test "rehearse: --json prints the events" {
    make_repo
    begin_plan
    add_task a 'prompt: prose' 'owns: [a/]'
    rehearse --json
    assert_status 0
    assert_event task.landed a
    assert_event run.finished
    refute_contains 'would land'
}

@test "rehearse: it refuses plans that run refuses, and leaves nothing behind" {
    make_repo
    begin_plan
    add_task a 'prompt: prose'
    rehearse --base nowhere
    assert_status 2
    [[ $stderr == *"there is no branch 'nowhere' with a commit"* ]] || fail
    assert_thrown_away
    git checkout -q --detach
    rehearse
    assert_status 2
    [[ $stderr == *'name the one to land on with --base'* ]] || fail
    assert_thrown_away
    git config --unset user.name
    git config --unset user.email
    git config user.useConfigOnly true
    rehearse --base main
    assert_status 3
    [[ $stderr == *'who you are'* ]] || fail
    assert_thrown_away
}

@test "rehearse: stopped by a signal, it still leaves nothing" {
    make_repo
    begin_plan
    add_task a -- 'action here' 'hang'
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir "$TMPDIR"
    "$ANABRANCH" rehearse --json plan.yaml >../events 2>../stderr 3>&- &
    engine=$!
    wait_for grep -q task.action ../events
    kill -TERM "$engine"
    status=0
    wait "$engine" || status=$?
    assert_status 143
    assert_thrown_away
    wait_for no_agents
}

@test "rehearse: a manifest whose paths are relative to its own folder" {
    make_repo
    mkdir -p plans/deep
    cat >plans/plan.yaml <<'END'
po_plan_version: "0.1"
name: old
cwd: ".."
tasks:
  - {id: a, agent: x, read_only: false, prompt: prose, writes: [../dir/a.txt, deep/b.txt]}
END
    cd plans || return
    rehearse --keep
    assert_status 0
    local dir
    dir=$(sed -n 's/^The rehearsal is in //p' <<<"$output")
    git -C "$dir/clone" cat-file -e main:dir/a.txt || fail "no dir/a.txt"
    git -C "$dir/clone" cat-file -e main:plans/deep/b.txt || fail "no plans/deep/b.txt"
    rm -r "$dir"
}
