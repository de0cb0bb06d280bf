import netdyno.rtt.Role;

/** Java virtual threads as a contender of the rtt workload, in both roles. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        Role.play("java.lang.Thread, virtual", Role.javaVersion(), VirtualPing::new, VirtualPong::new);
    }
}
