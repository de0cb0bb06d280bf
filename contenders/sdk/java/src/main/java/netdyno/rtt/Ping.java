package netdyno.rtt;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import netdyno.Digest;
import netdyno.Event.Phase;
import netdyno.Fields;
import netdyno.Lab;
import netdyno.Tasks;

/** The role ping without its sockets, which a contender implements. */
public abstract class Ping implements Role {
    /** Interval at which lanes are checked for lost requests. */
    protected static final long CHECK_MS = 100;

    private static final long END_MS = 5000;
    private static final int MAX_PORT = 65_535;

    protected final Params params;
    protected final Lane[] lanes;
    /** Counted down at stop. */
    protected final CountDownLatch stopping = new CountDownLatch(1);

    private final Lab lab;
    private final Counters counters;
    private final Tasks tasks = new Tasks();
    private final CountDownLatch verify = new CountDownLatch(1);
    private final CountDownLatch warmup = new CountDownLatch(1);
    private volatile boolean stopped;
    private long t0Ns; // written before warmup is counted down
    private Thread thread;

    /** {@code shared}: lanes run on separate threads. */
    protected Ping(Lab lab, Params params, boolean shared) {
        this.lab = lab;
        this.params = params;
        counters = new Counters(params, shared);
        lanes = new Lane[params.outstanding()];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = new Lane(params, counters, i);
        }
    }

    /** Creates the lane's socket, connected to pong. */
    protected abstract void open(Lane lane, InetSocketAddress pong) throws IOException;

    /** Sends a whole message before the warm-up. */
    protected abstract void send(Lane lane, ByteBuffer message) throws IOException;

    /** Waits for the lane's next message before the warm-up and reads it into the cleared {@code echo} buffer. Returns the
    * time right after the call that received it. */
    protected abstract long receive(Lane lane) throws IOException;

    /** Runs the traffic from warmup to stop. */
    protected abstract void run(Schedule schedule) throws IOException, InterruptedException;

    /** Interrupts {@link #run} so that it stops. */
    protected abstract void wake();

    protected final boolean stopped() {
        return stopped;
    }

    @Override
    public final void begin() {
        tasks.make(params.tasks(), this::thread);
    }

    @Override
    public final void signal(JsonElement body) {
        if (!(body instanceof JsonObject object) || thread != null) {
            throw new IllegalArgumentException("unexpected signal from pong: " + body);
        }
        int port = (int) new Fields(object).integer("port", 1, MAX_PORT);
        InetSocketAddress pong = new InetSocketAddress(lab.setup().peer(), port);
        thread = thread(() -> play(pong));
    }

    @Override
    public final void start(Phase phase) {
        long nowNs = System.nanoTime();
        switch (phase) {
            case VERIFY -> verify.countDown();
            case WARMUP -> {
                t0Ns = nowNs;
                warmup.countDown();
                tasks.begin();
            }
            case MEASURE -> counters.measure(nowNs);
        }
    }

    @Override
    public final Map<String, Long> values() {
        return counters.values(tasks.runs());
    }

    @Override
    public final Map<String, String> stop() {
        stopped = true;
        tasks.end();
        stopping.countDown();
        wake();
        if (warmup.getCount() == 0) {
            Role.join(thread, END_MS);
        }
        return counters.histograms();
    }

    private void play(InetSocketAddress pong) {
        try {
            long[] setupNs = new long[lanes.length];
            for (Lane lane : lanes) {
                setupNs[lane.stream] = setUp(lane, pong);
            }
            lab.connected(setupNs);
            verify.await();
            verifyLanes();
            warmup.await();
            run(new Schedule(t0Ns, params.ratePerS()));
        } catch (IOException | UncheckedIOException | InterruptedException e) {
            if (!stopped) {
                throw lab.failed("ping: " + e);
            }
        }
    }

    /** Sets up and verifies a lane. Lanes run one at a time, because many could overflow pong's socket buffer. */
    private long setUp(Lane lane, InetSocketAddress pong) throws IOException {
        long begunNs = System.nanoTime();
        open(lane, pong);
        send(lane, lane.hello());
        long setupNs = receive(lane) - begunNs;
        if (!lane.isHello()) {
            throw lab.failed("lane " + lane.stream + ": the echo of the hello is wrong");
        }
        return setupNs;
    }

    private void verifyLanes() throws IOException {
        Digest digest = new Digest();
        for (Lane lane : lanes) {
            for (int i = 0; i < params.verifyMessages(); i++) {
                send(lane, lane.verify(lab.setup().seed()));
                lane.sent();
                while (lane.take(receive(lane)) != Lane.Echo.AWAITED) {
                    // The echo was counted as strange or late. The lab's time limit ends this loop.
                }
                if (!lane.verified(digest)) {
                    throw lab.failed("lane " + lane.stream + ": echo " + i + " is wrong");
                }
            }
        }
        long messages = (long) lanes.length * params.verifyMessages();
        lab.verified(digest, messages, messages * params.messageBytes());
    }
}
