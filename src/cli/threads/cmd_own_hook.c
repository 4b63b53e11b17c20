/*
 * Answers the hooks of a thread's worktree (threads/hooks.h): before a commit, and before an agent
 * writes a file. The thread's `enforce` decides about paths outside of its own.
 */
#include "base/node/node_build.h"
#include "base/text/glob.h"
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

static bool has_enforce(const struct thread *t, const char *grade)
{
    return strcmp(t->enforce, grade) == 0;
}

static void print_outside(const struct thread *t, const struct own_verdict *v)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "anabranch: thread %s does not own all paths of this commit:\n", t->id);
    for (size_t i = 0; i < v->paths.n; i++) {
        const struct own_path *p = &v->paths.v[i];
        if (own_is_inside(p->standing))
            continue;
        text_addf(&text, "  %s: ", p->path);
        own_path_describe(p, &text);
        buf_addch(&text, '\n');
    }
    (void)fputs(text.s, stderr);
}

/* We ask only if a person sees git's output: an agent cannot answer on a terminal. */
static bool ask_user(void)
{
    char reply[16] = "";
    if (!isatty(STDERR_FILENO))
        return false;
    FILE *terminal = fopen("/dev/tty", "r+e");
    if (!terminal)
        return false;
    (void)fputs("Commit anyway? [y/N] ", terminal);
    (void)fflush(terminal);
    bool yes = fgets(reply, sizeof(reply), terminal) && (*reply == 'y' || *reply == 'Y');
    (void)fclose(terminal);
    return yes;
}

static int decide_commit(const struct thread *t, const struct own_verdict *v)
{
    print_outside(t, v);
    if (has_enforce(t, "warn") || (has_enforce(t, "ask") && ask_user()))
        return EXIT_OK;
    (void)fputs("Nothing was committed. Leave them out ('git restore --staged PATH'), or ask for "
                "them: 'anabranch own request PATH'\n",
                stderr);
    return EXIT_TASK;
}

static int run_own_commit(const void *options, char **argv)
{
    autohere struct current_thread here = {0};
    autoverdict struct own_verdict v = {0};
    struct err err = {0};
    (void)options, (void)argv;
    if (current_thread_open(&here, ".", &err))
        return cli_fail_by(&err);
    if (!here.thread)
        return EXIT_OK;
    struct own_question q = {.repo = &here.repo,
                             .all = &here.all,
                             .thread = here.thread,
                             .scope = OWN_STAGED,
                             .index = getenv("GIT_INDEX_FILE")};
    if (own_check(&q, &v, &err))
        return cli_fail_by(&err);
    current_thread_warn(&here);
    return v.outside ? decide_commit(here.thread, &v) : EXIT_OK;
}

const struct command cmd_own_commit = {
    .name = "__own-commit",
    .summary = "Check a commit against the paths of the thread",
    .hidden = true,
    .run = run_own_commit,
};

/* The tool call of the agent, as Claude Code describes it. */
struct tool_call {
    struct doc doc;
    const char *file, *dir;
};

static int read_tool_call(struct tool_call *c, struct err *err)
{
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = INPUT_MAX};
    autoproblems struct problems ps;
    autobuf struct buf text = BUF_INIT;
    problems_init(&ps, "-");
    if (file_read_input("-", INPUT_MAX, &text, err))
        return -1;
    if (doc_parse(&c->doc, NULL, text.s, text.len, &opts, &ps))
        return err_set(err, ERR_INPUT, "cannot parse the tool call from Claude Code");
    const struct node *input = node_get(c->doc.root, "tool_input");
    if (input && input->kind == NODE_MAP) {
        c->file = node_get_string(input, "file_path", NULL);
        c->file = c->file ? c->file : node_get_string(input, "notebook_path", NULL);
        c->dir = node_get_string(c->doc.root, "cwd", NULL);
    }
    return 0;
}

static int print_answer(const char *decision, const char *why)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    if (decision) {
        struct node *of = node_put_map(&a, map, "hookSpecificOutput");
        node_put_string(&a, of, "hookEventName", "PreToolUse");
        node_put_string(&a, of, "permissionDecision", decision);
        node_put_string(&a, of, "permissionDecisionReason", why);
    } else {
        node_put_string(&a, map, "systemMessage", why);
    }
    return cli_print_json(map);
}

static int refuse_write(const struct thread *t, const struct buf *why, const char *request)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "This is thread %s: %s. ", t->id, why->s);
    if (request) {
        autobuf struct buf claim = BUF_INIT, call = BUF_INIT;
        text_escape(&claim, request, GLOB_SPECIAL);
        shell_quote(&call, "If you need it, ask: anabranch own request", claim.s, NULL);
        text_harmless(&text, call.s, call.len);
    } else {
        buf_addstr(&text, "Stay in this worktree; THREAD_BRIEF.md lists your paths.");
    }
    return print_answer(has_enforce(t, "warn")  ? NULL
                        : has_enforce(t, "ask") ? "ask"
                                                : "deny",
                        text.s);
}

/* The hook names its worktree. If that was moved since, we use the folder of the call. */
static int find_thread(struct current_thread *here, const char *tree, const char *dir,
                       struct err *err)
{
    if (tree && access(tree, F_OK) == 0)
        return current_thread_open(here, tree, err);
    return current_thread_open(here, dir, err);
}

static int judge_write(struct tool_call *c, const char *tree, struct err *err)
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
        return refuse_write(here.thread, &why, request);
    /* A thread that owns nothing may write unowned paths. If another thread's file is damaged, we
     * do not know which paths are unowned, so we warn. */
    if (here.all.damaged.n && !here.thread->owns.n) {
        struct err unknown = {0};
        (void)threads_check(&here.all, &unknown);
        return print_answer(NULL, unknown.msg);
    }
    return EXIT_OK;
}

/* On an error we let the user decide. */
static int run_own_hook(const void *options, char **argv)
{
    struct tool_call c = {0};
    struct err err = {0};
    (void)options;
    int code = read_tool_call(&c, &err);
    if (code == 0)
        code = judge_write(&c, argv[0], &err);
    if (code < 0)
        code = print_answer("ask", err.msg);
    doc_done(&c.doc);
    return code;
}

static const struct arg hook_args[] = {
    {.name = "WORKTREE", .help = "The worktree of the thread", .optional = true},
    {0},
};

const struct command cmd_own_hook = {
    .name = CLAUDE_HOOK,
    .summary = "Tell Claude Code if it may write a file",
    .args = hook_args,
    .hidden = true,
    .run = run_own_hook,
};
