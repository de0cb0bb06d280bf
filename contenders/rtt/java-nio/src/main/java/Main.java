import netdyno.rtt.Role;

/** Java NIO as a contender of the rtt workload, in both roles. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        Role.play("java.nio", Role.javaVersion(), NioPing::new, NioPong::new);
    }

    /** Background tasks are platform threads, because this contender does not use virtual threads. */
    static Thread thread(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
