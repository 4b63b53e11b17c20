#!/usr/bin/env bats
# Agents that replace their workspace, or a folder on the path to it: afterwards we work only in the folder that we
# made, or not at all.
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../cli/helper
load ../cli/run_helper
load attacks_helper

# A repository, a home, and files of the user's that git does not track.
begin_attack() { # [LINE OF THE PLAN...]
    make_repo
    mkdir -p sub/deep documents
    echo deep >sub/deep/file
    echo letter >documents/letter
    echo '*.log' >.gitignore
    git add .gitignore sub documents
    git commit -q -m more
    echo mine >mine.log
    mkdir -p "$HOME/work" "$HOME/upper" "$HOME/sub/deep"
    for name in index HEAD locked index.lock commit by file work/one upper/one sub/deep/file; do
        echo "user's" >"$HOME/$name"
    done
    make_victims
    git rev-parse HEAD >"$BATS_TEST_TMPDIR/head"
    sha256sum .git/HEAD .git/config .gitignore mine.log file sub/deep/file >"$BATS_TEST_TMPDIR/sums"
    begin_plan 'limits: {workers: 1}' 'defaults: {engine: sim, retry: 0}' "workspace: {provider: ${ANABRANCH_PROVIDER:-pool}}" "$@"
}

# A task that waits for the one that attacks, so that a tree would be used again.
add_waiting() {
    add_task honest -- 'write honest yes'
}

run_attack() {
    run_apart anabranch run plan.yaml 3>&-
    assert_no_sanitizer
}

assert_user_unharmed() {
    assert_victims_unharmed
    sha256sum -c --quiet "$BATS_TEST_TMPDIR/sums" || fail "the repository is not what it was"
    git fsck --no-progress >"$BATS_TEST_TMPDIR/fsck" 2>&1 || fail "$(<"$BATS_TEST_TMPDIR/fsck")"
    [[ $(git symbolic-ref HEAD) == refs/heads/main ]] || fail "HEAD is $(<.git/HEAD)"
    git merge-base --is-ancestor "$(<"$BATS_TEST_TMPDIR/head")" main || fail "main has lost commits"
    ! git status --porcelain | grep -qv '^?? .anabranch/' || fail "status:" "$(git status --porcelain)"
}

# The attacked task failed with words about that, and the one that waited landed. Nobody can rename a mounted folder.
assert_refused() { # TASK
    assert_summary honest landed
    assert_in main honest yes
    [[ ${ANABRANCH_PROVIDER-} != overlay ]] || return 0
    assert_summary "$1" failed
    [[ $output$stderr == *'is not the folder that we made'* ]] || fail "it does not say why"
}

assert_saved() { # TASK
    [[ ${ANABRANCH_PROVIDER-} == overlay ]] || assert_in "$(saved_of "$1")" made work
}

saved_of() { # TASK
    git for-each-ref --format='%(refname)' "refs/anabranch/salvage/*/$1/*" | head -n 1
}

@test "workspace: a symlink to the repository in its place is not followed" {
    begin_attack
    attack evil 'echo work >made; mv $ws $ws.away; ln -s $REPO $ws; exit 1'
    add_waiting
    run_attack
    assert_user_unharmed
    assert_refused evil
    assert_saved evil
}

@test "workspace: a symlink to the home in its place is not followed where the agent succeeds" {
    begin_attack
    attack evil 'echo work >made; mv $ws $ws.away; ln -s $HOME $ws'
    add_waiting
    run_attack
    assert_user_unharmed
    assert_refused evil
    assert_saved evil
}

@test "workspace: a folder of the user's in its place stays" {
    begin_attack
    attack evil 'mv $ws $ws.away; cp -r $HOME/documents $ws; exit 1'
    add_waiting
    run_attack
    assert_user_unharmed
    assert_refused evil
    [[ ${ANABRANCH_PROVIDER-} == overlay || $(cat .anabranch/worktrees/*/evil/letters/one) == letter ]] ||
        fail "the folder is gone"
}

@test "workspace: a symlink in the place of the folder of the run is not followed" {
    begin_attack
    attack documents 'run=${ws%/*}; mv $run $run.away; ln -s $HOME $run; exit 1'
    add_waiting
    run_attack
    assert_user_unharmed
    assert_summary documents failed
}

@test "workspace: a symlink in the place of the folder of all runs is not followed" {
    begin_attack
    attack evil 'all=${ws%/*/*}; mkdir -p $REPO/${ws#$all/}; mv $all $all.away; ln -s $REPO $all; exit 1'
    add_waiting
    run_attack
    rm -rf ./*/evil
    rmdir ./2*-* 2>/dev/null || true
    assert_user_unharmed
    assert_summary evil failed
}

@test "workspace: a symlink in the place of its administrative folder is not followed" {
    begin_attack
    attack evil 'own=$(git rev-parse --absolute-git-dir); echo work >made; mv $own $own.away; ln -s $REPO/.git $own'
    attack again 'own=$(git rev-parse --absolute-git-dir); echo work >made; mv $own $own.away; ln -s $HOME $own; exit 1'
    add_waiting
    run_attack
    assert_user_unharmed
    assert_summary evil failed
    assert_summary again failed
    assert_summary honest landed
}

@test "workspace: a symlink in the place of the folder of its attempt's files is not followed" {
    begin_attack
    attack evil 'dir=${TMPDIR%/tmp}; echo work >made; mv $dir $dir.away; ln -s $REPO/.git $dir; exit 1'
    attack other 'dir=${TMPDIR%/tmp}; mv $dir $dir.away; cp -r $HOME/documents $dir; touch $dir/index; exit 1'
    attack again 'dir=${TMPDIR%/*/*/tmp}; echo work >made; mv $dir $dir.away; ln -s $HOME $dir'
    sha256sum .git/index >>"$BATS_TEST_TMPDIR/sums"
    reaches_our_folder
    run_attack
    assert_user_unharmed
    for task in evil again other; do
        assert_summary $task 'is not the folder that we made'
    done
    assert_in "$(saved_of evil)" made work
    [[ -e $(echo .git/anabranch/runs/*/other/1.other-*/index) ]] || fail "the folder is gone"
}

# After the engine's death

# Starts the plan, whose agent makes the file `here` when it is done and stays, and kills the engine then.
killed_attack() {
    "$ANABRANCH" run plan.yaml >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
}

stays() { # LINE OF SHELL
    echo "[ ! -e '$BATS_TEST_TMPDIR/here' ] || exit 0; $1; touch '$BATS_TEST_TMPDIR/here'; exec sleep 1000"
}

@test "workspace: clean does not follow what a killed run's agent has put in its place" {
    begin_attack
    attack evil "$(stays 'echo work >made; cd /; mv $ws $ws.away; ln -s $HOME $ws')"
    killed_attack
    run_apart anabranch clean --all
    assert_no_sanitizer
    assert_user_unharmed
    [[ -z $(find .git/worktrees -mindepth 1 2>/dev/null) ]] || fail "left: $(ls .git/worktrees)"
}

@test "workspace: clean and resume leave a folder alone that is not the one that the run made" {
    begin_attack
    attack evil "$(stays 'echo work >made; cd /; mv $ws $ws.away; cp -r $HOME/documents $ws')"
    killed_attack
    run_apart anabranch resume
    assert_no_sanitizer
    run_apart anabranch clean --all
    assert_no_sanitizer
    assert_user_unharmed
    [[ ${ANABRANCH_PROVIDER-} == overlay || $(cat .anabranch/worktrees/*/evil/letters/one) == letter ]] ||
        fail "the folder is gone"
}

@test "workspace: resume and clean do not follow a symlink in the place of the folder of the run" {
    begin_attack
    attack documents "$(stays 'cd /; run=${ws%/*}; mv $run $run.away; ln -s $HOME $run')"
    killed_attack
    run_apart anabranch resume
    assert_no_sanitizer
    assert_user_unharmed
    run_apart anabranch clean --all
    assert_no_sanitizer
    assert_user_unharmed
}

@test "workspace: resume does not follow a symlink in the place of its administrative folder" {
    begin_attack
    attack evil "$(stays 'own=$(git rev-parse --absolute-git-dir); echo work >made; mv $own $own.away; ln -s $REPO/.git $own')"
    killed_attack
    run_apart anabranch resume
    assert_no_sanitizer
    assert_user_unharmed
}

@test "workspace: symlinks among the layers of an overlay are not followed" {
    [[ ${ANABRANCH_PROVIDER-} == overlay ]] || skip "other workspaces have no layers"
    begin_attack
    attack evil 'layers=${ws%/*}/.evil.layers; mv $layers $layers.away; ln -s $HOME $layers; echo work >made; exit 1'
    attack again "$(stays 'layers=${ws%/*}/.again.layers; mv $layers/upper $layers/away; ln -s $HOME $layers/upper; mv $layers/work $layers/gone; ln -s $HOME $layers/work')"
    add_waiting
    killed_attack
    assert_user_unharmed
    run_apart anabranch resume
    assert_no_sanitizer
    assert_user_unharmed
    run_apart anabranch clean --all
    assert_no_sanitizer
    assert_user_unharmed
}

# Mounts

# The agent mounts the documents of the user's in its workspace, where our processes see the mount.
mounts_there() { # PLACE [LINE OF SHELL]
    [[ $(id -u) -eq 0 ]] || skip 'only root can mount'
    export ANABRANCH_CONTAIN=subreaper
    begin_attack
    mkdir "$HOME/precious" && echo mine >"$HOME/precious/letter"
    make_victims
    attack evil "echo work >made; mkdir -p $1; mount --bind \$HOME/precious $1 || exit 9; ${2:-:}"
    add_waiting
    add_task last 'depends_on: [honest]' -- 'write last yes'
    run_attack
    assert_user_unharmed
    assert_summary evil "something is mounted at '$PWD/.anabranch/worktrees/"
    assert_summary evil "; to undo: umount"
    assert_in main honest yes
    assert_in main last yes
    run_apart anabranch clean --all
    assert_user_unharmed
}

teardown() {
    end_agents
    sed -n "s|^[^ ]* \($BATS_TEST_TMPDIR/work[^ ]*\) .*|\1|p" /proc/self/mounts | tac | xargs -r -n 1 umount -l
}

@test "workspace: a folder of the user's that an agent mounts in it is not emptied" {
    mounts_there '$ws/new' 'exit 1'
}

@test "workspace: a folder of the user's that an agent mounts over a tracked one is not changed" {
    mounts_there '$ws/documents'
}

# Runs beside others

@test "workspace: we do not follow a link that a sibling puts in the way while we prepare a tree for the next task" {
    begin_attack 'limits: {workers: 2}'
    sed -i 1d plan.yaml
    cat >"$BATS_TEST_TMPDIR/swap.py" <<'END_OF_PROGRAM'
import ctypes, glob, os, sys, time
libc, home, end = ctypes.CDLL(None), os.environ["HOME"], time.time() + 3
while time.time() < end and not os.path.exists(sys.argv[1]):
    for tree in glob.glob(os.path.dirname(os.getcwd()) + "/[a.]*"):
        for name in ("sub", "documents", "new"):
            path = os.path.join(tree, name)
            try:
                os.symlink(os.path.join(home, name), path + ".link")
            except OSError:
                pass
            libc.renameat2(-100, path.encode(), -100, (path + ".link").encode(), 2)
END_OF_PROGRAM
    mkdir -p "$HOME/new"
    for k in {1..300}; do echo "user's" >"$HOME/new/$k"; done
    make_victims
    attack sibling "python3 '$BATS_TEST_TMPDIR/swap.py' '$BATS_TEST_TMPDIR/end'"
    for k in {1..8}; do
        attack "a$k" 'mkdir fresh && touch fresh/{1..300} && mv -T fresh new; echo changed >other; mv other file; mv documents moved; exit 1'
    done
    attack last "touch '$BATS_TEST_TMPDIR/end'"
    run_attack
    assert_user_unharmed
}

@test "workspace: diff, materialise, shell and the dashboard do not look into what took its place" {
    local command
    make_repo
    make_victims
    begin_plan
    attack a "mv \$ws \$ws.away; ln -s '$HOME' \$ws; touch $BATS_TEST_TMPDIR/swapped; $(until_exists over)"
    ANABRANCH_PROVIDER=checkout start_plan --engine command
    wait_for test -e "$BATS_TEST_TMPDIR/swapped"
    for command in 'diff a' "materialise a $BATS_TEST_TMPDIR/copy" 'shell a -- ls'; do
        # shellcheck disable=SC2086 # words
        run_apart "$ANABRANCH" $command
        assert_status 3
        [[ $stderr == *'is not the folder that we made'* ]] || fail "$command: $stderr"
        [[ $output$stderr != *documents* ]] || fail "$command: $output"
    done
    [[ ! -e $BATS_TEST_TMPDIR/copy ]] || fail "a copy"
    assert_victims_unharmed
    touch "$BATS_TEST_TMPDIR/over"
    end_plan
    assert_victims_unharmed
}
