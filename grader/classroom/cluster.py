"""The same work on a Dask cluster: each worker shuts students' code in as one machine does.

A worker holds one crew for as long as it lives. What a worker that dies had in
hand, the scheduler gives to another.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from grader.classroom.crew import Crew, Task
from grader.records import Report
from grader.service import GraderError
from grader.student import bubblewrap

if TYPE_CHECKING:
    from distributed import Client

#: So many submissions are under way for each thread of a worker: enough to keep it busy.
_AHEAD = 4
#: A submission that goes down with so many workers is the reason why.
_DEATHS = 3

_crew: Crew | None = None
_one_at_a_time = threading.Lock()


def grade_here(task: Task, *, trust: bool) -> Report | GraderError:
    """Grade one task; this runs on a worker, whose crew is started by its first task."""
    global _crew  # noqa: PLW0603 - a worker process has one crew
    with _one_at_a_time:
        if _crew is None:
            missing = bubblewrap.missing()
            if missing and not trust:
                raise GraderError(f"on a worker, {missing}; or add --trust-submissions")
            _crew = Crew(1, missing or "")
        try:
            [(_, report)] = _crew.grade([task])
        except GraderError as error:
            return error
    return report


class Cluster:
    """Grades on the workers of the scheduler at `address`."""

    def __init__(self, address: str, *, trust: bool) -> None:
        self._client, self._trust = _connect(address), trust

    def grade(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report | GraderError]]:
        """Grade all tasks, in any order; a task fails when no worker survives it."""
        from distributed import as_completed

        waiting = iter(tasks)
        under_way: dict[Any, Task] = {}
        finished: Any = as_completed()

        def send() -> None:
            task = next(waiting, None)
            if task is not None:
                future = self._client.submit(
                    grade_here, task, trust=self._trust, pure=False, retries=_DEATHS
                )
                under_way[future] = task
                finished.add(future)

        threads = sum(self._client.nthreads().values())
        for _ in range(max(1, threads) * _AHEAD):
            send()
        for future in finished:
            task = under_way.pop(future)
            send()
            try:
                yield task, future.result()
            except GraderError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever ended the worker
                yield task, GraderError(f"no worker could grade it: {error}")

    def close(self) -> None:
        """Leave the cluster; its workers stay."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)


def _connect(address: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise GraderError("--scheduler needs dask: pip install -e '.[cluster]'") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise GraderError(f"no scheduler answers at {address}: {error}") from None
    if not client.nthreads():
        client.close()
        raise GraderError(f"the scheduler at {address} has no workers")
    return client
