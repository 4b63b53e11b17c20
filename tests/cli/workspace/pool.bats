#!/usr/bin/env bats
# Work trees that another task uses again: nothing of the previous task is left in them.
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper

begin_repo() {
    make_repo
    mkdir -p sub/deep dir
    echo '*.ignored' >.gitignore
    for name in same gone other third sub/deep/a dir/a; do
        echo "$name" >"$name"
    done
    ln -s same link
    printf '#!/bin/sh\n' >program
    chmod +x program
    git add -A
    git commit -q -m files
}

# A task that writes down which tree it is in, what that looks like, and what git thinks of it.
add_looker() { # ID [LINE...]
    add_task "$@" -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/$1.tree'" \
        "sh (git status --porcelain --ignored; git ls-files -v; git stash list; find . -name .git -prune -o -printf '%P %m %l %y\\n' | sort; cat \$(git ls-files -s | grep -v ^160000 | cut -f 2)) >'$BATS_TEST_TMPDIR/$1.seen'"
}

# One that leaves nothing as it was, and fails.
add_vandal() { # ID [LINE...]
    add_task "$@" -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/$1.tree'" \
        "sh cp -p same '$BATS_TEST_TMPDIR/same'; echo emas >same; touch -r '$BATS_TEST_TMPDIR/same' same" \
        'sh chmod -x program; rm gone; rm -r dir; ln -s /tmp dir; ln -sf other link' \
        'sh git update-index --assume-unchanged other; echo changed >other' \
        'sh git update-index --skip-worktree third; rm third' \
        'sh mkdir -p empty/below sub/new; touch a.ignored sub/b.ignored sub/new/c; mv sub/deep sub/moved' \
        'sh git init -q nested; touch nested/file; git -C nested add file; git -C nested -c user.name=x -c user.email=x@example.com commit -qm nested' \
        'sh echo staged >staged; git add staged; git config --worktree core.fileMode false 2>/dev/null' \
        'exit 1'
}

tree_of() { # TASK
    cat "$BATS_TEST_TMPDIR/$1.tree"
}

assert_like_new() { # TASK
    diff "$BATS_TEST_TMPDIR/new.seen" "$BATS_TEST_TMPDIR/$1.seen" || fail "$1 saw something else"
}

# Writes how a new tree looks to new.seen.
look_at_new() {
    begin_plan 'workspace: {provider: checkout}'
    add_looker new 'read_only: true'
    run_plan
    assert_status 0
    begin_plan 'workspace: {provider: pool}' 'limits: {workers: 1}' 'defaults: {retry: 0}'
}

@test "pool: a tree that an agent did anything to is used again, and is as new" {
    begin_repo
    look_at_new
    add_vandal a
    add_looker b 'read_only: true'
    add_vandal c
    add_looker d
    run_plan
    assert_status 1
    [[ $(tree_of a) == "$(tree_of b)" && $(tree_of a) == "$(tree_of d)" ]] || fail "not used again: $(tree_of a) $(tree_of b) $(tree_of d)"
    assert_like_new b
    assert_like_new d
    git for-each-ref refs/anabranch/salvage | grep -q /a/1 || fail "not saved"
    assert_clean 'refs/anabranch/salvage/*/a/*' 'refs/anabranch/salvage/*/c/*'
}

@test "pool: a repository that an agent made around tracked files does not stay" {
    begin_repo
    begin_plan 'workspace: {provider: pool}' 'limits: {workers: 1}' 'defaults: {retry: 0}'
    for name in a b; do
        add_task $name -- 'sh test ! -e sub/.git' "sh stat -c %i . >'$BATS_TEST_TMPDIR/$name.tree'" \
            "write new-$name 1" 'sh git init -q sub'
    done
    add_task c -- 'sh git init -q sub/deep' 'exit 1'
    add_task d 'read_only: true' -- 'sh test ! -e sub/.git && test ! -e sub/deep/.git'
    run_plan
    assert_status 1
    assert_in main new-a 1
    assert_in main new-b 1
    assert_summary d 'done'
    assert_clean
}

@test "pool: one that is to begin at another commit is brought there" {
    begin_repo
    begin_plan 'workspace: {provider: pool}' 'limits: {workers: 1}'
    add_task a -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/a.tree'" 'write new "1\n"' 'delete gone' 'sh rm -r dir'
    add_task b 'depends_on: [a]' -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/b.tree'" 'sh test -e new && test ! -e gone && test ! -e dir' \
        'sh test -z "$(git status --porcelain)"' 'write b "2\n"'
    run_plan
    assert_status 0
    [[ $(tree_of a) == "$(tree_of b)" ]] || fail "not used again"
    assert_in main new 1
    assert_in main b 2
    assert_clean
}

@test "pool: a tree that cannot be cleaned is not used, another is filled" {
    begin_repo
    look_at_new
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/git" <<END
#!/bin/sh
case "\$*" in *clean\ -*) echo "cannot remove it" >&2; exit 1 ;; esac
exec $(command -v git) "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
    add_vandal a
    add_looker b
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run_plan
    assert_status 1
    [[ $(tree_of a) != "$(tree_of b)" ]] || fail "used again"
    assert_like_new b
    assert_clean 'refs/anabranch/salvage/*/a/*'
}

@test "pool: with a submodule in the checkout, no tree is used again" {
    begin_repo
    git init -q ../other
    git -C ../other -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x
    git -c protocol.file.allow=always submodule --quiet add "$PWD/../other" module
    git commit -q -m module
    cp .git/config "$BATS_TEST_TMPDIR/config"
    begin_plan 'workspace: {provider: pool}' 'limits: {workers: 1}' 'defaults: {retry: 0}'
    add_task a 'read_only: true' -- 'sh touch module/left'
    add_task b 'read_only: true' -- 'sh test ! -e module/left'
    run_plan
    assert_status 0
    assert_clean 'refs/anabranch/salvage/*/a/*'
}

@test "pool: another provider than there is, is refused before anything is done" {
    unset ANABRANCH_PROVIDER
    begin_repo
    begin_plan
    add_task a -- 'write a "1\n"'
    ANABRANCH_PROVIDER=magic run_plan
    assert_status 2
    [[ $stderr == *"ANABRANCH_PROVIDER is 'magic'"* ]] || fail "$stderr"
    ANABRANCH_PROVIDER=checkout run_plan
    assert_status 0
    assert_clean
}

# A git whose fast-forwards do this first; each of them is a line in `forwards`.
slow_forward() { # LINE OF SHELL
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/git" <<END
#!/bin/sh
case "\$*" in *merge\ *--ff-only*) echo 1 >>'$BATS_TEST_TMPDIR/forwards'; $1 ;; esac
exec $(command -v git) "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
}

@test "pool: a tree is free as soon as the commit is safe, before the base has it" {
    begin_repo
    begin_plan 'workspace: {provider: pool}' 'limits: {workers: 1}'
    slow_forward "until test -e '$BATS_TEST_TMPDIR/go'; do sleep 0.02; done"
    add_task a -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/a.tree'" 'write a "1\n"' 'write sub/x.ignored "1\n"'
    add_task b -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/b.tree'" 'sh test ! -e a && test ! -e sub/x.ignored' 'write b "2\n"' \
        "sh touch '$BATS_TEST_TMPDIR/go'"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run_plan
    assert_status 0
    [[ $(tree_of a) == "$(tree_of b)" ]] || fail "not used again"
    assert_in main a 1
    assert_in main b 2
    assert_clean
}

@test "landing: the checkout follows at leisure, where nobody waits for it" {
    begin_repo
    begin_plan 'limits: {workers: 3}'
    slow_forward 'sleep 1'
    add_task a -- 'write a "1\n"'
    add_task b -- "sh until test -e '$PWD/a'; do sleep 0.02; done" 'write b "2\n"'
    add_task c -- "sh until git cat-file -e \"\$(git for-each-ref --format='%(objectname)' refs/anabranch/runs)\":b; do sleep 0.02; done" \
        'write c "3\n"'
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run_plan
    assert_status 0
    (($(wc -l <"$BATS_TEST_TMPDIR/forwards") == 2)) || fail "$(wc -l <"$BATS_TEST_TMPDIR/forwards") times"
    assert_in main c 3
    assert_clean
}

@test "pool: known differences are restored without git" {
    begin_repo
    look_at_new
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/git" <<END
#!/bin/sh
case "\$*" in *read-tree*|*clean\ -*) echo "\$*" >>'$BATS_TEST_TMPDIR/asked' ;; esac
exec $(command -v git) "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
    add_task a -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/a.tree'" \
        'sh echo a >same; rm gone dir/a; chmod -x program; ln -sf other link; chmod 600 third' \
        'sh mkdir -p empty sub/new; touch a.ignored sub/new/c sub/new/d.ignored'
    add_looker b
    printf '      sim> %s\n' 'sh echo b >other; rm sub/deep/a; touch new' >>plan.yaml
    add_looker c 'read_only: true'
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run_plan
    assert_status 0
    [[ $(tree_of a) == "$(tree_of b)" && $(tree_of a) == "$(tree_of c)" ]] || fail "not used again"
    assert_like_new b
    assert_like_new c
    [[ $(grep -c read-tree "$BATS_TEST_TMPDIR/asked") == 1 ]] || fail "$(cat "$BATS_TEST_TMPDIR/asked")"
    ! grep clean "$BATS_TEST_TMPDIR/asked" || fail "git clean"
    assert_clean
}

@test "pool: by default, where there are more than a few files" {
    begin_repo
    for ((i = 0; i < 200; i++)); do echo "$i" >"dir/a_name_that_is_longer_than_some_$i"; done
    git add -A
    git commit -q -m more
    begin_plan 'limits: {workers: 1}'
    for name in a b; do
        add_task "$name" -- "sh stat -c %i . >'$BATS_TEST_TMPDIR/$name.tree'" "sh touch dir/new_$name"
    done
    ANABRANCH_PROVIDER='' run_plan
    assert_status 0
    [[ $(tree_of a) == "$(tree_of b)" ]] || fail "not used again"
    assert_in main dir/new_b ''
    assert_clean
}

@test "pool: resume saves the work in a tree that an earlier task has had before" {
    begin_repo
    begin_plan 'workspace: {provider: pool}' 'limits: {workers: 1}'
    add_task a -- 'write a work' "sh stat -c %i . >'$BATS_TEST_TMPDIR/a.tree'"
    add_task b -- 'write b work' "sh stat -c %i . >'$BATS_TEST_TMPDIR/b.tree'; touch '$BATS_TEST_TMPDIR/here'" 'on 1 sleep 60s'
    mkdir .git/anabranch
    local turn=.git/anabranch/turn
    exec {lock}>"$turn"
    flock "$lock" # another run lands: the landing of a is not recorded yet
    start_and_wait
    kill_run
    flock -u "$lock"
    [[ $(tree_of a) == "$(tree_of b)" ]] || fail 'it is another tree'
    run_apart anabranch resume --json 3>&-
    assert_status 0
    assert_event run.resumed '' '"found":1'
    assert_event task.salvaged b '"attempt":1'
    assert_in main a work
    assert_in main b work
}
