package netdyno;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The content of messages: a header, and in verify a body that is derived from the seed. Numbers are big endian. */
public final class Payload {
    /** Sequence u64, stream u32, zero u32. */
    public static final int HEADER_BYTES = 16;
    static final int BLOCK_BYTES = 32;
    private static final int BLOCK_INPUT_BYTES = 24;

    private Payload() {}

    /** Writes the header of a message. */
    public static void writeHeader(ByteBuffer message, int stream, long sequence) {
        message.putLong(0, sequence).putInt(8, stream).putInt(12, 0);
    }

    /** Writes a whole message of the verify phase up to the buffer's limit. A message shorter than a header has only a body. */
    public static void fill(ByteBuffer message, long seed, int stream, long sequence) {
        int header = message.limit() < HEADER_BYTES ? 0 : HEADER_BYTES;
        if (header > 0) {
            writeHeader(message, stream, sequence);
        }
        for (int at = header; at < message.limit(); at += BLOCK_BYTES) {
            byte[] block = block(seed, stream, sequence, (at - header) / BLOCK_BYTES);
            message.put(at, block, 0, Math.min(BLOCK_BYTES, message.limit() - at));
        }
    }

    private static byte[] block(long seed, int stream, long sequence, int index) {
        ByteBuffer input = ByteBuffer.allocate(BLOCK_INPUT_BYTES);
        return sha256(input.putLong(seed).putInt(stream).putLong(sequence).putInt(index).rewind());
    }

    static byte[] sha256(ByteBuffer input) {
        try {
            MessageDigest hash = MessageDigest.getInstance("SHA-256");
            hash.update(input);
            return hash.digest();
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
    }
}
