#!/usr/bin/env bats
# The built-in agent: the effect of every step on files, processes and its own end.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper

teardown() {
    kill_noted
}

# The agent with the prompt on its standard input. Descriptor 3 is that of bats, which waits for all
# who have it.
sim() {
    "$ANABRANCH" __sim 3>&-
}

# Runs the agent with the given lines as its prompt; standard error is in $stderr.
run_sim() { # LINE...
    printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/prompt"
    run_apart sim <"$BATS_TEST_TMPDIR/prompt"
}

# The same in the background: $agent is its process, its output goes to the file `out`.
start_sim() { # LINE...
    printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/prompt"
    "$ANABRANCH" __sim <"$BATS_TEST_TMPDIR/prompt" >out 3>&- &
    agent=$!
    echo "$agent" >"$BATS_TEST_TMPDIR/agent.pid"
}

wait_for() { # COMMAND...: until it succeeds
    local deadline=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < deadline)) || { fail "never: $*" || return; }
        sleep 0.02
    done
}

in_state() { # S|T PID: asleep, stopped
    [[ $(ps -o state= -p "$2") == "$1"* ]]
}

mode_of() { # PATH
    # shellcheck disable=SC2012 # stat and find differ from system to system
    ls -ld -- "$1" | cut -c1-10
}

session_of() { # PID
    ps -o sid= -p "$1" | tr -d ' '
}

assert_file() { # PATH TEXT: with a newline behind it
    [[ $(cat "$1"; echo .) == "$2"$'\n.' ]] || fail "in $1:" "$(cat "$1")" "expected:" "$2"
}

start='{"type":"start","session":"sim-1","attempt":1}'
done='{"type":"result","ok":true,"text":"done"}'

# The whole output: the start, the given events, and nothing else.
assert_events() { # EVENT...
    assert_output "$(printf '%s\n' "$start" "$@")"
}

# A step of line N of the prompt could not be done.
assert_step_failed() { # N MESSAGE
    assert_status 1
    assert_events "{\"type\":\"error\",\"class\":\"internal\",\"text\":\"line $1: $2\"}" \
        "{\"type\":\"result\",\"ok\":false,\"text\":\"line $1: $2\"}"
}

# The prompt

@test "sim: lines that do not start with the mark are prose" {
    run_sim 'sim> say one' ' sim> say two' '> sim> say three' 'Sim> say four' 'sim>say five'
    assert_status 0
    assert_events '{"type":"text","text":"one"}' '{"type":"text","text":"five"}' \
        '{"type":"result","ok":true,"text":"five"}'
}

@test "sim: who it is comes from the environment" {
    export ANABRANCH_TASK=auth ANABRANCH_ATTEMPT=3
    run_sim 'sim> action look'
    assert_status 0
    assert_output '{"type":"start","session":"sim-auth-3","task":"auth","attempt":3}
{"type":"action","text":"look"}
'"$done"
}

@test "sim: numbers in the environment are checked" {
    ANABRANCH_ATTEMPT=0 run_sim ''
    assert_usage_error "ANABRANCH_ATTEMPT: '0' is not a number of at least 1" __sim
    ANABRANCH_ESTIMATE_MS=soon run_sim ''
    assert_usage_error "ANABRANCH_ESTIMATE_MS: 'soon' is not a number of at least 0" __sim
}

@test "sim: arguments are words or JSON strings, the last one may be the rest of the line" {
    run_sim 'sim> write a two  words ' 'sim> write "b c/d e" "first\nsecond \u00e9"' \
        $'sim>\twrite\tf "quoted" and more' 'sim> write "g" "no \d escape"' $'sim> write h dos\r'
    assert_status 0
    assert_file a 'two  words'
    assert_file 'b c/d e' $'first\nsecond é'
    assert_file f '"quoted" and more'
    assert_file g '"no \d escape"'
    assert_file h dos
}

@test "sim: a step that cannot be read is an error that names its line" {
    run_sim 'prose' 'sim> wirte a b' 'sim> say never'
    assert_step_failed 2 "'wirte' is not a step; did you mean 'write'?"
    run_sim 'sim> xyzzyx'
    assert_step_failed 1 "'xyzzyx' is not a step"
    run_sim '' '' 'sim>'
    assert_step_failed 3 'the name of a step is missing'
    run_sim 'sim> write a'
    assert_step_failed 1 'write: needs PATH TEXT'
    run_sim 'sim> hang on'
    assert_step_failed 1 'hang: takes no arguments'
    run_sim 'sim> write "a b'
    assert_step_failed 1 'write: argument 1 is not a JSON string'
    run_sim 'sim> write "a"b c'
    assert_step_failed 1 'write: argument 1 is not a JSON string'
    run_sim 'sim> rename "a\u0000b" c'
    assert_step_failed 1 'rename: argument 1 is not a JSON string'
    run_sim $'sim> say \xff'
    assert_step_failed 1 'is not UTF-8 text'
    printf 'sim> say a\0b\n' >nul
    run_apart sim <nul
    assert_step_failed 1 'is not UTF-8 text'
}

@test "sim: wrong arguments are errors that name the line" {
    run_sim 'sim> sleep 3 days'
    assert_step_failed 1 "sleep: '3 days' is not a duration"
    run_sim 'sim> limit never'
    assert_step_failed 1 "limit: 'never' is not a duration"
    run_sim 'sim> exit 256'
    assert_step_failed 1 "exit: '256' is not a number of at least 0, or too large"
    run_sim 'sim> flood -1'
    assert_step_failed 1 "flood: '-1' is not a number of at least 0, or too large"
    run_sim 'sim> tokens 1 2 0x3'
    assert_step_failed 1 "tokens: '0x3' is not an amount of dollars"
    run_sim 'sim> chmod 0788 a'
    assert_step_failed 1 "chmod: '0788' is not a mode in octal digits"
    run_sim 'sim> signal NOSUCH'
    assert_step_failed 1 "signal: 'NOSUCH' is not the name of a signal"
    run_sim 'sim> ignore KILL'
    assert_step_failed 1 'ignore: sigaction: Invalid argument'
    run_sim 'sim> error strange'
    assert_step_failed 1 "error: 'strange' is not a class of failures"
    run_sim 'sim> on 0 say x'
    assert_step_failed 1 "on: '0' is not the number of an attempt"
}

@test "sim: a message that is cut within a character is still JSON" {
    local name
    name=$(printf 'é%.0s' {1..600})
    for name in "a$name" "ab$name"; do # one of the two is cut at an odd place
        run_sim "sim> delete $name"
        assert_status 1
        cat <<<"$output" >>events
    done
    python3 -c 'import json, sys; [json.loads(line) for line in open("events")]' || fail "not JSON"
    [[ $(grep -c '"type":"error"' events) -eq 2 ]] || fail "$(<events)"
}

@test "sim: on does its step on that attempt only, and is always read" {
    local prompt=('sim> on 1 say first' 'sim> on 2 exit 7' 'sim> on 2 on 1 say never' 'sim> on 1 sh exit 3')
    run_sim "${prompt[@]}"
    assert_status 1
    assert_events '{"type":"text","text":"first"}' \
        '{"type":"result","ok":false,"text":"line 4: sh: exit status 3"}'
    ANABRANCH_ATTEMPT=2 run_sim "${prompt[@]}"
    assert_status 7
    ANABRANCH_ATTEMPT=3 run_sim "${prompt[@]}"
    assert_status 0
    run_sim 'sim> on 2 sya x'
    assert_step_failed 1 "'sya' is not a step; did you mean 'say'?"
}

@test "sim: the manual has every step, and every event of a run" {
    local root=$BATS_TEST_DIRNAME/../../.. steps events
    steps=$(sed -nE 's/^    \{"([a-z]+)", [0-9].*/\1/p' "$root/src/agent/sim/steps.c")
    [[ $(wc -w <<<"$steps") -gt 20 ]] || fail "steps: $steps"
    run sed -nE '/^## Its steps/,/^## A prompt/s/^\*([a-z]+)\*.*/\1/p' "$root/doc/anabranch-events.7.scd"
    assert_output "$steps"$'\non'
    events=$(sed -nE 's/^EVENT\([A-Z_]+, "(.*)"\)$/\1/p' "$root/src/plan/schedule/event.def")
    [[ $(wc -w <<<"$events") -gt 20 ]] || fail "events: $events"
    run sed -nE '/^# EVENTS/,/^# REPORTS/s/^\*([a-z._\\]+)\*$/\1/p' "$root/doc/anabranch-events.7.scd"
    output=${output//\\/}
    assert_output "$events"
}

# Files

@test "sim: write and append make folders" {
    run_sim 'sim> write a/b/c.txt one' 'sim> append a/b/c.txt two' 'sim> append d/e three'
    assert_status 0
    assert_events "$done"
    assert_file a/b/c.txt $'one\ntwo'
    assert_file d/e three
    run_sim 'sim> write a/b/c.txt new'
    assert_file a/b/c.txt new
}

@test "sim: new files and folders have the rights that the umask leaves" {
    umask 027
    run_sim 'sim> write a/b x'
    assert_status 0
    [[ $(mode_of a) == drwxr-x--- && $(mode_of a/b) == -rw-r----- ]] || fail "$(mode_of a) $(mode_of a/b)"
}

@test "sim: paths are taken as they are, also out of the folder" {
    run_sim "sim> write ../outside x" "sim> write $PWD/abs/f y"
    assert_status 0
    assert_file ../outside x
    assert_file abs/f y
}

@test "sim: a file that cannot be written is an error" {
    run_sim 'sim> write a x' 'sim> write a/b y'
    assert_step_failed 2 "write: open 'a/b': Not a directory"
    run_sim 'sim> append "" y'
    assert_step_failed 1 'append: the path is empty'
}

@test "sim: delete, rename, chmod, symlink" {
    mkdir -p tree/deep
    touch gone tree/deep/file from script
    run_sim 'sim> delete gone' 'sim> delete tree' 'sim> rename from to/here' 'sim> chmod 750 script' \
        'sim> symlink ../nowhere links/link'
    assert_status 0
    [[ ! -e gone && ! -e tree && ! -e from && -f to/here ]] || fail "files are not as they should be"
    [[ $(mode_of script) == -rwxr-x--- ]] || fail "$(mode_of script)"
    [[ $(readlink links/link) == ../nowhere ]] || fail "no link"
}

@test "sim: it cannot delete, rename, change or link over a missing file" {
    local missing='No such file or directory'
    run_sim 'sim> delete a'
    assert_step_failed 1 "delete: delete 'a': $missing"
    run_sim 'sim> rename a b'
    assert_step_failed 1 "rename: rename 'a' to 'b': $missing"
    run_sim 'sim> chmod 644 a'
    assert_step_failed 1 "chmod: chmod 'a': $missing"
    run_sim 'sim> symlink x y' 'sim> symlink x y'
    assert_step_failed 2 "symlink: link 'y' to 'x': File exists"
}

# Commands

@test "sim: commit adds everything and commits by itself" {
    export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com
    export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com
    git init -q .
    run_sim 'sim> write new/file x' 'sim> commit -m is "no" option' 'sim> delete new/file' \
        'sim> commit second'
    assert_status 0
    assert_events "$done"
    [[ $(git log --format=%s) == $'second\n-m is "no" option' ]] || fail "$(git log)"
    [[ $(git ls-tree -r --name-only HEAD~) == new/file ]] || fail "not committed"
    [[ -z $(git ls-tree -r HEAD) && -z $(git status --porcelain) ]] || fail "deletion not committed"

    run_sim 'sim> commit nothing' 'sim> say never'
    assert_status 1
    assert_events '{"type":"result","ok":false,"text":"line 1: git: exit status 1"}'
}

@test "sim: commit outside a repository fails once" {
    run_sim 'sim> commit x'
    assert_status 1
    assert_events '{"type":"result","ok":false,"text":"line 1: git: exit status 128"}'
    [[ $stderr == 'fatal: not a git repository'* ]] || fail "git did not say why"
}

@test "sim: sh waits for its line, and its failure is the agent's" {
    run_sim 'sim> sh sleep 0.1; echo raw; echo "$((1+2))" >sum' 'sim> sh "cat && test ! -t 0"' 'sim> sh exit 2' \
        'sim> say never'
    assert_status 1
    assert_events raw '{"type":"result","ok":false,"text":"line 3: sh: exit status 2"}'
    assert_file sum 3
    run_sim 'sim> sh kill -KILL $$'
    assert_status 1
    assert_events '{"type":"result","ok":false,"text":"line 1: sh: ended by signal 9"}'
}

@test "sim: a shell that is not there is an error" {
    PATH=/nonexistent "$ANABRANCH" __sim <<<'sim> sh true' >out && fail "it went well"
    output=$(<out) status=1
    assert_step_failed 1 "sh: run 'sh': No such file or directory"
}

# Reports

@test "sim: say, action, err" {
    run_sim 'sim> say "a \"b\"\n\tc"' 'sim> action Reading x' 'sim> err raw  line' 'sim> say last'
    assert_status 0
    assert_events '{"type":"text","text":"a \"b\"\n\tc"}' '{"type":"action","text":"Reading x"}' \
        '{"type":"text","text":"last"}' '{"type":"result","ok":true,"text":"last"}'
    [[ $stderr == 'raw  line' ]] || fail "expected the line"
}

@test "sim: tokens, with and without a price" {
    run_sim 'sim> tokens 1.5k 20' 'sim> tokens 0 2M 0.25'
    assert_status 0
    assert_events '{"type":"usage","tokens_in":1500,"tokens_out":20}' \
        '{"type":"usage","tokens_in":0,"tokens_out":2000000,"usd":0.25}' "$done"
}

@test "sim: flood writes exactly that much, in lines of one MiB" {
    "$ANABRANCH" __sim <<<'sim> flood 2500000' | grep '^x*$' >flood
    [[ $(wc -c <flood) -eq 2500000 ]] || fail "$(wc -c <flood) bytes"
    [[ $(awk '{ print length }' flood | tr '\n' ' ') == '1048575 1048575 402847 ' ]] ||
        fail "lines: $(awk '{ print length }' flood)"
    run_sim 'sim> flood 0' 'sim> flood 1' 'sim> flood 3'
    assert_events '' xx "$done"
}

@test "sim: flood takes no memory" {
    local rss='ps -o rss= -p $PPID'
    "$ANABRANCH" __sim >/dev/null <<<"sim> flood 1k
sim> sh $rss >before
sim> flood 200M
sim> sh $rss >after"
    [[ $(<after) -gt 0 && $(<after) -lt $(($(<before) + 2048)) ]] || fail "$(<before) KiB, then $(<after)"
}

@test "sim: limit tells when it resets, and ends" {
    local before after at
    before=$(date +%s)
    run_sim 'sim> limit 2h' 'sim> say never'
    after=$(date +%s)
    assert_status 1
    at=$(sed -nE 's/^\{"type":"limit","resets_at":([0-9]+)\}$/\1/p' <<<"$output")
    assert_events "{\"type\":\"limit\",\"resets_at\":$at}" \
        '{"type":"result","ok":false,"text":"usage limit reached"}'
    ((before + 7200 <= at && at <= after + 7201)) || fail "not between $before and $after"
}

@test "sim: error reports every class that there is" {
    local class
    for class in auth limit overloaded transient timeout idle refused no_change scope verify \
        conflict setup internal; do
        run_sim "sim> error $class what it says" 'sim> say never'
        assert_status 1
        assert_events "{\"type\":\"error\",\"class\":\"$class\",\"text\":\"what it says\"}" \
            '{"type":"result","ok":false,"text":"what it says"}'
    done
    run_sim 'sim> error auth'
    assert_events '{"type":"error","class":"auth","text":"auth"}' \
        '{"type":"result","ok":false,"text":"auth"}'
}

@test "sim: events that cannot be written are not passed over" {
    [[ -w /dev/full ]] || skip "there is no /dev/full"
    status=0
    "$ANABRANCH" __sim <<<'sim> write a x' >/dev/full 2>errors || status=$?
    assert_status 3
    [[ $(<errors) == 'anabranch: cannot write an event: '*'No space left on device' ]] ||
        fail "$(<errors)"
    [[ ! -e a ]] || fail "it went on"
}

# Ends

@test "sim: exit ends with its code" {
    run_sim 'sim> exit 0' 'sim> say never'
    assert_status 0
    assert_events "$done"
    run_sim 'sim> say bye' 'sim> exit 42'
    assert_status 42
    assert_events '{"type":"text","text":"bye"}' '{"type":"result","ok":false,"text":"bye"}'
    run_sim 'sim> exit 255'
    assert_status 255
    assert_events '{"type":"result","ok":false,"text":"exit status 255"}'
}

@test "sim: signal ends by it, also where it is ignored, and leaves no core" {
    local name
    for name in TERM KILL SEGV ABRT INT SIGHUP PIPE; do
        ulimit -S -c "$(ulimit -H -c)"
        run_sim 'sim> say x' "sim> signal $name" 'sim> say never'
        assert_status $((128 + $(kill -l "$name")))
        assert_events '{"type":"text","text":"x"}'
    done
    run_sim 'sim> ignore TERM' 'sim> signal TERM' 'sim> say never'
    assert_status 143
    [[ -z $(find . -name 'core*') ]] || fail "$(ls)"
}

@test "sim: a signal that ends nobody is only sent" {
    run_sim 'sim> signal CHLD' 'sim> signal CONT'
    assert_status 0
    assert_events "$done"
}

@test "sim: ignore lets the agent survive what would have ended it" {
    run_sim 'sim> sh kill -TERM $PPID' 'sim> say never'
    assert_status 143
    assert_events # nothing
    run_sim 'sim> ignore TERM' 'sim> ignore SIGHUP' 'sim> sh kill -TERM $PPID' \
        'sim> sh kill -HUP $PPID' 'sim> say survived'
    assert_status 0
    assert_events '{"type":"text","text":"survived"}' '{"type":"result","ok":true,"text":"survived"}'
}

@test "sim: ask tells its question at once, and waits for ever" {
    start_sim 'sim> ask May I?' 'sim> say never'
    wait_for grep -q '^{"type":"ask","text":"May I?"}$' out
    wait_for in_state S "$agent"
    kill -TERM "$agent"
    status=0
    wait "$agent" || status=$?
    assert_status 143
    output=$(<out)
    assert_events '{"type":"ask","text":"May I?"}'
}

@test "sim: hang does nothing for ever, also when it is stopped and continued" {
    start_sim 'sim> say here' 'sim> hang' 'sim> say never'
    wait_for grep -q here out
    wait_for in_state S "$agent"
    kill -STOP "$agent"
    wait_for in_state T "$agent"
    kill -CONT "$agent"
    wait_for in_state S "$agent"
    kill -KILL "$agent"
    status=0
    wait "$agent" || status=$?
    assert_status 137
    output=$(<out)
    assert_events '{"type":"text","text":"here"}'
}

@test "sim: sleep takes its time" {
    local before=${EPOCHREALTIME/./}
    run_sim 'sim> sleep 120ms' 'sim> sleep 0'
    assert_status 0
    ((${EPOCHREALTIME/./} - before >= 120000)) || fail "too early"
}

# Children

@test "sim: spawn leaves a child in its session that keeps the output open" {
    mkfifo fifo
    (cat fifo >out && touch eof) 3>&- &
    echo "$!" >"$BATS_TEST_TMPDIR/reader.pid"
    "$ANABRANCH" __sim >fifo 3>&- <<<'sim> sh ps -o sid= -p $PPID | tr -d " " >session
sim> spawn echo $$ >child.tmp; mv child.tmp "$BATS_TEST_TMPDIR/child.pid"; echo late; exec sleep 1000
sim> say gone'
    wait_for [ -s "$BATS_TEST_TMPDIR/child.pid" ]
    local child
    child=$(<"$BATS_TEST_TMPDIR/child.pid")
    wait_for grep -qx late out
    [[ $(session_of "$child") == "$(<session)" ]] || fail "another session"
    [[ ! -e eof ]] || fail "the output has ended"
    kill -KILL "$child"
    wait_for [ -e eof ]
    grep -qx '{"type":"result","ok":true,"text":"gone"}' out || fail "$(<out)"
}

@test "sim: daemon leaves an orphan in a session of its own, with no descriptor of ours" {
    mkfifo fifo
    (cat fifo >out && touch eof) 3>&- &
    echo "$!" >"$BATS_TEST_TMPDIR/reader.pid"
    "$ANABRANCH" __sim >fifo 3>&- 7>held <<<'sim> sh ps -o sid= -p $PPID | tr -d " " >session
sim> daemon (: >&7) 2>/dev/null && touch leak; echo noise; echo $$ >child.tmp; mv child.tmp "$BATS_TEST_TMPDIR/child.pid"; exec sleep 1000'
    wait_for [ -e eof ]
    wait_for [ -s "$BATS_TEST_TMPDIR/child.pid" ]
    local child
    child=$(<"$BATS_TEST_TMPDIR/child.pid")
    kill -0 "$child" || fail "it does not live"
    [[ $(session_of "$child") != "$(<session)" ]] || fail "the same session"
    [[ $(session_of "$child") != "$child" ]] || fail "it leads its session: one fork only"
    [[ ! -e leak ]] || fail "descriptor 7 is open there"
    output=$(<out)
    assert_events "$done"
}

# A prompt without steps

@test "sim: without steps it writes into the project's root" {
    export ANABRANCH_TASK=auth
    run_sim 'Move the middleware.' 'Then test.'
    assert_status 0
    assert_line '{"type":"action","text":"write rehearsal-auth.txt"}'
    assert_line "$done"
    assert_file rehearsal-auth.txt 'rehearsal of auth, attempt 1'
    [[ $(ls) == rehearsal-auth.txt ]] || fail "$(ls)"
}

@test "sim: without steps it writes into each owned path, and nowhere else" {
    export ANABRANCH_TASK=t ANABRANCH_ATTEMPT=2
    mkdir -p there
    echo before >file
    export ANABRANCH_OWNS='lib/**
there
docs/
file
new/one.c
new/two
src/*.c

**/test_*.py
a?/[xy]'
    run_sim 'prose'
    assert_status 0
    local text='rehearsal of t, attempt 2' path
    for path in lib/rehearsal-t.txt there/rehearsal-t.txt docs/rehearsal-t.txt new/one.c \
        new/two/rehearsal-t.txt src/rehearsal-t.c test_rehearsal-t.py aa/x; do
        assert_file "$path" "$text"
    done
    assert_file file $'before\n'"$text"
    [[ $(find . -type f | wc -l) -eq 9 ]] || fail "$(find . -type f)"
}

@test "sim: an owned path that is none is an error" {
    ANABRANCH_OWNS=../x run_sim 'prose'
    assert_status 1
    assert_line '{"type":"error","class":"internal","text":"the owned path '"'../x'"' leaves the repository"}'
    [[ ! -e ../x ]] || fail "it was written"
}

@test "sim: without steps it sleeps a thousandth of the estimate" {
    local before=${EPOCHREALTIME/./}
    ANABRANCH_ESTIMATE_MS=150000 run_sim 'prose'
    assert_status 0
    local took=$((${EPOCHREALTIME/./} - before))
    ((took >= 150000 && took < 60000000)) || fail "$took us"
}
