package netdyno.rtt;

import com.google.gson.JsonElement;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import netdyno.Event.Phase;
import netdyno.Lab;
import netdyno.Tasks;

/** The role pong, but for its sockets, which a contender gives it. */
public abstract class Pong implements Role {
    /** The longest datagram. */
    protected static final int MAX_DATAGRAM_BYTES = 65_535;

    private static final long END_MS = 5000;

    protected final Params params;

    private final Lab lab;
    private final Tasks tasks = new Tasks();
    private final LongAdder messages = new LongAdder();
    private final LongAdder bytes = new LongAdder();
    private volatile boolean stopped;
    private Thread thread;

    protected Pong(Lab lab, Params params) {
        this.lab = lab;
        this.params = params;
    }

    /** Binds the socket, at a port of the system's choice, and returns that. */
    protected abstract int bind(InetSocketAddress local) throws IOException;

    /** Sends messages back until it is closed. */
    protected abstract void run() throws IOException;

    /** Ends {@link #run}. */
    protected abstract void close() throws IOException;

    /** Counts a message, right before it is sent back: so ping never has more echoes than are counted. */
    protected final void count(int length) {
        messages.increment();
        bytes.add(length);
    }

    /** The delay asked for, before a message is answered. */
    protected final void delay() {
        if (params.echoDelayNs() > 0) {
            long untilNs = System.nanoTime() + params.echoDelayNs();
            while (System.nanoTime() < untilNs) {
                Thread.onSpinWait();
            }
        }
    }

    /** Takes the error of a connection. Ping may end when it likes; anything else ends pong. */
    protected final void ended(IOException e) {
        if (!stopped && !isOfPeer(e)) {
            throw lab.failed("pong: " + e);
        }
    }

    /** Whether the other end has closed or reset the connection: Java tells that by the text alone. */
    static boolean isOfPeer(IOException e) {
        String text = String.valueOf(e.getMessage());
        return e instanceof EOFException || text.startsWith("Connection reset") || text.startsWith("Broken pipe");
    }

    protected final boolean stopped() {
        return stopped;
    }

    @Override
    public final void begin() throws IOException {
        tasks.make(params.tasks(), this::thread);
        lab.signal("ping", Map.of("port", bind(new InetSocketAddress(lab.setup().local(), 0))));
        lab.connected(new long[0]);
        thread = thread(this::play);
    }

    private void play() {
        try {
            run();
        } catch (IOException | UncheckedIOException e) {
            if (!stopped) {
                throw lab.failed("pong: " + e);
            }
        }
    }

    @Override
    public final void signal(JsonElement body) {
        throw new IllegalArgumentException("pong expects no signal");
    }

    @Override
    public final void start(Phase phase) {
        if (phase == Phase.WARMUP) {
            tasks.begin();
        }
    }

    @Override
    public final Map<String, Long> values() {
        return Map.of("messages", messages.sum(), "bytes", bytes.sum(), "task_runs", tasks.runs());
    }

    @Override
    public final Map<String, String> stop() throws IOException {
        stopped = true;
        tasks.end();
        close();
        Role.join(thread, END_MS);
        return Map.of();
    }
}
