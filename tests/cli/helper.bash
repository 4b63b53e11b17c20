# shellcheck shell=bash
# For every file of tests here: `load helper`. ANABRANCH is the program under test.

setup() {
    : "${ANABRANCH:?is to be the path of the program under test}"
    ANABRANCH=$(realpath "$ANABRANCH")
    export HOME=$BATS_TEST_TMPDIR/home
    export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
    export GIT_CEILING_DIRECTORIES=$BATS_TEST_TMPDIR
    export TERM=xterm LC_ALL=C.UTF-8
    unset NO_COLOR COLUMNS POSIXLY_CORRECT XDG_CONFIG_HOME XDG_DATA_HOME GIT_DIR GIT_WORK_TREE
    mkdir -p "$HOME" "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return
}

anabranch() {
    "$ANABRANCH" "$@"
}

# As `run`, with standard error apart, in $stderr.
run_apart() {
    local errors=$BATS_TEST_TMPDIR/stderr
    run with_errors_in "$errors" "$@"
    # shellcheck disable=SC2034 # for the tests
    stderr=$(<"$errors")
}

with_errors_in() {
    local errors=$1
    shift
    "$@" 2>"$errors"
}

fail() {
    printf '%s\n' "$@"
    printf 'status: %s\n' "${status-}"
    printf 'output:\n%s\n' "${output-}"
    [[ -z ${stderr-} ]] || printf 'errors:\n%s\n' "$stderr"
    return 1
}

assert_status() { # CODE
    [[ $status -eq $1 ]] || fail "expected status: $1"
}

assert_output() { # TEXT: all of it
    [[ $output == "$1" ]] || fail "expected output:" "$1"
}

assert_line() { # LINE: one of them, as a whole
    grep -qxF -e "$1" <<<"$output" || fail "no such line: $1"
}

assert_contains() { # TEXT
    [[ $output == *"$1"* ]] || fail "not in the output: $1"
}

refute_contains() { # TEXT
    [[ $output != *"$1"* ]] || fail "should not be in the output: $1"
}

# A wrong call: nothing on standard output, MESSAGE, and where to read more about COMMAND.
assert_usage_error() { # MESSAGE [COMMAND]
    assert_status 2
    [[ -z $output ]] || fail "expected nothing on the standard output"
    local expected="anabranch: $1"$'\n'"See 'anabranch ${2:+$2 }--help'."
    # shellcheck disable=SC2154 # run_apart sets it
    [[ $stderr == "$expected" ]] || fail "expected errors:" "$expected"
}
