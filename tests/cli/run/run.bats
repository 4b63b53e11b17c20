#!/usr/bin/env bats
# Running a plan, with real git, real processes and the built-in agent.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # run_plan looks at status and output

load ../helper
load ../run_helper

# Order and bases

@test "run: dependants see what their dependencies made" {
    make_repo
    begin_plan
    add_task c 'depends_on: [a, b]' -- 'sh cat a b >c'
    add_task a -- 'write a A'
    add_task b -- 'write b B'
    run_plan
    assert_status 0
    assert_in main c $'A\nB'
    assert_contains '3 landed'
    assert_clean
    assert_unchanged_checkout
}

@test "run: a task without dependencies starts where the base was when the run began" {
    make_repo
    begin_plan
    add_task first -- 'write first 1' "sh $(committer elsewhere)"
    add_task second 'estimate: 1s' -- 'sh test ! -e elsewhere && test ! -e first' 'write second 2'
    add_task third 'depends_on: [first]' -- 'sh test -e elsewhere && cat first >third'
    run_plan -j 1
    assert_status 0
    assert_in main second 2
    assert_in main elsewhere here
    assert_in main third 1
    assert_clean
}

@test "run: no more agents than workers, and as many" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    for t in a b c d; do add_task "$t" -- "sh $(busy 2)" "write $t $t"; done
    run_plan
    assert_status 0
    [[ $(most_at_once) == 2 ]] || fail "at once: $(most_at_once)"
    assert_clean
}

@test "run: -j and --max-workers override the plan" {
    make_repo
    begin_plan 'limits: {workers: 4}'
    for t in a b c; do add_task "$t" -- "sh $(busy 1)" "write $t $t"; done
    run_plan -j 1
    assert_status 0
    [[ $(most_at_once) == 1 ]] || fail "at once: $(most_at_once)"
    rm -r "$STAMPS"
    sed -i 's/limits.*/limits: {workers: 1}/; s/write \(.\)/append \1/; s/busy 1/busy 3/' plan.yaml
    run_plan --max-workers 3
    assert_status 0
    [[ $(most_at_once) == 3 ]] || fail "at once: $(most_at_once)"
    assert_clean
}

@test "run: no more agents of a group than its limit, while others continue" {
    make_repo
    begin_plan 'limits: {workers: 4, groups: {api: 1}}'
    for t in a b c; do
        add_task "$t" 'group: api' 'estimate: 9m' -- "sh $(busy 1 api)" "write $t $t"
    done
    # This one ends only when one of the group runs beside it.
    add_task free -- 'sh n=0; until ls $STAMPS/api.count; do sleep 0.02; n=$((n+1)); test $n -lt 1500; done' 'write free x'
    run_plan
    assert_status 0
    [[ $(most_at_once api) == 1 ]] || fail "at once: $(most_at_once api)"
    assert_clean
}

@test "run: the longest way to the end goes first" {
    make_repo
    begin_plan
    add_task short 'estimate: 5m' -- 'sh echo short >>$STAMPS/order' 'write short 1'
    add_task head 'estimate: 1m' -- 'sh echo head >>$STAMPS/order' 'write head 1'
    add_task tail 'estimate: 20m' 'depends_on: [head]' -- 'sh echo tail >>$STAMPS/order' 'write tail 1'
    mkdir -p "$STAMPS"
    run_plan -j 1
    assert_status 0
    # head is still being landed when the worker is free again, so tail may be last.
    [[ $(head -n 1 "$STAMPS/order") == head ]] || fail "$(<"$STAMPS/order")"
}

@test "run: order says who lands first, finish order decides among the rest" {
    make_repo
    begin_plan
    add_task late 'order: 2' -- 'write late 1'
    add_task early 'order: 1' -- "sh $(until_exists released)" 'write early 1'
    add_task free -- 'write free 1'
    start_plan -j 3
    wait_for in_events task.committed late
    wait_for in_events task.landed free
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
    [[ $(landed_in_order) == 'free early late' ]] || fail "$(landed_in_order)"
    assert_clean
}

@test "run: tasks with an order reach the base together, in that order" {
    local i
    make_repo
    begin_plan
    add_task t1 'order: 1' -- "sh $(until_exists released)" 'write 1 1'
    for i in 6 3 5 2 4; do add_task "t$i" "order: $i" -- "write $i 1"; done
    count_gits
    start_plan -j 6
    for i in 2 3 4 5 6; do wait_for in_events task.committed "t$i"; done
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
    [[ $(landed_in_order) == 't1 t2 t3 t4 t5 t6' ]] || fail "$(landed_in_order)"
    (($(gits ' merge .*--ff-only') == 1)) || fail "$(gits ' merge .*--ff-only') fast-forwards"
}

@test "run: an order is not waited for when its task failed" {
    make_repo
    begin_plan
    add_task second 'order: 2' -- 'write second 1'
    add_task first 'order: 1' -- 'error auth no'
    run_plan
    assert_status 1
    assert_summary second landed
    assert_clean
}

@test "run: a task never waits for the order of its own dependant" {
    make_repo
    begin_plan
    add_task base 'order: 5' -- 'write base 1'
    add_task top 'order: 1' 'depends_on: [base]' -- 'write top 1'
    run_plan
    assert_status 0
    assert_contains '2 landed'
}

# Failures and retries

@test "run: a transient failure is tried again, and attempts are counted" {
    make_repo
    begin_plan
    add_task flaky 'retry: {transient: 2}' -- 'write out $ANABRANCH_ATTEMPT' 'on 1 exit 1' 'on 2 signal KILL' \
        'sh echo $ANABRANCH_ATTEMPT >out'
    run_plan --json
    assert_status 0
    assert_in main out 3
    assert_event task.retried flaky '"reason":"exit code 1"'
    assert_event task.retried flaky 'ended by signal 9'
    assert_event task.landed flaky '"attempt":3'
    assert_clean 'refs/anabranch/salvage/*/flaky/1' 'refs/anabranch/salvage/*/flaky/2'
}

@test "run: retries end, and the failure has its class" {
    make_repo
    begin_plan
    add_task bad 'retry: 1' -- 'err words on stderr' 'exit 3'
    run_plan
    assert_status 1
    assert_summary bad '2 attempts'
    assert_summary bad 'transient: exit code 3: words on stderr'
    assert_clean
}

@test "run: a failure that does not go away by itself is not retried" {
    make_repo
    begin_plan
    add_task denied -- 'err Permission denied' 'exit 1'
    add_task usage -- 'exit 2'
    add_task refused -- 'error refused no'
    add_task key -- 'err invalid_api-key' 'exit 1'
    add_task lazy -- 'say nothing to do'
    run_plan
    assert_status 1
    assert_summary denied auth:
    assert_summary usage setup:
    assert_summary refused refused:
    assert_summary key auth:
    assert_summary lazy 'no_change: the agent changed nothing'
    refute_contains attempts
    refute_contains 'retry in'
    assert_contains '5 failed'
    assert_clean
}

@test "run: dependants of what failed are skipped, all of them, and others land" {
    make_repo
    begin_plan
    add_task a -- 'exit 2'
    add_task b 'depends_on: [a]' -- 'write b 1'
    add_task c 'depends_on: [b]' -- 'write c 1'
    add_task d -- 'write d 1'
    run_plan
    assert_status 1
    assert_summary b "skipped"
    assert_summary b "needs 'a'"
    assert_summary c "skipped"
    assert_summary d landed
    assert_contains '1 landed, 1 failed, 2 skipped'
    refute_in main b
    assert_clean
}

@test "run: a task that waits for its next attempt holds no worker and no place in a group" {
    make_repo
    begin_plan 'limits: {workers: 1, groups: {g: 1}}'
    add_task a 'group: g' 'estimate: 9m' -- 'sh echo a$ANABRANCH_ATTEMPT >>$STAMPS/order' 'on 1 exit 1' 'write a 1'
    add_task b 'group: g' -- 'sh echo b >>$STAMPS/order' 'write b 1'
    mkdir -p "$STAMPS"
    run_plan
    assert_status 0
    [[ $(tr '\n' ' ' <"$STAMPS/order") == 'a1 b a2 ' ]] || fail "$(<"$STAMPS/order")"
    assert_clean
}

@test "run: a limit is waited for until its reset, without using up a retry" {
    make_repo
    begin_plan
    add_task limited 'retry: {limit: park}' -- 'on 1 limit 1s' 'on 2 limit 1s' 'write out done'
    run_plan --json
    assert_status 0
    assert_event task.parked limited '"class":"limit"'
    assert_in main out 'done'
    assert_clean
}

@test "run: a limit without a reset time does not wait for ever" {
    make_repo
    begin_plan
    add_task limited 'retry: {limit: 0}' -- 'err rate limit' 'exit 1'
    run_plan
    assert_status 1
    assert_summary limited limit:
}

@test "run: the work of a failed attempt is saved, and the next one starts from scratch" {
    make_repo
    begin_plan
    add_task t 'retry: 1' -- 'sh test ! -e half' 'write half done' 'on 1 exit 1' 'write whole done'
    run_plan
    assert_status 0
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" half 'done'
    assert_in main whole 'done'
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "run: timeout" {
    make_repo
    begin_plan
    add_task slow 'timeout: 4s' -- 'write half done' 'hang'
    run_plan
    assert_status 1
    assert_summary slow 'timeout: took longer than its timeout'
    assert_clean 'refs/anabranch/salvage/*/slow/1'
}

@test "run: --timeout is for tasks that have none" {
    make_repo
    begin_plan
    add_task own 'timeout: 1m' -- 'sleep 1500ms' 'write own 1'
    add_task none -- 'hang'
    run_plan --timeout 1s
    assert_status 1
    assert_summary own landed
    assert_summary none timeout:
    run_plan --timeout soon
    assert_usage_error "--timeout: 'soon' is not a duration" run
}

@test "run: idle timeout is about output, on either stream" {
    make_repo
    begin_plan
    add_task silent 'idle_timeout: 1s' -- 'hang'
    add_task talks 'idle_timeout: 4s' -- 'sh for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; echo $i; done' 'write talks 1'
    add_task errs 'idle_timeout: 4s' -- 'sh for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; echo $i >&2; done' 'write errs 1'
    run_plan
    assert_status 1
    assert_summary silent idle:
    assert_summary talks landed
    assert_summary errs landed
    assert_clean
}

@test "run: an agent that ignores the request to end is made to" {
    make_repo
    begin_plan
    add_task deaf 'timeout: 1s' -- 'ignore TERM' 'ignore INT' 'hang'
    run_plan
    assert_status 1
    assert_summary deaf timeout:
    assert_clean
}

# Processes

@test "run: agents never read our standard input" {
    make_repo
    begin_plan 'workspace: {setup: cat}' 'landing: {verify: cat}'
    add_task a -- 'sh cat >got' 'write a 1'
    printf '%s\n' line1 line2 >"$BATS_TEST_TMPDIR/in"
    {
        run_plan
        rest=$(cat)
    } <"$BATS_TEST_TMPDIR/in"
    assert_status 0
    [[ $rest == $'line1\nline2' ]] || fail "left of it: $rest"
    refute_contains line1
}

@test "run: a command reads the prompt on its standard input, or from the file" {
    make_repo
    begin_plan
    add_task in 'engine: command' 'command: [sh, -c, "cat >in"]' 'prompt: the words'
    add_task file 'engine: command' 'command: [cp, "{prompt_file}", file2]' 'prompt: other words'
    add_task line 'engine: command' 'command: "cat >line"' 'prompt: more words'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 0
    assert_in main in 'the words'
    assert_in main file2 'other words'
    assert_in main line 'more words'
    assert_clean
}

@test "run: the prompt is in nobody's argv" {
    make_repo
    begin_plan
    add_task t -- 'sh ps axww -o args >$STAMPS.ps' 'say xyzzy-secret' 'write a 1'
    run_plan
    assert_status 0
    ! grep -q 'xyzzy-[s]ecret' "$STAMPS.ps" || fail "$(<"$STAMPS.ps")"
}

@test "run: background children are ended and named, also when they hold stdout open" {
    make_repo
    begin_plan
    add_task t -- 'spawn echo $$ >>$STAMPS.pid; exec sleep 4321' 'sh until test -s $STAMPS.pid; do sleep 0.02; done' 'write t 1'
    local began=$SECONDS
    run_plan --json
    assert_status 0
    ((SECONDS - began < 60)) || fail "it waited for the child"
    assert_event task.swept t 'sleep 4321'
    no_agents || fail "alive:" "$(agents_alive)"
    assert_clean
}

@test "run: daemons are ended, and named" {
    make_repo
    begin_plan
    add_task t -- 'daemon echo $$ >$STAMPS.pid; exec sleep 4322' 'sh until test -s $STAMPS.pid; do sleep 0.02; done' 'write t 1'
    run_plan
    assert_status 0
    assert_contains '1 process left behind: sleep 4322'
    no_agents || fail "alive:" "$(agents_alive)"
    assert_clean
}

@test "run: children that ignore SIGTERM are ended too" {
    make_repo
    begin_plan
    add_task t -- "daemon trap '' TERM INT HUP; echo \$\$ >\$STAMPS.pid; while :; do sleep 1; done" \
        'sh until test -s $STAMPS.pid; do sleep 0.02; done' 'write t 1'
    run_plan
    assert_status 0
    no_agents || fail "alive:" "$(agents_alive)"
    assert_clean
}

@test "run: processes that setup and verification leave behind end as well" {
    make_repo
    begin_plan 'workspace: {setup: "sleep 4323 & echo $! >$STAMPS.setup"}' \
        'landing: {verify: "sleep 4324 & echo $! >$STAMPS.verify"}'
    add_task t -- 'write t 1'
    run_plan
    assert_status 0
    no_agents || fail "alive:" "$(agents_alive)"
    assert_clean
}

# Signals

@test "run: SIGINT stops the agents, saves their work, ends with 130" {
    make_repo
    begin_plan
    add_task a -- 'write half a' "sh touch $BATS_TEST_TMPDIR/a" 'hang'
    add_task b -- 'write half b' 'spawn sleep 4325' "sh touch $BATS_TEST_TMPDIR/b" 'hang'
    add_task c 'depends_on: [a]' -- 'write c 1'
    add_task d 'estimate: 1s' -- 'write d 1'
    start_plan -j 2
    wait_for test -e "$BATS_TEST_TMPDIR/a" -a -e "$BATS_TEST_TMPDIR/b"
    kill -INT "$engine"
    end_plan
    assert_status 130
    refute_event task.started c
    refute_event task.retried
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/*')" half a
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/b/*')" half b
    assert_clean 'refs/anabranch/salvage/*/a/1' 'refs/anabranch/salvage/*/b/1'
    assert_unchanged_checkout
}

@test "run: SIGTERM ends with 143, SIGHUP with 129; what landed stays landed" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b 'depends_on: [a]' -- "sh touch $BATS_TEST_TMPDIR/b" 'hang'
    for signal in TERM HUP; do
        start_plan
        wait_for test -e "$BATS_TEST_TMPDIR/b"
        kill "-$signal" "$engine"
        end_plan
        assert_status $((128 + $(kill -l $signal)))
        assert_in main a 1
        assert_clean
        rm "$BATS_TEST_TMPDIR/b"
        sed -i 's/write a 1/append dir\/inner more/' plan.yaml
    done
}

@test "run: the second signal does not wait" {
    make_repo
    begin_plan
    add_task deaf -- 'ignore TERM' 'write half 1' "sh touch $BATS_TEST_TMPDIR/a" 'hang'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/a"
    local began=$SECONDS
    kill -INT "$engine"
    kill -TERM "$engine"
    end_plan
    assert_status 130
    ((SECONDS - began < 9)) || fail "it waited for $((SECONDS - began)) seconds"
    assert_clean 'refs/anabranch/salvage/*/deaf/1'
}

@test "run: a signal while the workspace is made starts no agent" {
    make_repo
    slow_checkout
    begin_plan
    add_task t -- "sh touch $BATS_TEST_TMPDIR/began" 'hang'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    kill -INT "$engine"
    wait_for signal_seen
    touch "$BATS_TEST_TMPDIR/smudge-on"
    end_plan
    assert_status 130
    [[ ! -e $BATS_TEST_TMPDIR/began ]] || fail "the agent was started"
    assert_clean
}

@test "run: Ctrl-C, which reaches all of the foreground, does not break git's work" {
    make_repo
    slow_checkout
    begin_plan
    add_task t -- "sh touch $BATS_TEST_TMPDIR/began" 'hang'
    set -m
    start_plan
    set +m
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    kill -INT -- "-$engine"
    wait_for signal_seen
    touch "$BATS_TEST_TMPDIR/smudge-on"
    end_plan
    assert_status 130
    refute_contains 'cannot fill'
    assert_clean
}

@test "run: a signal while a task waits for its turn to land does not hang" {
    make_repo
    begin_plan
    add_task late 'order: 2' -- 'write late 1'
    add_task early 'order: 1' -- 'write half 1' 'hang'
    start_plan
    wait_for in_events task.committed late
    kill -TERM "$engine"
    wait_for is_gone "$engine" || kill -KILL "$engine"
    end_plan
    assert_status 143
    assert_clean 'refs/anabranch/salvage/*/early/1'
    assert_in main late 1
}

@test "run: a signal does not hang where a task waits for the order of one that never begins" {
    make_repo
    begin_plan
    add_task late 'order: 2' 'estimate: 9m' -- 'write late 1'
    add_task between 'estimate: 5m' -- "sh touch $BATS_TEST_TMPDIR/between" 'hang'
    add_task early 'order: 1' 'estimate: 1m' -- 'write early 1'
    start_plan -j 1
    wait_for in_events task.committed late
    wait_for test -e "$BATS_TEST_TMPDIR/between"
    kill -TERM "$engine"
    wait_for is_gone "$engine" || kill -KILL "$engine"
    end_plan
    assert_status 143
    assert_in main late 1
    assert_clean
}

@test "run: a signal during a verification ends it" {
    make_repo
    begin_plan "landing: {verify: 'touch $BATS_TEST_TMPDIR/verifying; sleep 4326'}"
    add_task t -- 'write t 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/verifying"
    kill -INT "$engine"
    end_plan
    assert_status 130
    assert_clean 'refs/anabranch/salvage/*/t/1'
    refute_in main t
}

@test "run: when the engine is killed, all agents end by themselves" {
    make_repo
    begin_plan
    add_task a -- 'spawn sleep 4327' "sh touch $BATS_TEST_TMPDIR/a" 'hang'
    add_task b -- 'daemon sleep 4328' "sh touch $BATS_TEST_TMPDIR/b" 'hang'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/a" -a -e "$BATS_TEST_TMPDIR/b"
    [[ -n $(agents_alive) ]] || fail "agents are not found"
    kill -KILL "$engine"
    wait_for no_agents
    end_plan
    assert_status 137
}

# Conflicts

@test "run: a conflict isolates its task and dependants, all others land, exit 4" {
    make_repo
    begin_plan 'enforce: warn'
    add_task first 'order: 1' -- 'sh sed -i "s/^five/first/" file'
    add_task second 'order: 2' -- 'sh sed -i "s/^five/second/" file' 'write new kept'
    add_task third 'depends_on: [second]' -- 'write third 1'
    add_task other 'order: 3' -- 'write other 1'
    run_plan
    assert_status 4
    assert_summary first landed
    assert_summary other landed
    assert_summary second conflicted
    assert_summary third skipped
    assert_contains 'file (lines 5-9)'
    assert_contains '2 landed, 1 in conflict, 1 skipped'
    refute_in main new
    assert_in main other 1
    assert_clean kept=1 'refs/heads/anabranch/*/second'
    assert_unchanged_checkout
    # The workspace that stays is complete, and clean for git.
    local ws
    ws=$(echo .anabranch/worktrees/*/second)
    [[ $(<"$ws/new") == kept ]] || fail "the workspace has lost its work"
    [[ -z $(git -C "$ws" status --porcelain) ]] || fail "$(git -C "$ws" status --porcelain)"
    # The command that is printed begins the merge.
    local command
    command=$(sed -n '/^To resolve second by hand:/{n;s/^  //;p;}' <<<"$output")
    [[ $command == *merge* ]] || fail "no command"
    run bash -c "$command"
    [[ $(git diff --name-only --diff-filter=U) == file ]] || fail "no conflict to resolve"
}

@test "run: conflicts of other kinds are named: removed here, added twice, file and folder" {
    make_repo
    begin_plan 'enforce: warn'
    add_task base 'order: 1' -- 'delete file' 'write new one' 'write x/y 1'
    add_task edits 'order: 2' -- 'append file ten'
    add_task adds 'order: 3' -- 'write new two'
    add_task clash 'order: 4' -- 'write x 1'
    run_plan
    assert_status 4
    assert_contains 'conflicts with what has landed: file'
    assert_contains 'conflicts with what has landed: new'
    assert_contains 'conflicts with what has landed: x'
    assert_contains '1 landed, 3 in conflict'
    assert_clean kept=3 'refs/heads/anabranch/*/edits' 'refs/heads/anabranch/*/adds' 'refs/heads/anabranch/*/clash'
}

# The user's checkout

@test "run: files that the user changed and no task touches are left as they are, staged or not" {
    make_repo
    echo mine >>dir/inner
    echo new >untracked
    echo staged >staged
    git add staged
    git stash list >"$BATS_TEST_TMPDIR/stash"
    begin_plan
    add_task t -- 'append file ten' 'write new 1'
    run_plan
    assert_status 0
    assert_in main new 1
    [[ $(git status --porcelain) == $' M dir/inner\nA  staged\n?? untracked' ]] || fail "$(git status --porcelain)"
    [[ $(tail -n 1 dir/inner) == mine && $(<untracked) == new && $(<staged) == staged ]] || fail "changed"
    [[ $(tail -n 1 file) == ten && $(<new) == 1 ]] || fail "the checkout did not follow"
    assert_clean
}

# The result is on a branch, nothing of the user's was touched, and with his change put away the
# command that was printed brings it in.
assert_kept_apart() { # PATH TEXT PUT-AWAY...
    local path=$1 text=$2 command
    shift 2
    assert_status 4
    [[ $(<"$path") == "$text" ]] || fail "$path was touched: $(<"$path")"
    [[ $(git rev-parse main) == "$start" ]] || fail "main was moved"
    assert_contains 'could not follow'
    assert_clean 'refs/heads/anabranch/*/+result'
    command=$(grep -A1 'All landed work is on' <<<"$output" | sed -n '2s/^  //p')
    "$@"
    run bash -c "$command"
    assert_status 0
    assert_in main new 1
    assert_unchanged_checkout
}

@test "run: a file that the user changed is never overwritten" {
    make_repo
    local start
    start=$(git rev-parse main)
    echo mine >file
    begin_plan
    add_task t -- 'append file ten' 'write new 1'
    run_plan
    assert_kept_apart file mine git checkout -q file
}

@test "run: a staged change is never overwritten" {
    make_repo
    local start
    start=$(git rev-parse main)
    echo mine >file
    git add file
    begin_plan
    add_task t -- 'append file ten' 'write new 1'
    run_plan
    [[ $(git diff --cached --name-only) == file ]] || fail "it was unstaged"
    assert_kept_apart file mine git checkout -q HEAD file
}

@test "run: an untracked file in the way is never overwritten" {
    make_repo
    local start
    start=$(git rev-parse main)
    echo mine >new
    begin_plan
    add_task t -- 'write new 1'
    run_plan
    assert_kept_apart new mine mv new "$BATS_TEST_TMPDIR/moved"
}

@test "run: an ignored file in the way is never overwritten" {
    make_repo
    echo new >>.git/info/exclude
    local start
    start=$(git rev-parse main)
    echo mine >new
    begin_plan
    add_task t -- 'sh echo 1 >new; git add -f new; git commit -q -m new'
    run_plan
    assert_kept_apart new mine mv new "$BATS_TEST_TMPDIR/moved"
}

@test "run: an untracked folder in the way is never overwritten" {
    make_repo
    local start
    start=$(git rev-parse main)
    mkdir new
    echo mine >new/mine
    begin_plan
    add_task t -- 'write new 1'
    run_plan
    assert_kept_apart new/mine mine mv new "$BATS_TEST_TMPDIR/moved"
}

@test "run: a lock on the user's index is respected" {
    make_repo
    local start
    start=$(git rev-parse main)
    begin_plan
    add_task t -- 'write new 1'
    touch .git/index.lock
    run_plan
    assert_status 4
    [[ -e .git/index.lock ]] || fail "the lock is gone"
    rm .git/index.lock
    assert_kept_apart file "$(git show main:file)" true
}

@test "run: once the user's change is gone, a later landing brings all of it" {
    make_repo
    echo mine >>file
    begin_plan
    add_task a -- 'append file ten'
    add_task b 'depends_on: [a]' -- "sh cp $BATS_TEST_TMPDIR/file $PWD/file" 'write b 1'
    git show main:file >"$BATS_TEST_TMPDIR/file"
    run_plan
    assert_status 0
    assert_in main b 1
    [[ $(tail -n 1 file) == ten ]] || fail "the checkout did not follow"
    assert_unchanged_checkout
    assert_clean
}

@test "run: a branch switch during the run changes nothing about where work lands" {
    make_repo
    git branch other
    begin_plan
    add_task a -- "sh cd $PWD && env -u GIT_CEILING_DIRECTORIES git switch -q other" 'write a 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    run_plan
    assert_status 0
    [[ $(git symbolic-ref HEAD) == refs/heads/other ]] || fail "HEAD was moved"
    assert_in main b 1
    refute_in other a
    assert_unchanged_checkout
    assert_clean
}

@test "run: a commit that someone makes on the base meanwhile is kept, and merged" {
    make_repo
    begin_plan
    add_task a -- "sh $(committer theirs)" 'write a 1'
    run_plan
    assert_status 0
    assert_in main theirs here
    assert_in main a 1
    assert_unchanged_checkout
    assert_clean
}

@test "run: the same where the base is not checked out" {
    make_repo
    git switch -q -c elsewhere
    local tree
    tree=$(git rev-parse 'main^{tree}')
    cat >"$BATS_TEST_TMPDIR/push" <<END
#!/bin/sh
unset GIT_CEILING_DIRECTORIES
cd '$PWD' && git update-ref refs/heads/main "\$(git commit-tree -p main -m theirs $tree)"
END
    chmod +x "$BATS_TEST_TMPDIR/push"
    begin_plan
    add_task a -- "sh $BATS_TEST_TMPDIR/push" 'write a 1'
    run_plan --base main
    assert_status 0
    assert_in main a 1
    git log --format=%s main | grep -qx theirs || fail "their commit is lost"
    [[ $(git symbolic-ref HEAD) == refs/heads/elsewhere ]] || fail "HEAD was moved"
    assert_unchanged_checkout
    assert_clean
}

@test "run: work that conflicts with someone's commit on the base is kept on a branch" {
    make_repo
    begin_plan
    add_task a -- "sh $(committer file theirs)" 'sh sed -i s/five/ours/ file' 'write new 1'
    run_plan
    assert_status 4
    assert_in main file theirs
    refute_in main new
    local ref
    ref=$(git for-each-ref --format='%(refname)' refs/heads/anabranch)
    [[ -n $ref ]] || fail "the work is on no branch"
    assert_in "$ref" new 1
    assert_unchanged_checkout
}

@test "run: someone who commits all the time loses nothing, and neither do we" {
    make_repo
    begin_plan
    local i
    for i in {1..10}; do add_task "t$i" -- "write t$i 1"; done
    start_plan -j 3
    local theirs=0
    while ! is_gone "$engine"; do
        theirs=$((theirs + 1))
        echo "$theirs" >theirs
        # Our own fast-forward may hold the index just then, as any git command of theirs may. Their staged files stay staged: a
        # 'git reset' between its writing the index and its moving HEAD would take ours out of what they commit next.
        if ! git add theirs 2>/dev/null || ! git commit -q -m "theirs $theirs" 2>/dev/null; then
            theirs=$((theirs - 1))
        fi
    done
    end_plan
    [[ $status -eq 0 || $status -eq 4 ]] || fail "status"
    [[ $(git log --format=%s main | grep -c '^theirs') -ge $theirs ]] || fail "commits of theirs are lost"
    [[ $(grep -c '"event":"task.landed"' <<<"$output") == 10 ]] || fail "not all landed"
    local at=main
    [[ $status -eq 0 ]] || at=$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/+result')
    for i in {1..10}; do assert_in "$at" "t$i" 1; done
    no_agents || fail "still alive"
}

# Moves a branch that is checked out nowhere as fast as git can, until it is told to end, or for a minute.
commit_without_pause() { # BRANCH
    local old n=0
    SECONDS=0
    until [[ -e $BATS_TEST_TMPDIR/enough || $SECONDS -gt 60 ]]; do
        old=$(git rev-parse "$1")
        git update-ref "refs/heads/$1" "$(git commit-tree -p "$old" -m "theirs $n" "$old^{tree}")" "$old" 2>/dev/null ||
            continue
        n=$((n + 1))
        echo "$n" >"$BATS_TEST_TMPDIR/theirs"
    done
}

@test "run: someone who commits without pause keeps nothing from landing" {
    make_repo
    git branch side
    begin_plan
    add_task plain -- 'write a 1'
    commit_without_pause side 3>&- &
    local person=$!
    wait_for test -s "$BATS_TEST_TMPDIR/theirs"
    run_plan --base side
    touch "$BATS_TEST_TMPDIR/enough"
    wait "$person"
    assert_status 0
    assert_in side a 1
    [[ $(git log --format=%s side | grep -c '^theirs') -eq $(<"$BATS_TEST_TMPDIR/theirs") ]] || fail "commits of theirs are lost"
    [[ $(git log --format=%s side | grep -c '^Merge anabranch run') -le 12 ]] || fail "many rounds"
    assert_unchanged_checkout
    assert_clean
}

@test "run: a run that cannot begin is not offered for resume" {
    make_repo
    begin_plan
    add_task a -- 'write a x'
    mkdir .git/anabranch
    touch .git/anabranch/tmp
    run_plan
    assert_status 3
    [[ $stderr != *'To resume this run'* ]] || fail 'there is nothing to resume'
    [[ ! -e .git/anabranch/runs ]] || [[ -z $(ls .git/anabranch/runs) ]] || fail "$(ls -R .git/anabranch/runs)"
}

@test "run: a run that cannot begin is over, and does not wait for resume" {
    make_repo
    begin_plan
    add_task a -- 'write a x'
    echo not a folder >.git/refs/anabranch
    run_plan
    assert_status 3
    run anabranch status
    assert_contains broken
    rm .git/refs/anabranch
    run_plan
    assert_status 0
    assert_clean
}

@test "run: a command that is printed is right for any name of the base" {
    make_repo
    git branch -m "it's&\$HOME"
    begin_plan
    add_task first 'order: 1' -- 'write file first'
    add_task second 'order: 2' -- 'write file second'
    echo mine >>file
    run_plan
    assert_status 4
    git checkout -q file
    run bash -c "$(grep -A1 'All landed work is on' <<<"$output" | sed -n '2s/^  //p')"
    assert_status 0
    [[ $(<file) == first ]] || fail "file: $(<file)"
    assert_clean kept=1 'refs/heads/anabranch/*/second' 'refs/heads/anabranch/*/+result'
}

@test "run: the command that resolves a conflict is right for any name of the base" {
    make_repo
    git branch -m "it's&here"
    begin_plan
    add_task first 'order: 1' -- 'write file first'
    add_task second 'order: 2' -- 'write file second'
    run_plan
    assert_status 4
    command=$(grep -A1 'To resolve second by hand' <<<"$output" | sed -n '2s/^  //p')
    run bash -c "$command"
    assert_status 1
    assert_contains 'CONFLICT (content): Merge conflict in file'
}

@test "run: a task may be named as the branch that has the result" {
    make_repo
    begin_plan
    add_task first 'order: 1' -- 'write file first'
    add_task result 'order: 2' -- 'write file second'
    echo mine >>file
    run_plan
    assert_status 4
    assert_clean kept=1 'refs/heads/anabranch/*/result' 'refs/heads/anabranch/*/+result'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/+result')" file first
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/result')" file second
    git checkout -q file
    run_apart anabranch resume last 3>&-
    assert_status 4
    assert_in main file first
    assert_clean kept=1 'refs/heads/anabranch/*/result'
}

@test "run: a branch that is there already is not the result, and what landed stays where it is" {
    make_repo
    begin_plan
    add_task a -- 'write file landed' 'sh git branch anabranch/$ANABRANCH_RUN/+result'
    echo mine >>file
    run_plan
    assert_status 3
    [[ $stderr == *"+result' already exists; everything that landed is kept as refs/anabranch/runs/"* ]] ||
        fail 'it does not say why'
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/runs)" file landed
}

@test "run: a base that is removed during the run costs no work" {
    make_repo
    git switch -q -c elsewhere
    begin_plan
    add_task a -- "sh cd $PWD && env -u GIT_CEILING_DIRECTORIES git branch -q -D main" 'write a 1'
    run_plan --base main
    assert_status 4
    assert_clean 'refs/heads/anabranch/*/+result'
    run bash -c "$(grep -A1 'All landed work is on' <<<"$output" | sed -n '2s/^  //p')"
    assert_status 0
    assert_in main a 1
}

@test "run: a repository that is used in several worktrees" {
    make_repo
    git worktree add -q -b side ../side
    cp plan.yaml ../side/ 2>/dev/null || true
    cd ../side
    begin_plan
    add_task t -- 'write new 1'
    run_plan
    assert_status 0
    assert_in side new 1
    refute_in main new
    [[ -z $(git status --porcelain) && -e new ]] || fail "the checkout did not follow"
    cd ../repo
    [[ $(git worktree list | wc -l) -eq 2 ]] || fail "$(git worktree list)"
}

# The user's git during a run

@test "run: git fsck, worktree list, worktree prune and gc of a person in the middle take nothing away" {
    make_repo
    begin_plan 'defaults: {retry: 0}' 'limits: {workers: 2}'
    add_task first -- 'write file first'
    add_task clash -- "sh $(until_exists clash)" 'write file clash'
    add_task stays 'depends_on: [first]' -- 'write mine 1' 'commit mine' 'write staged 2' 'sh git add staged' 'write loose 3' \
        'sh touch "$STAMPS.here"' "sh $(until_exists on)" 'sh test "$(git log -1 --format=%s)" = mine && git cat-file -e :staged' \
        'sh test "$(git status --porcelain | paste -sd,)" = "A  staged,?? loose" && git fsck --no-dangling' 'write end 4'
    add_task second 'depends_on: [stays]' -- 'write second 5'
    start_plan
    wait_for test -e "$STAMPS.here"
    touches clash
    wait_for in_events task.conflicted clash
    local said
    said=$(git worktree prune --expire=now --verbose && git fsck --no-dangling --no-progress 2>&1 && git gc -q --prune=now --force)
    [[ -z $said && $(git worktree list | wc -l) -eq 3 ]] || fail "$said" "$(git worktree list)"
    touches on
    end_plan
    assert_status 4
    refute_contains 'info/refs'
    for pair in mine:1 staged:2 loose:3 end:4 second:5 file:first; do
        assert_in main "${pair%:*}" "${pair#*:}"
    done
    [[ -z $(git worktree prune --expire=now --verbose) ]] || fail "it was pruned"
    [[ $(<"$(echo .anabranch/worktrees/*/clash)/file") == clash ]] || fail "$(ls -A .anabranch/worktrees/*)"
    assert_clean kept=1 'refs/heads/anabranch/*/clash'
}

# A git may complain about another git, also an agent's, that works at the same time. We ignore that.
@test "run: git fsck, worktree list, worktree prune and gc of a person, again and again, do no harm" {
    make_repo
    begin_plan
    local i person after=
    for i in {1..30}; do
        add_task "t$i" ${after:+"depends_on: [$after]"} -- "write f$i $i" \
            'sh for n in 1 2 3 4 5; do git add -A && git commit -q -m mine && break; done' "write d/f$i $i"
        ((i % 5)) && after= || after=t$i
    done
    touch "$BATS_TEST_TMPDIR/busy"
    while [[ -e $BATS_TEST_TMPDIR/busy ]]; do
        git worktree prune --expire=now
        git worktree list
        git fsck --no-progress
        git gc -q --force
    done >/dev/null 2>&1 3>&- &
    person=$!
    run_plan -j 4
    rm "$BATS_TEST_TMPDIR/busy"
    wait "$person" || true
    assert_status 0
    refute_contains 'outside its workspace'
    for i in {1..30}; do
        assert_in main "f$i" "$i"
        assert_in main "d/f$i" "$i"
    done
    git worktree prune # a gc that outlived the run may have made an empty folder again
    assert_clean
    assert_unchanged_checkout
}

# A gc takes folders of objects away in which nothing is left; then a git that was about to write there dies.
@test "run: a git of ours that loses its folder to a person's gc is started again" {
    make_repo
    echo '*.x filter=x' >.gitattributes
    git config filter.x.clean cat
    cp .git/config "$BATS_TEST_TMPDIR/config"
    git add .gitattributes
    git commit -q -m attributes
    begin_plan 'defaults: {retry: 0}'
    add_task a -- 'write a.x 1' 'sh sed -i s/one/ONE/ file'
    add_task b -- 'write b.x 1' 'sh sed -i s/nine/NINE/ file'
    wrap_git 'if [[ ( $sub == add || $sub == merge-tree ) && "$*" != *--stdin* && ! -e $dir/$sub.died ]]; then' \
        '    touch "$dir/$sub.died"' '    echo "error: unable to create temporary file: No such file or directory" >&2' '    exit 128' 'fi'
    run_plan
    real_git
    assert_status 0
    [[ -e $BATS_TEST_TMPDIR/add.died && -e $BATS_TEST_TMPDIR/merge-tree.died ]] || fail "there was no such git"
    assert_in main a.x 1
    assert_in main b.x 1
    [[ $(git show main:file | paste -sd,) == ONE,two,*,NINE ]] || fail "$(git show main:file)"
    assert_clean
}

# Landing

@test "run: landing as merges, by default" {
    make_repo
    begin_plan
    add_task t 'title: Do the thing' -- 'write a 1'
    run_plan
    assert_status 0
    [[ $(git rev-list --count --merges main) == 1 ]] || fail "$(git log --graph --oneline main)"
    [[ $(git log -1 --format=%s main) == 'Merge anabranch task t: Do the thing' ]] || fail "$(git log -1 main)"
    [[ $(git log -1 --format=%s main^2) == 'Do the thing' ]] || fail "$(git log -1 main^2)"
    [[ $(git log -1 --format='%an <%ae>' main^2) == 'Tester <tester@example.com>' ]] || fail "author"
    for c in main main^2; do
        [[ $(git log -1 --format='%(trailers:key=Anabranch-Task,valueonly)' $c) == t* ]] || fail "no trailer"
        [[ $(git log -1 --format='%(trailers:key=Anabranch-Run,valueonly)' $c) == 20* ]] || fail "no trailer"
    done
    assert_clean
}

@test "run: a verification that cannot start costs no other attempt, and its work lands when that is put right" {
    local plan
    make_repo
    begin_plan 'workspace: {setup: "true"}'
    add_task a 'retry: {verify: 2, setup: 2}' 'verify: "no-such-program --all"' -- 'write a 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    run_plan
    assert_status 1
    assert_summary a 'setup: verification cannot start (exit code 127)'
    [[ $(summary_of a) != *attempts* ]] || fail "another attempt"
    sed -i s/no-such-program/true/ plan.yaml
    run_apart anabranch resume --engine sim 3>&-
    assert_status 0
    assert_contains '2 landed'
    [[ $(find .git/anabranch/runs/*/a -maxdepth 1 -name '[0-9]*' | wc -l) == 1 ]] || fail "the agent ran again"
    assert_in main a 1
    assert_in main b 1
}

@test "run: a verification that may not be executed costs no other attempt, and its work lands when it may" {
    make_repo
    printf '#!/bin/sh\n' >check
    git add check && git commit -q -m check # without x
    begin_plan
    add_task a 'retry: {verify: 2, setup: 2}' 'verify: ./check --all' -- 'write a 1'
    add_task b 'retry: {verify: 2, setup: 2}' 'verify: [./check, --all]' -- 'write b 1'
    run_plan
    assert_status 1
    local task
    for task in a b; do
        assert_summary $task 'setup: verification cannot start (exit code 12'
        [[ $(summary_of $task) != *attempts* ]] || fail "another attempt of $task"
        refute_in main $task
    done
    assert_summary a '(exit code 126): ' # a shell's code; b has none, and its reason says the same
    assert_summary b 'Permission denied'
    chmod +x check && git commit -q -a -m executable
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_contains '2 landed'
    for task in a b; do
        [[ $(find .git/anabranch/runs/*/$task -maxdepth 1 -name '[0-9]*' | wc -l) == 1 ]] || fail "the agent ran again"
        assert_in main $task 1
    done
    assert_clean 'refs/anabranch/salvage/*/[ab]/1'
}

@test "run: the reason of a failed verification ends without a colon if it printed nothing" {
    make_repo
    begin_plan
    add_task a 'retry: {verify: 0}' 'verify: exit 3' -- 'write a 1'
    add_task b 'retry: {verify: 0}' 'verify: echo out; exit 3' -- 'write b 1'
    add_task c 'verify: exit 127' -- 'write c 1'
    run_plan
    assert_status 1
    run anabranch status --json
    [[ $(jq -r '.tasks[].reason' <<<"$output") == 'verification failed (exit code 3)
verification failed (exit code 3): out
verification cannot start (exit code 127)' ]] || fail
}

@test "run: a verification's program that is missing is found before an agent is paid" {
    make_repo
    begin_plan 'landing: {verify: [no-such-program, --all]}'
    add_task a -- 'write a 1'
    run_plan
    assert_status 3
    [[ $stderr == *"task 'a': cannot find the program 'no-such-program' of the verification"* ]] || fail "expected a message"
    begin_plan
    add_task a 'verify: no-such-program --all' -- 'write a 1'
    run_plan
    assert_status 3
    [[ ! -e .git/anabranch/runs || -z $(find .git/anabranch/runs -name prompt) ]] || fail "an agent was started"
    # We do not judge builtins of the shell, and programs of the project.
    begin_plan
    add_task a 'verify: "no-such-program || test -e a"' -- 'write a 1'
    add_task b 'verify: [./check]' -- 'sh printf "#!/bin/sh\n" >check; chmod +x check'
    add_task c 'verify: jobs' -- 'write c 1' # a builtin of the shell alone
    run_plan
    assert_status 0
}

@test "run: landing by squash: one commit for each task" {
    make_repo
    begin_plan 'landing: {style: squash}'
    add_task a 'title: First' -- 'write a 1' 'commit step one' 'write a2 1' 'commit step two' 'write a3 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    run_plan
    assert_status 0
    [[ $(git log --format=%s main) == $'b\nFirst\nstart' ]] || fail "$(git log --oneline main)"
    assert_in main a2 1
    assert_in main a3 1
    assert_clean
}

@test "run: landing by rebase: the agent's own commits, in a line" {
    make_repo
    begin_plan 'landing: {style: rebase}'
    add_task a 'order: 1' -- 'write a 1' 'commit step one' 'write a2 1' 'commit step two' 'write a3 1'
    add_task b 'order: 2' -- 'append file ten'
    run_plan
    assert_status 0
    [[ $(git log --format=%s main) == $'b\na\nstep two\nstep one\nstart' ]] || fail "$(git log --oneline main)"
    [[ $(git rev-list --count --merges main) == 0 ]] || fail "merges"
    assert_in main a3 1
    [[ $(git show main:file | tail -n 1) == ten ]] || fail "file"
    assert_clean
    assert_unchanged_checkout
}

@test "run: a conflict in a rebase is a conflict" {
    make_repo
    begin_plan 'landing: {style: rebase}' 'enforce: warn'
    add_task a 'order: 1' -- 'sh sed -i s/five/a/ file'
    add_task b 'order: 2' -- 'write b 1' 'commit fine' 'sh sed -i s/five/b/ file'
    run_plan
    assert_status 4
    assert_summary b conflicted
    refute_in main b
    assert_clean kept=1 'refs/heads/anabranch/*/b'
}

@test "run: landing at the end moves the base once" {
    make_repo
    begin_plan 'landing: {at: end}'
    add_task a -- 'write a 1'
    add_task b 'depends_on: [a]' -- 'sh cat a >b' \
        "sh test \$(git --git-dir $PWD/.git rev-parse main) = $(git rev-parse main)"
    run_plan
    assert_status 0
    assert_in main b 1
    [[ $(git reflog main | wc -l) == 2 ]] || fail "$(git reflog main)"
    assert_unchanged_checkout
    assert_clean
}

@test "run: the message of commits is the plan's" {
    make_repo
    begin_plan 'commit: {message: "{id}: {title} [{engine}]"}' 'landing: {style: squash}'
    add_task t 'title: Do it' -- 'write a 1'
    run_plan
    assert_status 0
    [[ $(git log -1 --format=%s main) == 't: Do it [sim]' ]] || fail "$(git log -1 main)"
}

@test "run: an empty change of a dependant of a rebased task is no_change" {
    make_repo
    begin_plan 'landing: {style: rebase}'
    add_task a -- 'write a 1'
    add_task b 'depends_on: [a]' -- 'say nothing'
    run_plan
    assert_status 1
    assert_summary b no_change
    assert_clean
}

# Agents that change git's files

@test "run: agents that commit themselves" {
    make_repo
    begin_plan
    add_task all -- 'write a 1' 'commit mine'
    add_task some -- 'write b 1' 'commit mine too' 'write c 1'
    run_plan
    assert_status 0
    assert_in main a 1
    assert_in main c 1
    git log --format=%s main | grep -qx mine || fail "$(git log --oneline main)"
    git log --format=%s main | grep -qx 'mine too' || fail "$(git log --oneline main)"
    assert_clean
}

@test "run: agents that amend, reset, switch, detach" {
    make_repo
    begin_plan
    add_task amend -- 'write amend 1' 'sh git add -A && git commit -q --amend -m amended'
    add_task reset -- 'write reset 1' 'commit x' 'sh git reset -q --soft HEAD~1'
    add_task detach -- 'sh git switch -q --detach' 'write detach 1' 'commit detached' 'write detach2 1'
    add_task switch -- 'sh git switch -q -c own-$ANABRANCH_RUN' 'write switch 1' 'commit switched' 'write switch2 1'
    run_plan
    assert_status 0
    for f in amend reset detach detach2 switch switch2; do assert_in main "$f" 1; done
    assert_in main file "$(printf '%s\n' one two three four five six seven eight nine)"
    git log --format=%s main | grep -qx start || fail "history was rewritten"
    git branch -D -q "$(git branch --format='%(refname:short)' --list 'own-*')"
    assert_clean
    assert_unchanged_checkout
}

@test "run: agents that delete their .git or their index" {
    make_repo
    begin_plan
    add_task gone -- 'write gone 1' 'sh rm .git'
    add_task again -- 'sh rm .git && git init -q' 'write again 1' 'sh git add -A && git -c user.name=x -c user.email=x@x commit -q -m x'
    add_task index -- 'write index 1' 'sh rm -f "$(git rev-parse --git-dir)/index"'
    run_plan
    assert_status 0
    for f in gone again index; do assert_in main "$f" 1; done
    assert_clean
    assert_unchanged_checkout
}

@test "run: an agent without its .git does not reach the user's checkout by git" {
    make_repo
    begin_plan
    add_task t -- 'write stray 1' 'sh rm .git; git add -A; git commit -q -m stray; git checkout -q -b astray; true'
    run_plan
    [[ $(git symbolic-ref HEAD) == refs/heads/main ]] || fail "HEAD was moved"
    ! git log --all --format=%s | grep -qx stray || fail "it committed in the user's checkout"
    assert_unchanged_checkout
}

@test "run: hooks and monitors that an agent plants do not run as ours" {
    make_repo
    mkdir -p "$BATS_TEST_TMPDIR/hooks"
    local evil=$BATS_TEST_TMPDIR/hooks/evil hook
    printf '#!/bin/sh\ntouch %s.ran\n' "$evil" >"$evil"
    chmod +x "$evil"
    for hook in pre-commit commit-msg post-commit reference-transaction post-checkout post-merge \
        pre-merge-commit post-index-change; do
        ln -s evil "$BATS_TEST_TMPDIR/hooks/$hook"
    done
    begin_plan
    add_task a -- "sh git config core.fsmonitor $evil; git config core.hooksPath $BATS_TEST_TMPDIR/hooks; rm -f $evil.ran" 'write a 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    run_plan
    [[ ! -e $evil.ran ]] || fail "it ran"
    assert_status 0
    assert_in main b 1
    cp "$BATS_TEST_TMPDIR/config" .git/config
    assert_clean
}

@test "run: a workspace inside a workspace, and one with a nested repository" {
    make_repo
    begin_plan
    add_task t -- 'write new 1' 'sh git init -q inside && cd inside && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x'
    run_plan
    assert_status 0
    assert_in main new 1
    assert_clean 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/t/1.nested/1/*'
}

@test "run: files that are ignored are not committed" {
    make_repo
    echo '*.o' >.gitignore
    git add .gitignore
    git commit -q -m ignore
    begin_plan
    add_task t -- 'write a.o 1' 'write a 1'
    run_plan
    assert_status 0
    refute_in main a.o
    assert_in main a 1
}

# Ownership

@test "run: enforce block keeps what strays from landing, with all paths named" {
    make_repo
    mkdir src
    echo x >src/a
    echo y >other
    git add . && git commit -q -m more
    begin_plan 'enforce: block'
    add_task ok 'owns: [src/]' -- 'write src/b 1'
    add_task adds 'owns: [one/]' -- 'write one/x 1' 'write stray 1'
    add_task deletes 'owns: [two/]' -- 'write two/x 1' 'delete dir/inner'
    add_task renames 'owns: [three/]' -- 'sh mkdir three; git mv other three/other'
    add_task modes 'owns: [four/]' -- 'write four/x 1' 'chmod 755 file'
    add_task links 'owns: [five/]' -- 'write five/x 1' 'symlink /etc/passwd link'
    run_plan
    assert_status 1
    assert_summary ok landed
    assert_summary adds 'scope: changed 1 path that it does not own: stray'
    assert_summary deletes 'not own: dir/inner'
    assert_summary renames 'not own: other'
    assert_summary modes 'not own: file'
    assert_summary links 'not own: link'
    assert_contains '1 landed, 5 failed'
    local ref
    ref=$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/adds/*')
    assert_in "$ref" one/x 1
    assert_clean 'refs/anabranch/salvage/*/adds/1' 'refs/anabranch/salvage/*/deletes/1' \
        'refs/anabranch/salvage/*/renames/1' 'refs/anabranch/salvage/*/modes/1' 'refs/anabranch/salvage/*/links/1'
    assert_unchanged_checkout
}

@test "run: enforce warn lands it, and says so" {
    make_repo
    begin_plan 'enforce: warn'
    add_task t 'owns: [src/]' -- 'write src/b 1' 'write stray 1'
    run_plan --json
    assert_status 0
    assert_event scope.violated t '"paths":["stray"]'
    assert_in main stray 1
    assert_clean
}

@test "run: a task that owns nothing may touch all but what others own, and never what it forbids" {
    make_repo
    begin_plan 'enforce: block'
    add_task owner 'owns: [dir/]' -- 'append dir/inner more'
    add_task free -- 'append file ten'
    add_task thief -- 'write dir/new 1'
    add_task forbidden 'forbids: [file2]' -- 'write file2 1'
    run_plan
    assert_status 1
    assert_summary owner landed
    assert_summary free landed
    assert_summary thief 'not own: dir/new'
    assert_summary forbidden 'file2'
}

@test "run: changes of dependencies do not count against a task" {
    make_repo
    begin_plan 'enforce: block'
    add_task a 'owns: [a/]' -- 'write a/x 1'
    add_task b 'owns: [b/]' 'depends_on: [a]' -- 'write b/x 1'
    run_plan
    assert_status 0
    assert_clean
}

@test "run: paths that need quoting are held against ownership as they are" {
    make_repo
    begin_plan 'enforce: block'
    add_task t 'owns: ["odd é/"]' -- 'write "odd é/tab\tand\nline" 1'
    run_plan
    assert_status 0
    assert_in main $'odd é/tab\tand\nline' 1
    assert_clean
    assert_unchanged_checkout
}

# Verification

@test "run: verification sees the merged tree, and what passes is what lands" {
    make_repo
    begin_plan 'landing: {verify: "ls >>$STAMPS.ls; echo == >>$STAMPS.ls; git rev-parse HEAD >>$STAMPS.head; git status --porcelain >>$STAMPS.status"}'
    add_task a 'order: 1' -- 'write a 1'
    add_task b 'order: 2' -- 'write b 1'
    run_plan
    assert_status 0
    [[ $(sed -n '/==/,$p' "$STAMPS.ls" | grep -c '^[ab]$') -ge 2 ]] || fail "$(<"$STAMPS.ls")"
    [[ $(tail -n 1 "$STAMPS.head") == $(git rev-parse main) ]] || fail "another commit was verified"
    [[ ! -s $STAMPS.status ]] || fail "the tree differs: $(<"$STAMPS.status")"
    assert_clean
}

@test "run: a verification that does not end is ended, and is a failure" {
    make_repo
    begin_plan
    add_task a 'verify: "sleep 4327"' 'retry: {verify: 0}' -- 'write a 1'
    ANABRANCH_COMMAND_TIME=1s run_plan
    assert_status 1
    assert_summary a 'verify: verification timed out'
    ! pgrep -f 'sleep 432[7]' || fail "it goes on"
}

@test "run: little patience with git is none of a verification's business" {
    make_repo
    begin_plan
    add_task a 'verify: "sleep 4"' 'retry: {verify: 0}' -- 'write a 1'
    ANABRANCH_PATIENCE=3s run_plan
    assert_status 0
}

@test "run: a task's own verification, then the plan's" {
    make_repo
    begin_plan 'landing: {verify: "echo plan >>$STAMPS.order"}'
    add_task a 'verify: "echo task >>$STAMPS.order; cat a"' -- 'write a 1'
    run_plan
    assert_status 0
    [[ $(<"$STAMPS.order") == $'task\nplan' ]] || fail "$(<"$STAMPS.order")"
}

@test "run: work that fails verification does not land; the next attempt gets the reason" {
    make_repo
    begin_plan
    add_task a 'verify: "cat a; echo the tests complain >&2; grep -q good a"' 'retry: {verify: 1}' -- \
        'on 1 write a bad' 'on 2 write a good' 'sh cp "$STAMPS".none . 2>/dev/null; true'
    run_plan
    assert_status 0
    assert_contains 'the tests complain'
    assert_in main a good
    local prompts=(.git/anabranch/runs/*/a/*/prompt)
    ! grep -q 'the tests complain' "${prompts[0]}" || fail "the first attempt knows"
    grep -q 'the tests complain' "${prompts[1]}" || fail "the second attempt was not told: $(<"${prompts[1]}")"
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "run: verification that keeps failing is a failure of that class, and the work is kept" {
    make_repo
    begin_plan
    add_task a 'verify: "false"' 'retry: {verify: 0}' -- 'write a 1'
    add_task b -- 'write b 1'
    run_plan
    assert_status 1
    assert_summary a verify:
    assert_summary b landed
    refute_in main a
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" a 1
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "run: files that verification leaves in the workspace do not land" {
    make_repo
    begin_plan 'landing: {verify: "echo dirt >dirt; echo dirt >>a"}'
    add_task a -- 'write a 1'
    run_plan
    assert_status 0
    assert_in main a 1
    refute_in main dirt
    assert_clean
}

@test "run: a verification that was overtaken is done again" {
    make_repo
    # Both begin on the same tip; the one that ends later has to be verified on the other's.
    begin_plan "landing: {verify: 'echo \$ANABRANCH_TASK \$(ls | grep -c \"^[ab]\$\") >>\$STAMPS.seen; $(both_verify)'}"
    add_task a -- 'write a 1'
    add_task b -- 'write b 1'
    run_plan -j 2
    assert_status 0
    grep -q ' 2$' "$STAMPS.seen" || fail "$(<"$STAMPS.seen")"
    [[ $(wc -l <"$STAMPS.seen") -ge 3 ]] || fail "$(<"$STAMPS.seen")"
    assert_clean
}

# Read-only tasks

@test "run: a read-only task sees the merged tree and cannot change the checkout" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b -- 'write b 1'
    add_task review 'read_only: true' 'depends_on: [a, b]' -- 'sh cat a b >$STAMPS.seen' 'write stray 1' 'append file x'
    run_plan
    assert_status 0
    assert_summary review 'done'
    [[ $(<"$STAMPS.seen") == $'1\n1' ]] || fail "it saw: $(<"$STAMPS.seen")"
    refute_in main stray
    [[ ! -e stray ]] || fail "it wrote to the checkout"
    assert_unchanged_checkout
    assert_clean 'refs/anabranch/salvage/*/review/1'
}

@test "run: read-only plans work outside a repository" {
    begin_plan
    add_task a 'read_only: true' -- 'say fine'
    add_task b 'read_only: true' 'depends_on: [a]' -- 'say fine'
    run_plan
    assert_status 0
    assert_contains '2 done'
    no_agents || fail "still alive"
}

@test "run: read-only tasks outside a repository work beside each other in the folder" {
    echo text >input
    begin_plan
    add_task a 'read_only: true' -- 'sh cat input >$STAMPS.seen'
    run_plan
    assert_status 0
    [[ $(<"$STAMPS.seen") == text ]] || fail "it does not see the folder"
}

# The user's hooks

@test "run: the user's hooks do not run, unless the plan wants them" {
    make_repo
    printf '#!/bin/sh\ntouch %s.hook\n' "$STAMPS" >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan
    add_task t -- 'write a 1'
    run_plan
    assert_status 0
    [[ ! -e $STAMPS.hook ]] || fail "the hook ran"
    assert_clean
}

@test "run: commit.hooks: true runs pre-commit on what is committed" {
    make_repo
    cat >.git/hooks/pre-commit <<END
#!/bin/sh
git diff --cached --name-only >$STAMPS.hook
END
    chmod +x .git/hooks/pre-commit
    begin_plan 'commit: {hooks: true}'
    add_task t -- 'write a 1'
    run_plan
    assert_status 0
    [[ $(<"$STAMPS.hook") == a ]] || fail "the hook saw: $(<"$STAMPS.hook")"
    assert_clean
}

@test "run: commit.hooks: true runs commit-msg on the message" {
    make_repo
    cat >.git/hooks/commit-msg <<'END'
#!/bin/sh
echo 'Checked-By: hook' >>"$1"
END
    chmod +x .git/hooks/commit-msg
    begin_plan 'commit: {hooks: true}'
    add_task t -- 'write a 1'
    run_plan
    assert_status 0
    git log -1 --format=%B main^2 | grep -qx 'Checked-By: hook' || fail "$(git log -1 main^2)"
    assert_clean
}

@test "run: a hook that refuses is a failure, with its words, and the work is kept" {
    make_repo
    printf '#!/bin/sh\necho no trailing blanks please\nexit 1\n' >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan 'commit: {hooks: true}'
    add_task t 'retry: {verify: 0}' -- 'write a 1'
    run_plan
    assert_status 1
    assert_contains 'no trailing blanks please'
    refute_in main a
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" a 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

# The command line

@test "run: --only runs some tasks, as if all others were done" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    add_task c -- 'write c 1'
    run_plan --only b,c
    assert_status 0
    refute_in main a
    assert_in main b 1
    assert_contains '2 landed'
    [[ -z $(summary_of a) ]] || fail "a is in the summary"
    assert_clean
    run_plan --only b,nosuch
    assert_status 2
    [[ $stderr == *"--only: the plan has no task 'nosuch'"* ]] || fail "no message"
}

@test "run: --base is where work lands; the plan's base likewise" {
    make_repo
    git branch other
    git branch third
    begin_plan 'base: third'
    add_task a -- 'write a 1'
    run_plan --base other
    assert_status 0
    assert_in other a 1
    refute_in main a
    run_plan
    assert_status 0
    assert_in third a 1
    refute_in main a
    assert_clean
    assert_unchanged_checkout
}

@test "run: --engine and --engine-exe" {
    make_repo
    begin_plan
    add_task a 'engine: command' 'command: [cat]' -- 'write a 1'
    run_plan
    assert_status 0
    assert_in main a 1
    cat >"$BATS_TEST_TMPDIR/fake" <<'END'
#!/bin/sh
printf '%s\n' "$@" >args
cat >prompt
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"x","total_cost_usd":0.1,"usage":{"input_tokens":1,"output_tokens":1}}'
END
    chmod +x "$BATS_TEST_TMPDIR/fake"
    run_apart anabranch run --engine claude --engine-exe "$BATS_TEST_TMPDIR/fake" plan.yaml 3>&-
    assert_status 0
    assert_in main prompt 'sim> write a 1'
    git show main:args | grep -qx -e -p || fail "$(git show main:args)"
    run_apart anabranch run --engine nosuch plan.yaml
    assert_status 2
    [[ $stderr == *"there is no engine 'nosuch'"* ]] || fail "no message"
}

@test "run: a result of claude's that is longer than a megabyte counts" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    cat >"$BATS_TEST_TMPDIR/fake" <<'END'
#!/bin/sh
cat >prompt
long=$(head -c 3000000 /dev/zero | tr '\0' x)
printf '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"a","content":"%s"}}]}}\n' "$long"
printf '{"type":"result","result":"%s","is_error":false,"total_cost_usd":0.25,"usage":{"input_tokens":7,"output_tokens":1}}\n' "$long"
END
    chmod +x "$BATS_TEST_TMPDIR/fake"
    run_apart anabranch run --json --engine claude --engine-exe "$BATS_TEST_TMPDIR/fake" plan.yaml 3>&-
    assert_status 0
    assert_in main prompt 'sim> write a 1'
    [[ $output == *'"action":"Write a"'* && $output == *'"tokens_in":7'*'"usd":0.25'* ]] || fail "not told"
}

@test "run: --keep leaves workspaces and branches of what landed" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    run_plan --keep
    assert_status 0
    assert_in main a 1
    assert_clean kept=1 'refs/heads/anabranch/*/a'
    assert_unchanged_checkout
    local ws
    ws=$(echo .anabranch/worktrees/*/a)
    [[ $(<"$ws/a") == 1 ]] || fail "no workspace"
    [[ -z $(git -C "$ws" status --porcelain) ]] || fail "$(git -C "$ws" status --porcelain)"
}

@test "run: --json prints one event per line, all of known names, and nothing else" {
    make_repo
    begin_plan 'enforce: warn' 'landing: {verify: "true"}'
    add_task a 'owns: [dir/]' 'retry: 1' -- 'on 1 exit 1' 'tokens 1 2 0.5' 'action "some\u001b[31mthing"' 'write a 1' 'spawn sleep 4329'
    add_task b 'depends_on: [c]' -- 'write b 1'
    add_task c -- 'exit 2'
    add_task d -- 'write a 2'
    run_plan --json
    assert_status 4
    [[ -z $stderr ]] || fail "errors"
    python3 - "$BATS_TEST_DIRNAME/../../../src/plan/schedule/event.def" <<END || fail "the events are not as they should be"
import json, re, sys
names = set(re.findall(r'"([^"]+)"\)', open(sys.argv[1]).read()))
events = [json.loads(line) for line in r'''$output'''.splitlines()]
assert [e["seq"] for e in events] == sorted({e["seq"] for e in events}), "seq"
assert events[0]["event"] == "run.started" and events[-1]["event"] == "run.finished"
for e in events:
    assert e["event"] in names, e
    assert e["run"] == events[0]["run"] and e["time"].endswith("Z"), e
    assert ("task" in e) == e["event"].startswith(("task.", "workspace.", "scope.")), e
END
    for e in task.ready task.started task.usage task.action task.exited task.swept task.committed \
        task.verified task.landed task.retried task.failed task.skipped task.conflicted scope.violated \
        workspace.created workspace.removed; do
        assert_event "$e"
    done
}

@test "run: --quiet says only what went wrong" {
    make_repo
    begin_plan
    add_task fine -- 'write a 1'
    add_task wrong -- 'exit 2'
    run_plan --quiet
    assert_status 1
    refute_contains 'fine'
    assert_contains 'wrong'
    [[ -z $stderr ]] || fail "errors"
}

@test "run: a reader that leaves early does not stop the run" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    anabranch run --engine sim plan.yaml 3>&- | head -n 1 >/dev/null || true
    assert_in main b 1
    assert_clean
}

# Refusals

listing() {
    find . -path ./.git/objects -prune -o -printf '%p %y %s %T@\n' | sort
    git for-each-ref
}

# The plan is refused, with this status and these words, and nothing on disk is another.
assert_refused() { # STATUS TEXT [OPTION...]
    local before want=$1 text=$2
    shift 2
    before=$(listing)
    run_apart anabranch run "$@" plan.yaml 3>&-
    assert_status "$want"
    [[ $stderr == *"$text"* ]] || fail "no such message: $text"
    [[ $(listing) == "$before" ]] || fail "changed:" "$(diff <(echo "$before") <(listing))"
}

@test "run: a refused run changes nothing on disk" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    PATH=/usr/bin:/bin assert_refused 3 "cannot find 'claude'" --engine claude
    assert_refused 3 "cannot find '/no/such'" --engine claude --engine-exe /no/such
    assert_refused 2 "no branch 'nosuch'" --engine sim --base nosuch
    assert_refused 2 "--only: the plan has no task 'x'" --engine sim --only x
    assert_refused 2 '' --engine sim --workers 0
    assert_refused 2 '' --engine sim --max-workers many
    git switch -q --detach
    assert_refused 2 'no branch is checked out' --engine sim
    git switch -q main
    add_task a -- 'write a 1'
    assert_refused 2 "'a'" --engine sim
    begin_plan
    add_task b 'engine: command' 'command: [no-such-program-here]' -- 'x'
    assert_refused 3 "no-such-program-here"
    begin_plan
    add_task c 'env: {TOKEN: {from: NO_SUCH_VARIABLE}}' -- 'write a 1'
    assert_refused 3 NO_SUCH_VARIABLE --engine sim
}

@test "run: no identity is refused before anything is done" {
    make_repo
    git config --unset user.name
    git config --unset user.email
    git config user.useConfigOnly true
    begin_plan
    add_task a -- 'write a 1'
    assert_refused 3 'set user.name and user.email' --engine sim
}

@test "run: no repository, no commit: refused before anything is done" {
    begin_plan
    add_task a -- 'write a 1'
    local before
    before=$(find . | sort)
    run_plan
    assert_status 3
    [[ $stderr == *'not in a git repository'* ]] || fail "no message"
    [[ $(find . | sort) == "$before" ]] || fail "$(find .)"
    git init -q -b main .
    git config user.name Tester
    git config user.email tester@example.com
    assert_refused 2 "no branch 'main' with a commit" --engine sim
}

@test "run: a command's folder is its PWD as well, for programs that believe that variable" {
    make_repo
    begin_plan
    add_task a 'engine: command' "command: [/usr/bin/env]" 'read_only: true' 'prompt: x'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 0
    local out=(.git/anabranch/runs/*/a/1/out)
    [[ $(sed -n 's/^PWD=//p' "${out[0]}") == "$(sed -n 's/^ANABRANCH_WORKSPACE=//p' "${out[0]}")" ]] || fail "$(grep PWD "${out[0]}")"
    [[ $(grep -c '^PWD=' "${out[0]}") -eq 1 ]] || fail "$(grep PWD "${out[0]}")"
}

# Runs N tasks, which get these lines, and prints the number of gits. In a step, @ stands for the number of the task.
gits_of_tasks() { # N LINE... -- STEP
    local i n=$1
    shift
    : >"$BATS_TEST_TMPDIR/calls"
    begin_plan
    for ((i = 1; i <= n; i++)); do add_task "t$i" "${@//@/$i}"; done
    run_plan --quiet -j 1
    assert_status 0
    wc -l <"$BATS_TEST_TMPDIR/calls"
}

@test "run: tasks that change nothing cost no git each, and less than a task that changes something" {
    local provider writes one i
    make_repo
    count_gits
    for provider in auto pool; do
        export ANABRANCH_PROVIDER=$provider
        if [[ $provider == pool ]]; then # it has no use for a few files
            for i in {1..500}; do echo "$i" >"dir/$i"; done
            git add dir && git commit -q -m many
        fi
        writes=$(gits_of_tasks 1 -- "write $provider 1")
        for kind in 'read_only: true' 'hand_on: true'; do
            one=$(gits_of_tasks 1 "$kind" -- 'say hello')
            ((one > 0 && one < writes)) || fail "$provider, $kind: $one; writing: $writes"
            run gits_of_tasks 6 "$kind" -- 'say hello'
            ((output == one)) || fail "$provider, $kind: $one for one task, for six:" "$(<"$BATS_TEST_TMPDIR/calls")"
        done
    done
    assert_clean
}

# As in the test of tasks that reach the base together, all are committed before the first one lands.
@test "run: an order costs no git per task" {
    local i one
    unset ANABRANCH_PROVIDER
    make_repo
    count_gits
    one=$(gits_of_tasks 1 -- 'write one 1')
    : >"$BATS_TEST_TMPDIR/calls"
    begin_plan
    add_task t1 'order: 1' -- "sh $(until_exists released)" 'write 1 1'
    for i in 6 3 5 2 4; do add_task "t$i" "order: $i" -- "write $i 1"; done
    start_plan -j 6
    for i in 2 3 4 5 6; do wait_for in_events task.committed "t$i"; done
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
    [[ $(landed_in_order) == 't1 t2 t3 t4 t5 t6' ]] || fail "$(landed_in_order)"
    (($(gits) == one)) || fail "$one for one task, $(gits) for six in an order:" "$(<"$BATS_TEST_TMPDIR/calls")"
}

@test "run: tasks of a small repository cost no git each, and are committed as git would" {
    unset ANABRANCH_PROVIDER # each has its own costs
    make_repo
    printf '*.log\n/out/\n!keep.log\n' >.gitignore
    mkdir d && echo 1 >d/x && echo 1 >gone && echo 1 >d/tool && ln -s file link
    git add -A && git commit -qm more
    begin_plan
    local i
    for i in 1 2 3 4 5; do
        add_task "t$i" -- "write new$i $i" "write d/$i.log no" "write out/$i no" "write d/$i/keep.log yes"
    done
    add_task edit -- 'append file more' 'delete gone' 'sh chmod +x d/tool; ln -s nowhere d/link'
    count_gits
    run_plan --quiet
    assert_status 0
    [[ $(gits ' add ') -eq 0 && $(gits 'read-tree') -eq 1 ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    for i in 1 2 3 4 5; do
        assert_in main "new$i" "$i"
        assert_in main "d/$i/keep.log" yes
    done
    ! git ls-tree -r --name-only main | grep -e '/[0-9].log' -e ^out/ -e ^gone || fail "they are in it"
    [[ $(git ls-tree -r main d/tool d/link | cut -d' ' -f1 | paste -sd' ') == '120000 100755' ]] || fail "$(git ls-tree main d/)"
    git fsck --full --strict
    assert_clean
}
