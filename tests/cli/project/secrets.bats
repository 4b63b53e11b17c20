#!/usr/bin/env bats
# Values of secret variables appear only in the environment of the processes that need them.
# shellcheck disable=SC2016 # shell lines are for agents
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

# No file and no output may contain a part of a secret: four bytes that are not common are enough.
parts='Zq7x|9vKw|pR5t|Lm2n|Ht8y|QfW3'

use_secrets() {
    export TOKEN_FOR_TEST=Zq7x9vKwpR5tLm2nHt8yQfW3
    export KEY_FOR_TEST=$'-BEGIN-\nfirst-pR5tLm2n\nlast-Zq7x9vKw\n'
    export ANTHROPIC_API_KEY=sk-Zq7x9vKwpR5t
    env='env: {A: {from: TOKEN_FOR_TEST, secret: true}, K: {from: KEY_FOR_TEST, secret: true},'
    env+=' B: {from: TOKEN_FOR_TEST, secret: true}}'
}

refute_told() { # FILE OR FOLDER...
    ! grep -raE "$parts" "$@" || fail "a secret is in it"
}

# An agent that prints a secret in two writes, divided at every byte, then as a line of a longer one,
# then what two have in common, and last without a line end.
make_agent() {
    cat >"$BATS_TEST_TMPDIR/agent" <<'END'
#!/bin/bash
for ((i = 0; i <= ${#A}; i++)); do
    printf '%s' "<${A:0:i}"
    printf '%s\n' "${A:i}>"
    printf '%s' "[${A:0:i}" >&2
    printf '%s\n' "${A:i}]" >&2
done
printf '%s\n' "$K" "${K:8:14}" "$ANTHROPIC_API_KEY${A:12}" "{\"k\":\"${K//$'\n'/\\n}\"}"
head -c 65530 /dev/zero | tr '\0' .
printf '%s' "$A"
printf '%s' "why: $A" >&2
exit 1
END
    chmod +x "$BATS_TEST_TMPDIR/agent"
}

@test "secrets: in no log, event, report, notice or file of the run, however they are printed" {
    make_repo
    use_secrets
    make_agent
    begin_plan "defaults: {engine: sim, $env, retry: {transient: 0, verify: 0}}" 'notify:' \
        "  - {on: [failed], command: 'cat >$BATS_TEST_TMPDIR/notice-\$ANABRANCH_TASK'}"
    add_task plain 'engine: command' "command: [$BATS_TEST_TMPDIR/agent]" 'prompt: p'
    add_task sim -- 'sh echo "{\"type\":\"text\",\"text\":\"$A\"}"' 'sh echo "$A" >&2; exit 1'
    add_task verify 'verify: "echo $A; echo $K >&2; exit 1"' -- 'write v 1'
    run_apart anabranch run --json --log-dir logs --report r.json --report r.md --report r.xml \
        plan.yaml 3>&-
    assert_status 1
    assert_no_sanitizer
    assert_event task.failed plain 'why: [MASKED]'
    assert_event task.failed verify
    printf '%s\n' "$output" "$stderr" >said
    for call in 'status' 'status --json' 'report last' 'logs plain' 'logs --raw plain' \
        'logs --stderr plain' 'logs sim' 'logs --stderr sim' 'explain verify' 'cost last'; do
        # shellcheck disable=SC2086
        anabranch $call >>said 2>&1 || :
    done
    refute_told said logs r.json r.md r.xml .git/anabranch "$BATS_TEST_TMPDIR"/notice-*
    [[ -s $BATS_TEST_TMPDIR/notice-plain ]] || fail "nobody was told"
    # 25 times each, and nothing else is lost
    [[ $(anabranch logs --raw plain | grep -cFx '<[MASKED]>') == 25 ]] || fail "$(<said)"
    [[ $(grep -cFx '[[MASKED]]' logs/plain-stderr.log) == 25 ]] || fail "$(<logs/plain-stderr.log)"
    [[ $(tail -c 9 logs/plain-stdout.log) == '.[MASKED]' ]] || fail "$(tail -c 99 logs/plain-stdout.log)"
    grep -qFx '{"k":"[MASKED]\n"}' logs/plain-stdout.log || fail "not in JSON"
}

@test "secrets: a log that is followed is masked while the agent works, whoever looks" {
    make_repo
    begin_plan
    add_task a 'env: {A: {value: Zq7x9vKwpR5tLm2nHt8y, secret: true}}' -- \
        'sh echo "{\"type\":\"text\",\"text\":\"it is $A\"}"; echo "$A" >&2' \
        "sh touch '$BATS_TEST_TMPDIR/printed'; $(until_exists go)" 'write a 1'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/printed"
    run anabranch logs --stderr a
    refute_contains Zq7x
    assert_contains '[MASKED]'
    run anabranch logs --raw a
    refute_contains Zq7x
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0
    refute_told .git/anabranch
}

@test "secrets: a plan's own are not kept with its run, and are found again by resume" {
    make_repo
    begin_plan
    add_task a 'env: {A: {value: Zq7x9vKwpR5tLm2nHt8y, secret: true}}' -- \
        'sh echo "$A" >&2' "on 1 sh touch '$BATS_TEST_TMPDIR/printed'; sleep 60" \
        'sh printf "%s" "$A" | wc -c >a'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/printed"
    kill -KILL "$engine"
    wait "$engine" || :
    wait_for no_agents
    refute_told .git/anabranch/runs/*/plan.json .git/anabranch/state.db*
    mv plan.yaml elsewhere.yaml
    run_apart anabranch resume --saved 3>&-
    assert_status 2
    [[ $stderr == *"the run does not keep the value of 'A', a secret of task 'a'"* ]] || fail
    mv elsewhere.yaml plan.yaml
    run_apart anabranch resume --saved 3>&-
    assert_status 0
    assert_in main a 20
    refute_told .git/anabranch
}

@test "secrets: of a plan from standard input they are kept until all is done" {
    make_repo
    begin_plan
    add_task a 'retry: 0' 'env: {A: {value: Zq7x9vKwpR5tLm2nHt8y, secret: true}}' -- 'on 1 exit 1' \
        'sh printf "%s" "$A" | wc -c >a'
    run_apart anabranch run --engine sim - <plan.yaml 3>&-
    assert_status 1
    grep -q Zq7x .git/anabranch/runs/*/plan.json || fail "resume could not have it"
    [[ $(stat -c %a .git/anabranch/runs/*/plan.json) == 600 ]] || fail "others can read it"
    run_apart anabranch resume 3>&-
    assert_status 0
    assert_in main a 20
    refute_told .git/anabranch
}
