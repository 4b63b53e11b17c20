#!/usr/bin/env bats
# The server of the page: access, answers, and robustness. tests/page tests the page
# itself.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

teardown() {
    stop_server "$BATS_TEST_TMPDIR/serve.pid"
    stop_server "$BATS_TEST_TMPDIR/first.pid"
    end_agents
}

# Starts the server; $base is its address, $token its token.
start_serve() { # [ARG...]
    local url
    rm -f "$BATS_TEST_TMPDIR/url"
    "$ANABRANCH" serve "$@" >"$BATS_TEST_TMPDIR/url" 2>"$BATS_TEST_TMPDIR/serve.err" 3>&- &
    echo $! >"$BATS_TEST_TMPDIR/serve.pid"
    wait_for grep -qs . "$BATS_TEST_TMPDIR/url"
    url=$(<"$BATS_TEST_TMPDIR/url")
    base=${url%%/#*} token=${url#*token=} port=${base##*:}
}

# Ends it, and looks how it ended.
end_serve() {
    local pid
    pid=$(<"$BATS_TEST_TMPDIR/serve.pid")
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    rm "$BATS_TEST_TMPDIR/serve.pid"
    output='' stderr=$(<"$BATS_TEST_TMPDIR/serve.err")
    assert_status 0
    [[ -z $stderr ]] || fail "it has complained"
}

# Sends a request, and sets $status (of HTTP), $headers and $output.
ask() { # PATH [OPTION OF CURL...]
    local path=$1
    shift
    status=$(curl -s -m 60 --path-as-is -o "$BATS_TEST_TMPDIR/body" -D "$BATS_TEST_TMPDIR/headers" -w '%{http_code}' \
        "$@" "$base$path")
    output=$(<"$BATS_TEST_TMPDIR/body") headers=$(tr -d '\r' <"$BATS_TEST_TMPDIR/headers")
}

# The same with the token.
get() { # PATH [OPTION OF CURL...]
    ask "$@" -H "X-Anabranch-Token: $token"
}

assert_header() { # LINE
    grep -qxF -e "$1" <<<"$headers" || fail "no such header: $1" "$headers"
}

assert_json() { # FILTER: is true
    jq -e "$1" <<<"$output" >/dev/null || fail "not so: $1"
}

# Sends bytes as they are; what comes back is in $output.
send() { # TEXT, as of printf
    exec 5<>"/dev/tcp/127.0.0.1/$port"
    # shellcheck disable=SC2059
    printf "$1" >&5
    output=$(timeout 60 cat <&5)
    exec 5>&-
}

make_run() {
    make_repo
    begin_plan 'name: a <b>bold</b> plan'
    add_task alpha 'title: "<script>alert(1)</script>"' -- 'say one' 'action doing' 'write a one' 'tokens 10 20 0.5'
    add_task beta 'depends_on: [alpha]' 'retry: {transient: 1}' -- 'on 1 exit 1' 'say needle one' 'write a two'
    add_task gamma 'retry: {transient: 0}' -- 'err broke' 'exit 1'
    run_plan -q
    run_id=$(anabranch history -n 1 | cut -d ' ' -f 1)
}

@test "who has no token, or comes by another name or from another page, sees nothing" {
    make_run
    start_serve
    [[ $token =~ ^[0-9a-f]{64}$ ]] || fail "token: $token"
    [[ $(stat -c %a .git/anabranch/serve.key) == 600 ]] || fail "the key is for all to see"
    ask /
    assert_status 200
    for line in 'X-Content-Type-Options: nosniff' 'Cache-Control: no-store' 'Referrer-Policy: no-referrer' \
        'X-Frame-Options: DENY' 'Content-Type: text/html; charset=utf-8'; do
        assert_header "$line"
    done
    grep -q "^Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';" <<<"$headers"
    [[ $headers != *unsafe* ]] || fail "$headers"
    local path
    for path in /api/start /api/runs "/api/runs/$run_id/live" /api/nothing; do
        ask "$path"
        assert_status 401
        ask "$path" -H "X-Anabranch-Token: ${token%?}x" -H "Cookie: anabranch_$port=$token"
        assert_status 401
    done
    ask /api/session -X POST
    assert_status 401
    ask /api/session -X POST -H "X-Anabranch-Token: ${token/?/x}"
    assert_status 401

    # The cookie, which is not the token; with it alone one can read, and no more.
    ask /api/session -X POST -H "X-Anabranch-Token: $token" -H "Origin: $base"
    assert_status 204
    local cookie
    cookie=$(sed -n 's/^Set-Cookie: //p' <<<"$headers")
    [[ $cookie == anabranch_"$port"=*'; Path=/; HttpOnly; SameSite=Strict' ]] || fail "cookie: $cookie"
    [[ $cookie != *"$token"* ]] || fail "the cookie holds the token"
    cookie=${cookie%%;*}
    ask /api/start -H "Cookie: other=1; $cookie; more=2"
    assert_status 200
    ask /api/session -X POST -H "Cookie: $cookie"
    assert_status 401

    for host in evil.example "evil.example:$port" 127.0.0.1.evil.example localhost.evil "127.0.0.1:x" ''; do
        get /api/start -H "Host: $host"
        [[ $status == 421 || $status == 400 ]] || fail "host '$host'"
        ask / -H "Host: $host"
        [[ $status == 421 || $status == 400 ]] || fail "host '$host'"
    done
    get /api/start -H "Host: localhost:1234"
    assert_status 200
    for origin in null http://evil.example "https://127.0.0.1:$port" "http://127.0.0.1:1$port" "http://localhost:$port"; do
        get /api/start -H "Origin: $origin"
        assert_status 403
        get /api/session -X POST -H "Origin: $origin"
        assert_status 403
    done
    get /api/start -H 'Sec-Fetch-Site: cross-site'
    assert_status 403
    # It is on the loopback alone.
    ss -ltn 2>/dev/null | grep -F ":$port " >"$BATS_TEST_TMPDIR/ports" || true
    ! grep -vF "127.0.0.1:$port" "$BATS_TEST_TMPDIR/ports" || fail "$(<"$BATS_TEST_TMPDIR/ports")"
    end_serve
}

@test "the server gives runs, tasks, plan, events, cost, logs, diffs, and files in common" {
    make_run
    start_serve last
    get /api/start
    assert_json ".run == \"$run_id\" and .newest == .run and .read_only == false"
    get /api/runs
    assert_header 'Content-Type: application/json'
    assert_json '.runs | length == 1 and .[0].tasks == 3 and .[0].states == {landed: 2, failed: 1} and .[0].usd == 0.5'
    get "/api/runs/$run_id"
    assert_json '.run.state == "finished" and .run.exit_code == 1 and (.tasks | map(.id)) == ["alpha", "beta", "gamma"]'
    assert_json '.tasks[0] | .title == "<script>alert(1)</script>" and .state == "landed" and .usd == 0.5'
    assert_json '.recent | map(select(.task == "alpha" and .event == "task.action"))[0].data.action == "doing"'
    get "/api/runs/$run_id/plan"
    assert_json '.known and (.tasks | map(select(.id == "beta"))[0].depends_on == ["alpha"])'
    refute_contains prompt
    refute_contains needle
    get "/api/runs/$run_id/events?names=task.landed,task.failed&max=2"
    assert_json '.more and (.events | length == 2)'
    get "/api/runs/$run_id/events?task=gamma&after=$(jq .last <<<"$output")&names=task.landed"
    assert_json '.events == [] and (.more | not)'
    get "/api/runs/$run_id/cost"
    assert_json '.spending[0] | .task == "alpha" and .tokens_out == 20 and .usd == 0.5'
    get "/api/runs/$run_id/tasks/beta/log"
    assert_json '.attempt == 2 and .from == 0 and .to == .size and (.growing | not) and .lines == ["needle one"]'
    get "/api/runs/$run_id/tasks/beta/log?attempt=1"
    assert_json '.attempt == 1 and .lines == ["! exit status 1"]'
    get "/api/runs/$run_id/tasks/gamma/log?stream=err"
    assert_json '.streams == ["out", "err"] and .lines == ["broke"]'
    get "/api/runs/$run_id/tasks/beta/search?q=NEEDLE"
    assert_json '.matches == [{at: .matches[0].at, line: "needle one"}] and (.more | not)'
    get "/api/runs/$run_id/tasks/beta/diff"
    assert_json '.text | contains("-one\n+two\n")'
    get "/api/runs/$run_id/tasks/gamma/diff"
    assert_status 404
    get "/api/runs/$run_id/meets"
    assert_json '.pairs == [{a: "alpha", b: "beta", n: 1, paths: ["a"]}]'

    # A log that is long is read by windows, which join without a gap.
    local log=.git/anabranch/runs/$run_id/gamma/1/err
    seq -f 'line %.0f' 20000 >"$log"
    get "/api/runs/$run_id/tasks/gamma/log?stream=err"
    assert_json '.to == .size and (.lines | length == 1000 and .[999] == "line 20000" and .[0] == "line 19001")'
    get "/api/runs/$run_id/tasks/gamma/log?stream=err&until=$(jq .from <<<"$output")"
    assert_json '.lines | length == 1000 and .[999] == "line 19000"'
    get "/api/runs/$run_id/tasks/gamma/log?stream=err&from=3&bytes=20"
    assert_json '.from == 7 and .to == 21 and .lines == ["line 2", "line 3"]'
    get "/api/runs/$run_id/tasks/gamma/log?stream=err&from=21&bytes=3"
    assert_json '.lines == ["lin"]'
    get "/api/runs/$run_id/tasks/gamma/search?stream=err&q=line+1999"
    assert_json '.matches | length == 11'
    end_serve
}

@test "the durations of the history do not count the time between a stop and the resume" {
    kill_run_an_hour_ago
    touch "$BATS_TEST_TMPDIR/go"
    run anabranch resume 3>&-
    assert_status 0
    sqlite3 .git/anabranch/state.db 'update runs set started = started - 3600000' # run.json had it
    start_serve
    get /api/runs
    assert_json '.runs[0] | .finished - .started > 3500000 and .finished - .started - .idle_ms < 600000'
    end_serve
}

@test "only what the store knows has a path, and a log is a file of its task" {
    make_run
    echo secret >secret
    start_serve
    local path
    for path in /../../etc/passwd /%2e%2e/etc/passwd "/api/runs/..%2f..%2fx" "/api/runs/$run_id/../$run_id" //api/start; do
        get "$path"
        assert_status 400
    done
    for path in /secret /page/app.js /api "/api/runs/x" "/api/runs/$run_id/x" "/api/runs/$run_id/tasks/none/log" \
        "/api/runs/$run_id/tasks/alpha" "/api/runs/$run_id/tasks/alpha/log?stream=../out" \
        "/api/runs/$run_id/tasks/alpha/log?stream=plan.json" "/api/runs/$run_id/tasks/alpha/log?attempt=9"; do
        get "$path"
        assert_status 404
    done
    for path in log?from=x log?bytes=999999999 'log?from=1&until=2' search search?q=; do
        get "/api/runs/$run_id/tasks/alpha/$path"
        assert_status 400
    done
    local dir
    dir=.git/anabranch/runs/$run_id/alpha/1
    ln -sf "$PWD/secret" "$dir/out"
    get "/api/runs/$run_id/tasks/alpha/log"
    assert_json '.size == 0 and .lines == []'
    rm "$dir/out" && mkfifo "$dir/out"
    get "/api/runs/$run_id/tasks/alpha/log"
    assert_json '.lines == []'
    mv "$dir" "$BATS_TEST_TMPDIR/moved" && ln -s "$BATS_TEST_TMPDIR/moved" "$dir"
    echo secret >"$BATS_TEST_TMPDIR/moved/err"
    get "/api/runs/$run_id/tasks/alpha/log?stream=err"
    assert_json '.lines == []'
    end_serve
}

@test "a request has limits, and who is slow or has too many connections is dropped" {
    make_run
    start_serve
    # Slow ones first, so that their time passes meanwhile: one that says nothing, one that does not end.
    exec 6<>"/dev/tcp/127.0.0.1/$port" 7<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET / HTTP/1.1\r\nHost: ' >&7
    local begun=$SECONDS long
    long=$(printf 'a%.0s' {1..9000})
    get "/$long"
    assert_status 414
    get / -H "A: $long" -H "B: $long" -H "C: $long" -H "D: $long"
    assert_status 431
    get /api/session -X POST -d "$long$long"
    assert_status 413
    get /api/session -X POST -d 'a body that nobody reads'
    assert_status 204
    get /api/start -X DELETE
    assert_status 405
    send 'GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
    assert_contains 'HTTP/1.1 501 '
    send 'GET / HTTP/1.1\nHost: localhost\n\n\r\n\r\n'
    assert_contains 'HTTP/1.1 400 '
    # Several on one connection, the second sent before the first is answered.
    send 'HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
    [[ $(grep -c '^HTTP/1.1 ' <<<"$output") == 2 ]] || fail "not two answers"
    assert_contains 'HTTP/1.1 404 '
    refute_contains '<!doctype'

    run timeout 60 cat <&6
    assert_status 0
    assert_output ''
    run timeout 60 cat <&7
    assert_status 0
    assert_contains 'HTTP/1.1 408 '
    ((SECONDS - begun < 45)) || fail "they were borne for $((SECONDS - begun)) s"
    exec 6>&- 7>&-

    # More than it takes: those that have nothing to do make room.
    python3 - "$port" <<'END' || fail "connections"
import socket, sys
port = int(sys.argv[1])
many = [socket.create_connection(("127.0.0.1", port)) for _ in range(150)]
last = many[-1]
last.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
assert last.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
many[0].settimeout(10)
assert many[0].recv(1) == b""
END
    get /api/start
    assert_status 200
    end_serve
}

@test "events come as they happen, and after a restart from where they were" {
    make_repo
    begin_plan
    add_task first -- 'write a one'
    export TOKEN_FOR_TEST=Zq7x9vKwpR5tLm2n
    add_task second 'depends_on: [first]' 'env: {A: {from: TOKEN_FOR_TEST, secret: true}}' -- \
        "sh echo it says \$A; echo \$A >told; $(until_exists go)" 'write b two'
    start_plan
    wait_for in_events task.started second
    local run_id live=$BATS_TEST_TMPDIR/live
    run_id=$(anabranch history -n 1 | cut -d ' ' -f 1)
    start_serve
    wait_for grep -qs 'it says' ".git/anabranch/runs/$run_id/second/1/out"
    get "/api/runs/$run_id/tasks/second/log"
    assert_contains 'it says [MASKED]' # also while the agent writes it
    local was=$port
    curl -sN -H "X-Anabranch-Token: $token" "$base/api/runs/$run_id/live" >"$live" 3>&- &
    wait_for grep -q '"event":"task.started".*"task":"second"' "$live"
    ! grep -q '"event":"task.landed","task":"second"' "$live" || fail "it has landed"
    local last
    last=$(sed -n 's/^id: //p' "$live" | tail -n 1)
    end_serve
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 0

    # The same port and the same token, so that a page that is open goes on.
    local old=$token
    start_serve
    [[ $port == "$was" && $token == "$old" ]] || fail "another port or token"
    get "/api/runs/$run_id/tasks/second/diff"
    assert_contains '+[MASKED]'
    run curl -sN -m 1 -H "X-Anabranch-Token: $token" -H "Last-Event-ID: $last" "$base/api/runs/$run_id/live?after=0"
    assert_contains '"event":"task.landed","task":"second"'
    assert_contains '"state":"finished"'
    refute_contains '"event":"run.started"'
    [[ $(grep -o '"seq":[0-9]*' <<<"$output" | head -n 1) == "\"seq\":$((last + 1))" ]] || fail "not from $last on"
    get "/api/runs/$run_id/live" -H 'Last-Event-ID: x'
    assert_status 400
    # A key that others could have read is not used again.
    end_serve
    chmod 644 .git/anabranch/serve.key
    start_serve
    [[ $token != "$old" ]] || fail "the same token"
    # Nor is one on another port: whoever has the old one is told it by a page that is still open.
    was=$port old=$token
    mv "$BATS_TEST_TMPDIR/serve.pid" "$BATS_TEST_TMPDIR/first.pid"
    start_serve
    [[ $port != "$was" && $token != "$old" ]] || fail "the token of port $was on $port"
    get /api/runs
    assert_status 200
    ask /api/runs -H "X-Anabranch-Token: $old"
    assert_status 401
    end_serve
    was=$port old=$token
    start_serve
    [[ $port == "$was" && $token == "$old" ]] || fail "another port or token"
    end_serve
}

# Asks something of the run with the token; the answer's words are there.
steer() { # QUERY STATUS TEXT
    get "/api/runs/$run_id/steer?$1" -X POST -H "Origin: $base"
    assert_status "$2"
    assert_contains "$3"
}

@test "a run is steered with the token in a header, and not by a cookie" {
    make_repo
    begin_plan 'limits: {workers: 2}'
    add_task long -- 'write half one' "sh touch $BATS_TEST_TMPDIR/long-runs" hang
    add_task other -- "sh $(until_exists go)" 'write other one'
    add_task third -- 'write third one'
    add_task fourth -- 'write fourth one'
    add_task after 'depends_on: [long]' -- 'write after one'
    start_plan
    wait_for test -e "$BATS_TEST_TMPDIR/long-runs"
    wait_for in_events task.started other
    run_id=$(anabranch history -n 1 | cut -d ' ' -f 1)
    start_serve
    local cookie path="/api/runs/$run_id/steer?verb=stop&task=long"
    ask "$path" -X POST
    assert_status 401
    get /api/session -X POST
    cookie=$(sed -n 's/^Set-Cookie: \([^;]*\).*/\1/p' <<<"$headers")
    ask "$path" -X POST -H "Cookie: $cookie"
    assert_status 401
    get "$path" -X POST -H 'Origin: http://evil.example'
    assert_status 403
    get "$path"
    assert_status 404 # it is not for reading
    get "/api/runs/nothing/steer?verb=pause" -X POST
    assert_status 404
    local query
    for query in '' verb= verb=dance verb=workers 'verb=workers&n=x' 'verb=workers&n=-1' 'verb=workers&n=1&by=1' \
        'verb=workers&by=10001' verb=budget 'verb=budget&usd=0x1p3' 'verb=budget&usd=-1' 'verb=budget&tokens=x' \
        'verb=stop&all=0' 'verb=stop&all=1&task=long' 'verb=retry&task=long&fresh=0' 'verb=say&task=long' \
        'verb=say&task=long&text=%ff'; do
        steer "$query" 400 'invalid parameter'
    done
    ! grep -qE '"event":"(task.stopping|run.paused|run.workers)"' "$events" || fail "it was done all the same"

    steer 'verb=stop' 409 'names no task'
    assert_json '.ok == false'
    steer 'verb=stop&task=third' 409 'has not started'
    steer 'verb=continue' 409 'is not paused'
    steer 'verb=budget&usd=2.5' 409 'nothing is limited'
    steer 'verb=pause' 200 'is paused'
    assert_json '.ok'
    steer 'verb=workers&by=-1' 200 'up to 1 agents run at the same time (before: 2)'
    steer 'verb=workers&n=3' 200 'before: 1'
    get "/api/runs/$run_id"
    assert_json '[.recent[] | select(.event == "run.workers").data.workers] == [3]'
    assert_json '[.recent[] | select(.event == "run.paused" or .event == "run.resumed").event] == ["run.paused"]'
    steer 'verb=skip&task=fourth' 200 'is skipped'
    steer 'verb=stop&task=long' 200 'is asked to stop'
    wait_for in_events task.failed long
    steer 'verb=stop&task=long' 409 'has already ended'
    steer 'verb=retry&task=third' 409 'has not started'
    steer 'verb=say&task=other&text=+' 409 'the message is empty'
    steer 'verb=retry&task=fourth' 200 'runs after all'
    steer 'verb=skip&task=fourth' 200 'is skipped'
    steer 'verb=say&task=long&text=Go%20on%2C%20%C3%BC' 200 'resumes its session; 1 task that was skipped'
    grep -F task.continued "$events" | grep -qF '"text":"Go on, ü"' || fail "what was said"
    steer 'verb=stop&task=long' 200 'is asked to stop'
    # shellcheck disable=SC2016 # it is expanded each time
    wait_for eval '[[ $(grep -c "\"event\":\"task.failed\".*\"task\":\"long\"" "$events") == 2 ]]'
    ! in_events task.started third || fail "it was begun in a run that is paused"
    steer 'verb=continue' 200 'continues'
    wait_for in_events task.landed third
    touch "$BATS_TEST_TMPDIR/go"
    end_plan
    assert_status 1
    in_events task.skipped after
    in_events task.skipped fourth
    in_events task.landed other
    steer 'verb=pause' 404 'the run is not running'
    end_serve
}

@test "a run that does not answer holds up the server for a moment, not for good" {
    make_repo
    begin_plan
    add_task long -- hang
    start_plan
    wait_for in_events task.started long
    run_id=$(anabranch history -n 1 | cut -d ' ' -f 1)
    start_serve
    kill -STOP "$engine"
    local from=$EPOCHREALTIME to
    steer 'verb=pause' 503 'does not answer'
    to=$EPOCHREALTIME
    ((${to/[.,]/} - ${from/[.,]/} < 20000000)) || fail "from $from to $to"
    kill -CONT "$engine"
    get /api/start
    assert_status 200
    steer 'verb=stop&all=1' 200 'is asked to stop'
    end_plan
    end_serve
}

@test "for reading only; and wrong calls" {
    make_run
    start_serve --read-only "${run_id%??}"
    get /api/start
    assert_json ".read_only and .run == \"$run_id\""
    get /api/session -X POST
    assert_status 204
    get /api/anything -X POST
    assert_status 403
    ask /api/anything -X POST
    assert_status 401
    steer 'verb=pause' 403 'read-only'
    run_apart anabranch serve --port "$port" 3>&-
    assert_status 3
    [[ $stderr == "anabranch: listen on 127.0.0.1:$port: Address already in use" ]] || fail "$stderr"
    end_serve
    run_apart anabranch serve --port 70000
    assert_status 2
    run_apart anabranch serve nothing
    assert_status 2
    mkdir "$BATS_TEST_TMPDIR/empty" && cd "$BATS_TEST_TMPDIR/empty"
    run_apart anabranch serve
    assert_status 2
    [[ $stderr == "anabranch: nothing was ever run in this repository" ]] || fail "$stderr"
}

@test "--open leads a browser to the page, without the token in its arguments" {
    make_run
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/xdg-open" <<END
#!/bin/sh
echo "\$*" >"$BATS_TEST_TMPDIR/opened.args"
cp "\$1" "$BATS_TEST_TMPDIR/opened"
END
    chmod +x "$BATS_TEST_TMPDIR/bin/xdg-open"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH start_serve --open
    wait_for grep -qs "url=$base/#token=$token" "$BATS_TEST_TMPDIR/opened"
    ! grep -q "$token" "$BATS_TEST_TMPDIR/opened.args" || fail "for all to see"
    [[ $(stat -c %a .git/anabranch/serve.html) == 600 ]] || fail "for all to see"
    end_serve
    [[ ! -e .git/anabranch/serve.html ]] || fail "it is left"
}
