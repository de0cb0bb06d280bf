package netdyno;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** The background tasks of a role: each repeats a short computation and a pause of 1 ms. */
public final class Tasks {
    private static final int ROUNDS = 100;
    private static final long WAIT_MS = 1;

    private final LongAdder runs = new LongAdder();
    private final CountDownLatch begun = new CountDownLatch(1);
    private volatile boolean ended;

    /**
     * Creates the tasks; {@code start} starts a thread for each, which must not keep the process alive. The threads wait
     * until {@link #begin}, because starting threads is slow once thousands of them run.
     */
    public void make(int count, Consumer<Runnable> start) {
        for (int i = 0; i < count; i++) {
            start.accept(new Task(i + 1));
        }
    }

    /** Starts all tasks. */
    public void begin() {
        begun.countDown();
    }

    /** Stops all tasks, because the exit of a process with thousands of running threads is slow. */
    public void end() {
        ended = true;
    }

    /** Returns the number of runs of all tasks. */
    public long runs() {
        return runs.sum();
    }

    private final class Task implements Runnable {
        private int x; // a field, so that the computation is not optimised away

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
                // No other thread waits for the end of a task.
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
