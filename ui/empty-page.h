/* ui/empty-page.h: what stands in the window when no document is open: open, recent, examples, lessons.
 *
 * The page knows no files: it is given lists of entries, each with the words to show and a target, and
 * activates "win.open-path" with the target. Buttons and rows are reached by Tab and opened by Enter.
 */
#ifndef PSC_UI_EMPTY_PAGE_H
#define PSC_UI_EMPTY_PAGE_H

#include <gtk/gtk.h>

typedef struct {
    char *title, *about, *target;
} PscEntry;
PscEntry *psc_entry_new(const char *title, const char *about, const char *target);
void psc_entry_free(PscEntry *entry);

#define PSC_TYPE_EMPTY_PAGE (psc_empty_page_get_type())
G_DECLARE_FINAL_TYPE(PscEmptyPage, psc_empty_page, PSC, EMPTY_PAGE, GtkWidget)

GtkWidget *psc_empty_page_new(void);
/* Lists of PscEntry, borrowed during the call. */
void psc_empty_page_set_recent(PscEmptyPage *self, GPtrArray *entries);
void psc_empty_page_set_examples(PscEmptyPage *self, GPtrArray *entries);
void psc_empty_page_set_lessons(PscEmptyPage *self, GPtrArray *entries);

#endif
