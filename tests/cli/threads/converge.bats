#!/usr/bin/env bats
# `converge`: the real gh with a forge on the loopback interface, a real origin, and other forges through programs
# that record their arguments. PS-N are defects of parallel-sessions that we must not have.
# shellcheck disable=SC2016 # another shell expands it
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../threads_helper
load ../forge_helper

teardown() {
    touch "$BATS_TEST_TMPDIR/go" # who holds a lock lets go
    end_ours "$BATS_TEST_TMPDIR/pid"
    end_ours "$BATS_TEST_TMPDIR/hook"
    forge_stop
    ssh_origin_stop
}

# Ends a process that a test has left behind, where it failed: by its environment it is known again.
end_ours() { # PIDFILE
    [[ -s $1 ]] || return 0
    grep -sqzx "BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR" "/proc/$(<"$1")/environ" || return 0
    kill -KILL "$(<"$1")" 2>/dev/null || true
}

# A repository with an origin and a forge, and threads in this merge order.
begin() { # ID...
    make_repo
    forge_start
    file_origin
    plan_threads "$@"
    fan_out
}

converge() { # [OPTION...]
    run_apart anabranch converge "$@" 3>&-
    assert_no_sanitizer
}

assert_error() { # TEXT
    [[ $stderr == *"$1"* ]] || fail "not among the errors: $1"
}

heads() { # of the pull requests, in the order in which they were made
    forge_changes PullRequestCreate .headRefName | tr -d '"' | paste -s -d ' '
}

at_origin() { # BRANCH
    git -C "$FORGE/acme/widget.git" rev-parse -q --verify "refs/heads/$1" || echo none
}

state() { # ID FILTER
    jq -r "$2" "$(git -C "$(tree "$1")" rev-parse --git-dir)/anabranch.json"
}

# A program of that name that notes its arguments, a line each, and prints the answer for its
# second word: `list`, `create` ...
stub() { # NAME LIST CREATE
    mkdir -p "$BATS_TEST_TMPDIR/stubs"
    cat >"$BATS_TEST_TMPDIR/stubs/$1" <<END
#!/bin/sh
printf '%s\n' "\$@" '' >>'$BATS_TEST_TMPDIR/args'
case \$2 in
list) printf '%s\n' '$2' ;;
*) printf '%s\n' '$3' ;;
esac
END
    chmod +x "$BATS_TEST_TMPDIR/stubs/$1"
    PATH=$BATS_TEST_TMPDIR/stubs:$PATH
}

change_line_here() { # NUMBER TEXT
    sed -i.old "$1s/.*/$2/" file
    rm file.old
    git commit -q -a -m 'main changes it too'
}

args() {
    cat "$BATS_TEST_TMPDIR/args"
}

# Pull requests

@test "PS-2: pull requests are made in merge order, and none for a thread without commits" {
    begin 3 10 2 1
    for id in 1 2 10; do
        work $id "d$id/file" text
    done
    converge
    assert_status 0
    [[ $(heads) == "$(branch 10) $(branch 2) $(branch 1)" ]] || fail "another order: $(heads)"
    assert_output "$(printf 'thread-%s: pushed, new pull request https://github.com/acme/widget/pull/%s\n' 10 1 2 2 1 3)"
    for id in 1 2 10; do
        [[ $(at_origin "$(branch $id)") == $(git rev-parse "$(branch $id)") ]] || fail "$id is not at origin"
        [[ $(git rev-parse --abbrev-ref "$(branch $id)@{u}") == "origin/$(branch $id)" ]] || fail "$id follows nothing"
    done
    [[ $(at_origin "$(branch 3)") == none ]] || fail "3 has nothing, and was pushed"
}

@test "PS-2: threads that a thread depends on come before it, whatever the merge order" {
    make_repo
    forge_start
    file_origin
    plan_threads 1 2
    add_thread 0 'goal = "First"' 'owns = ["d0"]' 'depends_on = ["2"]' 'merge_order = 0'
    fan_out
    for id in 0 1 2; do
        work $id "d$id/file" text
    done
    converge
    assert_status 0
    [[ $(heads) == "$(branch 2) $(branch 0) $(branch 1)" ]] || fail "another order: $(heads)"
}

@test "a pull request says goal, paths, order, ownership, and whom it follows" {
    make_repo
    forge_start
    file_origin
    echo plan.toml >>.git/info/exclude
    add_thread 1 'goal = "Lay the ground"' 'owns = ["d1"]' 'merge_order = 1' 'enforce = "warn"'
    add_thread 2 'goal = """Say "it" with `code`\nand more"""' 'owns = ["d2/**"]' 'forbids = ["d2/no"]' 'merge_order = 2'
    fan_out
    work 1 d1/file text
    work 1 stray text
    work 2 d2/file text
    converge --draft
    assert_status 0
    assert_error 'thread-1: warning: it changes paths that it does not own: stray (not owned)'
    run forge_changes PullRequestCreate '[.title, .baseRefName, .draft]'
    assert_output '["[thread-1] Lay the ground","main",true]
["[thread-2] Say \"it\" with `code`","main",true]'
    run forge_changes PullRequestCreate .body
    output=$(printf '%s\n' "$output" | jq -r .)
    assert_contains $'## Goal\n\nLay the ground\n'
    assert_contains $'- owns `d1`\n'
    assert_contains $'No other thread must be merged first.\n'
    assert_contains $'**1 changed path is outside of them:**\n\n- `stray`: '
    assert_contains $'Say "it" with `code`\nand more\n'
    assert_contains $'- owns `d2/**`\n- forbids `d2/no`\n'
    assert_contains $'Merge order 2.\n\nMerge after:\n\n- thread 1, https://github.com/acme/widget/pull/1\n'
    assert_contains $'All changes are within these paths.'
    [[ $(state 2 '.pull, .pull_state') == $'https://github.com/acme/widget/pull/2\ndraft' ]] || fail "not recorded"
    run anabranch status
    assert_line 'thread 2: https://github.com/acme/widget/pull/2'
}

@test "PS-8: from a feature branch, threads without work are left alone, and the rest goes to that branch" {
    make_repo
    git branch -q -m trunk
    forge_start
    git branch -q main
    file_origin
    git switch -q -c feature
    git commit -q --allow-empty -m 'of the feature'
    git push -q origin feature trunk
    plan_threads 1 2 3
    fan_out
    work 2 d2/file text
    converge
    assert_status 0
    run forge_changes PullRequestCreate '[.headRefName, .baseRefName]'
    assert_output "[\"$(branch 2)\",\"feature\"]"
    [[ $(at_origin "$(branch 1)") == none ]] || fail "1 was pushed"
    work 3 d3/file text
    converge --base trunk --only 1,3
    assert_status 0
    assert_output 'thread-3: pushed, new pull request https://github.com/acme/widget/pull/2'
    [[ $(at_origin "$(branch 1)") == none ]] || fail "1 was pushed"
}

# Failures

@test "PS-9: uncommitted work is refused with its list, the others continue; --commit commits it" {
    begin 1 2 3
    work 1 d1/file text
    work 2 d2/file text
    echo more >>"$(tree 1)/d1/file"
    echo new >"$(tree 1)/d1/new"
    mkdir "$(tree 3)/d3"
    echo new >"$(tree 3)/d3/only"
    converge
    assert_status 1
    assert_error 'thread-1: refused: it has uncommitted changes: d1/file, d1/new (--commit commits them)'
    assert_error 'thread-3: refused: it has uncommitted changes: d3/only '
    [[ $(heads) == $(branch 2) ]] || fail "others: $(heads)"
    [[ $(at_origin "$(branch 1)") == none ]] || fail "1 was pushed"
    converge --commit
    assert_status 0
    assert_in "$(branch 1)" d1/file $'text\nmore'
    assert_in "$(branch 3)" d3/only new
    [[ $(git log -1 --format=%s "$(branch 3)") == '[thread-3] Goal of 3' ]] || fail "another subject"
    refute_in "$(branch 3)" THREAD_BRIEF.md
    [[ $(at_origin "$(branch 3)") == $(git rev-parse "$(branch 3)") ]] || fail "3 is not at origin"
}

@test "PS-9: a push or a pull request that fails does not stop the rest, and the exit code says so" {
    begin 1 2 3
    for id in 1 2 3; do
        work $id "d$id/file" text
    done
    printf '#!/bin/sh\ntest "$1" != refs/heads/%s || { echo "no such luck" >&2; exit 1; }\n' "$(branch 1)" \
        >"$FORGE/acme/widget.git/hooks/update"
    chmod +x "$FORGE/acme/widget.git/hooks/update"
    forge_refuse "$(branch 2)"
    converge
    assert_status 1
    assert_error 'thread-1: failed: git push: ! [remote rejected]'
    assert_error 'thread-2: failed: gh: '
    assert_output 'thread-3: pushed, new pull request https://github.com/acme/widget/pull/1'
    rm "$FORGE/acme/widget.git/hooks/update" "$FORGE/refuse"
    converge --json
    assert_status 0
    [[ $(jq -c '[.threads[] | [.id, .result]]' <<<"$output") == '[["1","made"],["2","made"],["3","updated"]]' ]] ||
        fail "other results"
}

@test "PS-9: an open pull request is updated, one that was merged is followed by another" {
    begin 1 2
    work 1 d1/file text
    converge
    assert_status 0
    work 1 d1/file again
    converge
    assert_status 0
    assert_output 'thread-1: pushed, pull request updated: https://github.com/acme/widget/pull/1'
    [[ $(forge_changes PullRequestUpdate '.title' | sort -u) == '"[thread-1] Goal of 1"' ]] || fail "not updated"
    [[ $(at_origin "$(branch 1)") == $(git rev-parse "$(branch 1)") ]] || fail "not pushed"
    forge_merge 1
    work 1 d1/file 'and again'
    converge
    assert_output 'thread-1: pushed, new pull request https://github.com/acme/widget/pull/2'
    [[ $(state 1 .pull) == */pull/2 ]] || fail "not recorded"
}

@test "converge never overwrites a branch at origin" {
    begin 1 2
    work 1 d1/file text
    converge
    local there
    there=$(at_origin "$(branch 1)")
    git -C "$(tree 1)" commit -q --no-verify --amend -m 'Another history'
    converge
    assert_status 1
    assert_error 'thread-1: failed: git push: ! [rejected]'
    [[ $(at_origin "$(branch 1)") == "$there" ]] || fail "it was"
}

@test "PS-5: a thread that strayed is refused where the plan says block" {
    begin 1 2
    work 1 d2/mine text
    work 2 d2/file text
    converge
    assert_status 1
    assert_error 'thread-1: refused: it changes paths that it does not own: d2/mine (belongs to thread 2)'
    [[ $(heads) == $(branch 2) ]] || fail "others: $(heads)"
}

@test "--commit is held to the thread's paths as any commit is" {
    begin 1 2
    echo stray >"$(tree 1)/stray"
    mkdir "$(tree 2)/d2"
    echo new >"$(tree 2)/d2/new"
    converge --commit
    assert_status 1
    assert_error 'thread-1: failed: git commit: '
    [[ $(heads) == $(branch 2) ]] || fail "others: $(heads)"
    refute_in "$(branch 1)" stray
}

@test "--commit commits no conflict that nobody has resolved" {
    make_repo
    plan_threads 1 2
    add_thread 3 'goal = "Change it"' 'owns = ["file"]'
    fan_out
    change_line 3 5 fifth
    change_line_here 5 FIVE
    ! git -C "$(tree 3)" merge -q main || fail "there is no conflict"
    for how in --into-base --no-push; do
        converge --commit $how
        assert_status 1
        assert_error 'thread-3: refused: its worktree has an unresolved conflict: file'
    done
    [[ $(git show "$(branch 3):file") != *'<<<'* ]] || fail "it was committed"
    [[ $(git -C "$(tree 3)" status --porcelain) == 'UU file' ]] || fail "it was staged"
}

@test "work that was squashed into the base, here or at origin, is not proposed again" {
    begin 1 2 3
    git branch -q -u origin/main
    work 1 d1/file text
    work 2 d2/file text
    git switch -q -c other
    git merge -q --squash "$(branch 2)"
    git commit -q -m 'squashed there'
    git push -q origin other:main
    git switch -q main
    git merge -q --squash "$(branch 1)"
    git commit -q -m 'squashed here'
    git fetch -q
    converge
    assert_status 0
    assert_error 'nothing to converge'
    [[ -z $(heads) && $(at_origin "$(branch 1)$(branch 2)") == none ]] || fail "made: $(heads)"
    converge --into-base --only 1
    assert_error 'nothing to converge'
    work 1 d1/file more
    converge
    assert_status 0
    [[ $(heads) == "$(branch 1)" ]] || fail "made: $(heads)"
}

@test "a tag that has the name of the branch is not taken for it" {
    begin 1 2
    work 1 d1/file text
    git tag "$(branch 1)" main
    converge
    assert_status 0
    [[ $(at_origin "$(branch 1)") == $(git rev-parse "refs/heads/$(branch 1)") ]] || fail "not pushed"
}

@test "converge does not wait for processes that a hook leaves behind in the background" {
    begin 1 2
    work 1 d1/file text
    printf '#!/bin/sh\nsleep 60 &\necho $! >"%s"\n' "$BATS_TEST_TMPDIR/left" >.git/hooks/pre-push
    chmod +x .git/hooks/pre-push
    converge
    assert_status 0
    assert_output 'thread-1: pushed, new pull request https://github.com/acme/widget/pull/1'
    kill "$(<"$BATS_TEST_TMPDIR/left")" || fail "it was waited for"
}

@test "converge reports impossible requests before it does anything" {
    make_repo
    converge
    assert_status 2
    assert_error "there are no threads here; 'anabranch fanout PLAN' makes them"
    plan_threads 1 2
    fan_out
    work 1 d1/file text
    converge
    assert_status 2
    assert_error "there is no remote 'origin' to push to"
    converge --only 1,7
    assert_status 2
    assert_error "--only: there is no thread '7'"
    converge --into-base --base nowhere
    assert_status 2
    assert_error "--base: there is no branch 'nowhere'"
    converge --into-base --no-push
    assert_usage_error '--no-push and --into-base do not go together' converge
    make_bare
    add_origin "$FORGE/acme/widget.git"
    git config anabranch.forge nonsense
    converge
    assert_status 2
    git config anabranch.forge 'no-such-program {branch}'
    converge
    assert_status 3
    assert_error "'no-such-program', which makes pull requests, is not installed"
    [[ $(at_origin "$(branch 1)") == none ]] || fail "it was pushed"
}

@test "origin by ssh takes the branches" {
    make_repo
    forge_start
    ssh_origin_start
    plan_threads 1 2
    fan_out
    work 2 d2/file text
    converge
    assert_status 0
    assert_output 'thread-2: pushed, new pull request https://github.com/acme/widget/pull/1'
    [[ $(at_origin "$(branch 2)") == $(git rev-parse "$(branch 2)") ]] || fail "not at origin"
    grep -q 'Accepted publickey' "$BATS_TEST_TMPDIR/ssh/log" || fail "by no ssh"
}

# Commands

@test "PS-10: the commands that --no-push prints do the same in any shell, and nothing else, whatever the goal contains" {
    local shell goal='It'\''s "$(touch bad)" `touch bad` $HOME \\ !x ; touch bad & <(x) *'
    make_repo
    make_bare
    add_origin "$FORGE/acme/widget.git"
    echo plan.toml >>.git/info/exclude
    add_thread 1 "goal = '''$goal
second \$(touch bad) line''" "owns = ['d1']" 2>/dev/null
    sed -i.old "s/line''/line'''/" plan.toml
    fan_out
    work 1 d1/file text
    stub gh '[]' https://example.com/1
    converge --no-push
    assert_status 0
    [[ $(at_origin "$(branch 1)") == none && ! -e $BATS_TEST_TMPDIR/args ]] || fail "it was done"
    local printed=$output
    for shell in sh dash 'bash --posix' bash zsh; do
        command -v "${shell%% *}" >/dev/null || continue
        git push -q origin ":$(branch 1)" 2>/dev/null || true
        rm -f "$BATS_TEST_TMPDIR/args"
        run $shell <<<"$printed"
        assert_status 0
        [[ -z $(find "$BATS_TEST_TMPDIR" -name bad) ]] || fail "$shell ran what is in the goal"
        [[ $(at_origin "$(branch 1)") == $(git rev-parse "$(branch 1)") ]] || fail "$shell did not push"
        run args
        assert_line "[thread-1] $goal"
        assert_line 'second $(touch bad) line'
        [[ $(sed -n '4p' <<<"$output") == "$(branch 1)" ]] || fail "another branch"
    done
}

@test "PS-10: no control character of a goal reaches a terminal that it is pasted into" {
    make_repo
    plan_threads 1
    add_thread 2 'goal = "tab\there \u001b[201~ \u0003 bidi \u202e"' 'owns = ["d2"]'
    fan_out
    work 2 d2/file text
    converge --no-push
    assert_status 0
    [[ -z $(tr -d '\n -~' <<<"$output") ]] || fail "there are others"
    assert_contains 'tab    here \e[201~ \x03 bidi \u{202E}'
}

@test "--no-push --commit prints the commit too" {
    make_threads 1 2
    make_bare
    add_origin "$FORGE/acme/widget.git"
    mkdir "$(tree 1)/d1"
    echo new >"$(tree 1)/d1/a b"
    stub gh '[]' https://example.com/1
    converge --no-push
    assert_status 1
    converge --no-push --commit
    assert_status 0
    [[ -n $(git -C "$(tree 1)" status --porcelain) ]] || fail "it was done"
    run sh <<<"$output"
    assert_status 0
    assert_in "$(branch 1)" 'd1/a b' new
    [[ $(at_origin "$(branch 1)") == $(git rev-parse "$(branch 1)") ]] || fail "not pushed"
}

@test "PS-9: of the commands that --no-push prints, none is run after one of its thread that failed" {
    make_threads 1 2 3
    make_bare
    add_origin "$FORGE/acme/widget.git"
    work 1 d1/file text
    work 2 d2/file text
    echo new >"$(tree 1)/d1/new"
    printf '#!/bin/sh\ntest ! -e d1\n' >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    stub gh '[]' https://example.com/1
    converge --no-push --commit
    assert_status 0
    run sh <<<"$output"
    [[ $(at_origin "$(branch 1)") == none ]] || fail "half of thread 1 was pushed"
    [[ $(at_origin "$(branch 2)") != none ]] || fail "thread 2 was not pushed"
    [[ $(args | grep -c '^create$') -eq 1 ]] || fail "$(args)"
}

# Other forges

begin_other() { # FORGE
    make_repo
    make_bare
    add_origin "$FORGE/acme/widget.git"
    git config anabranch.forge "$1"
    plan_threads 1 2
    fan_out
    work 1 d1/file text
}

@test "a pull request from a fork's branch of the same name is left alone" {
    begin_other gh
    stub gh '[{"number": 5, "url": "https://example.com/5", "isCrossRepository": true}]' https://example.com/6
    converge
    assert_status 0
    assert_output 'thread-1: pushed, new pull request https://example.com/6'
    ! args | grep -q '^edit$' || fail "$(args)"
}

@test "glab makes and updates merge requests" {
    begin_other glab
    stub glab '[]' 'https://gitlab.example/x/-/merge_requests/4'
    converge --draft
    assert_status 0
    assert_output 'thread-1: pushed, new pull request https://gitlab.example/x/-/merge_requests/4'
    [[ $(args | sed -n '/^create$/,/^--description$/p' | paste -s -d ' ') == \
        "create --source-branch $(branch 1) --target-branch main --title [thread-1] Goal of 1 --description" ]] ||
        fail "$(args)"
    [[ $(args | tail -n 3 | paste -s -d ' ') == '--yes --draft ' ]] || fail "$(args)"
    stub glab '[{"iid": 4, "web_url": "https://gitlab.example/x/-/merge_requests/4"}]' ''
    converge
    assert_status 0
    assert_output 'thread-1: pushed, pull request updated: https://gitlab.example/x/-/merge_requests/4'
    [[ $(args | sed -n '/^update$/,/^--description$/p' | paste -s -d ' ') == \
        'update 4 --title [thread-1] Goal of 1 --description' ]] || fail "$(args)"
}

# As begin_other; git finds the origin of that address on the disk.
begin_tea() { # [ADDRESS]
    begin_other tea
    git remote set-url origin "${1:-https://gitea.example:3000/acme/widget.git}"
    git config "url.$FORGE/acme/widget.git.insteadOf" "${1:-https://gitea.example:3000/acme/widget.git}"
}

# As stub; it has these logins, and notes where it was called from.
stub_tea() { # LOGINS LIST CREATE
    stub tea-stub "$2" "$3"
    echo "$1" >"$BATS_TEST_TMPDIR/logins"
    printf '%s\n' '#!/bin/sh' "pwd >>'$BATS_TEST_TMPDIR/places'" \
        "[ \"\$1\" != login ] || exec cat '$BATS_TEST_TMPDIR/logins'" 'exec tea-stub "$@"' >"$BATS_TEST_TMPDIR/stubs/tea"
    chmod +x "$BATS_TEST_TMPDIR/stubs/tea"
}

LOGINS='[{"name":"other","url":"https://codeberg.org","ssh_host":"codeberg.org","user":"me","default":"true"},
{"name":"here","url":"https://gitea.example:3000","ssh_host":"git.example","user":"me","default":"false"}]'

@test "tea makes and updates pull requests from outside of the repository, and only those of the branch" {
    begin_tea
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    mkdir "$TMPDIR"
    stub_tea "$LOGINS" '[{"index": "7", "head": "other", "url": "https://gitea.example/pulls/7"}]' \
        '  # 8 Goal of 1 (open)  https://gitea.example/pulls/8 '
    converge --draft
    assert_status 0
    assert_output 'thread-1: pushed, new pull request https://gitea.example/pulls/8'
    [[ $(args | sed -n '/^create$/,/^--description$/p' | paste -s -d ' ') == \
        "create --head $(branch 1) --base main --title WIP: [thread-1] Goal of 1 --description" ]] || fail "$(args)"
    [[ $(args | tail -n 5 | paste -s -d ' ') == '--login here --repo acme/widget ' ]] || fail "$(args)"
    ! grep -F "$PWD" "$BATS_TEST_TMPDIR/places" || fail "in the repository, where tea wants a person"
    stub_tea "$LOGINS" "[{\"index\": \"8\", \"head\": \"$(branch 1)\", \"url\": \"https://gitea.example/pulls/8\"}]" ''
    converge
    assert_output 'thread-1: pushed, pull request updated: https://gitea.example/pulls/8'
    # a pull request is an issue, and tea has no other way to change one
    [[ $(args | sed -n '/^edit$/,/^--description$/p' | paste -s -d ' ') == \
        'edit 8 --title [thread-1] Goal of 1 --description' ]] || fail "$(args)"
    [[ $(args | tail -n 5 | paste -s -d ' ') == '--login here --repo acme/widget ' ]] || fail "$(args)"
    [[ -z $(find "$TMPDIR" -name 'anabranch*') ]] || fail "left: $(ls -A "$TMPDIR")"
    converge --no-push
    assert_contains "(cd / && tea issues edit 8 "
    assert_contains "--login here --repo acme/widget)"
}

@test "tea's login is that of the remote's host, or as git's configuration says; without one nothing is pushed" {
    begin_tea git@git.example:acme/widget.git
    stub_tea "$LOGINS" '[]' 'https://gitea.example/pulls/1'
    converge
    assert_status 0
    args | grep -qx here || fail "$(args)"
    git config anabranch.forgeLogin mine
    converge
    args | grep -qx mine || fail "$(args)"
    git config --unset anabranch.forgeLogin
    work 2 d2/file text
    stub_tea '[]' '[]' ''
    converge
    assert_status 3
    assert_error "tea has no login for 'git.example'"
    [[ $(at_origin "$(branch 2)") == none ]] || fail "pushed"
}

@test "a command of the user's gets the words it asks for, and knows the pull request again" {
    begin_other 'mine new --from={branch} {base} {title} {body-file} {other}'
    mkdir "$BATS_TEST_TMPDIR/stubs"
    printf '%s\n' '#!/bin/sh' "printf '%s\n' \"\$@\" >'$BATS_TEST_TMPDIR/args'" \
        "test \"\$1\" != new || cp \"\$5\" '$BATS_TEST_TMPDIR/body'" 'echo "made it: #9"' >"$BATS_TEST_TMPDIR/stubs/mine"
    chmod +x "$BATS_TEST_TMPDIR/stubs/mine"
    PATH=$BATS_TEST_TMPDIR/stubs:$PATH
    converge
    assert_status 0
    assert_output 'thread-1: pushed, new pull request made it: #9'
    [[ $(args | sed 5d) == "$(printf '%s\n' new "--from=$(branch 1)" main '[thread-1] Goal of 1' '{other}')" ]] ||
        fail "$(args)"
    grep -q '^## Goal' "$BATS_TEST_TMPDIR/body" || fail "no body"
    [[ -z $(find .git -name 'anabranch-pull*') ]] || fail "the body is left"
    converge
    assert_output 'thread-1: pushed, pull request updated: made it: #9'
    git config anabranch.forgeUpdate 'mine again {pull} {title}'
    converge
    [[ $(args) == $'again\nmade it: #9\n[thread-1] Goal of 1' ]] || fail "$(args)"
}

# Without a forge

@test "--into-base lands in order, and the checkout follows" {
    make_threads 3 10 2
    for id in 2 3 10; do
        work $id "d$id/file" text
    done
    converge --into-base
    assert_status 0
    [[ $(git log --first-parent --format=%s -3) == "$(printf 'Merge [thread-%s] Goal of %s\n' 2 2 10 10 3 3)" ]] ||
        fail "$(git log --first-parent --format=%s)"
    [[ -e d10/file && $(git log -1 --format=%B) == *"Anabranch-Thread: 2"* ]] || fail "not in the checkout"
    assert_unchanged_checkout
    converge --into-base
    assert_status 0
    assert_error 'nothing to converge'
}

@test "--into-base leaves a conflict for a person, and lands the others" {
    make_repo
    plan_threads 1 2 3
    add_thread 4 'goal = "After 2"' 'owns = ["d4"]' 'depends_on = ["2"]'
    printf 'enforce = "warn"\n%s' "$(<plan.toml)" >plan.toml
    fan_out
    change_line 1 5 fifth
    change_line 2 5 FIFTH
    work 3 d3/file text
    work 4 d4/file text
    converge --into-base
    assert_status 4
    assert_error 'thread-2: conflict: it conflicts in file (lines 5-9)'
    assert_error 'thread-4: refused: it depends on thread 2, which did not land'
    assert_contains 'thread-1: landed as '
    assert_contains 'thread-3: landed as '
    [[ $(sed -n 5p file) == fifth && -e d3/file && ! -e d4 ]] || fail "other files"
    assert_unchanged_checkout
}

@test "--into-base touches no file that the user has changed, and then nothing has landed" {
    make_threads 1 2
    git config core.fileMode false
    work 1 d1/file text
    work 2 dir/inner theirs
    sed -i.old 's/"block"/"warn"/' "$(git -C "$(tree 2)" rev-parse --git-dir)/anabranch.json"
    local before
    before=$(git rev-parse main)
    echo mine >dir/inner
    converge --into-base
    assert_status 1
    assert_error 'thread-2: failed: the checkout of main could not follow: '
    assert_error 'dir/inner'
    [[ $(git rev-parse main) == "$before" && $(<dir/inner) == mine && ! -e d1 ]] || fail "something was changed"
}

@test "--into-base leaves a branch alone that the user rebases" {
    make_threads 1 2
    git branch -q next
    echo other >other
    git add other
    git commit -qm other
    work 1 d1/file text
    git worktree add -q ../next next
    GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git -C ../next rebase -q -i main
    local before
    before=$(git rev-parse next)
    converge --into-base --base next
    assert_status 1
    assert_error "thread-1: failed: the checkout of next could not follow: a rebase of 'next' is in progress"
    [[ $(git rev-parse next) == "$before" ]] || fail 'it was moved'
}

@test "--into-base moves a branch that is checked out nowhere" {
    make_threads 1 2
    git branch -q next
    work 1 d1/file text
    converge --into-base --base next
    assert_status 0
    assert_in next d1/file text
    refute_in main d1/file
    assert_unchanged_checkout
}

@test "--into-base: a base that is gone is the failure of its threads, and the others land" {
    make_repo
    git switch -q -c feature
    plan_threads 1 2
    fan_out
    git switch -q main
    add_thread 3 'goal = "On main"' 'owns = ["d3"]'
    fan_out
    work 1 d1/file text
    work 3 d3/file text
    git branch -q -D feature
    converge --into-base
    assert_status 1
    assert_error "thread-1: failed: 'refs/heads/feature' is not"
    assert_contains 'thread-3: landed as '
    assert_in main d3/file text
}

@test "--into-base: if someone moves the base meanwhile, all is merged again on top of that" {
    make_repo
    plan_threads 1 2
    add_thread 3 'goal = "After 2"' 'owns = ["d3"]' 'depends_on = ["2"]'
    printf 'enforce = "warn"\n%s' "$(<plan.toml)" >plan.toml
    fan_out
    work 1 d1/file text
    change_line 2 5 fifth
    work 3 d3/file text
    change_line_here 5 FIVE
    # Somebody pushes a commit that removes the conflict of 2, so that 3 can follow.
    wrap_git 'if [[ $sub == merge-tree && ! -e $dir/half ]]; then' '    touch "$dir/half"' \
        '    (cd "$GIT_WORK_TREE" && unset GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE &&' \
        '        "$git" revert -n HEAD && "$git" commit -q -m "by someone else") </dev/null >/dev/null 2>&1' 'fi'
    converge --into-base
    real_git
    [[ -e $BATS_TEST_TMPDIR/half ]] || fail "nobody moved it"
    assert_status 0
    [[ $(git log --first-parent --format=%s -4) == *$'Merge [thread-1] Goal of 1\nby someone else' ]] ||
        fail "$(git log --first-parent --format=%s)"
    assert_contains 'thread-3: landed as '
    [[ $(sed -n 5p file) == fifth && -e d3/file ]] || fail "other files"
    assert_unchanged_checkout
}

# converge has merged, so that it is about to lock the index.
waits_for_lock() {
    git cat-file --batch-all-objects --batch-check | grep -q commit &&
        [[ $(git rev-list --all --count) -lt $(git cat-file --batch-all-objects --batch-check | grep -c commit) ]]
}

@test "--into-base: nobody else changes the checkout while it moves, and an index that is locked is waited for" {
    make_threads 1
    git branch side
    work 1 d1/file text
    # shellcheck disable=SC2016
    wrap_git 'if [[ $sub == merge ]]; then' \
        '    (cd "$GIT_WORK_TREE" && unset GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE && "$git" switch side) >"$dir/said" 2>&1' \
        '    cp "$GIT_WORK_TREE/.git/gc.pid" "$dir"' 'fi'
    touch .git/index.lock
    (
        wait_for waits_for_lock
        rm .git/index.lock
    ) 3>&- &
    converge --into-base
    real_git
    wait
    assert_status 0
    grep -q 'index.lock.*File exists' "$BATS_TEST_TMPDIR/said" || fail "they switched: $(<"$BATS_TEST_TMPDIR/said")"
    assert_in main d1/file text
    [[ $(<"$BATS_TEST_TMPDIR/gc.pid") == *anabranch ]] || fail 'a gc could begin'
    [[ -z $(find .git -name '*.lock' -o -name forward -o -name gc.pid) ]] || fail 'something is left'
    assert_unchanged_checkout
}

@test "--into-base: a checkout whose user makes a branch there while it moves stays as it was" {
    local before when
    # shellcheck disable=SC2016 # the wrapper expands it
    for when in '$sub == merge' '$sub == update-ref && $* == *refs/heads/main*'; do
        rm -rf "$BATS_TEST_TMPDIR/own" && mkdir "$BATS_TEST_TMPDIR/own" && cd "$BATS_TEST_TMPDIR/own"
        make_threads 1
        work 1 d1/file text
        before=$(git rev-parse main)
        wrap_git "if [[ $when && ! -e \$dir/left ]]; then" "    (cd '$PWD'" \
            '    unset GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE' \
            '    "$git" switch -q -c own && touch "$dir/left")' 'fi'
        converge --into-base
        real_git
        assert_status 0
        [[ -e $BATS_TEST_TMPDIR/left ]] || fail 'the user made no branch'
        assert_in main d1/file text
        [[ $(git rev-parse own) == "$before" && $(<.git/HEAD) == 'ref: refs/heads/own' ]] || fail 'the branch of the user has moved'
        assert_unchanged_checkout
        [[ ! -e .git/index.lock && ! -e .git/anabranch/forwarding ]] || fail 'a lock or a note is left'
        rm "$BATS_TEST_TMPDIR/left"
    done
}

@test "--into-base: nothing lands under a git that switches to the base, and the message names that git" {
    local when
    for when in smudge post-index-change; do
        rm -rf "$BATS_TEST_TMPDIR/own" && mkdir "$BATS_TEST_TMPDIR/own" && cd "$BATS_TEST_TMPDIR/own"
        make_threads 1
        work 1 d1/file text
        git switch -q -c side
        echo side >file
        git commit -qam side
        printf '#!/bin/sh\ntest "$PERSON" != "${0##*/}" || { touch "%s/held"; until test -e "%s/go"; do sleep 0.02; done; }\n' \
            "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR" >.git/hooks/post-index-change
        { cat .git/hooks/post-index-change && echo cat; } >"$BATS_TEST_TMPDIR/smudge"
        chmod +x .git/hooks/post-index-change "$BATS_TEST_TMPDIR/smudge"
        git config filter.slow.smudge "$BATS_TEST_TMPDIR/smudge"
        echo 'file filter=slow' >.git/info/attributes
        PERSON=$when git switch -q main 3>&- &
        wait_for test -e "$BATS_TEST_TMPDIR/held"
        ANABRANCH_PATIENCE=200ms converge --into-base
        touch "$BATS_TEST_TMPDIR/go"
        wait
        assert_status 1
        [[ $stderr == *"a 'git switch' that uses 'main' has not ended"* ]] || fail 'it does not name the git'
        refute_in main d1/file
        assert_unchanged_checkout
        converge --into-base
        assert_status 0
        assert_in main d1/file text
        assert_unchanged_checkout
        rm "$BATS_TEST_TMPDIR/go" "$BATS_TEST_TMPDIR/held"
    done
}

@test "--into-base: the lock that its git left when it was killed goes, also when both were" {
    make_threads 1 2
    work 1 d1/file text
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' '    touch "$dir/half" "$GIT_DIR/index.lock"' \
        '    kill -KILL $$' 'fi'
    converge --into-base
    real_git
    [[ -e $BATS_TEST_TMPDIR/half ]] || fail "it was not killed"
    assert_status 0
    assert_in main d1/file text
    work 2 d2/file text
    wrap_git 'if [[ $sub == merge ]]; then' '    touch "$GIT_DIR/index.lock"' '    kill -KILL $PPID $$' 'fi'
    converge --into-base
    real_git
    [[ -e .git/index.lock ]] || fail "nothing was left"
    converge --into-base
    assert_status 0
    assert_in main d2/file text
    [[ ! -e .git/index.lock ]] || fail "the lock is still there"
    [[ ! -s .git/anabranch/turn ]] || fail "the mark is still there"
    assert_unchanged_checkout
}

# Thread 1 adds files, of which one is filtered; when git writes that one, it and all above it up to
# anabranch are killed.
killed_half_way() {
    make_repo
    printf '*.slow filter=slow\n' >.gitattributes
    mkdir d1
    echo old >d1/aa
    git add .gitattributes d1
    git commit -q -m attributes
    plan_threads 1 2
    fan_out
    cat >"$BATS_TEST_TMPDIR/smudge" <<'END'
#!/bin/bash
if [[ -e ${0%/*}/armed ]]; then
    rm "${0%/*}/armed"
    pid=$PPID all=()
    while all+=("$pid") && [[ $(ps -o comm= -p "$pid") != anabranch ]]; do
        pid=$(ps -o ppid= -p "$pid" | tr -d ' ')
    done
    kill -KILL "${all[@]}"
fi
cat
END
    chmod +x "$BATS_TEST_TMPDIR/smudge"
    git config filter.slow.smudge "$BATS_TEST_TMPDIR/smudge"
    git config filter.slow.clean cat
    cp .git/config "$BATS_TEST_TMPDIR/config"
    seq 9 >"$(tree 1)/d1/b.slow"
    seq 9 >"$(tree 1)/d1/c"
    echo new >"$(tree 1)/d1/aa"
    work 1 d1/a text
    before=$(git rev-parse main)
    touch "$BATS_TEST_TMPDIR/armed"
    converge --into-base
    assert_status 137
    [[ $(git rev-parse main) == "$before" && -e d1/a && ! -e d1/c ]] || fail "it was not killed half-way"
}

@test "--into-base: killed with kill -9 half-way, the next one finishes it" {
    killed_half_way
    work 2 d2/file text
    converge --into-base
    assert_status 0
    assert_contains "thread-1: landed as "
    assert_contains "thread-2: landed as "
    [[ $(<d1/aa) == new && $(<d1/a) == text && $(wc -l <d1/b.slow) -eq 9 && -e d1/c && -e d2/file ]] ||
        fail "not all is there"
    [[ -z $(find .git -name '*.lock' -o -name forwarding -o -name adopt.index) ]] || fail "something is left"
    assert_unchanged_checkout
}

@test "--into-base: killed half-way, and the next to move the base is a run" {
    killed_half_way
    begin_plan
    add_task t 'engine: sim' -- 'write new text'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 0
    [[ -e new && -e d1/c && $(<d1/aa) == new ]] || fail "not all is there"
    git merge-base --is-ancestor "$(branch 1)" main || fail "it has not landed"
    [[ -z $(git status --porcelain --untracked-files=no) ]] || fail "$(git status --porcelain)"
}

@test "--into-base: killed half-way, and thrown away by the user, it does not come back" {
    killed_half_way
    rm -f .git/index.lock
    git reset -q --hard
    git clean -q -f -d d1
    begin_plan
    add_task t 'engine: sim' -- 'write new text'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 0
    [[ -e new && ! -e d1/a && $(<d1/aa) == old ]] || fail "it came back"
    ! git merge-base --is-ancestor "$(branch 1)" main || fail "it has landed"
}

# Threads that come first

@test "converge --only: says what it is to be merged after, here and in the pull request" {
    make_repo
    forge_start
    file_origin
    plan_threads 1 2 3
    add_thread 4 'goal = "After 1"' 'owns = ["d4"]' 'depends_on = ["1"]'
    fan_out
    for id in 1 2 4; do
        work $id "d$id/file" text
    done
    converge --only 2
    assert_status 0
    assert_error "thread-2: warning: it must be merged after thread 1, which was left out and is not merged"
    [[ $(forge_changes PullRequestCreate .body) == *'- thread 1, which is not merged and has no pull request yet'* ]] ||
        fail "$(forge_changes PullRequestCreate .body)"
    git merge -q "$(branch 1)"
    converge --only 2,4
    assert_status 0
    [[ -z $stderr ]] || fail "1 is merged, and still told: $stderr"
    [[ $(forge_changes PullRequestUpdate .body) != *'not merged'* ]] || fail "it is still in the pull request"
}

@test "converge --into-base --only: refused without what it depends on, warned of the order" {
    make_repo
    plan_threads 1 2
    add_thread 4 'goal = "After 1"' 'owns = ["d4"]' 'depends_on = ["1"]'
    fan_out
    for id in 1 2 4; do
        work $id "d$id/file" text
    done
    converge --into-base --only 2,4
    assert_status 1
    assert_error "thread-4: refused: it depends on thread 1, which was left out and may not be merged yet"
    assert_error "thread-2: warning: it must be merged after thread 1, which was left out and is not merged"
    assert_contains "thread-2: landed as "
    [[ ! -e d4 && -e d2/file ]] || fail "others have landed"
    converge --into-base --only 1,4
    assert_status 0
    [[ -e d4/file ]] || fail "it has not landed"
}

@test "converge --into-base: threads that depend on a damaged thread are refused" {
    make_repo
    plan_threads 1
    add_thread 4 'goal = "After 1"' 'owns = ["d4"]' 'depends_on = ["1"]'
    fan_out
    work 4 d4/file text
    echo '{' >.git/worktrees/worktrees-thread-1/anabranch.json
    converge --into-base --only 4
    assert_status 1
    assert_error "thread-4: refused: it depends on thread 1, which"
}

# Damaged threads

@test "converge: a thread whose file is damaged is left alone and told, the others continue" {
    begin 1 2 3
    for id in 1 2 3; do
        work $id "d$id/file" text
    done
    echo '{' >.git/worktrees/worktrees-thread-2/anabranch.json
    converge
    assert_status 1
    assert_error "thread-2: left alone: "
    assert_error "anabranch.json' is damaged"
    [[ $(heads) == "$(branch 1) $(branch 3)" ]] || fail "others: $(heads)"
    [[ $(at_origin "$(branch 2)") == none ]] || fail "2 was pushed"
    converge --json
    assert_status 1
    [[ $(jq -r '.threads | map("\(.id) \(.result)") | join(",")' <<<"$output") == "1 updated,3 updated,2 damaged" ]] ||
        fail "results"
    converge --only 1
    assert_status 0
    [[ -z $stderr ]] || fail "2 was not asked for"
    converge --only 2
    assert_status 1
    assert_error "thread-2: left alone: "
    assert_output ""
}

# Signals

# A pre-push hook that says who it is and then does not end, whatever it is asked.
hang_at_push() {
    printf '#!/bin/sh\ntrap "" TERM\necho $$ >"%s/hook"\nwhile :; do sleep 0.1; done\n' "$BATS_TEST_TMPDIR" \
        >.git/hooks/pre-push
    chmod +x .git/hooks/pre-push
}

# A gh that does so when a pull request is to be made.
hang_at_gh() {
    mkdir "$BATS_TEST_TMPDIR/stubs"
    printf '#!/bin/sh\ncase $2 in\nlist) echo "[]" ;;\n*) echo $$ >"%s/hook"; exec sleep 1000 ;;\nesac\n' \
        "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/stubs/gh"
    chmod +x "$BATS_TEST_TMPDIR/stubs/gh"
    PATH=$BATS_TEST_TMPDIR/stubs:$PATH
}

# Starts it, and when it hangs sends the signal; what it says is in out and errors.
stop_by() { # SIGNAL [OPTION...]
    rm -f "$BATS_TEST_TMPDIR/hook"
    "$ANABRANCH" converge "${@:2}" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    local pid=$!
    echo "$pid" >"$BATS_TEST_TMPDIR/pid"
    wait_for test -s "$BATS_TEST_TMPDIR/hook"
    kill "-$1" "$pid"
    status=0
    wait "$pid" || status=$?
    output=$(<"$BATS_TEST_TMPDIR/out")
    stderr=$(<"$BATS_TEST_TMPDIR/errors")
    assert_no_sanitizer
    is_gone "$(<"$BATS_TEST_TMPDIR/hook")" || fail "it is still running"
}

@test "converge: Ctrl-C while it pushes ends git and its hook, and says what was not done" {
    begin 1 2
    work 1 d1/file text
    work 2 d2/file text
    hang_at_push
    stop_by INT
    assert_status 130
    assert_error "thread-1: stopped: it may or may not have reached 'origin'"
    assert_error "thread-2: stopped: neither pushed nor merged"
    rm .git/hooks/pre-push
    converge
    assert_status 0
    [[ $(heads) == "$(branch 1) $(branch 2)" ]] || fail "others: $(heads)"
}

@test "converge: SIGTERM while gh is at work ends it, and says that the branch is pushed" {
    begin 1 2
    work 1 d1/file text
    work 2 d2/file text
    local path=$PATH
    hang_at_gh
    stop_by TERM --json
    assert_status 143
    [[ $(jq -r '.threads | map(.result) | join(" ")' <<<"$output") == "stopped stopped" ]] || fail "results"
    [[ $(jq -r '.threads[0].reason' <<<"$output") == "it was pushed, but"* ]] || fail "not told"
    [[ $(at_origin "$(branch 1)") == $(git rev-parse "$(branch 1)") ]] || fail "it is not pushed"
    [[ $(at_origin "$(branch 2)") == none ]] || fail "2 was pushed"
    PATH=$path
    converge
    assert_status 0
}

@test "converge --commit: Ctrl-C in a commit leaves neither lock nor commit, and nothing is pushed" {
    begin 1 2
    for id in 1 2; do
        mkdir "$(tree $id)/d$id"
        echo text >"$(tree $id)/d$id/file"
    done
    hang_at_push
    mv .git/hooks/pre-push .git/hooks/pre-commit
    stop_by INT --commit
    assert_status 130
    assert_error "thread-1: stopped: its work is not committed yet"
    assert_error "thread-2: stopped: neither pushed nor merged"
    [[ -z $(find .git -name '*.lock') ]] || fail "locks: $(find .git -name '*.lock')"
    [[ $(git rev-parse "$(branch 1)") == "$(git rev-parse main)" ]] || fail "committed"
    rm .git/hooks/pre-commit
    converge --commit
    assert_status 0
}

# Locks

# Someone has the lock until the file `go` is there.
hold() { # LOCK
    mkdir -p "$(dirname "$1")"
    # shellcheck disable=SC2016 # for the other shell
    flock "$1" sh -c 'touch "$0/held"; until test -e "$0/go"; do sleep 0.02; done' "$BATS_TEST_TMPDIR" 3>&- &
    wait_for test -e "$BATS_TEST_TMPDIR/held"
}

says_waiting() {
    grep -q "waiting for another" "$BATS_TEST_TMPDIR/errors"
}

@test "--into-base: says that it waits for its turn, and Ctrl-C ends that" {
    make_threads 1
    work 1 d1/file text
    hold .git/anabranch/turn
    "$ANABRANCH" converge --into-base >/dev/null 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    local pid=$!
    echo "$pid" >"$BATS_TEST_TMPDIR/pid"
    wait_for says_waiting
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    assert_status 130
    [[ ! -e d1 ]] || fail "it has landed"
    "$ANABRANCH" converge --into-base >/dev/null 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    pid=$!
    echo "$pid" >"$BATS_TEST_TMPDIR/pid"
    wait_for says_waiting
    touch "$BATS_TEST_TMPDIR/go"
    status=0
    wait "$pid" || status=$?
    assert_status 0
    [[ $(grep -c waiting "$BATS_TEST_TMPDIR/errors") == 1 ]] || fail "told more than once"
    [[ -e d1/file ]] || fail "it has not landed"
}

@test "cleanup and fanout say that they wait for each other" {
    make_threads 1
    hold .git/anabranch/fanout
    "$ANABRANCH" cleanup >/dev/null 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    local pid=$!
    echo "$pid" >"$BATS_TEST_TMPDIR/pid"
    wait_for says_waiting
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    assert_status 143
    add_thread 2 'goal = "Two"' 'owns = ["d2"]'
    "$ANABRANCH" fanout plan.toml >/dev/null 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    pid=$!
    echo "$pid" >"$BATS_TEST_TMPDIR/pid"
    wait_for says_waiting
    touch "$BATS_TEST_TMPDIR/go"
    wait "$pid" || fail "no fanout"
    [[ -e $(tree 2) ]] || fail "no thread"
}

# Forks

# origin is me/widget, a fork of acme/widget, which is the remote `upstream`.
fork_origin() {
    git init -q --bare -b main "$FORGE/me/widget.git"
    git init -q --bare -b main "$FORGE/acme/widget.git"
    git push -q "$FORGE/me/widget.git" main
    git push -q "$FORGE/acme/widget.git" main
    git remote add upstream https://github.com/acme/widget.git
    git remote add origin git@github.com:me/widget.git
    git config remote.origin.pushurl "$FORGE/me/widget.git"
    cp .git/config "$BATS_TEST_TMPDIR/config"
}

@test "converge --upstream: from the fork that is pushed to, to the repository that is named" {
    make_repo
    forge_start
    fork_origin
    plan_threads 1 2
    fan_out
    work 1 d1/file text
    work 2 d2/file text
    converge --upstream upstream
    assert_status 0
    assert_output "$(printf 'thread-%s: pushed, new pull request https://github.com/acme/widget/pull/%s\n' 1 1 2 2)"
    [[ $(heads) == "me:$(branch 1) me:$(branch 2)" ]] || fail "others: $(heads)"
    [[ $(git -C "$FORGE/me/widget.git" rev-parse "$(branch 1)") == $(git rev-parse "$(branch 1)") ]] || fail "not in the fork"
    [[ $(at_origin "$(branch 1)") == none ]] || fail "pushed to the other one"
    work 1 d1/file more
    converge --upstream upstream
    assert_status 0
    assert_contains "thread-1: pushed, pull request updated: https://github.com/acme/widget/pull/1"
    [[ $(forge_operations | grep -c PullRequestCreate) == 2 ]] || fail "made again"
    converge --upstream upstream --no-push --only 2
    assert_contains "gh pr edit https://github.com/acme/widget/pull/2"
}

@test "cleanup: a pull request from a fork that was merged is known by its address" {
    make_repo
    forge_start
    fork_origin
    plan_threads 1 2
    fan_out
    work 1 d1/file text
    work 2 d2/file text
    converge --upstream upstream
    assert_status 0
    forge_merge 1
    run_apart anabranch cleanup 3>&-
    assert_status 0
    assert_no_sanitizer
    assert_line "removed  thread-1: its pull request was merged"
    assert_contains "thread-2: its commits are not in main; its pull request is open"
}

@test "converge --upstream --no-push: the printed commands name both" {
    make_repo
    forge_start
    fork_origin
    plan_threads 1
    fan_out
    work 1 d1/file text
    converge --upstream upstream --no-push
    assert_status 0
    assert_contains "--head me:$(branch 1) "
    assert_contains "--repo github.com/acme/widget"
    sh -e <<<"$output" || fail "they do not work"
    [[ $(heads) == "me:$(branch 1)" ]] || fail "others: $(heads)"
}

@test "converge --upstream: a remote that is none, or whose address names no repository, is refused" {
    make_repo
    forge_start
    fork_origin
    plan_threads 1
    fan_out
    work 1 d1/file text
    converge --upstream nowhere
    assert_status 2
    assert_error "--upstream: there is no remote 'nowhere'"
    git remote add disk "$FORGE/acme/widget.git"
    converge --upstream disk
    assert_status 2
    assert_error "the address of the remote 'disk' names no owner and repository"
    converge --upstream upstream --into-base
    assert_status 2
    git config anabranch.forge tea
    converge --upstream upstream
    assert_status 2
    assert_error "--upstream works only with gh"
    [[ $(git -C "$FORGE/me/widget.git" for-each-ref refs/heads/parallel) == "" ]] || fail "pushed"
}
