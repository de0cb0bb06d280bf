/**
 * Version 1 of Netdyno's contender protocol for contenders: the lines on stdin and stdout ({@link netdyno.Lab}), the
 * payload, and in {@code netdyno.rtt} the roles of the rtt workload without their sockets.
 *
 * <p>It is compiled together with a contender, for Java 17. The contender's {@code pom.xml} declares the required jars,
 * Gson and HdrHistogram. {@code ./test} runs the tests.
 */
package netdyno;
