import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import netdyno.rtt.Lane;

/** A lane's socket: non-blocking, registered with the selector. */
final class Link {
    /** {@link #receive} has no whole message yet. */
    static final long NOTHING = 0;

    final Lane lane;
    /** Whether a request is outstanding. */
    boolean busy;
    private final ByteChannel channel;
    private final boolean datagrams;
    private final SelectionKey key;
    private ByteBuffer unsent;

    private <C extends SelectableChannel & ByteChannel> Link(Lane lane, C channel, Selector selector)
            throws IOException {
        this.lane = lane;
        this.channel = channel;
        datagrams = channel instanceof DatagramChannel;
        channel.configureBlocking(false);
        key = channel.register(selector, SelectionKey.OP_READ, this);
    }

    static Link open(Lane lane, boolean tcp, InetSocketAddress pong, Selector selector) throws IOException {
        if (tcp) {
            SocketChannel channel = SocketChannel.open(pong);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            return new Link(lane, channel, selector);
        }
        return new Link(lane, DatagramChannel.open().connect(pong), selector);
    }

    /** Sends a message. The rest of a partial send follows when the selector reports the channel as writable. */
    void send(ByteBuffer message) throws IOException {
        channel.write(message);
        if (message.hasRemaining()) {
            unsent = message;
            key.interestOpsOr(SelectionKey.OP_WRITE);
        }
    }

    /** Sends a whole message by repeated calls, before the warm-up. */
    void sendAll(ByteBuffer message) throws IOException {
        while (message.hasRemaining()) {
            channel.write(message);
        }
    }

    /** Sends the rest of a message. A datagram that was declared lost before it could be sent is dropped. */
    void handleWritable() throws IOException {
        if (busy && unsent.hasRemaining()) {
            channel.write(unsent);
        }
        if (!busy || !unsent.hasRemaining()) {
            key.interestOpsAnd(~SelectionKey.OP_WRITE);
        }
    }

    /** Receives. Returns the time right after the call that completed a message. Call {@link #clear} before the next one. */
    long receive() throws IOException {
        int length = channel.read(lane.echo);
        long atNs = System.nanoTime();
        if (length < 0) {
            throw new EOFException("pong closed the connection");
        }
        boolean whole = datagrams ? length > 0 : !lane.echo.hasRemaining();
        return whole ? atNs : NOTHING;
    }

    void clear() {
        lane.echo.clear();
    }
}
