#!/usr/bin/env bats
# The folders of workspace.share with overlays: they stay between runs, match the user's files, each task can change
# its own copy, and nobody commits them.
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper

setup_file() {
    note_doctor
}

# A repository with a node_modules of a few files, and a lock file beside it.
begin_repo() {
    needs_overlay
    make_repo
    printf '%s\n' node_modules target >.gitignore
    echo 1 >package-lock.json
    git add -A
    git commit -q -m ignore
    mkdir -p node_modules/deep/er node_modules/empty
    for name in one deep/two deep/er/three; do echo "$name" >"node_modules/$name"; done
    ln -s deep/two node_modules/link
    ln -s ../file node_modules/out
}

begin_shared() { # [LINE...]
    begin_plan 'workspace: {provider: overlay, share: [node_modules]}' 'defaults: {retry: 0}' "$@"
}

# A run of one task with these steps, which must succeed.
run_steps() { # STEP...
    begin_shared
    add_task t -- "$@" "write seen $RANDOM$RANDOM"
    run_plan --json
    assert_status 0
    assert_clean
}

kept() {
    find .git/anabranch/shared -mindepth 1 -maxdepth 1 -type d -name '*-*'
}

tree() {
    echo "$(kept)/tree/node_modules"
}

# Prints the data that would change if a file were written again.
identities() {
    find "$(tree)" ! -type d -printf '%P %i %C@ %T@ %s\n' | sort
}

stay() {
    echo "sh touch '$BATS_TEST_TMPDIR/here'; while [ ! -e '$BATS_TEST_TMPDIR/go' ]; do sleep 0.05; done"
}

@test "share: unchanged files are not copied again, and files that were changed by hand are" {
    local before changed
    begin_repo
    run_steps 'sh test "$(cat node_modules/one node_modules/link node_modules/deep/er/three | tr "\n" ,)" = one,deep/two,deep/er/three,' \
        'sh test -d node_modules/empty && test "$(cat node_modules/out | head -n 1)" = one'
    diff -r --no-dereference node_modules "$(tree)"
    before=$(identities)
    run_steps 'sh test "$(cat node_modules/one)" = one'
    [[ $(identities) == "$before" ]] || fail "copied again:" "$before" "$(identities)"
    assert_event workspace.created t '"brought":{"files":5,'
    assert_event workspace.created t '"kept":5}'
    echo eno >node_modules/one
    rm node_modules/deep/two
    rm node_modules/link
    ln -s deep/er node_modules/link
    echo new >node_modules/deep/new
    rm -r node_modules/empty
    run_steps 'sh test "$(cat node_modules/one node_modules/deep/new node_modules/link/three | tr "\n" ,)" = eno,new,deep/er/three,' \
        'sh test ! -e node_modules/deep/two && test ! -e node_modules/empty'
    diff -r --no-dereference node_modules "$(tree)"
    changed=$(diff <(echo "$before") <(identities) | sed -n 's/^[<>] \([^ ]*\) .*/\1/p' | sort -u | paste -s -d ' ')
    [[ $changed == 'deep/new deep/two link one' ]] || fail "changed: $changed"
}

@test "share: a change that left size and time as they were is seen, by what the file system knows" {
    begin_repo
    touch -d 1985-10-26 node_modules/one
    run_steps 'sh test "$(cat node_modules/one)" = one'
    echo eno >node_modules/one
    touch -d 1985-10-26 node_modules/one
    run_steps 'sh test "$(cat node_modules/one)" = eno'
    echo two >"$(tree)/one"
    touch -d 1985-10-26 "$(tree)/one"
    run_steps 'sh test "$(cat node_modules/one)" = eno'
}

@test "share: kinds, modes, folders that may not be written to, and what is no file" {
    begin_repo
    mkdir node_modules/locked node_modules/turns
    echo inner >node_modules/locked/inner
    echo inner >node_modules/turns/inner
    mkfifo node_modules/pipe
    chmod 755 node_modules/one
    chmod 555 node_modules/locked
    run_steps 'sh test -x node_modules/one && test ! -e node_modules/pipe && test -e node_modules/turns/inner' \
        'sh test "$(stat -c %a node_modules/locked)" = 555'
    chmod 644 node_modules/one
    chmod 755 node_modules/locked
    rm node_modules/locked/inner
    echo other >node_modules/locked/other
    chmod 555 node_modules/locked
    rm -r node_modules/turns node_modules/deep/two
    echo file >node_modules/turns
    mkdir node_modules/deep/two
    echo inner >node_modules/deep/two/inner
    rm node_modules/pipe
    ln -s /etc node_modules/pipe
    run_steps 'sh test ! -x node_modules/one && test -f node_modules/turns && test "$(cat node_modules/deep/two/inner)" = inner' \
        'sh test "$(ls node_modules/locked)" = other && test "$(stat -c %a node_modules/locked)" = 555 && test -L node_modules/pipe'
    diff -r --no-dereference node_modules "$(tree)"
    [[ $(find "$(tree)" -printf '%P %m %T@\n' | sort) == "$(find node_modules -printf '%P %m %T@\n' | sort)" ]] ||
        fail "modes or times differ"
    chmod 755 node_modules/locked "$(tree)/locked" # for who deletes all this
}

@test "share: another lock file is another tree; the last two are kept" {
    local first i
    begin_repo
    run_steps 'sh test -e node_modules/one'
    first=$(kept)
    echo 2 >package-lock.json
    echo 2 >node_modules/one
    git commit -qam two
    run_steps 'sh test "$(cat node_modules/one)" = 2'
    [[ $(kept | wc -l) == 2 && $(<"$first/tree/node_modules/one") == one ]] || fail "$(kept)"
    echo 1 >package-lock.json
    echo one >node_modules/one
    run_steps 'sh test "$(cat node_modules/one)" = one'
    [[ $(kept | wc -l) == 2 ]] || fail "$(kept)"
    for i in 3 4; do
        echo $i >package-lock.json
        run_steps 'sh test "$(cat node_modules/one)" = one'
        [[ $(kept | wc -l) == 2 ]] || fail "$(kept)"
    done
    [[ ! -e $first ]] || fail "the oldest one stays"
}

@test "share: changes that an agent makes there are its own, are not committed, and do not land" {
    local before
    begin_repo
    run_steps 'sh test -e node_modules/one'
    before=$(identities)
    begin_shared 'limits: {workers: 1}'
    add_task a -- 'sh echo changed >node_modules/one; rm -r node_modules/deep' \
        'sh git add -A; echo a >a; git add a; git commit -qm a; git add -f node_modules; git commit -qm more' \
        'sh echo new >node_modules/new'
    add_task b 'depends_on: [a]' -- 'sh test "$(cat node_modules/one node_modules/deep/two | tr "\n" ,)" = one,deep/two,' \
        'sh test ! -e node_modules/new && test -z "$(git status --porcelain)"' 'write b 1'
    run_plan
    assert_status 0
    assert_in main a a
    assert_in main b 1
    for name in one deep/two link; do refute_in main node_modules/$name; done
    [[ $(identities) == "$before" && $(<node_modules/one) == one ]] || fail "it reached what is shared"
    assert_clean
}

@test "share: two runs at once share what is the same, and see their own where it is not" {
    local first
    begin_repo
    begin_shared
    add_task t -- "$(stay)" 'sh test "$(cat node_modules/one)" = one && test -e node_modules/deep/two && test ! -e node_modules/new' 'write a 1'
    start_and_wait
    first=$(kept)
    identities >"$BATS_TEST_TMPDIR/before"
    begin_shared
    add_task u -- 'sh test "$(cat node_modules/one)" = one' 'write b 1'
    run_plan
    assert_status 0
    [[ $(kept) == "$first" ]] || fail "a second one: $(kept)"
    echo changed >node_modules/one
    rm node_modules/deep/two
    echo new >node_modules/new
    begin_shared
    add_task v -- 'sh test "$(cat node_modules/one node_modules/new | tr "\n" ,)" = changed,new, && test ! -e node_modules/deep/two' 'write c 1'
    run_plan
    assert_status 0
    [[ $(kept | wc -l) == 2 && $(<"$first/tree/node_modules/one") == one ]] || fail "$(kept)"
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    for name in a b c; do assert_in main $name 1; done
    assert_clean
    [[ -z $(ls .git/anabranch/shared/uses) ]] || fail "still in use: $(ls .git/anabranch/shared/uses)"
}

@test "share: two runs that begin at once copy it once" {
    begin_repo
    seq 500 | split -l 1 -a 4 -d - node_modules/n
    begin_shared
    add_task t -- 'sh test "$(ls node_modules | wc -l)" = 505' 'write "$RANDOM" 1'
    cp plan.yaml plan2.yaml
    sed -i 's/id: t/id: u/; s/RANDOM/HOME/; s/write .*/write other 1/' plan2.yaml
    echo plan2.yaml >>.git/info/exclude
    start_plan
    run_apart anabranch run --engine sim plan2.yaml 3>&-
    assert_status 0
    end_plan
    assert_status 0
    [[ $(kept | wc -l) == 1 ]] || fail "$(kept)"
    assert_clean
}

@test "share: a run that is killed while it copies leaves what the next one finishes" {
    local pid
    begin_repo
    seq 2000 | split -l 1 -a 4 -d - node_modules/n
    begin_shared
    add_task t -- 'write a 1'
    start_plan
    wait_for workspace_has t node_modules/n0000
    kill -KILL "$engine"
    for pid in $(pgrep -f -- "__bring --root $PWD "); do kill -KILL "$pid" 2>/dev/null || true; done
    wait "$engine" 2>/dev/null || true
    wait_for no_agents
    begin_shared
    add_task u -- "sh diff -r --no-dereference node_modules '$PWD/node_modules' >&2" 'write b 1'
    run_plan
    assert_status 0
    diff -r --no-dereference node_modules "$(tree)"
    run_apart anabranch resume --saved
    assert_status 0
    assert_in main a 1
}

@test "share: one that was half brought up to date is looked at byte by byte" {
    local one time
    begin_repo
    run_steps 'sh test -e node_modules/one'
    one=$(tree)/one
    time=$(stat -c %.Y "$one")
    rm "$(kept)/done"
    printf 'xxx\n' >"$one"
    touch -d "@$time" "$one"
    rm "$(tree)/deep/two"
    run_steps 'sh test "$(cat node_modules/one node_modules/deep/two | tr "\n" ,)" = one,deep/two,'
    diff -r --no-dereference node_modules "$(tree)"
    [[ -e $(kept)/done ]] || fail "it is not finished"
}

@test "share: a killed run finds what it had when it is resumed, whatever others have done; none of it lands" {
    local first
    begin_repo
    begin_shared
    add_task a -- 'sh mv node_modules/deep moved; echo 1 >a' "$(stay)"
    add_task b 'depends_on: [a]' -- 'sh test "$(cat node_modules/one)" = one && test -e node_modules/deep/two' 'write b 1'
    start_and_wait
    first=$(kept)
    kill_run
    echo changed >node_modules/one
    rm -r node_modules/deep
    begin_shared
    add_task other -- 'sh test "$(cat node_modules/one)" = changed' 'write other 1'
    run_plan
    assert_status 0
    [[ $(<"$first/tree/node_modules/one") == one ]] || fail "it was changed"
    run_apart anabranch clean
    assert_status 0
    [[ -e $first ]] || fail "it was removed"
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume --saved
    assert_status 0
    assert_in main a 1
    assert_in main moved/er/three deep/er/three
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/1')" moved/er/three deep/er/three
    assert_in main b 1
    assert_in main other 1
    refute_in main node_modules/one
    [[ -z $(ls .git/anabranch/shared/uses) ]] || fail "still in use"
}

@test "share: a run whose trees somebody has taken away is resumed all the same" {
    begin_repo
    begin_shared
    add_task a -- 'write a 1' "$(stay)"
    add_task b 'depends_on: [a]' -- 'sh test "$(cat node_modules/one)" = one' 'write b 1'
    start_and_wait
    kill_run
    rm -rf .git/anabranch/shared
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume
    assert_status 0
    assert_in main a 1
    assert_in main b 1
    refute_in main node_modules/one
}

@test "share: globs name many; what git does not ignore, or has files in, is brought as ever" {
    begin_repo
    mkdir -p packages/{a,b}/node_modules target/debug plain vendor
    for name in a b; do echo $name >packages/$name/package.json; echo "$name" >packages/$name/node_modules/x; done
    echo some >target/debug/object
    echo tracked >vendor/tracked
    echo vendor/ >>.gitignore
    git add -Af packages/*/package.json vendor .gitignore
    git commit -q -m packages
    echo untracked >plain/file
    echo other >vendor/other
    begin_plan 'workspace: {provider: overlay, share: ["packages/*/node_modules/**", target/, plain, vendor, node_modules/one, missing]}'
    add_task t -- 'sh test "$(cat packages/*/node_modules/x target/debug/object plain/file vendor/* node_modules/one | tr "\n" ,)" = a,b,some,untracked,other,tracked,one,' \
        'sh test ! -e node_modules/deep' 'sh echo more >plain/more; git add -A' 'write t 1'
    run_plan
    assert_status 0
    assert_in main plain/more more
    for name in plain/file vendor/other target/debug/object packages/a/node_modules/x; do refute_in main $name; done
    [[ $(cat .git/anabranch/shared/*/path | sed "s,$PWD/,\n,g" | sort | paste -s -d ' ') == ' packages/a/node_modules packages/b/node_modules target' ]] ||
        fail "$(tail -n +1 .git/anabranch/shared/*/path)"
    git checkout -q main
    assert_clean
}

@test "share: no symlink leads to one, and a worktree in one is not copied" {
    begin_repo
    mkdir ../elsewhere
    mv node_modules ../elsewhere
    ln -s ../elsewhere/node_modules node_modules
    ln -s ../elsewhere way
    echo /way >>.git/info/exclude
    begin_plan 'workspace: {provider: overlay, share: [node_modules, "w*/**"]}'
    add_task t -- 'sh test "$(readlink node_modules)" = ../elsewhere/node_modules' 'write t 1'
    run_plan
    assert_status 0
    [[ -z $(find .git/anabranch/shared -name one 2>/dev/null) ]] || fail "it was followed"
    rm node_modules
    mv ../elsewhere/node_modules .
    git worktree add -q -b side node_modules/side
    begin_shared
    add_task u -- 'sh test ! -e node_modules/side && test -e node_modules/one' 'write u 1'
    run_plan
    assert_status 0
    [[ ! -e $(tree)/side && -e $(tree)/one ]] || fail "$(ls "$(tree)")"
}

@test "share: doctor says what they take; clean removes those that nobody uses with --all, or whose folder is gone" {
    local tree
    begin_repo
    begin_shared
    add_task t -- "$(stay)" 'sh test "$(cat node_modules/one)" = one' 'write t 1'
    start_and_wait
    tree=$(cd "$(kept)" && pwd)
    run anabranch doctor
    assert_contains " in $PWD/.git/anabranch/shared; the next run that shares it"
    run anabranch clean --all
    assert_status 0
    assert_contains "kept     tree $tree: it is in use"
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    run anabranch clean
    assert_contains "kept     tree $tree: workspaces of the next run share it; --all removes it"
    run anabranch clean --all --dry-run
    assert_contains "would remove  tree $tree: the next run that shares it copies it again"
    [[ -e $tree/tree/node_modules/one ]] || fail "that was no dry run"
    rm -r node_modules
    run anabranch clean
    assert_contains "removed  tree $tree: the folder that it is a copy of is gone"
    [[ ! -e .git/anabranch/shared ]] || fail "$(find .git/anabranch/shared)"
}

@test "share: with the workspaces of a killed run clean takes away what they shared" {
    begin_repo
    begin_shared
    add_task t -- 'sh mv node_modules/deep moved' "$(stay)"
    start_and_wait
    kill_run
    run anabranch clean --all
    assert_status 0
    [[ ! -e .git/anabranch/shared && ! -e .anabranch ]] || fail "left: $(find .git/anabranch/shared .anabranch)"
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/t/1')" moved/two deep/two
}

@test "share: a folder that somebody looks at stays as it is, even after the end of its run" {
    local shell
    begin_repo
    begin_shared
    add_task t -- 'write t 1' "$(stay)"
    start_and_wait
    "$ANABRANCH" shell t -- sh -c "touch '$BATS_TEST_TMPDIR/inside'; while [ ! -e '$BATS_TEST_TMPDIR/leave' ]; do sleep 0.05; done" 3>&- &
    shell=$!
    wait_for test -e "$BATS_TEST_TMPDIR/inside"
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    echo changed >node_modules/one
    begin_shared
    add_task u -- 'sh test "$(cat node_modules/one)" = changed' 'write u 1'
    run_plan
    assert_status 0
    [[ $(kept | wc -l) == 2 ]] || fail "it was changed below someone: $(kept)"
    touch "$BATS_TEST_TMPDIR/leave"
    wait "$shell" || true
    run_steps 'sh test "$(cat node_modules/one)" = changed'
    [[ -z $(ls .git/anabranch/shared/uses) ]] || fail "still in use"
}

@test "share: warm makes them ahead of a run" {
    local before
    begin_repo
    begin_shared
    add_task t -- 'sh test "$(cat node_modules/one)" = one' 'write t 1'
    run_apart anabranch warm plan.yaml
    assert_status 0
    assert_contains 'is ready, in'
    assert_contains '5 files of node_modules are ready, 5 of them new'
    before=$(identities)
    run_plan --json
    assert_status 0
    assert_event workspace.created t '"kept":5}'
    [[ $(identities) == "$before" ]] || fail "copied again"
    echo changed >node_modules/one
    run_apart anabranch warm plan.yaml
    assert_contains '5 files of node_modules are ready, 1 of them new'
    [[ $(<"$(tree)/one") == changed ]] || fail "it is as it was"
    run_apart anabranch warm missing.yaml
    assert_status 2
    begin_plan 'workspace: {provider: checkout, share: [node_modules]}'
    add_task t -- 'write t 1'
    ANABRANCH_PROVIDER='' run_apart anabranch warm plan.yaml
    assert_contains 'there is nothing to prepare'
}

@test "share: without a place for shared folders they are included as before" {
    begin_repo
    mkdir -p .git/anabranch
    echo in the way >.git/anabranch/shared
    run_steps 'sh test "$(cat node_modules/one)" = one'
    [[ $(<.git/anabranch/shared) == 'in the way' ]] || fail "it was taken away"
}

@test "share: a folder that cannot be copied fails the task, and nothing of it is kept" {
    [[ $(id -u) != 0 ]] || skip "root may read everything"
    begin_repo
    chmod 000 node_modules/one
    begin_shared
    add_task t -- 'write t 1'
    run_plan
    assert_status 1
    assert_summary t setup
    [[ -z $(kept) ]] || fail "left: $(kept)"
}

@test "share: after another start of the machine, or by another clock, bytes are compared once" {
    local before mark boot
    begin_repo
    run_steps 'sh test "$(cat node_modules/one)" = one'
    before=$(identities)
    mark=$(kept)/done
    boot=$(sed 's/.* //' "$mark")
    sed -i "s/$boot/other/" "$mark"
    run_steps 'sh test "$(cat node_modules/one)" = one'
    grep -q " [1-9][0-9]*\.[0-9]* $boot$" "$mark" || fail "it is not known to be whole: $(<"$mark")"
    sed -i 's/^[0-9]*/9999999999/' "$mark"
    run_steps 'sh test "$(cat node_modules/one)" = one'
    ! grep -q 9999999999 "$mark" || fail "by another clock: $(<"$mark")"
    [[ $(identities) == "$before" ]] || fail "copied again"
}
