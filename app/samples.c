#include "app/samples.h"

#include "ui/empty-page.h"

struct sample {
    const char *file, *title, *about;
};

static const struct sample examples[] = {
    {"samples/qwen2.5-0.5b-metal.json", "A run on Metal",
     "2 prompt tokens and 3 generated ones: most recorded values are other nodes\xe2\x80\x99"},
    {"samples/qwen2.5-0.5b-per-node.json", "The same run, recorded node by node",
     "every recorded value is the node\xe2\x80\x99s own"},
    {"samples/qwen2.5-0.5b-440-cuda-cpu.json", "440 tokens on CUDA and CPU", "52 splits and 98 staged copies"},
    {"samples/chain.json", "A chain", "silu and add in turn: what may run in place, and what may not"},
    {"samples/takeover.lazy", "An expression, planned as candela plans",
     "step through the sort, the alias map and each decision"},
    {"samples/arenas.json", "Three runs on arenas", "who owns which block, what is kept, lent, evicted, and why"},
    {"samples/arenas-shutdown.json", "How arenas end", "what keeps one alive when its session has gone"},
    {"samples/parallel.json", "Two branches", "a reuse that is right only while nodes run one at a time"},
};

static const struct sample lessons[] = {
    {"lessons/1-live-range.json", "1  Live range", "from its write to its last reader"},
    {"lessons/2-size-classes.json", "2  Size classes", "an idle buffer of the class fits exactly"},
    {"lessons/3-in-place.json", "3  In place", "only as the last and sole reader"},
    {"lessons/4-views.json", "4  Views", "a view keeps its root alive"},
    {"lessons/5-two-orders.json", "5  Two orders", "lives counted in one order, ops run in another"},
    {"lessons/6-recorded-late.json", "6  Recorded late", "what a value recorded at the end of a split shows"},
    {"lessons/7-lent-outputs.json", "7  Lent outputs", "a block that somebody holds is in no free list"},
};

static char *find(const char *file)
{
    const char *folders[] = {g_getenv("PSC_SAMPLES"), PSC_SOURCE_DATA, PSC_INSTALLED_DATA};
    for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
        char *path = folders[i] ? g_build_filename(folders[i], file, NULL) : NULL;
        if (path && g_file_test(path, G_FILE_TEST_IS_REGULAR))
            return path;
        g_free(path);
    }
    return NULL;
}

static GPtrArray *entries_of(const struct sample *samples, guint n)
{
    GPtrArray *entries = g_ptr_array_new_with_free_func((GDestroyNotify)psc_entry_free);
    for (guint i = 0; i < n; i++) {
        char *path = find(samples[i].file);
        if (path)
            g_ptr_array_add(entries, psc_entry_new(samples[i].title, samples[i].about, path));
        g_free(path);
    }
    return entries;
}

GPtrArray *psc_samples_examples(void)
{
    return entries_of(examples, G_N_ELEMENTS(examples));
}

GPtrArray *psc_samples_lessons(void)
{
    return entries_of(lessons, G_N_ELEMENTS(lessons));
}
