/* The engine of a run over whole histories: events go in, actions come out. */
#include "base/buf.h"
#include "base/mem.h"
#include "engine_words.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Words for the usual parts of a history; "%" is their task. */
static const struct {
    const char *word, *steps;
} parts[] = {
    {"START", "starts next = start % new; attempt opened %; workspace made %; "
              "workspace ready % = run agent %; agent started %"},
    {"RESUME", "starts next = start % resumed; attempt opened %; repair began %; "
               "workspace ready % = run agent %; agent started %"},
    {"COMMIT", "worker freed %; finished % = commit %; committed %; compared %; queued %"},
    {"LAND", "lands next = land %; merged %; landed %"},
    {"PUBLISH", "publish due = publish base; RECORD %; published"},
    {"RECORD", "landing recorded %; ended %; attempt closed %"},

    {"AGAIN", "failure carried out %; attempt closed %; waits for time %; due %"},
    {"PARK", "failure carried out %; waits %; session kept %; attempt closed %; parked %"},
    {"REPAIR", "failure carried out %; waits %; session kept %; attempt closed %; "
               "waits for time %; due %; RESUME %"},
    {"END", "failure carried out %; failed %; attempt closed %; ended %"},
    {"FAIL",
     "worker freed %; failure found % = save %; attempt failed % auth = end % fail removed; "
     "failure carried out %; failed %; attempt closed %"},
    {"ANEW", "forgotten %; taken back %; ready %"},
};

/* Appends a step, or the steps of a part. A part may name another one. */
static void add_steps(struct buf *out, const char *step)
{
    char *task = (char *)step;
    size_t i = 0;
    while (i < ARRAY_LEN(parts) && !engine_skip_word(&task, parts[i].word))
        i++;
    for (const char *at = i < ARRAY_LEN(parts) ? parts[i].steps : step; *at; at++)
        buf_addch(out, i < ARRAY_LEN(parts) && *at == '%' ? *task : *at);
    buf_addstr(out, "; ");
}

static void expand_parts(struct buf *steps)
{
    autobuf struct buf out = BUF_INIT;
    char *rest = NULL;
    for (char *step = strtok_r(steps->s, ";", &rest); step; step = strtok_r(NULL, ";", &rest)) {
        step += strspn(step, " ");
        if (*step)
            add_steps(&out, step);
    }
    buf_cut(steps, 0);
    buf_addstr(steps, out.s);
}

static void live_through(struct engine_fixture *f, const char *text)
{
    autobuf struct buf steps = BUF_INIT;
    char *rest = NULL;
    buf_addstr(&steps, text);
    expand_parts(&steps);
    expand_parts(&steps);
    for (char *step = strtok_r(steps.s, ";", &rest); step; step = strtok_r(NULL, ";", &rest)) {
        step += strspn(step, " ");
        if (*step)
            engine_fixture_carry_out(f, step);
    }
}

static const struct {
    const char *what, *plan, *steps;
} histories[] = {
    {"a task starts when the base has the one that it needs", "0 | 1 after 0",
     "START 0; task 0 = running; starts next; agent spoke 0; COMMIT 0; task 0 = landing; "
     "run = working attempts 1 left 2 tip 1; LAND 0; run = working attempts 1 left 2 tip 2; "
     "starts next; publish due = publish base; RECORD 0; task 0 = landed; "
     "run = working attempts 0 left 1 tip 2 publishes; published; turn ended base; "
     "starts next = start 1 new; task 1 = preparing; starts next"},
    {"... or when that one ended with nothing to land", "0 | 1 after 0",
     "START 0; worker freed 0; nothing to land 0 = end unlanded 0; unchanged 0; ended 0; "
     "attempt closed 0; task 0 = done; "
     "lands next; publish due; starts next = start 1 new"},
    {"tasks start side by side, up to the number of workers", "0 | 1 | 2 | run workers 1",
     "START 0; starts next; workers set 2; START 1; starts next; worker freed 0; "
     "starts next = start 2 new; starts next"},

    {"a task is retried after a delay, and then fails", "0",
     "START 0; attempt failed 0 transient = end 0 retry removed in 1000; failure carried out 0; "
     "attempt closed 0; waits for time 0; task 0 = waiting retries 1; starts next; due 0; "
     "task 0 = ready retries 1; START 0; "
     "attempt failed 0 transient = end 0 retry removed in 2000; AGAIN 0; START 0; "
     "attempt failed 0 transient = end 0 fail removed; END 0; task 0 = failed retries 2; "
     "run = working attempts 0 left 0 tip 1"},
    {"... unless a person restarts it: that forgets its retries", "0",
     "START 0; attempt failed 0 transient = end 0 retry removed in 1000; AGAIN 0; START 0; "
     "FAIL 0; ended 0; restarted fresh 0; ANEW 0; task 0 = waiting"},
    {"a person skips a task that waits for a retry; its timer comes late", "0 | 1 after 0",
     "START 0; attempt failed 0 transient = end 0 retry removed in 1000; failure carried out 0; "
     "attempt closed 0; waits for time 0; skipped 0; ended 0 = skip 1; due 0; "
     "task 0 = skipped retries 1; task 1 = skipped; starts next"},
    {"a person stops the wait for a retry", "0",
     "START 0; attempt failed 0 transient = end 0 retry removed in 1000; failure carried out 0; "
     "attempt closed 0; waits for time 0; attempt opened 0; wait stopped 0; "
     "attempt failed 0 stopped by-user bare = end 0 fail removed; END 0; starts next; "
     "task 0 = failed retries 1"},
    {"unsaved work is not retried, and stays on disk", "0",
     "START 0; attempt failed 0 transient unsaved = end 0 fail left"},
    {"... and so are workspaces that the user wants", "0",
     "START 0; attempt failed 0 auth kept = end 0 fail left"},
    {"work that would undo that of others is retried once", "0",
     "START 0; worker freed 0; finished 0 = commit 0; committed 0; compared 0 yes; "
     "task 0 = committing reverts; attempt failed 0 scope = end 0 retry removed in 1000; "
     "AGAIN 0; START 0; compared 0 yes; attempt failed 0 scope = end 0 fail removed"},

    {"... and only the last attempt counts", "0",
     "START 0; compared 0 yes; FAIL 0; ended 0; restarted fresh 0 yes; ANEW 0; START 0; "
     "task 0 = running at-tip; attempt failed 0 scope = end 0 fail removed"},

    {"a limit closes the lane; the task waits with its session; then the lane opens", "0 | 1 | 2",
     "START 0; limit seen 0 now 1000 reset 61000 = wake lane 0 in 30000, "
     "closed by 0 lane 0 reset 61000; starts next; worker freed 0; "
     "limit met 0 now 1500 reset 61000 session = end 0 park passed-on in 60500; "
     "attempt failed 0 limit = end 0 park passed-on in 60500; PARK 0; task 0 = waiting parked; "
     "starts next; lane due 0 now 31000 = wake lane 0 in 30000, wake; starts next; "
     "lane due 0 now 62000 = wake; starts next = start 0 resumed; starts next; attempt opened 0; "
     "repair began 0; agent started 0; task 0 = running; "
     "agent spoke 0 now 63000 = opened by 0 lane 0, wake lane 0 in 500; starts next; "
     "lane due 0 now 63500 = wake lane 0 in 500, wake; starts next = start 1 new; starts next; "
     "lane due 0 now 64000 = wake lane 0 in 500, wake; starts next = start 2 new; "
     "lane due 0 now 64500 = wake"},
    {"... and without a session it starts again; an unknown reset uses a retry", "0",
     "START 0; worker freed 0; limit met 0 now 1000 = end 0 park removed in 30000, "
     "wake lane 0 in 30000, closed by 0 lane 0 reset 0; "
     "attempt failed 0 limit = end 0 park removed in 30000; failure carried out 0; waits 0; "
     "attempt closed 0; parked 0; task 0 = waiting retries 1 parked; starts next; "
     "lane due 0 now 31000 = wake; starts next = start 0 new; task 0 = preparing retries 1"},
    {"... and a person stops that wait", "0",
     "START 0; worker freed 0; "
     "limit met 0 now 0 reset 5000 session = end 0 park passed-on in 6000, wake lane 0 in 6000, "
     "closed by 0 lane 0 reset 5000; attempt failed 0 limit = end 0 park passed-on in 6000; "
     "PARK 0; attempt opened 0; wait stopped 0; task 0 = waiting; "
     "attempt failed 0 stopped by-user = end 0 fail removed; END 0; lane due 0 now 6000 = wake; "
     "starts next"},
    {"... or skips it", "0 | 1 fallback | run workers 1",
     "START 0; limit met 0 now 0 reset 5000 = end 0 park removed in 6000, wake lane 0 in 6000, "
     "closed by 0 lane 0 reset 5000; attempt failed 0 limit = end 0 park removed in 6000; "
     "PARK 0; START 1; skipped 0; task 0 = skipped; ended 0"},
    {"the first task shows nothing about the limit: another one goes first", "0 | 1",
     "START 0; "
     "limit seen 0 now 0 reset 1000 = wake lane 0 in 2000, closed by 0 lane 0 reset 1000; "
     "FAIL 0; ended 0; lane due 0 now 2000 = wake; START 1; "
     "agent spoke 1 now 2100 = opened by 1 lane 0, wake lane 0 in 500"},
    {"... at once if its attempt has shown nothing", "0 | 1 | 2",
     "START 0; "
     "limit seen 0 now 0 reset 1000 = wake lane 0 in 2000, closed by 0 lane 0 reset 1000; "
     "FAIL 0; ended 0; lane due 0 now 2000 = wake; START 1; starts next; FAIL 1; ended 1; "
     "starts next = start 2 new"},
    {"a limit in the plan that fails the task closes no lane", "0 limit 0 | 1",
     "START 0; limit seen 0 now 0 reset 5000; limit met 0 now 0 reset 5000 = end 0 fail left; "
     "attempt failed 0 limit = end 0 fail removed; starts next = start 1 new"},
    {"the user does not want to wait for limits", "0 | 1 | run no-wait",
     "START 0; limit seen 0 now 0 reset 5000; limit met 0 now 0 reset 5000 = end 0 fail left; "
     "attempt failed 0 limit = end 0 fail removed; limit recalled 0 now 0 reset 5000; "
     "starts next = start 1 new"},
    {"a task falls back to its other lane, and waits if that closes too", "0 fallback",
     "START 0; worker freed 0; limit met 0 now 0 reset 9000 = end 0 fall-back removed, "
     "wake lane 0 in 10000, closed by 0 lane 0 reset 9000; "
     "attempt failed 0 limit = end 0 fall-back removed; AGAIN 0; task 0 = ready; START 0; "
     "worker freed 0; limit met 0 now 5 reset 20000 = end 0 park removed in 20995, "
     "wake lane 1 in 20995, closed by 0 lane 1 reset 20000"},

    {"... but not after a person restarts it", "0 fallback",
     "START 0; limit met 0 now 0 reset 9000 = end 0 fall-back removed, wake lane 0 in 10000, "
     "closed by 0 lane 0 reset 9000; attempt failed 0 limit = end 0 fall-back removed; AGAIN 0; "
     "START 0; FAIL 0; ended 0; lane due 0 now 10000 = wake; restarted fresh 0; ANEW 0; START 0; "
     "limit seen 0 now 20000 reset 21000 = wake lane 0 in 2000, closed by 0 lane 0 reset 21000"},
    {"an agent repairs its work in its session", "0",
     "START 0; COMMIT 0; lands next = land 0; merged 0; verifying 0; task 0 = verifying; "
     "attempt failed 0 verify feedback session = end 0 repair own passed-on in 1000; "
     "failure carried out 0; waits 0; session kept 0; attempt closed 0; waits for time 0; due 0; "
     "task 0 = ready retries 1 repair own; RESUME 0; task 0 = running retries 1; COMMIT 0; "
     "LAND 0"},
    {"... on top of the landed work, in a new workspace", "0",
     "START 0; COMMIT 0; lands next = land 0; merged 0; verifying 0; "
     "attempt failed 0 verify feedback session candidate = end 0 repair merged passed-on in 1000; "
     "failure carried out 0; waits 0; session kept 0 yes; attempt closed 0; waits for time 0; "
     "due 0; starts next = start 0 restored; task 0 = ready retries 1 repair merged"},
    {"... in its own lane, even if that is closed and the fallback is open", "0 fallback | 1",
     "START 0; START 1; "
     "limit seen 1 now 0 reset 5000 = wake lane 0 in 6000, closed by 1 lane 0 reset 5000; "
     "COMMIT 0; lands next = land 0; merged 0; verifying 0; "
     "attempt failed 0 verify feedback session = end 0 repair own passed-on in 1000; "
     "failure carried out 0; waits 0; session kept 0; attempt closed 0; waits for time 0; due 0; "
     "starts next; lane due 0 now 6000 = wake; starts next = start 0 resumed"},
    {"... and if that fails too, it starts again", "0",
     "START 0; COMMIT 0; lands next = land 0; merged 0; verifying 0; "
     "attempt failed 0 verify feedback session = end 0 repair own passed-on in 1000; REPAIR 0; "
     "worker freed 0; attempt failed 0 transient = end 0 retry removed in 1000; AGAIN 0; START 0"},
    {"... or a person stops the wait for that", "0",
     "START 0; COMMIT 0; lands next = land 0; merged 0; verifying 0; "
     "attempt failed 0 verify feedback session = end 0 repair own passed-on in 1000; "
     "failure carried out 0; waits 0; session kept 0; attempt closed 0; waits for time 0; "
     "task 0 = waiting retries 1 repair own; attempt opened 0; wait stopped 0; "
     "task 0 = waiting retries 1"},
    {"... but it starts again without a session", "0",
     "START 0; COMMIT 0; lands next = land 0; merged 0; verifying 0; "
     "attempt failed 0 verify feedback = end 0 retry removed in 1000"},
    {"an agent resolves its conflict", "0 conflict repair",
     "START 0; COMMIT 0; lands next = land 0; "
     "conflict found 0 = fail conflict 0 and tell; failure found 0 = save 0; "
     "attempt failed 0 conflict feedback session = end 0 repair conflict passed-on in 1000 at-tip; "
     "failure carried out 0; task 0 = landing retries 1 repair conflict in-conflict at-tip; "
     "waits 0; session kept 0; attempt closed 0; waits for time 0; message waits 0; due 0; "
     "starts next = start 0 resumed; attempt opened 0; repair began 0; "
     "task 0 = ready retries 1 in-conflict message at-tip; message told 0; agent started 0; "
     "COMMIT 0; task 0 = landing retries 1 at-tip; LAND 0"},
    {"... or cannot, so a person has to", "0 conflict 1 | 1 after 0",
     "START 0; COMMIT 0; lands next = land 0; "
     "attempt failed 0 conflict feedback session = end 0 repair conflict passed-on in 1000 at-tip; "
     "REPAIR 0; worker freed 0; finished 0 = commit 0; "
     "attempt failed 0 conflict feedback session = end 0 leave-conflict removed; "
     "failure carried out 0; conflicted 0; ended 0 = skip 1; attempt closed 0; "
     "task 0 = conflicted retries 1 at-tip; task 1 = skipped"},
    {"... or a person stops it, and restarts it without the conflict", "0 conflict 1",
     "START 0; COMMIT 0; lands next = land 0; "
     "attempt failed 0 conflict feedback session = end 0 repair conflict passed-on in 1000 at-tip; "
     "REPAIR 0; worker freed 0; attempt failed 0 stopped by-user = end 0 fail removed; END 0; "
     "task 0 = failed retries 1 in-conflict at-tip; restarted fresh 0; ANEW 0; task 0 = waiting"},
    {"a conflict is left for a person at once", "0",
     "START 0; COMMIT 0; lands next = land 0; conflict found 0 = leave conflict 0; conflicted 0; "
     "ended 0; attempt closed 0; task 0 = conflicted; lands next; starts next"},

    {"dependants of a failed task are skipped, and wait again after its retry",
     "0 | 1 after 0 | 2 after 1 | 3",
     "START 0; FAIL 0; ended 0 = skip 1, skip 2; task 2 = skipped; restarted fresh 0 yes; "
     "forgotten 0; taken back 0 = unskip 1, unskip 2; task 0 = waiting at-tip; task 1 = waiting; "
     "run = working attempts 0 left 4 tip 1; starts next = start 3 new; ready 0; START 0; "
     "COMMIT 0; LAND 0; PUBLISH 0; starts next = start 1 new"},
    {"... unless another task that they need has failed", "0 | 1 | 2 after 0 after 1",
     "START 0; START 1; FAIL 0; ended 0 = skip 2; FAIL 1; ended 1; restarted fresh 0; ANEW 0; "
     "task 2 = skipped; restarted fresh 1; forgotten 1; taken back 1 = unskip 2; ready 1; "
     "task 1 = waiting; task 2 = waiting"},
    {"a person skips a task and so its dependants", "0 | 1 after 0 | 2",
     "skipped 0; ended 0 = skip 1; starts next = start 2 new; starts next"},
    {"a person sends the agent of a failed task a message", "0 | 1 after 0",
     "START 0; FAIL 0; ended 0 = skip 1; restarted 0; session resumed 0 own message remade; "
     "taken back 0 = unskip 1; task 0 = waiting repair own message at-tip; ready 0; "
     "starts next = start 0 restored; attempt opened 0; repair began 0; agent started 0; "
     "task 0 = running at-tip; COMMIT 0; LAND 0"},
    {"a person retries a task in conflict", "0",
     "START 0; COMMIT 0; lands next = land 0; conflicted 0; ended 0; attempt closed 0; "
     "restarted 0; session resumed 0 conflict; taken back 0; ready 0; "
     "task 0 = waiting repair conflict in-conflict at-tip; RESUME 0; "
     "attempt failed 0 auth = end 0 leave-conflict removed; failure carried out 0; conflicted 0; "
     "ended 0; attempt closed 0; restarted fresh 0; ANEW 0; task 0 = waiting; START 0; COMMIT 0; "
     "LAND 0; PUBLISH 0"},
    {"the next attempt has a message in its prompt, so a later repair does not repeat it",
     "0 conflict repair",
     "START 0; attempt failed 0 transient = end 0 retry removed in 1000; failure carried out 0; "
     "attempt closed 0; waits for time 0; message waits 0; task 0 = waiting retries 1 message; "
     "due 0; START 0; task 0 = running retries 1; COMMIT 0; lands next = land 0; "
     "attempt failed 0 conflict feedback session = end 0 repair conflict passed-on in 1000 at-tip; "
     "REPAIR 0; task 0 = running retries 2 in-conflict at-tip"},
    {"... which may come while that attempt makes its workspace", "0",
     "starts next = start 0 new; attempt opened 0; workspace made 0; message waits 0; "
     "task 0 = preparing message; agent started 0; task 0 = running"},
    {"a message for a working agent resumes it when it is done", "0",
     "START 0; worker freed 0; session resumed 0 own message; attempt closed 0; "
     "waits for time 0; due 0; task 0 = ready repair own message; starts next = start 0 resumed"},

    {"further work on a landed task fails: the landing stands", "0 | 1 after 0",
     "found 0 landed; found 1 waiting; usage recalled; follow up began 0 yes; "
     "session resumed 0 own message; task 0 = waiting repair own message follows-landing; "
     "RESUME 0; worker freed 0; attempt failed 0 auth = end 0 fail removed; "
     "failure carried out 0; follow up failed 0; landing stands 0; attempt closed 0; ended 0; "
     "task 0 = landed follow-up-failed; starts next = start 1 new"},
    {"... or it changes nothing, or lands too", "0 | 1",
     "found 0 landed; found 1 landed follow-up-failed; task 1 = landed follow-up-failed; "
     "follow up began 0 yes; session resumed 0 own; follow up began 1 yes; "
     "session resumed 1 own; task 1 = waiting repair own follows-landing; RESUME 0; RESUME 1; "
     "worker freed 0; landing stands 0; ended 0; attempt closed 0; task 0 = landed; COMMIT 1; "
     "LAND 1; PUBLISH 1; task 1 = landed follows-landing"},
    {"... or is skipped", "0",
     "found 0 landed; follow up began 0 yes; session resumed 0 own; skipped 0; landing stands 0; "
     "ended 0; task 0 = landed repair own; starts next"},

    {"the budget of a task warns, then stops its agent", "0 tokens 100 | 1",
     "START 0; START 1; used 0 tokens 79 = record 0; used 0 tokens 79; "
     "used 0 tokens 80 = record 0, warn 0; used 1 tokens 500 = record 1; "
     "used 0 tokens 100 = record 0, used up 0, stop agent 0; "
     "used 0 tokens 110 stopped = record 0; worker freed 0; "
     "attempt failed 0 transient = end 0 fail removed"},
    {"... and a person raises it", "0 tokens 100",
     "START 0; used 0 tokens 90 = record 0, warn 0; budget raised 0 tokens 200; "
     "used 0 tokens 150 = record 0; used 0 tokens 160 = record 0, warn 0; "
     "attempt failed 0 transient = end 0 retry removed in 1000"},
    {"... and counts all attempts", "0 tokens 100",
     "START 0; used 0 tokens 50 = record 0; "
     "attempt failed 0 transient = end 0 retry removed in 1000; AGAIN 0; START 0; "
     "used 0 tokens 30 = record 0, warn 0; used 0 tokens 50 = record 0, used up 0, stop agent 0"},
    {"an agent that reports only at its end overruns its budget", "0 tokens 100",
     "START 0; used 0 tokens 150 ended = record 0, warn 0, overrun 0 task, used up 0; "
     "used 0 tokens 160 ended overran = record 0"},
    {"... and so does one that has finished", "0 tokens 100",
     "START 0; used 0 tokens 101 finished = record 0, warn 0, overrun 0 task, used up 0"},
    {"the budget of the run warns, stops all agents and starts no more", "0 | 1 | run tokens 100",
     "START 0; used 0 tokens 80 = record 0, warn run; "
     "used 0 tokens 100 = record 0, used up run, wake, stop for run; starts next; "
     "used 0 tokens 120 stopped = record 0; attempt failed 0 transient = end 0 fail removed; "
     "END 0; budget raised tokens 1000; starts next = start 1 new"},
    {"... and an agent overruns it", "0 | run tokens 100",
     "START 0; used 0 tokens 150 ended = record 0, overrun 0 run, warn run, used up run, wake, "
     "stop for run; starts next; turn ended base"},
    {"... or a resumed run has used it", "0 | 1 | run tokens 100",
     "found 0 done tokens 100; found 1 waiting; "
     "usage recalled = warn run, used up run, wake, stop for run; ended 0; starts next; "
     "turn ended base = publish last"},

    {"tasks land in their order; those without one do not wait", "0 order 2 | 1 order 1 | 2",
     "START 0; START 1; START 2; COMMIT 0; lands next; COMMIT 2; LAND 2; lands next; COMMIT 1; "
     "LAND 1; LAND 0; lands next"},
    {"... and do not wait for one that has ended", "0 order 2 | 1 order 1",
     "START 0; START 1; COMMIT 0; lands next; FAIL 1; ended 1; LAND 0"},
    {"... until a person restarts it", "0 order 2 | 1 order 1",
     "START 0; START 1; COMMIT 0; FAIL 1; ended 1; restarted fresh 1; ANEW 1; lands next; "
     "START 1; COMMIT 1; LAND 1; LAND 0"},
    {"... even if others could land meanwhile", "0 order 2 | 1 order 1",
     "START 0; START 1; FAIL 1; ended 1; lands next; restarted fresh 1; ANEW 1; COMMIT 0; "
     "lands next; START 1; COMMIT 1; LAND 1; LAND 0"},
    {"... and so do its dependants, which wait again", "0 | 1 after 0 order 1 | 2 order 2",
     "START 0; START 2; FAIL 0; ended 0 = skip 1; lands next; restarted fresh 0; forgotten 0; "
     "taken back 0 = unskip 1; ready 0; START 0; COMMIT 0; COMMIT 2; LAND 0; lands next; "
     "PUBLISH 0; START 1; COMMIT 1; LAND 1; LAND 2"},
    {"... and in any order in a run that starts nothing more", "0 order 1 | 1 order 2",
     "held 0; START 1; COMMIT 1; lands next; drained; lands next = land 1"},
    {"a verified commit lands only on the tip with which it was merged", "0 | 1",
     "START 0; START 1; COMMIT 0; COMMIT 1; lands next = land 0; merged 0; verifying 0; "
     "lands next = land 1; merged 1; verifying 1; queued 0; lands next = land 0 verified; "
     "landed 0; queued 1; lands next = land 1; merged 1; verifying 1; queued 1; tip moved; "
     "lands next = land 1; merged 1; verifying 1; queued 1; lands next = land 1 verified"},
    {"a person ends the wait to land", "0",
     "START 0; COMMIT 0; unqueued 0; lands next; "
     "attempt failed 0 stopped by-user = end 0 fail removed"},
    {"landings are taken back, the last one first", "0 order 1 | 1 order 2 | 2 order 3",
     "START 0; START 1; START 2; COMMIT 0; COMMIT 1; COMMIT 2; LAND 0; LAND 1; "
     "run = working attempts 3 left 3 tip 3; landing failed = take back 1; "
     "attempt failed 1 internal = end 1 fail removed; landing failed = take back 0; "
     "attempt failed 0 internal = end 0 fail removed; run = working attempts 3 left 3 tip 5; "
     "publish due; lands next; failure carried out 0; failed 1; ended 1; failed 0; ended 0; "
     "lands next = land 2"},

    {"the base follows now and later", "0 | 1 | 2",
     "START 0; START 1; START 2; publish due; COMMIT 0; LAND 0; "
     "publish due now 1000 = publish base; publish due now 1000; RECORD 0; published now 1000; "
     "COMMIT 1; LAND 1; publish due now 1100 = publish later in 100; "
     "publish due now 1200 = publish base; RECORD 1; published now 1300; COMMIT 2; LAND 2; "
     "publish due now 1310 = publish base"},
    {"... at once for a task that others need", "0 | 1 | 2 after 1",
     "START 1; START 0; COMMIT 0; LAND 0; "
     "publish due now 1000 index 33554432 = publish later in 10000; COMMIT 1; LAND 1; "
     "publish due now 1001 = publish base"},
    {"... or in a stopped run", "0 | 1",
     "START 0; START 1; COMMIT 0; LAND 0; "
     "publish due now 5 index 6553600 = publish later in 2000; "
     "interrupted = stop agents by person; publish due now 6 = publish base"},
    {"... or at the end: until then landings are only recorded", "0 | 1 after 0 | run at-end",
     "START 0; COMMIT 0; LAND 0; publish due = publish record; RECORD 0; published; "
     "starts next = start 1 new"},
    {"the base moves a last time, and the run ends", "0",
     "turn ended base; START 0; COMMIT 0; LAND 0; PUBLISH 0; "
     "run = working attempts 0 left 0 tip 2; turn ended base = publish last; "
     "run = publishing attempts 0 left 0 tip 2 publishes; turn ended base; "
     "published last base = finish; run = over attempts 0 left 0 tip 2; turn ended base; "
     "recorded; turn ended base observers; turn ended base = close; closed; turn ended base; "
     "run = closed attempts 0 left 0 tip 2"},
    {"... unless a person adds work meanwhile", "0",
     "START 0; FAIL 0; ended 0; turn ended base = publish last; restarted fresh 0; ANEW 0; "
     "START 0; turn ended base; published last base = wake; "
     "run = working attempts 1 left 1 tip 1; COMMIT 0; LAND 0; PUBLISH 0; "
     "turn ended base = publish last; published last base = finish"},
    {"without a base there is no publication", "0",
     "START 0; worker freed 0; unchanged 0; ended 0; turn ended; attempt closed 0; "
     "turn ended = finish"},
    {"unused work trees are deleted first", "0",
     "skipped 0; ended 0; turn ended base pool = empty pool; work began; turn ended base; "
     "run = working attempts 1 left 0 tip 1; work ended; turn ended base = publish last"},

    {"a drained run starts nothing more", "0 | 1",
     "START 0; drained; starts next; turn ended base; COMMIT 0; LAND 0; PUBLISH 0; "
     "run = working attempts 0 left 1 tip 2 draining; turn ended base = publish last; "
     "published last base = finish"},
    {"... if the plan asks for that", "0 auth stop",
     "START 0; attempt failed 0 auth = end 0 fail removed drains"},
    {"... but not if a person stopped the task", "0 auth stop",
     "START 0; attempt failed 0 auth by-user = end 0 fail removed"},
    {"a person pauses and continues the run", "0 | 1",
     "START 0; paused; run = working attempts 1 left 2 tip 1 paused; starts next; COMMIT 0; "
     "LAND 0; turn ended base; continued; starts next = start 1 new"},

    {"interrupts of a run that works", "0 | 1",
     "START 0; interrupted = stop agents by person; starts next; turn ended base; "
     "attempt failed 0 transient = end 0 fail removed; interrupted = kill agents; END 0; "
     "turn ended base = publish last"},
    {"... that publishes", "0",
     "skipped 0; ended 0; turn ended base = publish last; interrupted = stop agents by person; "
     "interrupted = kill agents; published last base = finish; interrupted = kill agents"},
    {"... that is over", "0",
     "skipped 0; ended 0; turn ended = finish; run = over attempts 0 left 0 tip 1; turn ended; "
     "interrupted = stop agents by person"},
    {"... that finishes", "0",
     "skipped 0; ended 0; turn ended = finish; recorded; interrupted = give up; "
     "interrupted = give up; turn ended = close; closed; interrupted = give up"},
    {"a stopped run leaves no conflict for a person", "0 conflict 1",
     "START 0; COMMIT 0; lands next = land 0; "
     "attempt failed 0 conflict feedback session = end 0 repair conflict passed-on in 1000 at-tip; "
     "REPAIR 0; interrupted = stop agents by person; "
     "attempt failed 0 stopped = end 0 fail removed"},
    {"a broken run ends its attempts, and lands nothing", "0 | 1 | 2",
     "START 0; START 1; COMMIT 0; broke = stop agents; broke; starts next; COMMIT 1; "
     "abandons next = abandon 0; abandons next = abandon 1; abandons next; "
     "attempt failed 0 internal = end 0 fail removed; "
     "run = working attempts 2 left 3 tip 1 failed; interrupted = stop agents by person"},

    {"an event that does not fit the state is refused and changes nothing", "0",
     "finished 0 = refuse 0; queued 0 = refuse 0; lands next; verifying 0 = refuse 0; "
     "unchanged 0 = refuse 0; task 0 = waiting; START 0; COMMIT 0; LAND 0; PUBLISH 0; "
     "agent started 0 = refuse 0; failed 0 = refuse 0; conflicted 0 = refuse 0; task 0 = landed; "
     "run = working attempts 0 left 0 tip 2"},

    {"a resumed run finds its tasks", "0 | 1 | 2 after 1 | 3",
     "found 0 failed tokens 50 transient-retries 2 at-tip in-conflict; found 1 landed; "
     "found 2 waiting; found 3 running follows-landing follow-up-failed; forgotten 3; "
     "usage recalled; task 0 = failed retries 2 in-conflict at-tip; "
     "task 3 = waiting follows-landing; landing recorded 1; ended 1; ended 0; "
     "run = working attempts 0 left 2 tip 1; starts next = start 2 new; "
     "starts next = start 3 new; starts next"},
    {"... and continues with used retries", "0",
     "found 0 waiting transient-retries 1; starts at tip 0; task 0 = waiting retries 1 at-tip; "
     "START 0; attempt failed 0 transient = end 0 retry removed in 2000"},
    {"... and salvages what a task left before it starts again", "0 | 1",
     "found 0 running; forgotten 0; found 1 waiting; held 0; attempt opened 0; "
     "starts next = start 1 new; starts next; attempt closed 0; waits 0; ready 0; "
     "starts next = start 0 new"},
    {"... and commits finished work", "0",
     "found 0 committing; held 0; attempt opened 0; starts next; finished 0 = commit 0; committed "
     "0; "
     "compared 0; queued 0; LAND 0; publish due = publish base; RECORD 0"},
    {"... and lands a commit again", "0",
     "found 0 landing; lands again 0; attempt opened 0; starts next; queued 0; task 0 = landing; "
     "LAND 0"},
    {"... after a worker has made its workspace again, even in a closed lane", "0 | 1",
     "found 0 verifying; found 1 waiting; "
     "limit recalled 1 now 1000 reset 5000 = wake lane 0 in 4000, closed by 1 lane 0 reset 5000; "
     "lands again 0; task 0 = landing; attempt opened 0; needs workspace 0; attempt closed 0; "
     "task 0 = waiting; ready 0; starts next = start 0 landing; starts next; attempt opened 0; "
     "task 0 = preparing; worker freed 0; queued 0; LAND 0"},
    {"... and an attempt after that waits for the lane", "0 | 1",
     "found 0 landing; found 1 waiting; "
     "limit recalled 1 now 1000 reset 5000 = wake lane 0 in 4000, closed by 1 lane 0 reset 5000; "
     "lands again 0; attempt opened 0; needs workspace 0; attempt closed 0; ready 0; "
     "starts next = start 0 landing; attempt opened 0; worker freed 0; queued 0; "
     "lands next = land 0; merged 0; verifying 0; "
     "attempt failed 0 verify = end 0 retry removed in 1000; AGAIN 0; starts next; "
     "lane due 0 now 5000 = wake; starts next = start 0 new"},
    {"... and continues a session when its lane opens", "0",
     "found 0 running; limit recalled 0 now 1000 reset 5000 = wake lane 0 in 4000, "
     "closed by 0 lane 0 reset 5000; limit recalled 0 now 1000 reset 4000; attempt opened 0; "
     "attempt closed 0; session resumed 0 parked; task 0 = waiting parked; starts next; "
     "lane due 0 now 5000 = wake; starts next = start 0 resumed; task 0 = waiting"},
    {"... and not before, even if it has a fallback", "0 fallback",
     "found 0 running; limit recalled 0 now 1000 reset 5000 = wake lane 0 in 4000, "
     "closed by 0 lane 0 reset 5000; session resumed 0 parked; starts next"},
    {"... whose limit is over", "0",
     "limit recalled 0 now 1000 reset 900; starts next = start 0 new"},
};

static void live_through_all(struct engine_counts *counts)
{
    for (size_t i = 0; i < ARRAY_LEN(histories); i++) {
        struct engine_fixture f = {.what = histories[i].what, .counts = counts};
        engine_fixture_build(&f, histories[i].plan);
        live_through(&f, histories[i].steps);
        engine_fixture_drop(&f);
    }
}

static void each_history_goes_its_way(void **state)
{
    struct engine_counts counts = {0};
    (void)state;
    live_through_all(&counts);
}

static void the_histories_have_every_event_and_action(void **state)
{
    struct engine_counts counts = {0};
    (void)state;
    live_through_all(&counts);
    for (int i = 0; i < ENGINE_EVENT_COUNT_; i++) {
        if (!counts.events[i])
            fail_msg("no history has '%s'", engine_event_name((enum engine_event_kind)i));
    }
    for (int i = 0; i < ACTION_COUNT_; i++) {
        if (!counts.actions[i])
            fail_msg("no history is answered with '%s'", engine_action_words((enum action_kind)i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_history_goes_its_way),
        cmocka_unit_test(the_histories_have_every_event_and_action),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
