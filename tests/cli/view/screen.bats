#!/usr/bin/env bats
# `run` on a terminal, and --dry-run. script(1) provides the terminal; screen.py computes its final
# screen.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

bats_require_minimum_version 1.5.0
load ../helper

teardown() {
    [[ ! ${terminal-} ]] || kill -CONT "$terminal" 2>/dev/null || true
    [[ ! ${terminal-} ]] || kill -TERM "$terminal" 2>/dev/null || true
}

# macOS and the BSDs have another program of that name.
need_script() {
    script --version 2>/dev/null | grep -q util-linux || skip "needs script(1) of util-linux"
}

# Runs the plan on a terminal of that size: the bytes it got are in the file $typescript, what it
# shows then in $output, the exit code in $status.
run_on_terminal() { # COLUMNS ROWS [OPTION...]
    start_on_terminal "$@"
    end_on_terminal "$1" "$2"
}

# The same in the background; the terminal's name is in the file $pts, the program's process in
# engine.pid.
start_on_terminal() { # COLUMNS ROWS [OPTION...]
    local size="cols $1 rows $2" command
    need_script
    shift 2
    typescript=$BATS_TEST_TMPDIR/typescript pts=$BATS_TEST_TMPDIR/pts
    command="tty >$(printf %q "$pts") && stty $size && echo \$\$ >$(printf %q "$BATS_TEST_TMPDIR/engine.pid") &&
        exec $(printf '%q ' "$ANABRANCH" run --engine sim "$@" plan.yaml)"
    SHELL=/bin/sh script -qefc "$command" -O /dev/null </dev/null >"$typescript" 2>&1 3>&- &
    terminal=$!
}

end_on_terminal() { # COLUMNS ROWS
    status=0
    wait "$terminal" || status=$?
    show_terminal "$1" "$2"
}

show_terminal() { # COLUMNS ROWS
    output=$(python3 "$BATS_TEST_DIRNAME/../screen.py" "$1" "$2" <"$typescript") || fail "no screen: $output"
    stderr=
    [[ $output != *Sanitizer* && $output != *"runtime error"* ]] || fail "the sanitizer complains"
}

# A step for an agent: waits until the terminal has been drawn on again, and this was to be seen.
until_drawn() { # [REGEX]
    cat >"$BATS_TEST_TMPDIR/drawn" <<END
#!/bin/sh
n=0
until grep -q '\[[0-9]*A' '$BATS_TEST_TMPDIR/typescript' && grep -q "\$1" '$BATS_TEST_TMPDIR/typescript'; do
    sleep 0.02
    n=\$((n + 1))
    test \$n -lt 3000 || exit 1
done
END
    chmod +x "$BATS_TEST_TMPDIR/drawn"
    echo "sh $BATS_TEST_TMPDIR/drawn '${1-}'"
}

# Two tasks that work, one that fails for good, one that needs it.
make_plan() {
    begin_plan
    add_task one -- 'action writing' "$(until_drawn 'one .*running .*writing')" 'write one 1' 'tokens 1000 200 0.5'
    add_task two -- 'action thinking hard' "$(until_drawn)" 'write two 2'
    add_task bad -- "$(until_drawn)" 'error refused "no, thank you"'
    add_task later 'depends_on: [bad]' -- 'write later 3'
}

in_state() { # S|T PID: asleep, stopped
    [[ $(ps -o state= -p "$2") == "$1"* ]]
}

drawn_since() { # TEXT: whether the block was drawn after it
    sed -n "/$1/,\$p" "$typescript" | grep -q 'of 1 done'
}

has_frames() {
    grep -q $'\033\[[0-9]*A' "$typescript"
}

@test "on a terminal the block is drawn and gone in the end, what ended stays" {
    make_repo
    make_plan
    run_on_terminal 80 24
    assert_status 1
    has_frames || fail "nothing was drawn again"
    grep -q 'one .*running .*writing' "$typescript" || fail "the block never said what task one did"
    grep -q 'of 4 done' "$typescript" || fail "no totals"
    assert_contains '  one           landed as '
    assert_contains '  bad           failed: refused: no, thank you'
    assert_contains "  later         skipped: needs 'bad'"
    assert_contains '2 landed, 1 failed, 1 skipped'
    refute_contains 'of 4 done'
    refute_contains 'started sim'
    [[ $(grep -c 'landed as' <<<"$output") -eq 2 ]] || fail "a line was lost or doubled"
}

@test "lines that are longer than the screen leave nothing behind" {
    make_repo
    begin_plan
    add_task one -- "action $(printf 'x%.0s' {1..300})" "$(until_drawn xxx)" "error refused $(printf 'y%.0s' {1..100})"
    add_task two -- 'action 汉字汉字汉字汉字汉字汉字汉字汉字' "$(until_drawn 'two .*running')" 'write two 2'
    run_on_terminal 40 10
    assert_status 1
    has_frames || fail "nothing was drawn again"
    refute_contains 'of 2 done'
    refute_contains xxx
    refute_contains running
    [[ $(tr -d '\n' <<<"$output") == *$(printf 'y%.0s' {1..100})* ]] || fail "the reason was cut"
}

@test "more tasks than rows: the rest is counted (PO-49)" {
    make_repo
    begin_plan
    for i in 1 2 3 4 5 6 7 8; do
        add_task "t$i" -- "$(until_drawn '[.][.][.] and 5 more')" "write f$i $i"
    done
    run_on_terminal 60 6 -j 8
    assert_status 0
    grep -q '\.\.\. and 5 more' "$typescript" || fail "the rest was not counted"
    [[ $(grep -c 'landed as' <<<"$output") -eq 8 ]] || fail "a line was lost or doubled"
    refute_contains 'of 8 done'
    refute_contains 'more'
}

@test "a signal takes the block away too" {
    make_repo
    begin_plan
    add_task one -- 'action waiting for ever' hang
    start_on_terminal 80 24
    wait_for grep -q 'waiting for ever' "$typescript"
    kill -TERM "$(<"$BATS_TEST_TMPDIR/engine.pid")"
    end_on_terminal 80 24
    assert_status 143
    refute_contains 'of 1 done'
    refute_contains 'waiting for ever'
    assert_contains '  one           stopped: the run was stopped'
    assert_contains '1 failed'
}

@test "the size of the terminal is asked for each frame" {
    make_repo
    begin_plan
    add_task one -- "action $(printf 'x%.0s' {1..60})" hang
    start_on_terminal 80 24
    wait_for grep -qE ' x{44}\.\.\.' "$typescript"
    stty -F "$(<"$pts")" cols 50
    wait_for grep -qE ' x{14}\.\.\.' "$typescript"
    grep -qE $'\033\\[3A' "$typescript" || fail "the wrapped line was not taken away as a whole"
    kill -TERM "$(<"$BATS_TEST_TMPDIR/engine.pid")"
    status=0
    wait "$terminal" || status=$?
    assert_status 143
}

@test "a program that is stopped and continues leaves alone what others wrote" {
    make_repo
    begin_plan
    add_task one -- 'action waiting for ever' hang
    start_on_terminal 80 24
    wait_for grep -q 'waiting for ever' "$typescript"
    engine=$(<"$BATS_TEST_TMPDIR/engine.pid")
    kill -STOP "$engine"
    wait_for in_state T "$engine"
    wait_for in_state T "$terminal" # it does as its child does
    echo 'typed meanwhile' >"$(<"$pts")"
    kill -CONT "$terminal" "$engine"
    wait_for drawn_since 'typed meanwhile'
    kill -TERM "$engine"
    end_on_terminal 80 24
    assert_line 'typed meanwhile'
}

@test "NO_COLOR is honoured" {
    make_repo
    make_plan
    run_on_terminal 80 24
    grep -q $'\033\[32m' "$typescript" || fail "what landed is not green"
    grep -q $'\033\[31m' "$typescript" || fail "what failed is not red"
    git reset -q --hard "$(git rev-list --max-parents=0 HEAD)"
    NO_COLOR=1 run_on_terminal 80 24
    has_frames || fail "nothing was drawn again"
    ! grep -q $'\033\[[0-9;]*m' "$typescript" || fail "there is colour"
}

@test "plain lines on a dumb terminal, with --no-dashboard, and elsewhere" {
    make_repo
    begin_plan
    add_task one 'read_only: true' -- 'sleep 300ms' 'say hello'
    TERM=dumb run_on_terminal 80 24
    assert_status 0
    ! has_frames || fail "a dumb terminal was drawn on"
    assert_contains 'started sim'
    run_on_terminal 80 24 --no-dashboard
    ! has_frames || fail "drawn against --no-dashboard"
    assert_contains 'started sim'
    run_on_terminal 80 24 --quiet
    ! has_frames || fail "drawn against --quiet"
    refute_contains 'started sim'
    run_on_terminal 80 24 --json
    ! has_frames || fail "drawn against --json"
    assert_contains '"event":"run.finished"'
    run_plan
    [[ $output != *$'\033'* ]] || fail "escape sequences in a file"
    assert_contains 'started sim'
}

@test "--dashboard draws where there is no terminal" {
    make_repo
    begin_plan
    add_task one 'read_only: true' -- 'sleep 1500ms'
    run_plan --dashboard
    assert_status 0
    [[ $output == *'0 of 1 done, 1 running'* ]] || fail "nothing was drawn"
    run_plan --dashboard --no-dashboard
    assert_usage_error '--dashboard and --no-dashboard do not go together' run
    run_plan --dashboard --json
    assert_usage_error '--dashboard and --json do not go together' run
}

# --dry-run

everything() {
    find . -printf '%p %y %s %T@\n' | sort
    git for-each-ref
}

@test "--dry-run says what would be run, and leaves no trace" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task one 'timeout: 5m' 'idle_timeout: 90s' 'retry: {transient: 7}' -- 'write one 1'
    add_task two 'depends_on: [one]' 'engine: command' 'command: [touch, two]' 'prompt: do it'
    before=$(everything)
    run_apart anabranch run --dry-run plan.yaml --engine sim --timeout 10m --only one,two
    assert_status 0
    [[ $before == "$(everything)" ]] || fail "something changed:" "$(everything)"
    [[ $output == "$(anabranch check plan.yaml)"* ]] || fail "not what check prints"
    assert_line "Base: main at $(git rev-parse HEAD | cut -c1-10)"
    assert_line 'Workers: 2'
    assert_line 'one   sim       5m       1m 30s   limit 5, overloaded 5, transient 7, verify 1'
    assert_line 'two   sim       10m      none     limit 5, overloaded 5, transient 2, verify 1'
    run_apart anabranch run --dry-run --only two -j 5 plan.yaml
    assert_line 'two   command   none     none     limit 5, overloaded 5, transient 2, verify 1'
    assert_line 'Workers: 5'
    refute_contains 'one   claude'
}

@test "--dry-run fails as a run would" {
    make_repo
    begin_plan
    add_task one -- 'write one 1'
    run_apart anabranch run --dry-run --engine sim --base nowhere plan.yaml
    assert_status 2
    [[ $stderr == *"there is no branch 'nowhere'"* ]] || fail "no reason"
    run_apart anabranch run --dry-run --engine claude --engine-exe /nonexistent/claude plan.yaml
    assert_status 3
    git config --unset user.name
    git config --unset user.email
    git config user.useConfigOnly true
    run_apart anabranch run --dry-run --engine sim plan.yaml
    assert_status 3
    [[ $stderr == *'git does not know who you are'* ]] || fail "no reason"
    run_apart anabranch run --dry-run --json --engine sim plan.yaml
    assert_usage_error '--dry-run and --json do not go together' run
}

@test "a wrong option is reported before anything is read" {
    make_repo
    run_apart anabranch run --engine nonsense plan.yaml
    assert_status 2
    [[ $stderr == "anabranch: --engine: there is no engine 'nonsense'" ]] || fail "not told"
    run_apart anabranch run --timeout soon plan.yaml
    assert_usage_error "--timeout: 'soon' is not a duration" run
}
