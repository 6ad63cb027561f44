/* tests/played.h: a scenario that was played, and questions that its tests ask. */
#ifndef PSC_TESTS_PLAYED_H
#define PSC_TESTS_PLAYED_H

#include "core/debug/check.h"
#include "core/debug/scenario.h"

#include <glib.h>

struct played {
    struct psc_arena arena;
    struct psc_report report;
    struct psc_story *story;
    struct psc_kv_answer kv;
    struct psc_races races;
};
void played_done(struct played *p);
/* The story is well formed, has a history, and this is what the checker says. */
struct psc_check played_check(struct played *p);
/* A sentence of the report holds the words. */
gboolean played_said(const struct played *p, const char *words);

#endif
