#include "run/run.h"

#include "base/mem.h"
#include "run/state/run_state.h"
#include "sys/proc/loop.h"

static void on_ticker(void *ctx)
{
    struct ticker *ticker = ctx;
    watch_again(ticker->watch, ticker->ms);
    ticker->fn(ticker->ctx);
}

void run_every(struct run *run, int64_t ms, run_tick_fn *fn, void *ctx)
{
    struct ticker *ticker = mem_alloc(sizeof(*ticker));
    *ticker = (struct ticker){.ms = ms, .fn = fn, .ctx = ctx};
    ticker->watch = loop_timer(run->loop, ms, on_ticker, ticker);
    vec_push(&run->audience.tickers, ticker);
}
