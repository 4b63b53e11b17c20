/*
 * struct listener: the socket `run.sock` in the folder of a running run, which accepts requests
 * (run/control/requests.h). A request is one line of JSON, and so is the answer; a connection may
 * carry several. We drop a connection if it sends no complete line within a few seconds, sends too
 * long a line, or does not read the answer. If there are too many connections, we drop the oldest.
 *
 * We refuse a process that runs below a guard (sys/guard/peer.h): an agent does not steer runs. We
 * record the first such request of each task.
 */
#ifndef RUN_CONTROL_SOCKET_H
#define RUN_CONTROL_SOCKET_H

/* Task ids contain no dot, so this is no task's file. */
#define LISTENER_SOCKET "run.sock"

enum { LISTENER_LINE_MAX = 64 << 10 };

struct listener;
struct run;

/* Opens the socket. NULL: an error, which is recorded; the run continues without the socket. */
struct listener *control_socket_open(struct run *run);
void control_socket_close(struct listener *l);

#endif
