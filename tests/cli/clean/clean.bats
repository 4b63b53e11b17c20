#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # lines of shell are for agents; run sets output and status
# Leftovers of runs, interrupted at any point, and `anabranch clean`.

load ../helper
load ../run_helper

# The ref of what was saved of a task.
saved() { # TASK [ATTEMPT]
    git for-each-ref --format='%(refname)' "refs/anabranch/salvage/*/$1/${2:-1}"
}

# Starts the plan and kills its engine when there is such a file; its agents end with it.
kill_run_at() { # FILE [OPTION...]
    local file=$BATS_TEST_TMPDIR/$1
    shift
    start_plan "$@"
    wait_for test -e "$file"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    wait_for no_agents
}

# A step of an agent by which it can be seen, and goes no further.
stay() { # [FILE]
    echo "sh touch $BATS_TEST_TMPDIR/${1:-here}; sleep 1000"
}

workspace() { # TASK
    echo "$PWD"/.anabranch/worktrees/*/"$1"
}

admin() { # TASK
    echo "$PWD"/.git/worktrees/*-"$1"
}

# A run that was killed while its task had something of everything.
killed_run() {
    make_repo
    begin_plan
    add_task t -- 'write made 1' 'commit mine' 'append file ten' 'write more 1' "$(stay)"
    kill_run_at here
}

# Prints the user's refs, changes and stash, which must be the same afterwards.
user_state() {
    git for-each-ref --format='%(refname) %(objectname)' | grep -v anabranch
    git status --porcelain
    git stash list
    cat file .git/HEAD .git/config
}

# Once what is deleted in the background has gone.
assert_cleaned() { # [kept=N] [REF...]
    wait_for deleted
    assert_clean "$@"
}

deleted() {
    [[ -z $(find .git/anabranch/tmp -mindepth 1 2>/dev/null) && -z $(find .anabranch -name '*.gone' 2>/dev/null) ]]
}

# Runs that were killed

@test "clean: a live run is left alone, and ends well" {
    make_repo
    begin_plan
    add_task t -- 'write made 1' "sh touch $BATS_TEST_TMPDIR/here" "sh $(until_exists on)" 'write more 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    for option in --json --all; do
        run anabranch clean "$option"
        assert_status 0
        assert_contains 'its run is still running'
        refute_contains removed
    done
    mkdir "$BATS_TEST_TMPDIR/store"
    mv .git/anabranch/state.db* "$BATS_TEST_TMPDIR/store"
    run anabranch clean --all
    assert_contains 'its run is still running'
    refute_contains removed
    mv "$BATS_TEST_TMPDIR"/store/* .git/anabranch
    touch "$BATS_TEST_TMPDIR/on"
    end_plan
    assert_status 0
    assert_in main made 1
    assert_in main more 1
}

@test "clean: it keeps work that can be resumed; --all saves and removes that, and touches nothing else" {
    killed_run
    git worktree add -q ../theirs -b theirs
    echo dirty >>file
    echo new >untracked
    user_state >"$BATS_TEST_TMPDIR/before"
    run anabranch clean
    assert_status 0
    assert_contains 'can be resumed; --all saves and removes it'
    refute_contains removed
    run anabranch clean --all --dry-run
    assert_contains 'would remove  workspace'
    workspace_has t more && [[ -z $(saved t) ]] || fail "that was no dry run"
    run anabranch clean --all
    assert_status 0
    assert_contains "saved as $(basename "$(dirname "$(dirname "$(saved t)")")")/t/1; if its run is resumed, the task restarts"
    assert_in "$(saved t)" more 1
    assert_in "$(saved t)" made 1
    git log --format=%s "$(saved t)" | grep -qx mine || fail "no commit of the agent's"
    user_state | cmp - "$BATS_TEST_TMPDIR/before" || fail "the user's things were changed"
    git worktree remove ../theirs
    git branch -q -d theirs
    assert_cleaned 'refs/anabranch/salvage/*/t/1'
    run anabranch clean --all
    refute_contains removed
}

@test "clean: --run saves and removes what one interrupted run has left" {
    killed_run
    local id
    id=$(anabranch history --json | jq -r .run)
    run anabranch clean --run nosuch
    assert_status 2
    run anabranch clean --run "${id:0:15}"
    assert_status 0
    assert_in "$(saved t)" more 1
    assert_cleaned 'refs/anabranch/salvage/*/t/1'
}

@test "clean: it finds, saves and removes work that the store does not know" {
    killed_run
    rm .git/anabranch/state.db*
    run anabranch clean
    assert_status 0
    assert_in "$(saved t)" more 1
    [[ $(git diff --name-only main "$(saved t)" | paste -s -d ' ') == 'file made more' ]] || fail "content"
    assert_cleaned 'refs/anabranch/salvage/*/t/1'
}

@test "clean: a run that was killed while it made a workspace leaves nothing to save" {
    make_repo
    slow_checkout
    begin_plan
    add_task t -- 'write made 1'
    kill_run_at smudging
    touch "$BATS_TEST_TMPDIR/smudge-on"
    run anabranch clean --all
    assert_status 0
    assert_contains 'removed  workspace'
    assert_cleaned
}

@test "clean: a run that was killed while it verified, and one with more tasks and attempts" {
    make_repo
    begin_plan
    add_task landed -- 'write landed 1'
    add_task again "depends_on: [landed]" "retry: {transient: 1}" -- 'write again 1' \
        "sh test -e $BATS_TEST_TMPDIR/failed || { touch $BATS_TEST_TMPDIR/failed; exit 1; }" 'write again 2' "$(stay again)"
    add_task verified "depends_on: [landed]" "verify: 'touch $BATS_TEST_TMPDIR/verifying; sleep 1000'" -- 'write verified 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/again" -a -e "$BATS_TEST_TMPDIR/verifying"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    run anabranch clean --all
    assert_status 0
    assert_in main landed 1
    assert_in "$(saved again 1)" again 1
    assert_in "$(saved again 2)" again 2
    assert_in "$(saved verified)" verified 1
    run anabranch salvage show verified
    refute_contains again
    assert_cleaned 'refs/anabranch/salvage/*/again/1' 'refs/anabranch/salvage/*/again/2' 'refs/anabranch/salvage/*/verified/1'
}

# Half-made workspaces

@test "clean: it saves the work that git knew of a workspace whose folder is gone" {
    make_repo
    begin_plan
    add_task t -- 'write made 1' 'commit mine' 'sh git checkout -q --detach HEAD^' 'write other 1' 'commit other' \
        'sh git checkout -q -' 'write staged 1' 'sh git add staged' "$(stay)"
    kill_run_at here
    rm -rf "$(workspace t)"
    run anabranch clean --all
    assert_status 0
    assert_in "$(saved t)" made 1
    assert_in "$(saved t)" staged 1
    [[ $(git log --format=%s -1 "$(saved t).commits^1") == other ]] || fail "$(git for-each-ref)"
    assert_cleaned 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/t/1.commits'
}

@test "clean: a folder that git knows nothing of any more is saved by what it began with" {
    killed_run
    rm -rf "$(admin t)"
    git worktree list | wc -l | grep -qx 1
    run anabranch clean --all
    assert_status 0
    assert_in "$(saved t)" more 1
    assert_in "$(saved t)" made 1
    [[ $(git diff --name-only main "$(saved t)" | paste -s -d ' ') == 'file made more' ]] || fail "content"
    assert_cleaned 'refs/anabranch/salvage/*/t/1'
}

@test "clean: folder alone, without branch, store and all" {
    killed_run
    git update-ref -d "$(git for-each-ref --format='%(refname)' refs/heads/anabranch)"
    rm -rf "$(admin t)" .git/anabranch/state.db* .git/anabranch/runs
    run anabranch clean
    assert_status 0
    assert_in "$(saved t)" more 1
    assert_cleaned 'refs/anabranch/salvage/*/t/1'
}

@test "clean: it finishes half-done removals, and removes half-made folders, a lock, and a branch without a run" {
    killed_run
    local run
    run=$(basename "$(dirname "$(workspace t)")")
    anabranch clean --all >/dev/null
    wait_for deleted
    rm .git/anabranch/state.db*
    mkdir -p ".anabranch/worktrees/$run/u.gone/x" ".git/anabranch/tmp/$run-u" ".git/anabranch/tmp/$run-u.gone" .git/refs/heads/anabranch
    record_folder ".anabranch/worktrees/$run/u.gone"
    touch ".git/anabranch/runs/$run/run.alive"
    echo '*' >.anabranch/worktrees/.gitignore
    touch .git/refs/heads/anabranch/x.lock
    git branch "anabranch/$run/merged" main
    git branch "anabranch/$run/lone" "$(saved t)"
    run anabranch clean
    assert_status 0
    assert_in "$(saved lone)" more 1
    [[ -z $(saved merged) ]] || fail "that was in main"
    assert_cleaned 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/lone/1'
}

@test "clean: killed at any of its steps it loses nothing, and the next one continues" {
    killed_run
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/git" <<END
#!/bin/sh
echo >>'$BATS_TEST_TMPDIR/calls'
if [ "\$(wc -l <'$BATS_TEST_TMPDIR/calls')" -eq "\$KILL_AT" ]; then
    [ "\$KILL_HOW" = before ] || '$(command -v git)' "\$@"
    kill -KILL \$PPID
    exit 1
fi
exec '$(command -v git)' "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/git"
    local k=2 how=before
    status=137
    while ((status == 137)); do
        : >"$BATS_TEST_TMPDIR/calls"
        KILL_AT=$k KILL_HOW=$how PATH=$BATS_TEST_TMPDIR/bin:$PATH run anabranch clean --all
        [[ $status -eq 137 || $status -eq 0 ]] || fail "killed $how call $k"
        workspace_has t more || [[ -n $(saved t) ]] || fail "lost at call $k, $how"
        k=$((k + 3))
        [[ $how == before ]] && how=after || how=before
    done
    ((k > 20)) || fail "only $k calls"
    assert_in "$(saved t)" more 1
    assert_in "$(saved t)" made 1
    assert_cleaned 'refs/anabranch/salvage/*/t/1'
}

# The user's own files

@test "clean: a workspace in conflict stays until it is resolved, or --all saves it" {
    make_repo
    begin_plan
    add_task a 'order: 1' -- 'write file a'
    add_task b 'order: 2' -- 'write file b'
    add_task c 'order: 3' -- 'write file c'
    run_plan
    assert_status 4
    echo 'by hand' >>"$(workspace b)/file"
    run anabranch clean
    assert_status 0
    assert_contains "workspace $(workspace b): its conflict is for you to resolve; --all saves and removes it"
    refute_contains removed
    git -C "$(workspace c)" merge -q -s ours -m resolved main
    git merge -q --ff-only "$(git -C "$(workspace c)" rev-parse HEAD)"
    local c
    c=$(workspace c)
    run anabranch clean
    assert_contains "removed  workspace $c: the base branch has everything in it"
    [[ ! -e $c && -e $(workspace b) ]] || fail "the wrong one"
    run anabranch clean --all
    assert_status 0
    assert_in "$(saved b)" file "$(printf '%s\n' b 'by hand')"
    assert_cleaned 'refs/anabranch/salvage/*/b/1'
}

@test "clean: kept workspaces go when they are clean, and not before" {
    make_repo
    begin_plan
    add_task clean -- 'write clean 1'
    add_task dirty -- 'write dirty 1'
    run_plan --keep
    assert_status 0
    echo mine >"$(workspace dirty)/mine"
    run anabranch clean
    assert_status 0
    [[ ! -e $(workspace clean) && -e $(workspace dirty)/mine ]] || fail "$(ls .anabranch/worktrees/*)"
    assert_contains 'it was kept for you, and has something that main lacks'
    rm "$(workspace dirty)/mine"
    anabranch clean
    assert_cleaned
}

@test "clean: locked workspaces, those that are worked in, and branches that are checked out stay" {
    make_repo
    begin_plan
    add_task locked -- 'write locked 1' 'sh touch "$STAMPS.locked"; sleep 1000'
    add_task used -- 'write used 1' 'sh touch "$STAMPS.used"; sleep 1000'
    add_task branch -- 'write branch 1' 'commit mine' 'sh touch "$STAMPS.branch"; sleep 1000'
    start_plan
    wait_for test -e "$STAMPS.locked" -a -e "$STAMPS.used" -a -e "$STAMPS.branch"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    wait_for no_agents
    echo 'not to be moved' >"$(admin locked)/locked"
    (cd "$(workspace used)" && exec sleep 1000 3>&-) &
    local sleeper=$! ref
    ref=$(git for-each-ref --format='%(refname:short)' 'refs/heads/anabranch/*/branch')
    git worktree add -q --force ../theirs "$ref"
    run anabranch clean --all
    kill "$sleeper"
    wait "$sleeper" || true
    assert_status 0
    assert_contains "it is locked: not to be moved"
    assert_contains "process $sleeper works in it: sleep 1000"
    assert_contains "branch $ref: it is checked out in "
    workspace_has locked locked && workspace_has used used && [[ ! -e $(workspace branch) ]] || fail "$(ls .anabranch/worktrees/*)"
    [[ $(git -C ../theirs rev-parse --abbrev-ref HEAD) == "$ref" && -z $(git -C ../theirs status --porcelain) ]] || fail "the user's worktree"
    git worktree remove ../theirs
    git worktree unlock "$(workspace locked)"
    run anabranch clean --all
    assert_status 0
    assert_in "$(saved locked)" locked 1
    assert_in "$(saved used)" used 1
    assert_in "$(saved branch)" branch 1
    assert_cleaned 'refs/anabranch/salvage/*/*/1'
}

@test "clean: a result that the checkout could not follow stays until it is merged" {
    make_repo
    begin_plan
    add_task t -- 'write file changed'
    echo mine >>file
    run_plan
    assert_status 4
    run anabranch clean --all
    assert_contains 'it has landed work that main lacks'
    git checkout -q file
    git merge -q "$(git for-each-ref --format='%(refname)' refs/heads/anabranch)"
    anabranch clean
    assert_cleaned
}

@test "clean: submodules, and a worktree that an agent made inside" {
    git init -q -b main lib
    git -C lib -c user.name=x -c user.email=x@x commit -q --allow-empty -m lib
    make_repo
    git -c protocol.file.allow=always submodule --quiet add "$PWD/../lib" lib
    git commit -q -m lib
    cp .git/config "$BATS_TEST_TMPDIR/config"
    begin_plan
    add_task t -- "sh git -c protocol.file.allow=always submodule --quiet update --init" \
        "sh cd lib && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m inner" \
        'sh git worktree add -q --detach in && cd in && echo 1 >new && git add new && git commit -q -m inside' "$(stay)"
    kill_run_at here
    run anabranch clean --all
    assert_status 0
    git -C lib cat-file -e "$(git rev-parse "$(saved t):lib")" || fail "the submodule's commit is gone"
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/t/1.nested/1/saved')" new 1
    git config --remove-section submodule.lib 2>/dev/null || true
    cp "$BATS_TEST_TMPDIR/config" .git/config
    assert_cleaned 'refs/anabranch/salvage/*/t/1' 'refs/anabranch/salvage/*/t/1.nested/1/saved'
}

# Other leftovers

@test "clean: logs go after 30 days, or with --all; never those of a run that can be resumed" {
    killed_run
    begin_plan
    add_task u -- 'write u 1'
    run_plan
    assert_status 0
    local old=.git/anabranch/runs/20200101-000000-abcd
    mkdir -p "$old/t"
    touch -d '31 days ago' "$old"
    run anabranch clean
    assert_contains "logs $PWD/$old: older than 30 days"
    assert_contains "logs $PWD/.git/anabranch/runs: of 1 run of the last 30 days; --all removes them"
    assert_contains "logs $PWD/.git/anabranch/runs: of 1 run still running or resumable"
    wait_for test ! -e "$old"
    run anabranch clean --all
    assert_contains 'of 1 run still running or resumable'
    refute_contains 'of the last 30 days'
    local option
    for option in --all "--run=$(ls .git/anabranch/runs)"; do
        run anabranch clean --dry-run "$option"
        assert_contains 'of 1 run still running or resumable'
        refute_contains '--all removes them'
    done
    [[ $(find .git/anabranch/runs -mindepth 1 -maxdepth 1 | wc -l) -eq 1 ]] || fail "$(ls .git/anabranch/runs)"
    run anabranch history
    [[ ${#lines[@]} -eq 2 ]] || fail "the history is gone"
}

@test "clean: trees that the pool of a killed run held go, and so do retired ones" {
    killed_run
    local run
    run=$(dirname "$(workspace t)")
    mkdir "$run/.0.gone" "$run/u.gone"
    record_folder "$run/.0.gone" "$run/u.gone"
    run anabranch clean --all
    assert_status 0
    assert_contains "folder $run/.0.gone: a workspace that was being removed"
    assert_cleaned "$(saved t)"
}

@test "clean: trees that workspaces are made of go with --all, unfinished ones and none in use" {
    export ANABRANCH_PROVIDER=checkout
    make_repo
    begin_plan
    add_task a -- 'write a 1'
    run_plan
    assert_status 0
    local pristine=$PWD/.git/anabranch/pristine
    mkdir -p "$pristine"/{0123,4567,89ab.17.new}/tree
    touch "$pristine"/{0123,4567}/lock
    exec 9<"$pristine/4567/lock"
    flock -s 9
    run anabranch clean
    assert_status 0
    assert_contains "kept     tree $pristine/0123: the next run makes workspaces from it; --all removes it"
    assert_contains "kept     tree $pristine/4567: it is in use"
    assert_contains "removed  tree $pristine/89ab.17.new: it was never finished"
    run anabranch clean --all --dry-run
    assert_contains "would remove  tree $pristine/0123: "
    [[ $(cd "$pristine" && echo *) == '0123 4567' ]] || fail "that was no dry run"
    run anabranch clean --all
    assert_status 0
    [[ $(cd "$pristine" && echo *) == 4567 ]] || fail "left: $(ls "$pristine")"
    exec 9<&-
    run anabranch clean --all
    wait_for deleted
    [[ ! -e $pristine ]] || fail "left: $(find "$pristine")"
}

@test "clean: says what each thing takes on the disk, and all of them" {
    unset ANABRANCH_PROVIDER # an overlay takes next to nothing
    killed_run
    head -c 3000000 /dev/urandom >"$(workspace t)/large"
    sync "$(workspace t)/large" # else it has no blocks on some file systems
    ln "$(workspace t)/large" "$(workspace t)/same"
    run anabranch clean --all --dry-run
    assert_status 0
    [[ ${lines[0]} == 'would remove  workspace '*' (2.'?' MiB)' ]] || fail "not with the workspace"
    [[ ${lines[-1]} == 'Total: 2.'?' MiB on the disk.' ]] || fail "no sum"
    run anabranch clean --all --dry-run --json
    local bytes
    bytes=$(jq 'select(.kind == "workspace") | .bytes' <<<"$output")
    ((bytes > 3000000 && bytes < 3100000)) || fail "not the bytes of the workspace: $bytes"
    jq -e -s 'all(.kind)' <<<"$output" >/dev/null || fail "more than things"
    run anabranch clean --all
    [[ ${lines[-1]} == 'Total: 2.'?' MiB on the disk.' ]] || fail "no sum"
    assert_cleaned "$(saved t)"
}

@test "doctor: counts the copies of saved work in the vault" {
    make_repo
    begin_plan 'defaults: {retry: 0}'
    add_task t -- 'write half H' 'exit 1'
    add_task u -- 'write half H' 'exit 1'
    run_plan
    assert_status 1
    touch .git/anabranch/vault/other "$(echo .git/anabranch/vault/*/t)/other"
    run anabranch doctor
    assert_contains "2 with "
    assert_contains " in $PWD/.git/anabranch/vault; 'anabranch salvage drop' removes one"
    run anabranch doctor --json
    [[ $(jq -r '.findings[] | select(.name == "disk.vault") | "\(.count) \(.bytes > 0)"' <<<"$output") == "2 true" ]] || fail
}

@test "doctor: says what runs have on the disk, and where" {
    export ANABRANCH_PROVIDER=checkout
    killed_run
    head -c 3000000 /dev/urandom >"$(workspace t)/large"
    sync "$(workspace t)/large" # else it has no blocks on some file systems
    mkdir "$(dirname "$(workspace t)")/u.gone"
    record_folder "$(dirname "$(workspace t)")/u.gone"
    head -c 30000 /dev/urandom >"$(dirname "$(workspace t)")/u.gone/file"
    sync "$(dirname "$(workspace t)")/u.gone/file"
    run anabranch doctor
    assert_contains " MiB in $PWD/.anabranch/worktrees; each is removed when"
    assert_contains " in $PWD/.anabranch/worktrees; deleted in"
    assert_contains 'ok  base trees            none'
    run anabranch doctor --json
    local counts
    counts=$(jq -r '.findings[] | select(.bytes) | "\(.name) \(.count) \(.bytes > 0)"' <<<"$output")
    [[ $counts == "disk.workspaces 1 true
disk.leaving 1 true
disk.pristine 0 false
disk.shared 0 false
disk.logs 1 true
disk.vault 0 false
disk.store "[1-3]" true" ]] || fail "$counts"
    run anabranch clean --all
    assert_cleaned "$(saved t)"
    run anabranch doctor
    assert_contains 'ok  workspaces            none'
    assert_contains 'ok  being deleted         none'
}

@test "doctor: workspaces are found in whatever folder the plan has them" {
    make_repo
    begin_plan 'workspace: {dir: ../elsewhere}'
    add_task t -- "$(stay)"
    kill_run_at here
    run anabranch doctor
    assert_contains "ok  workspaces            1 with "
    mv ../elsewhere/*/t "$(echo ../elsewhere/*)/t.gone"
    rm -r .git/worktrees
    run anabranch doctor
    assert_contains "ok  workspaces            none"
    assert_contains "ok  being deleted         1 with "
    cd ..
    run anabranch doctor
    assert_contains 'ok  workspaces            none'
}

@test "clean: nothing to do, outside a repository, and as JSON" {
    run anabranch clean
    assert_status 0
    assert_output 'There is nothing to clean.'
    begin_plan
    add_task r 'read_only: true' -- 'say hello'
    run_plan
    run anabranch clean --all --json
    assert_status 0
    [[ $(jq -r '[.action, .kind] | join(" ")' <<<"$output") == 'removed logs' ]] || fail "JSON"
    wait_for deleted_here
    make_repo
    run anabranch clean
    assert_output 'There is nothing to clean.'
}

deleted_here() {
    [[ -z $(find .anabranch/runs .anabranch/tmp -mindepth 1 2>/dev/null) ]]
}

@test "clean: the folder of a run that was killed before it began goes" {
    make_repo
    begin_plan
    add_task a -- 'write a A'
    run_plan
    local folder=.git/anabranch/runs/20260301-120000-abcd
    mkdir -p "$folder"
    touch "$folder/run.alive" "$folder/plan.json" "$folder/run.json"
    run anabranch clean --dry-run
    assert_contains 'its run was killed before it began'
    [[ -e $folder ]] || fail 'a dry run has removed it'
    run anabranch clean
    assert_status 0
    assert_contains 'its run was killed before it began'
    [[ ! -e $folder ]] || fail 'it is left'
    [[ -n $(ls .git/anabranch/runs) ]] || fail 'the run that ended is gone as well'
}

@test "clean: status and reports show no workspace, branch or log that is gone" {
    make_repo
    begin_plan
    add_task a -- 'sh sed -i s/five/a/ file' "sh $(until_exists b-works)"
    add_task b -- 'sh sed -i s/five/b/ file' "sh touch $BATS_TEST_TMPDIR/b-works; $(until_exists a-landed)"
    add_task c 'retry: 0' -- 'write c 1' 'exit 3'
    start_plan --keep
    wait_for in_events task.landed a
    touch "$BATS_TEST_TMPDIR/a-landed"
    end_plan
    assert_status 4
    run anabranch status
    assert_contains 'Workspace of a: '
    assert_contains 'Workspace of c: '
    assert_contains 'Last output of c, from '
    assert_contains 'Its workspace is '
    assert_contains '&& git merge anabranch/'
    assert_contains 'Logs: '
    anabranch clean --all
    [[ -z $(git for-each-ref refs/heads/anabranch) ]] || fail "a branch is left"
    run anabranch status
    assert_status 0
    refute_contains "$PWD"
    refute_contains 'git merge'
    assert_contains 'Last output of c:'
    assert_contains "anabranch salvage show $(sqlite3 .git/anabranch/state.db 'select id from runs')/b"
    run anabranch status --json
    [[ $(jq -c '[.logs, .tasks[].logs, .tasks[].workspace, .tasks[].branch] | unique' <<<"$output") == '[null]' ]] || fail
    local format
    for format in md junit html; do
        run anabranch report last --format $format
        assert_status 0
        refute_contains "$PWD/.git"
        refute_contains "$PWD/.anabranch"
    done
    run anabranch logs a
    assert_status 3
    assert_contains 'no such log'
    run anabranch materialise b
    assert_status 2
}
