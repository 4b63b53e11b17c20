# shellcheck shell=bash
# Scripts that run suites and count their tests source this file:
#
#     . scripts/suites.bash        defines open_slots, take_slots, start, limited, tap_totals, tap_program,
#                                  bats_file, random_runs, suite, second_tries, sum
#
# A suite prints its result in one line, "name: N passed, N failed[, N skipped]". We show its output only if a
# test failed. If $show_skipped is set, we also show skipped tests and the reasons. A suite also fails if it runs
# no test, ends early, or exits with a status that its numbers do not explain: silence is not success.
#
# A test may have failed because the machine was busy. tap_program, bats_file and random_runs note each failure.
# second_tries runs the failed tests once more, alone, after everything else. A test that passes then is flaky: it
# counts neither as passed nor as failed.

export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export CMOCKA_MESSAGE_OUTPUT=TAP

work=$(mktemp -d)

# Limits the number of concurrent commands to NUMBER. Tests wait more than they work, so there may be more slots than
# processors. A slot is a byte in a pipe.
open_slots() { # NUMBER
    mkfifo "$work/slots" && exec {slots}<>"$work/slots" && printf "%$1s" '' >&"$slots"
}

take_slots() { # NUMBER
    read -r -N "$1" -u "$slots" _
}

# Waits for slots, runs a command in the background, and then frees the slots.
start() { # NUMBER COMMAND...
    local number=$1
    shift
    take_slots "$number"
    {
        "$@" {slots}>&-
        printf "%${number}s" '' >&"$slots"
    } &
}

# Records the time that a command takes.
timed() { # WHAT COMMAND...
    local what=$1 begin=$SECONDS status=0
    shift
    "$@" || status=$?
    echo "$((SECONDS - begin)) $what" >>"$work/times"
    return "$status"
}

# Runs a command for at most $patience seconds, if there is a timeout command, so that no test hangs for ever. $as is put in
# front of the command; it may be a program that switches to another user.
patience=600 as=()
limited() {
    if command -v timeout >/dev/null; then
        timeout -k 5 "$patience" "${as[@]}" "$@"
    else
        "${as[@]}" "$@"
    fi
}

# Reads TAP of one or more programs, prints all lines except those about success, then the totals. An announced test
# without a result counts as failed. So does a program with a bad status and no failed test, for example
# because of a leak. (cmocka prints "not ok 3 # SKIP" for a skipped test.)
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
        /^(not )?ok .*# (SKIP|skip)/ {
            seen++
            skipped++
            sub(/^(not )?ok [0-9]+ (- )?/, "")
            sub(/ *# (SKIP|skip) */, ": ")
            print "skipped: " $0
            next
        }
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

# Notes a command for a second try: the number of failures in the current suite, the file with their output, and
# the command, which must print totals at its end. It gets the current variables ANABRANCH*.
try_again() { # WHAT FAILURES FIRST COMMAND...
    local note
    [ "${again-}" ] || return 0
    mkdir -p "$again" && note=$(mktemp -d "$again/XXXXXX") || return
    printf '%s\n' "$1" >"$note/what"
    echo "$2" >"$note/failures"
    cp "$3" "$note/first"
    shift 3
    {
        export -p | grep '^declare -x ANABRANCH'
        printf '%q ' "$@"
    } >"$note/command"
}

# Prints the totals of a command that prints TAP.
tapped() { # COMMAND...
    "$@" | tap_totals tapped
}

# Runs a program that prints TAP, and passes the TAP on.
tap_program() { # PROGRAM
    local out=$work/out.$BASHPID status=0
    limited "$1" >"$out" 2>&1 || status=$?
    cat "$out"
    echo "# exit status $status of $1"
    [ "$status" = 0 ] || try_again "$1" "$(tap_failures "$status" <"$out")" "$out" tapped tap_program "$1"
}

# Prints the number of failures that tap_totals counts in the TAP of one program.
tap_failures() { # STATUS
    { cat && echo "# exit status $1"; } | tap_totals x | sed -n '$s/.* passed, \([0-9]*\) failed.*/\1/p'
}

# Runs the tests of one file, or only the test with this name, and prints TAP. If no test has the name, it runs all: bats
# prints a name with "$" differently from the name that its filter expects. $bats_tags selects tests by their tags.
bats_file() { # FILE [TEST]
    local out=$work/out.$BASHPID status=0 filter=()
    # shellcheck disable=SC2001 # bash before 5.2 has no & in ${2//...}
    [ -z "${2-}" ] || filter=(--filter "^$(sed 's/[][\\.*^$+?(){}|]/\\&/g' <<<"$2")\$")
    [ -z "${2-}" ] || [ "$(bats --count "${filter[@]}" "$1")" != 0 ] || filter=()
    [ -z "${bats_tags-}" ] || filter+=(--filter-tags "$bats_tags")
    limited bats --tap --print-output-on-failure "${filter[@]}" "$1" >"$out" 2>&1 || status=$?
    cat "$out"
    echo "# exit status $status of $1"
    [ "$status" = 0 ] || bats_again "$1" "$status" "$out"
}

# Notes each failed test of a file for a second try, or the whole file if no single test explains the failure.
bats_again() { # FILE STATUS OUTPUT
    local number name failures
    awk -v out="$3" '
        /^(not )?ok / { failed = 0; seen++ }
        /^1\.\./ { planned = substr($0, 4) + 0 }
        /^not ok / && !/# (SKIP|skip)/ { failed = 1; name = $0; sub(/^not ok [0-9]+ /, "", name); names[++n] = name }
        failed { print >(out "." n) }
        END { if (seen >= planned) for (i = 1; i <= n; i++) print i, names[i] }' "$3" >"$3.names"
    while read -r number name; do
        try_again "$1 '$name'" 1 "$3.$number" tapped bats_file "$1" "$name"
    done <"$3.names"
    failures=$(tap_failures "$2" <"$3")
    [ -s "$3.names" ] || try_again "$1" "$failures" "$3" tapped bats_file "$1"
}

# Runs tests/chaos/run or killpoints. The report of each failure begins with the seed or the point and ends with "again:".
random_runs() { # COMMAND...
    local out=$work/out.$BASHPID status=0 which patience=1200
    limited "$@" >"$out" 2>&1 || status=$?
    awk -v out="$out" '
        /^(seed [0-9]+|ANABRANCH_KILL_AT=[0-9]+\+?): / {
            which = $0; sub(/: .*/, "", which); sub(/^seed |^ANABRANCH_KILL_AT=/, "", which); print which
        }
        which != "" { print >(out "." which) }
        /^    again: / { which = "" }' "$out" >"$out.which"
    while read -r which; do
        try_again "$1 $which" 1 "$out.$which" random_run "$1" "${which%+}"
    done <"$out.which"
    cat "$out"
    return "$status"
}

random_run() { # PROGRAM SEED|POINT
    case $1 in
    *killpoints) limited "$1" "$2" "$2" ;;
    *) limited "$1" 1 "$2" ;;
    esac
}

# Runs a suite and reports it: suite LANE NAME COMMAND...
suite() {
    local lane=$1 name=$2 log=$work/$1-$2 status=0 totals passed=0 failed=0 skipped=0 why='' later
    local again=$work/again/$2${1:+-$1}
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
    later=$(failures_noted "$again")
    [ "$later" -le "$failed" ] || { rm -r "$again" && later=0; }
    echo "$passed $((failed - later)) $skipped 0" >>"$work/totals"
    {
        if [ "$failed" != 0 ]; then
            sed "s/^/    /" "$log"
        elif [ "${show_skipped-}" ]; then
            sed -n "s/^skipped: /    &/p" "$log"
        fi
        echo "$name${lane:+-$lane}: $passed passed, $((failed - later)) failed, $skipped skipped, $later to be tried again${why:+ ($why)}"
    } | sed 's/, 0 skipped//; s/, 0 to be tried again//' >"$log.shown"
    cat "$log.shown"
}

failures_noted() { # FOLDER
    find "$1" -name failures -exec cat {} + 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'
}

# Runs the noted commands once more, one after the other. If more than second_tries_most tests failed, a busy machine is not
# the cause, and we run none of them again.
second_tries_most=20
second_tries() {
    local note verdict number
    number=$(failures_noted "$work/again")
    if [ "$number" -gt "$second_tries_most" ]; then
        echo "$number failures: too many to be tried again"
        echo "0 $number 0 0" >>"$work/totals"
        rm -r "$work/again"
        return
    fi
    for note in "$work"/again/*/*/; do
        [ -d "$note" ] || continue
        number=$(<"$note/failures")
        if second_try "$note"; then
            verdict='passed, so it is flaky; first failure:' number="0 0 0 $number"
        else
            verdict='failed again:' number="0 $number 0 0"
            cp "$note/second" "$note/first"
        fi
        echo "second try: $(<"$note/what") ($(basename "$(dirname "$note")")) $verdict"
        sed 's/^/    /' "$note/first"
        echo "$number" >>"$work/totals"
    done
    rm -rf "$work/again"
}

# Succeeds if the second try ran at least one test and none failed.
second_try() { # NOTE
    local again=
    (eval "$(<"$1/command")") >"$1/second" 2>&1 </dev/null
    tail -n 1 "$1/second" | grep -qE ': [1-9][0-9]* passed, 0 failed'
}

# Prints the last line, the sum over all suites; fails if a suite failed.
sum() {
    awk '{ p += $1; f += $2; s += $3; k += $4 }
        END {
            printf "%d passed, %d failed%s%s\n", p, f, s ? ", " s " skipped" : "", k ? ", " k " flaky" : ""
            exit f > 0
        }' "$work/totals"
}
