# shellcheck shell=bash
# shellcheck disable=SC2154 # start_plan sets events and engine, run sets output, run_apart stderr
# For the tests of running: what agents are made to do, and what is looked at while they do it.

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

# The engine dies, and we wait for nothing of it: that is for `resume` to do.
kill_engine() {
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    rm -f "$BATS_TEST_TMPDIR/engine.pid"
}

# Its agents have ended as well.
kill_run() {
    kill_engine
    wait_for no_agents
}

# Starts the plan, and waits for an agent to be at a place that touches the file `here`.
start_and_wait() {
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/here"
}

# A git of the run hangs: the user asks twice to stop.
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

# For setup_file: what works on this machine.
note_doctor() {
    local probe=$BATS_FILE_TMPDIR/probe
    git init -q "$probe"
    (cd "$probe" && "$ANABRANCH" doctor --json 3>&-) >"$BATS_FILE_TMPDIR/doctor" || true
    rm -rf "$probe"
}

needs_overlay() {
    grep -q '"workspace.overlay"[^}]*"ok"' "$BATS_FILE_TMPDIR/doctor" || skip "no overlays here"
}

# A line of shell for an agent: notes how many of its kind are at work, and goes on when N have been
# seen at once.
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

# A line of shell that waits until there is such a file.
until_exists() { # NAME
    echo "n=0; until test -e $BATS_TEST_TMPDIR/$1; do sleep 0.02; n=\$((n+1)); test \$n -lt 3000 || exit 1; done"
}

# A line of shell by which someone else commits a file to what is checked out in the user's folder.
committer() { # PATH [TEXT]
    local script=$BATS_TEST_TMPDIR/committer-$1
    cat >"$script" <<END
#!/bin/sh
unset GIT_CEILING_DIRECTORIES
cd '$PWD' || exit
n=0
until echo '${2:-here}' >'$1' && git add -- '$1' && git commit -q -m 'by someone else'; do
    sleep 0.02 # we may be at work in this checkout
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

# From now on a checkout of `file` says that it began, and ends when it may.
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

# The engine has taken the signal that was sent to it.
signal_seen() {
    local pending
    pending=$(sed -n 's/^\(ShdPnd\|SigPnd\):[[:space:]]*//p' "/proc/$engine/status" | tr -d '0\n')
    [[ -z $pending ]]
}

# A line of shell for a verification: the first one of each task waits until both have begun.
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

# --- steering a run

# The command succeeds and says so.
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

touches() { # NAME...: lets agents go on
    local name
    for name in "$@"; do touch "$BATS_TEST_TMPDIR/$name"; done
}
