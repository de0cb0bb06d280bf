/**
 * A contender's side of the Netdyno contender protocol, version 1: the lines on stdin and stdout ({@link netdyno.Lab}),
 * the payload, and in {@code netdyno.rtt} the roles of the rtt workload but for their sockets.
 *
 * <p>It is compiled together with a contender, for Java 17. The contender's {@code pom.xml} names the jars that it
 * needs: Gson and HdrHistogram. {@code ./test} runs the tests.
 */
package netdyno;
