#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # lines of shell are for agents; run sets output and status
# The work that we save before we remove a workspace, and `anabranch salvage`.

load ../helper
load ../run_helper

# The ref of what was saved of a task.
saved() { # TASK [ATTEMPT]
    git for-each-ref --format='%(refname)' "refs/anabranch/salvage/*/$1/${2:-1}"
}

# Prints how the saved work of a task differs from main.
changed() { # TASK
    git diff --name-only main "$(saved "$1")" | paste -s -d ' '
}

assert_changed() { # TASK NAME...
    local task=$1
    shift
    [[ $(changed "$task") == "$*" ]] || fail "saved of $task: $(changed "$task")" "expected: $*"
}

# A commit by an agent in a repository that knows nobody.
commit='git -c user.name=x -c user.email=x@x commit -q'

# A run of one failed task, whose salvage is $id.
make_salvage() { # STEP...
    make_repo
    begin_plan
    add_task t 'retry: 0' -- "$@" 'exit 1'
    run_plan
    assert_status 1
    id=$(anabranch salvage | cut -d ' ' -f 1)
}

# Saved work

@test "salvage: changed, new and listed ignored files, and never what was brought along" {
    make_repo
    printf '%s\n' '*.log' '*.o' coverage/ .env node_modules/ >.gitignore
    git add .gitignore
    git commit -q -m ignore
    echo secret >.env
    mkdir node_modules
    echo js >node_modules/i.js
    begin_plan 'workspace: {include: [.env], share: [node_modules], salvage: ["*.log", coverage/, .env, "*.js"]}'
    add_task t 'retry: 0' -- 'append file ten' 'delete dir/inner' 'write new 1' 'write a.log 1' 'write deep/b.log 1' \
        'write coverage/html/index 1' 'write a.o 1' 'write out/b.o 1' 'exit 1'
    run_plan --json
    assert_status 1
    assert_changed t a.log coverage/html/index deep/b.log dir/inner file new
    assert_event task.salvaged t '"dropped":["a.o","out/"],"dropped_count":2'
    assert_clean 'refs/anabranch/salvage/*/t/1'
    assert_unchanged_checkout
}

@test "salvage: ignored files of a task that landed, or changed nothing" {
    make_repo
    echo '*.log' >.gitignore
    git add .gitignore
    git commit -q -m ignore
    begin_plan 'workspace: {salvage: [a.log]}'
    add_task lands -- 'write new 1' 'write a.log 1' 'write b.log 1'
    add_task idle 'retry: 0' -- 'write a.log 2' 'write b.log 2'
    add_task none 'retry: 0' -- 'write b.log 3'
    run_plan --json
    assert_status 1
    assert_in "$(saved lands)" a.log 1
    refute_in "$(saved lands)" new
    assert_in "$(saved idle)" a.log 2
    [[ -z $(saved none) ]] || fail "there was nothing to save"
    assert_event task.salvaged none '"dropped":["b.log"]'
    assert_clean 'refs/anabranch/salvage/*/lands/1' 'refs/anabranch/salvage/*/idle/1'
}

@test "salvage: files that an agent hid from git are not lost when the rest of its work lands" {
    make_repo
    echo b >b
    git add b
    git commit -q -m b
    begin_plan
    add_task lands -- 'write new 1' 'sh git update-index --assume-unchanged file && echo hidden >file' \
        'sh git update-index --skip-worktree b && echo too >b'
    add_task same -- 'write other 1' 'sh git update-index --assume-unchanged file'
    run_plan
    assert_status 0
    assert_in main new 1
    [[ $(git show main:file) != *hidden* ]] || fail "it has landed"
    assert_in "$(saved lands)" file hidden
    assert_in "$(saved lands)" b too
    assert_clean 'refs/anabranch/salvage/*/lands/1'
}

@test "salvage: a workspace that an agent removed, or moved away" {
    [[ ${ANABRANCH_PROVIDER-} != overlay ]] || skip "where something is mounted nobody can"
    make_repo
    begin_plan
    add_task gone 'retry: 0' -- 'write new 1' 'sh git add new; rm -rf "$PWD"'
    add_task moved 'retry: 0' -- 'write new 1' "sh mv \"\$PWD\" '$BATS_TEST_TMPDIR/moved'"
    run_plan
    assert_status 1
    assert_contains "its workspace is gone: somebody removed or moved '"
    assert_in "$(saved gone)" new 1
    assert_in "$(saved moved)" new 1
    [[ $(<"$BATS_TEST_TMPDIR/moved/new") == 1 ]] || fail "it is gone"
    assert_clean 'refs/anabranch/salvage/*/gone/1' 'refs/anabranch/salvage/*/moved/1'
}

@test "salvage: repositories that an agent made inside" {
    make_repo
    git clone -q . "$BATS_TEST_TMPDIR/origin"
    begin_plan
    add_task t 'retry: 0' -- 'write new 1' \
        'sh git init -q empty && echo 1 >empty/file' \
        "sh git init -q -b trunk full && cd full && echo 1 >f && git add f && $commit -m one && git branch side && $commit -m two --allow-empty && echo 2 >f" \
        "sh git init -q full/inner && cd full/inner && echo 3 >f && git add f && $commit -m three" \
        "sh git clone -q $BATS_TEST_TMPDIR/origin same" \
        "sh git clone -q $BATS_TEST_TMPDIR/origin more && cd more && $commit -m four --allow-empty" 'exit 1'
    run_plan --json
    assert_status 1
    assert_event task.salvaged t '"nested":["empty","full","more","full/inner"],"clones":["same"]'
    assert_changed t new
    assert_clean 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/t/1.nested/*'
    run anabranch salvage
    assert_contains '1 file +1 -0, 4 repositories'
    run anabranch salvage restore t "$BATS_TEST_TMPDIR/back"
    assert_status 0
    cd "$BATS_TEST_TMPDIR/back" || return
    [[ $(<new) == 1 && $(<empty/file) == 1 && $(<full/f) == 2 && $(<full/inner/f) == 3 ]] || fail "$(find . -name .git -prune -o -print)"
    [[ $(git -C full log --format=%s | paste -s -d ' ') == 'Nested repository full two one' ]] || fail "$(git -C full log)"
    [[ $(git -C full log --format=%s side) == one ]] || fail "no side"
    git -C full rev-parse -q --verify refs/heads/trunk
    [[ $(git -C more log --format=%s -1 HEAD^) == four ]] || fail "$(git -C more log)"
    [[ ! -e same ]] || fail "a clone that has nothing of its own"
}

@test "salvage: a repository inside whose task landed" {
    make_repo
    begin_plan
    add_task t -- 'write new 1' "sh git init -q in && cd in && echo 1 >f && git add f && $commit -m one"
    run_plan --json
    assert_status 0
    assert_event task.salvaged t '"nested":["in"]'
    anabranch salvage restore t "$BATS_TEST_TMPDIR/back"
    [[ $(<"$BATS_TEST_TMPDIR/back/in/f") == 1 ]] || fail "it is gone"
}

@test "salvage: a shallow clone with work of its own keeps its workspace, and that is said" {
    make_repo
    git commit -q --allow-empty -m more
    git clone -q . "$BATS_TEST_TMPDIR/origin"
    begin_plan
    add_task t 'retry: 0' -- "sh git clone -q --depth 1 file://$BATS_TEST_TMPDIR/origin thin && echo mine >thin/mine" 'exit 1'
    run_plan --json
    assert_status 1
    assert_event task.salvaged t "the repository 'thin'"
    [[ $(<.anabranch/worktrees/*/t/thin/mine) == mine ]] || fail "it is gone"
    [[ ! -e .git/shallow ]] || fail "our repository has become shallow"
    run anabranch clean --all
    assert_status 3
    assert_contains "the repository 'thin'"
    [[ $(<.anabranch/worktrees/*/t/thin/mine) == mine ]] || fail "it is gone"
}

@test "salvage: commits that were left, reset away or replaced" {
    make_repo
    begin_plan
    add_task t 'retry: 0' -- 'write a 1' 'commit left' 'sh git checkout -q --detach HEAD^' \
        'write b 1' 'commit detached' 'sh git checkout -q --detach HEAD^' 'write c 1' 'commit first' \
        'sh git commit -q --amend -m second' 'sh git checkout -q -b mine HEAD^' 'write d 1' 'commit branched' \
        'sh git switch -q --detach' 'write e 1' 'exit 1'
    run_plan --json
    assert_status 1
    assert_changed t d e
    local all
    all=$(git log --format=%s "$(saved t).commits" | sort | paste -s -d ' ')
    for name in left detached first second; do
        grep -qw "$name" <<<"$all" || fail "no $name in: $all"
    done
    git branch -q -D mine
    git log --format=%s "$(saved t)" | grep -qx branched || fail "what was on another branch"
    assert_clean 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/t/1.commits'
}

@test "salvage: it holds the work that an unfinished rebase or merge has put aside" {
    make_repo
    begin_plan
    local task begin=('write file one' 'commit one' 'sh git checkout -q --detach HEAD^' 'write file two' 'commit two')
    for task in rebase merge; do
        add_task $task 'retry: 0' -- "${begin[@]}" "write dir/inner $task" "sh ! git $task -q --autostash @{-1}" 'exit 1'
    done
    run_plan
    assert_status 1
    for task in rebase merge; do
        git log -m -p "$(saved "$task").commits" -- dir/inner | grep -qx "+$task" || fail "$task: $(git for-each-ref)"
    done
}

@test "salvage: commits that a task that landed has left, but not what it only improved" {
    make_repo
    begin_plan
    add_task idea -- 'write a 1' 'commit idea' 'sh git reset -q --hard HEAD^' 'write b 1'
    add_task better -- 'write c 1' 'commit rough' 'sh git commit -q --amend -m fine' 'sh git reset -q --soft HEAD^'
    run_plan
    assert_status 0
    [[ $(git log --format=%s -1 "$(saved idea).commits^1") == idea ]] || fail "$(git for-each-ref)"
    assert_clean 'refs/anabranch/salvage/*/idea/1' 'refs/anabranch/salvage/*/idea/1.commits'
}

@test "salvage: an index that is locked, spoilt, gone, unmerged or made blind" {
    make_repo
    printf '%s\n' ignored >.gitignore
    echo tracked >ignored
    git add -f .gitignore ignored
    git commit -q -m 'tracked, and ignored'
    begin_plan
    add_task lock 'retry: 0' -- 'write a 1' 'sh touch "$(git rev-parse --git-dir)/index.lock"' 'exit 1'
    add_task spoilt 'retry: 0' -- 'write a 1' 'write ignored 2' 'sh echo garbage >"$(git rev-parse --git-dir)/index"' 'exit 1'
    add_task gone 'retry: 0' -- 'write a 1' 'sh rm "$(git rev-parse --git-dir)/index"' 'exit 1'
    add_task unmerged 'retry: 0' -- 'write file ours' 'commit ours' 'sh git switch -q --detach HEAD^' 'write file theirs' \
        'commit theirs' 'sh git merge -q "$(git rev-parse @{-1})"'
    add_task blind 'retry: 0' -- 'sh git update-index --assume-unchanged file; git update-index --skip-worktree dir/inner' \
        'write file 1' 'write dir/inner 1' 'exit 1'
    run_plan
    assert_status 1
    assert_changed lock a
    assert_changed spoilt a ignored
    assert_changed gone a
    assert_changed unmerged file
    git show "$(saved unmerged):file" | grep -q '^<<<<<<<' || fail "no conflict in it"
    assert_changed blind dir/inner file
    assert_clean 'refs/anabranch/salvage/*/*/1' 'refs/anabranch/salvage/*/unmerged/1.commits'
}

# The command

@test "salvage list: it shows the id, the time, the size and the reason" {
    make_salvage 'append file ten' 'write new 1'
    run anabranch salvage list
    assert_status 0
    [[ $output =~ ^20[0-9]{6}-[0-9]{6}-[0-9a-f]{4}/t/1\ \ 20[0-9-]{8}\ [0-9:]{5}\ \ 2\ files\ \+2\ -0\ +transient:\ exit\ code\ 1$ ]] || fail "line"
    run anabranch salvage --json
    assert_status 0
    [[ $(jq -r '[.id, .files, .added, .removed, .nested, .why] | join(" ")' <<<"$output") == "$id 2 2 0 0 transient: exit code 1" ]] || fail "JSON"
    [[ $(jq -r .commit <<<"$output") == "$(git rev-parse "$(saved t)")" ]] || fail "commit"
    rm .git/anabranch/state.db*
    run anabranch salvage
    assert_contains 'transient: exit code 1'
}

@test "salvage show: the difference, by any part of the id that is unique" {
    make_salvage 'append file ten'
    begin_plan
    add_task tea 'retry: 0' -- 'write new 1' 'exit 1'
    run_plan
    run anabranch salvage show tea
    assert_contains '+1'
    for word in "$id" t/1; do
        run anabranch salvage show "$word"
        assert_status 0
        assert_contains "Salvaged: $id"
        assert_contains 'Why:      transient: exit code 1'
        assert_contains ' 1 file changed, 1 insertion(+)'
        assert_contains '+ten'
        git apply --check <<<"$output" || fail "it cannot be applied"
    done
    run_apart anabranch salvage show t
    assert_status 2
    [[ $stderr == *"'t' matches "*/tea/1* ]] || fail "which?"
    run_apart anabranch salvage show nothing
    assert_status 2
    [[ $stderr == "anabranch: no salvage matches 'nothing'; 'anabranch salvage' lists them" ]] || fail "message"
}

@test "salvage show: it shows work that was merged for its verification without the others' work" {
    make_repo
    begin_plan
    add_task first -- 'write first 1'
    add_task t 'retry: 0' 'verify: "false"' -- 'write new 1' "sh $(until_exists on)"
    start_plan
    wait_for in_events task.landed first
    touch "$BATS_TEST_TMPDIR/on"
    end_plan
    assert_status 1
    run anabranch salvage show t/1
    assert_contains new
    refute_contains first
}

@test "salvage restore: beside the checkout, on a branch of its own, overwriting nothing" {
    make_salvage 'append file ten' 'write new 1'
    echo mine >dirty
    run anabranch salvage restore t
    assert_status 0
    assert_output "$id is in $PWD-t-1, on the branch salvage/$id"
    [[ $(<../repo-t-1/new) == 1 ]] || fail "$(ls ../repo-t-1)"
    [[ $(git -C ../repo-t-1 branch --show-current) == "salvage/$id" ]] || fail "branch"
    [[ $(git status --porcelain) == '?? dirty' ]] || fail "$(git status --porcelain)"
    run_apart anabranch salvage restore t ../other
    assert_status 2
    [[ $stderr == "anabranch: branch 'salvage/$id' already exists" && ! -e ../other ]] || fail "branch"
    run_apart anabranch salvage restore -b other t ../repo-t-1
    assert_status 2
    [[ $stderr == *"repo-t-1' already exists" ]] || fail "folder"
    run_apart anabranch salvage restore -b 'a..b' t ../other
    assert_status 2
    ! git rev-parse -q --verify other || fail "a branch was made"
    mkdir ../empty dir/sub
    cd dir/sub || return
    run anabranch salvage restore -b other t ../../../empty
    assert_status 0
    [[ -e ../../../empty/new ]] || fail "not there"
}

@test "salvage drop: only whole ids, and it says how to have it back" {
    make_salvage 'write new 1' 'commit a' 'sh git reset -q --hard HEAD^' 'write new 2'
    git for-each-ref refs/anabranch >"$BATS_TEST_TMPDIR/before"
    run_apart anabranch salvage drop t
    assert_status 2
    run_apart anabranch salvage drop "$id" nonsense
    assert_status 2
    git for-each-ref refs/anabranch | cmp - "$BATS_TEST_TMPDIR/before"
    run anabranch salvage drop "$id"
    assert_status 0
    assert_contains "Dropped $id"
    assert_clean
    bash -e <<<"$(grep '^  git' <<<"$output")"
    git for-each-ref refs/anabranch | cmp - "$BATS_TEST_TMPDIR/before"
    run_apart anabranch salvage drop
    assert_usage_error "'drop' needs an ID, or --merged" salvage
    run_apart anabranch salvage list --merged
    assert_usage_error "--merged is for 'drop'" salvage
}

@test "salvage drop --merged: it drops work that the base has in any form" {
    make_repo
    begin_plan
    add_task picked 'retry: 0' -- 'write new 1' 'exit 1'
    add_task other 'retry: 0' -- 'write other 1' 'exit 1'
    run_plan
    git cherry-pick -n "$(saved picked)"
    git commit -q -m 'in another form'
    git commit -q --allow-empty -m later
    run anabranch salvage drop --merged
    assert_status 0
    assert_contains /picked/1
    assert_clean 'refs/anabranch/salvage/*/other/1'
    run anabranch salvage drop --merged
    assert_output ''
}

@test "salvage: none, and not in a repository" {
    run_apart anabranch salvage
    assert_status 3
    make_repo
    run anabranch salvage
    assert_output 'There is no saved work.'
    run anabranch salvage --json
    assert_output ''
}

@test "the summary says where the work of a failed task is" {
    make_salvage 'write new 1'
    assert_contains "  anabranch salvage show $id"
    git worktree list | wc -l | grep -qx 1
}

# Cost

@test "salvage: a task that changed nothing starts no git to find that out" {
    make_repo
    echo '*.log' >.gitignore
    git add .gitignore && git commit -q -m ignore
    begin_plan
    add_task reads 'read_only: true' -- 'sh echo x >left.log'
    add_task hands 'hand_on: true' -- 'say nothing to do'
    count_gits
    run_plan --json
    assert_status 0
    assert_event task.salvaged reads '"dropped":["left.log"]'
    [[ $(gits ls-files) == 0 && $(gits ' add ') == 0 ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    assert_clean
}
