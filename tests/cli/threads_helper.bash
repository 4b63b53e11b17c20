# shellcheck shell=bash
# shellcheck disable=SC2154 # run_apart sets stderr
# For tests of threads, after `load helper`: threads of fanout, and work in
# them.

# Adds a thread to the plan.
add_thread() { # ID [LINE OF TOML...]
    printf '[[threads]]\nid = "%s"\nbranch = "part"\n' "$1" | sed "s/part/part$1/" >>plan.toml
    shift
    printf '%s\n' "$@" >>plan.toml
    echo >>plan.toml
}

# Writes a plan with threads of these ids, in this merge order; each owns the folder of its name.
plan_threads() { # ID...
    local id order=0
    echo plan.toml >>.git/info/exclude
    : >plan.toml
    for id; do
        add_thread "$id" "goal = \"Goal of $id\"" "owns = [\"d$id\"]" "merge_order = $((++order))"
    done
}

fan_out() {
    run_apart anabranch fanout plan.toml
    assert_status 0
    cp .git/config "$BATS_TEST_TMPDIR/config"
}

# Makes a repository with these threads.
make_threads() { # ID...
    make_repo
    plan_threads "$@"
    fan_out
}

tree() { # ID
    echo "$PWD/worktrees/thread-$1"
}

branch() { # ID
    echo "parallel/part$1-thread-$1"
}

# Writes a file in thread ID and commits it, without hooks.
work() { # ID PATH TEXT [SUBJECT]
    mkdir -p "$(dirname "$(tree "$1")/$2")"
    echo "$3" >"$(tree "$1")/$2"
    git -C "$(tree "$1")" add -A
    git -C "$(tree "$1")" commit -q --no-verify -m "${4:-Work on $2}"
}

# Replaces one of the nine lines of `file`.
change_line() { # ID NUMBER TEXT
    sed -i.old "$2s/.*/$3/" "$(tree "$1")/file"
    rm "$(tree "$1")/file.old"
    git -C "$(tree "$1")" commit -q --no-verify -a -m "Line $2"
}
