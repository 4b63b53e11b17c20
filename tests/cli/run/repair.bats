#!/usr/bin/env bats
# Repair: work that fails its verification, leaves its paths or is in conflict is sent back to its agent,
# which resumes its session in its workspace.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2034 # the helpers look at status and output
# shellcheck disable=SC2154 # start_plan sets engine, run_apart stderr

load ../helper
load ../run_helper

kill_engine() {
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || true
    rm -f "$BATS_TEST_TMPDIR/engine.pid"
    wait_for no_agents
}

# The sessions that the attempts of a task were, each once.
sessions() { # TASK
    jq -r 'select(.type == "start") | .session' .git/anabranch/runs/*/"$1"/*/out | sort -u | paste -s -d ' '
}

# Prints the prompt of an attempt.
prompt_of() { # TASK ATTEMPT
    cat .git/anabranch/runs/*/"$1/$2/prompt"
}

assert_prompt() { # TASK ATTEMPT TEXT
    [[ $(prompt_of "$1" "$2") == *"$3"* ]] || fail "$1 was not told: $3" "$(prompt_of "$1" "$2")"
}

refute_prompt() { # TASK ATTEMPT TEXT
    [[ $(prompt_of "$1" "$2") != *"$3"* ]] || fail "$1 was told: $3" "$(prompt_of "$1" "$2")"
}

# One workspace, and one session.
assert_went_on() { # TASK
    [[ $(sessions "$1") == "sim-$1-1" ]] || fail "sessions of $1: $(sessions "$1")"
    [[ $(grep -F '"event":"workspace.created"' <<<"$output" | grep -cF "\"task\":\"$1\"") == 1 ]] ||
        fail "$1 had another workspace"
}

# A program in the place of claude. Its session is 5e55; what it does is the shell lines of the file FIRST,
# or of AGAIN where it takes that up.
stub_claude() { # FIRST-LINES AGAIN-LINES
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/claude" <<END
#!/bin/sh
echo "\$ANABRANCH_ATTEMPT \$*" >>'$BATS_TEST_TMPDIR/calls'
echo '{"type":"system","subtype":"init","session_id":"5e55"}'
cat >'$BATS_TEST_TMPDIR/told'
case "\$*" in
*"--resume 5e55"*)
$2
;;
*)
$1
;;
esac
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'
END
    chmod +x "$BATS_TEST_TMPDIR/bin/claude"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

start_claude() {
    "$ANABRANCH" run plan.yaml >"$BATS_TEST_TMPDIR/out" \
        2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
}

# Verification

@test "repair: a task that fails verification continues in its session, merged with landed work, in every style" {
    make_repo
    echo .env >.gitignore
    git add . && git commit -q -m ignore
    echo secret >.env
    local style
    for style in merge squash rebase; do
        git checkout -q --detach main && git branch -f "base-$style" main && git checkout -q "base-$style"
        # a is verified when b has landed, and its fault is in their meeting.
        begin_plan "landing: {style: $style}" 'workspace: {include: [.env]}' 'limits: {workers: 2}'
        add_task b -- "write b $style"
        add_task a 'order: 2' 'verify: "echo dirt >dirt; test -e b || exit 1; echo the meeting fails; grep -q good a"' -- \
            'on 1 write a bad' 'on 1 commit mine' 'on 1 write more 1' 'on 2 sh cat b .env >seen; test ! -e dirt' \
            'on 2 sh git status --porcelain >status' 'on 2 write a good'
        sed -i 's/  - id: b/  - id: b\n    order: 1/' plan.yaml
        run_plan --json --base "base-$style"
        assert_status 0
        assert_event task.retried a '"session":"sim-a-1","tree":"merged"'
        assert_went_on a
        assert_in "base-$style" a good
        assert_in "base-$style" more 1
        assert_in "base-$style" seen "$style"$'\nsecret'
        assert_in "base-$style" status '?? seen'$'\n''?? status'
        refute_in "base-$style" dirt
        refute_in "base-$style" .env
        assert_prompt a 2 'the meeting fails'
        assert_prompt a 2 'merged with everything that has landed'
        refute_prompt a 2 'sim>'
        [[ $style != rebase ]] || [[ -z $(git log --merges --oneline "base-$style") ]] || fail "a merge"
        [[ $style != squash ]] || [[ $(git log --oneline "main..base-$style" | wc -l) == 2 ]] || fail "not two"
        assert_clean 'refs/anabranch/salvage/*/a/1*'
        git for-each-ref --format='delete %(refname)' refs/anabranch/salvage | git update-ref --stdin
        rm -rf .git/anabranch/runs
    done
}

@test "repair: as often as retry allows; then it fails, and both attempts are saved" {
    make_repo
    begin_plan
    add_task a 'verify: "cat a; exit 3"' 'retry: {verify: 2}' -- 'write a 1' 'on 2 write a 2' 'on 3 write a 3'
    run_plan --json
    assert_status 1
    assert_went_on a
    [[ $(grep -c '"event":"task.retried"' <<<"$output") == 2 ]] || fail "not two retries"
    assert_event task.failed a '"class":"verify"'
    assert_prompt a 3 $'printed:\n\n2\n'
    for n in 1 2 3; do assert_in "$(git for-each-ref --format='%(refname)' "refs/anabranch/salvage/*/a/$n")" a $n; done
    assert_clean 'refs/anabranch/salvage/*/a/1' 'refs/anabranch/salvage/*/a/2' 'refs/anabranch/salvage/*/a/3'
}

@test "repair: a commit hook that refuses is reported, and the workspace is as it was left" {
    make_repo
    printf '#!/bin/sh\necho no bad words >&2\n! grep -q bad a\n' >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    begin_plan 'commit: {hooks: true}'
    add_task a -- 'on 1 write a bad' 'on 1 write b 1' 'on 2 sh git status --porcelain >status' 'on 2 write a good'
    run_plan --json
    assert_status 0
    assert_event task.retried a '"session":"sim-a-1","tree":"own"'
    assert_prompt a 2 'no bad words'
    assert_in main a good
    assert_in main status $'?? a\n?? b\n?? status'
}

# Ownership

@test "repair: an agent that left its paths gets a list of them, and no commit with them lands" {
    make_repo
    begin_plan 'landing: {style: rebase}' 'defaults: {retry: {scope: 1}}'
    add_task a 'owns: [a/]' -- 'on 1 write a/x 1' 'on 1 write stray 1' 'on 1 sh echo x >>file' \
        'on 2 sh git checkout -q -- file && rm stray; git status --porcelain >a/status'
    add_task b 'owns: [b/]' -- 'on 1 write b/x 1' 'on 1 write stray2 1' 'on 2 say no'
    run_plan --json
    assert_status 1
    assert_event task.retried a '"class":"scope"'
    assert_went_on a
    assert_prompt a 2 $'\n    file\n    stray\n'
    assert_in main a/x 1
    assert_in main a/status '?? a/'
    [[ -z $(git log --oneline main -- stray) ]] || fail "it is in the history"
    assert_event task.failed b '"class":"scope"'
    assert_clean 'refs/anabranch/salvage/*/a/1' 'refs/anabranch/salvage/*/b/1' 'refs/anabranch/salvage/*/b/2'
}

# Conflicts

@test "repair: a conflict is resolved by its agent where the plan says so, in every style" {
    make_repo
    git branch start
    local style
    for style in merge squash rebase; do
        git checkout -q -B "base-$style" start
        begin_plan "landing: {style: $style, verify: 'test ! -e dirt'}" 'overlap: allow' 'limits: {workers: 2}'
        add_task b 'order: 1' -- 'sh sed -i s/five/FIVE/ file' 'write b 1'
        add_task a 'order: 2' 'retry: {conflict: repair}' -- \
            'on 1 sh sed -i s/five/5/ file; GIT_AUTHOR_DATE=2001-01-01T00:00:00 git commit -qam mine' 'on 1 write a 1' \
            "on 2 sh cp file '$BATS_TEST_TMPDIR/marked'; git status --porcelain >'$BATS_TEST_TMPDIR/status'" \
            'on 2 sh sed -i -e "/^[<=]/d" -e "/^>/d" -e s/FIVE/FIVE5/ -e "/^5$/d" file'
        run_plan --json --base "base-$style"
        assert_status 0
        assert_event task.retried a '"class":"conflict"'
        assert_event task.retried a '"session":"sim-a-1","tree":"conflict"'
        refute_event task.conflicted
        refute_event git.state_changed
        assert_went_on a
        assert_in "base-$style" file $'one\ntwo\nthree\nfour\nFIVE5\nsix\nseven\neight\nnine'
        assert_in "base-$style" a 1
        assert_in "base-$style" b 1
        [[ $(grep -cE '^(<{7} |={7}$|>{7} )' "$BATS_TEST_TMPDIR/marked") == 3 ]] || fail "$(<"$BATS_TEST_TMPDIR/marked")"
        [[ $(<"$BATS_TEST_TMPDIR/status") == $'A  a\nUU file' ]] || fail "$(<"$BATS_TEST_TMPDIR/status")"
        assert_prompt a 2 'file, from line 5 on'
        assert_prompt a 2 $'\nFIVE\n=======\n5\n>>>>>>> '
        assert_clean 'refs/anabranch/salvage/*/a/1'
        assert_in "$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/a/1')" a 1
        git for-each-ref --format='delete %(refname)' refs/anabranch/salvage | git update-ref --stdin
        rm -rf .git/anabranch/runs
    done
}

@test "repair: an unresolved conflict never lands; in the end it is left for a person, as it was" {
    make_repo
    printf '\0bin' >image
    git add . && git commit -q -m image
    begin_plan 'overlap: allow'
    add_task z 'order: 1' -- 'sh sed -i s/five/FIVE/ file; rm dir/inner; printf "\0z" >image'
    # Resolves the text and nothing else; then removes one, and says of the other that it stays.
    add_task a 'order: 2' 'retry: {conflict: 2}' -- \
        'on 1 sh sed -i s/five/5/ file; echo more >>dir/inner; printf "\0a" >image' \
        'on 2 sh git checkout -q --theirs file' 'on 3 sh rm dir/inner; git add image'
    # Leaves the markers and takes the file into the index.
    add_task b 'order: 3' 'retry: {conflict: repair}' -- 'on 1 sh sed -i s/five/fünf/ file' 'on 2 sh git add file' \
        'on 3 sh git mv file other'
    add_task c 'order: 4' 'retry: {conflict: 1, transient: 0}' -- 'on 1 sh sed -i s/five/cinq/ file' 'on 2 exit 1'
    add_task d 'order: 5' -- 'on 1 sh sed -i s/five/cinco/ file' 'on 2 write d 1'
    run_plan --json
    assert_status 4
    assert_prompt a 3 'still in conflict: dir/inner, image'
    assert_in main file $'one\ntwo\nthree\nfour\n5\nsix\nseven\neight\nnine'
    refute_in main dir/inner
    [[ $(git show main:image | tr -d '\0') == z ]] || fail "not what was said to stay"
    assert_event task.conflicted b '"files":"file (lines 5-9)"'
    assert_event task.conflicted c 'not resolved: transient'
    assert_event task.conflicted d
    refute_event task.retried d
    refute_event task.landed b
    local task work
    for task in b c; do
        work=$(echo .anabranch/worktrees/*/$task)
        [[ -z $(git -C "$work" status --porcelain --untracked-files=no) ]] || fail "$(git -C "$work" status)"
        [[ $(git -C "$work" log --oneline main.. | wc -l) == 1 ]] || fail "$(git -C "$work" log --oneline main..)"
        ! grep -q '<<<<' "$work/file" || fail "markers"
    done
    run_apart anabranch resume
    assert_status 4
    assert_in main file $'one\ntwo\nthree\nfour\n5\nsix\nseven\neight\nnine'
}

# Agents that cannot be resumed

@test "repair: without a session it begins again, told the same; after a conflict on what has landed" {
    make_repo
    begin_plan 'overlap: allow' 'defaults: {engine: command}'
    add_task b 'order: 1' 'prompt: x' 'command: "sed -i s/five/FIVE/ file"'
    add_task a 'order: 2' 'prompt: Do five.' 'retry: {conflict: repair, verify: 1}' \
        'verify: "echo says no; test ! -e bad"' \
        'command: "cat >told-$ANABRANCH_ATTEMPT; test $ANABRANCH_ATTEMPT != 1 || echo 1 >bad; sed -i s/[fF].*[eE]/5/ file"'
    run_apart anabranch run --json plan.yaml 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_event task.retried a '"class":"conflict"'
    refute_event task.retried a '"session"'
    assert_in main file $'one\ntwo\nthree\nfour\n5\nsix\nseven\neight\nnine'
    assert_prompt a 2 'Do five.'
    assert_prompt a 2 'conflicted with what had landed meanwhile: file'
    assert_clean 'refs/anabranch/salvage/*/a/1'
    begin_plan 'defaults: {engine: command}'
    add_task v 'prompt: Do it.' 'verify: "echo says no; test ! -e bad"' \
        'command: "test $ANABRANCH_ATTEMPT != 1 || echo 1 >bad; echo v >v"'
    run_apart anabranch run --json plan.yaml 3>&-
    assert_status 0
    refute_event task.retried v '"session"'
    assert_prompt v 2 $'Do it.\n\nYour last attempt'
    assert_prompt v 2 'says no'
}

# Interrupted repairs

@test "repair: killed while a conflict is resolved: the session is resumed, and its resolution lands once" {
    make_repo
    stub_claude 'sed -i s/five/5/ file; echo a >a' \
        "test -e '$BATS_TEST_TMPDIR/go' || { echo half >half; touch '$BATS_TEST_TMPDIR/resolving'; sleep 4399; }
         sed -i -e '/^[<=>]/d' -e '/^FIVE\$/d' file"
    begin_plan 'overlap: allow'
    add_task b 'order: 1' 'engine: sim' -- 'sh sed -i s/five/FIVE/ file'
    add_task a 'order: 2' 'retry: {conflict: repair}' 'prompt: Do five.'
    start_claude
    wait_for test -e "$BATS_TEST_TMPDIR/resolving"
    kill_engine
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    [[ $(cut -d' ' -f1 "$BATS_TEST_TMPDIR/calls" | paste -s -d ' ') == '1 2 3' ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    [[ $(grep -c -- '--resume 5e55' "$BATS_TEST_TMPDIR/calls") == 2 ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    grep -q 'interrupted' "$BATS_TEST_TMPDIR/told" || fail "$(<"$BATS_TEST_TMPDIR/told")"
    grep -q 'FIVE' "$BATS_TEST_TMPDIR/told" || fail "$(<"$BATS_TEST_TMPDIR/told")"
    assert_in main file $'one\ntwo\nthree\nfour\n5\nsix\nseven\neight\nnine'
    assert_in main half half
    [[ $(git log --format=%s main | grep -c 'Merge anabranch task a') == 1 ]] || fail "$(git log --oneline main)"
    assert_clean 'refs/anabranch/salvage/*/a/1' 'refs/anabranch/salvage/*/a/2'
}

@test "repair: killed before its agent has begun again: the same is done, once" {
    make_repo
    stub_claude 'echo bad >a' 'echo good >a; echo x >>again'
    begin_plan
    add_task a 'verify: "echo tests fail; echo x >dirt; grep good a"' 'prompt: Do it.'
    # The checkout of what failed hangs, the first time.
    wrap_git "if [[ \$sub == checkout && \$* != *--detach* && ! -e \$dir/once ]]; then touch \$dir/once; sleep 4398; fi"
    start_claude
    wait_for test -e "$BATS_TEST_TMPDIR/once"
    kill_engine
    run_apart anabranch resume --dry-run
    assert_contains 'about to repair its work'
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a good
    assert_in main again x
    refute_in main dirt
    [[ $(<"$BATS_TEST_TMPDIR/calls") == *$'\n2 '*'--resume 5e55'* ]] || fail "$(<"$BATS_TEST_TMPDIR/calls")"
    grep -q 'tests fail' "$BATS_TEST_TMPDIR/told" || fail "$(<"$BATS_TEST_TMPDIR/told")"
    ! grep -q 'interrupted' "$BATS_TEST_TMPDIR/told" || fail "$(<"$BATS_TEST_TMPDIR/told")"
    assert_clean 'refs/anabranch/salvage/*/a/1'
}

@test "repair: killed while an agent that cannot be interrupted repairs: it begins again, and is told" {
    make_repo
    begin_plan
    add_task a 'verify: "echo tests fail; grep good a"' 'retry: {verify: 1}' -- 'on 1 write a bad' \
        "on 2 sh touch $BATS_TEST_TMPDIR/mending; $(until_exists go)" 'on 3 write a good'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/mending"
    kill_engine
    touch "$BATS_TEST_TMPDIR/go"
    run_apart anabranch resume --json 3>&-
    assert_no_sanitizer
    assert_status 0
    assert_in main a good
    assert_prompt a 3 'sim>'
    assert_prompt a 3 'tests fail'
    assert_clean 'refs/anabranch/salvage/*/a/1' 'refs/anabranch/salvage/*/a/2'
}

@test "repair: a merge that an agent began and left unresolved does not land, and it is told" {
    make_repo
    begin_plan
    add_task t 'retry: {verify: 1}' -- "on 1 sh git checkout -q -b side && echo side >file && git commit -qam side && git checkout -q - && echo own >file && git commit -qam own && ! git merge -q side" \
        'on 2 sh echo both >file && git branch -D side'
    run_plan
    assert_status 0
    assert_contains 'verify: left its own merge unresolved: file'
    assert_in main file both
    grep -qF 'these files have conflict markers: file' .git/anabranch/runs/*/t/2/prompt || fail "not told"
    assert_clean 'refs/anabranch/salvage/*'
}

# Neither is in the index's way, nor does a text that only looks like it count.
@test "repair: a merge that was resolved and not committed lands, and so do markers that are just text" {
    make_repo
    begin_plan
    add_task t -- 'sh git checkout -q -b side && echo side >file && git commit -qam side && git checkout -q - && echo own >file && git commit -qam own && ! git merge -q side; git branch -D side; echo both >file' \
        'sh printf "<<<<<<< a\n=======\n>>>>>>> b\n" >how-to'
    run_plan
    assert_status 0
    assert_in main file both
    assert_in main how-to $'<<<<<<< a\n=======\n>>>>>>> b'
    assert_clean 'refs/anabranch/salvage/*'
}
