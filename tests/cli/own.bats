#!/usr/bin/env bats
# Ownership of threads: what is outside, who gets a path that he asks for, and the hooks that hold
# agents to it. PS-N are defects of parallel-sessions that are not to be here.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run sets output

load helper
load claude_helper

teardown() {
    model_stop
}

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

# --- changes --------------------------------------------------------------------------------

@test "own: a thread that has changed nothing, or only its own, is inside" {
    begin
    own
    assert_status 0
    assert_output "Nothing was changed by thread 1"
    echo x >a/one
    echo x >a/new
    git add a/new
    own
    assert_status 0
    assert_output "All is inside: 2 changed paths of thread 1"
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
    assert_contains "5 of 6 changed paths are outside of what thread 1 may change"
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

@test "own: where a submodule points to, but not what is dirty in it" {
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
    assert_output "Nothing was changed by thread 1"
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
    assert_output "Nothing was changed by thread 1"
}

@test "own: what came from the base branch by a merge or rebase is no change of the thread" {
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

@test "own: what the base branch's upstream has is no change either" {
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
    assert_output "Nothing was changed by thread 1"
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

# --- requests -------------------------------------------------------------------------------

@test "own request: granted at once where nobody claims it, and counts from then on" {
    begin
    cd dir
    own request x ../docs/ 'y*.md' ../a/one
    assert_status 0
    assert_line "dir/x: granted, no other thread claims it: go ahead"
    assert_line "docs: granted, no other thread claims it: go ahead"
    assert_line "a/one: is this thread's already: go ahead"
    cd ..
    mkdir docs
    touch dir/x docs/new dir/yes.md dir/no.md
    verdicts
    assert_output "dir/no.md not-owned,dir/x granted,dir/yes.md granted,docs/new granted"
    cd ../thread-2
    own request docs/new
    assert_status 1
    assert_contains "docs/new: not granted: thread 1 has 'docs'"
    mkdir docs
    touch docs/new
    verdicts
    assert_output "docs/new taken:1"
}

@test "own request: what another thread or the plan has is not granted, and recorded" {
    begin
    own request b/one a/no/x '*/one'
    assert_status 1
    assert_contains "b/one: not granted: thread 2 has 'b'. The request is recorded"
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

@test "own request: what is no path here changes nothing" {
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
    assert_usage_error "request: which path?" own
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
