#!/usr/bin/env bats
# cleanup removes threads whose work is merged, in any way, and no others. PS-N are defects of
# parallel-sessions that we must not have.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016,SC2154 # lines of shell are for another one; run_apart sets stderr

load ../helper
load ../forge_helper

teardown() {
    [[ ! -e $BATS_TEST_TMPDIR/agent.pid ]] || kill "$(<"$BATS_TEST_TMPDIR/agent.pid")" 2>/dev/null || true
    forge_stop
}

# A repository with threads 1 to N that own the folders d1 to dN.
begin() { # N
    make_repo
    plan "$1"
    note
    anabranch fanout plan.toml >/dev/null
}

plan() { # N
    local i
    echo plan.toml >.git/info/exclude
    for ((i = 1; i <= $1; i++)); do
        printf '[[threads]]\nid = %d\nbranch = "part%d"\ngoal = "Part %d"\nowns = ["d%d"]\n' \
            "$i" "$i" "$i" "$i"
    done >plan.toml
}

# All that fanout and cleanup together must leave as it was.
look() {
    find . -path ./.git/objects -prune -o -path ./.git/logs -prune -o -name index -prune -o -print | sort
    git for-each-ref
    git config --list --local
    cat .git/config .git/info/exclude
    git status --porcelain --ignored
}

note() {
    look >"$BATS_TEST_TMPDIR/before"
}

assert_as_before() {
    diff "$BATS_TEST_TMPDIR/before" <(look) || fail "it is not as it was"
}

tree() { # ID
    echo "$PWD/worktrees/thread-$1"
}

branch() { # ID
    echo "parallel/part$1-thread-$1"
}

# Commits of a thread: each adds a line to a file of its folder.
work() { # ID [TEXT...]
    local at text
    at=$(tree "$1")
    mkdir -p "$at/d$1"
    for text in "${@:2}"; do
        echo "$text" >>"$at/d$1/file"
        git -C "$at" add -A
        git -C "$at" commit -q -m "$1: $text"
    done
}

cleanup() { # [OPTION...]
    run_apart anabranch cleanup "$@" 3>&-
    assert_no_sanitizer
}

assert_removed() { # ID WHY
    assert_line "removed  thread-$1: $2"
    [[ ! -e $(tree "$1") ]] || fail "there is still $(tree "$1")"
    ! git rev-parse -q --verify "refs/heads/$(branch "$1")" || fail "there is still its branch"
    [[ $(git worktree list) != *"thread-$1"* ]] || fail "git still knows it"
}

assert_kept() { # ID WHY
    assert_line "kept     thread-$1: $2"
    [[ -e $(tree "$1")/file ]] || fail "its worktree is gone"
    git rev-parse -q --verify "refs/heads/$(branch "$1")" >/dev/null || fail "its branch is gone"
}

assert_error() { # TEXT
    [[ $stderr == *"$1"* ]] || fail "not among the errors: $1"
}

# Ways of merging

@test "cleanup: merged by a merge or a fast-forward, and nothing of fanout is left in the repository" {
    begin 2
    start=$(git rev-parse HEAD)
    git config --list --local | grep -q worktreeconfig=true || fail "fanout did not switch it on"
    work 1 a b
    work 2 c
    git merge -q --ff-only "$(branch 1)"
    git merge -q -m merge "$(branch 2)"
    cleanup --only 1
    assert_status 0
    assert_removed 1 'merged into main'
    assert_kept_whole 2
    cleanup
    assert_status 0
    assert_removed 2 'merged into main'
    git reset -q --hard "$start"
    rm -f .git/ORIG_HEAD
    assert_as_before
}

assert_kept_whole() { # ID
    [[ $(git -C "$(tree "$1")" symbolic-ref HEAD) == "refs/heads/$(branch "$1")" ]] || fail "thread $1 is gone"
    [[ $(git -C "$(tree "$1")" status --porcelain) == '' ]] || fail "thread $1 is dirty now"
}

@test "PS-7: a squashed thread is recognised, without origin, also when main has changed the same lines since" {
    begin 2
    work 1 a b
    work 2 c d
    git merge -q --squash "$(branch 1)" && git commit -q -m squashed
    git merge -q --squash "$(branch 2)" && git commit -q -m squashed
    echo other >d2/file
    git commit -qam 'changed again'
    cleanup
    assert_status 0
    assert_removed 1 'squashed into main'
    assert_removed 2 'squashed into main'
}

@test "PS-7: a rebased thread is recognised, also when main has changed the same lines since" {
    begin 1
    work 1 a b
    echo x >other && git add other && git commit -qm other
    git cherry-pick "$(branch 1)~2..$(branch 1)" >/dev/null
    echo other >d1/file && git commit -qam 'changed again'
    cleanup
    assert_removed 1 'rebased onto main'
}

@test "cleanup: a thread whose changes came into main by other commits is recognised" {
    begin 1
    work 1 a b c
    mkdir d1
    echo a >d1/file && git add d1 && git commit -qm one
    printf '%s\n' a b c >d1/file && echo x >"more" && git add . && git commit -qm 'the rest, and more'
    cleanup
    assert_removed 1 'main has all its changes'
}

@test "cleanup: a patch with other blanks, and what a merge driver leaves out, are not the thread's work" {
    begin 2
    git config merge.ours.driver true
    sed -i 's/five/    five/' "$(tree 1)/file"
    git -C "$(tree 1)" commit -q --no-verify -a -m indent
    sed -i 's/two/TWO/' "$(tree 2)/file"
    git -C "$(tree 2)" commit -q --no-verify -a -m two
    sed -i 's/five/  five/' file
    git commit -q -a -m indent
    sed -i 's/two/zwei/' file
    echo 'file merge=ours' >.git/info/attributes
    git commit -q -a -m zwei
    cleanup
    assert_status 0
    assert_kept 1 'its commits are not in main'
    assert_kept 2 'its commits are not in main'
}

@test "cleanup: a thread that took main in by a merge is recognised when it is squashed" {
    begin 1
    work 1 a
    echo x >other && git add other && git commit -qm other
    git -C "$(tree 1)" merge -q -m 'main' main
    work 1 b
    git merge -q --squash "$(branch 1)" && git commit -q -m squashed
    cleanup
    assert_removed 1 'squashed into main'
}

@test "cleanup: merged upstream counts, after a fetch" {
    begin 2
    git init -q --bare -b main ../origin.git
    git remote add origin ../origin.git
    git push -q -u origin main
    work 1 a
    work 2 b c
    git clone -q ../origin.git ../other
    git -C ../other config user.name O && git -C ../other config user.email o@example.com
    git -C ../other pull -q --no-rebase "$PWD" "$(branch 1)"
    git -C ../other fetch -q "$PWD" "$(branch 2)"
    git -C ../other merge -q --squash FETCH_HEAD && git -C ../other commit -q -m squashed
    git -C ../other push -q origin main
    before=$(git rev-parse origin/main)
    (cd dir && cleanup --dry-run && assert_line 'would remove  thread-1: merged into origin/main')
    [[ $(git rev-parse origin/main) == "$before" && ! -e .git/FETCH_HEAD ]] || fail "a dry run changes a ref"
    cleanup
    assert_status 0
    assert_removed 1 'merged into origin/main'
    assert_removed 2 'squashed into origin/main'
    [[ $(git rev-parse main) == "$before" ]] || fail "main was moved"
}

@test "cleanup: a remote that does not answer is reported, and the rest is done" {
    begin 1
    git init -q --bare -b main ../origin.git
    git remote add origin "$PWD/../origin.git"
    git push -q origin main
    rm -r ../origin.git
    work 1 a
    git merge -q "$(branch 1)"
    cleanup
    assert_status 0
    assert_error 'origin: git'
    assert_removed 1 'merged into main'
}

# Reasons to keep

@test "PS-6: a thread that has not begun is kept, also when it has followed main" {
    begin 2
    echo x >other && git add other && git commit -qm other
    git -C "$(tree 2)" merge -q --ff-only main
    cleanup
    assert_status 0
    assert_kept 1 'it has no commit of its own yet'
    assert_kept 2 'it has no commit of its own yet'
}

@test "cleanup: uncommitted files keep a merged thread: changed, staged, untracked, hidden" {
    begin 5
    for i in 1 2 3 4 5; do
        work $i a
        git merge -q -m merge "$(branch $i)"
    done
    git config status.showUntrackedFiles no
    echo more >>"$(tree 1)/d1/file"
    echo more >"$(tree 2)/new" && git -C "$(tree 2)" add new
    for n in 1 2 3 4 5; do echo more >"$(tree 3)/it's $n"; done
    git -C "$(tree 4)" update-index --assume-unchanged file && echo more >>"$(tree 4)/file"
    git -C "$(tree 5)" mv file moved
    cleanup
    assert_status 0
    assert_line "kept     thread-1: not committed: 'd1/file'"
    assert_line "kept     thread-2: not committed: 'new'"
    assert_line "kept     thread-3: not committed: 'it's 1', 'it's 2', 'it's 3' and 2 more"
    assert_line "kept     thread-4: not committed: 'file'"
    assert_line "kept     thread-5: not committed: 'moved'"
    for i in 1 2 3 4 5; do [[ -e $(tree $i)/d$i/file ]] || fail "thread $i is gone"; done
}

@test "cleanup: commits that are nowhere else keep a thread, those that take each other back too" {
    begin 3
    work 1 a b
    git cherry-pick "$(branch 1)~1" >/dev/null
    work 2 a
    git -C "$(tree 2)" revert --no-edit HEAD >/dev/null
    work 3 a
    git merge -q -m merge "$(branch 3)"
    work 3 b
    cleanup
    for i in 1 2 3; do
        assert_kept $i 'its commits are not in main'
    done
}

@test "cleanup: a thread that is locked, not on its branch, or in use is kept" {
    begin 3
    for i in 1 2 3; do
        work $i a
        git merge -q -m merge "$(branch $i)"
    done
    git worktree lock --reason 'not yet' "$(tree 1)"
    git -C "$(tree 2)" switch -q --detach
    (cd "$(tree 3)" && exec sleep 1000) 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/agent.pid"
    wait_for is_in "$!" "$(tree 3)"
    cleanup
    assert_status 0
    assert_kept 1 'it is locked: not yet'
    assert_kept 2 'its branch is not checked out in it'
    assert_kept 3 "process $! works in it: sleep 1000"
}

is_in() { # PID FOLDER
    [[ $(readlink "/proc/$1/cwd") == "$2" && $(<"/proc/$1/comm") == sleep ]]
}

# A commit of the thread that is merged, so that nothing but what follows keeps it.
merged() { # ID...
    local i
    for i; do
        work "$i" a
        git merge -q -m merge "$(branch "$i")"
    done
}

@test "cleanup: an unfinished operation of git, and a branch that is checked out twice, keep a thread" {
    begin 3
    merged 1 2 3
    printf '%s\n' 'From: a <a@example.com>' 'Subject: x' '' --- 'diff --git a/no b/no' '--- a/no' '+++ b/no' \
        '@@ -1 +1 @@' -a +b >"$BATS_TEST_TMPDIR/patch"
    run git -C "$(tree 1)" am "$BATS_TEST_TMPDIR/patch"
    git branch side main~1
    git -C "$(tree 2)" merge -q --no-commit -s ours "$(git commit-tree -p side -m x 'side^{tree}')" >/dev/null 2>&1
    git worktree add -q -f "$BATS_TEST_TMPDIR/other" "$(branch 3)"
    cleanup
    assert_status 0
    assert_kept 1 'a rebase or git am in it is not finished'
    assert_kept 2 'a merge in it is not finished'
    assert_kept 3 'its branch is also checked out elsewhere'
}

@test "cleanup: commits of a submodule that are nowhere else keep a thread" {
    make_repo
    local allow=(-c protocol.file.allow=always)
    git init -q -b main "$BATS_TEST_TMPDIR/library"
    (cd "$BATS_TEST_TMPDIR/library" && git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m start)
    git "${allow[@]}" submodule --quiet add "$BATS_TEST_TMPDIR/library" sub
    git commit -q -m submodule
    plan 2
    anabranch fanout plan.toml >/dev/null
    for i in 1 2; do git -C "$(tree $i)" "${allow[@]}" submodule --quiet update --init; done
    merged 1 2
    (cd "$(tree 1)/sub" && git switch -q -c feature &&
        git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m precious && git switch -q --detach HEAD~1)
    [[ -z $(git -C "$(tree 1)" status --porcelain) ]] || fail "git shows it"
    cleanup
    assert_status 0
    assert_kept 1 "'sub' is a submodule with commits that are on no remote"
    assert_removed 2 'merged into main'
}

@test "cleanup: repositories and worktrees in ignored folders keep a thread, clones without own work do not" {
    begin 4
    merged 1 2 3 4
    echo ignored/ >>.git/info/exclude
    for i in 1 2 4; do git clone -q . "$(tree $i)/ignored/deep/clone"; done
    echo x >"$(tree 1)/ignored/deep/clone/new"
    (cd "$(tree 2)/ignored/deep/clone" && git -c user.name=T -c user.email=t@example.com commit -q --allow-empty -m own)
    git worktree add -q -b side "$(tree 3)/ignored/wt"
    cleanup
    assert_status 0
    assert_kept 1 "'ignored/deep/clone' contains a repository with uncommitted changes"
    assert_kept 2 "'ignored/deep/clone' contains a repository with commits that are on no remote"
    assert_kept 3 "'ignored/wt' contains another worktree"
    assert_contains 'removed  thread-4: merged into main'
}

@test "cleanup: commits of a thread that has lost its branch and its worktree are saved" {
    begin 1
    git -C "$(tree 1)" switch -q --detach
    work 1 precious
    rm -r "$(tree 1)"
    git branch -q -D "$(branch 1)"
    cleanup
    assert_status 0
    assert_contains 'removed  thread-1: neither its branch nor its worktree exists'
    [[ $(git log --format=%s --glob='refs/anabranch/salvage/*') == *'1: precious'* ]] || fail "it is lost"
}

@test "cleanup: the lock of a fanout that was killed at its end keeps nothing" {
    begin 1
    merged 1
    echo 'in use by anabranch' >"$(git -C "$(tree 1)" rev-parse --git-dir)/locked"
    cleanup
    assert_status 0
    assert_removed 1 'merged into main'
}

@test "cleanup: commits that only a ref of the worktree reaches are saved" {
    begin 1
    merged 1
    work 1 precious
    git -C "$(tree 1)" update-ref refs/worktree/mine HEAD
    git -C "$(tree 1)" reset -q --hard HEAD~1
    sed -i /precious/d "$(git -C "$(tree 1)" rev-parse --git-dir)/logs/HEAD"
    cleanup
    assert_status 0
    assert_contains 'removed  thread-1: merged into main'
    [[ $(git log --format=%s --glob='refs/anabranch/salvage/*') == *precious* ]] || fail "it is lost"
}

@test "cleanup: a worktree that was not made by fanout is left alone" {
    begin 1
    git worktree add -q -b mine ../mine
    work 1 a
    git merge -q "$(branch 1)"
    cleanup
    assert_removed 1 'merged into main'
    [[ -e ../mine/file && $(git worktree list) == *mine* ]] || fail "it is gone"
}

# Removed and saved work

@test "cleanup: commits that were left behind are saved, the stash stays, ignored files are named" {
    begin 1
    echo '*.o' >>.git/info/exclude
    work 1 a lost
    lost=$(git -C "$(tree 1)" rev-parse HEAD)
    git -C "$(tree 1)" reset -q --hard HEAD~1
    echo stashed >>"$(tree 1)/file" && git -C "$(tree 1)" stash -q
    touch "$(tree 1)/d1/x.o"
    git merge -q "$(branch 1)"
    cleanup
    assert_status 0
    assert_contains 'removed  thread-1: merged into main; its leftover commits are saved as threads/1/1'
    assert_contains 'ignored files are removed too: d1/x.o'
    [[ $(git rev-parse refs/anabranch/salvage/threads/1/1.commits^) == "$lost" ]] || fail "not saved"
    run anabranch salvage
    assert_contains threads/1/1
    [[ $(git stash list) == *'WIP on'* ]] || fail "the stash is gone"
    git stash show -p | grep -q '^+stashed' || fail "the stash is another"
}

@test "cleanup: it removes the settings that git push -u made for a branch" {
    begin 1
    git init -q --bare -b main ../origin.git
    git remote add origin ../origin.git
    git push -q origin main
    work 1 a
    git push -q -u origin "$(branch 1)"
    git config --list | grep -q "branch.$(branch 1).remote" || fail "push has noted nothing"
    git merge -q "$(branch 1)"
    cleanup
    assert_removed 1 'merged into main'
    ! git config --list | grep "branch.$(branch 1)" || fail "left"
}

@test "cleanup: a thread whose worktree was deleted by hand, or whose end was cut short" {
    begin 4
    for i in 1 2 3; do
        work $i a
        git merge -q -m merge "$(branch $i)"
    done
    rm -r "$(tree 1)"
    echo staged >"$(tree 2)/new" && git -C "$(tree 2)" add new && rm -r "$(tree 2)"
    mv "$(tree 3)" "$(tree 3).gone-1" && git update-ref -d "refs/heads/$(branch 3)"
    printf thread-3.gone-1 >.git/worktrees/worktrees-thread-3/anabranch.gone
    mkdir "$(tree 1).gone" "$(tree 3).gone" && touch "$(tree 1).gone/mine"
    rm -r "$(tree 4)"
    cleanup
    assert_status 0
    assert_removed 1 'merged into main'
    assert_line "kept     thread-2: not committed: 'new'"
    assert_removed 3 'neither its branch nor its worktree exists'
    [[ ! -e $(tree 3).gone-1 ]] || fail "it is still there"
    [[ -e $(tree 1).gone/mine && -e $(tree 3).gone ]] || fail "a folder of the user's is gone"
    assert_line 'kept     thread-4: it has no commit of its own yet'
}

@test "cleanup: --dry-run changes nothing, and --json says the same for programs" {
    begin 2
    work 1 a
    git merge -q "$(branch 1)"
    find . -path ./.git/objects -prune -o -print | sort >"$BATS_TEST_TMPDIR/all"
    cleanup --dry-run
    assert_status 0
    assert_line 'would remove  thread-1: merged into main'
    assert_line 'kept          thread-2: it has no commit of its own yet'
    diff "$BATS_TEST_TMPDIR/all" <(find . -path ./.git/objects -prune -o -print | sort) || fail "changed"
    cleanup --json
    run jq -rc '[.action, .thread, .branch, .reason, .why, .dropped]' <<<"$output"
    assert_line '["removed","1","parallel/part1-thread-1","merged","merged into main",[]]'
    assert_line '["kept","2","parallel/part2-thread-2","unstarted","it has no commit of its own yet",null]'
}

@test "cleanup: wrong calls, and a repository without threads" {
    cleanup
    assert_status 3
    assert_error 'not in a git repository'
    make_repo
    note
    cleanup
    assert_status 0
    assert_output 'There are no threads.'
    assert_as_before
    plan 1
    anabranch fanout plan.toml >/dev/null
    work 1 a
    git merge -q "$(branch 1)"
    cleanup --only 1,2
    assert_status 2
    assert_error "--only: there is no thread '2'"
    [[ -e $(tree 1) ]] || fail "it is gone"
}

@test "cleanup: from inside another thread, and from a base with another name" {
    make_repo
    git branch -q -m main trunk
    plan 2
    anabranch fanout plan.toml >/dev/null
    work 1 a
    git merge -q "$(branch 1)"
    run_apart eval 'cd worktrees/thread-2 && "$ANABRANCH" cleanup'
    assert_status 0
    assert_removed 1 'merged into trunk'
    assert_kept 2 'it has no commit of its own yet'
}

# The forge

@test "cleanup: threads that the forge has merged go, others stay" {
    begin 4
    forge_start
    file_origin
    for i in 1 2 3; do
        work $i a
        git push -q origin "$(branch $i)"
        gh pr create --head "$(branch $i)" --base main --title T --body B >/dev/null
    done
    work 4 a
    forge_merge 1
    forge_merge 3
    work 3 b
    cleanup
    assert_status 0
    assert_removed 1 'its pull request was merged'
    assert_kept 2 'its commits are not in main or origin/main; its pull request is open'
    assert_kept 3 'its commits are not in main or origin/main; its pull request was merged with other commits'
    assert_kept 4 'its commits are not in main or origin/main'
    forge_operations | grep -q PullRequest || fail "it was not asked"
}

@test "cleanup: a forge that does not answer is reported once" {
    begin 2
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho asked >>"%s/asked"\necho "not logged in" >&2\nexit 4\n' "$BATS_TEST_TMPDIR" \
        >"$BATS_TEST_TMPDIR/bin/gh"
    chmod +x "$BATS_TEST_TMPDIR/bin/gh"
    file_origin
    for i in 1 2; do
        work $i a
        git push -q origin "$(branch $i)"
    done
    PATH=$BATS_TEST_TMPDIR/bin:$PATH cleanup
    assert_status 0
    assert_error 'gh: not logged in'
    [[ $(wc -l <"$BATS_TEST_TMPDIR/asked") -eq 1 ]] || fail "asked more than once"
    assert_kept 1 'its commits are not in main or origin/main'
}

@test "cleanup: gh is not asked where the forge is another" {
    begin 1
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho asked >>"%s/asked"\nexit 4\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/bin/gh"
    chmod +x "$BATS_TEST_TMPDIR/bin/gh"
    file_origin
    git config anabranch.forge tea
    work 1 a
    git push -q origin "$(branch 1)"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH cleanup
    assert_status 0
    [[ ! -e $BATS_TEST_TMPDIR/asked ]] || fail "it was"
    assert_kept 1 'its commits are not in main or origin/main'
}

@test "a thread whose file is damaged stays and is reported, the others go" {
    begin 2
    work 1 a
    work 2 a
    git merge -q "$(branch 1)"
    git merge -q "$(branch 2)"
    local file=.git/worktrees/worktrees-thread-2/anabranch.json
    cp "$file" "$BATS_TEST_TMPDIR/copy"
    echo '{' >"$file"
    cleanup
    assert_status 3
    assert_removed 1 "merged into main"
    [[ $output == *"failed   thread-2: "*"is damaged"*": kept; "* ]] || fail "not told"
    [[ -e worktrees/thread-2/d2/file ]] || fail "it is gone"
    [[ $(git config extensions.worktreeConfig) == true ]] || fail "its settings do not count any more"
    cleanup --only 2 --json
    assert_status 3
    [[ $(jq -r '"\(.action) \(.thread) \(.reason) \(.branch)"' <<<"$output") == "failed 2 damaged null" ]] || fail "JSON"
    cp "$BATS_TEST_TMPDIR/copy" "$file"
    cleanup
    assert_status 0
    assert_removed 2 "merged into main"
    ! git config extensions.worktreeConfig || fail "the extension is left on"
}

@test "Ctrl-C while the remote is asked ends that, and nothing is taken away" {
    begin 2
    work 1 a
    git merge -q "$(branch 1)"
    printf '#!/bin/sh\necho $$ >"%s/hung"\nexec sleep 1000\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/hang"
    chmod +x "$BATS_TEST_TMPDIR/hang"
    git remote add origin "ext::$BATS_TEST_TMPDIR/hang"
    git config protocol.ext.allow always
    git config branch.main.remote origin
    git config branch.main.merge refs/heads/main
    "$ANABRANCH" cleanup >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/errors" 3>&- &
    local pid=$!
    echo "$pid" >"$BATS_TEST_TMPDIR/agent.pid"
    wait_for test -s "$BATS_TEST_TMPDIR/hung"
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    rm "$BATS_TEST_TMPDIR/agent.pid"
    output=$(<"$BATS_TEST_TMPDIR/out")
    assert_status 130
    is_gone "$(<"$BATS_TEST_TMPDIR/hung")" || fail "it is still running"
    assert_line "kept     thread-1: stopped by a signal before we could do anything"
    assert_line "kept     thread-2: stopped by a signal before we could do anything"
    [[ -e $(tree 1) ]] || fail "it is gone"
}

@test "the next cleanup switches off the settings that a fanout switched on before it was killed" {
    make_repo
    plan 1
    note
    # A git that kills its parent as soon as it has switched the extension on.
    mkdir "$BATS_TEST_TMPDIR/stubs"
    printf '#!/bin/sh\n%s "$@" || exit\ncase $* in\n*"extensions.worktreeConfig true") kill -KILL $PPID ;;\nesac\n' \
        "$(command -v git)" >"$BATS_TEST_TMPDIR/stubs/git"
    chmod +x "$BATS_TEST_TMPDIR/stubs/git"
    PATH=$BATS_TEST_TMPDIR/stubs:$PATH run_apart anabranch fanout plan.toml 3>&-
    assert_status 137
    [[ $(git config extensions.worktreeConfig) == true ]] || fail "it was not killed in time"
    cleanup
    assert_status 0
    ! git config extensions.worktreeConfig || fail "it is still on"
    [[ ! -e .git/anabranch ]] || fail "something is left: $(find .git/anabranch)"
}

@test "cleanup --unstarted: takes away what nobody has begun, and nothing with work in it" {
    begin 5
    echo new >"$(tree 2)/new"
    work 3 a
    git -C "$(tree 4)" checkout -q --detach
    cleanup
    assert_status 0
    assert_line "kept     thread-1: it has no commit of its own yet"
    cleanup --unstarted --dry-run --only 1 --json
    assert_status 0
    [[ $(jq -r '"\(.action) \(.reason)"' <<<"$output") == "would remove unstarted" ]] || fail "JSON"
    [[ -e $(tree 1) ]] || fail "a dry run took it away"
    cleanup --unstarted --only 1
    assert_status 0
    assert_removed 1 "it has no commit of its own yet"
    cleanup --unstarted
    assert_status 0
    assert_line "kept     thread-2: not committed: 'new'"
    assert_line "kept     thread-3: its commits are not in main"
    assert_line "kept     thread-4: its branch is not checked out in it"
    assert_removed 5 "it has no commit of its own yet"
}

@test "cleanup --unstarted: with the last one nothing is left" {
    begin 2
    cleanup --unstarted
    assert_status 0
    assert_as_before
}
