#include "cli/frame/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum color_when color_when = COLOR_AUTO;

static const char *const sequences[COLOR_COUNT_] = {
    [COLOR_NONE] = "\033[0m", [COLOR_BOLD] = "\033[1m",   [COLOR_DIM] = "\033[2m",
    [COLOR_RED] = "\033[31m", [COLOR_GREEN] = "\033[32m", [COLOR_YELLOW] = "\033[33m",
};

void color_set(enum color_when when)
{
    color_when = when;
}

static bool environment_allows(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
}

bool color_wanted(FILE *stream)
{
    if (color_when != COLOR_AUTO)
        return color_when == COLOR_ALWAYS;
    return environment_allows() && isatty(fileno(stream));
}

const char *color_on(FILE *stream, enum color color)
{
    return color_wanted(stream) ? sequences[color] : "";
}
