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

/* ncurses has global state, so we have too. */
static struct {
    bool active, colored, wide;
    struct termios old_modes;
    SCREEN *screen;
} terminal;

/* First the signals that end the program while it owns the screen, then the other signals that
 * ncurses catches. */
static const int caught_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE,  SIGABRT, SIGQUIT,
                                     SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGWINCH};
enum { FATAL_COUNT = 8, CAUGHT_COUNT = ARRAY_LEN(caught_signals) };
static struct sigaction old_handlers[CAUGHT_COUNT];

/* The escape sequence that restores the terminal. We prepare it early, because a signal handler may
 * call hardly any function. */
static char restore_sequence[256];
static size_t restore_len;

static void add_restore_sequence(const char *capability)
{
    size_t len = capability && capability != (char *)-1 ? strlen(capability) : 0;
    if (restore_len + len <= sizeof(restore_sequence)) {
        memcpy(restore_sequence + restore_len, len ? capability : "", len);
        restore_len += len;
    }
}

static void restore_and_raise(int signal)
{
    if (terminal.active) {
        (void)!write(STDOUT_FILENO, restore_sequence, restore_len);
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.old_modes);
    }
    for (size_t i = 0; i < FATAL_COUNT; i++) {
        if (caught_signals[i] == signal)
            (void)sigaction(signal, &old_handlers[i], NULL);
    }
    (void)raise(signal);
}

/* We save the handlers before ncurses installs its own. */
static void save_handlers(void)
{
    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        (void)sigaction(caught_signals[i], NULL, &old_handlers[i]);
}

static void catch_fatal_signals(void)
{
    struct sigaction sa = {.sa_handler = restore_and_raise};
    (void)sigfillset(&sa.sa_mask); /* neither call can fail: fixed signals, valid addresses */
    restore_len = 0;
    add_restore_sequence(tigetstr("sgr0"));
    add_restore_sequence(tigetstr("rmkx"));
    add_restore_sequence(tigetstr("cnorm"));
    add_restore_sequence(tigetstr("rmcup"));
    for (size_t i = 0; i < FATAL_COUNT; i++) {
        if (old_handlers[i].sa_handler != SIG_IGN)
            (void)sigaction(caught_signals[i], &sa, NULL);
    }
}

static void restore_handlers(void)
{
    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        (void)sigaction(caught_signals[i], &old_handlers[i], NULL);
}

static void init_colors(bool color)
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

static void set_modes(void)
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
        return err_set(err, ERR_INPUT, "the dashboard needs an interactive terminal");
    if (!terminfo_knows_terminal())
        return err_set(err, ERR_INPUT, "unknown terminal '%s'", term);
    (void)setlocale(LC_CTYPE, "");
    terminal.wide = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (tcgetattr(STDIN_FILENO, &terminal.old_modes) < 0)
        return err_sys(err, "tcgetattr");
    save_handlers();
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen) {
        restore_handlers();
        return err_set(err, ERR_ENV, "cannot use the terminal '%s'", term);
    }
    terminal.active = true;
    set_modes();
    init_colors(color);
    catch_fatal_signals();
    return 0;
}

void paint_close(void)
{
    if (!terminal.active)
        return;
    (void)endwin();
    terminal.active = false;
    restore_handlers();
    delscreen(terminal.screen);
    terminal.screen = NULL;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.old_modes);
    (void)setlocale(LC_CTYPE, "C");
}

void paint_lend(void)
{
    (void)endwin();
    terminal.active = false;
}

void paint_take_back(void)
{
    terminal.active = true;
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

static attr_t get_attributes(enum style style)
{
    attr_t bold = style == STYLE_BOLD || style == STYLE_BAD ? A_BOLD : 0;
    if (style >= STYLE_GOOD && terminal.colored)
        return (attr_t)COLOR_PAIR(style) | bold;
    return style == STYLE_DIM ? A_DIM : bold;
}

/* If the terminal does not use UTF-8, we print '?' for every other character. */
static void put_text(const char *s, size_t len)
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

static void draw_line(const struct canvas_line *l, int row)
{
    size_t at = 0;
    enum style style = STYLE_PLAIN;
    (void)move(row, 0);
    for (size_t i = 0; i <= l->spans.n; i++) {
        size_t end = i < l->spans.n ? l->spans.v[i].at : l->text.len;
        (void)attrset((int)(l->marked ? A_REVERSE : get_attributes(style)));
        put_text(l->text.s + at, end - at);
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
        draw_line(&c->lines.v[i], (int)i);
    (void)refresh();
}

static int map_key(int key)
{
    static const struct {
        int theirs, ours;
    } keys[] = {
        {KEY_UP, KEY_UP_},       {KEY_DOWN, KEY_DOWN_},     {KEY_LEFT, KEY_LEFT_},
        {KEY_RIGHT, KEY_RIGHT_}, {KEY_PPAGE, KEY_PAGE_UP_}, {KEY_NPAGE, KEY_PAGE_DOWN_},
        {KEY_HOME, KEY_HOME_},   {KEY_END, KEY_END_},       {KEY_BACKSPACE, KEY_ERASE_},
        {'\b', KEY_ERASE_},      {KEY_ENTER, KEY_ENTER_},   {'\r', KEY_ENTER_},
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (keys[i].theirs == key)
            return keys[i].ours;
    }
    return key >= KEY_MIN ? -1 : key;
}

/* We ignore unknown keys. */
int paint_key(void)
{
    for (int key; (key = getch()) != ERR;) {
        int named = map_key(key);
        if (named > 0)
            return named;
    }
    return 0;
}
