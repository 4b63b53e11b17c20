#include "cli/common/removal_table.h"

#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "cli/frame/color.h"

#include <string.h>

const char *removal_word(const struct removals *r, enum clean_action action)
{
    static const char *const words[] = {[CLEAN_REMOVED] = "removed",
                                        [CLEAN_KEPT] = "kept",
                                        [CLEAN_FAILED] = "failed",
                                        [CLEAN_DELETING] = "deleting"};
    return action == CLEAN_REMOVED && r->dry_run ? "would remove" : words[action];
}

void removal_add_word(const struct removals *r, enum clean_action action, struct buf *out)
{
    static const enum color colors[] = {[CLEAN_REMOVED] = COLOR_GREEN,
                                        [CLEAN_KEPT] = COLOR_YELLOW,
                                        [CLEAN_FAILED] = COLOR_RED,
                                        [CLEAN_DELETING] = COLOR_GREEN};
    buf_addf(out, "%s%-*s%s  ", color_on(stdout, colors[action]), r->dry_run ? 12 : 7,
             removal_word(r, action), color_on(stdout, COLOR_NONE));
}

static void add_bytes(int64_t bytes, bool partial, struct buf *out)
{
    buf_addstr(out, partial ? "at least " : "");
    text_format_bytes(out, bytes);
}

void removal_add_bytes(struct removals *r, const struct clean_item *item, struct buf *out)
{
    if (item->bytes < 0)
        return;
    r->bytes += item->bytes;
    r->partial = r->partial || item->partial;
    buf_addstr(out, " (");
    add_bytes(item->bytes, item->partial, out);
    buf_addch(out, ')');
}

void removal_tell(struct removals *r, enum clean_action action, const struct buf *text)
{
    r->count[action]++;
    int code = cli_print(text->s, text->len);
    r->code = r->code ? r->code : code;
}

static int print_sum(const struct removals *r)
{
    autobuf struct buf out = BUF_INIT;
    buf_addstr(&out, "Total: ");
    add_bytes(r->bytes, r->partial, &out);
    buf_addstr(&out, " on the disk.\n");
    return cli_print(out.s, out.len);
}

int removals_end(const struct removals *r, const char *none)
{
    if (r->code)
        return r->code;
    if (r->count[CLEAN_FAILED])
        return EXIT_ENV;
    if (r->bytes)
        return print_sum(r);
    bool any = r->count[CLEAN_REMOVED] || r->count[CLEAN_KEPT] || r->count[CLEAN_DELETING];
    return any || r->json ? EXIT_OK : cli_print(none, strlen(none));
}
