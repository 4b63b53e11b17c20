# shellcheck shell=bash
# Every test file loads this one: `load helper`. ANABRANCH is the program under test.

setup() {
    : "${ANABRANCH:?is to be the path of the program under test}"
    ANABRANCH=$(realpath "$ANABRANCH")
    export HOME=$BATS_TEST_TMPDIR/home
    export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
    export GIT_CEILING_DIRECTORIES=$BATS_TEST_TMPDIR
    export TERM=xterm LC_ALL=C.UTF-8
    unset NO_COLOR COLUMNS POSIXLY_CORRECT XDG_CONFIG_HOME XDG_DATA_HOME GIT_DIR GIT_WORK_TREE
    mkdir -p "$HOME" "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work" || return
}

anabranch() {
    "$ANABRANCH" "$@"
}

# Like `run`, but with standard error separately in $stderr.
run_apart() {
    local errors=$BATS_TEST_TMPDIR/stderr
    run with_errors_in "$errors" "$@"
    # shellcheck disable=SC2034 # for the tests
    stderr=$(<"$errors")
}

with_errors_in() {
    local errors=$1
    shift
    "$@" 2>"$errors"
}

fail() {
    printf '%s\n' "$@"
    printf 'status: %s\n' "${status-}"
    printf 'output:\n%s\n' "${output-}"
    [[ -z ${stderr-} ]] || printf 'errors:\n%s\n' "$stderr"
    return 1
}

assert_status() { # CODE
    [[ $status -eq $1 ]] || fail "expected status: $1"
}

assert_output() { # TEXT: all of it
    [[ $output == "$1" ]] || fail "expected output:" "$1"
}

assert_line() { # LINE: one of them, as a whole
    grep -qxF -e "$1" <<<"$output" || fail "no such line: $1"
}

assert_contains() { # TEXT
    [[ $output == *"$1"* ]] || fail "not in the output: $1"
}

refute_contains() { # TEXT
    [[ $output != *"$1"* ]] || fail "should not be in the output: $1"
}

# The command line was wrong: nothing on standard output, MESSAGE, and a pointer to the help of COMMAND.
assert_usage_error() { # MESSAGE [COMMAND]
    assert_status 2
    [[ -z $output ]] || fail "expected nothing on the standard output"
    local expected="anabranch: $1"$'\n'"See 'anabranch ${2:+$2 }--help'."
    # shellcheck disable=SC2154 # run_apart sets it
    [[ $stderr == "$expected" ]] || fail "expected errors:" "$expected"
}

# Gives the current repository an identity, and hides the plan from git.
set_up_repo() {
    local dir=.git
    [[ -d .git ]] || dir=$(git rev-parse --git-common-dir)
    git config user.name Tester
    git config user.email tester@example.com
    echo plan.yaml >>"$dir/info/exclude"
}

# Makes a repository with one commit in the folder `repo`, and changes to that folder. git ignores the plan's
# file.
make_repo() { # [OPTION OF GIT INIT...]
    git init -q -b main "$@" repo
    cd repo || return
    set_up_repo
    printf '%s\n' one two three four five six seven eight nine >file
    mkdir dir
    echo inner >dir/inner
    git add .
    git commit -q -m start
    cp .git/config "$BATS_TEST_TMPDIR/config"
}

# Writes the head of the plan from the given lines of YAML; add_task adds tasks.
begin_plan() { # [LINE...]
    printf '%s\n' "$@" tasks: >plan.yaml
}

# Adds a task: lines of YAML, and after `--` the steps of the built-in agent.
add_task() { # ID [LINE...] [-- STEP...]
    {
        printf '  - id: %s\n' "$1"
        shift
        while (($#)) && [[ $1 != -- ]]; do
            printf '    %s\n' "$1"
            shift
        done
        if (($#)); then
            printf '    prompt: |\n'
            shift
            printf '      sim> %s\n' "$@"
        fi
    } >>plan.yaml
}

# For teardown: kills the processes that a test has noted in a file NAME.pid.
kill_noted() {
    local file
    for file in "$BATS_TEST_TMPDIR"/*.pid; do
        [[ ! -e $file ]] || kill -KILL "$(<"$file")" 2>/dev/null || true
    done
}

# Runs the plan to its end. We close descriptor 3, because bats waits for all processes that have it.
run_plan() { # [OPTION...]
    run_apart anabranch run --engine sim "$@" plan.yaml 3>&-
    assert_no_sanitizer
}

# Runs the plan in the background. $engine is the process; its events go to the file `events` beside the
# repository.
start_plan() { # [OPTION...]
    start_engine run "$@"
}

start_engine() { # COMMAND [OPTION...]
    events=$BATS_TEST_TMPDIR/events
    "$ANABRANCH" "$1" --engine sim --json "${@:2}" plan.yaml \
        >"$events" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Waits for the run of start_plan, and sets $status to its exit code.
end_plan() {
    status=0
    wait "$engine" || status=$?
    output=$(<"$events")
    stderr=$(<"$BATS_TEST_TMPDIR/stderr")
    assert_no_sanitizer
}

assert_no_sanitizer() {
    [[ $stderr != *Sanitizer* && $stderr != *"runtime error"* ]] || fail "the sanitizer complains"
}

wait_for() { # COMMAND...: until it succeeds
    local deadline=$((SECONDS + ${patience:-60}))
    until "$@"; do
        ((SECONDS < deadline)) || { fail "never: $*"; return 1; }
        sleep 0.02
    done
}

# Does the output of --json have this event?
has_event() { # NAME [TASK] [TEXT]
    printf '%s\n' "$output" | grep -F "\"event\":\"$1\"" | grep -F "${2:+\"task\":\"$2\"}" |
        grep -qF -e "${3-}"
}

assert_event() { # NAME [TASK] [TEXT]
    has_event "$@" || fail "no event: $*"
}

refute_event() { # NAME [TASK] [TEXT]
    ! has_event "$@" || fail "event: $*"
}

# Prints the line of the summary about a task.
summary_of() { # TASK
    grep -E "^  $1 +(landed|done|failed|stopped|conflicted|skipped|waiting|ready|running)" <<<"$output"
}

assert_summary() { # TASK TEXT
    [[ $(summary_of "$1") == *"$2"* ]] || fail "the summary does not say of $1: $2"
}

# The file has this text in the commit.
assert_in() { # COMMIT PATH TEXT
    local text
    text=$(git show "$1:$2") || fail "$1 has no $2"
    [[ $text == "$3" ]] || fail "$1:$2 is:" "$text" "expected:" "$3"
}

refute_in() { # COMMIT PATH
    ! git cat-file -e "$1:$2" 2>/dev/null || fail "$1 has $2"
}

is_gone() { # PID
    ! kill -0 "$1" 2>/dev/null || [[ $(ps -o state= -p "$1") == Z* ]]
}

# Ends a server that a test may have started in the background.
stop_server() { # PIDFILE
    local pid
    [[ -e $1 ]] || return 0
    pid=$(<"$1")
    rm "$1"
    kill "$pid" 2>/dev/null || return 0
    wait_for is_gone "$pid"
}

# Lists the processes of this test's agents, by their environment.
agents_alive() {
    local file
    grep -slzx -e "HOME=$HOME" /proc/[0-9]*/environ | while read -r file; do
        if grep -sqz '^ANABRANCH_TASK=' "$file"; then
            file=${file#/proc/}
            echo "${file%/environ}: $(tr '\0' ' ' <"/proc/${file%environ}cmdline")"
        fi
    done 2>/dev/null
}

no_agents() {
    [[ -z $(agents_alive) ]]
}

# The run left nothing behind: no workspace, branch, lock, process or file, and an unchanged
# configuration. The arguments are exceptions: patterns of refs that must exist, and kept=N workspaces.
assert_clean() { # [kept=N] [REF...]
    local kept=0 ref pattern known
    [[ ${1-} != kept=* ]] || { kept=${1#kept=} && shift; }
    [[ $(git worktree list --porcelain | grep -c '^worktree ') -eq $((kept + 1)) ]] ||
        fail "workspaces:" "$(git worktree list)"
    while read -r ref; do
        known=
        for pattern in "$@"; do
            # shellcheck disable=SC2053 # a pattern
            [[ $ref != $pattern ]] || known=1
        done
        [[ $known ]] || fail "a ref is left: $ref"
    done < <(git for-each-ref --format='%(refname)' refs/heads/anabranch refs/anabranch)
    for pattern in "$@"; do
        git for-each-ref --format='%(refname)' | while read -r ref; do
            # shellcheck disable=SC2053
            [[ $ref != $pattern ]] || echo "$ref"
        done | grep -q . || fail "no ref: $pattern"
    done
    [[ $kept -gt 0 || ! -e .anabranch ]] || fail "left: $(find .anabranch)"
    [[ -z $(find .git -name '*.lock') ]] || fail "locks: $(find .git -name '*.lock')"
    [[ -z $(find .git/anabranch/tmp -mindepth 1) ]] || fail "left: $(find .git/anabranch/tmp)"
    [[ $kept -gt 0 || -z $(find .git/worktrees -mindepth 1 2>/dev/null) ]] ||
        fail "left: $(find .git/worktrees)"
    no_agents || fail "still alive:" "$(agents_alive)"
    cmp -s .git/config "$BATS_TEST_TMPDIR/config" || fail "the configuration was changed"
    git fsck --connectivity-only >"$BATS_TEST_TMPDIR/fsck" 2>&1 || fail "$(<"$BATS_TEST_TMPDIR/fsck")"
}

# The checkout matches its branch.
assert_unchanged_checkout() {
    [[ -z $(git status --porcelain) ]] || fail "status:" "$(git status --porcelain)"
}

# Puts a program named git in front of the real one. In its lines, $git is the real one and $sub the subcommand.
wrap_git() { # LINE OF SHELL...
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    {
        echo '#!/bin/bash'
        echo "git='$(command -v git)' dir='$BATS_TEST_TMPDIR' sub= skip="
        # shellcheck disable=SC2016
        echo 'for arg; do
    if [[ $skip ]]; then skip=
    elif [[ $arg == -c || $arg == -C ]]; then skip=1
    elif [[ $arg != -* ]]; then sub=$arg; break
    fi
done'
        # shellcheck disable=SC2016
        printf '%s\n' "$@" 'exec "$git" "$@"'
    } >"$BATS_TEST_TMPDIR/bin/git"
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

real_git() {
    PATH=${PATH#"$BATS_TEST_TMPDIR/bin:"}
}

# From now on, each git process appends its arguments to the file `calls`.
count_gits() {
    local real
    real=$(command -v git)
    mkdir -p "$BATS_TEST_TMPDIR/counted"
    printf '#!/bin/sh\necho "$*" >>"%s"\nexec %s "$@"\n' "$BATS_TEST_TMPDIR/calls" "$real" \
        >"$BATS_TEST_TMPDIR/counted/git"
    chmod +x "$BATS_TEST_TMPDIR/counted/git"
    PATH=$BATS_TEST_TMPDIR/counted:$PATH
}

gits() { # [WORD]
    grep -c -e "${1-}" "$BATS_TEST_TMPDIR/calls"
}

# Does a task's workspace have this file, even if only the run sees the workspace?
workspace_has() { # TASK FILE
    local place
    for place in "$1" ".$1.layers/upper" .+brought/tree; do
        compgen -G "$PWD/.anabranch/worktrees/*/$place/$2" >/dev/null && return
    done
    compgen -G "$PWD/.git/anabranch/shared/*/tree/$2" >/dev/null
}

# Notes that the run made a folder beside its workspaces: otherwise nobody deletes it.
record_folder() { # PATH...
    local path run task
    for path in "$@"; do
        run=$(basename "$(dirname "$path")")
        task=$(basename "$path")
        task=${task#.}
        mkdir -p ".git/anabranch/runs/$run/run.folders"
        echo "tree $(stat -c '%d %i' "$path") 0 $(cat /proc/sys/kernel/random/boot_id)" \
            >>".git/anabranch/runs/$run/run.folders/${task%%.*}"
    done
}
