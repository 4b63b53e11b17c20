# shellcheck shell=bash disable=SC2016,SC2030,SC2031 # the agents' shell is to see the variables
# shellcheck disable=SC2154 # start_plan sets events and engine
# An agent that configures programs for git: our git processes do not run them.

load ../cli/helper
load ../cli/run_helper
load attacks_helper

run_attacks() {
    run_apart anabranch run --json plan.yaml 3>&-
    assert_no_sanitizer
}

# A repository, a program that an agent plants, which notes that it was run, and settings that name it.
begin_attack() { # [LINE OF YAML...]
    unset GIT_CONFIG_GLOBAL # the one in $HOME counts
    EVIL=$BATS_TEST_TMPDIR/evil
    RAN=$PWD/repo/.git/ran # the fence of our gits lets nothing be written elsewhere
    printf '#!/bin/sh\ntr "\\0" " " </proc/$PPID/cmdline >>%q\ncat\n' "$RAN" >"$EVIL"
    chmod +x "$EVIL"
    make_repo
    printf '%s\n' '[filter "evil"]' "clean = $EVIL" "smudge = $EVIL" 'required = true' '[merge "evil"]' "driver = $EVIL %A" \
        '[diff]' "external = $EVIL" '[diff "evil"]' "textconv = $EVIL" '[core]' "fsmonitor = $EVIL" \
        "alternateRefsCommand = $EVIL" "sshCommand = $EVIL" "pager = $EVIL" '[gpg]' "program = $EVIL" \
        '[credential]' "helper = $EVIL" >"$BATS_TEST_TMPDIR/settings"
    begin_plan "$@"
}

assert_evil_did_not_run() {
    [[ ! -e $RAN ]] || fail "the agent's program was run by:" "$(<"$RAN")"
}

# Attributes that ask for the program, and then changes on both sides of a merge.
add_victims() { # ID: they come after that
    attack other 'sed -i s/one/ONE/ file; echo 2 >other' "depends_on: [$1]"
    attack mine 'sed -i s/nine/NINE/ file; echo 3 >mine' "depends_on: [$1]"
}

ATTRIBUTES='echo "* filter=evil merge=evil diff=evil" >.gitattributes; echo 1 >planted'

assert_attacked_in_vain() {
    assert_evil_did_not_run
    assert_event task.landed other
    assert_event task.landed mine
    assert_in main file $'ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE'
    run anabranch diff mine
    assert_contains '+3'
    run anabranch clean --all
    assert_evil_did_not_run
}

@test "config: programs in the user's configuration are those from before the run" {
    begin_attack
    attack plant "mkdir -p ~/.config/git; cp $BATS_TEST_TMPDIR/settings ~/.gitconfig; cp $BATS_TEST_TMPDIR/settings ~/.config/git/config; $ATTRIBUTES"
    add_victims plant
    run_attacks
    assert_attacked_in_vain
}

# It sets them again and again, so that no look before the use of a setting would help.
@test "config: programs in the repository's configuration are not run, however often they come back" {
    begin_attack 'limits: {workers: 4}'
    attack planter "cat \$REPO/.git/config $BATS_TEST_TMPDIR/settings >../evil; n=0
        until [[ -e $STAMPS.landed ]]; do cp ../evil \$REPO/.git/new; mv \$REPO/.git/new \$REPO/.git/config
        echo '* filter=evil merge=evil diff=evil' >\$REPO/.git/info/attributes; echo 1 >$STAMPS.on; done" 'retry: 0'
    attack attributes "until [[ -e $STAMPS.on ]]; do sleep 0.01; done; $ATTRIBUTES"
    add_victims attributes
    attack last "touch $STAMPS.landed; echo 1 >last" 'depends_on: [other, mine]'
    run_attacks
    assert_event task.landed last
    assert_attacked_in_vain
}

@test "config: programs in a workspace's own configuration are not run" {
    begin_attack
    attack plant "git config extensions.worktreeConfig true; cp $BATS_TEST_TMPDIR/settings \$REPO/.git/config.worktree
        cp $BATS_TEST_TMPDIR/settings \$(git rev-parse --git-dir)/config.worktree; $ATTRIBUTES; exit 1" 'retry: 0'
    attack attributes "git config extensions.worktreeConfig true; cp $BATS_TEST_TMPDIR/settings \$(git rev-parse --git-dir)/config.worktree
        $ATTRIBUTES"
    add_victims attributes
    run_attacks
    assert_attacked_in_vain
}

@test "config: a script of the workspace that sets programs from a commit hook fails its task" {
    begin_attack 'commit: {hooks: true}'
    # shellcheck disable=SC2016 # of that hook
    printf '#!/bin/sh\nexec sh "$GIT_WORK_TREE/check"\n' >.git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    attack plant "echo 'git config --file $PWD/.git/config filter.evil.clean $EVIL' >check; echo 1 >planted" 'retry: 0'
    run_attacks
    assert_event task.failed plant '"class":"scope"'
    refute_in main planted
    [[ -z $(git config filter.evil.clean) ]] || fail 'the setting is still there'
    assert_evil_did_not_run
}

@test "config: nor are those of a repository that an agent makes, when that is saved" {
    begin_attack
    attack plant "git init -q inner; cd inner; echo 1 >a; git add a; git -c user.name=x -c user.email=x@y commit -qm a
        git config extensions.partialClone origin; git config remote.origin.promisor true; git config core.repositoryFormatVersion 1
        git config protocol.ext.allow always; git config remote.origin.url 'ext::$EVIL'
        cat $BATS_TEST_TMPDIR/settings >>.git/config; echo '* filter=evil' >.gitattributes; echo 2 >b
        rm -f .git/objects/\$(git rev-parse HEAD: | sed 's|^..|&/|'); rm -f $RAN; exit 1" 'retry: 0'
    run_attacks
    assert_event task.failed plant
    assert_evil_did_not_run
}

@test "config: a resumed run uses what was configured when it began, and says what is new" {
    begin_attack
    attack plant "cp $BATS_TEST_TMPDIR/settings ~/.gitconfig; $ATTRIBUTES"
    attack hangs "echo 1 >half; echo 1 >$STAMPS.up; until [[ -e $STAMPS.go ]]; do sleep 0.02; done" 'depends_on: [plant]'
    add_victims plant
    "$ANABRANCH" run --json plan.yaml >"$BATS_TEST_TMPDIR/events" 2>&1 3>&- &
    engine=$!
    wait_for test -s "$STAMPS.up"
    kill -KILL "$engine"
    wait "$engine" 2>/dev/null || :
    touch "$STAMPS.go"
    run_apart "$ANABRANCH" resume --json 3>&-
    assert_no_sanitizer
    assert_contains 'names programs that it did not name when this run began, which are not run here'
    assert_contains "filter.evil.clean=$EVIL"
    assert_evil_did_not_run
    assert_in main file $'ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nNINE'
    rm plan.yaml
    begin_plan
    attack next 'echo 1 >next'
    run_attacks
    assert_contains 'names programs that it did not name when the last run began, which this run uses'
}

# The user's own programs

@test "config: the user's own filter is run as git runs it, and what it leaves behind is ended" {
    local name="it's \$HOME; a \"name\""
    begin_attack
    printf '#!/bin/sh\necho "$1" >>%q.names\nsetsid sleep 4711 >/dev/null 2>&1 &\necho $! >>%q.left\nsed s/plain/%%s/\n' "$STAMPS" "$STAMPS" >"$BATS_TEST_TMPDIR/filter"
    sed 's/%s/stored/' "$BATS_TEST_TMPDIR/filter" >"$BATS_TEST_TMPDIR/clean"
    chmod +x "$BATS_TEST_TMPDIR/clean"
    git config filter.mine.clean "'$BATS_TEST_TMPDIR/clean' %f | cat"
    git config filter.mine.smudge 'sed s/stored/plain/'
    git config filter.mine.required true
    echo '*.x filter=mine' >.gitattributes
    git add .
    git commit -q -m attributes
    cp .git/config "$BATS_TEST_TMPDIR/config"
    attack t "printf 'plain\n' >'it'\\''s \$HOME; a \"name\".x'"
    run_attacks
    assert_status 0
    [[ $(git show "main:$name.x") == stored ]] || fail "$(git show "main:$name.x")"
    [[ $(<"$name.x") == plain ]] || fail "not as it is to be in the checkout"
    grep -qxF "$name.x" "$STAMPS.names" || fail "$(cat "$STAMPS.names")"
    [[ -s $STAMPS.left ]]
    ! pgrep -f "^sleep 4711$" >/dev/null || fail "it left something"
    assert_clean
}

@test "config: the user's own merge driver and textconv are run" {
    begin_attack
    git config merge.mine.driver "printf 'merged\n' >%A #"
    git config diff.mine.textconv "sed s/^/seen:/"
    echo 'file merge=mine diff=mine' >.gitattributes
    git add .
    git commit -q -m attributes
    cp .git/config "$BATS_TEST_TMPDIR/config"
    attack a 'sed -i s/one/ONE/ file'
    attack b 'sed -i s/nine/NINE/ file'
    run_attacks
    assert_status 0
    assert_in main file merged
    run anabranch diff a
    assert_contains '+seen:'
}

# Runs our commands that start git, and fails if one of them wrote a trace.
assert_no_traces() { # FOLDER
    local words id
    rm -f "$1"/*
    id=$(find .git/anabranch/runs -mindepth 1 -maxdepth 1 -printf '%f')
    while read -r words; do
        # shellcheck disable=SC2086 # words of a command line
        run anabranch $words 3>&-
        [[ $status -eq 0 ]] || fail "anabranch $words"
        refute_contains 'trace'
        [[ -z $(ls "$1") ]] || fail "anabranch $words wrote:" "$(head -n 3 "$1"/*)"
    done <<<"status"$'\n'"report $id"$'\n'"diff --run $id plant"$'\ndoctor\nrun --engine sim plan.yaml\nclean --all'
}

@test "config: no git of ours writes a trace because of the configuration of the user or the system" {
    local traces=$BATS_TEST_TMPDIR/traces
    mkdir "$traces"
    unset GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM
    export GIT_CONFIG_SYSTEM=$BATS_TEST_TMPDIR/system
    printf '[trace2]\neventTarget = %s\n' "$traces/event" >user-settings
    printf '[trace2]\nnormalTarget = %s\nperfTarget = %s\n' "$traces"/{normal,perf} >system-settings
    make_repo
    begin_plan
    attack plant "cp $PWD/../user-settings ~/.gitconfig; cp $PWD/../system-settings $GIT_CONFIG_SYSTEM; echo 1 >planted"
    run_attacks
    assert_event task.landed plant
    git status >/dev/null
    [[ $(ls "$traces") == $'event\nnormal\nperf' ]] || fail "git does not know these settings"
    begin_plan
    add_task b -- 'write b 1'
    assert_no_traces "$traces"
}

@test "config: no git of ours writes a trace because of the environment" {
    local traces=$BATS_TEST_TMPDIR/traces name
    mkdir "$traces"
    make_repo
    begin_plan
    attack plant 'echo 1 >planted'
    run_attacks
    begin_plan
    add_task b -- 'write b 1'
    for name in TRACE TRACE2 TRACE2_EVENT TRACE2_PERF TRACE_PERFORMANCE TRACE_PACKET TRACE_SETUP TRACE_REFS; do
        export "GIT_$name=$traces/$name"
    done
    assert_no_traces "$traces"
    # These would write to standard error, in which we look for messages of git.
    export GIT_TRACE=1 GIT_TRACE2=2 GIT_TRACE_SETUP=true
    run_apart anabranch diff nonsense
    assert_status 2
    [[ $stderr != *trace* ]] || fail 'a trace'
}
