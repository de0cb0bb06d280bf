package netdyno.rtt;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import netdyno.Digest;
import netdyno.Payload;

/**
 * One lane, with at most one outstanding request.
 *
 * <p>At any time, one thread may send for a lane and one may receive. The thread whose call of {@link #take} or
 * {@link #expire} settles the request may send the next one: it calls {@link #prepare}, waits until the request is due,
 * sends the result of {@link #request}, and calls {@link #sent}.
 */
public final class Lane {
    /** The classification of an echo. */
    public enum Echo {
        /** The awaited echo. */
        AWAITED,
        /** The echo of an earlier request. */
        LATE,
        /** Anything else. */
        STRANGE
    }

    private static final long HELLO = -1; // 2^64 - 1
    private static final long NOTHING = -2;

    /** The number of the lane. */
    public final int stream;
    /** The receive buffer: one byte longer than a message, so that longer datagrams are detected. */
    public final ByteBuffer echo;

    private final Params params;
    private final Counters counters;
    private final ByteBuffer request;
    private final AtomicLong awaited = new AtomicLong(NOTHING);
    private long next; // sequence of the next request
    private long dueNs;
    private long sentNs;

    Lane(Params params, Counters counters, int stream) {
        this.params = params;
        this.counters = counters;
        this.stream = stream;
        request = ByteBuffer.allocateDirect(params.messageBytes());
        echo = ByteBuffer.allocateDirect(params.messageBytes() + (params.tcp() ? 0 : 1));
    }

    /** Returns the hello to send. */
    ByteBuffer hello() {
        return request.rewind().putLong(0, HELLO);
    }

    boolean isHello() {
        return echo.flip().equals(request.rewind());
    }

    /** Returns the next request of verify to send. */
    ByteBuffer verify(long seed) {
        Payload.fill(request, seed, stream, next);
        request.rewind();
        return request(0);
    }

    /** Adds the echo of a request of verify to the digest. Returns false if any byte differs. */
    boolean verified(Digest digest) {
        boolean same = echo.flip().equals(request.rewind());
        digest.add(echo);
        return same;
    }

    /** Returns the number of the lane's next request over all lanes, counted from the start of warmup. */
    public long number() {
        return (next - params.verifyMessages()) * params.outstanding() + stream;
    }

    /** Prepares the next request with a new header. Call it before the request is due, outside the measured time. */
    public void prepare() {
        request.rewind().putLong(0, next);
    }

    /** Returns the prepared request of a closed loop. Call it right before the call that sends. */
    public ByteBuffer request() {
        ByteBuffer ready = request(0);
        dueNs = sentNs;
        return ready;
    }

    /** The same in an open loop. */
    public ByteBuffer request(long dueNs) {
        this.dueNs = dueNs;
        long sequence = next++;
        sentNs = System.nanoTime();
        awaited.setRelease(sequence);
        return request;
    }

    /** Counts the request. Call it right after the call that sends. */
    public void sent() {
        counters.requests.increment();
    }

    /** Classifies the received message, up to the buffer's position. {@code atNs} was read right after the call that receives. */
    public Echo take(long atNs) {
        if (echo.position() == params.messageBytes() && echo.getLong(Long.BYTES) == (long) stream << Integer.SIZE) {
            long sequence = echo.getLong(0);
            if (sequence == awaited.getAcquire() && awaited.compareAndSet(sequence, NOTHING)) {
                counters.echo(dueNs, sentNs, atNs);
                return Echo.AWAITED;
            }
            if (sequence >= 0 && sequence < next) {
                counters.late.increment();
                return Echo.LATE;
            }
        }
        counters.strange.increment();
        return Echo.STRANGE;
    }

    /** Declares the outstanding request lost if it has timed out. */
    public boolean expire(long nowNs) {
        long sequence = awaited.getAcquire();
        if (sequence < 0 || nowNs - sentNs <= params.timeoutNs() || !awaited.compareAndSet(sequence, NOTHING)) {
            return false;
        }
        counters.lost.increment();
        return true;
    }
}
