#!/usr/bin/env bats
# The program as parallel-sessions: its command line, plan rules, messages and exit codes, and its
# defects, by their numbers.
# shellcheck disable=SC2016 # another shell expands it
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../forge_helper

teardown() {
    forge_stop
}

sessions() { # [ARG...]
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -sf "$ANABRANCH" "$BATS_TEST_TMPDIR/bin/parallel-sessions"
    run_apart "$BATS_TEST_TMPDIR/bin/parallel-sessions" "$@" 3>&-
    assert_no_sanitizer
}

# A thread of the plan; lines of its own come in place of those of the same name.
thread() { # ID [LINE...]
    local line
    local -A fields=([branch]="branch = \"part$1\"" [goal]="goal = \"Part $1\"" [owns]="owns = [\"d$1\"]")
    for line in "${@:2}"; do
        fields[${line%% *}]=$line
    done
    printf '%s\n' '[[threads]]' "id = $1" "${fields[@]}" >>plan.toml
}

threads() { # ID...
    for id in "$@"; do thread "$id"; done
}

begin() { # ID...
    make_repo
    : >plan.toml
    threads "$@"
}

tree() { # ID
    echo "$PWD/worktrees/thread-$1"
}

branch() { # ID
    echo "parallel/part$1-thread-$1"
}

work() { # ID FILE [TEXT]
    mkdir -p "$(dirname "$(tree "$1")/$2")"
    echo "${3-$1}" >>"$(tree "$1")/$2"
    git -C "$(tree "$1")" add -A
    git -C "$(tree "$1")" commit -q -m "$1: $2"
}

assert_fails() { # MESSAGE: exit 1, all that is said
    assert_status 1
    [[ -z $output ]] || fail "expected nothing on the standard output"
    [[ $stderr == "error: $1" ]] || fail "expected errors:" "error: $1"
}

refused() { # MESSAGE
    sessions fanout plan.toml
    assert_fails "$1"
    [[ ! -e worktrees && $(git worktree list | wc -l) -eq 1 ]] || fail "something was made"
}

# The command line

usage='usage: parallel-sessions [-h] {fanout,status,converge,cleanup} ...'

@test "sessions: a command is required, and wrong calls exit with 2 as argparse does" {
    make_repo
    sessions
    assert_status 2
    [[ $stderr == "$usage"$'\n''parallel-sessions: error: the following arguments are required: cmd' ]] || fail "usage"
    sessions run
    assert_status 2
    [[ $stderr == *"error: argument cmd: invalid choice: 'run' (choose from 'fanout', 'status', 'converge', 'cleanup')" ]] ||
        fail "choice"
    sessions fanout
    assert_status 2
    [[ $stderr == 'usage: parallel-sessions fanout [-h] plan'$'\n''parallel-sessions fanout: error: the following arguments are required: plan' ]] ||
        fail "plan"
    sessions fanout a b
    assert_status 2
    [[ $stderr == *'parallel-sessions: error: unrecognized arguments: b' ]] || fail "too many"
    sessions status --no-push
    assert_status 2
    [[ $stderr == *'parallel-sessions: error: unrecognized arguments: --no-push' ]] || fail "option"
}

@test "sessions: -h everywhere" {
    sessions -h
    assert_status 0
    assert_contains "$usage"
    for command in fanout status converge cleanup; do
        sessions $command --help
        assert_status 0
        assert_contains "usage: parallel-sessions $command [-h]"
    done
    assert_contains 'parallel-sessions(1)'
    POSIXLY_CORRECT=1 sessions fanout plan.toml -h
    assert_status 0
    assert_contains 'usage: parallel-sessions fanout [-h]'
    make_repo
    sessions fanout -- -h
    assert_fails "plan file not found: $PWD/-h"
}

# Rules of the plan

@test "sessions: three to five threads" {
    make_repo
    : >plan.toml
    refused 'plan must declare 3-5 threads (got 0)'
    threads 1 2
    refused 'plan must declare 3-5 threads (got 2)'
    threads 3 4 5 6
    refused 'plan must declare 3-5 threads (got 6)'
    : >plan.toml
    threads 1 2 3 4 5
    sessions fanout plan.toml
    assert_status 0
}

@test "sessions: fields that are missing or empty" {
    begin 1 2
    printf '[[threads]]\nid = 3\nowns = ["x"]\n' >>plan.toml
    refused "thread 3 missing fields: ['branch', 'goal']"
    begin_again 1 2
    printf '[[threads]]\nbranch = "b"\ngoal = "g"\nowns = ["x"]\n' >>plan.toml
    refused "thread ? missing fields: ['id']"
    begin_again 1 2
    thread 3 'owns = []'
    refused 'thread 3 has empty owns — declare at least one owned path'
}

begin_again() { # ID...
    : >plan.toml
    threads "$@"
}

@test "sessions: ids, branches and paths are unique" {
    begin 1 2 2
    refused 'thread ids must be unique'
    begin_again 1 2
    thread 3 'branch = "part1"'
    refused 'thread branches must be unique'
    begin_again 1 2
    thread 3 'owns = ["x", "d2/sub"]'
    refused "path overlap: thread 2 owns 'd2' overlaps thread 3 owns 'd2/sub'"
    begin_again 1 2
    thread 3 'owns = ["d2-v2", "services/d1"]'
    sessions fanout plan.toml
    assert_status 0
}

@test "PS-4: paths that are written differently overlap all the same" {
    begin 1 2
    for path in ./d1 . d2/../d1 d1//x 'd*' '**/file'; do
        begin_again 1 2
        thread 3 "owns = [\"$path\"]"
        refused "path overlap: thread 1 owns 'd1' overlaps thread 3 owns '$path'"
    done
    begin_again 1 2
    thread 3 'owns = "d4"'
    sessions fanout plan.toml
    assert_status 1
    [[ $stderr == 'error: '*'owns: expected a list, got a string'* ]] || fail "no word of the type"
}

@test "PS-12: no traceback: no repository, no plan, no TOML, wrong types, a branch that exists" {
    threads 1 2 3
    sessions fanout plan.toml
    assert_fails 'not a git repository'
    for command in status cleanup converge; do
        sessions $command
        assert_fails 'not a git repository'
    done
    begin 1 2 3
    sessions fanout none.toml
    assert_fails "plan file not found: $PWD/none.toml"
    echo 'threads = [' >bad.toml
    sessions fanout bad.toml
    assert_status 1
    [[ $stderr == "error: $PWD/bad.toml:"* ]] || fail "no place"
    begin_again 1 2
    thread 3 'merge_order = "first"'
    sessions fanout plan.toml
    assert_status 1
    [[ $stderr == 'error: '*'merge_order: expected an integer, got a string'* ]] || fail "no word of the type"
    begin_again 1 2 3
    git branch "$(branch 2)"
    sessions fanout plan.toml
    assert_status 1
    [[ $stderr == "error: the branch '$(branch 2)' exists, but is no thread"* ]] || fail "no word of the branch"
    [[ ! -e worktrees && $(git worktree list | wc -l) -eq 1 ]] || fail "half of it was made"
}

# Fanout

@test "sessions: fanout says what that tool says" {
    begin 1 2
    thread 3 'merge_order = 0' 'color = "red"' 'goal = "Say \"it'"'"'s\" $(done)"'
    sessions fanout plan.toml
    assert_status 0
    assert_output "
created 3 worktrees. open each in its own terminal:

  # thread 3: Say \"it's\" \$(done)
  cd $(tree 3) && claude

  # thread 1: Part 1
  cd $(tree 1) && claude

  # thread 2: Part 2
  cd $(tree 2) && claude

when threads are ready to merge:  parallel-sessions converge"
    [[ -z $stderr ]] || fail "errors"
    for i in 1 2 3; do
        [[ $(git -C "$(tree $i)" symbolic-ref --short HEAD) == "$(branch $i)" ]] || fail "branch of $i"
    done
}

@test "sessions: the brief has that tool's words" {
    begin 1 2
    thread 3 'owns = ["./d3/", "e`f"]' 'forbids = ["d1", "x/"]' 'merge_order = 7' 'goal = """Do it.

Well."""'
    sessions fanout plan.toml
    assert_status 0
    run cat "$(tree 3)/THREAD_BRIEF.md"
    assert_output '# Thread 3: part3

## Goal
Do it.

Well.

## Owned paths (you may edit)
- `./d3/`
- `e`f`

## Forbidden paths (do NOT edit)
- `d1`
- `x/`

## Merge order
Position 7 in the declared landing sequence.

---
Generated by parallel-sessions. Do not commit this file.'
    run cat "$(tree 1)/THREAD_BRIEF.md"
    assert_contains $'## Forbidden paths (do NOT edit)\n_(none)_\n\n## Merge order\nPosition ? in the declared landing sequence.\n'
}

@test "PS-3: neither plan nor worktrees make the tree dirty; changes of tracked files do" {
    begin 1 2 3
    git status --porcelain | grep -q plan.toml || fail "the plan is not an untracked file"
    echo change >>file
    refused 'working tree is dirty — commit or stash before fanout'
    git checkout -q file
    sessions fanout plan.toml
    assert_status 0
    sessions fanout plan.toml
    assert_fails "worktree already exists: $(tree 1) — run 'parallel-sessions cleanup' first"
    begin_again 4 5 6
    sessions fanout plan.toml
    assert_status 0
    [[ $(git worktree list | wc -l) -eq 7 ]] || fail "not all are there"
}

@test "sessions: the repository is that of the current folder, wherever the plan is" {
    begin 1 2 3
    mkdir ../elsewhere
    mv plan.toml ../elsewhere
    (cd dir && sessions fanout ../../elsewhere/plan.toml && assert_status 0)
    [[ -e $(tree 3)/file ]] || fail "not here"
}

@test "PS-11: info/exclude is not touched, and nothing is left when all is cleaned up" {
    begin 1 2 3
    find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o -name index -prune -o -print |
        sort >"$BATS_TEST_TMPDIR/before"
    cp .git/info/exclude "$BATS_TEST_TMPDIR/exclude"
    sessions fanout plan.toml
    [[ -z $(git -C "$(tree 1)" status --porcelain) ]] || fail "the brief shows"
    cmp .git/info/exclude "$BATS_TEST_TMPDIR/exclude" || fail "exclude"
    start=$(git rev-parse HEAD)
    for i in 1 2 3; do
        work $i "d$i/x"
        git merge -q -m merge "$(branch $i)"
    done
    sessions cleanup
    assert_status 0
    assert_output 'removed: thread-1, thread-2, thread-3'
    git reset -q --hard "$start"
    rm -f .git/ORIG_HEAD
    diff "$BATS_TEST_TMPDIR/before" <(find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o -name index -prune -o -print | sort) ||
        fail "left"
    cmp .git/info/exclude "$BATS_TEST_TMPDIR/exclude" && cmp .git/config "$BATS_TEST_TMPDIR/config" || fail "changed"
}

# Cleanup

@test "PS-6, PS-7: cleanup removes what was merged in any way, without origin too, and keeps the rest" {
    begin 1 2 3 4 5
    sessions fanout plan.toml
    work 1 d1/x
    work 2 d2/x && work 2 d2/y
    work 3 d3/x
    work 4 d4/x
    echo more >"$(tree 4)/d4/new"
    git merge -q -m merge "$(branch 1)"
    git merge -q --squash "$(branch 2)" && git commit -q -m squashed
    git merge -q -m merge "$(branch 4)"
    sessions cleanup
    assert_status 0
    assert_output 'removed: thread-1, thread-2
skipped:
  thread-3 (unmerged commits)
  thread-4 (dirty)
  thread-5 (not started)'
    [[ -z $stderr ]] || fail "errors"
}

@test "sessions: cleanup and converge without worktrees, and with a folder for them that has none" {
    make_repo
    sessions cleanup
    assert_status 0
    assert_output 'no worktrees'
    mkdir worktrees
    sessions cleanup
    assert_status 0
    assert_output 'nothing to clean up'
    sessions converge
    assert_status 0
    assert_output 'no threads have new commits — nothing to converge'
    sessions status
    assert_status 0
    assert_output 'no worktrees'
}

# Status

@test "sessions: status shows each worktree in that tool's columns" {
    make_repo
    sessions status
    assert_status 0
    assert_output 'no worktrees'
    threads 1 2 10
    sessions fanout plan.toml
    work 2 d2/x
    echo more >"$(tree 10)/new"
    sessions status
    assert_status 0
    start=$(git log -1 --format='%h %s')
    assert_output "WORKTREE       BRANCH                                           AHEAD  STATE  LAST COMMIT
thread-1       parallel/part1-thread-1                          0      clean  $start
thread-2       parallel/part2-thread-2                          1      clean  $(git log -1 --format='%h %s' "$(branch 2)")
thread-10      parallel/part10-thread-10                        0      dirty  $start"
}

@test "PS-8: threads of a feature branch are held against that, and main may have any name" {
    make_repo
    git branch -q -m trunk
    git switch -q -c feature
    echo x >feature && git add feature && git commit -q -m feature
    threads 1 2 3
    sessions fanout plan.toml
    work 2 d2/x
    sessions status
    assert_status 0
    [[ $(awk 'NR > 1 { print $1, $3 }' <<<"$output" | paste -s -d ' ') == 'thread-1 0 thread-2 1 thread-3 0' ]] ||
        fail "ahead"
    sessions converge --no-push
    assert_status 0
    [[ $(grep '^# thread' <<<"$output") == '# thread-2' ]] || fail "others are pushed too"
}

# Converge

@test "sessions: converge without worktrees, and without commits" {
    make_repo
    sessions converge
    assert_fails 'no worktrees to converge'
    threads 1 2 3
    sessions fanout plan.toml
    for option in '' --no-push; do
        # shellcheck disable=SC2086 # none, or one
        sessions converge $option
        assert_status 0
        assert_output 'no threads have new commits — nothing to converge'
    done
}

@test "sessions: commits on another branch in a thread's worktree are told by status and converge" {
    begin 1 2 3
    forge_start
    file_origin
    sessions fanout plan.toml
    git -C "$(tree 2)" switch -q -c other
    work 2 d2/x
    sessions status
    assert_status 0
    assert_line "thread-2       other                                            1      clean  $(git log -1 --format='%h %s' other)"
    for option in '' --no-push; do
        # shellcheck disable=SC2086 # none, or one
        sessions converge $option
        assert_fails "thread-2: its worktree is on other, with 1 commit that main lacks, instead of its branch $(branch 2)"
    done
    work 1 d1/x
    sessions converge --no-push
    assert_status 1
    [[ $(grep '^# ' <<<"$output") == '# thread-1' ]] || fail "not the others"
    # Nor is such a worktree removed because its branch was merged.
    git -C "$(tree 2)" switch -q "$(branch 2)"
    work 2 d2/y
    git merge -q -m merged "$(branch 2)"
    git -C "$(tree 2)" switch -q other
    sessions cleanup
    assert_status 0
    assert_contains '  thread-2 ('
    [[ -e $(tree 2)/d2/x ]] || fail 'the worktree is gone'
}

@test "sessions: hints name no option that is not there" {
    begin 1 2 3
    git switch -q --detach
    sessions fanout plan.toml
    assert_status 0
    work 1 d1/x
    echo more >"$(tree 2)/new"
    sessions converge
    assert_status 1
    [[ $stderr != *--* ]] || fail
    sessions converge --no-push
    assert_status 1
    [[ $stderr == *'error: thread-1: it was made from a commit, not from a branch'* ]] || fail
    [[ $stderr == *'error: thread-2: it has uncommitted changes: new'* && $stderr != *--* ]] || fail
    sessions cleanup
    [[ $stderr$output != *--* ]] || fail
    { printf 'x = "'; head -c 5000000 /dev/zero | tr '\0' x; echo '"'; cat plan.toml; } >large.toml
    sessions fanout large.toml
    [[ $stderr != *--* ]] || fail
}

@test "PS-2, PS-10: converge --no-push prints commands in merge order that any shell can be given" {
    make_repo
    thread 1 'merge_order = 3'
    thread 2 'merge_order = 1' 'goal = "It'"'"'s \"x\" $(touch ran) `touch ran`"'
    thread 10 'merge_order = 2'
    sessions fanout plan.toml
    for i in 1 2 10; do work $i "d$i/x"; done
    sessions converge --no
    assert_status 0
    [[ $(grep '^# ' <<<"$output" | paste -s -d ' ') == '# thread-2 # thread-10 # thread-1' ]] || fail "order"
    assert_line "git -C $(tree 2) push -u origin refs/heads/$(branch 2) &&"
    printf '#!/bin/sh\nfor a in "$@"; do printf "<%%s>" "$a"; done >>"$LOG"\necho >>"$LOG"\n' >"$BATS_TEST_TMPDIR/bin/gh"
    cp "$BATS_TEST_TMPDIR/bin/gh" "$BATS_TEST_TMPDIR/bin/git"
    chmod +x "$BATS_TEST_TMPDIR/bin/gh" "$BATS_TEST_TMPDIR/bin/git"
    export LOG=$BATS_TEST_TMPDIR/log
    PATH=$BATS_TEST_TMPDIR/bin:$PATH dash -c "$output"
    grep -qF '<[thread-2] It'"'"'s "x" $(touch ran) `touch ran`>' "$LOG" || fail "title: $(<"$LOG")"
    [[ ! -e ran && ! -e $(tree 2)/ran ]] || fail "it was run"
}

@test "PS-9: converge continues behind a failure, tells what is not committed, and can be called again" {
    begin 1 2 3 4
    forge_start
    file_origin
    sessions fanout plan.toml
    for i in 1 2 3; do work $i "d$i/x"; done
    echo more >"$(tree 4)/new"
    forge_refuse "$(branch 1)"
    sessions converge
    assert_status 1
    assert_output "pushing $(branch 2)…
opening PR for thread-2…
https://github.com/acme/widget/pull/1
pushing $(branch 3)…
opening PR for thread-3…
https://github.com/acme/widget/pull/2"
    [[ $stderr == *'error: thread-1: '* ]] || fail "no word of 1"
    [[ $stderr == *'error: thread-4: '*new* ]] || fail "no word of 4"
    [[ $(forge_pulls title | paste -s -d ' ') == *'[thread-2] Part 2'* ]] || fail "titles"
    rm "$FORGE/refuse" "$(tree 4)/new"
    work 2 d2/y
    sessions converge
    assert_status 0
    [[ $(forge_pulls number | wc -l) -eq 3 ]] || fail "pull requests: $(forge_pulls number,title)"
    [[ $(git -C "$FORGE/acme/widget.git" rev-parse "$(branch 2)") == $(git rev-parse "$(branch 2)") ]] || fail "not pushed"
    forge_merge 1
    sessions cleanup
    assert_status 0
    assert_line 'removed: thread-2'
}

@test "PS-5: a thread that strays from its paths is not converged without a word" {
    begin 1 2 3
    sessions fanout plan.toml
    work 1 d1/x
    mkdir -p "$(tree 2)/d3"
    echo x >"$(tree 2)/d3/x"
    git -C "$(tree 2)" add -A
    git -C "$(tree 2)" commit -q --no-verify -m stray
    sessions converge --no-push
    assert_status 1
    [[ $stderr == 'error: thread-2: '*d3/x* ]] || fail "no word of it"
    [[ $(grep '^# ' <<<"$output") == '# thread-1' ]] || fail "not the others"
    echo 'enforce = "warn"' >warn.toml
    begin_again 4 5 6
    cat plan.toml >>warn.toml
    sessions fanout warn.toml
    work 4 d5/x
    sessions converge --no-push
    assert_status 1
    grep -q '^warning: thread-4: .*d5/x' <<<"$stderr" || fail "no warning"
    [[ $(grep '^# ' <<<"$output" | tail -n 1) == '# thread-4' ]] || fail "not converged"
}
