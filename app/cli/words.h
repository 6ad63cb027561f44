/* app/cli/words.h: text for a terminal: safe strings, tables, figures.
 *
 * Names come from files and may hold anything. Whatever is printed for people passes cli_add_safe: control
 * characters become \n, \t or \xNN, so that no file can move the cursor, and a name never breaks a table.
 *
 *     phase  kind     nodes
 *         0  prefill    440
 *         1  decode     305
 *
 * Ownership: a table owns its cells; psc_text remembers that memory ran out.
 */
#ifndef PSC_APP_CLI_WORDS_H
#define PSC_APP_CLI_WORDS_H

#include "core/base/text.h"

void cli_add_safe(struct psc_text *out, const char *s); /* NULL adds nothing */
/* "1,234,567" */
void cli_add_number(struct psc_text *out, uint64_t n);

#define CLI_COLUMNS_MAX 12u
struct cli_table {
    struct psc_text cells;  /* every cell, each ended by '\0' */
    size_t *at;             /* owned: where each cell starts */
    size_t n, cap;
    unsigned columns;
    const char *align;      /* one letter a column: 'l' or 'r'; borrowed */
};
/* headings: "phase|kind|nodes"; align: "rlr". */
void cli_table_init(struct cli_table *table, const char *headings, const char *align);
void cli_table_cell(struct cli_table *table, const char *s); /* made safe; NULL is an empty cell */
void cli_table_number(struct cli_table *table, uint64_t n);
/* Appends the table, each line indented by two blanks, and releases it. */
void cli_table_end(struct cli_table *table, struct psc_text *out);

#endif
