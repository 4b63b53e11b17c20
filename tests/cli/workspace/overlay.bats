#!/usr/bin/env bats
# Workspaces that are overlays over one base tree: their content, who sees it, and leftovers.
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper

setup_file() {
    note_doctor
}

# Prepares a plain user: ${user[@]} runs a command as that user, $bin holds a copy of the program, and own() gives the
# user all files here. (In a user namespace the user 'nobody' looks like all other users.)
become_plain() {
    needs_overlay
    [[ $(id -u) == 0 ]] || skip "$1"
    command -v setpriv >/dev/null || skip "no setpriv"
    user=(env HOME="$BATS_TEST_TMPDIR" ANABRANCH_PROVIDER=overlay setpriv --reuid=1 --regid=1 --clear-groups)
    bin=$BATS_TEST_TMPDIR/bin
    mkdir "$bin"
    cp "$ANABRANCH" "$(dirname "$ANABRANCH")/anabranch-guard" "$bin"
    chmod a+x "$BATS_RUN_TMPDIR"
    "${user[@]}" test -r "$bin/anabranch" || skip "the folder cannot be read by others"
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
}

own() {
    chown -R 1:1 "$BATS_TEST_TMPDIR"
}

begin_repo() {
    needs_overlay
    make_repo
    mkdir -p sub/deep
    echo '*.ignored' >.gitignore
    for name in same gone sub/deep/a; do echo "$name" >"$name"; done
    git add -A
    git commit -q -m files
    begin_plan 'workspace: {provider: overlay}' 'defaults: {retry: 0}' "$@"
}

# A step by which an agent says what kind of file system it works on.
kind() { # TASK
    echo "sh stat -f -c %T . >'$BATS_TEST_TMPDIR/$1.kind'"
}

assert_kind() { # TASK KIND
    [[ $(<"$BATS_TEST_TMPDIR/$1.kind") == "$2" ]] || fail "$1: $(<"$BATS_TEST_TMPDIR/$1.kind")"
}

workspace() { # TASK
    echo "$PWD"/.anabranch/worktrees/*/"$1"
}

pristine() {
    echo .git/anabranch/pristine/*
}

stay() {
    echo "sh touch '$BATS_TEST_TMPDIR/here'; while [ ! -e '$BATS_TEST_TMPDIR/go' ]; do sleep 0.05; done"
}

@test "overlay: the work of agents lands, nothing stays mounted, and the base tree is used again" {
    begin_repo
    add_task a -- "$(kind a)" 'write new "1\n"' 'delete gone' 'sh rm -r sub; echo x >a.ignored' \
        'sh test "$(git status --porcelain | sort | tr "\n" ,)" = " D gone, D sub/deep/a,?? new,"'
    add_task b -- 'sh test ! -e new && test -e gone' 'write b "2\n"'
    run_plan
    assert_status 0
    assert_kind a overlayfs
    assert_in main new 1
    assert_in main b 2
    refute_in main gone
    refute_in main sub/deep/a
    assert_clean
    assert_unchanged_checkout
    ! grep -q "$PWD" /proc/self/mounts || fail "$(grep "$PWD" /proc/self/mounts)"
    local first
    first=$(stat -c %i "$(pristine)"/tree)
    begin_plan 'workspace: {provider: overlay}'
    add_task c -- 'sh test -e new && test -e b && test ! -e sub' 'write c "3\n"'
    run_plan
    assert_status 0
    assert_in main c 3
    [[ $(stat -c %i "$(pristine)"/tree) == "$first" ]] || fail "it was made anew"
    assert_clean
}

@test "overlay: the rest of a trial whose process was killed is removed" {
    local dead
    begin_repo
    dead=$(sh -c 'echo $$')
    mkdir -p ".git/.overlay.$dead/work/work/incompat" ".git/.overlay.$$"
    chmod 000 ".git/.overlay.$dead/work/work"
    add_task a -- 'write a "1\n"'
    run_plan
    assert_status 0
    [[ ! -e .git/.overlay.$dead ]] || fail "it is still there"
    rmdir ".git/.overlay.$$" || fail "that of a living one is gone"
    assert_clean
}

@test "overlay: a task that depends on another begins with what that made" {
    begin_repo
    add_task a -- 'write new "1\n"' 'delete gone' 'sh mkdir more all; echo m >more/m; echo a >all/a; echo b >brief; echo c >name'
    add_task b 'depends_on: [a]' -- "$(kind b)" 'sh test -e new && test ! -e gone && test -e more/m' \
        'sh test -z "$(git status --porcelain)"' 'write b "2\n"' 'delete more/m' \
        'sh rm -r all; rm brief; mv name other'
    run_plan
    assert_status 0
    assert_kind b overlayfs
    assert_in main b 2
    assert_in main other c
    for name in more/m all/a brief name; do
        refute_in main "$name"
    done
    assert_clean
}

@test "overlay: agents commit, stage, rename and hide files as in any other workspace" {
    [[ $(id -u) == 0 ]] || skip "who is not root cannot rename folders from below"
    begin_repo
    add_task a -- 'sh git mv sub moved; git commit -qm moved; echo 1 >more; git add more; echo 2 >more'
    add_task b -- 'sh mv dir renamed; echo changed >renamed/inner'
    add_task c -- 'sh git update-index --assume-unchanged same; echo hidden >same' 'write c 1'
    run_plan
    assert_status 0
    assert_in main moved/deep/a sub/deep/a
    assert_in main more 2
    assert_in main renamed/inner changed
    refute_in main sub/deep/a
    refute_in main dir/inner
    assert_in main same same
    assert_clean 'refs/anabranch/salvage/*/c/1'
}

@test "overlay: an index that nobody wrote into serves the next task, and no other does" {
    local note="$BATS_TEST_TMPDIR" look
    begin_repo 'limits: {workers: 1}'
    look='index=$(git rev-parse --git-path index); stat -c "%i %w" "$index"'
    add_task a -- "sh { $look; } >'$note/a.index'" 'write a "1\n"'
    add_task b -- "sh { $look; } >'$note/b.index'" \
        'sh index=$(git rev-parse --git-path index); cp -p "$index" kept; printf XXXX | dd of="$index" bs=1 seek=80 conv=notrunc status=none; touch -r kept "$index"; rm kept' 'write b "2\n"'
    add_task c -- "sh { $look; } >'$note/c.index'" 'sh git status --porcelain >out; test ! -s out; rm out; touch same; git add same' 'write c "3\n"'
    add_task d -- "sh { $look; } >'$note/d.index'" 'sh test -z "$(git status --porcelain)"' 'write d "4\n"'
    run_plan
    assert_status 0
    for name in a b c d; do assert_in main "$name" "$(($(printf %d "'$name") - 96))"; done
    [[ $(<"$note/a.index") == "$(<"$note/b.index")" ]] || fail "b has another than a"
    [[ $(<"$note/c.index") != "$(<"$note/b.index")" ]] || fail "c has what b wrote into"
    [[ $(<"$note/d.index") != "$(<"$note/c.index")" ]] || fail "d has what c wrote anew"
    assert_clean
    ! compgen -G '.git/anabranch/tmp/*' || fail "copies are left"
}

@test "overlay: while one run uses the tree, another that begins later has what differs over it" {
    local delta full
    begin_repo
    add_task a -- "$(stay)" 'write a "1\n"'
    start_and_wait
    full=$(pristine)
    echo other >sub/deep/a
    echo 2 >sub/deep/g
    git rm -q gone
    git add -A
    git commit -q -m files
    delta=.git/anabranch/pristine/$(git rev-parse HEAD)
    begin_plan 'workspace: {provider: overlay}' 'defaults: {retry: 0}'
    add_task b -- "$(kind b)" 'sh test ! -e gone && test "$(cat sub/deep/a sub/deep/g same | tr "\n" ,)" = "other,2,same,"' \
        'sh test -z "$(git status --porcelain)"' 'sh rm sub/deep/g && mv sub moved && echo 3 >gone' 'write b "2\n"'
    run_plan
    assert_status 0
    assert_kind b overlayfs
    assert_in main moved/deep/a other
    assert_in main gone 3
    refute_in main sub/deep/a
    refute_in main moved/deep/g
    [[ -e $delta/below ]] || fail "all of it was made: $(ls .git/anabranch/pristine)"
    [[ $(cd "$delta/tree" && find . ! -type d | sort | tr '\n' ,) == ./gone,./sub/deep/a,./sub/deep/g, ]] || fail "$(find "$delta/tree")"
    begin_plan 'workspace: {provider: overlay}' 'defaults: {retry: 0}'
    add_task c -- "$(kind c)" 'sh test "$(cat gone moved/deep/a | tr "\n" ,)" = "3,other,"' 'write c "3\n"'
    run_plan # folders have come and gone: git writes all of it
    assert_status 0
    assert_kind c overlayfs
    assert_in main c 3
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    assert_in main a 1
    [[ -e $full ]] || fail "what the first one used is gone"
    begin_plan 'workspace: {provider: overlay}'
    add_task d -- 'sh test "$(cat gone)" = 3 && test "$(cat a)" = 1' 'write d "4\n"'
    run_plan
    assert_status 0
    assert_in main d 4
    [[ $(pristine) != *' '* && ! -e $(pristine)/below ]] || fail "more than one is left: $(pristine)"
    assert_clean
}

@test "overlay: a killed run whose tree is a delta is resumed" {
    begin_repo
    add_task a -- "$(stay)" 'write a "1\n"'
    start_and_wait
    local first=$engine
    echo other >same
    git commit -q -a -m other
    begin_plan 'workspace: {provider: overlay}' 'defaults: {retry: 0}'
    add_task b -- 'sh test "$(cat same)" = other' 'write half "0\n"' "sh touch '$BATS_TEST_TMPDIR/second'; while [ ! -e '$BATS_TEST_TMPDIR/go' ]; do sleep 0.05; done" 'write b "2\n"'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/second"
    compgen -G '.git/anabranch/pristine/*/below' || fail "it is no delta"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    touch "$BATS_TEST_TMPDIR/go"
    wait "$first" || true
    run_apart anabranch resume --engine sim
    assert_status 0
    assert_in main b 2
    assert_in main same other
    assert_in main a 1
    [[ $(git diff --name-status main~1 "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" -- half same) == A$'\t'half ]] || fail "the salvage is of something else"
    assert_clean 'refs/anabranch/salvage/*/b/1'
}

@test "overlay: one in conflict is an ordinary worktree when the run is over" {
    begin_repo 'limits: {workers: 2}'
    add_task a -- 'write same "a\n"'
    add_task b -- 'write same "b\n"' 'write own "b\n"'
    run_plan
    assert_status 4
    local one
    one=$(ls -d .anabranch/worktrees/*/[ab])
    [[ -e $one/gone && -e $one/.git && -z $(git -C "$one" status --porcelain) ]] || fail "$(git -C "$one" status)"
    [[ $(git -C "$one" branch --show-current) == anabranch/*/[ab] ]] || fail "no branch"
    [[ ! -e .git/worktrees/$(basename "$(git -C "$one" rev-parse --git-dir)")/locked ]] || fail "locked"
    [[ $(find .anabranch -name '*.layers') == '' ]] || fail "$(find .anabranch -name '*.layers')"
    run_apart anabranch clean --all
    assert_status 0
}

@test "overlay: while it is at work only we see in; shell, diff and materialise show it" {
    begin_repo
    add_task t -- 'write new "1\n"' 'delete gone' "$(stay)"
    start_and_wait
    [[ $(ls -A "$(workspace t)") == '' ]] || fail "others see it"
    run_apart anabranch shell t -- sh -c 'cat new; ls gone; git branch --show-current'
    assert_contains 1
    assert_contains anabranch/
    [[ $stderr == *"'gone'"* ]] || fail "$stderr"
    run_apart anabranch diff t
    assert_status 0
    assert_contains '+1'
    run_apart anabranch materialise t
    assert_status 2
    [[ $stderr == *"'anabranch materialise t DIR' copies it"* ]] || fail "$stderr"
    run_apart anabranch materialise t ../copy
    assert_status 0
    [[ $(git -C ../copy status --porcelain) == " D gone
?? new" ]] || fail "$(git -C ../copy status --porcelain)"
    git worktree remove --force ../copy
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho "cp: no space" >&2\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/cp"
    chmod +x "$BATS_TEST_TMPDIR/bin/cp"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run_apart anabranch materialise t ../copy
    assert_status 3
    [[ $stderr == *"no space"* && ! -e ../copy && $(git worktree list) != */copy* ]] || fail "$stderr $(git worktree list)"
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    assert_in main new 1
    assert_clean
}

@test "overlay: a person's git worktree list, prune, gc and fsck in the middle do no harm" {
    begin_repo
    add_task t -- 'write new "1\n"' "$(stay)" 'sh test -e new && test -e gone && git status'
    start_and_wait
    git worktree prune --expire=now
    git worktree list >/dev/null
    git gc -q --prune=now --force
    git fsck --no-progress
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    assert_in main new 1
    assert_clean
}

@test "overlay: the work of a killed run shows again, is materialised, and is resumed" {
    begin_repo
    add_task t -- 'write new "1\n"' 'delete gone' "$(stay)"
    start_and_wait
    kill_run
    [[ $(ls -A "$(workspace t)") == '' ]] || fail "it is still mounted"
    [[ -z $(find .anabranch -type d ! -perm -u=rwx) ]] || fail "its owner could not delete it: $(find .anabranch -type d ! -perm -u=rwx)"
    run_apart anabranch shell t -- sh -c 'cat new; ls gone || echo none'
    assert_line 1
    assert_line none
    run_apart anabranch diff t
    assert_contains '+1'
    run_apart anabranch materialise t
    assert_status 0
    [[ $(<"$(workspace t)/new") == 1 && ! -e $(workspace t)/gone && -e $(workspace t)/same ]] || fail "$(ls "$(workspace t)")"
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume
    assert_status 0
    assert_in main new 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "overlay: who is killed while he notes the commit of a workspace has left none" {
    local how
    begin_repo
    add_task t -- "$(stay)" 'write new "1\n"'
    for how in resume 'clean --all'; do
        rm -f "$BATS_TEST_TMPDIR"/{here,go}
        start_and_wait
        kill_run
        truncate -s 0 .anabranch/worktrees/*/.t.layers/commit
        touch "$BATS_TEST_TMPDIR/go"
        # shellcheck disable=SC2086 # the command and its option
        run_apart anabranch $how
        assert_status 0
        [[ ! -e .anabranch ]] || fail "$(find .anabranch)"
    done
    assert_in main new 1
}

@test "overlay: a killed run is resumed, and salvaged by clean, whoever took the folders and the pristine tree" {
    begin_repo
    add_task t -- 'write new "1\n"' "$(stay)"
    start_and_wait
    kill_run
    rmdir "$(workspace t)"
    rm -rf .git/anabranch/pristine
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume
    assert_status 0
    assert_in main new 1
    rm "$BATS_TEST_TMPDIR"/{here,go}
    begin_plan 'workspace: {provider: overlay}'
    add_task u -- 'write other "1\n"' "$(stay)"
    start_and_wait
    kill_run
    git commit -q --allow-empty -m meanwhile
    run_apart anabranch clean --all
    assert_status 0
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/u/1')" other 1
    [[ ! -e .anabranch ]] || fail "$(find .anabranch)"
}

@test "overlay: changes that somebody makes in the base tree reach no agent" {
    begin_repo
    add_task a -- 'write a "1\n"'
    run_plan
    assert_status 0
    echo changed >"$(pristine)/tree/same"
    begin_plan 'workspace: {provider: overlay}'
    add_task b -- 'sh test "$(cat same)" = same' 'write b "1\n"'
    run_plan
    assert_status 0
    assert_in main b 1
    assert_clean
}

@test "overlay: with submodules git fills the workspaces, and the run says so" {
    begin_repo
    git update-index --add --cacheinfo "160000,$(git rev-parse HEAD),module"
    git commit -q -m module
    add_task a -- "$(kind a)" 'write a "1\n"'
    run_plan
    assert_status 0
    assert_in main a 1
    [[ $(<"$BATS_TEST_TMPDIR/a.kind") != overlayfs ]] || fail "an overlay"
    [[ $output$stderr == *"workspaces are filled by git"* ]] || fail "not said"
    assert_clean
}

@test "overlay: root in a large repository gets them without asking; warm makes the tree ahead" {
    unset ANABRANCH_PROVIDER
    needs_overlay
    [[ $(id -u) == 0 ]] || skip "only root does"
    make_repo
    mkdir many
    for ((i = 0; i < 3500; i++)); do echo "$i" >"many/file-with-a-long-name-$i"; done
    git add -A
    git commit -q -m many
    run_apart anabranch warm
    assert_status 0
    assert_contains 'is ready, in'
    local first
    first=$(stat -c %i "$(pristine)"/tree)
    begin_plan
    add_task a -- "$(kind a)" 'write many/new "1\n"'
    run_plan
    assert_status 0
    assert_kind a overlayfs
    [[ $(stat -c %i "$(pristine)"/tree) == "$first" ]] || fail "it was made anew"
    assert_in main many/new 1
    assert_clean
    run_apart anabranch doctor
    assert_contains 'overlays over one base tree'
}

@test "overlay: a small repository has nothing to prepare" {
    unset ANABRANCH_PROVIDER
    make_repo
    run_apart anabranch warm
    assert_status 0
    assert_contains 'nothing to prepare'
    [[ ! -e .git/anabranch ]] || fail "$(find .git/anabranch)"
}

@test "overlay: who is not root has them in a user namespace, and can delete all of it" {
    become_plain "that is what the other tests do"
    begin_repo
    add_task a -- "$(kind a)" 'write new "1\n"' 'delete gone' 'sh rm -r sub'
    own
    run_apart "${user[@]}" "$bin/anabranch" run --engine sim plan.yaml 3>&-
    [[ $stderr != *"does not work here"* ]] || skip "$stderr"
    assert_status 0
    assert_kind a overlayfs
    assert_in main new 1
    refute_in main sub/deep/a
    assert_clean
    "${user[@]}" rm -rf "$PWD/.git" || fail "it cannot be deleted"
}

# Starts a plan as that user, and kills its engine when its agents are where `stay` is.
killed_plain() {
    own
    "${user[@]}" "$bin/anabranch" run --engine sim plan.yaml >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    wait_for sh -c "[ -e '$BATS_TEST_TMPDIR/here' ] || grep -q 'does not work here' '$BATS_TEST_TMPDIR/out'"
    [[ -e $BATS_TEST_TMPDIR/here ]] || skip "$(<"$BATS_TEST_TMPDIR/out")"
    kill_run
    HOME=$BATS_TEST_TMPDIR wait_for no_agents # the user's is another
}

@test "overlay: clean of who is not root sees who works in a workspace, also when it has mounted another" {
    become_plain "clean.bats does that"
    begin_repo
    add_task a -- 'write a "1\n"' "sh until [ -e '$BATS_TEST_TMPDIR/b' ]; do sleep 0.02; done" "$(stay)"
    add_task b -- 'write b "1\n"' "sh touch '$BATS_TEST_TMPDIR/b'; sleep 1000"
    killed_plain
    (cd "$(workspace b)" && exec "${user[@]}" sleep 1000 3>&-) &
    local sleeper=$!
    run_apart "${user[@]}" "$bin/anabranch" clean --all
    kill "$sleeper"
    wait "$sleeper" || true
    assert_status 0
    assert_contains "process $sleeper works in it: sleep 1000"
    workspace_has b b && [[ ! -e $(workspace a) ]] || fail "$(ls -A .anabranch/worktrees/*)"
    run_apart "${user[@]}" "$bin/anabranch" clean --all
    assert_status 0
    [[ ! -e .anabranch ]] || fail "$(find .anabranch)"
}

@test "overlay: files are included once, below all workspaces, and each workspace can change its own" {
    begin_repo 'workspace: {provider: overlay, share: [node_modules/**], include: [.env]}'
    sed -i 1d plan.yaml
    printf '%s\n' node_modules .env >.gitignore
    git add -A
    git commit -q -m ignore
    mkdir -p node_modules/deep
    echo secret >.env
    echo module >node_modules/deep/file
    for name in a b; do
        add_task $name -- 'sh test "$(cat .env node_modules/deep/file | tr "\n" ,)" = secret,module,' \
            "sh find ../.$name.layers/upper -name file >'$BATS_TEST_TMPDIR/$name.copies'" \
            'sh echo changed >node_modules/deep/file; rm .env' "write $name 1" 'sh test -z "$(git status --porcelain | grep -v "?? [ab]$")"'
    done
    add_task c 'depends_on: [a, b]' -- 'sh test "$(cat .env node_modules/deep/file | tr "\n" ,)" = secret,module,' 'write c 1'
    run_plan
    assert_status 0
    assert_in main c 1
    refute_in main .env
    refute_in main node_modules/deep/file
    [[ ! -s $BATS_TEST_TMPDIR/a.copies && ! -s $BATS_TEST_TMPDIR/b.copies ]] || fail "copied: $(cat "$BATS_TEST_TMPDIR"/?.copies)"
    [[ $(<.env) == secret && $(<node_modules/deep/file) == module ]] || fail "the originals have changed"
    assert_clean
}

# Others change the workspaces of a killed run

# A shell that stays in a task's workspace; $shell is its process.
stay_in() { # TASK
    "$ANABRANCH" shell "$1" -- sh -c "touch '$BATS_TEST_TMPDIR/inside'; exec sleep 1000" 3>&- &
    shell=$!
    wait_for test -e "$BATS_TEST_TMPDIR/inside"
}

leave() {
    kill "$shell"
    wait "$shell" 2>/dev/null || true
}

@test "overlay: a run is neither resumed nor cleaned while somebody sees one of its workspaces; nothing is lost" {
    begin_repo 'limits: {workers: 2}'
    add_task a -- 'write new-a "1\n"' "sh touch '$BATS_TEST_TMPDIR/a'" "$(stay)"
    add_task b -- 'write new-b "1\n"' "sh touch '$BATS_TEST_TMPDIR/b'" "$(stay)"
    start_and_wait
    wait_for test -e "$BATS_TEST_TMPDIR/a"
    wait_for test -e "$BATS_TEST_TMPDIR/b"
    kill_run
    stay_in b
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume
    assert_status 3
    [[ $stderr == *"process $shell still uses"* ]] || fail "$stderr"
    run_apart anabranch clean --all
    [[ $output$stderr == *"process $shell still uses"* ]] || fail "$output$stderr"
    leave
    if [[ ! -e .anabranch/worktrees/$(basename .anabranch/worktrees/*)/.a.layers/commit ]]; then
        assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/1')" new-a 1
    fi
    run_apart anabranch resume
    assert_status 0
    assert_in main new-a 1
    assert_in main new-b 1
}

@test "overlay: a shell that outlives the engine of a live run keeps it from being mounted twice" {
    begin_repo
    add_task a -- 'write new "1\n"' "$(stay)"
    start_and_wait
    stay_in a
    kill_run
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume
    assert_status 3
    [[ $stderr == *"another process, such as a shell, still uses"* ]] || fail "$stderr"
    leave
    run_apart anabranch resume
    assert_status 0
    assert_in main new 1
}

@test "overlay: the files below a workspace stay as long as anybody sees them, even a second viewer" {
    begin_repo
    add_task a -- 'write new "1\n"' "$(stay)"
    start_and_wait
    kill_run
    stay_in a
    "$ANABRANCH" shell a -- sh -c "touch '$BATS_TEST_TMPDIR/second'; while [ ! -e '$BATS_TEST_TMPDIR/look' ]; do sleep 0.05; done; cat same >'$BATS_TEST_TMPDIR/seen'" 3>&- &
    local second=$!
    wait_for test -e "$BATS_TEST_TMPDIR/second"
    leave
    echo moved >same
    git commit -qam moved
    ANABRANCH_PROVIDER=overlay run_apart anabranch warm
    assert_status 0
    touch "$BATS_TEST_TMPDIR/look"
    wait "$second"
    [[ $(<"$BATS_TEST_TMPDIR/seen") == same ]] || fail "it saw $(<"$BATS_TEST_TMPDIR/seen")"
    run_apart anabranch clean --all
    assert_status 0
}

@test "overlay: files that were included for a killed run are unchanged when it is resumed" {
    begin_repo 'workspace: {provider: overlay, include: [local.cfg]}'
    sed -i 1d plan.yaml
    echo secret >local.cfg
    add_task a -- 'write new "1\n"' "$(stay)"
    add_task b 'depends_on: [a]' -- 'sh test "$(cat local.cfg)" = secret' 'write b 1'
    start_and_wait
    kill_run
    rm local.cfg
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume
    assert_status 0
    assert_in main b 1
    refute_in main local.cfg
    [[ ! -e .anabranch ]] || fail "$(find .anabranch)"
}

@test "overlay: a workspace of a plain user is for root what it was for him" {
    become_plain "needs both"
    begin_repo
    add_task a -- 'sh rm -r sub; mkdir sub; echo z >sub/z' "$(stay)"
    killed_plain
    run_apart anabranch shell a -- sh -c 'find sub -type f'
    assert_output sub/z
    run_apart anabranch clean --all
    assert_status 0
    local saved
    saved=$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/1')
    assert_in "$saved" sub/z z
    refute_in "$saved" sub/deep/a
}

# While the guards of a killed engine still end its agents

# Prints the steps of an agent that ignores SIGTERM, so that its guard must kill it. It notes its file system.
stubborn() {
    echo 'ignore TERM'
    echo "sh trap '' TERM; stat -c %d . >'$BATS_TEST_TMPDIR/device'; echo 1 >late; touch '$BATS_TEST_TMPDIR/here'; while :; do sleep 0.05; done"
}

@test "overlay: as long as agents of a killed engine live, shell and diff see what they see, and nothing is mounted twice" {
    begin_repo
    mapfile -t steps < <(stubborn)
    add_task t -- "${steps[@]}"
    start_and_wait
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    run_apart anabranch shell t -- stat -c %d .
    assert_status 0
    assert_output "$(<"$BATS_TEST_TMPDIR/device")"
    run_apart anabranch diff t
    assert_status 0
    assert_contains '+1'
    run_apart anabranch materialise t
    assert_status 2
    [[ $stderr == *"is working in it"* ]] || fail "$stderr"
    [[ -n $(agents_alive) ]] || fail "they have ended meanwhile"
    run_apart anabranch clean --all
    assert_status 0
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/t/1')" late 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "overlay: a dry resume answers after the agents of the killed engine have ended" {
    begin_repo
    mapfile -t steps < <(stubborn)
    add_task t -- "${steps[@]}"
    start_and_wait
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    run_apart anabranch resume --dry-run
    assert_status 0
    no_agents || fail "still alive:" "$(agents_alive)"
}
