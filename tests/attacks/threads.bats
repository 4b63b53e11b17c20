#!/usr/bin/env bats
# An agent configures programs in the worktree of a thread: fanout, status, own, converge and cleanup do not
# run them.
# shellcheck disable=SC2154 # run sets status and output
load ../cli/helper
load ../cli/run_helper
load attacks_helper

# A repository with the submodule `sub` and the thread 1, which is in $tree, and a program that notes who started it.
begin_attack() {
    RAN=$BATS_TEST_TMPDIR/ran EVIL=$BATS_TEST_TMPDIR/evil
    # shellcheck disable=SC2016 # of that program
    printf '#!/bin/sh\ntr "\\0" " " </proc/$PPID/cmdline >>%q\nexit 1\n' "$RAN" >"$EVIL"
    chmod +x "$EVIL"
    git init -q -b main lib
    echo one >lib/file
    git -C lib add file
    git -C lib -c user.name=T -c user.email=t@example.com commit -q -m one
    make_repo
    mkdir d
    echo 0 >d/file
    git add d
    git -c protocol.file.allow=always submodule --quiet add ../lib sub
    git commit -q -m submodule
    echo plan.toml >.git/info/exclude
    printf '[[threads]]\nid = 1\nbranch = "part"\ngoal = "Part"\nowns = ["d/**"]\n' >plan.toml
    tree=$PWD/worktrees/thread-1
}

start_thread() {
    anabranch fanout plan.toml >/dev/null
    git -C "$tree" -c protocol.file.allow=always submodule --quiet update --init
}

# The repository of a work tree runs programs whenever git looks for files, for an object or for refs of others.
plant() { # WORK_TREE
    local in key
    in=$(git -C "$1" rev-parse --absolute-git-dir)
    mkdir -p "$in/info" "$in/hooks"
    echo '* filter=evil diff=evil' >"$in/info/attributes"
    cp "$EVIL" "$in/hooks/pre-commit"
    cp "$EVIL" "$in/hooks/pre-push"
    for key in core.fsmonitor core.alternateRefsCommand core.sshCommand filter.evil.clean diff.evil.textconv diff.external; do
        git config --file "$in/config" "$key" "$EVIL"
    done
    git config --file "$in/config" extensions.partialClone origin
    git config --file "$in/config" remote.origin.promisor true
    git config --file "$in/config" remote.origin.url "ext::$EVIL"
    git config --file "$in/config" protocol.ext.allow always
    git config --file "$in/config" core.repositoryFormatVersion 1
    touch -d 2001-01-01 "$1/file"
    mkdir -p "$in/refs/remotes/origin"
    printf '%040d\n' 1 | tee "$in/refs/heads/lost" >"$in/refs/remotes/origin/lost" # git asks the promisor for it
    rm -f "$RAN"
}

assert_evil_did_not_run() { # WORD
    [[ ! -e $RAN ]] || fail "$1: the agent's program was run by:" "$(<"$RAN")"
}

@test "threads: programs of a submodule in a thread are not run" {
    begin_attack
    start_thread
    echo 1 >"$tree/d/file" && git -C "$tree" add d/file && git -C "$tree" commit -q -m work
    git merge -q --no-edit parallel/part-thread-1
    plant "$tree/sub"
    local command
    for command in status 'own' 'converge --into-base' 'cleanup --dry-run' cleanup; do
        # shellcheck disable=SC2086 # several words
        run timeout 60 "$ANABRANCH" $command
        assert_evil_did_not_run "$command"
    done
}

@test "threads: nor are those of one in the checkout that threads are made from" {
    begin_attack
    plant sub
    run timeout 60 "$ANABRANCH" fanout plan.toml
    assert_evil_did_not_run fanout
}

@test "threads: nor are those of one in work that converge commits" {
    begin_attack
    start_thread
    echo 1 >"$tree/d/file"
    plant "$tree/sub"
    git config --file "$(git -C "$tree/sub" rev-parse --absolute-git-dir)/config" --unset extensions.partialClone
    run timeout 60 "$ANABRANCH" converge --commit --into-base
    assert_evil_did_not_run converge
    assert_in main d/file 1
}

@test "threads: we do not believe a file or folder that an agent puts in the place of a worktree's .git" {
    begin_attack
    git init -q --bare origin && git remote add origin "$PWD/origin"
    start_thread
    echo 1 >"$tree/d/file"
    git clone -q ../lib other
    plant other
    echo "gitdir: $PWD/other/.git" >"$tree/.git"
    local command
    for command in status own 'converge --commit --no-push' 'converge' 'converge --commit --into-base' cleanup; do
        # shellcheck disable=SC2086 # several words
        run timeout 60 "$ANABRANCH" $command
        assert_evil_did_not_run "$command"
    done
    assert_in main d/file 1
}
