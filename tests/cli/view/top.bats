#!/usr/bin/env bats
# The dashboard on a real terminal, which tmux provides.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # start_plan sets events and engine, run_apart sets stderr
# shellcheck disable=SC2034 # the helpers look at status and output

load ../helper
load ../run_helper
load ../tmux_helper

teardown() {
    end_terminal
    end_agents
}

is_lent() { # whether another program has the terminal
    [[ $(tmux_ display-message -p -t test '#{alternate_on}') == 0 ]]
}

meets() { # PATTERN of a line
    screen_now | grep -qE -e "$1"
}

program() { # the process of the dashboard
    pgrep -P "$(tmux_ display-message -p -t test '#{pane_pid}')" -x anabranch
}

# Three agents at work, one that waits for one of them, and thirty that wait for their turn.
make_long_plan() {
    local i
    begin_plan 'limits: {workers: 3}'
    add_task alpha 'estimate: 9h' -- 'say "Guten Tag, 請求"' 'action counting 書類' 'write file changed' 'write new one' hang
    add_task beta 'estimate: 9h' 'env: {KEY: {value: hunter2hunter2, secret: true}}' -- \
        'say "the key is hunter2hunter2"' 'write file "another hunter2hunter2"' hang
    add_task gamma 'estimate: 9h' -- "sh $(until_exists gamma-on)" 'write gamma 1'
    add_task behind 'depends_on: [alpha]' -- 'write behind 1'
    for i in {1..30}; do
        add_task "last-$i" 'depends_on: [gamma]' -- "write last-$i 1"
    done
}

@test "top: it shows, scrolls, opens and steers tasks; the terminal is as before, and the run continues" {
    make_repo
    make_long_plan
    export SHELL=/bin/sh
    start_plan
    wait_for in_events task.action alpha
    on_terminal 90 14 "$ANABRANCH" top
    sees '0/34 done, 3 running'
    sees 'counting 書類'
    sees '>alpha'
    tmux_ capture-pane -e -p -t test | grep -q $'\033\[36m' || fail "no colours"

    keys End
    sees '>last-30'
    sees_no alpha
    keys Home
    sees '>alpha'

    keys Enter
    sees 'Guten Tag, 請求'
    keys Tab
    sees '--- a/file'
    keys End
    sees '+changed'
    keys Tab
    sees 'started sim'
    # Secrets of the plan are not shown, as in all that is.
    keys n
    sees 'beta running'
    keys Tab
    sees 'the key is [MASKED]'
    keys Tab End
    sees '+another [MASKED]'
    keys Tab Escape
    sees '[1 tasks]'
    keys Home
    sees '>alpha'
    keys 4
    # Neither is committed, and both have changed one file; gamma has changed nothing.
    wait_for meets '1 alpha +\. +X +\.$'
    meets '2 beta +\. +X +\.$' || fail "who meets whom: $(screen_now)"
    keys 1

    # A smaller screen, a larger one: it is drawn anew.
    tmux_ resize-window -t test -x 40 -y 10
    sees '[1tasks] 2graph  3timel  4confl  5costs'
    [[ $(screen_now | wc -l) == 10 ]] || fail "rows: $(screen_now)"
    tmux_ resize-window -t test -x 100 -y 20
    sees 'b budget'

    keys s
    sees 'Stop alpha? (y/n) Its work is saved.'
    keys n
    sees_no 'Stop alpha?'
    in_events task.stopping alpha && fail "it was stopped without an answer"
    keys s y
    sees 'is asked to stop'
    sees 'a person stopped it'
    sees "needs 'alpha'"
    keys p
    sees 'paused'
    keys m
    sees 'Say to alpha: _'
    keys 'höre 請求' Enter
    sees "'alpha' resumes its session; 1 task that was skipped because of it follows"
    grep -F task.continued "$events" | grep -qF '"text":"höre 請求"' || fail "what was said: $(grep continued "$events")"
    sees_no 'a person stopped it'
    keys r
    sees "'alpha' will be retried by itself"
    keys s y
    sees 'a person stopped it'
    keys +
    sees '4 workers'
    keys p
    sees 'continues'

    # A shell where the task works, and back.
    keys j
    sees '>beta'
    keys !
    wait_for is_lent
    keys "echo at \$PWD >'$BATS_TEST_TMPDIR/at'; exit" Enter
    sees '[1 tasks]'
    grep -q '^at /.*/beta$' "$BATS_TEST_TMPDIR/at" || fail "the shell was elsewhere: $(<"$BATS_TEST_TMPDIR/at")"

    keys q
    sees 'ended with 0'
    assert_terminal_is_back
    [[ -z $(find .git/anabranch/runs -name 'look.*') ]] || fail "left: $(find .git/anabranch/runs -name 'look.*')"
    ! grep -E 'anabranch|Sanitizer|runtime error' "$BATS_TEST_TMPDIR/errors" || fail "it complained"

    # From another folder, without colours, until the run has ended.
    cd dir
    on_terminal 80 24 env NO_COLOR=1 "$ANABRANCH" top
    sees '1 failed, 1 skipped'
    ! tmux_ capture-pane -e -p -t test | grep -q $'\033\[3[1-7]m' || fail "colours, in spite of NO_COLOR"
    touch "$BATS_TEST_TMPDIR/gamma-on"
    sees '31/34 done'
    run_apart anabranch stop beta
    assert_status 0
    sees 'finished'
    keys s
    sees 'nothing to steer'
    keys C-c
    sees 'ended with 0'
    assert_terminal_is_back
    end_plan
    assert_status 1
}

@test "top: a signal that ends it gives the terminal back first; where there is no terminal it says so" {
    local signal
    make_repo
    run_apart anabranch top
    assert_status 2
    begin_plan
    add_task a -- 'write a 1'
    run_plan
    run_apart anabranch top </dev/null
    assert_status 2
    [[ $stderr == *'needs an interactive terminal'* ]] || fail "expected another message"
    on_terminal 60 10 env TERM=nonsense "$ANABRANCH" top
    sees 'ended with 2'
    grep -q "unknown terminal 'nonsense'" "$BATS_TEST_TMPDIR/errors" || fail "$(<"$BATS_TEST_TMPDIR/errors")"
    for signal in SEGV ABRT TERM; do
        on_terminal 60 10 "$ANABRANCH" top
        sees '1/1 done'
        kill -"$signal" "$(program)"
        sees 'ended with'
        ! has_on_screen 'ended with 0' || fail "SIG$signal did not end it"
        [[ $signal != TERM ]] || sees 'ended with 143'
        assert_terminal_is_back
    done
}

log_of_run() {
    cat .git/anabranch/runs/*/run.log
}

run_is_over() {
    [[ $(anabranch status --json | jq -r .state) == finished ]]
}

@test "top: a run that is detached continues when its terminal is gone, is attached again, and ends well" {
    make_repo
    begin_plan
    add_task a -- 'action waiting' "sh $(until_exists on)" 'write a 1'
    on_terminal 100 20 "$ANABRANCH" run --engine sim --detach plan.yaml
    sees 'is running in the background.'
    sees 'anabranch top 2'
    sees 'ended with 0'
    end_terminal # the terminal is closed: its processes get SIGHUP
    on_terminal 80 12 "$ANABRANCH" top
    sees '0/1 done, 1 running'
    keys d
    sees 'ended with 0'
    assert_terminal_is_back
    on_terminal 80 12 "$ANABRANCH" top
    sees 'waiting'
    touch "$BATS_TEST_TMPDIR/on"
    sees '1/1 done'
    sees 'finished'
    keys q
    sees 'ended with 0'
    output=$(log_of_run)
    assert_contains 'started sim'
    assert_contains '1 landed'
    [[ $(stat -c %a .git/anabranch/runs/*/run.log) == 600 ]] || fail "others may read the log"
    assert_in main a 1
    assert_clean

    # Errors appear in this terminal, with the exit code of a run, before anything begins.
    echo 'tasks: 7' >bad.yaml
    run_apart anabranch run --detach bad.yaml
    assert_status 2
    [[ $stderr == *bad.yaml:1:* ]] || fail "expected another message"
    run_apart anabranch run --detach --dashboard plan.yaml
    assert_usage_error '--dashboard and --detach do not go together' run
}

@test "top: run --dashboard shows the run, and its end and exit code when the user leaves" {
    make_repo
    begin_plan
    add_task a -- "sh $(until_exists on)" 'write a 1'
    add_task bad -- 'error refused "no, thank you"'
    on_terminal 80 12 "$ANABRANCH" run --engine sim --dashboard plan.yaml
    sees '1 running, 1 failed'
    touch "$BATS_TEST_TMPDIR/on"
    sees 'finished'
    keys q
    sees 'ended with 1'
    sees '1 landed, 1 failed'
    assert_terminal_is_back
}

@test "top: after the run, a task in conflict is in conflict with the base" {
    make_repo
    begin_plan
    add_task alpha -- 'sh sed -i s/five/alpha/ file' "sh $(until_exists alpha-on)"
    add_task beta -- 'sh sed -i s/five/beta/ file'
    start_plan
    wait_for in_events task.landed beta
    touches alpha-on
    end_plan
    assert_status 4
    on_terminal 90 14 "$ANABRANCH" top
    sees 'conflicted'
    keys 4
    wait_for meets '1 alpha +X'
    keys q
}

@test "top: of a change that is larger than its task may make nothing is read" {
    make_repo
    begin_plan 'limits: {workers: 4}'
    add_task alpha 'limits: {change: {files: 3}}' -- 'write file alpha' 'write a1 1' 'write a2 1' 'write a3 1' 'action done' hang
    add_task beta -- 'write file beta' 'write b1 1' 'write b2 1' 'write b3 1' 'action done' hang
    add_task gamma 'limits: {change: {bytes: 100k}}' -- 'write file gamma' 'sh head -c 200000 /dev/zero >zeros' 'action done' hang
    add_task delta -- 'write file delta' 'action done' hang
    start_plan
    for task in alpha beta gamma delta; do wait_for in_events task.action "$task"; done
    on_terminal 90 14 "$ANABRANCH" top
    sees '4 running'
    keys 4
    wait_for meets '2 beta .*X'
    meets '1 alpha +\. +\? +\? +\?' || fail "alpha was read: $(screen_now)"
    meets '3 gamma +\. +\? +\? +\?' || fail "gamma: $(screen_now)"
    keys q
}
