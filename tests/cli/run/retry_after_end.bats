#!/usr/bin/env bats
# say and retry after the end of a run: one task continues in its session.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2034 # the helpers look at status and output
# shellcheck disable=SC2154 # start_plan sets engine, run_apart stderr

load ../helper
load ../run_helper

say() { # TASK TEXT [OPTION...]
    run_apart anabranch say "$@" 3>&-
    assert_no_sanitizer
}

retry() { # TASK [OPTION...]
    run_apart anabranch retry "$@" 3>&-
    assert_no_sanitizer
}

# The sessions that the attempts of a task were, each once.
sessions() { # TASK
    jq -r 'select(.type == "start") | .session' .git/anabranch/runs/*/"$1"/*/out | sort -u | paste -s -d ' '
}

prompt_of() { # TASK ATTEMPT
    cat .git/anabranch/runs/*/"$1/$2/prompt"
}

run_row() { # COLUMNS
    sqlite3 .git/anabranch/state.db "select $1 from runs"
}

@test "say: a task that landed continues, on what has landed since; the rest of the run stays as it is" {
    make_repo
    begin_plan 'workspace: {setup: "echo set up >>$STAMPS.setup"}'
    add_task a -- 'write a 1'
    add_task b 'owns: [b]' -- 'write b 1'
    add_task c 'retry: {transient: 0}' -- 'exit 1'
    add_task d 'depends_on: [c]' -- 'write d 1'
    run_plan
    assert_status 1
    echo x >later && git add later && git commit -q -m later
    say a $'Change it.\nsim> sh cat later a >seen\nsim> write a 2' --json
    assert_status 0
    assert_event task.continued a '"session":"sim-a-1","tree":"own","remade":true'
    assert_event task.landed a
    refute_event task.started c
    refute_event task.skipped
    refute_event git.state_changed
    assert_in main a 2
    assert_in main seen $'x\n1'
    assert_in main b 1
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    [[ $(prompt_of a 2) == $'Change it.\n'* ]] || fail "$(prompt_of a 2)"
    [[ $(wc -l <"$STAMPS.setup") == 4 ]] || fail "not set up"
    # An answer need not be a change.
    say a 'sim> say It is two.'
    assert_status 0
    assert_summary a "$(git rev-parse --short=10 main)"
    assert_summary a landed
    [[ $(anabranch status --json | jq -r '.tasks[] | select(.id == "a") | .state + " " + .landed + " " + (.commit | length | tostring)') == \
        "landed $(git rev-parse main) 40" ]] || fail "$(anabranch status --json)"
    # The run as a whole is what it was.
    run anabranch status
    assert_contains failed
    run_apart anabranch resume --dry-run
    assert_contains 'it failed'
    # The same gates.
    say b $'sim> write c 1'
    assert_status 1
    assert_summary b "landed       $(git log -1 --format=%h --abbrev=10 --first-parent --grep='task b' main)"
    assert_summary b 'further work failed: scope: changed 1 path that it does not own: c'
    assert_contains "anabranch salvage show"
    refute_in main c
    assert_clean 'refs/anabranch/salvage/*/[bc]/*'
}

@test "say: a failed task continues with its saved work, and its dependants follow" {
    make_repo
    begin_plan
    add_task a 'order: 2' 'retry: {verify: 0}' 'verify: "grep good a && ! test -e dirt"' -- 'write own 1' 'commit mine' 'write a bad'
    add_task b 'depends_on: [a]' -- 'sh cat a own >b'
    add_task c 'depends_on: [b]' -- 'sh cat b >c'
    add_task x 'depends_on: [a, y]' -- 'write x 1'
    add_task y 'retry: {transient: 0}' -- 'exit 1'
    add_task z 'order: 1' -- 'write z 1'
    run_plan
    assert_status 1
    say a - --json <<<'sim> sh cat own a z >seen; git log --format=%s | grep -x mine >log; echo good >a'
    assert_status 0
    assert_in main a good
    assert_in main c $'good\n1'
    assert_in main seen $'1\nbad\n1'
    assert_in main log mine
    refute_in main x
    refute_event task.started y
    refute_event task.skipped x
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "retry: in its session, told why it failed, or fresh on what has landed" {
    make_repo
    begin_plan
    add_task a 'retry: {transient: 0}' -- 'on 1 write half 1' 'on 1 exit 3' 'on 2 sh cp half whole' 'on 3 exit 1'
    add_task b -- 'write b 1'
    add_task n -- 'on 2 write n 1'
    run_plan
    assert_status 1
    retry a
    assert_status 0
    assert_in main whole 1
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    [[ $(prompt_of a 2) == 'Your last attempt at this failed: exit code 3'* ]] || fail "$(prompt_of a 2)"
    retry n --fresh --json
    assert_status 0
    assert_in main n 1
    refute_event task.continued
    [[ $(sessions n) == 'sim-n-1 sim-n-2' ]] || fail "$(sessions n)"
    [[ $(git log -1 --format=%s main^2^) == 'Merge anabranch task a' ]] || fail "it began before a landed"
    # Nothing is left to retry, and the run is over, and well.
    [[ $(run_row "state, exit_code") == 'finished|0' ]] || fail "$(run_row "state, exit_code")"
    retry a
    assert_status 2
    [[ $stderr == *"task 'a' has landed; 'anabranch say' resumes"* ]] || fail
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "retry: a conflict is laid out for its agent, in the workspace that is there or in a new one" {
    make_repo
    begin_plan 'overlap: allow'
    add_task a 'order: 1' -- 'sh sed -i s/five/FIVE/ file'
    for t in b c; do
        add_task $t 'order: 2' -- "on 1 sh sed -i s/five/$t/ file" \
            'on 2 sh grep -c "^<<<<<<< " file && sed -i -e "/^<<</d" -e "/^===/d" -e "/^>>>/d" file' 'say done'
    done
    run_plan
    assert_status 4
    local work
    work=$(echo .anabranch/worktrees/*/b)
    echo mine >"$work/notes" # of a person, who has looked into it
    retry b
    assert_status 0
    assert_in main file $'one\ntwo\nthree\nfour\nFIVE\nb\nsix\nseven\neight\nnine'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/b/1')" notes mine
    git worktree remove --force .anabranch/worktrees/*/c
    say c $'Both.\nsim> on 2 write c 1' --json
    assert_status 0
    assert_event task.continued c '"tree":"conflict","remade":true'
    assert_in main file $'one\ntwo\nthree\nfour\nFIVE\nb\nc\nsix\nseven\neight\nnine'
    assert_in main c 1
    [[ $(prompt_of c 2) == $'Both.\n'*'in conflict with what has landed'* ]] || fail "$(prompt_of c 2)"
    # A conflict that nobody resolved stays as it was.
    begin_plan 'overlap: allow'
    add_task a 'order: 1' -- 'sh sed -i s/nine/NINE/ file'
    add_task b 'order: 2' -- 'on 1 sh sed -i s/nine/b/ file'
    run_plan
    assert_status 4
    retry b
    assert_status 4
    work=$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/b')
    [[ $(git log --format=%s "main..$work") == b ]] || fail "$(git log --oneline --all)"
    assert_clean kept=1 'refs/anabranch/salvage/*' 'refs/heads/anabranch/*/b'
}

@test "say: an agent hears a message once, although its task was parked, killed, and killed again" {
    make_repo
    begin_plan
    add_task a -- 'append a one' 'on 1 limit 1h' 'append a two'
    start_plan
    wait_for in_events task.parked a
    kill -INT "$engine"
    end_plan
    assert_status 130
    # It goes on by claude's rules: a limit that was met holds. Nobody waits an hour here.
    "$ANABRANCH" say a 'sim> append a said' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    continued() { sqlite3 .git/anabranch/state.db "select count(*) from events where name = 'task.continued'" | grep -qx 1; }
    wait_for continued
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    sqlite3 .git/anabranch/state.db "update events set data = json_remove(data, '\$.reset') where name = 'task.parked'" \
        "update events set time = 0 where name = 'task.parked'"
    run_apart anabranch resume --dry-run
    assert_contains 'its agent has a new message'
    run_apart anabranch resume 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a $'one\ntwo\nsaid'
    [[ $(sessions a) == sim-a-1 ]] || fail "$(sessions a)"
    assert_clean 'refs/anabranch/salvage/*'
}

@test "say: killed while the workspace is made again: it is made, and what was said is heard once" {
    make_repo
    begin_plan "workspace: {setup: 'test ! -e $BATS_TEST_TMPDIR/slow || { touch $BATS_TEST_TMPDIR/setting; $(until_exists go); }'}"
    add_task a -- 'write a 1'
    run_plan
    assert_status 0
    touch "$BATS_TEST_TMPDIR/slow"
    "$ANABRANCH" say a 'sim> append a 2' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/setting"
    # A run that lives is asked: it is heard with the rest.
    say a 'sim> append a 3'
    assert_status 0
    [[ $output == "the agent of 'a' gets the message when it continues" ]] || fail
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a $'1\n2\n3'
    assert_clean
}

@test "say, retry: impossible requests are refused, and change nothing" {
    make_repo
    run_apart anabranch say a x
    assert_status 2
    begin_plan
    add_task a 'engine: command' 'command: "echo x >a"' 'prompt: x'
    add_task r 'read_only: true' 'engine: sim' -- 'say read'
    add_task s 'engine: sim' 'depends_on: [f]' -- 'write s 1'
    add_task f 'engine: sim' -- 'exit 2'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 1
    local before
    before=$(sqlite3 .git/anabranch/state.db 'select count(*) from events')
    say a 'More.'
    assert_status 2
    [[ $stderr == *"cannot send a message to task 'a': its agent has no session to resume"* ]] || fail
    say nobody x
    assert_status 2
    [[ $stderr == *"has no task 'nobody'"* ]] || fail
    say s x
    assert_status 2
    [[ $stderr == *"task 's' has not started in run "* ]] || fail
    say r '  '
    assert_usage_error 'the text is empty' say
    retry a --run nope
    assert_status 2
    [[ $(sqlite3 .git/anabranch/state.db 'select count(*) from events') == "$before" ]] || fail "events"
    assert_clean
    say r 'sim> say again'
    assert_status 0
    assert_summary r 'done'
    assert_clean
}

@test "retry: a task that the store has lost is refused" {
    make_repo
    begin_plan
    add_task a 'engine: sim' -- 'exit 2'
    add_task b 'engine: sim' 'depends_on: [a]' -- 'write b 1'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 1
    sqlite3 .git/anabranch/state.db "delete from tasks where id = 'b'"
    retry b
    assert_status 2
    [[ $stderr == *"task 'b' has not started in run "* ]] || fail
    assert_clean
}
