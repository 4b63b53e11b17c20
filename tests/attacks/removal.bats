#!/usr/bin/env bats
# Agents that move files of the user's to a place that our own processes delete, or that they use: a workspace on its way
# out, a tree in the pool, a draft. We delete only folders that we made.
# shellcheck disable=SC2016 # what is not expanded here is for the agent's shell
# shellcheck disable=SC2154 # run_apart sets stderr
bats_require_minimum_version 1.5.0
load ../cli/helper
load ../cli/run_helper
load attacks_helper

begin_removal() { # [LINE OF THE PLAN...]
    make_repo
    make_victims
    begin_plan 'defaults: {engine: sim, retry: 0}' "workspace: {provider: ${ANABRANCH_PROVIDER:-pool}}" "$@"
}

# The agent may have moved the documents, but they are unchanged.
assert_documents() {
    local found
    found=$(find "$BATS_TEST_TMPDIR" -path '*/letters/one' -exec cat {} +)
    [[ $found == letter ]] || fail "the documents are gone:" "$(find .anabranch "$HOME")"
}

assert_says() { # PATTERN: in the output
    # shellcheck disable=SC2053 # a pattern
    [[ $output$stderr == *$1* ]] || fail "it does not say: $1"
}

run_attack() {
    run_apart anabranch run plan.yaml 3>&-
    assert_no_sanitizer
    assert_documents
}

clean_all() {
    run_apart anabranch clean --all
    assert_no_sanitizer
    sleep 0.2 # a process may still delete
    assert_documents
}

# The agent moves the documents there and fails, while another task waits for the workspace.
plant() { # PATH
    begin_removal 'limits: {workers: 1}'
    attack evil "mv \$HOME/documents $1; exit 1"
    add_task honest -- 'write honest yes'
    run_attack
    assert_summary honest landed
    assert_in main honest yes
    assert_says "is not a folder that we made, so it stays"
    clean_all
    assert_says "is not a folder that we made"
    [[ -z $(find .git/worktrees -mindepth 1 2>/dev/null) ]] || fail "left: $(ls .git/worktrees)"
}

# The same, and the engine is killed.
stays() { # LINE OF SHELL
    echo "[ ! -e '$BATS_TEST_TMPDIR/here' ] || exit 0; $1; touch '$BATS_TEST_TMPDIR/here'; exec sleep 1000"
}

killed_attack() {
    "$ANABRANCH" run plan.yaml >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    engine=$!
    echo "$engine" >"$BATS_TEST_TMPDIR/engine.pid"
    wait_for test -e "$BATS_TEST_TMPDIR/here"
    kill -KILL "$engine"
    wait "$engine" || true
    wait_for no_agents
}

plant_and_kill() { # LINE OF SHELL
    begin_removal
    attack evil "$(stays "echo work >made; $1")"
    killed_attack
    assert_documents
}

resume_attack() {
    run_apart anabranch resume
    assert_no_sanitizer
    assert_documents
}

@test "removal: a folder with the name of a workspace that goes stays" {
    plant '$ws.gone'
}

@test "removal: a folder with the name of a tree of the pool stays" {
    plant '${ws%/*}/.0.gone'
}

@test "removal: a folder with the name of a draft stays" {
    plant '${ws%/*}/.evil.new'
}

@test "removal: a folder with the name of the next task's layers stays" {
    plant '${ws%/*}/.honest.layers'
}

@test "removal: a folder with the name of the included files stays" {
    plant '${ws%/*}/.+brought'
}

@test "removal: a folder with the name of the next task's workspace stays" {
    begin_removal 'limits: {workers: 1}'
    attack evil 'mv $HOME/documents ${ws%/*}/honest; exit 1'
    add_task honest -- 'write honest yes'
    run_attack
    assert_summary honest 'already exists'
    clean_all
    assert_says 'is not the folder that we made'
}

@test "removal: a folder in the place of a tree that waits in the pool stays" {
    begin_removal 'limits: {workers: 2}'
    attack evil 'for i in {1..30}; do
    for tree in ${ws%/*}/*.gone ${ws%/*}/.*.gone; do
        [ -d "$tree" ] || continue
        mv "$tree" "$tree.away"; mv $HOME/documents "$tree"; break 2
    done
    sleep 0.1
done
echo work >made'
    add_task first -- 'write first yes'
    add_task last 'depends_on: [evil]' -- 'write last yes'
    run_attack
    assert_in main last yes
    clean_all
}

@test "removal: folders in the place of trees that are being deleted stay" {
    begin_removal 'limits: {workers: 2}'
    mkdir -p many
    touch many/{1..2000}
    git add many
    git commit -q -m many
    for k in {1..6}; do mkdir -p "$HOME/keep/$k" && echo "$k" >"$HOME/keep/$k/text"; done
    cat >"$BATS_TEST_TMPDIR/swap.py" <<'END_OF_PROGRAM'
import ctypes, glob, os, sys, time
libc, home, end, run = ctypes.CDLL(None), os.environ["HOME"], time.time() + 5, os.path.dirname(os.getcwd())
left, done = ["/keep/%d" % k for k in range(1, 7)], set()
while time.time() < end and left and not os.path.exists(sys.argv[1]):
    for name in os.listdir(run):
        path = run + "/" + name
        if not name.endswith(".gone") or path in done or not left:
            continue
        done.add(path)
        libc.renameat2(-100, path.encode(), -100, (home + left.pop()).encode(), 2)
END_OF_PROGRAM
    attack evil "python3 '$BATS_TEST_TMPDIR/swap.py' '$BATS_TEST_TMPDIR/end'; echo work >made"
    for k in {1..5}; do add_task "a$k" -- "write a$k yes" 'exit 1'; done
    attack last "touch '$BATS_TEST_TMPDIR/end'; echo yes >last"
    run_attack
    clean_all
    for k in {1..6}; do
        [[ $(find "$BATS_TEST_TMPDIR" -path "*/text" -exec cat {} + | grep -c "^$k\$") -ge 1 ]] || fail "$k is gone"
    done
}

@test "removal: resume and clean leave a folder with the name of a workspace that goes" {
    plant_and_kill 'mv $HOME/documents $ws.gone'
    resume_attack
    assert_says "is not a folder that we made, so it stays"
    clean_all
    assert_says "is not a folder that we made"
}

@test "removal: resume and clean leave folders with the names of drafts and layers" {
    plant_and_kill 'mkdir $HOME/other; mv $HOME/.ssh $HOME/other; mv $HOME/other ${ws%/*}/.evil.new; mv $HOME/documents ${ws%/*}/.other.layers'
    resume_attack
    assert_says ".other.layers' is not a folder that we made, so it stays"
    assert_says ".evil.new' is not a folder that we made, so it stays"
    clean_all
    [[ $(cat .anabranch/worktrees/*/.evil.new/.ssh/id_ed25519) == key ]] || fail "the key is gone"
}

@test "removal: clean leaves folders with the names of trees that go" {
    plant_and_kill 'mv $HOME/.ssh $ws.gone; mv $HOME/documents ${ws%/*}/.0.gone'
    clean_all
    assert_says '/.0.gone: it is not a folder that we made'
    assert_says '/evil.gone: it is not a folder that we made'
    [[ $(cat .anabranch/worktrees/*/evil.gone/id_ed25519) == key ]] || fail "the key is gone"
    [[ -z $(find .git/worktrees -mindepth 1 2>/dev/null) ]] || fail "left: $(ls .git/worktrees)"
}

@test "removal: clean leaves a folder that an agent notes as its workspace" {
    [[ ${ANABRANCH_PROVIDER-} != overlay ]] || skip "nobody can rename what is mounted"
    plant_and_kill 'own=$(git rev-parse --absolute-git-dir); cd /; mv $ws $ws.away; mv $HOME/documents $ws; cp $ws.away/.git $ws
echo "$(stat -c "%d %i" $ws) $(cat /proc/sys/kernel/random/boot_id)" >$own/anabranch.tree'
    clean_all
    assert_says 'is not the folder that we made'
}

@test "removal: resume and clean leave a folder in the place of the administrative folder" {
    plant_and_kill 'own=$(git rev-parse --absolute-git-dir); mv $own $own.away; mv $HOME/documents $own'
    resume_attack
    clean_all
}

@test "removal: clean leaves a folder in the place of the administrative folder" {
    plant_and_kill 'own=$(git rev-parse --absolute-git-dir); cp -r $own $own.away; mv $HOME/documents $own.mine; rm -r $own; mv $own.mine $own; cp -r $own.away/* $own'
    clean_all
}

@test "removal: clean leaves a folder with the name of a task that had not begun" {
    plant_and_kill 'mv $HOME/documents ${ws%/*}/later'
    clean_all
    assert_says 'is not the folder that we made'
}

# A file of the user's, which the agent moves instead of a folder, is still there.
assert_file() {
    local found
    found=$(find "$BATS_TEST_TMPDIR" -name 'letter.txt*' -o -path '*/worktrees/*' -type f -size -100c | xargs -d '\n' cat)
    [[ $found == *precious* ]] || fail "the file is gone:" "$(find .anabranch .git/worktrees "$HOME")"
}

plant_file() { # PATH [LINE OF SHELL]: the agent moves a file there, and another task waits for the workspace
    begin_removal 'limits: {workers: 1}'
    echo precious >"$HOME/letter.txt"
    attack evil "echo work >made; ${2:-:}; mv \$HOME/letter.txt $1; exit 1"
    add_task honest -- 'write honest yes'
    run_attack
    assert_file
    clean_all
    assert_file
    assert_says 'is not a folder that we made'
}

@test "removal: a file in the place of a workspace stays" {
    [[ ${ANABRANCH_PROVIDER-} != overlay ]] || skip "nobody can rename what is mounted"
    plant_file '$ws' 'cd /; mv $ws $ws.away'
}

@test "removal: a file in the place of an administrative folder stays" {
    plant_file '$own' 'own=$(git rev-parse --absolute-git-dir); mv $own $own.away'
}

@test "removal: a file with the name of the next task's workspace, its layers or a draft stays" {
    local name
    for name in honest .honest.layers .honest.new .+brought; do
        plant_file "\${ws%/*}/$name"
        cd "$BATS_TEST_TMPDIR/work" && mv repo "repo$name"
    done
}

@test "removal: resume and clean leave files among the workspaces" {
    begin_removal
    echo precious >"$HOME/letter.txt"
    echo precious too >"$HOME/letter.txt.2"
    attack evil "$(stays 'echo work >made; mv $HOME/letter.txt ${ws%/*}/later; mv $HOME/letter.txt.2 ${ws%/*}/.evil.new')"
    killed_attack
    resume_attack
    clean_all
    assert_says '/later: it is not a folder that we made'
    [[ $(cat .anabranch/worktrees/*/later) == precious ]] || fail "the file is gone"
    [[ $(cat .anabranch/worktrees/*/.evil.new*) == 'precious too' ]] || fail "the other file is gone"
}

@test "removal: a file behind a symlink in the user's checkout does not make room for what lands" {
    make_repo
    make_victims
    begin_plan
    add_task a -- 'write sub/a work'
    mkdir "$HOME/sub"
    printf wo >"$HOME/sub/a"
    wrap_git 'if [[ $sub == merge && ! -e $dir/half ]]; then' \
        '    touch "$dir/half" && ln -s "$HOME/sub" "$GIT_WORK_TREE/sub"' \
        '    echo "error: unable to write file sub/a" >&2' '    exit 1' 'fi'
    run_plan
    real_git
    [[ $(<"$HOME/sub/a") == wo ]] || fail "the user's file is gone"
}
