/*
 * The files of the page, from page/; embedded in the program at build time.
 */
#include "view/serve/serve_private.h"

#include "base/mem.h"

#include <string.h>

#define FILES(X)                                                                                   \
    X(index_html, "index.html", "text/html")                                                       \
    X(style_css, "style.css", "text/css")                                                          \
    X(icon_svg, "icon.svg", "image/svg+xml")                                                       \
    X(app_js, "app.js", "text/javascript")                                                         \
    X(conflicts_js, "conflicts.js", "text/javascript")                                             \
    X(cost_js, "cost.js", "text/javascript")                                                       \
    X(diff_js, "diff.js", "text/javascript")                                                       \
    X(dom_js, "dom.js", "text/javascript")                                                         \
    X(format_js, "format.js", "text/javascript")                                                   \
    X(graph_js, "graph.js", "text/javascript")                                                     \
    X(history_js, "history.js", "text/javascript")                                                 \
    X(live_js, "live.js", "text/javascript")                                                       \
    X(log_js, "log.js", "text/javascript")                                                         \
    X(steer_js, "steer.js", "text/javascript")                                                     \
    X(task_js, "task.js", "text/javascript")                                                       \
    X(tasks_js, "tasks.js", "text/javascript")                                                     \
    X(timeline_js, "timeline.js", "text/javascript")

#define DECLARE(symbol, name, type)                                                                \
    extern const unsigned char symbol[];                                                           \
    extern const size_t symbol##_len;
FILES(DECLARE)

bool serve_file(struct http_call *call, const char *name)
{
    static const struct {
        const char *name, *type;
        const unsigned char *bytes;
        const size_t *len;
    } files[] = {
#define ROW(symbol, name, type) {name, type "; charset=utf-8", symbol, &symbol##_len},
        FILES(ROW)};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (strcmp(files[i].name, name) != 0)
            continue;
        http_answer(call, &(struct http_answer){.status = 200,
                                                .type = files[i].type,
                                                .body = (const char *)files[i].bytes,
                                                .len = *files[i].len});
        return true;
    }
    return false;
}
