import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SocketChannel;

/** The socket of a lane, with blocking calls. */
final class Link {
    private final ByteChannel channel;
    private final boolean datagrams;

    private Link(ByteChannel channel) {
        this.channel = channel;
        datagrams = channel instanceof DatagramChannel;
    }

    static Link open(boolean tcp, InetSocketAddress pong) throws IOException {
        if (tcp) {
            SocketChannel channel = SocketChannel.open(pong);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            return new Link(channel);
        }
        return new Link(DatagramChannel.open().connect(pong));
    }

    void send(ByteBuffer message) throws IOException {
        do {
            channel.write(message);
        } while (message.hasRemaining());
    }

    /** Receives a message and returns the time right after the call. */
    long receive(ByteBuffer message) throws IOException {
        message.clear();
        int length;
        do {
            length = channel.read(message);
        } while (length >= 0 && !datagrams && message.hasRemaining());
        long atNs = System.nanoTime();
        if (length < 0) {
            throw new EOFException("pong closed the connection");
        }
        return atNs;
    }
}
