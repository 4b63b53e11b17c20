#!/usr/bin/env bats
# The folder with our keys, logs and notes of all tasks: an agent sees only the files of its own task.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # start_plan sets engine, run_apart stderr
load ../cli/helper
load ../cli/run_helper
load attacks_helper

setup_file() {
    has_namespace || skip 'no namespaces here'
}

teardown() {
    stop_server "$BATS_TEST_TMPDIR/serve.pid"
    end_agents
}

# Starts the server of the page, which makes its key, or keeps the one that is there.
serve() {
    "$ANABRANCH" serve >"$BATS_TEST_TMPDIR/url" 2>&1 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/serve.pid"
    wait_for test -s .git/anabranch/serve.key
}

# Lists and reads all that there is of our folder into the file `seen`, by whatever name it has.
look='all() { find "$REPO/.git/anabranch" "/proc/self/root$REPO/.git/anabranch" /proc/[0-9]*/cwd/../../../../.git/anabranch \
    /proc/[0-9]*/root"$REPO/.git/anabranch" 2>&1; find "$REPO/.git/anabranch" -type f -exec cat {} + 2>&1; }'

# A run of a task with a secret, and of an agent that looks when the file `go` is there.
begin_look() {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task victim -- 'say my-log' "sh $(until_exists seen)" 'sh echo $ANABRANCH_RUN >victim'
    agent evil "$(until_exists 'go')
$look
all >'$BATS_TEST_TMPDIR/look'
$1
mv '$BATS_TEST_TMPDIR/look' '$BATS_TEST_TMPDIR/seen'
echo \"own \$ANABRANCH_RUN\" >\"\$TMPDIR/own\" && cat \"\$TMPDIR/own\" >result"
}

# No key, nothing of the other task, the store or the socket; but its own files.
assert_unseen() {
    local seen=$BATS_TEST_TMPDIR/seen word
    for word in "serve.key$" "$(head -c 20 .git/anabranch/serve.key)" runs/[^/]*/victim my-log state.db run.sock vault; do
        ! grep -qa -e "$word" "$seen" || fail "it sees $word:" "$(grep -a -e "$word" "$seen")"
    done
    grep -q "evil/1/prompt" "$seen" || fail "it does not see its own files:" "$(<"$seen")"
}

@test "hidden: the key of the page, made before or after an agent's start, and all of other tasks" {
    begin_look ''
    start_plan
    wait_for in_events task.started evil
    wait_for in_events task.started victim
    serve
    touches go
    end_plan
    assert_status 0
    assert_unseen
    git show main:result | grep -q '^own ' || fail 'it has no TMPDIR'
    add_task later -- "sh $(until_exists seen)" 'write later L'
    rm "$BATS_TEST_TMPDIR/seen"
    run_plan --json
    assert_status 0
    assert_unseen
    assert_clean
}

@test "hidden: an agent that is not root neither unmounts it nor looks below it in a namespace of its own" {
    [[ $(id -u) -ne 0 ]] || skip 'root may unmount whatever it likes'
    begin_look 'umount "$REPO/.git/anabranch"; umount -l "$REPO/.git/anabranch"; mount -o remount,rw "$REPO/.git/anabranch"
mkdir x
nest() { unshare -Urmpf sh -c "$1; ls x; cat x/serve.key x/anabranch/serve.key \"$REPO/.git/anabranch/serve.key\"; ls \"$REPO/.git/anabranch\""; }
for way in "umount -l $REPO/.git/anabranch" "mount --bind $REPO/.git x" "mount --rbind $REPO/.git x; umount x/anabranch" \
    "mount -t overlay -o lowerdir=$REPO/.git:/usr none x" "mount --move $REPO/.git/anabranch x" "mount --make-rprivate /; umount -R $REPO/.git/anabranch"; do
    nest "$way"
done >>'"'$BATS_TEST_TMPDIR/look'"' 2>&1
nsenter -m -t 1 cat "$REPO/.git/anabranch/serve.key" >>'"'$BATS_TEST_TMPDIR/look'"' 2>&1
all >>'"'$BATS_TEST_TMPDIR/look'"'; rmdir x'
    start_plan
    wait_for in_events task.started evil
    serve
    touches go
    end_plan
    assert_status 0
    assert_unseen
    assert_clean
}

@test "hidden: nothing can be written there, nor does the folder stay busy, nor is anything mounted outside" {
    make_repo
    begin_plan
    agent evil 'echo x >"$REPO/.git/anabranch/x"; mkdir "$REPO/.git/anabranch/runs/x"; mv "$REPO/.git/anabranch" "$REPO/.git/y"
rm -rf "$REPO/.git/anabranch/vault" "$REPO"/.git/anabranch/state.db*
touch '"'$BATS_TEST_TMPDIR/tried'; $(until_exists go)"'; echo 1 >result'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/tried"
    [[ ! -e .git/anabranch/x && ! -e .git/anabranch/runs/x && ! -e .git/y && -s .git/anabranch/state.db ]] || fail "$(find .git/anabranch)"
    ! grep -F "$PWD/.git/anabranch" /proc/self/mountinfo || fail 'it is mounted outside'
    mv .git/anabranch .git/elsewhere
    mv .git/elsewhere .git/anabranch
    touches go
    end_plan
    assert_status 0
    assert_clean
    rm -r .git/anabranch
}

@test "hidden: verification, setup and hooks see no other task either" {
    local who
    make_repo
    git config core.hooksPath "$PWD/.git/hooks"
    mkdir -p .git/hooks
    printf '#!/bin/sh\nfind %q >%q 2>&1; git add -A; git config user.name x; true\n' "$PWD/.git/anabranch" "$BATS_TEST_TMPDIR/hook" >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan "commit: {hooks: true}" "workspace: {setup: \"find '$PWD/.git/anabranch' >'$BATS_TEST_TMPDIR/setup'\"}" \
        "landing: {verify: \"find '$PWD/.git/anabranch' >'$BATS_TEST_TMPDIR/landing'\"}"
    add_task victim -- 'write victim V'
    add_task t 'depends_on: [victim]' "verify: \"find '$PWD/.git/anabranch' >'$BATS_TEST_TMPDIR/verify'\"" -- 'write t T'
    run_plan --json
    assert_status 0
    for who in setup landing verify hook; do
        grep -q /t/1/ "$BATS_TEST_TMPDIR/$who" || fail "$who does not see its own files:" "$(<"$BATS_TEST_TMPDIR/$who")"
        ! grep -e /victim -e state.db "$BATS_TEST_TMPDIR/$who" || fail "$who sees others"
    done
    assert_in main t T
}

@test "hidden: our program says inside a task that it sees no runs there" {
    make_repo
    begin_plan
    agent a "for command in 'status' 'run --engine sim $PWD/plan.yaml' 'say a x' 'clean' 'resume' 'serve'; do
cd '$PWD'; timeout 20 '$ANABRANCH' \$command >>'$BATS_TEST_TMPDIR/said' 2>&1; echo \"\$? \$command\" >>'$BATS_TEST_TMPDIR/codes'
done; echo 1 >\"\$ws/result\""
    run_plan --json
    assert_status 0
    [[ $(grep -c 'hidden from processes inside a task' "$BATS_TEST_TMPDIR/said") == 6 ]] ||
        fail "$(<"$BATS_TEST_TMPDIR/said")" "$(<"$BATS_TEST_TMPDIR/codes")"
    assert_clean
}
