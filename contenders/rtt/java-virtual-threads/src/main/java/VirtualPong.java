import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import netdyno.Lab;
import netdyno.rtt.Params;
import netdyno.rtt.Pong;

/** Pong with a virtual thread for the UDP socket or for each connection. */
final class VirtualPong extends Pong {
    private DatagramChannel datagrams;
    private ServerSocketChannel server;

    VirtualPong(Lab lab, Params params) {
        super(lab, params);
        if (!Virtual.supported()) {
            throw lab.unsupported("virtual threads need Java 21");
        }
    }

    @Override
    public Thread thread(Runnable work) {
        return Virtual.start(work);
    }

    @Override
    protected int bind(InetSocketAddress local) throws IOException {
        if (params.tcp()) {
            server = ServerSocketChannel.open().bind(local);
            return server.socket().getLocalPort();
        }
        datagrams = DatagramChannel.open().bind(local);
        return datagrams.socket().getLocalPort();
    }

    @Override
    protected void run() throws IOException {
        if (params.tcp()) {
            while (true) {
                SocketChannel channel = server.accept();
                Virtual.start(() -> serve(channel));
            }
        }
        ByteBuffer datagram = ByteBuffer.allocateDirect(MAX_DATAGRAM_BYTES);
        while (true) {
            SocketAddress from = datagrams.receive(datagram.clear());
            delay();
            count(datagram.flip().limit());
            datagrams.send(datagram, from);
        }
    }

    @Override
    protected void close() throws IOException {
        if (params.tcp()) {
            server.close();
        } else {
            datagrams.close();
        }
    }

    private void serve(SocketChannel channel) {
        ByteBuffer message = ByteBuffer.allocateDirect(params.messageBytes());
        try (channel) {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            while (receive(channel, message.clear())) {
                delay();
                count(message.flip().limit());
                while (message.hasRemaining()) {
                    channel.write(message);
                }
            }
        } catch (IOException e) {
            ended(e);
        }
    }

    /** Returns whether a whole message was received. */
    private static boolean receive(SocketChannel channel, ByteBuffer message) throws IOException {
        while (message.hasRemaining()) {
            if (channel.read(message) < 0) {
                return false;
            }
        }
        return true;
    }
}
