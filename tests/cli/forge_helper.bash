# shellcheck shell=bash
# For tests of what goes to a forge, beside `load helper`: the bare repository acme/widget as
# `origin`, by path or by ssh, and a loopback stand-in for GitHub (tests/forge) for the real gh.
#
#     teardown() { forge_stop; ssh_origin_stop; }

FORGE=$BATS_TEST_TMPDIR/forge # see tests/forge/github.mjs for what is in it
unset "${!GH_@}" "${!GITHUB_@}"

# --- origin

# Makes the bare repository and pushes main of the current one to it.
make_bare() {
    git init -q --bare -b main "$FORGE/acme/widget.git"
    git push -q "$FORGE/acme/widget.git" main
}

add_origin() { # URL
    git remote add origin "$1"
    git fetch -q origin
    cp .git/config "$BATS_TEST_TMPDIR/config" # what assert_clean wants to see again
}

# As a path; what tells gh the repository is another remote, which git is never to use.
file_origin() {
    make_bare
    git remote add github https://github.com/acme/widget.git
    add_origin "$FORGE/acme/widget.git"
}

# As github.com:acme/widget.git, which ssh finds at a loopback port: a real sshd, as the current user,
# with keys and configuration of this test.
ssh_origin_start() {
    [[ -n $(sshd_path) ]] || skip "no sshd here"
    local dir=$BATS_TEST_TMPDIR/ssh tries=0
    make_bare
    mkdir -p "$dir"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
    # Only git, and its paths begin at the forge's folder.
    # shellcheck disable=SC2016 # that variable is sshd's
    printf 'command="cd \\"%s\\" && exec git-shell -c \\"$SSH_ORIGINAL_COMMAND\\"" %s\n' \
        "$FORGE" "$(<"$dir/key.pub")" >"$dir/authorized"
    [[ $EUID -ne 0 ]] || mkdir -p /run/sshd # which root's sshd insists on
    until start_sshd "$dir" $((20000 + RANDOM)); do
        ((++tries < 20)) || { fail "no sshd: $(<"$dir/log")"; return 1; }
    done
    export GIT_SSH_COMMAND="ssh -F '$dir/config'"
    add_origin github.com:acme/widget.git
}

sshd_path() {
    PATH=$PATH:/usr/sbin command -v sshd
}

# Whether it listens at the port, which someone else may have.
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

# --- the forge

# From now on gh talks to the stand-in, and to nothing else.
forge_start() {
    command -v gh >/dev/null || skip "no gh here"
    command -v node >/dev/null || skip "no node here"
    mkdir -p "$FORGE/config" "$FORGE/tmp"
    node "$(dirname "${BASH_SOURCE[0]}")/../forge/github.mjs" "$FORGE" >"$FORGE/log" 2>&1 3>&- &
    echo $! >"$FORGE/pid"
    wait_for forge_decided
    [[ -S $FORGE/socket ]] || { fail "no forge: $(<"$FORGE/log")"; return 1; }
    export GH_CONFIG_DIR=$FORGE/config GH_TOKEN=none GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1
    export TMPDIR=$FORGE/tmp # gh remembers there what the server can do
    printf '%s\n' "http_unix_socket: $FORGE/socket" "git_protocol: ssh" >"$GH_CONFIG_DIR/config.yml"
}

forge_decided() {
    [[ -S $FORGE/socket ]] || is_gone "$(<"$FORGE/pid")"
}

forge_stop() {
    stop_server "$FORGE/pid"
}

# What gh has asked of the forge: the operations by name, one per line.
forge_operations() {
    jq -r '.operation // "\(.method) \(.path)"' "$FORGE/requests"
}

# What jq's FILTER makes of the input of each change of that name: PullRequestCreate,
# PullRequestUpdate, PullRequestMerge.
forge_changes() { # OPERATION FILTER
    jq -c "select(.operation == \"$1\") | .variables.input | $2" "$FORGE/requests"
}

# The pull requests, as `gh pr list` has them: forge_pulls number,title,state
forge_pulls() { # FIELDS
    gh pr list -R acme/widget --state all --json "$1" --jq '.[]'
}

# From now on the forge takes no pull request from that branch.
forge_refuse() { # BRANCH
    echo "$1" >>"$FORGE/refuse"
}

# The pull request is merged, as far as the forge knows: what main is, the test says itself.
forge_merge() { # NUMBER
    gh pr merge -R acme/widget --merge "$1"
}
