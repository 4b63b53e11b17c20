#!/usr/bin/env bats
# Attempts that print, write or nest without limit: we bound them, and name files that we cannot remove.
# shellcheck disable=SC2016,SC2154 # lines for the agents shell; start_plan sets engine, run_apart stderr
load ../cli/helper
load ../cli/run_helper
load attacks_helper

teardown() {
    [[ ! -e $BATS_TEST_TMPDIR/immutable ]] || find "$BATS_TEST_TMPDIR" -name forever -exec chattr -f -i {} + || true
    end_agents
}

run_bounded() { # [COMMAND...]
    (($#)) || set -- run plan.yaml
    run_apart timeout -k 1 "${patience:-40}" "$ANABRANCH" "$@" 3>&- </dev/null
    [[ $status -ne 124 && $status -ne 137 ]] || fail "it did not end: $*"
    assert_no_sanitizer
}

# The bytes that logs take.
logged() {
    cat .git/anabranch/runs/*/a/1/{out,err} | wc -c
}

salvaged() {
    git for-each-ref --format='%(refname)' refs/anabranch/salvage
}

@test "bounds: an agent that prints without an end is ended at limits.output" {
    make_repo
    begin_plan 'limits: {output: 1MiB}' 'defaults: {retry: 0}'
    attack a 'echo done >result; yes'
    run_bounded
    assert_status 1
    assert_summary a 'internal: printed more than limits.output (1.0 MiB)'
    [[ $(logged) -eq $((1 << 20)) ]] || fail "its logs have $(logged) bytes"
    assert_in "$(salvaged)" result 'done'
    assert_clean 'refs/anabranch/salvage/*'
}

@test "bounds: an agent that removes or renames its logs is ended at limits.output all the same" {
    make_repo
    begin_plan 'limits: {output: 1MiB}' 'defaults: {retry: 0}'
    attack removes 'rm -f "$REPO"/.git/anabranch/runs/*/removes/1/out; echo done >one; yes'
    attack renames 'cd "$REPO"/.git/anabranch/runs/*/renames/1; mv out old; : >out; echo done >"$ws/two"; yes'
    run_bounded
    assert_status 1
    assert_summary removes 'internal: printed more than limits.output (1.0 MiB)'
    assert_summary renames 'internal: printed more than limits.output (1.0 MiB)'
    [[ $(cat .git/anabranch/runs/*/renames/1/old | wc -c) -le $((1 << 20)) ]] || fail "the log was not cut"
    assert_clean 'refs/anabranch/salvage/*'
}

@test "bounds: all output before the end counts, of all streams and commands together" {
    make_repo
    begin_plan 'limits: {output: 100k}' 'defaults: {retry: 0}'
    attack a 'echo done >result; head -c 60000 /dev/zero; head -c 30000 /dev/zero >&2' \
        'verify: head -c 20000 /dev/zero'
    attack b 'echo done >other; head -c 60000 /dev/zero; head -c 30000 /dev/zero >&2'
    run_bounded
    assert_status 1
    assert_summary a 'printed more than limits.output (97.6 KiB)'
    assert_summary b landed
}

@test "bounds: of a task with a limit of 0 any output is fine" {
    make_repo
    begin_plan 'limits: {output: 10k}' 'defaults: {retry: 0}'
    attack a 'echo done >result; head -c 1000000 /dev/zero' 'limits: {output: 0}'
    run_bounded
    assert_status 0
    [[ $(logged) -eq 1000000 ]] || fail "its logs have $(logged) bytes"
}

# Changed files

@test "bounds: a change of more files than limits.change.files fails, and all of it is saved" {
    local how
    for how in 5 300; do # staged by us, by git
        cd "$BATS_TEST_TMPDIR/work" && mkdir "$how" && cd "$how" && make_repo
        begin_plan 'limits: {change: {files: 3}}' 'defaults: {retry: 0}'
        attack a "mkdir new; for i in \$(seq $how); do echo \$i >new/\$i; done"
        attack b 'echo b >b; rm file; echo more >>dir/inner'
        run_bounded
        assert_status 1
        assert_summary a "scope: changed $how files with "
        assert_summary a 'more than limits.change allows (3 files)'
        assert_summary b landed
        [[ $(git ls-tree -r --name-only "$(salvaged)" new | wc -l) -eq $how ]] || fail "not all is saved"
        assert_clean 'refs/anabranch/salvage/*'
    done
}

@test "bounds: a change of more bytes than limits.change.bytes fails; ignored files do not count" {
    make_repo
    echo build/ >>.git/info/exclude
    begin_plan 'limits: {change: {bytes: 100k}}' 'defaults: {retry: 0}'
    attack a 'head -c 200000 /dev/zero >large'
    attack b 'mkdir build; head -c 200000 /dev/zero >build/large; echo b >b'
    attack c 'head -c 200000 /dev/zero >larger' 'limits: {change: {bytes: 1M}}'
    run_bounded
    assert_status 1
    assert_summary a 'scope: changed 1 file with 195.3 KiB, more than limits.change allows (97.6 KiB)'
    assert_summary b landed
    assert_summary c landed
}

@test "bounds: files that an agent committed itself count as well" {
    make_repo
    begin_plan 'limits: {change: {files: 3}}' 'defaults: {retry: 0}'
    attack a 'for i in 1 2 3 4; do echo $i >$i; git add $i; git commit -qm $i; done'
    run_bounded
    assert_status 1
    assert_summary a 'scope: changed 4 files'
    assert_in "$(salvaged)" 4 4
}

# bats test_tags=slow
@test "bounds: eight gigabytes in a file are not taken in; the rest is saved, and the file is named" {
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a 'echo done >result; truncate -s 8G huge'
    patience=120 run_bounded
    assert_status 1
    assert_summary a 'scope: changed 2 files with 8.0 GiB, more than limits.change allows (2.0 GiB)'
    assert_contains '1 file not saved, 8.0 GiB'
    assert_in "$(salvaged)" result 'done'
    refute_in "$(salvaged)" huge
    local tree
    tree=$(echo "$PWD"/.anabranch/worktrees/*/a)
    [[ -s $tree/huge ]] || fail "it does not stay"
    run_bounded clean --all
    assert_status 3
    assert_contains "failed   workspace $tree: 1 file in it (8.0 GiB), such as 'huge', exceed the limits and cannot be saved"
    assert_contains "to remove it with them: git worktree remove -f -f $tree"
    git worktree remove -f -f "$tree"
    run_bounded clean --all
    assert_status 0
    assert_clean 'refs/anabranch/salvage/*'
}

# Most files are empty: a disk that is mounted with discard needs a millisecond or more to remove one that is not.
# bats test_tags=slow
@test "bounds: two hundred thousand files, and an agent that fails with them" {
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a 'mkdir many && cd many && seq 195000 | xargs touch && seq 5000 | split -l 1 -a 5 && echo done >../result'
    attack b 'mkdir many && cd many && seq 195000 | xargs touch && seq 5000 | split -l 1 -a 5 && exit 1'
    patience=300 run_bounded
    assert_status 1
    assert_summary a 'scope: changed 200.0k files'
    assert_summary b 'transient: '
    assert_contains ", 100000 files not saved" # of b: if git add was fast, all files of a are in a commit
}

# Left files

# bats test_tags=slow
@test "bounds: twenty thousand folders in each other are removed" {
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a 'echo done >result
perl -e "for (1..20000) { mkdir q(d) or die; chdir q(d) or die }"'
    attack b 'perl -e "for (1..20000) { mkdir q(d) or die; chdir q(d) or die }"; exit 1'
    patience=300 run_bounded
    assert_status 1
    assert_in main result 'done'
    assert_clean
}

# A file below a folder that nobody may delete, which the test makes deletable again at its end.
make_immutable() {
    touch "$BATS_TEST_TMPDIR/try"
    { [[ $(id -u) -eq 0 ]] && chattr +i "$BATS_TEST_TMPDIR/try" 2>/dev/null; } || skip 'no file can be made immutable here'
    chattr -i "$BATS_TEST_TMPDIR/try"
    echo "mkdir -p kept; echo x >kept/forever; touch '$BATS_TEST_TMPDIR/immutable'; chattr +i kept/forever"
}

@test "bounds: run and clean name the files that they cannot remove, with the command that helps" {
    local line stays helps
    line=$(make_immutable)
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a "echo done >result; $line"
    run_bounded
    assert_in main result 'done'
    stays=$(find "$PWD/.anabranch" "$PWD/.git" -name forever 2>/dev/null) || skip 'an overlay keeps the flag to itself'
    assert_contains "remove '$stays': Operation not permitted: it is immutable; chattr -R -f -i -a "
    for _ in 1 2; do
        run_bounded clean --all
        assert_status 3
        refute_contains 'removed  folder'
        refute_contains 'removed  workspace'
        assert_contains "failed   folder"
        assert_contains "remove '$stays': Operation not permitted: it is immutable; chattr"
    done
    helps=$(sed -n 's/.*it is immutable; \(chattr .* rm -rf .*\) removes it.*/\1/p' <<<"$output" | head -n 1)
    eval "$helps"
    [[ ! -e $stays ]] || fail "the command does not help: $helps"
    run_bounded clean --all
    assert_status 0
    assert_clean
}

@test "bounds: clean says of a workspace that it cannot delete that it failed, and resume continues" {
    local line stays
    line=$(make_immutable)
    [[ -n $line ]] || skip 'no file can be made immutable here' # the other skip ends a subshell
    make_repo
    begin_plan 'defaults: {retry: 0}'
    attack a "test -e '$BATS_TEST_TMPDIR/again' || { $line; echo \$PPID >'$BATS_TEST_TMPDIR/begun'; exec sleep 1000; }
echo done >result"
    start_plan --engine command
    wait_for test -s "$BATS_TEST_TMPDIR/begun"
    kill -KILL "$engine"
    wait_for no_agents
    touch "$BATS_TEST_TMPDIR/again"
    run_bounded resume
    assert_in main result 'done'
    stays=$(find "$PWD/.anabranch" "$PWD/.git" -name forever 2>/dev/null) || skip 'an overlay keeps the flag to itself'
    assert_contains 'it is immutable; chattr'
    run_bounded clean --all
    assert_status 3
    refute_contains 'removed  folder'
    assert_contains "remove '$stays': Operation not permitted"
}
