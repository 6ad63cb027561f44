#include "app/cli/run-files.h"

#include "app/cli/input.h"
#include "app/cli/out.h"
#include "app/kv-files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- before the run -------------------------------------------------------------------------- */

struct named { const char *option, *path; };
#define OUTPUTS 5u
#define INPUTS 2u

/* "out/" of "out/t.json", "." of "t.json". The name begins at *ret_name. */
static bool folder_of(const char *path, struct psc_text *ret, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    psc_text_add_n(ret, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
    return !ret->failed;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* One regular file under two names, there or still to be made. Devices and pipes may be written twice. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    bool is = stat(a, &x) == 0, other = stat(b, &y) == 0;
    if (is || other)
        return is && other && S_ISREG(x.st_mode) && is_same(&x, &y);
    struct psc_text folder_a = {0}, folder_b = {0};
    const char *name_a, *name_b;
    bool same = folder_of(a, &folder_a, &name_a) && folder_of(b, &folder_b, &name_b) && !strcmp(name_a, name_b) &&
                stat(folder_a.s, &x) == 0 && stat(folder_b.s, &y) == 0 && is_same(&x, &y);
    psc_text_release(&folder_a);
    psc_text_release(&folder_b);
    return same;
}

static enum cli_exit cannot(const char *path, int why)
{
    struct psc_error error = {.byte = UINT64_MAX};
    (void)psc_fail(&error, PSC_ERR_IO, "cannot be written: %s", strerror(why));
    return cli_complain(path, &error);
}

/* Can something be made in the folder where `path` would lie? */
static enum cli_exit check_folder_of(const char *path)
{
    struct psc_text folder = {0};
    const char *name;
    enum cli_exit exit = CLI_CLEAN;
    if (!folder_of(path, &folder, &name))
        exit = cli_complain_nomem();
    else if (access(folder.s, W_OK | X_OK) != 0)
        exit = cannot(path, errno);
    psc_text_release(&folder);
    return exit;
}

static enum cli_exit check_file(const char *path, bool replaced)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? check_folder_of(path) : cannot(path, errno);
    if (S_ISDIR(info.st_mode))
        return cannot(path, EISDIR);
    if (replaced && S_ISREG(info.st_mode)) /* a new one is put into its place */
        return check_folder_of(path);
    return access(path, W_OK) == 0 ? CLI_CLEAN : cannot(path, errno);
}

static enum cli_exit check_dump(const char *folder)
{
    struct stat info;
    if (stat(folder, &info) != 0) {
        struct psc_text path = {0};
        psc_text_add(&path, folder);
        while (path.n > 1 && path.s[path.n - 1] == '/') /* "out/" is made in ".", not in itself */
            path.s[--path.n] = '\0';
        int why = errno;
        enum cli_exit exit = path.failed ? cli_complain_nomem() : why == ENOENT ? check_folder_of(path.s) : cannot(folder, why);
        psc_text_release(&path);
        return exit;
    }
    if (!S_ISDIR(info.st_mode))
        return cannot(folder, ENOTDIR);
    return access(folder, W_OK | X_OK) == 0 ? CLI_CLEAN : cannot(folder, errno);
}

static enum cli_exit refuse_same(const struct named *a, const struct named *b)
{
    struct psc_error error = {.byte = UINT64_MAX};
    if (!*b->option)
        (void)psc_fail(&error, PSC_ERR_USAGE, "%s would write over the file that is read", a->option);
    else
        (void)psc_fail(&error, PSC_ERR_USAGE, "%s and %s name one file", a->option, b->option);
    return cli_complain(a->path, &error);
}

static enum cli_exit check_apart(const struct named *outputs, unsigned n, const struct named *inputs)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = i + 1; k < n; k++)
            if (outputs[i].path && outputs[k].path && same_file(outputs[i].path, outputs[k].path))
                return refuse_same(&outputs[i], &outputs[k]);
        for (unsigned k = 0; k < INPUTS; k++)
            if (outputs[i].path && inputs[k].path && same_file(outputs[i].path, inputs[k].path))
                return refuse_same(&outputs[i], &inputs[k]);
    }
    return CLI_CLEAN;
}

enum cli_exit cli_run_files_check(const struct cli_options *o)
{
    const struct cli_run *c = &o->run;
    struct psc_text pskv = {0}, loaded = {0}; /* of --kv-dump, and of a folder that is loaded */
    enum cli_exit exit = CLI_CLEAN;
    if (c->kv_dump)
        psc_text_addf(&pskv, "%s/kv.pskv", c->kv_dump);
    if (c->kv_load)
        psc_text_addf(&loaded, "%s/kv.pskv", c->kv_load);
    if (pskv.failed || loaded.failed) {
        psc_text_release(&pskv);
        psc_text_release(&loaded);
        return cli_complain_nomem();
    }
    const struct named outputs[OUTPUTS] = {{"--trace", c->trace}, {"--events", c->events}, {"--contents", c->contents},
                                           {"--logits", c->logits}, {"--kv-dump", pskv.s}};
    const struct named inputs[INPUTS] = {{"", o->preset ? NULL : o->file}, {"", o->plan_file}};
    const struct named saved[INPUTS] = {{"", c->kv_load}, {"", loaded.s}};
    for (unsigned i = 0; i < OUTPUTS - 1 && !exit; i++)
        if (outputs[i].path && !strcmp(outputs[i].path, "-")) {
            struct psc_error error = {.byte = UINT64_MAX};
            (void)psc_fail(&error, PSC_ERR_USAGE, "%s - : stdout holds what the run says; name a file (./- for one called so)",
                           outputs[i].option);
            exit = cli_complain(NULL, &error);
        }
    if (!exit)
        exit = check_apart(outputs, OUTPUTS, inputs);
    if (!exit) /* a dump may replace what was loaded: all of it was read before */
        exit = check_apart(outputs, OUTPUTS - 1, saved);
    for (unsigned i = 0; i < 4 && !exit; i++) /* the trace is written beside the old one, the others into it */
        exit = outputs[i].path ? check_file(outputs[i].path, i == 0) : CLI_CLEAN;
    if (!exit && c->kv_dump)
        exit = check_dump(c->kv_dump);
    psc_text_release(&pskv);
    psc_text_release(&loaded);
    return exit;
}

enum cli_exit cli_run_files_apart(const struct cli_options *o, const char *path)
{
    const struct cli_run *c = &o->run;
    const struct named outputs[] = {{"--trace", c->trace}, {"--events", c->events}, {"--contents", c->contents}, {"--logits", c->logits}};
    const struct named inputs[INPUTS] = {{"", path}};
    return check_apart(outputs, sizeof outputs / sizeof *outputs, inputs);
}

/* ---- while it goes on --------------------------------------------------------------------------- */

enum cli_exit cli_run_files_open(struct cli_run_files *files, const struct cli_options *options, const char *model)
{
    const struct cli_run *c = &options->run;
    struct psc_error error = {.byte = UINT64_MAX};
    *files = (struct cli_run_files){.options = options, .model = model};
    if (c->logits && !(files->logits = fopen(c->logits, "wb")))
        return cannot(c->logits, errno);
    if (c->events && psc_events_open(c->events, model, c->prompt, &files->events, &error))
        return cli_complain(c->events, &error);
    if (c->contents && psc_contents_open(c->contents, model, c->prompt, c->has_capture ? c->capture : PSC_CAPTURE_NODE, &files->contents, &error))
        return cli_complain(c->contents, &error);
    return CLI_CLEAN;
}

bool cli_run_files_logits(struct cli_run_files *files, const float *logits, uint32_t n)
{
    errno = 0;
    if (fwrite(logits, sizeof *logits, n, files->logits) == n)
        return true;
    files->logits_failure = errno ? errno : EIO;
    return false;
}

/* ---- after it -------------------------------------------------------------------------------------- */

/* A trace without a phase would be none: the old file stays, and why there is no run was said if it was not Ctrl-C. */
static enum cli_exit write_trace(const struct psc_run_result *result, const char *path)
{
    struct psc_error error = {.byte = UINT64_MAX};
    struct cli_out out;
    const struct psc_doc *doc = result->doc;
    if (!doc->phase_n) {
        (void)psc_fail(&error, PSC_ERR_USAGE, "is not written: the run was ended before there was anything to record");
        return result->cancelled ? cli_complain(path, &error) : CLI_BAD;
    }
    enum cli_exit exit = cli_out_begin(&out, path);
    if (exit)
        return exit;
    enum psc_status status = psc_trace_write(doc, NULL, NULL, false, cli_out_add, &out, &error);
    return cli_out_end(&out, status, &error);
}

static enum cli_exit close_logits(struct cli_run_files *files)
{
    int why = files->logits_failure;
    if (!files->logits)
        return CLI_CLEAN;
    if (fclose(files->logits) && !why)
        why = errno;
    files->logits = NULL;
    return why ? cannot(files->options->run.logits, why) : CLI_CLEAN;
}

enum cli_exit cli_run_files_close(struct cli_run_files *files, const struct psc_run_result *result)
{
    const struct psc_doc *doc = result->doc;
    struct psc_error error = {.byte = UINT64_MAX};
    if (!files->options)
        return CLI_CLEAN;
    const struct cli_run *c = &files->options->run;
    enum cli_exit exit = close_logits(files);
    if (psc_events_close(files->events, doc ? doc->facts : NULL, doc ? doc->fact_n : 0, &error))
        exit = cli_complain(c->events, &error);
    if (psc_events_close(files->contents, NULL, 0, &error))
        exit = cli_complain(c->contents, &error);
    files->events = files->contents = NULL;
    if (c->trace && doc && write_trace(result, c->trace))
        exit = CLI_BAD;
    if (c->kv_dump && result->session &&
        app_write_kv(result, files->model, files->options->backend ? files->options->backend : "cpu", c->kv_dump, &error))
        exit = cli_complain(c->kv_dump, &error);
    return exit;
}
