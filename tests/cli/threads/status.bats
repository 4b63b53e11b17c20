#!/usr/bin/env bats
# `status` of threads: its output and its cost. PS-N are defects of parallel-sessions that we
# must not have.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../threads_helper

teardown() {
    [[ ! ${watcher-} ]] || kill -TERM "$watcher" 2>/dev/null || true
}

status_of() { # ID: its line, with single blanks
    grep -E "^  $1 " <<<"$output" | tr -s ' '
}

assert_thread() { # ID TEXT
    [[ $(status_of "$1") == *"$2"* ]] || fail "thread $1 is: $(status_of "$1")" "expected: $2"
}

look() { # ID FILTER
    anabranch status --json | jq -c ".threads[] | select(.id == \"$1\") | $2"
}

show() { # [OPTION...]
    run_apart anabranch status "$@"
    assert_no_sanitizer
}

@test "PS-13: ahead and behind, dirty or clean, the last commit; threads in merge order" {
    make_threads 2 10 1
    work 2 d2/a one 'First'
    work 2 d2/a two 'Second of two'
    echo new >"$(tree 1)/d1-new"
    git commit -q --allow-empty -m 'main goes on'
    show
    assert_status 0
    [[ $(sed -n 's/^  \([0-9]*\) .*/\1/p' <<<"$output" | paste -s -d ' ') == '2 10 1' ]] || fail "another order"
    assert_thread 2 " 2 $(branch 2) 2 1 clean yes inside - $(git rev-parse "$(branch 2)" | cut -c 1-10) Second of two"
    assert_thread 10 ' 0 1 clean - - - '
    assert_thread 1 ' 0 1 dirty 1 - 1 outside - '
    [[ $(look 1 .uncommitted) == '["?? d1-new"]' ]] || fail "another list"
    [[ $(look 2 '[.ahead, .behind, .subject, .merge]') == '[2,1,"Second of two","clean"]' ]] || fail "other JSON"
}

# From now on no file of a thread is as new as its index: git would have to read it to know that it is unchanged.
age() { # ID...
    local id
    for id; do
        find "$(tree "$id")" -name .git -prune -o -type f -exec touch -t 200101010000 {} +
        git -C "$(tree "$id")" update-index -q --refresh
    done
}

@test "PS-13: no git process for a worktree in which all is committed, nor for merges that need no judgement" {
    local ids=(1 2 3 4 5 6 7 8) id
    make_threads "${ids[@]}"
    for id in "${ids[@]}"; do
        work "$id" "d$id/file" text
    done
    echo main >on-main
    git add on-main
    git commit -q -m 'main goes on'
    age "${ids[@]}"
    count_gits
    show
    assert_status 0
    for id in "${ids[@]}"; do
        assert_thread "$id" ' 1 1 clean yes inside '
    done
    [[ $(gits ' status ') -eq 0 ]] || fail "status: $(gits ' status ')"
    [[ $(gits merge-tree) -eq 0 ]] || fail "merges were asked about: $(gits merge-tree)"
    [[ $(gits) -lt 8 ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
}

@test "PS-13: one git process for a worktree in which something is not committed, about that alone" {
    make_threads 1 2 3 4
    age 1 2 3 4
    echo ignored >>.git/info/exclude
    echo text >"$(tree 1)/ignored"
    mkdir -p "$(tree 2)/new/dir" "$(tree 2)/empty"
    echo text >"$(tree 2)/new/dir/file"
    echo more >>"$(tree 2)/file"
    touch "$(tree 3)/file"
    echo more >>"$(tree 4)/file"
    git -C "$(tree 4)" add file
    count_gits
    show
    assert_thread 1 ' clean '
    assert_thread 3 ' clean '
    [[ $(gits ' status ') -eq 4 ]] || fail "status: $(gits ' status ')"
    grep -q -e ' -- ignored$' "$BATS_TEST_TMPDIR/calls" || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    grep -q -e ' -- file empty/ new/$' "$BATS_TEST_TMPDIR/calls" || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    [[ $(look 2 .uncommitted) == '[" M file","?? new/dir/file"]' ]] || fail "$(look 2 .uncommitted)"
    [[ $(look 4 .uncommitted) == '["M  file"]' ]] || fail "$(look 4 .uncommitted)"
}

@test "files that fanout has put into a worktree are no work in it, even if nothing is ignored" {
    make_repo
    echo '!*' >.gitignore
    git add .gitignore
    git commit -q -m 'ignore nothing'
    plan_threads 1 2
    fan_out
    [[ $(git -C "$(tree 1)" status --porcelain -uall) == *.claude/settings.local.json* ]] || fail "it is ignored"
    echo text >"$(tree 2)/.claude/other"
    show
    assert_thread 1 ' clean '
    [[ $(look 2 .uncommitted) == '["?? .claude/other"]' ]] || fail "$(look 2 .uncommitted)"
}

@test "PS-8: threads are held against the branch that they were made from, whatever its name" {
    make_repo
    git branch -q -m trunk
    git switch -q -c feature
    git commit -q --allow-empty -m 'of the feature'
    plan_threads 1 2 3
    fan_out
    work 1 d1/a text
    show
    assert_thread 1 ' 1 0 clean yes '
    assert_thread 2 ' 0 0 clean - '
}

@test "a conflict with the base names the files, one with another thread names that" {
    make_threads 1 2 3
    change_line 1 5 fifth
    change_line 2 5 FIVE
    change_line 3 9 NINE
    sed -i.old 's/^nine/nines/' file
    git commit -q -a -m 'main changes nine'
    show
    assert_thread 1 ' 1 1 clean yes 1 outside'
    assert_thread 3 ' 1 1 clean no 1 outside'
    assert_line 'thread 1: conflicts with thread 2'
    assert_line 'thread 3: conflicts with its base in file'
    assert_line 'thread 1: changes paths it does not own: file (not owned)'
    refute_contains 'conflicts with thread 3'
    [[ $(look 3 '[.merge, .conflicts[]]') == '["conflict","file"]' ]] || fail "other JSON"
    [[ $(look 1 '[.meets[] | [.thread, .merge]]') == '[["2","conflict"],["3","clean"]]' ]] || fail "$(look 1 .meets)"
}

@test "a file where another thread has a folder is a conflict" {
    make_threads 1 2 3
    work 1 new file
    work 2 new/inner folder
    show
    assert_line 'thread 1: conflicts with thread 2'
}

@test "status does not ask git about every two threads if all of them change one file" {
    local ids=({1..20}) id
    make_threads "${ids[@]}"
    for id in "${ids[@]}"; do
        change_line "$id" 5 "by $id"
    done
    count_gits
    show
    assert_status 0
    [[ $(gits merge-tree) -eq 20 ]] || fail "merges: $(gits merge-tree)"
    assert_contains 'thread 1: conflicts with thread 2, 3'
    assert_contains 'thread 19: changes the same files as thread 20'
}

@test "files that a thread took over from its base or from upstream are no change of its own" {
    make_threads 1 2
    git clone -q --bare . "$BATS_TEST_TMPDIR/up.git"
    git remote add origin "$BATS_TEST_TMPDIR/up.git"
    git fetch -q
    git branch -q -u origin/main
    work 1 d1/a text
    echo base >by-base
    git add by-base
    git commit -q -m 'on main'
    git switch -q -c elsewhere
    echo up >by-upstream
    git add by-upstream
    git commit -q -m 'upstream'
    git push -q origin elsewhere:main
    git switch -q main
    git fetch -q
    git -C "$(tree 1)" merge -q --no-edit main
    show
    assert_thread 1 ' 2 0 clean yes inside '
    git -C "$(tree 1)" merge -q --no-edit origin/main
    show
    assert_thread 1 ' 4 0 clean yes inside '
    work 1 by-upstream mine
    show
    assert_thread 1 ' 5 0 clean yes 1 outside '
}

@test "the same is shown from within a worktree" {
    make_threads 1 2
    change_line 1 5 fifth
    change_line 2 5 FIFTH
    show
    local here=$output
    cd "$(tree 1)/dir"
    show
    assert_output "$here"
}

@test "a worktree that is gone, and one that is on another branch, are named" {
    make_threads 1 2 3
    rm -rf "$(tree 1)"
    git -C "$(tree 2)" switch -q -c other
    show
    assert_status 0
    assert_thread 1 'its worktree is gone'
    assert_line 'thread 2: its worktree is on the wrong branch: other'
    assert_thread 3 ' 0 0 clean '
    [[ $(look 1 .problem) == '"its worktree is gone"' ]] || fail "$(look 1 .)"
}

@test "threads are shown beside a run, and a run that is named is shown alone" {
    make_threads 1 2 3
    begin_plan
    add_task alpha -- 'write a one'
    run_plan
    assert_status 0
    show
    assert_contains 'alpha '
    assert_thread 2 ' 0 2 clean '
    run anabranch status --json
    [[ $(jq -c '[.tasks[0].id, .threads[0].id]' <<<"$output") == '["alpha","1"]' ]] || fail "other JSON"
    show last
    assert_contains 'alpha '
    refute_contains "$(branch 2)"
}

@test "the subject of a commit cannot control the terminal" {
    make_threads 1 2 3
    work 1 d1/a text $'red \e[31m and \u202e back'
    show
    assert_thread 1 'red \e[31m and \u{202E} back'
}

@test "--watch prints what is new, as lines or as JSON, until it is ended" {
    local out=$BATS_TEST_TMPDIR/watched
    make_threads 1 2 3
    for option in --watch '--watch --json'; do
        # shellcheck disable=SC2086
        "$ANABRANCH" status $option >"$out" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
        watcher=$!
        wait_for grep -q "$(branch 3)" "$out"
        work 2 d2/a "$option" "Seen with $option"
        wait_for grep -q -e "Seen with $option" "$out"
        kill -0 "$watcher" || fail "it has ended"
        [[ $(grep -c "$(branch 1)" "$out") -eq 1 || $option == *json ]] || fail "said again: $(<"$out")"
        kill -TERM "$watcher"
        wait_for is_gone "$watcher"
        watcher=
        [[ ! -s $BATS_TEST_TMPDIR/stderr ]] || fail "$(<"$BATS_TEST_TMPDIR/stderr")"
    done
    [[ $(jq -c .threads[1].subject "$out" | tail -n 1) == '"Seen with --watch --json"' ]] || fail "no JSON lines"
}

@test "--watch ends when nobody reads any more, also when there is nothing new" {
    make_threads 1 2
    mkfifo "$BATS_TEST_TMPDIR/pipe"
    "$ANABRANCH" status --watch >"$BATS_TEST_TMPDIR/pipe" 3>&- &
    watcher=$!
    head -n 1 <"$BATS_TEST_TMPDIR/pipe" | grep -q branch || fail "it said nothing"
    wait_for is_gone "$watcher"
    watcher=
}

@test "--watch draws in place on a terminal" {
    local typescript=$BATS_TEST_TMPDIR/typescript command
    script --version 2>/dev/null | grep -q util-linux || skip "needs script(1) of util-linux"
    make_threads 1 2 3
    command="stty cols 120 rows 20 && echo \$\$ >$(printf %q "$BATS_TEST_TMPDIR/pid") &&
        exec $(printf '%q ' "$ANABRANCH" status --watch)"
    SHELL=/bin/sh script -qefc "$command" -O /dev/null </dev/null >"$typescript" 2>&1 3>&- &
    watcher=$!
    wait_for grep -q 'thread-3' "$typescript"
    work 2 d2/a text
    wait_for grep -q $'\033\[4A.*' "$typescript"
    kill -TERM "$(<"$BATS_TEST_TMPDIR/pid")"
    wait_for is_gone "$watcher"
    watcher=
    run python3 "$BATS_TEST_DIRNAME/../screen.py" 120 20 <"$typescript"
    assert_status 0
    assert_thread 2 ' 1 0 clean yes inside'
    [[ $(grep -c 'branch ' <<<"$output") -eq 1 ]] || fail "drawn twice"
}

@test "status: a thread whose file is damaged or unreadable is named with what to do, and the others are shown" {
    make_threads 1 2 3
    work 1 d1/file text
    local file=.git/worktrees/worktrees-thread-2/anabranch.json
    echo '{' >"$file"
    run_apart anabranch status
    assert_status 0
    assert_no_sanitizer
    [[ $output == *"Work on d1/file"* ]] || fail "thread 1 is not shown"
    [[ $output == *"thread 2: "*"$file' is damaged"*"rm "*"$file"* ]] || fail "thread 2 is not told"
    run_apart anabranch status --json
    assert_status 0
    [[ $(jq -r '.threads | map(.id) | join(" ")' <<<"$output") == "1 3 2" ]] || fail "others"
    [[ $(jq -r '.threads[2].problem' <<<"$output") == *"is damaged"* ]] || fail "no problem"
    [[ $(jq -r '.threads[2].hint' <<<"$output") == *"rm "* ]] || fail "no hint"
    # One that cannot be read at all is no other.
    rm "$file"
    mkdir "$file"
    run_apart anabranch status
    assert_status 0
    [[ $output == *"thread 2: "*"$file"* ]] || fail "thread 2 is not told"
    rmdir "$file"
    run_apart anabranch status
    assert_status 0
    [[ $output != *"thread 2"* ]] || fail "it is still a thread"
    [[ -e worktrees/thread-2/THREAD_BRIEF.md ]] || fail "its worktree is gone"
}

@test "status: the only thread is damaged" {
    make_threads 1
    echo '[]' >.git/worktrees/worktrees-thread-1/anabranch.json
    run_apart anabranch status
    assert_status 0
    assert_no_sanitizer
    [[ $output == "thread 1: "*"is damaged"* ]] || fail "not told"
}

# Moved threads

# The repository with all that is in it goes elsewhere.
move_repo() {
    local from=$PWD
    cd ..
    mv "$from" "$PWD/elsewhere's"
    cd "elsewhere's" || return
}

commits_outside() { # ID
    echo x >"$(tree "$1")/stray"
    git -C "$(tree "$1")" add stray
    git -C "$(tree "$1")" commit -q -m stray 2>"$BATS_TEST_TMPDIR/words"
}

@test "status: it prints the command that repairs a moved repository, and the command works" {
    make_threads 1 2
    work 1 d1/file text
    move_repo
    show
    assert_status 0
    assert_contains "thread 1: its worktree was moved; tell git: git worktree repair '"
    [[ $(look 1 .moved) == "\"$(tree 1)\"" ]] || fail "JSON: $(look 1 .)"
    # shellcheck disable=SC2154 # show sets output
    eval "$(sed -n 's/^thread [0-9]*: .* tell git: //p' <<<"$output")"
    show
    assert_status 0
    assert_thread 1 "Work on d1/file"
    assert_contains "thread 1: its commits are not checked against its paths: core.hooksPath of its worktree names another folder; to repair: cd "
    [[ $(look 1 .hooks_off) == *"names another folder"* ]] || fail "JSON"
    (eval "$(sed -n 's/^thread 1: .*to repair: //p' <<<"$output")") || fail "what it says is no command"
    show
    [[ $output != *"not checked"* && $output != *moved* ]] || fail "it is not mended"
    ! commits_outside 1 || fail "the hook is off"
    ! commits_outside 2 || fail "the hook of the other is off"
    git -C "$(tree 1)" status --porcelain --untracked-files=all >"$BATS_TEST_TMPDIR/words"
    ! grep THREAD_BRIEF "$BATS_TEST_TMPDIR/words" || fail "the brief shows"
    ! grep -r -F "$BATS_TEST_TMPDIR/work/repo/" .git/worktrees/*/anabranch.hooks .git/worktrees/*/gitdir \
        worktrees/*/.git worktrees/*/.claude || fail "something leads to where it was"
}

@test "converge and cleanup put right what a move of the repository has broken" {
    make_threads 1 2
    work 1 d1/file text
    work 2 d2/file text
    move_repo
    run_apart anabranch converge --into-base --only 1
    assert_status 0
    assert_no_sanitizer
    [[ -e d1/file ]] || fail "it has not landed"
    ! commits_outside 2 || fail "the hook is off"
    git -C "$(tree 2)" reset -q --hard
    move_repo_back
    run_apart anabranch cleanup
    assert_status 0
    assert_no_sanitizer
    assert_contains "thread-1: merged into main"
    [[ ! -e $(tree 1) ]] || fail "it is still there"
    ! commits_outside 2 || fail "the hook is off"
}

move_repo_back() {
    cd ..
    mv "elsewhere's" repo
    cd repo || return
}

@test "status and own: a hook that someone has switched off is told, and not switched on again" {
    make_threads 1 2 3
    git -C "$(tree 1)" config --worktree core.hooksPath /dev/null
    git -C "$(tree 2)" config --worktree --unset-all core.hooksPath
    rm -r .git/worktrees/worktrees-thread-3/anabranch.hooks
    show
    assert_contains "thread 1: its commits are not checked against its paths: core.hooksPath of its worktree names another folder"
    assert_contains "thread 2: its commits are not checked against its paths: its worktree no longer has core.hooksPath"
    assert_contains "thread 3: its commits are not checked against its paths: the hook is gone"
    run_apart anabranch converge --no-push
    [[ $(git -C "$(tree 1)" config core.hooksPath) == /dev/null ]] || fail "the user's setting is gone"
    cd "$(tree 1)"
    run_apart anabranch own
    assert_status 0
    [[ $stderr == *"are off: core.hooksPath of its worktree names another folder"* ]] || fail "not told"
    cd ../..
    git config extensions.worktreeConfig false
    show
    assert_contains "thread 1: its commits are not checked against its paths: extensions.worktreeConfig was switched off"
}
