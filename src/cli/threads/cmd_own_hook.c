/*
 * What the hooks of a thread's worktree (threads/hooks.h) ask: before a commit, and before an
 * agent writes a file. The thread's grade says what becomes of what is outside.
 */
#include "base/node/node_build.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "cli/threads/current_thread.h"
#include "doc/doc.h"
#include "sys/fs/file.h"
#include "threads/claude_settings.h"
#include "threads/own/own.h"
#include "threads/own/request.h"
#include "threads/own/write.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_MAX = 256 << 20 };

static bool has_grade(const struct thread *t, const char *grade)
{
    return strcmp(t->enforce, grade) == 0;
}

/* --- commits ------------------------------------------------------------------------------ */

static void list_outside(const struct thread *t, const struct own_verdict *v)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "anabranch: thread %s does not own all that this commit changes:\n", t->id);
    for (size_t i = 0; i < v->paths.n; i++) {
        const struct own_path *p = &v->paths.v[i];
        if (own_is_inside(p->standing))
            continue;
        buf_addstr(&text, "  ");
        text_add_harmless(&text, p->path);
        buf_addstr(&text, ": ");
        own_path_describe(p, &text);
        buf_addch(&text, '\n');
    }
    (void)fputs(text.s, stderr);
}

/* Only where a person looks at what git says: an agent's terminal is not for questions. */
static bool ask(void)
{
    char answer[16] = "";
    if (!isatty(STDERR_FILENO))
        return false;
    FILE *terminal = fopen("/dev/tty", "r+e");
    if (!terminal)
        return false;
    (void)fputs("Commit it all the same? [y/N] ", terminal);
    (void)fflush(terminal);
    bool yes = fgets(answer, sizeof(answer), terminal) && (*answer == 'y' || *answer == 'Y');
    (void)fclose(terminal);
    return yes;
}

static int decide(const struct thread *t, const struct own_verdict *v)
{
    list_outside(t, v);
    if (has_grade(t, "warn") || (has_grade(t, "ask") && ask()))
        return EXIT_OK;
    (void)fputs("Nothing was committed. Leave them out ('git restore --staged PATH'), or ask for "
                "them: 'anabranch own request PATH'\n",
                stderr);
    return EXIT_TASK;
}

static int run_own_commit(const void *options, int argc, char **argv)
{
    autohere struct current_thread here = {0};
    autoverdict struct own_verdict v = {0};
    struct err err = {0};
    (void)options, (void)argc, (void)argv;
    if (current_thread_open(&here, ".", &err))
        return own_told(&err);
    if (!here.thread)
        return EXIT_OK;
    struct own_question q = {.repo = &here.repo,
                             .all = &here.all,
                             .thread = here.thread,
                             .scope = OWN_STAGED,
                             .index = getenv("GIT_INDEX_FILE")};
    if (own_check(&q, &v, &err))
        return own_told(&err);
    current_thread_warn(&here);
    return v.outside ? decide(here.thread, &v) : EXIT_OK;
}

const struct command cmd_own_commit = {
    .name = "__own-commit",
    .summary = "Hold what is about to be committed against what the thread owns",
    .hidden = true,
    .run = run_own_commit,
};

/* --- writes ------------------------------------------------------------------------------- */

/* What the agent is about to do, as Claude Code tells it. */
struct call {
    struct doc doc;
    const char *file, *dir;
};

static int read_call(struct call *c, struct err *err)
{
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = INPUT_MAX};
    autoproblems struct problems ps;
    autobuf struct buf text = BUF_INIT;
    problems_init(&ps, "-");
    if (file_read_input("-", INPUT_MAX, &text, err))
        return -1;
    if (doc_parse(&c->doc, NULL, text.s, text.len, &opts, &ps))
        return err_set(err, ERR_INPUT, "what Claude Code says of its tool is not understood");
    const struct node *input = node_get(c->doc.root, "tool_input");
    if (input && input->kind == NODE_MAP) {
        c->file = node_new_string(input, "file_path", NULL);
        c->file = c->file ? c->file : node_new_string(input, "notebook_path", NULL);
        c->dir = node_new_string(c->doc.root, "cwd", NULL);
    }
    return 0;
}

static int answer(const char *decision, const char *why)
{
    struct arena a = {0};
    autobuf struct buf out = BUF_INIT;
    struct node *map = node_new_map(&a);
    if (decision) {
        struct node *of = node_put_map(&a, map, "hookSpecificOutput");
        node_put_string(&a, of, "hookEventName", "PreToolUse");
        node_put_string(&a, of, "permissionDecision", decision);
        node_put_string(&a, of, "permissionDecisionReason", why);
    } else {
        node_put_string(&a, map, "systemMessage", why);
    }
    doc_write_line(&out, map);
    buf_addch(&out, '\n');
    arena_done(&a);
    return cli_print(out.s, out.len);
}

static int refuse(const struct thread *t, const struct buf *why, const char *request)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "This is thread %s: %s. ", t->id, why->s);
    if (request) {
        autobuf struct buf claim = BUF_INIT, call = BUF_INIT;
        own_request_literal(&claim, request);
        shell_quote(&call, "If you need it, ask: anabranch own request", claim.s, NULL);
        text_harmless(&text, call.s, call.len);
    } else {
        buf_addstr(&text, "Stay in this worktree; THREAD_BRIEF.md says what is yours.");
    }
    return answer(has_grade(t, "warn") ? NULL : has_grade(t, "ask") ? "ask" : "deny", text.s);
}

/* The worktree is named by who installed the hook; it may have been moved since. */
static int find_thread(struct current_thread *here, const char *tree, const char *dir,
                       struct err *err)
{
    if (tree && access(tree, F_OK) == 0)
        return current_thread_open(here, tree, err);
    return current_thread_open(here, dir, err);
}

static int judge(struct call *c, const char *tree, struct err *err)
{
    autohere struct current_thread here = {0};
    autobuf struct buf why = BUF_INIT;
    autofree char *request = NULL;
    const char *dir = c->dir ? c->dir : tree ? tree : ".";
    bool may = false;
    if (!c->file || claude_keeps(c->file))
        return EXIT_OK;
    if (find_thread(&here, tree, dir, err))
        return -1;
    if (!here.thread)
        return EXIT_OK;
    if (own_write(&here.repo, &here.all, here.thread, dir, c->file, &may, &why, &request, err))
        return -1;
    if (!may)
        return refuse(here.thread, &why, request);
    /* One that owns nothing may write what is nobody's, which nobody can tell then. */
    if (here.all.damaged.n && !here.thread->owns.n) {
        struct err unknown = {0};
        (void)threads_check(&here.all, &unknown);
        return answer(NULL, unknown.msg);
    }
    return EXIT_OK;
}

/* What cannot be found out is for the user to decide. */
static int run_own_hook(const void *options, int argc, char **argv)
{
    struct call c = {0};
    struct err err = {0};
    (void)options;
    int code = read_call(&c, &err);
    if (code == 0)
        code = judge(&c, argc ? argv[0] : NULL, &err);
    if (code < 0)
        code = answer("ask", err.msg);
    doc_done(&c.doc);
    return code;
}

static const struct arg hook_args[] = {
    {.name = "WORKTREE", .help = "That of the thread", .optional = true},
    {0},
};

const struct command cmd_own_hook = {
    .name = CLAUDE_HOOK,
    .summary = "Answer Claude Code, which is about to write a file",
    .args = hook_args,
    .hidden = true,
    .run = run_own_hook,
};
