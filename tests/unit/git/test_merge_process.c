/* Merges by a git that stays: they are what a git of its own makes of them, and where it fails, is
 * silent or talks nonsense, it is a git of its own that makes them. */
#include "base/mem.h"
#include "git/batch.h"
#include "git/git.h"
#include "git/merge/merge.h"
#include "git/merge/merge_process.h"
#include "sys/fs/file.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "shell.h"

enum { FIRST = 3, RANDOM = 200, BASES = 12, FILES = 8, LINES = 24 };

#define good(call) assert_true((call) == 0 || (print_message("%s\n", err.msg), 0))

struct repo {
    char *dir, *git_dir, *log;
    struct git_place at;
    char *base, *ours, *theirs;
    bool clean; /* the last merge was */
};

/* A git that tells of each merge-tree that stays: its id, and whether it was started by stdbuf. Its
 * first question is the probe. */
static const char stand_in[] =
    "#!/bin/sh\n"
    "PATH=${PATH#*:}\n"
    "one() { read -r line && echo \"$line\" | git \"$@\"; }\n"
    "case \" $* \" in\n"
    "*' version ') test -z \"$MERGER_VERSION\" || exec echo \"git version $MERGER_VERSION\" ;;\n"
    "*' merge-tree '*' --stdin '*)\n"
    "    echo \"$$ ${_STDBUF_O-plain}\" >>\"$MERGER_LOG\"\n"
    "    case $MERGER_MODE in\n"
    "    flushes) while one \"$@\"; do :; done; exit ;;\n"
    "    silent) exec sleep 1000 ;;\n"
    "    nonsense) printf 'what\\0is\\0this\\0\\0'; exec sleep 1000 ;;\n"
    "    wrong) read -r a b; printf '1\\0%s\\0\\0' \"$a\"; exec sleep 1000 ;;\n"
    "    half) one \"$@\"; read -r a b; printf '1\\0%.20s' \"$a\"; exit ;;\n"
    "    unsure) one \"$@\"; read -r a b; printf '2\\0%s\\0\\0' \"$a\"; exec sleep 1000 ;;\n"
    "    more) one \"$@\"; read -r a b; printf '1\\0%s\\0\\0001\\0' \"$a\"; exec sleep 1000 ;;\n"
    "    stops) one \"$@\"; exec sleep 1000 ;;\n"
    "    esac ;;\n"
    "*' merge-tree '*) echo $$ >>\"$MERGER_LOG.own\" ;;\n"
    "esac\n"
    "exec git \"$@\"\n";

static char *usual_path;

static void say(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static void make_stand_in(struct repo *r)
{
    autofree char *bin = mem_printf("%s/bin", r->dir), *git = mem_printf("%s/git", bin),
                  *path = mem_printf("%s:%s", bin, usual_path);
    struct err err = {0};
    good(dirs_make(bin, &err));
    good(file_create(git, stand_in, strlen(stand_in), &err));
    assert_int_equal(chmod(git, 0755), 0);
    say("PATH", path);
    say("MERGER_LOG", r->log);
    say("MERGER_MODE", "");
    say("MERGER_VERSION", "");
}

static int open_repo(void **state)
{
    struct repo *r = mem_alloc(sizeof(*r));
    void *folder;
    assert_int_equal(make_folder(&folder), 0);
    *r = (struct repo){.dir = folder};
    r->git_dir = mem_printf("%s/work/.git", r->dir);
    r->log = mem_printf("%s/log", r->dir);
    free(shell(r->dir, "git init -q -b main work && mkdir nowhere"));
    make_stand_in(r);
    r->at = (struct git_place){.git_dir = r->git_dir, .batch = git_batch_new(r->git_dir)};
    *state = r;
    return 0;
}

static int open_sha256(void **state)
{
    say("GIT_DEFAULT_HASH", "sha256");
    int rc = open_repo(state);
    (void)unsetenv("GIT_DEFAULT_HASH");
    return rc;
}

static void forget(struct repo *r)
{
    free(r->base);
    free(r->ours);
    free(r->theirs);
    r->base = r->ours = r->theirs = NULL;
}

static int close_repo(void **state)
{
    struct repo *r = *state;
    void *folder = r->dir;
    git_batch_free(r->at.batch);
    forget(r);
    free(r->git_dir);
    free(r->log);
    say("PATH", usual_path);
    (void)unsetenv("ANABRANCH_PATIENCE");
    free(r);
    return remove_folder(&folder);
}

/* A batch that knows nothing yet. */
static void begin_again(struct repo *r)
{
    git_batch_free(r->at.batch);
    r->at.batch = git_batch_new(r->git_dir);
}

static char *ask(struct repo *r, const char *line)
{
    autofree char *work = mem_printf("%s/work", r->dir);
    char *answer = shell(work, line);
    answer[strcspn(answer, "\n")] = '\0';
    return answer;
}

/* Three commits by lines of shell. */
static void set_stage(struct repo *r, const char *base, const char *ours, const char *theirs)
{
    static const char nothing[] = "git symbolic-ref HEAD refs/heads/none && "
                                  "git update-ref -d refs/heads/none && git read-tree --empty";
    const char *const lines[] = {base, ours, theirs};
    char **const ids[] = {&r->base, &r->ours, &r->theirs};
    forget(r);
    for (int i = 0; i < 3; i++) {
        autofree char *line = mem_printf("%s%s && git clean -ffdxq && { %s; } && git add -A && "
                                         "git commit -q --allow-empty -m x && git rev-parse HEAD",
                                         i ? "git checkout -q --force --detach " : nothing,
                                         i ? r->base : "", lines[i]);
        *ids[i] = ask(r, line);
    }
}

/* Both change one file, in different places. */
static void set_usual_stage(struct repo *r)
{
    set_stage(r, "seq 40 >f && seq 50 90 >g", "sed -i s/^3$/x/ f", "sed -i s/^30$/y/ f");
}

static bool by_merger(struct repo *r, struct merge_result *ret)
{
    return merger_merge(git_batch_merger(r->at.batch), &r->at, r->base, r->ours, r->theirs, ret);
}

/* Whether the one that stays made it; if so, it is what a git of its own makes. */
static bool merges(struct repo *r)
{
    automerge struct merge_result one = MERGE_RESULT_INIT, own = MERGE_RESULT_INIT;
    struct err err = {0};
    if (!by_merger(r, &one)) {
        assert_int_equal(one.tree.len + one.conflicts.len, 0);
        return false;
    }
    good(merge_trees(&r->at, r->ours, r->theirs, &own, &err));
    assert_int_equal(one.clean, own.clean);
    assert_string_equal(one.tree.s, own.tree.s);
    assert_int_equal(one.conflicts.len, own.conflicts.len);
    assert_memory_equal(one.conflicts.s, own.conflicts.s, own.conflicts.len);
    r->clean = one.clean;
    return true;
}

/* The first ones are not worth it. */
static void warm_up(struct repo *r)
{
    for (int i = 0; i < FIRST; i++)
        assert_false(merges(r));
}

/* How many of them were started so far; the id of the last, and whether that was by stdbuf. */
static int started(struct repo *r, pid_t *ret_pid, bool *ret_by_stdbuf)
{
    autobuf struct buf log = BUF_INIT;
    int n = 0;
    if (access(r->log, F_OK) == 0)
        assert_int_equal(file_read(r->log, 1 << 20, &log, NULL), 0);
    for (char *rest = log.s, *line; (line = strsep(&rest, "\n")) && *line; n++) {
        char *end;
        *ret_pid = (pid_t)strtol(line, &end, 10);
        *ret_by_stdbuf = strcmp(end, " plain") != 0;
    }
    return n;
}

static int count_started(struct repo *r)
{
    pid_t pid;
    bool by_stdbuf;
    return started(r, &pid, &by_stdbuf);
}

/* --- what it makes ------------------------------------------------------------------------ */

static void clean_and_conflicting(void **state)
{
    struct repo *r = *state;
    set_usual_stage(r);
    warm_up(r);
    assert_int_equal(count_started(r), 0);
    assert_true(merges(r));
    set_stage(r, "seq 40 >f && seq 9 >'od d'", "sed -i s/^3$/x/ f; seq 2 >'od d'",
              "sed -i s/^3$/y/ f; rm 'od d'");
    assert_true(merges(r));
    assert_int_equal(count_started(r), 1);
}

static void renames_modes_and_odd_names(void **state)
{
    struct repo *r = *state;
    static const char *const stages[][3] = {
        {"mkdir a b; seq 40 >a/f; seq 30 >b/x", "git mv a/f b/f", "sed -i s/^3$/y/ a/f"},
        {"mkdir a; seq 40 >a/f; seq 7 >a/g", "git mv a c", "seq 99 >a/new; sed -i s/^3$/y/ a/f"},
        {"seq 40 >f", "git mv f one", "git mv f two"},
        {"seq 40 >f; seq 9 >g", "chmod +x f; sed -i s/^3$/x/ g", "sed -i s/^3$/x/ f; seq 8 >g"},
        {"seq 40 >f; seq 9 >g", "ln -s x l; echo 1 >>g", "seq 3 >l; echo 2 >>g"},
        {"seq 40 >f; ln -s x l", "rm l; ln -s y l", "rm l; ln -s z l"},
        {"seq 40 >f; seq 9 >g", "rm f; mkdir f; seq 3 >f/x; echo 1 >>g", "echo x >>f; echo 2 >>g"},
        {"printf 'a\\0b' >f", "printf 'a\\0c' >f", "printf 'a\\0d' >f"},
        {"n=$(printf 'a\\tb\\nc\"\\377'); seq 9 >\"$n\"", "n=$(ls); seq 8 >\"$n\"",
         "n=$(ls); seq 2 >\"$n\""},
        {"seq 40 >f", "seq 9 >new", "seq 4 >new"},
    };
    set_usual_stage(r);
    warm_up(r);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        set_stage(r, stages[i][0], stages[i][1], stages[i][2]);
        if (!merges(r))
            fail_msg("stage %zu", i);
    }
}

/* --- random merges ------------------------------------------------------------------------ */

static uint64_t random_state = 1;

static unsigned pick(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* As fast-import takes them. */
static const char *const names[FILES] = {
    "a",           "sub/b",      "sub/deep/c",      "\"tab\\tbed\"",
    "\"new\\nl\"", "\"q\\\"u\"", "\"z\\303\\251\"", "\"sub/other/ x\""};

/* The file as the base has it, with some lines changed. */
static void put_file(struct buf *out, const char *name, unsigned file, unsigned edits)
{
    autobuf struct buf text = BUF_INIT;
    unsigned at[3] = {pick(LINES), pick(LINES), pick(LINES)};
    for (unsigned line = 0; line < LINES; line++) {
        bool edit = false;
        for (unsigned i = 0; i < edits; i++)
            edit = edit || at[i] == line;
        if (edit)
            buf_addf(&text, "edited %u\n", pick(5));
        else
            buf_addf(&text, "line %u of %u\n", line, file);
    }
    buf_addf(out, "M %s inline %s\ndata %zu\n%s\n", pick(8) ? "100644" : "100755", name, text.len,
             text.s);
}

static void begin_commit(struct buf *out, unsigned mark, unsigned parent)
{
    buf_addf(out, "commit refs/heads/r%u\nmark :%u\ncommitter a <a> 0 +0000\ndata 1\nx\n", mark,
             mark);
    if (parent)
        buf_addf(out, "from :%u\n", parent);
}

static void change_file(struct buf *out, unsigned file)
{
    static const char *const others[] = {"moved", "sub/moved", "\"mo\\tved\"", "else/where/moved"};
    const char *to = others[pick(4)];
    unsigned what = pick(10);
    if (what == 0) {
        buf_addf(out, "D %s\n", names[file]);
    } else if (what < 3) {
        buf_addf(out, "R %s %s\n", names[file], to);
        put_file(out, to, file, pick(3));
    } else {
        put_file(out, names[file], file, 1 + pick(3));
    }
}

static void add_side(struct buf *out, unsigned mark, unsigned parent)
{
    begin_commit(out, mark, parent);
    for (unsigned file = 0; file < FILES; file++) {
        if (pick(3) == 0)
            change_file(out, file);
    }
    if (pick(4) == 0)
        put_file(out, "sub/added", FILES, pick(3));
}

/* The ids of all marks, in their order. */
static void import(struct repo *r, const struct buf *stream, struct strv *ret_ids)
{
    autofree char *file = mem_printf("%s/stream", r->dir);
    struct err err = {0};
    good(file_replace(file, stream->s, stream->len, &err));
    autofree char *marks = shell(r->dir, "git -C work fast-import --quiet --export-marks=../marks "
                                         "<stream && sort -n -t : -k 2 marks | cut -d ' ' -f 2");
    for (char *rest = marks, *line; (line = strsep(&rest, "\n")) && *line;)
        strv_push(ret_ids, line);
}

/* Each base has many pairs: marks are the bases, then ours and theirs by turns. */
static void random_merges_are_gits(void **state)
{
    struct repo *r = *state;
    autobuf struct buf stream = BUF_INIT;
    autostrv struct strv ids = {0};
    unsigned clean = 0;
    for (unsigned b = 1; b <= BASES; b++) {
        begin_commit(&stream, b, 0);
        for (unsigned file = 0; file < FILES; file++)
            put_file(&stream, names[file], file, 0);
    }
    for (unsigned i = 0; i < 2 * RANDOM; i++)
        add_side(&stream, BASES + 1 + i, 1 + i / 2 % BASES);
    import(r, &stream, &ids);
    assert_int_equal(ids.n, BASES + 2 * RANDOM);
    for (unsigned i = 0; i < RANDOM; i++) {
        forget(r);
        r->base = mem_str(ids.v[i % BASES]);
        r->ours = mem_str(ids.v[BASES + 2 * i]);
        r->theirs = mem_str(ids.v[BASES + 2 * i + 1]);
        assert_int_equal(merges(r), i >= FIRST);
        clean += r->clean;
    }
    assert_in_range(clean, RANDOM / 8, RANDOM - RANDOM / 8); /* both kinds were seen */
}

/* --- what it leaves to others ------------------------------------------------------------- */

static void declines(struct repo *r, const char *base, const char *ours, const char *theirs)
{
    set_stage(r, base, ours, theirs);
    if (merges(r))
        fail_msg("%s; %s; %s", base, ours, theirs);
}

static void attributes_and_submodules_are_not_its_business(void **state)
{
    struct repo *r = *state;
    static const char file[] = "seq 40 >f; mkdir -p a/b c; seq 40 >a/b/f; seq 40 >c/f",
                      x[] = "sed -i s/^3$/x/ f a/b/f", y[] = "sed -i s/^30$/y/ f a/b/f";
    autofree char *top = mem_printf("%s; echo f merge=union >.gitattributes", file),
                  *deep = mem_printf("%s; echo f merge=union >a/.gitattributes", file),
                  *aside = mem_printf("%s; echo f merge=union >c/.gitattributes", file),
                  *added = mem_printf("%s; echo 'f -merge' >a/b/.gitattributes", x),
                  *gone = mem_printf("%s; git rm -q a/.gitattributes", x),
                  *moves_in = mem_printf("%s; git rm -q c/.gitattributes; git mv f c/moved", x),
                  *module = mem_printf("%s; git init -q a/m; git -C a/m commit -q --allow-empty "
                                       "-m m; git add a/m 2>/dev/null",
                                       file);
    set_usual_stage(r);
    warm_up(r);
    declines(r, top, x, y);
    declines(r, deep, x, y);
    declines(r, file, added, y);
    declines(r, file, x, "sed -i s/^30$/y/ f; echo f -merge >.gitattributes");
    declines(r, deep, gone, y);
    declines(r, aside, moves_in, y); /* only the side that left the folder alone has them */
    declines(r, module, x, y);
    set_stage(r, aside, x, y); /* of no file that is merged */
    assert_true(merges(r));
}

/* No merge waits until very many are read; but none is read twice. */
static void many_folders_are_looked_at_by_and_by(void **state)
{
    struct repo *r = *state;
    static const char many[] = "sed -i s/^3$/x/ f; for i in $(seq 400); do mkdir -p d/$i; "
                               "echo $i >d/$i/new; done";
    set_stage(r, "seq 40 >f", many, "sed -i s/^30$/y/ f");
    warm_up(r);
    assert_false(merges(r));
    assert_true(merges(r));
}

static void attributes_outside_of_commits_are_not_its_business(void **state)
{
    struct repo *r = *state;
    autofree char *work = mem_printf("%s/work", r->dir);
    set_usual_stage(r);
    warm_up(r);
    assert_true(merges(r));
    free(ask(r, "mkdir -p .git/info; echo f merge=union >.git/info/attributes"));
    assert_false(merges(r));
    free(ask(r, "rm .git/info/attributes; echo f merge=union >.gitattributes"));
    r->at.work_tree = work;
    assert_false(merges(r));
    free(ask(r, "rm .gitattributes"));
    assert_true(merges(r));
    r->at.work_tree = NULL;
}

static void settings_are_seen_when_they_change(void **state)
{
    struct repo *r = *state;
    static const char *const settings[] = {"core.attributesFile ~/x", "merge.default mine",
                                           "merge.renormalize true", "merge.mine.driver false"};
    set_usual_stage(r);
    warm_up(r);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        autofree char *on = mem_printf("git config %s", settings[i]),
                      *off = mem_printf("git config --unset %.*s", (int)strcspn(settings[i], " "),
                                        settings[i]);
        assert_true(merges(r));
        free(ask(r, on));
        assert_false(merges(r));
        free(ask(r, off));
    }
    set_stage(r, "seq 9 >f", "seq 2 >f", "seq 3 >f");
    assert_true(merges(r));
    free(ask(r, "git config merge.conflictStyle diff3"));
    assert_true(merges(r)); /* with other markers */
}

static void names_and_commits_that_are_not_there_are_left_to_git(void **state)
{
    struct repo *r = *state;
    set_usual_stage(r);
    warm_up(r);
    assert_true(merges(r));
    autofree char *theirs = r->theirs;
    r->theirs = mem_str("HEAD");
    assert_false(merges(r));
    free(r->theirs);
    r->theirs = mem_printf("%.39s%c", theirs, theirs[39] == '0' ? '1' : '0');
    assert_false(merges(r));
    free(r->theirs);
    r->theirs = mem_str(theirs);
    assert_true(merges(r));
    assert_int_equal(count_started(r), 1); /* it was not even asked */
}

/* --- the process -------------------------------------------------------------------------- */

static void one_that_was_killed_is_started_once_more(void **state)
{
    struct repo *r = *state;
    pid_t pid;
    bool by_stdbuf;
    set_usual_stage(r);
    warm_up(r);
    for (int time = 1; time <= 2; time++) {
        assert_true(merges(r));
        assert_true(merges(r));
        assert_int_equal(started(r, &pid, &by_stdbuf), time);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_false(merges(r));
    }
    assert_false(merges(r));
    assert_int_equal(count_started(r), 2);
}

/* What answers the first question as it should, and no other, is tried twice, where the second one
 * is not tried out; what does not, once. */
static void one_that_is_not_understood_is_given_up(void **state)
{
    struct repo *r = *state;
    static const struct {
        const char *mode;
        int starts, made;
    } modes[] = {{"silent", 1, 0}, {"nonsense", 1, 0}, {"wrong", 1, 0}, {"half", 2, 1},
                 {"unsure", 2, 1}, {"more", 2, 1},     {"stops", 2, 1}};
    int before = 0;
    say("ANABRANCH_PATIENCE", "1s");
    set_usual_stage(r);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        say("MERGER_MODE", modes[i].mode);
        begin_again(r);
        int made = 0, now;
        for (int n = 0; n < FIRST + 4; n++)
            made += merges(r);
        now = count_started(r);
        if (made != modes[i].made || now - before != modes[i].starts)
            fail_msg("%s: started %d times, made %d", modes[i].mode, now - before, made);
        before = now;
    }
}

/* Its answers come at once, without help; an older one gives them only at the end. */
static void new_versions_need_no_stdbuf(void **state)
{
    struct repo *r = *state;
    autobuf struct buf version = BUF_INIT;
    struct err err = {0};
    pid_t pid;
    bool by_stdbuf;
    set_usual_stage(r);
    say("MERGER_VERSION", "2.49.0");
    say("MERGER_MODE", "flushes");
    good(git_batch_begin(r->at.batch, &version, &err));
    assert_string_equal(version.s, "git version 2.49.0");
    warm_up(r);
    assert_true(merges(r));
    assert_true(merges(r));
    assert_int_equal(started(r, &pid, &by_stdbuf), 1);
    assert_false(by_stdbuf);
    say("MERGER_MODE", "");
    begin_again(r);
    merger_learn_version(git_batch_merger(r->at.batch), "git version 2.48.1");
    warm_up(r);
    assert_true(merges(r));
    assert_int_equal(started(r, &pid, &by_stdbuf), 2);
    assert_true(by_stdbuf);
}

static void without_stdbuf_an_old_one_is_not_started(void **state)
{
    struct repo *r = *state;
    autofree char *only = mem_printf("%s/only", r->dir);
    set_usual_stage(r);
    free(shell(r->dir, "mkdir only && PATH=${PATH#*:} && ln -s \"$(command -v git)\" only/git"));
    say("PATH", only);
    begin_again(r);
    warm_up(r);
    assert_false(merges(r));
    assert_int_equal(count_started(r), 0);
}

static void it_is_a_new_one_after_64(void **state)
{
    struct repo *r = *state;
    enum { MANY = 130 };
    set_usual_stage(r);
    warm_up(r);
    for (int i = 0; i < MANY; i++) {
        automerge struct merge_result m = MERGE_RESULT_INIT;
        assert_true(by_merger(r, &m));
        assert_int_equal(count_started(r), 1 + i / 64);
    }
    assert_true(merges(r));
}

/* What nothing leads to is pruned with the pack that had it, which the process still has open: the
 * merged tree has to be written once more. */
static void it_is_a_new_one_when_packs_change(void **state)
{
    struct repo *r = *state;
    automerge struct merge_result m = MERGE_RESULT_INIT;
    set_usual_stage(r);
    warm_up(r);
    assert_true(by_merger(r, &m));
    autofree char *keep =
        mem_printf("git update-ref refs/keep/o %s; git update-ref refs/keep/t %s; "
                   "git tag merged %s; git repack -adq; git prune-packed",
                   r->ours, r->theirs, m.tree.s);
    free(ask(r, keep));
    assert_true(merges(r));
    assert_int_equal(count_started(r), 2);
    free(ask(r, "git tag -d merged; git repack -Adq; git prune --expire=now"));
    assert_true(by_merger(r, &m));
    assert_int_equal(count_started(r), 3);
    autofree char *there =
        mem_printf("git ls-tree -r %s >/dev/null && git show %s:f", m.tree.s, m.tree.s);
    free(ask(r, there));
}

/* --- how it is used ----------------------------------------------------------------------- */

enum { TASKS = 10 };

/* Each changes a place of its own; every second one has another commit behind that. */
static void make_tasks(struct repo *r, bool more, char *tasks[TASKS])
{
    for (int i = 0; i < TASKS; i++) {
        autofree char *line = mem_printf(
            "git checkout -q --force --detach %s && sed -i s/^%d$/x/ f && "
            "git commit -qam x %s && git rev-parse HEAD",
            r->base, 1 + 4 * i, more && i % 2 ? "&& git commit -q --allow-empty -m y" : "");
        tasks[i] = ask(r, line);
    }
}

/* As a run does it: each task began at the base, made a commit or two, and lands on what is there.
 */
static void children_land_by_it(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    char *tasks[TASKS];
    set_usual_stage(r);
    make_tasks(r, true, tasks);
    autofree char *tip = mem_str(r->base), *own = mem_printf("wc -l <'%s.own'", r->log);
    for (int i = 0; i < TASKS; i++) {
        automerge struct merge_result m = MERGE_RESULT_INIT;
        autobuf struct buf next = BUF_INIT;
        const char *const parents[] = {tip, tasks[i], NULL};
        good(merge_since(&r->at, r->base, tip, tasks[i], &m, &err));
        assert_true(m.clean);
        good(git_commit_tree(&r->at, m.tree.s, parents, "merge", &next, &err));
        free(tip);
        tip = buf_steal(&next);
    }
    autofree char *count = mem_printf("git show %s:f | grep -c x", tip), *n = ask(r, count);
    assert_string_equal(n, "10");
    assert_int_equal(count_started(r), 1);
    autofree char *others = ask(r, own);
    assert_int_equal(strtol(others, NULL, 10), FIRST);
    for (int i = 0; i < TASKS; i++)
        free(tasks[i]);
}

static void commits_are_picked_by_it(void **state)
{
    struct repo *r = *state;
    struct err err = {0};
    char *tasks[TASKS];
    set_usual_stage(r);
    make_tasks(r, false, tasks);
    for (int i = 1; i < TASKS; i++) {
        automerge struct merge_result m = MERGE_RESULT_INIT;
        good(merge_pick(&r->at, tasks[i - 1], tasks[i], &m, &err));
        assert_true(m.clean);
        autofree char *count = mem_printf("git show %s:f | grep -c x", m.tree.s),
                      *n = ask(r, count);
        assert_string_equal(n, "2");
    }
    assert_int_equal(count_started(r), 1);
    for (int i = 0; i < TASKS; i++)
        free(tasks[i]);
}

int main(void)
{
    static const char *const who[] = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                                      "GIT_COMMITTER_EMAIL"};
#define with_repo(test) cmocka_unit_test_setup_teardown(test, open_repo, close_repo)
    const struct CMUnitTest tests[] = {
        with_repo(clean_and_conflicting),
        with_repo(renames_modes_and_odd_names),
        with_repo(random_merges_are_gits),
        cmocka_unit_test_setup_teardown(random_merges_are_gits, open_sha256, close_repo),
        with_repo(attributes_and_submodules_are_not_its_business),
        with_repo(many_folders_are_looked_at_by_and_by),
        with_repo(attributes_outside_of_commits_are_not_its_business),
        with_repo(settings_are_seen_when_they_change),
        with_repo(names_and_commits_that_are_not_there_are_left_to_git),
        with_repo(one_that_was_killed_is_started_once_more),
        with_repo(one_that_is_not_understood_is_given_up),
        with_repo(new_versions_need_no_stdbuf),
        with_repo(without_stdbuf_an_old_one_is_not_started),
        with_repo(it_is_a_new_one_after_64),
        with_repo(it_is_a_new_one_when_packs_change),
        with_repo(children_land_by_it),
        with_repo(commits_are_picked_by_it),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    usual_path = mem_str(getenv("PATH"));
    say("GIT_CONFIG_GLOBAL", "/dev/null");
    say("GIT_CONFIG_NOSYSTEM", "1");
    for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++)
        say(who[i], "x");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(usual_path);
    return failed;
}
