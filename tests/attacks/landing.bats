#!/usr/bin/env bats
# shellcheck disable=SC2016 # the text of scripts
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# Agents that try to make us land the wrong thing: they revert work of others, forge the author or date of a commit,
# or hide something in its history that the result does not show.

load ../cli/helper
load ../cli/run_helper
load attacks_helper

# A repository in which a sibling lands: it adds `new`, changes `file`, removes `old` and makes `tool` executable.
make_landing_repo() {
    make_repo
    touch old tool
    echo earlier >earlier
    git add . && git commit -q -m second
    echo later >earlier
    git commit -q -a -m third
}

# As run_plan, each task with the engine that it names.
run_engines() { # [OPTION...]
    run_apart anabranch run "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

add_sibling() { # [LINE...]
    add_task sibling 'engine: sim' "$@" -- 'write new landed' 'sh sed -i -e s/two/TWO/ -e s/four/FOUR/ file' 'delete old' 'sh chmod +x tool'
}

# In the text of an attack: waits until the sibling has landed.
landed='until git log --format=%s main | grep -q "task sibling"; do sleep 0.02; done'

assert_sibling_is_there() {
    assert_in main new landed
    [[ $(git show main:file | sed -n '2p;4p' | paste -s) == TWO$'\t'FOUR ]] || fail "the change of file is gone"
    refute_in main old
    [[ $(git ls-tree main tool) == 100755* ]] || fail "the mode of tool is gone"
}

@test "landing: whatever way others' landed work is taken back, that does not land" {
    local trick
    make_landing_repo
    begin_plan 'landing: {at: each}' 'defaults: {retry: {scope: 0}}'
    add_sibling
    attack merge_ours "echo x >m1; git add .; git commit -qm x; $landed; git merge -q -s ours -m m main"
    attack merge_strategy "sed -i s/nine/NINE/ file; git commit -qam x; $landed
        git merge -q --no-commit main; git checkout -q HEAD -- file; git commit -qm m"
    attack remove "$landed; git merge -q main; git rm -q new; git commit -qm x; echo x >m3"
    attack remove_only "$landed; git merge -q main; rm new; echo x >m4"
    attack resurrect "$landed; git merge -q main; git checkout -q HEAD@{1} -- old; echo x >m5"
    attack mode "$landed; git merge -q main; chmod -x tool; echo x >m6"
    attack checkout_old "git tag mine7; $landed; git merge -q main; git checkout -q mine7 -- file; echo x >m7"
    attack rebased "echo x >m8; git add .; git commit -qm x; $landed; git rebase -q main
        git checkout -q main~1 -- file; git commit -qm y"
    attack index "$landed; git reset -q --soft main; echo x >m9"
    attack moved "git mv file moved; git commit -qm x; $landed; git merge -q -s ours -m m main"
    attack hunk "sed -i s/nine/NINE/ file; git commit -qam x; $landed; git merge -q -m m main; sed -i s/TWO/two/ file"
    attack beside "sed -i s/nine/NINE/ file; git commit -qam x; $landed; git merge -q -m m main; sed -i 's/FOUR/four/; s/five/V/' file"
    attack older 'git reset -q --hard HEAD~1; echo x >m11'
    run_engines -j 4
    assert_status 1
    assert_summary sibling landed
    for trick in merge_ours merge_strategy remove remove_only resurrect mode checkout_old rebased index moved hunk beside older; do
        assert_summary "$trick" 'scope: would undo what others have landed'
    done
    assert_sibling_is_there
    assert_in main earlier later
    [[ -z $(git log --format=%s main --grep='^x$') ]] || fail "$(git log --oneline main)"
}

@test "landing: a file of others that a task has emptied does not land, one that it has changed does" {
    make_landing_repo
    begin_plan 'defaults: {retry: {scope: 0}}'
    add_sibling
    attack emptied "$landed; git merge -q main; : >new; echo x >m1"
    attack changed "$landed; git merge -q main; echo mine >new; echo x >m2"
    run_engines -j 3
    assert_status 1
    assert_summary emptied 'scope: would undo what others have landed: new'
    assert_summary changed landed
    assert_in main new mine
}

@test "landing: an agent that has taken others' work back is told so, and once more begun" {
    make_landing_repo
    begin_plan
    add_sibling
    attack evil "grep -q 'their changes are missing' && exec touch mine
        echo x >bad; git add .; git commit -qm x; $landed; git merge -q -s ours -m m main"
    run_engines --json -j 2
    assert_status 0
    assert_event scope.violated evil '"paths":["file","new","old","tool"]'
    assert_event task.retried evil '"class":"scope"'
    assert_event task.landed evil
    assert_sibling_is_there
    refute_in main bad
}

@test "landing: an agent may merge and rebase as it should, also one that owns only its paths" {
    make_landing_repo
    begin_plan
    add_sibling 'owns: [new, file, old, tool]'
    attack merges "echo x >m1; git add .; git commit -qm x; $landed; git merge -q -m m main; echo y >>m1" 'owns: [m1]'
    attack rebases "echo x >m2; git add .; git commit -qm x; $landed; git rebase -q main; echo y >>m2" 'owns: [m2]'
    attack begins_anew "$landed; git reset -q --hard main; echo x >m3" 'owns: [m3]'
    run_engines -j 4
    assert_status 0
    assert_contains '4 landed'
    assert_sibling_is_there
    assert_in main m1 $'x\ny'
    assert_in main m2 $'x\ny'
    assert_in main m3 x
    assert_clean 'refs/anabranch/salvage/*/rebases/1*' # the commit as it was before the rebase
}

@test "landing: a conflict may be resolved by taking both, or another line for both" {
    make_landing_repo
    begin_plan
    add_sibling
    attack both "sed -i 's/two/zwei/; s/six/SIX/' file; git commit -qam x; $landed; git merge -q main
        git checkout -q --theirs file; sed -i 's/TWO/TWO zwei/' file; git add file; git commit -qm m"
    run_engines -j 2
    assert_status 0
    [[ $(git show main:file | sed -n 2p) == 'TWO zwei' ]] || fail "file"
    assert_in main new landed
}

@test "landing: replacement objects and grafts do not change what we merge" {
    make_landing_repo
    begin_plan
    add_sibling
    attack replace "echo x >m1; git add .; git commit -qm x; $landed
        git replace main \$(git commit-tree -p main~1 -m 'task sibling' main~1^{tree})"
    attack graft "echo x >m2; git add .; git commit -qm x; $landed
        echo \$(git rev-parse HEAD main) >>\$REPO/.git/info/grafts"
    run_engines -j 3
    rm -f .git/info/grafts
    git replace -l | xargs -r git replace -d >/dev/null
    assert_sibling_is_there
}

@test "landing: commits of agents name the user and the present date, whatever the agents wrote" {
    make_repo
    begin_plan
    attack forged 'echo 1 >one; git add .
        GIT_AUTHOR_NAME=Linus GIT_AUTHOR_EMAIL=l@example.com GIT_COMMITTER_NAME=Linus GIT_COMMITTER_EMAIL=l@example.com \
            GIT_AUTHOR_DATE="1999-01-01T00:00:00Z" GIT_COMMITTER_DATE="2037-01-01T00:00:00Z" git commit -qm "step one"
        echo 2 >two; git add .; git commit -q --author "Eve <eve@example.com>" -m "step two"; echo 3 >three'
    run_engines
    assert_status 0
    [[ $(git log --format=%s main^2) == $'forged\nstep two\nstep one\nstart' ]] || fail "$(git log --oneline main)"
    [[ $(git log --format='%an <%ae> %cn <%ce>' main | sort -u) == \
        'Tester <tester@example.com> Tester <tester@example.com>' ]] || fail "$(git log --format=fuller main)"
    ! git log --format='%as%n%cs' main | grep -q -e 1999 -e 2037 || fail "$(git log --format=fuller main)"
    assert_in main one 1
    assert_in main three 3
    assert_clean
}

@test "landing: landing.author agent keeps the authors, and the committer is still the user" {
    local style
    make_repo
    for style in merge rebase; do
        begin_plan "landing: {author: agent, style: $style}"
        attack "of_$style" "echo 1 >$style; git add .
            GIT_COMMITTER_NAME=Eve git commit -q --author 'Eve <eve@example.com>' --date 2001-02-03T04:05:06Z -m 'step $style'"
        run_engines
        assert_status 0
        [[ $(git log --format='%an <%ae> %as %cn' --grep "step $style" main) == \
            'Eve <eve@example.com> 2001-02-03 Tester' ]] || fail "$(git log --format=fuller main)"
        ! git log --format=%cs main | grep -q 2001 || fail "$(git log --format=fuller main)"
    done
}

@test "landing: intermediate states do not become history" {
    make_repo
    begin_plan
    attack hidden 'echo s3cret >.env; echo 1 >one; git add .; git commit -qm "step one"
        git rm -q .env; echo 2 >one; git add .; git commit -qm "step two"'
    attack strayed 'echo mine >>file; git add .; git commit -qm "step zero"
        git checkout -q HEAD~ -- file; echo 2 >four; git add .; git commit -qm "step one and a half"' 'owns: [four]'
    attack value 'echo "$TOKEN" >two; git add .; git commit -qm "step three"; echo 2 >two; git add .; git commit -qm "step four"' \
        'env: {TOKEN: {value: hunter2hunter2, secret: true}}'
    attack odd 'b=$(echo x | git hash-object -w --stdin); cp .git/x . 2>/dev/null
        t=$(printf "100644 blob %s\tHEAD\n" $b | git mktree)
        u=$( (git ls-tree HEAD; printf "040000 tree %s\t.git\n" $t) | git mktree)
        git update-ref HEAD $(git commit-tree -p HEAD -m "step five" $u); git reset -q --mixed; echo 3 >three'
    run_engines --json -j 3
    assert_status 0
    assert_event task.committed hidden '"squashed":2'
    assert_event task.committed value '"squashed":2'
    assert_event task.committed odd '"squashed":1'
    assert_event task.committed strayed '"squashed":2'
    ! git log --format=%s main | grep -q step || fail "$(git log --oneline main)"
    [[ -z $(git log --format= --name-only main -- .env) ]] || fail ".env is in the history"
    ! git log -p main | grep -q hunter2 || fail "the secret is in the history"
    git -c transfer.fsckObjects=true clone -q --bare --no-local --single-branch . ../clone
    assert_in main one 2
    assert_in main two 2
    assert_in main three 3
    assert_clean
}

@test "landing: a merge that moves a task's file to a path of others does not land" {
    make_repo
    git config merge.directoryRenames true
    begin_plan 'overlap: allow'
    add_task renames 'engine: sim' 'order: 1' 'owns: [dir, elsewhere]' -- 'sh mv dir elsewhere'
    add_task adds 'engine: sim' 'order: 2' 'owns: [dir/new]' -- 'write dir/new 1'
    run_engines -j 2
    assert_status 1
    assert_summary adds 'scope: changed 1 path that it does not own: elsewhere/new'
    refute_in main elsewhere/new
    assert_in main elsewhere/inner inner
}

# Verification

@test "landing: a clean verification sees the commit and nothing else" {
    make_repo
    echo '*.o' >.gitignore && git add . && git commit -q -m ignore
    echo user >user.o
    mkdir -p "$HOME" && echo home >"$HOME/.config-of-test"
    cat >check.sh <<'END'
[ ! -e left.o ] && [ ! -e user.o ] && [ ! -e ../user.o ] && [ -z "$(ls -A "$HOME")" ] && [ -z "$(ls -A "$TMPDIR")" ] &&
    [ "$(git rev-parse HEAD)" = "$(git log -1 --format=%H)" ] && [ -z "$(git status --porcelain --ignored)" ] &&
    [ "$(git log --format=%s | tail -n 1)" = start ] && pwd >>"$OUT" && [ -e "$1" ]
END
    git add . && git commit -q -m check
    begin_plan 'workspace: {include: [user.o]}' 'landing: {verify: {command: "sh check.sh file", clean: true}}'
    attack good 'echo 1 >one; echo o >left.o; echo x >"$HOME/made"; echo y >"$TMPDIR/made"' "env: {OUT: $BATS_TEST_TMPDIR/out}" \
        'verify: {command: [sh, check.sh, one], clean: true}'
    attack bad 'echo 1 >two.o; echo 2 >two' "env: {OUT: $BATS_TEST_TMPDIR/out}" 'retry: {verify: 0}' \
        'verify: {command: [sh, check.sh, two.o], clean: true}'
    rm "$HOME/.config-of-test"
    run_engines -j 1
    assert_status 1
    assert_summary good landed
    assert_summary bad 'verify: verification failed (exit code 1)'
    [[ $(wc -l <"$BATS_TEST_TMPDIR/out") == 3 ]] || fail "$(<"$BATS_TEST_TMPDIR/out")"
    while read -r dir; do [[ ! -e $dir ]] || fail "left: $dir"; done <"$BATS_TEST_TMPDIR/out"
    assert_clean 'refs/anabranch/salvage/*'
}

@test "landing: a sibling that puts a symlink in the place of a clean tree has nothing of the user's changed" {
    make_repo
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir "$TMPDIR"
    git clone -q . "$HOME/other"
    echo uncommitted >"$HOME/other/file"
    echo precious >"$HOME/other/new"
    begin_plan 'defaults: {retry: 0}'
    attack evil "python3 - <<END
import glob, os
while not (found := glob.glob('$TMPDIR/anabranch-*-honest.*/tree/.git/config')):
    pass
tree = os.path.dirname(os.path.dirname(found[0]))
os.rename(tree, tree + '.away')
os.symlink('$HOME/other', tree)
open('$BATS_TEST_TMPDIR/swapped', 'w').close()
END" 'read_only: true'
    attack honest 'echo 1 >file; echo 2 >new' \
        "verify: {command: \"$(until_exists swapped); pwd -P >>$BATS_TEST_TMPDIR/where\", clean: true}"
    run_engines -j 2
    [[ $(<"$HOME/other/file") == uncommitted ]] || fail "a file of another repository is gone"
    [[ $(<"$HOME/other/new") == precious ]] || fail "an untracked file of another repository is gone"
    [[ $(git -C "$HOME/other" status --porcelain) == $' M file\n?? new' ]] || fail "its index is not what it was"
    assert_status 1
    assert_summary honest 'is not the folder that we made'
    ! grep -F "$HOME" "$BATS_TEST_TMPDIR/where" || fail "verified there"
}

@test "landing: a run that is killed during a clean verification leaves no tree when it is resumed" {
    make_repo
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir "$TMPDIR"
    begin_plan
    attack t 'echo 1 >one' "verify: {clean: true, command: \"touch $BATS_TEST_TMPDIR/verifying; $(until_exists again)\"}"
    "$ANABRANCH" run plan.yaml >/dev/null 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/verifying"
    kill -KILL "$engine"
    wait "$engine" || true
    compgen -G "$TMPDIR/anabranch-*-t.*" || fail "there was no tree"
    touch "$BATS_TEST_TMPDIR/again"
    run_apart anabranch resume 3>&-
    assert_summary t landed
    ! compgen -G "$TMPDIR/anabranch-*" || fail "left"
    assert_clean
}

# Landed work

trailers() { # TASK RUN
    printf 'done\n\nAnabranch-Task: %s\nAnabranch-Run: %s\n' "$1" "$2"
}

sql() {
    sqlite3 .git/anabranch/state.db "$1"
}

@test "landing: a commit on the base that says it is a task's does not make that landed, when the run is resumed" {
    make_repo
    begin_plan 'landing: {style: squash}'
    # The run dies when the task has committed, and the base has a commit with its trailers.
    attack t 'echo 1 >one' "verify: \"touch $BATS_TEST_TMPDIR/verifying; $(until_exists again)\""
    "$ANABRANCH" run plan.yaml >/dev/null 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/verifying"
    kill -KILL "$engine"
    wait "$engine" || true
    run=$(basename .git/anabranch/runs/*)
    git commit -q --allow-empty -m "$(trailers t "$run")"
    touch "$BATS_TEST_TMPDIR/again"
    run_apart anabranch resume 3>&-
    assert_summary t landed
    assert_in main one 1
}

@test "landing: a store that is made again believes what was written when tasks landed, not what commits say" {
    make_repo
    begin_plan
    add_task good 'engine: sim' -- 'write one 1'
    add_task bad 'engine: sim' 'retry: {transient: 0}' -- 'exit 1'
    run_engines
    run=$(basename .git/anabranch/runs/*)
    git commit -q --allow-empty -m "$(trailers bad "$run")"
    printf '%s bad\n' "$(git commit-tree -m x "HEAD^{tree}")" main >>".git/anabranch/runs/$run/+landed"
    rm .git/anabranch/state.db*
    begin_plan
    add_task other 'engine: sim' -- 'write two 2'
    run_engines
    [[ $(sql "select id, state from tasks where run = '$run' order by id" | paste -s -d ' ') == \
        'bad|running good|landed' ]] || fail "$(sql 'select id, state, landed from tasks')"
}

@test "landing: a store that is made again takes no commit of an agent for one that we made when it was done" {
    make_repo
    begin_plan
    attack half "[ -e $BATS_TEST_TMPDIR/again ] && exec touch whole
        echo 1 >half; git add half; git commit -qm 'Half

Anabranch-Task: half'; touch $BATS_TEST_TMPDIR/working; $(until_exists again)"
    "$ANABRANCH" run plan.yaml >/dev/null 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/working"
    kill -KILL "$engine"
    wait "$engine" || true
    touch "$BATS_TEST_TMPDIR/again"
    rm .git/anabranch/state.db*
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main whole ''
    refute_in main half
}

@test "landing: an agent that moves the base is reported, whatever the commit says; another run is not" {
    make_repo
    begin_plan
    attack evil 'git update-ref refs/heads/main $(git commit-tree -p main -m x -m "Anabranch-Run: 20260101-000000-abcd" main^{tree})
        echo 1 >one'
    run_engines --json
    assert_event git.state_changed '' '"name":"refs/heads/main"'
    git reset -q --hard
    echo other.yaml >>.git/info/exclude
    printf 'tasks:\n  - {id: o, prompt: "sim> write three 3"}\n' >other.yaml
    begin_plan
    attack calm "touch $BATS_TEST_TMPDIR/running; $(until_exists landed); echo 2 >two"
    "$ANABRANCH" run --json plan.yaml >../events 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/running"
    run_apart anabranch run --engine sim other.yaml 3>&-
    assert_status 0
    touch "$BATS_TEST_TMPDIR/landed"
    wait "$engine" || fail "$(<../events)"
    ! grep git.state_changed ../events || fail "$(<../events)"
    assert_in main three 3
    assert_in main two 2
}
