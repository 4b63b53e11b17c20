/*
 * anabranch-post: calls one webhook. It is a program of its own, because libcurl loads dozens of
 * shared libraries, and other commands should not wait for them.
 *
 * Standard input holds the address, a line end, and the body. The exit code is 0 if the server
 * answered with success; else it is 1, and one line on standard error says why.
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
    bool refused; /* the host's name resolved to a private address */
};

static int print_failure(const char *why)
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

/* We check the address right before curl connects to it: an earlier lookup of the name might have
 * given another address. */
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

static size_t discard_body(char *bytes, size_t size, size_t n, void *ctx)
{
    (void)bytes;
    (void)ctx;
    return size * n;
}

/* Reads the variables that curl and OpenSSL know, for users who trust other certificates than the
 * system's. */
static CURLcode set_certificates(CURL *curl)
{
    const char *file = getenv("CURL_CA_BUNDLE");
    if (!file || !*file)
        file = getenv("SSL_CERT_FILE");
    return file && *file ? curl_easy_setopt(curl, CURLOPT_CAINFO, file) : CURLE_OK;
}

static CURLcode allow_only_https(CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
#else
    return curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS);
#endif
}

/* We use no proxy: it would connect in our place, and we could not check the address. */
static CURLcode set_options(CURL *curl, struct post *post, struct curl_slist *headers, char *why)
{
    CURLcode rc = allow_only_https(curl);
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
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard_body);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    rc = rc ? rc : curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, post);
    return rc ? rc : set_certificates(curl);
}

static int report_result(CURL *curl, CURLcode rc, const struct post *post, const char *why)
{
    long code = 0;
    char text[64];
    if (rc && post->refused)
        return print_failure("its host is an address of this machine or a private network");
    if (rc)
        return print_failure(*why ? why : curl_easy_strerror(rc));
    if (curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code))
        code = 0;
    if (code >= 200 && code < 300)
        return 0;
    (void)snprintf(text, sizeof(text), "%s with status %ld",
                   code >= 300 && code < 400 ? "it redirects," : "it answered", code);
    return print_failure(text);
}

static int send_post(struct post *post)
{
    char why[CURL_ERROR_SIZE] = "";
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return print_failure("cannot initialize libcurl");
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    int code = 1;
    if (curl && headers) {
        CURLcode rc = set_options(curl, post, headers, why);
        rc = rc ? rc : curl_easy_perform(curl);
        code = report_result(curl, rc, post, why);
    } else {
        (void)print_failure("cannot initialize libcurl");
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
        return print_failure("give the address and the body on standard input, and no arguments");
    if (file_read_input("-", INPUT_MAX, &in, &err))
        return print_failure(err.msg);
    char *end = memchr(in.s, '\n', in.len);
    if (!end)
        return print_failure("standard input has no line with an address");
    *end = '\0';
    post.url = in.s;
    post.body = end + 1;
    post.body_len = in.len - (size_t)(post.body - in.s);
    const char *refusal = post.allow_private ? NULL : webhook_refusal(post.url);
    if (refusal) {
        autobuf struct buf why = BUF_INIT;
        buf_addf(&why, "the address %s", refusal);
        return print_failure(why.s);
    }
    return send_post(&post);
}
