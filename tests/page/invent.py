# Writes an invented run into a store, and prints its id: invent.py STATE_DIR TASKS LOG_BYTES
import json, os, sqlite3, sys

state_dir, tasks, log_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
run, began = "20300101-000000-abcd", 1893456000000
states = ["landed"] * 6 + ["done", "failed", "conflicted", "skipped"]

rows, events, plan, spending = [], [], [], []
for i in range(tasks):
    task, state = f"task-{i:04d}", states[i % len(states)]
    start, end = began + i * 150, began + i * 150 + 4000 + (i * 7919) % 30000
    failed = state in ("failed", "conflicted")
    rows.append((run, task, f"Title of {i}, <b>as it is</b>", "sim", state, "transient" if failed else None,
                 "exit code 1" if failed else None, None, None, None, None, None, i, 1, 0, start, end, 1000 + i, 100 + i, 0.01))
    spending.append((run, task, 1, "sim", "model-%d" % (i % 3), end, 1000 + i, 100 + i, 0, 0, 0.01))
    last = {"landed": "task.landed", "done": "task.done", "failed": "task.failed", "conflicted": "task.conflicted"}.get(state, "task.skipped")
    for at, name, data in ((start, "task.preparing", None), (start + 200, "task.started", None),
                           (start + 300, "task.action", {"action": "thinking"}), (end - 500, "task.exited", None), (end, last, None)):
        events.append((at, name, run, task, 1, json.dumps(data) if data else None))
    plan.append({"id": task, "depends_on": [f"task-{i - 40:04d}"] if i >= 40 and i % 3 == 0 else []})

db = sqlite3.connect(os.path.join(state_dir, "state.db"))
with db:
    db.execute("insert into runs values (?, 'large.yaml', 'a large plan', 'main', '', '', 'finished', ?, ?, 1, 1, 1)",
               (run, began, began + tasks * 150 + 40000))
    db.executemany("insert into tasks values (%s)" % ",".join("?" * 20), rows)
    db.executemany("insert into events (time, name, run, task, attempt, data) values (?, ?, ?, ?, ?, ?)", events)
    db.executemany("insert into spending (run, task, attempt, engine, model, time, tokens_in, tokens_out, cache_read, cache_made, usd)"
                   " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", spending)

folder = os.path.join(state_dir, "runs", run, "task-0000", "1")
os.makedirs(folder)
with open(os.path.join(state_dir, "runs", run, "plan.json"), "w") as f:
    json.dump({"tasks": plan}, f)
with open(os.path.join(folder, "err"), "w") as f:
    line, half = 0, log_bytes // 2
    while f.tell() < log_bytes:
        block = "".join(f"line {n} of a log that is as long as logs can be, and says nothing at all\n" for n in range(line, line + 20000))
        if f.tell() < half <= f.tell() + len(block):
            block += "the Needle in the middle\n"
        f.write(block)
        line += 20000
open(os.path.join(folder, "out"), "w").close()
print(run)
