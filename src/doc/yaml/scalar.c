#include "doc/yaml/scalar.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool resolve_word(struct node *n)
{
    static const struct {
        const char *word;
        enum node_kind kind;
        bool truth;
    } words[] = {
        {"", NODE_NULL, false},      {"~", NODE_NULL, false},     {"null", NODE_NULL, false},
        {"Null", NODE_NULL, false},  {"NULL", NODE_NULL, false},  {"true", NODE_BOOL, true},
        {"True", NODE_BOOL, true},   {"TRUE", NODE_BOOL, true},   {"false", NODE_BOOL, false},
        {"False", NODE_BOOL, false}, {"FALSE", NODE_BOOL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strlen(words[i].word) == n->len && memcmp(words[i].word, n->text, n->len) == 0) {
            n->kind = words[i].kind;
            n->truth = words[i].truth;
            return true;
        }
    }
    return false;
}

static bool resolve_special(struct node *n)
{
    const char *s = n->text + (*n->text == '-' || *n->text == '+');
    bool signed_ = s != n->text;
    if (!strcmp(s, ".inf") || !strcmp(s, ".Inf") || !strcmp(s, ".INF"))
        n->real = *n->text == '-' ? -INFINITY : INFINITY;
    else if (!signed_ && (!strcmp(s, ".nan") || !strcmp(s, ".NaN") || !strcmp(s, ".NAN")))
        n->real = NAN;
    else
        return false;
    n->kind = NODE_REAL;
    return true;
}

static void set_integer(struct node *n, const char *digits, int base)
{
    errno = 0;
    n->kind = NODE_INT;
    n->integer = strtoll(digits, NULL, base);
    if (errno != ERANGE)
        return;
    n->kind = NODE_REAL;
    n->real = 0;
    if (base == 10) {
        n->real = strtod(digits, NULL);
        return;
    }
    for (; *digits; digits++) {
        int digit = *digits <= '9' ? *digits - '0' : (*digits | 0x20) - 'a' + 10;
        n->real = n->real * base + digit;
    }
}

static bool resolve_prefixed(struct node *n, const char *prefix, const char *digits, int base)
{
    size_t skip = strlen(prefix);
    if (n->len <= skip || memcmp(n->text, prefix, skip) != 0 ||
        strspn(n->text + skip, digits) != n->len - skip)
        return false;
    set_integer(n, n->text + skip, base);
    return true;
}

static const char *skip_digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool resolve_decimal(struct node *n)
{
    const char *s = n->text + (*n->text == '-' || *n->text == '+');
    const char *whole = skip_digits(s), *end = whole;
    if (*end == '.')
        end = skip_digits(end + 1);
    if (end == s || (whole == s && end == s + 1))
        return false;
    bool integer = end == whole;
    if (*end == 'e' || *end == 'E') {
        const char *power = end + 1 + (end[1] == '-' || end[1] == '+');
        end = skip_digits(power);
        integer = false;
        if (end == power)
            return false;
    }
    if (end != n->text + n->len)
        return false;
    if (integer) {
        set_integer(n, n->text, 10);
    } else {
        n->kind = NODE_REAL;
        n->real = strtod(n->text, NULL);
    }
    return true;
}

void yaml_core_resolve(struct node *n)
{
    n->kind = NODE_STRING;
    if (resolve_word(n) || !strchr("+-.0123456789", *n->text))
        return;
    (void)(resolve_special(n) || resolve_prefixed(n, "0o", "01234567", 8) ||
           resolve_prefixed(n, "0x", "0123456789abcdefABCDEF", 16) || resolve_decimal(n));
}
