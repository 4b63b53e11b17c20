#!/usr/bin/env bats
# A run whose output nobody reads any more.

load ../helper

@test "pipe: a reader that leaves early does not end the run" {
    make_repo
    begin_plan
    add_task a -- 'action one' 'sleep 300ms' 'write a x'
    add_task b 'depends_on: [a]' -- 'action two' 'write b x'
    "$ANABRANCH" run --engine sim plan.yaml 3>&- | head -n 1 >/dev/null
    assert_in main a x
    assert_in main b x
    assert_clean
}
