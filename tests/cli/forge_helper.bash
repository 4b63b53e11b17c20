# shellcheck shell=bash
# For tests with a forge, after `load helper`: the bare repository acme/widget as
# `origin`, by path or by ssh, and a stand-in for GitHub on the loopback interface (tests/forge) for the real gh.
#
#     teardown() { forge_stop; ssh_origin_stop; }

FORGE=$BATS_TEST_TMPDIR/forge # tests/forge/github.mjs describes its files
unset "${!GH_@}" "${!GITHUB_@}"

# Makes the bare repository, and pushes main of the current repository to it.
make_bare() {
    git init -q --bare -b main "$FORGE/acme/widget.git"
    git push -q "$FORGE/acme/widget.git" main
}

add_origin() { # URL
    git remote add origin "$1"
    git fetch -q origin
    cp .git/config "$BATS_TEST_TMPDIR/config" # assert_clean compares with it
}

# Adds the origin by path. gh finds the repository through another remote, which git must never use.
file_origin() {
    make_bare
    git remote add github https://github.com/acme/widget.git
    add_origin "$FORGE/acme/widget.git"
}

# Adds the origin as github.com:acme/widget.git, which ssh reaches at a loopback port: a real sshd, which runs as the current
# user, with the keys and the configuration of this test.
ssh_origin_start() {
    [[ -n $(sshd_path) ]] || skip "no sshd here"
    local dir=$BATS_TEST_TMPDIR/ssh tries=0
    make_bare
    mkdir -p "$dir"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
    # The key allows git only, with paths relative to the forge's folder.
    # shellcheck disable=SC2016 # that variable is sshd's
    printf 'command="cd \\"%s\\" && exec git-shell -c \\"$SSH_ORIGINAL_COMMAND\\"" %s\n' \
        "$FORGE" "$(<"$dir/key.pub")" >"$dir/authorized"
    [[ $EUID -ne 0 ]] || mkdir -p /run/sshd # sshd needs it if root runs it
    until start_sshd "$dir" $((20000 + RANDOM)); do
        ((++tries < 20)) || { fail "no sshd: $(<"$dir/log")"; return 1; }
    done
    export GIT_SSH_COMMAND="ssh -F '$dir/config'"
    add_origin github.com:acme/widget.git
}

sshd_path() {
    PATH=$PATH:/usr/sbin command -v sshd
}

# Succeeds if sshd listens at the port; another process may have it.
start_sshd() { # FOLDER PORT
    local sshd
    sshd=$(sshd_path)
    printf '%s\n' "Port $2" "ListenAddress 127.0.0.1" "HostKey $1/host" "PidFile none" \
        "AuthorizedKeysFile $1/authorized" "StrictModes no" "UsePAM no" "PasswordAuthentication no" \
        "PermitRootLogin prohibit-password" "UseDNS no" >"$1/sshd"
    printf '%s\n' "Host github.com" "HostName 127.0.0.1" "Port $2" "User $(id -un)" "HostKeyAlias forge" \
        "IdentityFile \"$1/key\"" "IdentitiesOnly yes" "IdentityAgent none" "BatchMode yes" \
        "UserKnownHostsFile \"$1/known\"" "GlobalKnownHostsFile none" >"$1/config"
    echo "forge $(<"$1/host.pub")" >"$1/known"
    "$sshd" -D -e -f "$1/sshd" 2>"$1/log" 3>&- &
    echo $! >"$1/pid"
    wait_for sshd_decided "$1"
    grep -q '^Server listening' "$1/log"
}

sshd_decided() { # FOLDER
    grep -q '^Server listening' "$1/log" || is_gone "$(<"$1/pid")"
}

ssh_origin_stop() {
    stop_server "$BATS_TEST_TMPDIR/ssh/pid"
}

# From now on, gh talks to the stand-in only.
forge_start() {
    command -v gh >/dev/null || skip "no gh here"
    command -v node >/dev/null || skip "no node here"
    mkdir -p "$FORGE/config" "$FORGE/tmp"
    node "$(dirname "${BASH_SOURCE[0]}")/../forge/github.mjs" "$FORGE" >"$FORGE/log" 2>&1 3>&- &
    echo $! >"$FORGE/pid"
    wait_for forge_decided
    [[ -S $FORGE/socket ]] || { fail "no forge: $(<"$FORGE/log")"; return 1; }
    export GH_CONFIG_DIR=$FORGE/config GH_TOKEN=none GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1
    export TMPDIR=$FORGE/tmp # gh caches the features of the server there
    printf '%s\n' "http_unix_socket: $FORGE/socket" "git_protocol: ssh" >"$GH_CONFIG_DIR/config.yml"
}

forge_decided() {
    [[ -S $FORGE/socket ]] || is_gone "$(<"$FORGE/pid")"
}

forge_stop() {
    stop_server "$FORGE/pid"
}

# Prints the names of gh's requests to the forge, one per line.
forge_operations() {
    jq -r '.operation // "\(.method) \(.path)"' "$FORGE/requests"
}

# Prints jq's FILTER of the input of each change with this name: PullRequestCreate,
# PullRequestUpdate, PullRequestMerge.
forge_changes() { # OPERATION FILTER
    jq -c "select(.operation == \"$1\") | .variables.input | $2" "$FORGE/requests"
}

# Prints the pull requests from `gh pr list`: forge_pulls number,title,state
forge_pulls() { # FIELDS
    gh pr list -R acme/widget --state all --json "$1" --jq '.[]'
}

# From now on, the forge rejects pull requests from this branch.
forge_refuse() { # BRANCH
    echo "$1" >>"$FORGE/refuse"
}

# Marks the pull request as merged at the forge. The test itself must change main.
forge_merge() { # NUMBER
    gh pr merge -R acme/widget --merge "$1"
}
