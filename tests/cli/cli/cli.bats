#!/usr/bin/env bats
# Common parts of all commands: help, wrong calls, colour, output, completions.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose

load ../helper

commands() {
    anabranch __man --list
}

escape=$'\e'

# Help and version

@test "--version prints name and number" {
    run anabranch --version
    assert_status 0
    [[ $output =~ ^anabranch\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "no version"
}

@test "without arguments the help of the program is printed, and all is well" {
    run_apart anabranch
    assert_status 0
    [[ -z $stderr ]] || fail "expected no errors"
    local help=$output
    for call in --help -h help; do
        run anabranch $call
        assert_status 0
        assert_output "$help"
    done
}

@test "the help of the program lists every command but the hidden ones" {
    run anabranch --help
    for name in $(commands); do
        if [[ $name == __* ]]; then
            refute_contains "$name"
        else
            assert_contains $'\n'"  $name "
        fi
    done
}

@test "every command explains itself, in four ways that agree" {
    for name in $(commands); do
        run anabranch "$name" --help
        assert_status 0
        assert_contains $'\nUsage:\n  anabranch '"$name"
        assert_contains $'\n  -h, --help '
        local help=$output
        run anabranch "$name" -h
        assert_output "$help"
        run anabranch help "$name"
        assert_output "$help"
        run anabranch --help "$name"
        assert_output "$help"
    done
}

@test "no help is wider than 80 columns, has trailing spaces or tabs" {
    for name in exit-codes $(commands); do
        run anabranch help "$name"
        assert_status 0
        ! grep -nE '^.{81,}$|[[:space:]]$|'$'\t' <<<"$output" || fail "in help $name"
    done
    ! anabranch | grep -nE '^.{81,}$|[[:space:]]$' || fail "in the help of the program"
}

@test "help takes the width that COLUMNS asks for" {
    COLUMNS=50 run anabranch help completion
    assert_status 0
    ! grep -vF -e 'anabranch completion' <<<"$output" | grep -E '^.{51,}$' || fail "wider than 50"
    grep -qE '^.{40,50}$' <<<"$output" || fail "narrower than need be"
}

@test "help exit-codes lists the table, as the man page does" {
    run anabranch help exit-codes
    assert_status 0
    local codes
    codes=$(sed -nE 's/^  ([0-9]+) .*/\1/p' <<<"$output" | tr '\n' ' ')
    [[ $codes == "0 1 2 3 4 129 130 143 " ]] || fail "codes: $codes"
    run anabranch __man
    [[ $(sed -nE 's/^\*([0-9]+)\*$/\1/p' <<<"$output" | tr '\n' ' ') == "$codes" ]] ||
        fail "the man page has others"
}

@test "commands that carry out a run name the exit codes of a run that is stopped" {
    for name in run streams resume say retry rehearse; do
        run anabranch help "$name"
        [[ $(sed -nE 's/^  ([0-9]+) .*/\1/p' <<<"$output" | tr '\n' ' ') == "0 1 2 3 4 129 130 143 " ]] ||
            fail "in help $name"
    done
}

@test "help of what is no command says so" {
    run_apart anabranch help xyzzyx
    assert_usage_error "'xyzzyx' is not a command"
    run_apart anabranch help exit-cods
    assert_usage_error "'exit-cods' is not a command; did you mean 'exit-codes'?"
}

@test "the man page has every command and every option of it" {
    run anabranch __man
    assert_status 0
    for name in $(commands | grep -v ^__); do
        assert_line "## $name"
        for option in $(anabranch help "$name" | grep -oE '^ {2}(-.,|   ) --[a-z-]+' | grep -oE -- '--.*'); do
            assert_contains "*$option*"
        done
    done
    refute_contains "## __"
}

@test "__man prints the commands that are named only" {
    run anabranch __man help completion
    assert_status 0
    [[ $(grep -c '^## ' <<<"$output") -eq 2 ]] || fail "expected two commands"
    run_apart anabranch __man hepl
    assert_usage_error "'hepl' is not a command; did you mean 'help'?"
}

# Wrong calls

@test "a mistyped command gets the one that was meant" {
    run_apart anabranch hepl
    assert_usage_error "'hepl' is not a command; did you mean 'help'?"
    run_apart anabranch xyzzyx
    assert_usage_error "'xyzzyx' is not a command"
    run_apart anabranch ""
    assert_usage_error "'' is not a command"
}

@test "hidden commands are not proposed" {
    run_apart anabranch __mann
    assert_usage_error "'__mann' is not a command"
}

@test "a mistyped option gets the one that was meant" {
    run_apart anabranch help --colr
    assert_usage_error "'--colr' is not an option of help; did you mean '--color'?" help
    run_apart anabranch help --colr=never
    assert_usage_error "'--colr' is not an option of help; did you mean '--color'?" help
    run_apart anabranch --verison
    assert_usage_error "'--verison' is not an option of anabranch; did you mean '--version'?"
    run_apart anabranch help -x
    assert_usage_error "'-x' is not an option of help" help
    run_apart anabranch help -color never
    assert_usage_error "'-color' is not an option of help; did you mean '--color'?" help
}

@test "a beginning of an option is enough where only one begins so" {
    run anabranch --vers
    assert_status 0
    run anabranch help --col never
    assert_status 0
    run_apart anabranch help --
    assert_status 0
    run_apart anabranch __man --=x
    assert_usage_error "'--' could be --list, --color or --help" __man
}

@test "a word that is no choice gets the one that was meant, or the list" {
    run_apart anabranch help --color alwasy
    assert_usage_error "'alwasy' is not a value of '--color'; did you mean 'always'?" help
    run_apart anabranch help --color=blue
    assert_usage_error "'blue' is not a value of '--color', which takes auto, always or never" help
    run_apart anabranch completion bsh
    assert_usage_error "'bsh' is not a value of SHELL; did you mean 'bash'?" completion
    run_apart anabranch completion tcl
    assert_usage_error "'tcl' is not a value of SHELL, which takes bash, zsh or fish" completion
}

@test "a value that is missing, and one that is not wanted" {
    run_apart anabranch help --color
    assert_usage_error "option '--color' needs a value: auto, always or never" help
    run_apart anabranch help --help=yes
    assert_usage_error "option '--help' takes no value" help
}

@test "too few and too many arguments are named" {
    run_apart anabranch completion
    assert_usage_error "the argument SHELL is missing: bash, zsh or fish" completion
    run_apart anabranch completion bash zsh
    assert_usage_error "unexpected argument 'zsh'" completion
}

@test "options and arguments mix, and -- ends the options" {
    run anabranch completion bash --color never
    assert_status 0
    run anabranch completion --color never bash
    assert_status 0
    run_apart anabranch completion -- --help
    assert_usage_error "'--help' is not a value of SHELL, which takes bash, zsh or fish" completion
    run anabranch -- help
    assert_status 0
}

@test "an echoed text cannot control the terminal" {
    run_apart anabranch $'\e[31mred\a\nline'
    assert_usage_error "'\\e[31mred\\x07\\nline' is not a command"
    run_apart anabranch $'--\e]0;x\xff'
    assert_usage_error "'--\\e]0;x\\xFF' is not an option of anabranch"
    run_apart anabranch $'-\xc3'
    assert_usage_error "'-\\xC3' is not an option of anabranch"
}

@test "a very long word is refused as any other" {
    run_apart anabranch "$(printf 'x%.0s' {1..20000})"
    assert_status 2
    [[ $stderr == "anabranch: 'xxx"* && $stderr == *"See 'anabranch --help'." ]] || fail "no message"
}

# Colour

@test "colour follows --color, before and behind the command" {
    local calls=("--color always help" "--color=never help --color=always" "help --color always")
    for call in "${calls[@]}"; do
        read -ra words <<<"$call"
        run anabranch "${words[@]}"
        assert_contains "${escape}[1mUsage:${escape}[0m"
    done
    run anabranch --color=always help --color=never
    refute_contains "$escape"
}

@test "no colour into a pipe" {
    run anabranch help
    refute_contains "$escape"
}

@test "--color always beats NO_COLOR and a dumb terminal" {
    NO_COLOR=1 TERM=dumb run anabranch --color always
    assert_contains "${escape}[1m"
}

# Runs a command with a terminal as its standard output.
on_terminal() {
    script -qec "$*" /dev/null </dev/null
}

@test "a terminal gets colour, unless NO_COLOR or TERM say otherwise" {
    command -v script >/dev/null || skip "needs script(1)"
    run on_terminal "$ANABRANCH"
    assert_contains "${escape}[1mUsage:"
    NO_COLOR=1 run on_terminal "$ANABRANCH"
    refute_contains "$escape"
    NO_COLOR='' run on_terminal "$ANABRANCH"
    assert_contains "${escape}[1mUsage:"
    TERM=dumb run on_terminal "$ANABRANCH"
    refute_contains "$escape"
    run on_terminal env -u TERM "$ANABRANCH"
    refute_contains "$escape"
}

@test "zero is a number, but not one that an option takes" {
    run anabranch run --workers 0 plan.yaml
    assert_status 2
    assert_line "anabranch: '--workers' must be at least 1"
    run anabranch history -n 0
    assert_status 2
    assert_line "anabranch: '--max-count' must be at least 1"
    run anabranch history -n many
    assert_status 2
    assert_line "anabranch: 'many' is not a number for '--max-count', such as 200, 64k or 2GiB"
}

# Output

to_full() { "$ANABRANCH" "$@" >/dev/full; }
to_closed() { "$ANABRANCH" "$@" >&-; }

@test "a full disk is an error, told once" {
    [[ -w /dev/full ]] || skip "needs /dev/full"
    for call in --version help "completion bash" "help exit-codes"; do
        read -ra words <<<"$call"
        run to_full "${words[@]}"
        assert_status 3
        assert_output "anabranch: cannot write to standard output: No space left on device"
    done
}

@test "a closed standard output is an error" {
    run to_closed --version
    assert_status 3
    assert_output "anabranch: cannot write to standard output: Bad file descriptor"
}

@test "closed standard input and error do no harm" {
    run bash -c '"$1" --version <&- 2>&-' - "$ANABRANCH"
    assert_status 0
    run bash -c '"$1" --versoin <&- 2>&-' - "$ANABRANCH"
    assert_status 2
    assert_output ""
}

# The reader is gone for certain before the program begins to write.
to_gone_reader() {
    python3 - "$ANABRANCH" "$@" <<'PYTHON'
import os, signal, subprocess, sys
how = signal.SIG_IGN if sys.argv[2] == "ignored" else signal.SIG_DFL
reader, writer = os.pipe()
os.close(reader)
done = subprocess.run([sys.argv[1], "help"], stdout=writer, restore_signals=False,
                      preexec_fn=lambda: signal.signal(signal.SIGPIPE, how))
sys.exit(done.returncode % 256 if done.returncode >= 0 else 128 - done.returncode)
PYTHON
}

@test "a reader that left early is not complained about" {
    command -v python3 >/dev/null || skip "needs python3"
    for how in default ignored; do
        run to_gone_reader $how
        assert_status 141
        assert_output ""
    done
}

# Completions

@test "completion prints a script that its shell can read" {
    anabranch completion bash >c.bash
    bash -n c.bash
    if command -v zsh >/dev/null; then
        anabranch completion zsh >c.zsh
        zsh -n c.zsh
    fi
    if command -v fish >/dev/null; then
        anabranch completion fish >c.fish
        fish --no-execute c.fish
    fi
}

# Prints on one line what bash proposes for the last word.
complete_bash() { # WORD...
    # shellcheck disable=SC2016
    bash --norc -c '
        eval "$("$1" completion bash)"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _anabranch
        echo "${COMPREPLY[*]}"' - "$ANABRANCH" "$@"
}

assert_completes() { # EXPECTED WORD...
    local expected=$1
    shift
    run complete_bash "$@"
    assert_status 0
    [[ $output == "$expected" ]] || fail "for: $*" "expected: $expected"
}

@test "bash completes commands, options, values, arguments" {
    local names
    names=$(commands | grep -v ^__ | tr '\n' ' ')
    assert_completes "${names% }" anabranch ""
    assert_completes "help" anabranch hel
    assert_completes "help" anabranch --color never hel
    assert_completes "help" anabranch --color = never hel
    assert_completes "--version" anabranch --v
    assert_completes "" anabranch help --v
    assert_completes "--color --help" anabranch help -
    assert_completes "auto always never" anabranch --color ""
    assert_completes "auto always never" anabranch help --color =
    assert_completes "auto always" anabranch help --color = a
    assert_completes "--color=never" anabranch help --color=n
    assert_completes "exit-codes" anabranch help exi
    assert_completes "bash zsh fish" anabranch completion ""
    assert_completes "" anabranch completion bash ""
    assert_completes "" anabranch help -- -
}

@test "bash completes the names of files, also odd ones" {
    touch 'one plan.md' 'on*.md' other
    run complete_bash anabranch check one
    assert_output 'one plan.md'
    run complete_bash anabranch check 'on*'
    assert_output 'on*.md'
}

@test "bash completes every option that help shows" {
    for name in $(commands | grep -v ^__); do
        expected=$(anabranch help "$name" | sed -nE 's/^ {2}(-.,|   ) (--[a-z-]+).*/\2/p' | tr '\n' ' ')
        [[ $expected == *--help* ]] || fail "no options in help $name"
        assert_completes "${expected% }" anabranch "$name" --
    done
}

@test "the bash completion is clean for shellcheck" {
    command -v shellcheck >/dev/null || skip "needs shellcheck"
    anabranch completion bash | shellcheck -
}

@test "zsh completes commands, options, values, arguments" {
    command -v zsh >/dev/null || skip "needs zsh"
    touch plan.md
    anabranch completion zsh >_anabranch
    run timeout 60 zsh -f "$BATS_TEST_DIRNAME/../complete.zsh" "$PWD/_anabranch" \
        'anabranch comp' 'anabranch --color never comp' 'anabranch --vers' 'anabranch --color=alw' \
        'anabranch help --color nev' 'anabranch help exit' 'anabranch completion fi' \
        'anabranch check pla' 'anabranch __m'
    assert_status 0
    assert_output "$(sed 's/|$//' <<'LINES'
anabranch completion |
anabranch --color never completion |
anabranch --version |
anabranch --color=always |
anabranch help --color never |
anabranch help exit-codes |
anabranch completion fish |
anabranch check plan.md |
anabranch __m|
LINES
)"
}

@test "zsh loads the completion from fpath as well" {
    command -v zsh >/dev/null || skip "needs zsh"
    mkdir functions
    anabranch completion zsh >functions/_anabranch
    # shellcheck disable=SC2016
    run zsh -f -c 'fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -D -u
        print -r -- $_comps[anabranch]'
    assert_status 0
    assert_output "_anabranch"
}

complete_fish() { # LINE
    # shellcheck disable=SC2016
    "$ANABRANCH" completion fish >c.fish &&
        fish --no-config -c 'source c.fish; complete -C $argv[1]' "$1" | cut -f1 | tr '\n' ' '
}

assert_fish() { # EXPECTED LINE
    run complete_fish "$2"
    assert_status 0
    [[ $output == "$1" ]] || fail "for: $2" "expected: $1"
}

@test "fish completes commands, options, values, arguments" {
    command -v fish >/dev/null || skip "needs fish"
    touch plan.md
    assert_fish "$(commands | grep -v ^__ | sort | tr '\n' ' ')" "anabranch "
    assert_fish "help " "anabranch --color never hel"
    assert_fish "--version " "anabranch --v"
    assert_fish "" "anabranch help --v"
    assert_fish "always auto never " "anabranch help --color "
    assert_fish "--color=always " "anabranch --color=al"
    assert_fish "exit-codes " "anabranch help exi"
    assert_fish "bash fish zsh " "anabranch completion "
    assert_fish "plan.md " "anabranch check pla"
}
