# shellcheck shell=bash
# shellcheck disable=SC2016 # lines for the shell of a stub
# shellcheck disable=SC2119,SC2120 # tests give options
# For tests of agent programs, after `load helper` and `load run_helper`: stand-ins for these programs.
# Tests with the real ones are in tests/agents.

STUB=$BATS_TEST_TMPDIR/stub

# Puts a stand-in into PATH. It records its arguments, environment and input in the folder $STUB, runs the lines
# of shell, and then prints the output of a transcript of the real program and exits with its code.
stub_agent() { # PROGRAM TRANSCRIPT [LINE...]
    local transcripts program=$1 name=$2 code
    transcripts=$(dirname "${BASH_SOURCE[0]}")/../dialects/transcripts
    shift 2
    code=$(sed -n "s/^$name //p" "$transcripts/index")
    [[ $code ]] || { fail "no transcript: $name"; return 1; }
    mkdir -p "$STUB" "$BATS_TEST_TMPDIR/bin"
    {
        printf '#!/bin/bash\n'
        printf 'printf "%%s\\n" "$@" >"%s/$ANABRANCH_TASK.argv"\n' "$STUB"
        printf 'env >"%s/$ANABRANCH_TASK.env"\ncat >"%s/$ANABRANCH_TASK.in"\n' "$STUB" "$STUB"
        printf '%s\n' "$@"
        printf 'cat "%s"\n' "$transcripts/$name.jsonl"
        [[ ! -e $transcripts/$name.err ]] || printf 'cat "%s" >&2\n' "$transcripts/$name.err"
        printf 'exit %s\n' "$code"
    } >"$BATS_TEST_TMPDIR/bin/$program"
    chmod +x "$BATS_TEST_TMPDIR/bin/$program"
    [[ $PATH == "$BATS_TEST_TMPDIR/bin:"* ]] || PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

assert_argv() { # TASK WORD...: all of them
    local task=$1
    shift
    [[ $(<"$STUB/$task.argv") == "$(printf '%s\n' "$@")" ]] || fail "$task was called:" "$(<"$STUB/$task.argv")"
}

assert_variable() { # TASK LINE
    grep -qxF -e "$2" "$STUB/$1.env" || fail "$1 has not: $2" "$(grep -F -e "${2%%=*}" "$STUB/$1.env")"
}

run_agents() { # [OPTION...]
    run_apart anabranch run --report report.json "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

# Prints jq's FILTER of a task in the report.
task_report() { # TASK FILTER
    jq -r ".tasks[] | select(.id == \"$1\") | $2" report.json
}

assert_failed() { # TASK CLASS [TEXT]
    [[ $(task_report "$1" '"\(.state) \(.failure)"') == "failed $2" ]] || fail "$1: $(task_report "$1" .)"
    [[ $(task_report "$1" .reason) == *"${3-}"* ]] || fail "not the reason of $1: $3" "$(task_report "$1" .reason)"
}

# Each line of the input names a transcript of the engine and the expected class of failure.
assert_classes() { # ENGINE
    local name class
    while read -r name class; do
        stub_agent "$1" "$1-$name" 'echo 1 >done'
        begin_plan
        add_task a "engine: $1" "retry: {$class: 0}" 'prompt: Write it.'
        run_agents
        assert_status 1
        assert_failed a "$class" || fail "$name"
    done
}
