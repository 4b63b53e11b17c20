#!/usr/bin/env bats
# The power fails in the middle of a run: only the data on the disk is left.
# shellcheck disable=SC2154 # start_plan sets events and engine

load ../cli/helper
load ../cli/run_helper
load attacks_helper

teardown() {
    end_agents
    cd /
    ! mountpoint -q "$BATS_TEST_TMPDIR/disk" || umount -l "$BATS_TEST_TMPDIR/disk"
}

# A disk of its own for the repository, as an image.
make_disk() {
    ((EUID == 0)) || skip 'needs root'
    [[ ${ANABRANCH_PROVIDER-} != snapshot ]] || skip 'an ext4 has no snapshots'
    mkdir "$BATS_TEST_TMPDIR/disk"
    truncate -s 128M "$BATS_TEST_TMPDIR/image"
    mkfs.ext4 -q -F "$BATS_TEST_TMPDIR/image" || skip 'no ext4 here'
    mount -o loop "$BATS_TEST_TMPDIR/image" "$BATS_TEST_TMPDIR/disk" 2>/dev/null || skip 'nothing can be mounted here'
    export GIT_CEILING_DIRECTORIES=$BATS_TEST_TMPDIR/disk
    cd "$BATS_TEST_TMPDIR/disk" || return
}

# All records of the machine's start now name another start.
start_again() {
    find .git/anabranch -name boot -exec sh -c 'echo another >"$1"' _ {} \;
    grep -rlZF "$(</proc/sys/kernel/random/boot_id)" .git/worktrees .git/anabranch/runs/*/run.folders | xargs -0r sed -i "s/$(</proc/sys/kernel/random/boot_id)/another/"
}

# From now on nothing comes to the disk; then the machine starts again with what is on it.
fail_power() {
    mount -o remount,abort "$BATS_TEST_TMPDIR/disk"
    cp --sparse=always "$BATS_TEST_TMPDIR/image" "$BATS_TEST_TMPDIR/image.after"
    grep -F '"event":"task.landed"' "$events" | jq -r .commit >"$BATS_TEST_TMPDIR/landed"
    kill -KILL "$engine" 2>/dev/null || true
    wait "$engine" 2>/dev/null || true
    cd / || return
    umount -l "$BATS_TEST_TMPDIR/disk"
    mount -o loop "$BATS_TEST_TMPDIR/image.after" "$BATS_TEST_TMPDIR/disk"
    cd "$BATS_TEST_TMPDIR/disk/repo" || return
    start_again
}

landed_count() { # N
    (($(grep -cF '"event":"task.landed"' "$events") >= $1))
}

# The power fails when so many tasks were told to have landed; the rest is done by a resume.
assert_survives_at() { # N
    local i commit
    make_disk
    make_repo
    begin_plan 'limits: {workers: 3}'
    for i in {1..12}; do
        add_task "t$i" -- "write n$i x" 'sleep 10ms' "append f$i more"
    done
    sync -f .
    start_plan
    wait_for landed_count "$1"
    fail_power
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_no_sanitizer
    while read -r commit; do
        git merge-base --is-ancestor "$commit" main || fail "main lost $commit, which was told to have landed"
    done <"$BATS_TEST_TMPDIR/landed"
    for i in {1..12}; do assert_in main "f$i" more; done
    git rev-list --objects --all >/dev/null || fail 'a ref leads to something that is not there'
}

@test "power: nothing that was told to have landed is lost, and the run is resumed" {
    assert_survives_at 1
}

@test "power: work that clean has saved is on the disk before its workspace goes" {
    make_disk
    make_repo
    begin_plan
    add_task a -- 'write half H' "sh touch $BATS_TEST_TMPDIR/half; exec sleep 100"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/half"
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
    sync -f .
    run anabranch clean --all
    assert_status 0
    assert_contains 'saved as'
    fail_power
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/1')" half H
    git bundle verify -q .git/anabranch/vault/*/a/1.bundle || fail 'its copy is not whole'
    git rev-list --objects --all >/dev/null || fail 'a ref leads to something that is not there'
}

# bats test_tags=slow
@test "power: the same, later" {
    assert_survives_at 7
}

@test "power: refs and objects of a run that are empty or zeros are no obstacle to its resume" {
    make_repo
    begin_plan
    add_task a -- 'write a work'
    add_task b 'depends_on: [a]' "verify: 'touch $BATS_TEST_TMPDIR/verifying; $(until_exists go)'" -- 'write b work'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/verifying"
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
    local id branch
    id=$(ls .git/anabranch/runs)
    branch=refs/heads/anabranch/$id/b
    # what b has committed did not come to the disk, in neither way
    for object in "$(git rev-parse "$branch")" "$(git rev-parse "$branch:b")"; do
        object=.git/objects/${object::2}/${object:2}
        chmod u+w "$object"
        truncate -s 0 "$object"
        [[ -e $BATS_TEST_TMPDIR/zeros ]] || truncate -s 100 "$object"
        touch "$BATS_TEST_TMPDIR/zeros"
    done
    mkdir -p ".git/refs/anabranch/salvage/$id/b"
    : >".git/refs/anabranch/salvage/$id/b/1"
    : >.git/ORIG_HEAD
    start_again
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_contains 'removed 2 empty git objects'
    assert_in main a work
    assert_in main b work
    assert_unchanged_checkout
    git rev-list --objects main >/dev/null || fail 'main leads to something that is not there'
}
