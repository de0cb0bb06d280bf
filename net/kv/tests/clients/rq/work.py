"""The function of the jobs. RQ imports it by name."""

from rq import get_current_job


def record(number: int) -> int:
    get_current_job().connection.sadd("done", number)
    return number
