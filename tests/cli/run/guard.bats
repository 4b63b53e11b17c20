# shellcheck shell=bash disable=SC2016 # the agents' shell is to see the variables
# shellcheck disable=SC2154,SC2031 # start_plan sets engine and events; STAMPS is exported
# Supervision: no process outlives its task, with any method of containment.
# shellcheck disable=SC2153 # find_means sets MEANS

load ../helper
load ../run_helper

setup_file() {
    find_means
}

teardown() {
    local pid
    while IFS=: read -r pid _; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done < <(cat "$BATS_TEST_TMPDIR/engines" "$BATS_TEST_TMPDIR/engine.pid" 2>/dev/null; agents_alive)
    return 0
}

# Begins the plan once for each means, at the same time, in repositories of their own; STAMPS is
# another for each of them. Their pids are in engines.
start_engines() {
    local means
    engines=()
    for means in $MEANS; do
        git clone -q . "../$means"
        cp plan.yaml "../$means"
        (
            cd "../$means" || exit
            git config user.name Tester
            git config user.email tester@example.com
            # shellcheck disable=SC2030 # only here
            export ANABRANCH_CONTAIN=$means STAMPS=$BATS_TEST_TMPDIR/$means
            exec "$ANABRANCH" run --engine sim --json plan.yaml >"$STAMPS.events" 2>"$STAMPS.errors" 3>&-
        ) &
        engines+=("$!")
        echo "$!" >>"$BATS_TEST_TMPDIR/engines"
    done
}

await_agents() { # SUFFIX: all have made this file
    local means
    for means in $MEANS; do
        wait_for test -s "$BATS_TEST_TMPDIR/$means.$1"
    done
}

end_engines() { # STATUS
    local pid
    for pid in "${engines[@]}"; do
        status=0
        wait "$pid" || status=$?
        assert_status "$1"
    done
}

# Kills them, and others, without the shell's words about it.
kill_engines() { # [PID...]
    kill -KILL "${engines[@]}" "$@"
    wait "${engines[@]}" 2>/dev/null || :
}

# Makes the events of the engine with this containment the output.
of_means() { # MEANS
    output=$(<"$BATS_TEST_TMPDIR/$1.events")
    stderr=$(<"$BATS_TEST_TMPDIR/$1.errors")
    assert_no_sanitizer
}

# A step that waits for a file with something in it.
until_there() { # SUFFIX
    echo "sh until test -s \$STAMPS.$1; do sleep 0.02; done"
}

# Marks

# If a guard is killed before its child became the command, we know the child by the guard's mark.
@test "guard: a guard has the mark of what it starts, and no two have the same" {
    make_repo
    begin_plan
    for task in a b; do
        # shellcheck disable=SC2016 # the agent's shell expands it
        add_task "$task" -- 'sh guard=$(awk "{ print \$4 }" /proc/$PPID/stat) && test $guard != 0 || guard=1; tr "\0" "\n" </proc/$guard/environ >all' \
            'sh grep -qx "ANABRANCH_GUARD=$ANABRANCH_GUARD" all && echo "$ANABRANCH_GUARD" >>$STAMPS.marks' \
            'sh rm all' "write $task 1"
    done
    ANABRANCH_GUARD=outer run_plan
    assert_status 0
    [[ $(sort -u "$STAMPS.marks" | wc -l) == 2 ]] || fail "$(<"$STAMPS.marks")"
    ! grep -q outer "$STAMPS.marks" || fail "it is the mark of another run"
}

# Leftovers of tasks

# Everything that those do who do not want to end.
nasty_tasks() {
    add_task background -- 'spawn echo 1 >$STAMPS.b; exec sleep 5001' "$(until_there b)" 'write b 1'
    add_task daemon -- 'daemon echo 1 >$STAMPS.d; exec sleep 5002' "$(until_there d)" 'write d 1'
    add_task deaf -- "daemon trap '' TERM INT HUP; echo 1 >\$STAMPS.t; while :; do sleep 1; done" \
        "$(until_there t)" 'write t 1'
    add_task reparents -- 'sh (setsid sh -c "sleep 5003 & echo 1 >$STAMPS.r" &)' "$(until_there r)" 'write r 1'
    # Each process starts the next and ends, so that none is there for long; 3000 at most.
    cat >"$BATS_TEST_TMPDIR/bomb" <<'END'
echo "$1" >"$STAMPS.bomb"
test "$1" -gt 3000 || { setsid sh "$0" $(($1 + 1)) & }
END
    add_task bomb -- "sh (sh $BATS_TEST_TMPDIR/bomb 1 &)" "$(until_there bomb)" 'write bomb 1'
}

assert_swept() { # MEANS
    of_means "$1"
    # By the name of the shell where that has not become a sleep yet.
    assert_event task.swept background 'sleep 5001'
    assert_event task.swept daemon 'sleep 5002'
    assert_event task.swept reparents 'sleep 5003'
    assert_event task.swept deaf 'trap'
    [[ $(<"$BATS_TEST_TMPDIR/$1.bomb") -lt 3000 ]] || fail "$1: the bomb went off"
}

@test "guard: there are means to try" {
    [[ $MEANS == *subreaper*group* ]] || fail "means: $MEANS"
}

@test "guard: whatever a task leaves behind is ended and named, by each means" {
    local means
    make_repo
    begin_plan 'limits: {workers: 8}'
    nasty_tasks
    start_engines
    end_engines 0
    for means in $MEANS; do
        assert_swept "$means"
    done
    no_agents || fail "alive:" "$(agents_alive)"
}

@test "guard: a crowd is not asked to end" {
    make_repo
    begin_plan
    add_task t -- "spawn trap '' TERM; for i in \$(seq 150); do sleep 5004 & done; echo 1 >\$STAMPS.all; wait" \
        "$(until_there all)" 'write t 1'
    run_plan --json
    assert_status 0
    assert_event task.swept t '"count":151,'
    assert_clean
}

# The end of an engine or a guard

# As no_agents, for git and others that the runs of this test started as well.
nothing_marked() {
    ! grep -slzx -e "HOME=$HOME" /proc/[0-9]*/environ 2>/dev/null | xargs -r grep -slz '^ANABRANCH_RUN=' 2>/dev/null | grep -q .
}

@test "guard: when the engine is killed, so is all that it started, by each means" {
    local began
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task polite -- 'daemon exec sleep 5005' "sh trap 'echo 1 >\$STAMPS.asked; exit 1' TERM; echo 1 >\$STAMPS.polite; while :; do sleep 0.1; done"
    add_task deaf -- 'ignore TERM' "daemon trap '' TERM INT HUP; while :; do sleep 1; done" 'sh echo 1 >$STAMPS.deaf' 'hang'
    start_engines
    await_agents polite
    await_agents deaf
    ! no_agents || fail "there is nobody to be killed"
    began=$SECONDS
    kill_engines
    wait_for no_agents
    ((SECONDS - began <= 20)) || fail "it took $((SECONDS - began)) s"
    ((SECONDS - began >= 4)) || fail "the deaf one was not given its time"
}

@test "guard: when a guard is killed, its tree is, and the attempt fails for now" {
    local means guard
    make_repo
    begin_plan
    add_task t -- 'sh test $ANABRANCH_ATTEMPT = 2 || { setsid sleep 5006 & echo 1 >$STAMPS.up; sleep 5007; }' 'write t 1'
    start_engines
    await_agents up
    for means in $MEANS; do
        read -r guard _ <"$(echo "../$means/.git/anabranch/runs"/*/t/1/guard)"
        kill -KILL "$guard"
    done
    end_engines 0
    for means in $MEANS; do
        of_means "$means"
        assert_event task.retried t '"class":"transient","reason":"signal 9 killed its guard"'
        assert_event task.landed t
    done
    no_agents || fail "alive:" "$(agents_alive)"
    [[ -z $(find /sys/fs/cgroup -maxdepth 3 -name "anabranch-$(basename ../cgroup/.git/anabranch/runs/*)-*" 2>/dev/null) ]] ||
        fail "a cgroup is left"
}

@test "guard: when the engine and all guards are killed together, nothing is left either" {
    local means guard guards=()
    make_repo
    begin_plan
    add_task t -- 'daemon exec sleep 5011' 'sh setsid sleep 5012 & echo 1 >$STAMPS.up' 'hang'
    start_engines
    await_agents up
    slow_checkout
    add_task u -- 'write u 1'
    STAMPS=$BATS_TEST_TMPDIR/slow start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    for means in $MEANS; do
        read -r guard _ <"$(echo "../$means/.git/anabranch/runs"/*/t/1/guard)"
        guards+=("$guard")
    done
    kill_engines "$engine" "${guards[@]}"
    wait_for nothing_marked
}

@test "guard: when the engine is killed, a git that fills a workspace is ended at once" {
    local began
    make_repo
    slow_checkout
    begin_plan
    add_task t -- 'write t 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    began=$(date +%s%N)
    kill -KILL "$engine"
    wait_for nothing_marked
    began=$((($(date +%s%N) - began) / 1000000))
    ((began < 5000)) || fail "it took $began ms" # a warden waits 7 s for guards
}

@test "guard: an attempt's file tells who guards it, and is locked until all have gone" {
    local file guard start
    make_repo
    begin_plan
    add_task t -- "sh trap 'sleep 0.3; exit 1' TERM; echo 1 >\$STAMPS.up; while :; do sleep 0.1; done"
    start_plan
    wait_for test -s "$STAMPS.up"
    file=$(echo .git/anabranch/runs/*/t/1/guard)
    read -r guard start <"$file"
    [[ $(sed 's/.*) //' "/proc/$guard/stat" | cut -d ' ' -f 20) == "$start" ]] || fail "not the start of $guard: $start"
    ! flock -n "$file" true || fail "it is not locked"
    kill -KILL "$engine"
    flock -w 30 "$file" true || fail "it stays locked"
    no_agents || fail "alive:" "$(agents_alive)"
}

# Signals

@test "guard: the second signal ends a git that hangs" {
    make_repo
    slow_checkout
    begin_plan
    add_task t -- 'write t 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    kill -INT "$engine"
    wait_for signal_seen
    kill -0 "$engine" || fail "the first one did not wait"
    local began=$SECONDS
    kill -INT "$engine"
    end_plan
    assert_status 130
    ((SECONDS - began < 30)) || fail "it waited"
    touch "$BATS_TEST_TMPDIR/smudge-on"
    [[ $(git worktree list | wc -l) -eq 1 ]] || fail "$(git worktree list)"
}

@test "guard: a second signal ends setup and teardown at once" {
    make_repo
    begin_plan "workspace: {setup: 'trap \"\" TERM; echo 1 >\$STAMPS.setup; sleep 5008', teardown: 'trap \"\" TERM; echo 1 >\$STAMPS.down; sleep 5009'}"
    add_task t -- 'write t 1'
    start_plan
    wait_for test -s "$STAMPS.setup"
    local began=$SECONDS
    kill -INT "$engine"
    wait_for signal_seen
    kill -INT "$engine"
    wait_for test -s "$STAMPS.down"
    kill -INT "$engine"
    end_plan
    assert_status 130
    ((SECONDS - began < 5)) || fail "it waited"
    assert_clean
}

is_stopped() { # PID
    [[ $(ps -o state= -p "$1") == T* ]]
}

stands_still() { # FILE: it did not grow within a tenth of a second
    local before
    before=$(stat -c %s "$1")
    sleep 0.1
    [[ $(stat -c %s "$1") == "$before" ]]
}

grows_beyond() { # FILE SIZE
    (($(stat -c %s "$1") > $2))
}

@test "guard: ^Z stops the agents as well, by each means, and their time" {
    local means pid size
    make_repo
    begin_plan 'defaults: {timeout: 6s}'
    add_task t -- 'sh setsid sh -c "while :; do echo >>\$STAMPS.beat; sleep 0.01; done" & n=0; until test -s $STAMPS.go; do sleep 0.05; done' 'write t 1'
    start_engines
    await_agents beat
    kill -TSTP "${engines[@]}"
    for pid in "${engines[@]}"; do
        wait_for is_stopped "$pid"
    done
    for means in $MEANS; do
        wait_for stands_still "$BATS_TEST_TMPDIR/$means.beat"
    done
    sleep 6.2 # the timeout, which does not come
    size=$(stat -c %s "$BATS_TEST_TMPDIR/subreaper.beat")
    kill -CONT "${engines[@]}"
    wait_for grows_beyond "$BATS_TEST_TMPDIR/subreaper.beat" "$size"
    for means in $MEANS; do
        echo 1 >"$BATS_TEST_TMPDIR/$means.go"
    done
    end_engines 0
    for means in $MEANS; do
        of_means "$means"
        refute_event task.retried
    done
    no_agents || fail "alive:" "$(agents_alive)"
}

@test "guard: agents end if their engine is killed while it is stopped" {
    make_repo
    begin_plan
    add_task t -- 'sh echo 1 >$STAMPS.up; while :; do sleep 0.1; done'
    start_engines
    await_agents up
    kill -TSTP "${engines[@]}"
    for pid in "${engines[@]}"; do
        wait_for is_stopped "$pid"
    done
    kill_engines
    wait_for no_agents
}

@test "guard: under nohup a hang-up is nothing" {
    make_repo
    begin_plan
    add_task t -- 'sh echo 1 >$STAMPS.up' "sh $(until_exists go)" 'write t 1'
    trap '' HUP
    start_plan
    trap - HUP
    wait_for test -s "$STAMPS.up"
    kill -HUP "$engine"
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    assert_clean
}

is_told_stopped() {
    "$ANABRANCH" status | grep -q '^Run .*: stopped'
}

@test "guard: a run whose terminal goes away is stopped and saved" {
    make_repo
    begin_plan
    add_task t -- 'write half 1' 'sh echo 1 >$STAMPS.up' 'hang'
    timeout 60 python3 - "$ANABRANCH" "$STAMPS.up" 3>&- <<'END'
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], 'run', '--engine', 'sim', 'plan.yaml'])
while not (os.path.exists(sys.argv[2]) and os.path.getsize(sys.argv[2])):
    if select.select([terminal], [], [], 0.02)[0]:
        os.read(terminal, 4096)
os._exit(0) # as one who closes the window does
END
    wait_for no_agents
    wait_for is_told_stopped
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/t/*')" half 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

# Limits

@test "guard: more memory than allowed ends a task, and is said" {
    make_repo
    begin_plan 'limits: {memory: 60MiB}'
    add_task greedy -- 'write half 1' 'sh python3 -c "x = bytearray(200 << 20); import time; time.sleep(60)"'
    add_task allowed 'limits: {memory: 0}' -- 'sh python3 -c "x = bytearray(200 << 20); import time; time.sleep(0.6)"' 'write a 1'
    run_plan --json
    assert_status 1
    assert_event task.failed greedy '"class":"internal","reason":"used more than limits.memory (60.0 MiB)"'
    assert_event task.landed allowed
    assert_clean 'refs/anabranch/salvage/*/greedy/1'
}

@test "guard: more processes than allowed end a task, by each means" {
    local means
    make_repo
    begin_plan 'limits: {processes: 20}'
    add_task bomb -- 'sh b() { test $1 -gt 0 && { b $(($1 - 1)) & b $(($1 - 1)) & }; sleep 5010; }; b 7'
    add_task few -- 'sh for i in 1 2 3 4 5; do sleep 0.5 & done; wait' 'write few 1'
    start_engines
    end_engines 1
    for means in $MEANS; do
        of_means "$means"
        assert_event task.failed bomb '"class":"internal","reason":"used more than limits.processes (20)"'
        assert_event task.landed few
    done
    no_agents || fail "alive:" "$(agents_alive)"
}

@test "guard: a task sees no more processors than it may use" {
    (($(nproc) > 1)) || skip "there is one only"
    make_repo
    begin_plan 'limits: {cpu: 1}'
    add_task one -- 'sh nproc >n'
    add_task all 'limits: {cpu: 0}' -- 'sh nproc >m'
    run_plan
    assert_status 0
    assert_in main n 1
    assert_in main m "$(nproc)"
}

# In a namespace all guards have the same pid.
@test "guard: tasks that may use few processors are not all given the same ones" {
    (($(nproc) > 1)) || skip "there is one only"
    local means i lines
    mkfifo "$BATS_TEST_TMPDIR/lifeline"
    exec {lifeline}<>"$BATS_TEST_TMPDIR/lifeline"
    for means in $MEANS; do
        for i in {1..10}; do
            ANABRANCH_GUARD=1.$i "$ANABRANCH" __guard --contain "$means" --cpu 1 -- \
                grep Cpus_allowed_list /proc/self/status 3<&"$lifeline" 4>/dev/null
        done >"$BATS_TEST_TMPDIR/seen"
        ! grep -q '[-,]' "$BATS_TEST_TMPDIR/seen" || skip "the kernel sees to it"
        lines=$(sort -u "$BATS_TEST_TMPDIR/seen" | wc -l)
        ((lines > 1)) || fail "$means:" "$(cat "$BATS_TEST_TMPDIR/seen")"
    done
    exec {lifeline}>&-
}

# Users and places

@test "guard: in a namespace a task sees its own processes, and all else as it is" {
    [[ $MEANS == *namespace* ]] || skip "no namespaces here"
    make_repo
    begin_plan
    add_task t -- 'sh ps -e -o args= >ps; id -u >id; stat -c %u .git >>id; test -w $TMPDIR; ls /dev/null; git log -1 --format=%s >subject'
    ANABRANCH_CONTAIN=namespace run_plan
    assert_status 0
    assert_in main id "$(id -u)"$'\n'"$(id -u)"
    assert_in main subject start
    [[ $(git show main:ps) != *bats-exec* && $(git show main:ps) == *__sim* ]] || fail "$(git show main:ps)"
}

@test "guard: as a user without rights nothing is left either" {
    [[ $(id -u) -eq 0 ]] || skip "we are no one else already"
    local user=(setpriv --reuid 65534 --regid 65534 --clear-groups) means
    cp "$ANABRANCH" "$BATS_TEST_TMPDIR/anabranch"
    make_repo
    begin_plan
    nasty_tasks
    add_task whoami -- 'sh id -u >uid'
    chmod 711 "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/work"
    chown -R 65534:65534 . "$HOME"
    mkdir -m 777 "$BATS_TEST_TMPDIR/stamps"
    for means in any subreaper group; do
        export ANABRANCH_CONTAIN=$means STAMPS=$BATS_TEST_TMPDIR/stamps/$means
        sed -i "s/^name:.*//; s/write \([a-z]*\) .*/write \1 $means/; s/id -u >.*/id -u >uid.$means/" plan.yaml
        run_apart "${user[@]}" "$BATS_TEST_TMPDIR/anabranch" run -j 8 --engine sim --json plan.yaml 3>&-
        assert_no_sanitizer
        assert_status 0
        mv "$STAMPS.bomb" "$BATS_TEST_TMPDIR/$means.bomb"
        printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/$means.events"
        : >"$BATS_TEST_TMPDIR/$means.errors"
        assert_swept "$means"
        [[ $("${user[@]}" git show "main:uid.$means") == 65534 ]] || fail "not the same user"
    done
    no_agents || fail "alive:" "$(agents_alive)"
}

@test "guard: a process that cannot be ended fails its task, and does not hold it up" {
    [[ $(id -u) -eq 0 ]] || skip "only root can make one"
    local user=(setpriv --reuid 65534 --regid 65534 --clear-groups) began=$SECONDS
    cp "$ANABRANCH" "$BATS_TEST_TMPDIR/anabranch"
    install -m 4755 "$(command -v setpriv)" "$BATS_TEST_TMPDIR/sudo"
    make_repo
    begin_plan
    add_task t -- "sh $BATS_TEST_TMPDIR/sudo --reuid 0 --regid 0 --clear-groups sleep 30 & until grep -qx sleep /proc/\$!/comm; do sleep 0.02; done" 'write t 1'
    chmod 711 "$BATS_TEST_TMPDIR/.." "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/work"
    chown -R 65534:65534 . "$HOME"
    ANABRANCH_CONTAIN=subreaper run_apart "${user[@]}" "$BATS_TEST_TMPDIR/anabranch" run --engine sim --json plan.yaml 3>&-
    assert_no_sanitizer
    assert_status 1
    assert_event task.failed t '"class":"internal","reason":"left a process that cannot be killed: sleep 30"'
    ((SECONDS - began < 25)) || fail "it waited"
}

@test "guard: means that do not work or do not exist are refused" {
    make_repo
    begin_plan
    add_task t -- 'write t 1'
    ANABRANCH_CONTAIN=rope run_plan
    assert_status 2
    [[ $stderr == *"it must be namespace, cgroup, subreaper or group"* ]] || fail "$stderr"
    assert_clean
}

# Doctor

@test "doctor: says what there is, each with a verdict" {
    make_repo
    run anabranch doctor
    assert_status 0
    assert_contains "ok  subreaper"
    assert_contains "ok  git "
    run anabranch doctor --json
    assert_status 0
    assert_contains '{"name":"contain.group","verdict":"ok","why":"works"}'
    [[ $output == *'"ok":true}' ]] || fail "not well"
    ANABRANCH_CONTAIN=group run anabranch doctor
    assert_contains "group, set by ANABRANCH_CONTAIN"
}

@test "doctor: it exits with 3 if runs are impossible" {
    mkdir bin
    printf '#!/bin/sh\necho git version 2.20.1\n' >bin/git
    chmod +x bin/git
    PATH=$PWD/bin:$PATH run anabranch doctor
    assert_status 3
    assert_contains "bad git                   git 2.38 or later is needed"
}
