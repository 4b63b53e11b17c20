#!/usr/bin/env bats
# The same small plan in repositories of every kind: two tasks and one that needs both, which add,
# change and delete files. The base has their work, and nothing else has changed.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr
# shellcheck disable=SC2034 # run_plan looks at status and output

load ../helper
load ../run_helper

# The repository

# Makes a repository in the current folder, with the commit that every test of this file starts from.
first_commit() {
    set_up_repo
    mkdir -p dir
    echo same >same
    echo old >change
    echo gone >gone
    echo inner >dir/inner
    git add .
    git commit -q -m start
}

odd_repo() { # [OPTION OF GIT INIT...]
    git init -q -b main "$@" repo
    cd repo || return
    first_commit
}

add_tracked() { # all that is there now
    git add -A
    git commit -q -m more
}

# The plan; lines of YAML go before the tasks. More tasks may be added behind it.
odd_plan() { # [LINE...]
    begin_plan "$@"
    add_task a -- 'write new A' 'write change changed'
    add_task b -- 'delete gone' 'write dir/b B'
    add_task c 'depends_on: [a, b]' -- 'sh cat new dir/b >c'
}

readonly PLANNED=$'A\tc\nM\tchange\nA\tdir/b\nD\tgone\nA\tnew'

# Before and after

# All that a run is to leave as it is: settings, hooks, worktrees, refs but for where they are.
state_of_repository() {
    local common
    common=$(git rev-parse --path-format=absolute --git-common-dir)
    git for-each-ref --format='%(refname)'
    git worktree list --porcelain | grep -v '^HEAD'
    (
        cd "$common" || exit
        find . -path ./objects -prune -o -path ./anabranch -prune -o \( -name 'config*' -o \
            -name 'sparse-checkout' -o -path './info/*' -o -path '*hooks/*' -o -name shallow \
            -o -path './worktrees/*' -a -prune \) -print | LC_ALL=C sort
        find . -path ./objects -prune -o -path ./anabranch -prune -o -type f \( -name 'config*' -o \
            -name 'sparse-checkout' -o -path './info/*' -o -path '*hooks/*' -o -name shallow \) \
            -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    )
}

note_state() {
    start=$(git rev-parse "refs/heads/${BASE:-main}")
    state_of_repository >"$BATS_TEST_TMPDIR/before"
}

assert_state() {
    state_of_repository >"$BATS_TEST_TMPDIR/after"
    cmp -s "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" ||
        fail "not as before:" "$(diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after")"
}

# The branch BASE, main where it is not set, is what the run is to land on.
# Notes how all is, and runs the plan.
run_odd() { # [OPTION OF RUN...]
    note_state
    run_plan "$@"
}

assert_nothing_left() {
    local common root
    common=$(git rev-parse --path-format=absolute --git-common-dir)
    root=$(git rev-parse --show-toplevel)
    assert_state
    [[ ! -e $root/.anabranch ]] || fail "left: $(find "$root/.anabranch")"
    [[ -z $(find "$common" -name '*.lock') ]] || fail "locks: $(find "$common" -name '*.lock')"
    [[ ! -e $common/anabranch/tmp || -z $(find "$common/anabranch/tmp" -mindepth 1) ]] ||
        fail "left: $(find "$common/anabranch/tmp")"
    [[ -z $(find "$common/refs" "$common/logs" -path '*/anabranch/*' 2>/dev/null) ]] ||
        fail "left: $(find "$common/refs" "$common/logs" -path '*/anabranch/*')"
    no_agents || fail "still alive:" "$(agents_alive)"
    git fsck --strict --no-dangling --no-progress >"$BATS_TEST_TMPDIR/fsck" 2>&1 ||
        fail "$(<"$BATS_TEST_TMPDIR/fsck")"
    [[ ! -s $BATS_TEST_TMPDIR/fsck ]] || fail "$(<"$BATS_TEST_TMPDIR/fsck")"
}

# Checks that the plan's work landed, and these further lines of `diff --name-status`, and nothing else.
assert_changes() { # [LINE...]
    local expected got
    expected=$(printf '%s\n' "$PLANNED" "$@" | LC_ALL=C sort)
    got=$(git diff --no-renames --name-status "$start" "refs/heads/${BASE:-main}" | LC_ALL=C sort)
    [[ $got == "$expected" ]] || fail "changes:" "$got" "expected:" "$expected"
}

assert_content() { # what the plan's files are on the base, below PREFIX
    local base=refs/heads/${BASE:-main} p=${PREFIX-}
    assert_in "$base" "${p}new" A
    assert_in "$base" "${p}change" changed
    assert_in "$base" "${p}dir/b" B
    assert_in "$base" "${p}c" $'A\nB'
    assert_in "$base" "${p}same" same
    refute_in "$base" "${p}gone"
}

# The checkout is at the base, and what is in it is what the base has.
assert_followed() {
    local p=${PREFIX-} root
    [[ $(git rev-parse HEAD) == "$(git rev-parse "refs/heads/${BASE:-main}")" ]] || fail "HEAD is elsewhere"
    [[ -z $(git status --porcelain) ]] || fail "status:" "$(git status --porcelain)"
    root=$(git rev-parse --show-toplevel)/$p
    [[ $(tr -d '\r' <"$root/c") == $'A\nB' ]] || fail "c is: $(<"$root/c")"
    [[ $(tr -d '\r' <"$root/change") == changed ]] || fail "change is: $(<"$root/change")"
    [[ ! -e $root/gone ]] || fail "gone is there"
}

# All of it, for a run that did the plan.
assert_done() { # [LINE...]
    assert_status 0
    assert_changes "$@"
    assert_content
    assert_followed
    assert_nothing_left
}

# A run that was refused with CODE, before anything was done.
assert_refused() { # CODE TEXT
    assert_status "$1"
    [[ $stderr == *"$2"* ]] || fail "not said: $2"
    assert_nothing_left
    [[ ! -e $(git rev-parse --git-common-dir)/anabranch ]] || fail "something was begun"
}

# Formats of the repository

@test "odd: SHA-256" {
    odd_repo --object-format=sha256
    odd_plan
    run_odd
    assert_done
    [[ $(git rev-parse main) =~ ^[0-9a-f]{64}$ ]] || fail "not SHA-256"
}

@test "odd: reftable" {
    git init -q --ref-format=reftable probe 2>/dev/null || skip "$(git version) has no reftable"
    odd_repo --ref-format=reftable
    odd_plan
    run_odd
    assert_done
}

@test "odd: the git folder elsewhere, .git a file" {
    odd_repo --separate-git-dir "$BATS_TEST_TMPDIR/elsewhere.git"
    [[ -f .git ]]
    odd_plan
    run_odd
    assert_done
}

@test "odd: core.worktree, from the work tree" {
    odd_repo --separate-git-dir "$BATS_TEST_TMPDIR/elsewhere.git"
    git config core.worktree "$PWD"
    odd_plan
    run_odd
    assert_done
}

@test "odd: core.worktree, with the git folder in another place" {
    odd_repo
    mkdir ../tree
    git config core.worktree ../../tree
    git checkout -q -f main
    rm -r same change gone dir
    cd ../tree
    printf 'gitdir: ../repo/.git\n' >.git
    echo .git >>../repo/.git/info/exclude
    odd_plan
    run_odd
    assert_done
}

@test "odd: core.worktree, from where the git folder is" {
    odd_repo
    mkdir ../tree
    git config core.worktree ../../tree
    git checkout -q -f main
    rm -r same change gone dir
    odd_plan
    run_odd
    assert_done
    [[ $(ls) == plan.yaml ]] || fail "here is: $(ls)"
}

@test "odd: split index" {
    odd_repo
    git config core.splitIndex true
    git config splitIndex.maxPercentChange 0
    git update-index --split-index
    odd_plan
    run_odd
    assert_done
}

@test "odd: index version 4" {
    odd_repo
    git config index.version 4
    git update-index --index-version 4
    odd_plan
    run_odd
    assert_done
}

@test "odd: untracked cache and a file system monitor" {
    odd_repo
    printf '#!/bin/sh\ntouch %q\nexit 1\n' "$BATS_TEST_TMPDIR/monitored" >"$BATS_TEST_TMPDIR/monitor"
    chmod +x "$BATS_TEST_TMPDIR/monitor"
    git config core.untrackedCache true
    git status >/dev/null
    git config core.fsmonitor "$BATS_TEST_TMPDIR/monitor"
    git config feature.manyFiles true
    odd_plan
    run_odd
    [[ ! -e $BATS_TEST_TMPDIR/monitored ]] || fail "the monitor was asked"
    assert_done
}

@test "odd: extensions.worktreeConfig" {
    odd_repo
    git config core.repositoryFormatVersion 1
    git config extensions.worktreeConfig true
    git config --worktree core.commentChar ';'
    odd_plan
    run_odd
    assert_done
}

@test "odd: packed refs only, and gc.auto low" {
    odd_repo
    git tag v1
    git branch other
    git pack-refs --all
    git gc -q
    git config gc.auto 1
    git config gc.autoPackLimit 1
    git config gc.autoDetach false
    git config gc.pruneExpire now
    packs=$(ls .git/objects/pack)
    odd_plan
    run_odd
    [[ $(ls .git/objects/pack) == "$packs" ]] || fail "it was packed again"
    assert_done
}

@test "odd: a shallow clone" {
    odd_repo
    echo more >same2
    add_tracked
    cd ..
    git clone -q --depth 1 "file://$PWD/repo" shallow
    cd shallow
    set_up_repo
    odd_plan
    run_odd
    assert_done
    [[ $(git rev-parse --is-shallow-repository) == true ]] || fail "not shallow"
}

@test "odd: objects of another repository" {
    odd_repo
    cd ..
    git clone -q --shared repo sharing
    find repo/.git/objects -type f | sort >"$BATS_TEST_TMPDIR/objects"
    cd sharing
    set_up_repo
    odd_plan
    run_odd
    assert_done
    find ../repo/.git/objects -type f | sed 's,^../,,' | sort | cmp - "$BATS_TEST_TMPDIR/objects" ||
        fail "the other repository was written to"
}

@test "odd: a partial clone" {
    odd_repo
    git config uploadpack.allowFilter true
    git config uploadpack.allowAnySHA1InWant true
    cd ..
    git clone -q --filter=blob:none --no-checkout "file://$PWD/repo" partial
    cd partial
    set_up_repo
    git reset -q --hard
    odd_plan
    run_odd
    assert_done
}

# Parts of trees

# A repository with a submodule, `sub`, whose first commit is $first, its second $second.
submodule_repo() {
    git init -q -b main lib
    git -C lib config user.name Tester
    git -C lib config user.email tester@example.com
    git -C lib commit -q --allow-empty -m one
    git -C lib commit -q --allow-empty -m two
    first=$(git -C lib rev-parse HEAD^)
    second=$(git -C lib rev-parse HEAD)
    odd_repo
    git -c protocol.file.allow=always submodule --quiet add ../lib sub
    git -C sub checkout -q "$first"
    add_tracked
}

@test "odd: a submodule that nobody touches stays where it is" {
    submodule_repo
    odd_plan
    run_odd
    assert_done
    [[ $(git rev-parse main:sub) == "$first" ]] || fail "it was moved"
    [[ $(git -C sub rev-parse HEAD) == "$first" ]] || fail "its checkout was moved"
}

@test "odd: a submodule whose pointer an agent moves" {
    submodule_repo
    odd_plan
    add_task d -- 'sh git -c protocol.file.allow=always submodule --quiet update --init' \
        "sh git -C sub checkout -q $second"
    run_odd
    assert_status 0
    assert_changes $'M\tsub'
    assert_content
    [[ $(git rev-parse main:sub) == "$second" ]] || fail "it is at: $(git rev-parse main:sub)"
    # git itself does not move the checkout of a submodule when it follows.
    [[ $(git status --porcelain) == ' M sub' ]] || fail "status:" "$(git status --porcelain)"
    git submodule --quiet update
    assert_done $'M\tsub'
}

@test "odd: submodule.recurse" {
    submodule_repo
    git config submodule.recurse true
    git config fetch.recurseSubmodules true
    odd_plan 'landing: {verify: "true"}'
    run_odd
    assert_done
    [[ $(git rev-parse main:sub) == "$first" ]] || fail "it was moved"
}

@test "odd: a submodule's pointer moved in the index alone" {
    submodule_repo
    odd_plan
    add_task d -- "sh git update-index --cacheinfo 160000,$second,sub"
    run_odd
    assert_status 0
    assert_changes $'M\tsub'
    [[ $(git rev-parse main:sub) == "$second" ]] || fail "it is at: $(git rev-parse main:sub)"
    git -c protocol.file.allow=always submodule --quiet update
    assert_done $'M\tsub'
}

# Steps of an agent that commits in the submodule.
readonly IN_MODULE=('sh git -c protocol.file.allow=always submodule --quiet update --init'
    'sh cd sub && echo deep >deep && git add deep && git -c user.name=x -c user.email=x@x commit -q -m deep')

@test "odd: commits that an agent makes in a submodule are not lost" {
    submodule_repo
    odd_plan
    add_task d -- "${IN_MODULE[@]}"
    run_odd
    assert_status 0
    git -C sub cat-file -e "$(git rev-parse main:sub)" || fail "the base points at what nobody has"
    git submodule --quiet update --no-fetch
    assert_done $'M\tsub'
    [[ $(<sub/deep) == deep ]] || fail "deep is lost"
    git -C sub for-each-ref --contains "$(git rev-parse main:sub)" | grep -q refs/anabranch/modules/ ||
        fail "nothing keeps it"
}

@test "odd: nor where the agent then deletes the submodule's folder" {
    submodule_repo
    begin_plan
    add_task d -- "${IN_MODULE[@]}" 'sh git -C sub rev-parse HEAD >"$STAMPS.inner"; rm -rf sub' 'write d 1'
    run_plan
    assert_status 0
    refute_in main sub
    git --git-dir .git/modules/sub for-each-ref --contains "$(<"$STAMPS.inner")" | grep -q refs/anabranch/modules/ ||
        fail "nothing keeps it"
}

@test "odd: nor where the user has no clone of the submodule, nor where the agent fails" {
    submodule_repo
    cd ..
    git clone -q repo fresh
    cd fresh
    set_up_repo
    begin_plan
    add_task d -- 'write new A' "${IN_MODULE[@]}" 'exit 2'
    run_odd
    assert_status 1
    salvaged=$(git for-each-ref --format='%(refname)' 'refs/anabranch/salvage/*/d/1')
    [[ $(git show "refs/anabranch/modules/$(git for-each-ref --format='%(refname:lstrip=3)' refs/anabranch/modules):deep") == deep ]] ||
        fail "deep is lost:" "$(git for-each-ref)"
    git merge-base --is-ancestor "$(git rev-parse "$salvaged:sub")" \
        "$(git for-each-ref --format='%(refname)' refs/anabranch/modules)" || fail "not what was salvaged"
    assert_unchanged_checkout
}

@test "odd: uncommitted files in a submodule are not thrown away" {
    submodule_repo
    git -C ../lib switch -q -c tracked "$first"
    echo one >../lib/file
    git -C ../lib add file
    git -C ../lib commit -q -m file
    git -C sub fetch -q
    git -C sub checkout -q origin/tracked
    git add sub
    git commit -q -m file
    begin_plan
    add_task d -- "${IN_MODULE[0]}" 'write new A' 'write sub/file two'
    add_task e -- 'write e E' "${IN_MODULE[0]}" 'write sub/junk untracked'
    run_odd
    assert_status 1
    assert_summary d "the submodule 'sub' has uncommitted changes"
    assert_summary e landed
    [[ $(cat .anabranch/worktrees/*/d/sub/file) == two ]] || fail "it is gone"
    refute_in main new
    anabranch salvage restore e "$BATS_TEST_TMPDIR/back"
    [[ $(<"$BATS_TEST_TMPDIR/back/sub/junk") == untracked ]] || fail "junk is gone"
}

@test "odd: files that an agent writes into the folder of a submodule without a checkout are saved" {
    submodule_repo
    begin_plan
    add_task d 'retry: 0' -- 'write sub/deep/d D'
    add_task e -- 'write e E' 'write sub/e E'
    add_task f -- 'write f F'
    run_odd --json
    assert_status 1
    assert_event task.failed d no_change
    assert_event task.salvaged d '"nested":["sub"]'
    assert_event task.salvaged e '"nested":["sub"]'
    assert_in main e E
    assert_in main f F
    [[ $(git rev-parse main:sub) == "$first" ]] || fail "the submodule is another"
    anabranch salvage restore d "$BATS_TEST_TMPDIR/d"
    [[ $(<"$BATS_TEST_TMPDIR/d/sub/deep/d") == D ]] || fail "d is gone"
    anabranch salvage restore e "$BATS_TEST_TMPDIR/e"
    [[ $(<"$BATS_TEST_TMPDIR/e/sub/e") == E ]] || fail "e is gone"
    [[ -z $(git for-each-ref 'refs/anabranch/salvage/*/f/*') ]] || fail "f has nothing to save"
}

@test "odd: a repository that is itself a submodule" {
    odd_repo
    cd ..
    git init -q -b main super
    cd super
    git -c protocol.file.allow=always submodule --quiet add ../repo sub
    git -c user.name=x -c user.email=x@x commit -q -m super
    cd sub
    set_up_repo
    odd_plan
    run_odd
    assert_done
    [[ $(git -C .. status --porcelain) == ' M sub' ]] || fail "status of the outer one:" "$(git -C .. status --porcelain)"
}

@test "odd: a repository in an ignored folder of another one" {
    git init -q -b main outer
    cd outer
    echo /repo/ >.gitignore
    git add .gitignore
    git -c user.name=x -c user.email=x@x commit -q -m outer
    outer=$(git rev-parse main)
    odd_repo
    odd_plan
    run_odd
    assert_done
    [[ -z $(git -C .. status --porcelain) && $(git -C .. rev-parse main) == "$outer" ]] || fail "the outer one was touched"
    [[ ! -e ../.anabranch && ! -e ../.git/anabranch ]] || fail "left in the outer one"
}

@test "odd: a plan in a repository that holds another one in an ignored folder" {
    odd_repo
    echo /inner/ >.gitignore
    add_tracked
    git init -q -b main inner
    echo x >inner/file
    git -C inner add file
    git -C inner -c user.name=x -c user.email=x@x commit -q -m inner
    inner=$(git -C inner rev-parse main)
    odd_plan
    run_odd
    assert_done
    [[ $(git -C inner rev-parse main) == "$inner" && -z $(git -C inner status --porcelain) ]] || fail "the inner one was touched"
}

@test "odd: clean and smudge filters" {
    odd_repo
    git config filter.lfs.clean 'sed s/^/stored:/'
    git config filter.lfs.smudge 'sed s/^stored://'
    git config filter.lfs.required true
    echo '*.bin filter=lfs' >.gitattributes
    echo one >one.bin
    echo two >two.bin
    add_tracked
    assert_in main one.bin stored:one
    odd_plan
    add_task d -- 'sh test "$(cat one.bin)" = one' 'write one.bin ONE' 'write three.bin three'
    run_odd
    assert_done $'M\tone.bin' $'A\tthree.bin'
    assert_in main one.bin stored:ONE
    assert_in main two.bin stored:two
    assert_in main three.bin stored:three
    [[ $(<one.bin) == ONE && $(<three.bin) == three ]] || fail "not smudged in the checkout"
}

sparse_repo() {
    odd_repo
    mkdir -p in/deep out/deep
    echo in >in/deep/file
    echo out >out/deep/file
    add_tracked
}

# Inside and outside of what the user has in his checkout.
add_sparse_tasks() {
    add_task d -- 'append in/deep/file more' 'write in/new in'
    add_task e -- 'write out/new out' 'write out/deep/other out'
}

# The checkout that was made sparse in some way stays so, and both places are landed.
check_sparse() {
    [[ ! -e out ]] || fail "the checkout is not sparse"
    odd_plan
    add_sparse_tasks
    run_odd
    assert_done $'M\tin/deep/file' $'A\tin/new' $'A\tout/new' $'A\tout/deep/other'
    assert_in main out/deep/file out
    assert_in main out/new out
    [[ -e in/new && ! -e out ]] || fail "the checkout is not sparse as before"
}

@test "odd: sparse checkout, by cone" {
    sparse_repo
    git sparse-checkout set --cone dir in
    check_sparse
}

@test "odd: sparse checkout, by patterns" {
    sparse_repo
    git sparse-checkout set --no-cone '/*' '!/out/'
    check_sparse
}

@test "odd: sparse checkout as it was before worktreeConfig" {
    sparse_repo
    git config core.sparseCheckout true
    mkdir -p .git/info
    printf '%s\n' '/*' '!/out/' >.git/info/sparse-checkout
    git read-tree -mu HEAD
    check_sparse
}

@test "odd: a sparse index" {
    sparse_repo
    git sparse-checkout set --cone --sparse-index dir in
    check_sparse
}

# Contents

@test "odd: core.autocrlf=true" {
    odd_repo
    git config core.autocrlf true
    git rm -q --cached -r . && git reset -q --hard
    [[ $(<same) == $'same\r' ]]
    odd_plan
    add_task d -- 'sh test "$(cat same)" = "$(printf "same\r")"' 'sh printf "x\r\ny\r\n" >dos' 'append dir/inner mixed'
    run_odd
    assert_done $'A\tdos' $'M\tdir/inner'
    assert_in main dos $'x\ny'
    assert_in main dir/inner $'inner\nmixed'
    [[ $(<c) == $'A\r\nB\r' ]] || fail "c is: $(od -c c)"
}

@test "odd: core.autocrlf=input" {
    odd_repo
    git config core.autocrlf input
    odd_plan
    add_task d -- 'sh printf "x\r\ny\r\n" >dos'
    run_odd
    assert_done $'A\tdos'
    assert_in main dos $'x\ny'
}

@test "odd: end of line by attribute" {
    odd_repo
    printf '%s\n' '* text=auto' '*.bat text eol=crlf' '*.sh text eol=lf' '*.raw -text' >.gitattributes
    printf 'a\r\nb\r\n' >run.bat
    printf 'a\nb\n' >run.sh
    printf 'a\r\nb\n' >as-is.raw
    add_tracked
    assert_in main run.bat $'a\nb'
    odd_plan
    add_task d -- 'sh printf "c\r\n" >>run.bat' 'sh printf "c\r\n" >>run.sh' 'sh printf "c\r\n" >>as-is.raw'
    run_odd
    assert_done $'M\trun.bat' $'M\trun.sh' $'M\tas-is.raw'
    assert_in main run.bat $'a\nb\nc'
    assert_in main run.sh $'a\nb\nc'
    assert_in main as-is.raw $'a\r\nb\nc\r'
    [[ $(<run.bat) == $'a\r\nb\r\nc\r' ]] || fail "run.bat is: $(od -c run.bat)"
}

readonly NAMES=('with blank' ' leading' 'trailing ' $'new\nline' 'naïve-日本語-🎈' '-dash' '--option=x'
    "quo'te" 'dou"ble' 'back\slash' $'tab\there' '*' '?[a-z]' ':colon' ':(glob)x' '#hash' '!bang' '$HOME' '~'
    $'latin1-\xe9' '.hidden' 'a&b;c|d' '%s%n' '-' 'HEAD' 'main')

# A line of shell that does COMMAND with each of the names as $f.
for_names() { # COMMAND
    printf '%s\0' "${NAMES[@]}" >"$BATS_TEST_TMPDIR/names"
    echo "xargs -0 -a $BATS_TEST_TMPDIR/names sh -c 'for f; do $1; done' -"
}

@test "odd: names of all kinds, tracked" {
    odd_repo
    for name in "${NAMES[@]}"; do
        echo one >"./$name"
        mkdir -p "in $name"
        echo one >"in $name/$name"
    done
    add_tracked
    odd_plan
    add_task d -- "sh $(for_names 'echo two >"./$f"; rm "./in $f/$f"')"
    run_odd
    assert_status 0
    assert_content
    assert_followed
    assert_nothing_left
    for name in "${NAMES[@]}"; do
        assert_in main "./$name" two
        refute_in main "./in $name/$name"
    done
    [[ $(git ls-tree -r -z main | tr -dc '\0' | wc -c) -eq $((${#NAMES[@]} + 6)) ]] || fail "$(git ls-tree -r main)"
}

@test "odd: names of all kinds, that agents make" {
    odd_repo
    odd_plan
    add_task d -- 'sh mkdir ./-made' "sh $(for_names 'echo made >"./-made/$f"; echo top >"./$f"')" \
        'write "in \"quotes\"\n/fi le" text'
    run_odd
    assert_status 0
    assert_content
    assert_followed
    assert_nothing_left
    for name in "${NAMES[@]}"; do
        assert_in main "./-made/$name" made
        assert_in main "./$name" top
    done
    assert_in main $'in "quotes"\n/fi le' text
}

@test "odd: names of all kinds in a conflict" {
    odd_repo
    for name in "${NAMES[@]}"; do echo one >"./$name"; done
    add_tracked
    begin_plan
    add_task a -- 'sh for f in ./* ./.hidden; do test -d "$f" || echo left >"$f"; done'
    add_task b 'order: 2' -- 'sh for f in ./* ./.hidden; do test -d "$f" || echo right >"$f"; done'
    run_odd -j 1
    assert_status 4
    assert_contains 'with blank'
    assert_summary b conflicted
    assert_in main 'with blank' left
    assert_unchanged_checkout
}

@test "odd: ten thousand files in a folder" {
    odd_repo
    mkdir many
    (cd many && seq 10000 | xargs touch)
    add_tracked
    odd_plan
    add_task d -- 'write many/5000 x' 'delete many/7' 'write many/new x'
    run_odd
    assert_done $'M\tmany/5000' $'D\tmany/7' $'A\tmany/new'
}

@test "odd: an edit of the same size in the second of the checkout" {
    odd_repo
    git config core.trustCtime false
    begin_plan
    # For git, which looks at seconds, only the age of the index tells that it has to read the file.
    add_task a -- 'sh until touch change && git update-index --refresh && test "$(stat -c %Y change)" = "$(stat -c %Y "$(git rev-parse --git-path index)")"; do :; done' \
        'sh t=$(stat -c %Y change) && echo new >change && touch -d "@$t.5" change' 'sleep 1100ms'
    run_odd
    assert_status 0
    assert_in main change new
    [[ $(<change) == new ]] || fail "the checkout has: $(<change)"
    assert_nothing_left
}

@test "odd: names that differ in case only" {
    odd_repo
    mkdir Case case
    echo upper >Readme
    echo lower >readme
    echo upper >Case/file
    echo lower >case/file
    add_tracked
    odd_plan
    add_task d -- 'write README other' 'write Readme changed' 'delete case/file'
    run_odd
    assert_done $'A\tREADME' $'M\tReadme' $'D\tcase/file'
    assert_in main readme lower
    assert_in main Readme changed
    assert_in main Case/file upper
}

@test "odd: symlinks, also dangling, to folders and out of the repository" {
    odd_repo
    ln -s same link
    ln -s nowhere dangling
    ln -s dir folder
    ln -s /nonexistent/outside absolute
    ln -s .. parent
    ln -s loop loop
    add_tracked
    odd_plan
    add_task d -- 'delete dangling' 'symlink nowhere/else made' 'sh ln -sfn change link' \
        'sh rm folder && mkdir folder && echo x >folder/file'
    run_odd
    assert_done $'D\tdangling' $'A\tmade' $'M\tlink' $'D\tfolder' $'A\tfolder/file'
    [[ $(readlink link) == change && $(readlink made) == nowhere/else ]] || fail "$(ls -l)"
    [[ $(git ls-tree main link made loop absolute parent | cut -c1-6 | sort -u) == 120000 ]] || fail "$(git ls-tree main)"
    [[ -f folder/file && ! -L folder ]] || fail "$(ls -l)"
}

@test "odd: modes and empty files" {
    odd_repo
    touch empty
    echo '#!/bin/sh' >tool
    echo '#!/bin/sh' >plain
    chmod +x tool
    add_tracked
    odd_plan
    add_task d -- 'chmod 755 plain' 'chmod 644 tool' 'sh : >empty-too' 'sh : >same-x && chmod +x same-x'
    run_odd
    assert_done $'M\tplain' $'M\ttool' $'A\tempty-too' $'A\tsame-x'
    [[ $(git ls-tree main plain tool empty empty-too same-x | cut -f1 -d' ' | tr '\n' ' ') == '100644 100644 100755 100755 100644 ' ]] ||
        fail "$(git ls-tree main)"
    [[ -x plain && ! -x tool && -e empty && ! -s empty-too ]] || fail "$(ls -l)"
}

@test "odd: core.fileMode=false" {
    odd_repo
    echo '#!/bin/sh' >tool
    echo '#!/bin/sh' >plain
    chmod +x tool
    add_tracked
    git config core.fileMode false
    odd_plan
    add_task d -- 'chmod 755 plain' 'chmod 644 tool' 'append tool more'
    run_odd
    assert_done $'M\ttool'
    [[ $(git ls-tree main plain tool | cut -f1 -d' ' | tr '\n' ' ') == '100644 100755 ' ]] || fail "$(git ls-tree main)"
}

@test "odd: export-ignore and linguist attributes mean nothing to us" {
    odd_repo
    printf '%s\n' 'dir export-ignore' 'change export-subst linguist-generated' 'same ident' >.gitattributes
    add_tracked
    odd_plan
    run_odd
    assert_done
}

# Merging

union_repo() {
    odd_repo
    echo 'log merge=union' >.gitattributes
    echo start >log
    add_tracked
}

add_union_tasks() {
    add_task d -- 'append log from-d'
    add_task e 'order: 2' -- 'append log from-e'
}

@test "odd: merge=union" {
    union_repo
    odd_plan
    add_union_tasks
    run_odd
    assert_done $'M\tlog'
    [[ $(git show main:log | sort | paste -s -d ' ') == 'from-d from-e start' ]] || fail "$(git show main:log)"
}

@test "odd: merge=union, started from a subfolder and from outside" {
    union_repo
    odd_plan
    add_union_tasks
    cd dir
    note_state
    run_apart anabranch run --engine sim ../plan.yaml 3>&-
    assert_done $'M\tlog'
    cd "$BATS_TEST_TMPDIR"
    sed -i 's/from-/again-/; /id: a$/,/id: d$/{/id: d$/!d}' work/repo/plan.yaml
    run_apart anabranch run --engine sim work/repo/plan.yaml 3>&-
    assert_status 0
    cd work/repo
    [[ $(git show main:log | sort | paste -s -d ' ') == 'again-d again-e from-d from-e start' ]] || fail "$(git show main:log)"
    assert_followed
    assert_nothing_left
}

@test "odd: a merge driver of the user's" {
    odd_repo
    git config merge.both.driver 'cat %A %B | sort -u >%A.out && mv %A.out %A'
    echo 'log merge=both' >.gitattributes
    echo start >log
    add_tracked
    odd_plan
    add_union_tasks
    run_odd
    assert_done $'M\tlog'
    assert_in main log $'from-d\nfrom-e\nstart'
}

@test "odd: settings of merge that would ask, refuse or stash" {
    odd_repo
    git config merge.verifySignatures true
    git config merge.autoStash true
    git config merge.ff false
    git config merge.log true
    git config branch.main.mergeOptions '--no-ff --edit'
    git config merge.conflictStyle zdiff3
    git config core.editor false
    odd_plan
    run_odd
    assert_done
}

@test "odd: a change of the user's stays, and is not stashed" {
    odd_repo
    git config merge.autoStash true
    git config rebase.autoStash true
    echo mine >>same
    odd_plan
    run_odd
    assert_status 0
    assert_changes
    assert_content
    [[ $(git status --porcelain) == ' M same' && $(<same) == $'same\nmine' ]] || fail "$(git status --porcelain)"
    git checkout -q same
    assert_done
}

# Settings and variables

@test "odd: settings for people's eyes" {
    odd_repo
    git config color.ui always
    git config core.pager false
    git config core.quotePath false
    git config core.abbrev 4
    git config core.logAllRefUpdates always
    git config column.ui always
    git config format.pretty oneline
    git config log.showSignature true
    git config log.decorate full
    git config status.short true
    git config status.branch true
    git config status.showUntrackedFiles no
    git config diff.noprefix true
    git config diff.external false
    git config diff.renames copies
    git config diff.ignoreSubmodules all
    git config advice.addIgnoredFile false
    odd_plan 'landing: {style: rebase}'
    run_odd
    assert_state
    for setting in color.ui diff.external status.branch status.showUntrackedFiles; do git config --unset $setting; done
    state_of_repository >"$BATS_TEST_TMPDIR/before"
    assert_done
}

@test "odd: messages in another encoding than ours" {
    odd_repo
    git config i18n.commitEncoding ISO-8859-1
    git config i18n.logOutputEncoding ISO-8859-1
    begin_plan 'landing: {style: rebase}'
    add_task a 'title: "naïve"' -- 'write new A'
    run_odd
    assert_status 0
    [[ $(git -c i18n.logOutputEncoding=UTF-8 log -1 --format=%s main) == naïve ]] ||
        fail "the message is:" "$(git cat-file commit main)"
    assert_nothing_left
}

@test "odd: variables that point at another repository" {
    git init -q -b main another
    git -C another -c user.name=x -c user.email=x@x commit -q --allow-empty -m another
    another=$(git -C another rev-parse main)
    odd_repo
    odd_plan
    note_state
    local there=$PWD/../another
    run_apart env GIT_DIR="$there/.git" GIT_WORK_TREE="$there" GIT_INDEX_FILE="$there/.git/index" \
        GIT_OBJECT_DIRECTORY="$there/.git/objects" GIT_PREFIX=dir/ GIT_LITERAL_PATHSPECS=1 \
        "$ANABRANCH" run --engine sim plan.yaml 3>&-
    assert_no_sanitizer
    assert_done
    [[ $(git -C ../another rev-parse main) == "$another" && ! -e ../another/.git/anabranch ]] || fail "it was touched"
}

# Hooks, signing, identity

loud_hooks() { # FOLDER
    local hook
    mkdir -p "$1"
    for hook in pre-commit prepare-commit-msg commit-msg post-commit post-checkout pre-merge-commit post-merge \
        reference-transaction post-index-change pre-auto-gc post-rewrite pre-rebase applypatch-msg; do
        printf '#!/bin/sh\necho %s >>%q\nexit 1\n' "$hook" "$BATS_TEST_TMPDIR/hooks-run" >"$1/$hook"
        chmod +x "$1/$hook"
    done
}

# None was run, and all is as it was. They are taken away then, or our own looking would run them.
assert_no_hook() { # FOLDER
    [[ ! -e $BATS_TEST_TMPDIR/hooks-run ]] || fail "run:" "$(<"$BATS_TEST_TMPDIR/hooks-run")"
    assert_state
    rm -r "$1"
    state_of_repository >"$BATS_TEST_TMPDIR/before"
}

@test "odd: hooks do not run" {
    odd_repo
    loud_hooks .git/hooks
    odd_plan 'landing: {verify: "true"}'
    run_odd
    assert_no_hook .git/hooks
    assert_done
}

@test "odd: hooks of core.hooksPath do not run, and are left as they are" {
    odd_repo
    loud_hooks .githooks
    echo /.githooks/ >>.git/info/exclude
    git config core.hooksPath .githooks
    find .githooks -type f -print0 | sort -z | xargs -0 sha256sum >"$BATS_TEST_TMPDIR/hooks"
    odd_plan
    run_odd
    sha256sum --quiet -c "$BATS_TEST_TMPDIR/hooks" || fail "the hooks were changed"
    assert_no_hook .githooks
    assert_done
}

@test "odd: commit.hooks runs the hook before the commit, once for each task" {
    odd_repo
    mkdir "$BATS_TEST_TMPDIR/hooks"
    printf '#!/bin/sh\necho pre-commit >>%q\ngit diff --cached --name-only\n' "$BATS_TEST_TMPDIR/hooks-run" >"$BATS_TEST_TMPDIR/hooks/pre-commit"
    chmod +x "$BATS_TEST_TMPDIR/hooks/pre-commit"
    git config core.hooksPath "$BATS_TEST_TMPDIR/hooks"
    odd_plan 'commit: {hooks: true}'
    run_odd
    assert_done
    [[ $(sort "$BATS_TEST_TMPDIR/hooks-run" | uniq -c | xargs) == '3 pre-commit' ]] || fail "run:" "$(<"$BATS_TEST_TMPDIR/hooks-run")"
}

@test "odd: signing is asked for, and there is no gpg" {
    odd_repo
    git config commit.gpgSign true
    git config tag.gpgSign true
    git config gpg.program "$BATS_TEST_TMPDIR/no-such-gpg"
    odd_plan
    run_odd
    assert_done
}

@test "odd: no identity" {
    odd_repo
    git config --unset user.name
    git config --unset user.email
    git config user.useConfigOnly true
    odd_plan
    run_odd
    assert_refused 3 'set user.name and user.email'
}

@test "odd: an identity for committing, none for authors" {
    odd_repo
    git config --unset user.name
    git config --unset user.email
    git config user.useConfigOnly true
    git config committer.name Tester
    git config committer.email tester@example.com
    odd_plan
    run_odd
    assert_refused 3 'set user.name and user.email'
}

# HEAD and branches

@test "odd: a detached HEAD is refused, and fine with --base" {
    odd_repo
    git checkout -q --detach
    odd_plan
    run_odd
    assert_refused 2 '--base'
    run_odd --base main
    assert_status 0
    assert_changes
    assert_content
    [[ $(git rev-parse HEAD) == "$start" && -z $(git status --porcelain) ]] || fail "the checkout was moved"
    assert_nothing_left
}

@test "odd: a branch without a commit is refused" {
    git init -q -b main repo
    cd repo
    set_up_repo
    odd_plan
    state_of_repository >"$BATS_TEST_TMPDIR/before"
    run_plan
    assert_status 2
    [[ $stderr == *"there is no branch 'main' with a commit"* ]] || fail "not said"
    assert_state
    [[ ! -e .git/anabranch && ! -e .anabranch ]] || fail "something was begun"
}

@test "odd: another base than the one that is checked out" {
    odd_repo
    git switch -q -c mine
    echo mine >mine
    add_tracked
    head=$(git rev-parse HEAD)
    odd_plan
    run_odd --base main
    assert_status 0
    assert_changes
    assert_content
    [[ $(git rev-parse HEAD) == "$head" && -z $(git status --porcelain) && -e gone ]] || fail "the checkout was moved"
    assert_nothing_left
}

@test "odd: a base with slashes and odd characters" {
    for BASE in 'feature/ünï-日本/x@y' "it's;\$(odd)&\"so\"" '%s' 'heads/main' 'refs/heads/x'; do
        odd_repo
        git branch -m "$BASE"
        odd_plan
        run_odd
        assert_done
        cd ..
        rm -rf repo
    done
}

@test "odd: a very long name of the base" {
    odd_repo
    BASE=$(printf 'long%.0s' {1..60})
    git branch -m "$BASE"
    odd_plan
    run_odd
    assert_done
}

@test "odd: a base that is named as our own branches are" {
    odd_repo
    BASE=anabranch
    git branch -m "$BASE"
    odd_plan
    run_odd
    assert_refused 3 "'anabranch'"
}

@test "odd: a broken ref in the way of our branches" {
    odd_repo
    echo garbage >.git/refs/heads/anabranch
    odd_plan
    run_odd
    assert_status 1
    assert_summary a setup:
    rm .git/refs/heads/anabranch
    assert_nothing_left
    assert_unchanged_checkout
}

@test "odd: a tag with the name of the branch" {
    odd_repo
    git commit -q --allow-empty -m more
    git tag main HEAD^
    git tag HEAD HEAD^
    tagged=$(git rev-parse refs/tags/main)
    odd_plan
    run_odd
    [[ $(git rev-parse refs/tags/main) == "$tagged" ]] || fail "the tag was moved"
    git tag -d HEAD >/dev/null # fsck minds
    sed -i '\,^refs/tags/HEAD$,d' "$BATS_TEST_TMPDIR/before"
    assert_done
}

# The folder that it is started in

@test "odd: a bare repository with worktrees" {
    odd_repo
    cd ..
    git clone -q --bare repo bare.git
    cd bare.git
    set_up_repo
    git worktree add -q ../tree main
    git worktree add -q -b other ../other main
    cd ../tree
    odd_plan
    run_odd
    assert_done
    [[ -z $(git -C ../other status --porcelain) ]] || fail "the other worktree was touched"
}

@test "odd: from a worktree, on another base than its own" {
    odd_repo
    git worktree add -q -b other ../other
    cd ../other
    other=$(git rev-parse HEAD)
    odd_plan
    run_odd --base main
    [[ $(git rev-parse HEAD) == "$other" && -z $(git status --porcelain) ]] || fail "the worktree was touched"
    assert_nothing_left
    cd ../repo
    assert_done
}

@test "odd: from a worktree, on its own branch" {
    odd_repo
    main=$(git rev-parse main)
    git worktree add -q -b other ../other
    cd ../other
    odd_plan
    BASE=other
    run_odd
    assert_done
    [[ $(git rev-parse main) == "$main" && -z $(git -C ../repo status --porcelain) ]] || fail "the main one was touched"
}

@test "odd: from a worktree whose main one has its git folder elsewhere" {
    odd_repo --separate-git-dir "$BATS_TEST_TMPDIR/elsewhere.git"
    git worktree add -q -b other ../other
    cd ../other
    odd_plan
    BASE=other
    run_odd
    assert_done
}

@test "odd: from a subfolder" {
    odd_repo
    odd_plan
    cd dir
    note_state
    run_apart anabranch run --engine sim ../plan.yaml 3>&-
    assert_no_sanitizer
    assert_done
    [[ ! -e .anabranch ]] || fail "left here"
}

@test "odd: through a symlink to the repository" {
    odd_repo
    ln -s repo ../link
    cd ../link
    odd_plan
    run_odd
    assert_done
}

@test "odd: a project in a subfolder" {
    odd_repo
    mkdir -p 'pro ject/dir'
    cp same change gone 'pro ject'
    add_tracked
    odd_plan 'cwd: pro ject'
    run_odd
    assert_status 0
    [[ $(git diff --no-renames --name-status "$start" main) == "${PLANNED//$'\t'/$'\tpro ject/'}" ]] ||
        fail "$(git diff --name-status "$start" main)"
    PREFIX='pro ject/' assert_content
    PREFIX='pro ject/' assert_followed
    assert_nothing_left
}

@test "odd: a folder with so many entries that its tree is not compressed" {
    odd_repo
    seq -f 'many-%g' 1000 | xargs touch
    git add -A
    git commit -q -m many
    odd_plan
    run_odd
    assert_done
    (($(git cat-file -s 'HEAD^{tree}') > 16384)) || fail "the tree is too small for this test"
    git fsck --strict --full --no-dangling || fail "git finds fault with what was written"
    git gc -q --prune=now
    git fsck --strict --full || fail "git cannot pack it"
}

@test "odd: a path with blanks and other characters" {
    for name in 'with blank' 'naïve-日本語 🎈' "it's \"so\"" '-dash' 'back\slash $HOME *' '#hash:colon' '%s'; do
        mkdir "./$name"
        cd "./$name" || return
        odd_repo
        odd_plan
        run_odd
        assert_done
        cd ../.. || return
    done
}

@test "odd: a path that is not UTF-8" {
    mkdir $'caf\xe9'
    cd $'caf\xe9' || return
    odd_repo
    odd_plan
    run_odd
    assert_done
    run_apart anabranch status --json
    [[ $(jq -r .state <<<"$output") == finished ]] || fail "$output"
    run_apart anabranch report "$(ls .git/anabranch/runs)" --format json
    [[ $(jq -r .state <<<"$output") == finished ]] || fail "$output"
}

@test "odd: a path with a newline is refused" {
    mkdir $'new\nline'
    cd $'new\nline' || return
    odd_repo
    odd_plan
    run_odd
    assert_refused 3 'repository'
}
