#include "sys/http/request.h"

#include "base/mem.h"
#include "base/text/str.h"

#include <string.h>

/* A part of the text. */
struct span {
    const char *s;
    size_t len;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The characters of header names and methods. */
static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool all_chars(struct span t, bool (*is)(char c))
{
    for (size_t i = 0; i < t.len; i++) {
        if (!is(t.s[i]))
            return false;
    }
    return true;
}

/* Cuts rest at the first `at`: *ret gets the text before it, and rest the text behind it. False if
 * there is none. */
static bool cut_at(struct span *rest, char at, struct span *ret)
{
    const char *found = memchr(rest->s, at, rest->len);
    if (!found)
        return false;
    *ret = (struct span){rest->s, (size_t)(found - rest->s)};
    rest->s += ret->len + 1;
    rest->len -= ret->len + 1;
    return true;
}

static bool is_word(struct span t, const char *word)
{
    return t.len == strlen(word) && memcmp(t.s, word, t.len) == 0;
}

size_t http_head_length(const char *s, size_t len)
{
    static const char end[] = "\r\n\r\n";
    const char *found = len ? memmem(s, len, end, strlen(end)) : NULL;
    return found ? (size_t)(found - s) + strlen(end) : 0;
}

static int parse_hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes %41 to A. Returns NULL for control characters, which none of our names contain, and for
 * an incomplete escape. */
static const char *decode_percents(struct arena *a, struct span t, bool plus)
{
    char *out = arena_alloc(a, t.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.s[i];
        if (c == '%') {
            int high = i + 2 < t.len ? parse_hex_digit(t.s[i + 1]) : -1;
            int low = i + 2 < t.len ? parse_hex_digit(t.s[i + 2]) : -1;
            if (high < 0 || low < 0)
                return NULL;
            c = (unsigned char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c < ' ' || c == 0x7f)
            return NULL;
        out[n++] = (char)c;
    }
    return out;
}

static int read_part(struct http_head *head, struct span t)
{
    const char *part = decode_percents(&head->arena, t, false);
    if (!part || !*part || strchr(part, '/') || str_is_dots(part) ||
        head->part_count == HTTP_PARTS_MAX)
        return -1;
    head->parts[head->part_count++] = part;
    return 0;
}

static int read_path(struct http_head *head, struct span path)
{
    struct span part;
    if (!path.len || path.s[0] != '/')
        return -1;
    path.s++;
    path.len--;
    while (cut_at(&path, '/', &part)) {
        if (read_part(head, part))
            return -1;
    }
    return path.len || head->part_count ? read_part(head, path) : 0;
}

static int read_query_field(struct http_head *head, struct span t)
{
    struct span name = t;
    if (!t.len)
        return 0;
    if (!cut_at(&t, '=', &name))
        t.len = 0;
    struct http_field field = {decode_percents(&head->arena, name, true),
                               decode_percents(&head->arena, t, true)};
    if (!field.name || !field.value || head->query_count == HTTP_FIELDS_MAX)
        return -1;
    head->query[head->query_count++] = field;
    return 0;
}

static int read_query(struct http_head *head, struct span query)
{
    struct span word;
    while (cut_at(&query, '&', &word)) {
        if (read_query_field(head, word))
            return -1;
    }
    return read_query_field(head, query);
}

static bool is_in_target(char c)
{
    return c > ' ' && c < 0x7f && c != '#';
}

static int read_request(struct http_head *head, struct span line, int *ret_status)
{
    struct span method, target, path;
    *ret_status = line.len > HTTP_LINE_MAX ? 414 : 400;
    if (line.len > HTTP_LINE_MAX || !cut_at(&line, ' ', &method) || !cut_at(&line, ' ', &target))
        return -1;
    if (!method.len || method.len > 16 || !all_chars(method, is_token) ||
        !all_chars(target, is_in_target))
        return -1;
    if (!is_word(line, "HTTP/1.1") && !is_word(line, "HTTP/1.0")) {
        *ret_status = line.len == 8 && memcmp(line.s, "HTTP/", 5) == 0 ? 505 : 400;
        return -1;
    }
    head->close = is_word(line, "HTTP/1.0");
    head->method = arena_dup(&head->arena, method.s, method.len);
    path = target;
    if (!cut_at(&target, '?', &path))
        target.len = 0;
    return read_path(head, path) || read_query(head, target) ? -1 : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_in_value(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static const char *copy_lower(struct arena *a, struct span t)
{
    char *out = arena_dup(a, t.s, t.len);
    for (char *c = out; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    return out;
}

/* A continuation line has no name, so we refuse it too. */
static int read_header(struct http_head *head, struct span line, int *ret_status)
{
    struct span name;
    *ret_status = 400;
    if (!cut_at(&line, ':', &name) || !name.len || !all_chars(name, is_token))
        return -1;
    while (line.len && is_blank(line.s[0])) {
        line.s++;
        line.len--;
    }
    while (line.len && is_blank(line.s[line.len - 1]))
        line.len--;
    if (!all_chars(line, is_in_value))
        return -1;
    if (head->header_count == HTTP_FIELDS_MAX) {
        *ret_status = 431;
        return -1;
    }
    head->headers[head->header_count++] = (struct http_field){
        copy_lower(&head->arena, name), arena_dup(&head->arena, line.s, line.len)};
    return 0;
}

/* Refuses a repeated header if we base a decision on it. */
static int check_once(const struct http_head *head)
{
    static const char *const once[] = {"host",   "content-length", "origin",
                                       "cookie", "last-event-id",  "x-anabranch-token"};
    for (size_t i = 0; i < ARRAY_LEN(once); i++) {
        size_t n = 0;
        for (size_t k = 0; k < head->header_count; k++)
            n += strcmp(head->headers[k].name, once[i]) == 0;
        if (n > 1)
            return -1;
    }
    return 0;
}

static bool read_number(const char *text, int64_t *ret)
{
    int64_t n = 0;
    size_t len = strlen(text);
    if (!len || len > 15 || !all_chars((struct span){text, len}, is_digit))
        return false;
    for (; *text; text++)
        n = n * 10 + (*text - '0');
    *ret = n;
    return true;
}

static int check_headers(struct http_head *head, int *ret_status)
{
    const char *length = http_header(head, "content-length");
    const char *connection = http_header(head, "connection");
    *ret_status = 400;
    if (!http_header(head, "host") || check_once(head) ||
        (length && !read_number(length, &head->length)))
        return -1;
    if (http_header(head, "transfer-encoding")) {
        *ret_status = 501;
        return -1;
    }
    if (http_header(head, "expect")) {
        *ret_status = 417;
        return -1;
    }
    if (connection &&
        strcmp(copy_lower(&head->arena, (struct span){connection, strlen(connection)}), "close") ==
            0)
        head->close = true;
    return 0;
}

/* Cuts off a line that ends with CR LF. A lone CR or LF is an error. */
static bool cut_line(struct span *rest, struct span *ret)
{
    if (!cut_at(rest, '\r', ret) || !rest->len || rest->s[0] != '\n' ||
        memchr(ret->s, '\n', ret->len))
        return false;
    rest->s++;
    rest->len--;
    return true;
}

int http_head_read(struct http_head *head, const char *s, size_t len, int *ret_status)
{
    struct span rest = {s, len}, line;
    *head = (struct http_head){0};
    *ret_status = 400;
    if (!cut_line(&rest, &line) || read_request(head, line, ret_status))
        return -1;
    for (;;) {
        *ret_status = 400;
        if (!cut_line(&rest, &line))
            return -1;
        if (!line.len)
            return rest.len ? -1 : check_headers(head, ret_status);
        if (read_header(head, line, ret_status))
            return -1;
    }
}

void http_head_done(struct http_head *head)
{
    arena_done(&head->arena);
}

static const char *find_field(const struct http_field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return fields[i].value;
    }
    return NULL;
}

const char *http_header(const struct http_head *head, const char *name)
{
    return find_field(head->headers, head->header_count, name);
}

const char *http_query(const struct http_head *head, const char *name)
{
    return find_field(head->query, head->query_count, name);
}

bool http_query_int(const struct http_head *head, const char *name, int64_t otherwise, int64_t *ret)
{
    const char *text = http_query(head, name);
    *ret = otherwise;
    return !text || read_number(text, ret);
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {{200, "OK"},
                 {204, "No Content"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {408, "Request Timeout"},
                 {409, "Conflict"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {417, "Expectation Failed"},
                 {421, "Misdirected Request"},
                 {431, "Request Header Fields Too Large"},
                 {500, "Internal Server Error"},
                 {501, "Not Implemented"},
                 {503, "Service Unavailable"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].status == status)
            return texts[i].text;
    }
    return "Unknown";
}
