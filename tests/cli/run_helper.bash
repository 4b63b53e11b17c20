# shellcheck shell=bash
# shellcheck disable=SC2154 # start_plan sets events and engine, run sets output, run_apart stderr
# For tests of runs: scripts for agents, and ways to observe a live run.

export STAMPS=$BATS_TEST_TMPDIR/stamps

teardown() {
    end_agents
}

end_agents() {
    local pid
    [[ ! -e $BATS_TEST_TMPDIR/engine.pid ]] || kill -KILL "$(<"$BATS_TEST_TMPDIR/engine.pid")" 2>/dev/null
    while IFS=: read -r pid _; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done < <(agents_alive)
    return 0
}

# Kills the engine. We do not wait for its children: `resume` must handle them.
kill_engine() {
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    rm -f "$BATS_TEST_TMPDIR/engine.pid"
}

# Kills the engine, and waits until its agents have ended.
kill_run() {
    kill_engine
    wait_for no_agents
}

# Starts the plan, and waits until an agent touches the file `here`.
start_and_wait() {
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/here"
}

# A git process of the run hangs, and the user sends the stop signal twice.
stop_twice() {
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/hangs"
    kill -INT "$engine"
    wait_for signal_seen
    kill -INT "$engine"
    wait_for is_gone "$engine"
    end_plan
    real_git
    assert_status 130
}

# For setup_file: notes what works on this machine.
note_doctor() {
    local probe=$BATS_FILE_TMPDIR/probe
    git init -q "$probe"
    (cd "$probe" && "$ANABRANCH" doctor --json 3>&-) >"$BATS_FILE_TMPDIR/doctor" || true
    rm -rf "$probe"
}

needs_overlay() {
    grep -q '"workspace.overlay"[^}]*"ok"' "$BATS_FILE_TMPDIR/doctor" || skip "no overlays here"
}

# Prints a line of shell for an agent: it records how many agents of its kind are running, and continues when it has
# seen N at the same time.
busy() { # N [KIND]
    cat >"$BATS_TEST_TMPDIR/busy" <<'END'
#!/bin/sh
kind=${2:-all}
mkdir -p "$STAMPS/$kind"
touch "$STAMPS/$kind/$ANABRANCH_TASK"
n=0
until test "$(sort -n "$STAMPS/$kind.count" 2>/dev/null | tail -n 1)" -ge "$1" 2>/dev/null; do
    ls "$STAMPS/$kind" | wc -l >>"$STAMPS/$kind.count"
    n=$((n + 1))
    test $n -lt 3000 || exit 1
    sleep 0.02
done
for n in 1 2 3 4 5; do
    ls "$STAMPS/$kind" | wc -l >>"$STAMPS/$kind.count"
    sleep 0.02
done
rm "$STAMPS/$kind/$ANABRANCH_TASK"
END
    chmod +x "$BATS_TEST_TMPDIR/busy"
    echo "$BATS_TEST_TMPDIR/busy $*"
}

most_at_once() { # [KIND]
    sort -n "$STAMPS/${1:-all}.count" | tail -n 1 | tr -d ' '
}

# Prints a line of shell that waits until the file exists.
until_exists() { # NAME
    echo "n=0; until test -e $BATS_TEST_TMPDIR/$1; do sleep 0.02; n=\$((n+1)); test \$n -lt 3000 || exit 1; done"
}

# Prints a line of shell that commits a file in the user's checkout, as another person.
committer() { # PATH [TEXT]
    local script=$BATS_TEST_TMPDIR/committer-$1
    cat >"$script" <<END
#!/bin/sh
unset GIT_CEILING_DIRECTORIES
cd '$PWD' || exit
n=0
until echo '${2:-here}' >'$1' && git add -- '$1' && git commit -q -m 'by someone else'; do
    sleep 0.02 # the run may hold the lock of this checkout
    n=\$((n + 1))
    test \$n -lt 3000 || exit 1
done
END
    chmod +x "$script"
    echo "$script"
}

in_events() { # NAME TASK
    grep -F "\"event\":\"$1\"" "$events" | grep -qF "\"task\":\"$2\""
}

landed_in_order() {
    printf '%s\n' "$output" | sed -n 's/.*"event":"task.landed".*"task":"\([^"]*\)".*/\1/p' | paste -s -d ' '
}

# From now on, a checkout of `file` touches `smudging`, and waits for `smudge-on`.
slow_checkout() {
    cat >"$BATS_TEST_TMPDIR/smudge" <<END
#!/bin/sh
touch '$BATS_TEST_TMPDIR/smudging'
n=0
until test -e '$BATS_TEST_TMPDIR/smudge-on' || test \$n -gt 3000; do sleep 0.02; n=\$((n+1)); done
cat
END
    chmod +x "$BATS_TEST_TMPDIR/smudge"
    git config filter.slow.smudge "$BATS_TEST_TMPDIR/smudge"
    git config filter.slow.clean cat
    echo 'file filter=slow' >.git/info/attributes
    cp .git/config "$BATS_TEST_TMPDIR/config"
}

# Succeeds when the engine has received the signal.
signal_seen() {
    local pending
    pending=$(sed -n 's/^\(ShdPnd\|SigPnd\):[[:space:]]*//p' "/proc/$engine/status" | tr -d '0\n')
    [[ -z $pending ]]
}

# Prints a line of shell for a verification: it waits until the verifications of both tasks have started.
both_verify() {
    cat >"$BATS_TEST_TMPDIR/both" <<'END'
#!/bin/sh
touch "$STAMPS.verify-$ANABRANCH_TASK"
n=0
until test -e "$STAMPS.verify-a" && test -e "$STAMPS.verify-b"; do
    sleep 0.02
    n=$((n + 1))
    test $n -lt 3000 || exit 1
done
END
    chmod +x "$BATS_TEST_TMPDIR/both"
    echo "$BATS_TEST_TMPDIR/both"
}

# The command succeeds and prints the text.
says() { # TEXT COMMAND...
    local text=$1
    shift
    run_apart anabranch "$@"
    assert_status 0
    assert_no_sanitizer
    [[ $output == *"$text"* ]] || fail "expected: $text"
}

refuses() { # TEXT COMMAND...
    local text=$1
    shift
    run_apart anabranch "$@"
    assert_status 2
    assert_no_sanitizer
    [[ $stderr == *"$text"* ]] || fail "expected: $text"
}

touches() { # NAME...: lets agents continue
    local name
    for name in "$@"; do touch "$BATS_TEST_TMPDIR/$name"; done
}

# Sets $MEANS to the means of containment that work here, for all tests of a file.
find_means() {
    chmod 711 "$BATS_RUN_TMPDIR" # for tests as another user
    MEANS=$("$ANABRANCH" doctor --json | grep -o '"contain[^}]*"ok"' | sed -n 's/^"contain\.\([a-tv-z][^"]*\)".*/\1/p')
    export MEANS
}

# Kills the engine of a run whose task t1 waits for the file `go`, and dates its events an hour back.
kill_run_an_hour_ago() {
    make_repo
    begin_plan
    add_task t1 -- "sh test -e $BATS_TEST_TMPDIR/go || { touch $BATS_TEST_TMPDIR/begun; exec sleep 100; }" 'write f 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/begun"
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
    sqlite3 .git/anabranch/state.db 'update events set time = time - 3600000'
}
