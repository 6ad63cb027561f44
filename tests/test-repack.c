#include "core/plan/offsets/repack.h"

#include "core/base/hash.h"
#include "tests/boxes.h"
#include "tests/util.h"

#include <string.h>

static struct psc_repack make(struct psc_arena *arena, const struct psc_offsets_problem *p, const char *packer)
{
    struct psc_offsets packed;
    struct psc_repack layout;
    struct psc_error error = {0};
    if (psc_offsets_pack(arena, p, psc_packer_find(packer), NULL, &packed, &error) ||
        psc_repack_build(arena, p, &packed, &layout, &error))
        g_error("%s", error.text);
    return layout;
}

/* Apart, and with the height and the bound that it says. */
static void assert_right(const struct psc_repack *l)
{
    struct psc_offsets_problem p = {.boxes = l->boxes, .box_n = l->box_n, .step_n = l->step_n, .align = l->align};
    uint64_t height = 0;
    boxes_assert_apart(&p, l->offset);
    for (uint32_t i = 0; i < l->box_n; i++) {
        g_assert_cmpuint(l->offset[i] % l->align, ==, 0);
        height = MAX(height, l->offset[i] + psc_box_room(l->align, l->boxes[i].bytes));
    }
    g_assert_cmpuint(l->height, ==, height);
    g_assert_cmpuint(l->bound, ==, boxes_bound(&p, 0));
}

static unsigned count_moved(const struct psc_repack *l, const uint64_t *before)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < l->box_n; i++)
        n += l->offset[i] != before[i];
    return n;
}

static void test_drawing(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 4 8, 1 3 16, 3 4 8");
    struct psc_repack l = make(&arena, &p, "best-fit");
    uint32_t moved;
    g_assert_cmpuint(l.height, ==, 24);
    g_assert_cmpuint(l.bound, ==, 24);
    g_assert_cmpint(psc_repack_edit(&l, 2, &(struct psc_box){4, 3, 4}, &moved, NULL), ==, PSC_OK);
    g_assert_cmpuint(moved, ==, 0); /* smaller: it stays */
    g_assert_cmpint(psc_repack_edit(&l, 2, &(struct psc_box){24, 2, 4}, &moved, NULL), ==, PSC_OK);
    g_assert_cmpuint(moved, ==, 1);
    g_assert_cmpuint(l.offset[2], ==, 24);
    g_assert_cmpuint(l.height, ==, 48);
    g_assert_cmpuint(l.bound, ==, 48);
    assert_right(&l);
    psc_arena_release(&arena);
}

/* One that lies in the way goes into the gap that is too small for the edited one. */
static void test_makes_room(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 4 8 @0, 0 4 16 @8, 0 4 8 @32, 1 3 8 @24");
    struct psc_repack l;
    struct psc_offsets packed = {.offset = (uint64_t[]){0, 8, 32, 24}, .space_n = 1};
    uint32_t moved;
    p.fixed = NULL;
    g_assert_cmpint(psc_repack_build(&arena, &p, &packed, &l, NULL), ==, PSC_OK);
    /* without box 3 the gap [24, 32) is open at steps 0 and 3; box 0 of 16 bytes needs 2 to go there */
    g_assert_cmpint(psc_repack_edit(&l, 3, &(struct psc_box){0, 1, 3}, &moved, NULL), ==, PSC_OK);
    g_assert_cmpint(psc_repack_edit(&l, 0, &(struct psc_box){16, 0, 4}, &moved, NULL), ==, PSC_OK);
    g_assert_cmpuint(moved, ==, 2);
    g_assert_cmpuint(l.height, ==, 40);
    assert_right(&l);
    psc_arena_release(&arena);
}

static void test_random(void)
{
    uint64_t seed = test_seed(), state = seed;
    unsigned stayed = 0, moved_n = 0, others = 0;
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    for (unsigned round = 0; round < 30; round++) {
        struct psc_arena arena = {0};
        struct boxes_shape shape = {.n = 60, .steps = 40, .life_max = 3 + round % 20, .bytes_max = 500, .align = round % 3 ? 0 : 16,
                                    .zeros = round % 2};
        struct psc_offsets_problem p = boxes_random(&arena, seed + round, &shape);
        struct psc_repack l = make(&arena, &p, round % 2 ? "optimal" : "best-fit");
        assert_right(&l);
        for (unsigned edit = 0; edit < 60; edit++) {
            uint32_t i = (uint32_t)(psc_random_next(&state) % 60), moved;
            uint64_t before[60];
            struct psc_box box = l.boxes[i];
            memcpy(before, l.offset, sizeof before);
            box.bytes = psc_random_next(&state) % 3 ? box.bytes * (50 + psc_random_next(&state) % 100) / 100 : psc_random_next(&state) % 500;
            if (psc_random_next(&state) % 4 == 0) {
                box.begin = (uint32_t)(psc_random_next(&state) % 39);
                box.end = box.begin + 1 + (uint32_t)(psc_random_next(&state) % (39 - box.begin + 1));
            }
            g_assert_cmpint(psc_repack_edit(&l, i, &box, &moved, NULL), ==, PSC_OK);
            assert_right(&l);
            g_assert_cmpuint(count_moved(&l, before), <=, moved);
            stayed += !moved;
            moved_n += moved == 1;
            others += moved > 1;
        }
        psc_arena_release(&arena);
    }
    g_test_message("%u stayed, %u moved, %u moved others", stayed, moved_n, others);
    g_assert_cmpuint(stayed, >, 100);
    g_assert_cmpuint(moved_n, >, 100);
    g_assert_cmpuint(others, >, 20);
}

static void test_covers(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 4 8, 1 3 16, 3 4 8");
    struct psc_repack l = make(&arena, &p, "best-fit");
    struct psc_box boxes[3];
    memcpy(boxes, p.boxes, sizeof boxes);
    g_assert_true(psc_repack_covers(&l, boxes, 3));
    boxes[1].bytes = 15;
    g_assert_true(psc_repack_covers(&l, boxes, 3));
    g_assert_false(psc_repack_covers(&l, boxes, 2));
    boxes[2].bytes = 9;
    g_assert_false(psc_repack_covers(&l, boxes, 3));
    boxes[2].bytes = 8;
    boxes[0].end = 3;
    g_assert_false(psc_repack_covers(&l, boxes, 3));
    psc_arena_release(&arena);
}

static void test_refused(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_text(&arena, "0 4 8, 1 3 16");
    struct psc_repack l = make(&arena, &p, "best-fit"), before = l;
    struct psc_offsets packed = {.offset = l.offset, .space_n = 1};
    struct psc_error error;
    uint32_t moved = 7;
    static const struct psc_box wrong[] = {{8, 3, 3}, {8, 3, 5}};
    for (size_t k = 0; k < G_N_ELEMENTS(wrong); k++) {
        g_assert_cmpint(psc_repack_edit(&l, 0, &wrong[k], &moved, &error), ==, PSC_ERR_USAGE);
        g_assert_nonnull(strstr(error.text, "box 0 of 2"));
    }
    g_assert_cmpint(psc_repack_edit(&l, 2, &(struct psc_box){8, 0, 1}, &moved, &error), ==, PSC_ERR_USAGE);
    g_assert_cmpint(psc_repack_edit(&l, 0, &(struct psc_box){PSC_BYTES_MAX, 0, 1}, &moved, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_cmpint(psc_repack_edit(&l, 0, &(struct psc_box){UINT64_MAX, 0, 1}, &moved, &error), ==, PSC_ERR_TOO_BIG);
    g_assert_cmpmem(&l, sizeof l, &before, sizeof before);
    g_assert_cmpuint(moved, ==, 7);
    assert_right(&l);
    p.fixed = (const uint64_t[]){0, PSC_OFFSET_FREE};
    g_assert_cmpint(psc_repack_build(&arena, &p, &packed, &l, &error), ==, PSC_ERR_USAGE);
    psc_arena_release(&arena);
}

static enum psc_status build_once(void *data)
{
    struct psc_arena arena = {0};
    struct psc_repack layout;
    uint64_t offset[3000] = {0};
    struct psc_offsets packed = {.offset = offset, .space_n = 1};
    enum psc_status status = psc_repack_build(&arena, data, &packed, &layout, NULL);
    psc_arena_release(&arena);
    return status;
}

static void test_oom(void)
{
    struct psc_arena arena = {0};
    struct psc_offsets_problem p = boxes_random(&arena, 5, &(struct boxes_shape){.n = 3000, .steps = 3000, .life_max = 4, .bytes_max = 9});
    g_assert_cmpuint(test_oom_loop(build_once, &p), >, 2);
    psc_arena_release(&arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/plan/repack/as-in-the-drawing", test_drawing);
    g_test_add_func("/core/plan/repack/another-box-makes-room", test_makes_room);
    g_test_add_func("/core/plan/repack/edited-boxes-never-meet", test_random);
    g_test_add_func("/core/plan/repack/covers-smaller-boxes-of-the-same-lives", test_covers);
    g_test_add_func("/core/plan/repack/what-makes-no-sense-changes-nothing", test_refused);
    g_test_add_func("/core/plan/repack/oom", test_oom);
    return g_test_run();
}
