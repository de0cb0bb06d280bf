package netdyno;

import netdyno.rtt.RttTests;

/** All tests of the SDK. They need nothing beside the JDK: a failure is an AssertionError, and so an exit code. */
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
