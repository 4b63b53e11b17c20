# shellcheck shell=bash
# For the tests of streams: manifests whose agents are scripted.

# Begins a manifest with the given lines of YAML; add_batch adds to it.
begin_manifest() { # [LINE...]
    printf '%s\n' 'plan_id: demo' "$@" 'batches:' >plan.yaml
}

# A batch that waits for none but those that its lines name, with one agent that does these steps.
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

# As start_plan.
start_streams() { # [OPTION...]
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" streams --engine sim --json "$@" plan.yaml \
        >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Whether an agent has got as far as this file, in the only run that there is.
has_written() { # STREAM FILE
    compgen -G ".anabranch/worktrees/*/$1/$2" >/dev/null
}

# The prompt that a stream was given, in the only run that there is.
prompt_of() { # STREAM [ATTEMPT]
    cat .git/anabranch/runs/*/"$1/${2:-1}/prompt"
}

# A program called claude on PATH; it gets the lines of shell, and its argv is noted.
stub_claude() { # LINE...
    mkdir -p "$BATS_TEST_TMPDIR/stub"
    {
        echo '#!/bin/bash'
        # shellcheck disable=SC2028 # for the printf there
        echo "printf '%s\n' \"\$*\" >>'$BATS_TEST_TMPDIR/argv'"
        printf '%s\n' "$@"
    } >"$BATS_TEST_TMPDIR/stub/claude"
    chmod +x "$BATS_TEST_TMPDIR/stub/claude"
    PATH=$BATS_TEST_TMPDIR/stub:$PATH
}
