#!/usr/bin/env bats
# Steering a live run from another process: stop, skip, pause, continue, workers, budget.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # start_plan sets events and engine, run_apart sets stderr
# shellcheck disable=SC2016 # dollars are money here
# shellcheck disable=SC2034 # the helpers look at status and output

load ../helper
load ../run_helper

run_folder() {
    echo .git/anabranch/runs/*/
}

# Sends bytes to the run's socket, and prints what comes back.
talk() { # BYTES
    python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
os.chdir(sys.argv[1])
s.connect("run.sock")
s.settimeout(20)
try:
    s.sendall(sys.argv[2].encode())
    data = s.recv(65536)
except (BrokenPipeError, ConnectionResetError):
    data = b""
sys.stdout.write(data.decode() or "nothing\n")
' "$(run_folder)" "$1"
}

@test "control: one task is stopped and saved, those behind it are skipped, the others land" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task a -- 'write a half' "sh touch $BATS_TEST_TMPDIR/a-runs" hang
    add_task b -- "sh $(until_exists b-on)" 'write b 1'
    add_task after 'depends_on: [a]' -- 'write after 1'
    add_task other -- 'write other 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/a-runs"
    [[ $(stat -c '%a %F' "$(run_folder)run.sock") == '600 socket' ]] || fail "the socket: $(ls -la "$(run_folder)")"
    refuses "has no task 'nobody'" stop nobody
    refuses "'after' has not started; 'anabranch skip after' keeps it from starting" stop after
    refuses "'a' is running; 'anabranch stop a' stops it" skip a
    refuses 'name a task, or use --all' stop
    # The run answers nonsense with an error, drops a client with too long a line, and continues.
    [[ $(talk $'no json\n') == '{"ok":false,"text":"this is not a request"}' ]] || fail "nonsense"
    [[ $(talk $'{"verb":"dance"}\n') == '{"ok":false,'* ]] || fail "an unknown verb"
    [[ $(talk "$(printf '%070000d' 0)") == nothing ]] || fail "too long a line"
    says "'a' is asked to stop; its work is saved" stop a
    wait_for in_events task.failed a
    wait_for in_events task.landed other
    refuses "'a' has already ended: it is failed" stop a
    touches b-on
    end_plan
    assert_status 1
    assert_event task.stopping a
    assert_event task.failed a '"class":"stopped","reason":"a person stopped it"'
    assert_event task.skipped after "needs 'a'"
    refute_event task.retried
    assert_in main b 1
    assert_in main other 1
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" a half
    assert_clean 'refs/anabranch/salvage/*/a/1'
    [[ ! -e $(run_folder)run.sock ]] || fail "the socket is left"
    refuses 'is not running: there is nothing to stop' stop a
}

@test "control: a task that is stopped while git stages its work does not land" {
    make_repo
    echo '* text' >.gitattributes
    git add . && git commit -qm attributes
    begin_plan
    add_task a -- 'write a 1'
    # shellcheck disable=SC2016 # for that git
    wrap_git "if [[ \$sub == add ]]; then touch '$BATS_TEST_TMPDIR/adding'; $(until_exists on); fi"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/adding"
    says "'a' is asked to stop; its work is saved" stop a
    touches on
    end_plan
    assert_status 1
    assert_event task.failed a '"class":"stopped","reason":"a person stopped it"'
    refute_in main a
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" a 1
    assert_clean 'refs/anabranch/salvage/*'
}

@test "control: pause begins nothing more, workers and continue do; resume of a paused run does as well" {
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task a 'estimate: 9h' -- "sh $(until_exists a-on)" 'write a 1'
    add_task b 'estimate: 8h' -- "sh $(busy 2)" 'write b 1'
    add_task c 'estimate: 7h' -- "sh $(busy 2)" 'write c 1'
    add_task d 'estimate: 1h' -- 'write d 1'
    add_task e 'depends_on: [d]' -- 'write e 1'
    start_plan
    wait_for in_events task.started a
    says 'is paused' pause
    says ': paused' status
    [[ $(anabranch status --json | jq -c '[.state, .paused]') == '["running",true]' ]] || fail "not paused in JSON"
    says ' paused ' history
    refuses 'is already paused' pause
    touches a-on
    wait_for in_events task.landed a
    says 'up to 3 agents run at the same time (before: 1)' workers +2
    says 'up to 2 agents' workers -1
    refuses 'at least one' workers -7
    refuses 'not a number of workers' workers many
    says "'d' is skipped" skip d
    ! in_events task.started b || fail "b began although the run is paused"
    says 'continues: tasks start again' resume
    wait_for in_events task.started c
    refuses 'is not paused' continue
    end_plan
    assert_status 1
    [[ $(most_at_once) == 2 ]] || fail "at once: $(most_at_once)"
    assert_event run.paused
    assert_event run.workers '' '"workers":2'
    assert_event run.resumed
    assert_event task.skipped d 'skipped by a person'
    assert_event task.skipped e "needs 'd'"
    refuses "is not running: 'anabranch resume' resumes it" continue
    refuses "is not running: 'anabranch resume -j N' resumes it" workers 3
    refute_in main d
}

@test "control: stop also ends the wait for a limit or a retry; stop --all stops the run" {
    make_repo
    begin_plan
    add_task parked -- 'write p half' 'limit 1h'
    add_task again 'retry: {transient: 5}' 'env: {SIM_ACCOUNT: other}' -- 'error transient'
    add_task busy 'env: {SIM_ACCOUNT: third}' -- "sh touch $BATS_TEST_TMPDIR/busy-runs" hang
    start_plan
    wait_for in_events task.parked parked
    says "'parked' is asked to stop" stop parked
    wait_for in_events task.retried again
    until anabranch stop again >/dev/null 2>&1; do
        ! in_events task.failed again || fail "again was never stopped"
        sleep 0.02
    done
    wait_for in_events task.failed again
    wait_for test -e "$BATS_TEST_TMPDIR/busy-runs"
    says 'is asked to stop' stop --all
    end_plan
    assert_status 143
    assert_event task.failed parked '"reason":"a person stopped it"'
    assert_event task.failed again '"reason":"a person stopped it"'
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" p half
    assert_clean 'refs/anabranch/salvage/*/parked/*'
}

@test "control: a budget that is raised in time lets the rest begin" {
    make_repo
    begin_plan 'limits: {workers: 2, budget: {usd: 1}}'
    add_task a 'estimate: 9h' -- 'tokens 10 10 0.9' "sh $(until_exists a-on)" 'tokens 10 10 0.9' "sh $(until_exists a-end)" 'write a 1'
    add_task b 'estimate: 8h' -- "sh $(until_exists b-on)" 'write b 1'
    add_task c 'estimate: 1h' -- 'write c 1'
    start_plan
    wait_for grep -q budget.warned "$events"
    refuses "is not an amount" budget lots
    refuses 'already that much' budget 0.5
    refuses 'there is no such budget' budget '200k tokens'
    refuses 'there is no such budget' budget --task b 2
    says 'the budget of the run is raised' budget '$2.50'
    touches a-on b-on a-end
    end_plan
    assert_status 0
    assert_event budget.raised '' '"budget_usd":2.5'
    refute_event budget.exceeded
    assert_in main c 1
}

@test "control: too long a name for a socket's address is no hindrance; who says nothing is left alone" {
    mkdir -p "$(printf '%0120d' 7)"
    cd "$(printf '%0120d' 7)"
    make_repo
    begin_plan
    add_task a -- "sh touch $BATS_TEST_TMPDIR/a-runs" hang
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/a-runs"
    [[ $(talk '') == nothing ]] || fail "who says nothing was answered"
    says "'a' is asked to stop" stop a
    end_plan
    assert_status 1
}
