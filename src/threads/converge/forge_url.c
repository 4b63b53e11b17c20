#include "threads/converge/forge_url.h"

#include "base/mem.h"

#include <string.h>

void forge_url_done(struct forge_url *p)
{
    free(p->repo);
    free(p->owner);
    *p = (struct forge_url){0};
}

/* Parses "OWNER/NAME.git"; OWNER may have several parts. */
static bool parse_path(struct forge_url *p, const char *host, size_t host_len, const char *path)
{
    path += strspn(path, "/");
    size_t len = strlen(path);
    while (len && path[len - 1] == '/')
        len--;
    if (len > 4 && strncmp(path + len - 4, ".git", 4) == 0)
        len -= 4;
    autofree char *name = mem_dup(path, len);
    const char *slash = strrchr(name, '/');
    if (!host_len || !slash || slash == name || !slash[1])
        return false;
    p->repo = mem_printf("%.*s/%s", (int)host_len, host, name);
    p->owner = mem_dup(name, (size_t)(slash - name));
    return true;
}

bool forge_url_parse(struct forge_url *p, const char *address)
{
    const char *scheme = strstr(address, "://");
    const char *host = scheme ? scheme + 3 : address;
    size_t len = strcspn(host, "/");
    *p = (struct forge_url){0};
    if (strncmp(address, "file:", 5) == 0)
        return false;
    for (const char *at = memchr(host, '@', len); at; at = memchr(host, '@', len)) {
        len -= (size_t)(at + 1 - host); /* skip the user */
        host = at + 1;
    }
    size_t name = strcspn(host, ":/");
    if (scheme) /* the port is no part of the forge's name */
        return parse_path(p, host, name < len ? name : len, host + len);
    return host[name] == ':' && parse_path(p, host, name, host + name + 1);
}

int forge_url_find(struct forge_url *p, const struct git_repo *repo, const char *remote,
                   struct err *err)
{
    struct git_place at = {.git_dir = repo->common};
    autofree char *key = mem_printf("remote.%s.url", remote);
    autobuf struct buf address = BUF_INIT, raw = BUF_INIT;
    struct err none = {0};
    if (git_call(&at, &address, &none, "remote", "get-url", "--", remote, NULL))
        return err_set(err, ERR_INPUT, "there is no remote '%s'", remote);
    if (forge_url_parse(p, address.s))
        return 0;
    /* If url.*.insteadOf maps it to a mirror, the original address has the owner. */
    if (git_call(&at, &raw, &none, "config", "--get", key, NULL) == 0 && forge_url_parse(p, raw.s))
        return 0;
    return err_set(err, ERR_INPUT,
                   "the address of the remote '%s' names no owner and repository: %s", remote,
                   address.s);
}
