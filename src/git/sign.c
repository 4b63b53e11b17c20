#include "git/sign.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/strv.h"
#include "git/git.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGN_S = 5 };

#define GPG_VARIABLE "ANABRANCH_SIGN_GPG"
#define SSH_VARIABLE "ANABRANCH_SIGN_SSH"

/* True for gpg: git starts "gpg --status-fd=2 -bsau KEY" or "ssh-keygen -Y sign -n git ...". */
static bool is_gpg(const char *first)
{
    return strncmp(first, "--status-fd", strlen("--status-fd")) == 0;
}

bool sign_is_wanted(int argc, char **argv)
{
    return argc > 1 && ((is_gpg(argv[1]) && getenv(GPG_VARIABLE)) ||
                        (strcmp(argv[1], "-Y") == 0 && getenv(SSH_VARIABLE)));
}

/* The alarm survives exec. In batch mode gpg-agent could still prompt, so we refuse that too.
 * ssh-keygen has no terminal here and starts no askpass program. */
void sign_exec(char **argv)
{
    autostrv struct strv command = {0};
    bool gpg = is_gpg(argv[1]);
    strv_push(&command, getenv(gpg ? GPG_VARIABLE : SSH_VARIABLE));
    if (gpg)
        strv_pushl(&command, "--batch", "--no-tty", "--pinentry-mode=error", NULL);
    for (char **word = argv + 1; *word; word++)
        strv_push(&command, *word);
    (void)unsetenv("GPG_TTY");
    (void)setenv("SSH_ASKPASS_REQUIRE", "never", 1); /* and it has no terminal */
    (void)alarm(SIGN_S);
    (void)execvp(command.v[0], command.v);
}

/* Only processes that we start until unset_variables() inherit these: an agent's environment stays
 * unchanged. */
static int set_variables(const struct git_core *core, struct err *err)
{
    const char *gpg = core->sign_gpg ? core->sign_gpg : "gpg";
    const char *ssh = core->sign_ssh ? core->sign_ssh : "ssh-keygen";
    return setenv(GPG_VARIABLE, gpg, 1) < 0 || setenv(SSH_VARIABLE, ssh, 1) < 0
               ? err_sys(err, "set the environment")
               : 0;
}

static void unset_variables(void)
{
    (void)unsetenv(GPG_VARIABLE);
    (void)unsetenv(SSH_VARIABLE);
}

static void add_command(const struct sign *s, const char *tree, const char *const *parents,
                        const char *message, struct strv *args)
{
    static const char *const keys[] = {"gpg.program", "gpg.openpgp.program", "gpg.ssh.program"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        strv_push(args, "-c");
        strv_pushf(args, "%s=%s", keys[i], s->self);
    }
    strv_pushl(args, "commit-tree", "-S", tree, "-m", message, NULL);
    for (; *parents; parents++)
        strv_pushl(args, "-p", *parents, NULL);
}

/* We report the first line: it is from the signing program. The last line is from git. */
static int fail_signing(const struct buf *words, struct err *err)
{
    return err_set(err, ERR_ENV, "%.*s", (int)strcspn(words->s, "\n"),
                   words->len ? words->s : "git printed no message");
}

static const char *const author_names[] = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
                                           "GIT_AUTHOR_DATE"};
enum { AUTHOR_FIELDS = 3 };

/* Swaps the variables with `values`; NULL: not set. */
static void swap_author(char *values[AUTHOR_FIELDS])
{
    for (size_t i = 0; i < AUTHOR_FIELDS; i++) {
        const char *now = getenv(author_names[i]);
        autofree char *value = values[i];
        values[i] = now ? mem_str(now) : NULL;
        if (value)
            (void)setenv(author_names[i], value, 1);
        else
            (void)unsetenv(author_names[i]);
    }
}

/* Splits "NAME <EMAIL> SECONDS ZONE"; git accepts the seconds after an @. */
static bool split_author(const char *author, char *ret[AUTHOR_FIELDS])
{
    const char *less = author ? strrchr(author, '<') : NULL;
    const char *greater = less ? strchr(less, '>') : NULL;
    if (!greater || greater[1] != ' ')
        return false;
    size_t name = (size_t)(less - author);
    ret[0] = mem_dup(author, name && less[-1] == ' ' ? name - 1 : name);
    ret[1] = mem_dup(less + 1, (size_t)(greater - less - 1));
    ret[2] = mem_printf("@%s", greater + 2);
    return true;
}

/* commit-tree reads no work tree. Without one git is in no fence (git/fence.h): the signing program
 * writes temporary files. */
static int run_git(struct sign *s, const struct git_place *at, const char *author,
                   const struct strv *args, struct buf *out, struct buf *words, int *ret_status,
                   struct err *err)
{
    struct git_place without_tree = *at;
    char *parts[AUTHOR_FIELDS] = {0};
    bool has_author = split_author(author, parts);
    without_tree.tree = NULL;
    without_tree.work_tree = NULL;
    if (has_author)
        swap_author(parts);
    int rc =
        set_variables(s->core, err) || git_try(&without_tree, args, out, words, ret_status, err)
            ? -1
            : 0;
    unset_variables();
    if (has_author)
        swap_author(parts);
    for (size_t i = 0; i < AUTHOR_FIELDS; i++)
        free(parts[i]);
    return rc;
}

int sign_commit_tree(struct sign *s, const struct git_place *at, const char *author,
                     const char *tree, const char *const *parents, const char *message,
                     struct buf *ret_commit, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT, words = BUF_INIT;
    int status = 0;
    add_command(s, tree, parents, message, &args);
    int rc = run_git(s, at, author, &args, &out, &words, &status, err);
    if (rc == 0 && (status != 0 || !out.len))
        rc = fail_signing(&words, err);
    if (rc == 0)
        buf_add(ret_commit, out.s, strcspn(out.s, "\n"));
    return rc;
}

void sign_begin(struct sign *s, const struct git_core *core, const char *self,
                const struct git_place *at, const char *tree)
{
    static const char *const none[] = {NULL};
    autobuf struct buf commit = BUF_INIT;
    *s = (struct sign){.core = core, .self = self};
    bool known = !core->sign_format || strcmp(core->sign_format, "openpgp") == 0 ||
                 strcmp(core->sign_format, "ssh") == 0;
    if (!core->sign)
        return;
    if (!known)
        (void)err_set(&s->failure, ERR_ENV, "gpg.format is %s, which may need a prompt",
                      core->sign_format);
    else
        s->on = sign_commit_tree(s, at, NULL, tree, none, "anabranch: try to sign\n", &commit,
                                 &s->failure) == 0;
}
