#include "plan/cause.h"

#include "base/mem.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool is_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool cause_mentions(const char *text, const char *words)
{
    for (const char *start = text; *text; text++) {
        const char *t = text, *w = words;
        for (; *w; w++) {
            if (*w == '\b') {
                if ((t > start && is_in_word(t[-1])) == is_in_word(*t))
                    break;
            } else if (*w == ' ') {
                t += *t && strchr(" \t\r\n_-", *t) ? 1 : 0;
            } else if (strncasecmp(t, w, 1) != 0) {
                break;
            } else {
                t++;
            }
        }
        if (!*w)
            return true;
    }
    return false;
}

/* The first match counts. Limits come before payment, because their messages also say where to buy
 * more. */
static const struct {
    const char *words;
    enum failure failure;
} patterns[] = {
    {"context length", FAILURE_CONTEXT},
    {"context window", FAILURE_CONTEXT},
    {"context overflow", FAILURE_CONTEXT},
    {"prompt is too long", FAILURE_CONTEXT},
    {"input is too long", FAILURE_CONTEXT},
    {"maximum number of tokens allowed", FAILURE_CONTEXT},
    {"usage limit", FAILURE_LIMIT},
    {"rate limit", FAILURE_LIMIT},
    {"too many requests", FAILURE_LIMIT},
    {"credit balance", FAILURE_AUTH},
    {"insufficient quota", FAILURE_AUTH},
    {"insufficient balance", FAILURE_AUTH},
    {"insufficient credit", FAILURE_AUTH},
    {"exceeded your current quota", FAILURE_AUTH},
    {"billing", FAILURE_AUTH},
    {"quota exceeded", FAILURE_LIMIT},
    {"quota exhausted", FAILURE_LIMIT},
};

bool cause_of_words(const char *text, enum failure *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        if (cause_mentions(text, patterns[i].words)) {
            *ret = patterns[i].failure;
            return true;
        }
    }
    return false;
}

enum failure cause_of_status(int64_t status)
{
    switch (status) {
    case 401:
    case 402: /* no money left */
    case 403:
        return FAILURE_AUTH;
    case 408:
        return FAILURE_TRANSIENT;
    case 413:
        return FAILURE_CONTEXT;
    case 429:
        return FAILURE_LIMIT;
    case 503:
    case 529:
        return FAILURE_OVERLOADED;
    case 404: /* no such model, or a wrong address */
        return FAILURE_SETUP;
    default:
        return status >= 400 && status < 500 ? FAILURE_REFUSED : FAILURE_TRANSIENT;
    }
}

enum failure cause_of(int64_t status, const char *text)
{
    enum failure failure;
    return cause_of_words(text, &failure) ? failure : cause_of_status(status);
}
