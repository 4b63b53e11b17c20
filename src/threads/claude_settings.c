#include "threads/claude_settings.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "doc/doc.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/fs/path_target.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS_MAX = 16 << 20 };

#define TOOLS "Write|Edit|MultiEdit|NotebookEdit"

static int parse_settings(struct doc *doc, const char *path, const struct buf *text,
                          struct err *err)
{
    struct doc_options opts = {.syntax = DOC_JSON, .max_bytes = SETTINGS_MAX};
    autoproblems struct problems ps;
    problems_init(&ps, path);
    if (doc_parse(doc, NULL, text->s, text->len, &opts, &ps) == 0 && doc->root->kind == NODE_MAP)
        return 0;
    return err_set(err, ERR_INPUT, "'%s' is not a JSON object: fix or remove it", path);
}

static bool is_ours(const struct node *hook)
{
    return hook->kind == NODE_MAP && strstr(node_get_string(hook, "command", ""), CLAUDE_HOOK);
}

/* The member if it has that kind, or NULL. */
static struct node *find_member(const struct node *map, const char *key, enum node_kind kind)
{
    struct node *n = map && map->kind == NODE_MAP ? node_get(map, key) : NULL;
    return n && n->kind == kind ? n : NULL;
}

/* Removes our hooks from an entry. Returns true if nothing else was in it. */
static bool remove_our_hooks(struct node *entry)
{
    struct node *hooks = find_member(entry, "hooks", NODE_LIST);
    bool had = false;
    for (struct node *h = hooks ? hooks->first : NULL, *next; h; h = next) {
        next = h->next;
        if (is_ours(h)) {
            node_unlink(hooks, h);
            had = true;
        }
    }
    return had && !hooks->n;
}

static void remove_if_empty(struct node *map, struct node *child)
{
    if (child && !child->n)
        node_unlink(map, child);
}

/* Removes everything of ours, and containers that are empty then. */
static void remove_ours(struct node *root)
{
    struct node *hooks = find_member(root, "hooks", NODE_MAP);
    struct node *list = find_member(hooks, "PreToolUse", NODE_LIST);
    for (struct node *e = list ? list->first : NULL, *next; e; e = next) {
        next = e->next;
        if (remove_our_hooks(e))
            node_unlink(list, e);
    }
    if (hooks)
        remove_if_empty(hooks, list);
    remove_if_empty(root, hooks);
}

static int add_hook(struct arena *a, struct node *root, const char *path, const char *command,
                    struct err *err)
{
    struct node *hooks = node_get(root, "hooks");
    hooks = hooks ? hooks : node_put_map(a, root, "hooks");
    struct node *list = hooks->kind == NODE_MAP ? node_get(hooks, "PreToolUse") : NULL;
    list = list || hooks->kind != NODE_MAP ? list : node_put_list(a, hooks, "PreToolUse");
    if (!list || list->kind != NODE_LIST)
        return err_set(err, ERR_INPUT, "'%s': Claude Code cannot read 'hooks'", path);
    struct node *entry = node_add_map(a, list);
    node_put_string(a, entry, "matcher", TOOLS);
    struct node *hook = node_add_map(a, node_put_list(a, entry, "hooks"));
    node_put_string(a, hook, "type", "command");
    node_put_string(a, hook, "command", command);
    return 0;
}

static int write_tree(const char *path, const struct node *root, struct err *err)
{
    autoproblems struct problems ps;
    autobuf struct buf text = BUF_INIT;
    problems_init(&ps, path);
    if (doc_write(&text, root, DOC_JSON, &ps))
        return err_set(err, ERR_INPUT, "cannot write '%s' back as JSON", path);
    return access(path, F_OK) < 0 ? file_create(path, text.s, text.len, err)
                                  : file_replace(path, text.s, text.len, err);
}

static int is_tracked(const struct thread *t, bool *ret, struct err *err)
{
    struct git_place at = {.git_dir = t->admin, .work_tree = t->path};
    autobuf struct buf out = BUF_INIT;
    if (git_call(&at, &out, err, "ls-files", "--", ":(top)" CLAUDE_SETTINGS, NULL))
        return -1;
    *ret = out.len > 0;
    return 0;
}

/* Reads the settings; *ret_there is false if there is no file. */
static int read_settings(const char *path, struct buf *text, bool *ret_exists, struct err *err)
{
    struct err why = {0};
    *ret_exists = file_read(path, SETTINGS_MAX, text, &why) == 0;
    return *ret_exists || why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
}

static int add_to_settings(const char *file, const struct buf *text, const char *command,
                           struct err *err)
{
    autodoc struct doc doc;
    if (parse_settings(&doc, file, text, err))
        return -1;
    remove_ours(doc.root);
    if (add_hook(&doc.arena, doc.root, file, command, err))
        return -1;
    return write_tree(file, doc.root, err);
}

int claude_settings_add(const struct thread *t, const char *command, bool *ret_done,
                        struct err *err)
{
    autofree char *folder = mem_printf("%s/.claude", t->path);
    autofree char *file = mem_printf("%s/" CLAUDE_SETTINGS, t->path);
    autobuf struct buf text = BUF_INIT;
    bool exists = false, tracked = false;
    *ret_done = false;
    if (file_is_link(folder) || file_is_link(file))
        return 0;
    if (read_settings(file, &text, &exists, err) || (exists && is_tracked(t, &tracked, err)))
        return -1;
    if (tracked)
        return 0;
    if (!exists && dirs_make_open(folder, err))
        return -1;
    if (!exists)
        buf_addstr(&text, "{}");
    *ret_done = add_to_settings(file, &text, command, err) == 0;
    return *ret_done ? 0 : -1;
}

bool claude_keeps(const char *path)
{
    static const char *const folders[] = {"plans", "projects"};
    const char *config = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");
    autofree char *default_folder = mem_printf("%s/.claude", home ? home : "");
    autofree char *target = *path == '/' ? path_target(path) : NULL;
    autofree char *top = path_target(config && *config ? config : default_folder);
    bool is_kept = false;
    for (size_t i = 0; target && top && i < ARRAY_LEN(folders); i++) {
        autofree char *folder = mem_printf("%s/%s/", top, folders[i]);
        is_kept = is_kept || strncmp(target, folder, strlen(folder)) == 0;
    }
    return is_kept;
}
