#!/usr/bin/env bats
# Notifications: recipients, times and contents; by commands, the desktop, webhooks.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the shell of the notified command expands it
# shellcheck disable=SC2154 # run_apart and start_plan set stderr and engine

load ../helper

post() { # [OPTION] with the address and the body on standard input
    "$(dirname "$ANABRANCH")/anabranch-post" "$@"
}

# A sender that keeps what it gets, and ends with the given code.
make_sender() { # [CODE]
    export ANABRANCH_POST=$BATS_TEST_TMPDIR/sender
    printf '#!/bin/sh\ncat >>"%s/posted"\necho "told $*" >&2\nexit %s\n' \
        "$BATS_TEST_TMPDIR" "${1:-0}" >"$ANABRANCH_POST"
    chmod +x "$ANABRANCH_POST"
    posted=$BATS_TEST_TMPDIR/posted
}

# A program in ../bin that shows notices: what it was told to show is in the file $shown.
make_desktop() { # PROGRAM
    shown=$BATS_TEST_TMPDIR/shown
    mkdir ../bin
    printf '#!/bin/sh\nprintf "<%%s>" "$@" >"%s"\n' "$shown" >"../bin/$1"
    chmod +x "../bin/$1"
}

# A plan with one entry of `notify` whose command adds a line to ../told for each call.
notify_command() { # ON
    begin_plan 'name: work' 'notify:' "  - on: $1" \
        '    command: printf "%s %s %s %s " "$ANABRANCH_EVENT" "$ANABRANCH_RUN" "$ANABRANCH_PLAN" "${ANABRANCH_TASK-none}" >>../told; cat >>../told'
}

orchestra() { # writes a manifest whose two tasks are given as steps
    cat >plan.yaml <<END
po_plan_version: "0.1"
name: old
cwd: "."
on_complete: {webhook_url: https://hooks.example.com/complete?key=s3cret}
on_failure: {webhook_url: https://hooks.example.com/failure}
defaults: {max_retries: 0}
tasks:
  - {id: a, agent: x, read_only: false, prompt: "sim> $1"}
  - {id: b, agent: x, read_only: false, prompt: "sim> $2", depends_on: [a]}
END
}

json() { # FILE EXPRESSION: of the JSON `d` in its last line
    python3 -c 'import json, sys
d = json.loads(open(sys.argv[1]).read().splitlines()[-1])
print(eval(sys.argv[2]))' "$1" "$2"
}

# Times and contents

@test "notify: a failed task is reported as its event" {
    make_repo
    notify_command '[failed]'
    add_task good -- 'write a x'
    add_task bad 'retry: 0' -- 'error refused I will not'
    run_plan
    assert_status 1
    [[ $(wc -l <../told) -eq 1 ]] || fail "$(<../told)"
    read -r event id plan task body <../told
    [[ "$event $plan $task" == 'task.failed work bad' ]] || fail "$(<../told)"
    [[ -e .git/anabranch/runs/$id ]] || fail "no such run: $id"
    echo "$body" >../body
    [[ $(json ../body 'd["event"], d["task"], d["plan"], d["class"], d["reason"], d["attempt"]') == \
        "('task.failed', 'bad', 'work', 'refused', 'I will not', 1)" ]] || fail "$body"
    [[ $(json ../body 'd["run"]') == "$id" ]] || fail "$body"
}

@test "notify: done is reported once, and only where every task succeeded (PO-29)" {
    make_repo
    notify_command '[done]'
    add_task a -- 'write a x'
    add_task b 'read_only: true' -- 'say well'
    run_plan
    assert_status 0
    [[ $(cut -d' ' -f1,3,4 ../told) == 'run.finished work none' ]] || fail "$(<../told)"

    rm ../told
    notify_command '[done]'
    add_task a -- 'write a2 x'
    add_task b 'retry: 0' -- 'exit 1'
    run_plan
    assert_status 1
    [[ ! -e ../told ]] || fail "$(<../told)"
}

@test "notify: done is reported for the tasks that were asked for" {
    make_repo
    notify_command '[done]'
    add_task a -- 'write a x'
    add_task b 'retry: 0' -- 'exit 1'
    run_plan --only a
    assert_status 0
    [[ $(wc -l <../told) -eq 1 ]] || fail "$(<../told)"
}

@test "notify: a conflict is reported, and is no failure and no success" {
    make_repo
    begin_plan 'notify:' '  - {on: [failed, done], command: "cat >>../other"}' \
        '  - {on: [conflicted], command: "cat >>../told"}'
    add_task a -- 'write same 1' 'sleep 100ms'
    add_task b -- 'write same 2' 'sleep 100ms'
    run_plan -j 2
    assert_status 4
    [[ ! -e ../other ]] || fail "$(<../other)"
    [[ $(json ../told 'd["event"], d["task"] in "ab", d["files"].split()[0]') == "('task.conflicted', True, 'same')" ]] ||
        fail "$(<../told)"
}

@test "notify: a parked task is reported" {
    make_repo
    notify_command '[parked]'
    add_task a 'retry: {limit: park}' -- 'on 1 limit 100ms' 'write a x'
    run_plan
    assert_status 0
    [[ $(cut -d' ' -f1,4 ../told) == 'task.parked a' ]] || fail "$(<../told)"
}

@test "notify: several are told of the same" {
    make_repo
    begin_plan 'notify:' '  - {on: [done], command: [sh, -c, "cat >../one"]}' \
        '  - {on: [done], command: [sh, -c, "cat >../two"]}'
    add_task a -- 'write a x'
    run_plan
    assert_status 0
    [[ -s ../one ]] && cmp ../one ../two || fail "not both"
}

# Receivers that fail

@test "notify: a command that fails is a warning, and nothing else" {
    make_repo
    begin_plan 'notify:' '  - {on: [done], command: "echo first; echo no such mailbox >&2; exit 3"}' \
        '  - {on: [done], command: [./not-there]}'
    add_task a -- 'write a x'
    run_plan
    assert_status 0
    assert_contains 'warning: notification failed by command: exit code 3: no such mailbox'
    assert_contains "warning: notification failed by command: run './not-there': No such file"
    assert_summary a landed
    sed -i 's/write a x/write b x/' plan.yaml
    run_plan --json
    assert_status 0
    assert_event notify.failed '' '"about":"run.finished","to":"command","reason":"exit code'
}

@test "notify: a slow command does not delay the run, and is given up ten seconds after its end" {
    make_repo
    begin_plan 'notify:' '  - {on: [failed], command: "echo $$ >../pid; exec sleep 1000"}'
    add_task bad 'retry: 0' -- 'exit 1'
    add_task good 'order: 1' -- 'sleep 100ms' 'write a x'
    local before=$SECONDS
    run_plan --json
    ((SECONDS - before >= 9 && SECONDS - before < 40)) || fail "$((SECONDS - before)) s"
    assert_status 1
    assert_event task.landed good
    assert_event notify.failed bad '"reason":"was still running when the run ended"'
    wait_for is_gone "$(<../pid)"
}

@test "notify: a signal ends the wait, and not more" {
    make_repo
    begin_plan 'notify:' '  - {on: [done], command: "touch ../there; exec sleep 1000"}'
    add_task a -- 'write a x'
    start_plan
    wait_for [ -e ../there ]
    local before=$SECONDS
    kill -INT "$engine"
    end_plan
    ((SECONDS - before < 8)) || fail "it waited"
    assert_status 0
    assert_event notify.failed
}

@test "notify: under nohup a hang-up does not end the wait" {
    make_repo
    begin_plan 'notify:' '  - {on: [done], command: "touch ../there; until [ -e ../first ]; do sleep 0.02; done; exit 3"}' \
        '  - {on: [done], command: "until [ -e ../second ]; do sleep 0.02; done; touch ../told"}'
    add_task a -- 'write a x'
    trap '' HUP
    start_plan
    trap - HUP
    wait_for [ -e ../there ]
    kill -HUP "$engine"
    touch ../first
    wait_for grep -q notify.failed "$events"
    touch ../second
    end_plan
    assert_status 0
    assert_event notify.failed '' '"reason":"exit code 3"'
    [[ -e ../told ]] || fail 'it did not wait'
}

@test "notify: hundreds of failures do not start hundreds of processes" {
    make_repo
    begin_plan 'limits: {workers: 16}' 'notify:' \
        '  - {on: [failed], command: "echo + >>../told; sleep 0.05; echo - >>../told"}'
    local i
    for i in {1..60}; do
        add_task "t$i" 'retry: 0' 'read_only: true' -- 'exit 1'
    done
    run_plan -q
    assert_status 1
    [[ $(grep -c + ../told) -eq 60 ]] || fail "$(grep -c + ../told) were told"
    awk '/\+/ { n++ } /-/ { n-- } n > 8 { exit 1 }' ../told || fail "more than 8 at once"
}

# The desktop

@test "notify: the desktop is told by notify-send, where there is one" {
    make_repo
    make_desktop notify-send
    begin_plan 'name: -work' 'notify:' '  - {on: [failed], desktop: true}'
    add_task a 'retry: 0' -- 'error refused "no\u0007way"'
    PATH=$PWD/../bin:$PATH run_plan
    assert_status 1
    [[ $(<"$shown") == '<--app-name=anabranch><--><-work><Task a failed: '*way'>' ]] ||
        fail "$(<"$shown")"
}

@test "notify: a machine without notify-send is no failure" {
    make_repo
    mkdir ../bin
    local program
    for program in git sh; do
        ln -s "$(command -v "$program")" ../bin/
    done
    begin_plan 'notify:' '  - {on: [done], desktop: true}'
    add_task a -- 'write a x'
    local path=$PATH
    PATH=$PWD/../bin
    run "$ANABRANCH" run --engine sim plan.yaml
    PATH=$path
    assert_status 0
    refute_contains warning
}

@test "notify: without notify-send, osascript gets the words as arguments, never as a script" {
    make_repo
    make_desktop osascript
    local program
    for program in git sh; do
        ln -s "$(command -v "$program")" ../bin/
    done
    begin_plan 'name: "\"work\" & <b>\u202e"' 'notify:' '  - {on: [failed], desktop: true}'
    add_task a 'retry: 0' -- 'error refused "a \" & <i> b"'
    local path=$PATH
    PATH=$PWD/../bin
    run "$ANABRANCH" run --engine sim plan.yaml
    PATH=$path
    assert_status 1
    [[ $(<"$shown") == '<-e><on run argv><-e><display notification (item 2 of argv) with title (item 1 of argv)><-e><end run><--><"work" & <b>\u{202E}><Task a failed: a " & <i> b>' ]] ||
        fail "$(<"$shown")"
}

@test "notify: those that hang are ended while the run continues, and no other waits for them" {
    make_repo
    mkdir ../bin
    printf '#!/bin/sh\necho "$$" >>"%s/pids"\nexec sleep 1000\n' "$BATS_TEST_TMPDIR" >../bin/notify-send
    chmod +x ../bin/notify-send
    begin_plan 'notify:' '  - {on: [failed], desktop: true}' '  - {on: [failed], command: "sleep 1000 & wait"}' \
        '  - {on: [done, conflicted, parked, failed], command: "[ $ANABRANCH_TASK = t9 ] && touch ../told"}'
    local i
    for i in {1..9}; do
        add_task "t$i" 'retry: 0' 'read_only: true' -- 'exit 1'
    done
    add_task last 'read_only: true' -- "sh n=0; until test -e $BATS_TEST_TMPDIR/work/told; do sleep 0.05; n=\$((n+1)); test \$n -lt 600 || exit 1; done"
    PATH=$PWD/../bin:$PATH ANABRANCH_COMMAND_TIME=300ms run_plan --json
    assert_status 1
    assert_event task.done last
    assert_event notify.failed t1 '"to":"desktop","reason":"timed out and was killed"'
    assert_event notify.failed t1 '"to":"command","reason":"timed out and was killed"'
    [[ $(wc -l <"$BATS_TEST_TMPDIR/pids") -eq 9 ]] || fail "not all were tried"
    while read -r i; do
        wait_for is_gone "$i"
    done <"$BATS_TEST_TMPDIR/pids"
}

@test "notify: the text of a notice has no markup for the desktop" {
    make_repo
    make_desktop notify-send
    begin_plan 'name: "a <b> & c"' 'notify:' '  - {on: [failed], desktop: true}'
    add_task a 'retry: 0' -- 'error refused "<a href=x>\u202e & y</a>"'
    PATH=$PWD/../bin:$PATH run_plan
    assert_status 1
    [[ $(<"$shown") == '<--app-name=anabranch><--><a <b> & c><Task a failed: &lt;a href=x>\u{202E} &amp; y&lt;/a>>' ]] ||
        fail "$(<"$shown")"
}

# The bell

@test "notify: the bell rings on the terminal, once for much at once, also where the output is elsewhere" {
    script --version 2>/dev/null | grep -q util-linux || skip "needs script(1) of util-linux"
    make_repo
    begin_plan 'notify:' '  - {on: [failed], bell: true}'
    add_task a 'retry: 0' -- 'exit 1'
    add_task b 'retry: 0' -- 'exit 1'
    # In the background of a terminal that stops whoever writes to it from there.
    SHELL=/bin/sh script -qefc "stty tostop; set -m; $(printf %q "$ANABRANCH") run --engine sim plan.yaml >../out 2>&1 & wait" \
        -O /dev/null </dev/null >../typescript 2>&1 3>&-
    [[ $(tr -dc '\a' <../typescript) == $'\a' ]] || fail "$(cat -v ../typescript)" "$(<../out)"
    grep -q '2 failed' ../out || fail "$(<../out)"
    begin_plan 'notify:' '  - {on: [done], bell: true}' # without a terminal
    add_task a -- 'write a x'
    run setsid -w "$ANABRANCH" run --engine sim plan.yaml </dev/null
    assert_status 0
    refute_contains warning
    refute_contains $'\a'
}

# Webhooks: the engine's side

@test "notify: a webhook's sender gets address and event on its input, nothing in argv" {
    make_repo
    make_sender
    begin_plan 'name: work' 'notify:' '  - {on: [failed], webhook: "https://hooks.example.com/T/s3cret"}'
    add_task a 'retry: 0' -- 'exit 1'
    run_plan
    assert_status 1
    refute_contains warning
    [[ $(head -n 1 "$posted") == https://hooks.example.com/T/s3cret ]] || fail "$(<"$posted")"
    [[ $(json "$posted" 'd["event"], d["plan"], d["task"]') == "('task.failed', 'work', 'a')" ]] ||
        fail "$(<"$posted")"
    # But for the plan itself, which going on with the run needs: that is for its owner alone.
    [[ $(grep -rla s3cret .git/anabranch) =~ ^[^$'\n']*/plan.json$ ]] ||
        fail "the address stays in" "$(grep -rla s3cret .git/anabranch)"
    [[ $(stat -c %a .git/anabranch/runs/*/plan.json) == 600 ]] || fail "others can read it"
}

@test "notify: a webhook that fails is a warning without the address's path" {
    make_repo
    make_sender 1
    begin_plan 'notify:' '  - {on: [done], webhook: "https://hooks.example.com/T/s3cret"}'
    add_task a -- 'write a x'
    run_plan
    assert_status 0
    assert_contains 'warning: notification failed by webhook https://hooks.example.com: exit code 1: told'
    refute_contains s3cret
}

@test "notify: a secret that an agent quotes is not sent (PO-41)" {
    make_repo
    make_sender
    begin_plan 'notify:' '  - {on: [failed], webhook: "https://hooks.example.com/"}'
    add_task a 'retry: 0' 'env: {TOKEN: {value: hush-hush, secret: true}}' -- \
        'error refused the token hush-hush is old'
    run_plan
    assert_status 1
    [[ $(json "$posted" 'd["reason"]') == 'the token [MASKED] is old' ]] || fail "$(<"$posted")"
}

@test "notify: manifests of parallel-orchestra get that tool's call, complete only on success (PO-29)" {
    make_repo
    make_sender
    orchestra 'write a x' 'write b x'
    run_plan
    assert_status 0
    [[ $(grep -c https: "$posted") -eq 1 ]] || fail "$(<"$posted")"
    [[ $(head -n 1 "$posted") == 'https://hooks.example.com/complete?key=s3cret' ]] || fail "$(<"$posted")"
    [[ $(json "$posted" '[k for k in d]') == \
        "['event', 'manifest', 'total', 'succeeded', 'failed', 'skipped', 'duration_sec']" ]] ||
        fail "$(<"$posted")"
    [[ $(json "$posted" 'list(d.values())[:6], type(d["duration_sec"]).__name__') == \
        "(['complete', 'old', 2, 2, 0, 0], 'float')" ]] || fail "$(<"$posted")"

    rm "$posted"
    orchestra 'exit 1' 'write c x'
    run_plan
    assert_status 1
    [[ $(grep -c https: "$posted") -eq 1 ]] || fail "$(<"$posted")"
    [[ $(head -n 1 "$posted") == https://hooks.example.com/failure ]] || fail "$(<"$posted")"
    [[ $(json "$posted" 'list(d.values())[:6]') == "['failure', 'old', 2, 0, 1, 1]" ]] ||
        fail "$(<"$posted")"
}

# Webhooks: the sender

@test "post: an address that is not https, or is this machine, is refused before any call (PO-41)" {
    local url
    for url in http://example.com/ ftp://example.com/ https://127.0.0.1/ https://2130706433/ \
        https://127.1/ https://localhost./ "https://[::1]/" https://10.1.2.3/ file:///etc/passwd; do
        run_apart post <<<"$url"$'\n{}'
        assert_status 1
        [[ $stderr == 'the address '* ]] || fail "$url"
    done
    run_apart post https://example.com/ </dev/null
    assert_status 1
    [[ $stderr == *'no arguments' ]] || fail
    run_apart post </dev/null
    assert_status 1
    [[ $stderr == 'standard input has no line with an address'* ]] || fail
}

# Serves HTTPS on this machine, with a certificate of its own. ../got holds what was posted;
# the path /status/N answers with N. $port is its port.
serve() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext 'subjectAltName=DNS:localhost,DNS:localtest.example,IP:127.0.0.1' \
        -keyout key.pem -out cert.pem 2>/dev/null
    cat >server.py <<'END'
import http.server, ssl, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open("got", "ab") as got:
            got.write(f'{self.path} {self.headers["Content-Type"]} '.encode() + body + b"\n")
        parts = self.path.split("/")
        code = int(parts[2]) if parts[1] == "status" else 204
        self.send_response(code)
        if 300 <= code < 400:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
with open("port.tmp", "w") as port:
    print(server.server_port, file=port)
import os
os.rename("port.tmp", "port")
server.serve_forever()
END
    python3 server.py 3>&- >server.log 2>&1 &
    echo "$!" >server.pid
    disown
    wait_for [ -e port ]
    port=$(<port)
}

teardown() {
    local file
    for file in "$BATS_TEST_TMPDIR"/work/server.pid "$BATS_TEST_TMPDIR"/*.pid; do
        [[ ! -e $file ]] || kill -KILL "$(<"$file")" 2>/dev/null || true
    done
}

@test "post: JSON is posted; only success is success, and no redirect is followed" {
    serve
    export CURL_CA_BUNDLE=$PWD/cert.pem
    run_apart post --allow-private <<<"https://localhost:$port/hook"$'\n{"a":1}'
    assert_status 0
    [[ $output$stderr == '' ]] || fail
    grep -qx '/hook application/json {"a":1}' got || fail "$(<got)"
    run_apart post --allow-private <<<"https://localhost:$port/status/500"$'\n{}'
    assert_status 1
    [[ $stderr == 'it answered with status 500' ]] || fail
    run_apart post --allow-private <<<"https://localhost:$port/status/302"$'\n{}'
    assert_status 1
    [[ $stderr == 'it redirects, with status 302' ]] || fail
    ! grep -q elsewhere got || fail "it followed"
}

@test "post: a certificate that nobody vouches for is refused" {
    serve
    run_apart post --allow-private <<<"https://localhost:$port/hook"$'\n{}'
    assert_status 1
    [[ $stderr == *ertificate* ]] || fail
    [[ ! -e got ]] || fail "it was told all the same"
}

@test "post: a name that only resolves to a private address is refused when it connects (PO-41)" {
    # A name of this machine that resolves to it, and that webhook_refusal() cannot know.
    local name
    name=$(hostname)
    getent ahosts "$name" | awk '{ print $1 }' |
        grep -qE '^(127\.|10\.|192\.168\.|172\.(1[6-9]|2[0-9]|3[01])\.|fd|fe80|::1)' ||
        skip "this machine's name is not a private address"
    [[ $name =~ ^[A-Za-z0-9_.-]+$ ]] || skip "no plain name"
    run_apart post <<<"https://$name:9/"$'\n{}'
    assert_status 1
    [[ $stderr == 'its host is an address of this machine or a private network' ]] || fail
}

@test "post: no proxy is asked" {
    serve
    export CURL_CA_BUNDLE=$PWD/cert.pem https_proxy=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9
    run_apart post --allow-private <<<"https://localhost:$port/hook"$'\n{}'
    assert_status 0
}

@test "post: the engine finds its own sender, which refuses what it must" {
    local name
    name=$(hostname)
    getent ahosts "$name" | awk '{ print $1 }' |
        grep -qE '^(127\.|10\.|192\.168\.|172\.(1[6-9]|2[0-9]|3[01])\.)' ||
        skip "this machine's name is not a private address"
    make_repo
    begin_plan 'notify:' "  - {on: [done], webhook: \"https://$name:9/x\"}"
    add_task a -- 'write a x'
    run_plan
    assert_status 0
    assert_contains "notification failed by webhook https://$name:9: exit code 1: its host is an address of this machine"
}
