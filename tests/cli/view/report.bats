#!/usr/bin/env bats
# Reports of a run: their content, their robustness against hostile text, the files that they may replace; and the
# copies of logs, without secrets.
# shellcheck disable=SC2030,SC2031 # every test is a subshell, on purpose
# shellcheck disable=SC2016 # the agent's shell expands it
# shellcheck disable=SC2154 # run_apart sets stderr

load ../helper
load ../run_helper

setup_file() {
    command -v python3 >/dev/null || skip "python3 is not there"
}

# Prints what a Python expression says of the report `r`.
json() { # FILE EXPRESSION
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); t = {x["id"]: x for x in r["tasks"]}
print(eval(sys.argv[2]))' "$1" "$2"
}

# The same of a JUnit file, with its testcases by name in t.
xml() { # FILE EXPRESSION
    python3 -c 'import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot()
t = {x.get("name"): x for x in r.iter("testcase")}
print(eval(sys.argv[2]))' "$1" "$2"
}

assert_json() { # FILE EXPRESSION VALUE
    local got
    got=$(json "$1" "$2")
    [[ $got == "$3" ]] || fail "$2 is $got" "expected: $3" "$(<"$1")"
}

assert_xml() { # FILE EXPRESSION VALUE
    local got
    got=$(xml "$1" "$2")
    [[ $got == "$3" ]] || fail "$2 is $got" "expected: $3" "$(<"$1")"
}

mode_of() { # PATH
    # shellcheck disable=SC2012 # stat and find differ from system to system
    ls -ld -- "$1" | cut -c1-10
}

nothing_was_run() {
    [[ ! -e .git/anabranch ]] || fail "something was run"
}

# One that lands, one that fails, one that waited for it, one that only reads.
make_run() { # [OPTION...]
    make_repo
    begin_plan 'name: All kinds'
    add_task good 'title: Does it' -- 'tokens 1200 80 0.25' 'write a one'
    add_task bad 'retry: {transient: 0}' -- 'err first words' 'err last words' 'exit 3'
    add_task after 'depends_on: [bad]' -- 'write b two'
    add_task reader 'read_only: true' -- 'say looked'
    run_plan "$@"
    assert_status 1
}

# Contents of reports

@test "the JSON report has everything, and unknown is null, never 0 (PO-50)" {
    local out=$BATS_TEST_TMPDIR/reports/deep/run.json
    make_run --report "$out"
    assert_json "$out" 'r["version"], r["name"], r["plan"], r["state"], r["base"], r["exit_code"]' \
        "(1, 'All kinds', 'plan.yaml', 'finished', 'main', 1)"
    assert_json "$out" 'r["tip"]' "$(git rev-parse main)"
    assert_json "$out" 'r["base_commit"]' "$(git rev-parse 'main^1')"
    assert_json "$out" '[r["totals"][k] for k in ("tasks", "landed", "done", "failed", "skipped")]' \
        '[4, 1, 1, 1, 1]'
    assert_json "$out" '[r["totals"][k] for k in ("tokens_in", "tokens_out", "usd", "unpriced")]' \
        '[1200, 80, 0.25, 2]'
    assert_json "$out" '[x["state"] for x in r["tasks"]]' "['landed', 'failed', 'skipped', 'done']"
    assert_json "$out" '[t["good"][k] for k in ("title", "engine", "attempts", "exit_code", "usd")]' \
        "['Does it', 'sim', 1, 0, 0.25]"
    assert_json "$out" 't["good"]["landed"]' "$(git rev-parse main)"
    assert_json "$out" 't["good"]["commit"]' "$(git rev-parse 'main^2')"
    assert_json "$out" '[t["bad"][k] for k in ("failure", "exit_code", "tokens_in", "usd", "landed")]' \
        "['transient', 3, None, None, None]"
    assert_json "$out" 't["bad"]["output"]' $'first words\nlast words'
    assert_json "$out" '[t["after"][k] for k in ("attempts", "exit_code", "started", "duration_ms", "logs")]' \
        "[0, None, None, None, None]"
    assert_json "$out" 't["good"]["duration_ms"] >= 0 and r["duration_ms"] >= t["good"]["duration_ms"]' True
    [[ -f $(json "$out" 't["good"]["logs"]')/1/out ]] || fail "no logs there"
}

@test "the same members are there for every task" {
    make_run --report run.json
    assert_json run.json 'len({tuple(x) for x in r["tasks"]})' 1
}

@test "the Markdown report is a table, whatever names and reasons hold" {
    make_repo
    begin_plan
    add_task t1 'title: "a|b\nc <img> `x` *y* \u202e \\|"' 'retry: {transient: 0}' -- \
        'err bad | pipe' 'exit 1'
    run_plan --report run.md
    assert_status 1
    grep -F '| t1 | a\|b\\nc \<img\> \`x\` \*y\* \\u\{202E\} \\\| | sim | failed | 1 |' run.md ||
        fail "$(<run.md)"
    local columns
    columns=$(grep '^|' run.md | sed 's/\\.//g' | tr -dc '|\n' | sort -u)
    [[ $columns == '|||||||||||' ]] || fail "columns: $columns" "$(<run.md)"
    grep -qx '    bad | pipe' run.md || fail "no output:" "$(<run.md)"
    grep -qF '| unknown | unknown |' run.md || fail "the cost is not unknown"
}

@test "the JUnit report is well-formed, whatever an agent prints" {
    make_repo
    begin_plan 'name: "<&\"name>"'
    add_task good -- 'write a one'
    add_task bad 'title: "]]> & \u0001"' 'retry: {transient: 0}' -- \
        'sh printf "\001\033[31mred\033[0m <b> \377\357\277\277 end\n" >&2; exit 1'
    add_task after 'depends_on: [bad]' -- 'write b two'
    run_plan --report run.xml
    assert_status 1
    assert_xml run.xml 'r[0].get("name")' '<&"name>'
    assert_xml run.xml '[r[0].get(k) for k in ("tests", "failures", "errors", "skipped")]' \
        "['3', '1', '0', '1']"
    assert_xml run.xml 't["bad"].find("failure").get("type")' transient
    assert_xml run.xml '"red" in t["bad"].find("failure").text' True
    assert_xml run.xml 't["after"].find("skipped").get("message")' "needs 'bad'"
    assert_xml run.xml 't["good"].find("failure"), t["good"].find("skipped")' '(None, None)'
    ! grep -q $'\e' run.xml || fail "an escape in it"
    ! command -v xmllint >/dev/null || xmllint --noout run.xml
}

# One run with all that a report may stumble over: hostile titles, words, names of files and content;
# a task that strays and is only warned, one that strays and fails, a conflict.
@test "whatever tasks are called, say and write, each report is well-formed and takes it for text" {
    make_repo
    echo base >both
    git add both
    git commit -q -m both
    begin_plan 'name: "</title><script>alert(1)</script>"' 'overlap: allow'
    add_task bad 'title: "]]> | `x` ```\n<b onclick=y>\u202e&amp;\u0027"' 'retry: {transient: 0}' -- \
        'sh printf "<i>\377</i>\t+x\n" >"<img src=x onerror=y> %41.txt"' \
        'say </pre><script>say</script>' \
        'sh printf "</pre>\001\033[31m<script>err</script> \377 end\n" >&2; exit 1'
    add_task after 'depends_on: [bad]' -- 'write b two'
    add_task warned 'owns: [docs/]' 'enforce: warn' -- 'write "x y#z" one'
    add_task strays 'owns: [docs/]' 'retry: {scope: 0}' -- 'write no one'
    add_task first 'depends_on: [warned]' -- 'write both one'
    add_task second 'depends_on: [warned]' -- "sh $(until_exists landed)" 'write both two'
    add_task landed 'read_only: true' 'depends_on: [first]' -- "sh touch $BATS_TEST_TMPDIR/landed"
    run_plan --report r.html --report r.md --report r.xml --report r.json --report r.sarif
    assert_status 4
    local page
    page=$(python3 "$BATS_TEST_DIRNAME/../page.py" r.html) || fail "$page" "$(<r.html)"
    for text in '</title><script>alert(1)</script>' ']]> | `x` ```\n<b onclick=y>\u{202E}&amp;'"'" \
        '</pre><script>say</script>' 'diff --git a/<img src=x onerror=y> %41.txt b/<img src=x onerror=y> %41.txt' \
        $'+<i>\\xFF</i>\t+x' 'Changed outside its paths:' 'In conflict:' 'Needs attention' Timeline Graph; do
        grep -qxF -- "$text" <<<"$page" || fail "no line: $text" "$page"
    done
    grep -qF '<script>err</script> \xFF end' <<<"$page" || fail "no output" "$page"
    grep -qF "changed 1 path that it does not own, and landed anyway" <<<"$page" || fail "$page"
    ! grep -q $'[\001\033\377]' r.html || fail "a control character in it"
    grep -qF "default-src 'none'" r.html || fail "no policy"

    jq -e '.version == "2.1.0" and (.runs | length) == 1 and .runs[0].tool.driver.name == "anabranch"' r.sarif
    jq -e '.runs[0] | . as $r | .results | length > 0 and all(.ruleId == $r.tool.driver.rules[.ruleIndex].id and
        (.message.text | length) > 0 and (.level | IN("error", "warning")) and (.locations | length) == 1 and
        (.locations[0].physicalLocation | .artifactLocation.uriBaseId == "SRCROOT" and .region.startLine == 1))' r.sarif
    [[ $(jq -r '.runs[0].results[] | [.properties.task, .ruleId, .level,
        .locations[0].physicalLocation.artifactLocation.uri] | join(" ")' r.sarif) == "bad transient error plan.yaml
warned scope warning x%20y%23z
strays scope error no
second conflict error both" ]] || fail "$(<r.sarif)"
    jq -e '.runs[0].invocations[0] | .executionSuccessful == false and .exitCode == 4' r.sarif

    [[ $(sed -n '/^```mermaid$/,/^```$/p' r.md | grep -c '^```') -eq 2 ]] || fail "$(<r.md)"
    grep -qx '  t0 --> t1' r.md && grep -qxF '  t0["bad<br/>failed"]:::failed' r.md || fail "$(<r.md)"
    ! grep -qE '(^|[^\\])<(script|b |/)' <(grep -vE '^    |^</details>$|^<details><summary>' r.md) || fail "$(<r.md)"
    assert_xml r.xml 't["bad"].find("system-out").text.split("title: ")[1].split("\n")[0]' ']]> | `x` ```'
    assert_json r.json 't["bad"]["title"].startswith("]]> | `x` ```\n<b onclick=y>")' True
}

@test "the report page cuts a diff and a log that are too long, and says so" {
    make_repo
    begin_plan
    add_task long 'read_only: false' -- 'sh seq 1 40000 >numbers' 'sh for i in $(seq 1 3000); do echo "line $i"; done'
    add_task quiet --  'write a one'
    run_plan --report r.html
    assert_status 0
    (($(wc -c <r.html) < 200000)) || fail "$(wc -c <r.html) bytes"
    local page id
    page=$(python3 "$BATS_TEST_DIRNAME/../page.py" r.html)
    id=$(basename .git/anabranch/runs/*)
    grep -qx 'Diff: 1 file, +40000 .0' <<<"$page" || fail "$page"
    grep -qx 'Cut here. For all of it: ' <<<"$page" || fail "$page"
    grep -qxF "anabranch diff --run $id long" <<<"$page" || fail "$page"
    [[ $(grep -c 'Cut here' <<<"$page") -eq 1 ]] || fail "more than one"
    grep -qx -- '+12' <<<"$page" && ! grep -qx -- '+39999' <<<"$page" || fail "$page"
    grep -qx 'Diff: 1 file, +1 .0' <<<"$page" || fail "the one behind it is not there"
}

@test "the timeline of a report does not count the time between a stop and the resume" {
    kill_run_an_hour_ago
    touch "$BATS_TEST_TMPDIR/go"
    run anabranch resume 3>&-
    assert_status 0
    sqlite3 .git/anabranch/state.db 'update runs set started = started - 3600000; update tasks set started = started - 3600000'
    run anabranch report last --format html
    assert_status 0
    local svg ends
    svg=$(sed -n '/<svg .*When each task did/,/<\/svg>/p' <<<"$output")
    [[ $(grep -c '<rect' <<<"$svg") -gt 0 ]] || fail "no bar"
    ! grep -qE '(>|, )[0-9]+(h|m[^s])' <<<"$svg" || fail "an hour:" "$svg"
    # The last bar ends where the run ends, and none is wider than the work.
    ends=$(grep -o '<rect [^>]*' <<<"$svg" | sed 's/.* x="\([0-9.]*\)%" width="\([0-9.]*\)%".*/\1 \2/' | awk '{print $1 + $2}' | sort -n | tail -n 1)
    awk -v end="$ends" 'BEGIN { exit !(end > 50 && end < 100.01) }' || fail "ends at $ends" "$svg"
}

@test "report prints what --report writes, and -o writes it into a file" {
    make_run --report run.json --report run.md --report run.xml --report run.html --report run.sarif
    local id
    id=$(json run.json 'r["run"]')
    for call in "json run.json" "md run.md" "junit run.xml" "html run.html" "sarif run.sarif"; do
        anabranch report "${id:0:10}" --format "${call% *}" | cmp - "${call#* }" || fail "$call"
    done
    anabranch report last | cmp - run.json || fail "not JSON"
    anabranch report last -o new/x.HTML
    cmp new/x.HTML run.html || fail "not by the name"
    anabranch report last --format md -o new/x.html
    cmp new/x.html run.md || fail "not by the option"
    ln -s run.md link.md
    for path in x.pdf link.md new; do
        run_apart anabranch report last -o $path
        assert_status 2
        [[ $stderr == "anabranch: --output: '$path' "* ]] || fail "$path"
    done
    run_apart anabranch report
    assert_usage_error "the argument RUN is missing" report
    run_apart anabranch report last --format pdf
    assert_status 2
}

@test "tokens and cost are those of all attempts together" {
    make_repo
    begin_plan
    add_task t1 'retry: {transient: 1}' -- 'tokens 100 10 0.5' 'on 1 exit 1' 'write a one'
    run_plan --report run.json
    assert_status 0
    assert_json run.json '[t["t1"][k] for k in ("attempts", "tokens_in", "tokens_out", "usd")]' \
        '[2, 200, 20, 1.0]'
}

# Places of reports

@test "a report that could not be written is refused before anything starts (PO-25)" {
    make_repo
    begin_plan
    add_task t1 -- 'write a one'
    : >target.json
    ln -s target.json link.json
    : >file
    mkdir closed folder.md
    chmod a-w closed
    for path in run.txt run json link.json file/run.json folder.md; do
        run_plan --report good.md --report $path
        assert_status 2
        [[ $stderr == "anabranch: --report: "*"'"* ]] || fail "$path"
        nothing_was_run
    done
    if [[ ! -w closed ]]; then # root may write everywhere
        run_plan --report closed/new/run.json
        assert_status 2
        nothing_was_run
    fi
    [[ ! -e good.md && ! -s target.json ]] || fail "something was written"
}

@test "a report replaces the old one at once, and leaves nothing beside it" {
    mkdir out
    make_repo
    begin_plan
    add_task t1 -- 'write a one'
    echo old >../out/run.json
    ln ../out/run.json ../out/other
    run_plan --report ../out/run.json
    assert_status 0
    [[ $(<../out/other) == old ]] || fail "it was written in place"
    assert_json ../out/run.json 'r["state"]' finished
    [[ $(ls -A ../out) == other$'\n'run.json ]] || fail "left: $(ls -A ../out)"
}

@test "a run that is stopped writes its report too" {
    make_repo
    begin_plan
    add_task t1 -- 'write a one' 'hang'
    add_task t2 'depends_on: [t1]' -- 'write b two'
    start_plan --report run.json
    wait_for in_events task.started t1
    kill -INT "$engine"
    end_plan
    assert_status 130
    assert_json run.json 'r["state"], r["exit_code"], t["t1"]["state"]' "('stopped', 130, 'failed')"
}

# Copies of logs

@test "--log-dir has the output of all attempts, for the owner alone" {
    make_repo
    begin_plan
    add_task t1 'retry: {transient: 1}' -- 'err try' 'on 1 exit 1' 'write a one'
    mkdir logs
    echo old >logs/t1-stderr.log
    chmod 644 logs/t1-stderr.log
    run_plan --log-dir new/logs
    assert_status 0
    [[ $(<new/logs/t1-stderr.log) == $'try\n\n===== retry attempt 1 =====\ntry' ]] ||
        fail "$(<new/logs/t1-stderr.log)"
    [[ $(grep -c '"type":"start"' new/logs/t1-stdout.log) -eq 2 ]] || fail "not both attempts"
    [[ $(mode_of new/logs) == drwx------ && $(mode_of new/logs/t1-stdout.log) == -rw------- ]] ||
        fail "$(ls -la new/logs)"
    git checkout -q -B main main~1
    run_plan --log-dir logs
    assert_status 0
    [[ $(head -n 1 logs/t1-stderr.log) == try && $(mode_of logs/t1-stderr.log) == -rw------- ]] ||
        fail "$(ls -la logs)"
}

@test "a log that cannot be copied is reported, and fails nothing" {
    make_repo
    begin_plan
    add_task t1 -- 'write a one'
    mkdir logs
    echo kept >../elsewhere
    ln -s ../../elsewhere logs/t1-stdout.log
    run_plan --log-dir logs
    assert_status 0
    assert_contains "logs/t1-stdout.log'"
    [[ $(<../elsewhere) == kept ]] || fail "it was written through a symlink"
    : >file
    run_plan --log-dir file/logs
    assert_status 2
    [[ $stderr == "anabranch: --log-dir: "* ]] || fail "not that"
}

@test "the end of a failed verification is in the summary and in the report" {
    make_repo
    begin_plan
    add_task t1 'retry: {verify: 0}' 'verify: "seq 1 9; echo broken >&2; exit 1"' -- 'write a one'
    run_plan --report run.json
    assert_status 1
    assert_contains $'/t1/1:\n  broken\n'
    assert_json run.json 't["t1"]["failure"], t["t1"]["output"]' "('verify', 'broken\\n')"
}

@test "secrets are masked in copies, summary, events and reports (PO-41)" {
    make_repo
    begin_plan
    export TOKEN_FOR_TEST=s3cr3t-from-env OPENAI_API_KEY=sk-own-key
    add_task t1 'retry: {transient: 0}' \
        'env: {PLAIN: visible, A: {from: TOKEN_FOR_TEST, secret: true}, B: {value: "sec\"ret", secret: true}}' -- \
        'sh echo "$A $PLAIN $B" >&2' 'say it is sec"ret' 'action uses s3cr3t-from-env' \
        'err key sk-own-key of s3cr3t-from-env' 'exit 1'
    run_plan --log-dir logs --report r.json --report r.md --report r.xml --report r.html --report r.sarif
    assert_status 1
    ! grep -rE 's3cr3t|sk-own|sec\\?"ret|sec&quot;ret' logs r.json r.md r.xml r.html r.sarif ||
        fail "a secret is in them"
    grep -qx '<details><summary>Log</summary>' r.html && grep -qF 'it is [MASKED]' r.html || fail "no log"
    # Without the variable we cannot mask its value.
    env -u TOKEN_FOR_TEST "$ANABRANCH" report last -o r.html
    grep -q 'cannot mask a secret' r.html && ! grep -q 's3cr3t' r.html || fail "$(<r.html)"
    ! grep -E 's3cr3t|sk-own' <<<"$output$stderr" || fail "a secret is in the output"
    grep -qx 'key \[MASKED\] of \[MASKED\]' logs/t1-stderr.log || fail "$(<logs/t1-stderr.log)"
    grep -qx '\[MASKED\] visible \[MASKED\]' logs/t1-stderr.log || fail "$(<logs/t1-stderr.log)"
    assert_contains 'key [MASKED] of [MASKED]'
    ! anabranch status | grep -E 's3cr3t|sk-own' || fail "a secret is in the status"
}

@test "a secret is masked also where it lies across two pieces of a large log" {
    make_repo
    begin_plan
    export TOKEN_FOR_TEST=0123456789abcdef0123456789abcdef
    add_task t1 'env: {A: {from: TOKEN_FOR_TEST, secret: true}}' -- \
        'sh head -c 65520 /dev/zero | tr "\0" x >&2; echo "$A" >&2' \
        'write a one'
    run_plan --log-dir logs
    assert_status 0
    ! grep -q abcdef logs/t1-stderr.log || fail "a part of it is left"
    [[ $(tail -c 12 logs/t1-stderr.log) == 'xxx[MASKED]' ]] || fail "$(tail -c 50 logs/t1-stderr.log)"
}

@test "--no-log keeps only the logs of what failed" {
    make_run --no-log
    local dir
    dir=$(echo .git/anabranch/runs/*)
    [[ ! -e $dir/good/1/out && ! -e $dir/reader/1/err ]] || fail "$(find "$dir")"
    [[ -s $dir/bad/1/err ]] || fail "the log of the failed one is gone"
    run_plan --no-log --log-dir x
    assert_usage_error '--log-dir and --no-log do not go together' run
}
