#include "dropin/orchestra_view.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "doc/doc.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum format { FORMAT_NONE, FORMAT_JSON, FORMAT_MARKDOWN };

static const char *const end_names[ORCHESTRA_END_COUNT_] = {
    [ORCHESTRA_SUCCEEDED] = "succeeded",
    [ORCHESTRA_FAILED] = "failed",
    [ORCHESTRA_SKIPPED] = "skipped",
    [ORCHESTRA_RESUMED] = "resumed",
};

static enum format format_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (dot && dot > name && strcasecmp(dot, ".json") == 0)
        return FORMAT_JSON;
    if (dot && dot > name && (strcasecmp(dot, ".md") == 0 || strcasecmp(dot, ".markdown") == 0))
        return FORMAT_MARKDOWN;
    return FORMAT_NONE;
}

static char *get_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? mem_dup(path, (size_t)(slash - path) + 1) : mem_str(".");
}

int orchestra_report_check(const char *path, struct err *err)
{
    autofree char *dir = get_folder(path);
    struct stat st;
    if (format_of(path) == FORMAT_NONE)
        return err_set(err, ERR_ENV, "report '%s' must end with .json, .md or .markdown", path);
    if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, ERR_ENV, "report '%s' is %s", path,
                       S_ISLNK(st.st_mode) ? "a symlink, which is not followed" : "not a file");
    return dirs_check(dir, err);
}

static void count_ends(const struct orchestra *o, size_t counts[ORCHESTRA_END_COUNT_])
{
    for (uint32_t t = 0; t < o->pf->plan.task_count; t++)
        counts[orchestra_end(o, t)]++;
}

static double round_to_tenths(double seconds)
{
    return round(seconds * 10) / 10;
}

static double run_seconds(const struct orchestra *o)
{
    return round_to_tenths((double)(o->finished - o->started) / 1000);
}

/* The commit on the base branch with the task's work, or NULL. */
static const char *get_landed_commit(const struct orchestra *o, uint32_t task)
{
    struct task_status s = run_task(o->run, task);
    return s.state == TASK_LANDED ? s.landed : NULL;
}

static void put_task(const struct orchestra *o, uint32_t task, struct arena *a, struct node *list)
{
    struct node *map = node_add_map(a, list);
    node_put_string(a, map, "id", o->pf->plan.tasks[task].id);
    node_put_string(a, map, "agent", orchestra_agent(o, task));
    node_put_string(a, map, "status", end_names[orchestra_end(o, task)]);
    node_put_real(a, map, "duration_sec", round_to_tenths(orchestra_seconds(o, task)));
    node_put_int(a, map, "retry_count", orchestra_retries(o, task));
    node_put_string(a, map, "failure_category", orchestra_category(o, task));
    node_put_string(a, map, "commit", get_landed_commit(o, task));
}

static void write_json(const struct orchestra *o, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *root = node_new_map(&a);
    size_t counts[ORCHESTRA_END_COUNT_] = {0};
    count_ends(o, counts);
    node_put_string(&a, root, "manifest", orchestra_name(o));
    node_put_time(&a, root, "started_at", o->started);
    node_put_time(&a, root, "finished_at", o->finished);
    node_put_real(&a, root, "duration_sec", run_seconds(o));
    node_put_int(&a, root, "total", (int64_t)o->pf->plan.task_count);
    node_put_int(&a, root, "succeeded", (int64_t)counts[ORCHESTRA_SUCCEEDED]);
    node_put_int(&a, root, "failed", (int64_t)counts[ORCHESTRA_FAILED]);
    node_put_int(&a, root, "skipped",
                 (int64_t)(counts[ORCHESTRA_SKIPPED] + counts[ORCHESTRA_RESUMED]));
    struct node *list = node_put_list(&a, root, "tasks");
    for (uint32_t t = 0; t < o->pf->plan.task_count; t++)
        put_task(o, t, &a, list);
    doc_write_lines(out, root);
}

static void add_cell(struct buf *out, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    text_add_harmless(&safe, s);
    text_escape(out, safe.s, "|");
}

static void add_time(struct buf *out, const char *what, int64_t time)
{
    buf_addf(out, "**%s:** ", what);
    timestamp_format(out, time);
    buf_addch(out, '\n');
}

static void add_row(const struct orchestra *o, uint32_t task, struct buf *out)
{
    static const char *const icons[ORCHESTRA_END_COUNT_] = {
        [ORCHESTRA_SUCCEEDED] = "\u2713",
        [ORCHESTRA_FAILED] = "\u2717",
        [ORCHESTRA_SKIPPED] = "\u2298",
        [ORCHESTRA_RESUMED] = "\u21a9",
    };
    static const char none[] = "\u2014";
    enum orchestra_end end = orchestra_end(o, task);
    bool ran = end == ORCHESTRA_SUCCEEDED || end == ORCHESTRA_FAILED;
    buf_addstr(out, "| ");
    add_cell(out, o->pf->plan.tasks[task].id);
    buf_addstr(out, " | ");
    add_cell(out, orchestra_agent(o, task));
    buf_addf(out, " | %s %s | ", icons[end], end_names[end]);
    if (ran)
        buf_addf(out, "%.1fs | %d | ", orchestra_seconds(o, task), orchestra_retries(o, task));
    else
        buf_addf(out, "%s | %s | ", none, none);
    const char *commit = get_landed_commit(o, task);
    buf_addf(out, "%s | %.10s |\n", end == ORCHESTRA_FAILED ? orchestra_category(o, task) : none,
             commit ? commit : none);
}

static void write_markdown(const struct orchestra *o, struct buf *out)
{
    size_t counts[ORCHESTRA_END_COUNT_] = {0};
    const char *name = orchestra_name(o);
    count_ends(o, counts);
    text_addf(out, "# Run Summary: %s", name);
    buf_addstr(out, "\n\n");
    add_time(out, "Started", o->started);
    add_time(out, "Finished", o->finished);
    buf_addf(out, "**Duration:** %.1fs\n\n## Results: %zu succeeded / %zu failed / %zu skipped",
             run_seconds(o), counts[ORCHESTRA_SUCCEEDED], counts[ORCHESTRA_FAILED],
             counts[ORCHESTRA_SKIPPED]);
    if (counts[ORCHESTRA_RESUMED])
        buf_addf(out, " / %zu resumed", counts[ORCHESTRA_RESUMED]);
    buf_addstr(out, "\n\n| Task | Agent | Status | Duration | Retries | Failure | Commit |\n"
                    "|------|-------|--------|----------|---------|---------|--------|\n");
    for (uint32_t t = 0; t < o->pf->plan.task_count; t++)
        add_row(o, t, out);
}

int orchestra_report(const struct orchestra *o, const char *path, struct err *err)
{
    autofree char *dir = get_folder(path);
    autobuf struct buf out = BUF_INIT;
    if (format_of(path) == FORMAT_JSON)
        write_json(o, &out);
    else
        write_markdown(o, &out);
    if (dirs_make(dir, err))
        return -1;
    return file_replace(path, out.s, out.len, err);
}
