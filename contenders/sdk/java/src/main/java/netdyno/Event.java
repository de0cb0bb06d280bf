package netdyno;

import com.google.gson.JsonElement;

/** A line from the lab after setup. */
public sealed interface Event {
    /** The phases, in the order in which they are started, each at most once. */
    enum Phase {
        VERIFY, WARMUP, MEASURE
    }

    /** A message from another role, forwarded unchanged. */
    record Signal(String from, JsonElement body) implements Event {}

    /** Start a phase. */
    record Start(Phase phase) implements Event {}

    /** Answer immediately with the counters. */
    record Mark(long id) implements Event {}

    /** Send the result and end. */
    record Stop() implements Event {}
}
