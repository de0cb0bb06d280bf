package netdyno;

import netdyno.rtt.RttTests;

/** All tests of the SDK. They need only the JDK: a failure is an AssertionError, which sets the exit code. */
public final class Tests {
    private Tests() {}

    public static void main(String[] args) {
        PayloadTests.run();
        LabTests.run();
        RttTests.run();
        System.out.println("all tests passed");
    }

    /** Fails unless both are equal. */
    public static void check(String name, Object actual, Object expected) {
        if (!expected.equals(actual)) {
            throw new AssertionError(name + ": " + actual + ", expected " + expected);
        }
    }
}
