/* pong: UDP on the main thread, TCP on a thread a connection. */
#include "rtt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BYTES = 128 << 10 };

struct connection {
    struct nd_rtt *rtt;
    int fd;
};

static void *echo_stream(void *argument) {
    struct connection connection = *(struct connection *)argument;
    struct nd_rtt *rtt = connection.rtt;
    const size_t length = rtt->message_bytes;
    free(argument);
    uint8_t *message = malloc(length);
    if (message == NULL)
        nd_failed("out of memory (connection)");
    while (nd_receive_all(connection.fd, message, length) >= 0) {
        nd_pong_delay(rtt);
        nd_pong_count(rtt, length);
        if (!nd_send_all(connection.fd, message, length))
            break;
    }
    /* ping has gone: that ends this connection, not pong. */
    if (!nd_pong_error_is_harmless(errno))
        nd_failed("a connection: %s", strerror(errno));
    close(connection.fd);
    free(message);
    return NULL;
}

static noreturn void accept_streams(struct nd_rtt *rtt, int listener) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
    rtt->several_writers = rtt->outstanding > 1;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            if (!nd_pong_error_is_harmless(errno))
                nd_failed("accept: %s", strerror(errno));
            continue;
        }
        nd_pong_accepted(fd);
        struct connection *connection = malloc(sizeof *connection);
        if (connection == NULL)
            nd_failed("out of memory (connection)");
        *connection = (struct connection){rtt, fd};
        pthread_t thread;
        int error = pthread_create(&thread, &small, echo_stream, connection);
        if (error != 0)
            nd_failed("a thread for a connection: %s", strerror(error));
    }
}

void nd_run_pong(struct nd_rtt *rtt) {
    int fd = nd_pong_open(rtt);
    if (rtt->tcp)
        accept_streams(rtt, fd);
    for (;;)
        nd_pong_echo_datagram(rtt, fd);
}
