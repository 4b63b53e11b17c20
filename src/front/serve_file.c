/*
 * The files of the page, which are in the program: page/, embedded at build time.
 */
#include "front/serve_private.h"

#include <string.h>

#define FILES(X) X(index_html, "index.html", "text/html")

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
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
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
