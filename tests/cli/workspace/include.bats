#!/usr/bin/env bats
# Files that we include in a workspace and never commit, and the commands that
# prepare a workspace and clean it up.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # start_plan sets engine and events
# shellcheck disable=SC2016 # the agent's shell expands it

load ../helper

# The paths that a commit and its history since the start have added.
added() { # [COMMIT]
    git log --format= --name-only --diff-filter=A -m start.."${1:-main}" | sort -u
}

assert_added() { # PATH...
    [[ $(added) == "$(printf '%s\n' "$@")" ]] || fail "added:" "$(added)"
}

begin_repo() {
    make_repo
    printf '%s\n' '.env' 'node_modules/' '*.key' >.gitignore
    git add .gitignore
    git commit -q -m ignore
    git tag start
}

# Included files

@test ".worktreeinclude brings what it matches and git ignores, and nothing else" {
    begin_repo
    mkdir -p node_modules/a/b config
    echo secret >.env
    echo js >node_modules/a/b/index.js
    echo key >config/a.key
    echo other >config/b.key
    echo untracked >config/plain
    printf '%s\n' '# a comment' '.env' 'node_modules/' 'config/*' '!config/b.key' >.worktreeinclude
    begin_plan
    add_task a -- 'sh cat .env node_modules/a/b/index.js config/a.key >seen' \
        'sh find . -name b.key -o -name plain >missing'
    run_plan
    assert_status 0
    assert_in main seen $'secret\njs\nkey'
    assert_in main missing ''
    assert_added missing seen
    assert_clean
}

@test "workspace.include brings ignored and untracked files, by paths and globs of the project's" {
    begin_repo
    mkdir -p sub/deep/er other
    echo tracked >sub/tracked
    git add sub/tracked
    git commit -q -m sub
    git tag -f start
    echo one >sub/deep/er/one.key
    echo two >sub/two.local
    echo no >sub/deep/no.local
    echo no >other/other.key
    echo root >.env
    mv plan.yaml sub 2>/dev/null || true
    begin_plan 'cwd: sub' 'workspace: {include: ["**/*.key", "*.local", ../.env, tracked, none]}'
    add_task a -- 'sh cat deep/er/one.key two.local ../.env >seen' \
        'sh cd .. && find . -name no.local -o -name other.key >sub/missing'
    run_plan
    assert_status 0
    assert_in main sub/seen $'one\ntwo\nroot'
    assert_in main sub/missing ''
    assert_added sub/missing sub/seen
    assert_clean
}

@test "a path that leads out of the repository is refused, and the task fails with class setup" {
    begin_repo
    echo outside >../outside
    begin_plan 'workspace: {include: [../outside]}'
    add_task a -- 'write x y'
    run_plan
    assert_status 1
    assert_summary a setup
    assert_contains 'outside repository'
    assert_clean
}

@test "a shared tree is there with its modes, times and links" {
    begin_repo
    mkdir -p node_modules/bin node_modules/locked
    echo tool >node_modules/bin/tool
    chmod 750 node_modules/bin/tool
    touch -d @1000000000 node_modules/bin/tool
    ln -s tool node_modules/bin/link
    ln -s /etc/passwd node_modules/bin/away
    mkfifo node_modules/pipe
    echo inner >node_modules/locked/inner
    touch -d @1100000000 node_modules/bin
    chmod 555 node_modules/locked
    begin_plan 'workspace: {share: [node_modules]}'
    add_task a -- 'sh stat -c "%a %Y" node_modules/bin/tool >seen' \
        'sh stat -c "%a" node_modules/locked >>seen' 'sh stat -c "%Y" node_modules/bin >>seen' \
        'sh readlink node_modules/bin/link node_modules/bin/away >>seen' \
        'sh test ! -e node_modules/pipe' 'sh echo changed >>node_modules/bin/tool'
    run_plan
    chmod 755 node_modules/locked
    find .git/anabranch -name locked -exec chmod 755 {} + # a copy that is kept
    assert_status 0
    assert_in main seen $'750 1000000000\n555\n1100000000\ntool\n/etc/passwd'
    [[ $(<node_modules/bin/tool) == tool ]] || fail "the original was changed"
    assert_added seen
    assert_clean
}

@test "a repository in an ignored folder is brought whole, a worktree there is not" {
    begin_repo
    mkdir node_modules
    git init -q node_modules/dep
    echo dep >node_modules/dep/file
    git worktree add -q --detach node_modules/tree
    begin_plan 'workspace: {share: [node_modules]}'
    add_task a -- 'sh cat node_modules/dep/file >seen' 'sh test -d node_modules/dep/.git' \
        'sh test ! -e node_modules/tree'
    run_plan
    assert_status 0
    assert_in main seen dep
    assert_added seen
}

@test "holes of a file are no blocks of its copy" {
    begin_repo
    truncate -s 64M image.key
    printf data | dd of=image.key bs=1 seek=1048576 conv=notrunc status=none
    printf end | dd of=image.key bs=1 seek=67108864 conv=notrunc status=none
    begin_plan 'workspace: {include: [image.key]}'
    add_task a -- "sh cmp image.key '$PWD/image.key'" \
        'sh test $(stat -c %b image.key) -lt 1000' 'write x y'
    run_plan
    assert_status 0
}

@test "files come from the worktree that the run was started in" {
    begin_repo
    git worktree add -q -b side ../side
    echo no >.env
    cd ../side
    echo secret >.env
    begin_plan 'workspace: {include: [.env]}'
    add_task a -- 'sh cat .env >seen'
    run_plan
    assert_status 0
    assert_in side seen secret
    refute_in side .env
}

@test "a run that is stopped while files are brought leaves none of them" {
    begin_repo
    mkdir node_modules
    local i
    for i in {1..3000}; do
        echo "$i" >"node_modules/$i"
    done
    begin_plan 'workspace: {share: [node_modules]}'
    add_task a -- 'hang'
    start_plan
    wait_for workspace_has a node_modules/1
    kill -INT "$engine"
    end_plan
    assert_status 130
    assert_clean
}

@test "a file that the workspace has already stays as it is" {
    begin_repo
    git checkout -q -b other
    echo tracked >.env
    git add -f .env
    git commit -q -m env
    git checkout -q main
    git branch -q -f base other
    echo mine >.env
    begin_plan 'base: base' 'workspace: {include: [.env]}'
    add_task a -- 'sh cat .env >seen'
    run_plan
    assert_status 0
    assert_in base seen tracked
    assert_in base .env tracked
    [[ $(<.env) == mine ]] || fail "the user's file was changed"
}

@test "a symlink that the base has where the checkout has a folder is not written through" {
    begin_repo
    mkdir ../away
    git checkout -q -b base
    ln -s ../../../../../away config
    ln -s "$PWD/../away" absolute
    git add .
    git commit -q -m link
    git checkout -q main
    mkdir config absolute
    echo key >config/a.key
    echo key >absolute/a.key
    begin_plan 'base: base' 'workspace: {include: [config, absolute]}'
    add_task a -- 'write x y'
    run_plan
    assert_status 0
    [[ -z $(ls -A ../away) ]] || fail "written: $(ls ../away)"
}

@test "workspaces of other tasks are never brought along" {
    begin_repo
    printf '%s\n' '*' >.worktreeinclude
    begin_plan 'limits: {workers: 1}'
    add_task a -- 'write a a' 'sh test ! -e .anabranch'
    add_task b -- 'write b b' 'sh test ! -e .anabranch'
    run_plan --keep
    assert_status 0
}

# Never committed

@test "nothing that was brought is committed, by us or by the agent's own git add -A" {
    begin_repo
    mkdir -p node_modules/a scratch
    echo secret >.env
    echo js >node_modules/a/i.js
    echo notes >scratch/notes
    begin_plan 'workspace: {include: [.env, scratch], share: [node_modules]}'
    add_task ours -- 'write made1 x' 'sh cat .env scratch/notes'
    add_task own -- 'write made2 x' 'commit Mine' 'write made3 x'
    add_task bare -- 'sh : >.gitignore' 'write made4 x' 'commit Without ignore file' \
        'sh git status --porcelain >status' 'sh git checkout -q HEAD~ -- .gitignore' \
        'write scratch/new kept'
    run_plan
    assert_status 0
    assert_added made1 made2 made3 made4 scratch/new status
    assert_in main status '?? status'
    [[ $(git log --format=%s) == *Mine* ]] || fail "the agent's own commit is not there"
    assert_clean
}

@test "an ignore file that says otherwise does not bring it in, nor does git add -f" {
    begin_repo
    printf '%s\n' '!*.local' '!.claude/**' >>.gitignore
    git commit -q -a -m otherwise
    git tag -f start
    mkdir .claude
    echo "{}" >.claude/settings.local.json
    echo x >my.local
    mkdir node_modules
    echo js >node_modules/i.js
    begin_plan 'workspace: {include: ["*.local"], share: [node_modules]}'
    add_task ours -- 'write made1 x'
    add_task own -- 'write made2 x' 'commit Mine' 'write made3 x' 'commit Again'
    add_task force -- 'write made4 x' 'sh echo new >node_modules/new.js' \
        'sh git add -f node_modules' 'commit Forced' 'sh git rm -q --cached node_modules/i.js' \
        'commit Undone'
    run_plan
    assert_status 0
    assert_added made1 made2 made3 made4 node_modules/new.js
    ! git rev-list --objects --all | grep -qE 'i\.js|my\.local|settings\.local' ||
        fail "some commit has it"
    assert_clean
}

@test "names with special characters are excluded as exactly as others" {
    begin_repo
    local names=('a b ' '#hash' '!bang' 'star*' 'quest?' 'br[a]cket' 'back\slash' $'line\nend'
        $'umlaut-\xc3\xa4' '-dash' $'cr\r')
    local name
    mkdir odd
    for name in "${names[@]}"; do
        echo x >"odd/$name"
    done
    begin_plan 'workspace: {include: [odd]}'
    add_task a -- 'sh ls odd | wc -l >count' 'sh echo x >odd/starfish' 'sh echo x >odd/brac' \
        'commit Mine' 'sh echo x >odd/quests'
    run_plan
    assert_status 0
    assert_in main count 12
    assert_added count odd/brac odd/quests odd/starfish
    assert_clean
}

@test "the user's own core.excludesFile still counts, set or usual" {
    begin_repo
    mkdir -p "$HOME/.config/git"
    echo '*.usual' >"$HOME/.config/git/ignore"
    echo secret >.env
    begin_plan 'workspace: {include: [.env]}'
    add_task a -- 'write x.usual x' 'write made1 x' 'commit Mine' 'write y.usual x'
    run_plan
    assert_status 0
    assert_added made1
    printf '*.own' >"$BATS_TEST_TMPDIR/own"
    begin_plan 'workspace: {include: [.env]}'
    add_task b -- 'write x.own x' 'write x.usual x' 'commit Mine'
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.excludesFile \
        GIT_CONFIG_VALUE_0=$BATS_TEST_TMPDIR/own run_plan
    assert_status 0
    assert_added made1 x.usual
}

@test "salvaged work does not have what was brought either" {
    begin_repo
    echo notes >notes
    begin_plan 'workspace: {include: [notes]}'
    add_task a 'retry: 0' -- 'write made x' 'exit 1'
    run_plan
    assert_status 1
    local ref
    ref=$(git for-each-ref --format='%(refname)' refs/anabranch/salvage)
    [[ $(added "$ref") == made ]] || fail "salvaged:" "$(added "$ref")"
}

# .claude

make_claude() { # DIR
    mkdir -p "$1"/{agents,skills/s,logs,worktrees/w,memory,reports}
    echo agent >"$1/agents/dev.md"
    echo skill >"$1/skills/s/SKILL.md"
    echo '{}' >"$1/settings.json"
    echo '{"secret": 1}' >"$1/settings.local.json"
    echo x | tee "$1"/{logs/l,worktrees/w/f,memory/m,reports/other.md} >/dev/null
    echo plan >"$1/reports/plan-report-1.md"
}

claude_files='.claude/agents/dev.md
.claude/reports/plan-report-1.md
.claude/settings.json
.claude/settings.local.json
.claude/skills/s/SKILL.md'

@test "PO-14: .claude, neither tracked nor ignored, is in the workspace and never committed" {
    begin_repo
    make_claude .claude
    begin_plan
    add_task ours -- 'sh find .claude -type f | sort >seen'
    add_task own -- 'write .claude/agents/new.md new' 'commit Mine'
    run_plan
    assert_status 0
    assert_in main seen "$claude_files"
    assert_added .claude/agents/new.md seen
    assert_clean
}

@test "PO-15: the .claude of a project in a subfolder is at the same place, not at the root" {
    begin_repo
    mkdir sub
    echo x >sub/tracked
    git add sub
    git commit -q -m sub
    git tag -f start
    make_claude sub/.claude
    begin_plan 'cwd: sub'
    add_task a -- 'sh find .claude -type f | sort >seen' 'sh test ! -e ../.claude' 'commit Mine'
    run_plan
    assert_status 0
    assert_in main sub/seen "$claude_files"
    assert_added sub/seen
    assert_clean
}

@test "PO-16: a tracked .claude/CLAUDE.md is what it was, and an agent's edit of it lands" {
    begin_repo
    mkdir .claude
    echo rules >.claude/CLAUDE.md
    echo '{}' >.claude/settings.local.json
    git add -f .claude/CLAUDE.md
    git commit -q -m claude
    git tag -f start
    begin_plan
    add_task a -- 'sh cp .claude/CLAUDE.md seen' 'commit Mine'
    add_task b -- 'append .claude/CLAUDE.md more'
    run_plan
    assert_status 0
    assert_in main seen rules
    assert_in main .claude/CLAUDE.md $'rules\nmore'
    assert_added seen
}

@test "the agent's home is not taken for a project's folder" {
    begin_repo
    export HOME=$PWD
    make_claude .claude
    begin_plan
    add_task a -- 'sh test ! -e .claude' 'write x y'
    run_plan
    assert_status 0
    assert_added x
}

# Commands and environment

@test "setup and teardown run in the workspace, with logs of their own" {
    begin_repo
    export NOTES=$BATS_TEST_TMPDIR/notes
    begin_plan 'workspace:' '  setup: echo set up; echo "setup $PWD" >>$NOTES' \
        '  teardown: [sh, -c, "echo torn down; echo teardown $PWD >>$NOTES; test -f x"]'
    add_task a -- 'write x y'
    run_plan
    assert_status 0
    local dir
    dir=$PWD/.anabranch/worktrees/$(ls .git/anabranch/runs)/a
    [[ $(<"$NOTES") == "setup $dir"$'\n'"teardown $dir" ]] || fail "$(<"$NOTES")"
    [[ $(cat .git/anabranch/runs/*/a/1/setup.out) == 'set up' ]]
    [[ $(cat .git/anabranch/runs/*/a/1/teardown.out) == 'torn down' ]]
    refute_contains teardown
    assert_clean
}

@test "teardown runs after a failure, before each retry, and after read-only tasks" {
    begin_repo
    export NOTES=$BATS_TEST_TMPDIR/notes
    begin_plan 'workspace: {teardown: echo "$ANABRANCH_TASK $ANABRANCH_ATTEMPT" >>$NOTES}'
    add_task a 'retry: 1' -- 'exit 1'
    add_task b 'read_only: true' -- 'say hello'
    run_plan
    assert_status 1
    [[ $(sort "$NOTES") == $'a 1\na 2\nb 1' ]] || fail "$(<"$NOTES")"
    assert_clean
}

@test "teardown runs when the run is stopped" {
    begin_repo
    export NOTES=$BATS_TEST_TMPDIR/notes
    begin_plan 'workspace: {teardown: sleep 1; echo down >>$NOTES}'
    add_task a -- 'write x y' 'hang'
    start_plan
    wait_for workspace_has a x
    kill -INT "$engine"
    end_plan
    assert_status 130
    [[ $(<"$NOTES") == down ]]
    assert_clean 'refs/anabranch/salvage/*'
}

@test "teardown runs when the run is stopped during setup" {
    begin_repo
    export NOTES=$BATS_TEST_TMPDIR/notes
    begin_plan 'workspace: {setup: echo up >>$NOTES; exec sleep 1000, teardown: echo down >>$NOTES}'
    add_task a -- 'write x y'
    start_plan
    wait_for grep -q up "$NOTES"
    kill -TERM "$engine"
    end_plan
    assert_status 143
    [[ $(<"$NOTES") == $'up\ndown' ]]
    refute_event task.started
    assert_clean
}

@test "a teardown that fails is reported, and fails nothing" {
    begin_repo
    begin_plan 'workspace: {teardown: echo no luck >&2; exit 7}'
    add_task a -- 'write x y'
    add_task b 'depends_on: [a]' -- 'write z y'
    run_plan
    assert_status 0
    assert_contains 'workspace.teardown ended with 7: no luck'
    assert_clean
}

@test "a task's dependants do not wait for its teardown" {
    begin_repo
    begin_plan 'workspace:' \
        '  teardown: while [ $ANABRANCH_TASK = a ] && [ ! -e '"$BATS_TEST_TMPDIR/b"' ]; do sleep 0.02; done'
    add_task a -- 'write x y'
    add_task b 'depends_on: [a]' -- "sh touch $BATS_TEST_TMPDIR/b" 'write z y'
    run timeout 60 "$ANABRANCH" run --engine sim plan.yaml 3>&-
    assert_status 0
    assert_clean
}

@test "a setup that fails is class setup, with its output, and the workspace goes" {
    begin_repo
    export NOTES=$BATS_TEST_TMPDIR/notes
    begin_plan 'workspace: {setup: echo broken >&2; exit 3, teardown: echo down >>$NOTES}'
    add_task a -- 'write x y'
    run_plan
    assert_status 1
    assert_summary a setup
    assert_contains 'workspace.setup ended with 3: broken'
    [[ $(<"$NOTES") == down ]]
    assert_clean
}

@test "tasks that run together have ports of their own, free and as many as the plan says" {
    begin_repo
    export NOTES=$BATS_TEST_TMPDIR
    begin_plan 'limits: {workers: 3}' 'workspace: {ports: 4}'
    local task
    for task in a b c; do
        add_task $task -- 'sh echo $ANABRANCH_PORT >$NOTES/port.$ANABRANCH_TASK' \
            'sh while [ ! -e $NOTES/port.a ] || [ ! -e $NOTES/port.b ] || [ ! -e $NOTES/port.c ]; do sleep 0.02; done' \
            'sh cp $NOTES/port.$ANABRANCH_TASK .'
    done
    run_plan
    assert_status 0
    local -a ports
    mapfile -t ports < <(sort -n "$NOTES"/port.?)
    ((ports[0] >= 1024 && ports[1] - ports[0] >= 4 && ports[2] - ports[1] >= 4)) ||
        fail "ports: ${ports[*]}"
}

@test "ANABRANCH_PORT is set unless the plan wants no ports" {
    begin_repo
    begin_plan
    add_task a -- 'sh test "$ANABRANCH_PORT" -gt 1023' 'write x y'
    run_plan
    assert_status 0
    begin_plan 'workspace: {ports: 0}'
    add_task b -- 'sh test -z "${ANABRANCH_PORT-}"' 'write z y'
    run_plan
    assert_status 0
}

@test "variables that are set outside do not hide the task's own" {
    begin_repo
    begin_plan
    add_task a 'env: {LEVEL: inner}' -- 'sh echo "$LEVEL $ANABRANCH_TASK ${TMPDIR##*/}" >seen' \
        'sh env | grep -c ^TMPDIR= >>seen' 'sh git config gc.auto >>seen' \
        'sh git config user.nick >>seen'
    TMPDIR=/tmp LEVEL=outer ANABRANCH_TASK=outer GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.nick \
        GIT_CONFIG_VALUE_0=nick run_plan
    assert_status 0
    assert_in main seen $'inner a tmp\n1\n0\nnick'
}

@test "included files count in workspace.created" {
    begin_repo
    printf 12345 >.env
    begin_plan 'workspace: {include: [.env]}'
    add_task a -- 'write x y'
    run_plan --json
    assert_status 0
    assert_event workspace.created a '"brought":{"files":1,"bytes":5,'
}
