#include "view/serve/token.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text/hash.h"
#include "sys/fs/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TOKEN_BYTES = 32, KEEP_SECONDS = 24 * 60 * 60 };

static char *get_token_path(const char *state_dir)
{
    return mem_printf("%s/serve.key", state_dir);
}

static void set_cookie(struct serve_token *key)
{
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "anabranch cookie %s", key->token);
    sha256_hex(text.s, text.len, key->cookie);
}

static int make_token(struct serve_token *key, struct err *err)
{
    unsigned char bytes[TOKEN_BYTES];
    *key = (struct serve_token){0};
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return err_sys(err, "random bytes");
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(key->token + 2 * i, 3, "%02x", bytes[i]);
    set_cookie(key);
    return 0;
}

static bool is_token(const char *s, size_t len)
{
    return len == 2 * TOKEN_BYTES && strspn(s, "0123456789abcdef") >= len;
}

/* Parses "TOKEN PORT\n". */
static bool parse_token_file(struct serve_token *key, const struct buf *text)
{
    const char *blank = memchr(text->s, ' ', text->len);
    if (!blank || !is_token(text->s, (size_t)(blank - text->s)))
        return false;
    long port = strtol(blank + 1, NULL, 10);
    if (port <= 0 || port > UINT16_MAX)
        return false;
    *key = (struct serve_token){.port = (uint16_t)port};
    memcpy(key->token, text->s, 2 * TOKEN_BYTES);
    set_cookie(key);
    return true;
}

/* Ignores a token file that others could read or write, or that is too old. */
static bool read_token_file(struct serve_token *key, const char *path)
{
    autobuf struct buf text = BUF_INIT;
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 077) || st.st_mtime + KEEP_SECONDS < time(NULL))
        return false;
    return file_read(path, 1024, &text, NULL) == 0 && parse_token_file(key, &text);
}

int serve_token_load(struct serve_token *key, const char *state_dir, struct err *err)
{
    autofree char *path = get_token_path(state_dir);
    return read_token_file(key, path) ? 0 : make_token(key, err);
}

int serve_token_settle(struct serve_token *key, uint16_t port, struct err *err)
{
    if (key->port && key->port != port && make_token(key, err))
        return -1;
    key->port = port;
    return 0;
}

int serve_token_save(const struct serve_token *key, const char *state_dir, struct err *err)
{
    autofree char *path = get_token_path(state_dir);
    autobuf struct buf text = BUF_INIT;
    buf_addf(&text, "%s %u\n", key->token, key->port);
    return file_replace_private(path, text.s, text.len, err);
}

bool serve_token_is(const char *known, const char *given)
{
    size_t len = strlen(known);
    unsigned char differs = 0;
    if (strlen(given) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(known[i] ^ given[i]);
    return !differs;
}
