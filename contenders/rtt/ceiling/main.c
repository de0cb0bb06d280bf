/* The rtt workload by polling: the least that could count as the job. */
#include "rtt.h"

#include <gnu/libc-version.h>

int main(void) {
    static struct nd_rtt rtt;
    nd_rtt_setup(&rtt);
    nd_rtt_ready(&rtt, "polling", gnu_get_libc_version(), false);
    if (rtt.ping)
        nd_run_ping(&rtt);
    nd_run_pong(&rtt);
}
