#!/usr/bin/env bats
# scripts/suites.bash: a failed test runs once more after everything else; if it passes then, it is flaky.
# shellcheck disable=SC2016 # the suites expand it
bats_require_minimum_version 1.5.0
load ../helper

# Runs these lines with the functions of scripts/suites.bash. The bats in it knows nothing of ours.
check() { # LINE...
    local suites
    suites=$(realpath "$BATS_TEST_DIRNAME/../../../scripts/suites.bash")
    printf '%s\n' 'set -uo pipefail' ". '$suites'" 'trap "rm -rf \"\$work\"" EXIT' "$@" second_tries sum >script
    run env -i PATH="${PATH//$BATS_LIBEXEC:/}" TMPDIR="$BATS_TEST_TMPDIR" ANABRANCH="$PWD/program" bash script
}

# A file of bats tests, NAME.bats: one passes, each of the others does what its line says.
bats_tests() { # NAME [TEST LINE]...
    local file=$1.bats
    printf '@test "good" {\n    true\n}\n' >"$file"
    shift
    while (($#)); do
        printf "@test '%s' {\n    %s\n}\n" "$1" "$2" >>"$file"
        shift 2
    done
}

second_lines() {
    grep '^second try: ' <<<"$output"
}

@test "check: a test that fails once is tried again, alone, by its exact name, and shown" {
    bats_tests a 'a (b) [c] *.+?|{1}^ once' 'echo "with $ANABRANCH"; [ -e tried ] || { touch tried; false; }' \
        'a (b) [c] *.+?|{1}^ once and more' '[ ! -e tried.good ]; touch tried.good'
    check 'suite san cli tapped bats_file a.bats'
    assert_status 0
    assert_contains 'cli-san: 2 passed, 0 failed, 1 to be tried again'
    [[ $(second_lines) == "second try: a.bats 'a (b) [c] *.+?|{1}^ once' (cli-san) passed, so it is flaky; first failure:" ]] || fail
    [[ ${output#*second try} == *"# with $PWD/program"* ]] || fail 'the first failure is not shown'
    [[ ${lines[-1]} == '2 passed, 0 failed, 1 flaky' ]] || fail
}

@test "check: a test that fails twice is a failure" {
    bats_tests a 'always' 'echo so it is; false' 'once' '[ -e tried ] || { touch tried; false; }'
    check 'suite "" cli tapped bats_file a.bats'
    assert_status 1
    assert_line "second try: a.bats 'always' (cli) failed again:"
    assert_line "second try: a.bats 'once' (cli) passed, so it is flaky; first failure:"
    [[ ${output#*failed again} == *'# so it is'* ]] || fail 'the second failure is not shown'
    [[ ${lines[-1]} == '1 passed, 1 failed, 1 flaky' ]] || fail
}

@test "check: a test that is not found by its name is tried again with all of its file" {
    bats_tests a 'a $HOME' '[ -e tried ] || { touch tried; false; }'
    check 'suite san cli tapped bats_file a.bats'
    assert_status 0
    [[ ${lines[-1]} == '1 passed, 0 failed, 1 flaky' ]] || fail
}

@test "check: a file that ends in its middle is tried again as a whole, with the same program" {
    # A stand-in for bats, which is killed the first time.
    mkdir bin
    printf '#!/bin/sh\necho 1..3\necho ok 1 a\n[ "$ANABRANCH" = first ] || exit 1\n[ -e tried ] || { touch tried; kill -KILL $$; }\necho ok 2 b\necho ok 3 c\n' >bin/bats
    chmod +x bin/bats
    check 'PATH=$PWD/bin:$PATH' 'export ANABRANCH=first' 'suite "" cli tapped bats_file a.bats' 'export ANABRANCH=second'
    assert_status 0
    assert_line 'second try: a.bats (cli) passed, so it is flaky; first failure:'
    assert_line 'cli: 1 passed, 0 failed, 2 to be tried again'
    [[ ${lines[-1]} == '1 passed, 0 failed, 2 flaky' ]] || fail
}

@test "check: a unit program that fails once is tried again, and one that never ends well fails" {
    printf '#!/bin/sh\necho 1..2\necho ok 1 - a\n[ -e tried ] || { touch tried; echo not ok 2 - b; exit 1; }\necho ok 2 - b\n' >once
    printf '#!/bin/sh\necho 1..1\necho ok 1 - a\nexit 3\n' >leaks
    chmod +x once leaks
    check 'both() { tap_program ./once; tap_program ./leaks; }' 'suite "" unit tapped both'
    assert_status 1
    assert_line 'second try: ./once (unit) passed, so it is flaky; first failure:'
    assert_line 'second try: ./leaks (unit) failed again:'
    [[ ${lines[-1]} == '2 passed, 1 failed, 1 flaky' ]] || fail
}

# A stand-in for tests/chaos/run or killpoints: when it is asked for 5, two fail; alone, that in $ANABRANCH_BAD.
random_stub() { # FILE WORD NUMBER...
    local file=$1 word=$2
    shift 2
    cat >"$file" <<END
#!/bin/bash
echo "\$*" >>calls
if [ \$# = 1 ]; then
    printf '$word%s: wrong\n    deep down\n    again: x\n' $*
    echo 'x: 3 passed, 2 failed'
    exit 1
fi
[ "\$2" != "\${ANABRANCH_BAD-}" ] || { echo 'x: 0 passed, 1 failed'; exit 1; }
echo 'x: 1 passed, 0 failed'
END
    chmod +x "$file"
}

@test "check: random runs that failed are tried again by their seed, kill points by their number" {
    random_stub run 'seed ' 7 8
    random_stub killpoints ANABRANCH_KILL_AT= 7 8+
    check 'export ANABRANCH_BAD=8' 'suite "" chaos random_runs ./run 5' 'suite san points random_runs ./killpoints 5' \
        'unset ANABRANCH_BAD'
    assert_status 1
    assert_line 'second try: ./run 7 (chaos) passed, so it is flaky; first failure:'
    assert_line 'second try: ./run 8 (chaos) failed again:'
    assert_line 'second try: ./killpoints 7 (points-san) passed, so it is flaky; first failure:'
    assert_line 'second try: ./killpoints 8+ (points-san) failed again:'
    [[ ${output#*second try: ./run 7} == *'    seed 7: wrong'*'deep down'* ]] || fail 'the first failure is not shown'
    [[ $(sort calls | paste -s -d ,) == '1 7,1 8,5,5,7 7,8 8' ]] || fail "$(<calls)"
    [[ ${lines[-1]} == '6 passed, 2 failed, 2 flaky' ]] || fail
}

@test "check: a suite that prints nothing, has no test or reports failures without naming them is not forgiven" {
    bats_tests a 'once' '[ -e tried ] || { touch tried; false; }'
    check 'both() { tapped bats_file a.bats; echo "x: 1 passed, 2 failed"; return 1; }' 'suite "" some both' \
        'suite "" none true' 'suite "" other false'
    assert_status 1
    assert_line 'some: 1 passed, 1 failed, 1 to be tried again'
    [[ ${lines[-1]} == '1 passed, 3 failed, 1 flaky' ]] || fail
}

@test "check: a suite with many failures gets no second try" {
    bats_tests a 'one' 'echo x >>tried; false' 'two' 'echo x >>tried; false'
    check second_tries_most=1 'suite "" cli tapped bats_file a.bats'
    assert_status 1
    assert_line '2 failures: too many to be tried again'
    [[ ${lines[-1]} == '1 passed, 2 failed' && $(wc -l <tried) -eq 2 ]] || fail
}

@test "check: a skipped test is reported with its reason, if that is wanted" {
    bats_tests a 'not here' 'skip "no such thing"'
    check 'suite "" cli tapped bats_file a.bats'
    assert_status 0
    refute_contains 'no such thing'
    check 'show_skipped=1' 'suite "" cli tapped bats_file a.bats'
    assert_status 0
    assert_line '    skipped: not here: no such thing'
    [[ ${lines[-1]} == '1 passed, 0 failed, 1 skipped' ]] || fail
}

@test "check: no more runs at once than there are slots, and each job gives its slots back" {
    # Each notes how many slots are in use beside its own.
    check 'job() { mkdir "on.$1" && ls -d on.* | wc -l >>most; sleep 0.05; rmdir "on.$1"; }' \
        'open_slots 3' 'for i in 1 2 3 4 5 6 7 8; do start 1 job $i; done' 'start 3 job alone' 'start 1 job last' wait \
        'echo "1 0 0 0" >>"$work/totals"'
    assert_status 0
    [[ $(wc -l <most) == 10 ]] || fail "$(<most)"
    [[ $(sort -n most | tail -n 1) -le 3 ]] || fail "$(<most)"
    [[ $(sed -n 9p most) == 1 ]] || fail "it was not alone: $(<most)"
}

@test "check: a job knows nothing of the slots, and how long it took is noted" {
    check 'job() { [ ! -e "/dev/fd/$slots" ] || echo "it has them"; }' 'open_slots 1' \
        'start 1 timed what job' 'start 1 timed other false' wait 'cat "$work/times"' 'echo "1 0 0 0" >>"$work/totals"'
    assert_status 0
    refute_contains 'it has them'
    [[ ${lines[0]} =~ ^[0-9]+\ what$ && ${lines[1]} =~ ^[0-9]+\ other$ ]] || fail
}

@test "ci: flaky tests are named and counted apart, and the last line has its form" {
    mkdir -p .ci scripts bin
    cp "$BATS_TEST_DIRNAME/../../../.ci/run" .ci/run
    printf '#!/bin/sh\n' >scripts/deps
    cat >bin/make <<'END'
#!/bin/sh
case $1 in
check) printf '%s\n' "second try: a.bats 'x' (cli) passed, so it is flaky; first failure:" '    y' '5 passed, 0 failed, 1 skipped, 2 flaky' ;;
check-agents) echo '3 passed, 0 failed, 1 flaky' ;;
check-page) echo 'page: 2 passed, 0 failed' ;;
esac
END
    chmod +x scripts/deps bin/make
    PATH=$PWD/bin:$PATH run .ci/run
    assert_status 0
    assert_line 'flaky: 3'
    [[ ${lines[-3]} == "second try: a.bats 'x' (cli) passed, so it is flaky; first failure:" ]] || fail
    [[ ${lines[-1]} == '10 passed, 0 failed, 1 skipped' ]] || fail
}

@test "plain make builds the program, but neither tests nor fuzz targets" {
    local build=${ANABRANCH%/*}
    [[ -e $build/build.ninja ]] || skip 'the program is not in a build folder'
    [[ $(ninja -C "$build" -t inputs all | grep -E '^(anabranch$|tests/)') == anabranch ]] || fail 'plain make builds tests'
}
