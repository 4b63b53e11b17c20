#include "project/config_file.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char name[] = "anabranch.toml";

/* By the XDG base directory specification a relative path does not count. */
static char *get_user_path(void)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg && *xdg == '/')
        return mem_printf("%s/anabranch/%s", xdg, name);
    return home && *home == '/' ? mem_printf("%s/.config/anabranch/%s", home, name) : NULL;
}

/* Fails with the first error, on one line. */
static int fail_with_first(const struct problems *ps, struct err *err)
{
    for (size_t i = 0; i < ps->list.n; i++) {
        const struct problem *p = &ps->list.v[i];
        if (p->severity == PROBLEM_ERROR)
            return err_set(err, ERR_INPUT, "%s:%u:%u: %s%s%s%s%s", ps->file, p->pos.line,
                           p->pos.col, p->path, *p->path ? ": " : "", p->message,
                           p->hint ? "; hint: " : "", p->hint ? p->hint : "");
    }
    return err_set(err, ERR_INPUT, "cannot read %s", ps->file);
}

static int load_config(struct config_file *cf, struct doc *doc, const char *path, struct buf *wrong,
                       struct err *err)
{
    struct doc_options opts = {.syntax = DOC_TOML};
    autoproblems struct problems ps = {0};
    if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    problems_init(&ps, path);
    if (doc_load(doc, path, &opts, &ps) == 0)
        (void)config_decode(&cf->config, doc->root, &ps);
    problems_sort(&ps);
    for (size_t i = 0; wrong && i < ps.list.n; i++)
        problem_format(&ps, &ps.list.v[i], wrong);
    return ps.errors ? fail_with_first(&ps, err) : 0;
}

int config_file_open(struct config_file *cf, const char *root, struct buf *wrong, struct err *err)
{
    autofree char *user = get_user_path(), *own = root ? mem_printf("%s/%s", root, name) : NULL;
    struct err second = {0};
    *cf = (struct config_file){0};
    int rc = user ? load_config(cf, &cf->docs[0], user, wrong, err) : 0;
    if (own && load_config(cf, &cf->docs[1], own, wrong, rc ? &second : err))
        rc = -1;
    return rc;
}

void config_file_close(struct config_file *cf)
{
    config_done(&cf->config);
    doc_done(&cf->docs[0]);
    doc_done(&cf->docs[1]);
}
