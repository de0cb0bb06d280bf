import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import netdyno.Lab;
import netdyno.rtt.Params;
import netdyno.rtt.Pong;

/** Pong on one thread, which waits in a selector. */
final class NioPong extends Pong {
    /** The handler of a ready socket, which is attached to the socket's key. */
    private interface Handler {
        void handle(SelectionKey key) throws IOException;
    }

    private Selector selector;

    NioPong(Lab lab, Params params) {
        super(lab, params);
    }

    @Override
    public Thread thread(Runnable work) {
        return Main.thread(work);
    }

    @Override
    protected int bind(InetSocketAddress local) throws IOException {
        selector = Selector.open();
        if (params.tcp()) {
            ServerSocketChannel server = ServerSocketChannel.open().bind(local);
            register(server, SelectionKey.OP_ACCEPT, key -> accept(server));
            return server.socket().getLocalPort();
        }
        DatagramChannel channel = DatagramChannel.open().bind(local);
        register(channel, SelectionKey.OP_READ, new Datagrams(channel));
        return channel.socket().getLocalPort();
    }

    @Override
    protected void run() throws IOException {
        while (!stopped()) {
            selector.select(NioPong::handle);
        }
    }

    @Override
    protected void close() {
        selector.wakeup();
    }

    private static void handle(SelectionKey key) {
        try {
            ((Handler) key.attachment()).handle(key);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void register(SelectableChannel channel, int operation, Handler handler) throws IOException {
        channel.configureBlocking(false);
        channel.register(selector, operation, handler);
    }

    private void accept(ServerSocketChannel server) throws IOException {
        SocketChannel channel = server.accept();
        if (channel != null) {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            register(channel, SelectionKey.OP_READ, new Stream(channel));
        }
    }

    /** The UDP socket: handles all pending datagrams. */
    private final class Datagrams implements Handler {
        private final DatagramChannel channel;
        private final ByteBuffer datagram = ByteBuffer.allocateDirect(MAX_DATAGRAM_BYTES);
        private SocketAddress unsentTo; // set while the socket buffer is too full for the datagram

        Datagrams(DatagramChannel channel) {
            this.channel = channel;
        }

        @Override
        public void handle(SelectionKey key) throws IOException {
            SocketAddress to = unsentTo != null ? unsentTo : receive();
            for (; to != null; to = receive()) {
                if (channel.send(datagram, to) == 0 && datagram.hasRemaining()) {
                    unsentTo = to;
                    key.interestOps(SelectionKey.OP_WRITE);
                    return;
                }
            }
            if (unsentTo != null) {
                unsentTo = null;
                key.interestOps(SelectionKey.OP_READ);
            }
        }

        private SocketAddress receive() throws IOException {
            SocketAddress from = channel.receive(datagram.clear());
            datagram.flip();
            if (from != null) {
                delay();
                count(datagram.limit());
            }
            return from;
        }
    }

    /** A connection: handles one message at a time. */
    private final class Stream implements Handler {
        private final SocketChannel channel;
        private final ByteBuffer message = ByteBuffer.allocateDirect(params.messageBytes());
        private boolean sending; // the message is complete and partially sent

        Stream(SocketChannel channel) {
            this.channel = channel;
        }

        @Override
        public void handle(SelectionKey key) throws IOException {
            try {
                if (!sending && !receive()) {
                    return;
                }
                channel.write(message);
                if (message.hasRemaining()) {
                    sending = true;
                    key.interestOps(SelectionKey.OP_WRITE);
                    return;
                }
                message.clear();
                if (sending) {
                    sending = false;
                    key.interestOps(SelectionKey.OP_READ);
                }
            } catch (IOException e) {
                ended(e);
                channel.close();
            }
        }

        /** Returns whether a whole message was received. */
        private boolean receive() throws IOException {
            if (channel.read(message) < 0) {
                channel.close();
                return false;
            }
            if (message.hasRemaining()) {
                return false;
            }
            delay();
            count(message.flip().limit());
            return true;
        }
    }
}
