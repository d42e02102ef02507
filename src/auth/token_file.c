/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/secret.h"
#include "base/mem.h"
#include "base/str.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define SPACES " \t\r"

static const char *const kinds[CW_AUTH_KINDS] = {"tenant", "worker", "operator"};

static void forget(char *text, size_t n)
{
    explicit_bzero(text, n);
    cw_mem_free(text);
}

/* Reads the whole file. The caller frees the text with forget(). */
static int read_file(const char *file, char **ret_text, bool *ret_readable_by_all,
                     struct cw_err *err)
{
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cw_err_errno(err, errno, "token file %s", file);
    char *text = cw_mem_new(FILE_BYTES_MAX + 1);
    size_t n = 0;
    ssize_t got = 0;
    while (n < FILE_BYTES_MAX && (got = read(fd, &text[n], FILE_BYTES_MAX - n)) > 0)
        n += (size_t)got;
    int failure = got < 0 || fstat(fd, &st) != 0 ? errno : 0;
    close(fd);
    if (!failure && n < FILE_BYTES_MAX && strlen(text) == n) {
        *ret_text = text;
        *ret_readable_by_all = (st.st_mode & S_IROTH) != 0;
        return 0;
    }
    forget(text, FILE_BYTES_MAX);
    if (failure)
        return cw_err_errno(err, failure, "token file %s", file);
    return cw_err_set(err, CW_E_INVALID, "token file %s: is too large, or holds a zero byte", file);
}

int cw_auth_token_check(const char *text, struct cw_err *err)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return cw_err_set(err, CW_E_INVALID,
                              "a token consists of printable ASCII characters without spaces");
    if (n < CW_AUTH_TOKEN_MIN || n > CW_AUTH_TOKEN_MAX)
        return cw_err_set(err, CW_E_INVALID, "a token has %d to %d characters, this one has %zu",
                          CW_AUTH_TOKEN_MIN, CW_AUTH_TOKEN_MAX, n);
    return 0;
}

/* Splits a line at spaces into at most `max` words, in place. Returns how many there are; max + 1 if
 * there are more. */
static size_t split(char *line, char **ret_words, size_t max)
{
    size_t n = 0;
    for (char *word = line + strspn(line, SPACES); *word; n++) {
        if (n == max)
            return max + 1;
        ret_words[n] = word;
        word += strcspn(word, SPACES);
        if (*word)
            *word++ = '\0';
        word += strspn(word, SPACES);
    }
    return n;
}

static bool find_kind(const char *word, enum cw_auth_kind *ret_kind)
{
    for (int i = 0; i < CW_AUTH_KINDS; i++) {
        if (cw_str_eq(word, kinds[i])) {
            *ret_kind = (enum cw_auth_kind)i;
            return true;
        }
    }
    return false;
}

static int add(struct cw_auth_tokens *tokens, char *const *words, struct cw_err *err)
{
    struct cw_auth_token token = {.n = strlen(words[2])};
    int rc = cw_name_check_tenant(words[0], err);
    if (rc == 0 && !find_kind(words[1], &token.kind))
        rc = cw_err_set(err, CW_E_INVALID, "the second word is none of tenant, worker, operator");
    if (rc == 0)
        rc = cw_auth_token_check(words[2], err);
    if (rc == 0 && cw_auth_tokens_find(tokens, words[2]))
        rc = cw_err_set(err, CW_E_INVALID, "the same token stands in an earlier line");
    if (rc != 0)
        return rc;
    token.name = cw_mem_strdup(words[0]);
    token.text = cw_mem_strdup(words[2]);
    token.id = ++tokens->last_id;
    CW_GROW(tokens->v, tokens->n, tokens->cap);
    tokens->v[tokens->n++] = token;
    return 0;
}

static int parse_line(struct cw_auth_tokens *tokens, char *line, struct cw_err *err)
{
    char *words[3];
    size_t n = split(line, words, CW_ARRAY_LEN(words));
    if (n == 0 || words[0][0] == '#')
        return 0;
    if (n != CW_ARRAY_LEN(words))
        return cw_err_set(err, CW_E_INVALID, "a line is NAME KIND TOKEN");
    return add(tokens, words, err);
}

/* Calls parse for each line of the text, which it changes. */
static int each_line(char *text, const char *file,
                     int (*parse)(struct cw_auth_tokens *tokens, char *line, struct cw_err *err),
                     struct cw_auth_tokens *tokens, struct cw_err *err)
{
    size_t number = 1;
    for (char *line = text; *line; number++) {
        char *end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        int rc = parse(tokens, line, err);
        if (rc != 0) {
            cw_err_wrap(err, "token file %s, line %zu", file, number);
            return rc;
        }
        line = next;
    }
    return 0;
}

int cw_auth_tokens_parse(const char *text, const char *file, struct cw_auth_tokens *ret_tokens,
                         struct cw_err *err)
{
    struct cw_auth_tokens tokens = {0};
    char *copy = cw_mem_strdup(text);
    int rc = each_line(copy, file, parse_line, &tokens, err);
    forget(copy, strlen(text));
    if (rc == 0 && tokens.n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "token file %s: there is no token in it", file);
    if (rc != 0)
        cw_auth_tokens_fini(&tokens);
    else
        *ret_tokens = tokens;
    return rc;
}

int cw_auth_tokens_read(const char *file, struct cw_auth_tokens *ret_tokens, struct cw_err *err)
{
    char *text = NULL;
    bool readable = false;
    int rc = read_file(file, &text, &readable, err);
    if (rc != 0)
        return rc;
    rc = cw_auth_tokens_parse(text, file, ret_tokens, err);
    forget(text, strlen(text));
    if (rc == 0)
        ret_tokens->readable_by_all = readable;
    return rc;
}

void cw_auth_tokens_fini(struct cw_auth_tokens *tokens)
{
    for (size_t i = 0; i < tokens->n; i++) {
        cw_mem_free(tokens->v[i].name);
        forget(tokens->v[i].text, tokens->v[i].n);
    }
    cw_mem_free(tokens->v);
    *tokens = (struct cw_auth_tokens){0};
}

void cw_auth_tokens_keep_ids(struct cw_auth_tokens *now, const struct cw_auth_tokens *before)
{
    now->last_id = before->last_id;
    for (size_t i = 0; i < now->n; i++) {
        struct cw_auth_token *token = &now->v[i];
        const struct cw_auth_token *was = cw_auth_tokens_find(before, token->text);
        bool same = was && was->kind == token->kind && cw_str_eq(was->name, token->name);
        token->id = same ? was->id : ++now->last_id;
    }
}

const struct cw_auth_token *cw_auth_tokens_find(const struct cw_auth_tokens *tokens,
                                                const char *text)
{
    const struct cw_auth_token *found = NULL;
    size_t n = strlen(text);
    for (size_t i = 0; i < tokens->n; i++)
        if (cw_secret_equal(text, n, tokens->v[i].text, tokens->v[i].n))
            found = &tokens->v[i];
    return found;
}

bool cw_auth_tokens_have_id(const struct cw_auth_tokens *tokens, uint64_t id)
{
    for (size_t i = 0; i < tokens->n; i++)
        if (tokens->v[i].id == id)
            return true;
    return false;
}

/* Takes the first token; `tokens` collects it. */
static int parse_own(struct cw_auth_tokens *tokens, char *line, struct cw_err *err)
{
    char *words[3];
    size_t n = split(line, words, CW_ARRAY_LEN(words));
    if (n == 0 || words[0][0] == '#' || tokens->n > 0)
        return 0;
    if (n != 1 && n != CW_ARRAY_LEN(words))
        return cw_err_set(err, CW_E_INVALID, "a line is a token, or NAME KIND TOKEN");
    int rc = cw_auth_token_check(words[n - 1], err);
    if (rc != 0)
        return rc;
    CW_GROW(tokens->v, tokens->n, tokens->cap);
    tokens->v[tokens->n++] =
        (struct cw_auth_token){.text = cw_mem_strdup(words[n - 1]), .n = strlen(words[n - 1])};
    return 0;
}

int cw_auth_own_token(const char *file, char ret_text[CW_AUTH_TOKEN_MAX + 1], struct cw_err *err)
{
    struct cw_auth_tokens tokens = {0};
    char *text = NULL;
    bool readable = false;
    int rc = read_file(file, &text, &readable, err);
    if (rc != 0)
        return rc;
    size_t n = strlen(text);
    rc = each_line(text, file, parse_own, &tokens, err);
    forget(text, n);
    if (rc == 0 && tokens.n == 0)
        rc = cw_err_set(err, CW_E_INVALID, "token file %s: there is no token in it", file);
    if (rc == 0)
        memcpy(ret_text, tokens.v[0].text, tokens.v[0].n + 1);
    cw_auth_tokens_fini(&tokens);
    return rc;
}
