#!/usr/bin/env bats
# Ownership of threads: changes outside of a thread's paths, requests for paths, and the hooks that
# enforce paths. PS-N are defects of parallel-sessions that we must not have.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016,SC2103 # another shell expands it; a test ends where it ends
# shellcheck disable=SC2154 # run sets output

load ../helper

# Thread 1 owns a and may not touch a/no, thread 2 owns b and *.cfg, thread 3 owns nothing.
begin() { # [LINE AT THE TOP...]
    make_repo
    mkdir -p a/no b
    touch a/one a/two a/no/x b/one b/two
    ln -s one a/link
    touch x.cfg
    git add .
    git commit -q -m more
    begin_plan "$@"
    add_task 1 'prompt: One' 'owns: [a]' 'forbids: [a/no]'
    add_task 2 'prompt: Two' 'owns: [b, "*.cfg"]'
    add_task 3 'prompt: Three'
    anabranch fanout plan.yaml >/dev/null 3>&- || fail "no fanout"
    cd worktrees/thread-1 || return
}

own() { # [ARG...]
    run_apart anabranch own "$@"
    assert_no_sanitizer
}

# The verdicts, "path verdict" each, in one line.
verdicts() { # [ARG...]
    own --json "$@"
    output=$(jq -r '.paths[] | "\(.path) \(.verdict)\(if .thread then ":" + .thread else "" end)"' <<<"$output" |
        paste -s -d ',' -)
}

assert_error() { # TEXT
    [[ $stderr == *"$1"* ]] || fail "not among the errors: $1"
}

# Changes

@test "own: a thread that has changed nothing, or only its own, is inside" {
    begin
    own
    assert_status 0
    assert_output "Thread 1 has changed nothing"
    echo x >a/one
    echo x >a/new
    git add a/new
    own
    assert_status 0
    assert_output "All inside: 2 changed paths of thread 1"
}

@test "own: each path is owned, forbidden, another thread's, or nobody's" {
    begin
    echo x | tee a/one a/no/x b/one x.cfg dir/x file >/dev/null
    verdicts
    assert_status 1
    assert_output "a/no/x forbidden,a/one owned,b/one taken:2,dir/x not-owned,file not-owned,x.cfg taken:2"
    own
    assert_status 1
    assert_line "a/no/x: forbidden"
    assert_line "b/one: belongs to thread 2"
    assert_line "file: not owned"
    assert_contains "5 of 6 changed paths are outside of the paths of thread 1"
    refute_contains "a/one:"
}

@test "own: a thread that owns nothing may change what no other owns" {
    begin
    cd ../thread-3
    echo x | tee file b/one a/no/x >/dev/null
    verdicts
    assert_status 1
    assert_output "a/no/x taken:1,b/one taken:2,file free"
    git checkout -q a b
    own
    assert_status 0
}

@test "own: both names of a rename, deletions, modes, symlinks and types" {
    begin
    git mv b/one a/moved
    git rm -q b/two
    chmod +x file
    ln -sf elsewhere dir/inner
    verdicts
    assert_output "a/moved owned,b/one taken:2,b/two taken:2,dir/inner not-owned,file not-owned"
    git add -A
    git commit -q -m all --no-verify
    verdicts
    assert_output "a/moved owned,b/one taken:2,b/two taken:2,dir/inner not-owned,file not-owned"
}

@test "own: the commit of a submodule counts, but dirty files in it do not" {
    make_repo
    git init -q sub
    git -C sub -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m one
    git -c advice.addEmbeddedRepo=false add sub
    git commit -q -m sub
    begin_plan
    add_task 1 'prompt: One' 'owns: [a]'
    anabranch fanout plan.yaml >/dev/null 2>&1 3>&-
    cd worktrees/thread-1
    git clone -q ../../sub sub
    touch sub/dirty
    own
    assert_status 0
    git -C sub -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m two
    verdicts
    assert_output "sub not-owned"
}

@test "own: paths of any bytes, and a repository inside" {
    begin
    local odd=$'b/new\nline\t"q" \xff'
    touch "$odd" $'a/\xc3\xa4 "'
    git init -q nested
    git -C nested -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m one
    own
    assert_status 1
    assert_line 'b/new\nline\t"q" \xFF: belongs to thread 2'
    assert_line 'nested: not owned'
    git add "$odd"
    own --json --staged
    assert_status 1
    [[ $(jq -r '.paths[0].path' <<<"$output") == 'b/new\nline\t"q" \xFF' ]] || fail "another path"
}

@test "own: the brief, ignored files and settings of the user's diff make no difference" {
    begin
    git config diff.relative true
    git config diff.noprefix true
    git config status.showUntrackedFiles no
    git config diff.ignoreSubmodules all
    echo changed >THREAD_BRIEF.md
    git add -f THREAD_BRIEF.md
    own
    assert_output "Thread 1 has changed nothing"
    git rm -q --cached THREAD_BRIEF.md
    echo 'out/' >.git-ignore
    git config core.excludesFile "$PWD/.git-ignore"
    touch b/new
    cd a
    verdicts
    assert_contains "b/new taken:2"
}

@test "own --staged looks at the index alone, a range at its commits" {
    begin
    echo x >b/one
    echo x >a/one
    git add a/one
    own --staged
    assert_status 0
    git commit -q -m inside
    git add b/one
    verdicts --staged
    assert_status 1
    assert_output "b/one taken:2"
    git commit -q --no-verify -m outside
    own --staged
    assert_status 0
    verdicts HEAD~1..HEAD
    assert_output "b/one taken:2"
    own HEAD~2..HEAD~1
    assert_status 0
}

@test "own: a stray change that is taken back may be committed" {
    begin
    echo x >b/one
    git commit -q --no-verify -a -m outside
    git rm -q --cached b/one
    git show HEAD~1:b/one >b/one
    git add b/one
    own --staged
    assert_status 0
    git commit -q -m back || fail "the hook refuses"
    own
    assert_output "Thread 1 has changed nothing"
}

@test "own: work that came from the base branch by a merge or rebase is no change of the thread" {
    begin
    echo mine >a/one
    git commit -q -a -m mine
    git -C ../.. rm -q -r b
    git -C ../.. commit -q -m theirs
    git checkout -q -b other
    git rebase -q main
    verdicts
    assert_output "a/one owned"
    git checkout -q -
    echo here >>file
    git commit -q --no-verify -a -m stray
    echo there >>../../file
    git -C ../.. commit -q -a -m conflict
    ! git merge -q main || fail "no conflict"
    printf 'both\n' >file
    git add file
    verdicts --staged
    assert_output "file not-owned"
    verdicts
    assert_output "a/one owned,file not-owned"
    git checkout -q main -- file
    git commit -q -m merged || fail "the hook refuses what came from the base"
    verdicts
    assert_output "a/one owned"
}

@test "own: work of the base branch's upstream is no change either" {
    begin
    git -C ../.. clone -q . "$BATS_TEST_TMPDIR/origin" -b main
    git -C ../.. remote add origin "$BATS_TEST_TMPDIR/origin"
    git -C ../.. fetch -q
    git -C ../.. branch -q -u origin/main main
    git -C "$BATS_TEST_TMPDIR/origin" -c user.name=T -c user.email=t@example.com rm -q b/one
    git -C "$BATS_TEST_TMPDIR/origin" -c user.name=T -c user.email=t@example.com commit -q -m upstream
    git pull -q --no-rebase origin main
    [[ ! -e b/one ]] || fail "nothing was pulled"
    own
    assert_output "Thread 1 has changed nothing"
}

@test "own is only for worktrees of threads, and for ranges that are some" {
    begin
    own nonsense
    assert_status 2
    assert_error "is not a range of commits"
    own no..where
    assert_status 2
    own --staged HEAD~1..HEAD
    assert_usage_error "--staged goes with neither a range nor 'request'" own
    cd ../..
    own
    assert_status 2
    assert_error "this is not the worktree of a thread"
    cd "$BATS_TEST_TMPDIR"
    own
    assert_status 2
    own request x
    assert_status 2
}

# Requests

@test "own request: granted at once where nobody claims it, and counts from then on" {
    begin
    cd dir
    own request x ../docs/ 'y*.md' ../a/one
    assert_status 0
    assert_line "dir/x: granted, no other thread claims it: go ahead"
    assert_line "docs: granted, no other thread claims it: go ahead"
    assert_line "a/one: belongs to this thread already: go ahead"
    cd ..
    mkdir docs
    touch dir/x docs/new dir/yes.md dir/no.md
    verdicts
    assert_output "dir/no.md not-owned,dir/x granted,dir/yes.md granted,docs/new granted"
    cd ../thread-2
    own request docs/new
    assert_status 1
    assert_contains "docs/new: not granted: thread 1 owns 'docs'"
    mkdir docs
    touch docs/new
    verdicts
    assert_output "docs/new taken:1"
}

@test "own request: paths of another thread or of the plan are not granted, and that is recorded" {
    begin
    own request b/one a/no/x '*/one'
    assert_status 1
    assert_contains "b/one: not granted: thread 2 owns 'b'. The request is recorded"
    assert_contains "$(realpath ../thread-2)"
    assert_contains "a/no/x: not granted: the plan forbids 'a/no' to this thread"
    local file
    file=$(git rev-parse --git-dir)/anabranch.json
    [[ $(jq -c '[.requests[] | [.path, .claimed_by]]' "$file") == \
        '[["b/one","2"],["a/no/x","1"],["*/one","2"]]' ]] || fail "recorded: $(<"$file")"
    touch b/new
    verdicts
    assert_output "b/new taken:2"
    git -C ../.. worktree remove --force worktrees/thread-2
    own --json request b/one
    assert_status 0
    [[ $(jq -c '.requests[0].answer' <<<"$output") == '"granted"' ]] || fail "not granted"
    [[ $(jq -c '[.requests[] | select(.path == "b/one") | .claimed_by]' "$file") == '[null]' ]] ||
        fail "recorded: $(<"$file")"
}

@test "own request: a name that is there is no glob" {
    begin
    mkdir -p 'app/[id]/sub' app/i
    touch 'app/[id]/page' 'app/[id]/new' 'app/[id]/sub/x' app/i/page 'x*' xy
    own request 'app/[id]/page' 'app/[id]/sub' 'x*'
    assert_status 0
    (cd 'app/[id]' && anabranch own request new >/dev/null)
    verdicts
    assert_output 'app/[id]/new granted,app/[id]/page granted,app/[id]/sub/x granted,app/i/page not-owned,x* granted,xy not-owned'
    cd ../thread-2
    own request 'app/\[id\]/page'
    assert_status 1
    local tree=$PWD
    assert_answer "$PWD/some [1]" deny "anabranch own request 'some \\[1]'"
}

@test "own request: a text that is no path here changes nothing" {
    begin
    local file
    file=$(git rev-parse --git-dir)/anabranch.json
    cp "$file" "$BATS_TEST_TMPDIR/before"
    own request good ../../file
    assert_status 2
    assert_error "'../../file' leaves the repository"
    own request good '['
    assert_status 2
    own request
    assert_usage_error "'request' needs a path" own
    cmp "$file" "$BATS_TEST_TMPDIR/before" || fail "something was recorded"
}

@test "own request: of many that ask at once one gets the path" {
    begin
    local i n pids=()
    for i in 1 2 3; do
        for n in 1 2 3; do
            (cd "../thread-$i" && anabranch own request shared "only-$i-$n") >/dev/null 2>&1 3>&- &
            pids+=($!)
        done
    done
    for i in "${pids[@]}"; do
        wait "$i" || true
    done
    [[ $(jq -r '.requests[] | select(.path == "shared" and .claimed_by == null) | .path' \
        ../../.git/worktrees/*/anabranch.json | wc -l) -eq 1 ]] || fail "not one has it"
    [[ $(jq -r '.requests[] | select(.path != "shared") | .path' \
        ../../.git/worktrees/*/anabranch.json | wc -l) -eq 9 ]] || fail "some are lost"
}

# Commits

commit() { # [ARG...]
    run git commit -q -m work "$@" 3>&-
    refute_contains Sanitizer
}

@test "PS-5: files that a thread does not own are not committed, in whatever way the user commits them" {
    begin
    local start
    start=$(git rev-parse HEAD)
    echo x | tee a/one b/one a/no/x >/dev/null
    commit -a
    assert_status 1
    assert_line "anabranch: thread 1 does not own all paths of this commit:"
    assert_line "  a/no/x: forbidden"
    assert_line "  b/one: belongs to thread 2"
    assert_contains "Nothing was committed."
    commit b/one
    assert_status 1
    git mv a/two b/moved
    commit
    assert_status 1
    [[ $(git rev-parse HEAD) == "$start" ]] || fail "it was committed"
    git restore -q --staged --worktree .
    echo x >a/one
    commit a/one
    assert_status 0
    own request b/three
    assert_status 1
}

@test "a path that was granted may be committed" {
    begin
    echo x >file
    commit -a
    assert_status 1
    own request file
    assert_status 0
    commit -a
    assert_status 0
}

@test "enforce: warn says what is outside and commits it" {
    begin 'enforce: warn'
    echo x >b/one
    commit -a
    assert_status 0
    assert_line "  b/one: belongs to thread 2"
    [[ $(git log -1 --format=%s) == work ]] || fail "it was not committed"
}

@test "enforce: ask asks on the terminal, and refuses where there is none" {
    begin 'enforce: ask'
    echo x >b/one
    git add b/one
    commit
    assert_status 1
    assert_line "  b/one: belongs to thread 2"
    script --version 2>/dev/null | grep -q util-linux || skip "needs script(1) of util-linux"
    answer n
    assert_contains "Commit anyway? [y/N]"
    [[ -n $(git diff --cached --name-only) ]] || fail "it was committed"
    answer y
    [[ -z $(git diff --cached --name-only) ]] || fail "it was not committed: $output"
}

# A commit on a terminal on which that word is typed when it is asked for.
answer() { # WORD
    local out=$BATS_TEST_TMPDIR/terminal keys=$BATS_TEST_TMPDIR/keys
    : >"$out"
    rm -f "$keys"
    mkfifo "$keys"
    SHELL=/bin/sh script -qefc 'git commit -q -m work' -O /dev/null <"$keys" >"$out" 2>&1 3>&- &
    exec 7>"$keys"
    wait_for grep -qF '[y/N]' "$out"
    printf '%s\n' "$1" >&7
    wait "$!" || true
    exec 7>&-
    output=$(<"$out")
}

@test "without the program a commit passes with a warning" {
    make_repo
    mkdir "$BATS_TEST_TMPDIR/bin"
    cp "$ANABRANCH" "$BATS_TEST_TMPDIR/bin/anabranch"
    begin_plan
    add_task 1 'prompt: One' 'owns: [dir]'
    "$BATS_TEST_TMPDIR/bin/anabranch" fanout plan.yaml >/dev/null 3>&-
    cd worktrees/thread-1
    echo x >file
    commit -a
    assert_status 1
    rm "$BATS_TEST_TMPDIR/bin/anabranch"
    commit -a
    assert_status 0
    assert_line "anabranch is missing: not checked if this thread owns what it commits"
}

# The user's hooks

# A hook of the user's own, which notes its name, arguments and input in `calls`.
add_hook() { # FOLDER NAME [LINE]
    mkdir -p "$1"
    cat >"$1/$2" <<END
#!/bin/sh
printf '%s' "\${0##*/}" >>'$BATS_TEST_TMPDIR/calls'
printf ' <%s>' "\$@" "\$(test $2 != pre-push || cat)" >>'$BATS_TEST_TMPDIR/calls'
echo " from \$(cd "\$(dirname "\$0")" && pwd)" >>'$BATS_TEST_TMPDIR/calls'
${3-}
END
    chmod +x "$1/$2"
}

assert_called() { # LINE
    grep -qxF -e "$1" "$BATS_TEST_TMPDIR/calls" || fail "not called: $1" "$(cat "$BATS_TEST_TMPDIR/calls")"
}

@test "the user's hooks go on working in a thread, and those that come later" {
    make_repo
    local hooks=$PWD/.git/hooks zeros
    add_hook "$hooks" pre-commit 'test ! -e "$(git rev-parse --show-toplevel)/dir/bad"'
    add_hook "$hooks" reference-transaction
    begin_plan
    add_task 1 'prompt: One' 'owns: [dir]'
    anabranch fanout plan.yaml >/dev/null 3>&-
    : >"$BATS_TEST_TMPDIR/calls"
    add_hook "$hooks" commit-msg
    add_hook "$hooks" pre-push
    add_hook "$hooks" post-checkout
    chmod -x "$hooks/post-checkout"
    git init -q --bare "$BATS_TEST_TMPDIR/origin"
    cd worktrees/thread-1
    echo x >dir/bad
    git add dir
    commit
    assert_status 1
    git mv dir/bad dir/good
    commit
    assert_status 0
    assert_called "pre-commit <> from $hooks"
    assert_called "commit-msg <$(git rev-parse --git-dir)/COMMIT_EDITMSG> <> from $hooks"
    assert_called "reference-transaction <prepared> <> from $hooks"
    zeros=$(git rev-parse HEAD | tr '0-9a-f' 0)
    git push -q "$BATS_TEST_TMPDIR/origin" HEAD:refs/heads/new 3>&-
    assert_called "pre-push <$BATS_TEST_TMPDIR/origin> <$BATS_TEST_TMPDIR/origin> <HEAD $(git rev-parse HEAD) refs/heads/new $zeros> from $hooks"
    git checkout -q -b other
    ! grep -q post-checkout "$BATS_TEST_TMPDIR/calls" || fail "one that is not executable was called"
}

@test "a core.hooksPath of the user's, also a relative one that comes later, is where hooks are" {
    make_repo
    add_hook .githooks commit-msg
    add_hook .git/hooks commit-msg
    git add .githooks
    git commit -q -m hooks 3>&-
    begin_plan
    add_task 1 'prompt: One' 'owns: [dir]'
    anabranch fanout plan.yaml >/dev/null 3>&-
    git config core.hooksPath .githooks
    cd worktrees/thread-1
    : >"$BATS_TEST_TMPDIR/calls"
    echo x >dir/x
    git add dir
    commit
    assert_status 0
    assert_called "commit-msg <$(git rev-parse --git-dir)/COMMIT_EDITMSG> <> from $PWD/.githooks"
    [[ $(wc -l <"$BATS_TEST_TMPDIR/calls") -eq 1 ]] || fail "too many: $(<"$BATS_TEST_TMPDIR/calls")"
}

@test "hooks and settings are of the thread's worktree alone, and no change" {
    begin
    [[ -z $(git -C ../.. config core.hooksPath) ]] || fail "the main worktree has it as well"
    [[ -z $(git status --porcelain) ]] || fail "$(git status --porcelain)"
    [[ ! -e ../../.claude ]] || fail "the main worktree has settings"
    git add -A
    [[ -z $(git diff --cached --name-only) ]] || fail "staged: $(git diff --cached --name-only)"
    cd ../..
    echo x >b/one
    commit -a
    assert_status 0
}

# Settings of Claude Code

# The commands that it calls before it writes, one per line.
claude_hooks() { # FILE
    jq -r '.hooks.PreToolUse[] | "\(.matcher) \(.hooks[].command)"' "$1"
}

@test "the user's local settings come along with the hook beside what they say" {
    make_repo
    mkdir .claude
    cat >.claude/settings.local.json <<'END'
{"permissions": {"allow": ["Bash(ls)"]}, "n": 1.5,
 "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}}
END
    cp .claude/settings.local.json "$BATS_TEST_TMPDIR/before"
    echo .claude >>.git/info/exclude
    begin_plan
    add_task 1 'prompt: One' 'owns: [dir]'
    anabranch fanout plan.yaml >/dev/null 3>&-
    cmp .claude/settings.local.json "$BATS_TEST_TMPDIR/before" || fail "the user's own were changed"
    local file=worktrees/thread-1/.claude/settings.local.json
    [[ $(claude_hooks "$file") == "Bash true
Write|Edit|MultiEdit|NotebookEdit $ANABRANCH __own-hook $PWD/worktrees/thread-1" ]] || fail "$(<"$file")"
    [[ $(jq -c '[.permissions.allow[0], .n]' "$file") == '["Bash(ls)",1.5]' ]] || fail "$(<"$file")"
}

@test "settings that git tracks, or that are shared by a symlink, stay as they are" {
    make_repo
    mkdir .claude
    echo '{"a": 1}' >.claude/settings.local.json
    git add -f .claude
    git commit -q -m settings
    begin_plan
    add_task 1 'prompt: One' 'owns: [dir]'
    anabranch fanout plan.yaml >/dev/null 3>&-
    [[ $(<worktrees/thread-1/.claude/settings.local.json) == '{"a": 1}' ]] || fail "it was changed"
    [[ -z $(git -C worktrees/thread-1 status --porcelain) ]] || fail "not clean"
    git rm -q -r .claude
    mkdir "$BATS_TEST_TMPDIR/elsewhere"
    echo '{"a": 1}' >"$BATS_TEST_TMPDIR/elsewhere/settings.local.json"
    ln -s "$BATS_TEST_TMPDIR/elsewhere" .claude
    git add .claude
    git commit -q -m link
    begin_plan
    add_task 2 'prompt: Two' 'owns: [file]'
    anabranch fanout plan.yaml >/dev/null 3>&-
    [[ -L worktrees/thread-2/.claude ]] || fail "no link"
    [[ $(<"$BATS_TEST_TMPDIR/elsewhere/settings.local.json") == '{"a": 1}' ]] || fail "it was changed"
}

@test "a thread of another engine has no settings of Claude Code" {
    make_repo
    begin_plan
    add_task 1 'prompt: One' 'engine: codex' 'owns: [dir]'
    anabranch fanout plan.yaml >/dev/null 3>&-
    [[ ! -e worktrees/thread-1/.claude ]] || fail "it has"
    cd worktrees/thread-1
    echo x >file
    commit -a
    assert_status 1
}

# Questions before a write

# Asks the hook about a tool that is about to write FILE. $output gets its decision.
ask_hook() { # FILE [KEY OF THE INPUT]
    printf '{"hook_event_name":"PreToolUse","tool_name":"Write","cwd":"%s","tool_input":{"%s":"%s"}}' \
        "$PWD" "${2-file_path}" "$1" >"$BATS_TEST_TMPDIR/call"
    run_apart anabranch __own-hook "$tree" <"$BATS_TEST_TMPDIR/call"
    assert_no_sanitizer
    assert_status 0
    reason=
    [[ -z $output ]] || {
        read -r output
        read -r reason
    } < <(jq -r '(.hookSpecificOutput.permissionDecision // "says"),
        (.hookSpecificOutput.permissionDecisionReason // .systemMessage)' <<<"$output")
}

assert_answer() { # FILE DECISION [TEXT]
    ask_hook "$1"
    [[ $output == "$2" && $reason == *"${3-}"* ]] || fail "for $1 expected: $2 ${3-}" "$reason"
}

@test "the hook denies what is outside, and says nothing of what is inside" {
    begin
    local tree=$PWD
    assert_answer "$PWD/a/new/deep" ""
    assert_answer a/one ""
    assert_answer "$PWD/THREAD_BRIEF.md" ""
    assert_answer "$PWD/b/one" deny "This is thread 1: b/one belongs to thread 2. If you need it, ask: anabranch own request b/one"
    assert_answer "$PWD/a/no/new" deny "a/no/new is forbidden"
    assert_answer "$PWD/file" deny "file is not owned"
    assert_answer "$PWD/a/../file" deny "file is not owned"
    assert_answer "$PWD/../thread-2/a/one" deny "is not in this thread's worktree"
    assert_answer "$(realpath ../..)/a/one" deny "is not in this thread's worktree"
    assert_answer "$PWD" deny "is not in this thread's worktree"
    assert_answer /etc/passwd deny "/etc/passwd is not in this thread's worktree"
    assert_answer "$HOME/.claude/settings.json" deny
    assert_answer "$HOME/.claude/plans/plan.md" ""
    CLAUDE_CONFIG_DIR=$BATS_TEST_TMPDIR/conf assert_answer "$BATS_TEST_TMPDIR/conf/projects/x/memory/note.md" ""
    ask_hook "$PWD/b/x.ipynb" notebook_path
    assert_output deny
    cd a
    assert_answer one ""
    assert_answer ../b/one deny "b/one belongs to thread 2"
}

@test "the hook follows symlinks, and is not for git's files or its own settings" {
    begin
    local tree=$PWD
    ln -s ../b a/folder
    ln -s ../../../file a/out
    ln -s ../b/not-yet a/dangling
    ln -s loop a/loop
    ln -s a/one way-in
    ln -s "$PWD" "$BATS_TEST_TMPDIR/door"
    assert_answer "$PWD/a/folder/one" deny "b/one belongs to thread 2"
    assert_answer "$PWD/a/folder/../a/one" ""
    assert_answer "$PWD/a/out" deny "is not in this thread's worktree"
    assert_answer "$PWD/a/dangling" deny "b/not-yet belongs to thread 2"
    assert_answer "$PWD/a/loop" deny
    assert_answer "$PWD/way-in" deny "way-in is not owned"
    assert_answer "$PWD/a/link" ""
    assert_answer "$BATS_TEST_TMPDIR/door/a/one" ""
    assert_answer "$BATS_TEST_TMPDIR/door/b/one" deny "b/one belongs to thread 2"
    assert_answer "$PWD/.git" deny "must not be written by agents"
    assert_answer "$PWD/.claude/settings.local.json" deny "must not be written by agents"
}

@test "the hook lets pass what git ignores" {
    begin
    local tree=$PWD
    echo '*.log' >>../../.git/info/exclude
    assert_answer "$PWD/some.log" ""
    assert_answer "$PWD/some.txt" deny
    echo x >b/kept.log
    git add -f b/kept.log
    assert_answer "$PWD/b/kept.log" deny
}

@test "the hook asks or only says it by the grade, and asks where it cannot tell" {
    begin 'enforce: ask'
    local tree=$PWD
    assert_answer "$PWD/b/one" ask "b/one belongs to thread 2"
    assert_answer /etc/passwd ask
    assert_answer "$PWD/a/one" ""
    local file
    file=$(git rev-parse --git-dir)/anabranch.json
    jq -c '.enforce = "warn"' "$file" >"$file.new"
    mv "$file.new" "$file"
    assert_answer "$PWD/b/one" says "b/one belongs to thread 2"
    run_apart anabranch __own-hook "$PWD" <<<'nonsense'
    assert_status 0
    [[ $(jq -r .hookSpecificOutput.permissionDecision <<<"$output") == ask ]] || fail "no question"
    run_apart anabranch __own-hook "$PWD" <<<'{"tool_name": "Bash", "tool_input": {"command": "ls"}}'
    assert_status 0
    assert_output ""
    echo damaged >"$file"
    assert_answer "$PWD/a/one" ask "is damaged"
}

@test "a damaged thread does not hinder the others, and gets no commit past its hook" {
    begin
    local file
    file=$(git -C ../thread-2 rev-parse --git-dir)/anabranch.json
    cp "$file" "$BATS_TEST_TMPDIR/copy"
    echo '{' >"$file"
    echo x >a/one
    own
    assert_status 0
    assert_output "All inside: 1 changed path of thread 1"
    assert_error "the paths of thread 2 are unknown: "
    assert_error "is damaged"
    git commit -q -a -m x || fail "thread 1 cannot commit"
    own request a/no
    assert_status 1
    own request b/one
    assert_status 3
    assert_error "cannot tell if 'b/one' is free: thread 2: "
    [[ $(jq '.requests | length' "$(git rev-parse --git-dir)/anabranch.json") == 1 ]] || fail "recorded"
    cd ../thread-3
    assert_answer "$PWD/b/one" says "is damaged"
    cd ../thread-2
    own
    assert_status 3
    assert_error "is damaged"
    echo x >a/one
    git add a/one
    ! git commit -q -m outside 2>"$BATS_TEST_TMPDIR/words" || fail "committed"
    grep -q 'is damaged' "$BATS_TEST_TMPDIR/words" || fail "not told why"
    cp "$BATS_TEST_TMPDIR/copy" "$file"
    own
    assert_status 1
}
