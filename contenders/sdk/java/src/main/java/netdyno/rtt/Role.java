package netdyno.rtt;

import com.google.gson.JsonElement;
import java.io.IOException;
import java.util.Map;
import java.util.function.BiFunction;
import netdyno.Event;
import netdyno.Lab;

/** A role of the rtt workload. The thread that reads from the lab calls its methods. */
public interface Role {
    /** Called once, after {@code ready}. */
    void begin() throws IOException;

    void signal(JsonElement body);

    void start(Event.Phase phase);

    Map<String, Long> values();

    /** Ends the traffic and returns the histograms. The values are final afterwards. */
    Map<String, String> stop() throws IOException;

    /** Starts a thread of the contender's kind (platform or virtual). It must not keep the process alive. */
    Thread thread(Runnable work);

    /** The version of a contender that is part of Java itself. */
    static String javaVersion() {
        return System.getProperty("java.version");
    }

    /** Runs the role that the setup names, and exits. Name and version are those of the library under test. */
    static void play(String name, String version, BiFunction<Lab, Params, Role> ping,
            BiFunction<Lab, Params, Role> pong) {
        Lab lab = Lab.connect();
        if (!lab.setup().workload().equals("rtt")) {
            throw lab.unsupported("workload " + lab.setup().workload());
        }
        BiFunction<Lab, Params, Role> maker = switch (lab.setup().role()) {
            case "ping" -> ping;
            case "pong" -> pong;
            default -> throw lab.unsupported("role " + lab.setup().role());
        };
        // An uncaught exception of any thread must be reported to the lab.
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> lab.failed(thread.getName() + ": " + e));
        try {
            Role role = maker.apply(lab, Params.of(lab.setup().params()));
            lab.ready(name, version);
            role.begin();
            serve(lab, role);
        } catch (IllegalArgumentException | IOException e) {
            throw lab.failed(e.getMessage());
        }
        System.exit(0);
    }

    private static void serve(Lab lab, Role role) throws IOException {
        while (true) {
            Event event = lab.next();
            if (event instanceof Event.Signal signal) {
                role.signal(signal.body());
            } else if (event instanceof Event.Start start) {
                role.start(start.phase());
            } else if (event instanceof Event.Mark mark) {
                lab.counters(mark, role.values());
            } else {
                Map<String, String> histograms = role.stop();
                lab.result(role.values(), histograms);
                return;
            }
        }
    }

    /** Waits for the end of a thread, with a time limit. */
    static void join(Thread thread, long limitMs) {
        try {
            thread.join(limitMs);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
