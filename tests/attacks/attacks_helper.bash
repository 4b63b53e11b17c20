# shellcheck shell=bash
# For tests of hostile agents, after `load ../cli/helper` and `load ../cli/run_helper`. An attack is the
# command of a task (`engine: command`), and the test checks how our own processes react.
#
# A test that takes more than a few seconds has the tag `slow` (`# bats test_tags=slow` above it): `make check`
# skips it, `make check-attacks` runs it.

# Makes a home with valuable files, and a list of its content.
make_victims() {
    mkdir -p "$HOME/.ssh" "$HOME/documents/letters"
    echo key >"$HOME/.ssh/id_ed25519"
    echo letter >"$HOME/documents/letters/one"
    (cd "$HOME" && find . -type f -exec sha256sum {} +) | sort >"$BATS_TEST_TMPDIR/victims"
}

assert_victims_unharmed() {
    cmp -s "$BATS_TEST_TMPDIR/victims" <(cd "$HOME" && find . -type f -exec sha256sum {} + | sort) ||
        fail "the home is not what it was:" "$(find "$HOME")"
}

# In a namespace, an agent sees only the files of its own task in our folder (hidden.bats). Otherwise it can reach all files there.
has_namespace() {
    "$ANABRANCH" doctor --json | grep -o '"contain.namespace[^}]*' | grep -q '"verdict":"ok"'
}

reaches_our_folder() {
    export ANABRANCH_CONTAIN=subreaper
}

# Adds a task with a line of shell as its agent: attack ID LINE [LINE OF YAML...]. $REPO is the repository and $ws
# the workspace.
attack() {
    local id=$1 script=$BATS_TEST_TMPDIR/attack-$1
    # shellcheck disable=SC2016 # the agent's shell expands it
    printf '#!/bin/bash\nREPO=%q ws=$PWD\n%s\n' "$PWD" "$2" >"$script"
    chmod +x "$script"
    shift 2
    add_task "$id" 'engine: command' "command: [$script]" 'prompt: x' "$@"
}

# Adds a task whose built-in agent runs a script: agent ID SCRIPT [LINE OF YAML...]. $REPO is the
# repository and $ws the workspace.
agent() {
    local id=$1 script=$BATS_TEST_TMPDIR/agent-$1
    # shellcheck disable=SC2016 # the agent's shell expands it
    printf '#!/bin/bash\nunset GIT_CEILING_DIRECTORIES\nREPO=%q ws=$PWD\n%s\n' "$PWD" "$2" >"$script"
    chmod +x "$script"
    shift 2
    add_task "$id" "$@" -- "sh $script"
}
