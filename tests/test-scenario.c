/* Scripts of queues and of captured graphs: what races, what must be captured again; random ones against brute force. */
#include "core/base/hash.h"
#include "tests/played.h"
#include "tests/util.h"

#include <string.h>

/* ---- sched ----------------------------------------------------------------------------------------------- */

static void play_sched(struct played *p, const struct psc_sched_script *script)
{
    struct psc_error error = {0};
    *p = (struct played){0};
    enum psc_status status = psc_sched_play(&p->arena, script, &p->report, &p->races, &p->story, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_cmpint(status, ==, PSC_OK);
}

static const struct psc_sched_queue host_and_gpu[] = {{"host", false}, {"gpu", false}};
static const struct psc_sched_buffer one_buffer[] = {{"H", "cpu", 64}};
static const struct psc_sched_access all_of_h = {0, 0, 64}, low_of_h = {0, 0, 32}, high_of_h = {0, 32, 64};

static void test_race(void)
{
    static const uint32_t c1 = 1;
    struct psc_sched_command commands[] = {
        {"c0", "write", "", 0, NULL, &all_of_h, 0, 1, NULL, 0},
        {"c1", "copy", "", 1, &all_of_h, NULL, 1, 0, NULL, 0},
        {"c2", "write", "batch 1", 0, NULL, &all_of_h, 0, 1, NULL, 0},
    };
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, 3};
    struct played p;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 1);
    g_assert_cmpuint(p.races.list[0].a, ==, 1);
    g_assert_cmpuint(p.races.list[0].b, ==, 2);
    g_assert_true(played_said(&p, "race on H, bytes 0..64: c1 (gpu) reads them, c2 (host) writes them"));
    struct psc_check check = played_check(&p);
    g_assert_cmpuint(check.finding_n, ==, 1);
    g_assert_cmpint(check.findings[0].kind, ==, PSC_K6);
    g_assert_cmpint(check.findings[0].confidence, ==, PSC_POSSIBLE);
    g_assert_cmpuint(check.findings[0].hi, ==, 64);
    played_done(&p);
    commands[2].after = &c1; /* the host waits */
    commands[2].after_n = 1;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 0);
    g_assert_cmpuint(played_check(&p).finding_n, ==, 0);
    played_done(&p);
    commands[2].after_n = 0;
    commands[1].reads = &low_of_h; /* other bytes */
    commands[2].writes = &high_of_h;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 0);
    played_done(&p);
}

static void test_free_races(void)
{
    const struct psc_sched_command commands[] = {
        {"c0", "kernel", "", 1, &low_of_h, &high_of_h, 1, 1, NULL, 0},
        {"c1", "free", "", 0, NULL, &all_of_h, 0, 1, NULL, 0},
    };
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, 2};
    struct played p;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 1); /* one for the pair and buffer, read and write together */
    g_assert_true(played_said(&p, "c1 (host) frees them"));
    g_assert_cmpuint(played_check(&p).finding_n, ==, 1);
    played_done(&p);
}

static void test_barrier(void)
{
    static const struct psc_sched_queue queue[] = {{"gpu", true}};
    struct psc_sched_command commands[] = {
        {"w", "kernel", "", 0, NULL, &all_of_h, 0, 1, NULL, 0},
        {"b", "barrier", "", 0, NULL, NULL, 0, 0, NULL, 0},
        {"r1", "kernel", "", 0, &all_of_h, NULL, 1, 0, NULL, 0},
        {"r2", "kernel", "", 0, &low_of_h, NULL, 1, 0, NULL, 0},
    };
    struct psc_sched_script script = {queue, one_buffer, commands, 1, 1, 4};
    struct played p;
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 0); /* two reads do not race */
    played_done(&p);
    commands[1].kind = "kernel";
    play_sched(&p, &script);
    g_assert_cmpuint(p.races.n, ==, 2);
    g_assert_cmpuint(p.races.list[0].b, ==, 2);
    g_assert_cmpuint(p.races.list[1].b, ==, 3);
    played_done(&p);
}

static void test_circle(void)
{
    static const uint32_t c0 = 0, c1 = 1;
    const struct psc_sched_command commands[] = {
        {"c0", "kernel", "", 0, NULL, NULL, 0, 0, &c1, 1},
        {"c1", "kernel", "", 1, NULL, NULL, 0, 0, &c0, 1},
    };
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, 2};
    struct played p = {0};
    struct psc_error error = {0};
    g_assert_cmpint(psc_sched_play(&p.arena, &script, &p.report, &p.races, &p.story, &error), ==, PSC_ERR_ORDER);
    g_assert_nonnull(strstr(error.text, "c0"));
    g_assert_nonnull(strstr(error.text, "waits for itself"));
    played_done(&p);
}

/* Reachability by brute force, straight from the rules. */
enum { COMMANDS = 40, QUEUES = 4, BUFFERS = 3 };
struct naive_sched {
    struct psc_sched_queue queues[QUEUES];
    struct psc_sched_command commands[COMMANDS];
    struct psc_sched_access accesses[COMMANDS][4];
    uint32_t after[COMMANDS][3];
    bool before[COMMANDS][COMMANDS];
    uint32_t n;
};

static void order_naively(struct naive_sched *s)
{
    memset(s->before, 0, sizeof s->before);
    for (uint32_t k = 0; k < s->n; k++) {
        const struct psc_sched_command *c = &s->commands[k];
        for (uint32_t j = 0; j < k; j++) {
            const struct psc_sched_command *p = &s->commands[j];
            if (p->queue == c->queue)
                s->before[j][k] |= !s->queues[c->queue].concurrent || !strcmp(p->kind, "barrier") ||
                                   !strcmp(c->kind, "barrier");
            else
                s->before[j][k] |= p->queue == 0;
        }
        for (uint32_t a = 0; a < c->after_n; a++)
            s->before[c->after[a]][k] = true;
    }
    for (uint32_t m = 0; m < s->n; m++)
        for (uint32_t i = 0; i < s->n; i++)
            for (uint32_t j = 0; j < s->n && s->before[i][m]; j++)
                s->before[i][j] |= s->before[m][j];
}

static bool meet(const struct psc_sched_access *a, uint32_t a_n, const struct psc_sched_access *b, uint32_t b_n,
                 uint32_t buffer)
{
    for (uint32_t i = 0; i < a_n; i++)
        for (uint32_t j = 0; j < b_n; j++)
            if (a[i].buffer == buffer && b[j].buffer == buffer && a[i].lo < b[j].hi && b[j].lo < a[i].hi)
                return true;
    return false;
}

static void make_sched(struct naive_sched *s, uint64_t *state)
{
    static const char *const ids[] = {"host", "gpu", "copy", "other"}, *const kinds[] = {"kernel", "barrier", "free"};
    static char names[COMMANDS][8];
    s->n = 2 + (uint32_t)(psc_random_next(state) % (COMMANDS - 1));
    for (uint32_t q = 0; q < QUEUES; q++)
        s->queues[q] = (struct psc_sched_queue){ids[q], psc_random_next(state) % 2};
    for (uint32_t k = 0; k < s->n; k++) {
        struct psc_sched_command *c = &s->commands[k];
        uint64_t roll = psc_random_next(state) % 12;
        g_snprintf(names[k], sizeof names[k], "c%u", k);
        *c = (struct psc_sched_command){names[k], kinds[roll == 0 ? 1 : roll == 1 ? 2 : 0], "",
                                        (uint32_t)(psc_random_next(state) % QUEUES), s->accesses[k], s->accesses[k] + 2,
                                        (uint32_t)(psc_random_next(state) % 3), (uint32_t)(psc_random_next(state) % 3),
                                        s->after[k], 0};
        for (unsigned i = 0; i < 4; i++) {
            s->accesses[k][i].buffer = (uint32_t)(psc_random_next(state) % BUFFERS);
            s->accesses[k][i].lo = psc_random_next(state) % 60;
            s->accesses[k][i].hi = s->accesses[k][i].lo + 1 + psc_random_next(state) % (64 - s->accesses[k][i].lo);
        }
        if (c->write_n == 2 && meet(c->writes, 1, c->writes + 1, 1, c->writes[0].buffer))
            c->write_n = 1; /* whose bytes they are would depend on the order inside the command */
        while (k && c->after_n < 3 && psc_random_next(state) % 2)
            s->after[k][c->after_n++] = (uint32_t)(psc_random_next(state) % k);
    }
}

static void test_random_sched(void)
{
    static const struct psc_sched_buffer buffers[BUFFERS] = {{"A", "cpu", 64}, {"B", NULL, 64}, {"C", "cuda", 64}};
    uint64_t state = test_seed();
    unsigned races = 0, clean = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, state);
    for (unsigned round = 0; round < 2000; round++) {
        struct naive_sched s;
        struct played p;
        uint32_t at = 0;
        make_sched(&s, &state);
        order_naively(&s);
        struct psc_sched_script script = {s.queues, buffers, s.commands, QUEUES, BUFFERS, s.n};
        play_sched(&p, &script);
        for (uint32_t i = 0; i < s.n; i++)
            for (uint32_t j = i + 1; j < s.n; j++) {
                const struct psc_sched_command *a = &s.commands[i], *b = &s.commands[j];
                bool hit[BUFFERS];
                unsigned want = 0;
                for (uint32_t k = 0; k < BUFFERS; k++) {
                    hit[k] = !s.before[i][j] && !s.before[j][i] &&
                             (meet(a->writes, a->write_n, b->writes, b->write_n, k) ||
                              meet(a->writes, a->write_n, b->reads, b->read_n, k) ||
                              meet(a->reads, a->read_n, b->writes, b->write_n, k));
                    want += hit[k];
                }
                for (; want; want--, at++) { /* in list order, each pair and buffer once */
                    g_assert_cmpuint(at, <, p.races.n);
                    g_assert_cmpuint(p.races.list[at].a, ==, i);
                    g_assert_cmpuint(p.races.list[at].b, ==, j);
                    g_assert_true(hit[p.races.list[at].buffer]);
                    hit[p.races.list[at].buffer] = false;
                }
            }
        g_assert_cmpuint(at, ==, p.races.n);
        struct psc_check check = played_check(&p);
        g_assert_cmpuint(check.finding_n, ==, p.races.n);
        races += p.races.n;
        clean += p.races.n == 0;
        played_done(&p);
    }
    g_test_message("%u races, %u scripts without", races, clean);
    g_assert_cmpuint(races, >, 5000);
    g_assert_cmpuint(clean, >, 50);
}

/* Many commands on few serial queues, all on one buffer, all ordered: nothing here may be quadratic. */
static void test_long_queue(void)
{
    enum { N = 200000 };
    struct psc_sched_command *commands = g_new0(struct psc_sched_command, N);
    uint32_t *after = g_new(uint32_t, N);
    char (*names)[12] = g_malloc(N * sizeof *names);
    for (uint32_t k = 0; k < N; k++) {
        g_snprintf(names[k], sizeof names[k], "c%u", k);
        after[k] = k - 1;
        commands[k] = (struct psc_sched_command){names[k], "kernel", "", k % 2, &all_of_h, &all_of_h, 1, 1, &after[k], k > 0};
    }
    struct psc_sched_script script = {host_and_gpu, one_buffer, commands, 2, 1, N};
    struct played p;
    gint64 start = g_get_monotonic_time();
    play_sched(&p, &script);
    g_test_message("%d commands: %.0f ms", N, (double)(g_get_monotonic_time() - start) / 1000);
    g_assert_cmpuint(p.races.n, ==, 0);
    played_done(&p);
    g_free(commands);
    g_free(after);
    g_free(names);
}

/* ---- capture ----------------------------------------------------------------------------------------------- */

static const uint64_t two_by_one[] = {2, 1}, two_by_two[] = {2, 2};
static const struct psc_capture_operand k_row = {"k", 0, 1, two_by_one, 2}, kv = {"kv", 0, 1, two_by_one, 2},
                                        w = {"w", 0, 1, two_by_one, 2};
static const struct psc_capture_node captured[] = {
    {2, "kvcache_store", "{}", two_by_one, 2, &k_row, 1, {"kv", 0, 1, two_by_one, 2}, true},
    {3, "cpy", "n=1", two_by_one, 2, &kv, 1, {"w", 0, 1, two_by_one, 2}, false},
};

/* Plays one replay; "reuse", or "3 src0.offset". */
static char *replayed(const struct psc_capture_node *nodes, uint32_t n)
{
    struct played p = {0};
    struct psc_capture_list list = {nodes, n};
    struct psc_capture_script script = {{captured, 2}, &list, 1};
    struct psc_capture_answer *answer;
    struct psc_story **stories;
    struct psc_error error = {0};
    g_assert_cmpint(psc_capture_play(&p.arena, &script, &p.report, &answer, &stories, &error), ==, PSC_OK);
    for (unsigned s = 0; s < 2; s++) {
        p.story = stories[s];
        g_assert_cmpuint(played_check(&p).finding_n, ==, 0);
    }
    g_assert_cmpuint(p.report.n, ==, !answer->reuse);
    char *text = answer->reuse ? g_strdup("reuse") : g_strdup_printf("%u %s", (unsigned)answer->node, answer->field);
    played_done(&p);
    return text;
}

static void test_capture(void)
{
    static const struct { unsigned at; const char *field, *want; } rows[] = {
        {0, "", "reuse"}, {0, "dst", "reuse"}, {1, "dst", "3 dst.offset"}, {1, "dst.gen", "3 dst.gen"}, {1, "op", "3 op"},
        {0, "op", "2 op"}, {1, "shape", "3 shape"}, {1, "params", "3 params"}, {1, "src.buf", "3 src0.buf"},
        {1, "src.offset", "3 src0.offset"}, {1, "src.shape", "3 src0.shape"}, {0, "src.gen", "2 src0.gen"},
        {1, "src_n", "3 src0.buf"}, {1, "shape+src", "3 shape"}, {1, "id", "9 op"}, {1, "missing", "3 op"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct psc_capture_node nodes[2] = {captured[0], captured[1]}, *node = &nodes[rows[i].at];
        struct psc_capture_operand src = *node->src;
        const char *field = rows[i].field;
        node->src = &src;
        node->dst.offset += !strcmp(field, "dst") ? 8 : 0;
        node->dst.generation += !strcmp(field, "dst.gen");
        node->op = !strcmp(field, "op") ? "add" : node->op;
        node->shape = strstr(field, "shape") == field ? two_by_two : node->shape;
        node->params = !strcmp(field, "params") ? "n=2" : node->params;
        src.buffer = !strcmp(field, "src.buf") ? "other" : src.buffer;
        src.offset += !strcmp(field, "src.offset") || !strcmp(field, "shape+src") ? 256 : 0;
        src.shape = !strcmp(field, "src.shape") ? two_by_two : src.shape;
        src.generation += !strcmp(field, "src.gen");
        node->src_n -= !strcmp(field, "src_n");
        node->id = !strcmp(field, "id") ? 9 : node->id;
        char *got = replayed(nodes, strcmp(field, "missing") ? 2 : 1);
        g_assert_cmpstr(got, ==, rows[i].want);
        g_free(got);
    }
    (void)w;
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static enum psc_status play_all(void *data)
{
    const struct psc_sched_command commands[] = {
        {"c0", "kernel", "", 1, &low_of_h, &high_of_h, 1, 1, NULL, 0}, {"c1", "free", "x", 0, NULL, &all_of_h, 0, 1, NULL, 0}};
    struct psc_sched_script sched = {host_and_gpu, one_buffer, commands, 2, 1, 2};
    struct psc_capture_list list = {captured + 1, 1};
    struct psc_capture_script capture = {{captured, 2}, &list, 1};
    struct psc_capture_answer *answer;
    struct psc_story **stories;
    struct played p = {0};
    struct psc_check check;
    struct psc_error error;
    (void)data;
    enum psc_status status = psc_sched_play(&p.arena, &sched, &p.report, &p.races, &p.story, &error);
    if (!status)
        status = psc_check_story(&p.arena, NULL, p.story, &check, &error);
    if (!status)
        status = psc_capture_play(&p.arena, &capture, &p.report, &answer, &stories, &error);
    played_done(&p);
    return status;
}

static void test_oom(void)
{
    g_assert_cmpuint(test_oom_loop(play_all, NULL), >, 20);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define T(path, function) g_test_add_func("/core/debug/scenario/" path, function)
    T("sched/a-write-over-a-pending-upload-races", test_race);
    T("sched/a-free-under-a-running-kernel-races", test_free_races);
    T("sched/a-barrier-orders-a-concurrent-queue", test_barrier);
    T("sched/commands-that-wait-in-a-circle-are-refused", test_circle);
    T("sched/random-scripts-as-brute-force-finds-them", test_random_sched);
    T("sched/a-long-ordered-queue-is-quick", test_long_queue);
    T("capture/the-first-differing-field-is-named", test_capture);
    T("sched/runs-out-of-memory-cleanly", test_oom);
    return g_test_run();
}
