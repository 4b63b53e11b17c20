# shellcheck shell=bash
# shellcheck disable=SC2154 # model_start sets model_port
# For tests with the real codex CLI, beside `load helper`: it is installed once per checkout, and talks
# to a stand-in for the model (tests/agents/openai.mjs and answers.mjs tell how prompts are its script).
#
#     teardown() { model_stop; }

load models_helper

# Puts the CLI into PATH, with a configuration of this test and a model; skips the test where it cannot
# be had. What it would look for elsewhere ends at once, as without a network.
codex_start() {
    agent_available codex
    unset "${!OPENAI_@}" "${!CODEX@}" http_proxy HTTP_PROXY all_proxy ALL_PROXY
    export CODEX_HOME=$BATS_TEST_TMPDIR/codex MODEL_KEY=none
    export https_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
    mkdir -p "$CODEX_HOME"
    model_start openai.mjs
    cat >"$CODEX_HOME/config.toml" <<END
model = "stand-in"
model_provider = "stand-in"
[model_providers.stand-in]
name = "stand-in"
base_url = "http://127.0.0.1:$model_port/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
[sandbox_workspace_write]
exclude_slash_tmp = true # where all of this is
END
}
