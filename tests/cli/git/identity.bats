#!/usr/bin/env bats
# Landed commits are byte for byte those of `git add -A && git commit`; see identity.py.
#
# SEEDS=n tries n seeds from 1000 on, instead of the fixed ones. ANABRANCH_PROVIDER or IDENTITY_PROVIDERS (separated by
# commas) choose the providers; otherwise the test uses all that work here.
bats_require_minimum_version 1.5.0
load ../helper

@test "identity: after random edits what lands is what git would have committed" {
    local seeds=(3 8 17 29)
    # shellcheck disable=SC2207 # numbers
    [[ -z ${SEEDS-} ]] || seeds=($(seq 1000 $((999 + SEEDS))))
    run python3 "$BATS_TEST_DIRNAME/../identity.py" "$ANABRANCH" "$PWD" \
        "${IDENTITY_PROVIDERS:-${ANABRANCH_PROVIDER:-overlay,snapshot,pool,checkout}}" "${seeds[@]}" 3>&-
    assert_status 0
    [[ ${lines[-1]} =~ ^identity:\ [1-9][0-9]*\ passed,\ 0\ failed$ ]] || fail
}
