#include "cli/top/paint.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "cli/top/terminfo.h"
#include "sys/term.h"
#include "view/dashboard/screens/screen.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* ncurses is one for the whole program, and so is this. */
static struct {
    bool taken, colored, wide;
    struct termios before;
    SCREEN *screen;
} terminal;

/* --- signals ------------------------------------------------------------------------------ */

/* Those that end the program while it cannot do so itself, and behind them what ncurses catches
 * besides. */
static const int caught[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE,  SIGABRT, SIGQUIT,
                             SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGWINCH};
enum { ENDS = 8, CAUGHT = ARRAY_LEN(caught) };
static struct sigaction before[CAUGHT];

/* What brings the terminal back, made ready beforehand: in the handler of a signal hardly anything
 * may be called. */
static char way_back[256];
static size_t way_back_len;

static void add_way_back(const char *capability)
{
    size_t len = capability && capability != (char *)-1 ? strlen(capability) : 0;
    if (way_back_len + len <= sizeof(way_back)) {
        memcpy(way_back + way_back_len, len ? capability : "", len);
        way_back_len += len;
    }
}

static void on_end(int signal)
{
    if (terminal.taken) {
        (void)!write(STDOUT_FILENO, way_back, way_back_len);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
    }
    for (size_t i = 0; i < ENDS; i++) {
        if (caught[i] == signal)
            (void)sigaction(signal, &before[i], NULL);
    }
    (void)raise(signal);
}

/* Before ncurses has handlers of its own. */
static void note_signals(void)
{
    for (size_t i = 0; i < CAUGHT; i++)
        (void)sigaction(caught[i], NULL, &before[i]);
}

static void catch_ends(void)
{
    struct sigaction sa = {.sa_handler = on_end};
    (void)sigfillset(&sa.sa_mask); /* neither call can fail: fixed signals, valid addresses */
    way_back_len = 0;
    add_way_back(tigetstr("sgr0"));
    add_way_back(tigetstr("rmkx"));
    add_way_back(tigetstr("cnorm"));
    add_way_back(tigetstr("rmcup"));
    for (size_t i = 0; i < ENDS; i++) {
        if (before[i].sa_handler != SIG_IGN)
            (void)sigaction(caught[i], &sa, NULL);
    }
}

static void release_signals(void)
{
    for (size_t i = 0; i < CAUGHT; i++)
        (void)sigaction(caught[i], &before[i], NULL);
}

/* --- life --------------------------------------------------------------------------------- */

static void begin_colors(bool color)
{
    static const short colors[STYLE_COUNT_] = {[STYLE_GOOD] = COLOR_GREEN,
                                               [STYLE_BAD] = COLOR_RED,
                                               [STYLE_WARN] = COLOR_YELLOW,
                                               [STYLE_BUSY] = COLOR_CYAN};
    terminal.colored = color && has_colors() && start_color() == OK;
    if (!terminal.colored)
        return;
    short ground = use_default_colors() == OK ? -1 : COLOR_BLACK;
    for (short i = STYLE_GOOD; i < STYLE_COUNT_; i++)
        (void)init_pair(i, colors[i], ground);
}

static void settle(void)
{
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)nodelay(stdscr, TRUE);
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0); /* not every terminal can hide it */
    set_escdelay(50);
}

int paint_open(bool color, struct err *err)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
        strcmp(term, "dumb") == 0)
        return err_set(err, ERR_INPUT, "this is no terminal that can be painted on");
    if (!terminfo_knows_terminal())
        return err_set(err, ERR_INPUT, "the terminal '%s' is not known", term);
    (void)setlocale(LC_CTYPE, "");
    terminal.wide = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (tcgetattr(STDIN_FILENO, &terminal.before) < 0)
        return err_sys(err, "tcgetattr");
    note_signals();
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen) {
        release_signals();
        return err_set(err, ERR_ENV, "the terminal '%s' cannot be painted on", term);
    }
    terminal.taken = true;
    settle();
    begin_colors(color);
    catch_ends();
    return 0;
}

void paint_close(void)
{
    if (!terminal.taken)
        return;
    (void)endwin();
    terminal.taken = false;
    release_signals();
    delscreen(terminal.screen);
    terminal.screen = NULL;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.before);
    (void)setlocale(LC_CTYPE, "C");
}

void paint_lend(void)
{
    (void)endwin();
    terminal.taken = false;
}

void paint_take_back(void)
{
    terminal.taken = true;
    (void)clearok(stdscr, TRUE);
    (void)refresh();
}

void paint_size(size_t *ret_columns, size_t *ret_rows)
{
    struct term_size size = term_size(STDOUT_FILENO);
    int columns = size.columns ? (int)size.columns : 80, rows = size.rows ? (int)size.rows : 24;
    if (columns != getmaxx(stdscr) || rows != getmaxy(stdscr)) {
        (void)resizeterm(rows, columns);
        (void)clearok(stdscr, TRUE);
    }
    *ret_columns = (size_t)columns;
    *ret_rows = (size_t)rows;
}

/* --- painting ----------------------------------------------------------------------------- */

static attr_t lookup_of(enum style style)
{
    attr_t bold = style == STYLE_BOLD || style == STYLE_BAD ? A_BOLD : 0;
    if (style >= STYLE_GOOD && terminal.colored)
        return (attr_t)COLOR_PAIR(style) | bold;
    return style == STYLE_DIM ? A_DIM : bold;
}

/* A terminal of another character set gets a mark for what it cannot show. */
static void put(const char *s, size_t len)
{
    if (terminal.wide) {
        (void)addnstr(s, (int)len);
        return;
    }
    for (size_t n; len; s += n, len -= n) {
        uint32_t c;
        n = text_decode(s, len, &c);
        n = n ? n : 1;
        for (size_t w = n > 1 ? text_width(s, n) : 1; w; w--)
            (void)addch(n > 1 ? '?' : (chtype)(unsigned char)*s);
    }
}

static void show_line(const struct canvas_line *l, int row)
{
    size_t at = 0;
    enum style style = STYLE_PLAIN;
    (void)move(row, 0);
    for (size_t i = 0; i <= l->spans.n; i++) {
        size_t end = i < l->spans.n ? l->spans.v[i].at : l->text.len;
        (void)attrset((int)(l->marked ? A_REVERSE : lookup_of(style)));
        put(l->text.s + at, end - at);
        at = end;
        style = i < l->spans.n ? l->spans.v[i].style : style;
    }
    for (size_t used = text_width(l->text.s, l->text.len);
         l->marked && used < (size_t)getmaxx(stdscr); used++)
        (void)addch(' ');
    (void)attrset(A_NORMAL);
}

void paint_show(const struct canvas *c)
{
    (void)erase();
    for (size_t i = 0; i < c->lines.n && i < (size_t)getmaxy(stdscr); i++)
        show_line(&c->lines.v[i], (int)i);
    (void)refresh();
}

/* --- keys --------------------------------------------------------------------------------- */

static int named_key(int key)
{
    switch (key) {
    case KEY_UP:
        return KEY_UP_;
    case KEY_DOWN:
        return KEY_DOWN_;
    case KEY_LEFT:
        return KEY_LEFT_;
    case KEY_RIGHT:
        return KEY_RIGHT_;
    case KEY_PPAGE:
        return KEY_PAGE_UP_;
    case KEY_NPAGE:
        return KEY_PAGE_DOWN_;
    case KEY_HOME:
        return KEY_HOME_;
    case KEY_END:
        return KEY_END_;
    case KEY_BACKSPACE:
    case '\b':
        return KEY_ERASE_;
    case KEY_ENTER:
    case '\r':
        return KEY_ENTER_;
    default:
        return key >= KEY_MIN ? -1 : key;
    }
}

/* What is no key of ours is passed over. */
int paint_key(void)
{
    for (int key; (key = getch()) != ERR;) {
        int named = named_key(key);
        if (named > 0)
            return named;
    }
    return 0;
}
