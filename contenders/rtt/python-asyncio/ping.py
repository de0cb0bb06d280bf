"""The role that sends requests and receives their echoes, with all lanes on one event loop."""

import asyncio
from heapq import heappop, heappush
from time import monotonic_ns

from links import open_link
from netdyno_contender import Digest
from netdyno_contender.rtt import TICK_S, NS_PER_S, Counters, Lane, Tasks, due_ns, port_of


class Ping:
    def __init__(self, lab, setup, params):
        self.lab, self.setup, self.params = lab, setup, params
        self.loop = asyncio.get_running_loop()
        self.counters = Counters(params)
        self.lanes = [Lane(params, self.counters, stream) for stream in range(params.outstanding)]
        self.links = []  # the sockets of the lanes, by stream
        self.tasks = Tasks(params)
        self.player = None
        self.verify, self.stopped = asyncio.Event(), False
        self.t0_ns = 0
        self.idle = []  # a heap of (due time, lane) of the lanes that wait until their next request is due
        self.timer, self.timer_ns = None, 0  # the handle that calls `pace`, and its time

    async def begin(self):
        """Does nothing: the role starts with pong's signal."""

    def signal(self, body):
        if self.player:
            raise ValueError("duplicate signal with pong's port")
        self.player = self.loop.create_task(self.play(port_of(body)))

    def start(self, event):
        match event.phase:
            case "verify":
                self.verify.set()
            case "warmup":
                self.t0_ns = event.at_ns
                self.tasks.begin()
                self.run()
            case "measure":
                self.counters.measure(event.at_ns)

    def values(self):
        return self.counters.values(self.tasks.runs)

    def stop(self):
        self.stopped = True
        return self.counters.histograms()

    def fail(self, reason):
        if not self.stopped:
            self.lab.failed(f"ping: {reason}")

    async def play(self, port):
        """Set up and verify the lanes one at a time, because many could overflow pong's socket buffer."""
        try:
            setup_ns = [await self.set_up(lane, port) for lane in self.lanes]
            self.lab.connected(setup_ns)
            await self.verify.wait()
            digest = Digest()
            for link in self.links:
                await self.verify_lane(link, digest)
        except (OSError, ValueError) as error:
            self.fail(error)
            return
        messages = len(self.links) * self.params.verify_messages
        for link in self.links:
            link.on_message = self.handle
        self.lab.verified(digest, messages, messages * self.params.message_bytes)

    async def set_up(self, lane, port):
        begun_ns = monotonic_ns()
        link = await open_link(lane, self.params, self.fail, self.setup.peer, port)
        self.links.append(link)
        message, at_ns = await self.exchange(link, lane.hello())
        if message != lane.hello():
            raise ValueError(f"lane {lane.stream}: the echo of the hello is wrong")
        return at_ns - begun_ns

    async def verify_lane(self, link, digest):
        for _ in range(self.params.verify_messages):
            message, at_ns = await self.exchange(link, link.lane.verify(self.setup.seed))
            link.lane.sent()
            if not link.lane.take(message, at_ns):
                raise ValueError(f"lane {link.lane.stream}: the echo of another request")
            link.lane.verified(message, digest)

    async def exchange(self, link, request):
        """Send a request before the warm-up, and wait for the next message. Returns it with its time of arrival."""
        came = self.loop.create_future()
        link.on_message = lambda _, message, at_ns: came.done() or came.set_result((message, at_ns))
        link.send(request)
        return await came

    def run(self):
        """Start the callbacks, which run all traffic from warmup on."""
        for link in self.links:
            self.go_on(link, self.t0_ns)
        if self.params.transport == "udp":
            self.loop.call_later(TICK_S, self.expire)

    def handle(self, link, message, at_ns):
        if link.lane.take(message, at_ns):
            self.go_on(link, at_ns)

    def go_on(self, link, now_ns):
        """Send a lane's next request, or schedule it if it is not due."""
        if self.stopped:
            return
        link.lane.prepare()
        if self.params.rate == 0:
            self.send(link)
            return
        when_ns = due_ns(self.t0_ns, self.params.rate, link.lane.number)
        if when_ns <= now_ns:
            self.send(link, when_ns)
        else:
            heappush(self.idle, (when_ns, link.lane.stream))
            self.arm()

    def send(self, link, when_ns=0):
        link.send(link.lane.request(when_ns))
        link.lane.sent()

    def arm(self):
        """Schedule a call of `pace`: in the next iteration of the event loop (spin), or when the first request is due (timer)."""
        if self.params.pacing == "spin":
            if not self.timer:
                self.timer = self.loop.call_soon(self.pace)
        elif not self.timer or self.idle[0][0] < self.timer_ns:
            if self.timer:
                self.timer.cancel()
            self.timer_ns = self.idle[0][0]
            self.timer = self.loop.call_at(self.timer_ns / NS_PER_S, self.pace)

    def pace(self):
        """Send all due requests."""
        self.timer = None
        if self.stopped:
            return
        now_ns = monotonic_ns()
        while self.idle and self.idle[0][0] <= now_ns:
            when_ns, stream = heappop(self.idle)
            self.send(self.links[stream], when_ns)
        if self.idle:
            self.arm()

    def expire(self):
        """Check for lost requests."""
        now_ns = monotonic_ns()
        for link in self.links:
            if link.lane.expire(now_ns):
                self.go_on(link, now_ns)
        if not self.stopped:
            self.loop.call_later(TICK_S, self.expire)
