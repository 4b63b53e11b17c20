#!/usr/bin/env bats
# What an agent changes outside its workspace, and how we notice: saved work, the saved plan, the user's checkout.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # start_plan sets events and engine, run_apart sets output

load ../cli/helper
load ../cli/run_helper

# A task that runs a script as its agent; $REPO is the repository and $ws the workspace.
agent() { # ID SCRIPT [LINE OF YAML...]
    local id=$1 script=$BATS_TEST_TMPDIR/agent-$1
    printf '#!/bin/bash\nunset GIT_CEILING_DIRECTORIES\nREPO=%q ws=$PWD\n%s\n' "$PWD" "$2" >"$script"
    chmod +x "$script"
    shift 2
    add_task "$id" "$@" -- "sh $script"
}

# A member of the one git.state_changed event about NAME, of output that is --json.
change() { # NAME MEMBER
    printf '%s\n' "$output" | grep -F '"event":"git.state_changed"' | grep -F "\"name\":\"$1\"" |
        sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p"
}

# --- the saved plan

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
        [[ $stderr == *"'$saved/plan.json' is not what the run wrote"* ]] || fail "resume $how"
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
    [[ $stderr == *"'$saved/run.json' is not what the run wrote"* ]] || fail "it was resumed"
}
