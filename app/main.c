/* planscope [FILE]: the window. */
#include "app/application.h"

int main(int argc, char **argv)
{
    PscApplication *application = psc_application_new();
    int status = g_application_run(G_APPLICATION(application), argc, argv);
    g_object_unref(application);
    return status;
}
