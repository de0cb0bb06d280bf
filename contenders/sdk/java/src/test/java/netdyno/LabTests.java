package netdyno;

import static netdyno.Tests.check;

import com.google.gson.JsonParser;
import com.google.gson.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

final class LabTests {
    private static final String SETUP = """
            {"type":"setup","protocol":1,"workload":"rtt","role":"ping","seed":9007199254740991,"local":"198.18.0.1",\
            "peer":"::1","params":{"rate":7},"capture":false,"later":{}}
            """;
    private static final String VERIFY = "{\"type\":\"start\",\"phase\":\"verify\"}\n";

    private LabTests() {}

    static void run() {
        whole();
        forbidden("closed at once", "", "", 1);
        forbidden("closed later", SETUP, "", 1);
        forbidden("not JSON", "hello\n", "failed", 1);
        forbidden("not an object", "[]\n", "failed", 1);
        forbidden("nothing", "\n", "failed", 1);
        forbidden("too long", " ".repeat(Lab.MAX_LINE_BYTES + 1) + "\n", "failed", 1);
        forbidden("no setup", "{\"type\":\"stop\"}\n", "failed", 1);
        forbidden("a seed of the wrong type", SETUP.replace("9007199254740991", "\"x\""), "failed", 1);
        forbidden("a seed that is not an integer", SETUP.replace("9007199254740991", "1.5"), "failed", 1);
        forbidden("a name as address", SETUP.replace("::1", "localhost"), "failed", 1);
        forbidden("another protocol", SETUP.replace("\"protocol\":1", "\"protocol\":2"), "unsupported", 127);
        forbidden("an unknown type", SETUP + "{\"type\":\"dance\"}\n", "failed", 1);
        forbidden("no type", SETUP + "{}\n", "failed", 1);
        forbidden("an unknown phase", SETUP + VERIFY.replace("verify", "rest"), "failed", 1);
        forbidden("a repeated phase", SETUP + VERIFY + VERIFY, "failed", 1);
    }

    private static void whole() {
        String lines = SETUP + "{\"type\":\"signal\",\"from\":\"pong\",\"body\":{\"port\":5}}\n" + VERIFY
                + "{\"type\":\"mark\",\"id\":7}\n{\"type\":\"stop\"}\n";
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Lab lab = new Lab(new ByteArrayInputStream(lines.getBytes(StandardCharsets.UTF_8)), out, LabTests::left);
        lab.readSetup();
        check("seed", lab.setup().seed(), (1L << 53) - 1);
        check("local", lab.setup().local().getHostAddress(), "198.18.0.1");
        check("a parameter", lab.setup().params().integer("rate", 0, 9), 7L);
        lab.ready("n", "1");
        check("signal", lab.next(), new Event.Signal("pong", JsonParser.parseString("{\"port\":5}")));
        check("start", lab.next(), new Event.Start(Event.Phase.VERIFY));
        lab.connected(new long[] {1, 2});
        Event mark = lab.next();
        check("mark", mark, new Event.Mark(7));
        lab.counters((Event.Mark) mark, Map.of("messages", 5L));
        check("stop", lab.next(), new Event.Stop());
        lab.result(Map.of("messages", 6L), Map.of());
        List<JsonObject> printed = printed(out);
        check("printed", printed.stream().map(line -> line.get("type").getAsString()).toList(),
                List.of("ready", "connected", "counters", "result"));
        check("setup times", printed.get(1).get("setup_ns").toString(), "[1,2]");
        check("values", printed.get(2).get("values").toString(), "{\"messages\":5}");
    }

    /** Checks that an invalid line ends the process. */
    private static void forbidden(String name, String lines, String kinds, int code) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Lab lab = new Lab(new ByteArrayInputStream(lines.getBytes(StandardCharsets.UTF_8)), out, LabTests::left);
        Consumer<Lab> steps = l -> {
            l.readSetup();
            while (true) {
                l.next();
            }
        };
        try {
            steps.accept(lab);
        } catch (Left left) {
            check(name, left.code, code);
        }
        String said = String.join(" ", printed(out).stream().map(line -> line.get("type").getAsString()).toList());
        check(name, said, kinds);
    }

    private static List<JsonObject> printed(ByteArrayOutputStream out) {
        String text = out.toString(StandardCharsets.UTF_8);
        return text.lines().map(line -> JsonParser.parseString(line).getAsJsonObject()).toList();
    }

    /** Replaces the end of the process. */
    private static void left(int code) {
        throw new Left(code);
    }

    private static final class Left extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final int code;

        Left(int code) {
            this.code = code;
        }
    }
}
