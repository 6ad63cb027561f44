#include "ui/run-form.h"

#include "core/model/preset.h"
#include "ui/access.h"
#include "ui/plan-menu.h"

#include <string.h>

#define PROMPT_DEFAULT "Hello"

/* ---- bricks ------------------------------------------------------------------------------------------------- */

static GtkWidget *label_new(const char *text, const char *style)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    if (style)
        gtk_widget_add_css_class(label, style);
    return label;
}

static GtkWidget *section(PscRunForm *form, const char *title)
{
    GtkWidget *heading = label_new(title, "section");
    gtk_widget_set_margin_top(heading, 8);
    gtk_box_append(GTK_BOX(form->box), heading);
    return heading;
}

static GtkWidget *grid_new(void)
{
    GtkWidget *grid = gtk_grid_new();
    gtk_grid_set_column_spacing(GTK_GRID(grid), 12);
    gtk_grid_set_row_spacing(GTK_GRID(grid), 6);
    return grid;
}

/* A line of a grid: words and control; the words name the control. */
static void line(GtkWidget *grid, int row, const char *words, GtkWidget *control, const char *hint)
{
    GtkWidget *label = label_new(words, "dim");
    gtk_widget_set_size_request(label, 110, -1);
    gtk_grid_attach(GTK_GRID(grid), label, 0, row, 1, 1);
    gtk_grid_attach(GTK_GRID(grid), control, 1, row, 1, 1);
    gtk_widget_set_hexpand(control, TRUE);
    psc_ui_name(control, words);
    if (hint) {
        gtk_widget_set_tooltip_text(control, hint);
        gtk_accessible_update_property(GTK_ACCESSIBLE(control), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, hint, -1);
    }
}

/* What a number means that says nothing by itself, beside its control. */
static void remark(GtkWidget *grid, int row, const char *words)
{
    gtk_widget_set_hexpand(gtk_grid_get_child_at(GTK_GRID(grid), 1, row), FALSE);
    GtkWidget *label = label_new(words, "dim");
    gtk_widget_set_hexpand(label, TRUE);
    gtk_grid_attach(GTK_GRID(grid), label, 2, row, 1, 1);
}

static GtkWidget *number_new(double low, double high, double step, double value, guint digits)
{
    GtkWidget *spin = gtk_spin_button_new_with_range(low, high, step);
    gtk_spin_button_set_digits(GTK_SPIN_BUTTON(spin), digits);
    gtk_spin_button_set_value(GTK_SPIN_BUTTON(spin), value);
    gtk_widget_set_halign(spin, GTK_ALIGN_START);
    GtkEditable *inside = gtk_editable_get_delegate(GTK_EDITABLE(spin));
    gtk_text_set_activates_default(GTK_TEXT(inside), TRUE); /* Enter runs, as in every other field */
    return spin;
}

static guint number(GtkWidget *spin)
{
    gtk_spin_button_update(GTK_SPIN_BUTTON(spin)); /* what was typed and not yet taken */
    return (guint)gtk_spin_button_get_value(GTK_SPIN_BUTTON(spin));
}

static GtkWidget *choice_new(const char *const *words)
{
    GtkWidget *choice = gtk_drop_down_new_from_strings(words);
    gtk_widget_set_halign(choice, GTK_ALIGN_START);
    return choice;
}

static guint chosen(GtkWidget *choice)
{
    return gtk_drop_down_get_selected(GTK_DROP_DOWN(choice));
}

static GtkWidget *error_new(PscRunForm *form, PscRunField field)
{
    form->error[field] = label_new(NULL, "field-error");
    gtk_widget_set_visible(form->error[field], FALSE);
    gtk_box_append(GTK_BOX(form->box), form->error[field]);
    return form->error[field];
}

/* ---- what ------------------------------------------------------------------------------------------------------ */

static PscRunWhat what_of(PscRunForm *form)
{
    for (int i = 0; i < PSC_RUN_WHAT_N; i++)
        if (gtk_check_button_get_active(GTK_CHECK_BUTTON(form->what[i])))
            return (PscRunWhat)i;
    return PSC_RUN_PRESET;
}

static void show_what(PscRunForm *form)
{
    PscRunWhat what = what_of(form);
    gtk_widget_set_visible(form->graph_box, what == PSC_RUN_GRAPH);
    gtk_widget_set_visible(form->model_box, what != PSC_RUN_GRAPH);
    psc_run_form_tell(form, PSC_RUN_FIELD_NONE, 0, NULL);
}

/* What is typed or chosen is what is meant. */
static void path_cb(PscRunForm *form)
{
    if (*gtk_editable_get_text(GTK_EDITABLE(form->path)))
        gtk_check_button_set_active(GTK_CHECK_BUTTON(form->what[PSC_RUN_FILE]), TRUE);
}

static void preset_cb(PscRunForm *form)
{
    gtk_check_button_set_active(GTK_CHECK_BUTTON(form->what[PSC_RUN_PRESET]), TRUE);
}

static void mixed_cb(PscRunForm *form)
{
    gtk_check_button_set_active(GTK_CHECK_BUTTON(g_ptr_array_index(form->backends, form->backends->len - 1)), TRUE);
}

static void chosen_cb(const char *path, gpointer data)
{
    PscRunForm *form = data;
    gtk_editable_set_text(GTK_EDITABLE(form->path), path);
    path_cb(form);
}

static void browse_cb(PscRunForm *form)
{
    GtkRoot *root = gtk_widget_get_root(form->box);
    form->door.choose_file(form->door.ctx, GTK_WINDOW(root), chosen_cb, form);
}

/* The i-th preset of the list: those that run at once come first. NULL at its end. */
static const struct psc_preset *listed_preset(guint i)
{
    for (int tiny = 1; tiny >= 0; tiny--)
        for (const struct psc_preset *p = psc_presets; p->name; p++)
            if (p->is_tiny == (tiny != 0) && i-- == 0)
                return p;
    return NULL;
}

static GtkWidget *presets_new(void)
{
    GtkStringList *names = gtk_string_list_new(NULL);
    const struct psc_preset *preset;
    for (guint i = 0; (preset = listed_preset(i)); i++)
        gtk_string_list_take(names, g_strdup_printf("%s: %s", preset->name, preset->text));
    return gtk_drop_down_new(G_LIST_MODEL(names), NULL);
}

static void add_what(PscRunForm *form)
{
    static const char *const words[] = {"The graph that is open", "A model file", "A preset"};
    GtkWidget *grid = grid_new(), *file = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    section(form, "WHAT TO RUN");
    for (int i = 0; i < PSC_RUN_WHAT_N; i++) {
        form->what[i] = gtk_check_button_new_with_label(words[i]);
        if (i)
            gtk_check_button_set_group(GTK_CHECK_BUTTON(form->what[i]), GTK_CHECK_BUTTON(form->what[0]));
        gtk_grid_attach(GTK_GRID(grid), form->what[i], 0, i, 1, 1);
        g_signal_connect_swapped(form->what[i], "toggled", G_CALLBACK(show_what), form);
    }
    form->graph_words = label_new(NULL, "dim");
    form->path = gtk_entry_new();
    gtk_entry_set_placeholder_text(GTK_ENTRY(form->path), "model.gguf");
    psc_ui_name(form->path, "Model file");
    gtk_widget_set_hexpand(form->path, TRUE);
    gtk_entry_set_activates_default(GTK_ENTRY(form->path), TRUE);
    g_signal_connect_swapped(form->path, "changed", G_CALLBACK(path_cb), form);
    form->browse = gtk_button_new_with_label("Browse\xe2\x80\xa6");
    psc_ui_name(form->browse, "Choose a model file");
    g_signal_connect_swapped(form->browse, "clicked", G_CALLBACK(browse_cb), form);
    gtk_box_append(GTK_BOX(file), form->path);
    gtk_box_append(GTK_BOX(file), form->browse);
    form->preset = presets_new();
    psc_ui_name(form->preset, "Preset");
    g_signal_connect_swapped(form->preset, "notify::selected", G_CALLBACK(preset_cb), form);
    gtk_grid_attach(GTK_GRID(grid), form->graph_words, 1, 0, 1, 1);
    gtk_grid_attach(GTK_GRID(grid), file, 1, 1, 1, 1);
    gtk_grid_attach(GTK_GRID(grid), form->preset, 1, 2, 1, 1);
    gtk_box_append(GTK_BOX(form->box), grid);
    error_new(form, PSC_RUN_FIELD_WHAT);
}

/* ---- prompt, or fills --------------------------------------------------------------------------------------------- */

static void add_prompt(PscRunForm *form)
{
    static const char *const kinds[] = {"text to go on with", "a message to answer", "numbers of tokens", NULL};
    GtkWidget *grid = grid_new();
    form->model_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    GtkWidget *heading = section(form, "PROMPT");
    g_object_ref(heading);
    gtk_box_remove(GTK_BOX(form->box), heading);
    gtk_box_append(GTK_BOX(form->model_box), heading);
    g_object_unref(heading);
    form->prompt = gtk_entry_new();
    gtk_editable_set_text(GTK_EDITABLE(form->prompt), PROMPT_DEFAULT);
    gtk_entry_set_activates_default(GTK_ENTRY(form->prompt), TRUE);
    form->prompt_is = choice_new(kinds);
    form->tokens = number_new(1, 1000000, 1, 16, 0);
    form->n_ctx = number_new(0, 1 << 24, 64, 0, 0);
    form->temperature = number_new(0, 10, 0.1, 0, 2);
    form->seed = number_new(0, 4294967295.0, 1, 0, 0);
    GtkWidget *numbers = grid_new();
    line(grid, 0, "Prompt", form->prompt, NULL);
    line(grid, 1, "The prompt is", form->prompt_is, NULL);
    line(numbers, 0, "Tokens", form->tokens, "Tokens to generate");
    line(numbers, 1, "Context rows", form->n_ctx, "Rows of every KV region (n_ctx); 0: 4,096, or what the model allows");
    line(numbers, 2, "Temperature", form->temperature, "0: always the most probable token");
    line(numbers, 3, "Seed", form->seed, "Of the sampler");
    remark(numbers, 0, "to generate");
    remark(numbers, 1, "of every KV region; 0: 4,096, or what the model allows");
    remark(numbers, 2, "0: always the most probable token");
    remark(numbers, 3, "of the sampler; without a temperature it says nothing");
    gtk_box_append(GTK_BOX(form->model_box), grid);
    gtk_box_append(GTK_BOX(form->model_box), numbers);
    gtk_box_append(GTK_BOX(form->box), form->model_box);
    error_new(form, PSC_RUN_FIELD_PROMPT);
}

static void add_fills(PscRunForm *form)
{
    GtkWidget *grid = grid_new();
    form->graph_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_box_append(GTK_BOX(form->graph_box), label_new("INPUTS", "section"));
    gtk_box_append(GTK_BOX(form->graph_box),
                   label_new("Numbers: 1,2,3.  Or random:SEED, count (0, 1, 2 \xe2\x80\xa6), zeros.", "dim"));
    form->fills = grid_new();
    form->times = number_new(1, 10000, 1, 1, 0);
    line(grid, 0, "Times", form->times, "How often the graph is executed");
    gtk_box_append(GTK_BOX(form->graph_box), form->fills);
    gtk_box_append(GTK_BOX(form->graph_box), grid);
    gtk_box_append(GTK_BOX(form->box), form->graph_box);
    error_new(form, PSC_RUN_FIELD_FILL);
    form->fill_entries = g_ptr_array_new();
    form->fill_errors = g_ptr_array_new();
}

static char *input_words(const struct psc_graph *graph, psc_node input)
{
    const struct psc_node_info *node = &graph->nodes[input];
    char label[96];
    return g_strdup_printf("%s [%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT "] %s",
                           node->name && *node->name ? node->name : psc_node_label(graph, input, label, sizeof label),
                           node->shape[0], node->shape[1] * node->shape[2] * node->shape[3], psc_dtype_name(node->dtype));
}

static void make_fills(PscRunForm *form, const struct psc_graph *graph)
{
    for (GtkWidget *child = gtk_widget_get_first_child(form->fills); child; child = gtk_widget_get_first_child(form->fills))
        gtk_grid_remove(GTK_GRID(form->fills), child);
    g_ptr_array_set_size(form->fill_entries, 0);
    g_ptr_array_set_size(form->fill_errors, 0);
    for (uint32_t i = 0; i < graph->input_n; i++) {
        char *words = input_words(graph, graph->inputs[i]);
        GtkWidget *entry = gtk_entry_new(), *error = label_new(NULL, "field-error");
        gtk_editable_set_text(GTK_EDITABLE(entry), psc_run_fill_default(graph, graph->inputs[i]));
        gtk_entry_set_activates_default(GTK_ENTRY(entry), TRUE);
        gtk_widget_set_visible(error, FALSE);
        line(form->fills, (int)i * 2, words, entry, NULL);
        gtk_grid_attach(GTK_GRID(form->fills), error, 1, (int)i * 2 + 1, 1, 1);
        g_ptr_array_add(form->fill_entries, entry);
        g_ptr_array_add(form->fill_errors, error);
        g_free(words);
    }
}

/* ---- where and how --------------------------------------------------------------------------------------------------- */

static GtkWidget *backend_new(PscRunForm *form, const char *words, const char *unavailable)
{
    char *text = unavailable ? g_strdup_printf("%s: %s", words, unavailable) : g_strdup(words);
    GtkWidget *button = gtk_check_button_new_with_label(text);
    gtk_widget_set_sensitive(button, unavailable == NULL);
    if (form->backends->len)
        gtk_check_button_set_group(GTK_CHECK_BUTTON(button), GTK_CHECK_BUTTON(g_ptr_array_index(form->backends, 0)));
    g_ptr_array_add(form->backends, button);
    g_free(text);
    return button;
}

static void add_backends(PscRunForm *form)
{
    GtkWidget *list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *mixed = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    form->backends = g_ptr_array_new();
    section(form, "BACKEND");
    for (guint i = 0; i < form->door.backend_n(form->door.ctx); i++) {
        const char *unavailable, *name = form->door.backend(form->door.ctx, i, &unavailable);
        gtk_box_append(GTK_BOX(list), backend_new(form, name, unavailable));
    }
    gtk_box_append(GTK_BOX(list), backend_new(form, "auto: the one with the highest priority that takes the op", NULL));
    gtk_box_append(GTK_BOX(mixed), backend_new(form, "mixed, by layers", NULL));
    form->mixed = gtk_entry_new();
    gtk_editable_set_text(GTK_EDITABLE(form->mixed), "0-0=deferred,1-99=cpu");
    gtk_widget_set_hexpand(form->mixed, TRUE);
    psc_ui_name(form->mixed, "Layers of each backend");
    gtk_entry_set_activates_default(GTK_ENTRY(form->mixed), TRUE);
    g_signal_connect_swapped(form->mixed, "changed", G_CALLBACK(mixed_cb), form);
    gtk_box_append(GTK_BOX(mixed), form->mixed);
    gtk_box_append(GTK_BOX(list), mixed);
    gtk_box_append(GTK_BOX(form->box), list);
    gtk_check_button_set_active(GTK_CHECK_BUTTON(g_ptr_array_index(form->backends, 0)), TRUE);
    error_new(form, PSC_RUN_FIELD_BACKEND);
}

static GtkWidget *names_of(guint n, const char *(*name)(guint i))
{
    GtkStringList *names = gtk_string_list_new(NULL);
    for (guint i = 0; i < n; i++)
        gtk_string_list_append(names, name(i));
    GtkWidget *choice = gtk_drop_down_new(G_LIST_MODEL(names), NULL);
    gtk_widget_set_halign(choice, GTK_ALIGN_START);
    return choice;
}

static const char *mode_name(guint i)
{
    return psc_mode_name((enum psc_mode)i);
}

static const char *size_name(guint i)
{
    return psc_size_name((enum psc_size)i);
}

static const char *slots_name(guint i)
{
    return psc_slots_name((enum psc_slots)i);
}

static const char *order_name(guint i)
{
    return psc_order_name((enum psc_order)i);
}

static const char *recycled_name(guint i)
{
    return psc_recycled_name((enum psc_recycled)i);
}

static const char *planner_name(guint i)
{
    return psc_planners[i].name;
}

static guint planner_n(void)
{
    guint n = 0;
    while (psc_planners[n].name)
        n++;
    return n;
}

static const char *arena_fault_name(guint i)
{
    return i ? psc_arena_fault_info((enum psc_arena_fault)(i - 1))->text : "none";
}

/* What has nothing to say of the chosen memory cannot be chosen. */
static void memory_cb(PscRunForm *form)
{
    gboolean arenas = chosen(form->memory) == 1;
    GtkWidget *of_plans[] = {form->planner, form->mode, form->size, form->slots, form->order, form->recycled};
    for (guint i = 0; i < G_N_ELEMENTS(of_plans); i++)
        gtk_widget_set_sensitive(of_plans[i], !arenas);
    gtk_widget_set_visible(form->arena_box, arenas);
}

static void add_memory(PscRunForm *form)
{
    static const char *const where[] = {"in pools, by a plan", "on arenas, without a plan", NULL};
    static const char *const how[] = {"copied into the I/O arena", "borrowed: read where they are", NULL};
    static const char *const modes[] = {"hardened", "upstream", NULL};
    GtkWidget *grid = grid_new();
    section(form, "MEMORY");
    form->memory = choice_new(where);
    form->arena_mode = choice_new(modes);
    form->hold = number_new(0, 10000, 1, 1, 0);
    form->inputs = choice_new(how);
    form->arena_fault = names_of(PSC_ARENA_FAULT_N + 1, arena_fault_name);
    form->arena_box = grid_new();
    line(grid, 0, "Values live", form->memory, "By a plan made before, or on an execution and an I/O arena at run time");
    line(form->arena_box, 0, "Mode", form->arena_mode, "hardened: generations, aligned blocks, poison on return, a lock; upstream: none of these");
    line(form->arena_box, 1, "Hold outputs", form->hold, "Of so many runs: a run is an execution of a graph, or a forward of a model");
    line(form->arena_box, 2, "Inputs", form->inputs, NULL);
    line(form->arena_box, 3, "Fault", form->arena_fault, "A defect of arenas");
    gtk_box_append(GTK_BOX(form->box), grid);
    gtk_box_append(GTK_BOX(form->box), form->arena_box);
    g_signal_connect_swapped(form->memory, "notify::selected", G_CALLBACK(memory_cb), form);
}

static void add_planner(PscRunForm *form)
{
    GtkWidget *grid = grid_new();
    section(form, "PLAN");
    form->planner = names_of(planner_n(), planner_name);
    form->mode = names_of(PSC_MODE_N, mode_name);
    form->size = names_of(PSC_SIZE_N, size_name);
    form->slots = names_of(PSC_SLOTS_N, slots_name);
    form->order = names_of(PSC_ORDER_N, order_name);
    form->recycled = names_of(PSC_RECYCLED_N, recycled_name);
    line(grid, 0, "Planner", form->planner, "Which strategy places the tensors");
    line(grid, 1, "Mode", form->mode, "upstream repeats the engine with its open holes; hardened closes them");
    line(grid, 2, "Size", form->size, "Buffers in size classes, or of exactly the bytes that are needed");
    line(grid, 3, "Slots", form->slots, "Which of several free buffers is taken");
    line(grid, 4, "Order", form->order, "The order in which lives are counted; execution stays in build order");
    line(grid, 5, "Recycled bytes", form->recycled, "What a buffer holds when it is given out again");
    gtk_box_append(GTK_BOX(form->box), grid);
}

static void add_faults(PscRunForm *form)
{
    GtkWidget *list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    uint32_t n = psc_named_fault_n();
    form->fault = g_new0(GtkWidget *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct psc_named_fault fault = psc_named_fault(i);
        enum psc_fault of_plan = psc_fault_from_name(fault.name);
        bool needs_budget = of_plan != PSC_FAULT_N && psc_fault_info(of_plan)->needs_budget;
        char *words = g_strdup_printf("%s  %s%s", fault.name, fault.text, needs_budget ? " (" PSC_NEEDS_BUDGET ")" : "");
        form->fault[i] = gtk_check_button_new_with_label(words);
        gtk_widget_set_sensitive(form->fault[i], !needs_budget);
        GtkWidget *label = gtk_widget_get_last_child(form->fault[i]);
        if (GTK_IS_LABEL(label))
            gtk_label_set_wrap(GTK_LABEL(label), TRUE);
        gtk_box_append(GTK_BOX(list), form->fault[i]);
        g_free(words);
    }
    form->faults = gtk_expander_new("Faults of real engines, off by default");
    gtk_expander_set_child(GTK_EXPANDER(form->faults), list);
    psc_ui_name(form->faults, "Faults of real engines, off by default");
    gtk_box_append(GTK_BOX(form->box), form->faults);
}

static void add_recording(PscRunForm *form)
{
    static const char *const when[] = {"after each node", "at the end of its split", "not at all", NULL};
    GtkWidget *grid = grid_new(), *threads = grid_new();
    section(form, "RECORD");
    form->capture = choice_new(when);
    form->hashes = gtk_check_button_new_with_label("of every value when it is written and when it is read");
    gtk_check_button_set_active(GTK_CHECK_BUTTON(form->hashes), TRUE);
    form->threads = number_new(0, 1024, 1, 0, 0);
    line(grid, 0, "Values", form->capture, "When statistics and samples of a value are taken");
    line(grid, 1, "Hashes", form->hashes, "They confirm each finding");
    line(threads, 0, "Threads", form->threads, "Of the cpu; 0: all cores");
    remark(threads, 0, "of the cpu; 0: all cores");
    gtk_box_append(GTK_BOX(form->box), grid);
    gtk_box_append(GTK_BOX(form->box), threads);
}

/* ---- the form ------------------------------------------------------------------------------------------------------------ */

void psc_run_form_init(PscRunForm *form, PscWorkspace *ws, const PscRunDoor *door)
{
    *form = (PscRunForm){.ws = ws, .door = *door};
    form->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_widget_add_css_class(form->box, "run-form");
    error_new(form, PSC_RUN_FIELD_NONE);
    add_what(form);
    add_prompt(form);
    add_fills(form);
    add_backends(form);
    add_memory(form);
    add_planner(form);
    add_faults(form);
    add_recording(form);
    memory_cb(form);
    gtk_check_button_set_active(GTK_CHECK_BUTTON(form->what[PSC_RUN_PRESET]), TRUE);
    show_what(form);
}

void psc_run_form_clear(PscRunForm *form)
{
    g_clear_pointer(&form->document, psc_document_unref);
    g_clear_pointer(&form->fill_entries, g_ptr_array_unref);
    g_clear_pointer(&form->fill_errors, g_ptr_array_unref);
    g_clear_pointer(&form->backends, g_ptr_array_unref);
    g_clear_pointer(&form->fault, g_free);
}

void psc_run_form_refresh(PscRunForm *form)
{
    PscStudy *study = psc_workspace_study(form->ws);
    const struct psc_graph *graph = study ? study->graph : NULL;
    gboolean same = form->document && study && form->document == study->document && form->phase == study->phase_index;
    if (!same) {
        g_clear_pointer(&form->document, psc_document_unref);
        if (graph) {
            form->document = psc_document_ref(study->document);
            form->phase = study->phase_index;
            make_fills(form, graph);
        }
    }
    char *words = graph ? g_strdup_printf("%s, %u ops, %u inputs", psc_workspace_title(form->ws), graph->n, graph->input_n)
                        : g_strdup("no graph is open");
    gtk_label_set_text(GTK_LABEL(form->graph_words), words);
    g_free(words);
    gtk_widget_set_sensitive(form->what[PSC_RUN_GRAPH], graph != NULL);
    if (!graph && what_of(form) == PSC_RUN_GRAPH)
        gtk_check_button_set_active(GTK_CHECK_BUTTON(form->what[PSC_RUN_PRESET]), TRUE);
    show_what(form);
}

static void mark(GtkWidget *control, GtkWidget *label, const char *text)
{
    char *words = text ? g_strconcat("\xe2\x9c\x95 ", text, NULL) : NULL;
    gtk_label_set_text(GTK_LABEL(label), words ? words : "");
    gtk_widget_set_visible(label, text != NULL);
    g_free(words);
    if (!control)
        return;
    gtk_accessible_update_state(GTK_ACCESSIBLE(control), GTK_ACCESSIBLE_STATE_INVALID,
                                text ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE, -1);
    if (text)
        gtk_widget_add_css_class(control, "error");
    else
        gtk_widget_remove_css_class(control, "error");
}

static GtkWidget *control_of(PscRunForm *form, PscRunField field)
{
    switch (field) {
    case PSC_RUN_FIELD_WHAT: return what_of(form) == PSC_RUN_PRESET ? form->preset : form->path;
    case PSC_RUN_FIELD_PROMPT: return form->prompt;
    case PSC_RUN_FIELD_BACKEND: return form->mixed;
    default: return NULL;
    }
}

void psc_run_form_tell(PscRunForm *form, PscRunField field, guint fill, const char *text)
{
    for (int i = 0; i < PSC_RUN_ERROR_N; i++)
        mark(control_of(form, (PscRunField)i), form->error[i], NULL);
    for (guint i = 0; i < form->fill_errors->len; i++)
        mark(g_ptr_array_index(form->fill_entries, i), g_ptr_array_index(form->fill_errors, i), NULL);
    if (!text)
        return;
    gboolean one_fill = field == PSC_RUN_FIELD_FILL && fill < form->fill_errors->len;
    GtkWidget *control = one_fill ? g_ptr_array_index(form->fill_entries, fill) : control_of(form, field);
    mark(control, one_fill ? g_ptr_array_index(form->fill_errors, fill) : form->error[field], text);
    if (control && gtk_widget_is_sensitive(control))
        gtk_widget_grab_focus(control);
}

/* NULL when "mixed" has no layers. */
static char *backend_spec(PscRunForm *form)
{
    guint n = form->door.backend_n(form->door.ctx);
    for (guint i = 0; i < n; i++)
        if (gtk_check_button_get_active(GTK_CHECK_BUTTON(g_ptr_array_index(form->backends, i)))) {
            const char *unavailable;
            return g_strdup(form->door.backend(form->door.ctx, i, &unavailable));
        }
    if (gtk_check_button_get_active(GTK_CHECK_BUTTON(g_ptr_array_index(form->backends, n))))
        return g_strdup("auto");
    const char *layers = gtk_editable_get_text(GTK_EDITABLE(form->mixed));
    return *layers ? g_strconcat("mixed:", layers, NULL) : NULL;
}

static void take_graph(PscRunForm *form, PscRunOrder *order)
{
    order->document = form->document ? psc_document_ref(form->document) : NULL;
    order->phase = form->phase;
    order->times = number(form->times);
    order->fills = g_new0(char *, form->fill_entries->len + 1);
    for (guint i = 0; i < form->fill_entries->len; i++)
        order->fills[i] = g_strdup(gtk_editable_get_text(GTK_EDITABLE(g_ptr_array_index(form->fill_entries, i))));
}

static void take_arenas(PscRunForm *form, PscRunOrder *order)
{
    guint fault = chosen(form->arena_fault);
    order->on_arenas = chosen(form->memory) == 1;
    order->borrow = chosen(form->inputs) == 1;
    order->hold = number(form->hold);
    order->arenas.guards = chosen(form->arena_mode) ? PSC_ARENA_UPSTREAM : PSC_ARENA_HARDENED;
    order->arenas.faults = fault ? PSC_ARENA_BIT(fault - 1) : 0;
}

static void take_options(PscRunForm *form, PscRunOrder *order)
{
    static const enum psc_capture when[] = {PSC_CAPTURE_NODE, PSC_CAPTURE_SPLIT, PSC_CAPTURE_UNKNOWN};
    order->planner = &psc_planners[chosen(form->planner)];
    order->plan.mode = (enum psc_mode)chosen(form->mode);
    order->plan.size = (enum psc_size)chosen(form->size);
    order->plan.slots = (enum psc_slots)chosen(form->slots);
    order->plan.order = (enum psc_order)chosen(form->order);
    order->recycled = (enum psc_recycled)chosen(form->recycled);
    order->capture = when[chosen(form->capture)];
    order->values = order->capture != PSC_CAPTURE_UNKNOWN;
    order->hashes = gtk_check_button_get_active(GTK_CHECK_BUTTON(form->hashes));
    order->threads = number(form->threads);
    take_arenas(form, order);
    order->seed = (guint64)gtk_spin_button_get_value(GTK_SPIN_BUTTON(form->seed));
    order->temperature = gtk_spin_button_get_value(GTK_SPIN_BUTTON(form->temperature));
    for (uint32_t i = 0; i < psc_named_fault_n(); i++)
        order->faults[i] = gtk_check_button_get_active(GTK_CHECK_BUTTON(form->fault[i]));
}

PscRunOrder *psc_run_form_order(PscRunForm *form)
{
    PscRunOrder *order = psc_run_order_new();
    PscRunField field = PSC_RUN_FIELD_NONE;
    const char *wrong = NULL;
    order->what = what_of(form);
    order->path = g_strdup(gtk_editable_get_text(GTK_EDITABLE(form->path)));
    order->preset = g_strdup(listed_preset(chosen(form->preset))->name);
    order->prompt = g_strdup(gtk_editable_get_text(GTK_EDITABLE(form->prompt)));
    order->prompt_is = (PscRunPrompt)chosen(form->prompt_is);
    order->tokens = number(form->tokens);
    order->n_ctx = number(form->n_ctx);
    order->backend = backend_spec(form);
    take_options(form, order);
    take_graph(form, order);
    if (order->what == PSC_RUN_FILE && !*order->path) {
        field = PSC_RUN_FIELD_WHAT;
        wrong = "Which file? A GGUF model, any part of a split one.";
    } else if (order->what != PSC_RUN_GRAPH && !*order->prompt) {
        field = PSC_RUN_FIELD_PROMPT;
        wrong = "A model needs a prompt of one token at least.";
    } else if (!order->backend) {
        field = PSC_RUN_FIELD_BACKEND;
        wrong = "Which layers go where? For example 0-11=deferred,12-99=cpu.";
    }
    psc_run_form_tell(form, field, 0, wrong);
    if (!wrong)
        return order;
    psc_run_order_free(order);
    return NULL;
}
