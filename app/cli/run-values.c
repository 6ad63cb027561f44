#include "app/cli/run-values.h"

#include "app/cli/words.h"
#include "core/base/mem.h"

#include <errno.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_SHOWN 64u /* of an output, for people */

/* ---- in ---------------------------------------------------------------------------------------- */

struct words { /* the numbers of one list */
    const char *at;
    bool real; /* f32, else i32 */
};

enum read { READ_DONE, READ_NO_NUMBER, READ_TOO_LARGE };

static enum read next_real(const char **at, uint32_t *ret)
{
    char *end;
    const char *p = **at == '-' || **at == '+' ? *at + 1 : *at;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        return READ_NO_NUMBER;
    errno = 0;
    float x = strtof(*at, &end);
    if (end == *at || isspace((unsigned char)**at))
        return READ_NO_NUMBER;
    if (errno == ERANGE && isinf(x)) /* "inf" is one, 1e39 is not */
        return READ_TOO_LARGE;
    memcpy(ret, &x, sizeof x);
    *at = end;
    return READ_DONE;
}

static enum read next_whole(const char **at, uint32_t *ret)
{
    bool negative = **at == '-', hex = !strncmp(*at, "0x", 2) || !strncmp(*at, "0X", 2);
    const char *p = *at + (hex ? 2 : negative);
    uint64_t n = 0;
    size_t digits = 0;
    for (; hex ? isxdigit((unsigned char)*p) : isdigit((unsigned char)*p); p++, digits++) {
        unsigned d = isdigit((unsigned char)*p) ? (unsigned)(*p - '0') : (unsigned)(tolower((unsigned char)*p) - 'a') + 10;
        if (n <= UINT32_MAX) /* above, more digits change nothing */
            n = n * (hex ? 16 : 10) + d;
    }
    if (!digits || !(*p == ',' || *p == ' ' || !*p))
        return READ_NO_NUMBER;
    if (n > (hex ? UINT32_MAX : (uint64_t)INT32_MAX + negative))
        return READ_TOO_LARGE;
    *ret = negative ? (uint32_t)(0 - n) : (uint32_t)n;
    *at = p;
    return READ_DONE;
}

static enum psc_status complain(const struct words *list, enum read how, const char *name, uint64_t n, struct psc_error *reterr)
{
    int length = (int)strcspn(list->at, ", ");
    if (how == READ_TOO_LARGE)
        return psc_fail(reterr, PSC_ERR_USAGE, "%s: value %" PRIu64 " does not fit %s: '%.*s'", name, n,
                        list->real ? "an f32, whose largest is 3.4028235e38"
                                   : "an i32, which goes from -2147483648 to 2147483647, or to 0xffffffff in hex",
                        length < 40 ? length : 40, list->at);
    return psc_fail(reterr, PSC_ERR_USAGE, "%s: value %" PRIu64 " is not %s: '%.*s'", name, n,
                    list->real ? "a number, nan or inf" : "a whole number of 32 bits", length < 40 ? length : 40, list->at);
}

/* words NULL: only counts. PSC_ERR_USAGE names the place, from 0, of what is no number. */
static enum psc_status read_list(struct words list, uint32_t *words, uint64_t *ret_n, const char *name,
                                 struct psc_error *reterr)
{
    uint64_t n = 0;
    while (*list.at) {
        uint32_t word;
        if (*list.at == ' ') {
            list.at++;
            continue;
        }
        enum read how = (list.real ? next_real : next_whole)(&list.at, &word);
        if (how != READ_DONE)
            return complain(&list, how, name, n, reterr);
        if (words)
            words[n] = word;
        n++;
        while (*list.at == ' ')
            list.at++;
        if (*list.at == ',' && list.at[1])
            list.at++;
        else if (*list.at)
            return psc_fail(reterr, PSC_ERR_USAGE, "%s: a comma was expected after value %" PRIu64 ": '%.20s'", name, n - 1,
                            list.at);
    }
    *ret_n = n;
    return PSC_OK;
}

static enum psc_status parse_list(struct psc_arena *arena, struct words list, const char *name, uint32_t **ret,
                                  uint64_t *ret_n, struct psc_error *reterr)
{
    enum psc_status status = read_list(list, NULL, ret_n, name, reterr);
    if (status)
        return status;
    *ret = psc_arena_alloc(arena, *ret_n, sizeof **ret);
    return *ret ? read_list(list, *ret, ret_n, name, reterr) : psc_fail_nomem(reterr);
}

enum psc_status cli_parse_fill(struct psc_arena *arena, const struct psc_graph *graph, const char *text,
                               struct psc_run_fill *ret, struct psc_error *reterr)
{
    const char *equals = strchr(text, '='); /* the option has looked */
    char *name = psc_arena_strndup(arena, text, (size_t)(equals - text));
    uint32_t *words;
    uint64_t n;
    psc_node i;
    if (!name)
        return psc_fail_nomem(reterr);
    enum psc_status status = psc_run_find_input(graph, name, &i, reterr);
    if (status)
        return status;
    const struct psc_node_info *node = &graph->nodes[i];
    if (node->dtype != PSC_F32 && node->dtype != PSC_I32)
        return psc_fail(reterr, PSC_ERR_USAGE, "%.60s is %s: only inputs of f32 and i32 can be filled", name,
                        psc_dtype_name(node->dtype));
    status = parse_list(arena, (struct words){equals + 1, node->dtype == PSC_F32}, name, &words, &n, reterr);
    if (status)
        return status;
    if (n != node->elements)
        return psc_fail(reterr, PSC_ERR_USAGE,
                        "%.60s has %" PRIu64 " elements (shape [%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]), %" PRIu64
                        " %s given", name, node->elements, node->shape[0], node->shape[1], node->shape[2], node->shape[3], n,
                        n == 1 ? "is" : "are");
    *ret = (struct psc_run_fill){name, words, n};
    return PSC_OK;
}

enum psc_status cli_parse_ids(struct psc_arena *arena, const char *text, int32_t **ret, uint32_t *ret_n,
                              struct psc_error *reterr)
{
    uint32_t *words;
    uint64_t n;
    enum psc_status status = parse_list(arena, (struct words){text, false}, "--tokens", &words, &n, reterr);
    if (status)
        return status;
    if (n > UINT32_MAX)
        return psc_fail(reterr, PSC_ERR_USAGE, "--tokens: more than %u tokens", UINT32_MAX);
    *ret = (int32_t *)words;
    *ret_n = (uint32_t)n;
    return PSC_OK;
}

/* ---- out --------------------------------------------------------------------------------------- */

/* The fewest digits that read back as this float. */
static void float_text(float x, char *to, size_t size)
{
    if (!isfinite(x)) {
        snprintf(to, size, isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    int whole = 1; /* digits before the point: they are written out */
    for (double y = fabs((double)x); y >= 10 && whole < 9; y /= 10)
        whole++;
    for (int digits = whole; digits <= 9; digits++) {
        snprintf(to, size, "%.*g", digits, (double)x);
        if (strtof(to, NULL) == x)
            return;
    }
}

static void word_text(enum psc_dtype dtype, uint32_t word, char *to, size_t size)
{
    float x;
    memcpy(&x, &word, sizeof x);
    if (dtype == PSC_I32)
        snprintf(to, size, "%" PRId32, (int32_t)word);
    else
        float_text(x, to, size);
}

static const char *name_of(const struct psc_graph *graph, psc_node i, char *label, size_t size)
{
    const char *name = graph->nodes[i].name;
    return name && *name ? name : psc_node_label(graph, i, label, size);
}

/* *ret NULL: the output has no place (fault h7). */
static enum psc_status read_output(struct psc_session *session, psc_node i, uint32_t **ret, struct psc_error *reterr)
{
    uint64_t n = psc_session_graph(session)->nodes[i].elements;
    uint32_t *words = psc_alloc0(n ? n : 1, sizeof *words);
    enum psc_status status = words ? PSC_OK : psc_fail_nomem(reterr);
    bool placed = psc_session_plan(session)->places[i].buffer != PSC_NONE;
    if (!status && n && placed)
        status = psc_session_read(session, i, words, n, reterr);
    if (status || (n && !placed))
        psc_free(words);
    else
        *ret = words;
    return status;
}

static void output_json(struct psc_json *j, const struct psc_graph *graph, psc_node i, const uint32_t *words)
{
    const struct psc_node_info *node = &graph->nodes[i];
    char text[64];
    psc_json_object(j);
    psc_json_put_u64(j, "id", node->id);
    psc_json_put_string(j, "name", name_of(graph, i, text, sizeof text));
    psc_json_put_string(j, "dtype", psc_dtype_name(node->dtype));
    psc_json_key(j, "shape");
    psc_json_array(j);
    for (int d = 0; d < 4; d++)
        psc_json_u64(j, node->shape[d]);
    psc_json_end_array(j);
    psc_json_key(j, "values");
    if (!words) {
        psc_json_null(j);
        psc_json_end_object(j);
        return;
    }
    psc_json_array(j);
    for (uint64_t k = 0; k < node->elements; k++) {
        word_text(node->dtype, words[k], text, sizeof text);
        if (isalpha((unsigned char)text[text[0] == '-']))
            psc_json_null(j);
        else
            psc_json_raw(j, text);
    }
    psc_json_end_array(j);
    psc_json_end_object(j);
}

enum psc_status cli_outputs_json(struct psc_json *j, struct psc_session *session, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(session);
    enum psc_status status = PSC_OK;
    psc_json_array(j);
    for (uint32_t k = 0; !status && k < graph->output_n; k++) {
        uint32_t *words = NULL;
        status = read_output(session, graph->outputs[k], &words, reterr);
        if (!status)
            output_json(j, graph, graph->outputs[k], words);
        psc_free(words);
    }
    psc_json_end_array(j);
    return status;
}

static void add_output(struct psc_text *out, const struct psc_graph *graph, psc_node i, const uint32_t *words)
{
    const struct psc_node_info *node = &graph->nodes[i];
    char text[64];
    int last = 3;
    cli_add_safe(out, name_of(graph, i, text, sizeof text));
    while (last && node->shape[last] == 1)
        last--;
    psc_text_add(out, " [");
    for (int d = 0; d <= last; d++)
        psc_text_addf(out, "%s%" PRIu64, d ? "," : "", node->shape[d]);
    psc_text_add(out, "] ");
    if (!words)
        psc_text_add(out, " nowhere");
    for (uint64_t k = 0; words && k < node->elements && k < VALUES_SHOWN; k++) {
        word_text(node->dtype, words[k], text, sizeof text);
        psc_text_addf(out, " %s", text);
    }
    if (words && node->elements > VALUES_SHOWN) {
        psc_text_add(out, " and ");
        cli_add_number(out, node->elements - VALUES_SHOWN);
        psc_text_add(out, " more");
    }
    psc_text_add(out, "\n");
}

enum psc_status cli_add_outputs(struct psc_text *out, struct psc_session *session, struct psc_error *reterr)
{
    const struct psc_graph *graph = psc_session_graph(session);
    enum psc_status status = PSC_OK;
    for (uint32_t k = 0; !status && k < graph->output_n; k++) {
        uint32_t *words = NULL;
        status = read_output(session, graph->outputs[k], &words, reterr);
        if (!status)
            add_output(out, graph, graph->outputs[k], words);
        psc_free(words);
    }
    return status;
}
