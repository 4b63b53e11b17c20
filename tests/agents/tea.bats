#!/usr/bin/env bats
# The real tea, with a stand-in for Gitea's API: `converge` makes and updates pull requests.
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load agents_helper
load ../cli/threads_helper
load ../cli/forge_helper

GITEA=$BATS_TEST_TMPDIR/gitea

teardown() {
    stop_server "$GITEA/pid"
}

gitea_decided() {
    [[ -e $GITEA/port ]] || is_gone "$(<"$GITEA/pid")"
}

# A repository whose origin is on a Gitea that tea has a login for; git finds it on the disk.
begin_tea() {
    local address
    agent_available tea
    make_repo
    mkdir -p "$GITEA" "$HOME/.config/tea"
    node "$BATS_TEST_DIRNAME/../forge/gitea.mjs" "$GITEA" >"$GITEA/log" 2>&1 3>&- &
    echo $! >"$GITEA/pid"
    wait_for gitea_decided
    [[ -e $GITEA/port ]] || { fail "no forge: $(<"$GITEA/log")"; return 1; }
    address=http://127.0.0.1:$(<"$GITEA/port")
    unset XDG_CONFIG_HOME "${!GITEA_@}" http_proxy HTTP_PROXY
    printf '%s\n' 'logins:' '  - {name: other, url: "https://codeberg.org", token: none, default: true, user: me}' \
        "  - {name: here, url: \"$address\", token: none, user: me}" >"$HOME/.config/tea/config.yml"
    make_bare
    git config "url.$FORGE/acme/widget.git.insteadOf" "$address/acme/widget.git"
    add_origin "$address/acme/widget.git"
    git config anabranch.forge tea
    plan_threads 1 2
    fan_out
    work 1 d1/file text
}

converge() { # [OPTION...]
    run_apart anabranch converge "$@" 3>&-
    assert_no_sanitizer
}

changes() { # METHOD FILTER
    jq -r "select(.method == \"$1\") | $2" "$GITEA/requests"
}

@test "converge with the real tea: from a worktree and from the main checkout, made once, then changed" {
    begin_tea
    converge --draft
    assert_status 0
    assert_output 'thread-1: pushed, new pull request http://127.0.0.1/acme/widget/pulls/1'
    [[ $(changes POST '"\(.path) \(.body.head) \(.body.base) \(.body.title)"') == \
        "/api/v1/repos/acme/widget/pulls $(branch 1) main WIP: [thread-1] Goal of 1" ]] || fail "$(changes POST .)"
    [[ $(changes POST .body.body) == *'## Goal'* ]] || fail "no body: $(changes POST .)"
    work 2 d2/file text
    cd "$(tree 1)"
    converge
    assert_status 0
    assert_output 'thread-1: pushed, pull request updated: http://127.0.0.1/acme/widget/pulls/1
thread-2: pushed, new pull request http://127.0.0.1/acme/widget/pulls/2'
    [[ $(changes PATCH '"\(.path) \(.body.title)"') == '/api/v1/repos/acme/widget/issues/1 [thread-1] Goal of 1' ]] ||
        fail "$(changes PATCH .)"
}
