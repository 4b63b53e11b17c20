/*
 * TOML, by toml++. This is the only C++ file; it throws no exception to its callers. toml++ sorts
 * tables by key, so we sort their members by position again.
 */
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
#include "base/node/text_pos.h"
#include "doc/toml_depth.h"
#include "doc/tree/reader.h"
#include "doc/tree/writer.h"
}

#include <toml++/toml.h>

namespace
{

struct entry {
    const toml::key *key; /* null in arrays */
    const toml::node *value;
};

/* A table or array that we are copying. */
struct frame {
    ::node *copy;
    std::vector<entry> entries;
    size_t next;
};

pos position(const toml::source_region &source)
{
    return {source.begin.line, source.begin.column};
}

void add_time(buf *out, const toml::time &t)
{
    buf_addf(out, "%02d:%02d:%02d", t.hour, t.minute, t.second);
    if (!t.nanosecond)
        return;
    buf_addf(out, ".%09u", static_cast<unsigned>(t.nanosecond));
    while (out->s[out->len - 1] == '0')
        buf_cut(out, out->len - 1);
}

void add_date(buf *out, const toml::date &d)
{
    buf_addf(out, "%04d-%02d-%02d", d.year, d.month, d.day);
}

void add_date_time(buf *out, const toml::date_time &dt)
{
    add_date(out, dt.date);
    buf_addch(out, 'T');
    add_time(out, dt.time);
    if (!dt.offset)
        return;
    int minutes = std::abs(dt.offset->minutes);
    if (minutes)
        buf_addf(out, "%c%02d:%02d", dt.offset->minutes < 0 ? '-' : '+', minutes / 60,
                 minutes % 60);
    else
        buf_addch(out, 'Z');
}

/* Finds positions of toml++ in the text. If the next position is on the same line as the last one,
 * it continues from there, so it walks a long line only once. */
class source
{
  public:
    source(const char *text, size_t len) : c{text, len, 0, {1, 1}}
    {
    }

    /* Returns the number in the text at a position, or an empty string. */
    std::string number(const toml::source_position &at)
    {
        if (starts.empty()) /* most plans have no numbers, so we find lines on demand */
            find_lines();
        if (at.line == 0 || at.line > starts.size())
            return {};
        if (c.pos.line != at.line || c.pos.col > at.column) {
            c.offset = starts[at.line - 1];
            c.pos = {at.line, 1};
        }
        while (c.offset < c.len && c.pos.line == at.line && c.pos.col < at.column)
            text_pos_seek(&c, c.offset + 1);
        size_t end = c.offset;
        while (end < c.len && (isalnum(static_cast<unsigned char>(c.text[end])) ||
                               (c.text[end] && strchr("_.+-", c.text[end]))))
            end++;
        return std::string(c.text + c.offset, end - c.offset);
    }

  private:
    void find_lines()
    {
        const char *s = c.text, *end = c.text + c.len;
        starts.push_back(0);
        while ((s = static_cast<const char *>(memchr(s, '\n', static_cast<size_t>(end - s)))))
            starts.push_back(static_cast<size_t>(++s - c.text));
    }

    text_pos c;
    std::vector<size_t> starts; /* offsets of lines */
};

/* Sets the value and appends its text. */
void set_scalar(::node *n, const toml::node &value, buf *text)
{
    if (auto *b = value.as_boolean()) {
        n->kind = NODE_BOOL;
        n->truth = b->get();
        buf_addstr(text, n->truth ? "true" : "false");
    } else if (auto *i = value.as_integer()) {
        n->kind = NODE_INT;
        n->integer = i->get();
        buf_addf(text, "%lld", static_cast<long long>(i->get()));
    } else if (auto *f = value.as_floating_point()) {
        n->kind = NODE_REAL;
        n->real = f->get();
        doc_write_real(text, n->real, "inf", "nan");
    } else {
        n->kind = NODE_TIME;
        if (auto *d = value.as_date())
            add_date(text, d->get());
        else if (auto *t = value.as_time())
            add_time(text, t->get());
        else if (auto *dt = value.as_date_time())
            add_date_time(text, dt->get());
    }
}

::node *copy_node(arena *a, const toml::node &value, source &src)
{
    pos at = position(value.source());
    if (value.is_table() || value.is_array())
        return node_new(a, value.is_table() ? NODE_MAP : NODE_LIST, at);
    if (auto *s = value.as_string())
        return node_string(a, s->get().data(), s->get().size(), at);
    ::node *n = node_new(a, NODE_NULL, at);
    autobuf buf text = {buf_empty, 0, 0};
    set_scalar(n, value, &text);
    std::string written;
    if (n->kind == NODE_INT || n->kind == NODE_REAL)
        written = src.number(value.source().begin);
    n->len = written.empty() ? text.len : written.size();
    n->text = arena_dup(a, written.empty() ? text.s : written.data(), n->len);
    return n;
}

bool is_before(const entry &a, const entry &b)
{
    const auto &x = a.key->source().begin, &y = b.key->source().begin;
    return x.line != y.line ? x.line < y.line : x.column < y.column;
}

void open_frame(frame &f, const toml::node &value, ::node *copy)
{
    f.copy = copy;
    f.next = 0;
    f.entries.clear();
    if (auto *table = value.as_table()) {
        for (auto &&[key, member] : *table)
            f.entries.push_back({&key, &member});
        std::sort(f.entries.begin(), f.entries.end(), is_before);
    } else {
        for (auto &&item : *value.as_array())
            f.entries.push_back({nullptr, &item});
    }
}

int copy_tree(doc *d, const toml::table &root, source &src, problems *ps)
{
    std::array<frame, DOC_MAX_DEPTH> frames;
    size_t depth = 1;
    d->root = copy_node(&d->arena, root, src);
    d->root->pos = {1, 1};
    open_frame(frames[0], root, d->root);
    while (depth) {
        frame &f = frames[depth - 1];
        if (f.next == f.entries.size()) {
            depth--;
            continue;
        }
        const entry &e = f.entries[f.next++];
        ::node *n = copy_node(&d->arena, *e.value, src);
        if (e.key)
            node_put(&d->arena, f.copy, e.key->str().data(), e.key->str().size(),
                     position(e.key->source()), n);
        else
            node_append(f.copy, n);
        if (n->kind < NODE_LIST)
            continue;
        if (depth == DOC_MAX_DEPTH)
            return doc_too_deep(ps, n->pos);
        open_frame(frames[depth++], *e.value, n);
    }
    return 0;
}

struct span {
    size_t start, end;
};

bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* For a second definition toml++ gives the position of its value, but people look at the key. So we
 * find the key before `at`. Empty if there is none. */
span key_before(const char *text, size_t at)
{
    size_t end = at;
    while (end && is_blank(text[end - 1]))
        end--;
    if (!end || text[end - 1] != '=')
        return {at, at};
    for (end--; end && is_blank(text[end - 1]);)
        end--;
    size_t start = end;
    while (start && !strchr("\n,{", text[start - 1]))
        start--;
    while (start < end && is_blank(text[start]))
        start++;
    return {start, end};
}

/* For an error in a number toml++ gives the position behind it. Returns its start. */
size_t number_before(const char *text, size_t at)
{
    while (at &&
           (isalnum(static_cast<unsigned char>(text[at - 1])) || strchr("_.+-", text[at - 1])))
        at--;
    return at;
}

size_t offset_of(const char *text, size_t len, const toml::source_position &where)
{
    text_pos c = {text, len, 0, {1, 1}};
    const char *line = text;
    for (uint32_t n = 1; n < where.line; n++) {
        line =
            static_cast<const char *>(memchr(line, '\n', len - static_cast<size_t>(line - text)));
        if (!line)
            return len;
        line++;
    }
    text_pos_seek(&c, static_cast<size_t>(line - text));
    while (c.offset < len && c.pos.line == where.line && c.pos.col < where.column)
        text_pos_seek(&c, c.offset + 1);
    return c.offset;
}

void add_hint(problems *ps, const char *what)
{
    if (strstr(what, "expected '=', saw ':'"))
        problem_hint(ps, "TOML writes key = value");
    else if (strstr(what, "could not determine value type"))
        problem_hint(ps, "write texts in quotes: key = \"text\"");
    else if (strstr(what, "closing '}', saw '\\n'"))
        problem_hint(ps, "a table in braces must be on one line; write a longer one as [name]");
    else if (strstr(what, "cannot redefine"))
        problem_hint(ps, "join the two; a list of tables is written [[name]]");
    else if (strstr(what, "unknown escape"))
        problem_hint(ps,
                     "write a backslash in double quotes as \\\\; single quotes need no escape");
}

int report_duplicate(const char *text, text_pos c, span key, problems *ps)
{
    problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, key.start), "duplicate key %.*s",
                     static_cast<int>(key.end - key.start), text + key.start);
    return problem_hint(ps, "rename or remove one of the two");
}

/* True for text without quotes that begins like a keyword of TOML. */
bool is_bare_text(const char *message)
{
    static const char *const words[] = {"'true'", "'false'", "'inf'", "'nan'"};
    for (const char *word : words) {
        if (!strncmp(message, "expected ", 9) && !strncmp(message + 9, word, strlen(word)))
            return true;
    }
    return false;
}

bool is_unclosed(const std::string &what, char here)
{
    return what.find("end-of-file") != std::string::npos ||
           (what.find("control characters") != std::string::npos && (here == '\n' || here == '\r'));
}

/* Reports an error of toml++, for example "Error while parsing key-value pair: cannot redefine
 * ...". */
int report_error(const toml::parse_error &error, const char *text, size_t len, size_t open,
                 problems *ps)
{
    text_pos c = {text, len, 0, {1, 1}};
    std::string what(error.description());
    size_t at = offset_of(text, len, error.source().begin);
    if (open < len && is_unclosed(what, at < len ? text[at] : '\n'))
        return problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, open), "this %c is never closed",
                                text[open]);
    const char *colon = strstr(what.c_str(), ": ");
    const char *message = colon ? colon + 2 : what.c_str();
    span key = key_before(text, at);
    if (strstr(message, "cannot redefine") && key.start < key.end)
        return report_duplicate(text, c, key, ps);
    if (is_bare_text(message)) {
        at = number_before(text, at);
        message = "could not determine value type";
    }
    if (strstr(message, "not representable") || strstr(message, "leading zero"))
        at = number_before(text, at);
    problem_error_at(ps, RULE_SYNTAX, text_pos_seek(&c, at), "%s", message);
    add_hint(ps, message);
    return -1;
}

} // namespace

int doc_read_toml(doc *d, const char *text, size_t len, problems *ps)
{
    text_pos c = {text, len, 0, {1, 1}};
    d->syntax = DOC_TOML;
    toml_scan_result scan = toml_scan(text, len);
    if (scan.deep < len)
        return doc_too_deep(ps, text_pos_seek(&c, scan.deep));
    try {
        const toml::table root = toml::parse(std::string_view(text, len));
        source src(text, len);
        return copy_tree(d, root, src, ps);
    } catch (const toml::parse_error &error) {
        return report_error(error, text, len, scan.open, ps);
    } catch (...) { /* out of memory */
        abort();
    }
}
