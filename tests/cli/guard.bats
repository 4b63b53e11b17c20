# shellcheck shell=bash disable=SC2016 # the agents' shell is to see the variables
# shellcheck disable=SC2154 # start_plan sets engine and events
# Supervision: nothing outlives its task, by whatever means it is kept together.

load helper
load run_helper

MEANS=(namespace cgroup subreaper group)

setup_file() {
    chmod 711 "$BATS_RUN_TMPDIR" # for tests as another user
}

# Those of the means that work here, for this user.
means_here() { # [COMMAND PREFIX...]
    local means
    for means in "${MEANS[@]}"; do
        ! "$@" "$ANABRANCH" doctor --json | grep -qF "\"name\":\"contain.$means\",\"verdict\":\"ok\"" || echo "$means"
    done
}

# Runs one engine for each means, at the same time, each in a repository of its own, and waits until
# their agents have made the file `ready`. Pids are in engines.
start_engines() { # [OPTION...]
    local means
    engines=()
    for means in $(means_here); do
        git clone -q . "../$means"
        cp plan.yaml "../$means"
        (
            cd "../$means" || exit
            git config user.name Tester
            git config user.email tester@example.com
            export ANABRANCH_CONTAIN=$means STAMPS=$PWD/.git/stamp
            exec "$ANABRANCH" run --engine sim --json "$@" plan.yaml >.git/events 2>.git/errors 3>&-
        ) &
        engines+=("$!")
    done
    for means in $(means_here); do
        wait_for test -e "../$means/.git/stamp.ready"
    done
}

end_engines() { # STATUS
    local pid
    for pid in "${engines[@]}"; do
        status=0
        wait "$pid" || status=$?
        assert_status "$1"
    done
}

# What the engine of a means has told, as `output`.
of_means() { # MEANS
    output=$(<"../$1/.git/events")
    stderr=$(<"../$1/.git/errors")
    assert_no_sanitizer
}

# Everything that agents do who do not want to end.
nasty_plan() {
    begin_plan 'limits: {workers: 8}'
    add_task background -- 'spawn echo >$STAMPS.b; exec sleep 5001' 'sh until test -e $STAMPS.b; do sleep 0.02; done' 'write b 1'
    add_task daemon -- 'daemon echo >$STAMPS.d; exec sleep 5002' 'sh until test -e $STAMPS.d; do sleep 0.02; done' 'write d 1'
    add_task deaf -- "daemon trap '' TERM INT HUP; echo >\$STAMPS.t; while :; do sleep 1; done" \
        'sh until test -e $STAMPS.t; do sleep 0.02; done' 'write t 1'
    add_task reparents -- 'sh (setsid sh -c "sleep 5003 & echo >$STAMPS.r" &) ; until test -e $STAMPS.r; do sleep 0.02; done' 'write r 1'
    # Each process starts the next and ends, so that none is there for long: 2000 at most.
    cat >"$BATS_TEST_TMPDIR/bomb" <<'END'
echo "$1" >"$STAMPS.bomb"
test "$1" -gt 2000 || { setsid sh "$0" $(($1 + 1)) & }
END
    add_task bomb -- "sh (sh $BATS_TEST_TMPDIR/bomb 1 &) ; until test -s \$STAMPS.bomb; do sleep 0.02; done" 'write bomb 1'
}

@test "guard: whatever a task leaves behind is ended and named, by each means" {
    local means
    make_repo
    nasty_plan
    for means in $(means_here); do
        git clone -q . "../$means"
        cp plan.yaml "../$means"
        cd "../$means"
        git config user.name Tester
        git config user.email tester@example.com
        export ANABRANCH_CONTAIN=$means STAMPS=$BATS_TEST_TMPDIR/$means.stamp
        run_plan --json
        assert_status 0
        assert_event task.swept background '"count":1,"processes":["sleep 5001"]'
        assert_event task.swept daemon '"count":1,"processes":["sleep 5002"]'
        assert_event task.swept reparents '"count":1,"processes":["sleep 5003"]'
        assert_event task.swept deaf 'trap'
        [[ $(<"$STAMPS.bomb") -lt 2000 ]] || fail "$means: the bomb went off"
        no_agents || fail "$means:" "$(agents_alive)"
        cd ../repo
    done
}
