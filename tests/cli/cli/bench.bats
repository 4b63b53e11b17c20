#!/usr/bin/env bats
# tests/bench: the plans that it measures are plans.
load ../helper

@test "bench: check accepts a plan of each shape in each syntax" {
    local shape syntax
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -o generate "$BATS_TEST_DIRNAME/../../bench/generate.c" || skip 'no compiler'
    for shape in chain wide random globs endings shared; do
        for syntax in yaml toml json; do
            ./generate "$syntax" "$shape" 8 >"plan.$syntax"
            run anabranch check --strict "plan.$syntax"
            assert_status 0
        done
    done
}
