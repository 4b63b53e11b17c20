#!/usr/bin/env bats
# The tables of doc/security.md name tests that exist.
# shellcheck disable=SC2016 # the marks of code in Markdown

@test "table: each test that doc/security.md names is there" {
    cd "$BATS_TEST_DIRNAME"
    names=$(sed -n '/^| /s/^.*| \([^|]*\) |$/\1/p' ../../doc/security.md | grep -o '`[^`]*`' | tr -d '`')
    [[ $(wc -l <<<"$names") -gt 50 ]]
    while IFS= read -r name; do
        grep -qF "@test \"$name" ./*.bats || { echo "no such test: $name"; return 1; }
    done <<<"$names"
}
