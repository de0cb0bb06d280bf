/* Pong's handling of datagrams, over a pair of local sockets. */
#include "check.h"
#include "rtt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct nd_rtt rtt;

/* A datagram is counted before it is sent, even if the receiver has ended. */
static void test_a_datagram_is_counted_and_sent_back(void) {
    int ends[2];
    char echo[8];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "a pair of sockets");
    CHECK(send(ends[0], "one", 3, 0) == 3, "the first");
    nd_pong_echo_datagram(&rtt, ends[1]);
    CHECK(recv(ends[0], echo, sizeof echo, 0) == 3, "its echo");
    CHECK(rtt.messages == 1 && rtt.bytes == 3, "is counted");
    CHECK(send(ends[0], "second", 6, 0) == 6, "the second");
    close(ends[0]);
    nd_pong_echo_datagram(&rtt, ends[1]);
    CHECK(rtt.messages == 2 && rtt.bytes == 9, "counted although ping has ended");
    close(ends[1]);
}

static int alarmed;

static void send_the_rest(int signal) {
    (void)signal;
    CHECK(write(alarmed, "rest", 4) == 4, "the rest");
}

/* Like a freeze, a signal interrupts a call after a part of the message. */
static void test_a_message_is_whole_though_its_wait_is_interrupted(void) {
    const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    int ends[2];
    uint8_t message[8];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a pair of sockets");
    alarmed = ends[0];
    signal(SIGALRM, send_the_rest);
    CHECK(nd_send_all(ends[0], (const uint8_t *)"half", 4), "the first half");
    setitimer(ITIMER_REAL, &soon, NULL);
    CHECK(nd_receive_all(ends[1], message, sizeof message) == sizeof message, "the length");
    CHECK(memcmp(message, "halfrest", sizeof message) == 0, "the message");
    close(ends[0]);
    CHECK(nd_receive_all(ends[1], message, sizeof message) == -1 && errno == 0, "closed");
    close(ends[1]);
}

/* Counters of different threads share no cache line with each other or with shared fields. */
static void test_counters_lie_apart(void) {
    CHECK((uintptr_t)&rtt % ND_APART_BYTES == 0, "the whole");
    CHECK(offsetof(struct nd_rtt, requests) % ND_APART_BYTES == 0, "messages");
    CHECK(offsetof(struct nd_rtt, task_runs) % ND_APART_BYTES == 0, "task_runs");
    CHECK(offsetof(struct nd_rtt, role) >= offsetof(struct nd_rtt, task_runs) + ND_APART_BYTES, "the rest");
}

int main(void) {
    test_a_datagram_is_counted_and_sent_back();
    test_a_message_is_whole_though_its_wait_is_interrupted();
    test_counters_lie_apart();
    return 0;
}
