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

/** The role pong without its sockets, which a contender implements. */
public abstract class Pong implements Role {
    /** The maximum length of a datagram. */
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

    /** Binds the socket at a port that the system chooses, and returns the port. */
    protected abstract int bind(InetSocketAddress local) throws IOException;

    /** Returns messages to their senders until {@link #close}. */
    protected abstract void run() throws IOException;

    /** Ends {@link #run}. */
    protected abstract void close() throws IOException;

    /** Counts a message. Call it right before returning the message, so that ping never receives an uncounted echo. */
    protected final void count(int length) {
        messages.increment();
        bytes.add(length);
    }

    /** Applies the artificial delay of an echo. */
    protected final void delay() {
        if (params.echoDelayNs() > 0) {
            long untilNs = System.nanoTime() + params.echoDelayNs();
            while (System.nanoTime() < untilNs) {
                Thread.onSpinWait();
            }
        }
    }

    /** Handles the error of a connection. A connection that ping has closed is ignored; other errors end pong. */
    protected final void ended(IOException e) {
        if (!stopped && !isOfPeer(e)) {
            throw lab.failed("pong: " + e);
        }
    }

    /** Whether the peer has closed or reset the connection. Java distinguishes these errors only by their text. */
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
