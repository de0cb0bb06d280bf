package netdyno;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** The background tasks of a role: a short computation, then 1 ms of waiting, again and again. */
public final class Tasks {
    private static final int ROUNDS = 100;
    private static final long WAIT_MS = 1;

    private final LongAdder runs = new LongAdder();
    private final CountDownLatch begun = new CountDownLatch(1);
    private volatile boolean ended;

    /**
     * Makes them all; {@code start} gives each a thread of its own, which must not keep the process alive. They wait
     * there until {@link #begin}: to start a thread takes long once thousands run.
     */
    public void make(int count, Consumer<Runnable> start) {
        for (int i = 0; i < count; i++) {
            start.accept(new Task(i + 1));
        }
    }

    /** Lets them all begin. */
    public void begin() {
        begun.countDown();
    }

    /** Lets them all end: with thousands of threads running, the process itself ends slowly. */
    public void end() {
        ended = true;
    }

    /** How often any task has run. */
    public long runs() {
        return runs.sum();
    }

    private final class Task implements Runnable {
        private int x; // a field, so that the compiler cannot leave the computation out

        Task(int x) {
            this.x = x;
        }

        @Override
        public void run() {
            try {
                begun.await();
                while (!ended) {
                    x = compute(x);
                    runs.increment();
                    Thread.sleep(WAIT_MS);
                }
            } catch (InterruptedException e) {
                // Nobody waits for its end.
            }
        }
    }

    static int compute(int x) {
        for (int i = 0; i < ROUNDS; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
        }
        return x;
    }
}
