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
 * Ping with a virtual thread for each lane, which sends, blocks until the echo is there, and waits for what is due.
 *
 * <p>A channel's blocking calls have no time limit, and a socket's limit would cost a timer a request. Instead one
 * thread looks at all lanes every 100 ms; where an echo is overdue, it has the next request sent by another thread,
 * while the lane's own stays where it is: waiting for an echo.
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
        while (!stopping.await(LOOK_MS, TimeUnit.MILLISECONDS)) {
            for (Lane lane : lanes) {
                if (!params.tcp() && lane.lose(System.nanoTime())) {
                    start(() -> request(lane, schedule));
                }
            }
        }
        for (Thread thread : threads) {
            thread.interrupt(); // ends what it waits for, be it an echo or a moment
        }
        ended.await(END_MS, TimeUnit.MILLISECONDS);
    }

    @Override
    protected void wake() {
        // Stopping wakes the thread that looks, and that one the others.
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
