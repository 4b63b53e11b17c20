/*
 * anabranch-post: makes one call of a webhook. A program of its own, because libcurl brings dozens
 * of shared libraries that no other command should have to wait for.
 *
 * Standard input is the address, a line end, and the body. Exit code 0 where the other side
 * answered with success; else 1, and one line on standard error that says why.
 */
#include "base/text/text.h"
#include "plan/webhook_url.h"
#include "sys/fs/file.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { INPUT_MAX = 8 << 20, TIME_MAX_MS = 10000 };

struct post {
    const char *url, *body;
    size_t body_len;
    bool allow_private;
    bool refused; /* an address that the host's name stands for */
};

static int fail(const char *why)
{
    autobuf struct buf line = BUF_INIT;
    text_add_harmless(&line, why);
    (void)fprintf(stderr, "%s\n", line.s);
    return 1;
}

static bool is_private(const struct curl_sockaddr *at)
{
    if (at->family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, &at->addr, sizeof(v4));
        return webhook_private_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (at->family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, (const void *)&at->addr, sizeof(v6));
        return webhook_private_v6(v6.sin6_addr.s6_addr);
    }
    return true;
}

/* The last moment before the connection, when it is known where it really goes: whatever the name
 * stood for when someone else looked it up does not matter. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *at)
{
    struct post *post = ctx;
    (void)purpose;
    if (!post->allow_private && is_private(at)) {
        post->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

static size_t drop(char *bytes, size_t size, size_t n, void *ctx)
{
    (void)bytes;
    (void)ctx;
    return size * n;
}

/* Where the system's certificates are not those to trust, as curl itself and OpenSSL are told. */
static CURLcode set_certificates(CURL *curl)
{
    const char *file = getenv("CURL_CA_BUNDLE");
    if (!file || !*file)
        file = getenv("SSL_CERT_FILE");
    return file && *file ? curl_easy_setopt(curl, CURLOPT_CAINFO, file) : CURLE_OK;
}

static CURLcode only_https(CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
#else
    return curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS);
#endif
}

/* A proxy would connect in our place, to who knows what: there is none. */
static CURLcode prepare(CURL *curl, struct post *post, struct curl_slist *headers, char *why)
{
    CURLcode rc = only_https(curl);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_URL, post->url);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_PROXY, "");
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)TIME_MAX_MS);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_USERAGENT, "anabranch/" ANABRANCH_VERSION);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)post->body_len);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, post);
    return rc ? rc : set_certificates(curl);
}

static int judge(CURL *curl, CURLcode rc, const struct post *post, const char *why)
{
    long code = 0;
    char text[64];
    if (rc && post->refused)
        return fail("its host is an address of this machine or a private network");
    if (rc)
        return fail(*why ? why : curl_easy_strerror(rc));
    if (curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code))
        code = 0;
    if (code >= 200 && code < 300)
        return 0;
    (void)snprintf(text, sizeof(text), "%s with status %ld",
                   code >= 300 && code < 400 ? "it redirects," : "it answered", code);
    return fail(text);
}

static int send_post(struct post *post)
{
    char why[CURL_ERROR_SIZE] = "";
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return fail("libcurl cannot be used");
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    int code = 1;
    if (curl && headers) {
        CURLcode rc = prepare(curl, post, headers, why);
        rc = rc ? rc : curl_easy_perform(curl);
        code = judge(curl, rc, post, why);
    } else {
        (void)fail("libcurl cannot be used");
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    curl_global_cleanup();
    return code;
}

int main(int argc, char **argv)
{
    struct post post = {.allow_private = argc == 2 && strcmp(argv[1], "--allow-private") == 0};
    autobuf struct buf in = BUF_INIT;
    struct err err;
    if (argc > 1 && !post.allow_private)
        return fail("it takes the address and the body on its standard input, and no arguments");
    if (file_read_input("-", INPUT_MAX, &in, &err))
        return fail(err.msg);
    char *end = memchr(in.s, '\n', in.len);
    if (!end)
        return fail("no line with an address on the standard input");
    *end = '\0';
    post.url = in.s;
    post.body = end + 1;
    post.body_len = in.len - (size_t)(post.body - in.s);
    const char *refusal = post.allow_private ? NULL : webhook_refusal(post.url);
    if (refusal) {
        autobuf struct buf why = BUF_INIT;
        buf_addf(&why, "the address %s", refusal);
        return fail(why.s);
    }
    return send_post(&post);
}
