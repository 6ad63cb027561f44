#include "ui/keys.h"

const PscKey psc_keys[] = {
    {"Stepping", "Next op", "win.forward", {"<Control>Right"}, TRUE},
    {"Stepping", "Previous op", "win.back", {"<Control>Left"}, TRUE},
    {"Stepping", "Next op (map)", "win.forward", {"Right"}, FALSE},
    {"Stepping", "Previous op (map)", "win.back", {"Left"}, FALSE},
    {"Stepping", "Next layer", "win.next-layer", {"Page_Down"}, FALSE},
    {"Stepping", "Previous layer", "win.previous-layer", {"Page_Up"}, FALSE},
    {"Stepping", "Next split", "win.next-split", {"<Control>Page_Down"}, TRUE},
    {"Stepping", "Previous split", "win.previous-split", {"<Control>Page_Up"}, TRUE},
    {"Stepping", "Next step of the run", "win.next-step", {"period", "<Control><Shift>Right"}, FALSE},
    {"Stepping", "Previous step of the run", "win.previous-step", {"comma", "<Control><Shift>Left"}, FALSE},
    {"Stepping", "Next phase", "win.next-phase", {"<Alt>Page_Down"}, TRUE},
    {"Stepping", "Previous phase", "win.previous-phase", {"<Alt>Page_Up"}, TRUE},
    {"Stepping", "Before the first op", "win.first", {"Home"}, FALSE},
    {"Stepping", "Last op", "win.last", {"End"}, FALSE},
    {"Stepping", "Play or pause", "win.play", {"space"}, FALSE},
    {"Stepping", "Play slowly", "win.play-slow", {"<Shift>space"}, FALSE},
    {"Stepping", "Go to: 124, 50%, 0x13400, b9, ffn_up", "win.go-to", {"g"}, FALSE},
    {"Stepping", "Peak of live bytes", "win.peak", {"p"}, FALSE},
    {"Selected bytes", "Previous access", "win.previous-access", {"bracketleft"}, FALSE},
    {"Selected bytes", "Next access", "win.next-access", {"bracketright"}, FALSE},
    {"Selected bytes", "Previous write", "win.previous-write", {"braceleft"}, FALSE},
    {"Selected bytes", "Next write", "win.next-write", {"braceright"}, FALSE},
    {"Selected bytes", "Last writer", "win.last-writer", {"l"}, FALSE},
    {"Selected bytes", "Next reader", "win.next-reader", {"n"}, FALSE},
    {"Selected bytes", "Buffer above", "win.row-up", {"Up"}, FALSE},
    {"Selected bytes", "Buffer below", "win.row-down", {"Down"}, FALSE},
    {"Selected bytes", "Explain the selection, and copy the words", "win.explain", {"e"}, FALSE},
    {"Problems", "Next problem", "win.next-problem", {"x"}, FALSE},
    {"Problems", "Previous problem", "win.previous-problem", {"<Shift>x"}, FALSE},
    {"Map", "Zoom in", "win.zoom-in", {"w", "plus", "<Control>plus", "<Control>equal"}, FALSE},
    {"Map", "Zoom out", "win.zoom-out", {"s", "minus", "<Control>minus"}, FALSE},
    {"Map", "Pan left", "win.pan-left", {"a"}, FALSE},
    {"Map", "Pan right", "win.pan-right", {"d"}, FALSE},
    {"Map", "Taller rows", "win.taller", {"<Shift>w"}, FALSE},
    {"Map", "Lower rows", "win.lower", {"<Shift>s"}, FALSE},
    {"Map", "Centre the selection; again: fit it", "win.fit-selection", {"f"}, FALSE},
    {"Map", "Whole run", "win.show-all", {"0", "z"}, FALSE},
    {"Map", "Rows or addresses", "win.toggle-mode", {"y"}, FALSE},
    {"Map", "The curve of live bytes alone", "win.mode::usage", {"u"}, FALSE},
    {"Map", "Recorded, planned, or both over each other", "win.story", {"o"}, FALSE},
    {"Map", "Differences between plan and record", "win.drawer-tab::differences", {"<Shift>o"}, FALSE},
    {"Map", "KV regions", "win.mode::kv", {"k"}, FALSE},
    {"Map", "Inside: how the planner decided, what the arenas hold", "win.mode::panel", {"i"}, FALSE},
    {"Map", "Colour by role or by recorded value", "win.toggle-colour", {"c"}, FALSE},
    {"KV view (with the focus)", "Row before, row after; Shift: by sixteen", "win.kv-keys", {"Left", "Right"}, FALSE},
    {"KV view (with the focus)", "K, V, next layer", "win.kv-keys", {"Up", "Down"}, FALSE},
    {"KV view (with the focus)", "Layer before, layer after", "win.kv-keys", {"Page_Up", "Page_Down"}, FALSE},
    {"KV view (with the focus)", "First and last written row", "win.kv-keys", {"Home", "End"}, FALSE},
    {"KV view (with the focus)", "To the op that writes the cell", "win.kv-keys", {"Return"}, FALSE},
    {"KV view (with the focus)", "K and V, K alone, V alone", "win.kv-halves", {"v"}, FALSE},
    {"Inside (with the focus)", "Scroll by a line", "win.panel-keys", {"Up", "Down"}, FALSE},
    {"Inside (with the focus)", "Scroll by a page", "win.panel-keys", {"Page_Up", "Page_Down"}, FALSE},
    {"Inside (with the focus)", "Plan as that row of the generations does: 1 to 5", "win.panel-keys", {"1", "5"}, FALSE},
    {"Inside (with the focus)", "Next and previous step of the same level", "win.panel-keys", {"b", "<Shift>b"}, FALSE},
    {"Inside (with the focus)", "Steps of one level beside each other, or one by one", "win.panel-keys", {"m"}, FALSE},
    {"Lists and tables (with the focus)", "Row above, row below: selects it", "win.table-keys", {"Up", "Down"}, FALSE},
    {"Lists and tables (with the focus)", "Cursor to the op or buffer; compare: use the planner", "win.table-keys", {"Return"}, FALSE},
    {"Lists and tables (with the focus)", "Sort by the first, the second ... column; again: turn round", "win.table-keys",
     {"<Alt>1", "<Alt>2"}, FALSE},
    {"Lists and tables (with the focus)", "From the filter to the first row", "win.table-keys", {"Return"}, FALSE},
    {"Drawer", "Problems", "win.drawer-tab::problems", {"<Control>1", "<Control><Shift>m"}, TRUE},
    {"Drawer", "Differences between plan and record", "win.drawer-tab::differences", {"<Control>2"}, TRUE},
    {"Drawer", "Recorded values", "win.drawer-tab::records", {"<Control>3"}, TRUE},
    {"Drawer", "Accesses of the selected buffer", "win.drawer-tab::accesses", {"<Control>4"}, TRUE},
    {"Drawer", "KV rows of the step", "win.drawer-tab::kv", {"<Control>5"}, TRUE},
    {"Drawer", "Free list", "win.drawer-tab::free", {"<Control>6"}, TRUE},
    {"Drawer", "Log of the planner", "win.drawer-tab::log", {"<Control>7"}, TRUE},
    {"Drawer", "Open or close it", "win.drawer", {"<Control>j"}, TRUE},
    {"Window", "Open a file", "win.open", {"<Control>o"}, TRUE},
    {"Window", "Type an expression", "win.type-expression", {"<Control>l"}, TRUE},
    {"Window", "Run a model or a graph", "win.run", {"<Control>r"}, TRUE},
    {"Window", "Save as a trace", "win.save-trace", {"<Control>s"}, TRUE},
    {"Window", "Save a picture", "win.export-picture", {"<Control>e"}, TRUE},
    {"Window", "Save the plan", "win.export-plan", {"<Control><Shift>e"}, TRUE},
    {"Window", "Find in ops and buffers", "win.find", {"<Control>f"}, TRUE},
    {"Window", "Find in ops and buffers (map)", "win.find", {"slash"}, FALSE},
    {"Window", "Plan options", "win.plan-options", {"<Control>p"}, TRUE},
    {"Window", "Compare planners, and back", "win.compare", {"<Control><Shift>p"}, TRUE},
    {"Window", "Side by side with the picked planner, else another file", "win.diff-planner", {"<Control>d"}, TRUE},
    {"Window", "Show or hide the lists", "win.lists", {"F9"}, TRUE},
    {"Window", "Show or hide the inspector", "win.inspector", {"<Control>F9"}, TRUE},
    {"Window", "Back to the map; there: clear the selection, undim", "win.clear", {"Escape"}, FALSE},
    {"Window", "Next pane", "win.next-pane", {"F6"}, TRUE},
    {"Window", "Previous pane", "win.previous-pane", {"<Shift>F6"}, TRUE},
    {"Window", "Next control, previous control", "win.focus-keys", {"Tab", "<Shift>Tab"}, FALSE},
    {"Window", "Choose the border of a pane; arrows move it", "win.paned-keys", {"F8"}, FALSE},
    {"Window", "Main menu", "win.menu-keys", {"F10"}, FALSE},
    {"Window", "Full screen", "win.full-screen", {"F11"}, TRUE},
    {"Window", "Keyboard shortcuts", "win.shortcuts", {"<Control>question", "F1"}, TRUE},
    {"Window", "Close the document", "win.close-document", {"<Control>w"}, TRUE},
    {"Window", "Quit", "app.quit", {"<Control>q"}, TRUE},
    {NULL, NULL, NULL, {NULL}, FALSE},
};

/* Listed only: the widget that has the focus takes these itself. */
static gboolean is_of_widget(const PscKey *key)
{
    return g_str_has_suffix(key->action, "-keys");
}

void psc_keys_install(GtkApplication *application)
{
    for (const PscKey *key = psc_keys; key->group; key++)
        if (key->anywhere)
            gtk_application_set_accels_for_action(application, key->action, (const char *const *)key->accels);
}

void psc_keys_attach(GtkWidget *widget)
{
    GtkEventController *controller = gtk_shortcut_controller_new();
    for (const PscKey *key = psc_keys; key->group; key++) {
        if (key->anywhere || is_of_widget(key))
            continue;
        char *name = NULL;
        GVariant *target = NULL;
        if (!g_action_parse_detailed_name(key->action, &name, &target, NULL))
            g_error("no action: %s", key->action);
        for (int i = 0; i < 4 && key->accels[i]; i++) {
            GtkShortcut *shortcut = gtk_shortcut_new(gtk_shortcut_trigger_parse_string(key->accels[i]),
                                                     gtk_named_action_new(name));
            gtk_shortcut_set_arguments(shortcut, target);
            gtk_shortcut_controller_add_shortcut(GTK_SHORTCUT_CONTROLLER(controller), shortcut);
        }
        g_free(name);
        g_clear_pointer(&target, g_variant_unref);
    }
    gtk_widget_add_controller(widget, controller);
}
