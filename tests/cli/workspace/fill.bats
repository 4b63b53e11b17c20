#!/usr/bin/env bats
# Large work trees filled with copies of the user's files: they match what git would make.
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # start_plan sets engine
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper

# A repository whose index is as large as that of thousands of files: their names are long.
large_repo() {
    local i long
    make_repo
    long=$(printf 'a name that is not short %.0s' {1..9})
    mkdir -p sub "many/$long/$long/"{0..9}"/$long"
    for i in {0..399}; do echo "$i" >"many/$long/$long/$((i % 10))/$long/$i $long"; done
    printf '#!/bin/sh\n' >program
    chmod +x program
    ln -s file link
    : >sub/empty
    git add -A
    git commit -q -m many
    (($(stat -c %s .git/index) > 262144)) || fail "not large"
}

# From now on every git that fills a work tree is noted.
note_gits() {
    wrap_git '[[ $sub != read-tree ]] || echo "$@" >>"$dir/asked"'
}

asked() {
    if [[ -e $BATS_TEST_TMPDIR/asked ]]; then wc -l <"$BATS_TEST_TMPDIR/asked"; else echo 0; fi
}

# Prints the contents of a work tree, without times.
list() { # DIR
    (cd "$1" && find . -mindepth 1 -name .git -prune -o -mindepth 1 -printf '%P %y %m %l\n' | sort && git ls-files -s && git status --porcelain &&
        find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha1sum)
}

# Writes the same for git's own checkout of HEAD to the file by-git.
list_by_git() {
    git worktree add -q --detach "$BATS_TEST_TMPDIR/wt" HEAD
    list "$BATS_TEST_TMPDIR/wt" >"$BATS_TEST_TMPDIR/by-git"
    git worktree remove --force "$BATS_TEST_TMPDIR/wt"
}

# Tasks that look at what they were given.
add_lookers() { # ID...
    local id
    declare -f list >"$BATS_TEST_TMPDIR/list"
    for id; do
        add_task "$id" 'read_only: true' -- "sh bash -c '. $BATS_TEST_TMPDIR/list; list .' >'$BATS_TEST_TMPDIR/$id.seen'"
    done
}

assert_seen() { # ID...
    local id
    for id; do
        cmp "$BATS_TEST_TMPDIR/by-git" "$BATS_TEST_TMPDIR/$id.seen" || fail "$id: $(diff "$BATS_TEST_TMPDIR/by-git" "$BATS_TEST_TMPDIR/$id.seen" | head)"
    done
}

@test "fill: large work trees are copies of the user's files, made without git" {
    large_repo
    list_by_git
    note_gits
    for provider in checkout pool; do
        begin_plan "workspace: {provider: $provider}" 'limits: {workers: 2}'
        add_lookers a b
        run_plan
        assert_status 0
        assert_seen a b
        [[ $(asked) == 0 ]] || fail "$provider: $(cat "$BATS_TEST_TMPDIR/asked")"
        assert_clean
    done
}

@test "fill: changes of the user are not in the workspaces" {
    large_repo
    list_by_git
    echo mine >file
    echo staged >sub/new
    git add sub/new
    rm many/*/*/1/*/1*
    mv many/*/*/2 many/mine
    ln -sf nowhere link
    chmod -x program
    git status --porcelain >"$BATS_TEST_TMPDIR/before"
    note_gits
    begin_plan 'workspace: {provider: checkout}'
    add_lookers a
    run_plan
    assert_status 0
    assert_seen a
    [[ $(asked) == 1 ]] || fail "not by git: $(asked)"
    git status --porcelain | cmp - "$BATS_TEST_TMPDIR/before" || fail "the user's files were touched"
    git reset -q --hard
    rm -r many/mine
    assert_clean
}

@test "fill: tasks that begin on top of others have what those did" {
    large_repo
    note_gits
    begin_plan 'workspace: {provider: checkout}'
    add_task a -- 'write sub/a "1\n"' 'delete file'
    add_task b 'depends_on: [a]' -- 'sh test -e sub/a && test ! -e file && test -z "$(git status --porcelain)"' 'write sub/b "2\n"'
    run_plan
    assert_status 0
    assert_in main sub/a 1
    assert_in main sub/b 2
    assert_clean
}

@test "fill: threads are copies as well, and can be committed in" {
    large_repo
    echo plan.toml >>.git/info/exclude
    printf '[[threads]]\nid = "%s"\nbranch = "part%s"\ngoal = "x"\nowns = ["d%s"]\n' 1 1 1 2 2 2 >plan.toml
    note_gits
    run_apart anabranch fanout plan.toml
    assert_status 0
    [[ $(asked) == 0 ]] || fail "$(cat "$BATS_TEST_TMPDIR/asked")"
    for id in 1 2; do
        [[ -z $(git -C "worktrees/thread-$id" status --porcelain) ]] || fail "not as committed"
        git -C "worktrees/thread-$id" ls-files -s | cmp - <(git ls-files -s) || fail "another index"
        git -C "worktrees/thread-$id" ls-files -z | (cd "worktrees/thread-$id" && xargs -0 cat) |
            cmp - <(git ls-files -z | xargs -0 cat) || fail "other files"
    done
    echo changed >worktrees/thread-1/file
    git -C worktrees/thread-1 commit -q --no-verify -a -m changed
    [[ $(git -C worktrees/thread-1 show --name-only --format=) == file ]] || fail "more than that"
    git -C worktrees/thread-1 fsck --no-dangling || fail "not sound"
}

@test "fill: git writes the files that attributes change on their way out" {
    large_repo
    printf '*.txt text eol=crlf\n' >.gitattributes
    echo text >sub/file.txt
    git add -A
    git commit -q -m attributes
    list_by_git
    note_gits
    begin_plan 'workspace: {provider: checkout}'
    add_lookers a
    run_plan
    assert_status 0
    assert_seen a
    [[ $(asked) == 1 ]] || fail "not by git: $(asked)"
    assert_clean
}

@test "fill: a run that is stopped while files are copied leaves nothing" {
    large_repo
    begin_plan 'workspace: {provider: checkout}'
    add_task a -- 'write a work'
    wrap_git '[[ $sub != diff-index ]] || { touch "$dir/hangs"; exec sleep 60; }'
    stop_twice
    assert_clean
}

@test "fill: files that a killed run had copied are not in the way of the next run" {
    large_repo
    begin_plan 'workspace: {provider: checkout}'
    add_task a -- 'write a "work\n"'
    wrap_git '[[ $sub != read-tree ]] || { touch "$dir/hangs"; exec sleep 60; }'
    echo mine >file
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/hangs"
    kill -KILL "$engine"
    wait_for is_gone "$engine"
    status=0
    wait "$engine" || status=$?
    real_git
    wait_for no_agents
    git checkout -q file
    run_apart anabranch resume
    assert_status 0
    assert_in main a work
    assert_clean
}
