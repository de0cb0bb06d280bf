/* The rtt workload over io_uring. */
#include "ring.h"

int main(void) {
    static struct nd_rtt rtt;
    static struct io_uring ring;
    nd_rtt_setup(&rtt);
    ring_open(&ring, &rtt);
    nd_rtt_ready(&rtt, "liburing", ring_version());
    if (rtt.ping)
        run_ping(&rtt, &ring);
    run_pong(&rtt, &ring);
}
