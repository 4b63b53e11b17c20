#!/usr/bin/env bats
# Commands about earlier and live runs: status, history, logs, shell, diff.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2016 # the agent's shell expands it

load ../helper
load ../run_helper

last_run() {
    anabranch history -n 1 | cut -d ' ' -f 1
}

assert_error() { # CODE MESSAGE
    assert_status "$1"
    [[ -z $output && $stderr == "anabranch: $2" ]] || fail "expected: $2"
}

# Two runs: one that failed and one that landed.
make_runs() {
    make_repo
    begin_plan
    add_task first 'retry: {transient: 1}' -- 'say attempt one' 'write a one' 'err broke' 'on 1 exit 1' 'exit 1'
    add_task second 'depends_on: [first]' -- 'write b two'
    run_plan
    assert_status 1
    old=$(last_run)
    begin_plan
    add_task alpha -- 'write a one' 'append file ten'
    add_task beta 'read_only: true' -- 'say looked'
    run_plan
    assert_status 0
    new=$(last_run)
}

@test "before anything was run all of them say so" {
    for place in nowhere repo; do
        mkdir -p $place
        [[ $place != repo ]] || git init -q repo
        for call in status history 'logs t' 'diff t' 'report last'; do
            # shellcheck disable=SC2086
            cd $place && run_apart anabranch $call
            cd ..
            assert_error 2 "nothing was ever run in this repository"
        done
    done
}

@test "status shows the newest run, one by its beginning, and 'last'" {
    make_runs
    run anabranch status
    assert_status 0
    assert_contains "Run $new: finished, exit code 0, "
    assert_summary alpha "landed"
    assert_summary beta "done"
    assert_contains "Logs: $(realpath .git)/anabranch/runs/$new"
    local newest=$output
    run anabranch status last
    assert_output "$newest"
    run anabranch status "$old"
    assert_status 0
    assert_contains "Run $old: finished, exit code 1, "
    assert_summary first "2 attempts  transient: exit code 1: broke"
    assert_summary second "skipped"
    assert_contains "Last output of first, from $(realpath .git)/anabranch/runs/$old/first/2:"$'\n  broke\n'
    run anabranch status "${old%?}"
    assert_contains "Run $old: "
    run_apart anabranch status 2
    assert_error 2 "'2' could be the run $new or $old"
    run_apart anabranch status nothing
    assert_error 2 "there is no run 'nothing'; 'anabranch history' lists them"
    run_apart anabranch status "x${old:1}"
    assert_error 2 "there is no run 'x${old:1}'; did you mean '$old'?"
}

@test "the summary of run is the table of status" {
    make_repo
    begin_plan
    add_task good -- 'write a one'
    add_task bad 'retry: {transient: 0}' -- 'err why' 'exit 1'
    run_plan -q
    local lines
    lines=$(sed -n '/^  bad /,$p' <<<"$output")
    [[ -n $lines ]] || fail "no summary"
    run anabranch status
    assert_contains "$lines"
}

@test "status --json is the JSON report" {
    make_runs
    run anabranch status --json
    assert_status 0
    assert_output "$(anabranch report last --format json)"
    assert_contains "\"run\": \"$new\""
}

@test "history lists the newest first, as many as are wanted" {
    make_runs
    run anabranch history
    assert_status 0
    [[ ${#lines[@]} -eq 2 && ${lines[0]} == "$new "*"finished"*"1 landed, 1 done  plan.yaml" &&
        ${lines[1]} == "$old "*"1 failed, 1 skipped  plan.yaml" ]] || fail "not that"
    run anabranch history -n 1 --json
    [[ ${#lines[@]} -eq 1 && $output == '{"version":1,"run":"'"$new"'"'*'"landed":1'* ]] || fail "not that"
    refute_contains '"tasks":['
}

@test "they work from any subfolder and from a linked worktree" {
    make_runs
    git worktree add -q ../other
    local expected
    expected=$(anabranch status)
    for dir in dir ../other ../other/dir; do
        cd $dir || return
        run anabranch status
        assert_output "$expected"
        run anabranch diff alpha
        assert_status 0
        assert_contains "+ten"
        run anabranch logs beta
        assert_output "looked"
        cd "$BATS_TEST_TMPDIR/work/repo" || return
    done
}

@test "outside a repository the runs of a project are found from its folders" {
    mkdir -p project/sub
    cd project || return
    begin_plan
    add_task look 'read_only: true' -- 'say seen'
    run_plan
    assert_status 0
    cd sub || return
    run anabranch logs look
    assert_status 0
    assert_output seen
    run_apart anabranch diff look
    assert_error 3 "this is not a git repository"
}

@test "a run whose process is gone is interrupted" {
    make_repo
    begin_plan
    add_task t1 -- 'write a one' 'hang'
    add_task t2 'depends_on: [t1]' -- 'write b two'
    start_plan
    wait_for in_events task.started t1
    run anabranch status
    assert_contains ": running, "
    assert_summary t1 running
    kill -KILL "$engine"
    wait "$engine" || true
    run anabranch status
    assert_status 0
    assert_contains ": interrupted, "
    assert_contains "  t1    interrupted"
    assert_summary t2 waiting
    run anabranch history
    assert_contains "  interrupted  "
    run anabranch logs -f t1
    assert_status 0
}

# Logs

@test "durations do not count the time between a stop and the resume" {
    kill_run_an_hour_ago
    sqlite3 .git/anabranch/state.db 'update runs set started = started - 3600000; update tasks set started = started - 3600000'
    touch "$BATS_TEST_TMPDIR/go"
    run anabranch resume 3>&-
    assert_status 0
    run anabranch status --json
    [[ $(jq '.duration_ms < 600000 and .tasks[0].duration_ms < 600000' <<<"$output") == true ]] || fail
    [[ $(jq '.tasks[0] | (.finished | .[0:19] + "Z" | fromdate) - (.started | .[0:19] + "Z" | fromdate) > 3500' <<<"$output") == true ]] || fail
}

@test "logs shows text, actions and errors for people, and JSON with --raw" {
    make_repo
    begin_plan
    add_task t1 'retry: {overloaded: 0}' -- 'say hello' 'action Reading a file' 'say "two\nlines\tand a tab"' \
        'say "bad \u001b[31m \u202e"' 'sh echo plain' 'err trouble' 'error overloaded too busy'
    run_plan
    assert_status 1
    run anabranch logs t1
    assert_status 0
    assert_output $'hello\n> Reading a file\ntwo\nlines\tand a tab\nbad \\e[31m \\u{202E}\nplain\n! too busy'
    run anabranch logs --raw t1
    assert_output "$(cat .git/anabranch/runs/*/t1/1/out)"
    run anabranch logs --stderr t1
    assert_output "trouble"
}

@test "logs --verify has what explain verify promises, on both outputs" {
    make_repo
    begin_plan
    add_task t1 'retry: {verify: 0}' 'verify: "echo on stdout; echo on stderr >&2; exit 1"' -- 'write f 1'
    add_task t2 -- 'write g 1'
    run_plan
    assert_status 1
    run anabranch logs --verify t1
    assert_status 0
    assert_output $'on stdout\non stderr'
    run_apart anabranch logs --verify t2
    assert_error 3 "attempt 1 of 't2' was not verified"
    run anabranch explain verify
    assert_contains 'anabranch logs --verify'
}

@test "logs of claude are its words, its tools and what went wrong" {
    make_repo
    cat >../claude <<'END'
#!/bin/sh
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Read","input":{"file_path":"a.c"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":"no such file"}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","content":"all of it"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"I look."}'
echo x >made
END
    chmod +x ../claude
    printf '%s\n' 'tasks:' '  - {id: t1, prompt: go}' >plan.yaml
    run anabranch run --engine claude --engine-exe "$PWD/../claude" plan.yaml 3>&-
    assert_status 0
    run anabranch logs t1
    assert_output $'I look.\n> Read a.c\n! no such file'
}

@test "logs takes an attempt and a run, and says what there is not" {
    make_runs
    run anabranch logs --run "$old" --attempt 1 first
    assert_status 0
    assert_output 'attempt one'
    run_apart anabranch logs --run "$old" --attempt 3 first
    assert_error 2 "task 'first' had 2 attempts"
    run_apart anabranch logs --run "$old" second
    assert_error 2 "task 'second' has not started"
    run_apart anabranch logs alpa
    assert_error 2 "run $new has no task 'alpa'; did you mean 'alpha'?"
    run_apart anabranch logs --run "$old" nothing-like-it
    assert_error 2 "run $old has no task 'nothing-like-it'"
}

@test "an ended task leaves its prompt and its output, and logs shows that it printed no errors" {
    local dir
    make_repo
    begin_plan
    add_task t -- 'write a one'
    add_task look 'read_only: true' -- 'say looked'
    add_task bad 'retry: 0' -- 'err wrong' 'exit 3'
    run_plan
    dir=$(echo .git/anabranch/runs/*-*)
    [[ $(cd "$dir/t" && find . -type f | sort) == ./1/out$'\n'./1/prompt ]] || fail "$(find "$dir/t")"
    [[ $(cd "$dir/look" && find . -type f | sort) == ./1/out$'\n'./1/prompt ]] || fail "$(find "$dir/look")"
    [[ $(<"$dir/bad/1/err") == wrong && -s $dir/bad/1/boot ]] || fail "$(find "$dir/bad")"
    [[ ! -e $dir/run.folders/t && -e $dir/run.folders/.boot ]] || fail "$(find "$dir/run.folders")"
    run_apart anabranch logs --stderr t
    assert_status 0
    [[ -z $output$stderr ]] || fail "$output$stderr"
    run anabranch logs --stderr bad
    assert_output wrong
    rm "$dir/t/1/out"
    run_apart anabranch logs --stderr t
    assert_error 3 "attempt 1 of 't' has no such log"
}

@test "logs -f follows until the attempt ends, and prints all of it" {
    make_repo
    begin_plan
    add_task t1 -- 'say one' "sh $(until_exists go)" 'say two' 'write a one'
    start_plan
    wait_for in_events task.started t1
    "$ANABRANCH" logs -f t1 >../followed 3>&- &
    local follower=$!
    wait_for grep -q one ../followed
    touch "$BATS_TEST_TMPDIR/go"
    wait $follower || fail "it failed"
    [[ $(<../followed) == $'one\ntwo' ]] || fail "$(<../followed)"
    end_plan
    assert_status 0
}

@test "logs of lines without an end, and of very long ones, are whole" {
    make_repo
    begin_plan
    add_task t1 -- 'flood 3MiB' 'sh printf "no end"' 'write a one'
    run_plan
    [[ $(anabranch logs t1 | tr -d '\n' | wc -c) -ge $((3 * 1048576 - 3)) ]] || fail "not all"
    run anabranch logs --raw t1
    assert_contains "no end"
}

# Shell

@test "shell opens one in a task's workspace, or runs a command there; without a workspace it says so" {
    make_repo
    begin_plan
    add_task t -- 'write new fresh' "sh touch '$BATS_TEST_TMPDIR/there'" "sh $(until_exists go)"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/there"
    run_apart anabranch shell t -- sh -c 'cat new; git branch --show-current; env | grep ^ANABRANCH_; exit 7'
    assert_status 7
    [[ $output == fresh$'\n'anabranch/*/t ]] || fail "$output"
    SHELL=/bin/pwd run_apart anabranch shell t
    assert_status 0
    [[ $output == "$PWD"/.anabranch/worktrees/*/t ]] || fail "$output"
    touch "$BATS_TEST_TMPDIR/go"
    wait "$engine" || fail "$(<"$events")"
    run_apart anabranch shell t
    assert_error 2 "task 't' has no workspace now; 'anabranch diff t' shows its changes, and 'anabranch salvage' shows its saved work"
    run_apart anabranch shell nobody
    assert_status 2
    [[ $stderr == *"has no task 'nobody'"* ]] || fail "$stderr"
    run_apart anabranch shell
    assert_status 2
}

# Diff

@test "diff shows what a task changed, and --stat in short" {
    make_runs
    run anabranch diff alpha
    assert_status 0
    assert_contains $'+++ b/a\n@@ -0,0 +1 @@\n+one'
    assert_contains "+ten"
    run anabranch diff --stat alpha
    assert_contains "2 files changed, 2 insertions(+)"
    run_apart anabranch diff beta
    assert_error 2 "task 'beta' has changed nothing"
    run_apart anabranch diff --run "$old" second
    assert_error 2 "task 'second' has not started"
}

@test "diff of a task that is at work shows what is in its workspace, new files too, and changes nothing" {
    make_repo
    echo '*.log' >.gitignore
    git add .gitignore
    git commit -q -m ignore
    begin_plan
    add_task t -- 'write new fresh' 'append file more' 'write a.log x' "sh touch '$BATS_TEST_TMPDIR/there'" \
        "sh $(until_exists go)" 'sh git diff --cached --quiet && test -z "$(git ls-files new)"'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/there"
    run_apart anabranch diff t
    assert_status 0
    [[ $output == *$'+++ b/new\n@@ -0,0 +1 @@\n+fresh'* && $output == *'+more'* && $output != *a.log* ]] || fail "$output"
    run_apart anabranch diff --stat t
    assert_contains "2 files changed, 2 insertions(+)"
    [[ -z $(find .git/anabranch/tmp -name 'diff*') ]] || fail "left: $(find .git/anabranch/tmp)"
    touch "$BATS_TEST_TMPDIR/go"
    wait "$engine" || fail "it was disturbed: $(<"$events")"
    assert_clean
}

@test "diff of a task that failed shows what was saved of it" {
    make_runs
    run anabranch diff --run "$old" first
    assert_status 0
    assert_contains "+one"
}

@test "diff is not fooled by the environment of another repository, nor by a pager" {
    make_runs
    git init -q ../elsewhere
    GIT_DIR=$PWD/../elsewhere/.git GIT_PAGER=false run anabranch diff alpha
    assert_status 0
    assert_contains "+ten"
}
