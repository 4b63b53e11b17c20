"""One run, from its start over all its interruptions to its end."""
import hunt
import model
from world import Hit, Wrong

ROUNDS_MAX = 12
GONE = 15  # seconds after the engine's end in which all that it started must be gone


def wait_gone(world):
    left, seconds = hunt.wait_gone(world.mark, GONE)
    model.want(not left, f'processes are left: {hunt.describe(left)}')
    world.slowest = max(world.slowest, seconds)


def see_through(world, next_round, hasty=False):
    """next_round() gives the disturbances and the environment of a round. The run as it ended, and its exit code.

    Who is hasty goes on at once, while guards still end what the dead engine left. What failed because
    something of it was killed is run again: in the end all is as the plan says.
    """
    args = ['run', '--json', 'plan.json']
    while world.rounds < ROUNDS_MAX:
        hits = len(world.hits)
        troubles, extra = next_round()
        world.start(args, extra)
        code = world.watch(troubles)
        if not hasty:
            wait_gone(world)
        hits = world.hits[hits:] + ([Hit(world.rounds, 'engine', ['SIGKILL'])] if 'ANABRANCH_KILL_AT' in extra else [])
        model.check_exit(world, code, hits)
        run = world.status()
        model.check_between(world, run)
        if run and run['state'] == 'finished' and not (hits and world.is_hurt()):
            wait_gone(world)
            return run, run['exit_code'] if code < 0 else code
        args = ['resume', '--json'] if run else args
    raise Wrong(f'not finished after {ROUNDS_MAX} rounds')
