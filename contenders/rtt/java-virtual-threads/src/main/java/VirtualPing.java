import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import netdyno.Lab;
import netdyno.rtt.Lane;
import netdyno.rtt.Params;
import netdyno.rtt.Ping;
import netdyno.rtt.Schedule;

/**
 * Ping with a virtual thread for each lane, which sends a request, blocks until the echo arrives, and waits until the next
 * request is due.
 *
 * <p>The blocking calls of a channel have no timeout, and the timeout of a socket would cost a timer per request. One thread
 * therefore checks all lanes every 100 ms. If an echo is overdue, another thread sends the next request, while the lane's own
 * thread continues to wait for an echo.
 */
final class VirtualPing extends Ping {
    /** A part of the traffic. */
    private interface Work {
        void run() throws IOException;
    }

    private static final long END_MS = 3000;

    private final Link[] links;

    VirtualPing(Lab lab, Params params) {
        super(lab, params, true);
        if (!Virtual.supported()) {
            throw lab.unsupported("virtual threads need Java 21");
        }
        links = new Link[params.outstanding()];
    }

    @Override
    public Thread thread(Runnable work) {
        return Virtual.start(work);
    }

    @Override
    protected void open(Lane lane, InetSocketAddress pong) throws IOException {
        links[lane.stream] = Link.open(params.tcp(), pong);
    }

    @Override
    protected void send(Lane lane, ByteBuffer message) throws IOException {
        links[lane.stream].send(message);
    }

    @Override
    protected long receive(Lane lane) throws IOException {
        return links[lane.stream].receive(lane.echo);
    }

    @Override
    protected void run(Schedule schedule) throws InterruptedException {
        CountDownLatch ended = new CountDownLatch(lanes.length);
        Thread[] threads = new Thread[lanes.length];
        for (Lane lane : lanes) {
            threads[lane.stream] = start(() -> {
                try {
                    drive(lane, schedule);
                } finally {
                    ended.countDown();
                }
            });
        }
        while (!stopping.await(CHECK_MS, TimeUnit.MILLISECONDS)) {
            for (Lane lane : lanes) {
                if (!params.tcp() && lane.expire(System.nanoTime())) {
                    start(() -> request(lane, schedule));
                }
            }
        }
        for (Thread thread : threads) {
            thread.interrupt(); // ends its wait for an echo or for the due time
        }
        ended.await(END_MS, TimeUnit.MILLISECONDS);
    }

    @Override
    protected void wake() {
        // The stop wakes the checking thread, which wakes the others.
    }

    private void drive(Lane lane, Schedule schedule) throws IOException {
        Link link = links[lane.stream];
        while (!stopped()) {
            request(lane, schedule);
            Lane.Echo echo;
            do {
                echo = lane.take(link.receive(lane.echo));
            } while (echo != Lane.Echo.AWAITED);
        }
    }

    private void request(Lane lane, Schedule schedule) throws IOException {
        Link link = links[lane.stream];
        lane.prepare();
        if (params.closedLoop()) {
            link.send(lane.request());
        } else {
            long dueNs = schedule.dueNs(lane.number());
            awaitDue(dueNs);
            if (stopped()) {
                return;
            }
            link.send(lane.request(dueNs));
        }
        lane.sent();
    }

    private void awaitDue(long dueNs) {
        long leftNs = dueNs - System.nanoTime();
        while (leftNs > 0 && !stopped()) {
            if (params.timer()) {
                LockSupport.parkNanos(leftNs);
            } else {
                Thread.yield();
            }
            leftNs = dueNs - System.nanoTime();
        }
    }

    private Thread start(Work work) {
        return Virtual.start(() -> {
            try {
                work.run();
            } catch (IOException e) {
                if (!stopped()) {
                    throw new UncheckedIOException(e);
                }
            }
        });
    }
}
