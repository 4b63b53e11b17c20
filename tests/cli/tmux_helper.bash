# shellcheck shell=bash
# For tests on a real terminal, which tmux provides, without the user's configuration.

# Each terminal gets a server of its own, because a server that is just ending accepts no new terminals.
tmux_() {
    TMUX_TMPDIR=$BATS_TEST_TMPDIR tmux -L "test${terminals:-0}" -f /dev/null "$@" 3>&-
}

# Runs a command on a terminal of this size, and records the terminal's settings before and after it.
# Its standard error goes to the file `errors`.
on_terminal() { # COLUMNS ROWS COMMAND...
    local columns=$1 rows=$2 script=$BATS_TEST_TMPDIR/on-terminal
    shift 2
    rm -f "$BATS_TEST_TMPDIR"/{before,after}
    {
        echo "stty -g >'$BATS_TEST_TMPDIR/before'"
        printf '%q ' "$@"
        echo "2>'$BATS_TEST_TMPDIR/errors'"
        echo "echo \"ended with \$?\""
        echo "stty -g >'$BATS_TEST_TMPDIR/after'"
        echo "exec cat"
    } >"$script"
    end_terminal
    terminals=$((${terminals:-0} + 1))
    tmux_ new-session -d -x "$columns" -y "$rows" -s test "bash $(printf %q "$script")"
}

keys() { # KEY...
    tmux_ send-keys -t test "$@"
}

screen_now() {
    tmux_ capture-pane -p -t test
}

has_on_screen() { # TEXT
    screen_now | grep -qF -e "$1"
}

# Waits until the screen shows the text.
sees() { # TEXT
    local deadline=$((SECONDS + 60))
    until has_on_screen "$1"; do
        ((SECONDS < deadline)) || { fail "never on the screen: $1" "$(screen_now)"; return 1; }
        sleep 0.02
    done
}

sees_no() { # TEXT
    local deadline=$((SECONDS + 60))
    while has_on_screen "$1"; do
        ((SECONDS < deadline)) || { fail "still on the screen: $1" "$(screen_now)"; return 1; }
        sleep 0.02
    done
}

# The program has ended and restored the terminal: the settings, the previous screen, and
# the cursor.
assert_terminal_is_back() {
    wait_for test -s "$BATS_TEST_TMPDIR/after"
    cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" || fail "the terminal's settings are others"
    [[ $(tmux_ display-message -p -t test '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}') == '0 1 0' ]] ||
        fail "the terminal: $(tmux_ display-message -p -t test '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}')"
}

end_terminal() {
    tmux_ kill-server 2>/dev/null || true
}
