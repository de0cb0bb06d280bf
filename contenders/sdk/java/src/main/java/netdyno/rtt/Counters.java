package netdyno.rtt;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.AtomicHistogram;
import org.HdrHistogram.Histogram;

/** The counters and histograms of ping over all lanes. Any thread may read the counters. */
public final class Counters {
    private static final long MAX_NS = 60_000_000_000L;
    private static final int DIGITS = 3;

    final LongAdder requests = new LongAdder();
    final LongAdder messages = new LongAdder();
    final LongAdder lost = new LongAdder();
    final LongAdder late = new LongAdder();
    final LongAdder strange = new LongAdder();

    private final Params params;
    private final AbstractHistogram latency;
    private final AbstractHistogram service;
    private final AbstractHistogram lateness;
    // The measured window, initially empty.
    private volatile long fromNs = Long.MAX_VALUE;
    private volatile long untilNs = Long.MAX_VALUE;

    /** {@code shared}: lanes run on separate threads, which record concurrently. */
    Counters(Params params, boolean shared) {
        this.params = params;
        latency = histogram(shared);
        service = histogram(shared);
        lateness = histogram(shared);
    }

    private static AbstractHistogram histogram(boolean shared) {
        return shared ? new AtomicHistogram(1, MAX_NS, DIGITS) : new Histogram(1, MAX_NS, DIGITS);
    }

    /** Starts the measured window. */
    void measure(long nowNs) {
        untilNs = nowNs + params.measureNs();
        fromNs = nowNs;
    }

    /** Counts and records an echo. */
    void echo(long dueNs, long sentNs, long atNs) {
        messages.increment();
        if (atNs < fromNs || atNs >= untilNs) {
            return;
        }
        latency.recordValue(Math.min(atNs - dueNs, MAX_NS));
        if (!params.closedLoop()) {
            service.recordValue(Math.min(atNs - sentNs, MAX_NS));
            lateness.recordValue(Math.min(sentNs - dueNs, MAX_NS));
        }
    }

    Map<String, Long> values(long taskRuns) {
        long echoes = messages.sum();
        return Map.of("requests", requests.sum(), "messages", echoes, "bytes", echoes * params.messageBytes(),
                "lost", lost.sum(), "late", late.sum(), "strange", strange.sum(), "task_runs", taskRuns);
    }

    /** Returns the histograms. Call it when recording has ended. */
    Map<String, String> histograms() {
        Map<String, String> encoded = new HashMap<>(Map.of("latency", encode(latency)));
        if (!params.closedLoop()) {
            encoded.put("service", encode(service));
            encoded.put("lateness", encode(lateness));
        }
        return encoded;
    }

    private static String encode(AbstractHistogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram instanceof AtomicHistogram shared
                ? shared.encodeIntoCompressedByteBuffer(buffer)
                : ((Histogram) histogram).encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }
}
