#include "plan/words.h"

#include "plan/plan.h"

const char *const overlap_words[] = {"", "refuse", "serialise", "allow", NULL};
const char *const enforce_words[] = {"", "warn", "ask", "block", NULL};
const char *const permissions_words[] = {"", "read", "edit", "full", NULL};
const char *const effort_words[] = {"", "low", "medium", "high", "xhigh", "max", NULL};
const char *const provider_words[] = {"", "auto", "overlay", "snapshot", "pool", "checkout", NULL};
const char *const land_at_words[] = {"", "each", "end", NULL};
const char *const land_budget_words[] = {"", "fail", "warn", NULL};
const char *const land_style_words[] = {"", "merge", "squash", "rebase", NULL};
const char *const land_author_words[] = {"", "user", "agent", NULL};
const char *const engine_words[] = {"",        "claude", "codex",   "gemini", "opencode", "qwen",
                                    "copilot", "aider",  "command", "sim",    NULL};
const char *const notify_words[] = {"failed", "conflicted", "parked", "done", "waiting", NULL};
