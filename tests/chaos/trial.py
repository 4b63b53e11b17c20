"""One run from its start, through all interruptions, to its end; and several runs at the same time."""
import concurrent.futures

import hunt
import model
from engine import Hit
from world import Wrong

ROUNDS_MAX = 12
GONE = 15  # seconds after the engine's end until all its processes must be gone


def wait_gone(engine):
    left, seconds = hunt.wait_gone(engine.mark, GONE)
    model.want(not left, f'processes are left: {hunt.describe(left)}')
    engine.slowest = max(engine.slowest, seconds)


def see_through(engine, next_round, hasty=False):
    """next_round() returns the disturbances and the environment of a round. At the end, `engine` describes the ended run.

    With `hasty`, the next round starts at once, while guards still end processes of the dead engine. If a task failed
    because one of its processes was killed, it runs again, so the end is always that of the plan.
    """
    world, args = engine.world, ['run', '--json', engine.plan.file]
    while engine.rounds < ROUNDS_MAX:
        hits = len(engine.hits)
        troubles, extra = next_round()
        code = engine.round(args, troubles, extra)
        hits = engine.hits[hits:]
        # If all processes were killed together, a process that one of them had just started stays until the next round.
        if not hasty and not any(h.victim == 'all' for h in hits):
            wait_gone(engine)
        hits += [Hit(engine.rounds, 'engine', ['SIGKILL'])] if 'ANABRANCH_KILL_AT' in extra else []
        model.check_exit(engine, code, hits)
        world.wait_well()
        run = engine.look()
        model.check_between(engine)
        if run and run['state'] == 'finished' and not (hits and engine.is_hurt()):
            wait_gone(engine)
            engine.code = run['exit_code'] if code < 0 else code
            return
        alone = len(world.engines) == 1
        args = ['resume', '--json'] + ([] if alone else [run['run']]) if run else args
    raise Wrong(f'not finished after {ROUNDS_MAX} rounds')


def side_by_side(world, ways, person=None):
    """Each way is a function that executes one run; `person` works until all are done."""
    with concurrent.futures.ThreadPoolExecutor(len(ways) + 1) as pool:
        beside = [pool.submit(person)] if person else []
        try:
            for way in concurrent.futures.as_completed([pool.submit(w) for w in ways]):
                way.result()
        finally:
            world.over.set()
        for other in beside:
            other.result()
