#!/usr/bin/env bats
# Workspaces that are snapshots, on a btrfs of the test; this needs root.
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../helper
load ../run_helper

# Goes to a new file system.
on_btrfs() {
    [[ $(uname) == Linux && $EUID -eq 0 ]] || skip "only root can mount"
    PATH=$PATH:/usr/sbin:/sbin
    command -v mkfs.btrfs >/dev/null || skip "there is no mkfs.btrfs"
    disk=$(mktemp -d "${TMPDIR:-/tmp}/anabranch-btrfs-XXXXXX") # where everyone may go
    truncate -s 256M "$BATS_TEST_TMPDIR/image"
    mkfs.btrfs -q "$BATS_TEST_TMPDIR/image" 2>/dev/null || skip "no btrfs can be made"
    mount -o "loop${1:+,$1}" "$BATS_TEST_TMPDIR/image" "$disk" || skip "no btrfs can be mounted"
    export GIT_CEILING_DIRECTORIES=$disk ANABRANCH_PROVIDER=snapshot
    cd "$disk" || return
}

off_btrfs() {
    cd / || return
    [[ ${disk-} ]] || return 0
    ! mountpoint -q "$disk" || wait_for umount "$disk"
    rmdir "$disk"
    rm "$BATS_TEST_TMPDIR/image"
    disk=
}

teardown() {
    end_agents
    off_btrfs
}

# Those that are there, by their paths on the disk.
subvolumes() {
    btrfs subvolume list "$disk" | sed 's/.* path //' | sort
}

# All but the tree that workspaces are made of.
assert_only_pristine() {
    [[ $(subvolumes) == repo/.git/anabranch/pristine/*/tree && $(subvolumes | wc -l) -eq 1 ]] ||
        fail "there are:" "$(subvolumes)"
}

workspace() { # TASK
    echo "$PWD"/.anabranch/worktrees/*/"$1"
}

# As someone who is not root.
plainly() { # COMMAND...
    HOME=$disk/home setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

@test "doctor: says whether snapshots work, by making one" {
    make_repo
    run anabranch doctor
    assert_contains "snapshots             "
    on_btrfs
    can_be_plain
    make_repo
    run anabranch doctor
    assert_contains 'ok  snapshots             works'
    chown -R 65534:65534 .
    chmod 755 "$disk"
    run plainly "$ANABRANCH" doctor
    assert_contains 'ok  snapshots             works, but deleting one takes as long as its files do'
    mount -o remount,user_subvol_rm_allowed "$disk"
    run plainly "$ANABRANCH" doctor
    assert_line 'ok  snapshots             works'
    no_subvolumes || fail "left: $(subvolumes)"
    [[ -z $(find .git -name '*.gone') ]] || fail "left: $(find .git -name '*.gone')"
}

@test "snapshot: tasks work in snapshots of one tree, and land" {
    on_btrfs
    make_repo
    begin_plan 'limits: {workers: 3}'
    for task in a b c; do
        add_task "$task" -- "sh stat -c '%i %d' . >'$BATS_TEST_TMPDIR/$task.tree'" \
            "sh stat -c '%i %y %z' file >'$BATS_TEST_TMPDIR/$task.file'" \
            'sh test -z "$(git status --porcelain)" && git diff-files --quiet' \
            "sh $(busy 3)" "write $task 1" 'sh echo mine >>dir/inner; git checkout -q dir'
    done
    run_plan --json
    assert_status 0
    for task in a b c; do
        assert_in main "$task" 1
        [[ $(<"$BATS_TEST_TMPDIR/$task.tree") == 256\ * ]] || fail "$task was in no subvolume"
        cmp "$BATS_TEST_TMPDIR/a.file" "$BATS_TEST_TMPDIR/$task.file" || fail "other files"
    done
    [[ $(sort -u "$BATS_TEST_TMPDIR"/?.tree | wc -l) -eq 3 ]] || fail "not one for each"
    refute_contains 'filled by git'
    assert_only_pristine
    assert_clean
}

@test "snapshot: one that depends on others begins with what they did" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- 'write new "1\n"' 'delete dir/inner'
    add_task b 'depends_on: [a]' -- 'sh test -e new && test ! -e dir && test -z "$(git status --porcelain)"' 'write b "2\n"'
    run_plan --json
    assert_status 0
    assert_in main b 2
    refute_contains 'filled by git'
    assert_only_pristine
    assert_clean
}

@test "snapshot: the tree is brought forward by the next run, and is never changed by one" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- 'sh echo changed >file; rm -r dir; git gc -q --force; git clean -fdxq; git reset -q --hard' 'write a 1'
    add_task b -- 'write b 1'
    run_plan
    assert_status 0
    local one=(.git/anabranch/pristine/*)
    begin_plan
    add_task c -- 'sh test -e a && test -e b && test -z "$(git status --porcelain)"' 'write c 1'
    run_plan --json
    assert_status 0
    refute_contains 'filled by git'
    local two=(.git/anabranch/pristine/*)
    [[ ${#two[@]} -eq 1 && ${one[0]} != "${two[0]}" ]] || fail "not another one: ${two[*]}"
    [[ -e ${two[0]}/tree/a && ! -e ${two[0]}/tree/c ]] || fail "not what the run began with"
    assert_only_pristine
    assert_clean
}

@test "snapshot: a workspace in conflict stays, a folder as any other, until clean removes it" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- "sh $(busy 2)" 'sh sed -i s/one/a/ file'
    add_task b -- "sh $(busy 2)" 'sh sed -i s/one/b/ file'
    run_plan
    assert_status 4
    local left=("$PWD"/.anabranch/worktrees/*/*)
    [[ ${#left[@]} -eq 1 ]] || fail "left: ${left[*]}"
    git -C "${left[0]}" status --porcelain >/dev/null || fail "git does not work there"
    git worktree list --porcelain | grep -qx "worktree ${left[0]}" || fail "git does not know it"
    (cd "${left[0]}" && echo mine >mine && git add mine && git commit -qm mine) || fail "no commit"
    git worktree prune
    run anabranch doctor
    assert_contains "ok  workspaces            1 with "
    run anabranch clean --all
    assert_status 0
    wait_for test ! -e "${left[0]}"
    wait_for no_subvolumes
}

no_subvolumes() {
    [[ -z $(subvolumes) ]]
}

@test "snapshot: a killed run is resumed, and what was half made goes" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- 'write a 1' "sh touch $BATS_TEST_TMPDIR/here; $(until_exists on)"
    add_task b -- 'write b 1' "sh $(until_exists on)"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    wait_for no_agents
    local run
    run=$(dirname "$(workspace a)")
    btrfs -q subvolume snapshot .git/anabranch/pristine/*/tree "$run/x.gone"
    record_folder "$run/x.gone"
    touch "$BATS_TEST_TMPDIR/on"
    run_apart anabranch resume
    assert_status 0
    assert_no_sanitizer
    assert_in main a 1
    assert_in main b 1
    assert_only_pristine
    [[ ! -e .anabranch ]] || fail "left: $(find .anabranch)"
}

@test "snapshot: clean takes the tree away, but not while a run uses it" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- 'write a 1' "sh touch $BATS_TEST_TMPDIR/here; $(until_exists on)"
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    run anabranch clean --all
    assert_status 0
    assert_contains "kept     tree $(echo "$PWD"/.git/anabranch/pristine/*): it is in use"
    touch "$BATS_TEST_TMPDIR/on"
    end_plan
    assert_status 0
    assert_only_pristine
    run anabranch clean
    assert_contains "kept     tree $(echo "$PWD"/.git/anabranch/pristine/*): the next run makes workspaces from it"
    run anabranch clean --all --dry-run
    assert_contains "would remove  tree $(echo "$PWD"/.git/anabranch/pristine/*): "
    assert_only_pristine
    run anabranch clean --all
    assert_status 0
    wait_for no_subvolumes
    [[ ! -e .git/anabranch/pristine ]] || fail "the folder is there"
}

@test "snapshot: a tree that is a mere folder is not used" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    run_plan
    assert_status 0
    local tree
    for tree in .git/anabranch/pristine/*/tree; do
        cp -a "$tree" "$tree.copy"
        btrfs -q subvolume delete "$tree"
        mv "$tree.copy" "$tree"
    done
    begin_plan
    add_task b -- 'sh test "$(stat -c %i .)" = 256' 'write b 1'
    run_plan --json
    assert_status 0
    refute_contains 'filled by git'
    assert_only_pristine
}

@test "snapshot: if no snapshot can be made after all, git fills the workspace" {
    on_btrfs
    make_repo
    export ANABRANCH_CONTAIN=subreaper # our folder is hidden in a namespace
    begin_plan
    add_task a -- "sh btrfs -q subvolume delete '$PWD'/.git/anabranch/pristine/*/tree" 'write a 1'
    add_task b 'depends_on: [a]' -- 'sh test -e a && test -z "$(git status --porcelain)"' 'write b 1'
    add_task c 'depends_on: [b]' -- 'write c 1'
    run_plan --json
    assert_status 0
    assert_in main c 1
    assert_event git.state_changed '' "workspaces are filled by git: open '"
    [[ $(grep -c 'filled by git' <<<"$output") -eq 1 ]] || fail "told more than once"
    no_subvolumes || fail "left: $(subvolumes)"
    assert_clean
}

@test "snapshot: it is refused if workspaces are on another disk" {
    on_btrfs
    make_repo
    begin_plan "workspace: {dir: $BATS_TEST_TMPDIR/elsewhere}"
    add_task a -- 'write a 1'
    run_plan
    assert_status 2
    [[ $stderr == *"ANABRANCH_PROVIDER is 'snapshot', which does not work here: "* ]] || fail "why"
    no_subvolumes || fail "left: $(subvolumes)"
    [[ ! -e .git/anabranch && ! -e .anabranch ]] || fail "something was made"
}

@test "snapshot: a disk that cannot be written to is no wrong wish" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    mount -o remount,ro "$disk"
    run_plan
    assert_status 3
    [[ $stderr == *"Read-only file system"* ]] || fail "why"
}

@test "snapshot: it is refused without support for snapshots, before anything is made" {
    make_repo
    begin_plan 'workspace: {provider: snapshot}'
    add_task a -- 'write a 1'
    run_plan
    [[ $status -ne 0 || $(stat -f -c %T .) != btrfs ]] || skip "this is on btrfs"
    assert_status 2
    [[ $stderr == *"workspace.provider is 'snapshot', which does not work here: "*"is not on btrfs"* ]] || fail "why"
    [[ ! -e .git/anabranch && ! -e .anabranch ]] || fail "something was made"
}

# The whole run, by someone who is not root.
run_plain() { # [OPTION...]
    mkdir ../home
    chown -R 65534:65534 . ../home
    chmod 755 "$disk"
    run_apart plainly "$ANABRANCH" run --engine sim "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

can_be_plain() {
    command -v setpriv >/dev/null || skip "there is no setpriv"
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$ANABRANCH" || skip "the program is root's alone"
}

@test "snapshot: a plain user has them, whether the disk lets them be deleted or not" {
    for option in '' user_subvol_rm_allowed; do
        on_btrfs "$option"
        can_be_plain
        make_repo
        begin_plan
        for task in a b; do
            add_task "$task" -- 'sh test "$(stat -c %i .)" = 256 && test -z "$(git status --porcelain)"' "write $task 1"
        done
        run_plain --json
        assert_status 0
        refute_contains 'filled by git'
        assert_only_pristine
        off_btrfs
    done
}

make_large_repo() {
    make_repo
    mkdir many
    (cd many && seq 5000 | xargs touch)
    git add many
    git commit -qm many
}

@test "snapshot: a large one is used again, and is as new" {
    on_btrfs
    make_large_repo
    begin_plan 'limits: {workers: 1}'
    add_task a -- "sh stat -c %d . >'$BATS_TEST_TMPDIR/a.tree'" 'sh rm -r dir; mkdir -p new/er; touch new/er/file; echo x >many/1; git checkout -q dir; rm -r new' 'write a 1'
    add_task b -- "sh stat -c %d . >'$BATS_TEST_TMPDIR/b.tree'" \
        'sh test -z "$(git status --porcelain --ignored)" && test ! -e a && test ! -s many/1' 'write b 1'
    add_task c 'depends_on: [b]' -- "sh stat -c %d . >'$BATS_TEST_TMPDIR/c.tree'" \
        'sh test -z "$(git status --porcelain --ignored)" && test -e b && test -s many/1' 'write c 1'
    run_plan
    assert_status 0
    cmp "$BATS_TEST_TMPDIR/a.tree" "$BATS_TEST_TMPDIR/b.tree" || fail "not used again"
    cmp "$BATS_TEST_TMPDIR/a.tree" "$BATS_TEST_TMPDIR/c.tree" || fail "not used again"
    refute_contains 'filled by git'
    assert_only_pristine
    assert_clean
}

@test "snapshot: large trees are snapshots by themselves where overlays are not to be had" {
    on_btrfs
    can_be_plain
    unset ANABRANCH_PROVIDER
    make_large_repo
    begin_plan
    add_task a -- 'sh test "$(stat -c %i .)" = 256' 'write a 1'
    run_plain
    assert_status 0
    assert_only_pristine
}

# The pages that SQLite shares with its readers are written to another place, for which there is no room.
@test "btrfs: a full one ends a run as any other full disk does, and the run can be resumed" {
    on_btrfs
    make_repo
    begin_plan
    add_task a -- "sh touch '$BATS_TEST_TMPDIR/here'" "sh $(until_exists go)" 'write a "1\n"'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    sync -f .
    ! dd if=/dev/zero of=../ballast bs=64k 2>/dev/null || fail "it is not full"
    sync -f .
    ! dd if=/dev/zero of=../ballast2 bs=4k 2>/dev/null || fail "it is not full"
    sync -f .
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 3
    rm ../ballast ../ballast2
    sync -f .
    run anabranch resume
    assert_status 0
    assert_in main a 1
}
