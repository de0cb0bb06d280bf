import netdyno.rtt.Role;

/** Java's NIO as a contender of the rtt workload, in both roles. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        Role.play("java.nio", Role.javaVersion(), NioPing::new, NioPong::new);
    }

    /** Background tasks are platform threads: without virtual ones Java has no other form. */
    static Thread thread(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
