#!/usr/bin/env bats
# Threads: what fanout makes and what it rejects, and that a failed fanout leaves nothing behind. PS-N are
# defects of parallel-sessions that we must not have.
# shellcheck disable=SC2016 # another shell expands it
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose

load ../helper

teardown() {
    if [[ -e $BATS_TEST_TMPDIR/fanout.pid ]]; then
        kill -KILL "$(<"$BATS_TEST_TMPDIR/fanout.pid")" 2>/dev/null || true
    fi
    [[ ! -d $BATS_TEST_TMPDIR/tmux ]] || TMUX_TMPDIR=$BATS_TEST_TMPDIR/tmux tmux kill-server 2>/dev/null || true
}

# A plan of parallel-sessions: threads 1 to N that own the folders d1 to dN.
make_threads() { # N [LINE AT THE TOP...]
    local i n=$1
    shift
    (($# == 0)) || printf '%s\n' "$@" >plan.toml
    (($#)) || : >plan.toml
    for ((i = 1; i <= n; i++)); do
        printf '[[threads]]\nid = %d\nbranch = "part%d"\ngoal = "Do part %d"\nowns = ["d%d"]\n' \
            "$i" "$i" "$i" "$i" >>plan.toml
    done
}

# A repository in which the plan's file is an ordinary untracked one.
begin() { # N [LINE AT THE TOP...]
    make_repo
    : >.git/info/exclude
    make_threads "$@"
    note
}

# All that must be the same when nothing is left: files, refs, settings, git's own folders.
look() {
    find . -path ./.git/objects -prune -o -path ./.git/anabranch -prune -o -name index -prune -o -print | sort
    git for-each-ref
    cat .git/config .git/info/exclude
    git status --porcelain --ignored
}

note() {
    look >"$BATS_TEST_TMPDIR/before"
}

assert_untouched() {
    diff "$BATS_TEST_TMPDIR/before" <(look) || fail "something was left"
    [[ ! -d .git/anabranch ]] || [[ -z $(ls -A .git/anabranch/tmp) ]] || fail "something is left aside"
}

fanout() { # [ARG...]
    run_apart anabranch fanout "$@" 3>&-
    assert_no_sanitizer
}

assert_error() { # TEXT
    [[ $stderr == *"$1"* ]] || fail "not among the errors: $1"
}

tree() { # ID
    echo "$PWD/worktrees/thread-$1"
}

state() { # ID
    cat "$(git -C "$(tree "$1")" rev-parse --git-dir)/anabranch.json"
}

assert_thread() { # ID BRANCH COMMIT
    [[ $(git -C "$(tree "$1")" symbolic-ref HEAD) == "refs/heads/$2" ]] || fail "thread $1 is on another branch"
    [[ $(git -C "$(tree "$1")" rev-parse HEAD) == "$3" ]] || fail "thread $1 begins with another commit"
    [[ -z $(git -C "$(tree "$1")" status --porcelain) ]] || fail "thread $1 is not clean"
}

# Files that fanout makes

@test "fanout makes a branch, a worktree and a brief for each thread, and says how to begin" {
    begin 3
    fanout plan.toml
    assert_status 0
    head=$(git rev-parse HEAD)
    for i in 1 2 3; do
        assert_thread $i "parallel/part$i-thread-$i" "$head"
        assert_line "cd $(tree $i) && claude"
        [[ $(sed -n '/^## Goal$/,/^## Owned/p' "$(tree $i)/THREAD_BRIEF.md") == *"Do part $i"* ]] ||
            fail "the brief of $i has no goal"
    done
    grep -qxF -e '- `d1`' "$(tree 1)/THREAD_BRIEF.md"
    grep -qxF -e '_(none)_' "$(tree 1)/THREAD_BRIEF.md"
    grep -qF 'anabranch own request PATH' "$(tree 1)/THREAD_BRIEF.md"
    cmp file "$(tree 1)/file"
    [[ $(stat -c %a worktrees worktrees/thread-1) == "$(stat -c %a dir dir)" ]]
    [[ $(state 2) == *'"base":"refs/heads/main","base_commit":"'"$head"'"'* ]] || fail "$(state 2)"
    git worktree remove "$(tree 3)" # it is for people: git's own commands do with it what they do
}

@test "a shell can read the printed commands, whatever the names" {
    mkdir "it's \$(touch here) & #x"
    cd "it's \$(touch here) & #x"
    begin 2
    fanout plan.toml
    assert_status 0
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\npwd >>"$LOG"\n' >"$BATS_TEST_TMPDIR/bin/claude"
    chmod +x "$BATS_TEST_TMPDIR/bin/claude"
    export LOG=$BATS_TEST_TMPDIR/log
    PATH=$BATS_TEST_TMPDIR/bin:$PATH dash -c "$output"
    [[ $(<"$LOG") == "$(tree 1)"$'\n'"$(tree 2)" ]] || fail "began in:" "$(<"$LOG")"
    [[ ! -e here ]]
}

@test "any kind of plan can be fanned out; engines, order, ports and enforcement are kept" {
    make_repo
    begin_plan 'enforce: warn' 'workspace: {ports: 4}'
    add_task db 'prompt: The tables' 'owns: [dir]' 'order: 7' 'engine: codex'
    add_task api 'title: The API' 'prompt: "Line 1\nLine 2"' 'owns: [api]' 'depends_on: [db]' 'enforce: block'
    add_task own 'prompt: x' 'engine: command' "command: [run, '{prompt_file}', 'a b']"
    fanout plan.yaml
    assert_status 0
    assert_line "cd $(tree db) && codex"
    assert_line "cd $(tree api) && claude"
    assert_line "cd $(tree own) && run THREAD_BRIEF.md 'a b'"
    assert_thread db parallel/thread-db "$(git rev-parse HEAD)"
    [[ $(state db) == *'"goal":"The tables"'*'"engine":"codex"'*'"order":7,"enforce":"warn"'*'"ports":4'* ]]
    [[ $(state api) == *'"goal":"The API","prompt":"Line 1\nLine 2"'*'"after":["db"]'*'"enforce":"block"'* ]]
    [[ $(state api) != *'"order"'* ]]
    port=$(sed -n 's/.*"port":\([0-9]*\).*/\1/p' <<<"$(state api)")
    grep -qF "ANABRANCH_PORT=$port" "$(tree api)/THREAD_BRIEF.md"
    [[ $(state db) != *"\"port\":$port,"* ]] || fail "two threads have the same ports"
    fanout --json --engine gemini --only db plan.yaml
    assert_status 0
    [[ $(jq -r '.threads[] | "\(.id) \(.new) \(.engine)"' <<<"$output") == "db false codex" ]]
}

@test "ports of a thread that is there are not given to another" {
    begin 1 '[workspace]' 'ports = 4'
    fanout plan.toml
    assert_status 0
    sed -i 's/"port":[0-9]*,"ports":4/"port":1,"ports":65535/' .git/worktrees/*/anabranch.json
    make_threads 2 '[workspace]' 'ports = 4'
    fanout plan.toml
    assert_status 3
    assert_error "no 4 consecutive ports are free"
}

@test "--engine and --only; --dry-run changes nothing" {
    begin 3
    fanout --dry-run plan.toml
    assert_status 0
    assert_line "# thread-3: parallel/part3-thread-3, would be made"
    assert_untouched
    [[ ! -e .git/anabranch ]]
    fanout --engine aider --only 1,3 plan.toml
    assert_status 0
    assert_line "cd $(tree 1) && aider"
    [[ ! -e worktrees/thread-2 ]]
}

@test "--json tells all of it" {
    begin 2
    fanout --json plan.toml
    assert_status 0
    [[ $(jq -r '.base, .threads[1].path, .threads[0].call, .threads[0].owns[0], .threads[0].order' <<<"$output") == \
        "main"$'\n'"$(tree 2)"$'\n'"cd $(tree 1) && claude"$'\n'"d1"$'\n'"1" ]] || fail
}

@test "all threads begin with the plan's base, or with HEAD where no branch is checked out" {
    begin 1 'base = "other"'
    git branch other
    git commit -q --allow-empty -m more
    fanout plan.toml
    assert_status 0
    assert_thread 1 parallel/part1-thread-1 "$(git rev-parse other)"
    git checkout -q --detach
    make_threads 2
    fanout plan.toml
    assert_status 0
    assert_thread 2 parallel/part2-thread-2 "$(git rev-parse HEAD)"
    [[ $(state 2) != *'"base":'* ]] || fail "$(state 2)"
}

@test "workspace.dir is another folder; called in a thread, fanout adds beside it" {
    begin 2 '[workspace]' 'dir = "../beside/trees"'
    fanout --only 1 plan.toml
    assert_status 0
    [[ -e ../beside/trees/thread-1/file ]]
    sed -i '1,2d' plan.toml
    fanout --only 2 plan.toml
    assert_status 0
    cp plan.toml worktrees/thread-2
    make_threads 3
    cp plan.toml worktrees/thread-2
    cd worktrees/thread-2
    fanout plan.toml
    assert_status 0
    [[ -e ../thread-3/file && ! -e worktrees ]]
}

@test "files are brought along and setup is run as in a run, with its output kept" {
    begin 2 '[workspace]' 'include = ["local.cfg"]' 'setup = "echo out; echo $ANABRANCH_TASK:$ANABRANCH_PORT:$(pwd) >>../../../setup"'
    echo .env >.gitignore
    git add .gitignore
    git commit -q -m ignore
    echo .env >.worktreeinclude
    echo secret >.env
    echo local >local.cfg
    fanout plan.toml
    assert_status 0
    for i in 1 2; do
        [[ $(<"$(tree $i)/.env") == secret && $(<"$(tree $i)/local.cfg") == local ]]
        assert_thread $i "parallel/part$i-thread-$i" "$(git rev-parse HEAD)"
        port=$(sed -n 's/.*"port":\([0-9]*\).*/\1/p' <<<"$(state $i)")
        grep -qxF "$i:$port:$(tree $i)" ../setup || fail "setup:" "$(<../setup)"
        [[ $(tail -n 1 "$(git -C "$(tree $i)" rev-parse --git-dir)/anabranch.log") == out ]]
    done
}

@test "setup leaves nothing running" {
    local long="1000.$$$RANDOM"
    begin 1 '[workspace]' "setup = \"sleep $long & touch ../../../begun\""
    fanout plan.toml
    assert_status 0
    [[ -e ../begun ]]
    ! pgrep -f "sleep $long" || fail "it goes on"
}

# The brief and the folder belong to no thread

@test "PS-11: the brief is ignored in its own worktree alone, and info/exclude is as it was" {
    begin 2
    cp .git/info/exclude "$BATS_TEST_TMPDIR/exclude"
    fanout plan.toml
    assert_status 0
    cmp .git/info/exclude "$BATS_TEST_TMPDIR/exclude"
    cd worktrees/thread-1
    [[ -z $(git status --porcelain) ]]
    mkdir d1
    echo new >d1/other
    git add -A
    git commit -q -m work
    [[ $(git ls-tree --name-only HEAD) != *THREAD_BRIEF* ]]
    cd ../..
    touch THREAD_BRIEF.md
    [[ $(git status --porcelain) == *'?? THREAD_BRIEF.md'* ]] || fail "it is ignored here too"
}

@test "the user's own excludes hold in threads as well" {
    begin 1
    printf '%s' '*.mine' >"$BATS_TEST_TMPDIR/ignore"
    git config core.excludesFile "$BATS_TEST_TMPDIR/ignore"
    fanout plan.toml
    assert_status 0
    touch worktrees/thread-1/x.mine
    [[ -z $(git -C worktrees/thread-1 status --porcelain) ]]
    touch worktrees/thread-1/y
    [[ $(git -C worktrees/thread-1 status --porcelain) == '?? y' ]]
}

@test "neither worktrees nor anything else shows in git status" {
    begin 2
    echo plan.toml >.gitignore
    git add .gitignore
    git commit -q -m ignore
    fanout plan.toml
    assert_status 0
    [[ -z $(git status --porcelain) ]] || fail "$(git status --porcelain)"
    git add -A
    [[ -z $(git status --porcelain) ]]
}

@test "a project with a folder or a file of those names keeps it" {
    begin 1
    mkdir worktrees
    echo mine >worktrees/mine
    git add worktrees
    git commit -q -m mine
    note
    fanout plan.toml
    assert_status 2
    assert_error "workspace.dir"
    assert_untouched
    git mv worktrees/mine THREAD_BRIEF.md
    git commit -q -m brief
    note
    fanout plan.toml
    assert_status 2
    assert_error "'THREAD_BRIEF.md'"
    assert_untouched
}

@test "a bare repository with worktrees stays one" {
    begin 1
    git clone -q --bare . ../bare/.git
    cd ../bare
    git worktree add -q main main
    cp ../repo/plan.toml main
    cd main
    git config user.name Tester
    fanout plan.toml
    assert_status 0
    [[ $(git -C ../worktrees/thread-1 status --porcelain) == '' ]]
    [[ $(git -C ../.git rev-parse --is-bare-repository) == true ]]
    [[ $(git status --porcelain) == '?? plan.toml' ]]
}

# Repeated calls

@test "PS-1: any number of threads: one, and twelve" {
    begin 1
    fanout plan.toml
    assert_status 0
    make_threads 12
    fanout plan.toml
    assert_status 0
    [[ $(git worktree list | wc -l) -eq 13 ]]
    [[ $(grep -c '&& claude' <<<"$output") -eq 11 ]]
    assert_line "# thread-1: parallel/part1-thread-1, exists already"
    [[ $(grep -o '^cd .*thread-[0-9]*' <<<"$output" | grep -o '[0-9]*$' | paste -s -d ' ') == "2 3 4 5 6 7 8 9 10 11 12" ]]
}

@test "PS-3: a plan in the repository is no change, nor are threads that are there, nor what failed" {
    begin 2
    touch notes
    fanout --only 1 plan.toml
    assert_status 0
    fanout plan.toml
    assert_status 0
    [[ -e worktrees/thread-2/file ]]
    fanout plan.toml # once more: nothing to do
    assert_status 0
    git add -f plan.toml
    git commit -q -m plan
    make_threads 3
    fanout plan.toml # the plan's own change does not count either
    assert_status 0
    [[ -e worktrees/thread-3/file ]]
}

@test "a tracked file with changes is a reason not to begin, and named" {
    begin 2
    touch untracked
    echo changed >file
    git mv dir/inner dir/moved
    note
    fanout plan.toml
    assert_status 3
    assert_error "'file'"
    assert_error "'dir/moved'"
    assert_error "--allow-dirty"
    [[ $stderr != *untracked* ]]
    assert_untouched
    fanout --allow-dirty plan.toml
    assert_status 0
    [[ $(<worktrees/thread-1/file) != changed ]]
}

@test "an id that another thread has, and paths that one owns, are refused" {
    begin 2
    fanout plan.toml
    assert_status 0
    note
    sed -i 's/"part1"/"else"/' plan.toml
    fanout plan.toml
    assert_status 2
    assert_error "'parallel/part1-thread-1'"
    printf '[[threads]]\nid = 9\nbranch = "b"\ngoal = "g"\nowns = ["d2/*.c"]\n' >plan.toml
    fanout plan.toml
    assert_status 2
    assert_error "thread 9 owns 'd2/*.c', which overlaps with 'd2' of the existing thread 2"
    file=$(git -C worktrees/thread-1 rev-parse --git-dir)/anabranch.json
    sed -i 's|"requests":\[\]|"requests":[{"path":"lib","at":1}]|' "$file"
    sed -i 's|d2/\*.c|lib/x|' plan.toml
    fanout plan.toml
    assert_status 2
    assert_error "'lib' of the existing thread 1"
    assert_untouched
}

@test "a thread whose worktree was deleted is not taken for one that is there" {
    begin 1
    fanout plan.toml
    assert_status 0
    rm -r worktrees/thread-1
    fanout plan.toml
    assert_status 3
    assert_error "'git worktree prune'"
    git worktree prune
    fanout plan.toml
    assert_status 3
    assert_error "'parallel/part1-thread-1'"
    git branch -q -D parallel/part1-thread-1
    fanout plan.toml
    assert_status 0
    assert_thread 1 parallel/part1-thread-1 "$(git rev-parse HEAD)"
}

@test "a damaged file of a thread is named" {
    begin 1
    fanout plan.toml
    assert_status 0
    echo '{' >.git/worktrees/worktrees-thread-1/anabranch.json
    fanout plan.toml
    assert_status 3
    assert_error ".git/worktrees/worktrees-thread-1/anabranch.json' is damaged"
}

@test "PS-4: fanout refuses plans that check refuses, and changes nothing" {
    begin 1
    local owns
    for owns in './d1' 'd1//x' 'a/../d1' '.' '**/*.c'; do
        make_threads 1
        printf '[[threads]]\nid = 2\nbranch = "b"\ngoal = "g"\nowns = ["%s"]\n' "$owns" >>plan.toml
        fanout plan.toml
        assert_status 2
        [[ $stderr == *overlap* || $stderr == *'d1'* || $stderr == *'..'* ]] || fail "$owns"
    done
    make_threads 1
    printf '[[threads]]\nid = 2\nbranch = "b"\ngoal = "g"\nowns = "d1"\n' >>plan.toml
    fanout plan.toml
    assert_status 2
    make_threads 1
    assert_untouched
}

# All or nothing

@test "PS-12: fanout reports in a line that it cannot begin, and changes nothing" {
    make_threads 2
    fanout plan.toml
    assert_status 3
    assert_error "is not in a git repository"
    begin 2
    echo '[[threads' >plan.toml
    fanout plan.toml
    assert_status 2
    printf '[[threads]]\nid = [1]\nbranch = 2\ngoal = 3\nowns = 4\n' >plan.toml
    fanout plan.toml
    assert_status 2
    make_threads 2
    git branch parallel/part2-thread-2
    note
    fanout plan.toml
    assert_status 3
    assert_error "'parallel/part2-thread-2'"
    assert_untouched
    git branch -m parallel/part2-thread-2 parallel
    note
    fanout plan.toml
    assert_status 3
    assert_error "'parallel'"
    assert_untouched
    git branch -D -q parallel
    mkdir -p worktrees/thread-2
    touch worktrees/thread-2/mine
    note
    fanout plan.toml
    assert_status 3
    assert_error "thread-2"
    assert_untouched
    rm -r worktrees
    git update-ref -d HEAD
    fanout --allow-dirty plan.toml
    assert_status 2
    assert_error "no commit"
    fanout nowhere.toml
    assert_status 2
}

@test "PS-12: if one thread cannot be made, nothing is left of the others" {
    begin 4 '[workspace]' 'dir = "a/b/c"' 'setup = "test $ANABRANCH_TASK != 3 || { echo no luck; exit 7; }"'
    fanout plan.toml
    assert_status 3
    assert_error "thread 3: workspace.setup ended with 7: no luck"
    assert_untouched
    make_threads 4
    fanout plan.toml
    assert_status 0
}

@test "PS-12: earlier threads stay when an addition fails" {
    begin 1
    fanout plan.toml
    assert_status 0
    make_threads 3 '[workspace]' 'setup = "false"'
    note
    fanout plan.toml
    assert_status 3
    assert_untouched
    [[ $(git config extensions.worktreeConfig) == true ]]
    [[ -z $(git -C worktrees/thread-1 status --porcelain) ]]
}

stopped_by() { # SIGNAL CODE
    begin 3 '[workspace]' "setup = \"touch ../../../begun-\$ANABRANCH_TASK; sleep 1000\""
    "$ANABRANCH" fanout plan.toml >/dev/null 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/fanout.pid"
    wait_for test -e ../begun-1
    kill "-$1" "$(<"$BATS_TEST_TMPDIR/fanout.pid")"
    status=0
    wait "$(<"$BATS_TEST_TMPDIR/fanout.pid")" || status=$?
    rm "$BATS_TEST_TMPDIR/fanout.pid"
    stderr=$(<"$BATS_TEST_TMPDIR/stderr")
    assert_status "$2"
    assert_no_sanitizer
    assert_untouched
}

@test "SIGTERM in the middle leaves nothing" {
    stopped_by TERM 143
}

@test "SIGINT in the middle leaves nothing" {
    # A job in the background ignores SIGINT unless it is told not to.
    set -m
    stopped_by INT 130
}

@test "fanout makes threads again that a killed fanout left half-made" {
    begin 3 '[workspace]' "setup = \"touch ../../../begun-\$ANABRANCH_TASK; sleep 1000\""
    "$ANABRANCH" fanout plan.toml >/dev/null 2>&1 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/fanout.pid"
    wait_for test -e ../begun-1
    kill -KILL "$(<"$BATS_TEST_TMPDIR/fanout.pid")"
    wait "$(<"$BATS_TEST_TMPDIR/fanout.pid")" || true
    rm "$BATS_TEST_TMPDIR/fanout.pid"
    [[ -e worktrees/thread-1/file ]]
    make_threads 3
    git commit -q --allow-empty -m more
    fanout plan.toml
    assert_status 0
    for i in 1 2 3; do
        assert_thread $i "parallel/part$i-thread-$i" "$(git rev-parse HEAD)"
    done
}

@test "a repository without a checkout in a thread's place is no half-made thread" {
    begin 1
    git clone -q --no-checkout . worktrees/thread-1
    git -C worktrees/thread-1 branch precious
    fanout plan.toml
    assert_status 3
    assert_error "worktrees/thread-1' is in the way of thread 1"
    git -C worktrees/thread-1 rev-parse -q --verify precious >/dev/null || fail "it is gone"
}

@test "a user's own extensions.worktreeConfig stays, however it is spelt" {
    begin 1
    git config extensions.worktreeConfig yes
    fanout plan.toml
    assert_status 0
    [[ $(git config --file .git/config extensions.worktreeConfig) == yes ]] || fail "it was changed"
    [[ $(jq .configured <<<"$(state 1)") != true ]] || fail "it is taken for ours"
}

@test "two at once make each thread once" {
    begin 6
    "$ANABRANCH" fanout plan.toml >"$BATS_TEST_TMPDIR/one" 2>&1 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/fanout.pid"
    fanout plan.toml
    wait "$(<"$BATS_TEST_TMPDIR/fanout.pid")" || true
    rm "$BATS_TEST_TMPDIR/fanout.pid"
    [[ $(git worktree list | wc -l) -eq 7 ]]
    for i in 1 2 3 4 5 6; do
        assert_thread $i "parallel/part$i-thread-$i" "$(git rev-parse HEAD)"
    done
    [[ $(cat "$BATS_TEST_TMPDIR/one" - <<<"$output" | grep -c '&& claude') -eq 6 ]]
}

# Tmux

tmux_here() {
    command -v tmux >/dev/null || skip "tmux is not installed"
    mkdir "$BATS_TEST_TMPDIR/tmux"
    export TMUX_TMPDIR=$BATS_TEST_TMPDIR/tmux
    unset TMUX
}

@test "--tmux prints the commands, and --tmux=start makes a session; again it adds windows" {
    tmux_here
    begin 3
    fanout --dry-run --tmux plan.toml
    assert_status 0
    assert_line "tmux new-session -d -s anabranch-repo -n thread-1 -c $(tree 1)"
    assert_line "tmux new-window -d -t anabranch-repo: -n thread-3 -c $(tree 3)"
    fanout --only 1,2 --tmux=start plan.toml
    assert_status 0
    assert_line "tmux attach -t anabranch-repo"
    fanout --tmux=start plan.toml
    assert_status 0
    [[ $(tmux list-windows -t anabranch-repo -F '#{window_name} #{pane_current_path}') == \
        "thread-1 $(tree 1)"$'\n'"thread-2 $(tree 2)"$'\n'"thread-3 $(tree 3)" ]] ||
        fail "$(tmux list-windows -t anabranch-repo)"
}

@test "the commands that --tmux prints do the same, in a folder with any name" {
    tmux_here
    mkdir "it's #{x}"
    cd "it's #{x}"
    begin 2
    fanout --tmux plan.toml
    assert_status 0
    sh -c "$(grep -v attach <<<"$output")"
    [[ $(tmux list-windows -t anabranch-repo -F '#{pane_current_path}') == "$(tree 1)"$'\n'"$(tree 2)" ]]
}

@test "without tmux --tmux=start changes nothing" {
    begin 1
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s "$(command -v git)" "$(command -v sh)" "$BATS_TEST_TMPDIR/bin"
    PATH=$BATS_TEST_TMPDIR/bin run_apart "$ANABRANCH" fanout --tmux=start plan.toml
    assert_status 3
    assert_error "'tmux' was not found"
    assert_untouched
}
