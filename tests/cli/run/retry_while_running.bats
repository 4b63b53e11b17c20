#!/usr/bin/env bats
# say and retry in a live run: its engine runs tasks again, and its agents get messages.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # start_plan sets events and engine, run_apart sets stderr
# shellcheck disable=SC2034 # the helpers look at status and output
# shellcheck disable=SC2016 # the agent's shell expands it

load ../helper
load ../run_helper

prompt_of() { # TASK ATTEMPT
    cat .git/anabranch/runs/*/"$1/$2/prompt"
}

# The sessions that the attempts of a task were, each once.
sessions() { # TASK
    jq -r 'select(.type == "start") | .session' .git/anabranch/runs/*/"$1"/*/out | sort -u | paste -s -d ' '
}

@test "again: retry takes up what failed, was stopped or skipped, with what was skipped for it" {
    make_repo
    begin_plan 'limits: {workers: 4}' 'overlap: allow'
    add_task a 'retry: {transient: 0}' -- 'on 1 write half 1' 'on 1 exit 3' 'on 2 sh cp half whole'
    add_task b 'depends_on: [a]' -- 'sh cat whole >b'
    add_task c 'depends_on: [b]' -- 'sh cat b >c'
    add_task hold -- "sh $(until_exists go)" 'write hold 1'
    add_task k 'order: 1' -- 'sh sed -i s/five/FIVE/ file'
    add_task l 'order: 2' -- 'on 1 sh sed -i s/five/l/ file' \
        'on 2 sh grep -c "^<<<<<<< " file && sed -i -e "/^<<</d" -e "/^===/d" -e "/^>>>/d" file'
    add_task n -- 'write n 1'
    add_task r 'read_only: true' -- 'say read'
    add_task s -- 'on 1 write s half' "on 1 sh touch $BATS_TEST_TMPDIR/s-runs" 'on 1 hang' 'on 2 write s fresh'
    add_task x 'depends_on: [hold]' -- 'write x 1'
    add_task y 'depends_on: [x]' -- 'write y 1'
    start_plan
    wait_for in_events task.skipped c
    wait_for in_events task.landed n
    wait_for in_events 'task.done' r
    refuses "has no task 'nobody'" retry nobody
    refuses "'c' needs 'a', which did not succeed; 'anabranch retry a' runs both" retry c
    refuses "'hold' is running; 'anabranch stop hold' stops it first" retry hold
    refuses "'x' has not started: it waits for its turn" retry x
    refuses "'n' has landed; when the run has ended, 'anabranch say' resumes its agent" retry n
    refuses "'n' has landed" say n 'More.'
    refuses "'r' is done; it can be retried when the run has ended" retry r
    says "'a' resumes its session; 2 tasks that were skipped because of it follow" retry a
    says "'x' is skipped" skip x
    says "'x' runs after all; 1 task that was skipped because of it follows" retry x
    wait_for in_events task.conflicted l
    says "'l' resumes its session" retry l
    wait_for test -e "$BATS_TEST_TMPDIR/s-runs"
    says 'is asked to stop' stop s
    wait_for in_events task.failed s
    says "'s' starts again" retry s --fresh
    wait_for in_events task.landed s
    wait_for in_events task.landed c
    wait_for in_events task.landed l
    touches go
    end_plan
    assert_status 0
    assert_in main c 1
    assert_in main y 1
    assert_in main s fresh
    assert_event task.continued a '"session":"sim-a-1","tree":"own","remade":true'
    assert_event task.continued l '"tree":"conflict"'
    assert_in main file $'one\ntwo\nthree\nfour\nFIVE\nl\nsix\nseven\neight\nnine'
    assert_event task.unskipped b
    assert_event task.unskipped c
    assert_event task.unskipped x
    assert_event task.retried s '"fresh":true'
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    [[ $(sessions s) == 'sim-s-1 sim-s-2' ]] || fail "$(sessions s)"
    [[ $(prompt_of a 2) == 'Your last attempt at this failed: exit code 3'* ]] || fail "$(prompt_of a 2)"
    assert_clean 'refs/anabranch/salvage/*/[asl]/1'
}

@test "again: say is heard by what waits, by what failed, and by what is at work when it is done" {
    make_repo
    begin_plan 'limits: {workers: 6}' 'overlap: allow'
    add_task busy 'verify: "grep said busy"' 'retry: {verify: 0}' -- \
        'append busy 1' "sh touch $BATS_TEST_TMPDIR/busy-runs; $(until_exists busy-on)" 'append busy 2'
    add_task cmd 'engine: command' "command: 'touch $BATS_TEST_TMPDIR/cmd-runs; $(until_exists go)'" 'prompt: x' 'read_only: true'
    add_task f 'retry: {transient: 0}' -- 'append f 1' 'on 1 exit 1'
    add_task fails 'retry: {transient: 1}' -- "on 1 sh touch $BATS_TEST_TMPDIR/fails-runs; $(until_exists fails-on)" 'on 1 exit 4' 'append fails 1'
    add_task later 'depends_on: [hold]' -- 'write later 1'
    add_task hold -- "sh $(until_exists go)" 'write hold 1'
    add_task money 'budget: {usd: 1}' -- 'on 1 tokens 10 10 1.5' 'on 1 hang' 'on 2 write money 1'
    add_task p 'env: {SIM_ACCOUNT: other}' -- 'append p 1' 'on 1 limit 3s' 'append p 2'
    sed -i 's/^  - id: \(money\|busy\|f\|fails\|later\|hold\|p\)$/&\n    engine: sim/' plan.yaml
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" run --json plan.yaml >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for in_events task.parked p
    says "the agent of 'p' gets the message when it continues" say p 'sim> append p said'
    refuses "'p' waits for a limit, and continues by itself" retry p
    wait_for in_events task.failed f
    says "'f' resumes its session" say f 'sim> append f said'
    wait_for test -e "$BATS_TEST_TMPDIR/busy-runs"
    says "the agent of 'busy' gets the message when it is done, before its work lands" say busy 'sim> append busy said'
    says "the agent of 'busy' gets the message" say busy - <<<'sim> append busy more'
    wait_for test -e "$BATS_TEST_TMPDIR/fails-runs"
    says "the agent of 'fails' gets the message" say fails 'sim> append fails said'
    refuses "'later' has not started: edit its prompt instead" say later x
    wait_for test -e "$BATS_TEST_TMPDIR/cmd-runs"
    refuses "'cmd' is running, and its engine accepts no messages" say cmd x
    wait_for in_events task.failed money
    refuses "'money' has used up its budget; 'anabranch budget --task money' raises it" retry money
    says 'the budget of money is raised' budget --task money 5
    says "'money' resumes its session" retry money
    refuses 'too long' say busy "$(printf '%070000d' 0)"
    touches busy-on fails-on
    for t in busy f fails money p; do wait_for in_events task.landed $t; done
    touches go
    end_plan
    assert_status 0
    assert_in main busy $'1\n2\nsaid\nmore'
    assert_in main f $'1\nsaid'
    assert_in main fails $'1\nsaid'
    assert_in main p $'1\n2\nsaid'
    assert_event task.said busy '"text":"sim> append busy said"'
    assert_event task.continued busy '"session":"sim-busy-1","tree":"own"'
    assert_event task.continued f
    for t in busy f p; do [[ $(sessions $t) == "sim-$t-1" ]] || fail "$t: $(sessions $t)"; done
    [[ $(prompt_of fails 2) == *'sim> append fails said'* ]] || fail "$(prompt_of fails 2)"
    assert_clean 'refs/anabranch/salvage/*'
}

@test "again: a resume carries out a request that came before the engine died, and the agent hears it once" {
    make_repo
    begin_plan 'limits: {workers: 4}'
    add_task busy -- 'append busy 1' "sh touch $BATS_TEST_TMPDIR/busy-runs; $(until_exists on)" 'append busy 2'
    add_task f 'retry: {transient: 0}' -- 'append f 1' 'on 1 exit 1'
    add_task g 'retry: {transient: 0}' -- 'on 1 exit 1' 'on 2 write g 2' 'on 3 write g 3'
    add_task h 'depends_on: [g]' -- 'sh cat g >h'
    add_task i 'retry: {transient: 0}' -- 'on 1 exit 1' 'on 2 write i 2'
    add_task p 'env: {SIM_ACCOUNT: other}' -- 'append p 1' 'on 1 limit 2s' 'append p 2'
    start_plan --keep
    wait_for test -e "$BATS_TEST_TMPDIR/busy-runs"
    for t in f g i; do wait_for in_events task.failed $t; done
    wait_for in_events task.parked p
    says 'is paused' pause
    says "'f' resumes its session" say f 'sim> append f said'
    says "the agent of 'f' gets the message when it continues" say f 'sim> append f more'
    says "'g' starts again; 1 task" retry g --fresh
    says "'i' resumes its session" retry i
    says "the agent of 'p' gets the message when it continues" say p 'sim> append p said'
    says "the agent of 'busy' gets the message when it is done" say busy 'sim> append busy said'
    says "'i' is asked to stop" stop i
    wait_for eval '[[ $(grep -c "\"event\":\"task.failed\".*\"task\":\"i\"" "$events") == 2 ]]'
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    touches on
    run_apart anabranch resume --dry-run
    [[ $output == *'its agent has a new message'* ]] || fail
    run_apart anabranch resume --keep-failed 3>&-
    assert_no_sanitizer
    assert_status 1
    assert_in main busy $'1\n2\nsaid'
    assert_in main f $'1\nsaid\nmore'
    assert_in main h 2
    assert_in main p $'1\n2\nsaid'
    assert_summary i 'a person stopped it'
    [[ $(sessions f) == sim-f-1 ]] || fail "$(sessions f)"
}

@test "again: when the last task has ended: while the base is moved by the run, behind that as one that is over" {
    make_repo
    slow_checkout
    touches smudge-on
    begin_plan 'landing: {at: end}' "notify: [{on: [failed], command: '$(until_exists told)'}]"
    add_task a 'retry: {transient: 0}' -- 'on 1 exit 3' 'on 2 write a 1' 'on 2 exit 3' 'on 3 write a 2'
    add_task b -- 'sh sed -i s/five/FIVE/ file' "sh $(until_exists b-on)"
    start_plan
    wait_for in_events task.failed a
    wait_for in_events task.started b
    rm "$BATS_TEST_TMPDIR/smudge-on" "$BATS_TEST_TMPDIR/smudging"
    touches b-on
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    says "'a' resumes its session" retry a
    touches smudge-on
    wait_for eval '[[ $(grep -c "\"event\":\"task.failed\".*\"task\":\"a\"" "$events") == 2 ]]'
    # Nobody listens any more, and someone is still to be told of the failure.
    wait_for eval '[[ ! -e $(echo .git/anabranch/runs/*/run.sock) ]]'
    kill -0 "$engine" || fail "the run is gone"
    "$ANABRANCH" retry a >"$BATS_TEST_TMPDIR/late" 2>&1 3>&- &
    local late=$!
    wait_for grep -q anabranch "/proc/$late/comm"
    touches told
    end_plan
    assert_status 1
    wait "$late" || fail "$(<"$BATS_TEST_TMPDIR/late")"
    assert_in main a 2
    assert_in main file $'one\ntwo\nthree\nfour\nFIVE\nsix\nseven\neight\nnine'
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
}

# Asks for task a until that is done, or cannot be; where the engine is dead, by a run of its own.
ask_again() { # [--fresh]
    local n why=$BATS_TEST_TMPDIR/why
    wait_for test -e "$BATS_TEST_TMPDIR/asking" || return
    for ((n = 0; n < 1500; n++)); do
        # shellcheck disable=SC2086 # no word, or one
        if "$ANABRANCH" retry a $1 >/dev/null 2>"$why" || grep -q 'landed\|by itself\|its turn' "$why"; then break; fi
        sleep 0.02
    done
    touch "$BATS_TEST_TMPDIR/asked"
}

@test "again: killed before or after any write about a retry: a resume comes to the same end" {
    local k point how keep asker before=0 behind=0
    for point in 61 62 63 63+ 64 57f 59f 61f 63f; do # f: fresh, and its workspace is kept
        how='' keep=''
        [[ $point != *f ]] || how=--fresh keep=--keep
        make_repo
        begin_plan
        add_task a 'retry: {transient: 0}' -- 'on 1 append a 1' 'on 1 exit 3' 'on 2 append a 2' 'on 3 append a 2'
        add_task b 'depends_on: [a]' -- 'sh cat a >b'
        # Its agent waits until somebody has asked: an agent may not.
        add_task c -- "sh touch $BATS_TEST_TMPDIR/asking" "sh $(until_exists asked)" 'write c 1'
        rm -f "$BATS_TEST_TMPDIR"/{asking,asked}
        ask_again "$how" 3>&- &
        asker=$!
        ANABRANCH_KILL_AT=${point%f} run_apart "$ANABRANCH" run --engine sim $keep plan.yaml 3>&-
        k=$status
        wait "$asker"
        case $(sqlite3 .git/anabranch/state.db "select count(*) from events where name = 'task.unskipped'") in
        0) before=$((before + 1)) ;;
        *) behind=$((behind + 1)) ;;
        esac
        ((k == 0 || k == 137)) || fail "$point: $k"
        ((k == 0)) || run_apart anabranch resume 3>&-
        assert_status 0
        assert_no_sanitizer
        [[ $(git show main:b) == *2 && $(git show main:c) == 1 ]] || fail "$point: $(git log --oneline main)"
        ((k == 137)) || skip 'not built with kill points'
        cd .. && rm -rf repo
    done
    ((before && behind)) || fail "the retry is elsewhere: $before before it, $behind behind"
}
