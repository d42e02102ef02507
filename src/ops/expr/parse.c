/* SPDX-License-Identifier: Apache-2.0 */
/* Parses an expression to postfix steps, by precedence climbing over a lexer that looks one token
 * ahead. The precedences are those of Python, from loose to tight: or, and, not, comparisons, + -,
 * * / %, unary -, **. The depth of nesting is limited, and with it the recursion. */
#include "ops/expr/expr_scan.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

enum token_kind { TOKEN_END, TOKEN_NUMBER, TOKEN_WORD, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    const char *s;
    size_t n;
};
struct parser {
    const char *text, *at; /* at: the position behind the token */
    struct token token;
    struct cw_expr *expr;
    size_t depth;  /* depth of nesting */
    size_t values; /* number of values on the stack at this point of the expression */
    struct cw_err *err;
};

static const struct {
    const char *s;
    enum cw_expr_code code;
    /* precedence of a binary operator: a higher one binds tighter; 0: it is not binary */
    int level;
} signs[] = {{"or", CW_EXPR_OR, 1}, {"and", CW_EXPR_AND, 2}, {"not", CW_EXPR_NOT, 0},
             {"<=", CW_EXPR_LE, 4}, {">=", CW_EXPR_GE, 4},   {"==", CW_EXPR_EQ, 4},
             {"!=", CW_EXPR_NE, 4}, {"<", CW_EXPR_LT, 4},    {">", CW_EXPR_GT, 4},
             {"+", CW_EXPR_ADD, 5}, {"-", CW_EXPR_SUB, 5},   {"**", CW_EXPR_POW, 0},
             {"*", CW_EXPR_MUL, 6}, {"/", CW_EXPR_DIV, 6},   {"%", CW_EXPR_MOD, 6}};
enum { LEVEL_NOT = 3, LEVEL_COMPARE = 4 };

static const struct {
    const char *name;
    enum cw_expr_code code;
    size_t args_min, args_max;
} functions[] = {{"min", CW_EXPR_MIN, 2, 64},
                 {"max", CW_EXPR_MAX, 2, 64},
                 {"clip", CW_EXPR_MAX, 3, 3},
                 {"abs", CW_EXPR_ABS, 1, 1},
                 {"sqrt", CW_EXPR_SQRT, 1, 1},
                 {"exp", CW_EXPR_EXP, 1, 1},
                 {"log", CW_EXPR_LOG, 1, 1},
                 {"floor", CW_EXPR_FLOOR, 1, 1},
                 {"ceil", CW_EXPR_CEIL, 1, 1},
                 {"round", CW_EXPR_ROUND, 1, 1},
                 {"where", CW_EXPR_WHERE, 3, 3},
                 {"isnan", CW_EXPR_ISNAN, 1, 1},
                 {"isfinite", CW_EXPR_ISFINITE, 1, 1},
                 {"log2", CW_EXPR_LOG2, 1, 1},
                 {"sin", CW_EXPR_SIN, 1, 1},
                 {"cos", CW_EXPR_COS, 1, 1},
                 {"tan", CW_EXPR_TAN, 1, 1},
                 {"atan2", CW_EXPR_ATAN2, 2, 2},
                 {"pow", CW_EXPR_POW, 2, 2}};

static size_t column(const struct parser *p)
{
    return (size_t)(p->token.s - p->text) + 1;
}

static int fail(const struct parser *p, const char *what)
{
    return cw_err_set(p->err, CW_E_INVALID, "option expr: column %zu: %s in \"%.200s\"", column(p),
                      what, p->text);
}

static bool is_word(const struct parser *p, const char *s)
{
    return p->token.kind != TOKEN_END && p->token.n == strlen(s) &&
           memcmp(p->token.s, s, p->token.n) == 0;
}

static int next(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
    const char *s = p->at;
    struct token *t = &p->token;
    *t = (struct token){TOKEN_END, s, 0};
    if (isdigit((unsigned char)s[0]) || (s[0] == '.' && isdigit((unsigned char)s[1]))) {
        *t = (struct token){TOKEN_NUMBER, s, cw_expr_number_length(s)};
    } else if (isalpha((unsigned char)s[0]) || s[0] == '_') {
        *t = (struct token){TOKEN_WORD, s, cw_expr_word_length(s)};
    } else if (s[0] != '\0') {
        bool three = strncmp(s, "...", 3) == 0;
        if (!three && !strchr("+-*/%()<>=!,[]:", s[0]))
            return fail(p, s[0] == '&' || s[0] == '|'    ? "write `and`, `or`"
                           : s[0] == '\'' || s[0] == '"' ? "expressions have numbers, and no texts"
                                                         : "a character that means nothing here");
        bool two = (s[1] == '=' && strchr("<>=!", s[0])) || (s[0] == '*' && s[1] == '*');
        *t = (struct token){TOKEN_SIGN, s, three ? 3 : two ? 2 : 1};
        if (is_word(p, "=") || is_word(p, "!"))
            return fail(p,
                        s[0] == '=' ? "`=` alone (write == to compare)" : "`!` alone (write not)");
    }
    p->at += t->n;
    return 0;
}

static struct cw_expr_step *emit(struct parser *p, enum cw_expr_code code, size_t at)
{
    if (p->expr->n >= CW_EXPR_STEPS_MAX)
        return NULL;
    struct cw_expr_step *step = &p->expr->steps[p->expr->n++];
    step->code = code;
    step->column = at;
    if (code == CW_EXPR_NUMBER || code == CW_EXPR_NAME)
        p->values++;
    else if (code == CW_EXPR_WHERE)
        p->values -= 2;
    else if (code < CW_EXPR_NOT)
        p->values--;
    p->expr->stack_n = CW_MAX(p->expr->stack_n, p->values);
    return step;
}

static int emit_checked(struct parser *p, enum cw_expr_code code, size_t at)
{
    return emit(p, code, at) ? 0 : fail(p, "too long an expression");
}

static int parse_level(struct parser *p, int level);

/* Parses a nested part. All recursion goes through this function, which limits its depth. */
static int parse_inside(struct parser *p, int level)
{
    if (p->depth >= CW_EXPR_DEPTH_MAX)
        return fail(p, "nested too deeply");
    p->depth++;
    int rc = parse_level(p, level);
    p->depth--;
    return rc;
}

static int expect(struct parser *p, const char *sign, const char *what)
{
    return is_word(p, sign) ? next(p) : fail(p, what);
}

static int parse_number(struct parser *p)
{
    char text[64];
    if (p->token.n >= sizeof(text))
        return fail(p, "too long a number");
    memcpy(text, p->token.s, p->token.n);
    text[p->token.n] = '\0';
    bool is_float = strpbrk(text, ".eE") != NULL;
    int64_t i = 0;
    double f = 0;
    if (is_float ? !cw_str_to_f64(text, &f) : !cw_str_to_i64(text, &i))
        return fail(p, "a number that is too large");
    struct cw_expr_step *step = emit(p, CW_EXPR_NUMBER, column(p));
    if (!step)
        return fail(p, "too long an expression");
    step->is_float = is_float;
    step->i = i;
    step->f = f;
    return next(p);
}

/* Parses the arguments of a function; the parser stands behind its name, at "(". min and max take
 * their arguments two at a time; clip is max followed by min. */
static int parse_call(struct parser *p, size_t f, size_t at)
{
    size_t args = 0;
    int rc = next(p);
    while (rc == 0) {
        rc = parse_inside(p, 1);
        args++;
        bool clip_end = strcmp(functions[f].name, "clip") == 0 && args == 3;
        if (rc == 0 && args > 1 && functions[f].code != CW_EXPR_WHERE)
            rc = emit_checked(p, clip_end ? CW_EXPR_MIN : functions[f].code, at);
        if (rc < 0 || !is_word(p, ","))
            break;
        if (args == functions[f].args_max)
            return fail(p, "too many arguments");
        rc = next(p);
    }
    if (rc == 0)
        rc = expect(p, ")", "`)` missing");
    if (rc == 0 && args < functions[f].args_min)
        return fail(p, "too few arguments before this");
    if (rc == 0 && (functions[f].args_max == 1 || functions[f].code == CW_EXPR_WHERE))
        rc = emit_checked(p, functions[f].code, at);
    return rc;
}

/* Parses a place in brackets, which may count from the back. */
static int parse_place(struct parser *p, int64_t *ret_place)
{
    char text[24] = "-";
    const bool minus = is_word(p, "-");
    int rc = minus ? next(p) : 0;
    if (rc < 0)
        return rc;
    if (p->token.kind != TOKEN_NUMBER || p->token.n + 2 > sizeof(text))
        return fail(p, "a whole number is missing");
    memcpy(text + minus, p->token.s, p->token.n);
    text[p->token.n + minus] = '\0';
    return cw_str_to_i64(text, ret_place) ? next(p) : fail(p, "a whole number is missing");
}

/* Parses one of: 3, 1:4, 1:, :4, :, ... */
static int parse_index(struct parser *p, struct cw_expr_part *part)
{
    if (part->n == CW_ARRAY_LEN(part->v))
        return fail(p, "too many dimensions");
    struct cw_expr_index *index = &part->v[part->n++];
    int rc = 0;
    if (is_word(p, "...")) {
        if (part->has_rest)
            return fail(p, "a second `...`");
        part->has_rest = true;
        index->kind = CW_EXPR_INDEX_REST;
        return next(p);
    }
    if (!is_word(p, ":")) {
        index->has_begin = true;
        rc = parse_place(p, &index->begin);
    }
    if (rc < 0 || !is_word(p, ":"))
        return rc;
    index->kind = CW_EXPR_INDEX_RANGE;
    rc = next(p);
    index->has_end = rc == 0 && !is_word(p, "]") && !is_word(p, ",");
    return index->has_end ? parse_place(p, &index->end) : rc;
}

/* Makes room for what a name stands for if it is not the whole field. */
static struct cw_expr_part *add_part(struct parser *p, struct cw_expr_step *step)
{
    if (p->expr->parts_n == CW_EXPR_PARTS_MAX) {
        fail(p, "too many parts of fields");
        return NULL;
    }
    step->part = ++p->expr->parts_n;
    return &p->expr->parts[step->part - 1];
}

/* Parses [...] behind a name; the parser stands at the bracket. */
static int parse_part(struct parser *p, struct cw_expr_step *step)
{
    struct cw_expr_part *part = add_part(p, step);
    if (!part)
        return CW_E_INVALID;
    int rc = next(p);
    while (rc == 0) {
        rc = parse_index(p, part);
        if (rc < 0 || !is_word(p, ","))
            break;
        rc = next(p);
    }
    return rc < 0 ? rc : expect(p, "]", "`]` missing");
}

/* Makes the step of a name. */
static int parse_name(struct parser *p, const struct token *word, size_t at, bool is_length)
{
    struct cw_expr_step *step = emit(p, CW_EXPR_NAME, at);
    if (!step)
        return fail(p, "too long an expression");
    memcpy(step->name, word->s, word->n);
    step->is_length = is_length;
    if (is_length)
        return add_part(p, step) ? 0 : CW_E_INVALID;
    return is_word(p, "[") ? parse_part(p, step) : 0;
}

/* Parses len(name); the parser stands at "(". */
static int parse_length(struct parser *p)
{
    int rc = next(p);
    const struct token word = p->token;
    const size_t at = column(p);
    if (rc == 0 && (word.kind != TOKEN_WORD || word.n >= CW_FIELD_NAME_BYTES))
        return fail(p, "the name of a field is missing");
    if (rc == 0)
        rc = next(p);
    if (rc == 0)
        rc = parse_name(p, &word, at, true);
    return rc < 0 ? rc : expect(p, ")", "`)` missing (len takes the name of a field)");
}

static int unknown_function(const struct parser *p)
{
    CW_STR_AUTO text = {0};
    cw_str_add(&text, "unknown function (there are");
    for (size_t i = 0; i < CW_ARRAY_LEN(functions); i++)
        cw_str_addf(&text, " %s", functions[i].name);
    cw_str_add(&text, " len)");
    return fail(p, cw_str_text(&text));
}

static int parse_word(struct parser *p)
{
    struct token word = p->token;
    size_t at = column(p);
    if (word.n >= CW_FIELD_NAME_BYTES)
        return fail(p, "too long a name");
    int rc = next(p);
    if (rc < 0)
        return rc;
    if (!is_word(p, "("))
        return parse_name(p, &word, at, false);
    if (word.n == 3 && memcmp(word.s, "len", 3) == 0)
        return parse_length(p);
    for (size_t i = 0; i < CW_ARRAY_LEN(functions); i++) {
        if (strlen(functions[i].name) == word.n && memcmp(functions[i].name, word.s, word.n) == 0)
            return parse_call(p, i, at);
    }
    p->token = word;
    return unknown_function(p);
}

static int parse_primary(struct parser *p)
{
    if (p->token.kind == TOKEN_NUMBER)
        return parse_number(p);
    if (is_word(p, "(")) {
        int rc = next(p);
        if (rc == 0)
            rc = parse_inside(p, 1);
        return rc < 0 ? rc : expect(p, ")", "`)` missing");
    }
    if (p->token.kind == TOKEN_WORD && !is_word(p, "and") && !is_word(p, "or") &&
        !is_word(p, "not"))
        return parse_word(p);
    return fail(p, p->token.kind == TOKEN_END ? "a value is missing at the end"
                                              : "a value is missing");
}

/* Parses a unary operator: -a ** b means -(a ** b), and a ** -b is allowed. */
static int parse_unary(struct parser *p)
{
    size_t at = column(p);
    bool minus = is_word(p, "-");
    if (minus || is_word(p, "+")) {
        int rc = next(p);
        if (rc == 0)
            rc = p->depth < CW_EXPR_DEPTH_MAX ? 0 : fail(p, "nested too deeply");
        p->depth++;
        if (rc == 0)
            rc = parse_unary(p);
        p->depth--;
        return rc < 0 || !minus ? rc : emit_checked(p, CW_EXPR_NEG, at);
    }
    int rc = parse_primary(p);
    if (rc < 0 || !is_word(p, "**"))
        return rc;
    at = column(p);
    rc = p->depth < CW_EXPR_DEPTH_MAX ? next(p) : fail(p, "nested too deeply");
    p->depth++;
    if (rc == 0)
        rc = parse_unary(p);
    p->depth--;
    return rc < 0 ? rc : emit_checked(p, CW_EXPR_POW, at);
}

/* Whether the token is a binary operator that binds at least as tightly as level; *ret_sign
 * receives its index. */
static bool binary_at(const struct parser *p, int level, size_t *ret_sign)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(signs); i++) {
        if (signs[i].level >= level && is_word(p, signs[i].s)) {
            *ret_sign = i;
            return true;
        }
    }
    return false;
}

static int parse_level(struct parser *p, int level)
{
    size_t at = column(p), sign = 0;
    int rc, last = 0;
    if (is_word(p, "not") && level <= LEVEL_NOT) {
        rc = next(p);
        if (rc == 0)
            rc = parse_inside(p, LEVEL_NOT);
        if (rc == 0)
            rc = emit_checked(p, CW_EXPR_NOT, at);
    } else {
        rc = parse_unary(p);
    }
    while (rc == 0 && binary_at(p, CW_MAX(level, 1), &sign)) {
        at = column(p);
        if (signs[sign].level == LEVEL_COMPARE && last == LEVEL_COMPARE)
            return fail(p, "comparisons do not chain (write a < b and b < c)");
        last = signs[sign].level;
        rc = next(p);
        if (rc == 0)
            rc = parse_inside(p, last + 1);
        if (rc == 0)
            rc = emit_checked(p, signs[sign].code, at);
    }
    return rc;
}

int cw_expr_parse(const char *text, struct cw_expr **ret_expr, struct cw_err *err)
{
    if (strlen(text) > CW_EXPR_TEXT_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option expr: longer than %d characters",
                          CW_EXPR_TEXT_MAX);
    struct parser p = {
        .text = text, .at = text, .token = {.s = text}, .expr = CW_NEW(struct cw_expr), .err = err};
    int rc = next(&p);
    if (rc == 0)
        rc = parse_level(&p, 1);
    if (rc == 0 && p.token.kind != TOKEN_END)
        rc = fail(&p, "an operator is missing before this");
    if (rc < 0)
        cw_expr_free(p.expr);
    else
        *ret_expr = p.expr;
    return rc;
}

void cw_expr_free(struct cw_expr *expr)
{
    cw_mem_free(expr);
}
