#!/usr/bin/env bats
# A person works in the repository during a run: they rebase, merge, switch, prune. They lose nothing, and we lose
# nothing.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # start_plan sets events, run_apart stderr

load ../cli/helper
load ../cli/run_helper
load attacks_helper

teardown() {
    touch "$BATS_TEST_TMPDIR/go" # a git that is held ends
    end_agents
}

# A line of shell for an agent by which a person does something in their own checkout.
person() { # NAME LINE...
    local script=$BATS_TEST_TMPDIR/person-$1
    shift
    {
        printf '#!/bin/bash\nunset GIT_CEILING_DIRECTORIES GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE\ncd %q || exit\n' "$PWD"
        printf '%s\n' "$@"
    } >"$script"
    chmod +x "$script"
    echo "$script"
}

# Two branches that a rebase, a merge or a cherry-pick of one onto the other stops at, and the commits of main.
diverge() {
    git switch -q -c up
    echo upper >file
    git commit -qam upper
    git switch -q main
    echo lower >file
    git commit -qam lower
    echo outer >dir/inner
    git commit -qam outer
    echo outmost >dir/inner
    git commit -qam outmost
}

result_of_run() {
    git for-each-ref --format='%(refname:short)' 'refs/heads/anabranch/*/+result'
}

# A run in whose middle the user begins something with main: it moves neither branch nor checkout, says why, and
# leaves what landed on a branch.
run_in_the_middle() { # OPERATION LINE
    local before
    begin_plan
    add_task a -- "sh $(person op "$2")" 'write a work'
    before=$(git rev-parse main)
    ANABRANCH_PATIENCE=300ms run_plan
    [[ $(git rev-parse main) == "$before" ]] || fail "main was moved in the middle of $1"
    [[ ! -e a ]] || fail "the checkout was moved in the middle of $1"
    assert_status 4
    assert_contains "$1 of 'main' is in progress in '$PWD'"
    assert_contains 'not yet on main'
    assert_in "$(result_of_run)" a work
}

@test "people: nothing lands on a branch that the user rebases, and an abort loses nothing" {
    make_repo
    diverge
    run_in_the_middle 'a rebase' 'git rebase -q up >/dev/null 2>&1; test -d .git/rebase-merge'
    git rebase --abort
    assert_in "$(result_of_run)" a work
    run_apart anabranch status
    assert_contains "main does not have all landed work; it is on $(result_of_run)"
    assert_unchanged_checkout
    git merge -q "$(result_of_run)"
    [[ $(<a) == work ]] || fail 'the branch does not have it'
}

@test "people: work that the abort of a rebase would take from the base is kept on a branch" {
    make_repo
    diverge
    begin_plan
    add_task a -- 'write a work'
    # The user's git noted where main was just before we moved it.
    add_task b 'depends_on: [a]' 'read_only: true' -- "sh $(person op 'export GIT_SEQUENCE_EDITOR="sed -i 1ibreak"' \
        'git rebase -q -i HEAD~1 && git rev-parse "main^1" >.git/rebase-merge/orig-head')"
    run_plan
    assert_status 4
    assert_in main a work
    assert_in "$(result_of_run)" a work
    assert_contains "a rebase of 'main' is in progress in '$PWD': finish or abort it first"
    git rebase --abort
    [[ ! -e a ]] || fail 'the abort has not taken main back'
    run_apart anabranch resume
    assert_status 0
    [[ $(<a) == work ]] || fail 'it does not land again'
    assert_clean
}

@test "people: a rebase that began after the landings takes nothing from the base" {
    make_repo
    diverge
    begin_plan
    add_task a -- 'write a work'
    add_task b 'depends_on: [a]' 'read_only: true' -- "sh $(person op 'export GIT_SEQUENCE_EDITOR="sed -i 1ibreak"' \
        'git rebase -q -i HEAD~1')"
    run_plan
    assert_status 0
    git rebase --abort
    assert_in main a work
    assert_clean
}

@test "people: nothing lands in the middle of a merge, cherry-pick, revert, git am or bisection" {
    local operation line
    make_repo
    diverge
    git format-patch -q --stdout up~1..up >"$BATS_TEST_TMPDIR/patch"
    while IFS=: read -r operation line; do
        run_in_the_middle "$operation" "$line >/dev/null 2>&1; true"
        git branch -q -D "$(result_of_run)"
        git am --abort 2>/dev/null || git bisect reset >/dev/null 2>&1
        git reset -q --hard
        git switch -q main
        assert_unchanged_checkout
    done <<'END_OF_CASES'
a merge:git merge up
a cherry-pick or revert:git cherry-pick up
a revert:git revert --no-edit HEAD~1
git am:git am "${0%/*}/patch"
a bisection:git bisect start HEAD HEAD~2
END_OF_CASES
}

@test "people: work that waits for the user's rebase lands when that is over" {
    make_repo
    diverge
    begin_plan
    add_task a -- "sh $(person op 'git rebase -q up >/dev/null 2>&1; test -d .git/rebase-merge')" 'write a work'
    add_task b 'depends_on: [a]' -- 'write b work'
    start_plan
    wait_for grep -q 'waiting for the user: a rebase' "$events"
    in_events task.landed b || fail 'b waits for the user'
    grep -q '"kept":"refs/anabranch/runs/' "$events" || fail 'it does not say where they are'
    echo lower >file
    git add file
    GIT_EDITOR=true git rebase --continue >/dev/null 2>&1
    end_plan
    assert_status 0
    assert_in main a work
    assert_in main b work
    assert_in main file lower
    assert_unchanged_checkout
    assert_clean
}

@test "people: a commit that someone amends or drops during the run stays as they made it" {
    make_repo
    echo before >file
    git commit -qam before
    begin_plan
    add_task a -- "sh $(person amends 'echo after >file; git commit -qa --amend -m after')" 'write a work'
    run_plan
    assert_status 0
    assert_in main file after
    assert_in main a work
    assert_unchanged_checkout
    assert_clean
    git reset -q --hard main~2
    begin_plan
    add_task b -- "sh $(person drops 'echo x >dir/inner; git commit -qam x; git rebase -q --onto HEAD~2 HEAD~1')" 'write b work'
    run_plan
    assert_status 0
    [[ $(git show main:file) == one* ]] || fail "what was dropped is back"
    assert_in main dir/inner x
    assert_in main b work
    assert_unchanged_checkout
    assert_clean
}

# The line that says so comes before the first agent starts.
assert_noted_first() { # TEXT
    local note start
    note=$(grep -nF -e "$1" <<<"$output" | head -n 1)
    start=$(grep -n 'started sim' <<<"$output" | head -n 1)
    [[ $note && ${note%%:*} -lt ${start%%:*} ]] || fail "it does not say so first: $1"
}

@test "people: changes in the checkout that will keep main from moving are named before the run" {
    local change
    make_repo
    for change in 'echo mine >>file' 'echo mine >>file; git add file'; do
        eval "$change"
        begin_plan
        add_task a 'owns: [file]' -- 'append file ten'
        run_plan
        assert_status 4
        assert_noted_first 'main is checked out here with uncommitted changes: file.'
        assert_contains ' on refs/anabranch/runs/'
        assert_contains ', not yet on main'
        run_apart anabranch status --json
        [[ $(jq -r .kept <<<"$output") == refs/heads/$(result_of_run) ]] || fail 'the report does not name the branch'
        git branch -q -D "$(result_of_run)"
        begin_plan
        add_task b 'owns: [b]' -- "write b '$change'"
        run_plan
        assert_status 0
        refute_contains 'not committed'
        assert_contains ' on main'
        git reset -q --hard
    done
}

@test "people: changes in another work tree that has main are named before the run, with a command that works" {
    local there=$BATS_TEST_TMPDIR/there advice
    make_repo
    git switch -q -c side
    git worktree add -q "$there" main
    echo mine >>"$there/file"
    begin_plan 'base: main'
    add_task a 'owns: [file]' -- 'append file ten'
    run_plan
    assert_status 4
    assert_noted_first "main is checked out in '$there' with uncommitted changes: file."
    assert_contains ', not yet on main'
    git -C "$there" checkout -q file
    advice=$(grep '^  git ' <<<"$output")
    bash -c "$advice" || fail "$advice"
    assert_in main file "$(git show side:file)"$'\nten'
    # Without changes there is nothing to say.
    begin_plan 'base: main'
    add_task b 'owns: [b]' -- 'write b 1'
    run_plan
    assert_status 0
    refute_contains 'uncommitted'
    git worktree remove "$there"
}

# The advice leads to a merge with a conflict in that work tree. Takes it back.
assert_conflict_in() { # TREE ADVICE
    ! bash -c "$2" >/dev/null 2>&1 || fail "no conflict: $2"
    git -C "$1" rev-parse -q --verify MERGE_HEAD >/dev/null || fail "no merge in $1: $2"
    git -C "$1" merge --abort
}

@test "people: with main in another work tree, each advice to merge by hand names that work tree" {
    local there="$BATS_TEST_TMPDIR/over there" advice id shown quote='&#39;'
    make_repo
    git switch -q -c side
    git worktree add -q "$there" main
    echo mine >>"$there/dir/inner"
    begin_plan 'base: main' 'overlap: allow'
    add_task loses -- "sh $(until_exists on)" 'sh sed -i s/five/loses/ file'
    add_task wins -- 'sh sed -i s/five/wins/ file' 'append dir/inner more'
    add_task starts 'depends_on: [wins]' -- "sh touch $BATS_TEST_TMPDIR/on" 'write starts 1'
    run_plan --report r.html
    assert_status 4
    id=$(basename .git/anabranch/runs/*)
    advice="git -C '$there' merge anabranch/$id"
    shown=${advice//\'/"$quote"}
    assert_line "  $advice/loses"
    grep -qF "<code>$shown/loses</code>" r.html || fail "the report:" "$(grep -A3 'by hand' r.html)"
    run anabranch status
    assert_line "  $advice/loses"
    assert_line "  $advice/+result"
    run anabranch report last --format html
    grep -qF "<code>$shown/loses</code>" <<<"$output" || fail 'not in the report'
    git -C "$there" checkout -q dir/inner
    bash -c "$advice/+result" || fail "$advice/+result"
    assert_conflict_in "$there" "$advice/loses"
    # A person who looks from there can merge there.
    run env -C "$there" "$ANABRANCH" status
    assert_line "  git switch main && git merge anabranch/$id/loses"
    git worktree remove "$there"
}

@test "people: if the base is gone, status and the run say how to make it again" {
    make_repo
    git branch other
    begin_plan 'base: other'
    add_task a -- "sh cd $PWD && env -u GIT_CEILING_DIRECTORIES git branch -D other" 'write a 1'
    run_plan
    assert_status 4
    local advice
    advice="git branch other $(result_of_run)"
    assert_line "  $advice"
    run anabranch status
    assert_line "  $advice"
}

@test "people: a rebase that is under way when the run starts is named first" {
    make_repo
    diverge
    git rebase -q up >/dev/null 2>&1 || true
    begin_plan 'base: main'
    add_task a -- 'write a work'
    ANABRANCH_PATIENCE=200ms run_plan
    assert_status 4
    assert_noted_first "nothing can land on main yet: a rebase of 'main' is in progress"
}

# The dry run has the line with which the run of the same plan begins, and changes nothing.
assert_dry_run_says() { # LINE
    local before line
    before=$(git status --porcelain; git for-each-ref; sha256sum .git/index)
    run_apart anabranch run --engine sim --dry-run plan.yaml
    assert_status 0
    [[ -z $stderr ]] || fail 'it complains'
    line=$(grep -F -e "$1" <<<"$output") || fail "not said: $1"
    [[ $(git status --porcelain; git for-each-ref; sha256sum .git/index) == "$before" ]] || fail 'it changed something'
    [[ ! -e .git/anabranch/state.db ]] || fail 'it has made a store'
    ANABRANCH_PATIENCE=200ms run_plan
    assert_status 4
    assert_noted_first "$line"
}

@test "people: a dry run names what will keep main from moving, as the run does" {
    local there=$BATS_TEST_TMPDIR/there
    make_repo
    begin_plan 'base: main'
    add_task a 'owns: [file]' -- 'append file ten'
    run_apart anabranch run --engine sim --dry-run plan.yaml
    assert_status 0
    refute_contains uncommitted
    refute_contains 'can land'
    echo mine >>dir/inner # no task may change it
    run_apart anabranch run --engine sim --dry-run plan.yaml
    refute_contains uncommitted
    echo mine >>file
    assert_dry_run_says 'main is checked out here with uncommitted changes: file. Work'
    rm -r .git/anabranch
    git add file
    assert_dry_run_says 'main is checked out here with uncommitted changes: file. Work'
    git reset -q --hard
    rm -r .git/anabranch
    git switch -q -c side
    git worktree add -q "$there" main
    echo mine >>"$there/file"
    assert_dry_run_says "main is checked out in '$there' with uncommitted changes: file. Work"
    git worktree remove --force "$there"
}

@test "people: a dry run names a rebase that is under way" {
    make_repo
    diverge
    git rebase -q up >/dev/null 2>&1 || true
    begin_plan 'base: main'
    add_task a -- 'write a work'
    assert_dry_run_says "nothing can land on main yet: a rebase of 'main' is in progress in '$PWD': finish or abort it first"
}

# Runs a command of the user's again and again while a run is at work.
again_and_again() { # COMMAND...
    until [[ -e $BATS_TEST_TMPDIR/enough ]]; do
        "$@" >>"$BATS_TEST_TMPDIR/again.out" 2>&1
    done
}

assert_run_survives() { # STEP COMMAND...: the last task does the step
    local i step=$1
    shift
    make_repo
    begin_plan 'limits: {workers: 4}'
    for i in 1 2 3 4 5 6 7 8; do
        add_task t$i 'retry: 0' -- "write n$i x" 'sleep 20ms' "append file$i more" "on 1 sh test $i != 8"
    done
    add_task t9 'retry: 0' -- "sh $step" 'write n9 x'
    again_and_again "$@" 3>&- &
    run_plan
    touch "$BATS_TEST_TMPDIR/enough"
    wait
    assert_status 1
    for i in 1 2 3 4 5 6 7; do assert_in main file$i more; done
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" file8 more
    git gc -q --prune=now || fail 'the lock is still there'
    git fsck --no-dangling >"$BATS_TEST_TMPDIR/fsck" 2>&1 || fail "$(<"$BATS_TEST_TMPDIR/fsck")"
}

@test "people: git gc --prune=now, again and again, waits for the end of the run" {
    # The run goes on until a git was refused; by the lock file, if it began while we took the lock.
    assert_run_survives "until grep -q 'gc is already running\\|gc.pid.lock' '$BATS_TEST_TMPDIR/again.out'; do sleep 0.02; done" \
        git gc --prune=now
}

@test "people: git repack -ad, again and again, does no harm" {
    assert_run_survives true git repack -adq
}

@test "people: a run waits for a git gc that is at work, and says so" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    local gc
    sleep 1000 3>&- &
    gc=$!
    echo "$gc $(hostname)" >.git/gc.pid
    start_plan
    wait_for grep -q "waiting for git gc, which runs here as process $gc" "$events"
    ! in_events task.ready a || fail 'it did not wait'
    kill "$gc"
    end_plan
    assert_status 0
    [[ ! -e .git/gc.pid ]] || fail "left: $(<.git/gc.pid)"
}

# A person's gcs, without a moment between two of them: each has written its gc.pid, as git does it, before the last
# one ends. They stop when one is refused.
gcs_without_a_gap() {
    local pid last=
    trap 'kill $pid $last; exit' TERM
    while :; do
        sleep 1000 3>&- &
        pid=$!
        (set -C && echo "$pid $(hostname)" >.git/gc.pid.lock) 2>/dev/null || break
        mv .git/gc.pid.lock .git/gc.pid
        touch "$BATS_TEST_TMPDIR/gcs"
        [[ ! $last ]] || kill "$last"
        last=$pid
    done
    touch "$BATS_TEST_TMPDIR/refused"
    kill "$pid" "$last"
    wait
}

@test "people: a run comes next where one git gc follows the other without a gap" {
    make_repo
    begin_plan
    add_task a -- "sh cp $PWD/.git/gc.pid $BATS_TEST_TMPDIR/holder" 'write a work'
    gcs_without_a_gap 3>&- &
    local gcs=$!
    wait_for test -e "$BATS_TEST_TMPDIR/gcs"
    ANABRANCH_PATIENCE=2s run_plan
    [[ -e $BATS_TEST_TMPDIR/refused ]] || kill "$gcs"
    wait "$gcs" || true
    assert_status 0
    [[ $(<"$BATS_TEST_TMPDIR/holder") == *anabranch ]] || fail "it ran without the lock: $(<"$BATS_TEST_TMPDIR/holder")"
    [[ ! -e .git/gc.pid && ! -e .git/gc.pid.lock ]] || fail 'something is left'
}

@test "people: the gc lock of a run that was killed is no lock, and goes with the next" {
    make_repo
    begin_plan
    add_task a -- 'write a work' 'sleep 300ms'
    start_plan
    wait_for test -s .git/gc.pid
    kill -KILL "$engine"
    wait "$engine" || true
    git gc -q --prune=now
    wait_for no_agents
    run_apart anabranch resume 3>&-
    assert_status 0
    [[ ! -e .git/gc.pid ]] || fail "left: $(<.git/gc.pid)"
}

@test "people: a base that someone puts a conflicting commit on stays, and the run ends" {
    make_repo
    begin_plan 'landing: {at: end}'
    add_task a -- 'sh sed -i s/five/ours/ file'
    add_task b 'depends_on: [a]' -- "sh $(committer file theirs)" 'write g 1'
    run_plan
    assert_status 4
    assert_contains 'Your checkout of main could not follow.'
    assert_in main file theirs
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/+result')" g 1
}

# From now on a person tries to leave main right before each git of ours, as long as main has not moved.
try_to_leave() {
    before=$(git rev-parse main)
    # shellcheck disable=SC2016
    wrap_git "repo='$PWD' before=$before" \
        'export -n GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE' \
        'person() { (cd "$repo" && unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_CONFIG_GLOBAL && "$git" "$@"); }' \
        'if [[ $(person rev-parse main) == "$before" ]]; then' \
        '    person switch -q side >>"$dir/said" 2>&1 && echo switch >>"$dir/left"' \
        '    person stash push -q -u >>"$dir/said" 2>&1 && echo stash >>"$dir/left"' \
        'fi' \
        'export GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE' \
        'for v in GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE; do [[ -v $v && ${!v} ]] || unset "$v"; done'
}

assert_could_not_leave() {
    [[ ! -e $BATS_TEST_TMPDIR/left ]] || fail "the half move was carried along: $(<"$BATS_TEST_TMPDIR/left")" "$(git status --short)"
    grep -q 'index.lock.*File exists' "$BATS_TEST_TMPDIR/said" || fail 'nobody tried'
    [[ ! -e .git/index.lock ]] || fail 'the lock is still there'
}

@test "people: the checkout that was half moved when all was killed stays locked until a resume has moved it" {
    make_repo
    git branch side
    begin_plan
    add_task a -- 'write a work' 'append file more' 'write b work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge ]]; then' '    echo work >"$GIT_WORK_TREE/a"' '    kill -KILL $PPID $$' 'fi'
    run_plan
    real_git
    assert_status 137
    try_to_leave
    run_apart anabranch resume 3>&-
    real_git
    assert_status 0
    assert_could_not_leave
    assert_in main a work
    assert_in main b work
    assert_unchanged_checkout
    assert_clean
}

@test "people: the checkout that was half moved when our git alone was killed stays locked until we have moved it" {
    make_repo
    git branch side
    begin_plan
    add_task a -- 'write a work' 'write b work'
    try_to_leave
    # shellcheck disable=SC2016
    sed -i -e '/^git=/s/$/\n[[ ! -e $dir\/half ]] || armed=1/' -e 's/^if \[\[ $(person/if [[ $armed \&\& $(person/' -e '$d' "$BATS_TEST_TMPDIR/bin/git"
    # shellcheck disable=SC2016
    printf '%s\n' 'if [[ $sub == merge && ! -e $dir/half ]]; then' '    touch "$dir/half"' \
        '    echo work >"$GIT_WORK_TREE/a"' '    kill -KILL $$' 'fi' 'exec "$git" "$@"' >>"$BATS_TEST_TMPDIR/bin/git"
    run_plan
    real_git
    assert_status 0
    assert_could_not_leave
    assert_in main b work
    assert_unchanged_checkout
    assert_clean
}

# The lines of shell by which the person makes a branch in their checkout and works on there: `git switch -c` needs
# no lock.
leaving() {
    # shellcheck disable=SC2016 # the wrapper expands it
    printf '(cd %q && unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE && "$git" switch -q -c own && touch "$dir/left")\n' "$PWD"
}

# A plan that changes, makes and removes files.
plan_of_many_changes() {
    printf '%s\n' 1 2 >grown
    for name in cut gone mine; do echo "$name" >"$name"; done
    git add .
    git commit -q -m more
    begin_plan 'base: main'
    add_task a -- 'write new/a work' 'write new/b work' 'write taken work' 'append file more' 'append mine more' \
        'append dir/inner more' 'append grown 3' 'write cut longer' 'delete gone'
}

# Our git is killed with the engine after it has written some files.
kill_in_the_middle() {
    # shellcheck disable=SC2016 # the wrapper expands it
    wrap_git 'if [[ $sub == merge ]]; then' '    cd "$GIT_WORK_TREE"' '    mkdir new' '    echo work >new/a' '    printf wo >new/b' \
        '    echo work >taken' '    echo more >>file' '    echo more >>mine' '    rm dir/inner gone' '    printf lon >cut' \
        '    kill -KILL $PPID $$' 'fi'
    run_plan
    real_git
    assert_status 137
    [[ -e .git/index.lock ]] || fail 'the checkout is not locked'
}

# HEAD, index and files are those of the branch that the person made at the commit from which main moved.
assert_on_own() { # COMMIT
    [[ $(git symbolic-ref HEAD) == refs/heads/own ]] || fail "HEAD is $(<.git/HEAD)"
    [[ $(git rev-parse own) == "$1" ]] || fail 'the branch of the user has moved'
    assert_unchanged_checkout
    git diff-files --quiet || fail 'the index has old times'
    [[ ! -e .git/index.lock && ! -e .git/anabranch/forwarding ]] || fail 'a lock or a note is left'
}

@test "people: a checkout that was half moved when all was killed is taken back if its user has made a branch there" {
    local command before
    for command in resume 'run plan.yaml --engine sim' clean; do
        rm -rf "$BATS_TEST_TMPDIR/own" && mkdir "$BATS_TEST_TMPDIR/own" && cd "$BATS_TEST_TMPDIR/own"
        make_repo
        plan_of_many_changes
        before=$(git rev-parse HEAD)
        kill_in_the_middle
        git switch -q -c own
        # shellcheck disable=SC2086
        run_apart anabranch $command 3>&-
        assert_status 0
        assert_on_own "$before"
        [[ $command == clean ]] || assert_in main new/a work
        git switch -q main
        assert_unchanged_checkout
    done
}

@test "people: a half move that is taken back leaves files that the user has changed since" {
    make_repo
    plan_of_many_changes
    kill_in_the_middle
    git switch -q -c own
    echo mine >taken
    echo own >>mine
    echo other >untracked
    rm .git/index.lock
    echo staged >file
    git add file
    run_apart anabranch resume 3>&-
    assert_status 0
    [[ $(git status --porcelain) == $'M  file\n M mine\n?? taken\n?? untracked' ]] || fail "$(git status --porcelain)"
    [[ $(<taken) == mine && $(<mine) == $'mine\nmore\nown' && $(<untracked) == other ]] || fail 'a file of the user is lost'
    assert_in main taken work
}

@test "people: a half move is taken back from a checkout that is at another commit" {
    make_repo
    plan_of_many_changes
    kill_in_the_middle
    rm .git/index.lock
    git switch -q --detach
    git add file taken
    git commit -q -m 'with a part of the move'
    git rm -q --cached mine
    run_apart anabranch resume 3>&-
    assert_status 0
    [[ $(git status --porcelain) == $'D  mine\n?? mine' ]] || fail "$(git status --porcelain)"
    [[ $(<taken) == work && $(<mine) == $'mine\nmore' && $(tail -n 1 file) == more ]] || fail 'a file of the user is lost'
    assert_in main mine $'mine\nmore'
}

@test "people: a half move that is taken back writes no file outside of a sparse checkout, and other files despite an obstacle" {
    make_repo
    plan_of_many_changes
    git sparse-checkout set --no-cone '/*' '!/dir/' 2>/dev/null
    mkdir dir
    kill_in_the_middle
    git switch -q -c own
    rmdir dir
    mkdir gone
    echo own >gone/own
    run_apart anabranch resume 3>&-
    assert_status 0
    [[ $(git status --porcelain) == ' D gone' && -e gone/own && ! -e dir ]] || fail "$(git status --porcelain)" "$(ls dir)"
    assert_in main taken work
}

@test "people: a half move that is taken back follows no symlink" {
    make_repo
    plan_of_many_changes
    kill_in_the_middle
    git switch -q -c own
    mv new "$BATS_TEST_TMPDIR/outside"
    ln -s "$BATS_TEST_TMPDIR/outside" new
    rmdir dir
    mkdir "$BATS_TEST_TMPDIR/empty"
    ln -s "$BATS_TEST_TMPDIR/empty" dir
    run_apart anabranch resume 3>&-
    assert_status 0
    [[ $(<"$BATS_TEST_TMPDIR/outside/a") == work && -e $BATS_TEST_TMPDIR/outside/b ]] || fail 'a file outside has changed'
    [[ -z $(ls "$BATS_TEST_TMPDIR/empty") && -L dir && -L new ]] || fail 'a file was written outside'
    [[ $(git status --porcelain) == $' D dir/inner\n?? dir\n?? new' ]] || fail "$(git status --porcelain)"
}

@test "people: a move whose index was installed when all was killed is taken back if its user has made a branch there" {
    local before when
    for when in before after; do
        rm -rf "$BATS_TEST_TMPDIR/own" && mkdir "$BATS_TEST_TMPDIR/own" && cd "$BATS_TEST_TMPDIR/own"
        make_repo
        plan_of_many_changes
        before=$(git rev-parse HEAD)
        # shellcheck disable=SC2016 # the wrapper expands it
        wrap_git 'if [[ $sub == update-ref && $* == *refs/heads/main* ]]; then' "    $(leaving)" \
            "    [[ $when == before ]] || \"\$git\" \"\$@\"" '    kill -KILL $PPID $$' 'fi'
        run_plan
        real_git
        assert_status 137
        [[ -e $BATS_TEST_TMPDIR/left ]] || fail 'the user made no branch'
        run_apart anabranch resume 3>&-
        assert_status 0
        assert_on_own "$before"
        assert_in main new/a work
        rm "$BATS_TEST_TMPDIR/left"
    done
}

@test "people: a move during which the user makes a branch in the checkout lands, and the checkout stays" {
    local before when
    # shellcheck disable=SC2016 # the wrapper expands it
    for when in '$sub == merge' '$sub == update-ref && $* == *refs/heads/main*'; do
        rm -rf "$BATS_TEST_TMPDIR/own" && mkdir "$BATS_TEST_TMPDIR/own" && cd "$BATS_TEST_TMPDIR/own"
        make_repo
        plan_of_many_changes
        before=$(git rev-parse HEAD)
        wrap_git "if [[ $when && ! -e \$dir/left ]]; then" "    $(leaving)" 'fi'
        run_plan
        real_git
        assert_status 0
        [[ -e $BATS_TEST_TMPDIR/left ]] || fail 'the user made no branch'
        assert_on_own "$before"
        assert_in main new/a work
        assert_clean refs/heads/own
        rm "$BATS_TEST_TMPDIR/left"
    done
}

# The person's next git stops in the middle: when it writes `file` and holds the lock of the index ($PERSON is `file`), or
# when it has written the index, has released the lock, and has not yet moved HEAD or its branch (`index`).
slow_person() {
    cat >"$BATS_TEST_TMPDIR/hold" <<END
#!/bin/sh
if test "\$PERSON" = "\$1" && mkdir '$BATS_TEST_TMPDIR/held' 2>/dev/null; then
    n=0
    until test -e '$BATS_TEST_TMPDIR/go' || test \$n -gt 3000; do sleep 0.02; n=\$((n+1)); done
fi
END
    printf '#!/bin/sh\nsh %s index\n' "$BATS_TEST_TMPDIR/hold" >.git/hooks/post-index-change
    printf '#!/bin/sh\nsh %s file\ncat\n' "$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/smudge"
    chmod +x .git/hooks/post-index-change "$BATS_TEST_TMPDIR/smudge"
    git config filter.slow.smudge "$BATS_TEST_TMPDIR/smudge"
    git config filter.slow.clean cat
    echo 'file filter=slow' >.git/info/attributes
    cp .git/config "$BATS_TEST_TMPDIR/config"
}

begin_person() { # file|index WORK_TREE ARGUMENT OF GIT...
    local when=$1 tree=$2
    shift 2
    (
        status=0
        PERSON=$when git -C "$tree" "$@" || status=$?
        touch "$BATS_TEST_TMPDIR/ended"
        exit "$status"
    ) >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
    person=$!
    wait_for test -e "$BATS_TEST_TMPDIR/held"
}

end_person() {
    touch "$BATS_TEST_TMPDIR/go"
    wait "$person" || fail "the person's git failed: $(<"$BATS_TEST_TMPDIR/said")"
    rm -r "$BATS_TEST_TMPDIR"/{go,held,ended}
}

# A person's checkout is at `side`, or at main with AT. The linked work tree `linked` is at `side2`.
new_place() { # [AT]
    rm -rf "$BATS_TEST_TMPDIR/own" && mkdir "$BATS_TEST_TMPDIR/own" && cd "$BATS_TEST_TMPDIR/own" || return
    make_repo
    git switch -q -c side
    echo side >file
    git commit -qam side
    git branch side2
    [[ ! ${1-} ]] || git switch -q "$1"
    slow_person
    begin_plan 'base: main'
    add_task a -- 'write a work' 'append dir/inner more'
}

# Where, when, and with which arguments a person's git leaves the place from which main can move.
people_who_switch() {
    printf '%s\n' 'side file switch -q main' 'side index switch -q main' 'side file checkout -q main' \
        'side index checkout -q main --' 'side file rebase -q main~0 main' 'side index rebase -q main~0 main' \
        'main file switch -q side' 'main index switch -q side' 'main index checkout -q side' 'main index reset -q --hard' \
        'main index stash push -q' 'main index rebase -q side'
}

@test "people: nothing lands under a git that switches, resets or stashes for long, and the work stays on a branch" {
    local at when args before
    while read -r at when args; do
        new_place "$at"
        [[ $args != stash* ]] || echo more >>file
        before=$(git rev-parse main)
        # shellcheck disable=SC2086
        begin_person "$when" . $args
        ANABRANCH_PATIENCE=300ms run_plan
        assert_status 4
        [[ $(git rev-parse main) == "$before" ]] || fail "main has moved under: $args"
        assert_contains 'not yet on main'
        assert_in "$(result_of_run)" a work
        end_person
        assert_unchanged_checkout || fail "after: $when $args"
        [[ $args == rebase*side ]] || [[ $(git rev-parse main) == "$before" ]] || fail "main is another after: $args"
    done < <(people_who_switch)
}

@test "people: work lands when a git that switches, resets or stashes for long has ended" {
    local at when args
    while read -r at when args; do
        new_place "$at"
        [[ $args != stash* ]] || echo more >>file
        # shellcheck disable=SC2086
        begin_person "$when" . $args
        start_plan
        wait_for grep -q 'waiting for' "$events"
        end_person
        end_plan
        assert_status 0
        assert_in main a work
        assert_unchanged_checkout || fail "after: $when $args"
    done < <(people_who_switch)
}

@test "people: nothing lands while a git in another work tree switches to main for long" {
    local when before
    for when in file index; do
        new_place
        git worktree add -q ../linked side2
        before=$(git rev-parse main)
        begin_person "$when" ../linked switch -q main
        ANABRANCH_PATIENCE=300ms run_plan
        assert_status 4
        [[ $(git rev-parse main) == "$before" ]] || fail 'main has moved under a switch'
        end_person
        [[ -z $(git -C ../linked status --porcelain) ]] || fail "$(git -C ../linked status --porcelain)"
        git worktree remove ../linked
    done
}

@test "people: a git that waits in an editor or a prompt, or works on another branch, does not keep main from moving" {
    local args
    printf '#!/bin/sh\nPERSON=editor sh %s editor\n' "$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/editor"
    chmod +x "$BATS_TEST_TMPDIR/editor"
    for args in 'commit -q -a' 'rebase -q -i main' 'switch -q side2'; do
        new_place
        [[ $args != commit* ]] || echo more >>file
        [[ $args != switch* ]] || git branch -f side2 main~0
        GIT_EDITOR=$BATS_TEST_TMPDIR/editor
        export GIT_EDITOR
        # shellcheck disable=SC2086
        begin_person file . $args
        ANABRANCH_PATIENCE=300ms run_plan
        unset GIT_EDITOR
        assert_status 0
        assert_in main a work
        [[ ! -e $BATS_TEST_TMPDIR/ended ]] || fail 'the git of the person has ended'
        touch "$BATS_TEST_TMPDIR/go"
        wait "$person" || true # without a message there is no commit
        rm -r "$BATS_TEST_TMPDIR"/{go,held,ended}
    done
}

# In a user namespace a run sees the arguments of gits, and not their folders. Here a relative folder of git hides the place.
@test "people: a rebase of another repository that waits in an editor does not keep main from moving" {
    new_place
    git clone -q -b side2 . ../other
    git -C ../other config user.name Tester
    git -C ../other config user.email tester@example.com
    git -C ../other branch -q main origin/main
    printf '#!/bin/sh\nPERSON=editor sh %s editor\n' "$BATS_TEST_TMPDIR/hold" >"$BATS_TEST_TMPDIR/editor"
    chmod +x "$BATS_TEST_TMPDIR/editor"
    GIT_EDITOR=$BATS_TEST_TMPDIR/editor begin_person file ../other --git-dir=.git rebase -q -i main
    ANABRANCH_PATIENCE=300ms run_plan
    assert_status 0
    assert_in main a work
    [[ ! -e $BATS_TEST_TMPDIR/ended ]] || fail 'the git of the person has ended'
    end_person
}

@test "people: a git that switches another work tree to main ends between our look at the work trees and the move" {
    local when
    for when in file index; do
        new_place
        git worktree add -q ../linked side2
        begin_person "$when" ../linked switch -q main
        begin_plan 'base: main'
        add_task a -- "sh touch $BATS_TEST_TMPDIR/armed" 'write a work' 'append dir/inner more'
        # shellcheck disable=SC2016 # the wrapper expands it
        wrap_git 'if [[ $sub == worktree && $* == *list* && -e $dir/armed && ! -e $dir/ended ]]; then' '    "$git" "$@"' \
            '    touch "$dir/go"' '    until test -e "$dir/ended"; do sleep 0.01; done' '    exit' 'fi'
        run_plan
        real_git
        [[ -e $BATS_TEST_TMPDIR/ended ]] || fail 'nobody looked at the work trees'
        end_person
        rm "$BATS_TEST_TMPDIR/armed"
        assert_status 0
        assert_in main a work
        [[ $(<../linked/a) == work ]] || fail 'the work tree did not follow'
        [[ -z $(git -C ../linked status --porcelain) ]] || fail "$(git -C ../linked status --porcelain)"
    done
}

@test "people: a work tree whose user begins to switch to main right before main moves has what landed" {
    new_place
    git worktree add -q ../linked side2
    # shellcheck disable=SC2016 # the wrapper expands it
    wrap_git 'if [[ $sub == update-ref && $* == *--stdin* ]]; then' '    while IFS= read -r line; do' \
        '        if [[ $line == *" refs/heads/main "* ]] && mkdir "$dir/moving" 2>/dev/null; then' \
        '            until test -e "$dir/held"; do sleep 0.01; done' '        fi' '        printf "%s\n" "$line"' \
        '    done | "$git" "$@"' '    exit' 'fi'
    start_plan
    real_git
    wait_for test -e "$BATS_TEST_TMPDIR/moving"
    begin_person file ../linked switch -q main
    wait_for git cat-file -e main:a
    [[ ! -e $BATS_TEST_TMPDIR/ended ]] || fail 'the switch has ended'
    end_person
    end_plan
    assert_status 0
    [[ -z $(git -C ../linked status --porcelain) ]] || fail "$(git -C ../linked status --porcelain)"
    [[ $(<../linked/a) == work && $(git -C ../linked symbolic-ref HEAD) == refs/heads/main ]] || fail 'the work tree did not follow'
    git worktree remove ../linked
    assert_clean
}
