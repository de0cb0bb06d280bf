package netdyno.rtt;

import static netdyno.Tests.check;

import com.google.gson.JsonParser;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Map;
import java.util.zip.DataFormatException;
import netdyno.Fields;
import netdyno.rtt.Lane.Echo;
import org.HdrHistogram.Histogram;

/** Tests of the parts of the rtt workload that need no network. */
public final class RttTests {
    private static final String PARAMS = """
            {"transport":"udp","pacing":"spin","message_bytes":64,"rate":1000,"outstanding":4,"tasks":0,
            "echo_delay_ns":0,"timeout_ms":200,"seconds":0.5,"verify_messages":2}""";

    private RttTests() {}

    /** Runs them. */
    public static void run() {
        parameters();
        schedule();
        lane();
        lost();
        window();
        connections();
    }

    private static Params params(String from, String to) {
        return Params.of(new Fields(JsonParser.parseString(PARAMS.replace(from, to)).getAsJsonObject()));
    }

    private static void parameters() {
        Params params = params("", "");
        check("measure", params.measureNs(), 500_000_000L);
        check("timeout", params.timeoutNs(), 200_000_000L);
        String[][] wrong = {
            {"udp", "sctp"}, {"spin", "doze"}, {":64", ":15"}, {":64", ":60001"}, {":64", ":64.5"}, {":64", ":\"64\""},
            {":4", ":0"}, {":4", ":1001"}, {"1000", "-1"}, {"rate", "pace"}, {"0.5", "true"}, {":2}", ":0}"}};
        for (String[] row : wrong) {
            try {
                params(row[0], row[1]);
            } catch (IllegalArgumentException e) {
                continue;
            }
            check(row[0] + " as " + row[1], "accepted", "refused");
        }
    }

    private static void schedule() {
        Schedule thirds = new Schedule(100, 3);
        check("first", thirds.dueNs(0), 100L);
        check("rounded down", thirds.dueNs(1), 333_333_433L);
        check("rounded down once", thirds.dueNs(2), 666_666_766L);
        check("a second", thirds.dueNs(3), 1_000_000_100L);
        check("after years", new Schedule(0, 1_000_000).dueNs(1L << 50), (1L << 50) * 1000);
    }

    private static Lane lane(Counters counters, Params params) {
        Lane lane = new Lane(params, counters, 3);
        for (int i = 0; i < params.verifyMessages(); i++) {
            ByteBuffer request = lane.verify(1);
            lane.sent();
            lane.echo.clear().put(request.duplicate());
            check("an echo of verify", lane.take(System.nanoTime()), Echo.AWAITED);
        }
        return lane;
    }

    private static void lane() {
        Params params = params("", "");
        Counters counters = new Counters(params, false);
        Lane lane = lane(counters, params);
        check("the first request after verify", lane.number(), 3L);
        lane.prepare();
        check("preparing does not advance", lane.number(), 3L);
        ByteBuffer request = lane.request(5);
        check("a request is counted when it is sent", counters.values(0).get("requests"), 2L);
        lane.sent();
        check("the second", lane.number(), 7L);
        check("a header", request.getLong(0) + " " + request.getLong(8), "2 " + (3L << 32));
        Map<Long, Echo> rows = Map.of(0L, Echo.LATE, 1L, Echo.LATE, 3L, Echo.STRANGE, -1L, Echo.STRANGE);
        rows.forEach((sequence, echo) -> check("echo " + sequence, take(lane, request, sequence, 64), echo));
        check("too short", take(lane, request, 2, 63), Echo.STRANGE);
        check("too long", take(lane, request, 2, 65), Echo.STRANGE);
        check("awaited", take(lane, request, 2, 64), Echo.AWAITED);
        check("again", take(lane, request, 2, 64), Echo.LATE);
        check("counters", counters.values(9), Map.of("requests", 3L, "messages", 3L, "bytes", 192L, "lost", 0L, "late", 3L,
                "strange", 4L, "task_runs", 9L));
    }

    private static Echo take(Lane lane, ByteBuffer request, long sequence, int length) {
        lane.echo.clear().put(request.duplicate().rewind()).putLong(0, sequence).position(length);
        return lane.take(System.nanoTime());
    }

    private static void lost() {
        Params params = params("", "");
        Counters counters = new Counters(params, true);
        Lane lane = lane(counters, params);
        check("nothing is outstanding", lane.expire(Long.MAX_VALUE), false);
        lane.prepare();
        ByteBuffer request = lane.request();
        check("not yet", lane.expire(System.nanoTime()), false);
        check("overdue", lane.expire(System.nanoTime() + params.timeoutNs()), true);
        check("once", lane.expire(Long.MAX_VALUE), false);
        check("late", take(lane, request, 2, 64), Echo.LATE);
        check("lost", counters.values(0).get("lost"), 1L);
    }

    private static void window() {
        Counters counters = new Counters(params("", ""), true);
        counters.echo(0, 0, 1);
        counters.measure(1000);
        counters.echo(900, 950, 999);
        counters.echo(900, 950, 1000);
        counters.echo(900, 950, 900 + 61_000_000_000L);
        counters.echo(500_000_000, 500_000_000, 500_000_999);
        counters.echo(500_000_000, 500_000_000, 500_001_000);
        Histogram latency = decode(counters.histograms().get("latency"));
        check("within the window", latency.getTotalCount(), 2L);
        check("latency", latency.getMinValue() + " " + latency.getMaxValue(), "100 999");
        check("lateness", decode(counters.histograms().get("lateness")).getMaxValue(), 50L);
        check("closed loop", new Counters(params(":1000", ":0"), false).histograms().keySet().toString(), "[latency]");
    }

    private static void connections() {
        Map<String, Boolean> rows = Map.of("Connection reset", true, "Connection reset by peer", true,
                "Broken pipe", true, "No buffer space available", false, "", false);
        rows.forEach((text, ofPeer) -> check(text, Pong.isOfPeer(new IOException(text)), ofPeer));
        check("no text", Pong.isOfPeer(new IOException()), false);
        check("the end of a stream", Pong.isOfPeer(new EOFException()), true);
    }

    private static Histogram decode(String text) {
        try {
            return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new AssertionError(e);
        }
    }
}
