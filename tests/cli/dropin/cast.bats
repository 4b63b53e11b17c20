#!/usr/bin/env bats
# The program as cast-parallel: its command line, its checks in their order, its output and exit codes, and its
# defects, by their numbers. A stand-in for claude does what A and B tell it.
# shellcheck disable=SC2016 # another shell expands it
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper
load ../streams_helper

cast() { # [ARG...]
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -sf "$ANABRANCH" "$BATS_TEST_TMPDIR/bin/cast-parallel"
    run_apart "$BATS_TEST_TMPDIR/bin/cast-parallel" "$@" 3>&-
    assert_no_sanitizer
}

start_cast() { # [ARG...]
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -sf "$ANABRANCH" "$BATS_TEST_TMPDIR/bin/cast-parallel"
    events=$BATS_TEST_TMPDIR/events
    "$BATS_TEST_TMPDIR/bin/cast-parallel" "$@" >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# A cast-db-log.py beside the program, which notes what it is told.
make_logger() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/cast-db-log.py" <<END
import sys
open('$BATS_TEST_TMPDIR/told', 'a').write(' '.join(sys.argv[1:4]) + '\n')
END
}

# A plan of batches with these ids, in plan.md, which git does not look at.
plan() { # ID...
    local id list=
    for id; do
        list+="${list:+,
    }{\"id\": $id, \"agents\": [{\"subagent_type\": \"main\", \"prompt\": \"part ${id//\"/}\"}]}"
    done
    printf '%s\n' '# The plan' '' 'Some words.' '' '```json dispatch' \
        "{\"plan_id\": \"demo\", \"batches\": [$list]}" '```' >plan.md
}

# The stand-in: what each stream does is in the variables A and B, as lines of shell.
agents() { # A [B]
    stub_claude 'prompt=$(cat)' "printf '%s\n' \"\$prompt\" >>'$BATS_TEST_TMPDIR/prompts'" \
        'case $prompt in *"stream a"*) eval "$A" ;; *) eval "$B" ;; esac'
    export A=$1 B=${2-:}
}

begin() { # [ID...]
    make_repo
    echo plan.md >>.git/info/exclude
    (($#)) || set -- 1 2 3 4
    plan "$@"
}

error() {
    echo "[cast-parallel] ERROR: $1"
}

assert_error() { # CODE MESSAGE: the first line of what is said
    assert_status "$1"
    [[ ${stderr%%$'\n'*} == "$(error "$2")" ]] || fail "expected: $(error "$2")"
}

# The command line

@test "cast-parallel: --help" {
    cast --help
    assert_status 0
    assert_line 'Usage: cast-parallel [--dry-run] [--split N] [--clean] <plan-file>'
    cast -h --no-such
    assert_status 0
}

@test "cast-parallel: wrong calls" {
    cast
    assert_error 2 'Plan file is required.'
    [[ $stderr == *'Usage: cast-parallel'* ]] || fail
    cast ''
    assert_error 2 'Plan file is required.'
    cast --split
    assert_error 2 '--split requires a number'
    [[ $stderr != *Usage* ]] || fail
    cast --split '' x
    assert_error 2 '--split requires a number'
    cast --split=2 x
    assert_error 2 'Unknown flag: --split=2'
    cast -- x
    assert_error 2 'Unknown flag: --'
    cast -n x
    assert_error 2 'Unknown flag: -n'
    cast one two
    assert_error 2 'Unexpected argument: two'
    cast nothere
    assert_error 2 'Plan file not found: nothere'
    cast .
    assert_error 2 'Plan file not found: .'
    [[ -z $output ]] || fail
}

@test "cast-parallel: it finds errors in the order of that tool" {
    echo 'no block' >plan.md
    cast --split two plan.md --bad
    assert_error 2 'Unknown flag: --bad'
    cast --split two plan.md
    assert_error 1 'No `json dispatch` fenced block found in: plan.md'
    printf '%s\n' '```json dispatch' '{' '```' >plan.md
    cast --split two plan.md
    assert_error 1 'Failed to parse dispatch JSON.'
    printf '%s\n' '```json dispatch' '[1]' '```' >plan.md
    cast --split two plan.md
    assert_error 1 'Failed to parse dispatch JSON.'
    for batches in '{}' '{"batches": []}' '{"batches": null}' '{"batches": 3}'; do
        printf '%s\n' '```json dispatch' "$batches" '```' >plan.md
        cast --split two plan.md
        assert_error 1 'No batches found in dispatch manifest.'
    done
    plan 1 2 3
    cast --split two plan.md
    assert_error 2 '--split must be a positive integer'
    cast --split -1 plan.md
    assert_error 2 '--split must be a positive integer'
    cast --split 0 plan.md
    assert_error 1 '--split N must be between 1 and 2 (got 0, batch count is 3)'
    cast --split 3 plan.md
    assert_error 1 '--split N must be between 1 and 2 (got 3, batch count is 3)'
    cast --split 99999999999999999999 plan.md
    assert_error 1 '--split N must be between 1 and 2 (got 99999999999999999999, batch count is 3)'
}

@test "cast-parallel: in an agent's chain it ends at once, and says nothing" {
    CAST_SUBPROCESS=1 cast --no-such-flag
    assert_status 0
    [[ -z $output$stderr ]] || fail
    ANABRANCH_TASK=a cast
    assert_status 0
    [[ -z $output$stderr ]] || fail
    CAST_SUBPROCESS=0 cast
    assert_status 2
}

@test "cast-parallel: a dry run, in no repository" {
    plan 1 2 '"three"' 4 5
    cast --dry-run plan.md
    assert_status 0
    assert_output '
cast parallel — dry run
  Plan: plan.md
  Plan ID: demo
  Total batches: 5
  Split after batch: 2

  Stream A (worktree-a): batches 1,2
  Stream B (worktree-b): batches three,4,5'
    cast plan.md --split 4 --dry-run
    assert_status 0
    assert_line '  Stream A (worktree-a): batches 1,2,three,4'
    assert_line '  Stream B (worktree-b): batches 5'
    [[ -z $stderr ]] || fail
}

@test "cast-parallel: a dry run of one batch, and of batches that say nothing but their ids" {
    plan 7
    cast --dry-run plan.md
    assert_status 0
    assert_line '  Split after batch: 1'
    assert_line '  Stream A (worktree-a): batches 7'
    refute_contains 'Stream B' # as the run: it has one session
    printf '%s\n' '```json dispatch' '{"batches": [{"id": 1}, {"id": 2}]}' '```' >plan.md
    cast --dry-run plan.md
    assert_status 0
    assert_line '  Plan ID: '
    assert_line '  Stream B (worktree-b): batches 2'
}

@test "cast-parallel: a block at the start of a line is the plan, whatever surrounds it" {
    local block=$'```json dispatch\n{"plan_id": "p", "batches": [{"id": 1}, {"id": 2}]}\n```'
    local indented=$'- an example:\n\n  ```json dispatch\n  {"batches": []}\n  ```\n'
    for text in $'````markdown\n# Words\n'"$block"$'\n````' "$indented$block" $'---\ntasks: []\n---\n'"$block" \
        $'````markdown\n'"$block"$'\n````\n'"$indented"; do
        echo "$text" >plan.md
        cast --dry-run plan.md
        assert_status 0
        assert_line '  Stream B (worktree-b): batches 2'
    done
    # There are two: by the rules of Markdown, the first one is only an example.
    printf '%s\n' '````' "${block/'"id": 2'/'"id": 3'}" '````' "$block" >plan.md
    cast --dry-run plan.md
    assert_status 0
    assert_line '  Stream B (worktree-b): batches 2'
    printf '%s\n' '````' "$block" >plan.md
    sed -i 's/}$/,/' plan.md
    cast --dry-run plan.md
    assert_error 1 'Failed to parse dispatch JSON.'
    begin
    printf '%s\n' '# Words' "$indented$block" >plan.md
    agents 'echo a >one' 'echo b >two'
    cast plan.md
    assert_status 0
    assert_in main one a
    assert_in main two b
    grep -qF "the file $PWD/plan.md" "$BATS_TEST_TMPDIR/prompts" || fail "$(<"$BATS_TEST_TMPDIR/prompts")"
}

@test "cast-parallel: a leading ~ is the home folder" {
    plan 1 2
    mkdir -p "$HOME/plans"
    mv plan.md "$HOME/plans/"
    # shellcheck disable=SC2088 # the program is to expand it
    cast --dry-run '~/plans/plan.md'
    assert_status 0
    assert_line "  Plan: $HOME/plans/plan.md"
    # shellcheck disable=SC2088
    cast '~/nothere'
    assert_error 2 "Plan file not found: $HOME/nothere"
}

# Runs

@test "cast-parallel: two sessions, merged into the branch that is checked out" {
    begin
    agents 'echo a >one; git add one; git commit -qm one' 'echo b >two'
    cast plan.md
    assert_status 0
    assert_line 'cast parallel — demo (4 batches, split at 2)'
    assert_line '  Stream A: batches 1,2'
    assert_line '  Stream B: batches 3,4'
    assert_contains '[cast-parallel] Stream A completed.'
    assert_contains '[cast-parallel] Merged Stream B into main.'
    assert_line '[cast-parallel] Parallel execution complete. All results merged into main.'
    assert_in main one a
    assert_in main two b
    [[ -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
    assert_clean
    assert_unchanged_checkout
}

@test "cast-parallel: branches are named after the stream and the process" {
    begin
    agents 'git symbolic-ref --short HEAD >name-a' 'git symbolic-ref --short HEAD >name-b'
    start_cast plan.md
    end_plan
    assert_status 0
    assert_in main name-a "cast-parallel-a-$engine"
    assert_in main name-b "cast-parallel-b-$engine"
}

@test "cast-parallel: it works on the repository that it is called in, wherever the plan is" {
    begin
    mkdir "$HOME/plans"
    mv plan.md "$HOME/plans/"
    agents 'pwd >where-a' 'pwd >where-b'
    cd dir || return
    cast "$HOME/plans/plan.md"
    assert_status 0
    cd ..
    [[ $(git show main:where-a) == "$PWD"/.anabranch/worktrees/*/a ]] || fail "$(git show main:where-a)"
    refute_in main dir/where-a
}

@test "cast-parallel: a batch that has only an id is done by what the plan's file says" {
    begin
    printf '%s\n' '# Words' '```json dispatch' '{"plan_id": 7, "batches": [{"id": 1}, {"id": 2}]}' '```' >plan.md
    agents 'echo a >one' 'echo b >two'
    cast plan.md
    assert_status 0
    grep -qF "the file $PWD/plan.md" "$BATS_TEST_TMPDIR/prompts" || fail "$(<"$BATS_TEST_TMPDIR/prompts")"
    assert_in main two b
}

@test "cast-parallel: sessions that change nothing are no failure" {
    begin
    agents : :
    cast plan.md
    assert_status 0
    assert_contains 'All results merged into main.'
    assert_clean
}

@test "cast-parallel: it does not call work merged that the checkout cannot follow, and says so before" {
    begin
    agents "$(until_exists b-in); echo a >file" 'echo b >two'
    echo mine >>file
    start_cast plan.md
    wait_for grep -q 'Merged Stream B' "$events"
    touch "$BATS_TEST_TMPDIR/b-in"
    end_plan
    assert_status 1
    assert_line '[cast-parallel] Merged Stream B into main.'
    [[ $(grep 'Merged Stream A' <<<"$output") == '[cast-parallel] Merged Stream A into refs/anabranch/runs/'*', not yet into main.' ]] ||
        fail 'Stream A'
    [[ $(git show main:file) != a ]] || fail 'it is in main'
    [[ ${stderr%%$'\n'*} == '[cast-parallel] WARN: main is checked out here with uncommitted changes: file. '* ]] || fail 'no warning'
    [[ $stderr == *"$(error 'The checkout of main could not follow. ')"* ]] || fail 'no advice'
}

@test "cast-parallel: it reports changes of an agent outside its worktree, and the work that it saved" {
    begin
    agents 'git config alias.x y; echo a >one' 'echo half >two; exit 2'
    cast plan.md
    assert_status 1
    [[ $stderr == *'[cast-parallel] WARN: '*'outside its workspace: '*config* ]] || fail 'no change'
    [[ $stderr == *'[cast-parallel] WARN: Stream B: work saved as refs/anabranch/salvage/'*/b/1* ]] || fail 'no salvage'
}

@test "cast-parallel: cast-db-log.py beside it is told what happens" {
    begin
    agents 'echo a >one' 'echo b >two'
    make_logger
    cast plan.md
    assert_status 0
    run cat "$BATS_TEST_TMPDIR/told"
    assert_output $'--event parallel_start --message\n--event parallel_streams_done --message\n--event parallel_complete --message'
    # Also where it is found along PATH.
    rm "$BATS_TEST_TMPDIR/told"
    export A='echo aa >one' B='exit 2'
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
    run_apart cast-parallel plan.md 3>&-
    assert_status 1
    grep -q parallel_fail "$BATS_TEST_TMPDIR/told" || fail "$(<"$BATS_TEST_TMPDIR/told")"
}

@test "cast-parallel: a logger that hangs or fails holds nothing up" {
    begin
    agents 'echo a >one' 'echo b >two'
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    printf '%s\n' 'import time' 'time.sleep(1000)' >"$BATS_TEST_TMPDIR/bin/cast-db-log.py"
    cast plan.md
    assert_status 0
    assert_in main one a
    echo 'raise SystemExit(3)' >"$BATS_TEST_TMPDIR/bin/cast-db-log.py"
    export A='echo aa >one' B='echo bb >two'
    cast plan.md
    assert_status 0
    [[ -z $stderr ]] || fail
}

# Defects of cast-parallel that we do not copy

@test "CP-1 as cast-parallel: uncommitted work is merged as well" {
    begin
    agents 'echo a >one; echo more >>file'
    cast plan.md
    assert_status 0
    assert_in main one a
    git show main:file | grep -qx more || fail
}

@test "CP-2 as cast-parallel: the work of the stream that did well is merged, the other's is saved" {
    begin
    agents 'echo a >one' 'echo half >two; echo it broke >&2; exit 2'
    cast plan.md
    assert_status 1
    assert_in main one a
    [[ $stderr == *"$(error 'Stream B exited with code 2')"* ]] || fail
    [[ $stderr == *'it broke'* ]] || fail
    [[ $stderr == *"$(error 'One or both sessions failed. Logs preserved at:')"* ]] || fail
    refute_contains 'All results merged'
    assert_clean 'refs/anabranch/salvage/*/b/1'
    # And the rest can be done.
    export B='echo b >two'
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main two b
}

@test "CP-3 as cast-parallel: two at once, in one repository and in two" {
    begin
    git clone -q . ../other
    cp plan.md ../other/
    agents "$(until_exists released); echo a >one-\$\$" 'echo b >two-$$'
    start_cast plan.md
    wait_for grep -q 'Stream A running' "$events"
    export A='echo A >oneone' B='echo B >twotwo'
    cast plan.md
    assert_status 0
    cd ../other || return
    git config user.name T
    git config user.email t@example.com
    cast plan.md
    assert_status 0
    assert_in main oneone A
    cd ../repo || return
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
    assert_in main oneone A
    [[ $(git ls-tree --name-only main | grep -c '^one-') -eq 1 ]] || fail
    [[ $stderr != *'outside its workspace'* ]] || fail
    [[ ! -e $HOME/.claude/worktrees ]] || fail 'something shared was made'
}

conflict() {
    begin
    make_logger
    agents "$(until_exists b-in); echo a >file" 'echo b >file'
    start_cast plan.md
    wait_for grep -q 'Merged Stream B' "$events"
    touch "$BATS_TEST_TMPDIR/b-in"
    end_plan
    assert_status 1
    [[ $stderr == *"$(error "Merge conflict: cast-parallel-a-$engine into main")"* ]] || fail
    grep -q -e '^--event parallel_merge_conflict --message' "$BATS_TEST_TMPDIR/told" || fail "$(<"$BATS_TEST_TMPDIR/told")"
    [[ $stderr == *"$(error 'Conflicting files: file')"* ]] || fail
    [[ $stderr == *"$(error 'Merge failed. Worktrees preserved for manual resolution:')"* ]] || fail
}

@test "CP-4 as cast-parallel: a conflict's worktree and branch outlive the next run" {
    conflict
    local kept branch=cast-parallel-a-$engine
    kept=$(git worktree list --porcelain | sed -n 's/^worktree //p' | tail -n 1)
    [[ $(<"$kept/file") == a ]] || fail "$kept"
    export A='echo more >third' B=:
    cast plan.md
    assert_status 0
    [[ $(<"$kept/file") == a ]] || fail 'the worktree is gone'
    git rev-parse -q --verify "$branch" >/dev/null || fail 'the branch is gone'
}

@test "CP-4 as cast-parallel: a branch of an earlier process of the same number is left alone" {
    begin
    agents 'git symbolic-ref --short HEAD >name-a' :
    ln -sf "$ANABRANCH" "$BATS_TEST_TMPDIR/cast-parallel"
    # The process that makes the branch becomes the program.
    run_apart bash -c 'git branch "cast-parallel-b-$$" && echo $$ >../pid && exec "$0" plan.md' "$BATS_TEST_TMPDIR/cast-parallel" 3>&-
    assert_status 0
    assert_in main name-a "cast-parallel-a-$(<../pid)-2"
    [[ $(git branch --list 'cast-parallel*') == "  cast-parallel-b-$(<../pid)" ]] || fail "$(git branch)"
}

@test "CP-5 as cast-parallel: TERM ends the sessions, exit 143" {
    begin
    agents "echo half >one; $(until_exists never)" "$(until_exists never)"
    start_cast plan.md
    wait_for grep -q 'Stream A running' "$events"
    wait_for grep -q 'Stream B running' "$events"
    wait_for has_written a one
    kill -TERM "$engine"
    end_plan
    assert_status 143
    [[ -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "CP-6 as cast-parallel: claude is called with flags that it has" {
    begin
    agents 'echo a >one'
    cast plan.md
    assert_status 0
    run cat "$BATS_TEST_TMPDIR/argv"
    assert_contains --dangerously-skip-permissions
    refute_contains --headless
    refute_contains 'part 1'
}

@test "CP-7 as cast-parallel: no merge is left half done, and what is printed resolves it" {
    conflict
    [[ ! -e .git/MERGE_HEAD ]] || fail 'the checkout is in the middle of a merge'
    assert_unchanged_checkout
    assert_in main file b
    local line
    line=$(grep -o 'git switch main && git merge.*' <<<"$stderr")
    ! eval "$line" 2>/dev/null || fail 'no conflict'
    echo both >file
    git commit -qam resolved
    line=$(grep -o 'anabranch resume .*' <<<"$stderr")
    run eval "$line" 3>&-
    assert_status 0
    [[ -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
    assert_clean
    assert_in main file both
}

@test "as cast-parallel: if main moves to another work tree, the advice names that work tree" {
    local there=$BATS_TEST_TMPDIR/there line
    begin
    agents "$(until_exists b-in); cd $PWD && git switch -q -c side && git worktree add -q $there main && cd - && echo a >file" 'echo b >file'
    start_cast plan.md
    wait_for grep -q 'Merged Stream B' "$events"
    touch "$BATS_TEST_TMPDIR/b-in"
    end_plan
    assert_status 1
    line=$(sed -n 's/.*to resolve it: //p' <<<"$stderr")
    [[ $line == "git -C $there merge cast-parallel-a-$engine" ]] || fail "$line"
    ! eval "$line" 2>/dev/null || fail 'no conflict'
    [[ $(git -C "$there" diff --name-only --diff-filter=U) == file ]] || fail 'no merge'
}

@test "CP-8 as cast-parallel: one batch is one session; dependencies that are cut are told" {
    begin 1
    agents 'echo a >one'
    cast plan.md
    assert_status 0
    [[ $(wc -l <"$BATS_TEST_TMPDIR/argv") -eq 1 ]] || fail "$(<"$BATS_TEST_TMPDIR/argv")"
    refute_contains 'Stream B'
    printf '%s\n' '```json dispatch' '{"batches": [{"id": 1, "description": "x"}, {"id": 2, "description": "y", "depends_on": [1]}]}' '```' >plan.md
    export A='echo A >one' B='echo B >two'
    cast plan.md
    assert_status 0
    [[ $stderr == *'[cast-parallel] WARN: cut apart: 2 needs 1'* ]] || fail
}

@test "cast-parallel: ids of any kind, batches of any kind: the dry run says what the run does" {
    begin
    printf '%s\n' '```json dispatch' '{"plan_id": 1.5, "batches": [{"id": 1.5, "agents": []}, {"id": "a b/c"}, {"id": null, "agents": 5},
        {"id": true, "depends_on": ["nope"], "parallel": "maybe"}, {"id": 1.5}, {"id": ""}]}' '```' >plan.md
    cast --dry-run plan.md
    assert_status 0
    assert_line '  Plan ID: 1.5'
    assert_line '  Stream A (worktree-a): batches 1.5,a b/c,None'
    assert_line '  Stream B (worktree-b): batches True,1.5,'
    agents 'echo a >one' 'echo b >two'
    cast plan.md
    assert_status 0
    assert_line '  Stream A: batches 1.5,a b/c,None'
    assert_in main one a
    assert_in main two b
    grep -qxF '## Batch a b/c' "$BATS_TEST_TMPDIR/prompts" || fail "$(<"$BATS_TEST_TMPDIR/prompts")"
    [[ $(grep -cxF '## Batch 1.5' "$BATS_TEST_TMPDIR/prompts") -eq 2 ]] || fail "$(<"$BATS_TEST_TMPDIR/prompts")"
    # Without anything that is not understood there is nothing to warn of.
    printf '%s\n' '```json dispatch' '{"batches": [{"id": 1.5, "agents": []}, {"id": 2, "agents": []}]}' '```' >plan.md
    export A='echo aa >one' B=:
    cast plan.md
    assert_status 0
    [[ -z $stderr ]] || fail
    assert_in main one aa
    # An id without a letter is one as well.
    printf '%s\n' '```json dispatch' '{"batches": [{"id": 1}, {"id": ""}]}' '```' >plan.md
    cast --dry-run plan.md
    assert_line '  Stream B (worktree-b): batches '
    export A=: B='echo bb >two'
    cast plan.md
    assert_status 0
    assert_line '  Stream B: batches '
    assert_in main two bb
}

# One stream is at work and killed; left is its worktree.
killed_cast() {
    begin
    agents "echo half >one; $(until_exists never)" ':'
    start_cast plan.md
    wait_for has_written a one
    kill -KILL "$engine"
    end_plan
    wait_for no_agents
    left=$(git worktree list --porcelain | sed -n 's/^worktree //p' | grep '/a$')
    [[ -e $left/one ]] || fail "$left"
    export A='echo a >three' B=:
}

@test "CP-13 as cast-parallel: the next run reports the leftovers of a killed run, and can remove them" {
    killed_cast
    cast plan.md
    assert_status 0
    assert_in main three a
    [[ $stderr == *"[cast-parallel] WARN:   worktree $left"* ]] || fail 'no worktree'
    [[ $stderr == *'[cast-parallel] WARN:   branch cast-parallel-a-'"$engine"* ]] || fail 'no branch'
    [[ $stderr =~ anabranch\ resume\ ([0-9a-f-]+) && -e $left/one ]] || fail 'no way to go on'
    export A='echo b >three'
    cast --clean plan.md
    assert_status 0
    assert_contains "[cast-parallel] Removed workspace $left: "
    [[ ! -e $left && -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" one half
    cast --clean plan.md
    assert_status 0
    [[ -z $stderr ]] || fail 'told again'
}

@test "CP-13 as cast-parallel: the commands that are printed for a killed run do what they say" {
    killed_cast
    cast plan.md
    [[ $stderr =~ anabranch\ (resume\ [0-9a-f-]+) ]] || fail 'no way to go on'
    export A='echo finished >one'
    # shellcheck disable=SC2086 # several words
    run_apart anabranch ${BASH_REMATCH[1]} 3>&-
    assert_status 0
    assert_in main one finished
    [[ ! -e $left && -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
}

@test "CP-9 as cast-parallel: a batch without an id, CRLF, two blocks, a slash in the plan_id" {
    begin
    agents 'echo a >one'
    printf '%s\n' '```json dispatch' '{"batches": [{"id": 1},' '{"description": "x"}]}' '```' >plan.md
    cast --dry-run plan.md
    assert_error 1 'plan.md:3: batch 2 has no id'
    plan 1 2
    cat plan.md plan.md >two.md
    cast --dry-run two.md
    assert_error 1 'Failed to parse dispatch JSON.'
    [[ $stderr == *two.md:* ]] || fail
    sed -i 's/demo/a\/b/; s/$/\r/' plan.md
    cast plan.md
    assert_status 0
    assert_contains 'cast parallel — a/b (2 batches'
    assert_in main one a
}

@test "CP-10 as cast-parallel: no repository, no branch, no claude: said before anything is done" {
    plan 1 2
    agents 'echo a >one'
    cast plan.md
    assert_error 1 'This is not a git repository'
    rm plan.md
    begin
    git checkout -q --detach
    cast plan.md
    assert_status 1
    [[ $stderr == *"$(error 'No branch is checked out: switch to the one to merge into first')"* ]] || fail
    git switch -q main
    mkdir "$BATS_TEST_TMPDIR/few"
    ln -s "$(command -v git)" "$BATS_TEST_TMPDIR/few/git"
    ln -s "$(command -v sh)" "$BATS_TEST_TMPDIR/few/sh"
    run_apart env PATH="$BATS_TEST_TMPDIR/few" "$BATS_TEST_TMPDIR/bin/cast-parallel" plan.md
    assert_error 1 'claude was not found on PATH'
    [[ ! -e .anabranch && ! -e .git/anabranch/runs ]] || fail 'something was begun'
}

@test "CP-11 as cast-parallel: a failure is reported when it happens" {
    begin
    agents "$(until_exists seen); echo a >one" 'exit 2'
    start_cast plan.md
    wait_for grep -q 'Stream B exited with code 2' "$BATS_TEST_TMPDIR/stderr"
    touch "$BATS_TEST_TMPDIR/seen"
    end_plan
    assert_status 1
    assert_in main one a
    [[ $stderr != *'work is saved'* ]] || fail 'there was none'
}

@test "CP-13 as cast-parallel: leftovers of a kill -9 are resumed" {
    begin
    agents "echo half >one; $(until_exists released); echo a >one" 'echo b >two'
    start_cast plan.md
    wait_for grep -q 'Merged Stream B' "$events"
    wait_for has_written a one
    kill -KILL "$engine"
    end_plan
    wait_for no_agents
    touch "$BATS_TEST_TMPDIR/released"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_no_sanitizer
    refute_contains 'outside its workspace'
    assert_in main one a
    [[ -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "CP-13 as cast-parallel: or it is saved and taken away" {
    begin
    agents "echo half >one; $(until_exists never)" 'echo b >two'
    start_cast plan.md
    wait_for grep -q 'Merged Stream B' "$events"
    wait_for has_written a one
    kill -KILL "$engine"
    end_plan
    wait_for no_agents
    run_apart anabranch clean --all
    assert_status 0
    [[ -z $(git branch --list 'cast-parallel*') ]] || fail "$(git branch)"
    assert_clean 'refs/anabranch/salvage/*'
}

@test "CP-13 as cast-parallel: killed at any write of the journal, it is resumed and leaves nothing" {
    local k killed=137
    begin 1 2
    agents 'echo a$TRY >one' 'echo b$TRY >two'
    for ((k = 1; killed == 137; k += 3)); do
        export TRY=$k
        ANABRANCH_KILL_AT=$k cast plan.md
        killed=$status
        ((k > 1 || killed == 137)) || skip 'not built with kill points'
        ((killed == 137)) || break
        wait_for no_agents
        run_apart anabranch resume 3>&-
        # One that had not begun to be written down is none.
        [[ $status -eq 0 && $(git show main:one 2>/dev/null) == "a$k" ]] || cast plan.md
        assert_status 0
        assert_in main one "a$k"
        assert_in main two "b$k"
        [[ -z $(git branch --list 'cast-parallel*') ]] || fail "killed at $k:" "$(git branch)"
        [[ $(git worktree list | wc -l) -eq 1 ]] || fail "killed at $k:" "$(git worktree list)"
    done
    ((k > 20)) || fail "there were only $k writes"
}

@test "CP-13 as cast-parallel: killed at any write of the journal, all of it is taken away" {
    local k killed=137
    begin 1 2
    agents 'echo a$TRY >one' 'echo b$TRY >two'
    for ((k = 2; killed == 137; k += 3)); do
        export TRY=$k
        ANABRANCH_KILL_AT=$k cast plan.md
        killed=$status
        ((k > 2 || killed == 137)) || skip 'not built with kill points'
        wait_for no_agents
        run_apart anabranch clean --all
        assert_status 0
        [[ -z $(git branch --list 'cast-parallel*') ]] || fail "killed at $k:" "$(git branch)"
        [[ $(git worktree list | wc -l) -eq 1 ]] || fail "killed at $k:" "$(git worktree list)"
    done
    ((k > 20)) || fail "there were only $k writes"
}
