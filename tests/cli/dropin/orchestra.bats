#!/usr/bin/env bats
# The program as parallel-orchestra: those cases of that tool's own test suite that are visible from
# outside, under the names of its files, and its defects, by their numbers.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper

teardown() {
    kill_noted
}

# The engine of the manifest dies when the condition holds, and its agents end.
kill_when() { # CONDITION...
    local engine
    echo --- >>plan.md
    parallel-orchestra run plan.md >/dev/null 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for "$@"
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
}

# The program by its other name, and an agent whose prompt is a shell script; with SAYS=json it ends
# as claude does, with a result line.
make_programs() {
    bin=$BATS_TEST_TMPDIR/bin
    mkdir -p "$bin"
    ln -s "$ANABRANCH" "$bin/parallel-orchestra"
    cat >"$bin/claude" <<'END'
#!/bin/bash
[[ ! $ARGS ]] || printf '%s\n' "$@" >"$ARGS"
eval "$(cat)"
code=$?
[[ $SAYS != json ]] || printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"fine"}'
exit $code
END
    chmod +x "$bin/claude"
    PATH=$bin:$PATH
}

make_place() {
    make_repo
    make_programs
    printf '%s\n' '/plan.md' '/.po-run-state-*' >>.git/info/exclude
    cp .git/config "$BATS_TEST_TMPDIR/config"
    : >plan.md
}

# Begins a manifest with the given lines; task adds to it.
manifest() { # [LINE...]
    printf '%s\n' --- 'po_plan_version: "0.1"' 'name: demo' 'cwd: .' "$@" tasks: >plan.md
}

task() { # ID SCRIPT [LINE...]
    printf '  - id: %s\n    prompt: |\n' "$1" >>plan.md
    printf '      %s\n' "${2//$'\n'/$'\n      '}" >>plan.md
    shift 2
    [[ $* == *agent:* ]] || printf '    agent: dev\n' >>plan.md
    [[ $* == *read_only:* ]] || printf '    read_only: false\n' >>plan.md
    (($# == 0)) || printf '    %s\n' "$@" >>plan.md
}

# Runs the manifest. Descriptor 3 is that of bats, which waits for all who have it.
orchestra() { # [OPTION...]
    [[ $(tail -n 1 plan.md) == --- ]] || echo --- >>plan.md
    run_apart parallel-orchestra run plan.md "$@" 3>&-
    assert_no_sanitizer
}

assert_error() { # TEXT
    [[ $stderr == *"$1"* ]] || fail "not in the errors: $1"
}

# The one summary line of a task.
line_of() { # ID
    grep -E "^\[[a-z]+\] $1 \(" <<<"$output"
}

assert_task() { # ID PATTERN
    # shellcheck disable=SC2053 # a pattern it is
    [[ $(line_of "$1") == $2 ]] || fail "the line of $1 is not: $2"
}

lines_in() { # FILE
    wc -l <"$1" | tr -d ' '
}

state_file() {
    echo .po-run-state-plan.json
}

write_state() { # ID...: as an earlier run of this manifest would have
    [[ $(tail -n 1 plan.md) == --- ]] || echo --- >>plan.md
    local hash
    hash=$(sha256sum plan.md | cut -d' ' -f1)
    local ids
    ids=$(printf '"%s",' "$@")
    printf '{"manifest_path":"plan.md","manifest_hash":"%s","completed_tasks":[%s],"created_at":"%s","updated_at":"%s"}\n' \
        "$hash" "${ids%,}" 2026-01-01T00:00:00Z 2026-01-01T00:00:00Z >"$(state_file)"
}

# test_cli: the command line

@test "test_cli: --version prints the version and exits 0" {
    make_programs
    run_apart parallel-orchestra --version
    assert_status 0
    assert_output 0.1.4
    run_apart parallel-orchestra --vers
    assert_status 0
}

@test "test_cli: --help exits 0, of the program and of run" {
    make_programs
    for call in --help -h 'run --help' 'run -h' 'run --he'; do
        # shellcheck disable=SC2086 # several words
        run_apart parallel-orchestra $call
        assert_status 0
        assert_contains 'usage: parallel-orchestra'
        assert_contains '--max-workers'
        [[ -z $stderr ]] || fail "errors"
    done
}

@test "test_cli: no arguments, a wrong command and wrong options are usage errors, exit 2" {
    make_programs
    while read -r call; do
        # shellcheck disable=SC2086
        run_apart parallel-orchestra $call
        assert_status 2
        [[ -z $output ]] || fail "expected nothing on the standard output: $call"
        assert_error 'usage: parallel-orchestra'
        assert_error 'parallel-orchestra: error: '
    done <<'END'

walk
--frobnicate
run
run a b
run a --frobnicate
run a --max-workers
run a --max-workers many
run a --max-workers=2x
run a --d
run a --re
run a --dashboard --no-dashboard
run a -x
END
}

@test "PO-23: workers below one are a usage error, exit 2" {
    make_programs
    for n in 0 -1; do
        run_apart parallel-orchestra run plan.md --max-workers "$n"
        assert_status 2
        assert_error '--max-workers'
    done
}

@test "test_cli: unique prefixes of options work, before and behind the manifest" {
    make_place
    manifest
    task a 'echo a >a'
    echo --- >>plan.md
    run_apart parallel-orchestra run --max 2 --c claude --q plan.md --lo "$BATS_TEST_TMPDIR/logs" --repo r.json 3>&-
    assert_status 0
    assert_output ''
    [[ -e r.json && -e $BATS_TEST_TMPDIR/logs/a-stdout.log ]] || fail "options were not taken"
    run_apart env POSIXLY_CORRECT=1 parallel-orchestra run plan.md --dry-run -- 3>&-
    assert_status 0
    run_apart env POSIXLY_CORRECT=1 parallel-orchestra run --dry-run -- plan.md
    assert_status 0
    run_apart parallel-orchestra run plan.md --help --no-such-option
    assert_status 0
}

@test "test_cli: all tasks succeed, exit 0" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo b >b'
    orchestra
    assert_status 0
    assert_task a '\[ok] a (dev) duration=*.?? returncode=0'
    assert_task b '\[ok] b (dev) duration=*.?? returncode=0'
    assert_in main a a
    assert_in main b b
    [[ ! -e $(state_file) ]] || fail "the state is left"
    assert_unchanged_checkout
    assert_clean
}

@test "test_cli: some task fails, exit 1, and the others land" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo broken >&2; exit 7' 'max_retries: 0'
    orchestra
    assert_status 1
    assert_task a '\[ok] a *'
    assert_task b '\[fail] b (dev) duration=*.?? returncode=7 category=transient reason=*broken'
    assert_in main a a
}

@test "test_cli: a manifest error is exit 2, with its prefix" {
    make_place
    printf '%s\n' --- 'po_plan_version: "0.2"' 'cwd: .' 'tasks: []' --- >plan.md
    orchestra
    assert_status 2
    [[ $stderr == 'ManifestError: '* ]] || fail "no prefix"
    assert_output ''
}

@test "test_cli: a runner error is exit 3, with its prefix" {
    make_place
    manifest
    task a true
    orchestra --claude-exe "$BATS_TEST_TMPDIR/none"
    assert_status 3
    assert_output ''
    [[ $stderr == *"RunnerError: claude executable not found: '$BATS_TEST_TMPDIR/none'"* ]] || fail
    [[ ! -e $(state_file) && ! -e .claude ]] || fail "something was made before it was found out"
}

@test "test_cli: --quiet hides what succeeded and shows what failed" {
    make_place
    manifest
    task good 'echo a >a'
    task bad 'exit 1' 'max_retries: 0'
    orchestra --quiet
    assert_status 1
    refute_contains 'good'
    assert_task bad '\[fail] bad *'
}

@test "test_cli: a timeout is labelled, without a return code, with its last output" {
    make_place
    manifest
    task a 'seq 30; sleep 60' 'timeout: 4s' 'max_retries: 3'
    orchestra
    assert_status 1
    assert_task a '\[timeout] a (dev) duration=*.?? returncode=None (total timeout) category=timeout*'
    [[ $stderr == *$'\n  Last 20 lines before timeout:\n  > 11\n  > 12\n'*$'\n  > 30'* && $stderr != *$'> 10\n'* ]] ||
        fail "not the last twenty lines"
    [[ $(line_of a) != *retries=* ]] || fail "a timeout was retried"
}

@test "test_cli: the agent's name is in the summary, and may be empty" {
    make_place
    manifest
    task a true 'agent: custom-agent'
    task b true 'agent: ""'
    orchestra
    assert_status 0
    assert_task a '\[ok] a (custom-agent) *'
    assert_task b '\[ok] b () *'
}

@test "test_cli: --log-dir names the folder of the logs" {
    make_place
    manifest
    task a 'echo out; echo err >&2'
    orchestra --log-dir "$BATS_TEST_TMPDIR/my/logs"
    assert_status 0
    [[ $(<"$BATS_TEST_TMPDIR/my/logs/a-stdout.log") == out ]] || fail "no output"
    [[ $(<"$BATS_TEST_TMPDIR/my/logs/a-stderr.log") == err ]] || fail "no errors"
    [[ ! -e .claude ]] || fail "made the default folder as well"
}

@test "PO-43: a log grows while its task runs" {
    make_place
    manifest
    task a "echo out; echo err >&2; until [ -e '$BATS_TEST_TMPDIR/go' ]; do sleep 0.02; done; echo more" 'timeout: 30s'
    echo --- >>plan.md
    parallel-orchestra run plan.md --log-dir logs >/dev/null 2>&1 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for grep -qx out logs/a-stdout.log
    wait_for grep -qx err logs/a-stderr.log
    touch "$BATS_TEST_TMPDIR/go"
    wait "$(<"$BATS_TEST_TMPDIR/engine.pid")"
    [[ $(<logs/a-stdout.log) == $'out\nmore' ]] || fail "$(<logs/a-stdout.log)"
}

@test "test_cli: --no-log writes no logs" {
    make_place
    manifest
    task a 'echo out'
    orchestra --no-log
    assert_status 0
    [[ ! -e .claude ]] || fail "logs were written"
}

@test "PO-54: the default folder for logs is not shown by git status" {
    make_place
    manifest
    task a 'echo a >a'
    orchestra
    assert_status 0
    [[ -e .claude/logs/a-stdout.log ]] || fail "no logs"
    assert_unchanged_checkout
}

@test "test_cli: --dry-run prints the plan, makes nothing and needs no git" {
    mkdir plain
    cd plain || return
    make_programs
    manifest 'concurrency_limits: {api: 2}'
    task build 'touch made' 'concurrency_group: api' 'max_retries: 0'
    task review 'touch made' 'read_only: true' 'agent: code-reviewer' 'depends_on: [build, lint]'
    task lint 'touch made' 'depends_on: [build]' 'max_retries: 4'
    echo --- >>plan.md
    run_apart env -i "$bin/parallel-orchestra" run plan.md --dry-run --max-workers 5
    assert_status 0
    assert_output 'Dry run -- no tasks will be executed.

Execution plan (max_workers=5):
  [stage 1]  build  agent=dev  timeout=900s  group=api(limit=2)
  [stage 3]  review  agent=code-reviewer  timeout=900s  retries=1  read_only  depends=['"'build', 'lint'"']
  [stage 2]  lint  agent=dev  timeout=900s  retries=4  depends=['"'build'"']

3 tasks, 3 stages'
    [[ $(ls -A) == plan.md ]] || fail "made: $(ls -A)"
}

# test_manifest, through --dry-run

@test "test_manifest: two tasks that write one path are refused, by whatever name it goes" {
    make_place
    mkdir src
    ln -s src lib
    ln -s ../gone dangling
    ln -s loop2 loop1
    ln -s loop1 loop2
    while read -r one two; do
        manifest
        task a true "writes: [$one]"
        task b true "writes: [$two]"
        orchestra --dry-run
        assert_status 2
        assert_error "overlaps '$one' of task 'a'"
    done <<END
src/x lib/x
lib/../src/x $PWD/src/x
dangling $PWD/../gone
../a /tmp/../${PWD%/*}/a
END
    manifest
    task a true 'writes: [loop1/x]'
    orchestra --dry-run
    assert_status 2
    assert_error "ManifestError: plan.md:11:14: tasks[0].writes[0]: 'loop1/x' contains a symlink loop"
}

@test "test_manifest: paths that writes names need no warning" {
    make_place
    manifest
    task a 'echo a >new' "writes: [new, /etc/hosts, ../x, '[a', '{b,c}', .git/x]"
    task b true 'read_only: true' 'writes: [other]'
    orchestra
    assert_status 0
    [[ $stderr != *warning* ]] || fail
}

@test "test_manifest: numbers may be what int() takes, without a word" {
    make_place
    manifest 'defaults: {max_retries: "0"}' 'concurrency_limits: {db: "1"}'
    task a 'true' 'read_only: true' 'max_retries: "3"' 'concurrency_group: db'
    task b 'true' 'read_only: true' 'max_retries: true'
    task c 'true' 'read_only: true' 'max_retries: 1.9'
    task e 'true' 'read_only: true' 'max_retries: -0.5'
    task d 'true' 'read_only: true'
    orchestra --dry-run --max-workers 1
    assert_status 0
    assert_contains 'retries=3'
    assert_contains 'retries=1'
    assert_line '  [stage 1]  d  agent=dev  timeout=900s  read_only' # 0 of them
    assert_line '  [stage 1]  e  agent=dev  timeout=900s  read_only'
    [[ $stderr != *warning* ]] || fail
}

@test "test_manifest: front matter in a file of any name, and prose of any kind behind it" {
    make_place
    local name
    for name in plan.txt plan.yaml plan.json plan.toml plan; do
        manifest
        task a true
        printf '%s\n' --- '# Words' '```json dispatch' '{"batches": []}' '```' '---' '*x' >>plan.md
        mv plan.md "$name"
        run_apart parallel-orchestra run "$name" --dry-run
        assert_status 0
        assert_line '1 task, 1 stage'
    done
}

@test "test_manifest: every good manifest passes --dry-run, every bad one is exit 2" {
    local plans=$BATS_TEST_DIRNAME/../../plans file n=0 wanted
    make_repo
    make_programs
    cp -R "$plans/good" "$plans/bad" .
    while IFS= read -r path; do
        [[ $path != */* ]] || mkdir -p "${path%/*}"
        : >"$path"
    done <"$plans/tree"
    git add -A
    for file in good/foreign-orchestra-* bad/foreign-orchestra-*; do
        [[ -f $file && $file != *.expect ]] || continue
        n=$((n + 1))
        wanted=0
        [[ $file == good/* ]] || wanted=2
        run_apart parallel-orchestra run "$file" --dry-run
        [[ $status -eq $wanted ]] || fail "$file: expected $wanted"
        if [[ $wanted -eq 2 ]]; then
            [[ $stderr == *'ManifestError: '* && -z $output ]] || fail "$file: no ManifestError"
        else
            [[ $stderr != *ManifestError* ]] || fail "$file: a ManifestError"
        fi
    done
    ((n > 80)) || fail "only $n manifests"
}

@test "test_manifest: a missing file is exit 2 (PO-23), and so is a plan of another kind" {
    make_programs
    run_apart parallel-orchestra run none.md
    assert_status 2
    [[ $stderr == 'ManifestError: '*none.md* ]] || fail
    printf '%s\n' 'tasks:' '  - {id: a, prompt: x}' >native.yaml
    run_apart parallel-orchestra run native.yaml --dry-run
    assert_status 2
    assert_error "ManifestError: 'po_plan_version' is missing"
}

@test "test_manifest: a task without a prompt asks for its agent's own command" {
    make_place
    manifest
    printf '%s\n' '  - id: a' '    agent: tester' '    read_only: true' >>plan.md
    cat >"$bin/claude" <<'END'
#!/bin/sh
cat >"$SEEN"
END
    export SEEN=$BATS_TEST_TMPDIR/seen
    orchestra
    assert_status 0
    [[ $(<"$SEEN") == /agent-tester ]] || fail "the prompt was: $(<"$SEEN")"
}

# test_runner_t7: the graph. The agents stamp when they begin and end.

# Each agent notes its begin and end, in order, in one file.
stamped() { # ID
    echo "echo +$1 >>'$BATS_TEST_TMPDIR/stamps'"
}

@test "test_runner_t7: independent tasks run at the same time" {
    make_place
    manifest
    local ids id
    ids='a b c'
    for id in $ids; do # each waits for the others to have begun
        task "$id" "touch '$BATS_TEST_TMPDIR/$id'; for i in a b c; do
until [ -e '$BATS_TEST_TMPDIR/'\$i ]; do sleep 0.02; done; done" 'timeout: 20s'
    done
    orchestra
    assert_status 0
}

@test "test_runner_t7: a dependant starts after its dependency has ended, and sees its work (PO-5)" {
    make_place
    manifest
    task b "$(stamped b); cat a >b" 'depends_on: [a]'
    task a "$(stamped a); echo from-a >a"
    orchestra
    assert_status 0
    [[ $(<"$BATS_TEST_TMPDIR/stamps") == $'+a\n+b' ]] || fail "$(<"$BATS_TEST_TMPDIR/stamps")"
    assert_in main b from-a
}

@test "test_runner_t7: a join waits for both" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo b >b'
    task c 'cat a b >c' 'depends_on: [a, b]'
    orchestra
    assert_status 0
    assert_in main c $'a\nb'
}

@test "test_runner_t7: results are in the order of the manifest (PO-12: landing is not)" {
    make_place
    manifest
    task z true 'depends_on: [y]'
    task y true 'depends_on: [x]'
    task x true
    orchestra
    assert_status 0
    [[ $(cut -d' ' -f2 <<<"$output" | tr '\n' ' ') == 'z y x ' ]] || fail "another order"
}

@test "test_runner_t7: dependants of a failed task are skipped, transitively, the rest runs (PO-28)" {
    make_place
    manifest
    task a 'exit 3' 'max_retries: 0'
    task b 'echo b >b' 'depends_on: [a]'
    task c 'echo c >c' 'depends_on: [b]'
    task d 'echo d >d'
    orchestra
    assert_status 1
    assert_task a '\[fail] a *returncode=3 *'
    assert_task b '\[skip] b (dev) duration=0.00 returncode=None reason=needs *'
    assert_task c '\[skip] c (dev) duration=0.00 returncode=None reason=needs *'
    assert_task d '\[ok] d *'
    assert_in main d d
    refute_in main b
}

@test "test_runner_t7: a manifest that only reads works outside git" {
    mkdir plain
    cd plain || return
    make_programs
    manifest
    task a 'pwd' 'read_only: true'
    orchestra --log-dir logs
    assert_status 0
    assert_task a '\[ok] a *'
    [[ $(<logs/a-stdout.log) == "$(pwd -P)" ]] || fail "worked in $(<logs/a-stdout.log)"
}

@test "a manifest that only reads needs nothing of git: neither a branch nor a name" {
    make_place
    manifest
    task r 'cat file' 'read_only: true'
    task s 'true' 'read_only: true' 'depends_on: [r]'
    git checkout -q --detach
    git config --unset user.name
    git config --unset user.email
    orchestra
    assert_status 0
    assert_task r '\[ok] r *'
    [[ $(<.claude/logs/r-stdout.log) == one* ]] || fail "$(<.claude/logs/r-stdout.log)"
    [[ -z $(git status --porcelain) ]] || fail "$(git status --porcelain)"
    run "$ANABRANCH" history --json
    [[ $(wc -l <<<"$output") -eq 1 ]] || fail 'no history'
    rm .git/HEAD # no repository any more, to git
    orchestra --log-dir logs
    assert_status 0
}

@test "a read-only task works in cwd itself, and sees what git does not look at" {
    make_place
    echo ignored >>.gitignore
    mkdir sub
    echo one >sub/untracked
    echo two >sub/ignored
    manifest
    task r 'pwd; cat untracked ignored; git rev-parse --show-toplevel' 'read_only: true'
    sed -i 's/^cwd: .*/cwd: sub/' plan.md
    orchestra
    assert_status 0
    [[ $(<.claude/logs/r-stdout.log) == "$PWD/sub"$'\none\ntwo\n'"$PWD" ]] || fail "$(<.claude/logs/r-stdout.log)"
    [[ -z $(git branch --list 'parallel-orchestra/*') && $(git worktree list | wc -l) -eq 1 ]] || fail 'a worktree was made'
}

@test "a read-only task works in cwd wherever that is; those that write, in the current folder's repository" {
    make_place
    mkdir "$BATS_TEST_TMPDIR/elsewhere"
    manifest
    task r 'pwd' 'read_only: true'
    task w 'echo w >w' "writes: [$PWD/w]"
    sed -i "s|^cwd: .*|cwd: $BATS_TEST_TMPDIR/elsewhere|" plan.md
    mkdir sub
    cd sub || return
    mv ../plan.md .
    orchestra
    assert_status 0
    [[ $stderr != *'does not own'* ]] || fail
    cd ..
    [[ $(<.claude/logs/r-stdout.log) == "$BATS_TEST_TMPDIR/elsewhere" ]] || fail "$(<.claude/logs/r-stdout.log)"
    assert_in main w w
}

@test "PO-5: a read-only task behind one that writes sees its work, also where the checkout did not follow" {
    make_place
    manifest
    task a 'echo a >>file'
    task r 'pwd; tail -n 1 file' 'read_only: true' 'depends_on: [a]'
    orchestra
    assert_status 0
    [[ $(<.claude/logs/r-stdout.log) == "$PWD"$'\na' ]] || fail "$(<.claude/logs/r-stdout.log)"
    echo mine >>file
    orchestra
    assert_status 3
    [[ $(<.claude/logs/r-stdout.log) == "$PWD"/.anabranch/worktrees/*/r$'\na' ]] || fail "$(<.claude/logs/r-stdout.log)"
}

@test "a read-only task that is killed or fails leaves nothing, and is run again" {
    make_place
    git checkout -q --detach # it needs no branch
    manifest
    task r "touch '$BATS_TEST_TMPDIR/r'; [ -e '$BATS_TEST_TMPDIR/go' ] || sleep 60; cat file" 'read_only: true'
    task f 'exit 1' 'read_only: true' 'max_retries: 1'
    kill_when test -e "$BATS_TEST_TMPDIR/r"
    touch "$BATS_TEST_TMPDIR/go"
    orchestra --resume
    assert_status 1
    assert_task r '\[ok] r *'
    assert_task f '\[fail] f * category=transient*'
    assert_clean
    assert_unchanged_checkout
}

@test "test_runner_t7: a manifest that writes needs git: exit 3" {
    mkdir plain
    cd plain || return
    make_programs
    manifest
    task a true
    orchestra
    assert_status 3
    assert_error 'RunnerError: '
}

@test "test_runner_t7: an error of the machinery in one task does not keep the others from landing (PO-1)" {
    make_place
    echo 'echo a >a' >prompt.md
    manifest
    task first "rm '$PWD/prompt.md'"
    printf '%s\n' '  - {id: a, agent: dev, read_only: false, prompt_file: prompt.md, depends_on: [first]}' >>plan.md
    task b 'echo b >b' 'depends_on: [first]'
    orchestra
    assert_status 3
    assert_error "RunnerError: task 'a': "
    assert_task a '\[fail] a (dev) duration=* returncode=None category=permanent *prompt.md*'
    assert_task b '\[ok] b *'
    assert_in main b b
}

# test_retry_backoff

# An agent that fails with the given words until its n-th attempt, and how often it was called.
failing() { # TIMES EXIT WORDS
    echo "echo x >>'$BATS_TEST_TMPDIR/calls'; n=\$(wc -l <'$BATS_TEST_TMPDIR/calls')
[ \$n -gt $1 ] || { echo '$3' >&2; exit $2; }"
}

calls() {
    lines_in "$BATS_TEST_TMPDIR/calls"
}

@test "test_retry_backoff: a transient failure is retried after about a second" {
    make_place
    manifest
    task a "$(failing 1 1 oops); echo a >a" 'max_retries: 2'
    local began=$EPOCHREALTIME
    orchestra
    local ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
    assert_status 0
    assert_task a '\[ok] a * returncode=0 retries=1'
    [[ $(calls) -eq 2 ]] || fail "$(calls) attempts"
    ((ms >= 750)) || fail "the retry came after $ms ms"
    assert_in main a a
}

@test "test_retry_backoff: max_retries is how often, and one is the default" {
    make_place
    manifest
    task a "$(failing 9 1 oops)"
    orchestra
    assert_status 1
    assert_task a '\[fail] a * returncode=1 retries=1 category=transient reason=*oops'
    [[ $(calls) -eq 2 ]] || fail "$(calls) attempts"
}

@test "test_retry_backoff: defaults.max_retries counts for all tasks but those that say otherwise" {
    make_place
    manifest 'defaults: {max_retries: 0}'
    task a "$(failing 9 1 oops)"
    orchestra
    assert_status 1
    [[ $(calls) -eq 1 ]] || fail "$(calls) attempts"
}

@test "test_retry_backoff: a failure that is permanent by exit code or words is not retried" {
    make_place
    local code words
    while read -r code words; do
        rm -f "$BATS_TEST_TMPDIR/calls"
        manifest
        task a "$(failing 9 "$code" "$words")" 'max_retries: 3'
        orchestra
        assert_status 1
        assert_task a "\[fail] a * returncode=$code category=permanent*"
        [[ $(calls) -eq 1 ]] || fail "$code $words: $(calls) attempts"
    done <<'END'
2 usage
126 x
127 x
1 Permission denied
1 permission_denied
1 AUTHENTICATION-FAILED
1 authentication error
1 invalid api key
1 InvalidAPIKey
1 credit balance too low
1 credit_balance_exceeded
END
}

@test "test_retry_backoff: exit codes go before words, standard error before standard output" {
    make_place
    local code err out
    while IFS='|' read -r code category err out; do
        rm -f "$BATS_TEST_TMPDIR/calls"
        printf '%s\n' "$out" >"$BATS_TEST_TMPDIR/out"
        manifest
        task a "cat '$BATS_TEST_TMPDIR/out'; $(failing 9 "$code" "$err")" 'max_retries: 1'
        orchestra
        assert_status 1
        assert_task a "\[fail] a * returncode=$code category=$category*"
        [[ $(calls) -eq 1 ]] || fail "$code $err: $(calls) attempts"
    done <<'END'
2|permanent|x|{"type":"result","is_error":true,"api_error_status":529,"result":"Overloaded"}
126|permanent|rate limit|{"type":"result","is_error":true,"result":"it went wrong"}
1|permanent|cannot start: Permission denied|{"type":"result","is_error":true,"api_error_status":529,"result":"Overloaded"}
1|permanent|x|Invalid API key · Please run /login
1|permanent|x|{"type":"result","is_error":true,"result":"Invalid API key"}
1|permanent|x|{"status":"FAILED","reason":"invalid api key"}
END
    rm -f "$BATS_TEST_TMPDIR/calls"
    manifest
    task a "$(failing 9 1 'mypermission denied; permission deniedly')" 'max_retries: 1'
    orchestra
    assert_task a '\[fail] a * retries=1 category=transient*'
}

@test "test_retry_backoff: a rate limit is a category of its own, and keeps to max_retries" {
    make_place
    local words
    for words in 'Rate limit reached' rate_limit 'quota exceeded' 'quota-exhausted'; do
        rm -f "$BATS_TEST_TMPDIR/calls"
        manifest
        task a "$(failing 9 1 "$words")" 'max_retries: 0'
        orchestra
        assert_status 1
        assert_task a '\[fail] a * returncode=1 category=rate_limited*'
        [[ $(calls) -eq 1 ]] || fail "$words: $(calls) attempts"
    done
}

@test "test_retry_backoff: permanent words go before those of a rate limit" {
    make_place
    manifest
    task a "$(failing 9 1 'rate limit: permission denied')"
    orchestra
    assert_task a '\[fail] a * category=permanent*'
}

@test "PO-35: after a rate limit the next attempt waits longer than a second" {
    make_place
    manifest
    task a "$(failing 9 1 'rate limit')" 'max_retries: 1'
    echo --- >>plan.md
    parallel-orchestra run plan.md >out 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for grep -q 'retry in [0-9][0-9]' "$BATS_TEST_TMPDIR/stderr"
    kill -TERM "$(<"$BATS_TEST_TMPDIR/engine.pid")"
    status=0
    wait "$(<"$BATS_TEST_TMPDIR/engine.pid")" || status=$?
    assert_status 143
    [[ $(calls) -eq 1 ]] || fail "$(calls) attempts"
}

@test "test_retry_backoff: death by a signal is transient, its code is negative" {
    make_place
    manifest
    task a 'kill -KILL $$' 'max_retries: 0'
    orchestra
    assert_status 1
    assert_task a '\[fail] a * returncode=-9 category=transient*'
}

@test "test_retry_backoff: logs of later attempts follow a line that says so" {
    make_place
    manifest
    task a "echo called; $(failing 1 1 oops)"
    orchestra
    assert_status 0
    [[ $(<.claude/logs/a-stdout.log) == $'called\n\n===== retry attempt 1 =====\ncalled' ]] ||
        fail "$(<.claude/logs/a-stdout.log)"
}

# test_report

@test "test_report: JSON has the fields of that tool, and the commit (PO-50)" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'exit 1' 'max_retries: 0'
    task c true 'depends_on: [b]'
    orchestra --report sub/nested/report.json
    assert_status 1
    run jq -S -c '[keys, (.tasks[0] | keys), .manifest, .total, .succeeded, .failed, .skipped]' sub/nested/report.json
    assert_output '[["duration_sec","failed","finished_at","manifest","skipped","started_at","succeeded","tasks","total"],["agent","commit","duration_sec","failure_category","id","retry_count","status"],"demo",3,1,1,1]'
    run jq -c '.tasks[] | [.id, .agent, .status, .retry_count, .failure_category, .commit]' sub/nested/report.json
    assert_output '["a","dev","succeeded",0,"none","'"$(git rev-parse main)"'"]
["b","dev","failed",0,"transient",null]
["c","dev","skipped",0,"none",null]'
    run jq -e '(.duration_sec * 10 | . == round) and (.started_at < .finished_at)' sub/nested/report.json
    assert_status 0
}

@test "test_report: Markdown has header, counts, table and icons" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'exit 1' 'max_retries: 0'
    task c true 'depends_on: [b]'
    task d true
    write_state d
    orchestra --resume --report report.markdown
    assert_status 1
    output=$(<report.markdown)
    assert_line '# Run Summary: demo'
    assert_line '## Results: 1 succeeded / 1 failed / 1 skipped / 1 resumed'
    assert_line '| Task | Agent | Status | Duration | Retries | Failure | Commit |'
    grep -q "^| a | dev | ✓ succeeded | [0-9.]*s | 0 | — | $(git rev-parse --short=10 main) |\$" report.markdown || fail "a"
    grep -q '^| b | dev | ✗ failed | [0-9.]*s | 0 | transient | — |$' report.markdown || fail "b"
    assert_line '| c | dev | ⊘ skipped | — | — | — | — |'
    assert_line '| d | dev | ↩ resumed | — | — | — | — |'
    grep -q '^\*\*Started:\*\* 20' report.markdown && grep -q '^\*\*Finished:\*\* 20' report.markdown &&
        grep -q '^\*\*Duration:\*\* [0-9.]*s$' report.markdown || fail "times"
}

@test "test_report: a wrong ending or a symlink is exit 3, before anything is run (PO-25)" {
    make_place
    manifest
    task a "touch '$BATS_TEST_TMPDIR/ran'; echo a >a"
    ln -s nowhere link.json
    mkdir folder.json
    for name in report.txt report link.json folder.json .json plan.md/x.json; do
        orchestra --report $name
        assert_status 3
        assert_error 'RunnerError: '
    done
    [[ ! -e $BATS_TEST_TMPDIR/ran && ! -e nowhere && -L link.json ]] || fail "something was done"
}

@test "test_report: the report replaces an older one, and is there when a conflict was left (PO-8)" {
    make_place
    manifest
    task a 'echo a >file'
    task b 'echo b >file'
    echo old >report.json
    orchestra --report report.json
    assert_status 3
    run jq -c '[.succeeded, .failed, ([.tasks[].failure_category] | sort)]' report.json
    assert_output '[1,1,["conflict","none"]]'
}

# test_resume_deps, test_run_state

@test "test_run_state: the file's name, fields and place; it goes away when all is well" {
    make_place
    mkdir sub
    manifest
    task ok1 'echo a >a'
    task bad "[ -e '$BATS_TEST_TMPDIR/now' ]" 'max_retries: 0'
    echo --- >>plan.md
    sed -i 's/^cwd: .*/cwd: ../' plan.md
    mv plan.md sub/my.plan.md
    echo '.po-*' >sub/.gitignore
    run_apart parallel-orchestra run sub/my.plan.md 3>&-
    assert_status 1
    run jq -S -c '[keys, .manifest_path, .manifest_hash, .completed_tasks]' sub/.po-run-state-my.plan.json
    assert_output "[[\"completed_tasks\",\"created_at\",\"manifest_hash\",\"manifest_path\",\"tasks_hash\",\"updated_at\"],\"sub/my.plan.md\",\"$(sha256sum sub/my.plan.md | cut -d' ' -f1)\",[\"ok1\"]]"
    touch "$BATS_TEST_TMPDIR/now"
    run_apart parallel-orchestra run sub/my.plan.md --resume 3>&-
    assert_status 0
    assert_task ok1 '\[skip] ok1 (dev) resumed'
    assert_task bad '\[ok] bad *'
    [[ ! -e sub/.po-run-state-my.plan.json ]] || fail "the state is left"
}

@test "test_run_state: a manifest behind a symlink is where the file is, for cwd and the state too" {
    make_place
    mkdir plans
    manifest
    task r 'pwd; exit 1' 'read_only: true' 'max_retries: 0'
    echo --- >>plan.md
    mv plan.md plans/real.md
    ln -s plans/real.md link.md
    run_apart parallel-orchestra run link.md --log-dir logs 3>&-
    assert_status 1
    [[ $(<logs/r-stdout.log) == "$PWD/plans" ]] || fail "$(<logs/r-stdout.log)"
    [[ -e plans/.po-run-state-real.json ]] || fail "$(ls -A . plans)"
    ln -s none dangling.md
    run_apart parallel-orchestra run dangling.md 3>&-
    assert_status 2
    assert_error "ManifestError: "
}

@test "test_run_state: without a file --resume warns and runs all" {
    make_place
    manifest
    task a 'echo a >a'
    orchestra --resume
    assert_status 0
    assert_error 'warning: '
    assert_task a '\[ok] a *'
}

@test "test_run_state: a state that is malformed, of another manifest or too large is not believed" {
    make_place
    manifest
    task a 'echo "$RANDOM$RANDOM" >a'
    write_state a
    local good
    good=$(<"$(state_file)")
    for bad in '{' '[]' '"x"' '{}' '{"completed_tasks":["a"]}' "${good/manifest_hash\":\"/manifest_hash\":\"0}" \
        "${good/\[\"a\"\]/\"a\"}" ''; do
        printf '%s' "$bad" >"$(state_file)"
        orchestra --resume
        assert_status 0
        assert_error 'warning: '
        assert_task a '\[ok] a *'
    done
    { printf '%s' "$good" && head -c 1100000 /dev/zero | tr '\0' ' '; } >"$(state_file)"
    orchestra --resume
    assert_error 'warning: '
    assert_task a '\[ok] a *'
    printf '%s' "$good" >"$(state_file)"
    orchestra --resume
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
}

@test "PO-53: an edit that changes no task makes no finished task run again" {
    make_place
    manifest '# a comment'
    task a 'echo "$RANDOM$RANDOM" >a'
    task b "[ -e '$BATS_TEST_TMPDIR/now' ]" 'max_retries: 0'
    orchestra
    assert_status 1
    sed -i 's/^# a comment$/# another comment/; s/^name: .*/name: "other"/' plan.md
    echo 'Prose.' >>plan.md
    touch "$BATS_TEST_TMPDIR/now"
    local state
    state=$(<"$(state_file)")
    orchestra --resume
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
    assert_task b '\[ok] b *'
    # A change of a task counts.
    echo "$state" >"$(state_file)"
    sed -i 's/echo "$RANDOM/echo  "$RANDOM/' plan.md
    orchestra --resume
    assert_status 0
    assert_error 'warning: '
    assert_task a '\[ok] a *'
}

@test "test_run_state: odd members of the list are passed over" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo b >b'
    write_state a
    sed -i 's/\["a"\]/["a",7,null,["b"],"none"]/' "$(state_file)"
    orchestra --resume
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
    assert_task b '\[ok] b *'
}

@test "test_run_state: a run without --resume starts from scratch" {
    make_place
    manifest
    task a 'echo a >a'
    write_state a
    orchestra
    assert_status 0
    assert_task a '\[ok] a *'
}

@test "test_resume_deps: chains with some tasks done continue where they stopped" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo b >b' 'depends_on: [a]'
    task c 'echo c >c' 'depends_on: [b]'
    task d 'echo d >d' 'depends_on: [c, a]'
    write_state a b
    orchestra --resume
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
    assert_task b '\[skip] b (dev) resumed'
    assert_task c '\[ok] c *'
    assert_task d '\[ok] d *'
    refute_in main a
    assert_in main d d
}

@test "test_resume_deps: all done is all well; --quiet hides none of the resumed" {
    make_place
    manifest
    task a 'exit 1'
    task b 'exit 1' 'depends_on: [a]'
    write_state a b
    orchestra --resume
    assert_status 0
    assert_output '[skip] a (dev) resumed
[skip] b (dev) resumed'
    [[ ! -e $(state_file) ]] || fail "the state is left"
    write_state a b
    orchestra --resume --quiet
    assert_output '[skip] a (dev) resumed
[skip] b (dev) resumed'
}

@test "test_resume_deps: one that is listed without its dependency is done again, behind it" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'cat a >b' 'depends_on: [a]'
    write_state b
    orchestra --resume
    assert_status 0
    assert_task a '\[ok] a *'
    assert_task b '\[ok] b *'
    assert_in main b a
}

@test "PO-2: a task in conflict is not done: --resume runs it again" {
    make_place
    manifest
    task a 'echo a >file'
    task b "[ -e '$BATS_TEST_TMPDIR/second' ] || until git cat-file -e main:a 2>/dev/null ||
[ \"\$(git show main:file)\" = a ]; do sleep 0.02; done; echo b >file"
    orchestra
    assert_status 3
    run jq -c .completed_tasks "$(state_file)"
    assert_output '["a"]'
    touch "$BATS_TEST_TMPDIR/second"
    orchestra --resume
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
    assert_task b '\[ok] b *'
    assert_in main file b
}

@test "PO-4: a merge that fails or is ended is no success, and its work is kept" {
    make_place
    echo 'file merge=broken' >.gitattributes
    git add .gitattributes
    git commit -q -m attributes
    git branch start
    local driver branch
    for driver in 'exit 130' 'kill -KILL $$'; do
        git reset -q --hard start
        git config merge.broken.driver "$driver"
        manifest
        task a 'sed -i 1s/.*/a/ file' 'max_retries: 0'
        task b "until [ \"\$(git show main:file | head -n 1)\" = a ]; do sleep 0.02; done; sed -i 9s/.*/b/ file" 'max_retries: 0'
        orchestra
        assert_status 3
        assert_task b '\[fail] b * category=conflict *'
        [[ $stderr =~ task\ \'b\'\ \(branch\ (parallel-orchestra/b-[0-9a-f]{8})\) ]] || fail 'no branch'
        branch=${BASH_REMATCH[1]}
        [[ $(git show "$branch:file" | tail -n 1) == b ]] || fail 'the work is lost'
        run jq -c .completed_tasks "$(state_file)"
        assert_output '["a"]'
    done
}

@test "PO-19: the state is whole at any moment, and has every task in the end" {
    make_place
    manifest
    local i
    for i in {1..24}; do task "t$i" "echo $i >f$i"; done
    task bad 'exit 1' 'max_retries: 0'
    echo --- >>plan.md
    parallel-orchestra run plan.md --max-workers 8 >/dev/null 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$(state_file)"
    local before=0 now reads=0
    while kill -0 "$(<"$BATS_TEST_TMPDIR/engine.pid")" 2>/dev/null; do
        now=$(jq '.completed_tasks | length' "$(state_file)")
        ((now >= before)) || fail "$before tasks became $now"
        before=$now
        reads=$((reads + 1))
    done
    wait "$(<"$BATS_TEST_TMPDIR/engine.pid")" || status=$?
    ((reads > 1)) || fail "read only $reads times"
    [[ $(jq '.completed_tasks | length' "$(state_file)") -eq 24 ]] || fail "$(<"$(state_file)")"
    [[ $(<"$BATS_TEST_TMPDIR/stderr") != *'cannot save'* ]] || fail "$(<"$BATS_TEST_TMPDIR/stderr")"
    [[ $(compgen -G '.po-run-state*') == "$(state_file)" ]] || fail "$(compgen -G '.po-run-state*')"
}

@test "PO-2: a task that landed off the branch, because the checkout could not follow, is not done" {
    make_place
    manifest
    task a 'echo a >file'
    echo mine >file
    orchestra
    assert_status 3
    assert_error 'RunnerError: the checkout of main could not follow'
    run jq -c .completed_tasks "$(state_file)"
    assert_output '[]'
    [[ $(<file) == mine ]] || fail "the user's file was touched"
}

@test "PO-2: after kill -9 what landed is resumed, the rest is run" {
    make_place
    manifest
    task a 'echo a >a'
    task b "touch '$BATS_TEST_TMPDIR/b'; [ -e '$BATS_TEST_TMPDIR/go' ] || sleep 60; echo b >b" 'depends_on: [a]'
    kill_when test -e "$BATS_TEST_TMPDIR/b"
    touch "$BATS_TEST_TMPDIR/go"
    orchestra --resume
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
    assert_task b '\[ok] b *'
    assert_in main b b
}

@test "PO-32: --resume continues with a run that was killed: nothing of it is left, and history has one" {
    make_place
    manifest
    task a 'echo a >a'
    task b "echo half >b; touch '$BATS_TEST_TMPDIR/b'; [ -e '$BATS_TEST_TMPDIR/go' ] || sleep 60; echo b >b" 'depends_on: [a]'
    task r "touch '$BATS_TEST_TMPDIR/r'; [ -e '$BATS_TEST_TMPDIR/go' ] || sleep 60" 'read_only: true'
    kill_when test -e "$BATS_TEST_TMPDIR/b" -a -e "$BATS_TEST_TMPDIR/r"
    touch "$BATS_TEST_TMPDIR/go"
    orchestra --dry-run
    [[ $(git worktree list | wc -l) -eq 2 ]] || fail 'there was nothing to go on with'
    run "$ANABRANCH" resume
    assert_status 0
    assert_contains "is resumed with parallel-orchestra run --resume $PWD/plan.md"
    refute_contains 'every run has finished'
    run_apart "$ANABRANCH" resume "$(git for-each-ref --format='%(refname:lstrip=3)' refs/anabranch/runs)"
    assert_status 2
    assert_error "was started as parallel-orchestra: resume it with parallel-orchestra run --resume $PWD/plan.md"
    orchestra --resume --report report.json
    assert_status 0
    assert_task a '\[skip] a (dev) resumed'
    assert_task b '\[ok] b (dev) duration=* returncode=0'
    assert_task r '\[ok] r (dev) duration=* returncode=0'
    assert_in main b b
    [[ $(jq -r '.tasks[0].commit' report.json) == "$(git log --format=%H --grep='task a$' --merges main)" ]] || fail 'commit of a'
    rm report.json
    [[ -z $(git branch --list 'parallel-orchestra/*') ]] || fail "$(git branch)"
    assert_clean 'refs/anabranch/salvage/*/b/1'
    assert_unchanged_checkout
    run "$ANABRANCH" history --json
    [[ $(wc -l <<<"$output") -eq 1 ]] || fail 'more than one run'
}

@test "PO-32: the duration of a resumed task leaves out the time in between" {
    make_place
    manifest
    task a "touch '$BATS_TEST_TMPDIR/a'; [ -e '$BATS_TEST_TMPDIR/go' ] || sleep 60; echo a >a"
    local began=$EPOCHREALTIME ms
    kill_when test -e "$BATS_TEST_TMPDIR/a"
    sleep 3 # this is the time in between
    touch "$BATS_TEST_TMPDIR/go"
    orchestra --resume --report report.json
    assert_status 0
    ms=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
    [[ $(line_of a) =~ duration=([0-9]+)\.([0-9]{2}) ]] || fail 'no duration'
    ((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]}0 <= ms - 3000)) || fail "of $ms ms"
    [[ $(jq "(.tasks[0].duration_sec * 1000) <= ($ms - 2900)" report.json) == true ]] || fail "$(<report.json)"
}

# bats test_tags=slow
@test "PO-32: killed at any write of the journal, --resume finishes the run and leaves nothing" {
    local k killed=137
    make_place
    manifest
    task a 'echo a$TRY >a'
    task b 'cat a >b; echo b$TRY >>b' 'depends_on: [a]'
    task r 'cat file' 'read_only: true'
    for ((k = 1; killed == 137; k += 5)); do
        export TRY=$k
        ANABRANCH_KILL_AT=$k orchestra --quiet
        killed=$status
        ((k > 1 || killed == 137)) || skip 'not built with kill points'
        ((killed == 137)) || break
        wait_for no_agents
        orchestra --resume --quiet
        assert_status 0
        assert_in main b "a$k"$'\n'"b$k"
        [[ -z $(git branch --list 'parallel-orchestra/*') ]] || fail "killed at $k:" "$(git branch)"
        [[ $(git worktree list | wc -l) -eq 1 ]] || fail "killed at $k:" "$(git worktree list)"
        [[ -z $(git for-each-ref refs/anabranch/runs) ]] || fail "killed at $k:" "$(git for-each-ref)"
        [[ ! -e $(state_file) ]] || fail "killed at $k: the state is left"
    done
    ((k > 20)) || fail "there were only $k writes"
}

@test "PO-32: the next run reports the leftovers of a killed run, with commands that remove them" {
    make_place
    manifest
    task a "echo half >a; touch '$BATS_TEST_TMPDIR/a'; [ -e '$BATS_TEST_TMPDIR/go' ] || sleep 60"
    kill_when test -e "$BATS_TEST_TMPDIR/a"
    touch "$BATS_TEST_TMPDIR/go"
    local left
    left=$(git worktree list --porcelain | sed -n 's/^worktree //p' | tail -n 1)
    orchestra
    assert_status 0
    assert_error "of 'plan.md' was killed and left behind:"
    [[ $stderr != *resume* ]] || fail 'only the new run can be resumed'
    assert_error "  worktree $left"
    assert_error '  branch parallel-orchestra/a-'
    local command
    command=$(sed -n 's/^  to save and remove the leftovers: anabranch //p' <<<"$stderr")
    # shellcheck disable=SC2086 # several words
    run "$ANABRANCH" $command
    assert_status 0
    [[ ! -e $left && -z $(git branch --list 'parallel-orchestra/*') ]] || fail "$(git branch)"
    [[ $(git show "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage):a") == half ]] || fail 'not saved'
    orchestra
    [[ $stderr != *killed* ]] || fail 'told again'
}

@test "PO-13: runs at the same time do not take each other's branches for changes of agents" {
    make_place
    echo '*.md' >>.git/info/exclude
    local n
    for n in 1 2 3; do
        manifest
        task "t$n" "touch '$BATS_TEST_TMPDIR/started$n'; until [ -e '$BATS_TEST_TMPDIR/go$n' ]; do sleep 0.02; done; echo $n >f$n"
        echo --- >>plan.md
        mv plan.md "plan$n.md"
    done
    start_run() { # NUMBER
        parallel-orchestra run "./plan$1.md" --no-log >/dev/null 2>"$BATS_TEST_TMPDIR/errors$1" 3>&- &
        echo $! >"$BATS_TEST_TMPDIR/engine$1.pid"
        wait_for test -e "$BATS_TEST_TMPDIR/started$1"
    }
    end_run() { # NUMBER
        touch "$BATS_TEST_TMPDIR/go$1"
        wait "$(<"$BATS_TEST_TMPDIR/engine$1.pid")" || fail "run $1 failed: $(<"$BATS_TEST_TMPDIR/errors$1")"
    }
    start_run 1
    start_run 2
    start_run 3
    end_run 1 # its branch goes, that of the third has come
    end_run 2
    [[ $(<"$BATS_TEST_TMPDIR/errors2") != *'outside its workspace'* ]] || fail "$(<"$BATS_TEST_TMPDIR/errors2")"
    # Others' branches are still noticed, whatever their names.
    git branch parallel-orchestra/t1-00000000
    end_run 3
    [[ $(<"$BATS_TEST_TMPDIR/errors3") == *'refs/heads/parallel-orchestra/t1-00000000 was made'* ]] || fail "$(<"$BATS_TEST_TMPDIR/errors3")"
    assert_in main f3 3
}

# test_review_fixes

@test "test_review_fixes: flags for reading and writing; the prompt is not among them (PO-40, PO-42)" {
    make_place
    manifest
    task w 'true # the-prompt' 'agent: writer' "env: {ARGS: $BATS_TEST_TMPDIR/w}"
    task r 'true # the-prompt' 'agent: reader' 'read_only: true' "env: {ARGS: $BATS_TEST_TMPDIR/r}"
    orchestra
    assert_status 0
    local w r
    w=$(<"$BATS_TEST_TMPDIR/w") r=$(<"$BATS_TEST_TMPDIR/r")
    [[ $w == *--dangerously-skip-permissions* && $w == *$'--agent\nwriter'* ]] || fail "$w"
    [[ $r == *$'--permission-mode\nplan'* && $r == *$'--agent\nreader'* ]] || fail "$r"
    [[ $r != *--dangerously* && $r != *--read-only* && $w$r != *the-prompt* ]] || fail "$w" "$r"
    [[ $w == *-p* && $r == *-p* ]] || fail "not in print mode"
}

@test "test_review_fixes: keys are masked in logs, also those of the task's own (PO-41)" {
    make_place
    manifest
    task a 'echo "$ANTHROPIC_API_KEY-$ANTHROPIC_API_KEY_HELPER-$MY_TOKEN" | tee /dev/stderr' \
        'env: {MY_TOKEN: tok-12345678}'
    export ANTHROPIC_API_KEY=sk-secret-123 ANTHROPIC_API_KEY_HELPER=/bin/helper-456
    orchestra
    assert_status 0
    for log in stdout stderr; do
        [[ $(<.claude/logs/a-$log.log) == '[MASKED]-[MASKED]-[MASKED]' ]] || fail "$(<.claude/logs/a-$log.log)"
    done
}

@test "test_review_fixes: logs are for their owner alone" {
    make_place
    manifest
    task a 'echo out'
    umask 022
    orchestra --log-dir logs
    assert_status 0
    run stat -c %a logs logs/a-stdout.log logs/a-stderr.log
    assert_output $'700\n600\n600'
}

@test "test_review_fixes: standard error that is no terminal gets plain lines" {
    make_place
    manifest
    task a 'sleep 0.5' # a few frames
    orchestra
    [[ $stderr != *$'\e'* ]] || fail "escape sequences"
    for option in --no-dashboard --dashboard; do
        orchestra $option
        assert_status 0
        [[ $stderr != *$'\e'* ]] || fail "escape sequences: $option"
    done
}

@test "test_review_fixes, PO-56: bidirectional characters and escapes of a result are made harmless" {
    make_place
    manifest
    task a 'printf "%s\n" "{\"status\":\"PASSED\",\"reason\":\"x\\u202ey\\u001b[31mz\\nw\"}"'
    orchestra
    assert_status 0
    [[ $output != *$'\u202e'* && $output != *$'\e'* ]] || fail "not harmless"
    assert_task a '\[ok] a * status=PASSED reason=x*y*z*w'
    [[ $(wc -l <<<"$output") -eq 1 ]] || fail "more than one line"
}

@test "test_review_fixes: webhooks go to https and public hosts alone" {
    make_place
    for url in http://hooks.example.com/x https://localhost/x https://127.0.0.1/x https://10.0.0.1/x \
        'https://[::1]/x' https://LOCALHOST.localdomain/x https://2130706433/ https://127.1/; do
        manifest 'on_complete:' "  webhook_url: $url"
        task a true
        orchestra --dry-run
        assert_status 2
        assert_error 'ManifestError: '
    done
}

@test "webhooks of a manifest are the plan's own" {
    make_place
    manifest 'on_complete: {webhook_url: https://hooks.example.com/c}' \
        'on_failure: {webhook_url: https://hooks.example.com/f}'
    task a true
    echo --- >>plan.md
    run "$ANABRANCH" check --json plan.md
    assert_status 0
    run jq -c '[.plan.notify[] | [.on, .webhook]]' <<<"$output"
    assert_output '[[["done"],"https://hooks.example.com/c"],[["failed"],"https://hooks.example.com/f"]]'
}

# The result that an agent prints

@test "a result is shown in the summary: status, cycles, report, reason" {
    make_place
    manifest
    task a 'echo words; echo; echo "{\"status\":\"PASSED\",\"cycles\":\"3\",\"report\":\"a/b/rep.md\",\"reason\":\"all fine\"}"; echo; echo "  "'
    orchestra
    assert_status 0
    assert_task a '\[ok] a (dev) duration=* returncode=0 status=PASSED cycles=3 report=rep.md reason=all fine'
    manifest
    task a 'echo "{\"cycles\":\"3\",\"report\":\"a/b/rep.md\",\"reason\":\"all fine\"}"'
    orchestra
    [[ $(line_of a) == *'returncode=0 reason=all fine' ]] || fail 'that tool shows the others only with a status'
}

@test "a result that says FAILED is a failure, though the exit code is 0" {
    make_place
    manifest
    task a 'echo a >a; echo "{\"status\":\"FAILED\",\"reason\":\"no luck\"}"' 'max_retries: 1'
    orchestra
    assert_status 1
    assert_task a '\[fail] a (dev) * returncode=1 retries=1 category=transient status=FAILED reason=no luck'
    refute_in main a
}

@test "PO-21, PO-27: whatever the last line is, the run continues" {
    make_place
    manifest
    local i=0 line
    while IFS= read -r line; do
        i=$((i + 1))
        printf '%s\n' "$line" >"$BATS_TEST_TMPDIR/line$i"
        task "t$i" "cat '$BATS_TEST_TMPDIR/line$i'" 'read_only: true'
    done <<'END'
{"cycles":"many"}
{"cycles":null,"status":null}
{"cycles":[1],"status":{"a":1},"reason":[],"report":{}}
{"cycles":1e400}
{"cycles":-3}
{"cycles":99999999999999999999999}
{"status":7,"reason":true,"report":1.5}
{"status":"PASSED"
[1,2,3]
"FAILED"
{}
{"report":"///"}
END
    head -c 200000 /dev/zero | tr '\0' '[' >"$BATS_TEST_TMPDIR/deep"
    task deep "printf '{\"a\":'; cat '$BATS_TEST_TMPDIR/deep'; echo" 'read_only: true'
    task long 'head -c 3000000 /dev/zero | tr "\0" x; echo' 'read_only: true'
    task bytes 'printf "{\"status\":\"\377\376\"}\n\0\0\n"' 'read_only: true'
    orchestra --max-workers 4
    assert_status 0
    [[ $(grep -c '^\[ok\]' <<<"$output") -eq $((i + 3)) ]] || fail "not all are well"
    assert_task t7 '\[ok] t7 * status=7 report=1.5 reason=true'
}

@test "an agent that speaks as claude does is understood: its result's text is what it says" {
    make_place
    manifest
    task plain 'echo a >a' 'env: {SAYS: json}'
    task says 'jq -n -c "{type:\"result\",is_error:false,result:\"words\n{\\\"status\\\":\\\"FAILED\\\",\\\"cycles\\\":2}\"}"' \
        'max_retries: 0'
    task broken 'echo "{\"type\":\"result\",\"is_error\":true,\"result\":\"it went wrong\"}"' 'max_retries: 0'
    orchestra
    assert_status 1
    assert_task plain '\[ok] plain *'
    assert_task says '\[fail] says * returncode=1 category=transient status=FAILED cycles=2*'
    assert_task broken '\[fail] broken *it went wrong'
}

# test_runner_v04: worktrees, branches, merging

@test "test_runner_v04: branch names, the guard's variable, the worktree's top" {
    make_place
    mkdir -p sub
    manifest
    task w_-1 'git branch --show-current >seen; echo "$PO_WORKTREE_GUARD" >>seen; git rev-parse --show-prefix >>seen'
    task r 'echo "guard=$PO_WORKTREE_GUARD"' 'read_only: true'
    echo --- >>plan.md
    sed -i 's/^cwd: .*/cwd: dir/' plan.md
    orchestra
    assert_status 0
    { read -r branch && read -r guard && read -r prefix || true; } < <(git show main:seen)
    [[ $branch =~ ^parallel-orchestra/[A-Za-z0-9_-]+-[0-9a-f]{8}$ && $branch == */w_-1-* ]] || fail "branch: $branch"
    [[ $guard == 1 && -z $prefix ]] || fail "guard: $guard, prefix: $prefix"
    [[ $(<.claude/logs/r-stdout.log) == guard= ]] || fail "a task that reads has the guard"
    [[ -z $(git branch --list 'parallel-orchestra/*') ]] || fail "branches are left (PO-18)"
    assert_clean
}

@test "PO-14, PO-15: agents find the .claude of a cwd below the top, and nothing of it is merged" {
    make_place
    mkdir -p sub/.claude/agents .claude/agents
    echo tracked >sub/.claude/agents/dev.md
    echo theirs >sub/.claude/agents/own.md
    echo own >.claude/agents/own.md
    echo '{}' >sub/.claude/settings.json
    git add -A && git commit -q -m agents
    echo untracked >sub/.claude/agents/more.md
    manifest
    task a 'cat .claude/agents/{dev,more,own}.md >seen; ls .claude >>seen; echo mine >.claude/agents/mine.md; git add -A'
    sed -i 's/^cwd: .*/cwd: sub/' plan.md
    orchestra
    assert_status 0
    assert_in main seen $'tracked\nuntracked\nown\nagents'
    [[ $(git ls-tree -r --name-only main .claude) == $'.claude/agents/mine.md\n.claude/agents/own.md' ]] ||
        fail "$(git ls-tree -r --name-only main .claude)"
}

@test "test_runner_v04: merge and commit messages" {
    make_place
    manifest
    task my-task 'echo a >a'
    orchestra
    assert_status 0
    [[ $(git log -1 --format=%s main) == 'Merge parallel-orchestra task my-task' ]] || fail "$(git log -1 main)"
    [[ $(git log -1 --format=%s main^2) == 'parallel-orchestra: task my-task [auto-commit]' ]] || fail "$(git log -1 main^2)"
    [[ $(git rev-parse main^1) == "$(git rev-list --max-parents=0 main)" ]] || fail "not a merge of the base"
}

@test "test_runner_v04: a detached HEAD is a runner error, exit 3" {
    make_place
    git checkout -q --detach
    manifest
    task a true
    orchestra
    assert_status 3
    [[ $stderr == 'RunnerError: no branch is checked out' ]] || fail
    [[ ! -e $(state_file) ]] || fail "a state was written"
}

@test "test_runner_v04: only what is well is merged" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo b >b; exit 1' 'max_retries: 0'
    orchestra
    assert_status 1
    assert_in main a a
    refute_in main b
    [[ $(git rev-list --count --merges main) -eq 1 ]] || fail "more than one merge"
}

@test "if main moves to another work tree, the advice about a conflict names that work tree" {
    local there=$BATS_TEST_TMPDIR/there line
    make_place
    manifest
    task a 'echo a >file'
    task b "until [ \"\$(git show main:file)\" = a ]; do sleep 0.02; done
(cd $PWD && unset GIT_CEILING_DIRECTORIES && git switch -q -c side && git worktree add -q $there main)
echo b >file"
    orchestra
    assert_status 3
    line=$(sed -n 's/.*to resolve it: //p' <<<"$stderr")
    [[ $line == "git -C $there merge parallel-orchestra/b-"* ]] || fail "$line"
    ! eval "$line" 2>/dev/null || fail 'no conflict'
    [[ $(git -C "$there" diff --name-only --diff-filter=U) == file ]] || fail 'no merge'
}

@test "test_runner_v04: a conflict names task, branch and file, exit 3; the others land (PO-8)" {
    make_place
    manifest
    task a 'echo a >file'
    task b "until [ \"\$(git show main:file)\" = a ]; do sleep 0.02; done; echo b >file"
    task c 'echo c >c'
    task d 'echo d >d' 'depends_on: [b]'
    orchestra
    assert_status 3
    [[ $stderr =~ RunnerError:\ merge\ conflict:\ task\ \'b\'\ \(branch\ (parallel-orchestra/b-[0-9a-f]{8})\):\ .*file ]] || fail
    git rev-parse -q --verify "${BASH_REMATCH[1]}" >/dev/null || fail "the branch is gone"
    assert_task a '\[ok] a *'
    assert_task b '\[fail] b * returncode=0 category=conflict *'
    assert_task c '\[ok] c *'
    assert_task d '\[skip] d *'
    assert_in main c c
    assert_in main file a
    [[ -e $(state_file) ]] || fail "no state to resume from"
}

@test "test_runner_v04: a manifest that only reads has no merge step" {
    make_place
    manifest
    task a 'cat file >/dev/null' 'read_only: true'
    orchestra
    assert_status 0
    [[ $(git rev-list --count main) -eq 1 ]] || fail "something was merged"
}

@test "a task that changed nothing is well, and there is no empty merge" {
    make_place
    manifest
    task a 'true'
    orchestra
    assert_status 0
    assert_task a '\[ok] a *'
    [[ $(git rev-list --count main) -eq 1 ]] || fail "an empty merge"
}

@test "PO_KEEP_WORKTREE=1 keeps worktrees, of failed tasks too, and says where (PO-51)" {
    make_place
    manifest
    task a 'echo a >a'
    task b 'echo b >b; exit 1' 'max_retries: 1'
    export PO_KEEP_WORKTREE=1
    orchestra
    assert_status 1
    local path
    for id in a b; do
        path=$(sed -n "s/^\[$id\] worktree kept: //p" <<<"$stderr")
        [[ -n $path && $(<"$path/$id") == "$id" ]] || fail "no worktree of $id"
        git worktree remove --force "$path" || fail "git cannot remove it"
    done
    export PO_KEEP_WORKTREE=0
    orchestra --resume
    [[ $stderr != *'worktree kept'* ]] || fail "kept"
}

@test "PO-39: changes of a task outside of its writes are reported, and land" {
    make_place
    manifest
    task a 'echo a >a; echo x >dir/inner' 'writes: [a]'
    orchestra
    assert_status 0
    assert_error 'changed paths that it does not own: dir/inner'
    assert_in main dir/inner x
}

@test "PO-38: agents do not eat the standard input" {
    make_place
    manifest
    task a 'cat >/dev/null; echo a >a'
    echo --- >>plan.md
    run bash -c 'printf "kept\n" | { parallel-orchestra run plan.md >/dev/null 2>&1 3>&-; cat; }'
    assert_output kept
}

@test "PO-24: a cwd that is not there is said to be that, exit 2" {
    make_place
    manifest
    task a true
    sed -i 's/^cwd: .*/cwd: none/' plan.md
    orchestra
    assert_status 2
    [[ $stderr == *ManifestError*none* && $stderr != *claude* ]] || fail
}

@test "PO-57, PO-11: changes of the user's in other files are no obstacle" {
    make_place
    manifest
    task a 'echo a >a'
    echo staged >>dir/inner
    git add dir/inner
    echo dirty >>file
    orchestra
    assert_status 0
    assert_in main a a
    [[ $(git status --porcelain) == $'M  dir/inner\n M file' ]] || fail "$(git status --porcelain)"
}

@test "a manifest outside of any repository is run in that of the current folder" {
    make_place
    manifest
    task a 'echo a >a'
    echo --- >>plan.md
    mkdir "$BATS_TEST_TMPDIR/plans"
    mv plan.md "$BATS_TEST_TMPDIR/plans/"
    run_apart parallel-orchestra run "$BATS_TEST_TMPDIR/plans/plan.md" 3>&-
    assert_status 0
    assert_in main a a
}

@test "--claude-exe may be relative to the current folder, or a name on PATH" {
    make_place
    manifest
    task a 'echo a >a'
    cp "$bin/claude" ./my-claude
    cp "$bin/claude" "$bin/other-claude"
    rm "$bin/claude"
    orchestra --claude-exe ./my-claude
    assert_status 0
    assert_in main a a
    orchestra --claude-exe other-claude
    assert_status 0
}

@test "SIGINT ends agents and run; what landed is resumed later (PO-7)" {
    make_place
    manifest
    task a 'echo a >a'
    task b "touch '$BATS_TEST_TMPDIR/b'; sleep 60" 'depends_on: [a]'
    task c true 'depends_on: [b]'
    echo --- >>plan.md
    cat >start <<'END'
#!/usr/bin/env python3
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
END
    python3 start parallel-orchestra run plan.md >out 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/b"
    kill -INT "$(<"$BATS_TEST_TMPDIR/engine.pid")"
    status=0
    wait "$(<"$BATS_TEST_TMPDIR/engine.pid")" || status=$?
    output=$(<out)
    assert_status 130
    no_agents || fail "still alive: $(agents_alive)"
    assert_task a '\[ok] a *'
    assert_task b '\[fail] b *'
    assert_task c '\[skip] c *'
    run jq -c .completed_tasks "$(state_file)"
    assert_output '["a"]'
}
