package netdyno;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/** The digest of a set of messages, independent of their order. */
public final class Digest {
    private final byte[] value = new byte[Payload.BLOCK_BYTES];

    /** Adds a message (all of the buffer up to its limit) to the set. */
    public void add(ByteBuffer message) {
        byte[] hash = Payload.sha256(message.duplicate().rewind());
        for (int i = 0; i < value.length; i++) {
            value[i] ^= hash[i];
        }
    }

    @Override
    public String toString() {
        return HexFormat.of().formatHex(value);
    }
}
