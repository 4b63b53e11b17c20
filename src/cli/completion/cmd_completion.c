#include "cli/completion/completion.h"
#include "cli/frame/commands.h"

#include <string.h>

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static void (*const generators[])(struct buf *out) = {completion_bash, completion_zsh,
                                                      completion_fish};

static int run_completion(const void *options, char **argv)
{
    (void)options;
    autobuf struct buf out = BUF_INIT;
    for (size_t i = 0; shells[i]; i++) {
        if (strcmp(argv[0], shells[i]) == 0)
            generators[i](&out);
    }
    return cli_print(out.s, out.len);
}

static const struct arg args[] = {
    {.name = "SHELL", .help = "The shell that is to complete", .choices = shells},
    {0},
};

const struct command cmd_completion = {
    .name = "completion",
    .summary = "Print a script that lets a shell complete commands and options",
    .about =
        "The script goes where the shell looks for completions, or is read at the start of each "
        "session. It is made from the same tables as this help: after an update of anabranch, "
        "print it again.",
    .examples = "eval \"$(anabranch completion bash)\"\tA line for ~/.bashrc\n"
                "anabranch completion zsh >~/.zfunc/_anabranch\tWith ~/.zfunc in fpath\n"
                "anabranch completion fish >~/.config/fish/completions/anabranch.fish\tFor fish\n",
    .args = args,
    .run = run_completion,
};
