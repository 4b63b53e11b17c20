#!/usr/bin/env bats
# say on a task that has landed: the landing stands, whatever becomes of the further work.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # what is not expanded here is for the agent's shell
# shellcheck disable=SC2034 # the helpers look at status and output
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

say() { # TASK TEXT [OPTION...]
    run_apart anabranch say "$@" 3>&-
    assert_no_sanitizer
}

# In the background; its agent touches the file `here`.
start_say() { # TASK TEXT
    "$ANABRANCH" say "$@" --json >"$BATS_TEST_TMPDIR/events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    events=$BATS_TEST_TMPDIR/events
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/here"
}

of_task() { # FORMULA OF JQ, about b
    anabranch status --json | jq -r ".tasks[] | select(.id == \"b\") | $1"
}

# Checks that task b is still landed, and that its further work failed with this class.
assert_still_landed() { # CLASS
    [[ $(of_task '[.state, .failure, .landed, .commit] | join(" ")') == "landed $1 $landed $commit" ]] ||
        fail "$(of_task .)" "expected: landed $1 $landed $commit"
    [[ $(anabranch status --json | jq -c '[.totals.landed, .totals.failed]') == '[2,0]' ]] || fail "totals"
    [[ $(git rev-parse main) == "$tip" ]] || fail "main moved"
    run anabranch status
    assert_summary b "landed       ${landed:0:10}"
    assert_summary b "further work"
    assert_contains '2 landed'
    # Nothing of it is done again.
    run_apart anabranch resume "$(sqlite3 .git/anabranch/state.db 'select id from runs')" --dry-run --json
    assert_status 0
    jq -e '[.tasks[].step] | unique == ["keep"]' <<<"$output" >&2 || fail
}

# Two tasks that have landed.
land_two() {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b 'owns: [b]' 'retry: {transient: 0}' -- 'write b 1'
    run_plan
    assert_status 0
    tip=$(git rev-parse main)
    landed=$(of_task .landed)
    commit=$(of_task .commit)
    [[ $landed && $commit ]] || fail "not landed"
}

@test "say: further work that fails leaves a landed task landed, and says why and where it is" {
    land_two
    say b 'sim> write c 1' --json
    assert_status 1
    assert_event task.failed b '"class":"scope"'
    assert_event task.failed b "\"landed\":\"$landed\""
    assert_event task.landed b '"unchanged":true'
    assert_event task.salvaged b
    assert_still_landed scope
    [[ $(of_task .reason) == 'changed 1 path that it does not own: c' ]] || fail "$(of_task .reason)"
    [[ $(sqlite3 .git/anabranch/state.db 'select state, exit_code from runs') == 'finished|0' ]] || fail "the run failed"
    run anabranch history
    refute_contains 'failed'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/b/2')" c 1
    # A second message begins with what landed, and its success is the state.
    say b $'sim> exit 3'
    assert_status 1
    assert_still_landed transient
    say b 'sim> write b 2'
    assert_status 0
    [[ $(of_task '[.state, .failure, .landed] | join(" ")') == "landed  $(git rev-parse main)" ]] || fail "$(of_task .)"
    assert_summary b 'landed'
    [[ $output != *'further work'* ]] || fail
    assert_in main b 2
    assert_clean 'refs/anabranch/salvage/*/b/2'
}

@test "say: further work that fails is in every report, and nothing is red but that" {
    land_two
    say b 'sim> write c 1'
    assert_status 1
    local name
    for name in run.json run.md run.html run.xml run.sarif; do
        run_apart anabranch report last -o "$BATS_TEST_TMPDIR/$name"
        assert_status 0
    done
    jq -e '.tasks[] | select(.id == "b") | .state == "landed" and .failure == "scope"' "$BATS_TEST_TMPDIR/run.json" || fail
    grep -q '^| b |.*| landed |.*further work failed: scope: changed 1 path' "$BATS_TEST_TMPDIR/run.md" || fail "$(<"$BATS_TEST_TMPDIR/run.md")"
    grep -q 'further work failed: scope: changed 1 path' "$BATS_TEST_TMPDIR/run.html" || fail
    grep -q 'failures="0"' "$BATS_TEST_TMPDIR/run.xml" || fail "$(<"$BATS_TEST_TMPDIR/run.xml")"
    grep -q 'further work failed: scope' "$BATS_TEST_TMPDIR/run.xml" || fail "$(<"$BATS_TEST_TMPDIR/run.xml")"
    jq -e '[.runs[0].results[] | .level] | index("error") == null' "$BATS_TEST_TMPDIR/run.sarif" || fail "$(<"$BATS_TEST_TMPDIR/run.sarif")"
    jq -e '[.runs[0].results[] | select(.message.text | contains("has landed, but further work failed"))] | length == 1' \
        "$BATS_TEST_TMPDIR/run.sarif" || fail "$(<"$BATS_TEST_TMPDIR/run.sarif")"
    # A timeline has the events: the landing is the last that is told of the task.
    [[ $(sqlite3 .git/anabranch/state.db "select name from events where task = 'b' and name in ('task.failed', 'task.landed') order by seq" |
        paste -s -d ' ') == 'task.landed task.failed task.landed' ]] || fail "events"
    # It stays so when the run is resumed, and the task cannot be retried.
    run_apart anabranch retry b
    assert_status 2
    [[ $stderr == *"task 'b' has landed; 'anabranch say' resumes"* ]] || fail
    local run
    run=$(sqlite3 .git/anabranch/state.db 'select id from runs')
    run_apart anabranch resume "$run" 3>&-
    assert_status 0
    assert_still_landed scope
    say a 'sim> write a 2'
    assert_status 0
    tip=$(git rev-parse main)
    assert_still_landed scope
}

@test "say: further work that a person stops leaves a landed task landed, and is saved" {
    land_two
    start_say b "sim> write b 2
sim> sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)"
    [[ $(of_task '[.state, .landed] | join(" ")') == "running $landed" ]] || fail "$(of_task .)"
    run_apart anabranch stop b
    assert_status 0
    end_plan
    assert_status 1
    assert_still_landed stopped
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/b/2')" b 2
    rm "$BATS_TEST_TMPDIR/here"
    # The same for the whole run.
    start_say b "sim> write b 3
sim> sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)"
    kill -INT "$engine"
    end_plan
    assert_status 130
    assert_still_landed stopped
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_still_landed stopped
    assert_clean 'refs/anabranch/salvage/*/b/2' 'refs/anabranch/salvage/*/b/3'
}

@test "say: killed while a landed task works on: it stands, and resume continues with that work alone" {
    land_two
    start_say b "sim> write b 2
sim> sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)"
    kill_run
    [[ $(of_task '[.state, .landed] | join(" ")') == "interrupted $landed" ]] || fail "$(of_task .)"
    run anabranch status
    assert_contains "landed before as ${landed:0:10}"
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume --json 3>&-
    assert_status 0
    refute_event task.started a
    assert_event task.landed b
    refute_event task.landed b '"unchanged"'
    assert_in main b 2
    [[ $(of_task '[.state, .landed] | join(" ")') == "landed $(git rev-parse main)" ]] || fail "$(of_task .)"
}

@test "say: killed while a landed task works on, and what is resumed fails: it stands" {
    land_two
    start_say b "sim> sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)
sim> write c 2"
    kill_run
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume --json 3>&-
    assert_status 1
    assert_event task.failed b '"class":"scope"'
    assert_still_landed scope
    assert_clean 'refs/anabranch/salvage/*/b/*'
}

@test "say: further work that conflicts is left for a person, and the landing stands" {
    make_repo
    begin_plan 'overlap: allow'
    add_task a -- 'write a 1'
    add_task b -- 'sh sed -i s/five/b/ file'
    run_plan
    assert_status 0
    local landed
    landed=$(of_task .landed)
    say b "sim> sh sed -i s/two/b/ file; cd '$PWD' && unset GIT_CEILING_DIRECTORIES && sed -i s/two/person/ file && git commit -q -am person"
    assert_status 4
    assert_summary b conflicted
    assert_summary b "landed before as ${landed:0:10}"
    [[ $(of_task '[.state, .landed] | join(" ")') == "conflicted $landed" ]] || fail "$(of_task .)"
    [[ $(of_task .commit) != "$(of_task .landed)" && $(of_task .branch) == anabranch/* ]] || fail "$(of_task .)"
    run_apart anabranch resume --dry-run
    assert_contains 'it is still in conflict'
    # Its agent resolves it, or does not: then the conflict is left again.
    run_apart anabranch retry b 3>&-
    assert_status 4
    [[ $(of_task '[.state, .landed] | join(" ")') == "conflicted $landed" ]] || fail "$(of_task .)"
    # The person who does not want that work removes it.
    git worktree remove --force "$(of_task .workspace)"
    git branch -q -D "$(of_task .branch)"
    git for-each-ref --format='delete %(refname)' refs/anabranch/salvage | git update-ref --stdin
    git reflog expire --expire=now --all && git gc -q --prune=now
    run_apart anabranch resume --json 3>&-
    assert_status 0
    refute_event task.started b
    [[ $(of_task '[.state, .landed] | join(" ")') == "landed $landed" ]] || fail "$(of_task .)"
}

@test "say: with --keep, further work that failed keeps its workspace, and a resume saves what is in it" {
    land_two
    say b 'sim> write c 1' --keep
    assert_status 1
    assert_still_landed scope
    assert_in "anabranch/$(sqlite3 .git/anabranch/state.db 'select id from runs')/b" c 1
    say b 'sim> sh rm c
sim> write b 2'
    assert_status 0
    assert_in main b 2
    refute_in main c
}

@test "a landed task that runs again because its plan was edited is failed when that fails" {
    land_two
    sed -i 's/write b 1/exit 3/' plan.yaml
    local run
    run=$(sqlite3 .git/anabranch/state.db 'select id from runs')
    run_apart anabranch resume "$run" 3>&-
    assert_status 1
    [[ $(of_task '[.state, .failure, .landed] | join(" ")') == 'failed transient ' ]] || fail "$(of_task .)"
    run_apart anabranch resume --dry-run
    assert_contains 'it failed'
    say b 'sim> exit 3'
    assert_status 1
    [[ $(of_task .state) == failed ]] || fail "$(of_task .)"
}

@test "say: after further work that failed or changed nothing, the diff of a landed task is that of its landing" {
    land_two
    local diff start
    diff=$(anabranch diff a)
    start=$(anabranch status --json | jq -r '.tasks[0].start_commit')
    assert_diff() {
        [[ $(anabranch status --json | jq -r '.tasks[0].start_commit') == "$start" ]] || fail "$(anabranch status --json)"
        [[ $(anabranch diff a) == "$diff" ]] || fail "$(anabranch diff a)"
    }
    git commit -q --allow-empty -m later
    say a 'sim> say nothing'
    assert_status 0
    assert_diff
    say a 'sim> exit 3'
    assert_status 1
    assert_diff
    # The same if the engine is killed meanwhile.
    start_say a "sim> sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)
sim> exit 3"
    kill_run
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume --json 3>&-
    assert_status 1
    assert_diff
    say a 'sim> write a 2'
    assert_status 0
    [[ $(anabranch diff a) == *+2* && $(anabranch diff a) == *-1* ]] || fail "$(anabranch diff a)"
}
