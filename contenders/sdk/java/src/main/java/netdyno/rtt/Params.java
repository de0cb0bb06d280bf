package netdyno.rtt;

import java.util.List;
import netdyno.Fields;
import netdyno.Payload;

/** The parameters of the rtt workload. Without {@code tcp}, the transport is UDP; without {@code timer}, the pacing is spin. */
public record Params(boolean tcp, boolean timer, int messageBytes, long ratePerS, int outstanding, int tasks,
        long echoDelayNs, long timeoutNs, long measureNs, int verifyMessages) {
    private static final int MAX_MESSAGE_BYTES = 60_000;
    private static final long MAX_RATE_PER_S = 1_000_000;
    private static final int MAX_OUTSTANDING = 1000;
    private static final int MAX_TASKS = 10_000;
    private static final long MAX_ECHO_DELAY_NS = 1_000_000;
    private static final long MAX_TIMEOUT_MS = 60_000;
    private static final double MAX_SECONDS = 3600;
    private static final int MAX_VERIFY_MESSAGES = 100_000;

    static Params of(Fields params) {
        return new Params(
                params.choice("transport", List.of("udp", "tcp")).equals("tcp"),
                params.choice("pacing", List.of("spin", "timer")).equals("timer"),
                (int) params.integer("message_bytes", Payload.HEADER_BYTES, MAX_MESSAGE_BYTES),
                params.integer("rate", 0, MAX_RATE_PER_S),
                (int) params.integer("outstanding", 1, MAX_OUTSTANDING),
                (int) params.integer("tasks", 0, MAX_TASKS),
                params.integer("echo_delay_ns", 0, MAX_ECHO_DELAY_NS),
                params.integer("timeout_ms", 1, MAX_TIMEOUT_MS) * 1_000_000,
                (long) (params.number("seconds", 0, MAX_SECONDS) * 1e9),
                (int) params.integer("verify_messages", 1, MAX_VERIFY_MESSAGES));
    }

    /** Whether each lane sends its next request as soon as it has received the echo. */
    public boolean closedLoop() {
        return ratePerS == 0;
    }
}
