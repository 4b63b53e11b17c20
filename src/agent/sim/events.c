#include "agent/sim/sim_private.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "sys/fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int sim_write(int fd, const char *s, size_t len, struct err *err)
{
    return file_write(fd, s, len) ? err_sys(err, "write") : 0;
}

struct line {
    struct arena arena;
    struct node *map;
};

/* Messages quote file names and may be cut within a character, but JSON needs valid UTF-8. */
static void put_text(struct line *l, const char *key, const char *s)
{
    autobuf struct buf valid = BUF_INIT;
    size_t len = s ? strlen(s) : 0;
    for (size_t at = 0; at < len; at++) {
        size_t n = text_valid(s + at, len - at);
        buf_add(&valid, s + at, n);
        at += n;
        if (at < len)
            text_encode(&valid, 0xfffd);
    }
    node_put_string(&l->arena, l->map, key, s ? valid.s : NULL);
}

static void begin_event(struct line *l, const char *type)
{
    *l = (struct line){0};
    l->map = node_new_map(&l->arena);
    put_text(l, "type", type);
}

static int write_event(struct line *l, const struct sim *sim, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    doc_write_line(&out, l->map);
    buf_addch(&out, '\n');
    arena_done(&l->arena);
    return sim_write(sim->job->out_fd, out.s, out.len, err);
}

int sim_tell_start(const struct sim *sim, struct err *err)
{
    const struct sim_job *job = sim->job;
    autofree char *session = job->session
                                 ? mem_str(job->session)
                                 : mem_printf("sim-%s%s%lld", job->task ? job->task : "",
                                              job->task ? "-" : "", (long long)job->attempt);
    struct line l;
    begin_event(&l, "start");
    put_text(&l, "session", session);
    put_text(&l, "task", job->task);
    node_put_int(&l.arena, l.map, "attempt", job->attempt);
    return write_event(&l, sim, err);
}

int sim_tell(const struct sim *sim, const char *type, const char *text, struct err *err)
{
    struct line l;
    begin_event(&l, type);
    put_text(&l, "text", text);
    return write_event(&l, sim, err);
}

/* Only one tool runs at a time, so the line number of the prompt is its id. */
int sim_tell_tool(const struct sim *sim, const char *text, struct err *err)
{
    autofree char *id = mem_printf("line-%zu", sim->line);
    struct line l;
    begin_event(&l, text ? "tool" : "tool_end");
    put_text(&l, "id", id);
    put_text(&l, "text", text);
    return write_event(&l, sim, err);
}

int sim_tell_usage(const struct sim *sim, int64_t in, int64_t out, const double *usd,
                   struct err *err)
{
    struct line l;
    begin_event(&l, "usage");
    node_put_int(&l.arena, l.map, "tokens_in", in);
    node_put_int(&l.arena, l.map, "tokens_out", out);
    if (usd)
        node_put_real(&l.arena, l.map, "usd", *usd);
    return write_event(&l, sim, err);
}

int sim_tell_limit(const struct sim *sim, int64_t resets_at, struct err *err)
{
    struct line l;
    begin_event(&l, "limit");
    node_put_int(&l.arena, l.map, "resets_at", resets_at);
    return write_event(&l, sim, err);
}

int sim_tell_error(const struct sim *sim, const char *failure, const char *text, struct err *err)
{
    struct line l;
    begin_event(&l, "error");
    put_text(&l, "class", failure);
    put_text(&l, "text", text);
    return write_event(&l, sim, err);
}

int sim_finish(struct sim *sim, int code, const char *text, struct err *err)
{
    autofree char *ending = code ? mem_printf("exit status %d", code) : mem_str("done");
    struct line l;
    sim->ended = true;
    sim->code = code;
    if (!text)
        text = sim->said.len ? sim->said.s : ending;
    begin_event(&l, "result");
    node_put_bool(&l.arena, l.map, "ok", code == 0);
    put_text(&l, "text", text);
    return write_event(&l, sim, err);
}
