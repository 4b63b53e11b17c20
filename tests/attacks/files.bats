#!/usr/bin/env bats
# An agent replaces files that git or we will open. No process of ours waits for such a file, or reads it without end.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # each test has variables of its own; lines for the agents shell; start_plan sets engine, run_apart stderr
load ../cli/helper
load ../cli/run_helper
load attacks_helper

# The agent does its work, and makes something of KIND where the words TARGET lead; $admin is its worktree's folder in the
# repository, $run its attempt's.
replacing() { # KIND TARGET [LINE OF YAML...]
    local make
    case $1 in
    fifo) make='mkfifo "$target"' ;;
    zero) make='ln -s /dev/zero "$target"' ;;
    device) make='mknod "$target" c 1 5' ;; # that of /dev/zero
    huge) make='truncate -s 8G "$target"' ;;
    socket) make='cd "${target%/*}" && python3 -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" "${target##*/}"' ;;
    esac
    begin_plan 'defaults: {retry: 0}'
    # shellcheck disable=SC2016 # for the agent
    attack a 'admin=$(git rev-parse --absolute-git-dir) run=$(ls -d "$REPO"/.git/anabranch/runs/*/a/1)
echo done >result
target='"$2"'
mkdir -p "${target%/*}"
rm -f "$target"
'"$make" "${@:3}"
}

# The whole run, which has to end by itself.
run_bounded() { # [COMMAND...]
    (($#)) || set -- run plan.yaml
    run_apart timeout -k 1 "${patience:-40}" "$ANABRANCH" "$@" 3>&- </dev/null
    [[ $status -ne 124 && $status -ne 137 ]] || fail "it did not end: $*"
    assert_no_sanitizer
}

# In a repository of its own for each target.
assert_lands() { # KIND TARGET...
    local kind=$1 target
    shift
    for target; do
        cd "$BATS_TEST_TMPDIR/work" && cd "$(mktemp -d XXXXXX)" && make_repo
        git branch other
        replacing "$kind" "$target"
        [[ $target != */anabranch/* ]] || reaches_our_folder
        run_bounded
        [[ $status -eq 0 ]] || fail "$kind in place of $target"
        assert_in main result 'done'
        [[ $(git rev-parse other) == "$(git rev-parse main~1)" ]] || fail "$target: other is not where it was"
        assert_clean || fail "$kind in place of $target"
    done
}

# shellcheck disable=SC2016 # the agent expands them
{
    of_git=('$admin/HEAD' '$admin/index' '$admin/config.worktree' '$admin/logs/HEAD' '$REPO/.git/config' '$REPO/.git/HEAD'
        '$REPO/.git/packed-refs' '$REPO/.git/refs/heads/main' '$REPO/.git/refs/heads/other' '$REPO/.git/info/exclude'
        '$REPO/.git/info/attributes' '$REPO/.git/logs/HEAD' '$REPO/.git/logs/refs/heads/main')
    of_tree=('$ws/.gitignore' '$ws/.gitattributes' '$ws/dir/.gitignore' '$ws/new/.gitattributes')
    of_run=('$run/out' '$run/err' '$run/prompt' '$run/guard' '$run/index' '$run/boot' '$REPO/.git/anabranch/lock')
}

@test "files: a FIFO in place of what git reads holds up nobody" {
    # shellcheck disable=SC2016
    assert_lands fifo '$admin/HEAD' '$admin/index' '$REPO/.git/refs/heads/other' '$REPO/.git/config' \
        '$REPO/.git/packed-refs' '$ws/.gitignore' '$ws/.gitattributes'
}

# bats test_tags=slow
@test "files: a FIFO in place of any file of git's, of the workspace or of the run" {
    assert_lands fifo "${of_git[@]}" "${of_tree[@]}" "${of_run[@]}"
}

# bats test_tags=slow
@test "files: the same with a link to a device without an end" {
    assert_lands zero "${of_git[@]}" "${of_run[@]}"
}

@test "files: the same with a device without an end" {
    mknod "$BATS_TEST_TMPDIR/try" c 1 5 && head -c 1 "$BATS_TEST_TMPDIR/try" >"$BATS_TEST_TMPDIR/byte" || skip 'no devices can be made here'
    # shellcheck disable=SC2016
    assert_lands device '$ws/.gitattributes' '$admin/index' '$REPO/.git/info/exclude'
}

# bats test_tags=slow
@test "files: the same with a device in place of any file" {
    mknod "$BATS_TEST_TMPDIR/try" c 1 5 && head -c 1 "$BATS_TEST_TMPDIR/try" >"$BATS_TEST_TMPDIR/byte" || skip 'no devices can be made here'
    assert_lands device "${of_git[@]}" "${of_tree[@]}" "${of_run[@]}"
}

# bats test_tags=slow
@test "files: the same with a socket" {
    local target
    for target in "${of_git[@]}" "${of_tree[@]}" "${of_run[@]}"; do
        # git cannot write such a log of main: then the work is on a branch, as the run says
        [[ $target == *logs/refs/heads/main ]] || assert_lands socket "$target"
    done
}

# bats test_tags=slow
@test "files: the same with eight gigabytes in place of what git reads whole" {
    # shellcheck disable=SC2016
    assert_lands huge '$admin/HEAD' '$admin/index' '$REPO/.git/HEAD' '$REPO/.git/refs/heads/other' '$REPO/.git/info/exclude'
}

@test "files: we report a file in the place of a shared file, and put the shared file back" {
    make_repo
    cp .git/info/exclude "$BATS_TEST_TMPDIR/exclude"
    # shellcheck disable=SC2016
    replacing fifo '$REPO/.git/info/exclude'
    run_bounded run --json plan.yaml
    assert_status 0
    assert_event git.state_changed a '"what":"special","name":"info/exclude","restored":true'
    cmp .git/info/exclude "$BATS_TEST_TMPDIR/exclude" || fail "it is not what it was"
}

@test "files: an attempt fails if a tracked file became a FIFO, and we save the rest" {
    make_repo
    # shellcheck disable=SC2016
    replacing fifo '$ws/file'
    run_bounded
    assert_status 1
    assert_summary a 'can only add regular files'
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" result 'done'
    assert_clean 'refs/anabranch/salvage/*'
}

@test "files: an agent that leaves a FIFO and a socket of its own has done nothing wrong" {
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a 'echo done >result; mkdir -p new/deep; mkfifo pipe new/deep/pipe
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")"'
    run_bounded
    assert_status 0
    assert_in main result 'done'
    assert_clean
}

@test "files: a store that became a FIFO ends the run with an error" {
    make_repo
    # shellcheck disable=SC2016
    replacing fifo '$REPO/.git/anabranch/state.db'
    reaches_our_folder
    run_bounded
    assert_status 3
    [[ $stderr == *state.db* ]] || fail "it does not name the store"
}

@test "files: in a run that was killed, no command waits for a FIFO" {
    local target command tree
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a "echo done >result; echo \$PPID >'$BATS_TEST_TMPDIR/begun'; exec sleep 1000"
    start_plan --engine command
    wait_for test -s "$BATS_TEST_TMPDIR/begun"
    kill -KILL "$engine"
    wait_for no_agents
    tree=$(compgen -G '.anabranch/worktrees/*/.a.layers/upper' || echo .anabranch/worktrees/*/a)
    for target in "$tree/.gitignore" .git/worktrees/*-a/HEAD .git/refs/heads/other .git/config; do
        rm -f "$target"
        mkfifo "$target"
        for command in status 'diff a' 'logs a' doctor 'resume --dry-run' 'clean --dry-run'; do
            # shellcheck disable=SC2086 # words
            patience=20 run_bounded $command
        done
        [[ $target != .git/config ]] || { cp "$BATS_TEST_TMPDIR/config" config && rm "$target" && mv config "$target"; }
    done
    run_bounded clean --all
    assert_status 0
    assert_in "$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)" result 'done'
}

@test "files: we name a FIFO that only the user may remove, with the command" {
    make_repo
    rm .git/config
    mkfifo .git/config
    run_bounded status
    assert_status 3
    [[ $stderr == *"git waited for a FIFO without an end; to remove it: rm $PWD/.git/config"* ]] || fail "it does not help"
}

@test "files: SIGTERM ends a run whose git never ends" {
    make_repo
    echo '* text' >.gitattributes
    git add . && git commit -qm attributes
    begin_plan
    attack a 'echo done >result'
    # shellcheck disable=SC2016 # for that git
    wrap_git 'if [[ $sub == add ]]; then touch "$dir/adding"; exec sleep 1000; fi'
    export ANABRANCH_PATIENCE=2s
    start_plan --engine command
    wait_for test -e "$BATS_TEST_TMPDIR/adding"
    kill -TERM "$engine"
    patience=20 wait_for is_gone "$engine"
    end_plan
    [[ $status -ne 0 && $status -ne 137 ]] || fail "its status"
}

@test "files: a lock of ours that an agent holds for ever fails what needs it, and the run ends" {
    reaches_our_folder
    make_repo
    begin_plan 'defaults: {retry: 0}' 'limits: {workers: 2}'
    attack holder 'exec 9<>"$REPO/.git/anabranch/lock" && flock 9 && touch "$REPO/../held"
until [[ -e $REPO/../over ]]; do sleep 0.05; done
echo 1 >result'
    attack first 'until [[ -e $REPO/../held ]]; do sleep 0.05; done; echo 1 >first'
    attack second "echo 2 >second" "depends_on: [first]"
    attack third "echo 3 >third" "depends_on: [first]"
    export ANABRANCH_PATIENCE=1s
    timeout -k 1 60 "$ANABRANCH" run plan.yaml --json >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    local run=$!
    # on btrfs, the kernel's list of locks does not tell whose it is
    wait_for grep -qE '"error":"(process [0-9]+|another process) has held the lock' "$BATS_TEST_TMPDIR/out"
    wait_for grep -qE '"task":"(second|third)".*has held the lock' "$BATS_TEST_TMPDIR/out"
    touch ../over
    wait "$run" || status=$?
    grep -q '"event":"run.finished"' "$BATS_TEST_TMPDIR/out" || fail "it did not end: $(<"$BATS_TEST_TMPDIR/out")"
    anabranch clean # what could not be removed meanwhile
    assert_clean
}
