#!/usr/bin/env bats
# The tools of other tests: the forge for gh, and an origin by ssh.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose

load ../helper
load ../forge_helper

teardown() {
    forge_stop
    ssh_origin_stop
}

commit_on() { # BRANCH
    git switch -q -c "$1" main
    echo "$1" >"${1//\//-}"
    git add .
    git commit -q -m "$1"
}

@test "gh makes, changes and finds a pull request on the forge" {
    make_repo
    forge_start
    file_origin
    commit_on topic
    git push -q origin topic
    run gh pr create --head topic --base main --title 'A "title"' --body $'two\nlines' --draft
    assert_status 0
    assert_output https://github.com/acme/widget/pull/1
    run forge_changes PullRequestCreate '[.headRefName, .baseRefName, .title, .body, .draft]'
    assert_output '["topic","main","A \"title\"","two\nlines",true]'

    run gh pr edit 1 --title Other --body Body
    assert_status 0
    run forge_changes PullRequestUpdate '[.title, .body]'
    assert_output '["Other","Body"]'

    run gh pr list --head topic --state all --json number,title,body,isDraft,headRefOid --jq '.[] | [.[]] | @csv'
    assert_output "\"Body\",\"$(git rev-parse topic)\",true,1,\"Other\""
    run gh pr list --head other --state all --json number
    assert_output '[]'
    run gh pr view 1 --json state,url --jq '.state, .url'
    assert_output $'OPEN\nhttps://github.com/acme/widget/pull/1'
    run gh pr view topic --json number --jq .number
    assert_output 1
}

@test "the forge refuses what GitHub refuses, and knows what was merged" {
    make_repo
    forge_start
    file_origin
    commit_on one
    run gh pr create --head one --base main --title T --body B
    assert_status 1
    assert_contains "Head ref must be a branch"
    git push -q origin one main:same
    run gh pr create --head same --base main --title T --body B
    assert_status 1
    assert_contains "No commits between main and same"
    gh pr create --head one --base main --title T --body B
    run gh pr create --head one --base main --title T --body B
    assert_status 1
    assert_contains "already exists"
    commit_on two
    git push -q origin two
    forge_refuse two
    run gh pr create --head two --base main --title T --body B
    assert_status 1

    forge_merge 1
    git push -q origin :one
    run forge_pulls state,mergedAt,headRefOid
    assert_contains '"state":"MERGED"'
    assert_contains "$(git rev-parse one)"
    refute_contains '"mergedAt":null'
}

@test "origin by ssh takes a push, and gh knows the repository by it" {
    make_repo
    forge_start
    ssh_origin_start
    commit_on topic
    git push -q origin topic
    [[ $(git -C "$FORGE/acme/widget.git" rev-parse topic) == $(git rev-parse topic) ]] || fail "not there"
    run gh pr create --head topic --base main --title T --body B
    assert_output https://github.com/acme/widget/pull/1
    grep -q 'Accepted publickey' "$BATS_TEST_TMPDIR/ssh/log" || fail "by no ssh"
    local pids
    pids="$(<"$FORGE/pid") $(<"$BATS_TEST_TMPDIR/ssh/pid")"
    forge_stop
    ssh_origin_stop
    for pid in $pids; do
        is_gone "$pid" || fail "still there: $pid"
    done
}
