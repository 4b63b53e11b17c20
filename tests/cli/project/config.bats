#!/usr/bin/env bats
# The configuration: anabranch.toml of the user and of the repository, and costs estimated by its prices.
# shellcheck disable=SC2016,SC2154 # lines for other shells, and money; run_apart sets stderr

load ../helper
load ../run_helper
load ../streams_helper

user_config() { # LINE...
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config-home
    mkdir -p "$XDG_CONFIG_HOME/anabranch"
    printf '%s\n' "$@" >"$XDG_CONFIG_HOME/anabranch/anabranch.toml"
}

own_config() { # LINE...
    echo anabranch.toml >>.git/info/exclude
    printf '%s\n' "$@" >anabranch.toml
}

@test "config: prices give the cost that an engine does not report; it is marked, and counts for the budget" {
    make_repo
    user_config '[prices]' 'date = 2026-01-01' \
        '[prices."big*"]' 'input = 1000' 'output = 1000' '[prices.small]' 'input = 9' 'output = 9'
    own_config '[prices]' 'date = "2026-11-01"' '[prices.small]' 'input = 2.0' 'output = 10'
    begin_plan
    add_task own 'model: small' -- 'tokens 1000 1000 0.5' 'write own 1'
    add_task small 'model: small' -- 'tokens 100k 10k' 'write small 1'
    add_task big 'model: big-1' 'budget: {usd: 2}' -- 'write big 1' 'tokens 1k 800' 'tokens 1k 0' 'hang'
    add_task odd 'model: nobody-knows' -- 'tokens 1k 1k' 'write odd 1'
    run_plan --json --report r.json --report r.md --report r.xml
    assert_status 1
    assert_event task.usage small '"usd":0.3,"prices":"2026-11-01"'
    assert_event task.usage own '"usd":0.5}'
    assert_event budget.warned big
    assert_event budget.exceeded big '$2.80 of $2.00'
    assert_event task.failed big '"class":"budget"'
    run anabranch cost last
    [[ $output =~ small\ +1\ +100.0k\ +10.0k\ +0\ +0\ +~0.3000 ]] || fail "not small"
    [[ $output =~ own\ +1\ +1.0k\ +1.0k\ +0\ +0\ +0.5000 ]] || fail "not own"
    [[ $output =~ odd\ +1\ +1.0k\ +1.0k\ +0\ +0\ +- ]] || fail "not odd"
    [[ $output =~ Total\ +4\ .*\ ~3.6000\+ ]] || fail "not all"
    assert_line "~ Estimated by the configured prices of 2026-01-01 to 2026-11-01: \$3.1000 of the total."
    run anabranch cost last --json --by model
    [[ $(jq -c '[.total | (.usd * 100 | round), (.usd_reckoned * 100 | round), .attempts_of_reckoned_cost, .attempts_of_unknown_cost]' <<<"$output") == '[360,310,2,1]' ]] || fail "not in JSON"
    [[ $(jq -r '.prices.newest' <<<"$output") == 2026-11-01 ]] || fail "no date"
    run anabranch status --json
    [[ $(jq -c '[.tasks[] | .usd, .prices], .totals.prices' <<<"$output") == \
        $'[0.5,null,0.3,"2026-11-01",2.8,"2026-01-01",null,null]\n"2026-11-01"' ]] || fail "not in the status"
    [[ $(jq -c '[.tasks[] | .usd, .prices]' r.json) == '[0.5,null,0.3,"2026-11-01",2.8,"2026-01-01",null,null]' ]] || fail "$(<r.json)"
    grep -qF '$0.3000 (estimated, prices of 2026-11-01)' r.md || fail "$(<r.md)"
    grep -qF 'cost: $0.3000, estimated with prices of 2026-11-01' r.xml || fail "$(<r.xml)"
}

@test "config: check and run report errors with their place, and begin nothing" {
    make_repo
    own_config '[prices]' 'date = "soon"' '[prices.small]' 'inptu = 2.0' 'output = -1' \
        '[prices."a*b"]' 'input = 1' 'output = 1' '[engines.cluade]' '[engines.codex]' 'path = "bin/codex"' '[colour]'
    begin_plan
    add_task a -- 'write a 1'
    run_apart anabranch check plan.yaml
    assert_status 2
    expected="$PWD/anabranch.toml:2:8: prices.date: is not a date
    hint: the day on which the prices held: date = \"2026-11-01\"
$PWD/anabranch.toml:3:1: prices.small: has no 'input'
$PWD/anabranch.toml:4:1: prices.small.inptu: unknown key 'inptu'
    hint: did you mean 'input'?
$PWD/anabranch.toml:5:10: prices.small.output: '-1' is not an amount of money
$PWD/anabranch.toml:6:9: prices[\"a*b\"]: cannot be the name of a model
    hint: a '*' may only be at its end
$PWD/anabranch.toml:9:10: engines.cluade: unknown key 'cluade'
    hint: did you mean 'claude'?
$PWD/anabranch.toml:11:8: engines.codex.path: 'bin/codex' is neither an absolute path nor a name
    hint: begin it with '/', or give the name of a program on PATH
$PWD/anabranch.toml:12:2: colour: unknown key 'colour'
    hint: keys of your own begin with 'x-'"
    [[ $stderr == "$expected" ]] || fail "expected errors:" "$expected"
    run_plan
    assert_status 2
    [[ $stderr == *"$PWD/anabranch.toml:2:8: prices.date: is not a date; hint: the day on which"* ]] || fail
    [[ ! -e .git/anabranch ]] || fail "something was begun"
    own_config '[prices'
    run_plan
    assert_status 2
    [[ $stderr == *"$PWD/anabranch.toml:1:8: "* ]] || fail
    own_config '[prices.m]' 'input = 1' 'output = 1'
    run_plan
    assert_status 2
    [[ $stderr == *"prices: has no 'date'"* ]] || fail
}

@test "config: an engine's program and the log of streams; flag and plan go before the repository, that before the user" {
    make_repo
    printf '#!/bin/sh\necho "codex 9.8.7"; echo "$0 ran" >>"%s"\n' "$BATS_TEST_TMPDIR/ran" >"$BATS_TEST_TMPDIR/one"
    cp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
    chmod +x "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
    user_config '[engines.codex]' "path = '$BATS_TEST_TMPDIR/one'" '[engines.qwen]' 'path = "none-such"'
    run anabranch engines --json
    [[ $(jq -r 'select(.engine == "codex") | "\(.program) \(.version)"' <<<"$output") == "$BATS_TEST_TMPDIR/one 9.8.7" ]] || fail
    own_config '[engines.codex]' "path = '$BATS_TEST_TMPDIR/two'"
    begin_plan 'defaults: {read_only: true, retry: 0}'
    add_task a 'engine: codex' 'prompt: p'
    : >"$BATS_TEST_TMPDIR/ran"
    run_apart anabranch run plan.yaml 3>&-
    assert_status 1
    [[ $(<"$BATS_TEST_TMPDIR/ran") == "$BATS_TEST_TMPDIR/two ran" ]] || fail "$(<"$BATS_TEST_TMPDIR/ran")"
    run_apart anabranch run --engine-exe "$BATS_TEST_TMPDIR/one" plan.yaml 3>&-
    [[ $(tail -n 1 "$BATS_TEST_TMPDIR/ran") == "$BATS_TEST_TMPDIR/one ran" ]] || fail "not the flag's"
    add_task b 'engine: qwen' 'prompt: p'
    run_apart anabranch run plan.yaml 3>&-
    assert_status 3
    [[ $stderr == *"task 'b': cannot find 'none-such'"* ]] || fail
    own_config '[log]' 'command = "echo \"$2\" >>../told"'
    begin_manifest
    add_batch 1 -- 'write a 1'
    run_streams
    assert_status 0
    [[ $(<../told) == *parallel_start*parallel_complete* ]] || fail "nobody was told"
}

@test "config: whom to tell; the plan goes before the repository, that before the user, and an empty list tells nobody" {
    make_repo
    local plan='notify: [{on: [failed], command: "echo plan >>../told"}]' nobody='notify: []'
    user_config '[[notify]]' 'on = ["failed", "done"]' "command = 'echo user \$ANABRANCH_EVENT >>$PWD/../told'"
    begin_plan 'defaults: {retry: 0}'
    add_task a -- 'exit 1'
    cp plan.yaml silent.yaml
    run_plan
    assert_status 1
    [[ $(<../told) == 'user task.failed' ]] || fail "$(<../told)"
    # Nobody is told of a rehearsal.
    run_apart anabranch rehearse plan.yaml 3>&-
    assert_status 1
    [[ $(<../told) == 'user task.failed' ]] || fail "$(<../told)"
    own_config '[[notify]]' 'on = ["failed"]' 'command = ["sh", "-c", "echo own $ANABRANCH_TASK >>../told"]'
    run_plan
    sed -i "1a $plan" plan.yaml
    run_plan
    [[ $(<../told) == $'user task.failed\nown a\nplan' ]] || fail "$(<../told)"
    sed -i "1a $nobody" silent.yaml
    mv silent.yaml plan.yaml
    run_plan
    # Also when it is gone on with as it was saved.
    run_apart anabranch resume 3>&-
    assert_status 1
    own_config 'notify = []'
    sed -i '/^notify/d' plan.yaml
    run_plan
    assert_status 1
    [[ $(<../told) == $'user task.failed\nown a\nplan' ]] || fail "$(<../told)"
    own_config '[[notify]]' 'on = ["failed"]' 'webhook = "http://hooks.example.com"'
    run_plan
    assert_status 2
    [[ $stderr == *"$PWD/anabranch.toml:3:11: notify[0].webhook: 'http://hooks.example.com' "* ]] || fail
}
