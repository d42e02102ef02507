/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/view/term.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static int keys = -1;
static bool is_open, is_raw;

static void put(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(STDOUT_FILENO, text, n);
        if (done < 0 && errno != EINTR)
            return; /* The terminal is gone. */
        text += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
}

bool tool_term_is_there(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

int tool_term_open(void)
{
    static const char enter[] = "\033[?1049h\033[?25l";
    if (keys < 0)
        /* The flags of stdin are shared with the shell, so the terminal is opened again. */
        keys = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (keys >= 0 && tcgetattr(keys, &before) == 0) {
        struct termios raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        is_raw = tcsetattr(keys, TCSANOW, &raw) == 0;
    }
    put(enter, sizeof(enter) - 1);
    is_open = true;
    return keys;
}

void tool_term_close(void)
{
    static const char leave[] = "\033[?25h\033[?1049l";
    if (!is_open)
        return;
    is_open = false;
    put(leave, sizeof(leave) - 1);
    if (is_raw)
        (void)tcsetattr(keys, TCSANOW, &before);
    is_raw = false;
}

void tool_term_size(size_t *ret_columns, size_t *ret_rows)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *ret_columns = known ? size.ws_col : 80;
    *ret_rows = known ? size.ws_row : 24;
}

void tool_term_show(const char *lines, char head)
{
    CW_STR_AUTO out = {0};
    cw_str_add(&out, "\033[H");
    for (bool first = true; *lines; first = false) {
        size_t n = strcspn(lines, "\n");
        bool is_head = *lines == head;
        /* There is no newline behind the last line, since the screen would move up. */
        cw_str_add(&out, first ? "" : "\r\n");
        cw_str_add(&out, is_head ? "\033[1m" : "");
        cw_str_add_bytes(&out, lines + is_head, n - is_head);
        cw_str_add(&out, is_head ? "\033[0m\033[K" : "\033[K");
        lines += n + (lines[n] == '\n');
    }
    cw_str_add(&out, "\033[J");
    put(cw_str_text(&out), out.len);
}
