# shellcheck shell=bash
# For scripts that run suites and count, which source this:
#
#     . scripts/suites.bash        defines limited, tap_totals, bats_file, suite, sum
#
# A suite says how it went in one line, "name: N passed, N failed[, N skipped]"; its output is shown only
# when something failed. A suite fails as well when it runs no test, ends early, or exits with a status
# that its own numbers do not explain: silence is not success.

export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export CMOCKA_MESSAGE_OUTPUT=TAP

work=$(mktemp -d)

# Where there is a timeout command, nothing here can hang for ever: no longer than $patience seconds.
patience=600
limited() {
    if command -v timeout >/dev/null; then
        timeout -k 5 "$patience" "$@"
    else
        "$@"
    fi
}

# Reads TAP of one or more programs and passes on what is not about success, then the line of totals.
# Tests that were announced and never reported failed, and so did a program that left with a bad
# status and no failed test, as with a leak. (cmocka says "not ok 3 # SKIP" for a skipped test.)
tap_totals() {
    awk -v name="$1" '
        function settle() {
            if (planned > seen) {
                print "# " planned - seen " of " planned " tests did not report"
                failed += planned - seen
            }
            planned = seen = 0
        }
        /^1\.\.[0-9]+/ { settle(); planned = substr($0, 4) + 0; next }
        /^(not )?ok .*# (SKIP|skip)/ { seen++; skipped++; next }
        /^ok / { seen++; passed++; next }
        /^# ok - / { next }
        /^not ok / { seen++; failed++ }
        /^# exit status / {
            settle()
            if ($4 != 0 && failed == before)
                failed++
            if (failed == before)
                next
            before = failed
        }
        { print }
        END {
            settle()
            printf "%s: %d passed, %d failed", name, passed, failed
            if (skipped)
                printf ", %d skipped", skipped
            print ""
        }'
}

bats_file() { # FILE
    limited bats --tap --print-output-on-failure "$1" 2>&1
    echo "# exit status $? of $1"
}

# Runs a suite and reports it: suite LANE NAME COMMAND...
suite() {
    local lane=$1 name=$2 log=$work/$1-$2 status=0 totals passed=0 failed=0 skipped=0 why=
    shift 2
    "$@" >"$log" 2>&1 </dev/null || status=$?
    totals=$(tail -n 1 "$log")
    if [[ $totals =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
        passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[4]:-0}
    else
        why='ended without its totals'
    fi
    [ $((passed + failed)) != 0 ] || why=${why:-ran no test}
    [ "$status" = 0 ] || [ "$failed" != 0 ] || why=${why:-exit status $status}
    [ -z "$why" ] || failed=$((failed + 1))
    echo "$passed $failed $skipped" >>"$work/totals"
    {
        [ "$failed" = 0 ] || sed "s/^/    /" "$log"
        echo "$name${lane:+-$lane}: $passed passed, $failed failed${skipped:+, $skipped skipped}${why:+ ($why)}"
    } | sed 's/, 0 skipped//' >"$log.shown"
    cat "$log.shown"
}

# The line that is last, over all suites; fails where one has.
sum() {
    awk '{ p += $1; f += $2; s += $3 }
        END { printf "%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""; exit f > 0 }' "$work/totals"
}
