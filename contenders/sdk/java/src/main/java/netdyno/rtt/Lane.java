package netdyno.rtt;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import netdyno.Digest;
import netdyno.Payload;

/**
 * One lane: at most one request under way, and the echo that it awaits.
 *
 * <p>One thread at a time sends for a lane and one receives. Whoever takes the awaited echo, by {@link #take} or by
 * {@link #lose}, may send the next request: {@link #prepare}, wait until it is due, send what {@link #request} returns,
 * {@link #sent}.
 */
public final class Lane {
    /** What an echo turned out to be. */
    public enum Echo {
        /** The one awaited. */
        AWAITED,
        /** One of an earlier request. */
        LATE,
        /** Anything else. */
        STRANGE
    }

    private static final long HELLO = -1; // 2^64 - 1
    private static final long NOTHING = -2;

    /** The number of the lane. */
    public final int stream;
    /** Where the echo is received: one byte longer than a datagram should be, so that a longer one shows. */
    public final ByteBuffer echo;

    private final Params params;
    private final Books books;
    private final ByteBuffer request;
    private final AtomicLong awaited = new AtomicLong(NOTHING);
    private long next; // sequence of the next request
    private long dueNs;
    private long sentNs;

    Lane(Params params, Books books, int stream) {
        this.params = params;
        this.books = books;
        this.stream = stream;
        request = ByteBuffer.allocateDirect(params.messageBytes());
        echo = ByteBuffer.allocateDirect(params.messageBytes() + (params.tcp() ? 0 : 1));
    }

    /** The hello, ready to be sent. */
    ByteBuffer hello() {
        return request.rewind().putLong(0, HELLO);
    }

    boolean isHello() {
        return echo.flip().equals(request.rewind());
    }

    /** The next request of verify, ready to be sent. */
    ByteBuffer verify(long seed) {
        Payload.fill(request, seed, stream, next);
        request.rewind();
        return request(0);
    }

    /** Puts the echo of a request of verify into the digest, if it is the same in every byte. */
    boolean verified(Digest digest) {
        boolean same = echo.flip().equals(request.rewind());
        digest.add(echo);
        return same;
    }

    /** The number of the lane's next request, over all lanes, from the start of warmup. */
    public long number() {
        return (next - params.verifyMessages()) * params.outstanding() + stream;
    }

    /** Makes the next request: a fresh header. It is not due yet, or nobody waits for it. */
    public void prepare() {
        request.rewind().putLong(0, next);
    }

    /** The request prepared, in a closed loop: nothing but the sending call may follow. */
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

    /** Counts the request, right after the sending call. */
    public void sent() {
        books.requests.increment();
    }

    /** Takes the echo received, up to the buffer's position. {@code atNs}: right after the call that received it. */
    public Echo take(long atNs) {
        if (echo.position() == params.messageBytes() && echo.getLong(Long.BYTES) == (long) stream << Integer.SIZE) {
            long sequence = echo.getLong(0);
            if (sequence == awaited.getAcquire() && awaited.compareAndSet(sequence, NOTHING)) {
                books.echo(dueNs, sentNs, atNs);
                return Echo.AWAITED;
            }
            if (sequence >= 0 && sequence < next) {
                books.late.increment();
                return Echo.LATE;
            }
        }
        books.strange.increment();
        return Echo.STRANGE;
    }

    /** Gives up the echo awaited, if it is overdue. */
    public boolean lose(long nowNs) {
        long sequence = awaited.getAcquire();
        if (sequence < 0 || nowNs - sentNs <= params.timeoutNs() || !awaited.compareAndSet(sequence, NOTHING)) {
            return false;
        }
        books.lost.increment();
        return true;
    }
}
