#!/usr/bin/env bats
# The events of the engine in the store: a replay of them comes to what the run has recorded.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # the helpers look at status and output

load ../helper
load ../run_helper

the_run() {
    ls .git/anabranch/runs
}

sql() { # STATEMENT: prints the rows
    python3 - .git/anabranch/state.db "$1" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for row in db.execute(sys.argv[2]):
    print(*row)
db.commit()
END
}

# How often a line of this kind is in the journal of the engine.
lines() { # NAME
    sql 'select events from engine_events order by seq' | grep -c "^$1\b" || true
}

# Each line of a replay has the same state twice: that of the engine, and that of the store. So has it the past life.
assert_replay() { # "TASK STATE"...
    local row id engine store replayed told
    run_apart anabranch __replay "$(the_run)"
    assert_status 0
    assert_no_sanitizer
    [[ $(wc -l <<<"$output") == "$#" ]] || fail "expected $# tasks"
    for row in "$@"; do
        read -r id engine store replayed told <<<"$(grep "^${row%% *} " <<<"$output")"
        [[ "$id $engine" == "$row" && $store == "$engine" ]] || fail "expected $row: $output"
        [[ $replayed && $replayed == "$told" ]] || fail "$id: $replayed, by the events $told"
    done
}

# One task of each outcome, and one that is repaired.
varied_plan() {
    begin_plan
    add_task lands -- 'write a 1'
    add_task reads 'read_only: true' -- 'say hi'
    add_task repaired 'verify: test ! -e bad' -- 'write b 1' 'on 1 write bad x' 'on 2 sh rm -f bad'
    add_task fails 'retry: 0' -- 'exit 1'
    add_task needs 'depends_on: [fails]' -- 'write c 1'
}

@test "journal: the engine of a run that has ended can be made again" {
    make_repo
    varied_plan
    run_plan
    assert_status 1
    assert_replay 'lands landed' 'reads done' 'repaired landed' 'fails failed' 'needs skipped'
    [[ $(lines begin) == 1 && $(lines recorded) == 1 && $(lines closed) == 1 ]] || fail "not from begin to end"
    [[ $(lines attempt-failed) == 2 && $(lines repair-began) == 1 ]] || fail "another history"
}

@test "journal: questions without an answer are not in it" {
    make_repo
    varied_plan
    run_plan
    [[ $(lines turn-ended) -le 2 ]] || fail "$(lines turn-ended) turns"
    [[ $(lines starts-next) == 5 ]] || fail "$(lines starts-next) starts"
}

@test "journal: that of a killed engine goes up to its last record; a resume begins a new section" {
    make_repo
    begin_plan
    add_task lands -- 'write a 1'
    add_task killed 'depends_on: [lands]' -- 'write b 1' "on 1 sh touch $BATS_TEST_TMPDIR/here" 'on 1 hang'
    add_task later 'depends_on: [killed]' -- 'write c 1'
    start_and_wait
    kill_run
    assert_replay 'lands landed' 'killed running' 'later waiting'
    [[ $(lines begin) == 1 && $(lines recorded) == 0 ]] || fail "not one open section"
    run_apart anabranch resume --dry-run
    assert_status 0
    [[ $(lines begin) == 1 ]] || fail "a dry run wrote"
    run_apart anabranch resume
    assert_status 0
    assert_replay 'lands landed' 'killed landed' 'later landed'
    [[ $(lines begin) == 2 && $(lines found) == 3 && $(lines recorded) == 1 ]] || fail "not two sections"
}

@test "journal: a line that the engine cannot have had is found" {
    local id
    make_repo
    varied_plan
    run_plan
    id=$(the_run)
    cp .git/anabranch/state.db "$BATS_TEST_TMPDIR/good"
    for change in "'landed task=0', 'landed task=00'" "'landed task=0', 'landed task=9'" \
        "'agent-started task=0', 'agent-started task=1'" "'begin format=1', 'begin format=2'" "'begin ', 'x begin '"; do
        cp "$BATS_TEST_TMPDIR/good" .git/anabranch/state.db
        sql "update engine_events set events = replace(events, $change)"
        run_apart anabranch __replay "$id"
        assert_status 3
        [[ $stderr == *"$id"* ]] || fail "$change: no message"
    done
    sql 'delete from engine_events'
    run_apart anabranch __replay "$id"
    assert_status 3
    [[ $stderr == *'no journal of its engine'* ]] || fail "expected: no journal"
}

# Its second attempt hangs: one of its two retries is used.
retried_plan() {
    begin_plan
    add_task t 'retry: {verify: 2}' 'verify: "false"' -- 'append t x' \
        "on 2 sh touch $BATS_TEST_TMPDIR/here" 'on 2 hang'
}

@test "journal: a resume replays the engine, whatever the other events say" {
    make_repo
    retried_plan
    start_and_wait
    kill_run
    sql "delete from events where name = 'task.retried'"
    run_apart anabranch resume
    assert_status 1
    [[ $(lines attempt-failed) == 3 ]] || fail "$(lines attempt-failed) failures: the used retry was forgotten"
}

@test "journal: a run of an earlier version has none, and its events tell a resume the same" {
    make_repo
    retried_plan
    start_and_wait
    kill_run
    sql 'delete from engine_events'
    run_apart anabranch resume
    assert_status 1
    [[ $(lines attempt-failed) == 2 ]] || fail "$(lines attempt-failed) failures after the resume"
}

@test "journal: if a group of writes is discarded, the next one has its lines" {
    make_repo
    varied_plan
    run_plan
    rm -r .git/anabranch/runs/*
    sql "create trigger refuses before insert on events when new.name = 'task.committed'
         begin select raise(rollback, 'the disk is full'); end"
    sql 'delete from engine_events'
    begin_plan
    add_task t -- 'write d 1'
    run_plan
    assert_status 3
    run_apart anabranch __replay "$(the_run)"
    assert_status 0
    [[ $output == 't failed '* ]] || fail "expected: failed"
    [[ $(lines committed) == 1 && $(lines broke) == 1 && $(lines closed) == 1 ]] || fail "lines are missing"
}
