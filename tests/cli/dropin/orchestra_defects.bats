#!/usr/bin/env bats
# Defects of parallel-orchestra, by number: each defect that a run can show has a test that fails
# if we have the defect.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # run_plan looks at status and output

load ../helper
load ../run_helper

landed_count() {
    grep -o '[0-9]* landed' <<<"$output" | tail -n 1 | cut -d ' ' -f 1
}

@test "PO-1: many worktrees at once, and no task is lost to git's races" {
    make_repo
    begin_plan
    local i
    for i in {1..40}; do add_task "t$i" -- "write f$i $i"; done
    # Readers of the worktrees' folders are what the races hurt as well.
    (while [[ -e $BATS_TEST_TMPDIR/reading ]]; do git worktree list || echo bad >>"$BATS_TEST_TMPDIR/bad"; done >/dev/null 2>&1 3>&-) &
    touch "$BATS_TEST_TMPDIR/reading"
    run_plan -j 8
    rm "$BATS_TEST_TMPDIR/reading"
    wait
    assert_status 0
    [[ $(landed_count) == 40 ]] || fail "landed: $(landed_count)"
    [[ $(git ls-tree --name-only main | grep -c '^f[0-9]') == 40 ]] || fail "$(git ls-tree main)"
    assert_clean
    assert_unchanged_checkout
}

@test "PO-2: a task is not landed before its work is on the base" {
    make_repo
    begin_plan
    add_task t -- 'append file ten'
    add_task u 'depends_on: [t]' -- 'write u 1'
    echo mine >file
    run_plan --json
    # Nothing that was said to be landed is on no branch, and the end is not taken for success.
    assert_status 4
    local commit
    while read -r commit; do
        [[ -n $(git branch --contains "$commit") ]] || fail "on no branch: $commit"
    done < <(sed -n 's/.*"event":"task.landed".*"commit":"\([^"]*\)".*/\1/p' <<<"$output")
}

@test "PO-3: a commit that fails is a failure, and the work is kept" {
    make_repo
    printf '#!/bin/sh\nexit 1\n' >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan
    # By default the user's hooks do not run, so the commit does not fail at all.
    add_task t -- 'write a 1'
    run_plan
    assert_status 0
    assert_in main a 1
    begin_plan 'commit: {hooks: true}'
    add_task t 'retry: {verify: 0}' -- 'write b 1'
    run_plan
    assert_status 1
    assert_summary t failed
    refute_in main b
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" b 1
    assert_clean 'refs/anabranch/salvage/*/t/1'
}

@test "PO-3: signing that would ask does not get in the way of committing" {
    make_repo
    git config commit.gpgsign true
    git config gpg.program /bin/false
    cp .git/config "$BATS_TEST_TMPDIR/config"
    begin_plan
    add_task t -- 'write a 1'
    run_plan
    assert_status 0
    assert_in main a 1
    assert_clean
}

@test "PO-3: a lock that an agent leaves in its own workspace costs no work" {
    make_repo
    begin_plan
    add_task t -- 'write a 1' 'sh touch "$(git rev-parse --git-dir)/index.lock" "$(git rev-parse --git-dir)/HEAD.lock"'
    run_plan
    assert_status 0
    assert_in main a 1
    assert_clean
}

@test "PO-5: a dependant starts from its dependencies' work, a review sees it" {
    make_repo
    begin_plan
    add_task a -- 'append file changed'
    add_task b 'depends_on: [a]' -- 'sh tail -n 1 file >b'
    add_task review 'read_only: true' 'depends_on: [b]' -- 'sh tail -n 1 file >$STAMPS.seen; cat b >>$STAMPS.seen'
    run_plan
    assert_status 0
    assert_in main b changed
    [[ $(<"$STAMPS.seen") == $'changed\nchanged' ]] || fail "$(<"$STAMPS.seen")"
}

@test "PO-6: the work of a failed attempt is not lost" {
    make_repo
    begin_plan
    add_task fails -- 'write fails uncommitted' 'write committed 1' 'exit 2'
    add_task slow 'timeout: 5s' -- 'write slow 1' 'commit own' 'write slow2 1' 'hang'
    run_plan
    assert_status 1
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/fails/*')" fails uncommitted
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/slow/*')" slow2 1
    assert_clean 'refs/anabranch/salvage/*/fails/1' 'refs/anabranch/salvage/*/slow/1'
}

@test "PO-7: Ctrl-C runs nothing more, retries nothing, and keeps what landed" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b 'retry: 3' 'depends_on: [a]' -- "sh touch $BATS_TEST_TMPDIR/b" 'hang'
    add_task c 'depends_on: [b]' -- 'write c 1'
    local i
    for i in 1 2 3 4 5; do add_task "q$i" 'depends_on: [a]' -- "sh touch $BATS_TEST_TMPDIR/q" 'hang'; done
    start_plan -j 1
    wait_for test -e "$BATS_TEST_TMPDIR/b" -o -e "$BATS_TEST_TMPDIR/q"
    kill -INT "$engine"
    end_plan
    assert_status 130
    [[ $(grep -c '"event":"task.started"' <<<"$output") == 2 ]] || fail "more was started"
    refute_event task.retried
    assert_in main a 1
    assert_clean
    assert_unchanged_checkout
}

@test "PO-8: a conflict does not stop the others, and its files are named" {
    make_repo
    begin_plan 'enforce: warn'
    add_task a 'order: 1' -- 'sh sed -i s/five/a/ file'
    add_task b 'order: 2' -- 'sh sed -i s/five/b/ file'
    add_task c 'order: 3' -- 'write c 1'
    run_plan
    assert_status 4
    assert_summary b 'conflicts with what has landed: file'
    assert_in main c 1
    assert_contains '2 landed, 1 in conflict'
}

@test "PO-9: work lands on the branch that was the base, wherever HEAD has gone" {
    make_repo
    git branch other
    begin_plan
    add_task a -- "sh cd $PWD && env -u GIT_CEILING_DIRECTORIES git switch -q other" 'write a 1'
    run_plan
    assert_status 0
    assert_in main a 1
    refute_in other a
}

@test "PO-10: all tasks without dependencies start from the same commit" {
    make_repo
    begin_plan
    local i
    for i in 1 2 3; do
        add_task "t$i" -- "sh git rev-parse HEAD >>\$STAMPS.heads" "sh $(committer "theirs$i")" "write t$i 1"
    done
    run_plan -j 1
    assert_status 0
    [[ $(sort -u "$STAMPS.heads" | wc -l) == 1 ]] || fail "$(<"$STAMPS.heads")"
    for i in 1 2 3; do assert_in main "t$i" 1; assert_in main "theirs$i" here; done
}

@test "PO-11: a dirty checkout is no conflict and costs no agent's work" {
    make_repo
    echo mine >>dir/inner
    begin_plan
    add_task t -- 'append file ten'
    run_plan
    assert_status 0
    [[ $(tail -n 1 dir/inner) == mine && $(tail -n 1 file) == ten ]] || fail "the checkout is wrong"
}

@test "PO-12: dependencies land before their dependants, however they are listed" {
    make_repo
    begin_plan
    add_task c 'depends_on: [b]' -- 'write c 1'
    add_task b 'depends_on: [a]' -- 'write b 1'
    add_task a -- 'write a 1'
    run_plan --json
    assert_status 0
    [[ $(landed_in_order) == 'a b c' ]] || fail "$(landed_in_order)"
}

@test "PO-13: two runs at once in one repository lose nothing" {
    make_repo
    begin_plan
    local i
    for i in {1..8}; do add_task "t$i" -- "sh echo 1 >\$ANABRANCH_RUN-t$i"; done
    anabranch run --engine sim -j 3 plan.yaml >"$BATS_TEST_TMPDIR/one" 2>&1 3>&- &
    local one=$!
    run_plan -j 3
    assert_status 0
    status=0
    wait "$one" || status=$?
    output=$(<"$BATS_TEST_TMPDIR/one")
    assert_status 0
    [[ $(git ls-tree --name-only main | grep -c -e '-t[1-8]$') == 16 ]] || fail "$(git ls-tree --name-only main)"
    assert_clean
    assert_unchanged_checkout
}

@test "PO-14: files in the project's .claude are not committed" {
    make_repo
    mkdir -p .claude/agents
    echo secret >.claude/settings.local.json
    echo words >.claude/agents/a.md
    begin_plan
    add_task t -- 'write a 1'
    add_task self -- 'write b 1' 'sh git add -A && git commit -q -m own'
    run_plan
    assert_status 0
    assert_in main a 1
    assert_in main b 1
    ! git ls-tree -r --name-only main | grep -q claude || fail "$(git ls-tree -r --name-only main)"
    [[ $(<.claude/settings.local.json) == secret ]] || fail "the user's file was changed"
    assert_clean
}

@test "PO-15: a plan in a subfolder brings nothing to the root" {
    make_repo
    mkdir -p sub/.claude
    echo words >sub/.claude/notes.md
    begin_plan 'cwd: sub'
    add_task t -- 'write a 1'
    touch sub/x
    git add sub/x && git commit -q -m sub
    run_plan
    assert_status 0
    assert_in main sub/a 1
    ! git ls-tree -r --name-only main | grep -q claude || fail "$(git ls-tree -r --name-only main)"
}

@test "PO-16: a tracked CLAUDE.md stays, and an agent's edit of it lands" {
    make_repo
    mkdir .claude
    echo rules >.claude/CLAUDE.md
    echo rules >CLAUDE.md
    git add . && git commit -q -m rules
    begin_plan
    add_task own -- 'write a 1' 'commit own'
    add_task edit -- 'append .claude/CLAUDE.md more'
    run_plan
    assert_status 0
    assert_in main CLAUDE.md rules
    assert_in main .claude/CLAUDE.md $'rules\nmore'
}

@test "PO-17: the repository's configuration is not written to" {
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    add_task b 'retry: 1' -- 'on 1 exit 1' 'write b 1'
    run_plan
    assert_status 0
    cmp .git/config "$BATS_TEST_TMPDIR/config" || fail "changed"
    [[ ! -e .git/config.worktree ]] || fail "config.worktree"
    [[ $(<.git/info/exclude) != *anabranch* ]] || fail "$(<.git/info/exclude)"
}

@test "PO-18: failed attempts, retries and stopped runs leave no branches and no worktrees" {
    make_repo
    begin_plan
    add_task retried 'retry: 1' -- 'write half 1' 'on 1 exit 1' 'write a 1'
    add_task failed -- 'write half 1' 'commit own' 'exit 2'
    add_task slow 'timeout: 1s' -- 'hang'
    run_plan
    assert_status 1
    [[ $(git branch --format='%(refname:short)') == main ]] || fail "$(git branch)"
    assert_clean 'refs/anabranch/salvage/*/retried/1' 'refs/anabranch/salvage/*/failed/1'
}

@test "PO-20: two tasks of one id are refused" {
    make_repo
    begin_plan
    add_task same -- 'write a 1'
    add_task same -- 'write b 1'
    run_plan
    assert_status 2
    [[ $stderr == *same* ]] || fail "not named"
    [[ ! -e .git/anabranch ]] || fail "something was done"
}

@test "PO-21, PO-27: nothing that an agent prints stops the run" {
    make_repo
    begin_plan
    add_task cycles 'engine: command' 'command: "cat >/dev/null; echo 1 >cycles; echo {\"status\":\"ok\",\"cycles\":\"many\"}"' 'prompt: x'
    add_task deep 'engine: command' 'command: "cat >/dev/null; echo 1 >deep; printf %0100000d 0 | tr 0 [; echo"' 'prompt: x'
    add_task bytes 'engine: command' 'command: "cat >/dev/null; echo 1 >bytes; head -c 100000 /dev/urandom"' 'prompt: x'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 0
    assert_contains '3 landed'
    # The same from one that is expected to speak JSON.
    begin_plan
    add_task deep -- 'sh printf %0100000d 0 | tr 0 [; echo; printf "{\"a\":%0.s" $(seq 5000); echo; head -c 100000 /dev/urandom; echo' 'write deep2 1'
    run_plan
    assert_status 0
    assert_contains '1 landed'
}

@test "PO-22: a prompt of any size, and variables of any kind" {
    make_repo
    begin_plan
    {
        printf '  - id: big\n    env: {NUMBER: 7, TEXT: "a b"}\n    prompt: |\n'
        printf '      sim> sh echo "$NUMBER $TEXT" >env\n      '
        head -c 300000 /dev/zero | tr '\0' x
        echo
    } >>plan.yaml
    run_plan
    assert_status 0
    assert_in main env '7 a b'
}

@test "PO-23: a missing plan and a wrong number of workers are wrong calls" {
    make_repo
    run_plan
    assert_status 2
    begin_plan
    add_task a -- 'write a 1'
    run_plan --max-workers 0
    assert_status 2
    run_plan -j -1
    assert_status 2
    run_plan -j x
    assert_status 2
    [[ ! -e .git/anabranch ]] || fail "something was done"
}

@test "PO-24, PO-25: a missing folder, a missing agent are said so, before anything is done" {
    make_repo
    begin_plan 'cwd: nosuch'
    add_task a -- 'write a 1'
    run_plan
    assert_status 2
    [[ $stderr == *nosuch* && $stderr != *executable* ]] || fail "not named"
    begin_plan
    add_task a -- 'write a 1'
    run_apart anabranch run --engine claude --engine-exe ./nosuch plan.yaml
    assert_status 3
    [[ $stderr == *nosuch* ]] || fail "not named"
    run_plan --report out.docx
    assert_status 2
    [[ ! -e .git/anabranch ]] || fail "something was done"
}

@test "PO-26: a chain of 3,000 tasks whose head fails is skipped to its end" {
    make_repo
    {
        echo 'tasks:'
        echo '  - {id: t0, prompt: "sim> exit 2"}'
        for ((i = 1; i < 3000; i++)); do
            echo "  - {id: t$i, depends_on: [t$((i - 1))], prompt: x}"
        done
    } >plan.yaml
    run_plan --quiet
    assert_status 1
    assert_contains '1 failed, 2999 skipped'
}

@test "PO-28: skipped tasks are said to be skipped" {
    make_repo
    begin_plan
    add_task a -- 'exit 2'
    add_task b 'depends_on: [a]' -- 'write b 1'
    run_plan
    assert_status 1
    assert_summary b skipped
}

@test "PO-32: when the engine is killed, agents do not continue" {
    make_repo
    begin_plan
    add_task a -- 'spawn sleep 4330' 'daemon sleep 4331' "sh touch $BATS_TEST_TMPDIR/a" 'hang'
    local signal
    for signal in TERM HUP KILL; do
        start_plan
        wait_for test -e "$BATS_TEST_TMPDIR/a"
        kill "-$signal" "$engine"
        end_plan
        wait_for no_agents
        rm "$BATS_TEST_TMPDIR/a"
    done
}

@test "PO-33: neither a timeout nor an end waits for grandchildren" {
    make_repo
    begin_plan
    add_task late 'timeout: 1s' -- 'spawn sleep 4332' 'hang'
    add_task left -- 'spawn sleep 4333' 'write left 1'
    local began=$SECONDS
    run_plan
    ((SECONDS - began < 30)) || fail "it waited"
    assert_status 1
    assert_summary late timeout:
    assert_summary left landed
    assert_clean
}

@test "PO-34: timeouts are the plan's to say, and to retry" {
    make_repo
    begin_plan
    add_task t 'timeout: 5s' 'retry: {timeout: 1}' -- 'on 1 hang' 'write a 1'
    run_plan
    assert_status 0
    assert_summary t '2 attempts'
    assert_clean
}

@test "PO-35, PO-37: who waits for a retry or a group holds no worker" {
    make_repo
    mkdir -p "$STAMPS"
    begin_plan 'limits: {workers: 1, groups: {g: 1}}'
    add_task a 'group: g' 'estimate: 1h' -- 'sh echo a >>$STAMPS/order' 'on 1 exit 1' 'write a 1'
    add_task b 'group: g' 'estimate: 30m' -- 'sh echo b >>$STAMPS/order' 'write b 1'
    add_task c 'estimate: 1m' -- 'sh echo c >>$STAMPS/order' 'write c 1'
    run_plan
    assert_status 0
    [[ $(head -n 3 "$STAMPS/order" | paste -s -d ' ') == 'a b c' ]] || fail "$(<"$STAMPS/order")"
}

@test "PO-36: reports of an agent on standard output are classified too" {
    make_repo
    begin_plan
    add_task a -- 'error auth not logged in'
    add_task b 'retry: {limit: 0}' -- 'say You have hit the rate limit' 'exit 1'
    run_plan
    assert_status 1
    assert_summary a auth:
    assert_summary b limit:
}

@test "PO-38: standard input is left alone" {
    make_repo
    begin_plan
    add_task a 'engine: command' 'command: "cat; echo 1 >a"' 'prompt: x'
    printf '%s\n' y n y >"$BATS_TEST_TMPDIR/in"
    {
        run_apart anabranch run plan.yaml 3>&-
        rest=$(cat)
    } <"$BATS_TEST_TMPDIR/in"
    assert_status 0
    [[ $rest == $'y\nn\ny' ]] || fail "left: $rest"
}

@test "PO-39: files that a task does not own do not land if the plan says so" {
    make_repo
    begin_plan 'enforce: block'
    add_task a 'owns: [src/]' -- 'write src/x 1' 'append file stray'
    run_plan
    assert_status 1
    assert_summary a 'not own: file'
    refute_in main src/x
}

@test "PO-42: the prompt is not in argv, and a task's variables cannot turn our git elsewhere" {
    make_repo
    begin_plan
    add_task a -- 'say xyzzy-secret' 'sh ps axww -o args >$STAMPS.ps' 'write a 1'
    GIT_DIR=/no/such GIT_INDEX_FILE=/no/such run_plan
    assert_status 0
    ! grep -q 'xyzzy-[s]ecret' "$STAMPS.ps" || fail "it is in argv"
}

@test "PO-43: output goes to files as it comes, and not into memory" {
    make_repo
    begin_plan
    add_task t -- 'say hello' 'flood 100M' "sh $(until_exists released)" 'write a 1'
    start_plan
    wait_for bash -c 'test "$(cat .git/anabranch/runs/*/t/1/out 2>/dev/null | wc -c)" -ge 100000000'
    [[ $(awk '/VmHWM/ { print $2 }' "/proc/$engine/status") -lt 90000 ]] || fail "$(grep VmHWM "/proc/$engine/status")"
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
}

@test "PO-51: logs of two runs are apart, and the summary says where they are" {
    make_repo
    begin_plan
    add_task t -- 'say hello' 'sh echo $ANABRANCH_RUN >a'
    local first second
    run_plan
    first=$(sed -n 's/^Logs: //p' <<<"$output")
    run_plan --keep
    second=$(sed -n 's/^Logs: //p' <<<"$output")
    [[ $first != "$second" && -s $first/t/1/out && -s $second/t/1/out ]] || fail "$first $second"
    assert_contains '.anabranch/worktrees/'
}

@test "PO-54: nothing of ours makes the user's checkout dirty" {
    make_repo
    begin_plan
    add_task t -- "sh $(until_exists released)" 'write a 1'
    start_plan
    wait_for in_events task.started t
    assert_unchanged_checkout
    touch "$BATS_TEST_TMPDIR/released"
    end_plan
    assert_status 0
    assert_unchanged_checkout
    assert_clean
}

@test "PO-56: escapes in what agents say do not reach the terminal" {
    make_repo
    begin_plan
    add_task a -- 'error refused "\u001b[31mred \u202e right to left"'
    add_task b -- 'action "\u001b]0;title\u0007"' 'err "\u001b[2J"' 'exit 1'
    run_plan
    assert_status 1
    refute_contains $'\e'
    refute_contains $'\u202e'
    refute_contains $'\a'
}

@test "PO-57: a staged change in a file that no task touches stays staged, and work lands" {
    make_repo
    echo staged >>dir/inner
    git add dir/inner
    begin_plan
    add_task t -- 'append file ten'
    run_plan
    assert_status 0
    [[ $(git diff --cached --name-only) == dir/inner ]] || fail "$(git status --porcelain)"
    [[ $(tail -n 1 file) == ten ]] || fail "the checkout did not follow"
}
