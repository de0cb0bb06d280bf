/* The rtt workload over blocking sockets. */
#include "rtt.h"

#include <gnu/libc-version.h>

int main(void) {
    static struct nd_rtt rtt;
    nd_rtt_setup(&rtt);
    nd_rtt_ready(&rtt, "blocking sockets", gnu_get_libc_version());
    if (rtt.ping)
        nd_run_ping(&rtt);
    nd_run_pong(&rtt);
}
