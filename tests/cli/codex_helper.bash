# shellcheck shell=bash
# For tests with the real codex CLI, beside `load helper`: it is installed once per checkout, and talks
# to a stand-in for the model (tests/agents/openai.mjs and answers.mjs tell how prompts are its script).
#
#     teardown() { codex_stop; }

MODEL=$BATS_TEST_TMPDIR/model

# Puts the CLI into PATH, with a configuration of this test and a model; skips the test where it cannot
# be had. What it would look for elsewhere ends at once, as without a network.
codex_start() {
    local bin
    [[ $ANABRANCH != */build-san/* ]] || skip "real programs are tried with the plain build"
    command -v node >/dev/null || skip "no node here"
    bin=$("$BATS_TEST_DIRNAME/../agents/install" codex 2>"$BATS_TEST_TMPDIR/install" 3>&-) ||
        skip "no codex: $(tail -n 1 "$BATS_TEST_TMPDIR/install")"
    unset "${!OPENAI_@}" "${!CODEX@}" http_proxy HTTP_PROXY all_proxy ALL_PROXY
    export PATH=$bin:$PATH CODEX_HOME=$BATS_TEST_TMPDIR/codex MODEL_KEY=none
    export https_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
    mkdir -p "$CODEX_HOME" "$MODEL"
    node "$BATS_TEST_DIRNAME/../agents/openai.mjs" "$MODEL" >"$MODEL/log" 2>&1 3>&- &
    echo $! >"$MODEL/pid"
    wait_for codex_model_decided
    [[ -e $MODEL/port ]] || { fail "no model: $(<"$MODEL/log")"; return 1; }
    cat >"$CODEX_HOME/config.toml" <<END
model = "stand-in"
model_provider = "stand-in"
[model_providers.stand-in]
name = "stand-in"
base_url = "http://127.0.0.1:$(<"$MODEL/port")/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
[sandbox_workspace_write]
exclude_slash_tmp = true # where all of this is
END
}

codex_model_decided() {
    [[ -e $MODEL/port ]] || is_gone "$(<"$MODEL/pid")"
}

codex_stop() {
    stop_server "$MODEL/pid"
}

# A task whose lines, behind the `--`, are the answers of the model.
ask_codex() { # ID [LINE...] -- STEP...
    {
        printf '  - id: %s\n    engine: codex\n' "$1"
        shift
        while [[ $1 != -- ]]; do
            printf '    %s\n' "$1"
            shift
        done
        shift
        printf '    prompt: |\n'
        printf '      MOCK> %s\n' "$@"
    } >>plan.yaml
}
