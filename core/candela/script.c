#include "core/candela/script.h"

#include <string.h>

static const char mark[] = "# lazy";

bool psc_lazy_script_is(const char *text, size_t n)
{
    size_t m = sizeof mark - 1;
    return n >= m && !memcmp(text, mark, m) && (n == m || strchr(" \t\r\n", text[m]));
}

/* first: where the words begin in their line. */
static enum psc_status read_words(struct psc_lazy_script *s, const char *words, size_t n, size_t first, struct psc_error *reterr)
{
    char word[32];
    for (size_t at = 0; at < n;) {
        size_t m = 0;
        while (at < n && strchr(" \t\r", words[at]) && words[at])
            at++;
        size_t from = at;
        for (; at < n && !(strchr(" \t\r", words[at]) && words[at]); at++)
            if (m < sizeof word - 1)
                word[m++] = words[at];
        word[m] = '\0';
        enum psc_candela_fault fault = psc_candela_fault_from_name(word);
        if (!m)
            continue;
        if (fault != PSC_CANDELA_FAULT_N)
            s->options.faults |= PSC_CANDELA_BIT(fault);
        else if (!strcmp(word, "level"))
            s->levels = true;
        else if (!strcmp(word, "only"))
            s->options = (struct psc_candela_options){0}, s->levels = false;
        else if (!psc_generation_parse(word, &s->options.generation))
            return psc_fail_at(reterr, PSC_ERR_PARSE, 1, first + from + 1, first + from, "'%s' is no generation (hardened, 0.1, 0.2, arena), no fault "
                               "(b1 to b22, cl1 to cl4) and not `level`", word);
    }
    return PSC_OK;
}

enum psc_status psc_lazy_script_read(struct psc_lazy_script *script, const char *words, const char *text, size_t n,
                                     struct psc_error *reterr)
{
    enum psc_status status = PSC_OK;
    memset(script, 0, sizeof *script);
    psc_lazy_init(&script->lazy);
    if (psc_lazy_script_is(text, n)) {
        const char *end = memchr(text, '\n', n);
        size_t from = sizeof mark - 1;
        status = read_words(script, text + from, (end ? (size_t)(end - text) : n) - from, from, reterr);
    }
    if (!status && words)
        status = read_words(script, words, strlen(words), 0, reterr);
    if (!status)
        status = psc_lazy_parse_as(&script->lazy, &script->options, text, n, &script->root, reterr);
    return status;
}

void psc_lazy_script_words(struct psc_text *out, const struct psc_candela_options *options, bool levels)
{
    psc_text_add(out, psc_generation_name(options->generation));
    for (int f = 0; f < PSC_CANDELA_FAULT_N; f++)
        if (options->faults & PSC_CANDELA_BIT(f))
            psc_text_addf(out, " %s", psc_candela_fault_name((enum psc_candela_fault)f));
    psc_text_add(out, levels ? " level" : "");
}

void psc_lazy_script_release(struct psc_lazy_script *script)
{
    psc_lazy_release(&script->lazy);
}
