#!/usr/bin/env bats
# Resuming a run whose engine was killed, at every stage of a task.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # the helpers look at status and output

load ../helper
load ../run_helper

resume() { # [OPTION...] [RUN]
    run_apart anabranch resume "$@" 3>&-
    assert_no_sanitizer
}

the_run() {
    ls .git/anabranch/runs
}

# On attempt 1 the agent says that it has come this far, and stays.
began() { # NAME
    printf '%s\n' "on 1 sh touch $BATS_TEST_TMPDIR/$1" 'on 1 hang'
}

# A run of one task, t, whose agent is at work when the engine dies.
interrupt_one() {
    local steps
    begin_plan
    mapfile -t steps < <(began t)
    add_task t -- 'append t x' "${steps[@]}"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/t"
    kill_engine
}

is_landed() { # PATH
    git cat-file -e "main:$1" 2>/dev/null
}

# How often a task's agent was run to its end, by what it added to a file.
assert_once() { # TASK...
    local task
    for task in "$@"; do assert_in main "$task" x; done
}

# Points of interruption

@test "resume: landed tasks stay, interrupted work is saved and runs again, the rest runs" {
    make_repo
    echo mine >>file
    begin_plan
    add_task a -- 'append a x'
    mapfile -t steps < <(began b)
    add_task b 'retry: 0' -- 'append half 1' "${steps[@]}" 'delete half' 'append b x'
    add_task c 'depends_on: [a, b]' -- 'append c x'
    start_plan
    wait_for in_events task.landed a
    wait_for test -e "$BATS_TEST_TMPDIR/b"
    kill_engine
    id=$(the_run)
    resume --dry-run
    assert_status 0
    assert_contains "Run $id"
    [[ $output =~ b\ +run\ +its\ agent\ was\ running ]] || fail "b is not said to run again"
    assert_contains '1 task was not started'
    assert_contains '1 task has landed'
    resume --json
    assert_status 0
    assert_event run.resumed '' "\"run\":\"$id\",\"steps\":{\"keep\":1,"
    refute_event run.started
    refute_event task.started a
    assert_event task.salvaged b '"attempt":1'
    assert_event task.started b '"attempt":2'
    refute_event task.retried
    assert_once a b c
    assert_in "refs/anabranch/salvage/$id/b/1" half 1
    assert_clean 'refs/anabranch/salvage/*/b/1'
    [[ $(the_run) == "$id" ]] || fail "another run was begun"
    [[ $(git status --porcelain) == ' M file' ]] || fail "the user's file:" "$(git status --porcelain)"
    run anabranch status
    assert_contains "Run $id: finished, exit code 0"
    assert_summary b '2 attempts'
    resume
    assert_status 0
    assert_contains 'Nothing to resume: every run has finished'
    resume last
    assert_status 0
    assert_contains 'nothing is left to do'
    assert_clean 'refs/anabranch/salvage/*/b/1'
}

@test "resume: a person's git fsck, worktree list, worktree prune and gc in between take nothing away" {
    make_repo
    begin_plan
    mapfile -t steps < <(began t)
    add_task t -- 'append t x' 'on 1 write mine 1' 'on 1 commit mine' 'on 1 write staged 2' 'on 1 sh git add staged' \
        'on 1 write loose 3' "${steps[@]}"
    add_task v "verify: 'touch $BATS_TEST_TMPDIR/verifying; $(until_exists go)'" -- 'append v x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/t" -a -e "$BATS_TEST_TMPDIR/verifying"
    kill_engine
    wait_for no_agents
    said=$(git worktree prune --expire=now --verbose && git fsck --no-dangling --no-progress 2>&1 && git gc -q --prune=now)
    [[ -z $said && $(git worktree list | wc -l) -eq 3 ]] || fail "$said" "$(git worktree list)"
    touch "$BATS_TEST_TMPDIR/go"
    resume --json
    assert_status 0
    refute_event task.started v
    assert_once t v
    for pair in mine:1 staged:2 loose:3; do
        assert_in "refs/anabranch/salvage/$(the_run)/t/1" "${pair%:*}" "${pair#*:}"
    done
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: killed while a workspace is made" {
    make_repo
    slow_checkout
    begin_plan
    add_task t -- 'append t x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    kill_engine
    touch "$BATS_TEST_TMPDIR/smudge-on"
    resume
    assert_status 0
    assert_once t
    assert_clean
}

@test "resume: killed while a commit is made: the agent is not called again" {
    make_repo
    printf '#!/bin/sh\ntouch %q\n%s\n' "$BATS_TEST_TMPDIR/hooked" "$(until_exists go)" >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan 'commit: {hooks: true}'
    add_task t -- 'append t x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/hooked"
    kill_engine
    touch "$BATS_TEST_TMPDIR/go"
    resume --json
    assert_status 0
    refute_event task.started
    assert_event task.landed t '"attempt":1'
    assert_once t
    assert_clean
}

@test "resume: killed while verifying: verified again, also where the workspace is gone" {
    make_repo
    echo secret >.env
    echo .env >>.git/info/exclude
    for gone in no yes; do
        begin_plan 'workspace: {include: [.env]}' "landing: {verify: 'test -e t-$gone && test -e .env && touch $BATS_TEST_TMPDIR/verifying-$gone; $(until_exists "go-$gone")'}"
        add_task t -- "append t-$gone x"
        start_plan
        wait_for test -e "$BATS_TEST_TMPDIR/verifying-$gone"
        kill_engine
        [[ $gone == no ]] || rm -r .anabranch
        rm "$BATS_TEST_TMPDIR/verifying-$gone"
        touch "$BATS_TEST_TMPDIR/go-$gone"
        resume --json
        assert_status 0
        refute_event task.started
        assert_event task.verified t '"attempt":1'
        assert_once "t-$gone"
        [[ -e $BATS_TEST_TMPDIR/verifying-$gone ]] || fail "it was not verified again"
        assert_clean
    done
}

@test "resume: a commit whose workspace is made again is saved where it does not land" {
    make_repo
    begin_plan "landing: {verify: 'touch $BATS_TEST_TMPDIR/verifying; $(until_exists go); exit 1'}"
    add_task t 'retry: {verify: 0}' -- 'append t x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/verifying"
    kill_engine
    rm -r .anabranch
    touch "$BATS_TEST_TMPDIR/go"
    resume
    assert_status 1
    assert_summary t 'verify'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/t/1')" t x
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: stopped while a workspace is made again: its commit is not lost" {
    make_repo
    slow_checkout
    touch "$BATS_TEST_TMPDIR/smudge-on"
    begin_plan "landing: {verify: 'touch $BATS_TEST_TMPDIR/verifying; $(until_exists go)'}"
    add_task t 'retry: 0' -- 'append t x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/verifying"
    kill_engine
    rm -r .anabranch "$BATS_TEST_TMPDIR/smudge-on" "$BATS_TEST_TMPDIR/smudging"
    touch "$BATS_TEST_TMPDIR/go"
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" resume --json >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/smudging"
    kill -INT "$engine"
    wait_for signal_seen
    kill -INT "$engine"
    end_plan
    assert_status 130
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/t/1')" t x
}

@test "resume: killed between landing and saying so: nothing lands twice, in any style" {
    make_repo
    slow_checkout
    for style in merge squash rebase; do
        echo "$style filter=slow" >.git/info/attributes
        rm -f "$BATS_TEST_TMPDIR/smudging" "$BATS_TEST_TMPDIR/smudge-on"
        begin_plan "landing: {style: $style}"
        add_task t -- "append $style x" 'commit on my own' "append $style-2 x"
        start_plan
        wait_for test -e "$BATS_TEST_TMPDIR/smudging"
        kill_engine
        ! in_events task.landed t || fail "it was told to have landed"
        touch "$BATS_TEST_TMPDIR/smudge-on"
        resume --json
        assert_status 0
        assert_event run.resumed '' '"found":1'
        refute_event task.started
        assert_event task.landed t
        assert_once "$style" "$style-2"
        assert_clean
        assert_unchanged_checkout
    done
}

@test "resume: workspaces and their folders are gone" {
    make_repo
    begin_plan
    mapfile -t steps < <(began t)
    add_task t -- 'append t x' 'commit on my own' "${steps[@]}" 'append u x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/t"
    kill_engine
    wait_for no_agents
    rm -r .anabranch
    resume
    assert_status 0
    assert_once t u
    assert_in "refs/anabranch/salvage/$(the_run)/t/1" t x
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: a workspace that git does not know any more is saved all the same; stale locks go" {
    make_repo
    begin_plan
    mapfile -t steps < <(began t)
    add_task t -- 'on 1 append half 1' "${steps[@]}" 'append t x'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/t"
    kill_engine
    wait_for no_agents
    id=$(the_run)
    rm -r ".git/worktrees/$id-t"
    touch ".git/refs/anabranch/runs/$id.lock" ".git/refs/heads/anabranch/$id/t.lock"
    mkdir ".git/anabranch/tmp/$id-t.gone"
    resume
    assert_status 0
    assert_once t
    assert_in "refs/anabranch/salvage/$id/t/1" half 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: killed again and again" {
    make_repo
    begin_plan
    mapfile -t steps < <(began first)
    add_task t 'retry: 0' -- 'append t x' "${steps[@]}" "on 2 sh touch $BATS_TEST_TMPDIR/second" 'on 2 hang'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/first"
    kill_engine
    "$ANABRANCH" resume >/dev/null 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/second"
    kill_engine
    resume
    assert_status 0
    assert_summary t '3 attempts'
    assert_once t
    assert_clean 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/t/2'
}

@test "resume: an agent that can resume its session continues where it was" {
    make_repo
    cat >"$BATS_TEST_TMPDIR/claude" <<END
#!/bin/sh
echo "\$*" >>'$BATS_TEST_TMPDIR/calls'
cat >>'$BATS_TEST_TMPDIR/prompts'
echo '{"type":"system","subtype":"init","session_id":"5e55-10"}'
case "\$*" in
*--resume*) cat half >whole ;;
*) echo done >half; touch '$BATS_TEST_TMPDIR/half'; sleep 4331 ;;
esac
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'
END
    chmod +x "$BATS_TEST_TMPDIR/claude"
    begin_plan
    add_task t 'prompt: Do it.'
    "$ANABRANCH" run --engine-exe "$BATS_TEST_TMPDIR/claude" plan.yaml >/dev/null 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/half"
    kill_engine
    resume --json
    assert_status 0
    assert_event run.resumed '' '"continue":1'
    assert_in main whole 'done'
    grep -q -- '--resume 5e55-10' "$BATS_TEST_TMPDIR/calls" || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    [[ $(grep -c 'Do it' "$BATS_TEST_TMPDIR/prompts") == 1 ]] || fail "$(<"$BATS_TEST_TMPDIR/prompts")"
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: with a submodule" {
    make_repo
    git init -q -b main ../sub
    (
        cd ../sub
        git config user.name S && git config user.email s@example.com
        echo sub >s && git add . && git commit -q -m sub
    )
    git -c protocol.file.allow=always submodule --quiet add ../sub sub
    git commit -q -m submodule
    cp .git/config "$BATS_TEST_TMPDIR/config"
    interrupt_one
    resume
    assert_status 0
    assert_once t
    [[ $(git ls-tree main sub) == 160000* ]] || fail "the submodule is gone"
    assert_clean 'refs/anabranch/salvage/*/t/1'
    assert_unchanged_checkout
}

@test "resume: outside a repository" {
    begin_plan
    add_task a 'read_only: true' -- 'say a'
    mapfile -t steps < <(began b)
    add_task b 'read_only: true' -- "${steps[@]}" 'say b'
    start_plan
    wait_for in_events task.done a
    wait_for test -e "$BATS_TEST_TMPDIR/b"
    kill_engine
    resume --json
    assert_status 0
    refute_event task.started a
    assert_event task.done b '"attempt":2'
    resume
    assert_status 0
    assert_contains 'Nothing to resume: every run has finished'
    no_agents || fail "$(agents_alive)"
}

@test "resume: a workspace is taken down before it goes, and what landed for the end is published" {
    make_repo
    begin_plan 'landing: {at: end}' \
        "workspace: {teardown: 'echo \$ANABRANCH_TASK \$ANABRANCH_ATTEMPT >>$BATS_TEST_TMPDIR/down'}"
    add_task a -- 'append a x'
    mapfile -t steps < <(began b)
    add_task b -- 'append b x' "${steps[@]}"
    start_plan
    wait_for in_events task.landed a
    wait_for test -e "$BATS_TEST_TMPDIR/b"
    kill_engine
    refute_in main a
    resume
    assert_status 0
    assert_once a b
    grep -qx 'b 1' "$BATS_TEST_TMPDIR/down" || fail "$(<"$BATS_TEST_TMPDIR/down")"
    grep -qx 'b 2' "$BATS_TEST_TMPDIR/down" || fail "$(<"$BATS_TEST_TMPDIR/down")"
    assert_clean 'refs/anabranch/salvage/*/b/1'
}

# Tasks that did not succeed

@test "resume: failed and skipped tasks run again, unless they are to stay so" {
    make_repo
    begin_plan
    add_task bad 'retry: 0' -- 'on 1 exit 3' 'append bad x'
    add_task next 'depends_on: [bad]' -- 'append next x'
    run_plan
    assert_status 1
    resume --keep-failed
    assert_status 1
    assert_summary bad failed
    assert_summary next skipped
    resume
    assert_status 0
    assert_once bad next
    assert_clean
}

@test "resume: a conflict stays, until it is resolved by hand or is no more" {
    make_repo
    begin_plan
    for t in a b c; do add_task "$t" -- "sh touch $BATS_TEST_TMPDIR/$t; $(until_exists go)" "write file $t"; done
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/a" -a -e "$BATS_TEST_TMPDIR/b" -a -e "$BATS_TEST_TMPDIR/c"
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 4
    id=$(the_run)
    won=$(git show main:file)
    mapfile -t lost < <(printf '%s\n' a b c | grep -v "$won")
    resume
    assert_status 4
    assert_contains 'it is still in conflict'
    # One is merged by hand, the way to the other is cleared.
    git merge -q "anabranch/$id/${lost[0]}" >/dev/null 2>&1 || true
    echo resolved >file
    git commit -q -am resolved
    resume --dry-run --json
    assert_contains "{\"id\":\"${lost[0]}\",\"step\":\"found\""
    assert_contains "{\"id\":\"${lost[1]}\",\"step\":\"leave\""
    git checkout -q "$(git merge-base main "anabranch/$id/${lost[1]}")" -- file
    git commit -q -m 'as it was'
    resume
    assert_status 0
    assert_in main file "${lost[1]}"
    assert_clean
}

@test "resume: it publishes work that could not be published, once the way is free" {
    make_repo
    begin_plan
    add_task t -- 'write file new' 'append t x'
    echo mine >>file
    run_plan
    assert_status 4
    refute_in main t
    git checkout -q -- file
    resume
    assert_status 0
    assert_once t
    assert_clean
    assert_unchanged_checkout
}

@test "resume: the branch with the result is not taken away from who works on it" {
    make_repo
    begin_plan
    add_task a -- 'write file changed' 'append a x'
    echo mine >>file
    run_plan
    assert_status 4
    result=$(git for-each-ref --format='%(refname:short)' 'refs/heads/anabranch/*/+result')
    git stash -q
    git switch -q "$result"
    resume last
    assert_status 2
    [[ $stderr == *"'$result' is checked out in"* ]] || fail 'it does not say why'
    assert_unchanged_checkout
    echo by hand >>a
    git commit -q -a -m 'by hand'
    git switch -q main
    resume last
    assert_status 0
    assert_in main a $'x\nby hand'
    git stash drop -q
    assert_clean
}

@test "resume: a run that was stopped says how to resume, and that works" {
    make_repo
    begin_plan
    mapfile -t steps < <(began t)
    add_task t -- 'append t x' "${steps[@]}"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/t"
    kill -INT "$engine"
    end_plan
    assert_status 130
    [[ $stderr == *"anabranch resume $(the_run)"* ]] || fail "$stderr"
    resume "$(the_run)"
    assert_status 0
    assert_once t
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

# The choice of the run

@test "resume: a run that is alive is left alone, and another one is resumed" {
    make_repo
    run_apart anabranch resume
    assert_status 2
    [[ $stderr == *'nothing was ever run'* ]] || fail "$stderr"
    begin_plan
    mapfile -t steps < <(began dead)
    add_task t -- 'append dead x' "${steps[@]}"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/dead"
    kill_engine
    dead=$(the_run)
    begin_plan
    add_task t -- 'append live x' "sh touch $BATS_TEST_TMPDIR/live; $(until_exists go)"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/live"
    live=$(the_run | grep -v "$dead")
    resume "$live"
    assert_status 2
    [[ $stderr == *"$live is still running, as process $engine"* ]] || fail "$stderr"
    resume --saved
    assert_status 0
    assert_contains "Run $dead"
    resume
    assert_status 2
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    assert_once dead live
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "run --resume: the newest run of the plan, or a new one" {
    make_repo
    begin_plan
    add_task a -- 'append a x'
    add_task b 'retry: 0' -- 'on 1 exit 3' 'append b x'
    run_plan --resume
    assert_status 1
    run_plan --resume
    assert_status 0
    assert_once a b
    [[ $(the_run | wc -l) == 1 ]] || fail "another run was begun"
    run_plan --resume --only a
    assert_status 2
    assert_clean
}

@test "resume: --only is kept, and so is a prompt whose file is gone" {
    make_repo
    mkdir prompts
    printf 'sim> append a x\nsim> on 1 exit 3\n' >prompts/a
    echo prompts >>.git/info/exclude
    begin_plan
    add_task a 'prompt_file: prompts/a' 'retry: 0'
    add_task b -- 'append b x'
    run_plan --only a
    assert_status 1
    rm -r prompts plan.yaml
    mkdir -p dir/below
    cd dir/below
    resume
    cd ../..
    assert_status 0
    [[ $stderr == *"'plan.yaml' is gone"* ]] || fail "$stderr"
    assert_once a
    refute_in main b
    [[ $(stat -c %a ".git/anabranch/runs/$(the_run)/plan.json") == 600 ]] || fail "others may read the plan"
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

# A plan that was edited

@test "resume: an edited plan keeps what is the same, and does the rest" {
    make_repo
    begin_plan
    add_task same -- 'append same x'
    add_task landed -- 'append landed x'
    mapfile -t steps < <(began gone)
    add_task gone 'depends_on: [same]' -- 'append half x' "${steps[@]}"
    add_task bad 'depends_on: [same, landed]' 'retry: 0' -- 'exit 3'
    start_plan
    wait_for in_events task.failed bad
    wait_for test -e "$BATS_TEST_TMPDIR/gone"
    kill_engine
    begin_plan
    add_task new 'depends_on: [bad]' -- 'append new x'
    add_task bad 'depends_on: [same, landed]' 'retry: 0' -- 'append bad x'
    add_task same 'timeout: 5m' 'estimate: 1m' -- 'append same x'
    add_task landed -- 'append landed y'
    resume --dry-run
    assert_status 0
    assert_contains 'with an edited plan'
    [[ $output =~ landed\ +run\ +it\ was\ changed\ after\ it\ had\ landed ]] || fail "landed"
    [[ $output =~ bad\ +run\ +it\ was\ changed ]] || fail "bad"
    [[ $output =~ new\ +run\ +it\ is\ new ]] || fail "new"
    [[ $output =~ gone\ +drop ]] || fail "gone"
    assert_contains '1 task has landed or is done, and is kept'
    refute_in main new
    resume --json
    assert_status 0
    refute_event task.started same
    assert_once same bad new
    assert_in main landed $'x\ny'
    refute_in main half
    run anabranch status --json
    assert_contains '"tasks": 4'
    refute_contains '"id": "gone"'
    assert_clean 'refs/anabranch/salvage/*/gone/1'
    # The plan as it is now is the plan of the run.
    resume last
    assert_status 0
    assert_contains 'nothing is left to do'
}

@test "resume: a task that needs an edited task runs again too, unless it has landed" {
    make_repo
    begin_plan "landing: {verify: 'test ! -e late || { touch $BATS_TEST_TMPDIR/late; $(until_exists go); }'}"
    add_task a -- 'append a x'
    add_task early 'depends_on: [a]' -- 'append early x'
    add_task late 'depends_on: [early]' -- 'sh cat a >>late'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/late"
    kill_engine
    touch "$BATS_TEST_TMPDIR/go"
    sed -i 's/append early x/append early y/' plan.yaml
    resume --dry-run --json
    assert_contains '{"id":"a","step":"keep"'
    assert_contains '{"id":"early","step":"run","why":"it was changed after it had landed'
    assert_contains "{\"id\":\"late\",\"step\":\"run\",\"why\":\"it needs 'early'"
    resume
    assert_status 0
    assert_in main early $'x\ny'
    assert_in main late x
    assert_clean 'refs/anabranch/salvage/*/late/1'
}

@test "resume: a landed task is not skipped if a task that it needs has failed since" {
    make_repo
    begin_plan
    add_task a -- 'append a x'
    add_task b 'depends_on: [a]' -- 'append b x'
    add_task c 'depends_on: [b]' 'retry: 0' -- 'exit 1'
    run_plan
    assert_status 1
    begin_plan
    add_task a 'retry: 0' -- 'exit 1'
    add_task b 'depends_on: [a]' -- 'append b x'
    add_task c 'depends_on: [b]' 'retry: 0' -- 'exit 1'
    resume last
    assert_status 1
    assert_summary b landed
    run_apart timeout 60 "$ANABRANCH" resume --keep-failed last 3>&-
    assert_status 1
    assert_summary a failed
    assert_summary b landed
    assert_summary c failed
}

@test "resume: another plan in the file's place, or one that is wrong, is refused; --saved continues" {
    make_repo
    interrupt_one
    begin_plan
    add_task other -- 'append other x'
    resume
    assert_status 2
    [[ $stderr == *"'plan.yaml' is a different plan now"*--saved* ]] || fail "$stderr"
    echo '  - id: [' >>plan.yaml
    resume
    assert_status 2
    [[ $stderr == *'--saved uses the plan as it was run'* ]] || fail "$stderr"
    resume --saved
    assert_status 0
    assert_once t
    refute_in main other
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

# After a power cut

# From now on the attempts that there are were of another start of the machine.
restart_machine() {
    local note
    [[ -e /proc/sys/kernel/random/boot_id ]] || skip "the system does not tell"
    for note in .git/anabranch/runs/*/*/*/boot; do
        cmp "$note" /proc/sys/kernel/random/boot_id || fail "$note"
        echo another >"$note"
    done
}

salvage_of() { # TASK
    git for-each-ref --format='%(refname)' "refs/anabranch/salvage/*/$1/1"
}

@test "resume: when the machine was restarted nobody continues with files that may not be whole" {
    make_repo
    cat >"$BATS_TEST_TMPDIR/claude" <<END
#!/bin/sh
echo "\$*" >>'$BATS_TEST_TMPDIR/calls'
echo '{"type":"system","subtype":"init","session_id":"5e55-10"}'
if [ -e '$BATS_TEST_TMPDIR/half' ]; then
    test ! -e half && echo done >whole
else
    echo done >half; touch '$BATS_TEST_TMPDIR/half'; sleep 4331
fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'
END
    chmod +x "$BATS_TEST_TMPDIR/claude"
    begin_plan
    add_task t 'prompt: Do it.'
    "$ANABRANCH" run --engine-exe "$BATS_TEST_TMPDIR/claude" plan.yaml >/dev/null 2>&1 3>&- &
    engine=$!
    wait_for test -e "$BATS_TEST_TMPDIR/half"
    kill_engine
    wait_for no_agents
    restart_machine
    run_apart anabranch say t 'Go on.' 3>&-
    assert_status 2
    resume --dry-run
    assert_contains 'run       the machine was restarted while its agent was running'
    resume
    assert_status 0
    assert_contains 'the machine was restarted while its agent was running: we saved its work'
    ! grep -q -- --resume "$BATS_TEST_TMPDIR/calls" || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    assert_in main whole 'done'
    refute_in main half
    assert_in "$(salvage_of t)" half 'done'
    [[ $(git log -1 --format=%B "$(salvage_of t)") == *'the machine was restarted'* ]] || fail "$(git log -1 "$(salvage_of t)")"
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: work that was not committed when the machine restarted is saved, and made again" {
    make_repo
    printf '#!/bin/sh\ntouch %q\n%s\n' "$BATS_TEST_TMPDIR/hooked" "$(until_exists go)" >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan 'commit: {hooks: true}'
    add_task t -- 'append t x' 'on 1 write first 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/hooked"
    kill_engine
    touch "$BATS_TEST_TMPDIR/go"
    wait_for no_agents
    restart_machine
    resume
    assert_status 0
    assert_contains 'the machine was restarted before its work was committed'
    assert_once t
    refute_in main first
    assert_in "$(salvage_of t)" first 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "resume: a task that was parked when its run stopped continues, even after a restart of the machine" {
    make_repo
    begin_plan
    add_task a -- 'append a one' 'on 1 limit 2s' 'append a two'
    start_plan
    wait_for in_events task.parked a
    kill -INT "$engine"
    end_plan
    assert_status 130
    restart_machine
    resume --json
    assert_status 0
    assert_event run.resumed '' '"continue":1'
    assert_in main a $'one\ntwo'
}

@test "resume: a task that was parked when the machine died begins again" {
    make_repo
    begin_plan
    add_task a -- 'append a one' 'on 1 limit 2s' 'append a two'
    start_plan
    wait_for in_events task.parked a
    kill_engine
    restart_machine
    resume --json
    assert_status 0
    assert_event run.resumed '' '"run":1'
    assert_in "$(salvage_of a)" a one
    assert_in main a $'one\ntwo'
}

# As a process does that was about to be started by the engine when that was killed.
@test "resume: a lock that outlives a killed engine for a moment is waited for" {
    make_repo
    begin_plan
    add_task t -- 'sh test -e $STAMPS.go || { echo 1 >$STAMPS.up; sleep 3600; }' 'write t 1'
    start_plan
    wait_for test -s "$STAMPS.up"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || :
    touch "$STAMPS.go"
    flock "$(echo .git/anabranch/runs/*/run.alive)" sh -c "echo 1 >$STAMPS.held; exec sleep 0.5" 3>&- &
    wait_for test -s "$STAMPS.held"
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event task.landed t
    assert_clean
}

# A run that is killed in its first moments: it has a folder, and perhaps a lock and an empty record, and no row.
unbegun_run() { # ID
    mkdir -p ".git/anabranch/runs/$1/run.folders"
    touch ".git/anabranch/runs/$1/run.alive" ".git/anabranch/runs/$1/salvage" ".git/anabranch/runs/$1/run.folders/.boot"
}

@test "resume, clean: of a run that was killed before its first row both say the same" {
    make_repo
    begin_plan
    add_task a -- 'write a A'
    run_plan
    local id=20260301-120000-abcd old
    old=$(ls .git/anabranch/runs)
    # Without a plan that was saved whole there is nothing to resume.
    local has
    for has in run.git run.json; do
        unbegun_run "$id"
        [[ $has != run.git ]] || mkdir ".git/anabranch/runs/$id/run.git"
        [[ $has != run.json ]] || touch ".git/anabranch/runs/$id/run.json"
        run_apart anabranch clean --dry-run
        assert_contains 'its run was killed before it began'
        run_apart anabranch resume
        assert_status 0
        [[ $stderr == *"run $id was killed before it began: there is nothing to resume"* ]] || fail "$has"
        [[ ! -e .git/anabranch/runs/$id ]] || fail 'its folder is left'
    done
    # With the plan, resume begins it, and clean leaves it for that.
    sed -i 's/write a A/write c C/' plan.yaml
    unbegun_run "$id"
    sed "s/$old/$id/" ".git/anabranch/runs/$old/run.json" >".git/anabranch/runs/$id/run.json"
    cp ".git/anabranch/runs/$old/plan.json" ".git/anabranch/runs/$id"
    run_apart anabranch clean
    assert_contains 'of 2 runs of the last 30 days'
    [[ -e .git/anabranch/runs/$id/run.json ]] || fail 'it is gone'
    run_apart anabranch resume "$id" --json 3>&-
    assert_status 0
    assert_event task.landed a
    assert_in main c C
}

@test "resume: a run that was killed before it began is named, and its folder removed" {
    make_repo
    begin_plan
    add_task a -- 'write a A'
    run_plan
    local id=20260301-120000-abcd
    unbegun_run "$id"
    run_apart anabranch resume --dry-run
    assert_status 0
    [[ $stderr == *"run $id was killed before it began"*'would be removed'* && -e .git/anabranch/runs/$id ]] || fail 'dry'
    run_apart anabranch resume
    assert_status 0
    [[ $stderr == *"run $id was killed before it began: there is nothing to resume, and its folder was removed"* ]] || fail 'resume'
    assert_contains 'Nothing to resume: every run has finished'
    [[ ! -e .git/anabranch/runs/$id ]] || fail 'its folder is left'
    unbegun_run "$id"
    run_apart anabranch resume "$id"
    [[ $status == 0 && -z $output && $stderr == *"run $id was killed before it began"* ]] || fail 'by its id'
    # Nobody else's, and none that lives.
    unbegun_run "$id"
    flock .git/anabranch/runs/$id/run.alive "$ANABRANCH" resume 2>&1 3>&- | grep -qF 'every run has finished' || fail 'locked'
    mkdir ".git/anabranch/runs/$id/task"
    run_apart anabranch resume
    [[ -z $stderr && -e .git/anabranch/runs/$id/salvage ]] || fail 'one with a task'
}
