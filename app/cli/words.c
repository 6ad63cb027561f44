#include "app/cli/words.h"

#include "core/base/mem.h"
#include "core/base/utf8.h"

#include <inttypes.h>
#include <string.h>

void cli_add_safe(struct psc_text *out, const char *s)
{
    if (!s)
        return;
    const char *run = s, *end = s + strlen(s);
    for (const char *p = s; *p;) {
        uint32_t code = (unsigned char)*p; /* of a byte that is no UTF-8 */
        size_t n = psc_text_control(p, &code), whole = psc_utf8_length(p, (size_t)(end - p));
        if (!n && whole) {
            p += whole;
            continue;
        }
        n = n ? n : 1;
        psc_text_add_n(out, run, (size_t)(p - run));
        if (code == '\n')
            psc_text_add(out, "\\n");
        else if (code == '\t')
            psc_text_add(out, "\\t");
        else
            psc_text_addf(out, code < 0x100 ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
        p += n;
        run = p;
    }
    psc_text_add(out, run);
}

void cli_add_number(struct psc_text *out, uint64_t n)
{
    char buf[32];
    psc_text_add(out, psc_thousands(n, buf, sizeof buf));
}

/* Code points, which is close enough to columns for the scripts that names are written in. */
static size_t width(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void start_cell(struct cli_table *table)
{
    if (!psc_grow(&table->at, table->n + 1, &table->cap, sizeof *table->at)) {
        table->cells.failed = true;
        return;
    }
    table->at[table->n++] = table->cells.n;
}

void cli_table_cell(struct cli_table *table, const char *s)
{
    start_cell(table);
    cli_add_safe(&table->cells, s);
    psc_text_add_n(&table->cells, "", 1);
}

void cli_table_number(struct cli_table *table, uint64_t n)
{
    char buf[32];
    cli_table_cell(table, psc_thousands(n, buf, sizeof buf));
}

void cli_table_init(struct cli_table *table, const char *headings, const char *align)
{
    *table = (struct cli_table){.columns = (unsigned)strlen(align), .align = align};
    char heading[64];
    for (const char *p = headings; *p;) {
        size_t n = strcspn(p, "|");
        size_t kept = n < sizeof heading ? n : sizeof heading - 1;
        memcpy(heading, p, kept);
        heading[kept] = '\0';
        cli_table_cell(table, heading);
        p += n + (p[n] == '|');
    }
}

static void pad(struct psc_text *out, size_t n)
{
    static const char blanks[] = "                                ";
    for (; n > sizeof blanks - 1; n -= sizeof blanks - 1)
        psc_text_add(out, blanks);
    psc_text_add_n(out, blanks, n);
}

void cli_table_end(struct cli_table *table, struct psc_text *out)
{
    size_t widest[CLI_COLUMNS_MAX] = {0};
    if (table->cells.failed) {
        out->failed = true;
        table->n = 0;
    }
    for (size_t i = 0; i < table->n; i++) {
        size_t w = width(table->cells.s + table->at[i]);
        if (w > widest[i % table->columns])
            widest[i % table->columns] = w;
    }
    for (size_t i = 0; i < table->n; i++) {
        const char *cell = table->cells.s + table->at[i];
        unsigned column = (unsigned)(i % table->columns);
        size_t room = widest[column] - width(cell);
        psc_text_add(out, "  ");
        if (table->align[column] == 'r')
            pad(out, room);
        psc_text_add(out, cell);
        if (column + 1 == table->columns)
            psc_text_add(out, "\n");
        else if (table->align[column] == 'l')
            pad(out, room);
    }
    psc_free(table->at);
    psc_text_release(&table->cells);
    *table = (struct cli_table){0};
}
