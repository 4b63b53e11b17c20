# shellcheck shell=bash disable=SC2016 # the agents' shell is to see the variables
# An agent that freezes its guard, or writes the guard's result itself.
# shellcheck disable=SC2153 # find_means sets MEANS

load ../cli/helper
load ../cli/run_helper
load attacks_helper

setup_file() {
    find_means
}

teardown() {
    local pid
    while IFS=: read -r pid _; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done < <(agents_alive)
    return 0
}

run_attacks() {
    run_apart anabranch run --json plan.yaml 3>&-
    assert_no_sanitizer
}

# A line of shell that finds the guard: the init of a namespace that we see, else the parent.
GUARD='guard=1; [[ $PPID == [01] ]] || guard=$PPID'

# A program that traces a process and holds it: PID FILE, which has the outcome.
make_tracer() {
    cat >"$BATS_TEST_TMPDIR/trace.py" <<'END_OF_PYTHON'
import ctypes, sys, time
SEIZE, INTERRUPT = 0x4206, 0x4207
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
victim = int(sys.argv[1])
rc = libc.ptrace(SEIZE, victim, None, None) or libc.ptrace(INTERRUPT, victim, None, None)
open(sys.argv[2], 'w').write('%d\n' % rc)
time.sleep(3600)
END_OF_PYTHON
}

@test "guard: an agent that traces or stops the init of its namespace is ended all the same" {
    [[ $MEANS == *namespace* ]] || skip "no namespaces here"
    make_tracer
    make_repo
    begin_plan
    attack trace "setsid python3 $BATS_TEST_TMPDIR/trace.py 1 $STAMPS.t & until test -s $STAMPS.t; do sleep 0.02; done; sleep 3600" \
        'timeout: 1s' 'retry: 0'
    attack stop 'kill -STOP 1; setsid sleep 3600 & sleep 3600' 'timeout: 1s' 'retry: 0'
    ANABRANCH_CONTAIN=namespace run_attacks
    assert_status 1
    assert_event task.failed trace '"class":"timeout"'
    assert_event task.failed stop '"class":"timeout"'
    no_agents || fail "alive:" "$(agents_alive)"
    assert_clean
}

@test "guard: an agent that stops its guard is ended all the same, by each means" {
    local means
    make_repo
    for means in ${MEANS/namespace/}; do
        begin_plan
        attack "$means" "$GUARD; kill -STOP \$guard; setsid sleep 3600 & sleep 3600" 'timeout: 1s' 'retry: 0'
        ANABRANCH_CONTAIN=$means run_attacks
        assert_status 1
        assert_event task.failed "$means" '"class":"timeout"'
        no_agents || fail "alive:" "$(agents_alive)"
    done
    assert_clean
}

# bats test_tags=slow
@test "guard: a guard that is held by a tracer is killed, and its tree is ended" {
    make_tracer
    make_repo
    begin_plan
    attack trace "$GUARD; setsid python3 $BATS_TEST_TMPDIR/trace.py \$guard $STAMPS.t & until test -s $STAMPS.t; do sleep 0.02; done; sleep 3600" \
        'timeout: 1s' 'retry: 0'
    ANABRANCH_CONTAIN=subreaper run_attacks
    # Nobody but root may trace a guard. For others this shows that the kernel refuses.
    [[ $(<"$STAMPS.t") == $(($(id -u) ? -1 : 0)) ]] || fail "it was traced, or not: $(<"$STAMPS.t")"
    assert_status 1
    assert_event task.failed trace '"class":"timeout"'
    no_agents || fail "alive:" "$(agents_alive)"
    assert_clean
}

# All that an agent can reach of descriptors that a guard has.
FORGE='for fd in /proc/[0-9]*/fd/4; do [[ $fd == /proc/$$/* ]] || (echo "{\"exit\":0,\"means\":\"namespace\"}" >$fd); done 2>/dev/null; exit 3'

@test "guard: an agent cannot write the result of its guard" {
    [[ $MEANS == *namespace* ]] || skip "no namespaces here"
    make_repo
    begin_plan
    attack forge "$FORGE" 'retry: 0'
    attack below "umount /proc 2>/dev/null; $FORGE" 'retry: 0'
    ANABRANCH_CONTAIN=namespace run_attacks
    assert_status 1
    assert_event task.failed forge '"reason":"exit code 3'
    assert_event task.failed below '"reason":"exit code 3'
    assert_clean
}

@test "guard: nor can one of a user without rights, by each means" {
    [[ $(id -u) -eq 0 ]] || skip "we are no one else already"
    local user=(setpriv --reuid 65534 --regid 65534 --clear-groups) means
    cp "$ANABRANCH" "$BATS_TEST_TMPDIR/anabranch"
    make_repo
    chmod 711 "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/work"
    for means in any subreaper group; do
        begin_plan
        attack "$means" "$FORGE" 'retry: 0'
        chown -R 65534:65534 . "$HOME" "$BATS_TEST_TMPDIR/attack-$means"
        ANABRANCH_CONTAIN=$means run_apart "${user[@]}" "$BATS_TEST_TMPDIR/anabranch" run --json plan.yaml 3>&-
        assert_no_sanitizer
        assert_status 1
        assert_event task.failed "$means" '"reason":"exit code 3'
    done
}
