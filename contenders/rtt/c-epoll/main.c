/* The rtt workload over non-blocking sockets and epoll. */
#include "rtt.h"

#include <gnu/libc-version.h>

int main(void) {
    static struct nd_rtt rtt;
    nd_rtt_setup(&rtt);
    nd_rtt_ready(&rtt, "epoll", gnu_get_libc_version());
    if (rtt.ping)
        nd_run_ping(&rtt);
    nd_run_pong(&rtt);
}
