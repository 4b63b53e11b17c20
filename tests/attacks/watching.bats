#!/usr/bin/env bats
# Changes that an agent makes outside its workspace, and how we notice them: saved work, the saved plan, the user's
# checkout.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # start_plan sets events and engine, run_apart sets output

load ../cli/helper
load ../cli/run_helper
load attacks_helper

# A member of the one git.state_changed event about NAME, of output that is --json.
change() { # NAME MEMBER
    printf '%s\n' "$output" | grep -F '"event":"git.state_changed"' | grep -F "\"name\":\"$1\"" |
        sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p"
}

# The saved plan

# A run that was killed, whose folder is $saved.
killed_run() {
    make_repo
    begin_plan
    add_task a -- "sh touch $BATS_TEST_TMPDIR/a-runs" "sh $(until_exists never)" 'write a A'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/a-runs"
    saved=$(echo "$PWD"/.git/anabranch/runs/*)
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || :
}

@test "a saved plan that an agent has rewritten is not resumed" {
    killed_run
    sed -i 's/touch/evil/' "$saved/plan.json"
    local how
    for how in --saved ''; do
        run_apart anabranch resume $how 3>&-
        assert_status 2
        [[ $stderr == *"'$saved/plan.json' is not as the run wrote it"* ]] || fail "resume $how"
    done
    sed -i 's/evil/touch/' "$saved/plan.json"
    touches never
    run_apart anabranch resume --saved 3>&-
    assert_status 0
    assert_in main a A
}

@test "a saved run whose program an agent has replaced is not resumed" {
    killed_run
    sed -i 's/"version":1/"version":1,"engine_exe":"\/tmp\/evil"/' "$saved/run.json"
    run_apart anabranch resume 3>&-
    assert_status 2
    [[ $stderr == *"'$saved/run.json' is not as the run wrote it"* ]] || fail "it was resumed"
}

# Saved work

# A line of an agent's shell that waits for a ref that ends so, deletes it and all of its kind, and prunes.
wipe() { # END PATTERN
    cat <<END
until git -C "\$REPO" for-each-ref | grep -q '$1\$'; do sleep 0.02; done
cd "\$REPO" && git for-each-ref --format='delete %(refname)' '$2' | git update-ref --stdin &&
git reflog expire --expire=now --all && git prune --expire=now
END
}

@test "saved work that an agent deletes and prunes is restored" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task victim 'retry: 0' -- 'write half H' 'commit mine' 'sh git reset -q --hard HEAD~' 'write half H' 'exit 1'
    # It waits until the work is saved as a whole: then the victim's workspace goes.
    agent evil "until git -C \"\$REPO\" for-each-ref | grep -q 'victim/1\$' && [[ ! -e \${ws%/*}/victim ]]; do sleep 0.02; done
$(wipe victim/1 refs/anabranch/salvage)" 'retry: 0'
    run_plan --json
    assert_status 1
    local ref
    ref=$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/victim/1')
    assert_in "$ref" half H
    assert_event git.state_changed evil "\"what\":\"ref\",\"name\":\"$ref\""
    assert_event git.state_changed evil '"restored":true'
    [[ $(git log -1 --format=%s "$ref.commits^1") == mine ]] || fail 'the commit that was reset away'
    assert_clean 'refs/anabranch/salvage/*/victim/1' 'refs/anabranch/salvage/*/victim/1.commits'
}

# The agent is as fast as can be: it strikes when the ref is there and its copy is not.
@test "work whose objects are deleted while we save it is saved again" {
    make_repo
    begin_plan
    add_task victim 'retry: 0' -- 'write half H' 'exit 1'
    wrap_git 'if [[ $sub == bundle && ! -e $dir/struck ]]; then' \
        '    touch "$dir/struck"' \
        '    "$git" for-each-ref --format="delete %(refname)" refs/anabranch/salvage | "$git" update-ref --stdin' \
        '    "$git" reflog expire --expire=now --all && "$git" prune --expire=now' \
        'fi'
    run_plan --json
    assert_status 1
    [[ -e $BATS_TEST_TMPDIR/struck ]] || fail 'nothing was deleted'
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/victim/1')" half H
    git fsck --no-dangling >"$BATS_TEST_TMPDIR/fsck" 2>&1 || fail "$(<"$BATS_TEST_TMPDIR/fsck")"
    [[ -s $(echo .git/anabranch/vault/*/victim/1.bundle) ]] || fail 'the vault has no copy'
    assert_clean 'refs/anabranch/salvage/*/victim/1'
}

@test "saved work that an agent deletes together with its copy is reported as lost" {
    reaches_our_folder
    make_repo
    begin_plan 'limits: {workers: 1}'
    add_task victim 'retry: 0' -- 'write half H' 'exit 1'
    agent evil "$(wipe victim/1 refs/anabranch/salvage | sed 's/^cd/rm -r "$REPO"\/.git\/anabranch\/vault; cd/'); echo 1 >\"\$ws/own\"" 'retry: 0'
    run_plan
    assert_status 1
    local ref
    ref=refs/anabranch/salvage/$(ls .git/anabranch/runs)/victim/1
    assert_contains "evil: $ref was deleted, it was "
    assert_contains "; its work is lost"
    refute_contains "git update-ref $ref"
    refute_contains 'is saved:'
}

@test "saved work that an agent points elsewhere is restored, and so is the run's tip" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task first -- 'write first F'
    add_task victim 'retry: 0' 'depends_on: [first]' -- 'write half H' 'exit 1'
    agent evil 'until git -C "$REPO" for-each-ref | grep -q "victim/1\$"; do sleep 0.02; done
cd "$REPO" && for ref in $(git for-each-ref --format="%(refname)" refs/anabranch); do git update-ref $ref HEAD~; done; echo 1 >"$ws/evil"' \
        'retry: 0'
    add_task last 'depends_on: [evil]' -- 'write last L'
    run_plan --json
    assert_status 1
    assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/victim/1')" half H
    assert_event git.state_changed evil '"name":"refs/anabranch/runs/'
    # While it is being saved, or afterwards.
    printf '%s\n' "$output" | grep git.state_changed | grep -qE 'victim/1: it is restored|victim/1".*"restored":true' ||
        fail 'the salvage is not told of'
    assert_event task.landed last
    assert_in main first F
    assert_in main last L
    assert_clean 'refs/anabranch/salvage/*/victim/1'
}

@test "the branch of a task in conflict that an agent deletes and prunes is restored" {
    make_repo
    echo one >file
    git add file
    git commit -q -m file
    begin_plan 'limits: {workers: 3}'
    add_task first -- 'write file first'
    add_task victim 'retry: 0' -- "sh $(until_exists first-landed)" 'write file victim'
    agent evil "until [[ -e $BATS_TEST_TMPDIR/conflicted ]]; do sleep 0.02; done
ref=\$(git -C \"\$REPO\" for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/victim')
git -C \"\$REPO\" update-ref --no-deref -d \$ref
echo ref: refs/heads/main >\"\$(echo \$REPO/.git/worktrees/*-victim)/HEAD\"; rm -rf \$REPO/.git/worktrees/*-victim/logs
git -C \"\$REPO\" reflog expire --expire=now --all && git -C \"\$REPO\" prune --expire=now; echo 1 >own"
    start_plan
    wait_for in_events task.landed first
    touches first-landed
    wait_for in_events task.conflicted victim
    local ref commit
    ref=$(git for-each-ref --format='%(refname)' 'refs/heads/anabranch/*/victim')
    commit=$(git rev-parse "$ref")
    touches conflicted
    end_plan
    assert_status 4
    [[ $(git rev-parse "$ref") == "$commit" ]] || fail 'the branch is not where it was'
    assert_in "$ref" file victim
    assert_event git.state_changed evil "\"what\":\"ref\",\"name\":\"$ref\""
    assert_event git.state_changed evil '"restored":true'
    [[ -e $(echo .git/anabranch/vault/*/victim)/branch.bundle ]]
    anabranch clean --all
    [[ ! -e $(echo .git/anabranch/vault/*/victim)/branch.bundle ]] || fail 'its copy stays'
}

@test "saved work that goes after the run is restored by the next look at it, until a person drops it" {
    make_repo
    begin_plan
    add_task a 'retry: 0' -- 'write half H' 'exit 1'
    run_plan
    assert_status 1
    local ref id
    ref=$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)
    id=${ref#refs/anabranch/salvage/}
    git update-ref -d "$ref"
    git prune --expire=now
    run_apart anabranch salvage
    assert_status 0
    [[ $output == *"$id"* && $stderr == *"another program had deleted or moved $ref: restored"* ]] || fail 'salvage'
    assert_in "$ref" half H
    echo nonsense >".git/anabranch/vault/$id.bundle"
    run_apart anabranch salvage list
    [[ $status == 0 && $output == *"$id"* && $stderr == *'is no longer a bundle'* ]] || fail 'a spoilt bundle'
    run_apart anabranch salvage drop "$id"
    assert_status 0
    run_apart anabranch salvage
    assert_output 'There is no saved work.'
    [[ -z $stderr && -z $(find .git/anabranch/vault -type f) ]] || fail 'it comes back'
}

# The user's checkout

@test "files of the checkout that git does not track are watched, and their content is saved" {
    make_repo
    printf '%s\n' .env node_modules/ >>.git/info/exclude
    echo note >notes.txt
    echo SECRET=1 >.env
    echo touched >same
    mkdir -p drafts node_modules/x
    echo draft >drafts/one
    echo lib >node_modules/x/lib.js
    begin_plan
    agent evil 'cd "$REPO" && echo overwritten >notes.txt && rm .env && rm -r drafts && touch same &&
echo "all: ; rm -rf ~" >GNUmakefile && echo evil >node_modules/x/lib.js && mkdir -p new/deep && echo 1 >new/deep/file
echo 1 >"$ws/mine"'
    run_plan --json --report "$BATS_TEST_TMPDIR/r.md"
    assert_status 0
    local file
    for file in notes.txt .env drafts/one node_modules/x/lib.js; do
        assert_event git.state_changed evil "\"what\":\"untracked\",\"name\":\"$file\""
        eval "$(change "$file" undo)"
    done
    [[ $(<notes.txt) == note && $(<.env) == SECRET=1 && $(<node_modules/x/lib.js) == lib ]] || fail 'not undone'
    [[ -s $(change drafts/one saved) ]] || fail 'the deleted draft is not saved'
    for file in GNUmakefile new/deep/file; do
        assert_event git.state_changed evil "\"what\":\"untracked\",\"name\":\"$file\""
        eval "$(change "$file" undo)"
        [[ ! -e $file ]] || fail "$file is still there"
    done
    [[ $(printf '%s\n' "$output" | grep -c '"what":"untracked"') == 6 ]] || fail 'too much is told'
    grep -qF "evil: the file GNUmakefile was made; to undo: rm" "$BATS_TEST_TMPDIR/r.md" || fail "$(<"$BATS_TEST_TMPDIR/r.md")"
}

@test "files of the checkout that an agent replaces by a symlink or a folder are put back, and only they" {
    make_repo
    printf '%s\n' ign/ >>.git/info/exclude
    mkdir ign drafts "$HOME/other"
    echo note >note
    echo more >extra
    echo hidden >ign/file
    echo draft >drafts/one
    ln -s note link
    echo "user's" >"$HOME/victim"
    echo "user's" >"$HOME/other/one"
    begin_plan
    agent evil 'cd "$REPO" && ln -sf "$HOME/victim" note && rm extra && mkdir extra && ln -sfn file link && rm -r ign &&
ln -s "$HOME" ign && rm -r drafts && ln -s "$HOME/other" drafts; echo 1 >"$ws/mine"'
    run_plan --json
    assert_status 0
    local file undo
    for file in note extra link ign ign/file drafts drafts/one; do
        assert_event git.state_changed evil "\"what\":\"untracked\",\"name\":\"$file\""
    done
    for file in drafts/one ign/file note link; do
        undo=$(change "$file" undo)
        eval "$undo" || fail "$file: $undo"
    done
    [[ $(<"$HOME/victim") == "user's" && $(<"$HOME/other/one") == "user's" ]] || fail 'to undo it changes what was linked'
    [[ ! -e $HOME/file && ! -L note && $(<note) == note && $(readlink link) == note ]] || fail 'not undone'
    [[ $(cat "$(change extra saved)") == more && $(cat "$(change drafts/one saved)") == draft ]] || fail 'not saved'
}

@test "we report changes of an agent that stages, unstages or hides files in the index of the checkout" {
    make_repo
    echo other >other
    git add other
    git commit -q -m other
    echo staged >>dir/inner
    git add dir/inner
    echo mine >dir/inner
    begin_plan
    agent evil 'cd "$REPO" && echo bad >evil.sh && git add evil.sh && git reset -q dir/inner &&
git update-index --assume-unchanged file && git update-index --skip-worktree other; echo 1 >"$ws/mine"'
    run_plan --json
    assert_status 0
    local undo
    printf '%s\n' "$output" | grep '"what":"index"' >"$BATS_TEST_TMPDIR/told"
    [[ $(wc -l <"$BATS_TEST_TMPDIR/told") == 3 ]] || fail "$(<"$BATS_TEST_TMPDIR/told")"
    for undo in '"evil.sh"' '"dir/inner"' '"file","other"'; do
        grep -qF "\"paths\":[$undo]" "$BATS_TEST_TMPDIR/told" || fail "nothing of $undo: $(<"$BATS_TEST_TMPDIR/told")"
    done
    while read -r undo; do
        eval "$undo"
    done < <(sed -n 's/.*"undo":"\([^"]*\)".*/\1/p' "$BATS_TEST_TMPDIR/told")
    [[ $(git show :dir/inner) == $'inner\nstaged' ]] || fail 'what was staged is not back'
    ! git ls-files -v | grep -v '^H' || fail 'something is hidden still'
}

@test "we do not report files that the user has staged, nor our own landing" {
    make_repo
    echo staged >>dir/inner
    git add dir/inner
    echo note >notes.txt
    begin_plan
    add_task a -- 'write a A'
    add_task b 'depends_on: [a]' -- 'write b B'
    run_plan --json
    assert_status 0
    assert_in main b B
    refute_event git.state_changed '' '"what"'
    [[ $(git diff --cached --name-only) == dir/inner && $(<b) == B ]] || fail "$(git status --porcelain)"
}

@test "of a folder with very many files those that we know are watched, and nothing is wrong about the rest" {
    make_repo
    echo many/ >>.git/info/exclude
    mkdir many
    (cd many && seq -f 'f%05.0f' 5200 | xargs touch)
    echo note >zz
    begin_plan
    agent evil 'cd "$REPO" && rm many/f00003 && echo 1 >many/f00001a && echo 2 >zz; echo 1 >"$ws/mine"'
    run_plan --json
    assert_status 0
    assert_event git.state_changed evil '"name":"many/f00003"'
    assert_event git.state_changed evil '"name":"zz"'
    [[ $(printf '%s\n' "$output" | grep -c '"what":"untracked"') == 2 ]] || fail 'too much is told'
}

@test "an agent that deletes the run's tip again and again does not keep others from landing" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    agent evil 'cd "$REPO"; until test -e "'"$BATS_TEST_TMPDIR"'/over"; do
for ref in $(git for-each-ref --format="%(refname)" refs/anabranch/runs); do git update-ref -d $ref; done
touch "'"$BATS_TEST_TMPDIR"'/deleted"; sleep 0.01; done 2>/dev/null; echo 1 >"$ws/evil"'
    add_task a 'retry: 0' -- "sh $(until_exists deleted)" 'write a A'
    add_task b 'retry: 0' 'depends_on: [a]' -- 'write b B'
    start_plan
    wait_for in_events task.landed b
    touches over
    end_plan
    assert_status 0
    assert_in main b B
    assert_in main a A
    assert_event git.state_changed '' '"name":"refs/anabranch/runs/'
    assert_clean
}
