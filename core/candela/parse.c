/* Two stacks, one of values, one of operators and open calls: no recursion on what is typed. */
#include "core/candela/parse.h"

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/candela/skeleton.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 8, LITERAL_MAX = 1 << 20, SIZE_EXPR_MAX = 1 << 24 };

struct value {
    bool is_number;
    double number;
    uint32_t id;
};
enum function { F_GROUP, F_AS_CONTIGUOUS, F_TRANSPOSE, F_VIEW, F_SLICE, F_BROADCAST, F_CACHE, F_MATMUL, F_SUM, F_NOOP, F_BAKED,
                F_ARANGE, F_ONES, F_ZEROS, F_SLOT, F_N };
static const struct {
    const char *name;
    uint8_t least, most;
    const char *right;
} functions[F_N] = {
    [F_GROUP] = {"(", 1, 1, "one expression"},
    [F_AS_CONTIGUOUS] = {"as_contiguous", 1, 1, "one tensor"},
    [F_TRANSPOSE] = {"transpose", 1, 3, "a tensor, or a tensor and two axes"},
    [F_VIEW] = {"view", 2, 5, "a tensor and 1 to 4 dimensions"},
    [F_SLICE] = {"slice", 3, 4, "a tensor, from, to and perhaps an axis"},
    [F_BROADCAST] = {"broadcast", 2, 5, "a tensor and 1 to 4 dimensions"},
    [F_CACHE] = {"cache", 1, 1, "one tensor"},
    [F_MATMUL] = {"matmul", 2, 2, "two tensors"},
    [F_SUM] = {"sum", 1, 1, "one tensor"},
    [F_NOOP] = {"noop", 1, 1, "one tensor"},
    [F_BAKED] = {"baked", 1, ARGS_MAX, "an expression over slots, and a tensor for each slot"},
    [F_ARANGE] = {"arange", 1, 1, "one number"},
    [F_ONES] = {"ones", 1, 4, "1 to 4 dimensions"},
    [F_ZEROS] = {"zeros", 1, 4, "1 to 4 dimensions"},
    [F_SLOT] = {"slot", 1, 4, "1 to 4 dimensions"},
};

struct op { /* an operator, '~' for a sign, '(' for an open call */
    char sign;
    uint8_t function;
    size_t values, at; /* '(': height of the value stack below its arguments */
};
struct name {
    const char *text;
    uint32_t id;
};
struct parser {
    struct psc_lazy *l;
    const char *s;
    size_t n, at, line_at; /* line_at: where the present line begins */
    uint64_t line;
    struct value *values;
    struct op *ops;
    struct name *names;
    float *data;
    size_t value_n, value_cap, op_n, op_cap, name_n, name_cap, data_cap;
    struct psc_map by_name;
    uint32_t unknown_n, slot_n, baked_n;
    struct psc_candela_options options; /* of what is baked */
    struct psc_error *reterr;
};

static enum psc_status fail_at(const struct parser *p, size_t at, const char *sentence)
{
    return psc_fail_at(p->reterr, PSC_ERR_PARSE, p->line, at - p->line_at + 1, at, "%s", sentence);
}

static enum psc_status settle(const struct parser *p)
{
    if (!p->l->error.status)
        return PSC_OK;
    if (p->l->error.status == PSC_ERR_NOMEM)
        return psc_fail_nomem(p->reterr);
    return psc_fail_at(p->reterr, p->l->error.status, p->line, 0, p->at, "%s", p->l->error.text);
}

static bool push_value(struct parser *p, struct value v)
{
    if (!psc_grow(&p->values, p->value_n + 1, &p->value_cap, sizeof *p->values))
        return false;
    p->values[p->value_n++] = v;
    return true;
}

static bool push_op(struct parser *p, struct op op)
{
    if (!psc_grow(&p->ops, p->op_n + 1, &p->op_cap, sizeof *p->ops))
        return false;
    p->ops[p->op_n++] = op;
    return true;
}

/* ---- operators ---------------------------------------------------------------------------------------- */

static bool broadcast_both(struct parser *p, uint32_t *a, uint32_t *b)
{
    const struct psc_strides x = p->l->nodes[*a].layout, y = p->l->nodes[*b].layout;
    struct psc_lazy_arg arg = {.rank = x.rank > y.rank ? x.rank : y.rank};
    struct psc_strides both = {.rank = arg.rank};
    for (uint32_t d = 0; d < arg.rank; d++) {
        uint64_t u = d < arg.rank - x.rank ? 1 : x.shape[d - (arg.rank - x.rank)];
        uint64_t v = d < arg.rank - y.rank ? 1 : y.shape[d - (arg.rank - y.rank)];
        if (u != v && u != 1 && v != 1)
            return false;
        both.shape[d] = arg.shape[d] = u == 1 ? v : u;
    }
    if (!psc_layout_same_shape(&x, &both))
        *a = psc_lazy_unary(p->l, NULL, PSC_LAZY_BROADCAST, *a, &arg);
    if (!psc_layout_same_shape(&y, &both))
        *b = psc_lazy_unary(p->l, NULL, PSC_LAZY_BROADCAST, *b, &arg);
    return true;
}

static double fold(char sign, double a, double b)
{
    return sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
}

static enum psc_status combine(struct parser *p, char sign, size_t at)
{
    static const char signs[] = "+-*/";
    struct value b = p->values[--p->value_n], a = p->values[--p->value_n], r = {0};
    double alone = b.is_number ? b.number : a.is_number ? a.number : 0;
    if (a.is_number && b.is_number)
        alone = fold(sign, a.number, b.number);
    if (!(fabs(alone) <= (double)FLT_MAX))
        return fail_at(p, at, "a number that is too large or none at all: elements are f32");
    if (a.is_number && b.is_number) {
        r = (struct value){true, fold(sign, a.number, b.number), 0};
    } else if (b.is_number) {
        r.id = psc_lazy_scalar(p->l, NULL, a.id, sign, (float)b.number);
    } else if (a.is_number) {
        if (sign == '/')
            return fail_at(p, at, "a number cannot be divided by a tensor: only a tensor by a number or a tensor");
        if (sign == '-')
            r.id = psc_lazy_scalar(p->l, NULL, psc_lazy_scalar(p->l, NULL, b.id, '*', -1), '+', (float)a.number);
        else
            r.id = psc_lazy_scalar(p->l, NULL, b.id, sign, (float)a.number);
    } else {
        enum psc_lazy_op op = (enum psc_lazy_op)(PSC_LAZY_ADD + (strchr(signs, sign) - signs));
        (void)broadcast_both(p, &a.id, &b.id); /* when they do not fit, the op says so */
        r.id = psc_lazy_binary(p->l, NULL, op, a.id, b.id);
    }
    enum psc_status status = settle(p);
    return status ? status : push_value(p, r) ? PSC_OK : psc_fail_nomem(p->reterr);
}

static enum psc_status apply_top(struct parser *p)
{
    struct op op = p->ops[--p->op_n];
    if (op.sign != '~')
        return combine(p, op.sign, op.at);
    struct value *v = &p->values[p->value_n - 1];
    if (v->is_number)
        v->number = -v->number;
    else
        v->id = psc_lazy_scalar(p->l, NULL, v->id, '*', -1);
    return settle(p);
}

static int strength(char sign)
{
    return sign == '~' ? 3 : sign == '*' || sign == '/' ? 2 : sign == '(' ? 0 : 1;
}

static enum psc_status reduce(struct parser *p, int down_to)
{
    enum psc_status status = PSC_OK;
    while (!status && p->op_n && p->ops[p->op_n - 1].sign != '(' && strength(p->ops[p->op_n - 1].sign) >= down_to)
        status = apply_top(p);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static enum psc_status make_edge(struct parser *p, enum function f, const struct psc_lazy_arg *dims, size_t at,
                                 struct value *ret)
{
    struct psc_strides layout;
    enum psc_status status = psc_layout_packed(dims->rank, dims->shape, &layout, p->reterr);
    if (status)
        return status;
    uint64_t len = psc_layout_len(&layout);
    if (len > SIZE_EXPR_MAX)
        return fail_at(p, at, "a tensor that is typed has at most 16,777,216 elements");
    if (!psc_grow(&p->data, (size_t)len + 1, &p->data_cap, sizeof *p->data))
        return psc_fail_nomem(p->reterr);
    double tens = f == F_SLOT ? pow(10, (double)p->slot_n++) : 1;
    for (uint64_t i = 0; i < len; i++)
        p->data[i] = f == F_SLOT ? (float)((double)(i + 1) * fmin(tens, 1e20)) : f == F_ARANGE ? (float)i : f == F_ONES ? 1.0f : 0.0f;
    ret->id = f == F_SLOT ? psc_lazy_slot(p->l, NULL, &layout) : psc_lazy_edge(p->l, NULL, dims->rank, dims->shape, p->data);
    if (f == F_SLOT)
        psc_lazy_stand_in(p->l, ret->id, p->data);
    return settle(p);
}

static enum psc_status bake(struct parser *p, const struct value *v, uint32_t n, size_t at, struct value *ret)
{
    uint32_t inputs[ARGS_MAX];
    struct psc_error error = {0};
    if (p->baked_n++ >= PSC_LAZY_BAKED_MAX)
        return fail_at(p, at, "a text bakes at most 256 expressions");
    for (uint32_t k = 1; k < n; k++)
        inputs[k - 1] = v[k].id;
    enum psc_status status = psc_lazy_bake(p->l, NULL, v[0].id, &p->options, inputs, n - 1, &ret->id, &error);
    return status == PSC_ERR_NOMEM ? psc_fail_nomem(p->reterr) : status ? fail_at(p, at, error.text) : settle(p);
}

/* Numbers among the arguments, as whole ones. */
static bool whole(const struct value *v, uint32_t n, uint64_t *ret)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!v[k].is_number || !(v[k].number >= 0) || v[k].number > 1e15 || floor(v[k].number) != v[k].number)
            return false;
        ret[k] = (uint64_t)v[k].number;
    }
    return true;
}

static enum psc_status takes(const struct parser *p, const struct op *open)
{
    return psc_fail_at(p->reterr, PSC_ERR_PARSE, p->line, open->at - p->line_at + 1, open->at, "%s takes %s",
                       functions[open->function].name, functions[open->function].right);
}

/* One that no tensor has stays one. */
static uint32_t axis(uint64_t number)
{
    return number < PSC_LAZY_DIMS ? (uint32_t)number : PSC_LAZY_DIMS;
}

static enum psc_status call(struct parser *p, const struct op *open, struct value *ret)
{
    static const enum psc_lazy_op ops[F_N] = {[F_AS_CONTIGUOUS] = PSC_LAZY_AS_CONTIGUOUS, [F_TRANSPOSE] = PSC_LAZY_TRANSPOSE,
                                              [F_VIEW] = PSC_LAZY_VIEW, [F_SLICE] = PSC_LAZY_SLICE,
                                              [F_BROADCAST] = PSC_LAZY_BROADCAST, [F_SUM] = PSC_LAZY_SUM,
                                              [F_NOOP] = PSC_LAZY_NOOP};
    enum function f = (enum function)open->function;
    const struct value *v = p->values + open->values;
    uint32_t n = (uint32_t)(p->value_n - open->values), tensors = f == F_MATMUL ? 2 : f == F_BAKED ? n : f >= F_ARANGE ? 0 : 1;
    struct psc_lazy_arg arg = {0};
    uint64_t numbers[ARGS_MAX] = {0};
    *ret = v[0];
    if (f == F_GROUP && n == 1)
        return PSC_OK;
    bool fine = n >= functions[f].least && n <= functions[f].most && !(f == F_TRANSPOSE && n == 2);
    for (uint32_t k = 0; fine && k < tensors; k++)
        fine = !v[k].is_number;
    if (!fine)
        return takes(p, open);
    if (!whole(v + tensors, n - tensors, numbers))
        return fail_at(p, open->at, "dimensions, axes and bounds are whole numbers, from 0 to 10 to the 15th");
    *ret = (struct value){0};
    arg.rank = n - tensors < PSC_LAZY_DIMS ? n - tensors : PSC_LAZY_DIMS;
    memcpy(arg.shape, numbers, sizeof arg.shape);
    if (f >= F_ARANGE)
        return make_edge(p, f, &arg, open->at, ret);
    if (f == F_BAKED)
        return bake(p, v, n, open->at, ret);
    arg.lo = numbers[0];
    arg.hi = numbers[1];
    arg.axis = axis(f == F_SLICE ? numbers[2] : numbers[0]);
    arg.other = axis(numbers[1]);
    if (f == F_CACHE)
        ret->id = psc_lazy_cache(p->l, NULL, v[0].id);
    else if (f == F_MATMUL)
        ret->id = psc_lazy_matmul(p->l, NULL, v[0].id, v[1].id);
    else
        ret->id = psc_lazy_unary(p->l, NULL, f == F_TRANSPOSE && n == 3 ? PSC_LAZY_TRANSPOSE_AXES : ops[f], v[0].id, &arg);
    return settle(p);
}

static enum psc_status close_call(struct parser *p)
{
    struct value result;
    enum psc_status status = reduce(p, 1);
    if (status)
        return status;
    if (!p->op_n)
        return fail_at(p, p->at, "a ')' without '('");
    struct op open = p->ops[--p->op_n];
    status = call(p, &open, &result);
    p->value_n = open.values;
    return status ? status : push_value(p, result) ? PSC_OK : psc_fail_nomem(p->reterr);
}

/* ---- names and literals ------------------------------------------------------------------------------- */

static bool is_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!first && c >= '0' && c <= '9');
}

static uint32_t find_name(const struct parser *p, const char *s, size_t n)
{
    uint32_t at;
    if (!psc_map_get(&p->by_name, psc_hash_bytes(s, n, 0), &at) || strlen(p->names[at].text) != n ||
        memcmp(p->names[at].text, s, n))
        return PSC_NONE;
    return at;
}

static bool set_name(struct parser *p, const char *s, size_t n, uint32_t id)
{
    uint32_t old, at = find_name(p, s, n);
    if (at != PSC_NONE) {
        p->names[at].id = id;
        return true;
    }
    const char *text = psc_arena_strndup(&p->l->arena, s, n);
    if (!text || !psc_grow(&p->names, p->name_n + 1, &p->name_cap, sizeof *p->names) ||
        !psc_map_put(&p->by_name, psc_hash_bytes(s, n, 0), (uint32_t)p->name_n, &old))
        return false;
    p->names[p->name_n++] = (struct name){text, id};
    return true;
}

/* An edge for a name that was given nothing. */
static enum psc_status unknown(struct parser *p, const char *s, size_t n, struct value *ret)
{
    float data[4], scale = 1;
    for (uint32_t k = 0; k < p->unknown_n && k < 5; k++)
        scale *= 10;
    p->unknown_n++;
    for (int i = 0; i < 4; i++)
        data[i] = (float)(i + 1) * scale;
    char *text = psc_arena_strndup(&p->l->arena, s, n);
    if (!text)
        return psc_fail_nomem(p->reterr);
    ret->id = psc_lazy_edge(p->l, text, 1, (uint64_t[]){4}, data);
    enum psc_status status = settle(p);
    return status ? status : set_name(p, s, n, ret->id) ? PSC_OK : psc_fail_nomem(p->reterr);
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->n && (p->s[p->at] == ' ' || p->s[p->at] == '\t' || p->s[p->at] == '\r'))
        p->at++;
}

static enum psc_status number(struct parser *p, double *ret)
{
    char digits[64];
    size_t n = 0;
    while (p->at + n < p->n && n < sizeof digits - 1 && strchr("0123456789.eE+-", p->s[p->at + n]) && p->s[p->at + n]) {
        char c = p->s[p->at + n];
        bool after_e = n && (p->s[p->at + n - 1] == 'e' || p->s[p->at + n - 1] == 'E');
        if ((c == '+' || c == '-') && !after_e)
            break;
        digits[n++] = c;
    }
    digits[n] = '\0';
    char *end;
    *ret = strtod(digits, &end);
    if (!n || *end)
        return fail_at(p, p->at, "not a number");
    if (!(fabs(*ret) <= (double)FLT_MAX))
        return fail_at(p, p->at, "a number that is too large: elements are f32");
    p->at += n;
    return PSC_OK;
}

/* Called at each byte that may end a line. */
static void next_line(struct parser *p)
{
    if (p->s[p->at] != '\n')
        return;
    p->line++;
    p->line_at = p->at + 1;
}

/* [1, 2] or [[1, 2], [3, 4]]: lists of one depth and, at each depth, of one length. */
static enum psc_status literal(struct parser *p, struct value *ret)
{
    uint64_t shape[PSC_LAZY_DIMS] = {0}, count[PSC_LAZY_DIMS] = {0};
    uint32_t depth = 0, rank = 0;
    size_t n = 0, open_at = p->at;
    bool want_value = true;
    do {
        for (; p->at < p->n && strchr(" \t\r\n", p->s[p->at]) && p->s[p->at]; p->at++)
            next_line(p);
        char c = p->at < p->n ? p->s[p->at] : '\0';
        if (c == '[' && want_value) {
            if (depth >= PSC_LAZY_DIMS || (rank && depth >= rank))
                return fail_at(p, p->at, "lists of a tensor have one depth, at most 4");
            count[depth++] = 0;
            p->at++;
        } else if (c == ']') {
            if (!rank)
                rank = depth;
            if (want_value || depth > rank || (depth == rank && !count[depth - 1]))
                return fail_at(p, p->at, "a list of a tensor ends too early");
            depth--;
            if (shape[depth] && shape[depth] != count[depth])
                return fail_at(p, p->at, "lists of a tensor have one length");
            shape[depth] = count[depth];
            if (depth)
                count[depth - 1]++;
            p->at++;
        } else if (c == ',' && !want_value) {
            want_value = true;
            p->at++;
            continue;
        } else if (want_value && depth && (!rank || depth == rank)) {
            double v, sign = c == '-' ? -1 : 1;
            p->at += c == '-';
            enum psc_status status = number(p, &v);
            if (status)
                return status;
            if (n >= LITERAL_MAX || !psc_grow(&p->data, n + 1, &p->data_cap, sizeof *p->data))
                return n >= LITERAL_MAX ? fail_at(p, open_at, "a tensor that is typed is too long")
                                        : psc_fail_nomem(p->reterr);
            p->data[n++] = (float)(sign * v);
            rank = depth;
            count[depth - 1]++;
        } else {
            return fail_at(p, p->at, "a tensor is written [1, 2] or [[1, 2], [3, 4]]");
        }
        want_value = c == '[';
    } while (depth);
    ret->id = psc_lazy_edge(p->l, NULL, rank, shape, p->data);
    return settle(p);
}

/* ---- statements ----------------------------------------------------------------------------------------- */

static enum psc_status word(struct parser *p, bool *ret_operand)
{
    size_t from = p->at;
    while (p->at < p->n && is_name(p->s[p->at], p->at == from))
        p->at++;
    size_t n = p->at - from;
    skip_blanks(p);
    if (p->at < p->n && p->s[p->at] == '(') {
        for (uint8_t f = 1; f < F_N; f++)
            if (strlen(functions[f].name) == n && !memcmp(functions[f].name, p->s + from, n)) {
                p->at++;
                *ret_operand = true;
                return push_op(p, (struct op){'(', f, p->value_n, from}) ? PSC_OK : psc_fail_nomem(p->reterr);
            }
        return fail_at(p, from, "an unknown function; there are as_contiguous, transpose, view, slice, broadcast, cache, "
                                "matmul, sum, noop, baked, arange, ones, zeros and slot");
    }
    struct value v = {0};
    uint32_t at = find_name(p, p->s + from, n);
    if (at == PSC_NONE) {
        enum psc_status status = unknown(p, p->s + from, n, &v);
        if (status)
            return status;
    } else {
        v.id = p->names[at].id;
    }
    *ret_operand = false;
    return push_value(p, v) ? PSC_OK : psc_fail_nomem(p->reterr);
}

/* What may stand where an operand is asked for. *ret_operand: whether one is still asked for. */
static enum psc_status operand(struct parser *p, bool *ret_operand)
{
    char c = p->s[p->at];
    const struct op *open = p->op_n ? &p->ops[p->op_n - 1] : NULL;
    struct value v = {0};
    enum psc_status status;
    if (c == ')' && open && open->sign == '(' && open->function != F_GROUP && open->values == p->value_n)
        return takes(p, open);
    if (is_name(c, true))
        return word(p, ret_operand);
    if (c == '-' || c == '(') {
        *ret_operand = true;
        struct op op = {c == '-' ? '~' : '(', F_GROUP, p->value_n, p->at++};
        return push_op(p, op) ? PSC_OK : psc_fail_nomem(p->reterr);
    }
    if (c == '[') {
        status = literal(p, &v);
    } else {
        v.is_number = true;
        status = strchr("0123456789.", c) && c ? number(p, &v.number)
                                               : fail_at(p, p->at, "a name, a number, a tensor or '(' should stand here");
    }
    *ret_operand = false;
    return status ? status : push_value(p, v) ? PSC_OK : psc_fail_nomem(p->reterr);
}

static enum psc_status operator_or_end(struct parser *p, bool *ret_operand)
{
    char c = p->s[p->at];
    enum psc_status status = PSC_OK;
    if (c == ')') {
        status = close_call(p);
        p->at++;
    } else if (c == ',') {
        status = reduce(p, 1);
        bool inside = p->op_n && p->ops[p->op_n - 1].function != F_GROUP &&
                      p->value_n - p->ops[p->op_n - 1].values < ARGS_MAX;
        if (!status && !inside)
            status = fail_at(p, p->at, "a ',' outside the arguments of a function");
        p->at++;
        *ret_operand = true;
    } else if (c && strchr("+-*/", c)) {
        status = reduce(p, strength(c));
        if (!status && !push_op(p, (struct op){c, 0, 0, p->at}))
            status = psc_fail_nomem(p->reterr);
        p->at++;
        *ret_operand = true;
    } else {
        status = fail_at(p, p->at, "an operator, ')' or the end should stand here");
    }
    return status;
}

static bool at_end(const struct parser *p)
{
    return p->at >= p->n || p->s[p->at] == '\n' || p->s[p->at] == ';' || p->s[p->at] == '#';
}

static enum psc_status expression(struct parser *p, struct value *ret)
{
    enum psc_status status = PSC_OK;
    bool wants = true;
    p->value_n = p->op_n = 0;
    for (skip_blanks(p); !status && !at_end(p); skip_blanks(p))
        status = wants ? operand(p, &wants) : operator_or_end(p, &wants);
    if (!status && wants)
        status = fail_at(p, p->at, "the expression ends too early");
    if (!status)
        status = reduce(p, 1);
    if (!status && p->op_n)
        status = fail_at(p, p->ops[p->op_n - 1].at, "a '(' is never closed");
    if (!status)
        *ret = p->values[0];
    return status;
}

/* `name =` before an expression: its length, 0 when there is none. */
static size_t assigns(struct parser *p)
{
    size_t from = p->at, n = 0;
    while (from + n < p->n && is_name(p->s[from + n], !n))
        n++;
    p->at = from + n;
    skip_blanks(p);
    if (n && p->at < p->n && p->s[p->at] == '=') {
        p->at++;
        return n;
    }
    p->at = from;
    return 0;
}

static enum psc_status statement(struct parser *p, uint32_t *ret_root)
{
    struct value v;
    skip_blanks(p);
    if (at_end(p))
        return PSC_OK;
    size_t from = p->at, n = assigns(p), before = p->l->n;
    enum psc_status status = expression(p, &v);
    if (status)
        return status;
    if (v.is_number)
        return fail_at(p, from, "a number, where a tensor should stand");
    if (n && v.id >= before) {
        char *name = psc_arena_strndup(&p->l->arena, p->s + from, n);
        if (!name)
            return psc_fail_nomem(p->reterr);
        psc_lazy_rename(p->l, v.id, name);
    }
    if (n && !set_name(p, p->s + from, n, v.id))
        return psc_fail_nomem(p->reterr);
    *ret_root = v.id;
    return settle(p);
}

static enum psc_status statements(struct parser *p, uint32_t *ret_root)
{
    enum psc_status status = PSC_OK;
    *ret_root = PSC_NONE;
    while (!status && p->at < p->n) {
        status = statement(p, ret_root);
        bool remark = p->at < p->n && p->s[p->at] == '#'; /* to the end of the line */
        while (!status && p->at < p->n && p->s[p->at] != '\n' && (remark || p->s[p->at] != ';'))
            p->at++;
        if (!status && p->at < p->n && p->s[p->at++] == '\n') {
            p->line++;
            p->line_at = p->at;
        }
    }
    if (!status && *ret_root == PSC_NONE)
        status = psc_fail(p->reterr, PSC_ERR_PARSE, "there is no expression: something like (a + b) * 2");
    return status;
}

enum psc_status psc_lazy_parse(struct psc_lazy *l, const char *text, size_t n, uint32_t *ret_root, struct psc_error *reterr)
{
    return psc_lazy_parse_as(l, &(struct psc_candela_options){0}, text, n, ret_root, reterr);
}

enum psc_status psc_lazy_parse_as(struct psc_lazy *l, const struct psc_candela_options *options, const char *text, size_t n,
                                  uint32_t *ret_root, struct psc_error *reterr)
{
    struct parser p = {.l = l, .s = text, .n = n, .line = 1, .options = *options, .reterr = reterr};
    uint32_t root;
    if (n > PSC_LAZY_TEXT_MAX)
        return psc_fail(reterr, PSC_ERR_TOO_BIG, "an expression is longer than %llu bytes",
                        (unsigned long long)PSC_LAZY_TEXT_MAX);
    enum psc_status status = statements(&p, &root);
    psc_free(p.values);
    psc_free(p.ops);
    psc_free(p.names);
    psc_free(p.data);
    psc_map_release(&p.by_name);
    if (!status)
        *ret_root = root;
    return status;
}
