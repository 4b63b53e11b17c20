# shellcheck shell=bash
# For tests of streams: manifests with scripted agents.

# Writes the head of a manifest from the given lines of YAML; add_batch adds batches.
begin_manifest() { # [LINE...]
    printf '%s\n' 'plan_id: demo' "$@" 'batches:' >plan.yaml
}

# Adds a batch with one agent and its steps. The batch depends only on the batches that its lines name.
add_batch() { # ID [LINE...] [-- STEP...]
    local order='depends_on: []' line
    {
        printf '  - id: %s\n' "$1"
        shift
        while (($#)) && [[ $1 != -- ]]; do
            printf '    %s\n' "$1"
            [[ $1 != depends_on:* && $1 != parallel:* && $1 != type:* ]] || order=
            shift
        done
        [[ -z $order ]] || printf '    %s\n' "$order"
        printf '    agents:\n      - prompt: |\n'
        shift
        for line; do printf '          sim> %s\n' "$line"; done
    } >>plan.yaml
}

run_streams() { # [OPTION...]
    run_apart anabranch streams --engine sim "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

# Like start_plan, for streams.
start_streams() { # [OPTION...]
    start_engine streams "$@"
}

# Has the agent of a stream written this file? For tests with one run.
has_written() { # STREAM FILE
    compgen -G ".anabranch/worktrees/*/$1/$2" >/dev/null
}

# Prints the prompt of a stream. For tests with one run.
prompt_of() { # STREAM [ATTEMPT]
    cat .git/anabranch/runs/*/"$1/${2:-1}/prompt"
}

# Puts a program named claude into PATH, which notes its arguments and then runs the lines of shell.
stub_claude() { # LINE...
    mkdir -p "$BATS_TEST_TMPDIR/stub"
    {
        echo '#!/bin/bash'
        # shellcheck disable=SC2028 # for the printf in the stub
        echo "printf '%s\n' \"\$*\" >>'$BATS_TEST_TMPDIR/argv'"
        printf '%s\n' "$@"
    } >"$BATS_TEST_TMPDIR/stub/claude"
    chmod +x "$BATS_TEST_TMPDIR/stub/claude"
    PATH=$BATS_TEST_TMPDIR/stub:$PATH
}
