# shellcheck shell=bash disable=SC2016 # the agents' shell is to see the variables
# shellcheck disable=SC2154 # run sets status and output
# An agent that configures programs in the repository of a submodule: our git processes do not run them.

load ../cli/helper
load ../cli/run_helper
load attacks_helper

# A repository with the submodule `sub`, whose file is `file`, and a program that notes who started it.
begin_attack() {
    RAN=$PWD/repo/.git/ran
    EVIL=$BATS_TEST_TMPDIR/evil
    printf '#!/bin/sh\ntr "\\0" " " </proc/$PPID/cmdline >>%q\ncat\n' "$RAN" >"$EVIL"
    chmod +x "$EVIL"
    git init -q -b main lib
    git -C lib config user.name Tester
    git -C lib config user.email tester@example.com
    echo one >lib/file
    git -C lib add file
    git -C lib commit -q -m one
    make_repo
    git -c protocol.file.allow=always submodule --quiet add ../lib sub
    git commit -q -m submodule
    begin_plan "$@"
}

# The agent fills the submodule and configures the program there. It touches the file: git has to read that.
# Programs that the agent starts itself do not count.
PLANT='git -c protocol.file.allow=always submodule --quiet update --init
    in=$(git -C sub rev-parse --absolute-git-dir)
    git -C sub config user.name Agent; git -C sub config user.email agent@example.com
    plant() {
        mkdir -p $in/info; echo "* filter=evil diff=evil" >$in/info/attributes
        for key in filter.evil.clean filter.evil.smudge diff.evil.textconv diff.external core.fsmonitor; do
            git config --file $in/config $key "$EVIL"
        done
        git config --file $in/config filter.evil.required true
        touch -d 2001-01-01 sub/file
    }'

plant() { # ID LINE [LINE OF YAML...]
    attack "$1" "EVIL=$EVIL; $PLANT; $2" "${@:3}"
}

run_attacks() {
    run_apart anabranch run --json plan.yaml 3>&-
    assert_no_sanitizer
}

assert_evil_did_not_run() {
    [[ ! -e $RAN ]] || fail "the agent's program was run by:" "$(<"$RAN")"
}

@test "submodules: programs in a submodule's configuration are not run where the task lands" {
    begin_attack
    plant same 'plant; echo 1 >new'
    plant moved 'echo 2 >sub/more; git -C sub add more; git -C sub commit -q -m more; plant' 'depends_on: [same]'
    run_attacks
    assert_event task.landed same
    assert_event task.landed moved
    assert_evil_did_not_run
    [[ $(git -C sub show "$(git rev-parse main:sub):more") == 2 ]] || fail "the submodule's commit is gone"
}

@test "submodules: nor where the task changes nothing, or fails" {
    begin_attack 'limits: {workers: 1}'
    plant same 'plant' 'retry: 0'
    plant fails 'plant; echo 1 >new; echo 2 >sub/untracked; exit 1' 'retry: 0'
    plant nested 'plant; git clone -q ../../../../lib inner; mv sub/.git sub/link; rm sub/link
        cp -r $in sub/.git; git config --file sub/.git/config --unset core.worktree; echo 1 >new; exit 1' 'retry: 0'
    run_attacks
    assert_evil_did_not_run
    assert_event task.salvaged fails '"nested":["sub"]'
    run anabranch clean --all
    assert_evil_did_not_run
}

@test "submodules: changes that are not committed in it are seen without them" {
    begin_attack 'limits: {workers: 1}'
    plant changed 'echo two >sub/file; plant; echo 1 >new' 'retry: 0'
    plant staged 'echo two >sub/file; git -C sub add file; plant; echo 1 >new' 'retry: 0'
    run_attacks
    assert_evil_did_not_run
    for id in changed staged; do
        assert_event task.failed "$id" "the submodule 'sub' has uncommitted changes"
        refute_event task.landed "$id"
    done
}
