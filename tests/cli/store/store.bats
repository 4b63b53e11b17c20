#!/usr/bin/env bats
# The record of runs: its versions, its damage, and a run that cannot write it.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

db=.git/anabranch/state.db

sql() { # STATEMENTS: prints the rows
    python3 - "$db" "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for statement in sys.argv[2].split(";;"):
    for row in db.execute(statement):
        print(*row)
db.commit()
END
}

sums() {
    (cd .git/anabranch && find . -name 'state.db*' ! -name '*-shm' ! -name '*-wal' -exec cksum {} +)
}

last_run() {
    anabranch history -n 1 | cut -d ' ' -f 1
}

# A repository in which a run has landed `first`.
make_run() {
    make_repo
    begin_plan
    add_task first -- 'write a one'
    run_plan
    assert_status 0
    old=$(last_run)
}

one_task() { # ID STEP...
    local id=$1
    shift
    begin_plan
    add_task "$id" -- "$@"
}

# Leaves the record as a writer that is killed in the middle of a transaction: SQLite must undo it.
kill_writer() { # STATEMENTS
    python3 - "$db" "$1" <<'END'
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in ["pragma journal_mode=delete", "pragma cache_size=1", "begin immediate", *sys.argv[2].split(";;")]:
    db.execute(statement).fetchall()
db.execute("create table filler (x)")
db.executemany("insert into filler values (?)", [("x" * 4000,)] * 100)
os._exit(0)
END
    [[ -s $db-journal ]] || fail 'there is nothing to undo'
}

# A writer that was killed

@test "a record whose first writer was killed is empty, and no error" {
    make_repo
    mkdir .git/anabranch
    local call
    for call in status history resume 'logs t'; do
        kill_writer 'select 1'
        # shellcheck disable=SC2086
        run_apart anabranch $call
        assert_status 2
        [[ $stderr == *'nothing was ever run in this repository'* ]] || fail "$call"
    done
    one_task t 'write a one'
    kill_writer 'select 1'
    run_plan
    assert_status 0
    [[ $(sql 'select count(*) from runs') == 1 ]] || fail "$(sql 'select * from runs')"
}

@test "a record whose writer was killed is read as it was before" {
    make_run
    kill_writer 'delete from runs;;delete from tasks'
    run_apart anabranch status
    assert_status 0
    assert_contains '1 landed'
    kill_writer 'delete from runs'
    run_apart anabranch history
    assert_status 0
    assert_contains "$old"
}

# Versions

@test "a record of a newer program is refused, and stays as it is" {
    make_run
    sql 'pragma user_version=99'
    sums >../before
    one_task second 'write b two'
    run_plan
    assert_status 3
    [[ $stderr == *"newer anabranch"*99* ]] || fail "expected: newer, 99"
    for call in status history 'logs first' 'diff first'; do
        # shellcheck disable=SC2086
        run_apart anabranch $call
        assert_status 3
        [[ $stderr == *"newer anabranch"*99* ]] || fail "$call: expected: newer, 99"
    done
    [[ $(sums) == "$(<../before)" ]] || fail "changed: $(sums)"
    refute_in main b
    assert_clean
}

@test "a record that is older is brought up to date by the next run" {
    make_run
    sql 'drop table spending' # as the first version was
    sql 'pragma user_version=1'
    run_apart anabranch status
    assert_status 0
    [[ $(sql 'pragma user_version') == 1 ]] || fail "reading has changed it"
    one_task second 'write b two'
    run_plan
    assert_status 0
    [[ $(sql 'pragma user_version') -gt 1 ]] || fail "not brought up to date"
    run_apart anabranch status "$old"
    assert_status 0
    assert_summary first landed
}

# Damage

@test "readers report a damaged journal, and the next run sets it aside" {
    make_run
    printf 'no database, no database' | dd of=$db conv=notrunc status=none
    sums >../before
    for call in status history 'logs first' 'diff first' 'report last'; do
        # shellcheck disable=SC2086
        run_apart anabranch $call
        assert_status 3
        [[ $stderr == *"is damaged"*"the next run"* ]] || fail "$call: expected: damaged"
    done
    [[ $(sums) == "$(<../before)" ]] || fail "changed: $(sums)"
    one_task second 'write b two'
    run_plan
    assert_status 0
    assert_contains 'was damaged and is now'
    assert_contains '1 earlier run was recovered'
    [[ $(cksum <.git/anabranch/state.db.damaged-[0-9]*[0-9]) == "$(cut -d ' ' -f 1,2 ../before)" ]] ||
        fail "the file set aside is not the damaged one"
    run_apart anabranch history
    assert_status 0
    [[ $(wc -l <<<"$output") -eq 2 ]] || fail "expected two runs"
    run_apart anabranch status "$old"
    assert_status 0
    assert_contains unknown
    assert_summary first landed
    [[ $(summary_of first) == *"$(git log -1 --format=%h --grep "Anabranch-Task: first" --merges)"* ]] ||
        fail "another commit"
    assert_clean
}

@test "a rebuilt store finds landed tasks in every style" {
    for style in merge squash rebase; do
        rm -rf repo
        make_repo
        begin_plan "landing: {style: $style}"
        add_task one -- 'write a one' 'sh git add a && git commit -qm own' 'write a2 one'
        add_task two 'depends_on: [one]' -- 'write b two'
        run_plan
        assert_status 0
        sql 'select id, landed from tasks order by id' >../landed
        rm "$db"
        one_task three 'write c three'
        run_plan
        assert_status 0
        sql "select id, landed from tasks where state = 'landed' and id <> 'three' order by id" >../found
        cmp ../landed ../found || fail "$style: $(cat ../found)"
        cd ..
    done
}

@test "a rebuilt store tells committed, salvaged, begun and never begun tasks apart" {
    make_repo
    begin_plan
    add_task conflicted 'order: 2' -- 'write file mine'
    add_task failed 'retry: {transient: 0}' -- 'write half done' 'sh git init -q inner' 'write inner/file 1' 'exit 1'
    add_task landed 'order: 1' -- 'write file theirs'
    run_plan
    assert_status 4
    [[ $(sql "select state from tasks where id in ('conflicted', 'landed')" | sort | paste -s -d ' ') == \
        'conflicted landed' ]] || fail "$(sql 'select id, state from tasks')"
    run=$(last_run)
    kept=$(git for-each-ref --format='%(refname:short) %(objectname)' refs/heads/anabranch)
    git rev-parse -q --verify "refs/anabranch/salvage/$run/failed/1.nested/1/saved" || fail "$(git for-each-ref)"
    git update-ref "refs/anabranch/salvage/$run/+shared/1" HEAD # as what an agent took off another branch is kept
    rm "$db"
    one_task other 'write c three'
    run_plan
    assert_status 0
    [[ $(sql "select id, state, attempts from tasks where run = '$run' order by id" | paste -s -d ';') == \
        'conflicted committing 1;failed running 1;landed landed 1' ]] || fail "$(sql 'select * from tasks')"
    [[ $(sql "select branch from tasks where id = 'conflicted'") == "${kept%% *}" ]] ||
        fail "another branch than $kept"
    run_apart anabranch status "$run"
    assert_status 0
    assert_contains interrupted
}

@test "a bad page is found when the last run was killed" {
    make_repo
    one_task t 'write half done' "sh $(until_exists never)"
    start_plan
    wait_for in_events task.started t
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
    sql 'pragma wal_checkpoint(truncate)' >/dev/null
    size=$(wc -c <$db)
    dd if=/dev/urandom of=$db conv=notrunc bs=4096 seek=2 count=$((size / 4096 - 2)) status=none
    one_task other 'write c three'
    run_plan
    assert_status 0
    assert_contains 'was damaged and is now'
    assert_in main c three
}

# Writes that fail

# One task goes on until it is stopped; `t` begins when that has work to lose, and gets as far as the
# record lets it.
fail_when() { # TABLE CONDITION
    make_repo
    one_task begin 'write x x'
    run_plan
    assert_status 0
    sql "create trigger fails before insert on $1 when $2 begin select raise(rollback, 'the disk is full'); end"
    begin_plan
    add_task other -- 'write half done' "sh touch $BATS_TEST_TMPDIR/half" "sh $(until_exists never)"
    add_task gate 'read_only: true' -- "sh $(until_exists half)"
    add_task t 'depends_on: [gate]' -- 'write mine here'
    SECONDS=0
    run_plan
    assert_status 3
    ((SECONDS < 45)) || fail "it took $SECONDS seconds to stop"
    [[ $stderr == *"the disk is full"* ]] || fail "expected: the disk is full"
    no_agents || fail "still alive: $(agents_alive)"
}

salvaged() { # TASK PATH TEXT
    assert_in "$(git for-each-ref --format='%(refname)' "refs/anabranch/salvage/*/$1/1")" "$2" "$3"
}

@test "an agent that starts while the run fails is stopped, too" {
    fail_when tasks "new.id = 'other' and new.state = 'running'"
    assert_clean || assert_clean 'refs/anabranch/salvage/*/other/1' # as far as it got
}

@test "a run that cannot write down the start of an agent stops" {
    fail_when events "new.name = 'task.started' and new.task = 't'"
    salvaged other half 'done'
    refute_in main mine
    assert_clean 'refs/anabranch/salvage/*/other/1' || # as far as t got
        assert_clean 'refs/anabranch/salvage/*/other/1' 'refs/anabranch/salvage/*/t/1'
    run_apart anabranch status
    assert_status 0
    assert_contains broken
}

@test "a run that cannot write down a commit stops, and the commit is kept" {
    fail_when events "new.name = 'task.committed'"
    salvaged other half 'done'
    salvaged t mine here
    refute_in main mine
    assert_clean 'refs/anabranch/salvage/*/other/1' 'refs/anabranch/salvage/*/t/1'
}

@test "nothing lands whose intent could not be written" {
    fail_when tasks "new.id = 't' and new.landed is not null and new.state <> 'landed'"
    salvaged t mine here
    refute_in main mine
    assert_clean 'refs/anabranch/salvage/*/other/1' 'refs/anabranch/salvage/*/t/1'
}

@test "a landed task stays landed if the store could not write that" {
    fail_when events "new.name = 'task.landed' and new.task = 't'"
    salvaged other half 'done'
    assert_in main mine here
    assert_clean 'refs/anabranch/salvage/*/other/1'
    assert_unchanged_checkout
}

@test "a record that takes nothing more from some moment on loses nothing" {
    fail_when events "exists (select 1 from events where name = 'task.exited' and task = 't')"
    salvaged other half 'done'
    salvaged t mine here
    assert_clean 'refs/anabranch/salvage/*/other/1' 'refs/anabranch/salvage/*/t/1'
}

@test "a run whose end could not be written down says so" {
    make_run
    sql "create trigger fails before insert on runs when new.state = 'finished'
        begin select raise(rollback, 'the disk is full'); end"
    one_task t 'write mine here'
    run_plan
    assert_status 3
    [[ $stderr == *"the disk is full"* ]] || fail "expected: the disk is full"
    assert_in main mine here
    run_apart anabranch status
    assert_contains interrupted
}

@test "a run that cannot be written down at all does not begin" {
    make_run
    sql "create trigger fails before insert on runs begin select raise(rollback, 'the disk is full'); end"
    one_task t 'write mine here' "sh touch $BATS_TEST_TMPDIR/began"
    run_plan
    assert_status 3
    [[ ! -e $BATS_TEST_TMPDIR/began ]] || fail "the agent was started"
    assert_clean
}

@test "a full disk stops the run, and the work stays" {
    unshare -m true 2>/dev/null || skip "needs to be root"
    make_repo
    begin_plan
    # shellcheck disable=SC2016
    add_task t -- 'write mine here' 'sh dd if=/dev/zero of="$DISK/fill" bs=64k status=none || true'
    cd ..
    mkdir disk
    export DISK=$PWD/disk
    # shellcheck disable=SC2016
    run_apart unshare -m bash -c '
        mount -t tmpfs -o size=72m none "$DISK" && cp -a repo/. "$DISK" && cd "$DISK" || exit 99
        "$ANABRANCH" run --engine sim plan.yaml
        status=$?
        rm fill
        cp -a "$DISK" ../after
        exit $status' 3>&-
    assert_status 3
    assert_no_sanitizer
    [[ $stderr == *"is full"* ]] || fail "expected: is full"
    no_agents || fail "still alive: $(agents_alive)"
    cd after
    refute_in main mine
    [[ $(cat .anabranch/worktrees/*/t/mine) == here ]] || salvaged t mine here
    git fsck --connectivity-only
}

@test "on a file system that nobody can write to, runs can be looked at and none is begun" {
    unshare -m true 2>/dev/null || skip "needs to be root"
    make_run
    rm -f "$db"-wal "$db"-shm # which are there after a look at it
    mv ../repo "../re%po?#"
    cd "../re%po?#" || return
    # shellcheck disable=SC2016
    run_apart unshare -m bash -c 'mount --bind . . && mount -o remount,ro,bind . && cd "$PWD" || exit 99
        "$ANABRANCH" status && "$ANABRANCH" logs first >/dev/null && "$ANABRANCH" diff first >/dev/null || exit 98
        "$ANABRANCH" run --engine sim plan.yaml' 3>&-
    assert_status 3
    assert_no_sanitizer
    assert_summary first landed
    [[ $stderr == *"state.db' cannot be written to"* ]] || fail "expected: cannot be written to"
}

# Data that stays on disk

@test "of an attempt its logs stay, and nothing as large as the repository" {
    make_repo
    begin_plan
    add_task lands -- 'write a one'
    add_task fails 'retry: {transient: 0}' -- 'write b one' 'exit 1'
    # shellcheck disable=SC2016
    add_task litters -- 'sh echo x >"$TMPDIR/litter"; echo y >c' # its own, to be found again
    run_plan
    assert_status 1
    [[ -n $(find .git/anabranch/runs -path '*/lands/1/out') ]] || fail "no logs"
    [[ -z $(find .git/anabranch/runs -name '*index*') ]] || fail "left: $(find .git/anabranch/runs)"
    [[ $(find .git/anabranch/runs -path '*/tmp*' -type f) == */litters/1/tmp/litter ]] ||
        fail "left: $(find .git/anabranch/runs)"
    [[ $(find .git/anabranch/runs -name tmp | wc -l) -eq 1 ]] || fail "left: $(find .git/anabranch/runs)"
}

# Kill points

@test "the engine dies at the named write if it was built with kill points" {
    make_repo
    one_task t 'write mine here'
    ANABRANCH_KILL_AT=1 run_plan
    [[ $status -ne 0 ]] || skip "not built with kill points"
    assert_status 137
    [[ $(sql 'select count(*) from runs') == 0 ]] || fail "the write was performed"
    ANABRANCH_KILL_AT=1+ run_plan
    assert_status 137
    ANABRANCH_KILL_AT=100000 run_plan
    assert_status 0
    assert_in main mine here
}
