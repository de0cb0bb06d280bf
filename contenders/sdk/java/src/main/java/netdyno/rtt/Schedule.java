package netdyno.rtt;

/** The schedule of an open loop: request n over all lanes is due at t0 + floor(n * 10^9 / rate). */
public record Schedule(long t0Ns, long ratePerS) {
    private static final long NS_PER_S = 1_000_000_000;

    public long dueNs(long n) {
        // Whole seconds are computed separately to avoid overflow.
        return t0Ns + n / ratePerS * NS_PER_S + n % ratePerS * NS_PER_S / ratePerS;
    }
}
