#include "ceiling.h"

#include <gnu/libc-version.h>

int main(void) {
    static struct nd_mjpeg job;
    nd_mjpeg_setup(&job);
    if (job.live && job.sender)
        nd_unsupported("source=live: the ceiling has no encoder and only receives");
    nd_mjpeg_ready(&job, "the bound", gnu_get_libc_version());
    if (job.sender)
        run_sender(&job);
    run_receiver(&job);
}
