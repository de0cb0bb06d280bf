import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import netdyno.Lab;
import netdyno.rtt.Lane;
import netdyno.rtt.Params;
import netdyno.rtt.Ping;
import netdyno.rtt.Schedule;

/** Ping on one thread, which waits in a selector for echoes, and according to the pacing until requests are due. */
final class NioPing extends Ping {
    private static final long NS_PER_MS = 1_000_000;

    private final Link[] links;
    private final Selector selector;
    private final Consumer<SelectionKey> handler = this::handle;
    private volatile Thread waiter;

    private Schedule schedule;
    private long dueNumber; // the first request that is not due yet, over all lanes
    private long dueNs; // when it is due
    private long nowNs; // the clock as last read
    private int busy; // number of lanes with an outstanding request

    NioPing(Lab lab, Params params) {
        super(lab, params, false);
        links = new Link[params.outstanding()];
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Thread thread(Runnable work) {
        return Main.thread(work);
    }

    @Override
    protected void open(Lane lane, InetSocketAddress pong) throws IOException {
        links[lane.stream] = Link.open(lane, params.tcp(), pong, selector);
    }

    @Override
    protected void send(Lane lane, ByteBuffer message) throws IOException {
        links[lane.stream].sendAll(message);
    }

    @Override
    protected long receive(Lane lane) throws IOException {
        Link link = links[lane.stream];
        link.clear();
        long atNs = Link.NOTHING;
        while (atNs == Link.NOTHING) {
            selector.select(key -> { });
            atNs = link.receive();
        }
        return atNs;
    }

    @Override
    protected void run(Schedule schedule) throws IOException {
        waiter = Thread.currentThread();
        this.schedule = schedule;
        dueNs = schedule.t0Ns();
        for (Link link : links) {
            link.lane.prepare();
            if (params.closedLoop()) {
                request(link);
            }
        }
        long lookNs = schedule.t0Ns() + CHECK_MS * NS_PER_MS;
        while (!stopped()) {
            if (params.closedLoop()) {
                select(CHECK_MS);
            } else {
                sendWhatIsDue();
                await();
            }
            if (nowNs >= lookNs && !params.tcp()) {
                lookNs = nowNs + CHECK_MS * NS_PER_MS;
                look();
            }
        }
    }

    @Override
    protected void wake() {
        selector.wakeup();
        LockSupport.unpark(waiter);
    }

    private void sendWhatIsDue() throws IOException {
        nowNs = System.nanoTime();
        while (dueNs <= nowNs) {
            Link link = links[(int) (dueNumber % links.length)];
            long due = dueNs;
            dueNs = schedule.dueNs(++dueNumber);
            // A busy lane sends it when its echo has arrived.
            if (!link.busy) {
                request(link, due);
            }
        }
    }

    /**
     * Waits until a request is due or an echo arrives. The timeout of a selector has a resolution of 1 ms: it is rounded up,
     * and used only if echoes may arrive. Otherwise, the thread is parked, which has the precision of the system.
     */
    private void await() throws IOException {
        if (busy == links.length) {
            select(CHECK_MS);
        } else if (!params.timer()) {
            if (params.tasks() > 0) {
                Thread.yield(); // for the threads of tasks
            }
            if (busy > 0) {
                selector.selectNow(handler);
            }
        } else if (busy > 0) {
            select(Math.min(CHECK_MS, (dueNs - nowNs + NS_PER_MS - 1) / NS_PER_MS));
        } else {
            LockSupport.parkNanos(dueNs - nowNs);
        }
    }

    private void select(long limitMs) throws IOException {
        if (selector.select(handler, limitMs) == 0) {
            nowNs = System.nanoTime();
        }
    }

    private void handle(SelectionKey key) {
        Link link = (Link) key.attachment();
        try {
            if (key.isWritable()) {
                link.handleWritable();
            }
            long atNs = key.isReadable() ? link.receive() : Link.NOTHING;
            if (atNs != Link.NOTHING) {
                nowNs = atNs;
                Lane.Echo echo = link.lane.take(atNs);
                link.clear();
                if (echo == Lane.Echo.AWAITED) {
                    next(link);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends the lane's next request if it is due. */
    private void next(Link link) throws IOException {
        link.busy = false;
        busy--;
        link.lane.prepare();
        if (params.closedLoop()) {
            request(link);
        } else if (link.lane.number() < dueNumber) {
            request(link, schedule.dueNs(link.lane.number()));
        }
    }

    private void request(Link link) throws IOException {
        link.send(link.lane.request());
        sent(link);
    }

    private void request(Link link, long due) throws IOException {
        link.send(link.lane.request(due));
        sent(link);
    }

    private void sent(Link link) {
        link.lane.sent();
        link.busy = true;
        busy++;
    }

    private void look() throws IOException {
        for (Link link : links) {
            if (link.lane.expire(nowNs)) {
                next(link);
            }
        }
    }
}
