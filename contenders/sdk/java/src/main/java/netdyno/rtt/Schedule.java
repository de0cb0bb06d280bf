package netdyno.rtt;

/** When the requests of an open loop are due: number n, over all lanes, at t0 + floor(n * 10^9 / rate). */
public record Schedule(long t0Ns, long ratePerS) {
    private static final long NS_PER_S = 1_000_000_000;

    public long dueNs(long n) {
        // In two parts, so that nothing overflows.
        return t0Ns + n / ratePerS * NS_PER_S + n % ratePerS * NS_PER_S / ratePerS;
    }
}
