#!/usr/bin/env bats
# Merges that need git are made by one git that stays, and by one each where that does not answer.
# shellcheck disable=SC2016 # what is not expanded here is for the agent's shell, or the stand-in's
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper

TASKS=8

# A git that notes down each merge-tree; one that stays does what the line says, if there is one.
count_merges() { # [LINE]
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/git" <<END
#!/bin/sh
PATH=\${PATH#*:}
case " \$* " in
*' merge-tree '*' --stdin '*)
    echo \$\$ >>'$BATS_TEST_TMPDIR/stays'
    ${1-}
    ;;
*' merge-tree '*) echo \$\$ >>'$BATS_TEST_TMPDIR/own' ;;
esac
exec git "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
    : >"$BATS_TEST_TMPDIR/stays"
    : >"$BATS_TEST_TMPDIR/own"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

assert_merges() { # STAYING OWN
    local stays own
    stays=$(wc -l <"$BATS_TEST_TMPDIR/stays") own=$(wc -l <"$BATS_TEST_TMPDIR/own")
    [[ $stays -eq $1 && $own -eq $2 ]] || fail "expected $1 that stay and $2 of their own: $stays, $own"
}

begin_repo() {
    make_repo
    seq 100 >shared
    git add shared
    git commit -q -m shared
}

# Tasks that all change the one file, each in a place of its own. They land one after the other, and
# all began at the same commit: only for the first there is nothing to judge.
add_tasks() {
    local i
    for ((i = 1; i <= TASKS; i++)); do
        add_task "t$i" -- "sh sed -i 's/^$((10 * i))\$/by t$i/' shared"
    done
}

assert_all_landed() {
    local i
    for ((i = 1; i <= TASKS; i++)); do
        grep -qx "by t$i" shared || fail "nothing of t$i"
    done
    [[ $(wc -l <shared) -eq 100 ]] || fail "lines are missing"
}

needs_stdbuf() {
    command -v stdbuf >/dev/null || skip 'stdbuf is missing'
}

@test "merger: after a few, one git makes all merges of a run" {
    needs_stdbuf
    begin_repo
    count_merges
    begin_plan 'limits: {workers: 2}'
    add_tasks
    run_plan
    assert_status 0
    assert_all_landed
    assert_merges 1 3
    git fsck --strict
}

@test "merger: commits that are put on top of each other are merged by it as well" {
    needs_stdbuf
    begin_repo
    count_merges
    begin_plan 'limits: {workers: 1}' 'landing: {style: rebase}'
    add_tasks
    run_plan
    assert_status 0
    assert_all_landed
    assert_merges 1 3
}

@test "merger: a conflict is told as by a git of its own" {
    needs_stdbuf
    begin_repo
    count_merges
    begin_plan 'limits: {workers: 1}' 'defaults: {retry: 0}'
    add_tasks
    add_task clash -- "sh sed -i 's/^50\$/by clash/' shared"
    run_plan
    assert_status 4
    assert_all_landed
    assert_contains 'shared (lines 50-54)'
    assert_merges 1 3
}

# It tries itself out, makes two, and half of the third; the next one makes the fourth.
@test "merger: one that is killed in the middle of an answer does no harm" {
    needs_stdbuf
    begin_repo
    count_merges 'for n in 1 2 3; do read -r line; echo "$line" | git "$@"; done
    read -r line; printf "1\\0%.30s" "$line"; kill -KILL $$'
    begin_plan 'limits: {workers: 1}'
    add_tasks
    run_plan
    assert_status 0
    assert_all_landed
    assert_merges 2 4
}

@test "merger: one that gives no answer is given up, and nothing is left of it" {
    needs_stdbuf
    begin_repo
    count_merges 'exec sleep 1000'
    begin_plan 'limits: {workers: 1}'
    add_tasks
    run_plan
    assert_status 0
    assert_all_landed
    assert_merges 1 $((TASKS - 1))
    run ! kill -0 "$(<"$BATS_TEST_TMPDIR/stays")"
}

@test "merger: where attributes say how a file is merged it is not asked" {
    begin_repo
    echo 'shared merge=union' >.gitattributes
    git add .gitattributes
    git commit -q -m attributes
    count_merges
    begin_plan 'limits: {workers: 1}'
    local i
    for ((i = 1; i <= TASKS; i++)); do
        add_task "t$i" -- "sh echo 'at the end, by t$i' >>shared"
    done
    run_plan
    assert_status 0
    [[ $(grep -c '^at the end' shared) -eq $TASKS ]]
    assert_merges 0 $((TASKS - 1))
}
