package netdyno;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntConsumer;

/** The connection to the lab. Any thread may send; a single thread receives events. */
public final class Lab {
    public static final int PROTOCOL_VERSION = 1;
    /** The maximum length of a line without its newline. */
    public static final int MAX_LINE_BYTES = 1 << 20;

    private static final int EXIT_FAILED = 1;
    private static final int EXIT_UNSUPPORTED = 127;

    private final Gson gson = new GsonBuilder().setStrictness(Strictness.STRICT).create();
    private final InputStream in;
    private final OutputStream out;
    private final IntConsumer exit;
    private int nextPhase; // ordinal of the next phase that may start
    private Setup setup;

    Lab(InputStream in, OutputStream out, IntConsumer exit) {
        this.in = in;
        this.out = out;
        this.exit = exit;
    }

    /** Reads the setup line. Here and later, an invalid line ends the process. */
    public static Lab connect() {
        // Not System.out, which hides write errors.
        Lab lab = new Lab(System.in, new FileOutputStream(FileDescriptor.out), System::exit);
        lab.readSetup();
        return lab;
    }

    void readSetup() {
        Fields message = read();
        try {
            String type = message.text("type");
            if (!type.equals("setup")) {
                throw new IllegalArgumentException("the first message is " + type + ", expected setup");
            }
            long version = message.integer("protocol", 0, Long.MAX_VALUE);
            if (version != PROTOCOL_VERSION) {
                throw unsupported("protocol version " + version);
            }
            setup = Setup.of(message);
        } catch (IllegalArgumentException e) {
            throw failed("setup: " + e.getMessage());
        }
    }

    public Setup setup() {
        return setup;
    }

    /** Waits for the next event. */
    public Event next() {
        Fields message = read();
        try {
            String type = message.text("type");
            return switch (type) {
                case "signal" -> new Event.Signal(message.text("from"), message.any("body"));
                case "start" -> new Event.Start(phase(message.text("phase")));
                case "mark" -> new Event.Mark(message.integer("id", 0, Long.MAX_VALUE));
                case "stop" -> new Event.Stop();
                default -> throw new IllegalArgumentException("unknown message type " + type);
            };
        } catch (IllegalArgumentException e) {
            throw failed("invalid line from the lab: " + e.getMessage());
        }
    }

    private Event.Phase phase(String name) {
        for (Event.Phase phase : Event.Phase.values()) {
            if (phase.ordinal() >= nextPhase && phase.name().toLowerCase(Locale.ROOT).equals(name)) {
                nextPhase = phase.ordinal() + 1;
                return phase;
            }
        }
        throw new IllegalArgumentException("phase " + name + " is unknown or out of order");
    }

    /** Reports unsupported parameters or an unsupported role, and exits. Call it before {@code ready}. */
    public IllegalStateException unsupported(String reason) {
        send("unsupported", Map.of("reason", reason));
        return leave(EXIT_UNSUPPORTED, reason);
    }

    /** Reports an error and exits. The result type only allows {@code throw failed(..)}. */
    public IllegalStateException failed(String reason) {
        send("failed", Map.of("reason", reason));
        return leave(EXIT_FAILED, reason);
    }

    public void ready(String name, String version) {
        String runtime = System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
        send("ready", Map.of("implementation",
                Map.of("name", name, "version", version, "language", "java", "runtime", runtime)));
    }

    public void signal(String to, Map<String, ?> body) {
        send("signal", Map.of("to", to, "body", body));
    }

    public void connected(long[] setupNs) {
        send("connected", Map.of("setup_ns", setupNs));
    }

    /** Answers a mark. The caller reads the values; the clock (CLOCK_MONOTONIC on Linux) is read right after them. */
    public void counters(Event.Mark mark, Map<String, Long> values) {
        send("counters", Map.of("id", mark.id(), "at_ns", System.nanoTime(), "values", values));
    }

    public void verified(Digest digest, long messages, long bytes) {
        send("verified", Map.of("digest", digest.toString(), "messages", messages, "bytes", bytes));
    }

    /** Sends the final counters and histograms (HDR V2 in base64). */
    public void result(Map<String, Long> values, Map<String, String> histograms) {
        send("result", Map.of("values", values, "histograms", histograms));
    }

    private void send(String type, Map<String, ?> fields) {
        JsonObject message = gson.toJsonTree(fields).getAsJsonObject();
        message.addProperty("type", type);
        byte[] line = (gson.toJson(message) + "\n").getBytes(StandardCharsets.UTF_8);
        try {
            synchronized (this) { // lines must not interleave
                out.write(line);
                out.flush();
            }
        } catch (IOException e) {
            throw leave(EXIT_FAILED, "the lab has ended");
        }
    }

    private Fields read() {
        String line = readLine();
        try {
            JsonObject message = gson.fromJson(line, JsonObject.class);
            if (message != null) {
                return new Fields(message);
            }
        } catch (JsonParseException e) {
            // Said below.
        }
        throw failed("a line from the lab is not a JSON object");
    }

    private String readLine() {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try {
            for (int next = in.read(); next != '\n'; next = in.read()) {
                if (next < 0) {
                    throw leave(EXIT_FAILED, "the lab has ended");
                }
                if (line.size() == MAX_LINE_BYTES) {
                    throw failed("a line from the lab is longer than " + MAX_LINE_BYTES + " bytes");
                }
                line.write(next);
            }
        } catch (IOException e) {
            throw leave(EXIT_FAILED, "the lab has ended");
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private IllegalStateException leave(int code, String reason) {
        exit.accept(code);
        return new IllegalStateException(reason);
    }
}
