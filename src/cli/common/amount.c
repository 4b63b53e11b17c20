#include "cli/common/amount.h"

#include "base/node/node_build.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

static bool put_tokens(const char *word, size_t len, struct arena *a, struct node *map)
{
    while (len && word[len - 1] == ' ')
        len--;
    int64_t tokens = text_parse_count(word, len);
    node_put_int(a, map, "tokens", tokens);
    return tokens > 0;
}

bool amount_put(const char *word, struct arena *a, struct node *map)
{
    static const char unit[] = "tokens";
    size_t len = strlen(word), unit_len = strlen(unit);
    if (len > unit_len && strcmp(word + len - unit_len, unit) == 0)
        return put_tokens(word, len - unit_len, a, map);
    char *end;
    const char *digits = word + (*word == '$');
    double usd = strtod(digits, &end);
    node_put_real(a, map, "usd", usd);
    return *digits >= '0' && *digits <= '9' && !strpbrk(digits, "xXpP") && usd > 0 && usd <= 1e9 &&
           (!*end || strcmp(end, "usd") == 0);
}
