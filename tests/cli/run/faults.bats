#!/usr/bin/env bats
# Faults of the machine: disk, descriptors, locks, git, clock. A run waits and says so, or stops with 3. It never loses
# work, and leaves nothing behind.
# shellcheck disable=SC2030,SC2031,SC2154 # each test is a process of its own

load ../helper
load ../run_helper

# A disk of our own, to fill or to write-protect, with the repository on it.
repo_on_disk() {
    disk=$BATS_TEST_TMPDIR/disk
    mkdir "$disk"
    mount -t tmpfs -o size=72m chaos "$disk" 2>/dev/null || skip 'cannot mount here'
    cd "$disk" || return
    make_repo
}

teardown() {
    end_agents
    cd /
    [[ ! -d ${BATS_TEST_TMPDIR}/disk ]] || umount -l "$BATS_TEST_TMPDIR/disk" 2>/dev/null || true
}

fill_disk() { # a line of shell
    echo "cat /dev/zero >$disk/ballast 2>/dev/null; true"
}

# The task's file is on the base, or in what was salvaged of it.
assert_saved() { # PATH TEXT
    local ref
    for ref in main $(git for-each-ref --format='%(refname)' refs/anabranch refs/heads/anabranch); do
        [[ $(git show "$ref:$1" 2>/dev/null) != "$2" ]] || return 0
    done
    cat .anabranch/worktrees/*/*/"$1" 2>/dev/null | grep -qxF -e "$2" || fail "lost: $1"
}

# With attributes, git looks at the files of a workspace, and not we.
make_repo_for_git() {
    make_repo
    echo 'file text' >.gitattributes
    git add .gitattributes && git commit -q -m attributes
}

is_stopped() {
    [[ $(ps -o state= -p "$engine") == T* ]]
}

@test "a disk that gets full ends the run with 3, and loses nothing" {
    repo_on_disk
    begin_plan 'limits: {workers: 1}'
    add_task a -- 'write a work'
    add_task b 'depends_on: [a]' 'retry: 0' -- 'write b work' "sh $(fill_disk)"
    run_plan
    assert_status 3
    [[ $stderr == *'full'* || $stderr == *'No space left'* ]] || fail 'it does not say why'
    rm "$disk/ballast"
    assert_saved a work
    assert_saved b work
    no_agents || fail "$(agents_alive)"
    [[ -z $(find .git -name '*.lock') ]] || fail "$(find .git -name '*.lock')"
    git fsck --connectivity-only
    assert_unchanged_checkout
}

@test "a disk without room is refused before anything is begun" {
    repo_on_disk
    begin_plan
    add_task a -- 'write a work'
    head -c 16m /dev/zero >"$disk/ballast"
    run_plan
    assert_status 3
    [[ $stderr == *'less than 64 MiB are free'* ]] || fail 'it does not say why'
    [[ ! -e .git/anabranch ]]
}

@test "a read-only file system is an error of the machine, with 3" {
    repo_on_disk
    begin_plan
    add_task a -- 'write a work'
    mount -o remount,ro "$disk"
    run_plan
    assert_status 3
    [[ $stderr == *'Read-only file system'* ]] || fail 'it does not say why'
}

@test "too few descriptors: agents that cannot start fail, and leave nothing behind" {
    make_repo
    begin_plan 'limits: {workers: 4}'
    for i in a b c d; do add_task $i 'retry: 0' -- "write $i work" 'sleep 50ms'; done
    for n in 10 14 18 22 26 30; do
        run_apart bash -c "ulimit -n $n; exec \"\$0\" run plan.yaml --engine sim 3>&-" "$ANABRANCH"
        assert_no_sanitizer
        [[ $status -eq 0 || $status -eq 1 || $status -eq 3 ]] || fail "with $n descriptors: $status"
        [[ $status -ne 3 || $stderr == *[Tt]'oo many open files'* || $stderr == *'unable to open database'* ]] ||
            fail "with $n descriptors it does not say why"
        no_agents || fail "$(agents_alive)"
        [[ $status -eq 3 ]] || break
    done
    run_plan
    git fsck --connectivity-only
    assert_unchanged_checkout
}

@test "another git's lock on the checkout is waited for, and said" {
    make_repo
    begin_plan
    add_task a -- 'write a work' "sh touch '$PWD/.git/index.lock'"
    start_plan
    wait_for grep -q index.lock "$events"
    kill -0 "$engine"
    rm .git/index.lock
    end_plan
    assert_status 0
    assert_in main a work
    assert_clean
    assert_unchanged_checkout
}

@test "a lock that stays leaves the result on a branch, and names the lock" {
    make_repo
    begin_plan
    add_task a -- 'write a work' "sh touch '$PWD/.git/index.lock'"
    export ANABRANCH_PATIENCE=2s
    run_plan
    assert_status 4
    [[ $output$stderr == *index.lock* ]] || fail 'it does not name the lock'
    rm .git/index.lock
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/+result')" a work
    assert_unchanged_checkout
}

@test "a lock on the base branch is waited for" {
    make_repo
    git branch side
    lock=$PWD/.git/refs/heads/side.lock
    begin_plan 'base: side'
    add_task a -- 'write a work' "sh touch '$lock'"
    start_plan
    wait_for in_events task.committed a
    sleep 0.5 # well beyond the tenth of a second that git waits by itself
    rm "$lock"
    end_plan
    assert_status 0
    assert_in side a work
    assert_clean
}

@test "a lock on the base branch that stays ends the run with 3, and loses nothing" {
    make_repo
    git branch side
    begin_plan 'base: side'
    add_task a -- 'write a work' "sh touch '$PWD/.git/refs/heads/side.lock'"
    export ANABRANCH_PATIENCE=2s
    run_plan
    assert_status 3
    [[ $stderr == *side.lock* ]] || fail 'it does not name the lock'
    rm .git/refs/heads/side.lock
    assert_saved a work
}

@test "packed-refs.lock is waited for" {
    make_repo
    git pack-refs --all
    begin_plan
    add_task a -- 'write a work' "sh touch '$PWD/.git/packed-refs.lock'"
    start_plan
    wait_for in_events task.committed a
    sleep 1.2 # git waits for one second by itself
    rm .git/packed-refs.lock
    end_plan
    assert_status 0
    assert_in main a work
    assert_clean
}

@test "packed-refs.lock that a killed git has left is taken away when it was waited for" {
    make_repo
    touch -d '1 minute ago' .git/packed-refs.lock
    begin_plan
    add_task a -- 'write a work'
    ANABRANCH_PATIENCE=2s run_plan
    assert_status 0
    assert_in main a work
    assert_clean
}

@test "packed-refs.lock is left alone as long as some git is there" {
    make_repo
    touch -d '1 minute ago' .git/packed-refs.lock
    git cat-file --batch <> <(:) >/dev/null 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/other.pid"
    begin_plan
    add_task a -- 'write a work'
    ANABRANCH_PATIENCE=2s run_plan
    kill "$(<"$BATS_TEST_TMPDIR/other.pid")"
    [[ -e .git/packed-refs.lock ]] || fail 'it has gone'
    assert_in main a work
}

# Gits of a person's in the repository, each of which begins before the last one ends.
gits_without_a_gap() {
    local pid last=
    trap 'kill $pid $last; exit' TERM
    while :; do
        git cat-file --batch <> "$BATS_TEST_TMPDIR/fifo" >/dev/null 3>&- &
        pid=$!
        sleep 0.05
        [[ ! $last ]] || kill "$last"
        last=$pid
        touch "$BATS_TEST_TMPDIR/gits"
    done
}

# A run that is killed together with a git of its own, which had locked what all share.
killed_with_locks() {
    make_repo
    git pack-refs --all
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge ]]; then' '    cd "$GIT_WORK_TREE" && touch .git/packed-refs.lock .git/config.lock' \
        '    echo "2147483646 $HOSTNAME anabranch" >.git/gc.pid.lock' '    kill -KILL $PPID $$' 'fi'
    run_plan
    real_git
    assert_status 137
    [[ -e .git/packed-refs.lock ]] || fail 'nothing was left'
}

@test "the locks of a git that died together with the engine go with a resume, however many gits come and go" {
    killed_with_locks
    mkfifo "$BATS_TEST_TMPDIR/fifo"
    gits_without_a_gap 3>&- &
    local gits=$!
    wait_for test -e "$BATS_TEST_TMPDIR/gits"
    ANABRANCH_PATIENCE=3s run_apart anabranch resume 3>&-
    kill "$gits"
    wait "$gits" || true
    assert_status 0
    assert_in main a work
    [[ -z $(find .git -name '*.lock') ]] || fail "left: $(find .git -name '*.lock')"
    assert_clean
}

@test "the locks of a git that died together with the engine go with clean, and the checkout is moved" {
    killed_with_locks
    echo work >a
    ANABRANCH_PATIENCE=3s run_apart anabranch clean
    assert_status 0
    assert_contains "removed  file $PWD/.git/packed-refs.lock"
    assert_contains "removed  file $PWD/.git/config.lock"
    assert_in main a work
    assert_unchanged_checkout
    [[ -z $(find .git -name '*.lock') ]] || fail "left: $(find .git -name '*.lock')"
}

@test "packed-refs.lock is left alone as long as a git is in another worktree, or has the git folder named" {
    local start
    make_repo
    git worktree add -q --detach "$BATS_TEST_TMPDIR/other"
    for start in "cd $BATS_TEST_TMPDIR/other" "export GIT_DIR=$PWD/.git; cd /" "cd /; set -- --git-dir=$PWD/.git"; do
        rm -f .git/packed-refs.lock "$BATS_TEST_TMPDIR/answer"
        touch -d '1 minute ago' .git/packed-refs.lock
        mkfifo "$BATS_TEST_TMPDIR/ask" 2>/dev/null || true
        (
            eval "$start"
            unset GIT_CEILING_DIRECTORIES
            exec git "$@" cat-file --batch-check <>"$BATS_TEST_TMPDIR/ask" >"$BATS_TEST_TMPDIR/answer" 3>&-
        ) &
        local other=$!
        echo HEAD >"$BATS_TEST_TMPDIR/ask"
        wait_for test -s "$BATS_TEST_TMPDIR/answer"
        begin_plan
        add_task a -- 'write a work'
        ANABRANCH_PATIENCE=2s run_plan
        kill "$other"
        [[ -e .git/packed-refs.lock ]] || fail "it has gone: $start"
        git reset -q --hard HEAD
    done
}

@test "a git that hangs is given up, whatever it was asked" {
    make_repo
    export ANABRANCH_PATIENCE=1500ms
    for hanging in write-tree hash-object merge-tree cat-file; do
        begin_plan
        add_task a 'retry: 0' -- "write $hanging work"
        # shellcheck disable=SC2016
        wrap_git "[[ \$sub != $hanging ]] || { touch \$dir/$hanging; exec sleep 60; }"
        begun=$SECONDS
        run_plan
        ((SECONDS - begun < 50)) || fail "$hanging: too late"
        real_git
        [[ -e $BATS_TEST_TMPDIR/$hanging ]] || continue # not one that a run asks
        [[ $status -eq 1 || $status -eq 3 ]] || fail "$hanging: a failure was expected"
        [[ $output$stderr == *'no answer'* || $output$stderr == *'did not end'* ]] || fail 'it does not say why'
        [[ $output != *'started sim'* ]] || assert_saved "$hanging" work
        no_agents || fail "$(agents_alive)"
    done
    [[ -n $(find "$BATS_TEST_TMPDIR" -maxdepth 1 -name '*-*' -newer .git/config) ]] || fail 'nothing hung'
    git fsck --connectivity-only
}

@test "a git that hangs while a worktree is filled is ended by a second signal" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git '[[ $sub != read-tree ]] || { touch "$dir/hangs"; exec sleep 60; }'
    stop_twice
    assert_clean
}

@test "a git that hangs while the engine waits for nothing else is ended by a second signal" {
    make_repo_for_git
    export ANABRANCH_PATIENCE=5m
    for hanging in add ls-files; do
        begin_plan
        add_task a 'retry: 0' -- "write $hanging work" 'exit 1'
        # shellcheck disable=SC2016
        wrap_git "[[ \$sub != $hanging || -e \$dir/$hanging ]] || { touch \$dir/$hanging; exec sleep 60; }"
        start_plan
        wait_for test -e "$BATS_TEST_TMPDIR/$hanging"
        sleep 1.2 # what has only just begun is not ended
        kill -INT "$engine"
        wait_for signal_seen
        kill -TERM "$engine"
        wait_for is_gone "$engine"
        end_plan
        real_git
        assert_status 130
        assert_saved "$hanging" work
        no_agents || fail "$(agents_alive)"
    done
}

@test "a git that hangs in the checkout is ended by a second signal, and what landed is on a branch" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git '[[ $sub != merge ]] || { touch "$dir/hangs"; exec sleep 60; }'
    stop_twice
    assert_clean 'refs/heads/anabranch/*/+result'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/+result')" a work
    assert_unchanged_checkout
}

@test "a git that hangs in the checkout is given up after a while" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    add_task b 'depends_on: [a]' -- 'write b work'
    # shellcheck disable=SC2016
    wrap_git '[[ $sub != merge ]] || exec sleep 60'
    export ANABRANCH_PATIENCE=2s
    begun=$SECONDS
    run_plan
    ((SECONDS - begun < 50)) || fail 'too late'
    real_git
    assert_status 4
    assert_contains 'did not end within'
    assert_clean 'refs/heads/anabranch/*/+result'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/+result')" b work
}

@test "another run that does not give up its turn is told, and not waited for after a second signal" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    mkdir .git/anabranch
    exec {turn}>.git/anabranch/turn
    flock "$turn"
    export ANABRANCH_PATIENCE=2s
    start_plan
    wait_for grep -q 'waiting for another anabranch run' "$events"
    kill -INT "$engine"
    wait_for signal_seen
    kill -INT "$engine"
    wait_for is_gone "$engine"
    end_plan
    exec {turn}>&-
    assert_status 130
    assert_clean 'refs/heads/anabranch/*/+result'
}

@test "a run that is stopped by ^Z in the middle of its turn lets others have theirs" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git '[[ $sub != merge || -e $dir/held ]] || {' \
        'touch "$dir/held"; until [[ -e $dir/go ]]; do sleep 0.02; done; }'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/held"
    kill -TSTP "$engine"
    wait_for is_stopped
    begin_plan
    add_task b -- 'write b work'
    run_apart timeout 60 "$ANABRANCH" run --engine sim plan.yaml 3>&-
    assert_status 0
    assert_in main b work
    touch "$BATS_TEST_TMPDIR/go"
    kill -CONT "$engine"
    end_plan
    real_git
    assert_status 0
    assert_in main a work
    assert_clean
    assert_unchanged_checkout
}

@test "a git that dies when it is asked for the repository is no reason to work outside of it" {
    make_repo
    begin_plan
    add_task a 'read_only: true' -- 'say hello'
    # shellcheck disable=SC2016
    wrap_git '[[ " $* " != *" --show-toplevel "* ]] || kill -KILL $$'
    run_plan
    real_git
    assert_status 3
    [[ $stderr == *"could not tell whether"* ]] || fail "$stderr"
    [[ ! -e .anabranch ]] || fail 'something was begun'
    assert_unchanged_checkout
}

@test "work that we cannot save stays in its place, is not overwritten by a retry, and a resume continues" {
    make_repo_for_git
    begin_plan
    add_task a 'retry: 3' -- 'write a work' 'on 1 exit 1'
    # shellcheck disable=SC2016
    wrap_git '[[ $GIT_INDEX_FILE != */salvage.index ]] || { echo "fatal: no room" >&2; exit 128; }'
    run_plan
    real_git
    assert_status 1
    [[ $(<.anabranch/worktrees/*/a/a) == work ]] || fail 'it is lost'
    run_apart anabranch status --json 3>&-
    [[ $(jq -r '.tasks[0] | "\(.state) \(.attempts) \(.branch)"' <<<"$output") == "failed 1 anabranch/$(ls .git/anabranch/runs)/a" ]] ||
        fail "$output"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main a work
    assert_saved a work
}

@test "a tip that cannot follow the base does not take the base back with it" {
    make_repo
    git branch side
    begin_plan
    # shellcheck disable=SC2016
    add_task a -- 'write a work' \
        'sh git update-ref refs/heads/side "$(git commit-tree -p side -m theirs "side^{tree}")" && touch "$FULL"'
    export FULL=$BATS_TEST_TMPDIR/full
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == update-ref && " $* " == *" --stdin "* ]]; then' \
        '    while IFS= read -r line; do [[ ! -e $FULL ]] || exit 1; printf "%s\n" "$line"; done | "$git" "$@"' '    exit' \
        'elif [[ $sub == update-ref && -e $FULL && " $* " == *" refs/anabranch/runs/"* ]]; then' \
        '    mv "$FULL" "$FULL.seen"; echo "fatal: no room" >&2; exit 128' 'fi'
    run_plan --base side
    real_git
    [[ -e $FULL.seen ]] || fail 'it could follow'
    assert_status 3
    [[ $(git log -1 --format=%s side) == theirs ]] || fail "$(git log --oneline side)"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in side a work
    git log --format=%s side | grep -qx theirs || fail 'what someone else has committed is lost'
}

@test "a resume saves the files that a task that only reads left, and that we could not save" {
    make_repo_for_git
    begin_plan
    add_task a 'read_only: true' -- 'sh echo work >a'
    add_task b 'retry: 0' -- 'write b work' 'on 1 exit 1'
    # shellcheck disable=SC2016
    wrap_git '[[ $sub != ls-files ]] || exit 128'
    run_plan
    real_git
    assert_status 1
    [[ $(<.anabranch/worktrees/*/a/a) == work ]] || fail 'it is lost'
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_saved a work
}

@test "a git that fails now and then costs a task at most, and leaves nothing" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    for i in a b c d; do
        add_task $i 'retry: 0' -- "write $i work" "sh touch '$BATS_TEST_TMPDIR/wrote-$i'"
    done
    # shellcheck disable=SC2016
    wrap_git 'echo >>"$dir/calls"' \
        '(($(wc -l <"$dir/calls") % 13)) || { echo "fatal: out of luck" >&2; exit 128; }'
    for _ in 1 2 3 4; do
        run_plan
        [[ $status -eq 0 || $status -eq 1 || $status -eq 3 ]] || fail 'a failure was expected'
        no_agents || fail "$(agents_alive)"
    done
    real_git
    [[ -e $BATS_TEST_TMPDIR/wrote-a ]] || fail 'nothing was ever begun'
    for i in a b c d; do
        [[ ! -e $BATS_TEST_TMPDIR/wrote-$i ]] || assert_saved $i work
    done
    [[ -z $(find .git -name '*.lock') ]] || fail "$(find .git -name '*.lock')"
    git fsck --connectivity-only
    assert_unchanged_checkout
}

@test "a clock that jumps a day to and fro neither times out nor prolongs anything" {
    make_repo
    cat >"$BATS_TEST_TMPDIR/clock.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *ts)
{
    static int calls;
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, ts);
    if (rc == 0 && id == CLOCK_REALTIME)
        ts->tv_sec += ++calls % 2 ? 86400 : -86400;
    return rc;
}
END
    ${CC:-cc} -shared -fPIC -o "$BATS_TEST_TMPDIR/clock.so" "$BATS_TEST_TMPDIR/clock.c" -ldl || skip 'no compiler'
    begin_plan
    add_task a 'timeout: 60s' 'idle_timeout: 60s' -- 'write a work' 'sleep 300ms'
    add_task b 'timeout: 1s' -- 'write b work' hang
    begun=$SECONDS
    run_apart env LD_PRELOAD="$BATS_TEST_TMPDIR/clock.so" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" \
        "$ANABRANCH" run --engine sim plan.yaml 3>&-
    ((SECONDS - begun < 50)) || fail 'the timeout came late'
    assert_status 1
    assert_summary a landed
    assert_summary b 'failed'
    assert_in main a work
}

@test "a lock that a dead git left on a ref of ours is broken" {
    make_repo
    begin_plan
    # shellcheck disable=SC2016
    lock='$(git rev-parse --path-format=absolute --git-common-dir)/refs/heads/anabranch/$ANABRANCH_RUN/a.lock'
    add_task a -- 'write a work' "sh touch $lock"
    run_plan
    assert_status 0
    assert_in main a work
    assert_clean
}

# A fast-forward that ends in the middle: the files are written, the index and the branch are not.
half_forward() {
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half"' \
        '    cd "$GIT_WORK_TREE" && GIT_INDEX_FILE=$dir/index "$git" read-tree "${!#}" &&' \
        '        GIT_INDEX_FILE=$dir/index "$git" checkout-index -f -- a file dir/new && rm dir/inner' \
        '    echo "fatal: unable to write new index file" >&2' \
        '    exit 128' \
        'fi'
}

@test "a checkout that was brought half-way is brought to the end" {
    make_repo
    begin_plan
    add_task a -- 'write a work' 'append file ten' 'rename dir/inner dir/new' 'write b work'
    half_forward
    run_plan
    real_git
    [[ -e $BATS_TEST_TMPDIR/half ]] || fail 'it was never half-way'
    assert_status 0
    assert_in main b work
    assert_clean
    assert_unchanged_checkout
}

@test "a checkout that lacked only the branch when all was killed is finished, whatever came since" {
    make_repo
    begin_plan
    add_task a -- 'append file one'
    add_task b 'depends_on: [a]' -- 'append file two'
    echo mine >staged
    git add staged
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half"' \
        '    cd "$GIT_WORK_TREE" && export GIT_INDEX_FILE=.git/index && rm .git/index.lock && "$git" read-tree -m -u HEAD "${!#}"' \
        '    kill -KILL $PPID $$' \
        'fi'
    run_plan
    assert_status 137
    real_git
    [[ $(git diff --cached --name-only) == $'file\nstaged' ]] || fail "it was not half-way: $(git status --short)"
    echo other >other
    git add other
    git commit -qm other --only -- other
    run_apart anabranch resume 3>&-
    assert_status 0
    [[ $(git show main:file | tail -n 2) == $'one\ntwo' ]] || fail "$(git show main:file)"
    [[ $(git status --porcelain) == 'A  staged' ]] || fail "$(git status --porcelain)"
    git reset -q && rm staged
    assert_clean
}

@test "a git that dies of a worktree which is just being removed is tried again" {
    make_repo
    begin_plan
    add_task a 'verify: test -e a' -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == checkout && ! -e $dir/raced ]]; then' '    touch "$dir/raced"' \
        '    echo "fatal: Invalid path '"'"'/repo/.git/worktrees/x'"'"': No such file or directory" >&2' '    exit 128' 'fi'
    run_plan
    real_git
    [[ -e $BATS_TEST_TMPDIR/raced ]] || fail 'it never did'
    assert_status 0
    assert_in main a work
    assert_clean
}

@test "the lock that a git of ours left when it was killed goes, and nobody else's" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half" "$GIT_DIR/index.lock"' '    echo work >"$GIT_WORK_TREE/a"' '    kill -KILL $$' 'fi'
    run_plan
    real_git
    [[ -e $BATS_TEST_TMPDIR/half ]] || fail 'it was never killed'
    assert_status 0
    assert_in main a work
    assert_clean
    touch -d '1 hour ago' .git/index.lock
    begin_plan
    add_task b -- 'write b work'
    rm "$BATS_TEST_TMPDIR/half"
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' '    touch "$dir/half"' '    kill -KILL $$' 'fi'
    ANABRANCH_PATIENCE=2s run_plan
    real_git
    assert_status 4
    [[ -e .git/index.lock ]] || fail 'a lock of someone else has gone'
}

# A run that dies together with its git, which has locked the checkout and written half of it.
die_together() {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge ]]; then' \
        '    touch "$GIT_DIR/index.lock" "$GIT_DIR/HEAD.lock" "$GIT_DIR/ORIG_HEAD.lock"' '    echo work >"$GIT_WORK_TREE/a"' '    kill -KILL $PPID $$' 'fi'
    run_plan
    real_git
    [[ -e .git/index.lock ]] || fail 'nothing was left'
}

@test "the lock of a git that died together with the engine goes when the run is resumed" {
    die_together
    ANABRANCH_PATIENCE=2s run "$ANABRANCH" resume
    assert_status 0
    assert_in main a work
    [[ ! -e .git/index.lock ]] || fail 'the lock is still there'
    assert_clean
    assert_unchanged_checkout
}

@test "a file that a git which died was about to write again is written when the run is resumed" {
    make_repo
    begin_plan
    add_task a -- 'append file more' 'write new long enough' 'sh chmod +x file'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge ]]; then' \
        '    cd "$GIT_WORK_TREE" && rm file && touch "$GIT_DIR/index.lock" file && chmod +x file && printf long >new' \
        '    kill -KILL $PPID $$' 'fi'
    run_plan
    real_git
    [[ -e file && ! -s file ]] || fail 'nothing was left'
    ANABRANCH_PATIENCE=2s run "$ANABRANCH" resume
    assert_status 0
    [[ $(tail -n 1 file) == more && $(<new) == 'long enough' ]] || fail "$(<file)"
    assert_clean
    assert_unchanged_checkout
}

@test "the lock of a git that died together with its engine is not in the way of another run" {
    die_together
    rm a
    begin_plan
    add_task b -- 'write b work'
    ANABRANCH_PATIENCE=2s run_plan
    assert_status 0
    assert_in main b work
    [[ ! -e .git/index.lock ]] || fail 'the lock is still there'
}

@test "the lock of a git of ours that was killed goes, whatever another run is about" {
    make_repo
    begin_plan
    add_task b -- "sh $(until_exists go)" 'write b work'
    start_plan
    wait_for in_events task.started b
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half" "$GIT_DIR/index.lock"' '    kill -KILL $$' 'fi'
    ANABRANCH_PATIENCE=2s run_plan
    real_git
    [[ -e $BATS_TEST_TMPDIR/half ]] || fail 'it was never killed'
    assert_status 0
    assert_in main a work
    touch "$BATS_TEST_TMPDIR/go"
    wait "$engine"
    assert_in main b work
    assert_clean
}

# From now on git is killed with its locks taken when it is about to move a branch, and so is who started it.
die_about_to_move() { # BRANCH
    mkdir -p "$BATS_TEST_TMPDIR/hooks"
    cat >"$BATS_TEST_TMPDIR/hooks/reference-transaction" <<END
#!/bin/sh
grep -q ' refs/heads/$1\$' && test "\$1" = prepared || exit 0
engine=\$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/\$PPID/status")
kill -KILL "\$engine" "\$PPID"
END
    chmod +x "$BATS_TEST_TMPDIR/hooks/reference-transaction"
    # shellcheck disable=SC2016
    wrap_git 'set -- "${@/core.hooksPath=*/core.hooksPath=$dir/hooks}"'
}

@test "the locks of a branch that was about to move when all was killed go when the run is resumed" {
    make_repo
    git branch side
    for try in 'main 1' 'side 2' 'main 3'; do
        base=${try% *}
        begin_plan "base: $base"
        add_task "a-$base" -- "write $try"
        die_about_to_move "$base"
        run_plan
        real_git
        [[ $status == 137 && -e .git/refs/heads/$base.lock ]] || fail 'it was not killed on its way'
        # a moment later only the lock of HEAD would have been left
        [[ $try != *3 ]] || mv .git/refs/heads/main.lock .git/refs/heads/main
        ANABRANCH_PATIENCE=2s run_apart anabranch resume 3>&-
        assert_status 0
        assert_in "$base" "$base" "${try#* }"
        assert_clean
    done
}

@test "a change of the user is not taken for half a fast-forward" {
    make_repo
    echo mine >>file
    begin_plan
    add_task a -- 'write a work' 'append file ten' 'rename dir/inner dir/new'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half"' '    echo work >"$GIT_WORK_TREE/a"' '    exit 128' 'fi'
    run_plan
    real_git
    assert_status 4
    [[ $(tail -n 1 file) == mine ]] || fail 'the change is lost'
    [[ $(git status --porcelain) == $' M file\n?? a' ]] || fail "$(git status --porcelain)"
}

@test "half of a fast-forward that only deletes is finished" {
    make_repo
    begin_plan
    add_task a -- 'delete dir/inner'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half"' '    rm "$GIT_WORK_TREE/dir/inner"' '    echo no >&2' '    exit 128' 'fi'
    run_plan
    real_git
    assert_status 0
    refute_in main dir/inner
    assert_unchanged_checkout
}

# git reads the index, someone commits, git writes the index and finds that HEAD is another; then come
# these lines.
race_commit() { # [LINE...]
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/race ]]; then' \
        '    touch "$dir/race" && cd "$GIT_WORK_TREE" && rm .git/index.lock && unset GIT_DIR GIT_COMMON_DIR && cp .git/index "$dir/stale" && echo theirs >other' \
        '    "$git" add other && "$git" commit -qm other && cp "$dir/stale" .git/index' \
        "$@" '    echo "fatal: cannot lock ref" >&2' '    exit 128' 'fi'
}

assert_race_survived() {
    [[ -e $BATS_TEST_TMPDIR/race ]] || fail 'there was no race'
    assert_status 0
    assert_in main other theirs
    assert_in main a work
    assert_unchanged_checkout
}

@test "a commit while git brings the checkout forward stays in the index" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    race_commit
    run_plan
    real_git
    assert_race_survived
}

@test "a commit while git brings the checkout forward stays in the index, also where that is locked" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    race_commit 'touch .git/index.lock; (sleep 0.3; rm .git/index.lock) >/dev/null 2>&1 &'
    run_plan
    real_git
    assert_race_survived
}

@test "a commit while git brings the checkout forward stays in the index, also when all is killed then" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    # shellcheck disable=SC2016
    race_commit 'kill -KILL $PPID $$'
    run_plan
    real_git
    run_apart anabranch resume 3>&-
    assert_race_survived
}

@test "the beginning of a file that a full disk left makes room for the whole" {
    make_repo
    begin_plan
    add_task a -- 'write a work' 'write b work'
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half" && cd "$GIT_WORK_TREE" && printf wo >a && : >b' \
        '    echo "error: unable to write file a" >&2' '    exit 1' 'fi'
    run_plan
    real_git
    assert_status 0
    assert_in main a work
    assert_unchanged_checkout
}

@test "an empty file of the user's does not make room" {
    make_repo
    : >a
    begin_plan
    add_task a -- 'write a work'
    run_plan
    assert_status 4
    [[ -e a && ! -s a ]] || fail 'it was touched'
}
