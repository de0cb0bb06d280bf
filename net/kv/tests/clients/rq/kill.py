"""A job queue of RQ whose server is killed: `kill.py PROGRAM FOLDER PORT`.

The server has an append-only file with the policy `always`. While one thread enqueues jobs and another executes them, the
server is killed by SIGKILL and started again, several times. No enqueued job and no other acknowledged write may be lost.

RQ stores results in streams if the server's version is 5 or later. This server does not support streams, so the test sets
the version that RQ caches.
"""

import socket
import subprocess
import sys
import threading
import time

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError, TimeoutError
from redis.retry import Retry
from rq import Queue, SimpleWorker
from rq.job import Job, JobStatus

import work

JOBS = 200
# The server is killed after this many finished jobs.
KILLS = (40, 80, 120)
# Guards against hanging.
LIMIT_S = 100


class Server:
    def __init__(self, program: str, folder: str, port: str) -> None:
        self.port = int(port)
        options = ["--port", port, "--appendonly", "yes", "--appendfsync", "always", "--dir", folder]
        self.command = [program, *options]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        until(self.listens, "the server does not listen")

    def listens(self) -> bool:
        assert self.process.poll() is None, "the server has ended"
        return connects(self.port)

    def restart(self) -> None:
        self.process.kill()
        self.process.wait()
        self.start()

    def client(self) -> redis.Redis:
        client = redis.Redis(port=self.port, retry=Retry(ConstantBackoff(0.02), 500))
        setattr(client, "__rq_redis_server_version", (4, 0, 0))
        return client


def connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def until(condition, what: str) -> None:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < LIMIT_S, what
        time.sleep(0.005)


def produce(server: Server, acknowledged: list[int], failures: list[BaseException]) -> None:
    """Enqueues all jobs, and counts them with plain writes."""
    try:
        client = server.client()
        queue = Queue(connection=client)
        for number in range(JOBS):
            while True:
                try:
                    queue.enqueue(work.record, number, job_id=f"job-{number}", result_ttl=-1)
                    client.set(f"acknowledged:{number}", number)
                    break
                except (ConnectionError, TimeoutError):
                    # Not acknowledged: enqueued again with the same name.
                    time.sleep(0.02)
            acknowledged.append(number)
    except BaseException as error:
        failures.append(error)


def kill(server: Server, acknowledged: list[int], failures: list[BaseException]) -> None:
    try:
        client = server.client()
        for finished in KILLS:
            until(lambda: client.scard("done") >= finished, f"{finished} jobs do not finish")
            written = list(acknowledged)
            server.restart()
            # Every write that was acknowledged before is there after the restart.
            keys = [f"acknowledged:{number}" for number in written]
            assert client.mget(keys) == [str(number).encode() for number in written], "a write is lost"
            jobs = client.exists(*[f"rq:job:job-{number}" for number in written])
            assert jobs == len(written), f"{len(written) - jobs} jobs are lost"
    except BaseException as error:
        failures.append(error)


def execute(server: Server, threads: list[threading.Thread]) -> None:
    """Executes jobs until all are done. Jobs that a connection loss interrupted are enqueued again, as RQ's maintenance does."""
    client = server.client()
    queue, begin = Queue(connection=client), time.monotonic()
    while client.scard("done") < JOBS:
        assert time.monotonic() - begin < LIMIT_S, f"{client.scard('done')} of {JOBS} jobs are done"
        try:
            SimpleWorker([queue], connection=client).work(burst=True, logging_level="CRITICAL")
        except (ConnectionError, TimeoutError):
            continue
        if any(thread.is_alive() for thread in threads):
            continue
        waiting = set(queue.job_ids)
        for job in Job.fetch_many([f"job-{number}" for number in range(JOBS)], connection=client):
            if job.get_status() != JobStatus.FINISHED and job.id not in waiting:
                queue.enqueue_job(job)


def report(arguments: threading.ExceptHookArgs) -> None:
    """Reports the exception of a thread, except that RQ's thread for commands has lost its connection."""
    if not isinstance(arguments.exc_value, ConnectionError):
        threading.__excepthook__(arguments)


def main() -> None:
    threading.excepthook = report
    server = Server(*sys.argv[1:4])
    acknowledged: list[int] = []
    failures: list[BaseException] = []
    arguments = (server, acknowledged, failures)
    threads = [threading.Thread(target=target, args=arguments, daemon=True) for target in (produce, kill)]
    try:
        for thread in threads:
            thread.start()
        execute(server, threads)
        for thread in threads:
            thread.join(LIMIT_S)
        if failures:
            raise failures[0]
        assert not any(thread.is_alive() for thread in threads) and len(acknowledged) == JOBS
        client = server.client()
        assert {int(number) for number in client.smembers("done")} == set(range(JOBS))
    finally:
        server.process.kill()
        server.process.wait()
    print(f"rq: {JOBS} jobs, {len(KILLS)} kills: none lost")


main()
