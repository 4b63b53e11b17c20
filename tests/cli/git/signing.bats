#!/usr/bin/env bats
# Signatures of our commits, if commit.gpgsign asks for them.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

# git starts us in place of gpg or ssh-keygen, within the memory that it may have itself.
skip_with_sanitizer() {
    ! grep -q __asan_init "$ANABRANCH" || skip 'a sanitizer takes more memory than a git may have'
}

# A key of ssh's for the user, with a passphrase or none.
ssh_key() { # PASSPHRASE
    ssh-keygen -q -t ed25519 -N "$1" -f "$BATS_TEST_TMPDIR/key" </dev/null
    echo "tester@example.com $(<"$BATS_TEST_TMPDIR/key.pub")" >"$BATS_TEST_TMPDIR/signers"
    git config commit.gpgsign true
    git config gpg.format ssh
    git config user.signingkey "$BATS_TEST_TMPDIR/key"
    git config gpg.ssh.allowedSignersFile "$BATS_TEST_TMPDIR/signers"
    cp .git/config "$BATS_TEST_TMPDIR/config"
}

# Two tasks beside each other, so that one of them is merged.
run_two() {
    begin_plan
    add_task a -- 'write a A'
    add_task b -- 'write b B'
    run_plan --json
    assert_status 0
    assert_in main a A
    assert_in main b B
    assert_clean
}

@test "signing: commits are signed where commit.gpgsign wants it and ssh needs no prompt" {
    skip_with_sanitizer
    make_repo
    ssh_key ''
    run_two
    ! git log --format='%G? %s' HEAD | grep -v '^G' | grep -v 'N start' || fail 'not signed'
    refute_event git.state_changed
}

@test "signing: if signing needs a prompt, the run says that once, and asks nobody" {
    make_repo
    ssh_key 'a passphrase'
    # A program that asks for a passphrase gets one, and leaves a file that we find.
    printf '#!/bin/sh\ntouch "%s"\necho "a passphrase"\n' "$BATS_TEST_TMPDIR/asked" >"$BATS_TEST_TMPDIR/askpass"
    chmod +x "$BATS_TEST_TMPDIR/askpass"
    SSH_ASKPASS=$BATS_TEST_TMPDIR/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=:0 SSH_AUTH_SOCK='' run_two
    [[ ! -e $BATS_TEST_TMPDIR/asked ]] || fail 'somebody was asked'
    [[ $(git log --format=%G? HEAD | sort -u) == N ]] || fail "$(git log --format='%h %G? %s')"
    [[ $(grep -c 'commits of this run are not signed' <<<"$output") == 1 ]] || fail 'it is not said once'
}

@test "signing: commits are signed by gpg, and one that hangs is not waited for" {
    command -v gpg >/dev/null || skip 'no gpg'
    skip_with_sanitizer
    make_repo
    export GNUPGHOME=$BATS_TEST_TMPDIR/gnupg
    mkdir -m 700 "$GNUPGHOME"
    gpg -q --batch --pinentry-mode loopback --passphrase '' --quick-generate-key tester@example.com ed25519 sign never \
        2>"$BATS_TEST_TMPDIR/gpg" || skip "$(<"$BATS_TEST_TMPDIR/gpg")"
    git config commit.gpgsign true
    git config user.signingkey tester@example.com
    cp .git/config "$BATS_TEST_TMPDIR/config"
    run_two
    ! git log --format='%G? %s' HEAD | grep -v '^[GU]' | grep -v 'N start' || fail 'not signed'
    gpgconf --kill all
    printf '#!/bin/sh\nexec sleep 600\n' >"$BATS_TEST_TMPDIR/hangs"
    chmod +x "$BATS_TEST_TMPDIR/hangs"
    git config gpg.program "$BATS_TEST_TMPDIR/hangs"
    begin_plan
    add_task c -- 'write c C'
    run_plan --json
    assert_status 0
    [[ $(git log -1 --format=%G?) == N ]] || fail 'it is signed'
    assert_event git.state_changed '' 'commits of this run are not signed'
}
