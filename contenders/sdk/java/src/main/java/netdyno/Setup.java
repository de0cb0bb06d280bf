package netdyno;

import java.net.InetAddress;

/** The configuration of this process. */
public record Setup(
        String workload, String role, long seed, InetAddress local, InetAddress peer, Fields params, boolean capture) {
    private static final long MAX_SEED = 1L << 53;

    static Setup of(Fields message) {
        return new Setup(message.text("workload"), message.text("role"), message.integer("seed", 0, MAX_SEED),
                message.address("local"), message.address("peer"), message.fields("params"), message.flag("capture"));
    }
}
