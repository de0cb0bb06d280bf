package netdyno;

import static netdyno.Tests.check;

import java.nio.ByteBuffer;

final class PayloadTests {
    private PayloadTests() {}

    static void run() {
        vector();
        everyLength();
        check("the work of a task", Tasks.compute(1), 147405559);
    }

    private static void vector() {
        ByteBuffer message = ByteBuffer.allocateDirect(80);
        Payload.fill(message, 1, 2, 3);
        Digest digest = new Digest();
        digest.add(message);
        check("vector", digest.toString(), "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe");
        digest.add(message);
        check("of a message twice", digest.toString(), "0".repeat(64));
        ByteBuffer brief = ByteBuffer.allocate(3);
        Payload.fill(brief, 1, 2, 3);
        check("shorter than a header", brief, ByteBuffer.wrap(new byte[] {(byte) 0xf9, 0x30, (byte) 0xea}));
    }

    /** A shorter message is a prefix of a longer one. */
    private static void everyLength() {
        ByteBuffer whole = ByteBuffer.allocate(200);
        Payload.fill(whole, 1, 2, 3);
        for (int length = Payload.HEADER_BYTES; length < whole.limit(); length++) {
            ByteBuffer message = ByteBuffer.allocate(length);
            Payload.fill(message, 1, 2, 3);
            check("length " + length, message, whole.duplicate().limit(length));
        }
    }
}
