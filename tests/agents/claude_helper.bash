# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets output
# For tests with the real claude CLI, after `load agents_helper`.

# Puts the CLI into PATH, with HOME and configuration of this test; skips the test if the CLI cannot be
# installed.
claude_available() {
    agent_available claude
    unset "${!ANTHROPIC_@}" "${!CLAUDE@}"
    export CLAUDE_CONFIG_DIR=$BATS_TEST_TMPDIR/claude TMPDIR=$BATS_TEST_TMPDIR/tmp
    export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1
    export CLAUDE_CODE_MAX_RETRIES=0 ANTHROPIC_API_KEY=none ANTHROPIC_BASE_URL=http://127.0.0.1:1
    mkdir -p "$CLAUDE_CONFIG_DIR" "$TMPDIR"
}

# From now on, claude talks to the stand-in. Call claude_available first.
claude_model_start() {
    model_start anthropic.mjs
    ANTHROPIC_BASE_URL=http://127.0.0.1:$model_port
}

# Runs one prompt, whose lines are the answers of the model; $output has the events, one per line.
run_claude() { # [OPTION...] -- STEP...
    local options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    printf 'MOCK> %s\n' "$@" >"$MODEL/prompt"
    run_apart claude -p --output-format stream-json --verbose "${options[@]}" <"$MODEL/prompt" 3>&-
}

# Prints jq's FILTER of the events of this type.
claude_events() { # TYPE FILTER
    jq -c "select(.type == \"$1\") | $2" <<<"$output"
}
