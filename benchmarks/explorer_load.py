"""How fast does `genlaws explore` answer when many people drag sliders at once?

python benchmarks/explorer_load.py
python benchmarks/explorer_load.py --users 50 --seconds 60
python benchmarks/explorer_load.py --defaults     (people who have just opened the page)

The server is the real command in its own process. Each simulated user has a view and settings, takes one slider and
moves it step by step in both directions. The next request follows the last answer, at most ten in a second, as the page
does. After a while the user takes another slider. Users and server share the cores of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field

from one_thread import require_one_thread

MIN_PAUSE = 0.1  # seconds from one request of a user to the next
MOVES_PER_SLIDER = 40  # before the user takes another one
DEFAULT_STEPS = 100  # of a slider without a step
MIN_COMPUTED = 0.05  # milliseconds; a faster answer came from the cache
PERCENTILES = (50, 95, 99)


@dataclass
class Seen:
    """What happened to the requests of one view."""

    waited: list = field(default_factory=list)
    computed: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    refused: int = 0
    broken: int = 0


def start_server():
    """Start the command on a free port and return it with its address and the views."""
    command = [sys.executable, "-m", "genlaws", "explore", "--no-browser", "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    started = time.perf_counter()
    address = json.loads(process.stdout.readline())["address"]
    with urllib.request.urlopen(f"{address}api/views") as reply:
        views = json.loads(reply.read())["views"]
    return process, address, views, time.perf_counter() - started


def places_of(schema):
    """Return the values a slider can take."""
    low, high, control = schema["minimum"], schema["maximum"], schema["control"]
    if control["log"]:
        low, high = math.log10(low), math.log10(high)
    step = control["step"] or (high - low) / DEFAULT_STEPS
    values = [low + number * step for number in range(math.floor((high - low) / step + 1e-9) + 1)]
    values = [10**one if control["log"] else one for one in values]
    if schema["type"] == "integer":
        return sorted({min(round(one), schema["maximum"]) for one in values})
    return [min(float(f"{one:.6g}"), schema["maximum"]) for one in values]


def any_value(schema, rng):
    if "enum" in schema:
        return rng.choice(schema["enum"])
    return rng.choice(places_of(schema)) if "maximum" in schema else rng.choice(["true", "false"])


async def send_request(reader, writer, host, path):
    """Send one request and return status, milliseconds of computing, and bytes of the answer."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").lower()
    lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    body = await reader.readexactly(int(lines["content-length"]))
    took = float(lines["server-timing"].rpartition("=")[2]) if "server-timing" in lines else math.nan
    return int(head.split(" ", 2)[1]), took, len(body)


async def use(view, host, until, *, seen, rng, at_defaults):
    """Drag sliders of one view until the time is over."""
    name, sliders = view["name"], view["schema"]["properties"]
    moving = {key: places_of(one) for key, one in sliders.items() if "maximum" in one}
    settings = {} if at_defaults else {key: any_value(one, rng) for key, one in sliders.items()}
    await asyncio.sleep(rng.random())
    reader, writer = await asyncio.open_connection(*host.split(":"))
    while time.perf_counter() < until:
        taken = rng.choice(list(moving))
        places = moving[taken]
        here = rng.randrange(len(places))
        for _ in range(MOVES_PER_SLIDER):
            here = min(max(here + rng.choice((-1, 1, 1)), 0), len(places) - 1)
            settings[taken] = places[here]
            path = f"/api/views/{name}?{urllib.parse.urlencode(settings)}"
            began = time.perf_counter()
            if began >= until:
                break
            try:
                status, took, size = await send_request(reader, writer, host, path)
            except (OSError, asyncio.IncompleteReadError):
                seen.broken += 1
                reader, writer = await asyncio.open_connection(*host.split(":"))
                continue
            waited = time.perf_counter() - began
            seen.refused += status == 422
            seen.broken += status not in {200, 422}
            seen.waited.append(1000.0 * waited)
            if status == 200:
                seen.computed.append(took)
                seen.sizes.append(size)
            await asyncio.sleep(max(0.0, MIN_PAUSE - waited))
    writer.close()


async def drag_all(views, host, users, seconds, at_defaults):
    """Let all users drag and return what they saw, by view."""
    seen = defaultdict(Seen)
    until = time.perf_counter() + seconds
    chosen = [views[user % len(views)] for user in range(users)]
    await asyncio.gather(
        *(
            use(view, host, until, seen=seen[view["name"]], rng=random.Random(user), at_defaults=at_defaults)
            for user, view in enumerate(chosen)
        )
    )
    return seen


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(percent / 100 * len(ordered)) - 1)] if ordered else math.nan


def print_row(name, seen, seconds):
    fresh = [one for one in seen.computed if one > MIN_COMPUTED]
    mean = sum(fresh) / len(fresh) if fresh else math.nan
    waits = "".join(f"{percentile(seen.waited, percent):>9.1f}" for percent in PERCENTILES)
    cached = 100 * (1 - len(fresh) / len(seen.computed)) if seen.computed else math.nan
    size = sum(seen.sizes) / len(seen.sizes) / 1000 if seen.sizes else math.nan
    print(
        f"{name:<16}{len(seen.waited) / seconds:>8.1f}{seen.broken:>8}{seen.refused:>9}{waits}"
        f"{mean:>9.1f}{percentile(fresh, 95):>8.1f}{cached:>7.0f} %{size:>8.1f}"
    )


def merge(parts):
    both = Seen()
    for one in parts:
        both.waited += one.waited
        both.computed += one.computed
        both.sizes += one.sizes
        both.refused += one.refused
        both.broken += one.broken
    return both


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--defaults", action="store_true", help="users start at the defaults and share cached answers")
    given = parser.parse_args()
    before = os.getloadavg()[0]
    process, address, views, start = start_server()
    try:
        host = urllib.parse.urlsplit(address).netloc
        seen = asyncio.run(drag_all(views, host, given.users, given.seconds, given.defaults))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    print(
        f"{given.users} users, {given.seconds:g} s, {os.cpu_count()} cores; load before {before:.1f}, after "
        f"{os.getloadavg()[0]:.1f}; first answer {start:.1f} s after the start"
    )
    print("                 answers  broken  refused    waited in ms, share of    computed in ms cached    size")
    print("view                 /s                       50 %     95 %     99 %     mean    95 %             kB")
    for name, one in sorted(seen.items()):
        print_row(name, one, given.seconds)
    print_row("all", merge(seen.values()), given.seconds)


if __name__ == "__main__":
    require_one_thread()
    main()
