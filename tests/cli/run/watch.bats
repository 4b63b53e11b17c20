#!/usr/bin/env bats
# Changes that agents make to the state that all worktrees share: which ones we report and which ones we undo.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets output

load ../helper
load ../run_helper

# A member of the one git.state_changed event about NAME, of output that is --json.
change() { # NAME MEMBER
    printf '%s\n' "$output" | grep -F '"event":"git.state_changed"' | grep -F "\"name\":\"$1\"" |
        sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p"
}

refute_told() {
    refute_event git.state_changed
}

refute_ref() { # NAME
    ! git rev-parse -q --verify "$1" || fail "there is a $1"
}

# A line of shell for an agent that works where it should not: in the user's checkout.
outside() { # COMMAND
    echo "sh cd '$PWD' && $1"
}

# Nothing to report

@test "shared: agents that keep to their workspaces are not reported, and cost no process" {
    make_repo
    begin_plan
    add_task a -- 'write a A' 'commit mine'
    add_task b 'depends_on: [a]' -- 'append file more'
    count_gits
    run_plan --json
    assert_status 0
    refute_told
    [[ -s $BATS_TEST_TMPDIR/calls ]]
    # The one for the settings is made when the repository is opened.
    ! grep -vF -e --show-scope "$BATS_TEST_TMPDIR/calls" |
        grep -E '(^| )(config|status|for-each-ref|stash|log) ' || fail "processes for nothing"
    assert_clean
    assert_unchanged_checkout
}

@test "shared: the copies that anabranch materialise makes are not reported, those of others are" {
    local dir
    make_repo
    mkdir ../elsewhere
    ln -s ../elsewhere linked
    begin_plan
    add_task a -- 'write a A' "sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)"
    start_and_wait
    for dir in ../copy ./inside deep/er/copy linked/copy; do
        run_apart anabranch materialise a "$dir"
        assert_status 0
        [[ $(<"$dir/a") == A ]] || fail "no copy in $dir"
    done
    run_apart anabranch materialise a ../copy # it fails, and leaves nothing
    assert_status 2
    git worktree add -q --detach ../theirs
    touches go
    end_plan
    assert_status 0
    [[ $(grep -c '"event":"git.state_changed"' <<<"$output") -eq 1 ]] || fail "$(grep -F git.state_changed <<<"$output")"
    assert_event git.state_changed a '"what":"head","name":"worktrees/theirs/HEAD"'
    for dir in ../copy inside deep/er/copy linked/copy ../theirs; do git worktree remove --force "$dir"; done
}

@test "shared: threads and restored work of a person are not reported, later changes of them are" {
    make_repo
    begin_plan
    add_task old 'retry: 0' -- 'write o O' 'exit 1'
    run_plan
    assert_status 1
    printf '%s\n' 'tasks:' '  - {id: x, prompt: do it, owns: [dir/]}' >../threads.yaml
    cp ../threads.yaml . && echo threads.yaml >>.git/info/exclude
    begin_plan
    add_task a -- 'write a A' "sh touch $BATS_TEST_TMPDIR/here; $(until_exists go)"
    add_task b 'depends_on: [a]' -- 'write b B' "sh touch $BATS_TEST_TMPDIR/b-here; $(until_exists b-go)"
    start_and_wait
    run_apart anabranch salvage restore old ../restored --branch again
    assert_status 0
    run_apart anabranch fanout --allow-dirty threads.yaml
    assert_status 0
    touches go
    wait_for test -e "$BATS_TEST_TMPDIR/b-here"
    git -C ../restored commit -q --allow-empty -m mine
    touches b-go
    end_plan
    assert_status 0
    [[ $(grep -c '"event":"git.state_changed"' <<<"$output") -eq 1 ]] || fail "$(grep -F git.state_changed <<<"$output")"
    assert_event git.state_changed b '"what":"ref","name":"refs/heads/again"'
    [[ $(git -C worktrees/thread-x config core.excludesFile) == *anabranch.excludes ]] || fail 'the thread has lost its settings'
}

@test "shared: packing refs changes nothing" {
    make_repo
    git branch feature
    begin_plan
    add_task a -- 'write a A' "$(outside 'git pack-refs --all')"
    run_plan --json
    assert_status 0
    refute_told
    [[ ! -e .git/refs/heads/feature ]]
}

@test "shared: our own output, redirected into the checkout, is no change of a task" {
    make_repo
    echo ignored >>.git/info/exclude
    echo old | tee ignored tracked >/dev/null
    git add tracked
    git commit -q -m tracked
    begin_plan
    add_task a -- 'write a A'
    add_task b 'depends_on: [a]' -- 'write b B'
    local log start
    start=$(git rev-parse main)
    for log in untracked ignored tracked; do
        git reset -q --hard "$start"
        status=0
        anabranch run --engine sim --json plan.yaml >>"$log" 2>&1 3>&- || status=$?
        output=$(<"$log")
        assert_status 0
        assert_event task.landed b
        refute_told
    done
}

@test "shared: an agent that puts another file in the place of our output is reported" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "$(outside 'echo mine >x && mv x log')"
    add_task b 'depends_on: [a]' -- 'write b B'
    anabranch run --engine sim plan.yaml >log 2>"$BATS_TEST_TMPDIR/errors" 3>&-
    output=$(sqlite3 .git/anabranch/state.db "select data from events where name = 'git.state_changed'")
    assert_contains '"name":"log"'
    refute_contains '"name":"x"'
}

@test "shared: an agent that links our output to a file of the user is reported" {
    make_repo
    echo precious >notes
    begin_plan
    add_task a -- 'write a A' "$(outside 'ln -f log notes && ln -f log file')"
    anabranch run --engine sim plan.yaml >log 2>"$BATS_TEST_TMPDIR/errors" 3>&-
    output=$(sqlite3 .git/anabranch/state.db "select data from events where name = 'git.state_changed'")
    assert_contains '"name":"notes"'
    assert_contains '"paths":["file"]'
}

@test "shared: branches that have names of another tool's form are the run's own" {
    make_repo
    printf '%s\n' --- 'po_plan_version: "0.1"' 'name: p' 'cwd: .' tasks: >po.md
    printf '  - {id: %s, agent: x, read_only: false, prompt: do it}\n' a b >>po.md
    echo --- >>po.md
    ln -s "$ANABRANCH" "$BATS_TEST_TMPDIR/parallel-orchestra"
    # The second one ends when the first one's branch has gone: then it would be blamed for that.
    cat >"$BATS_TEST_TMPDIR/claude" <<END
#!/bin/sh
cat >/dev/null
git branch >>'$BATS_TEST_TMPDIR/branches'
echo 1 >"made-\$ANABRANCH_TASK"
n=0
while test "\$ANABRANCH_TASK" = b && git branch | grep parallel-orchestra/a-; do
    sleep 0.02
    n=\$((n + 1))
    test \$n -lt 1500 || exit 1
done
END
    chmod +x "$BATS_TEST_TMPDIR/claude"
    echo po.md >>.git/info/exclude
    PATH=$BATS_TEST_TMPDIR:$PATH run parallel-orchestra run po.md 3>&-
    assert_status 0
    grep -q parallel-orchestra/ "$BATS_TEST_TMPDIR/branches"
    run anabranch report last
    assert_contains '"changes": []'
}

@test "shared: changes of the user while no agent works are not reported" {
    make_repo
    begin_plan
    add_task a -- 'on 1 error overloaded' 'write a A' # the next attempt starts four seconds later
    start_plan
    wait_for in_events task.retried a
    git branch early
    git config filter.mine.clean cat # files of the checkout are looked at less often
    cp .git/config "$BATS_TEST_TMPDIR/config"
    end_plan
    assert_status 0
    assert_event task.landed a
    refute_told
    assert_clean
}

# Configuration

@test "shared: core.bare and core.worktree are put back" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "$(outside 'git config core.bare true')" \
        "$(outside 'git config core.worktree /nowhere')"
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"what":"config","name":"core.bare","from":"false","to":"true","restored":true'
    assert_event git.state_changed a '"name":"core.worktree","to":"/nowhere","restored":true'
    grep -q nowhere "$(change core.worktree saved)"
    assert_in main a A
    assert_clean # the configuration is what it was, to the byte
    assert_unchanged_checkout
}

@test "shared: other settings that changed meanwhile stay as they are" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "$(outside 'git config core.bare true')" \
        "$(outside 'git config branch.x.remote origin')"
    run_plan --json
    assert_status 0
    [[ $(git config core.bare) == false ]]
    [[ $(git config branch.x.remote) == origin ]]
    assert_event git.state_changed a '"name":"branch.x.remote","to":"origin","restored":false'
    eval "$(change branch.x.remote undo)"
    [[ -z $(git config branch.x.remote) ]]
}

@test "shared: a planted filter is never run by us, and its task fails" {
    make_repo
    begin_plan
    add_task evil -- 'write .gitattributes "* filter=evil"' \
        "sh git config filter.evil.clean 'touch $BATS_TEST_TMPDIR/ran; cat'"
    add_task next 'estimate: 1s' -- 'write next N'
    run_plan -j 1 --json
    assert_status 1
    assert_event task.failed evil '"class":"scope"'
    assert_event task.failed evil 'filter.evil.clean'
    assert_event git.state_changed evil '"restored":true'
    grep -q evil "$(change filter.evil.clean saved)"
    [[ ! -e $BATS_TEST_TMPDIR/ran ]]
    assert_event task.landed next
    refute_in main .gitattributes
    assert_clean 'refs/anabranch/salvage/*/evil/1'
}

@test "shared: a filter in the configuration of the workspace is not run either" {
    make_repo
    git config extensions.worktreeConfig true
    cp .git/config "$BATS_TEST_TMPDIR/config"
    begin_plan
    add_task evil -- 'write .gitattributes "* filter=evil"' \
        "sh git config --worktree filter.evil.clean 'touch $BATS_TEST_TMPDIR/ran; cat'"
    add_task sparse -- 'sh git config --worktree core.autocrlf input' 'write b B'
    run_plan -j 1 --json
    assert_status 1
    assert_event task.failed evil 'filter.evil.clean'
    [[ ! -e $BATS_TEST_TMPDIR/ran ]]
    assert_event task.landed sparse
    refute_event git.state_changed sparse
    assert_clean 'refs/anabranch/salvage/*/evil/1'
}

@test "shared: if it may have been another agent, we name both and none fails" {
    make_repo
    begin_plan
    add_task a -- "sh $(until_exists there)" \
        "sh git config merge.evil.driver 'touch $BATS_TEST_TMPDIR/ran'" 'write a A'
    add_task b -- "sh touch $BATS_TEST_TMPDIR/there" "sh $(until_exists finished)" 'write b B'
    start_plan -j 2
    wait_for in_events task.landed a
    touch "$BATS_TEST_TMPDIR/finished"
    end_plan
    assert_status 0
    has_event git.state_changed '' '"tasks":["a","b"]' || assert_event git.state_changed '' '"tasks":["b","a"]'
    refute_event git.state_changed a
    refute_event git.state_changed b
    [[ ! -e $BATS_TEST_TMPDIR/ran ]]
    assert_clean
}

@test "shared: a configuration that cannot be read, or is gone, is put back" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "sh echo '[core' >>$PWD/.git/config"
    add_task b 'depends_on: [a]' -- 'write b B' "delete $PWD/.git/config"
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"to":"unreadable","restored":true'
    assert_event git.state_changed b '"from":"readable","restored":true'
    assert_clean
}

@test "shared: values that may hold a password are not shown" {
    make_repo
    begin_plan
    add_task a -- 'write a A' 'sh git config http.extraheader "Authorization: hush"'
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"name":"http.extraheader","to":"[MASKED]"'
    refute_contains hush
    [[ $(git config http.extraheader) == *hush ]]
}

# Refs

@test "shared: a deleted branch is reported, its commit kept, and the command brings it back" {
    make_repo
    git checkout -q -b feature
    git commit -q --allow-empty -m precious
    git checkout -q main
    local id
    id=$(git rev-parse feature)
    begin_plan
    add_task a -- 'write a A' 'sh git branch -D feature'
    run_plan --json
    assert_status 0
    assert_event git.state_changed a "\"what\":\"ref\",\"name\":\"refs/heads/feature\",\"from\":\"$id\",\"restored\":false"
    [[ $(git rev-parse "$(change refs/heads/feature kept)") == "$id" ]]
    assert_clean 'refs/anabranch/salvage/*/+shared/1'
    eval "$(change refs/heads/feature undo)"
    [[ $(git rev-parse feature) == "$id" ]]
}

@test "shared: a task may have that name" {
    make_repo
    git branch feature "$(git commit-tree -p HEAD -m precious 'HEAD^{tree}')"
    begin_plan
    add_task shared 'retry: 0' -- 'write a A' 'sh git branch -D feature' 'exit 1'
    run_plan
    assert_status 1
    run_apart anabranch salvage list 3>&-
    assert_status 0
    [[ $(git for-each-ref --format='%(refname)' refs/anabranch/salvage | wc -l) == 2 ]] || fail "$(git for-each-ref)"
    git rev-parse -q --verify "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/shared/1'):a" >/dev/null
}

@test "shared: we keep no commit that another ref reaches" {
    make_repo
    git branch merged
    git tag v1
    begin_plan
    add_task a -- 'write a A' 'sh git branch -m merged renamed' 'sh git tag -d v1' 'sh git branch new'
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"name":"refs/heads/merged"'
    assert_event git.state_changed a '"name":"refs/heads/renamed"'
    [[ -z $(change refs/heads/merged kept) ]]
    assert_clean
    eval "$(change refs/heads/new undo)"
    eval "$(change refs/tags/v1 undo)"
    [[ $(git rev-parse v1) == "$(git rev-parse 'main^{/start}')" ]]
    refute_ref new
}

@test "shared: a rewritten branch is reported, and what was on it kept" {
    make_repo
    git checkout -q -b feature
    git commit -q --allow-empty -m precious
    git pack-refs --all
    git checkout -q main
    local id
    id=$(git rev-parse feature)
    begin_plan
    add_task a -- 'write a A' 'sh git branch -f feature main'
    run_plan --json
    assert_status 0
    [[ $(git rev-parse "$(change refs/heads/feature kept)") == "$id" ]]
    eval "$(change refs/heads/feature undo)"
    [[ $(git rev-parse feature) == "$id" ]]
}

@test "shared: refs in tables are watched through git" {
    make_repo
    git branch feature
    mkdir .git/reftable
    echo 1 >.git/reftable/tables.list
    begin_plan
    add_task a -- 'write a A' 'sh git branch -D feature' \
        "sh echo 2 >$PWD/.git/reftable/tables.list" "$(outside 'git switch -q -c other')"
    run_plan --json
    assert_event git.state_changed a '"name":"refs/heads/feature"'
    assert_event git.state_changed a '"what":"head","name":"HEAD","from":"ref: refs/heads/main","to":"ref: refs/heads/other"'
}

@test "shared: remote-tracking refs are counted" {
    make_repo
    git clone -q --bare . "$BATS_TEST_TMPDIR/remote"
    git -C "$BATS_TEST_TMPDIR/remote" branch second
    git remote add origin "$BATS_TEST_TMPDIR/remote"
    cp .git/config "$BATS_TEST_TMPDIR/config"
    begin_plan
    add_task a -- 'write a A' 'sh git fetch -q origin'
    run_plan
    assert_status 0
    assert_contains 'a: 2 refs below refs/remotes were changed'
}

@test "shared: an agent's commit in the user's checkout is reported once, and stays" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "sh $(committer stray)"
    add_task b 'depends_on: [a]' -- 'write b B'
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"name":"refs/heads/main"'
    [[ $(change refs/heads/main from | wc -l) -eq 1 ]]
    assert_in main stray here
    assert_clean
    assert_unchanged_checkout
}

@test "shared: work that another run lands is not reported" {
    make_repo
    begin_plan
    add_task other -- 'write other O'
    mv plan.yaml other.yaml
    echo other.yaml >>.git/info/exclude
    begin_plan
    add_task a -- "sh touch $BATS_TEST_TMPDIR/begun" "sh $(until_exists go-on)" 'write a A'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/begun"
    anabranch run --engine sim other.yaml 3>&-
    touch "$BATS_TEST_TMPDIR/go-on"
    end_plan
    assert_status 0
    assert_in main other O
    refute_told
    assert_clean
}

# HEAD, stash, hooks, files

@test "shared: a switched checkout is reported, and left" {
    make_repo
    git branch other
    begin_plan
    add_task a -- 'write a A' "$(outside 'git switch -q other')"
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"what":"head","name":"HEAD","from":"ref: refs/heads/main","to":"ref: refs/heads/other","restored":false'
    [[ $(git symbolic-ref --short HEAD) == other ]]
    eval "$(change HEAD undo)"
    [[ $(git symbolic-ref --short HEAD) == main ]]
    assert_in main a A
}

@test "shared: a dropped stash is kept, and the command brings it back" {
    make_repo
    local id
    for id in 1 2 3; do
        echo "$id" >file
        git stash -q -m "work $id"
    done
    id=$(git rev-parse 'stash@{1}')
    begin_plan
    add_task a -- 'write a A' "$(outside "git stash drop -q 'stash@{1}'")"
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"what":"stash","name":"On main: work 2"'
    [[ $(git rev-parse "$(change 'On main: work 2' kept)") == "$id" ]]
    [[ $(printf '%s\n' "$output" | grep -c git.state_changed) -eq 1 ]]
    eval "$(change 'On main: work 2' undo)"
    [[ $(git rev-parse 'stash@{0}') == "$id" ]]
    assert_clean 'refs/anabranch/salvage/*/+shared/1'
}

@test "shared: hooks that come or change are told of, never run, and the old one is saved" {
    make_repo
    mkdir -p .git/hooks
    printf '#!/bin/sh\n# mine\n' >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    cp -p .git/hooks/pre-commit "$BATS_TEST_TMPDIR/pre-commit"
    local evil="touch $BATS_TEST_TMPDIR/ran"
    begin_plan
    add_task a -- 'write a A' "sh echo '$evil' >>$PWD/.git/hooks/pre-commit" \
        "sh printf '#!/bin/sh\n$evil' >$PWD/.git/hooks/post-merge; chmod +x $PWD/.git/hooks/post-merge" \
        "sh cp $PWD/.git/hooks/post-merge $PWD/.git/hooks/reference-transaction"
    run_plan --json
    assert_status 0
    [[ ! -e $BATS_TEST_TMPDIR/ran ]]
    assert_event git.state_changed a '"what":"hook","name":"hooks/post-merge"'
    eval "$(change hooks/post-merge undo)"
    [[ ! -e .git/hooks/post-merge ]]
    eval "$(change hooks/pre-commit undo)"
    cmp .git/hooks/pre-commit "$BATS_TEST_TMPDIR/pre-commit"
    [[ -x .git/hooks/pre-commit ]]
}

@test "shared: a hook that changed during the run is not the one that the plan wants" {
    make_repo
    begin_plan 'commit: {hooks: true}'
    add_task a -- 'write a A' \
        "sh printf '#!/bin/sh\ntouch $BATS_TEST_TMPDIR/ran' >$PWD/.git/hooks/pre-commit; chmod +x $PWD/.git/hooks/pre-commit"
    run_plan --json
    assert_status 1
    assert_event task.failed a 'hooks/pre-commit'
    [[ ! -e $BATS_TEST_TMPDIR/ran ]]
}

@test "shared: tracked files that an agent writes in the user's checkout are told of, and left" {
    make_repo
    echo mine >dir/inner
    begin_plan
    add_task a -- 'write a A' "sh echo stray >>$PWD/file" "sh touch $PWD/dir"
    run_plan --json
    assert_status 0
    assert_event git.state_changed a '"what":"checkout"'
    assert_event git.state_changed a '"paths":["file"]'
    [[ $(tail -n 1 file) == stray && $(<dir/inner) == mine ]]
    assert_in main a A
}

@test "shared: a file that is only touched is not reported" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "sh touch $PWD/file"
    run_plan --json
    assert_status 0
    refute_told
}

@test "shared: changed ignore rules are reported" {
    make_repo
    begin_plan
    add_task a -- 'write a A' "sh echo '*' >$PWD/.git/info/exclude"
    run_plan --json
    assert_event git.state_changed a '"what":"file","name":"info/exclude"'
    eval "$(change info/exclude undo)"
    [[ $(<.git/info/exclude) == *plan.yaml* ]]
}

# The user

@test "shared: changes of the user meanwhile are not undone" {
    make_repo
    git branch gone
    begin_plan
    add_task a -- "sh touch $BATS_TEST_TMPDIR/begun" "sh $(until_exists go-on)" 'write a A'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/begun"
    git config alias.st status
    git config user.email other@example.com
    git branch -q -D gone
    git commit -q --allow-empty -m "by the user"
    echo edited >>file
    git stash -q
    echo edited again >>file
    printf '#!/bin/sh\n' >.git/hooks/pre-push
    touch "$BATS_TEST_TMPDIR/go-on"
    end_plan
    assert_status 0
    [[ $(git config alias.st) == status && $(git config user.email) == other@example.com ]]
    refute_ref gone
    git merge-base --is-ancestor 'main^{/by the user}' main
    [[ $(tail -n 1 file) == 'edited again' ]]
    [[ $(git stash list | wc -l) -eq 1 ]]
    [[ -e .git/hooks/pre-push ]]
    assert_in main a A
}

# Reports

@test "shared: summary and reports have a section about it" {
    make_repo
    begin_plan
    add_task a -- 'write a A' 'sh git config core.bare true' 'sh git branch "new"'
    run_plan --report "$BATS_TEST_TMPDIR/r.md" --report "$BATS_TEST_TMPDIR/r.json"
    assert_status 0
    assert_contains 'outside its workspace: core.bare was set from false to true; put back'
    assert_contains 'Changed outside the workspaces'
    assert_contains '  a: refs/heads/new was made at '
    grep -q '^## Changed outside the workspaces' "$BATS_TEST_TMPDIR/r.md"
    grep -q '^- a: core.bare was set from false to true' "$BATS_TEST_TMPDIR/r.md"
    grep -q '"name": "core.bare"' "$BATS_TEST_TMPDIR/r.json"
}
