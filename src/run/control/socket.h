/*
 * struct listener: the socket `run.sock` in the folder of a run that goes on, by which others ask
 * it for something (run/control/requests.h). One line of JSON is a request, and one the answer;
 * several may follow each other. We drop a connection that sends no whole line within a few
 * seconds, sends too long a line, or does not take the answer; and the oldest of them where there
 * are too many.
 *
 * We refuse a process that runs below a guard (sys/guard/peer.h): an agent does not steer runs. The
 * first request of each task is recorded.
 */
#ifndef RUN_CONTROL_SOCKET_H
#define RUN_CONTROL_SOCKET_H

/* No id of a task has a point in it. */
#define LISTENER_SOCKET "run.sock"

enum { LISTENER_LINE_MAX = 64 << 10 };

struct listener;
struct run;

/* Where nobody can be listened to, that is told, and the run does without: NULL. */
struct listener *control_socket_open(struct run *run);
void control_socket_close(struct listener *l);

#endif
