import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;

/**
 * Starts virtual threads.
 *
 * <p>The method is looked up once by name, because the code is compiled for Java 17, which compilers of stable distributions
 * support, while virtual threads require Java 21. The runtime is newer. The lookup does not affect started threads.
 */
final class Virtual {
    private static final Optional<MethodHandle> START = find();

    private Virtual() {}

    static boolean supported() {
        return START.isPresent();
    }

    static Thread start(Runnable work) {
        try {
            return (Thread) START.orElseThrow().invokeExact(work);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("Thread.startVirtualThread throws nothing else", e);
        }
    }

    private static Optional<MethodHandle> find() {
        MethodType type = MethodType.methodType(Thread.class, Runnable.class);
        try {
            return Optional.of(MethodHandles.publicLookup().findStatic(Thread.class, "startVirtualThread", type));
        } catch (NoSuchMethodException | IllegalAccessException e) {
            return Optional.empty();
        }
    }
}
