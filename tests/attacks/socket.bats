#!/usr/bin/env bats
# Things of a live run that an agent could reach: its socket, its descriptors, other tasks' files.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # start_plan sets events and engine, run_apart sets output

load ../cli/helper
load ../cli/run_helper
load attacks_helper

run_folder() {
    echo "$PWD"/.git/anabranch/runs/*/
}

# A program that sends one request to the run's socket, and prints the answer.
make_talker() {
    cat >"$BATS_TEST_TMPDIR/talk" <<'END'
#!/usr/bin/python3
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
os.chdir(sys.argv[1])
s.connect("run.sock")
s.settimeout(20)
try:
    s.sendall(sys.argv[2].encode() + b"\n")
except BrokenPipeError:
    pass
sys.stdout.write(s.recv(65536).decode() or "nothing\n")
END
    chmod +x "$BATS_TEST_TMPDIR/talk"
}

# An agent that asks for everything, by our program and by the socket itself, without a mark in its environment and
# behind a fork.
steering_agent() {
    make_talker
    agent evil "cd \"\$REPO\"
dir=\$REPO/.git/anabranch/runs/\$ANABRANCH_RUN
'$ANABRANCH' stop victim >'$BATS_TEST_TMPDIR/program' 2>&1
'$ANABRANCH' say victim 'rm -rf /' >>'$BATS_TEST_TMPDIR/program' 2>&1
env -i '$BATS_TEST_TMPDIR/talk' \"\$dir\" '{\"verb\":\"stop\",\"task\":\"victim\"}' >'$BATS_TEST_TMPDIR/raw' 2>&1
(env -i setsid '$BATS_TEST_TMPDIR/talk' \"\$dir\" '{\"verb\":\"pause\"}' >'$BATS_TEST_TMPDIR/orphan' 2>&1 &)
until test -s '$BATS_TEST_TMPDIR/orphan'; do sleep 0.02; done
echo done >\"\$ws/done\"
touch '$BATS_TEST_TMPDIR/asked'"
}

steers_nothing() { # WHAT OUR PROGRAM SAYS, WHAT THE SOCKET SAYS
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task victim 'retry: 0' -- "sh $(until_exists asked)" 'write victim V'
    steering_agent
    start_plan
    end_plan
    assert_status 0
    assert_event task.landed victim
    assert_event task.landed evil
    refute_event task.stopping
    refute_event run.paused
    assert_answer program "$1"
    assert_answer raw "$2"
    assert_answer orphan "$2"
    [[ $(grep -c "$1" "$BATS_TEST_TMPDIR/program") == 2 ]] || fail "$(<"$BATS_TEST_TMPDIR/program")"
    assert_clean
}

assert_answer() { # FILE TEXT
    grep -q "$2" "$BATS_TEST_TMPDIR/$1" || fail "$1: $(<"$BATS_TEST_TMPDIR/$1")"
}

@test "an agent steers nothing: it finds neither runs nor the socket" {
    has_namespace || skip 'no namespaces here'
    steers_nothing 'hidden from processes inside a task' FileNotFoundError
}

@test "an agent steers nothing where it has no namespace" {
    ANABRANCH_CONTAIN=subreaper steers_nothing "runs inside the task 'evil'" "runs inside the task 'evil'"
    assert_event git.state_changed evil 'tried to steer the run'
    [[ $(grep -c 'tried to steer' <<<"$output") == 1 ]] || fail 'it is told of more than once'
}

@test "whoever holds connections open, or sends a byte now and then, does not lock the owner out" {
    make_repo
    begin_plan
    add_task a -- "sh $(until_exists on)" 'write a A'
    start_plan
    wait_for in_events task.started a
    cat >"$BATS_TEST_TMPDIR/crowd" <<'END'
import os, socket, sys, time
os.chdir(sys.argv[1])
crowd = []
for i in range(40):
    s = socket.socket(socket.AF_UNIX)
    s.connect("run.sock")
    crowd.append(s)
open(sys.argv[2], "w").close()
dropped = False
while not dropped:
    time.sleep(0.2)
    for s in crowd:
        try:
            s.send(b"x")
        except OSError:
            crowd.remove(s)
    dropped = not crowd
open(sys.argv[3], "w").close()
END
    python3 "$BATS_TEST_TMPDIR/crowd" "$(run_folder)" "$BATS_TEST_TMPDIR/here" "$BATS_TEST_TMPDIR/dropped" 3>&- &
    local crowd=$!
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    says 'is paused' pause
    says 'continues' continue
    patience=20 wait_for test -e "$BATS_TEST_TMPDIR/dropped" # each has its time, however slowly it talks
    wait "$crowd"
    touches on
    end_plan
    assert_status 0
}

@test "descriptors that the shell had open are not passed on to anything that we start" {
    make_repo
    git config filter.look.clean "ls -l /proc/self/fd >'$BATS_TEST_TMPDIR/filter'; cat"
    echo '*.looked filter=look' >.gitattributes
    git add .gitattributes
    git commit -q -m attributes
    cp .git/config "$BATS_TEST_TMPDIR/config"
    echo secret >"$BATS_TEST_TMPDIR/secret"
    begin_plan "workspace: {setup: \"ls -l /proc/self/fd >'$BATS_TEST_TMPDIR/setup'\"}" \
        "landing: {verify: \"ls -l /proc/self/fd >'$BATS_TEST_TMPDIR/verify'\"}"
    agent a "ls -l /proc/self/fd >'$BATS_TEST_TMPDIR/agent'; echo 1 >x.looked"
    run_plan --json 7<"$BATS_TEST_TMPDIR/secret" 133<"$BATS_TEST_TMPDIR/secret"
    assert_status 0
    local who all='agent setup verify filter'
    # git may have less memory than a sanitizer needs, and the filter's guard is one of git's processes.
    ! grep -q __asan_init "$ANABRANCH" || all='agent setup verify'
    for who in $all; do
        [[ -s $BATS_TEST_TMPDIR/$who ]] || fail "$who did not look"
        ! grep -e '/secret$' "$BATS_TEST_TMPDIR/$who" || fail "$who has it"
    done
}
