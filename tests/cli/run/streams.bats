#!/usr/bin/env bats
# Manifests as streams, with real git, real processes and the built-in agent. tests/plans/streams and
# tests/unit/plan/test_streams.c test how batches are divided.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # run_streams looks at status and output

load ../helper
load ../run_helper
load ../streams_helper

four_batches() {
    begin_manifest "$@"
    add_batch 1 -- 'write one 1'
    add_batch 2 -- 'write two 2'
    add_batch 3 'depends_on: [1]' -- 'sh cat one >three'
    add_batch 4 'depends_on: [2]' -- 'sh cat two >four'
}

# Sessions

@test "streams: two sessions at once, each with its batches in their order" {
    make_repo
    begin_manifest
    add_batch 1 -- "sh $(busy 2)" 'write one 1'
    add_batch 2 -- "sh $(busy 2)" 'write two 2'
    add_batch 3 'depends_on: [1]' -- 'sh cat one >three'
    add_batch 4 'depends_on: [2]' -- 'sh cat two >four'
    run_streams
    assert_status 0
    [[ $(most_at_once) == 2 ]] || fail "at once: $(most_at_once)"
    assert_summary a landed
    assert_summary b landed
    assert_in main three 1
    assert_in main four 2
    [[ $(git log --format=%s --no-merges | sort) == $'Stream a: batches 1, 3\nStream b: batches 2, 4\nstart' ]] ||
        fail "$(git log --oneline)"
    assert_clean
    assert_unchanged_checkout
}

@test "streams: as many as --streams says, all of them at once" {
    make_repo
    begin_manifest 'limits: {workers: 1}'
    for b in 1 2 3 4 5; do add_batch "$b" -- "sh $(busy 5)" "write f$b $b"; done
    run_streams --streams 5
    assert_status 0
    [[ $(most_at_once) == 5 ]] || fail "at once: $(most_at_once)"
    assert_contains '5 landed'
    assert_clean
}

@test "streams: the prompt names the stream's batches, has their text, and forbids the others'" {
    make_repo
    four_batches
    run_streams
    assert_status 0
    output=$(prompt_of a)
    assert_contains "stream a of 2 of the plan 'demo'"
    assert_contains 'in this order, and all of each: 1, 3.'
    assert_contains 'sim> write one 1'
    assert_contains 'sim> sh cat one >three'
    assert_contains 'Do not do them'
    assert_line '- batch 2'
    assert_line '- batch 4'
    refute_contains 'write two'
}

@test "streams: personas, owned paths and several agents are in the prompt" {
    make_repo
    cat >plan.yaml <<'END'
batches:
  - id: 1
    description: Write it
    agents:
      - {subagent_type: code-writer, prompt: "sim> write dir/new n", owns_files: [dir/]}
      - {subagent_type: main, prompt: "sim> say checked", read_only: true}
  - {id: 2, depends_on: [], agents: [{prompt: "sim> write other o", owns_files: [other]}]}
END
    run_streams
    assert_status 0
    output=$(prompt_of a)
    assert_line '## Batch 1: Write it'
    assert_line 'Its agents work one after the other.'
    assert_line '### Agent 1 of 2'
    assert_line 'Give this to the subagent code-writer:'
    assert_line 'It may change only: dir/'
    assert_line 'It changes nothing: it reports.'
    assert_line '  owns other'
    assert_in main dir/new n
}

@test "streams: a prompt from a file is carried along, though the worktree has no such file" {
    make_repo
    printf 'sim> write made yes\n' >prompt.md
    printf '%s\n' prompt.md >>.git/info/exclude
    printf '%s\n' 'batches:' '  - {id: 1, agents: [{prompt_file: prompt.md}]}' >plan.yaml
    run_streams
    assert_status 0
    assert_in main made yes
}

@test "streams: a stream that changes what another one's batches own has failed" {
    make_repo
    begin_manifest
    add_batch 1 'owns_files: [one]' -- 'write one 1'
    add_batch 2 'owns_files: [two]' -- 'write two 2' 'write one x'
    run_streams
    assert_status 1
    assert_summary a landed
    assert_summary b 'scope'
    assert_in main one 1
}

@test "streams: a stream that cannot be one session is refused, and --by-batch runs it" {
    make_repo
    cat >plan.yaml <<'END'
batches:
  - id: 1
    agents:
      - {prompt: "sim> write one 1", env: {A: x}}
      - {prompt: "sim> sh echo $A >two", env: {A: y}}
END
    run_streams
    assert_status 2
    [[ $stderr == *"stream a is one session, and its agents differ in 'env'"* ]] || fail
    [[ ! -e .git/anabranch ]] || fail 'something was made'
    run_streams --by-batch
    assert_status 0
    assert_in main two y
}

@test "streams: the commands that verify a stream are those of all its agents" {
    make_repo
    cat >plan.yaml <<'END'
batches:
  - {id: 1, agents: [{prompt: "sim> write one 1", verify: "test -e one; exit"}]}
  - {id: 2, agents: [{prompt: "sim> write two 2", verify: [test, -e, "not there"]}]}
END
    run_streams
    assert_status 1
    assert_summary a verify
    sed -i 's/not there/two/' plan.yaml
    run_streams
    assert_status 0
    assert_in main two 2
}

# Messages before the start

@test "streams: a forced split warns of the pairs that it cuts apart, and runs" {
    make_repo
    begin_manifest
    add_batch 1 'owns_files: [f]' -- 'write f1 1'
    add_batch 2 'depends_on: [1]' -- 'write f2 2'
    add_batch 3 'owns_files: [f]' -- 'write f 3'
    add_batch 4 -- 'write f4 4'
    sed -i 's/write f1 1/say nothing/' plan.yaml
    run_streams --split 1,2
    [[ $stderr == *'warning: cut apart: 2 needs 1'* ]] || fail
    [[ $stderr == *"warning: cut apart: 3 owns 'f', 1 owns 'f'"* ]] || fail
    assert_summary b landed
    assert_summary c landed
    assert_in main f 3
}

@test "streams: options that do not go together" {
    make_repo
    four_batches
    run_apart anabranch streams --streams 2 --split 1 plan.yaml
    assert_usage_error '--streams and --split do not go together' streams
    run_apart anabranch streams --by-batch --split 1 plan.yaml
    assert_usage_error '--by-batch and --split do not go together' streams
    run_apart anabranch streams --streams 257 plan.yaml
    assert_usage_error '--streams: the maximum is 256' streams
    run_apart anabranch streams --split 0 plan.yaml
    assert_usage_error '--split: 0 is not from 1 to 3, with 4 batches' streams
    run_apart anabranch streams --split 1, plan.yaml
    assert_usage_error "--split: '1,' is not a list of numbers" streams
    run_apart anabranch streams --split 99999999999999999999 plan.yaml
    assert_usage_error '--split: 99999999999999999999 is not from 1 to 3, with 4 batches' streams
}

@test "streams: a dry run needs no repository and changes nothing" {
    four_batches
    find . >"$BATS_TEST_TMPDIR/before"
    run_apart anabranch streams --dry-run plan.yaml
    assert_status 0
    assert_line 'Stream a: 2 batches, 2 agents'
    assert_line '  3  needs 1'
    find . | cmp - "$BATS_TEST_TMPDIR/before" || fail 'something was made'
    run_apart anabranch streams --dry-run --json plan.yaml
    assert_status 0
    run python3 -c 'import json, sys
d = json.loads(sys.argv[1])
print([[b["id"] for b in s["batches"]] for s in d["streams"]], d["speed_up"], d["verdict"])' "$output"
    assert_output "[['1', '3'], ['2', '4']] 2.0 gain"
}

@test "streams: it says that there is nothing to gain, and runs all the same" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1'
    run_streams
    assert_status 0
    [[ $stderr == *'Too small to gain: 1 batch'* ]] || fail
    assert_contains '1 landed'
}

# Inside an agent

@test "streams: not from inside of an agent, unless --nested" {
    make_repo
    four_batches
    export ANABRANCH_TASK=outer ANABRANCH_RUN=r1
    run_streams
    assert_status 2
    [[ $stderr == "anabranch: this is inside task 'outer' of run r1: "*--nested* ]] || fail
    [[ ! -e .git/anabranch ]] || fail 'something was made'
    run_streams --dry-run
    assert_status 0
    run_streams --nested
    assert_status 0
    assert_contains '2 landed'
    unset ANABRANCH_TASK ANABRANCH_RUN
    CAST_SUBPROCESS=1 run_streams
    assert_status 2
    [[ $stderr == *CAST_SUBPROCESS=1* ]] || fail
}

@test "streams: an agent that runs streams is told not to" {
    make_repo
    begin_manifest
    add_batch 1 -- "sh cd '$PWD' && ANABRANCH_X=1 '$ANABRANCH' streams --engine sim plan.yaml >'$BATS_TEST_TMPDIR/inner' 2>&1; echo \$? >>'$BATS_TEST_TMPDIR/inner'" 'write one 1'
    run_streams
    assert_status 0
    run cat "$BATS_TEST_TMPDIR/inner"
    assert_contains "inside task 'a'"
    assert_line 2
}

# By batch

@test "streams: --by-batch hands what a fan-out found to the next batch" {
    make_repo
    cat >plan.yaml <<'END'
batches:
  - id: ask
    type: fan-out
    agents:
      - {prompt: "sim> say the parser is slow"}
      - {prompt: "sim> say the cache is small\nsim> write notes n"}
  - {id: fix, agents: [{prompt: "sim> write fix f"}]}
  - {id: end, agents: [{prompt: "sim> write end e"}]}
END
    run_streams --by-batch
    assert_status 0
    assert_summary bask-1 'done'
    assert_summary bask-2 landed
    output=$(prompt_of bfix)
    assert_contains 'the parser is slow'
    assert_contains 'the cache is small'
    assert_contains '## By bask-1'
    output=$(prompt_of bend)
    refute_contains 'the parser is slow'
    assert_clean
}

@test "streams: --by-batch runs agents of parallel batches at once, and batches in order" {
    make_repo
    cat >plan.yaml <<END
batches:
  - id: 1
    parallel: true
    agents:
      - {prompt: "sim> sh $(busy 2)\nsim> write one 1"}
      - {prompt: "sim> sh $(busy 2)\nsim> write two 2"}
  - {id: 2, agents: [{prompt: "sim> sh cat one two >three"}]}
END
    run_streams --by-batch
    assert_status 0
    assert_in main three $'1\n2'
    run_streams --by-batch --dry-run
    assert_status 0
    assert_contains b1-1
}

@test "streams: findings survive a killed engine" {
    make_repo
    cat >plan.yaml <<END
batches:
  - {id: ask, type: fan-out, agents: [{prompt: "sim> say a secret finding"}]}
  - {id: fix, agents: [{prompt: "sim> sh $(until_exists released)\nsim> write fix f"}]}
END
    start_streams --by-batch
    wait_for in_events task.started bfix
    kill -KILL "$engine"
    end_plan
    touch "$BATS_TEST_TMPDIR/released"
    run_apart anabranch resume 3>&-
    assert_status 0
    output=$(prompt_of bfix 2)
    assert_contains 'a secret finding'
}

# Events

@test "streams: its events are in the store, in --json, and sent to log.command" {
    make_repo
    four_batches "log: {command: 'printf \"%s|\" \"\$@\" >>../told; echo >>../told'}"
    run_streams --json
    assert_status 0
    assert_event parallel_start '' '"message":"demo: 2 streams begin: Stream a: batches 1, 3; Stream b: batches 2, 4"'
    assert_event parallel_streams_done
    assert_event parallel_complete '' '"message":"demo: 2 landed"'
    refute_event parallel_fail
    run cat ../told
    assert_line '--event|parallel_start|--message|demo: 2 streams begin: Stream a: batches 1, 3; Stream b: batches 2, 4|'
    [[ $(cut -d'|' -f2 ../told | paste -sd ' ') == 'parallel_start parallel_streams_done parallel_complete' ]] ||
        fail "$(<../told)"
    run sqlite3 .git/anabranch/state.db "select name from events where name like 'parallel%' order by seq"
    assert_output $'parallel_start\nparallel_streams_done\nparallel_complete'
}

@test "streams: resumed without a budget, nothing starts, and that is no success" {
    make_repo
    begin_manifest 'limits: {budget: {tokens: 10}}'
    add_batch 1 -- "sh $(until_exists go)" 'tokens 100 100' 'hang'
    add_batch 2 -- "sh touch $BATS_TEST_TMPDIR/go" 'hang'
    run_streams --json
    assert_status 1
    assert_event task.failed a '"class":"budget"'
    assert_event parallel_fail
    run_apart anabranch resume --json 3>&-
    assert_status 1
    refute_event task.started
    assert_event parallel_fail '' 'some tasks did not start'
    refute_event parallel_complete
}

@test "streams: a list as log.command, and what a failure says" {
    make_repo
    printf '#!/bin/sh\necho "$1 $3 $5" >>../told\ncat >>../json\n' >"$BATS_TEST_TMPDIR/logger"
    chmod +x "$BATS_TEST_TMPDIR/logger"
    begin_manifest "log: {command: ['$BATS_TEST_TMPDIR/logger', mine]}"
    add_batch 1 -- 'write one 1'
    add_batch 2 -- 'error auth no key'
    run_streams
    assert_status 1
    run cat ../told
    assert_line 'mine parallel_start demo: 2 streams begin: Stream a: batch 1; Stream b: batch 2'
    assert_line 'mine parallel_fail demo: b failed: no key'
    refute_contains parallel_complete
    refute_contains parallel_streams_done
    run cat ../json
    [[ ${lines[0]} == '{"seq":'*'"event":"parallel_start","run":"'*'"message":"demo: 2 streams begin'* ]] || fail
}

@test "streams: a logger that is missing is passed over" {
    make_repo
    four_batches 'log: {command: [/not/there, at-all]}'
    run_streams
    assert_status 0
    [[ -z $stderr ]] || fail
    assert_contains '2 landed'
}

@test "streams: a logger that hangs is not waited for, and does not stay" {
    make_repo
    four_batches "log: {command: 'echo \$\$ >>../pids; exec sleep 1000'}"
    local begun=$SECONDS
    run_streams
    assert_status 0
    ((SECONDS - begun < 60)) || fail "it took $((SECONDS - begun)) s"
    [[ -s ../pids ]] || fail 'it was never called'
    while read -r pid; do
        wait_for is_gone "$pid"
    done <../pids
}

# Resume and display

@test "streams: a killed run continues with the streams that it began with, whatever the manifest says now" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1'
    add_batch 2 -- "sh $(until_exists released)" 'write two 2'
    start_streams
    wait_for in_events task.landed a
    wait_for in_events task.started b
    kill -KILL "$engine"
    end_plan
    touch "$BATS_TEST_TMPDIR/released"
    begin_manifest
    add_batch 1 -- 'write other 1'
    add_batch 2 -- 'write another 2'
    run_apart anabranch resume --plan plan.yaml
    assert_status 2
    [[ $stderr == *'it does not take --plan'* ]] || fail
    run_apart anabranch resume --json 3>&-
    assert_status 0
    assert_no_sanitizer
    [[ $stderr == *"'plan.yaml' was edited since: its streams stay as they were divided"* ]] || fail
    refute_event parallel_start
    assert_event parallel_streams_done
    assert_event parallel_complete
    assert_in main two 2
    refute_in main other
    assert_clean
    run_apart anabranch resume
    assert_status 0
    assert_contains 'every run has finished'
}

@test "streams: resume does a failed stream again, and leaves the other one alone" {
    make_repo
    begin_manifest
    add_batch 1 -- 'sh echo ran >>"$STAMPS.one"' 'write one 1'
    add_batch 2 -- "sh test -e $BATS_TEST_TMPDIR/now || exit 2" 'write two 2'
    run_streams
    assert_status 1
    assert_summary b failed
    touch "$BATS_TEST_TMPDIR/now"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main two 2
    [[ $(wc -l <"$STAMPS.one") -eq 1 ]] || fail 'the stream that had landed ran again'
    [[ -z $stderr ]] || fail
}

@test "streams: status, report and logs know the streams" {
    make_repo
    four_batches
    run_streams --report "$BATS_TEST_TMPDIR/report.json"
    assert_status 0
    grep -q '"Stream a: batches 1, 3"' "$BATS_TEST_TMPDIR/report.json" || fail "$(<"$BATS_TEST_TMPDIR/report.json")"
    run_apart anabranch status
    assert_status 0
    assert_summary b landed
    run_apart anabranch report --format md last
    assert_status 0
    assert_contains 'Stream b: batches 2, 4'
    run_apart anabranch logs a
    assert_status 0
}

# Defects of cast-parallel

@test "CP-1: uncommitted work of an agent lands" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write new 1' 'append file more'
    run_streams
    assert_status 0
    assert_in main new 1
    git show main:file | grep -qx more || fail
}

@test "CP-2: one stream fails, and the other's work lands; the failed one's is saved" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1'
    add_batch 2 -- 'write half 2' 'error auth no'
    run_streams
    assert_status 1
    assert_in main one 1
    assert_summary b failed
    assert_contains 'anabranch salvage show'
    assert_clean 'refs/anabranch/salvage/*/b/1'
    git show "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage')":half | grep -qx 2 || fail
}

@test "CP-3: two runs at once in one repository are in nobody's way" {
    make_repo
    begin_manifest
    add_batch 1 -- "sh $(until_exists released)" 'write one 1'
    start_streams
    wait_for in_events task.started a
    mv plan.yaml first.yaml
    begin_manifest
    add_batch 1 -- 'write other 2'
    mv plan.yaml second.yaml
    printf '%s\n' first.yaml second.yaml >>.git/info/exclude
    run_apart anabranch streams --engine sim second.yaml 3>&-
    assert_status 0
    assert_in main other 2
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
    assert_in main one 1
    assert_in main other 2
    assert_clean
}

conflict() {
    make_repo
    begin_manifest
    add_batch 1 -- "sh $(until_exists b-landed)" 'write file one'
    add_batch 2 -- 'write file two'
    start_streams
    wait_for in_events task.landed b
    touch "$BATS_TEST_TMPDIR/b-landed"
    end_plan
    assert_status 4
    assert_event parallel_merge_conflict a
    refute_event parallel_complete
    assert_in main file two
}

@test "CP-4: a workspace that was kept for a person after a conflict outlives the next run" {
    conflict
    local kept
    kept=$(git worktree list --porcelain | sed -n 's/^worktree //p' | tail -n 1)
    [[ $(<"$kept/file") == one ]] || fail "$kept"
    begin_manifest
    add_batch 1 -- 'write more 1'
    run_streams
    assert_status 0
    [[ $(<"$kept/file") == one ]] || fail 'the workspace is gone'
    assert_clean kept=1 'refs/heads/anabranch/*/a'
}

@test "CP-5: TERM ends the agents, saves their work, and exits 143" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write half 1' "sh $(until_exists never)"
    add_batch 2 -- 'write other 2' "sh $(until_exists never)"
    start_streams
    wait_for has_written a half
    wait_for has_written b other
    kill -TERM "$engine"
    end_plan
    assert_status 143
    assert_event parallel_fail '' 'stopped by signal 15'
    assert_clean 'refs/anabranch/salvage/*/a/1' 'refs/anabranch/salvage/*/b/1'
}

@test "CP-6: claude is called as it can be called" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1'
    stub_claude 'cat >/dev/null' 'echo done >made-by-stub' \
        'echo '\''{"type":"result","subtype":"success","is_error":false,"result":"ok"}'\'
    run_apart anabranch streams plan.yaml 3>&-
    assert_status 0
    assert_in main made-by-stub 'done'
    ! grep -q -e --headless "$BATS_TEST_TMPDIR/argv" || fail "$(<"$BATS_TEST_TMPDIR/argv")"
    ! grep -q 'write one' "$BATS_TEST_TMPDIR/argv" || fail 'the prompt is for all to see'
}

@test "CP-7: a conflict leaves no merge half done, and says what to type" {
    conflict
    [[ ! -e .git/MERGE_HEAD ]] || fail 'the checkout is in the middle of a merge'
    assert_unchanged_checkout
    run_apart anabranch status
    assert_contains 'git switch main && git merge anabranch/'
    # The printed commands resolve the conflict.
    local branch
    branch=$(git for-each-ref --format='%(refname:short)' 'refs/heads/anabranch')
    run git merge -q "$branch"
    [[ $status -ne 0 ]] || fail 'no conflict'
    echo both >file
    git commit -qam resolved
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main file both
    assert_clean
}

@test "CP-8: more than two streams, none of them empty, no dependency between them" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1'
    run_streams
    assert_status 0
    [[ $(find .git/anabranch/runs -name prompt | wc -l) -eq 1 ]] || fail 'a second agent was started'
    begin_manifest
    add_batch 2 -- 'write two 2'
    add_batch 3 -- 'write three 3'
    add_batch 4 'depends_on: [2]' -- 'sh cat two >four'
    add_batch 5 -- 'write five 5'
    run_streams -n 3
    assert_status 0
    assert_contains '3 landed'
    assert_in main four 2
}

@test "CP-9: a batch without an id, two blocks, and nothing is started" {
    make_repo
    printf '%s\n' '```json dispatch' '{"batches": [{"agents": [{"prompt": "x"}]}]}' '```' >plan.md
    run_apart anabranch streams --engine sim plan.md
    assert_status 2
    [[ $stderr == *"plan.md:2:"*"has no 'id'"* ]] || fail
    printf '%s\n' '```json dispatch' '{"batches": []}' '```' '```json dispatch' '{}' '```' >plan.md
    run_apart anabranch streams --engine sim plan.md
    assert_status 2
    [[ $stderr == *plan.md:* ]] || fail
    [[ ! -e .git/anabranch ]] || fail 'something was made'
}

@test "CP-9: a relative path, a plan_id with a slash, and CRLF" {
    make_repo
    mkdir plans
    printf '%s\r\n' '# Plan' '```json dispatch' \
        '{"plan_id": "a/b", "batches": [{"id": 1, "agents": [{"prompt": "sim> write one 1"}]}]}' '```' >plans/plan.md
    echo plans/ >>.git/info/exclude
    cd plans || return
    run_apart anabranch streams --engine sim plan.md 3>&-
    assert_status 0
    cd ..
    assert_in main one 1
}

@test "CP-10: a run finds that something is missing before it begins anything" {
    begin_manifest
    add_batch 1 -- 'write one 1'
    run_streams
    assert_status 3
    [[ $stderr == *repository* ]] || fail
    mv plan.yaml "$BATS_TEST_TMPDIR/plan.yaml"
    make_repo
    mv "$BATS_TEST_TMPDIR/plan.yaml" .
    run_apart anabranch streams --engine-exe "$BATS_TEST_TMPDIR/no-claude" plan.yaml 3>&-
    assert_status 3
    [[ $stderr == *'cannot find'* ]] || fail
    [[ ! -e .git/anabranch/runs ]] || fail 'something was begun'
    git checkout -q --detach
    run_streams
    [[ $status -ne 0 && $stderr == *--base* ]] || fail
    run_streams --base main
    assert_status 0
    assert_in main one 1
}

@test "CP-10: a dirty tree is left as it is, and followed where that can be" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1'
    echo mine >>file
    echo new >untracked
    run_streams
    assert_status 0
    assert_in main one 1
    [[ $(git status --porcelain) == $' M file\n?? untracked' ]] || fail "$(git status --porcelain)"
}

@test "CP-11: a failure is reported when it happens, tried again, and limited in time" {
    make_repo
    begin_manifest
    add_batch 1 -- "sh $(until_exists seen)" 'write one 1'
    add_batch 2 -- 'on 1 error transient once' 'write two 2'
    add_batch 3 -- "sh $(until_exists never)"
    start_streams -n 3 --timeout 2s
    wait_for in_events task.retried b
    touch "$BATS_TEST_TMPDIR/seen"
    end_plan
    assert_status 1
    assert_event task.landed a
    assert_event task.landed b
    assert_event task.failed c timeout
}

@test "CP-12: no interpreter is needed to read a manifest" {
    make_repo
    four_batches
    mkdir "$BATS_TEST_TMPDIR/few"
    for p in git sh cat; do ln -s "$(command -v "$p")" "$BATS_TEST_TMPDIR/few/$p"; done
    PATH=$BATS_TEST_TMPDIR/few run_streams
    assert_status 0
    assert_contains '2 landed'
}

@test "CP-13: leftovers of a killed engine are resumed, or removed" {
    make_repo
    begin_manifest
    add_batch 1 -- 'write one 1' "sh $(until_exists released)"
    start_streams
    wait_for has_written a one
    kill -KILL "$engine"
    end_plan
    wait_for no_agents
    run_apart anabranch clean --all
    assert_status 0
    assert_clean 'refs/anabranch/salvage/*'
}
